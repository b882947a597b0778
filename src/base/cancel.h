/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the program may be cancelled (pthread_cancel()), but not in the midst of a call: that would leave locks
 * held and counts wrong. What waits for work, has a team, is inside a GPU's runtime, or reads or writes files, does
 * so while cancelling is off, so no call of davit's is a cancellation point. davit's own threads are never cancelled
 * but in a host function (src/runtime/queue.c). */
#ifndef DAVIT_SRC_BASE_CANCEL_H
#define DAVIT_SRC_BASE_CANCEL_H

#include <pthread.h>

/* Until the end of the block the calling thread is not cancelled. */
#define DVT_UNCANCELLED                                                                                      \
  __attribute__((cleanup(dvt_cancelling_restore), unused)) const int dvt_cancelling = dvt_cancelling_disable()

/* Returns what dvt_cancelling_restore() is given later, on the same thread. */
static inline int dvt_cancelling_disable(void) {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

static inline void dvt_cancelling_restore(const int *before) {
  pthread_setcancelstate(*before, NULL);
}

#endif
