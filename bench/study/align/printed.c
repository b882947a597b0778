/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/align/printed.h"

#include <math.h>
#include <stdlib.h>

#pragma STDC FP_CONTRACT OFF

static float product(int width, const float *x, const float *y) {
  float sum = 0;
  for (int k = 0; k < width; k++)
    sum += x[k] * y[k];
  return sum;
}

void study_printed_similarities(int width, int64_t window, int64_t n, const float *movie,
                                const float *pattern, long thresh, float *d) {
  for (int64_t i = 0; i < window; i++)
    for (int64_t j = 0; j < n; j++) {
      const float *x = movie + i * width, *y = pattern + j * width;
      float *at = &d[(i + 1) * (n + 1) + j + 1];
      *at = 100 * product(width, x, y) / (sqrtf(product(width, x, x)) * sqrtf(product(width, y, y)));
      if (*at < (float)thresh)
        *at = -(float)thresh;
    }
}

/* fmaxf() would drop a NaN; the printed comparisons are not shown. */
static float greater(float a, float b) {
  return a > b ? a : b;
}

static float fill(int64_t m, int64_t n, const float *d, float penalty, const int *p, float *acc, float *hor,
                  float *ver) {
  float maximum = acc[0];
  for (int64_t i = 1; i < m; i++)
    for (int64_t j = 1; j < n; j++) {
      const int64_t at = i * n + j, row = p ? p[i] : i;
      hor[at] = greater(acc[at - 1] - (100 + penalty), hor[at - 1] - penalty);
      ver[at] = greater(acc[at - n] - (100 + penalty), ver[at - n] - penalty);
      acc[at] = greater(0, greater(greater(hor[at], ver[at]), acc[at - n - 1] + d[row * n + j]));
    }
  for (int64_t k = 0; k < m * n; k++)
    maximum = greater(maximum, acc[k]);
  return maximum;
}

float study_printed_score(int64_t window, int64_t n, const float *d, float penalty, const int *p, float h,
                          float gaps) {
  const int64_t cells = (window + 1) * (n + 1);
  float *acc = malloc(3 * (size_t)cells * sizeof *acc);
  if (!acc)
    return NAN;
  for (int64_t k = 0; k < cells; k++)
    acc[k] = h;
  for (int64_t k = cells; k < 3 * cells; k++)
    acc[k] = gaps;
  const float score = fill(window + 1, n + 1, d, penalty, p, acc, acc + cells, acc + 2 * cells);
  free(acc);
  return score;
}

int64_t study_printed_frames_outside(int64_t frames, int64_t window, int64_t threads) {
  int64_t outside = 0;
  for (int64_t idx = 0; idx < threads; idx++)
    for (int64_t i = idx * window; i < (idx + 1) * window; i++)
      outside += i >= frames;
  return outside;
}

float study_printed_maximum(float initial, int threads, const float *own) {
  float left = initial;
  for (int t = 0; t < threads; t++)
    if (own[t] > initial)
      left = own[t];
  return left;
}
