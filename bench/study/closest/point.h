/* SPDX-License-Identifier: Apache-2.0 */
/* Points of the plane, and indices of blocks and batches of points, for kernels and for the CPU. */
#ifndef DAVIT_STUDY_CLOSEST_POINT_H
#define DAVIT_STUDY_CLOSEST_POINT_H

#include "bench/study/common/site.h"

/* Both coordinates are always wanted together, so a point is one access of 8 bytes. */
typedef struct study_point {
  float x, y;
} __attribute__((aligned(8))) study_point;

/* The square of the distance, rounded after each operation: the same bits on all devices. */
STUDY_INLINE float study_square(study_point a, study_point b) {
#pragma clang fp contract(off)
  float dx = a.x - b.x, dy = a.y - b.y;
  return dx * dx + dy * dy;
}

STUDY_INLINE float study_distance(study_point a, study_point b) {
  return __builtin_sqrtf(study_square(a, b));
}

/* Whether a comes before b by the key and, where it is the same, by the other coordinate. */
typedef enum study_key { STUDY_BY_X, STUDY_BY_Y } study_key;
STUDY_INLINE bool study_before(study_point a, study_point b, int key) {
  const float ka = key == STUDY_BY_Y ? a.y : a.x, kb = key == STUDY_BY_Y ? b.y : b.x;
  const float oa = key == STUDY_BY_Y ? a.x : a.y, ob = key == STUDY_BY_Y ? b.x : b.y;
  return ka < kb || (ka == kb && oa < ob);
}

/* ---- powers of two: shifts and masks in place of quotients and remainders ---- */

/* log2 of a power of two. */
STUDY_INLINE int study_shift_of(int64_t power) {
  return __builtin_ctzll((unsigned long long)power);
}

STUDY_INLINE int64_t study_quotient(int64_t i, int64_t power) {
  return i >> study_shift_of(power);
}

STUDY_INLINE int64_t study_remainder(int64_t i, int64_t power) {
  return i & (power - 1);
}

/* The first index of the batch of `length` that i lies in. */
STUDY_INLINE int64_t study_batch_start(int64_t i, int64_t length) {
  return i & ~(length - 1);
}

#endif
