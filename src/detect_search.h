/* SPDX-License-Identifier: Apache-2.0 */
/* The search of a detector's devices for effects in a stream of vectors. */
#ifndef DAVIT_SRC_DETECT_SEARCH_H
#define DAVIT_SRC_DETECT_SEARCH_H

#include "src/detect_effects.h"

struct davit_detector {
  int process;                  /* that made it */
  davit_detect_options options; /* resolved */
  int width;
  dvt_detect_effects effects; /* with options.bands not yet vectors */
  uint16_t *orders;           /* of whole windows */
  int memory;                 /* place of what is copied to devices: pinned if one has memory of its own */
  int device_count;
  int devices[DVT_MAX_DEVICES];
};

/* A search: some effects, in a stream of vectors, in windows and with permutations as the
 * options say. */
typedef struct dvt_detect_request {
  davit_detect_options options; /* resolved */
  int64_t frames;
  const float *stream;
  const dvt_detect_effects *effects;
  int first_effect, effect_count; /* of these */
  const uint16_t *orders;         /* of whole windows */
  davit_detect_hit *hits;         /* windows x effects, or */
  float *scores;                  /* of one effect, if only these are wanted */
} dvt_detect_request;

/* The orders of windows of so many frames, for davit_free(). */
davit_status dvt_detect_orders(const davit_detector *detector, int64_t permutations, int64_t length,
                               uint16_t **orders);

davit_status dvt_detect_search(const davit_detector *detector, const dvt_detect_request *request);

#endif
