/* SPDX-License-Identifier: Apache-2.0 */
/* y = alpha op(A) x + beta y on the CPU, by BLIS. As in the reference BLAS, y stays as it is when m or n is
 * 0. */
#include <blis.h>

#include "ref/blas.h"

davit_status dvt_gemv_host(const dvt_site *site, const void *gemv) {
  const dvt_gemv *g = gemv;
  (void)site;
  if (g->m == 0 || g->n == 0)
    return DAVIT_SUCCESS;
  const bool plain = g->trans == 'N';
  const trans_t op = plain ? BLIS_NO_TRANSPOSE : BLIS_TRANSPOSE;
  void *a = (void *)(uintptr_t)g->a, *x = dvt_walk_from(g->x, plain ? g->n : g->m, g->incx, g->type);
  void *y = dvt_walk_from(g->y, plain ? g->m : g->n, g->incy, g->type);
  double alpha = g->alpha, beta = g->beta;
  float alpha_s = (float)alpha, beta_s = (float)beta;
  if (g->type == DAVIT_DOUBLE)
    bli_dgemv_ex(op, BLIS_NO_CONJUGATE, g->m, g->n, &alpha, a, 1, g->lda, x, g->incx, &beta, y, g->incy, NULL,
                 NULL);
  else
    bli_sgemv_ex(op, BLIS_NO_CONJUGATE, g->m, g->n, &alpha_s, a, 1, g->lda, x, g->incx, &beta_s, y, g->incy,
                 NULL, NULL);
  return DAVIT_SUCCESS;
}
