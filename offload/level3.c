/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 as target regions, for devices without a vendor's BLAS.
 *
 * The real product has a kernel of its own (offload/gemm.c). The others are the plain sums of their
 * definitions: an element of C, or in the triangular routines a column (side 'L') or row ('R') of it, is a
 * thread's, and is summed in ascending order whatever the number of teams. They read the stored halves alone.
 * Reads come from the caches: an element of C costs its length in loads, and a triangular routine keeps no
 * more threads busy than C has columns (rows). */
#include "offload/blas.h"
#include "offload/blas_hip.h"
#include "offload/gemm.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/device.h"

/* An operand as op() shows it: element (i, j) is x[i row + j col], of the other half's mirror image if it
 * lies outside of the stored one. */
typedef enum half { WHOLE, SYMMETRIC, HERMITIAN } half;

typedef struct operand {
  int64_t row, col;
  half half;
  bool lower;     /* the stored half, as op() shows it */
  bool conjugate; /* op() conjugates */
  bool unit;      /* the diagonal is 1 */
} operand;

/* An operand's flags in one number: regions get numbers of 8 bytes or less by value, and make the operand of
 * them. */
static inline int flags_of(operand o) {
  return (int)o.half | o.lower << 2 | o.conjugate << 3 | o.unit << 4;
}

static inline operand operand_made(int64_t row, int64_t col, int flags) {
  return (operand){row, col, (half)(flags & 3), flags >> 2 & 1, flags >> 3 & 1, flags >> 4 & 1};
}

static operand operand_of(char trans, int64_t ld) {
  return trans == 'N' ? (operand){.row = 1, .col = ld}
                      : (operand){.row = ld, .col = 1, .conjugate = trans == 'C'};
}

#define EACH "offload/level3.inc"
#include "offload/each_blas.inc"

bool dvt_gemm_has_tasks(int device, const void *level3) {
  const double flops_of_a_task =
      1e10; /* an H200 takes 1 ms for them; short ones are over sooner if a thread waits */
  const dvt_level3 *g = level3;
  return (g->type == DAVIT_DOUBLE || g->type == DAVIT_FLOAT) && !dvt_hip_is_used(device) &&
         (dvt_device_find(device)->shares_host_memory ||
          2 * (double)g->m * (double)g->n * (double)g->k >= flops_of_a_task);
}

davit_status dvt_gemm_tasks(const dvt_site *site, const void *level3) {
  const dvt_level3 settled = dvt_level3_settled(level3), *g = &settled;
  if (!dvt_level3_is_done(g))
    dvt_gemm_task(site->device, site->order, g);
  return DAVIT_SUCCESS;
}

davit_status dvt_level3_region(const dvt_site *site, const void *level3) {
  const dvt_level3 settled = dvt_level3_settled(level3), *g = &settled;
  if (dvt_level3_is_done(g))
    return DAVIT_SUCCESS;
  davit_status status;
  if (dvt_level3_hip(site->device, g, &status))
    return status;
  if (dvt_level3_keeps(g))
    DVT_BY_TYPE(g->type, real_diagonal)(site->device, g);
  else if (g->routine == DVT_GEMM && (g->type == DAVIT_DOUBLE || g->type == DAVIT_FLOAT))
    dvt_gemm_region(site->device, g);
  else if ((g->routine == DVT_TRMM || g->routine == DVT_TRSM) && g->alpha != 0)
    DVT_BY_TYPE(g->type, triangular_routine)(site->device, g);
  else
    DVT_BY_TYPE(g->type, sum_routine)(site->device, g);
  return DAVIT_SUCCESS;
}
