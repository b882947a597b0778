/* SPDX-License-Identifier: Apache-2.0 */
/* Input files: position, and length where it can be known. */
#ifndef DAVIT_SRC_CLI_FORMATS_INPUT_H
#define DAVIT_SRC_CLI_FORMATS_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

enum { CLI_INPUT_HEAD = 512 }; /* bytes: enough to tell formats apart */

typedef struct cli_input {
  const char *name; /* for messages */
  FILE *file;
  bool sized;    /* a regular file, whose length is known before it is read */
  uint64_t size; /* bytes from where reading began, if `sized` */
  uint64_t offset;
  off_t start;                        /* where reading began; -1: places cannot be sought */
  unsigned char head[CLI_INPUT_HEAD]; /* bytes of the file that cli_input_look() has read ahead, */
  size_t head_count, head_at;         /* their number, and how many of them were taken since */
} cli_input;

/* Whether the operand `path` is standard input, "-", which one operand and one process alone may read, and
 * its name for messages. A CLI code. */
int cli_standard_input(const char *path, bool *standard, const char **name);

/* Opens `path`, a member of an archive (archive.h), or standard input for "-", which can be opened once in a
 * process. Reports why it cannot. */
int cli_input_open(const char *path, cli_input *input);
void cli_input_close(cli_input *input);

/* The same, and what is in the file if gzip or bgzip has compressed it; the length is then not known. */
int cli_input_open_packed(const char *path, cli_input *input);

/* Reads ahead, without taking anything: of a file CLI_INPUT_HEAD bytes, of a pipe no more than its first
 * line of text that is not blank, as no more may come. Afterwards only the functions of this file know where reading
 * is. */
void cli_input_look(cli_input *input);

/* Goes on at this offset. Only where `start` is not -1. */
int cli_input_seek(cli_input *input, uint64_t offset);

/* The next byte, which stays the next one, or EOF. */
int cli_input_peek(cli_input *input);

/* Reads at most `count` bytes, fewer at the end and on a read error. */
size_t cli_input_take(cli_input *input, void *bytes, size_t count);

/* Reads exactly `count` bytes, or reports that `what` was expected. */
int cli_input_read(cli_input *input, void *bytes, size_t count, const char *what);

/* The next byte, or EOF at the end and on a read error. */
static inline int cli_input_byte(cli_input *input) {
  const int byte =
      input->head_at < input->head_count ? input->head[input->head_at++] : getc_unlocked(input->file);
  input->offset += byte != EOF;
  return byte;
}

/* Length of a byte order mark, with which some programs begin UTF-8; 0 if there is none. */
static inline size_t cli_mark_length(const char *text, size_t length) {
  static const char mark[] = {'\xEF', '\xBB', '\xBF'};
  return length >= sizeof mark && !memcmp(text, mark, sizeof mark) ? sizeof mark : 0;
}

/* CLI_INPUT, after a message that the file cannot be read, and why: an error number. */
int cli_input_unreadable(const char *name, int error);

/* CLI_INPUT, after "NAME: offset N: …" with the present offset. A read error takes precedence. */
int cli_input_fail(cli_input *input, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes to make room for when `used` of `total` were read: all if the length has been checked. */
size_t cli_input_room(const cli_input *input, size_t used, size_t total);

#endif
