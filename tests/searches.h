/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of detection search, and how: streams, effects, detectors for one call. */
#ifndef DAVIT_TESTS_SEARCHES_H
#define DAVIT_TESTS_SEARCHES_H

#include <davit/detect.h>

#include "tests/elements.h"

enum { WIDTH = 62 };

/* What a detector is made of and one stream for it; SEARCH(…, options): one effect. */
typedef struct search {
  int width;
  int64_t frames;
  const float *stream;
  int count;
  const davit_detect_effect *effects;
  davit_detect_options o;
} search;
#define SEARCH(width, frames, stream, length, sound, ...)                                                    \
  {                                                                                                          \
    width, frames, stream, 1, &(davit_detect_effect){length, sound}, {                                       \
      __VA_ARGS__                                                                                            \
    }                                                                                                        \
  }

/* In [0, 1). */
float uniform(uint64_t *state);

/* Frames that resemble each other more or less. */
float *random_frames(uint64_t seed, int width, int64_t frames);

/* Frame k of `order` is the unit vector of axis order[k], `scale` long. */
float *axes(int width, int count, const int *order, float scale);

/* Powers of many sizes, as those of sound, and the changes that davit_features() would give. */
float *powers(uint64_t seed, int bands, int64_t frames);

void copy_frames(int width, float *stream, int64_t at, const float *sound, int64_t frames);

int64_t windows_of(int64_t frames, const davit_detect_options *options);

/* By a detector for this call, on `count` devices or, with 0, on the default ones. */
davit_status detect(const search *s, const int *devices, int count, davit_detect_hit *detections);

/* The same, which must succeed, with new memory for the hits. */
davit_detect_hit *detections_on(const search *s, const int *devices, int count);
davit_detect_hit *on_host(const search *s);

#endif
