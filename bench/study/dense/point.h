/* SPDX-License-Identifier: Apache-2.0 */
/* One element of the convolution, for kernels and loops alike: `a` is the element, its rows are nj apart. */
#ifndef DAVIT_STUDY_DENSE_POINT_H
#define DAVIT_STUDY_DENSE_POINT_H

#include <stdint.h>

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

#endif
