/* SPDX-License-Identifier: Apache-2.0 */
/* Text read line by line, compressed by gzip or bgzip or not at all: blocks of htslib's reader, with lines that are
 * counted.
 *
 * A byte order mark before UTF-8 is skipped. A compressed file that ends too early is an error, also if it was cut
 * between two blocks of bgzip. Zero bytes behind the last member are padding (gzip.h). A line with a zero byte ends
 * with the block that has it, because /dev/zero and the holes of sparse files have no line ends; readers refuse such
 * a line. */
#ifndef DAVIT_SRC_CLI_FORMATS_LINES_H
#define DAVIT_SRC_CLI_FORMATS_LINES_H

#include <htslib/bgzf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_lines {
  const char *name; /* for messages */
  BGZF *file;       /* text and what bgzip has compressed; NULL: */
  FILE *unpacked;   /* what gzip has */
  bool padded;      /* bgzip's last block was read, and the padding behind it */
  char block[4096]; /* of what gzip has, and how much of it there is and was read */
  size_t block_bytes, block_used;
  char *buffer;
  size_t room, used; /* bytes of the buffer, and of the line in it */
  int64_t most;      /* bytes of a line that are read; 0: as many as memory holds */
  const char *text;  /* the line, without its end; a zero byte follows */
  int64_t length;
  int64_t number; /* from 1; 0 before the first line */
  bool zero;      /* the line has a zero byte */
  bool end;       /* there was no further line */
} cli_lines;

/* Opens `path`, or standard input for "-", which can be opened once in a process. Reports why it cannot. */
int cli_lines_open(const char *path, cli_lines *lines);
void cli_lines_close(cli_lines *lines);

/* The next line, or `end`. CLI_INPUT, with a message, when the file cannot be read or the line is too long; CLI_DEVICE
 * when memory is short. */
int cli_lines_next(cli_lines *lines);

/* CLI_INPUT, after a message, if the line has a zero byte. */
int cli_lines_check_text(const cli_lines *lines);

/* CLI_INPUT, after "NAME: line N: …"; before the first line, or where there is none, without a number. */
int cli_lines_fail(const cli_lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
