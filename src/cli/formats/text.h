/* SPDX-License-Identifier: Apache-2.0 */
/* Text of an input file, line by line, for the array formats. (lines.h reads compressed text.) */
#ifndef DAVIT_SRC_CLI_FORMATS_TEXT_H
#define DAVIT_SRC_CLI_FORMATS_TEXT_H

#include "src/base/buffer.h"
#include "src/cli/formats/input.h"

/* With the final zero byte: more than a line of 100,000 numbers has. */
enum { CLI_TEXT_LINE = DVT_BUFFER(1 << 24, 4096) };

/* Begins as {.input = …} and is freed by cli_text_free(). */
typedef struct cli_text {
  cli_input *input;
  int64_t number; /* of the line in `line`, from 1 */
  bool end;       /* there is no further line */
  char *line;     /* NULL before the first */
  size_t capacity;
} cli_text;

void cli_text_free(cli_text *text);

/* Reads one line, without its end, or sets `end`. Skips a byte order mark before the first line. */
int cli_text_next(cli_text *text);

/* The same, without blank lines and lines whose first character after blanks is `comment`. */
int cli_text_next_content(cli_text *text, char comment);

/* CLI_INPUT, after "NAME: line N: expected …, found …" with the present line, and what else is to be said
 * (`more`). A read error takes precedence. */
int cli_text_fail(cli_text *text, const char *expected);
int cli_text_fail_more(cli_text *text, const char *expected, const char *more);

/* The first character at or after `at` that is not a blank. */
const char *cli_text_after_blanks(const char *at);

#endif
