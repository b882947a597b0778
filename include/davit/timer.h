/* Timers: the time between two points of queues' work.
 *
 * Start and stop may lie on different queues and devices. Both points on one GPU are timed by that GPU
 * (about 1 µs); else by the host's monotonic clock when each point is reached (about 10 µs).
 * Thread safety: one thread at a time per timer. */
#ifndef DAVIT_TIMER_H
#define DAVIT_TIMER_H

#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_timer davit_timer;

DAVIT_API davit_status davit_timer_create(davit_timer **timer);
DAVIT_API davit_status davit_timer_destroy(davit_timer *timer);

/* Record the start and the stop in the queue's current sub-queue. Starting again begins a new measurement. */
DAVIT_API davit_status davit_timer_start(davit_timer *timer, davit_queue *queue);
DAVIT_API davit_status davit_timer_stop(davit_timer *timer, davit_queue *queue);

/* Waits for both points. 0 if the timer was never started; DAVIT_INVALID_STATE if started and not
 * stopped. */
DAVIT_API davit_status davit_timer_elapsed(davit_timer *timer, double *milliseconds);

#ifdef __cplusplus
}
#endif
#endif
