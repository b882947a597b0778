/* Command queues: work in order on a device or on the host, without waiting for it.
 *
 * A queue has one or more sub-queues. Commands of one sub-queue run one after another in the order of the
 * calls; commands of different sub-queues and different queues may run at the same time. Each host
 * thread has its own current sub-queue in each queue (the first, until it says otherwise).
 *
 * Every davit_queue_* command returns when it is enqueued; it never waits for work. Pointers handed over must
 * stay valid until the command has run. Commands see the memory as the commands before them left it.
 *
 * Errors: a command that fails stops its sub-queue: later commands there are skipped, events recorded
 * there reach DAVIT_EVENT_ERROR, a sub-queue that waits for such an event stops too, and the next
 * synchronisation of each such queue returns the first error and lets it go on.
 *
 * Thread safety: any number of threads may enqueue on any queue; the commands of one thread keep their
 * order. A queue may be destroyed by any thread, also from within the work of another queue, and beside
 * davit_device_synchronize() and davit_device_check(); no other call may use it then, or afterwards. */
#ifndef DAVIT_QUEUE_H
#define DAVIT_QUEUE_H

#include <davit/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_queue davit_queue;
typedef struct davit_event davit_event;

/* Work on the host. A result other than DAVIT_SUCCESS is the command's failure; davit_fail() gives it a
 * sentence. It may block, it may enqueue on any queue, and it may create, synchronise and destroy other queues; to
 * synchronise or destroy its own is DAVIT_WOULD_DEADLOCK. */
typedef davit_status (*davit_host_function)(void *argument);

/* Target regions of the user's own: runs on a host thread after all earlier commands of the sub-queue
 * and launches target regions with device(device); when it returns, they must be done (plain target
 * regions are). `device` is the queue's device, for host queues omp_get_initial_device(). */
typedef davit_status (*davit_region)(int device, void *argument);

/* A queue on `device` (DAVIT_HOST and DAVIT_CURRENT allowed) with 1 to 64 sub-queues. */
DAVIT_API davit_status davit_queue_create(int device, int subqueues, davit_queue **queue);

/* Waits for the queue's work, and for no other, and frees the queue; returns the first error of that work. NULL is
 * allowed. */
DAVIT_API davit_status davit_queue_destroy(davit_queue *queue);

DAVIT_API davit_status davit_queue_device(const davit_queue *queue, int *device);

/* Waits until everything enqueued before the call, on all sub-queues, has finished. */
DAVIT_API davit_status davit_queue_synchronize(davit_queue *queue);

/* The calling thread's current sub-queue in this queue: request takes the next one in turn and returns
 * its number, set takes the given one, subqueue tells. */
DAVIT_API davit_status davit_queue_request_subqueue(davit_queue *queue, int *subqueue);
DAVIT_API davit_status davit_queue_set_subqueue(davit_queue *queue, int subqueue);
DAVIT_API davit_status davit_queue_subqueue(davit_queue *queue, int *subqueue, int *subqueues);

/* ---- commands ---- */

DAVIT_API davit_status davit_queue_host_function(davit_queue *queue, davit_host_function function,
                                                 void *argument);
DAVIT_API davit_status davit_queue_region(davit_queue *queue, davit_region region, void *argument);

/* As davit_copy(), davit_copy_2d(), davit_fill() and davit_random_*(). */
DAVIT_API davit_status davit_queue_copy(davit_queue *queue, void *destination, const void *source,
                                        size_t bytes);
DAVIT_API davit_status davit_queue_copy_2d(davit_queue *queue, void *destination, int64_t destination_ld,
                                           const void *source, int64_t source_ld, int64_t rows, int64_t cols,
                                           size_t element_bytes);
DAVIT_API davit_status davit_queue_fill(davit_queue *queue, void *pointer, int value, size_t bytes);
DAVIT_API davit_status davit_queue_random_double(davit_queue *queue, double *pointer, int64_t count,
                                                 uint64_t seed);
DAVIT_API davit_status davit_queue_random_float(davit_queue *queue, float *pointer, int64_t count,
                                                uint64_t seed);

/* Commands enqueued later on the current sub-queue wait for `event` as it is recorded now. An event that was
 * never recorded, or is checked, is not waited for. Never blocks the caller. */
DAVIT_API davit_status davit_queue_wait(davit_queue *queue, davit_event *event);

#ifdef __cplusplus
}
#endif
#endif
