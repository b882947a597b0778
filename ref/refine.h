/* SPDX-License-Identifier: Apache-2.0 */
/* Systems whose matrix is factored in a shorter type, and whose solutions are refined: arguments, and the host form. */
#ifndef DAVIT_REF_REFINE_H
#define DAVIT_REF_REFINE_H

#include "ref/blas.h"

/* A X = B of DAVIT_DOUBLE or DAVIT_COMPLEX_DOUBLE; X, n × nrhs, must not overlap B. uplo: the half of a positive
 * definite A, or 0: A is general. *iterations becomes how often X was refined, or is negative where LAPACK's criterion
 * is not reached: then X is undefined. A and B are read, but a stream may change A where it does not converge. */
typedef struct dvt_refine {
  davit_type type;
  char uplo;
  int64_t n, nrhs;
  void *a;
  int64_t lda;
  const void *b;
  int64_t ldb;
  void *x;
  int64_t ldx;
  int *iterations; /* on the host */
} dvt_refine;

davit_status dvt_refine_host(const dvt_site *site, const void *refine);

enum { DVT_REFINE_MOST = 30 }; /* steps */

#endif
