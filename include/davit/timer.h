/* SPDX-License-Identifier: Apache-2.0 */
/* Timers: the time between two points in the work of queues.
 *
 * Start and stop may be on different queues and devices. If both are on one NVIDIA GPU, the
 * GPU measures the time (resolution about 1 µs). Otherwise the host's monotonic clock is read when each
 * point is reached (about 10 µs).
 * Thread safety: one thread at a time for each timer. */
#ifndef DAVIT_TIMER_H
#define DAVIT_TIMER_H

#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_timer davit_timer;

DAVIT_API davit_status davit_timer_create(davit_timer **timer);
DAVIT_API davit_status davit_timer_destroy(davit_timer *timer);

/* Record the start and the stop after all work enqueued so far on the queue's current sub-queue. A second
 * start begins a new measurement. */
DAVIT_API davit_status davit_timer_start(davit_timer *timer, davit_queue *queue);
DAVIT_API davit_status davit_timer_stop(davit_timer *timer, davit_queue *queue);

/* Waits until both points are reached and writes the time between them: 0 if the timer was never started.
 * DAVIT_INVALID_STATE if it was started but not stopped. */
DAVIT_API davit_status davit_timer_elapsed(davit_timer *timer, double *milliseconds);

#ifdef __cplusplus
}
#endif
#endif
