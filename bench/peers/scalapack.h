/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of level 3 over ranks: ScaLAPACK, loaded at run time, so that it may be absent. The program has
 * started MPI, and sets the variables that say how many threads BLAS has before it opens the peer. */
#ifndef DAVIT_BENCH_PEERS_SCALAPACK_H
#define DAVIT_BENCH_PEERS_SCALAPACK_H

#include <stdbool.h>

/* Whether the library is there. Not collective. */
bool peer_scalapack_load(void);

/* The file with the BLAS that it calls, and that of the library itself; "" if unknown. */
const char *peer_scalapack_blas(void);
const char *peer_scalapack_file(void);

/* A grid of all ranks, row by row. Collective. */
void peer_scalapack_open(int rows, int cols);
void peer_scalapack_close(void);

/* Of n × n matrices with one descriptor, whose context is set here: 'g': C = A B, 's': the lower triangle of
 * C = A Aᵀ, 't': C becomes A⁻¹ C for the lower triangle of A, 'c': C becomes its Cholesky factor, of the
 * lower triangle, 'l': its LU factors, whose pivots go to `ipiv`. `type` is 'd' or 's'. Collective. */
typedef struct peer_scalapack_call {
  char routine, type;
  int n;
  const int *descriptor;
  const void *a, *b;
  void *c;
  int *ipiv;
} peer_scalapack_call;
void peer_scalapack_run(const peer_scalapack_call *call);

#endif
