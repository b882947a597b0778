/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction: x_0 ∘ x_1 ∘ … ∘ x_{n-1}.
 *
 * The elements are combined in a tree whose shape depends on n alone: chunks of 128 KiB (16384 elements of 8 bytes,
 * 32768 of 4), then the chunks' results in chunks of the same size, and so on. So the result is the same, bit for bit,
 * on the CPU, on one GPU and on several, and from run to run. n = 0 gives the operator's identity.
 *
 * Error of a floating-point sum: about (8 + log2 n) eps sum |x_i| at most, compared with n eps sum |x_i| for a loop.
 * Cost: reads x once. Source: tree reduction of contiguous chunks, docs/reduce.md.
 * Thread safety: any thread, any number of calls at the same time. */
#ifndef DAVIT_REDUCE_H
#define DAVIT_REDUCE_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_reduce_options {
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[4]; /* 0 */
} davit_reduce_options;

/* Reduces n elements at any place. Data on one of `devices` (default: on any device) is reduced there; other data is
 * streamed to the devices. `result` gets one element. */
DAVIT_API davit_status davit_reduce(davit_operator op, davit_type type, int64_t n, const void *x,
                                    void *result, const davit_reduce_options *options);

/* Enqueues the reduction. The queue's device must reach x; the result may lie anywhere. */
DAVIT_API davit_status davit_queue_reduce(davit_queue *queue, davit_operator op, davit_type type, int64_t n,
                                          const void *x, void *result, const davit_reduce_options *options);

/* A piece of an array that lies in several places. */
typedef struct davit_reduce_part {
  int64_t n;
  const void *x;
} davit_reduce_part;

/* Reduces an array in parts, in their order, each on the device where it lies, all at the same time. The bits are those
 * of the whole array if every part except the last has a multiple of 32768 elements. `result` must be in host
 * memory. */
DAVIT_API davit_status davit_reduce_parts(davit_operator op, davit_type type, int count,
                                          const davit_reduce_part *parts, void *result);

#ifdef __cplusplus
}
#endif
#endif
