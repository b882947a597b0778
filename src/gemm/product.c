/* SPDX-License-Identifier: Apache-2.0 */
/* One product on one lane: its check and its row. */
#include "src/gemm/gemm.h"

static davit_status check(void *arguments) {
  dvt_gemm *g = arguments;
  DVT_TRY(dvt_check_trans("transa", g->transa, &g->transa));
  DVT_TRY(dvt_check_trans("transb", g->transb, &g->transb));
  DVT_TRY(dvt_check_length("m", g->m));
  DVT_TRY(dvt_check_length("n", g->n));
  DVT_TRY(dvt_check_length("k", g->k));
  int64_t rows_a = g->transa == 'N' ? g->m : g->k, cols_a = g->transa == 'N' ? g->k : g->m;
  int64_t rows_b = g->transb == 'N' ? g->k : g->n, cols_b = g->transb == 'N' ? g->n : g->k;
  DVT_TRY(dvt_check_ld("lda", g->lda, rows_a, cols_a));
  DVT_TRY(dvt_check_ld("ldb", g->ldb, rows_b, cols_b));
  DVT_TRY(dvt_check_ld("ldc", g->ldc, g->m, g->n));
  if (g->m == 0 || g->n == 0)
    return DAVIT_SUCCESS;
  bool reads = g->k > 0 && g->alpha != 0;
  if (!g->c || (reads && (!g->a || !g->b)))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", !g->c ? "c" : g->a ? "b" : "a");
  size_t size = davit_type_bytes(g->type);
  if (reads && dvt_blocks_overlap(g->c, g->ldc, g->m, g->n, g->a, g->lda, rows_a, cols_a, size))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "c overlaps a");
  if (reads && dvt_blocks_overlap(g->c, g->ldc, g->m, g->n, g->b, g->ldb, rows_b, cols_b, size))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "c overlaps b");
  return DAVIT_SUCCESS;
}

const dvt_operation dvt_gemm_operation = {.name = "gemm",
                                          .bytes = sizeof(dvt_gemm),
                                          .check = check,
                                          .stream = dvt_gemm_stream,
                                          .host = dvt_gemm_host,
                                          .region = dvt_gemm_region,
                                          .region_on_host = true};

davit_status dvt_gemm_submit(dvt_lane *lane, const dvt_gemm *g) {
  return dvt_operation_submit(lane, &dvt_gemm_operation, g, 0);
}
