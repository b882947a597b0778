/* SPDX-License-Identifier: Apache-2.0 */
/* Dot product.
 *
 * Reference BLAS semantics, column-major. The plain form takes operands in any memory (pageable, pinned,
 * any device, mixed), spreads the work over several devices and returns when the result is there. The
 * queue form enqueues on the queue's device and returns; its operands must be memory that the device
 * reaches, and stay valid until the command has run. NVIDIA devices run cuBLAS, the CPU and host-offload
 * devices BLIS, other devices target regions of davit.
 * Thread safety: any thread, any number of calls at the same time on distinct outputs. */
#ifndef DAVIT_DOT_H
#define DAVIT_DOT_H

#include <davit/complex.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_dot_options {
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[4]; /* 0 */
} davit_dot_options;

/* *result = sum of x[i] y[i] over n elements; 0 for n = 0. Increments are not 0. The plain form's result
 * is host memory; it sums ranges of fixed length in ascending order, so that the same devices give the
 * same bits. The queue form's result is memory of the host or of the queue's device, and is written when
 * the command runs. */
DAVIT_API davit_status davit_ddot(int64_t n, const double *x, int64_t incx, const double *y, int64_t incy,
                                  double *result, const davit_dot_options *options);
DAVIT_API davit_status davit_sdot(int64_t n, const float *x, int64_t incx, const float *y, int64_t incy,
                                  float *result, const davit_dot_options *options);
DAVIT_API davit_status davit_queue_ddot(davit_queue *queue, int64_t n, const double *x, int64_t incx,
                                        const double *y, int64_t incy, double *result,
                                        const davit_dot_options *options);
DAVIT_API davit_status davit_queue_sdot(davit_queue *queue, int64_t n, const float *x, int64_t incx,
                                        const float *y, int64_t incy, float *result,
                                        const davit_dot_options *options);

/* The same for complex vectors: sum of x[i] y[i] (dotu), and sum of conj(x[i]) y[i] (dotc). */
DAVIT_API davit_status davit_zdotu(int64_t n, const davit_complex_double *x, int64_t incx,
                                   const davit_complex_double *y, int64_t incy, davit_complex_double *result,
                                   const davit_dot_options *options);
DAVIT_API davit_status davit_cdotu(int64_t n, const davit_complex_float *x, int64_t incx,
                                   const davit_complex_float *y, int64_t incy, davit_complex_float *result,
                                   const davit_dot_options *options);
DAVIT_API davit_status davit_zdotc(int64_t n, const davit_complex_double *x, int64_t incx,
                                   const davit_complex_double *y, int64_t incy, davit_complex_double *result,
                                   const davit_dot_options *options);
DAVIT_API davit_status davit_cdotc(int64_t n, const davit_complex_float *x, int64_t incx,
                                   const davit_complex_float *y, int64_t incy, davit_complex_float *result,
                                   const davit_dot_options *options);
DAVIT_API davit_status davit_queue_zdotu(davit_queue *queue, int64_t n, const davit_complex_double *x,
                                         int64_t incx, const davit_complex_double *y, int64_t incy,
                                         davit_complex_double *result, const davit_dot_options *options);
DAVIT_API davit_status davit_queue_cdotu(davit_queue *queue, int64_t n, const davit_complex_float *x,
                                         int64_t incx, const davit_complex_float *y, int64_t incy,
                                         davit_complex_float *result, const davit_dot_options *options);
DAVIT_API davit_status davit_queue_zdotc(davit_queue *queue, int64_t n, const davit_complex_double *x,
                                         int64_t incx, const davit_complex_double *y, int64_t incy,
                                         davit_complex_double *result, const davit_dot_options *options);
DAVIT_API davit_status davit_queue_cdotc(davit_queue *queue, int64_t n, const davit_complex_float *x,
                                         int64_t incx, const davit_complex_float *y, int64_t incy,
                                         davit_complex_float *result, const davit_dot_options *options);

#ifdef __cplusplus
}
#endif
#endif
