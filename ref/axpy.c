/* SPDX-License-Identifier: Apache-2.0 */
/* y = alpha x + y on the CPU, by BLIS. As in the reference BLAS, alpha = 0 does not read x. */
#include "ref/blas.h"
#include "ref/blis.h"

davit_status dvt_axpy_host(const dvt_site *site, const void *axpy) {
  const dvt_axpy *g = axpy;
  (void)site;
  if (g->n <= 0 || g->alpha == 0)
    return DAVIT_SUCCESS;
  void *x = dvt_walk_from(g->x, g->n, g->incx, g->type), *y = dvt_walk_from(g->y, g->n, g->incy, g->type);
  dvt_scalar alpha = dvt_scalar_of(g->type, g->alpha);
  DVT_BLIS(g->type, axpyv_ex, BLIS_NO_CONJUGATE, g->n, (void *)&alpha, x, g->incx, y, g->incy, NULL, NULL);
  return DAVIT_SUCCESS;
}
