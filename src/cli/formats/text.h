/* SPDX-License-Identifier: Apache-2.0 */
/* Text of an input file, line by line, for the array formats. (lines.h reads compressed text.) */
#ifndef DAVIT_SRC_CLI_FORMATS_TEXT_H
#define DAVIT_SRC_CLI_FORMATS_TEXT_H

#include "src/cli/formats/input.h"

enum { CLI_TEXT_LINE = 4096 }; /* with the final zero byte; Matrix Market allows 1024 characters */

typedef struct cli_text {
  cli_input *input;
  int64_t number; /* of the line in `line`, from 1 */
  bool end;       /* there is no further line */
  char line[CLI_TEXT_LINE];
} cli_text;

/* Reads one line, without its end, or sets `end`. Skips a byte order mark before the first line. */
int cli_text_next(cli_text *text);

/* The same, without blank lines and lines whose first character after blanks is `comment`. */
int cli_text_next_content(cli_text *text, char comment);

/* CLI_INPUT, after "NAME: line N: expected …, found …" with the present line. A read error takes
 * precedence. */
int cli_text_fail(cli_text *text, const char *expected);

/* The first character at or after `at` that is not a blank. */
const char *cli_text_after_blanks(const char *at);

#endif
