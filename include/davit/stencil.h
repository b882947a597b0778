/* SPDX-License-Identifier: Apache-2.0 */
/* 3 × 3 stencil (convolution without flipping) on a matrix:
 *
 *   b(i, j) = sum over r, c in 0 … 2 of coefficients[r + 3 c] * a(i + r - 1, j + c - 1)
 *
 * for 0 < i < rows - 1, 0 < j < cols - 1. Column-major, lda and ldb >= max(1, rows). Row-major: a C array
 * a[rows][cols] is its transpose: pass rows = cols, cols = rows, and the transposed coefficients.
 *
 * The nine products are added in the order of the array, each fused with its addition, so the bits are the same on
 * every device. NaN times any coefficient is NaN. a and b must not overlap; the bytes of b beyond its rows stay
 * untouched. Cost: reads a once, writes b once; 17 flops for each element. Thread safety: any thread. */
#ifndef DAVIT_STENCIL_H
#define DAVIT_STENCIL_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The first and last row and column of b (all of b where it has fewer than 3 rows or columns). */
typedef enum davit_stencil_border {
  DAVIT_STENCIL_BORDER_UNTOUCHED,
  DAVIT_STENCIL_BORDER_COPY, /* those of a */
  DAVIT_STENCIL_BORDER_ZERO
} davit_stencil_border;

typedef struct davit_stencil_options {
  const int *devices; /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;   /* 0 with devices = NULL */
  davit_stencil_border border;
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[3]; /* 0 */
} davit_stencil_options;

/* The nine coefficients used for NULL: rows 0.2 0.5 -0.8, -0.3 0.6 -0.9, 0.4 0.7 0.1 (PolyBench's 2DCONV). */
extern DAVIT_API const double davit_stencil_coefficients[9];

/* type is DAVIT_DOUBLE or DAVIT_FLOAT; coefficients are rounded to it, and read before the queue form
 * returns. The plain form takes arrays anywhere and spreads the columns over the devices. */
DAVIT_API davit_status davit_stencil(davit_type type, int64_t rows, int64_t cols, const void *a, int64_t lda,
                                     const double *coefficients, void *b, int64_t ldb,
                                     const davit_stencil_options *options);
DAVIT_API davit_status davit_queue_stencil(davit_queue *queue, davit_type type, int64_t rows, int64_t cols,
                                           const void *a, int64_t lda, const double *coefficients, void *b,
                                           int64_t ldb, const davit_stencil_options *options);

#ifdef __cplusplus
}
#endif
#endif
