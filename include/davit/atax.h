/* SPDX-License-Identifier: Apache-2.0 */
/* y = opᵀ(A) (op(A) x), and if wanted tmp = op(A) x.
 *
 * A is m × n, column-major, lda >= max(1, m); op(A) is A ('N') or its transpose ('T', 'C'). For 'N' x and y have n
 * elements and tmp has m; for 'T' x and y have m and tmp has n. Row-major: for Aᵀ A x of a C array a[rows][cols] pass
 * trans = 'T', m = cols, n = rows, lda = the length of its rows. tmp may be NULL. y and tmp must overlap neither each
 * other nor A and x. If m or n is 0, the outputs are 0. type is DAVIT_DOUBLE or DAVIT_FLOAT.
 *
 * A NaN in A or x makes all of y NaN. Accuracy: each of the two products has the bound of an ordinary one,
 * length * eps * |op(A)| |x|. The same call on the same device gives the same bits, on the CPU with the same number of
 * threads. Cost: 4 m n flops. An NVIDIA device reads A once for 'T' if columns have at most 12288 doubles (24576
 * floats), and for 'N' from sm_90 on if A has 48 to 24576 columns that begin at multiples of 16 bytes; otherwise it
 * reads A twice. The CPU reads A once for 'T', and for 'N' unless the matrix is wide; docs/atax.md. Thread safety: any
 * thread. */
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
