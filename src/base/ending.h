/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the process while other threads are at work.
 *
 * The thread that calls exit() ends the process by exit handlers, and some of them take down the runtimes of GPUs and
 * of offloading. A thread that is inside such a runtime then crashes. So whatever calls a GPU's for a lane or for a
 * caller stands between dvt_ending_enter() and dvt_ending_leave(): the ending thread waits for those who are inside,
 * and nobody else comes in: a thread that tries never returns.
 *
 * A thread that is inside is not cancelled. One that enters holds no lock, because it may keep it for ever; only one
 * that is inside already may. One that holds a team comes in however late it is, because the ending thread waits for
 * teams, after those who are inside. What is inside ends by itself, without any other thread that has yet to enter.
 *
 * The thread that ends the process may still compute: exit handlers that come after davit's call davit. That holds for
 * all threads that work for such a call (dvt_thread_is_last()): each passes here, gets a team at once, and does the
 * commands that it enqueues itself (src/runtime/lane.c), because the back end has been left.
 *
 * Without GPUs, that is before dvt_ending_guard(), entering and leaving do nothing. */
#ifndef DAVIT_SRC_BASE_ENDING_H
#define DAVIT_SRC_BASE_ENDING_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdnoreturn.h>
#include <time.h>

enum { DVT_ENDING_PATIENCE_S = 10 };

/* ---- for the ending thread ---- */

/* The calling thread ends the process. Its patience begins with the first call. */
void dvt_ending_begin(void);

/* When it ends, by CLOCK_REALTIME; whether that is over, and the calling thread is the ending one. */
const struct timespec *dvt_ending_deadline(void);
bool dvt_ending_is_overdue(void);

/* Waits for the semaphore until the deadline; false: in vain. */
bool dvt_ending_await(sem_t *semaphore);

/* Nobody comes in any more, and whether everybody has left, or the deadline is over; returns then. */
bool dvt_ending_is_over(void);
void dvt_ending_wait(void);

/* ---- for others ---- */

/* Whether the calling thread ends the process, or works for the one that does. */
bool dvt_ending_is_here(void);

/* Whether the process ends, and the calling thread has no part in that; sleeps until the process is gone. */
bool dvt_ending_is_late(void);
noreturn void dvt_ending_sleep(void);

/* Comes in, whatever there is; false, and the thread stays outside, if it is too late. Calls nest; each that returns
 * true needs a dvt_ending_go_out() of the same thread. */
bool dvt_ending_come_in(void);
void dvt_ending_go_out(void);

/* There are GPUs: called when the library starts. */
void dvt_ending_guard(void);
extern atomic_bool dvt_ending_guarded;

static inline bool dvt_ending_is_guarded(void) {
  return atomic_load_explicit(&dvt_ending_guarded, memory_order_relaxed);
}

static inline void dvt_ending_enter(void) {
  if (dvt_ending_is_guarded() && !dvt_ending_come_in())
    dvt_ending_sleep();
}

static inline void dvt_ending_leave(void) {
  if (dvt_ending_is_guarded())
    dvt_ending_go_out();
}

/* Inside until the end of the block. */
static inline bool dvt_ending_inside(bool enters) {
  if (enters)
    dvt_ending_enter();
  return enters;
}

static inline void dvt_ending_outside(const bool *entered) {
  if (*entered)
    dvt_ending_leave();
}

#define DVT_INSIDE DVT_INSIDE_IF(true)
#define DVT_INSIDE_IF(condition)                                                                             \
  __attribute__((cleanup(dvt_ending_outside), unused)) const bool dvt_inside = dvt_ending_inside(condition)

/* Enters however late it is: for a thread that works for one who is inside and waits for it. */
void dvt_ending_follow(void);

/* What may take any time, a function of the user's or a wait for other work, is outside: between these two. Coming
 * back enters. */
int dvt_ending_step_out(void);
void dvt_ending_step_in(int depth);

/* Work that no thread is inside for, which ends by itself: counted from here to there. Any thread; never sleeps. */
void dvt_ending_hold(void);
void dvt_ending_drop(void);

#endif
