/* SPDX-License-Identifier: Apache-2.0 */
/* Sum of x[i] y[i] on the CPU, by BLIS. The float product accumulates in float, in as many partial sums as
 * BLIS's kernel keeps, as BLAS libraries do: the error bound is n eps |x|ᵀ|y|. */
#include <blis.h>

#include "ref/blas.h"

davit_status dvt_dot_host(const dvt_site *site, const void *dot) {
  const dvt_dot *g = dot;
  (void)site;
  const int64_t n = g->n > 0 ? g->n : 0;
  void *x = dvt_walk_from(g->x, n, g->incx, g->type), *y = dvt_walk_from(g->y, n, g->incy, g->type);
  const conj_t plain = BLIS_NO_CONJUGATE;
  double sum = 0;
  float sum_s = 0;
  if (g->type == DAVIT_DOUBLE) {
    if (n > 0)
      bli_ddotv_ex(plain, plain, n, x, g->incx, y, g->incy, &sum, NULL, NULL);
    *(double *)g->result = sum;
  } else {
    if (n > 0)
      bli_sdotv_ex(plain, plain, n, x, g->incx, y, g->incy, &sum_s, NULL, NULL);
    *(float *)g->result = sum_s;
  }
  return DAVIT_SUCCESS;
}
