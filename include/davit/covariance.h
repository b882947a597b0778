/* Covariance of the variables of a data set.
 *
 * op(D) has `rows` observations (rows) of `cols` variables (columns); D is column-major, op the matrix ('N') or its
 * transpose ('T', 'C': a C-order array of observations as it lies there).
 *
 *   mean_j = (sum over i of op(D)_ij) / mean_divisor
 *   C_ij   = op(D)_ij - mean_j                        once for each element
 *   S      = Cᵀ C / divisor                           cols × cols, symmetric exactly
 *
 * The covariance of statistics has mean_divisor = rows and divisor = rows - 1; PolyBench's has 3214212.01 and 1.
 * A divisor of 0 or NaN is refused, and one whose reciprocal overflows in the type (below about 2^-1024 of double, 2^-128 of
 * float), which would make NaN of 0. type is DAVIT_DOUBLE or DAVIT_FLOAT. A NaN in a column of op(D) makes its mean, and its row
 * and column of S, NaN, and nothing else.
 * Cost: reads D twice; rows cols (cols + 1) flops for the product, cuBLAS syrk on NVIDIA devices, BLIS on the CPU.
 * Thread safety: any thread. */
#ifndef DAVIT_COVARIANCE_H
#define DAVIT_COVARIANCE_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum davit_triangle {
  DAVIT_FULL,  /* all of S; lds >= max(1, cols) */
  DAVIT_PACKED /* cols (cols - 1) / 2 elements: those above the diagonal, row by row; lds is not read */
} davit_triangle;

/* Where S_ij, 0 <= i < j < cols, stands in the packed form. */
static inline int64_t davit_packed_index(int64_t cols, int64_t i, int64_t j) {
  return i * cols - i * (i + 1) / 2 + j - i - 1;
}

/* Outputs: mean, cols elements, may be NULL; centred, op(C) of D's shape with ldc, may be NULL, or D itself (ldc = ldd);
 * S. They must not overlap otherwise. Memory that the queue's device reaches. */
DAVIT_API davit_status davit_queue_covariance(davit_queue *queue, davit_type type, char trans, int64_t rows,
                                              int64_t cols, const void *d, int64_t ldd, double mean_divisor,
                                              double divisor, void *mean, void *centred, int64_t ldc,
                                              davit_triangle triangle, void *s, int64_t lds);

/* Memory anywhere. The columns of S are spread over the devices (NULL and 0: davit_default_devices()). */
DAVIT_API davit_status davit_covariance(davit_type type, char trans, int64_t rows, int64_t cols,
                                        const void *d, int64_t ldd, double mean_divisor, double divisor,
                                        void *mean, void *centred, int64_t ldc, davit_triangle triangle,
                                        void *s, int64_t lds, const int *devices, int device_count);

/* Packed form to full symmetric matrix and back, host memory. `diagonal` has cols elements; NULL leaves (unpack) the
 * diagonal of s alone, or (pack) is not wanted. */
DAVIT_API davit_status davit_triangle_unpack(davit_type type, int64_t cols, const void *packed,
                                             const void *diagonal, void *s, int64_t lds);
DAVIT_API davit_status davit_triangle_pack(davit_type type, int64_t cols, const void *s, int64_t lds,
                                           void *packed, void *diagonal);

#ifdef __cplusplus
}
#endif
#endif
