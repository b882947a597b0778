/* SPDX-License-Identifier: Apache-2.0 */
/* Sum of x[i] y[i] or conj(x[i]) y[i] on the CPU, by BLIS. The float product accumulates in float, in as many
 * partial sums as BLIS's kernel keeps, as BLAS libraries do: the error bound is n eps |x|ᵀ|y|. */
#include <string.h>

#include "ref/blas.h"
#include "ref/blis.h"

davit_status dvt_dot_host(const dvt_site *site, const void *dot) {
  const dvt_dot *g = dot;
  (void)site;
  const int64_t n = g->n > 0 ? g->n : 0;
  void *x = dvt_walk_from(g->x, n, g->incx, g->type), *y = dvt_walk_from(g->y, n, g->incy, g->type);
  const conj_t conjugate = g->conjugate ? BLIS_CONJUGATE : BLIS_NO_CONJUGATE;
  dvt_scalar sum = dvt_scalar_of(g->type, 0);
  if (n > 0)
    DVT_BLIS(g->type, dotv_ex, conjugate, BLIS_NO_CONJUGATE, n, x, g->incx, y, g->incy, (void *)&sum, NULL,
             NULL);
  memcpy(g->result, &sum, davit_type_bytes(g->type));
  return DAVIT_SUCCESS;
}
