/* SPDX-License-Identifier: Apache-2.0 */
/* Command queues: work in order on a device or on the host, without waiting for it.
 *
 * A queue has one or more sub-queues. Commands of one sub-queue run one after another in the order of the
 * calls; commands of different sub-queues and different queues may run at the same time. Each host thread
 * has its own current sub-queue in each queue (the first, until it selects another).
 *
 * Every davit_queue_* command returns when it is enqueued; it never waits for work. Pointers must stay valid until the
 * command has run. Options are read before the call returns. A command sees what the commands before it have written.
 *
 * Errors: a command that fails stops its sub-queue. Later commands there are skipped, events recorded
 * there reach DAVIT_EVENT_ERROR, and a sub-queue that waits for such an event stops too. The next
 * synchronisation of each such queue returns the first error and restarts it.
 *
 * Thread safety: any number of threads may enqueue on any queue; the commands of one thread keep their order. Any
 * thread may destroy a queue, even from within the work of another queue, and at the same time as
 * davit_device_synchronize() and davit_device_check(); no other call may use the queue then, or afterwards. */
#ifndef DAVIT_QUEUE_H
#define DAVIT_QUEUE_H

#include <davit/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_queue davit_queue;
typedef struct davit_event davit_event;

/* Work on the host. A result other than DAVIT_SUCCESS is the command's failure; davit_fail() gives it a sentence. It
 * may block, it may enqueue on any queue, and it may create, synchronise and destroy other queues; synchronising or
 * destroying its own queue returns DAVIT_WOULD_DEADLOCK. If the function ends its thread, the command fails. */
typedef davit_status (*davit_host_function)(void *argument);

/* Your own target regions: runs on a host thread after all earlier commands of the sub-queue and launches
 * target regions with device(device). When it returns, they must be finished (plain target regions are).
 * `device` is the queue's device, for host queues omp_get_initial_device(). */
typedef davit_status (*davit_region)(int device, void *argument);

/* Where the regions of a davit_nowait_region run. */
typedef struct davit_region_site {
  int device;  /* the queue's; for host queues omp_get_initial_device() */
  char *order; /* the address that keeps the sub-queue's regions in order */
  uint64_t reserved[4];
} davit_region_site;

/* Your own target regions as tasks of the queue's graph. The function generates one or more regions
 *
 *   #pragma omp target … nowait depend(inout : *site->order) device(site->device)
 *
 * and returns. It is called once, on a thread of the library, some time before the regions run. They run after all
 * earlier commands of the sub-queue, in order, and later commands wait for them. The function must not wait: a davit
 * call that would wait returns DAVIT_WOULD_DEADLOCK. A region without `nowait` and `depend` would run too early.
 * docs/queue.md says when to use this form. */
typedef davit_status (*davit_nowait_region)(const davit_region_site *site, void *argument);

typedef struct davit_queue_options {
  int subqueues; /* 1 … 64; 0: 1 */
  /* Of an NVIDIA GPU, NULL elsewhere; at most one is set, and then there is one sub-queue. The queue works on the
   * stream of this omp_interop_t (init with targetsync), or on this cudaStream_t, which stay the caller's and must
   * outlive it. Work that the program puts there itself is ordered with the queue's as davit_queue_interop() says. */
  void *interop;
  void *stream;
  uint64_t reserved[2]; /* 0 */
} davit_queue_options;

/* A queue on `device` (DAVIT_HOST and DAVIT_CURRENT allowed). */
DAVIT_API davit_status davit_queue_create(int device, davit_queue **queue,
                                          const davit_queue_options *options);

/* Waits for the queue's work, frees the queue and returns the first error of that work. NULL is allowed. */
DAVIT_API davit_status davit_queue_destroy(davit_queue *queue);

DAVIT_API davit_status davit_queue_device(const davit_queue *queue, int *device);

/* Waits until everything enqueued before the call, on all sub-queues, has finished. */
DAVIT_API davit_status davit_queue_synchronize(davit_queue *queue);

/* The stream that the calling thread's sub-queue works on, for work that the program enqueues there itself: by cuBLAS,
 * cuFFT, CUDA. As an OpenMP interop object (an omp_interop_t, which is a pointer; with targetsync), and as a
 * cudaStream_t. They belong to the library: they must not be destroyed, and they end with the queue.
 *
 * Commands enqueued on the sub-queue before this call come before the work that the program then puts on the stream.
 * Commands enqueued later follow that work, and synchronising the sub-queue or an event on it waits for it as well. So
 * call one of these before each piece of your own work. The call does not wait for the device. It waits for host
 * functions, regions and copies of pageable memory that were enqueued before; if a queue's own work calls it, it
 * returns DAVIT_WOULD_DEADLOCK. DAVIT_UNSUPPORTED: the queue is not on an NVIDIA GPU; for the interop object also: the
 * queue works on options->stream. */
DAVIT_API davit_status davit_queue_interop(davit_queue *queue, void **interop);
DAVIT_API davit_status davit_queue_stream(davit_queue *queue, void **stream);

/* The calling thread's current sub-queue in this queue: `request` selects the next one in turn and returns
 * its number, `set` selects the given one, `subqueue` returns the current one and how many there are. */
DAVIT_API davit_status davit_queue_request_subqueue(davit_queue *queue, int *subqueue);
DAVIT_API davit_status davit_queue_set_subqueue(davit_queue *queue, int subqueue);
DAVIT_API davit_status davit_queue_subqueue(davit_queue *queue, int *subqueue, int *subqueues);

/* ---- commands ---- */

DAVIT_API davit_status davit_queue_host_function(davit_queue *queue, davit_host_function function,
                                                 void *argument);
DAVIT_API davit_status davit_queue_region(davit_queue *queue, davit_region region, void *argument);
DAVIT_API davit_status davit_queue_region_nowait(davit_queue *queue, davit_nowait_region region,
                                                 void *argument);

/* As davit_copy(), davit_copy_2d(), davit_fill() and davit_random(). */
DAVIT_API davit_status davit_queue_copy(davit_queue *queue, size_t bytes, const void *source,
                                        void *destination);
DAVIT_API davit_status davit_queue_copy_2d(davit_queue *queue, int64_t rows, int64_t cols,
                                           size_t element_bytes, const void *source, int64_t source_ld,
                                           void *destination, int64_t destination_ld);
DAVIT_API davit_status davit_queue_fill(davit_queue *queue, size_t bytes, int value, void *destination);
DAVIT_API davit_status davit_queue_random(davit_queue *queue, davit_type type, int64_t n, uint64_t seed,
                                          void *x);

/* Commands enqueued later on the current sub-queue wait for `event` as it is recorded now. If the event was never
 * recorded, or is checked, they do not wait. The call never blocks. */
DAVIT_API davit_status davit_queue_wait(davit_queue *queue, davit_event *event);

#ifdef __cplusplus
}
#endif
#endif
