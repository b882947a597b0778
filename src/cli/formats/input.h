/* SPDX-License-Identifier: Apache-2.0 */
/* Input files: position, and length where it can be known. */
#ifndef DAVIT_SRC_CLI_FORMATS_INPUT_H
#define DAVIT_SRC_CLI_FORMATS_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct cli_input {
  const char *name; /* for messages */
  FILE *file;
  bool sized;    /* a regular file, whose length is known before it is read */
  uint64_t size; /* bytes from where reading began, if `sized` */
  uint64_t offset;
} cli_input;

/* Opens `path`, a member of an archive (archive.h), or standard input for "-", which can be opened once in a
 * process. Reports why it cannot. */
int cli_input_open(const char *path, cli_input *input);
void cli_input_close(cli_input *input);

/* The next byte, which stays the next one, or EOF. */
int cli_input_peek(cli_input *input);

/* Reads exactly `bytes` bytes, or reports that `what` was expected. */
int cli_input_read(cli_input *input, void *bytes, size_t count, const char *what);

/* The next byte, or EOF at the end and on a read error. */
static inline int cli_input_byte(cli_input *input) {
  const int byte = getc_unlocked(input->file);
  input->offset += byte != EOF;
  return byte;
}

/* Length of a byte order mark, with which some programs begin UTF-8; 0 if there is none. */
static inline size_t cli_mark_length(const char *text, size_t length) {
  static const char mark[] = {'\xEF', '\xBB', '\xBF'};
  return length >= sizeof mark && !memcmp(text, mark, sizeof mark) ? sizeof mark : 0;
}

/* CLI_INPUT, after "NAME: offset N: …" with the present offset. A read error takes precedence. */
int cli_input_fail(cli_input *input, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes to make room for when `used` of `total` were read: all if the length has been checked. */
size_t cli_input_room(const cli_input *input, size_t used, size_t total);

#endif
