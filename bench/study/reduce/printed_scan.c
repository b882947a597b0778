/* SPDX-License-Identifier: Apache-2.0 */
/* The scans as printed. */
#include "bench/study/reduce/printed.h"

#include <string.h>

void study_printed_sequential_scan(int64_t n, const int32_t *a, int32_t *s) {
  s[0] = a[0];
  for (int64_t i = 1; i < n; i++)
    s[i] = (int32_t)((uint32_t)s[i] + (uint32_t)a[i] + (uint32_t)s[i - 1]); /* s[i] += … */
}

bool study_printed_naive_scan(int n, uint32_t *values, int64_t most_steps) {
  uint32_t t[1024] = {0};
  int64_t steps = 0;
  for (int offset = 1; offset < n; (void)(offset << 1)) {
    if (++steps > most_steps)
      return false;
    for (int i = offset; i < n; i++)
      t[i] = values[i - offset];
    for (int i = offset; i < n; i++)
      values[i] += t[i];
  }
  return true;
}

void study_printed_warp_scan(bool exclusive, bool lockstep, uint32_t values[32], uint32_t returned[32]) {
  enum { WARP = STUDY_WARP };
  if (lockstep) {
    for (int d = 1; d < WARP; d *= 2)
      for (int lane = WARP - 1; lane >= d; lane--) /* from above: each reads what was there before the step */
        values[lane] = values[lane - d] + values[lane];
  } else {
    for (int lane = 0; lane < WARP; lane++)
      for (int d = 1; d <= lane && d < WARP; d *= 2)
        values[lane] = values[lane - d] + values[lane];
  }
  for (int lane = 0; lane < WARP; lane++)
    returned[lane] = !exclusive ? values[lane] : lane > 0 ? values[lane - 1] : 0;
}

void study_printed_grid_scan(bool exclusive, int block, int64_t n, const uint32_t *x, uint32_t *y) {
  uint32_t results = 0; /* the exclusive scan of the blocks' results, as far as it has come */
  for (int64_t first = 0; first < n; first += block) {
    int64_t end = first + block < n ? first + block : n;
    uint32_t sum = 0, last = 0;
    for (int64_t i = first; i < end; i++) {
      last = exclusive ? sum : sum + x[i];
      sum += x[i];
      y[i] = results + last;
    }
    results += last;
  }
}

void study_printed_segments(int64_t n, const int32_t *a, const int32_t *segments, int32_t *out,
                            study_guard *reads) {
  *reads = study_guard_of(n);
  int32_t first = study_inside(reads, 0) ? a[0] : STUDY_POISON;
  if (n > 0)
    out[0] = first;
  for (int64_t i = 1; i < n; i++)
    out[i] = segments[i] == 0 ? (int32_t)((uint32_t)out[i - 1] + (uint32_t)a[i]) : a[i];
}

study_printed_word study_printed_join(study_printed_word left, study_printed_word right) {
  strncat(left.text, right.text, sizeof left.text - 1 - strlen(left.text));
  return left;
}

static uint32_t times(uint32_t left, uint32_t right) {
  return left * right;
}

static uint32_t plus(uint32_t left, uint32_t right) {
  return left + right;
}

#define T uint32_t
#define UNWRITTEN STUDY_POISON
#define ZERO 0
#define COMBINE plus
#define NAME(x) x
#include "bench/study/reduce/printed_block.inc"
#undef COMBINE
#undef NAME
#define COMBINE times
#define NAME(x) x##_product
#include "bench/study/reduce/printed_block.inc"
#undef T
#undef UNWRITTEN
#undef ZERO
#undef COMBINE
#undef NAME
#define T study_printed_word
#define UNWRITTEN ((study_printed_word){"?"})
#define ZERO ((study_printed_word){""})
#define COMBINE study_printed_join
#define NAME(x) x##_words
#include "bench/study/reduce/printed_block.inc"
