/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels share with loops and launches. */
#ifndef DAVIT_STUDY_DENSE_POINT_H
#define DAVIT_STUDY_DENSE_POINT_H

#include <stdint.h>

/* One element of the convolution: `a` is the element, its rows are nj apart. */
__attribute__((always_inline)) static inline double study_convolve(const double *a, int64_t nj) {
  /* [row][column] of the neighbour; the report writes c21 for column 2, row 1. */
  const double coefficients[3][3] = {{+0.2, +0.5, -0.8}, {-0.3, +0.6, -0.9}, {+0.4, +0.7, +0.1}};
  double sum = 0;
#pragma unroll
  for (int s = 0; s < 3; s++)
#pragma unroll
    for (int r = 0; r < 3; r++)
      sum += coefficients[r][s] * a[(r - 1) * nj + s - 1];
  return sum;
}

/* Entries of an upper triangle are numbered column by column: the column of entry k, which is entry
 * k - column (column + 1) / 2 of it. */
__attribute__((always_inline)) static inline int64_t triangle_column(int64_t k) {
  int64_t column = (int64_t)((__builtin_sqrt(8 * (double)k + 1) - 1) / 2);
  column -= column * (column + 1) / 2 > k; /* the root is rounded */
  return column + ((column + 1) * (column + 2) / 2 <= k);
}

#endif
