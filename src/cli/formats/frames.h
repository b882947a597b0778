/* SPDX-License-Identifier: Apache-2.0 */
/* Feature vectors as a stream: of sound, or from a .npy file; the first byte decides which. In memory are,
 * for sound, a block of samples and the frames asked for; for a .npy file these frames, or all of them if it
 * is in Fortran order.
 *
 * Functions that return an exit code print what is wrong first. */
#ifndef DAVIT_SRC_CLI_FORMATS_FRAMES_H
#define DAVIT_SRC_CLI_FORMATS_FRAMES_H

#include <davit/features.h>

#include "src/cli/formats/array.h"
#include "src/cli/formats/input.h"
#include "src/cli/formats/sound.h"

typedef struct cli_frames {
  const char *name;
  davit_features_options options; /* of sound */
  int width;                      /* features of a frame */
  cli_input input;
  cli_sound *sound; /* NULL: `array` */
  cli_array array;  /* frames x width, in C order; `data` is NULL where the elements are still in the file */
  int64_t at;       /* frames given so far */
  float *samples;   /* of a block's frames and the one after them, dvt_map()'s */
  size_t samples_bytes;
  float *block; /* features of the same */
  int64_t kept; /* samples of the frame after the last block, which has been read already: 0 or a frame */
  bool ended;
  double seconds; /* spent on computing features */
  bool check;     /* compare with the reference; the result: */
  double error;   /* the largest difference, divided by the power of the frame and the next */
  /* Of sound, if not NULL: takes the samples of frames that are given. */
  int (*take)(void *taker, int64_t count, const float *samples);
  void *taker;
} cli_frames;

/* cli_frames_close() must be called whatever is returned. Sound opened with a frame of 0 needs
 * cli_frames_set_frame() before it is read; feature vectors take the default frame, for their times. If `live`, a pipe
 * is read as it comes if it can be (sound.h): no frame waits for more than the samples of the next one. */
int cli_frames_open(const char *path, const davit_features_options *options, bool live, cli_frames *frames);
void cli_frames_close(cli_frames *frames);

/* A frame for a sound that is to be found in others: DAVIT_FEATURES_FRAME samples, halved until the sound has
 * CLI_FRAMES_SUITED frames by the length that its file states, at least CLI_FRAMES_SHORTEST. */
enum { CLI_FRAMES_SUITED = 8, CLI_FRAMES_SHORTEST = 64 };
int64_t cli_frames_suited(const cli_frames *frames);
int cli_frames_set_frame(cli_frames *frames, int64_t frame);

/* Another rate than that of cli_frames_open(), for sound of which nothing is read. */
int cli_frames_set_rate(cli_frames *frames, double rate);

/* The next `count` frames; *got is less than that at the end only. A stream without any is malformed. */
int cli_frames_read(cli_frames *frames, int64_t count, float *features, int64_t *got);

/* Appends the next frames, *got of them and none at the end, to an array of frames x width float32 in C
 * order, which is {0} at first. */
int cli_frames_append(cli_frames *frames, cli_array *array, int64_t *got);

/* The maximum of the frames to come: INT64_MAX for sound, whose length may be an estimate. */
int64_t cli_frames_most(const cli_frames *frames);

/* The length, or 0 if it is not known. */
double cli_frames_seconds(const cli_frames *frames);

#endif
