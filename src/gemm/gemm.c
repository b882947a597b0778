/* SPDX-License-Identifier: Apache-2.0 */
/* The product's front: argument checks, and one product on one lane. */
#include "src/gemm/gemm.h"

#include "src/runtime/operation.h"

static davit_status check(void *arguments) {
  dvt_gemm *g = arguments;
  DVT_TRY(dvt_check_trans("transa", g->transa, &g->transa));
  DVT_TRY(dvt_check_trans("transb", g->transb, &g->transb));
  DVT_TRY(dvt_check_length("m", g->m));
  DVT_TRY(dvt_check_length("n", g->n));
  DVT_TRY(dvt_check_length("k", g->k));
  int64_t rows_a = g->transa == 'N' ? g->m : g->k, cols_a = g->transa == 'N' ? g->k : g->m;
  int64_t rows_b = g->transb == 'N' ? g->k : g->n, cols_b = g->transb == 'N' ? g->n : g->k;
  DVT_TRY(dvt_check_ld("lda", g->lda, rows_a));
  DVT_TRY(dvt_check_ld("ldb", g->ldb, rows_b));
  DVT_TRY(dvt_check_ld("ldc", g->ldc, g->m));
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

/* ---- on a lane ---- */

static const dvt_operation operation = {.name = "gemm",
                                        .bytes = sizeof(dvt_gemm),
                                        .check = check,
                                        .stream = dvt_gemm_stream,
                                        .host = dvt_gemm_host,
                                        .region = dvt_gemm_region,
                                        .region_on_host = true};

davit_status dvt_gemm_submit(dvt_lane *lane, const dvt_gemm *g) {
  return dvt_operation_submit(lane, &operation, g, 0);
}

static davit_status enqueue(davit_queue *queue, dvt_gemm *g, const davit_gemm_options *options) {
  DVT_TRY(DVT_CHECK_QUEUE_OPTIONS(options));
  if (options && (options->tile || options->cache_bytes || options->separate_memory || options->report))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->%s is set, but a queue does one product as a whole",
                      options->tile          ? "tile"
                      : options->cache_bytes ? "cache_bytes"
                      : options->report      ? "report"
                                             : "separate_memory");
  return dvt_operation_enqueue(queue, &operation, g);
}

davit_status davit_queue_dgemm(davit_queue *queue, char transa, char transb, int64_t m, int64_t n, int64_t k,
                               double alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                               double beta, double *c, int64_t ldc, const davit_gemm_options *options) {
  dvt_gemm g = {DAVIT_DOUBLE, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  return enqueue(queue, &g, options);
}

davit_status davit_queue_sgemm(davit_queue *queue, char transa, char transb, int64_t m, int64_t n, int64_t k,
                               float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                               float beta, float *c, int64_t ldc, const davit_gemm_options *options) {
  dvt_gemm g = {DAVIT_FLOAT, transa, transb, m, n, k, (double)alpha, a, lda, b, ldb, (double)beta, c, ldc};
  return enqueue(queue, &g, options);
}

/* ---- over several devices ---- */

static davit_status run(dvt_gemm *g, const davit_gemm_options *given) {
  static const davit_gemm_options defaults;
  davit_gemm_options options = given ? *given : defaults;
  DVT_TRY(check(g));
  DVT_TRY(DVT_CHECK_OPTIONS(given));
  DVT_TRY(dvt_check_length("options->tile", options.tile));
  int devices[DVT_MOST_DEVICES];
  DVT_TRY(dvt_choose_devices(options.devices, options.device_count, devices, &options.device_count));
  options.devices = devices;
  if (g->alpha == 0)
    g->k = 0;
  return dvt_gemm_run(g, &options);
}

davit_status davit_dgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
                         const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                         int64_t ldc, const davit_gemm_options *options) {
  dvt_gemm g = {DAVIT_DOUBLE, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
  return run(&g, options);
}

davit_status davit_sgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha,
                         const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                         int64_t ldc, const davit_gemm_options *options) {
  dvt_gemm g = {DAVIT_FLOAT, transa, transb, m, n, k, (double)alpha, a, lda, b, ldb, (double)beta, c, ldc};
  return run(&g, options);
}
