/* SPDX-License-Identifier: Apache-2.0 */
/* What reductions, scans and the stencil are measured against on NVIDIA devices: CUB, a plain CUDA stencil,
 * and kernels that only copy or only read. They are compiled by nvcc, where it is found, into a library of
 * its own (cub.cu), which lies next to the programs and is loaded at run time.
 *
 * Every function enqueues on a stream (a cudaStream_t) of the device selected before, and returns a
 * cudaError_t, 0 on success. Where there is `temp`, it is device memory of at least *temp_bytes; with temp
 * NULL nothing is enqueued and *temp_bytes is set. */
#ifndef DAVIT_BENCH_PEERS_CUB_H
#define DAVIT_BENCH_PEERS_CUB_H

#include <davit/operator.h>
#include <davit/scan.h>
#include <stddef.h>
#include <stdint.h>

typedef struct peer_cub {
  int (*select)(int ordinal); /* CUDA's number of the device, for the calling thread */

  /* Sum, minimum, maximum. */
  int (*reduce)(void *stream, davit_operator op, davit_type type, int n, const void *x, void *result,
                void *temp, size_t *temp_bytes);
  /* Sums. */
  int (*scan)(void *stream, davit_type type, davit_scan_kind kind, int n, const void *x, void *y, void *temp,
              size_t *temp_bytes);
  /* Inclusive sums of runs of equal keys; DAVIT_FLOAT and DAVIT_DOUBLE. */
  int (*scan_by_key)(void *stream, davit_type type, int n, const int32_t *keys, const void *x, void *y,
                     void *temp, size_t *temp_bytes);

  /* davit_queue_stencil() with an untouched border; one thread for each element. */
  int (*stencil)(void *stream, davit_type type, int rows, int cols, const void *a, int lda,
                 const double *coefficients, void *b, int ldb);
  /* Multiples of 16 bytes. */
  int (*copy)(void *stream, void *to, const void *from, size_t bytes);
  int (*read)(void *stream, const void *from, size_t bytes);
  int (*nothing)(void *stream); /* an empty kernel */
} peer_cub;

/* NULL where the library or a device for it is missing. */
const peer_cub *peer_cub_open(void);

#endif
