/* SPDX-License-Identifier: Apache-2.0 */
/* What src/detect.c searches with: effects as vectors, on the host and in devices' memory, and the frames of a
 * stream as vectors. */
#ifndef DAVIT_SRC_DETECT_EFFECTS_H
#define DAVIT_SRC_DETECT_EFFECTS_H

#include <davit/detect.h>

#include "offload/detect.h"
#include "ref/detect_null.h"
#include "ref/detect_white.h"
#include "src/runtime/operation.h"

/* Effects, trimmed to the frames between the first and the last one above the floor. With options->bands they
 * have features until a stream is known, and vectors afterwards. */
typedef struct dvt_detect_effects {
  int width, count;
  dvt_detect_range *ranges;
  double *full;                       /* each effect's score against itself */
  float *frames;                      /* frame after frame */
  int place_count;                    /* devices: */
  float *transposed[DVT_MAX_DEVICES]; /* each effect feature after feature; NULL on DAVIT_HOST */
} dvt_detect_effects;

/* Options are resolved, effects checked. dvt_detect_effects_free() must follow, whatever is returned. */
davit_status dvt_detect_effects_make(int width, int count, const davit_detect_effect *effects,
                                     const davit_detect_options *options, dvt_detect_effects *made);
davit_status dvt_detect_effects_send(dvt_detect_effects *effects, int count, const int *devices);
davit_status dvt_detect_effects_free(dvt_detect_effects *effects);

/* With options->bands: the same effects with vectors for a stream. */
davit_status dvt_detect_effects_whiten(const dvt_detect_effects *effects, const dvt_detect_white *white,
                                       dvt_detect_effects *whitened);

/* A call's stream: vectors and levels. */
typedef struct dvt_detect_sound {
  int64_t frames;
  float *vectors; /* for davit_free() */
  dvt_detect_levels levels;
  dvt_detect_white white; /* with options->bands */
} dvt_detect_sound;

/* `memory` is the place of the vectors. dvt_detect_sound_free() must follow, whatever is returned. */
davit_status dvt_detect_sound_make(int width, int64_t frames, const float *features,
                                   const davit_detect_options *options, int memory, dvt_detect_sound *sound);
void dvt_detect_sound_free(dvt_detect_sound *sound);

/* Threads for loops over so many features: a large team, of all that the machine has, may take longer to meet than such
 * a loop does. */
int dvt_detect_threads(int64_t features);

#endif
