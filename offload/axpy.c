/* SPDX-License-Identifier: Apache-2.0 */
/* y = alpha x + y as a target region: the elements are spread over all threads of the device, neighbours to
 * neighbours. As in the reference BLAS, alpha = 0 does not read x. */
#include "offload/blas.h"
#include "offload/kernel/instance.h"

#define EACH "offload/axpy.inc"
#include "offload/each_floating.inc"

davit_status dvt_axpy_region(const dvt_site *site, const void *axpy) {
  dvt_axpy g = *(const dvt_axpy *)axpy;
  if (g.n <= 0 || g.alpha == 0)
    return DAVIT_SUCCESS;
  g.x = dvt_walk_from(g.x, g.n, g.incx, g.type);
  g.y = dvt_walk_from(g.y, g.n, g.incy, g.type);
  g.type == DAVIT_DOUBLE ? double_axpy(site->device, &g) : float_axpy(site->device, &g);
  return DAVIT_SUCCESS;
}
