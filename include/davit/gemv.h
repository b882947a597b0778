/* Matrix-vector product.
 *
 * Reference BLAS semantics, column-major. The queue form enqueues on one device and returns; its operands
 * must be memory the device reaches (its own, for host queues and host-offload devices host memory) and
 * stay valid until the command has run. It runs cuBLAS on NVIDIA devices, BLIS on the CPU and
 * host-offload devices, davit's own target regions elsewhere. The plain form takes operands anywhere
 * (pageable, pinned, any device, mixed), spreads the work over several devices and returns when the
 * result is in place. Thread safety: any thread, any number of calls at once on distinct outputs.
 * Errors name the argument; nothing is read or written before the arguments are checked. */
#ifndef DAVIT_GEMV_H
#define DAVIT_GEMV_H

#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = alpha op(A) x + beta y; A is m × n, lda >= max(1, m); op(A) is A ('N') or its transpose ('T', 'C'); increments
 * are not 0 and, when negative, walk backwards from the end, as in BLAS. beta = 0 does not read y.
 * x and y must not overlap. The plain form gives each device a block of rows (N) or columns (T). */
DAVIT_API davit_status davit_dgemv(char trans, int64_t m, int64_t n, double alpha, const double *a,
                                   int64_t lda, const double *x, int64_t incx, double beta, double *y,
                                   int64_t incy, const int *devices, int device_count);
DAVIT_API davit_status davit_sgemv(char trans, int64_t m, int64_t n, float alpha, const float *a, int64_t lda,
                                   const float *x, int64_t incx, float beta, float *y, int64_t incy,
                                   const int *devices, int device_count);
DAVIT_API davit_status davit_queue_dgemv(davit_queue *queue, char trans, int64_t m, int64_t n, double alpha,
                                         const double *a, int64_t lda, const double *x, int64_t incx,
                                         double beta, double *y, int64_t incy);
DAVIT_API davit_status davit_queue_sgemv(davit_queue *queue, char trans, int64_t m, int64_t n, float alpha,
                                         const float *a, int64_t lda, const float *x, int64_t incx,
                                         float beta, float *y, int64_t incy);

#ifdef __cplusplus
}
#endif
#endif
