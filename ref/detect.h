/* SPDX-License-Identifier: Apache-2.0 */
/* Detection step by step: one window, one effect. What every device has to agree with, and what the host adds
 * to scores from any device. Similarities are a window x effect matrix, row after row, in the window's own
 * order. */
#ifndef DAVIT_REF_DETECT_H
#define DAVIT_REF_DETECT_H

#include <davit/detect.h>
#include <math.h>

#include "ref/cell.h"

static inline double dvt_detect_or(double given, double fallback) {
  return given == 0 ? fallback : given == DAVIT_DETECT_ZERO ? 0 : given;
}

/* The options (NULL allowed) with every member that is 0 replaced by its default, but for hop, and
 * DAVIT_DETECT_ZERO by 0. */
static inline davit_detect_options dvt_detect_resolved(const davit_detect_options *options) {
  davit_detect_options o = options ? *options : (davit_detect_options){0};
  o.window = o.window ? o.window : 200;
  o.threshold = dvt_detect_or(o.threshold, o.bands > 0 ? 30 : 50);
  o.gap_penalty = o.gap_penalty == 0 ? 33 : o.gap_penalty;
  const bool stream = o.null == DAVIT_DETECT_NULL_STREAM;
  o.permutations = o.permutations ? o.permutations : stream ? 999 : 100;
  o.block = o.block ? o.block : 3;
  o.alpha = dvt_detect_or(o.alpha, 0.01);
  o.coverage = dvt_detect_or(o.coverage, o.bands > 0 ? 0.2 : 0.3);
  o.floor_db = dvt_detect_or(o.floor_db, stream ? 40 : (double)INFINITY);
  o.effect_floor_db = dvt_detect_or(o.effect_floor_db, stream ? 25 : (double)INFINITY);
  return o;
}

/* What follows takes resolved options. */

typedef struct dvt_detect_gaps {
  float open, extend;
} dvt_detect_gaps;

/* Orders of a window's frames, besides the one that they have. */
static inline int64_t dvt_detect_shuffles(const davit_detect_options *options) {
  return options->null == DAVIT_DETECT_NULL_STREAM ? 0 : options->permutations;
}

static inline dvt_detect_gaps dvt_detect_gaps_of(const davit_detect_options *options) {
  return (dvt_detect_gaps){100 + (float)options->gap_penalty, (float)options->gap_penalty};
}

/* Frames from one window to the next. */
static inline int64_t dvt_detect_hop(const davit_detect_options *options) {
  return options->hop > 0 ? options->hop : options->window;
}

/* Frames of window w. */
static inline int64_t dvt_detect_length(int64_t frames, const davit_detect_options *options, int64_t w) {
  const int64_t left = frames - w * dvt_detect_hop(options);
  return left < options->window ? left : options->window;
}

/* The last window is the first that reaches the end. */
static inline int64_t dvt_detect_windows(int64_t frames, const davit_detect_options *options) {
  const int64_t beyond = frames - options->window, hop = dvt_detect_hop(options);
  if (frames <= 0)
    return 0;
  return beyond <= 0 ? 1 : 1 + (beyond + hop - 1) / hop;
}

/* x and y: unit vectors of the window's and the effect's frames. */
void dvt_ref_detect_similarity(int width, int64_t window, const float *x, int64_t effect, const float *y,
                               const davit_detect_options *options, float *similarity);

/* The best score with the window's frames in `order`. `border` is scratch of `effect` elements. */
float dvt_ref_detect_score(int64_t window, int64_t effect, const float *similarity, const uint16_t *order,
                           dvt_detect_gaps gaps, dvt_float_border *border);

/* Frames [*begin, *end) of the best alignment of the window as it is. `steps` is scratch of window x effect
 * bytes, `border` of `effect` elements. */
void dvt_ref_detect_trace(int64_t window, int64_t effect, const float *similarity, dvt_detect_gaps gaps,
                          dvt_float_border *border, uint8_t *steps, int64_t *begin, int64_t *end);

/* From the cell (i, j) back to the first cell of its alignment: the row. The step of a cell is steps[(i
 * effect + j) stride]. */
int64_t dvt_ref_detect_begin(int64_t effect, const uint8_t *steps, int64_t stride, int64_t i, int64_t j);

/* Fills in what follows from the score and those of the permutations; `full`: the effect's against itself. */
void dvt_ref_detect_significance(double full, const float *null_scores, const davit_detect_options *options,
                                 davit_detect_hit *detection);

#endif
