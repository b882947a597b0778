/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix-vector product.
 *
 * Reference BLAS semantics, column-major. The plain form takes operands in any memory (pageable, pinned,
 * any device, mixed), spreads the work over several devices and returns when the result is there. The
 * queue form enqueues on the queue's device and returns; its operands must be memory that the device
 * reaches, and stay valid until the command has run. NVIDIA devices run cuBLAS, the CPU and host-offload
 * devices BLIS, other devices target regions of davit.
 * Thread safety: any thread, any number of calls at the same time on distinct outputs.
 *
 * Row-major: for y = A x with a C array a[m][n] pass trans = 'T', m = n, n = m, lda = its row length. */
#ifndef DAVIT_GEMV_H
#define DAVIT_GEMV_H

#include <davit/complex.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_gemv_options {
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[4]; /* 0 */
} davit_gemv_options;

/* y = alpha op(A) x + beta y; as in BLAS, y stays as it is if m or n is 0. A is m × n with lda >= max(1, m); op(A)
 * is A ('N'), its transpose ('T') or its conjugate transpose ('C'). Increments are not 0; a negative one walks backwards
 * from the end, as in BLAS. alpha = 0 does not read A and x, beta = 0 does not read y. Otherwise NaN and infinities
 * propagate as in IEEE 754, on every device: 0 times one is NaN. x and y must not overlap. Each device gets a block of
 * rows ('N') or columns ('T'). */
DAVIT_API davit_status davit_dgemv(char trans, int64_t m, int64_t n, double alpha, const double *a,
                                   int64_t lda, const double *x, int64_t incx, double beta, double *y,
                                   int64_t incy, const davit_gemv_options *options);
DAVIT_API davit_status davit_sgemv(char trans, int64_t m, int64_t n, float alpha, const float *a, int64_t lda,
                                   const float *x, int64_t incx, float beta, float *y, int64_t incy,
                                   const davit_gemv_options *options);
DAVIT_API davit_status davit_zgemv(char trans, int64_t m, int64_t n, davit_complex_double alpha,
                                   const davit_complex_double *a, int64_t lda, const davit_complex_double *x,
                                   int64_t incx, davit_complex_double beta, davit_complex_double *y,
                                   int64_t incy, const davit_gemv_options *options);
DAVIT_API davit_status davit_cgemv(char trans, int64_t m, int64_t n, davit_complex_float alpha,
                                   const davit_complex_float *a, int64_t lda, const davit_complex_float *x,
                                   int64_t incx, davit_complex_float beta, davit_complex_float *y,
                                   int64_t incy, const davit_gemv_options *options);
DAVIT_API davit_status davit_queue_dgemv(davit_queue *queue, char trans, int64_t m, int64_t n, double alpha,
                                         const double *a, int64_t lda, const double *x, int64_t incx,
                                         double beta, double *y, int64_t incy,
                                         const davit_gemv_options *options);
DAVIT_API davit_status davit_queue_sgemv(davit_queue *queue, char trans, int64_t m, int64_t n, float alpha,
                                         const float *a, int64_t lda, const float *x, int64_t incx,
                                         float beta, float *y, int64_t incy,
                                         const davit_gemv_options *options);
DAVIT_API davit_status davit_queue_zgemv(davit_queue *queue, char trans, int64_t m, int64_t n,
                                         davit_complex_double alpha, const davit_complex_double *a,
                                         int64_t lda, const davit_complex_double *x, int64_t incx,
                                         davit_complex_double beta, davit_complex_double *y, int64_t incy,
                                         const davit_gemv_options *options);
DAVIT_API davit_status davit_queue_cgemv(davit_queue *queue, char trans, int64_t m, int64_t n,
                                         davit_complex_float alpha, const davit_complex_float *a, int64_t lda,
                                         const davit_complex_float *x, int64_t incx, davit_complex_float beta,
                                         davit_complex_float *y, int64_t incy,
                                         const davit_gemv_options *options);

#ifdef __cplusplus
}
#endif
#endif
