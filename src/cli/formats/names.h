/* SPDX-License-Identifier: Apache-2.0 */
/* Names from outside, those of sequences, columns, sounds and files: which format can hold them, and how they are
 * written. */
#ifndef DAVIT_SRC_CLI_FORMATS_NAMES_H
#define DAVIT_SRC_CLI_FORMATS_NAMES_H

#include <stdio.h>

typedef enum cli_name_format {
  CLI_NAME_COLUMN, /* of text that is separated by tabs: TSV, PAF, BLAST's table, labels */
  CLI_NAME_JSON,
  CLI_NAME_SAM_QUERY,
  CLI_NAME_SAM_TARGET
} cli_name_format;

/* NULL if the format can hold the name; else what it needs, to stand behind "expected". */
const char *cli_name_refused(cli_name_format format, const char *name);

/* Makes a name that every format but SAM can hold: control characters become '?', bytes that are not UTF-8 U+FFFD.
 * `to` has room for 3 strlen(from) + 1 bytes. */
void cli_name_clean(const char *from, char *to);

/* Writes a text as it is, but control characters, and bytes that are not UTF-8, as '?': for a terminal. */
void cli_write_plain(FILE *file, const char *text);

/* Writes a JSON string, with its quotes: control characters are escaped, bytes that are not UTF-8 become U+FFFD. */
void cli_write_quoted(FILE *file, const char *text);

/* Writes a text into HTML or SVG: markup is escaped, what XML does not allow becomes U+FFFD. */
void cli_write_markup(FILE *file, const char *text);

#endif
