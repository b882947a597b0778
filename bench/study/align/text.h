/* SPDX-License-Identifier: Apache-2.0 */
/* SimMatrix and SW, as all programs on alignment have them, and the arguments of a launch.
 *
 * A unit is a (window, effect): number w effect_count + e. A run is one alignment of a unit: 0, or a
 * permutation. Costs: a cell of D has 2 width flops, a cell of an alignment 5 additions and 5 comparisons
 * (the search of the maximum included). */
#ifndef DAVIT_STUDY_ALIGN_TEXT_H
#define DAVIT_STUDY_ALIGN_TEXT_H

#include "bench/study/align/align.h"
#include "bench/study/common/site.h"
#include "ref/permutation.h"
#include "ref/similarity.h"

/* V5: the floats of a tile (201 rows of 55 columns), and of its columns the default and the most. */
enum { STUDY_TILE_FLOATS = 201 * 55, STUDY_TILE_COLUMNS = 55 };

/* Memory of the device. */
typedef struct study_align_task {
  const float *movie, *patterns; /* unit vectors */
  const int64_t *starts;         /* effect e has the patterns' frames starts[e] … starts[e + 1] - 1 */
  const uint16_t *orders;        /* of permutation r: orders + (r - 1) window; NULL: threads draw */
  float *scores;                 /* of all units */
  float *matrices;               /* of the launch's units, each slot_floats */
  uint16_t *drawn;               /* of the launch's units, each slot_orders; NULL with orders */
  int64_t window, first, count;  /* the launch's units are first … first + count - 1 */
  int64_t slot_floats, slot_orders;
  int width, effects, runs, tile_columns;
  float threshold, open, extend;
  bool rounded, interleaved;
  uint64_t seed;
  size_t heap_bytes;
} study_align_task;

/* A thread's part of some memory: element k is at[k stride]. */
typedef struct study_align_part {
  float *at;
  int64_t stride;
} study_align_part;

/* Part `number` of `parts` with `floats` each. */
STUDY_INLINE study_align_part study_align_part_of(bool interleaved, float *memory, int64_t floats,
                                                  int64_t number, int64_t parts) {
  return interleaved ? (study_align_part){memory + number, parts}
                     : (study_align_part){memory + number * floats, 1};
}

STUDY_INLINE study_align_part study_align_behind(study_align_part part, int64_t floats) {
  return (study_align_part){part.at + floats * part.stride, part.stride};
}

STUDY_INLINE int64_t study_align_pattern_frames(const study_align_task *t, int64_t unit) {
  const int64_t effect = unit % t->effects;
  return t->starts[effect + 1] - t->starts[effect];
}

STUDY_INLINE float *study_align_scores_of(const study_align_task *t, int64_t unit) {
  return t->scores + unit * t->runs;
}

/* The order of a run's frames; NULL: as they are. Draws it into `room` where the host has not. */
STUDY_INLINE const uint16_t *study_align_order(const study_align_task *t, int run, uint16_t *room) {
  if (run == 0)
    return NULL;
  if (t->orders)
    return t->orders + (run - 1) * t->window;
  dvt_permutation(t->seed, (uint64_t)run, (int)t->window, room);
  return room;
}

/* Row i of D for an alignment. Row 0 is no frame, and never moves. */
STUDY_INLINE int64_t study_align_row(const uint16_t *order, int64_t i) {
  return order ? 1 + (int64_t)order[i - 1] : i;
}

STUDY_INLINE float study_align_greater(float a, float b) {
  return a > b ? a : b;
}

/* SimMatrix: columns first_column … first_column + columns - 1 of the unit's D; of its rows every
 * `threads`-th from `thread` on. */
STUDY_INLINE void study_align_similarities(const study_align_task *t, int64_t unit, int64_t first_column,
                                           int64_t columns, study_align_part d, int thread, int threads) {
  const float *frames = t->movie + unit / t->effects * t->window * t->width;
  const float *pattern = t->patterns + t->starts[unit % t->effects] * t->width;
  for (int64_t i = thread; i <= t->window; i += threads)
    for (int64_t j = 0; j < columns; j++) {
      const int64_t column = first_column + j;
      d.at[(i * columns + j) * d.stride] =
          i == 0 || column == 0 ? 0
                                : dvt_similarity(t->width, frames + (i - 1) * t->width,
                                                 pattern + (column - 1) * t->width, t->threshold, t->rounded);
    }
}

/* SW over full matrices of window + 1 rows and n + 1 columns, and the search for the maximum element. */
STUDY_INLINE float study_align_full(const study_align_task *t, int64_t n, const uint16_t *order,
                                    study_align_part d, study_align_part h, study_align_part e,
                                    study_align_part f) {
  const int64_t columns = n + 1, cells = (t->window + 1) * columns, below = columns * h.stride;
  for (int64_t j = 0; j < columns; j++)
    h.at[j * h.stride] = e.at[j * h.stride] = f.at[j * h.stride] = 0;
  for (int64_t i = 1; i <= t->window; i++) {
    const float *similar = d.at + study_align_row(order, i) * below;
    int64_t at = i * below;
    h.at[at] = e.at[at] = f.at[at] = 0;
    for (int64_t j = 1; j < columns; j++) {
      const int64_t left = at, up = (at += h.stride) - below;
      e.at[at] = study_align_greater(h.at[left] - t->open, e.at[left] - t->extend);
      f.at[at] = study_align_greater(h.at[up] - t->open, f.at[up] - t->extend);
      const float gap = study_align_greater(e.at[at], f.at[at]);
      const float match = h.at[up - h.stride] + similar[j * d.stride];
      h.at[at] = study_align_greater(0, study_align_greater(gap, match));
    }
  }
  float maximum = 0;
  for (int64_t k = 0; k < cells; k++)
    maximum = study_align_greater(maximum, h.at[k * h.stride]);
  return maximum;
}

/* Floats that study_align_unit_full() needs. */
STUDY_INLINE int64_t study_align_full_floats(int64_t window, int64_t n) {
  return 4 * (window + 1) * (n + 1);
}

/* All runs of a unit by one thread. */
STUDY_INLINE void study_align_unit_full(const study_align_task *t, int64_t unit, study_align_part d,
                                        uint16_t *room) {
  const int64_t n = study_align_pattern_frames(t, unit), cells = (t->window + 1) * (n + 1);
  const study_align_part h = study_align_behind(d, cells), e = study_align_behind(h, cells),
                         f = study_align_behind(e, cells);
  study_align_similarities(t, unit, 0, n + 1, d, 0, 1);
  for (int run = 0; run < t->runs; run++)
    study_align_scores_of(t, unit)[run] = study_align_full(t, n, study_align_order(t, run, room), d, h, e, f);
}

/* The column on the left of a tile: for row i, H at border.at[2 i] and E at border.at[2 i + 1]. */
typedef study_align_part study_align_border;

/* SW over `columns` columns of D, none of them column 0, with one row of H and of F. border: what is left of
 * them, and then their last column; NULL memory: they are all there is. `maximum` so far. */
STUDY_INLINE float study_align_rows(const study_align_task *t, int64_t columns, const uint16_t *order,
                                    study_align_part d, int64_t d_columns, study_align_part h,
                                    study_align_part f, study_align_border border, float maximum) {
  for (int64_t j = 0; j < columns; j++)
    h.at[j * h.stride] = f.at[j * f.stride] = 0;
  float corner = 0;
  for (int64_t i = 1; i <= t->window; i++) {
    const float *similar = d.at + study_align_row(order, i) * d_columns * d.stride;
    float *at_border = border.at ? border.at + 2 * i * border.stride : NULL;
    float left = at_border ? at_border[0] : 0, e = at_border ? at_border[border.stride] : 0;
    float diagonal = corner;
    corner = left;
    for (int64_t j = 0; j < columns; j++) {
      const float up = h.at[j * h.stride];
      const float down = study_align_greater(up - t->open, f.at[j * f.stride] - t->extend);
      e = study_align_greater(left - t->open, e - t->extend);
      left = study_align_greater(
          0, study_align_greater(study_align_greater(e, down), diagonal + similar[j * d.stride]));
      maximum = study_align_greater(maximum, left);
      diagonal = up;
      h.at[j * h.stride] = left;
      f.at[j * f.stride] = down;
    }
    if (at_border) {
      at_border[0] = left;
      at_border[border.stride] = e;
    }
  }
  return maximum;
}

/* Floats that study_align_unit_rows() needs. */
STUDY_INLINE int64_t study_align_rows_floats(int64_t window, int64_t n) {
  return (window + 1) * (n + 1) + 2 * n;
}

/* All runs of a unit by one thread, with D and two rows. */
STUDY_INLINE void study_align_unit_rows(const study_align_task *t, int64_t unit, study_align_part d,
                                        uint16_t *room) {
  const int64_t n = study_align_pattern_frames(t, unit);
  const study_align_part h = study_align_behind(d, (t->window + 1) * (n + 1)), f = study_align_behind(h, n);
  const study_align_border none = {NULL, 0};
  study_align_similarities(t, unit, 0, n + 1, d, 0, 1);
  for (int run = 0; run < t->runs; run++)
    study_align_scores_of(t, unit)[run] = study_align_rows(t, n, study_align_order(t, run, room),
                                                           study_align_behind(d, 1), n + 1, h, f, none, 0);
}

#endif
