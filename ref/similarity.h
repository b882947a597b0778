/* SPDX-License-Identifier: Apache-2.0 */
/* Similarity of two frames of sound, in the same bits on every device: fused multiplications and additions in
 * one order. Inline, because devices compute it too. */
#ifndef DAVIT_REF_SIMILARITY_H
#define DAVIT_REF_SIMILARITY_H

#include <math.h>
#include <stdbool.h>

/* The similarity for a sum of products of unit vectors. */
static inline float dvt_similarity_of(float cosine, float threshold, bool rounded) {
  float s = 100 * cosine;
  s = rounded ? rintf(s) : s;
  return s < threshold ? -threshold : s;
}

/* x and y are unit vectors, or 0. */
static inline float dvt_similarity(int width, const float *x, const float *y, float threshold, bool rounded) {
  float cosine = 0;
  for (int k = 0; k < width; k++)
    cosine = fmaf(x[k], y[k], cosine);
  return dvt_similarity_of(cosine, threshold, rounded);
}

/* x as a unit vector; 0 stays 0. Returns the length of x. */
static inline double dvt_unit_vector(int width, const float *x, float *unit) {
  double square = 0;
  for (int k = 0; k < width; k++)
    square += (double)x[k] * (double)x[k];
  const double scale = square > 0 ? 1 / sqrt(square) : 0;
  for (int k = 0; k < width; k++)
    unit[k] = (float)((double)x[k] * scale);
  return sqrt(square);
}

#endif
