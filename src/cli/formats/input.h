/* Input files: position, length where it can be known, and the readers of the array formats. */
#ifndef DAVIT_SRC_CLI_FORMATS_INPUT_H
#define DAVIT_SRC_CLI_FORMATS_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "src/cli/formats/array.h"

/* Reads the .npy or dense .mtx file at `path` ("-": standard input); the first byte tells which it is. On
 * failure says which file, where, and what was expected, and returns the exit code. */
int cli_array_read(const char *path, cli_memory memory, cli_array *array);

typedef struct cli_input {
  const char *name; /* for messages */
  FILE *file;
  bool sized;    /* a regular file, whose length is known before it is read */
  uint64_t size; /* bytes from where reading began, if `sized` */
  uint64_t offset;
} cli_input;

/* The same, but what is neither .npy nor .mtx is read by `other`, from its first byte on. */
typedef int cli_array_reader(cli_input *input, cli_array *array);
int cli_array_read_or(const char *path, cli_memory memory, cli_array_reader *other, cli_array *array);

/* Opens `path`, or standard input for "-", which can be taken once in a process. Says why it cannot. */
int cli_input_open(const char *path, cli_input *input);
void cli_input_close(cli_input *input);

/* The next byte, left in place, or EOF. */
int cli_input_peek(cli_input *input);

/* Reads exactly `bytes` bytes, or says that `what` was expected. */
int cli_input_read(cli_input *input, void *bytes, size_t count, const char *what);

/* The next byte, or EOF at the end and on a read error. */
static inline int cli_input_byte(cli_input *input) {
  const int byte = getc_unlocked(input->file);
  input->offset += byte != EOF;
  return byte;
}

/* Bytes of the mark that some programs begin UTF-8 with and that is no text; 0 where there is none. */
static inline size_t cli_mark_length(const char *text, size_t length) {
  static const char mark[] = {'\xEF', '\xBB', '\xBF'};
  return length >= sizeof mark && !memcmp(text, mark, sizeof mark) ? sizeof mark : 0;
}

/* CLI_INPUT, after "NAME: offset N: …" (the present offset). A read error takes precedence. */
int cli_input_fail(cli_input *input, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The formats. `array` comes with `wanted` set and owns no block; what a failed reader leaves in it is freed
 * by the caller. Dimensions are believed only as far as the file's length supports them; where the length
 * is not known, the block grows as data come. */
enum { CLI_NPY_FIRST_BYTE = 0x93 };
int cli_npy_read(cli_input *input, cli_array *array);
/* Its two steps: all but the elements, which come next in the file, and these. */
int cli_npy_open(cli_input *input, cli_array *array);
int cli_npy_elements(cli_input *input, cli_array *array);
int cli_mtx_read(cli_input *input, cli_array *array);

/* Bytes to make room for when `used` of `total` have come: all if the length has been checked. */
size_t cli_input_room(const cli_input *input, size_t used, size_t total);

#endif
