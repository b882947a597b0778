/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is that is not what was expected, for messages. */
#ifndef DAVIT_SRC_CLI_FORMATS_KIND_H
#define DAVIT_SRC_CLI_FORMATS_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* What a file is that begins with these bytes, with its article: "a sound (WAV)". By the first bytes that its
 * format prescribes, or, for text, by the characters of the first line. */
const char *cli_kind_of(const char *bytes, size_t count);

/* The same if the format prescribes `shortest` bytes or more, or, for 1 and 2, if it is text in UTF-16; else
 * NULL. */
const char *cli_kind_marked(const char *bytes, size_t count, size_t shortest);

/* Whether these bytes may be the beginning of a table of numbers. */
bool cli_kind_may_be_table(const char *bytes, size_t count);

#endif
