/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/local_blas.h"

#include <davit/level3.h>
#include <davit/solve.h>

/* The call for a type, of those for double, float and the two complex ones. */
#define CALL(type, d, s, z, c, ...)                                                                          \
  ((type) == DAVIT_DOUBLE           ? davit_##d(__VA_ARGS__)                                                 \
   : (type) == DAVIT_FLOAT          ? davit_##s(__VA_ARGS__)                                                 \
   : (type) == DAVIT_COMPLEX_DOUBLE ? davit_##z(__VA_ARGS__)                                                 \
                                    : davit_##c(__VA_ARGS__))

davit_status dvt_local_gemm(davit_queue *queue, davit_type type, char transa, char transb, int64_t m,
                            int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                            void *c, int64_t ldc) {
  return CALL(type, queue_dgemm, queue_sgemm, queue_zgemm, queue_cgemm, queue, transa, transb, m, n, k, -1, a,
              lda, b, ldb, 1, c, ldc, NULL);
}

davit_status dvt_local_herk(davit_queue *queue, davit_type type, char uplo, char trans, int64_t n, int64_t k,
                            const void *a, int64_t lda, void *c, int64_t ldc) {
  return CALL(type, queue_dsyrk, queue_ssyrk, queue_zherk, queue_cherk, queue, uplo, trans, n, k, -1, a, lda,
              1, c, ldc, NULL);
}

davit_status dvt_local_trsm(davit_queue *queue, davit_type type, char side, char uplo, char trans, char diag,
                            int64_t m, int64_t n, const void *a, int64_t lda, void *b, int64_t ldb) {
  return CALL(type, queue_dtrsm, queue_strsm, queue_ztrsm, queue_ctrsm, queue, side, uplo, trans, diag, m, n,
              1, a, lda, b, ldb, NULL);
}

davit_status dvt_local_potrf(davit_queue *queue, davit_type type, char uplo, int64_t n, void *a, int64_t lda,
                             int *info) {
  return CALL(type, queue_dpotrf, queue_spotrf, queue_zpotrf, queue_cpotrf, queue, uplo, n, a, lda, info,
              NULL);
}

static davit_status into(const davit_solve_report *report, davit_status status, int64_t *info) {
  const bool of_matrix = status == DAVIT_NOT_POSITIVE_DEFINITE || status == DAVIT_SINGULAR;
  *info = of_matrix ? report->failed : 0;
  return of_matrix ? DAVIT_SUCCESS : status;
}

davit_status dvt_local_plain_potrf(const int *devices, int count, davit_type type, char uplo, int64_t n,
                                   void *a, int64_t lda, int64_t *info) {
  davit_solve_report report = {.failed = 0};
  const davit_solve_options options = {.devices = devices, .device_count = count, .report = &report};
  return into(&report, CALL(type, dpotrf, spotrf, zpotrf, cpotrf, uplo, n, a, lda, &options), info);
}

davit_status dvt_local_plain_getrf(const int *devices, int count, davit_type type, int64_t m, int64_t n,
                                   void *a, int64_t lda, int *ipiv, int64_t *info) {
  davit_solve_report report = {.failed = 0};
  const davit_solve_options options = {.devices = devices, .device_count = count, .report = &report};
  return into(&report, CALL(type, dgetrf, sgetrf, zgetrf, cgetrf, m, n, a, lda, ipiv, &options), info);
}
