/* SPDX-License-Identifier: Apache-2.0 */
/* 3 × 3 stencil on the CPU, one element after another. */
#include "ref/stencil.h"

#include <stdbool.h>

#include "ref/ref.h"

#define DEFINE(p, T)                                                                                         \
  void dvt_ref_##p##stencil(int64_t rows, int64_t cols, const T *a, int64_t lda, const double *coefficients, \
                            davit_stencil_border border, T *b, int64_t ldb) {                                \
    T c[9];                                                                                                  \
    for (int k = 0; k < 9; k++)                                                                              \
      c[k] = (T)coefficients[k];                                                                             \
    for (int64_t j = 0; j < cols; j++)                                                                       \
      for (int64_t i = 0; i < rows; i++) {                                                                   \
        const T *middle = a + i + j * lda;                                                                   \
        if (i > 0 && i < rows - 1 && j > 0 && j < cols - 1)                                                  \
          b[i + j * ldb] = dvt_stencil_element_##T(middle, lda, c);                                          \
        else if (border != DAVIT_STENCIL_BORDER_UNTOUCHED)                                                   \
          b[i + j * ldb] = border == DAVIT_STENCIL_BORDER_COPY ? *middle : 0;                                \
      }                                                                                                      \
  }

DEFINE(d, double)
DEFINE(s, float)
