/* 3 × 3 stencil on the CPU, one element after another: the nine terms in the order of the coefficients, fused. */
#include <math.h>
#include <stdbool.h>

#include "ref/ref.h"

#define DEFINE(p, T, fused)                                                                                  \
  void dvt_ref_##p##stencil(int64_t rows, int64_t cols, const T *a, int64_t lda, const double *coefficients, \
                            davit_stencil_border border, T *b, int64_t ldb) {                                \
    for (int64_t j = 0; j < cols; j++)                                                                       \
      for (int64_t i = 0; i < rows; i++) {                                                                   \
        bool inner = i > 0 && i < rows - 1 && j > 0 && j < cols - 1;                                         \
        if (!inner && border == DAVIT_STENCIL_BORDER_UNTOUCHED)                                              \
          continue;                                                                                          \
        T sum = 0;                                                                                           \
        for (int k = 0; k < 9 && inner; k++) {                                                               \
          T c = (T)coefficients[k], element = a[i + k % 3 - 1 + (j + k / 3 - 1) * lda];                      \
          sum = k == 0 ? c * element : fused(c, element, sum);                                               \
        }                                                                                                    \
        b[i + j * ldb] = inner ? sum : border == DAVIT_STENCIL_BORDER_COPY ? a[i + j * lda] : 0;             \
      }                                                                                                      \
  }

DEFINE(d, double, fma)
DEFINE(s, float, fmaf)
