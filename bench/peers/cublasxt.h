/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of the tiled product: cuBLASXt, loaded at run time, driven fairly: one handle for all calls,
 * pinned operands, the block size given by the caller. In builds without CUDA the functions are missing, that
 * is NULL. */
#ifndef DAVIT_BENCH_PEERS_CUBLASXT_H
#define DAVIT_BENCH_PEERS_CUBLASXT_H

#include <stdbool.h>
#include <stdint.h>

#pragma weak peer_cublasxt_open
#pragma weak peer_cublasxt_close
#pragma weak peer_cublasxt_gemm
#pragma weak peer_cublas_gemm
#pragma weak peer_cublas_sustained
#pragma weak peer_cublas_emulated

/* Selects the first `devices` CUDA devices; false where there is no cuBLASXt. */
bool peer_cublasxt_open(int devices);
void peer_cublasxt_close(void);

/* A product of that shape, column-major, 'd' or 's', every leading dimension as small as it may be. */
typedef struct peer_product {
  char type, transa, transb;
  int64_t m, n, k;
} peer_product;

/* C = op(A) op(B); seconds, negative on failure. */
double peer_cublasxt_gemm(const peer_product *p, int64_t block, const void *a, const void *b, void *c);

/* cuBLAS itself on one device, operands on the device, n × n: the median of `repeats`, at most BENCH_MOST, in
 * seconds. */
double peer_cublas_gemm(char type, int64_t n, int repeats);

/* C = A B of doubles, n × n on device 0, by cuBLAS's emulation with 8-bit integers; seconds, negative on failure. */
double peer_cublas_emulated(int64_t n, const void *a, const void *b, void *c);

/* Flops per second of one device that multiplies tiles of 4096 for `seconds`, over the second half of them. */
double peer_cublas_sustained(char type, double seconds);

#endif
