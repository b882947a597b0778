/* SPDX-License-Identifier: Apache-2.0 */
/* One element of the 3 × 3 stencil: nine terms in the order of the coefficients, a product and eight fused
 * additions. The reference and the CPU's way use it; vectors and kernels compute the same sequence. */
#ifndef DAVIT_REF_STENCIL_H
#define DAVIT_REF_STENCIL_H

#include <stdint.h>

/* `a` points at the middle element. */
#define DVT_DEFINE(name, T)                                                                                  \
  static inline __attribute__((always_inline)) T name(const T *a, int64_t lda, const T *c) {                 \
    T sum = c[0] * a[-1 - lda];                                                                              \
    _Pragma("unroll") for (int k = 1; k < 9; k++) sum =                                                      \
        __builtin_elementwise_fma(c[k], a[k % 3 - 1 + (k / 3 - 1) * lda], sum);                              \
    return sum;                                                                                              \
  }
DVT_DEFINE(dvt_stencil_element_double, double)
DVT_DEFINE(dvt_stencil_element_float, float)
#undef DVT_DEFINE

#endif
