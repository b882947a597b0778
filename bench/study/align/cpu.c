/* SPDX-License-Identifier: Apache-2.0 */
/* The programs for the host: SERIAL, and the fair CPU program.
 *
 * An alignment's cells wait for each other, one addition or comparison after another, so one alignment alone
 * leaves most of a core idle. The fair program has ABREAST permutations of a unit side by side, one in each
 * lane of a vector, and so many columns of D; each lane does what V2 does. Memory of a thread: D, one row of
 * H and of F for each lane, and the pattern with a feature's values of all frames side by side. */
#include <omp.h>

#include "bench/study/align/launch.h"
#include "src/base/cpu.h"

void study_align_cpu_serial(const study_align_task *task) {
  for (int64_t unit = 0; unit < task->count; unit++)
    study_align_unit_full(task, unit, (study_align_part){task->matrices, 1}, NULL);
}

enum { ABREAST = 16 };

typedef float lanes __attribute__((vector_size(ABREAST * sizeof(float)), aligned(sizeof(float))));

/* Columns of D, whole vectors. */
static int64_t whole_lanes(int64_t n) {
  return (n + ABREAST - 1) / ABREAST * ABREAST;
}

int64_t study_align_cpu_floats(int64_t window, int64_t n, int width) {
  return (window + 1 + width) * whole_lanes(n) + 2 * ABREAST * n;
}

/* Frame j's feature k at turned[k columns + j], 0 where there is no frame. */
static void turn(int64_t n, int width, const float *pattern, int64_t columns, float *turned) {
  for (int k = 0; k < width; k++)
    for (int64_t j = 0; j < columns; j++)
      turned[k * columns + j] = j < n ? pattern[j * width + k] : 0;
}

/* Row i of d is the window's frame i - 1. */
STUDY_INLINE void similarities_abreast(const study_align_task *t, const float *frames, const float *turned,
                                       int64_t columns, float *d) {
  for (int64_t i = 1; i <= t->window; i++)
    for (int64_t j = 0; j < columns; j += ABREAST) {
      const float *frame = frames + (i - 1) * t->width;
      lanes cosine = {0};
      for (int k = 0; k < t->width; k++)
        cosine = __builtin_elementwise_fma((lanes){0} + frame[k], *(const lanes *)&turned[k * columns + j],
                                           cosine);
      for (int l = 0; l < ABREAST; l++)
        d[i * columns + j + l] = dvt_similarity_of(cosine[l], t->threshold, t->rounded);
    }
}

/* Lane l's score is that of order[l]. */
STUDY_INLINE void rows_abreast(const study_align_task *t, int64_t n, const uint16_t *const order[ABREAST],
                               const float *d, int64_t columns, lanes *h, lanes *f, lanes *score) {
  const lanes zero = {0};
  lanes maximum = zero;
  for (int64_t j = 0; j < n; j++)
    h[j] = f[j] = zero;
  for (int64_t i = 1; i <= t->window; i++) {
    const float *similar[ABREAST];
    lanes left = zero, e = zero, diagonal = zero;
    for (int l = 0; l < ABREAST; l++)
      similar[l] = d + study_align_row(order[l], i) * columns;
    for (int64_t j = 0; j < n; j++) {
      const lanes up = h[j];
      lanes match;
      for (int l = 0; l < ABREAST; l++)
        match[l] = similar[l][j];
      f[j] = __builtin_elementwise_max(up - t->open, f[j] - t->extend);
      e = __builtin_elementwise_max(left - t->open, e - t->extend);
      left = __builtin_elementwise_max(__builtin_elementwise_max(zero, __builtin_elementwise_max(e, f[j])),
                                       diagonal + match);
      maximum = __builtin_elementwise_max(maximum, left);
      diagonal = up;
      h[j] = left;
    }
  }
  *score = maximum;
}

/* All runs of a unit, ABREAST at a time; lanes without a run repeat the last one. */
STUDY_INLINE void align_unit(const study_align_task *t, int64_t unit, float *d) {
  const int64_t n = study_align_pattern_frames(t, unit), columns = whole_lanes(n);
  float *turned = d + (t->window + 1) * columns;
  lanes *h = (lanes *)(turned + t->width * columns), *f = h + n;
  turn(n, t->width, t->patterns + t->starts[unit % t->effects] * t->width, columns, turned);
  similarities_abreast(t, t->movie + unit / t->effects * t->window * t->width, turned, columns, d);
  for (int first = 0; first < t->runs; first += ABREAST) {
    const uint16_t *order[ABREAST];
    const int left = t->runs - first, count = left < ABREAST ? left : ABREAST;
    for (int l = 0; l < ABREAST; l++)
      order[l] = study_align_order(t, first + (l < count ? l : count - 1), NULL);
    lanes score;
    rows_abreast(t, n, order, d, columns, h, f, &score);
    for (int l = 0; l < count; l++)
      study_align_scores_of(t, unit)[first + l] = score[l];
  }
}

DVT_CPU_DISPATCH(void, best_align_unit, align_unit, (const study_align_task *t, int64_t unit, float *memory),
                 (t, unit, memory))

void study_align_cpu_rows(const study_align_task *task, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t unit = 0; unit < task->count; unit++)
    best_align_unit(task, unit, task->matrices + omp_get_thread_num() * task->slot_floats);
}
