/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a sound file that libsndfile reads. A file that is shorter than its header states is an error
 * here, because libsndfile does not report it. Sizes that the header leaves open, as programs that write to
 * a pipe do, are filled in. */
#ifndef DAVIT_SRC_CLI_FORMATS_SOUND_FILE_H
#define DAVIT_SRC_CLI_FORMATS_SOUND_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_sound_file {
  int descriptor;      /* the caller's, or */
  FILE *pipe;          /* that is read as it comes, also the caller's */
  unsigned char *head; /* of the pipe: its first bytes can be read again */
  int64_t head_bytes, taken;
  bool open;           /* the pipe's header leaves the size open; `size` is then the largest */
  int64_t start, size; /* where the sound begins in it, and how many bytes it has */
  int64_t at;          /* the next byte to be read, from `start` */
  int error;           /* of the last read that failed; libsndfile goes on after some */
  int sizes;           /* that replace those of the file */
  struct {
    int64_t at;
    unsigned char bytes[4];
  } put[2];
} cli_sound_file;

/* Opens the file behind `descriptor` from its present position. CLI_INPUT, with a message, if it is shorter
 * than its header states. */
int cli_sound_file_open(const char *name, int descriptor, cli_sound_file *file);

/* Opens a pipe that can be read from the first sample to the last without going back: WAV and AU. *fits is
 * false if it is no such pipe; then the first file->head_bytes of it are in file->head. */
int cli_sound_file_open_pipe(const char *name, FILE *pipe, cli_sound_file *file, bool *fits);
void cli_sound_file_close(cli_sound_file *file);

/* Reads at most the next `count` bytes. */
int64_t cli_sound_file_read(cli_sound_file *file, void *bytes, int64_t count);

#endif
