/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a covariance on a device. The centred data are written and read once more than necessary: the
 * product loads them from memory.
 *
 * Means: if variables are columns ('N'), a team sums a column and centres it while it is in the caches. If
 * variables are rows ('T'), teams sum shares of the observations for 32 variables each; the shares' sums are
 * added in scratch memory, in a fixed order, and a third kernel subtracts the means. rows cols flops for the
 * means, as many for the centring; reads the data twice (once from memory for 'N') and writes them once.
 *
 * Product: 1 / divisor is the alpha of cuBLAS or BLIS, rounded once. syrk computes the square on the
 * diagonal, gemm what is below. Davit's own regions (no cuBLAS) multiply blocks of BLOCK columns from the
 * diagonal down, rows cols (cols + BLOCK) flops. Only the lower triangle counts; the upper one is its mirror
 * image, and so exactly symmetric.
 *
 * covariance_kernel.inc has the kernels for GPUs, covariance.inc the CPU's functions and the steps. */
#include "offload/covariance.h"

#include <omp.h>
#include <string.h>

#include "offload/blas.h"
#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/kernel/threads.h"
#include "offload/runtime/launch.h"
#include "src/base/arithmetic.h"

enum {
  TILE = 32,
  TEAM = 256, /* threads: 32 lanes by GROUPS */
  GROUPS = TEAM / 32,
  MAX_TEAMS = 1 << 20,
  WANTED_TEAMS = 2048, /* where work can be shared as finely as one likes; `davit tune` may know better */
  MAX_SHARES = 64,
  BLOCK = 512 /* columns */
};

/* Shares of the observations, where variables are rows. */
static int64_t share_count(const dvt_covariance *g) {
  const int64_t cols = g->all_cols ? g->all_cols : g->cols;
  const int64_t wanted = (g->teams > 0 ? g->teams : WANTED_TEAMS) / dvt_at_least(dvt_divide_up(cols, 32), 1);
  return dvt_at_least(dvt_at_most(dvt_at_most(wanted, MAX_SHARES), dvt_divide_up(g->rows, 4 * GROUPS)), 1);
}

size_t dvt_centre_scratch(const dvt_covariance *g) {
  return g->trans == 'N' ? 0 : (size_t)share_count(g) * (size_t)g->cols * sizeof(double);
}

#define EACH "offload/covariance_kernel.inc"
#include "offload/each_floating.inc"

#define EACH "offload/covariance.inc"
#include "offload/each_floating.inc"

davit_status dvt_centre_fit(dvt_stream *stream, davit_type type, dvt_kernel_fit *fit) {
  static dvt_kernel kernels[2] = {DVT_KERNEL(float_add_rows_region), DVT_KERNEL(double_add_rows_region)};
  return dvt_launch_fit_of(&kernels[type == DAVIT_DOUBLE], stream, TEAM, 0, fit);
}

davit_status dvt_centre(const dvt_site *site, const dvt_covariance *g, void *scratch) {
  return (g->type == DAVIT_DOUBLE ? double_centre : float_centre)(site, g, scratch);
}

davit_status dvt_transpose(const dvt_site *site, davit_type type, int64_t rows, int64_t cols,
                           const void *from, int64_t ld_from, void *to, int64_t ld_to, bool mirror) {
  return (type == DAVIT_DOUBLE ? double_transpose : float_transpose)(site, rows, cols, from, ld_from, to,
                                                                     ld_to, mirror);
}

davit_status dvt_pack(const dvt_site *site, davit_type type, int64_t side, int64_t width, const void *from,
                      int64_t ld, void *packed) {
  return (type == DAVIT_DOUBLE ? double_pack : float_pack)(site, side, width, from, ld, packed);
}

/* ---- the product ---- */

/* C = alpha op(X) op'(Y), op of the data, from element x and from element y on: m and n variables. */
static davit_status multiply(const dvt_site *site, const dvt_covariance *g, int64_t m, int64_t n,
                             double alpha, const void *x, const void *y, void *c, int64_t ldc) {
  const dvt_level3 product = dvt_gemm_of(g->type, g->trans == 'N' ? 'T' : 'N', g->trans, m, n, g->rows, alpha,
                                         x, g->ldc, y, g->ldc, 0, c, ldc);
  return (site->stream        ? dvt_level3_stream
          : site->threads > 0 ? dvt_level3_host
                              : dvt_level3_region)(site, &product);
}

davit_status dvt_product(const dvt_site *site, const dvt_covariance *g, int64_t begin, int64_t end, void *s,
                         int64_t lds) {
  const size_t element = davit_type_bytes(g->type),
               step = g->rows == 0 ? 0 : element * (g->trans == 'N' ? (size_t)g->ldc : 1);
  const int64_t width = end - begin, below = g->cols - end;
  const double alpha = g->type == DAVIT_DOUBLE ? 1 / g->divisor : (double)(float)(1 / g->divisor);
  /* Without rows the sums run over nothing: zeros, and nothing to read. */
  const char *centred = g->rows == 0 ? s : (const char *)g->centred + (size_t)begin * step;
  if (g->rows == 0 || (!site->stream && site->threads == 0)) {
    for (int64_t j = 0; j < width; j += BLOCK) {
      const char *x = centred + (size_t)j * step;
      DVT_TRY(multiply(site, g, g->cols - begin - j, dvt_at_most(BLOCK, width - j), alpha, x, x,
                       (char *)s + (size_t)(j + j * lds) * element, lds));
    }
    return DAVIT_SUCCESS;
  }
  const dvt_level3 triangle = dvt_rank_k_of(g->type, 'L', g->trans == 'N' ? 'T' : 'N', width, g->rows, alpha,
                                            centred, g->ldc, 0, s, lds);
  DVT_TRY((site->stream ? dvt_level3_stream : dvt_level3_host)(site, &triangle));
  return below > 0 ? multiply(site, g, below, width, alpha, centred + (size_t)width * step, centred,
                              (char *)s + (size_t)width * element, lds)
                   : DAVIT_SUCCESS;
}
