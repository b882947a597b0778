/* Dot product.
 *
 * Reference BLAS semantics, column-major. The queue form enqueues on one device and returns; its operands
 * must be memory the device reaches (its own, for host queues and host-offload devices host memory) and
 * stay valid until the command has run. It runs cuBLAS on NVIDIA devices, BLIS on the CPU and
 * host-offload devices, davit's own target regions elsewhere. The plain form takes operands anywhere
 * (pageable, pinned, any device, mixed), spreads the work over several devices and returns when the
 * result is in place. Thread safety: any thread, any number of calls at once on distinct outputs.
 * Errors name the argument; nothing is read or written before the arguments are checked. */
#ifndef DAVIT_DOT_H
#define DAVIT_DOT_H

#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* result = sum of x[i] y[i] over n elements; increments are not 0; 0 for n <= 0. The plain form's
 * `result` lives on the host; the queue form's on the host or the queue's device, and is written when the
 * command runs. The plain form sums ranges of fixed length in ascending order, so the same devices give the
 * same bits. */
DAVIT_API davit_status davit_ddot(int64_t n, const double *x, int64_t incx, const double *y, int64_t incy,
                                  const int *devices, int device_count, double *result);
DAVIT_API davit_status davit_sdot(int64_t n, const float *x, int64_t incx, const float *y, int64_t incy,
                                  const int *devices, int device_count, float *result);
DAVIT_API davit_status davit_queue_ddot(davit_queue *queue, int64_t n, const double *x, int64_t incx,
                                        const double *y, int64_t incy, double *result);
DAVIT_API davit_status davit_queue_sdot(davit_queue *queue, int64_t n, const float *x, int64_t incx,
                                        const float *y, int64_t incy, float *result);

#ifdef __cplusplus
}
#endif
#endif
