/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of squares that neither overflow nor underflow, for the host and for target regions.
 *
 * Numbers go to one of three sums by their size: the large and the small ones are scaled by powers of two
 * first, so that their squares are normal numbers and exactly scaled. States of parts of a vector are added.
 * Squares of floats are normal doubles. Source: J. L. Blue, "A portable Fortran program to find the Euclidean
 * norm of a vector", ACM TOMS 4 (1978); E. Anderson, "Algorithm 978: safe scaling in the level 1 BLAS", ACM
 * TOMS 44 (2017). NaN and infinities reach the result. */
#ifndef DAVIT_REF_NORM_H
#define DAVIT_REF_NORM_H

#include <math.h>
#include <stdbool.h>

typedef struct dvt_squares {
  double small, middle, large;
} dvt_squares;

#define DVT_SMALL 0x1p-511
#define DVT_LARGE 0x1p486
#define DVT_SCALE_SMALL 0x1p537
#define DVT_SCALE_LARGE 0x1p-538

static inline void dvt_squares_add(dvt_squares *s, double x) {
  const double size = x < 0 ? -x : x;
  if (size > DVT_LARGE)
    s->large += (size * DVT_SCALE_LARGE) * (size * DVT_SCALE_LARGE);
  else if (size < DVT_SMALL)
    s->small += (size * DVT_SCALE_SMALL) * (size * DVT_SCALE_SMALL);
  else
    s->middle += size * size;
}

/* The small numbers do not matter beside a large one. */
static inline double dvt_squares_root(const dvt_squares *s) {
  const double small = sqrt(s->small) / DVT_SCALE_SMALL, middle = sqrt(s->middle);
  if (s->large > 0)
    return sqrt(s->large + (s->middle * DVT_SCALE_LARGE) * DVT_SCALE_LARGE) / DVT_SCALE_LARGE;
  if (!(small > 0) || !(middle > 0)) /* at most one of them; a NaN is in the middle */
    return small > 0 && middle == 0 ? small : middle;
  const double more = small > middle ? small : middle, less = small > middle ? middle : small;
  return more * sqrt(1 + (less / more) * (less / more));
}

#endif
