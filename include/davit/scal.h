/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling of a vector: x = alpha x.
 *
 * Reference BLAS semantics. The plain form takes operands in any memory (pageable, pinned, any device,
 * mixed), spreads the work over several devices and returns when the result is there. The queue form enqueues
 * on the queue's device and returns; its operands must be memory that the device reaches, and stay valid
 * until the command has run. Thread safety: any thread, any number of calls at the same time on distinct
 * outputs. */
#ifndef DAVIT_SCAL_H
#define DAVIT_SCAL_H

#include <davit/complex.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_scal_options {
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[4]; /* 0 */
} davit_scal_options;

/* x = alpha x over n elements; a negative increment changes only their order. Every element is multiplied: 0 times a
 * NaN or an infinity is NaN; alpha = 1 does nothing. Increments are not 0; n = 0 does nothing. Cost: n elements read
 * and written. NVIDIA devices run cuBLAS, other devices target regions of davit. */
DAVIT_API davit_status davit_dscal(int64_t n, double alpha, double *x, int64_t incx,
                                   const davit_scal_options *options);
DAVIT_API davit_status davit_sscal(int64_t n, float alpha, float *x, int64_t incx,
                                   const davit_scal_options *options);
DAVIT_API davit_status davit_zscal(int64_t n, davit_complex_double alpha, davit_complex_double *x,
                                   int64_t incx, const davit_scal_options *options);
DAVIT_API davit_status davit_cscal(int64_t n, davit_complex_float alpha, davit_complex_float *x, int64_t incx,
                                   const davit_scal_options *options);
DAVIT_API davit_status davit_queue_dscal(davit_queue *queue, int64_t n, double alpha, double *x, int64_t incx,
                                         const davit_scal_options *options);
DAVIT_API davit_status davit_queue_sscal(davit_queue *queue, int64_t n, float alpha, float *x, int64_t incx,
                                         const davit_scal_options *options);
DAVIT_API davit_status davit_queue_zscal(davit_queue *queue, int64_t n, davit_complex_double alpha,
                                         davit_complex_double *x, int64_t incx,
                                         const davit_scal_options *options);
DAVIT_API davit_status davit_queue_cscal(davit_queue *queue, int64_t n, davit_complex_float alpha,
                                         davit_complex_float *x, int64_t incx,
                                         const davit_scal_options *options);

#ifdef __cplusplus
}
#endif
#endif
