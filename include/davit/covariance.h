/* SPDX-License-Identifier: Apache-2.0 */
/* Covariance of the variables of a data set.
 *
 * op(D) has `rows` observations (rows) of `cols` variables (columns). D is column-major, op the matrix
 * ('N') or its transpose ('T', 'C'). Row-major: for a C array of observations d[rows][cols] pass trans =
 * 'T' and ldd = its row length.
 *
 *   mean_j = (sum over i of op(D)_ij) / mean_divisor
 *   C_ij   = op(D)_ij - mean_j                        once for each element
 *   S      = Cᵀ C / divisor                           cols × cols, symmetric exactly
 *
 * The default divisors are those of statistics, rows and rows - 1; PolyBench has 3214212.01 and 1. A divisor is refused
 * if it is NaN, or if its reciprocal overflows in the type (below about 2^-1024 for double, 2^-128 for float). type is
 * DAVIT_DOUBLE or DAVIT_FLOAT. A NaN in a column of op(D) makes only its mean, and its row and column of S, NaN. Cost:
 * reads D twice; rows cols (cols + 1) flops for the product, by cuBLAS syrk on NVIDIA devices and by BLIS on the CPU.
 * Thread safety: any thread. */
#ifndef DAVIT_COVARIANCE_H
#define DAVIT_COVARIANCE_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum davit_covariance_form {
  DAVIT_COVARIANCE_FULL,  /* all of S; lds >= max(1, cols) */
  DAVIT_COVARIANCE_PACKED /* cols (cols - 1) / 2 elements above the diagonal, row by row; lds is not read */
} davit_covariance_form;

typedef struct davit_covariance_options {
  const int *devices;  /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;    /* 0 with devices = NULL */
  double mean_divisor; /* 0: rows */
  double divisor;      /* 0: rows - 1 (1 for fewer than 2 rows) */
  davit_covariance_form form;
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[4]; /* 0 */
} davit_covariance_options;

/* Outputs: mean, cols elements, may be NULL; centred, op(C) of D's shape with ldc, may be NULL, or D itself (ldc =
 * ldd); S. They must not overlap otherwise. The plain form takes memory anywhere and spreads the columns of S over the
 * devices; if every GPU would have to fetch a D of few columns, only the first one computes. */
DAVIT_API davit_status davit_covariance(davit_type type, char trans, int64_t rows, int64_t cols,
                                        const void *d, int64_t ldd, void *mean, void *centred, int64_t ldc,
                                        void *s, int64_t lds, const davit_covariance_options *options);
DAVIT_API davit_status davit_queue_covariance(davit_queue *queue, davit_type type, char trans, int64_t rows,
                                              int64_t cols, const void *d, int64_t ldd, void *mean,
                                              void *centred, int64_t ldc, void *s, int64_t lds,
                                              const davit_covariance_options *options);

/* The index of S_ij, 0 <= i < j < cols, in the packed form. */
static inline int64_t davit_covariance_packed_index(int64_t cols, int64_t i, int64_t j) {
  return i * cols - i * (i + 1) / 2 + j - i - 1;
}

/* Full symmetric matrix to packed form and back, host memory. `diagonal` has cols elements; NULL: it is
 * not wanted (pack), or the diagonal of s stays as it is (unpack). */
DAVIT_API davit_status davit_covariance_pack(davit_type type, int64_t cols, const void *s, int64_t lds,
                                             void *packed, void *diagonal);
DAVIT_API davit_status davit_covariance_unpack(davit_type type, int64_t cols, const void *packed,
                                               const void *diagonal, void *s, int64_t lds);

#ifdef __cplusplus
}
#endif
#endif
