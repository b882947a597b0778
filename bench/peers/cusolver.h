/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of factorisations on one NVIDIA device: cuSOLVER, loaded at run time. Handles, workspace and memory on the
 * device for operands on the host are made before what is timed. In builds without CUDA the functions are missing, that
 * is NULL. */
#ifndef DAVIT_BENCH_PEERS_CUSOLVER_H
#define DAVIT_BENCH_PEERS_CUSOLVER_H

#include "bench/peers/factor.h"

#pragma weak peer_cusolver_open
#pragma weak peer_cusolver_close
#pragma weak peer_cusolver_factor

/* For matrices on the host or on the CUDA device. Closing is allowed, and needed, where it failed as well. */
bool peer_cusolver_open(int ordinal, const peer_factor *what, bool on_host);
void peer_cusolver_close(void);

/* potrf, getrf or geqrf; where it solves potrs, getrs, or ormqr and trsm as well. Operands on the host go to the device
 * and come back as a whole; pivots and tau stay there. Returns when the result is there. */
davit_status peer_cusolver_factor(void *a, void *b);

#endif
