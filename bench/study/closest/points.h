/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of points by counting: point i of a seed is a pure function of both (ref/philox.h), whatever n is,
 * unless its place is taken.
 *
 *   UNIFORM   coordinates in (0, 1], no two points equal
 *   SIGNED    coordinates in [-1, 0) and (0, 1], no two points equal
 *   NORMAL    mean 0, standard deviation 0.1^(v - 1), points beyond [-1, 1] drawn again; some may be equal */
#ifndef DAVIT_STUDY_CLOSEST_POINTS_H
#define DAVIT_STUDY_CLOSEST_POINTS_H

#include <davit/status.h>

#include "bench/study/closest/point.h"

typedef enum study_distribution {
  STUDY_UNIFORM,
  STUDY_SIGNED,
  STUDY_NORMAL,
  STUDY_DISTRIBUTIONS
} study_distribution;

typedef struct study_points {
  study_distribution distribution;
  int v;    /* NORMAL: 1 … 5 */
  int bits; /* coordinates are multiples of 2^-bits; 1 … 24, 0: 24, or as they are for NORMAL */
  uint64_t seed;
} study_points;

/* Errors: DAVIT_INVALID_ARGUMENT names the member; so does n beyond a half of the places there are. */
davit_status study_points_make(const study_points *p, int64_t n, study_point *points);

/* Sorts points; ties by the other coordinate. */
void study_points_sort(study_key key, int64_t n, study_point *points);

/* 0.1^(v - 1). */
double study_points_deviation(int v);

#endif
