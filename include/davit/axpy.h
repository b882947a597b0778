/* SPDX-License-Identifier: Apache-2.0 */
/* Scaled vector addition: y = alpha x + y.
 *
 * Reference BLAS semantics, column-major. The plain form takes operands in any memory (pageable, pinned,
 * any device, mixed), spreads the work over several devices and returns when the result is there. The
 * queue form enqueues on the queue's device and returns; its operands must be memory that the device
 * reaches, and stay valid until the command has run. NVIDIA devices run cuBLAS, the CPU and host-offload
 * devices BLIS, other devices target regions of davit.
 * Thread safety: any thread, any number of calls at the same time on distinct outputs. */
#ifndef DAVIT_AXPY_H
#define DAVIT_AXPY_H

#include <davit/complex.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_axpy_options {
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[4]; /* 0 */
} davit_axpy_options;

/* y = alpha x + y over n elements. Increments are not 0; a negative one walks backwards from the end, as
 * in BLAS. n = 0 does nothing; alpha = 0 does not read x. x and y must not overlap. Each device gets a
 * range of the elements. */
DAVIT_API davit_status davit_daxpy(int64_t n, double alpha, const double *x, int64_t incx, double *y,
                                   int64_t incy, const davit_axpy_options *options);
DAVIT_API davit_status davit_saxpy(int64_t n, float alpha, const float *x, int64_t incx, float *y,
                                   int64_t incy, const davit_axpy_options *options);
DAVIT_API davit_status davit_zaxpy(int64_t n, davit_complex_double alpha, const davit_complex_double *x,
                                   int64_t incx, davit_complex_double *y, int64_t incy,
                                   const davit_axpy_options *options);
DAVIT_API davit_status davit_caxpy(int64_t n, davit_complex_float alpha, const davit_complex_float *x,
                                   int64_t incx, davit_complex_float *y, int64_t incy,
                                   const davit_axpy_options *options);
DAVIT_API davit_status davit_queue_daxpy(davit_queue *queue, int64_t n, double alpha, const double *x,
                                         int64_t incx, double *y, int64_t incy,
                                         const davit_axpy_options *options);
DAVIT_API davit_status davit_queue_saxpy(davit_queue *queue, int64_t n, float alpha, const float *x,
                                         int64_t incx, float *y, int64_t incy,
                                         const davit_axpy_options *options);
DAVIT_API davit_status davit_queue_zaxpy(davit_queue *queue, int64_t n, davit_complex_double alpha,
                                         const davit_complex_double *x, int64_t incx, davit_complex_double *y,
                                         int64_t incy, const davit_axpy_options *options);
DAVIT_API davit_status davit_queue_caxpy(davit_queue *queue, int64_t n, davit_complex_float alpha,
                                         const davit_complex_float *x, int64_t incx, davit_complex_float *y,
                                         int64_t incy, const davit_axpy_options *options);

#ifdef __cplusplus
}
#endif
#endif
