/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the library and of the tool. Every thread is made here, so that failure injection reaches it. */
#ifndef DAVIT_SRC_BASE_THREAD_H
#define DAVIT_SRC_BASE_THREAD_H

#include <davit/status.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Runs function(argument) on a new thread; a failure gives the system's reason. */
davit_status dvt_thread_start(void *(*function)(void *), void *argument, pthread_t *thread);

/* Whether the calling thread ends the process (src/base/ending.h), or works for the one that does: a thread that such a
 * thread starts does, and one of the pool while it runs what such a thread asks for. What it does must end although the
 * process ends, so it is not refused what other threads are. */
bool dvt_thread_is_last(void);
void dvt_thread_set_last(bool last);

/* Until the end of the block the calling thread is not cancelled (pthread_cancel()): a thread that ends in the midst of a
 * call would leave locks held and counts wrong. What waits for work, has a team, is inside a GPU's runtime, or reads or
 * writes files, does so in such a block, so no call of davit's is a cancellation point. davit's own threads are never
 * cancelled but in a host function (src/runtime/queue.c). */
#define DVT_UNCANCELLED                                                                                      \
  __attribute__((cleanup(dvt_cancelling_restore), unused)) const int dvt_cancelling = dvt_cancelling_disable()

static inline int dvt_cancelling_disable(void) {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

static inline void dvt_cancelling_restore(const int *before) {
  pthread_setcancelstate(*before, NULL);
}

/* Sleeps for so long, and little longer: Linux by default lets a thread sleep 50 µs more than it asked for. */
void dvt_nap(int64_t nanoseconds);

/* Whether `count` threads more can be made, at most DVT_MOST_TRIED: makes them and ends them. A runtime that ends the
 * process where it cannot have its threads is asked for them afterwards. */
enum { DVT_MOST_TRIED = 64 };
davit_status dvt_threads_try(int count);

#endif
