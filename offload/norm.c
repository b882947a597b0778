/* SPDX-License-Identifier: Apache-2.0 */
/* nrm2 and asum as target regions, in double.
 *
 * As in offload/dot.c the range is cut into chunks by its length alone, a team adds the chunk's lanes in a
 * fixed tree, and the sums of the chunks are added in ascending order, here on the host: the bits depend on n
 * alone. A sum of squares is that of ref/norm.h. */
#include "ref/norm.h"

#include <omp.h>

#include "offload/blas.h"
#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/space.h"

enum { LANES = 256, MIN_CHUNK = 16 * LANES, MAX_CHUNKS = 256 };

#define EACH "offload/norm.inc"
#include "offload/each_blas.inc"

/* The result, from the sums of the chunks. */
static double result_of(const dvt_norm *g, int chunks, const dvt_squares *sums) {
  dvt_squares sum = {0, 0, 0};
  for (int c = 0; c < chunks; c++) {
    sum.small += sums[c].small;
    sum.middle += sums[c].middle;
    sum.large += sums[c].large;
  }
  return g->squares ? dvt_squares_root(&sum) : sum.middle;
}

davit_status dvt_norm_region(const dvt_site *site, const void *norm) {
  const dvt_norm *g = norm;
  dvt_squares sums[MAX_CHUNKS];
  const int64_t n = g->n > 0 ? g->n : 0, even = (n + MAX_CHUNKS - 1) / MAX_CHUNKS;
  const int64_t chunk = even < MIN_CHUNK ? MIN_CHUNK : even;
  const int chunks = (int)((n + chunk - 1) / chunk), home = omp_get_initial_device();
  int failed = 0;
  if (chunks > 0) {
    dvt_squares *there = omp_target_alloc((size_t)chunks * sizeof *there, site->device);
    if (!there)
      return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "norm: no memory for %d partial sums", chunks);
    DVT_BY_TYPE(g->type, norm_chunks)(site->device, g, chunk, chunks, there);
    failed = omp_target_memcpy(sums, there, (size_t)chunks * sizeof *there, 0, 0, home, site->device);
    omp_target_free(there, site->device);
  }
  const double value = result_of(g, chunks, sums);
  const float narrow = (float)value;
  const bool wide = dvt_real_type(g->type) == DAVIT_DOUBLE;
  const int place = g->on_device ? site->device : dvt_space_place(g->result);
  failed =
      failed || omp_target_memcpy(g->result, wide ? (const void *)&value : &narrow,
                                  wide ? sizeof value : sizeof narrow, 0, 0, place >= 0 ? place : home, home);
  return failed ? davit_fail(DAVIT_DEVICE_ERROR, "norm: copying the result failed") : DAVIT_SUCCESS;
}
