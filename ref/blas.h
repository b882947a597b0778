/* SPDX-License-Identifier: Apache-2.0 */
/* The BLAS operations: their arguments, and the host forms by BLIS.
 *
 * Meaning and order of the arguments are those of the reference BLAS; they have been checked. A scalar of a
 * float operation is exact in its double. BLIS keeps the rules of the reference BLAS that tests/test_ref.c
 * checks: beta = 0 does not read C or y, alpha = 0 does not read A, B and x; a negative increment walks
 * backwards from the end. */
#ifndef DAVIT_REF_BLAS_H
#define DAVIT_REF_BLAS_H

#include <davit/operator.h>

#include "src/base/operation.h"

/* C = alpha op(A) op(B) + beta C: 2 m n k flops. */
typedef struct dvt_gemm {
  davit_type type;
  char transa, transb; /* 'N' or 'T' once checked */
  int64_t m, n, k;
  double alpha;
  const void *a;
  int64_t lda;
  const void *b;
  int64_t ldb;
  double beta;
  void *c;
  int64_t ldc;
} dvt_gemm;

/* y = alpha op(A) x + beta y: 2 m n flops, reads A once. */
typedef struct dvt_gemv {
  davit_type type;
  char trans;
  int64_t m, n;
  double alpha;
  const void *a;
  int64_t lda;
  const void *x;
  int64_t incx;
  double beta;
  void *y;
  int64_t incy;
} dvt_gemv;

/* y = alpha x + y: 2 n flops, reads x and y and writes y once. */
typedef struct dvt_axpy {
  davit_type type;
  int64_t n;
  double alpha;
  const void *x;
  int64_t incx;
  void *y;
  int64_t incy;
} dvt_axpy;

/* *result = sum of x[i] y[i]: 2 n flops, reads x and y once. */
typedef struct dvt_dot {
  davit_type type;
  int64_t n;
  const void *x;
  int64_t incx;
  const void *y;
  int64_t incy;
  void *result;
} dvt_dot;

/* The lower triangle of C = alpha A Aᵀ ('N', A is n × k) or alpha Aᵀ A ('T', A is k × n): n (n + 1) k flops.
 */
typedef struct dvt_syrk {
  davit_type type;
  char trans;
  int64_t n, k;
  double alpha;
  const void *a;
  int64_t lda;
  void *c;
  int64_t ldc;
} dvt_syrk;

davit_status dvt_gemm_host(const dvt_site *site, const void *gemm);
davit_status dvt_gemv_host(const dvt_site *site,
                           const void *gemv); /* on the calling thread, as the next two */
davit_status dvt_axpy_host(const dvt_site *site, const void *axpy);
davit_status dvt_dot_host(const dvt_site *site, const void *dot);
davit_status dvt_syrk_host(const dvt_site *site, const void *syrk);

/* Threads that BLIS may be asked for, of those one would like. */
int dvt_ref_threads(int threads);

/* The first element in walking order of a vector of n elements: with a negative increment the last. */
static inline void *dvt_walk_from(const void *x, int64_t n, int64_t inc, davit_type type) {
  const int64_t back = inc < 0 ? (n - 1) * inc : 0;
  return (void *)((uintptr_t)x - (uintptr_t)(back * (int64_t)davit_type_bytes(type))); /* x may be NULL */
}

#endif
