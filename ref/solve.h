/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation: its arguments, and the host form. */
#ifndef DAVIT_REF_SOLVE_H
#define DAVIT_REF_SOLVE_H

#include "ref/blas.h"

/* A = L L' (uplo 'L') or U' U ('U'), in place; ' is the conjugate transpose. *info is 0, or the order of the first
 * leading minor that is not positive definite, where the factorisation ends. The other half of A is not accessed, and
 * the imaginary parts of the diagonal count as 0. n³ / 3 flops. */
typedef struct dvt_potrf {
  davit_type type;
  char uplo;
  int64_t n;
  void *a;
  int64_t lda;
  int *info;
  bool on_device; /* info lies in the memory of the site's device */
} dvt_potrf;

davit_status dvt_potrf_host(const dvt_site *site, const void *potrf);

/* Two routines for one thing, by type: real matrices are symmetric, complex ones Hermitian. */
static inline char dvt_adjoint_of(davit_type type) {
  return type == DAVIT_DOUBLE || type == DAVIT_FLOAT ? 'T' : 'C';
}

/* Steps of a factorisation by blocks, as level 3. L of the diagonal block is n × n, and B below it m × n, which becomes
 * B L'^-1; of 'U', B is beside it, n × m, and becomes U'^-1 B. */
static inline dvt_level3 dvt_potrf_solve(davit_type type, char uplo, int64_t n, int64_t m,
                                         const void *diagonal, int64_t ld, void *b, int64_t ldb) {
  return dvt_triangular_of(DVT_TRSM, type, uplo == 'L' ? 'R' : 'L', uplo, dvt_adjoint_of(type), 'N',
                           uplo == 'L' ? m : n, uplo == 'L' ? n : m, 1, diagonal, ld, b, ldb);
}

/* C, of order n, minus P P' with an n × k P, or P' P with a k × n P for 'U'. */
static inline dvt_level3 dvt_potrf_update(davit_type type, char uplo, int64_t n, int64_t k, const void *p,
                                          int64_t ldp, void *c, int64_t ldc) {
  return dvt_rank_k_of(type, uplo, uplo == 'L' ? 'N' : dvt_adjoint_of(type), n, k, -1, p, ldp, 1, c, ldc);
}

#endif
