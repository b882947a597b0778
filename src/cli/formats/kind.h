/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is that is not what was expected, for messages. */
#ifndef DAVIT_SRC_CLI_FORMATS_KIND_H
#define DAVIT_SRC_CLI_FORMATS_KIND_H

#include <stddef.h>

enum { CLI_KIND_BYTES = 512 }; /* of the file's beginning: enough to tell */

/* What a file is that begins with these bytes, with its article: "a sound (WAV)". By the first bytes that its
 * format prescribes, or, for text, by the characters of the first line. */
const char *cli_kind_of(const char *bytes, size_t count);

#endif
