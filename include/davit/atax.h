/* y = opᵀ(A) (op(A) x), with tmp = op(A) x exposed.
 *
 * A is m × n, column-major, lda >= max(1, m); op is the matrix ('N') or its transpose ('T', 'C'). For 'N' x and y have n
 * elements and tmp m, for 'T' the reverse. A C-order matrix is the transpose of a column-major one, so Aᵀ A x of
 * a row-major A is 'T' of the m × n array as it lies there. tmp may be NULL. y and tmp overlap neither each other nor A
 * and x. m = 0 or n = 0 gives zeros. type is DAVIT_DOUBLE or DAVIT_FLOAT.
 *
 * A NaN in A or x makes all of y NaN, but one in A that meets a 0 of x, which may be skipped as in BLAS.
 * Accuracy: each of the two products has the bound of a conventional one, length * eps * |op(A)| |x|.
 * Cost: 4 m n flops. An NVIDIA device reads A once for 'T' and columns of at most 12288 doubles (24576 floats); 'N' and longer
 * columns are two products, which read it twice. The CPU reads it once but where the matrix is wide; docs/atax.md.
 * Same call, same device: same bits. Thread safety: any thread. */
#ifndef DAVIT_ATAX_H
#define DAVIT_ATAX_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that the queue's device reaches. */
DAVIT_API davit_status davit_queue_atax(davit_queue *queue, davit_type type, char trans, int64_t m, int64_t n,
                                        const void *a, int64_t lda, const void *x, void *tmp, void *y);

/* Memory anywhere; spread over the devices (NULL and 0: davit_default_devices()). */
DAVIT_API davit_status davit_atax(davit_type type, char trans, int64_t m, int64_t n, const void *a,
                                  int64_t lda, const void *x, void *tmp, void *y, const int *devices,
                                  int device_count);

#ifdef __cplusplus
}
#endif
#endif
