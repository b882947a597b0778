/* SPDX-License-Identifier: Apache-2.0 */
/* Members of .npz archives, which are zip files with a .npy file for each array: "FILE.npz:NAME", or
 * "FILE.npz" where there is one member. libzip reads them. */
#ifndef DAVIT_SRC_CLI_FORMATS_ARCHIVE_H
#define DAVIT_SRC_CLI_FORMATS_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Whether the path names an archive or a member of one. A file that has such a name itself is no member. */
bool cli_archive_named(const char *path);

/* Opens the member for reading; *size becomes its length. Reports why it cannot, and returns the exit
 * code. */
int cli_archive_open(const char *path, FILE **file, uint64_t *size);

#endif
