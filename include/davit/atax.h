/* SPDX-License-Identifier: Apache-2.0 */
/* y = opᵀ(A) (op(A) x), with tmp = op(A) x exposed.
 *
 * A is m × n, column-major, lda >= max(1, m); op is the matrix ('N') or its transpose ('T', 'C'). For 'N'
 * x and y have n elements and tmp has m, for 'T' the reverse. Row-major: for Aᵀ A x of a C array a[m][n]
 * pass trans = 'T', m = n, n = m, lda = its row length. tmp may be NULL. y and tmp must overlap neither
 * each other nor A and x. m = 0 or n = 0 gives zeros. type is DAVIT_DOUBLE or DAVIT_FLOAT.
 *
 * A NaN in A or x makes all of y NaN. Accuracy: each of the two products has the bound of a conventional
 * one, length * eps * |op(A)| |x|. Cost: 4 m n flops. An NVIDIA device reads A once for 'T' and columns of
 * at most 12288 doubles (24576 floats), and from sm_90 on for 'N' and 48 to 24576 columns that begin at
 * multiples of 16 bytes; else it reads A twice. The CPU reads A once unless the matrix is wide;
 * docs/atax.md. The same call on the same device gives the same bits, on the CPU with the same number of
 * threads. Thread safety: any thread. */
#ifndef DAVIT_ATAX_H
#define DAVIT_ATAX_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_atax_options {
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[4]; /* 0 */
} davit_atax_options;

/* The plain form takes memory anywhere and spreads the work over the devices. */
DAVIT_API davit_status davit_atax(davit_type type, char trans, int64_t m, int64_t n, const void *a,
                                  int64_t lda, const void *x, void *tmp, void *y,
                                  const davit_atax_options *options);
DAVIT_API davit_status davit_queue_atax(davit_queue *queue, davit_type type, char trans, int64_t m, int64_t n,
                                        const void *a, int64_t lda, const void *x, void *tmp, void *y,
                                        const davit_atax_options *options);

#ifdef __cplusplus
}
#endif
#endif
