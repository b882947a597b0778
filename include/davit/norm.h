/* SPDX-License-Identifier: Apache-2.0 */
/* Norms of a vector: BLAS' nrm2 and asum.
 *
 * Reference BLAS semantics. The plain form takes operands in any memory (pageable, pinned, any device,
 * mixed), spreads the work over several devices and returns when the result is there. The queue form enqueues
 * on the queue's device and returns; its operands must be memory that the device reaches, and stay valid
 * until the command has run. Thread safety: any thread, any number of calls at the same time on distinct
 * outputs. */
#ifndef DAVIT_NORM_H
#define DAVIT_NORM_H

#include <davit/complex.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_norm_options {
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[4]; /* 0 */
} davit_norm_options;

/* *result = the Euclidean norm of n elements, which is real; 0 for n = 0. It neither overflows nor underflows on the
 * way: sums of squares of large and of small elements are kept apart and scaled (J. L. Blue, ACM TOMS 4, 1978; E.
 * Anderson, ACM TOMS 44, 2017). Increments are not 0, and their sign does not matter. The plain form's result is host
 * memory; it takes the norms of ranges of fixed length, and then the norm of those, so that the same devices give the
 * same bits. The queue form's result is memory of the host or of the queue's device, and is written when the command
 * runs. Cost: n elements read. NVIDIA devices run cuBLAS, other devices target regions of davit. */
DAVIT_API davit_status davit_dnrm2(int64_t n, const double *x, int64_t incx, double *result,
                                   const davit_norm_options *options);
DAVIT_API davit_status davit_snrm2(int64_t n, const float *x, int64_t incx, float *result,
                                   const davit_norm_options *options);
DAVIT_API davit_status davit_dznrm2(int64_t n, const davit_complex_double *x, int64_t incx, double *result,
                                    const davit_norm_options *options);
DAVIT_API davit_status davit_scnrm2(int64_t n, const davit_complex_float *x, int64_t incx, float *result,
                                    const davit_norm_options *options);
DAVIT_API davit_status davit_queue_dnrm2(davit_queue *queue, int64_t n, const double *x, int64_t incx,
                                         double *result, const davit_norm_options *options);
DAVIT_API davit_status davit_queue_snrm2(davit_queue *queue, int64_t n, const float *x, int64_t incx,
                                         float *result, const davit_norm_options *options);
DAVIT_API davit_status davit_queue_dznrm2(davit_queue *queue, int64_t n, const davit_complex_double *x,
                                          int64_t incx, double *result, const davit_norm_options *options);
DAVIT_API davit_status davit_queue_scnrm2(davit_queue *queue, int64_t n, const davit_complex_float *x,
                                          int64_t incx, float *result, const davit_norm_options *options);

/* *result = sum of |x[i]|, for complex elements the sum of |real part| + |imaginary part|, as in BLAS; otherwise as the
 * Euclidean norm. */
DAVIT_API davit_status davit_dasum(int64_t n, const double *x, int64_t incx, double *result,
                                   const davit_norm_options *options);
DAVIT_API davit_status davit_sasum(int64_t n, const float *x, int64_t incx, float *result,
                                   const davit_norm_options *options);
DAVIT_API davit_status davit_dzasum(int64_t n, const davit_complex_double *x, int64_t incx, double *result,
                                    const davit_norm_options *options);
DAVIT_API davit_status davit_scasum(int64_t n, const davit_complex_float *x, int64_t incx, float *result,
                                    const davit_norm_options *options);
DAVIT_API davit_status davit_queue_dasum(davit_queue *queue, int64_t n, const double *x, int64_t incx,
                                         double *result, const davit_norm_options *options);
DAVIT_API davit_status davit_queue_sasum(davit_queue *queue, int64_t n, const float *x, int64_t incx,
                                         float *result, const davit_norm_options *options);
DAVIT_API davit_status davit_queue_dzasum(davit_queue *queue, int64_t n, const davit_complex_double *x,
                                          int64_t incx, double *result, const davit_norm_options *options);
DAVIT_API davit_status davit_queue_scasum(davit_queue *queue, int64_t n, const davit_complex_float *x,
                                          int64_t incx, float *result, const davit_norm_options *options);

#ifdef __cplusplus
}
#endif
#endif
