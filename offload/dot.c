/* SPDX-License-Identifier: Apache-2.0 */
/* Sum of x[i] y[i] or conj(x[i]) y[i] as target regions.
 *
 * The range is cut into at most MAX_CHUNKS chunks, as its length alone decides. A team takes a chunk: LANES
 * lanes stride through it, and their sums are added in team memory in a fixed tree. A second region adds the
 * chunks' sums in ascending order. So the bits depend on n alone, neither on the device nor on the number of
 * teams or threads, as far as multiplication and addition contract alike. The result may lie on the host or
 * on the device, as the arguments say, or, where the device runtime knows pointers (NVIDIA), on another
 * device. */
#include <omp.h>

#include "offload/blas.h"
#include "offload/blas_hip.h"
#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/space.h"

/* 1023 sums and the result fit into the 8 KiB that omp_target_alloc() has without asking the driver. */
enum { LANES = 256, MIN_CHUNK = 16 * LANES, MAX_CHUNKS = 1023 };

#define EACH "offload/dot.inc"
#include "offload/each_blas.inc"

davit_status dvt_dot_region(const dvt_site *site, const void *dot) {
  dvt_dot g = *(const dvt_dot *)dot;
  davit_status status;
  if (dvt_dot_hip(site->device, &g, &status))
    return status;
  if (g.n > 0) {
    g.x = dvt_walk_from(g.x, g.n, g.incx, g.type);
    g.y = dvt_walk_from(g.y, g.n, g.incy, g.type);
  }
  return DVT_BY_TYPE(g.type, dot)(site->device, &g);
}
