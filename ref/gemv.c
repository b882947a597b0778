/* SPDX-License-Identifier: Apache-2.0 */
/* y = alpha op(A) x + beta y on the CPU, by BLIS. As in the reference BLAS, y stays as it is when m or n is
 * 0.
 *
 * For 'N', and for 'T' of one row, BLIS adds the columns of op(A) in groups. The columns after the last
 * whole group, and all columns if x or y is strided, it adds one by one, without those where alpha x_j is 0.
 * These are read here, because 0 times a NaN or an infinity is NaN. */
#include "ref/blas.h"
#include "ref/blis.h"

#define DEFINE(name, T)                                                                                      \
  static bool all_finite_##name(int64_t n, const T *a, int64_t inc) {                                        \
    int others = 0;                                                                                          \
    for (int64_t i = 0; i < n; i++)                                                                          \
      others |= !(a[i * inc] - a[i * inc] == 0);                                                             \
    return !others;                                                                                          \
  }                                                                                                          \
                                                                                                             \
  static void add_zero_columns_##name(const dvt_gemv *g, int64_t first, const void *from, void *to) {        \
    const T *x = from;                                                                                       \
    T *y = to;                                                                                               \
    const bool plain = g->trans == 'N';                                                                      \
    const int64_t rows = plain ? g->m : g->n, cols = plain ? g->n : g->m;                                    \
    const int64_t down = plain ? 1 : g->lda, right = plain ? g->lda : 1;                                     \
    for (int64_t j = first; j < cols; j++) {                                                                 \
      const T factor = (T)g->alpha * x[j * g->incx], *a = (const T *)g->a + j * right;                       \
      if (factor != 0 || all_finite_##name(rows, a, down))                                                   \
        continue;                                                                                            \
      for (int64_t i = 0; i < rows; i++)                                                                     \
        if (!(a[i * down] - a[i * down] == 0))                                                               \
          y[i * g->incy] += factor * a[i * down];                                                            \
    }                                                                                                        \
  }
DEFINE(double, double)
DEFINE(float, float)
DEFINE(complex_double, double _Complex)
DEFINE(complex_float, float _Complex)

/* The first column of op(A) that BLIS may leave out. */
static int64_t first_single(const dvt_gemv *g) {
  const int64_t group = bli_cntx_get_blksz_def_dt(dvt_blis_type(g->type), BLIS_AF, bli_gks_query_cntx());
  const bool grouped = g->trans == 'N' && g->incx == 1 && g->incy == 1;
  return grouped ? g->n / group * group : 0;
}

davit_status dvt_gemv_host(const dvt_site *site, const void *gemv) {
  const dvt_gemv settled = dvt_gemv_settled(gemv), *g = &settled;
  (void)site;
  if (g->m == 0 || g->n == 0)
    return DAVIT_SUCCESS;
  const bool plain = g->trans == 'N';
  const trans_t op = plain ? BLIS_NO_TRANSPOSE : g->trans == 'T' ? BLIS_TRANSPOSE : BLIS_CONJ_TRANSPOSE;
  void *a = (void *)(uintptr_t)g->a, *x = dvt_walk_from(g->x, plain ? g->n : g->m, g->incx, g->type);
  void *y = dvt_walk_from(g->y, plain ? g->m : g->n, g->incy, g->type);
  dvt_scalar alpha = dvt_scalar_of(g->type, g->alpha), beta = dvt_scalar_of(g->type, g->beta);
  DVT_BLIS(g->type, gemv_ex, op, BLIS_NO_CONJUGATE, g->m, g->n, (void *)&alpha, a, 1, g->lda, x, g->incx,
           (void *)&beta, y, g->incy, NULL, NULL);
  if (g->alpha != 0 && (plain || g->m == 1)) {
    static void (*const add[DAVIT_TYPE_COUNT])(const dvt_gemv *, int64_t, const void *, void *) = {
        [DAVIT_DOUBLE] = add_zero_columns_double,
        [DAVIT_FLOAT] = add_zero_columns_float,
        [DAVIT_COMPLEX_DOUBLE] = add_zero_columns_complex_double,
        [DAVIT_COMPLEX_FLOAT] = add_zero_columns_complex_float};
    add[g->type](g, first_single(g), x, y);
  }
  return DAVIT_SUCCESS;
}
