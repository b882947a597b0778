/* SPDX-License-Identifier: Apache-2.0 */
/* What the peers of factorisations factor. */
#ifndef DAVIT_BENCH_PEERS_FACTOR_H
#define DAVIT_BENCH_PEERS_FACTOR_H

#include <davit/operator.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum peer_kind { PEER_CHOLESKY, PEER_LU, PEER_QR } peer_kind;

/* A matrix of doubles or floats, m × n, dense, m >= n; square but for QR. `solves`: of doubles alone, a system or the
 * least squares with one right-hand side (of m elements) as well. */
typedef struct peer_factor {
  peer_kind kind;
  davit_type type;
  char uplo; /* of Cholesky */
  int64_t m, n;
  bool solves;
} peer_factor;

#endif
