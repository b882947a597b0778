/* SPDX-License-Identifier: Apache-2.0 */
/* y = alpha x + y and x = alpha x as target regions: the elements are spread over all threads of the device,
 * neighbours to neighbours. As in the reference BLAS, alpha = 0 does not read x. */
#include "offload/blas.h"
#include "offload/blas_hip.h"
#include "offload/kernel/instance.h"

#define EACH "offload/axpy.inc"
#include "offload/each_blas.inc"

davit_status dvt_axpy_region(const dvt_site *site, const void *axpy) {
  dvt_axpy g = *(const dvt_axpy *)axpy;
  if (g.n <= 0 || g.alpha == 0)
    return DAVIT_SUCCESS;
  davit_status status;
  if (dvt_axpy_hip(site->device, &g, &status))
    return status;
  g.x = dvt_walk_from(g.x, g.n, g.incx, g.type);
  g.y = dvt_walk_from(g.y, g.n, g.incy, g.type);
  DVT_BY_TYPE(g.type, axpy)(site->device, &g);
  return DAVIT_SUCCESS;
}

davit_status dvt_scal_region(const dvt_site *site, const void *scal) {
  const dvt_scal *g = scal;
  if (g->n > 0 && g->alpha != 1)
    DVT_BY_TYPE(g->type, scal)(site->device, g);
  return DAVIT_SUCCESS;
}
