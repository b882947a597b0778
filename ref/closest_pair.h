/* SPDX-License-Identifier: Apache-2.0 */
/* The distance of two points, and which pair comes first: every search for a closest pair uses these
 * functions, so the result has the same bits on the CPU and on every device.
 *
 * Differences, squares and their sum are doubles, each rounded once; products and sums are never fused.
 * Coordinates that are floats give squares between 1e-90 and 1e78, without loss. A pair of doubles is
 * scaled by a power of two if its largest difference is above 2^500 or below 2^-460, so that no square
 * overflows or underflows. A distance that no double can hold is infinity.
 *
 * A distance is never less than the difference of one coordinate: rounding is monotonic, and the root of
 * a rounded square is the number squared.
 *
 * Cost: 8 flops and a root. Inline functions, because offload/closest_pair.c compiles them for devices
 * too. */
#ifndef DAVIT_REF_CLOSEST_PAIR_H
#define DAVIT_REF_CLOSEST_PAIR_H

#include <davit/closest_pair.h>
#include <stdbool.h>
#include <stdint.h>

#define DVT_PAIR_INLINE static inline __attribute__((always_inline))

/* Every pair comes before this one. */
#define DVT_NO_PAIR ((davit_closest_pair_result){INT64_MAX, INT64_MAX, __builtin_inf()})

/* The square of the distance, unless it overflows or underflows. */
DVT_PAIR_INLINE double dvt_pair_square(double dx, double dy, double dz) {
#pragma STDC FP_CONTRACT OFF
  return dx * dx + dy * dy + dz * dz;
}

DVT_PAIR_INLINE double dvt_pair_distance(double dx, double dy, double dz) {
  double x = __builtin_fabs(dx), y = __builtin_fabs(dy), z = __builtin_fabs(dz);
  double most = x > y ? x : y, scale = 1, back = 1;
  most = most > z ? most : z;
  if (most > 0x1p500) {
    scale = 0x1p-600;
    back = 0x1p600;
  } else if (most < 0x1p-460) {
    scale = 0x1p600;
    back = 0x1p-600;
  }
  return __builtin_sqrt(dvt_pair_square(x * scale, y * scale, z * scale)) * back;
}

/* A pair whose dvt_pair_square() is more than this is farther apart than `distance`. */
DVT_PAIR_INLINE double dvt_pair_limit(double distance) {
  if (distance > 0x1p499)
    return __builtin_inf();
  return distance < 0x1p-459 ? 0x1p-917 : distance * distance * (1 + 0x1p-40);
}

DVT_PAIR_INLINE bool dvt_pair_before(double distance, int64_t i, int64_t j,
                                     const davit_closest_pair_result *than) {
  if (distance != than->distance)
    return distance < than->distance;
  return i != than->i ? i < than->i : j < than->j;
}

/* The first k pairs that were offered and are not behind `limit`. */
typedef struct dvt_pair_list {
  davit_closest_pair_result limit, *pairs; /* in any order */
  int64_t k, capacity, count;              /* capacity: above k, or 0: pairs are only counted */
} dvt_pair_list;

/* If the pair of points a and b, in either order, comes before `best`, it becomes `best`. Returns whether it
 * did. */
DVT_PAIR_INLINE bool dvt_pair_offer(double distance, int64_t a, int64_t b, davit_closest_pair_result *best) {
  const int64_t i = a < b ? a : b, j = a < b ? b : a;
  if (!dvt_pair_before(distance, i, j, best))
    return false;
  *best = (davit_closest_pair_result){i, j, distance};
  return true;
}

#endif
