/* 3 × 3 stencil (convolution without flipping) on a matrix:
 *
 *   b(i, j) = sum over r, c in 0 … 2 of coefficients[r + 3 c] * a(i + r - 1, j + c - 1)
 *
 * for 0 < i < rows - 1, 0 < j < cols - 1. Column-major; the image of a row-major array is its transpose, with transposed
 * coefficients. The nine products are added in the order of the array, each fused with its addition, so the bits
 * are the same on every device. A NaN in a makes the sums that it is a term of NaN, whatever its coefficient. a and b must
 * not overlap; bytes of b beyond its rows stay untouched.
 * Cost: reads a once, writes b once; 17 flops an element. Thread safety: any thread. */
#ifndef DAVIT_STENCIL_H
#define DAVIT_STENCIL_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happens to the first and last row and column of b (all of b where it has fewer than 3 rows or columns). */
typedef enum davit_border {
  DAVIT_BORDER_UNTOUCHED,
  DAVIT_BORDER_COPY, /* that of a */
  DAVIT_BORDER_ZERO
} davit_border;

/* The nine coefficients taken for NULL: rows 0.2 0.5 -0.8, -0.3 0.6 -0.9, 0.4 0.7 0.1 (2DCONV of PolyBench). */
extern DAVIT_API const double davit_stencil2d_coefficients[9];

/* type is DAVIT_DOUBLE or DAVIT_FLOAT (coefficients are rounded to it). lda, ldb >= max(1, rows). The queue form
 * takes memory that the queue's device reaches; coefficients are read before it returns. */
DAVIT_API davit_status davit_queue_stencil2d(davit_queue *queue, davit_type type, int64_t rows, int64_t cols,
                                             const void *a, int64_t lda, const double *coefficients,
                                             davit_border border, void *b, int64_t ldb);

/* Arrays anywhere; the columns are spread over the devices (NULL and 0: davit_default_devices()). */
DAVIT_API davit_status davit_stencil2d(davit_type type, int64_t rows, int64_t cols, const void *a,
                                       int64_t lda, const double *coefficients, davit_border border, void *b,
                                       int64_t ldb, const int *devices, int device_count);

#ifdef __cplusplus
}
#endif
#endif
