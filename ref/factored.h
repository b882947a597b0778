/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with the factors of a matrix, and what factorisations by blocks need beside level 3: arguments, and the
 * host forms. */
#ifndef DAVIT_REF_FACTORED_H
#define DAVIT_REF_FACTORED_H

#include "ref/blas.h"
#include "ref/lu.h"
#include "ref/qr.h"

/* Solves op(A) X = B from what getrf has left: B, n × nrhs, becomes X. ipiv counts from 1 on. */
typedef struct dvt_getrs {
  davit_type type;
  char trans;
  int64_t n, nrhs;
  const void *a;
  int64_t lda;
  const int *ipiv;
  void *b;
  int64_t ldb;
} dvt_getrs;
davit_status dvt_getrs_host(const dvt_site *site, const void *getrs);

/* C = op(Q) C (side 'L') or C op(Q) ('R') with the k reflectors that geqrf has left in the columns of A; C is m × n.
 * trans 'N', or 'T' and 'C' for the (conjugate) transpose. */
typedef struct dvt_ormqr {
  davit_type type;
  char side, trans;
  int64_t m, n, k;
  const void *a;
  int64_t lda;
  const void *tau;
  void *c;
  int64_t ldc;
} dvt_ormqr;
davit_status dvt_ormqr_host(const dvt_site *site, const void *ormqr);

/* The first n columns of Q, m × n, in place of the k <= n reflectors in the columns of A. */
typedef struct dvt_orgqr {
  davit_type type;
  int64_t m, n, k;
  void *a;
  int64_t lda;
  const void *tau;
} dvt_orgqr;
davit_status dvt_orgqr_host(const dvt_site *site, const void *orgqr);

/* A of m × n: 1 where the row is the column + `diagonal`, 0 above, and with `below` 0 there too. */
typedef struct dvt_unit {
  davit_type type;
  int64_t m, n;
  void *a;
  int64_t ld;
  int64_t diagonal;
  bool below;
} dvt_unit;
davit_status dvt_unit_host(const dvt_site *site, const void *unit);

/* B, n × m, is the conjugate transpose of A, m × n. */
typedef struct dvt_adjoint {
  davit_type type;
  int64_t m, n;
  const void *a;
  int64_t lda;
  void *b;
  int64_t ldb;
} dvt_adjoint;
davit_status dvt_adjoint_host(const dvt_site *site, const void *adjoint);

/* A few integers from one memory that the device reaches to another: between two kernels of a stream, without a turn of
 * the engine that copies blocks. */
typedef struct dvt_fetch {
  int64_t count;
  const int *from;
  int *to;
} dvt_fetch;
davit_status dvt_fetch_host(const dvt_site *site, const void *fetch);

#endif
