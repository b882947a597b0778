/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a sound file as libsndfile is to see them: looked through for a length that the header promises and
 * the file lacks, of which libsndfile says nothing, and with sizes in place of those that a program which wrote to a
 * pipe had to leave open. */
#ifndef DAVIT_SRC_CLI_FORMATS_SOUND_FILE_H
#define DAVIT_SRC_CLI_FORMATS_SOUND_FILE_H

#include <stdint.h>

typedef struct cli_sound_file {
  int descriptor;      /* the caller's */
  int64_t start, size; /* where in it the sound begins, and its bytes from there on */
  int64_t at;          /* the next byte to be read, from `start` */
  int sizes;           /* that are put in place of the file's */
  struct {
    int64_t at;
    unsigned char bytes[4];
  } put[2];
} cli_sound_file;

/* The file behind `descriptor`, from where that stands. CLI_INPUT, with a message, where it is shorter than its
 * header says. */
int cli_sound_file_open(const char *name, int descriptor, cli_sound_file *file);

/* At most `count` of the next bytes. */
int64_t cli_sound_file_read(cli_sound_file *file, void *bytes, int64_t count);

#endif
