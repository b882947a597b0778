/* Scaled vector addition.
 *
 * Reference BLAS semantics, column-major. The queue form enqueues on one device and returns; its operands
 * must be memory the device reaches (its own, for host queues and host-offload devices host memory) and
 * stay valid until the command has run. It runs cuBLAS on NVIDIA devices, BLIS on the CPU and
 * host-offload devices, davit's own target regions elsewhere. The plain form takes operands anywhere
 * (pageable, pinned, any device, mixed), spreads the work over several devices and returns when the
 * result is in place. Thread safety: any thread, any number of calls at once on distinct outputs.
 * Errors name the argument; nothing is read or written before the arguments are checked. */
#ifndef DAVIT_AXPY_H
#define DAVIT_AXPY_H

#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* y = alpha x + y over n elements; increments are not 0. The plain form gives each device a range. */
DAVIT_API davit_status davit_daxpy(int64_t n, double alpha, const double *x, int64_t incx, double *y,
                                   int64_t incy, const int *devices, int device_count);
DAVIT_API davit_status davit_saxpy(int64_t n, float alpha, const float *x, int64_t incx, float *y,
                                   int64_t incy, const int *devices, int device_count);
DAVIT_API davit_status davit_queue_daxpy(davit_queue *queue, int64_t n, double alpha, const double *x,
                                         int64_t incx, double *y, int64_t incy);
DAVIT_API davit_status davit_queue_saxpy(davit_queue *queue, int64_t n, float alpha, const float *x,
                                         int64_t incx, float *y, int64_t incy);

#ifdef __cplusplus
}
#endif
#endif
