/* SPDX-License-Identifier: Apache-2.0 */
/* Text read line by line, of a file that may be compressed by gzip or bgzip, with lines that are counted.
 *
 * A byte order mark before UTF-8 is skipped. A compressed file that ends too early is an error, also if it was cut
 * between two blocks of bgzip (gzip.h). A line with a zero byte ends with the block that has it, because /dev/zero and
 * the holes of sparse files have no line ends; readers refuse it. A carriage return at the end of a line belongs to the
 * end, but not in an input of the formats of arrays. */
#ifndef DAVIT_SRC_CLI_FORMATS_LINES_H
#define DAVIT_SRC_CLI_FORMATS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/base/buffer.h"
#include "src/cli/formats/input.h"

/* Characters of a line of numbers: more than a line of 100,000 has. */
enum { CLI_LINE = DVT_BUFFER(1 << 24, 4096) - 1 };

typedef struct cli_lines {
  const char *name;    /* for messages */
  cli_input *input;    /* of the formats of arrays, which is another's; NULL: */
  cli_input file;      /* of its own */
  char block[1 << 14]; /* of either, and how much of it there is and was read */
  size_t block_bytes, block_used;
  char *buffer;
  int64_t room;     /* bytes of the buffer, */
  size_t used;      /* and of the line in it */
  int64_t most;     /* bytes of a line that are read; 0: as many as memory holds */
  const char *text; /* the line, without its end; a zero byte follows */
  int64_t length;
  int64_t number; /* from 1; 0 before the first line */
  bool zero;      /* the line has a zero byte */
  bool end;       /* there was no further line */
} cli_lines;

/* Opens `path`, or standard input for "-", which can be opened once in a process. Reports why it cannot. */
int cli_lines_open(const char *path, cli_lines *lines);
void cli_lines_close(cli_lines *lines);

/* The lines of an input from where it is. A line with a zero byte or more than CLI_LINE characters is an error. */
static inline cli_lines cli_lines_of(cli_input *input) {
  return (cli_lines){.name = input->name, .input = input, .most = CLI_LINE};
}

/* The next line, or `end`. CLI_INPUT, with a message, when the file cannot be read or the line is too long; CLI_DEVICE
 * when memory is short. */
int cli_lines_next(cli_lines *lines);

/* The same, without blank lines and lines whose first character after blanks is `comment`. */
int cli_lines_next_content(cli_lines *lines, char comment);

/* CLI_INPUT, after a message, if the line has a zero byte. */
int cli_lines_check_text(const cli_lines *lines);

/* CLI_INPUT, after "NAME: line N: …"; before the first line, or where there is none, without a number. */
int cli_lines_fail(const cli_lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of an input: CLI_INPUT, after "NAME: line N: expected …, found …" with the line, and what else is to be said. A
 * read error takes precedence. */
int cli_lines_expected(const cli_lines *lines, const char *expected, const char *more);

/* The next word of a line from *at on, which moves behind it; its length, 0 at the end. */
int cli_next_word(const char **at, const char **word);

/* The first character at or after `at` that is not a blank. */
const char *cli_after_blanks(const char *at);

#endif
