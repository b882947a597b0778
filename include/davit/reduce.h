/* Reduction: x_0 ∘ x_1 ∘ … ∘ x_{n-1}.
 *
 * The elements are combined in a tree whose shape depends on n alone: chunks of 128 KiB (16384 elements of 8 bytes, 32768 of 4),
 * then their results in such chunks, and so on. So the result is the same, bit for bit, on the CPU, on one GPU and on several,
 * from run to run; it is also the fastest order that was measured, so there is no other. n = 0 gives the operator's identity.
 *
 * Error of a floating sum: at most (8 + log2 n) eps sum |x_i|, roughly, against n eps of a loop.
 * Cost: reads x once. Source: tree reduction of contiguous chunks; docs/reduce.md.
 * Thread safety: any thread, any number of calls at once. */
#ifndef DAVIT_REDUCE_H
#define DAVIT_REDUCE_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A piece of an array that lies in several places: elements in order, part after part. Reductions read `x`; scans
 * write `y` (which may be x), segmented scans read `flags`. All pointers of a part lie in the same place. */
typedef struct davit_part {
  int64_t n;
  const void *x;
  void *y;
  const uint8_t *flags;
} davit_part;

/* Enqueues the reduction of n elements; `result` gets one element. x is memory that the queue's device reaches (its own,
 * pinned; for host and host-offload queues host memory); the result may lie anywhere. */
DAVIT_API davit_status davit_queue_reduce(davit_queue *queue, davit_operator op, davit_type type, int64_t n,
                                          const void *x, void *result);

/* Reduces and returns when the result is there. x lies anywhere: on a device that is one of `devices` (default: any)
 * it is reduced there; otherwise it is streamed to the devices (NULL and 0: davit_default_devices()). */
DAVIT_API davit_status davit_reduce(davit_operator op, davit_type type, int64_t n, const void *x,
                                    const int *devices, int device_count, void *result);

/* Reduces an array in parts, each on the device where it lies, all at the same time. Same bits as for the whole array
 * if every part but the last has a multiple of 32768 elements. `result` is host memory. */
DAVIT_API davit_status davit_reduce_parts(davit_operator op, davit_type type, int count,
                                          const davit_part *parts, void *result);

#ifdef __cplusplus
}
#endif
#endif
