/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation on the CPU: halves, whose products are BLIS's, down to blocks that are done column by column
 * (Gustavson, "Recursion leads to automatic variable blocking", IBM J. Res. Dev. 41, 1997). */
#include "ref/solve.h"

#include <math.h>

enum { BLOCK = 48 }; /* as fast from 32 to 96, at orders of 500 to 4000 */

/* ---- small blocks ---- */

/* Column j is updated by the columns before it. Of 'U' the adjoint is factored, which is copied there and back. */
#define DEFINE(name, T, R, REAL, CONJ, ROOT)                                                                 \
  static int lower_##name(int64_t n, T *a, int64_t ld) {                                                     \
    for (int64_t j = 0; j < n; j++) {                                                                        \
      T *column = a + j * ld;                                                                                \
      for (int64_t k = 0; k < j; k++) {                                                                      \
        const T *before = a + k * ld, factor = CONJ(before[j]);                                              \
        for (int64_t i = j; i < n; i++)                                                                      \
          column[i] -= before[i] * factor;                                                                   \
      }                                                                                                      \
      const R square = REAL(column[j]);                                                                      \
      column[j] = square;                                                                                    \
      if (!(square > 0))                                                                                     \
        return (int)j + 1;                                                                                   \
      const R root = ROOT(square), inverse = 1 / root;                                                       \
      column[j] = root;                                                                                      \
      for (int64_t i = j + 1; i < n; i++)                                                                    \
        column[i] *= inverse;                                                                                \
    }                                                                                                        \
    return 0;                                                                                                \
  }                                                                                                          \
                                                                                                             \
  static int small_##name(char uplo, int64_t n, void *matrix, int64_t ld) {                                  \
    T *a = matrix, adjoint[BLOCK * BLOCK];                                                                   \
    if (uplo == 'L')                                                                                         \
      return lower_##name(n, a, ld);                                                                         \
    for (int64_t j = 0; j < n; j++)                                                                          \
      for (int64_t i = 0; i <= j; i++)                                                                       \
        adjoint[j + i * BLOCK] = CONJ(a[i + j * ld]);                                                        \
    const int info = lower_##name(n, adjoint, BLOCK);                                                        \
    for (int64_t j = 0; j < n; j++)                                                                          \
      for (int64_t i = 0; i <= j; i++)                                                                       \
        a[i + j * ld] = CONJ(adjoint[j + i * BLOCK]);                                                        \
    return info;                                                                                             \
  }
#define SAME(x) (x)
DEFINE(double, double, double, SAME, SAME, sqrt)
DEFINE(float, float, float, SAME, SAME, sqrtf)
DEFINE(complex_double, double _Complex, double, __real__, ~, sqrt)
DEFINE(complex_float, float _Complex, float, __real__, ~, sqrtf)

static int small(const dvt_potrf *p) {
  static int (*const by_type[DAVIT_TYPE_COUNT])(char, int64_t, void *,
                                                int64_t) = {[DAVIT_DOUBLE] = small_double,
                                                            [DAVIT_FLOAT] = small_float,
                                                            [DAVIT_COMPLEX_DOUBLE] = small_complex_double,
                                                            [DAVIT_COMPLEX_FLOAT] = small_complex_float};
  return by_type[p->type](p->uplo, p->n, p->a, p->lda);
}

/* ---- halves ---- */

static davit_status factor(const dvt_site *site, const dvt_potrf *p, int *info) {
  if (p->n <= BLOCK) {
    *info = small(p);
    return DAVIT_SUCCESS;
  }
  const size_t element = davit_type_bytes(p->type);
  const int64_t first = p->n / 2 / BLOCK * BLOCK > 0 ? p->n / 2 / BLOCK * BLOCK : p->n / 2,
                rest = p->n - first;
  char *a = p->a, *beside = a + (size_t)(p->uplo == 'L' ? first : first * p->lda) * element;
  dvt_potrf half = *p;
  half.n = first;
  DVT_TRY(factor(site, &half, info));
  if (*info)
    return DAVIT_SUCCESS;
  const dvt_level3 solve = dvt_potrf_solve(p->type, p->uplo, first, rest, a, p->lda, beside, p->lda);
  DVT_TRY(dvt_level3_host(site, &solve));
  half.n = rest;
  half.a = a + (size_t)(first + first * p->lda) * element;
  const dvt_level3 update = dvt_potrf_update(p->type, p->uplo, rest, first, beside, p->lda, half.a, p->lda);
  DVT_TRY(dvt_level3_host(site, &update));
  DVT_TRY(factor(site, &half, info));
  *info += *info ? (int)first : 0;
  return DAVIT_SUCCESS;
}

davit_status dvt_potrf_host(const dvt_site *site, const void *potrf) {
  const dvt_potrf *p = potrf;
  int info = 0;
  DVT_TRY(factor(site, p, &info));
  *p->info = info;
  return DAVIT_SUCCESS;
}
