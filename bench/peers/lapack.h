/* SPDX-License-Identifier: Apache-2.0 */
/* The peers of factorisations on the CPU: OpenBLAS's LAPACK and the system's, loaded at run time, so that they may be
 * absent. The second calls the BLAS that the dynamic linker finds. */
#ifndef DAVIT_BENCH_PEERS_LAPACK_H
#define DAVIT_BENCH_PEERS_LAPACK_H

#include "bench/peers/factor.h"

/* Returns how many there are. Sets the variables that say how many threads BLAS has, unless they are set; nothing may
 * have called BLAS before. */
int peer_lapack_load(int threads);

const char *peer_lapack_name(int which);

/* potrf, getrf or geqrf; where it solves posv, gesv or gels. */
davit_status peer_lapack_factor(int which, const peer_factor *what, void *a, void *b);

#endif
