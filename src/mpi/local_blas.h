/* SPDX-License-Identifier: Apache-2.0 */
/* What is computed on the rank's part: calls of libdavit by element type. */
#ifndef DAVIT_SRC_MPI_LOCAL_BLAS_H
#define DAVIT_SRC_MPI_LOCAL_BLAS_H

#include <davit/operator.h>
#include <davit/queue.h>

/* C = C - op(A) op(B) */
davit_status dvt_local_gemm(davit_queue *queue, davit_type type, char transa, char transb, int64_t m,
                            int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                            void *c, int64_t ldc);

/* The half `uplo` of C = C - A A' (trans 'N') or C - A' A ('C'); ' is the (conjugate) transpose. */
davit_status dvt_local_herk(davit_queue *queue, davit_type type, char uplo, char trans, int64_t n, int64_t k,
                            const void *a, int64_t lda, void *c, int64_t ldc);

davit_status dvt_local_trsm(davit_queue *queue, davit_type type, char side, char uplo, char trans, char diag,
                            int64_t m, int64_t n, const void *a, int64_t lda, void *b, int64_t ldb);

davit_status dvt_local_potrf(davit_queue *queue, davit_type type, char uplo, int64_t n, void *a, int64_t lda,
                             int *info);

/* The plain forms on these devices. *info as LAPACK has it; only what is not in it is a failure. */
davit_status dvt_local_plain_potrf(const int *devices, int count, davit_type type, char uplo, int64_t n,
                                   void *a, int64_t lda, int64_t *info);
davit_status dvt_local_plain_getrf(const int *devices, int count, davit_type type, int64_t m, int64_t n,
                                   void *a, int64_t lda, int *ipiv, int64_t *info);

#endif
