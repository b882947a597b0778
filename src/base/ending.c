/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/ending.h"

#include <errno.h>
#include <unistd.h>

#include "src/base/cancel.h"
#include "src/base/fork.h"
#include "src/base/team.h"
#include "src/base/thread.h"

atomic_bool dvt_ending_guarded;
static atomic_bool ending, closed; /* the process ends; nobody may come in */
static struct timespec deadline;
static atomic_int inside;            /* threads, and work that is held */
static _Thread_local int depth;      /* of the thread's calls */
static _Thread_local int cancelling; /* whether the thread could be cancelled before it came in */

void dvt_ending_begin(void) {
  if (atomic_load(&ending))
    return;
  dvt_thread_set_last(true);
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += DVT_ENDING_PATIENCE_S;
  atomic_store(&ending, true);
}

const struct timespec *dvt_ending_deadline(void) {
  return &deadline;
}

static bool deadline_is_over(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec > deadline.tv_sec || (now.tv_sec == deadline.tv_sec && now.tv_nsec >= deadline.tv_nsec);
}

bool dvt_ending_is_overdue(void) {
  return dvt_ending_is_here() && deadline_is_over();
}

bool dvt_ending_await(sem_t *semaphore) {
  int failed;
  while ((failed = sem_timedwait(semaphore, &deadline)) != 0 && errno == EINTR) {
  }
  return !failed;
}

/* The ending thread may be inside itself: exit() in a region. */
bool dvt_ending_is_over(void) {
  atomic_store(&closed, true);
  return atomic_load(&inside) <= (depth > 0) || deadline_is_over();
}

void dvt_ending_wait(void) {
  const struct timespec moment = {0, 200000};
  while (!dvt_ending_is_over())
    nanosleep(&moment, NULL);
}

bool dvt_ending_is_here(void) {
  return dvt_thread_is_last();
}

bool dvt_ending_is_late(void) {
  return atomic_load(&ending) && !dvt_thread_is_last();
}

void dvt_ending_sleep(void) {
  dvt_ending_step_out(); /* nobody waits for it */
  for (;;)
    pause();
}

void dvt_ending_guard(void) {
  atomic_store(&dvt_ending_guarded, true);
}

/* A thread counts itself before it looks whether the door is closed, and the ending thread closes the door before
 * it looks at the count: one of the two sees the other. */
bool dvt_ending_come_in(void) {
  if (depth == 0) {
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&closed) && dvt_ending_is_late() && !dvt_team_is_held()) {
      atomic_fetch_sub(&inside, 1);
      return false;
    }
    cancelling = dvt_cancelling_disable();
  }
  depth++;
  return true;
}

void dvt_ending_go_out(void) {
  if (depth > 0 && --depth == 0) { /* 0 in a child that came in before fork() */
    atomic_fetch_sub(&inside, 1);
    dvt_cancelling_restore(&cancelling);
  }
}

void dvt_ending_follow(void) {
  if (dvt_ending_is_guarded() && depth++ == 0) {
    atomic_fetch_add(&inside, 1);
    cancelling = dvt_cancelling_disable();
  }
}

int dvt_ending_step_out(void) {
  const int before = depth;
  if (before == 0)
    return 0;
  atomic_fetch_sub(&inside, 1);
  depth = 0;
  return before;
}

void dvt_ending_step_in(int before) {
  if (before == 0)
    return;
  const int first = cancelling;
  if (!dvt_ending_come_in())
    dvt_ending_sleep();
  cancelling = first;
  depth = before;
}

void dvt_ending_hold(void) {
  atomic_fetch_add(&inside, 1);
}

void dvt_ending_drop(void) {
  atomic_fetch_sub(&inside, 1);
}

/* The child has no GPU, and nobody is in its calls. */
static void forget(void) {
  atomic_store(&dvt_ending_guarded, false);
  atomic_store(&ending, false);
  atomic_store(&closed, false);
  dvt_thread_set_last(false);
  atomic_store(&inside, 0);
  depth = 0;
}

__attribute__((constructor)) static void forget_at_fork(void) {
  static const dvt_fork_part part = {.child = forget};
  dvt_on_fork(DVT_FORK_ENDING, &part);
}
