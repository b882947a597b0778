/* SPDX-License-Identifier: Apache-2.0 */
/* Files that gzip or bgzip have compressed: members one after the other. Zero bytes behind the last member
 * are padding, as tapes and archives add it, and are left out; anything else there is damage. */
#ifndef DAVIT_SRC_CLI_FORMATS_GZIP_H
#define DAVIT_SRC_CLI_FORMATS_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Whether a file that begins with these bytes is compressed so. */
bool cli_gzip_begins(const unsigned char *bytes, size_t count);

/* A stream of what `packed` contains, which begins with the `count` bytes of `head` and goes on in the file.
 * Closing it closes `packed`, but not standard input. Damage is a read error with EBADMSG, and
 * with ENODATA if what bgzip has compressed lacks the last block, which is empty. NULL when memory is short. */
FILE *cli_gzip_open(FILE *packed, const unsigned char *head, size_t count);

#endif
