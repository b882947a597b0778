/* SPDX-License-Identifier: Apache-2.0 */
/* tmp = op(A) x, y = opᵀ(A) tmp on the CPU: two products by BLIS, which read A twice; tmp is not NULL. */
#include <string.h>

#include "ref/blas.h"
#include "ref/ref.h"

#define DEFINE(p, T, TYPE)                                                                                   \
  void dvt_ref_##p##atax(char trans, int64_t m, int64_t n, const T *a, int64_t lda, const T *x, T *tmp,      \
                         T *y) {                                                                             \
    size_t rows = (size_t)m * sizeof(T), cols = (size_t)n * sizeof(T);                                       \
    memset(tmp, 0, trans == 'N' ? rows : cols);                                                              \
    memset(y, 0, trans == 'N' ? cols : rows);                                                                \
    dvt_gemv_host(NULL, &(dvt_gemv){TYPE, trans, m, n, 1, a, lda, x, 1, 0, tmp, 1});                         \
    dvt_gemv_host(NULL, &(dvt_gemv){TYPE, trans == 'N' ? 'T' : 'N', m, n, 1, a, lda, tmp, 1, 0, y, 1});      \
  }

DEFINE(d, double, DAVIT_DOUBLE)
DEFINE(s, float, DAVIT_FLOAT)
