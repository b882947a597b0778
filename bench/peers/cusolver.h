/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of Cholesky's factorisation on one NVIDIA device: cuSOLVER, loaded at run time. Handle, workspace and
 * memory on the device for operands on the host are made before what is timed. In builds without CUDA the functions are
 * missing, that is NULL. */
#ifndef DAVIT_BENCH_PEERS_CUSOLVER_H
#define DAVIT_BENCH_PEERS_CUSOLVER_H

#include <davit/operator.h>
#include <stdbool.h>
#include <stdint.h>

#pragma weak peer_cusolver_open
#pragma weak peer_cusolver_close
#pragma weak peer_cusolver_factor

/* Matrices of that type (double or float), half and order, on the host or on the CUDA device. Closing is allowed, and
 * needed, where it failed as well. */
bool peer_cusolver_open(int ordinal, davit_type type, char uplo, int64_t n, bool on_host);
void peer_cusolver_close(void);

/* potrf; with a right-hand side `b` potrs as well, of doubles alone. Operands on the host go to the device and come
 * back as a whole. Returns when the result is there. */
davit_status peer_cusolver_factor(void *a, void *b);

#endif
