/* SPDX-License-Identifier: Apache-2.0 */
/* The product's front: on a queue, and spread over devices. */
#include "src/gemm/gemm.h"

#include "src/runtime/operation.h"

static davit_status enqueue(davit_queue *queue, dvt_gemm *g, const davit_gemm_options *options) {
  DVT_TRY(DVT_CHECK_QUEUE_OPTIONS(options));
  if (options && (options->tile || options->cache_bytes || options->separate_memory || options->report))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->%s is set, but a queue does one product as a whole",
                      options->tile          ? "tile"
                      : options->cache_bytes ? "cache_bytes"
                      : options->report      ? "report"
                                             : "separate_memory");
  return dvt_operation_enqueue(queue, &dvt_gemm_operation, g);
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
  DVT_TRY(dvt_gemm_operation.check(g));
  DVT_TRY(DVT_CHECK_OPTIONS(given));
  DVT_TRY(dvt_check_length("options->tile", options.tile));
  int devices[DVT_MAX_DEVICES];
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
