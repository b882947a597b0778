/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/runtime/pool.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "src/base/allocate.h"
#include "src/base/ending.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/team.h"
#include "src/base/thread.h"

enum { IDLE_SECONDS = 10, SPINS = 100 };

typedef struct worker {
  pthread_cond_t wake;
  bool sleeping;
  _Atomic(void (*)(void *)) function; /* written last, so that a spinning worker finds its argument */
  void *argument;
  bool last;       /* of the thread that asks: dvt_thread_is_last() */
  bool gone;       /* counted out */
  bool any_before; /* of those that have ended there is one that `before` names */
  pthread_t before;
  struct worker *next; /* in the stack of idle workers */
} worker;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static worker *idle; /* the last to become idle is the first to work again: its cache is warm */
static int alive;
static atomic_bool stopping; /* workers that become idle now end; set with the lock held */

/* The end of the last thread that has used OpenMP ends LLVM's runtime, and crashes if another thread begins to use it
 * then. So one worker stays, and who stops all waits until they have gone. A worker that ends waits for the one that
 * ended before it. */
static pthread_t newest_gone;
static bool any_gone;

static void forget_workers(void) {
  idle = NULL;
  alive = 0;
  any_gone = false;
}

__attribute__((constructor)) static void hold_at_fork(void) {
  static const dvt_fork_part part = {.lock = &lock, .child = forget_workers};
  dvt_on_fork(DVT_FORK_POOL, &part);
}

static void remove_idle(worker *self) {
  for (worker **at = &idle; *at; at = &(*at)->next)
    if (*at == self) {
      *at = self->next;
      return;
    }
}

/* Work often follows at once: a look around costs less than a sleep and a wake. */
static bool spin_for_work(worker *self) {
  pthread_mutex_lock(&lock);
  self->next = idle;
  idle = self;
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < SPINS && !atomic_load(&stopping); i++) { /* a busy machine takes long for a round */
    if (atomic_load(&self->function))
      return true;
    sched_yield();
  }
  return false;
}

/* With the lock held. */
static void count_out(worker *self) {
  self->gone = true;
  self->any_before = any_gone;
  self->before = newest_gone;
  newest_gone = pthread_self();
  any_gone = true;
  alive--;
  pthread_cond_broadcast(&ended);
}

/* False when the worker, asleep for long or told to stop, should end. */
static bool sleep_for_work(worker *self) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += IDLE_SECONDS;
  pthread_mutex_lock(&lock);
  self->sleeping = true;
  bool late = false;
  while (!atomic_load(&self->function) && !atomic_load(&stopping) && !late) {
    late = pthread_cond_timedwait(&self->wake, &lock, &until) == ETIMEDOUT && alive > 1;
    until.tv_sec += late ? 0 : IDLE_SECONDS;
  }
  self->sleeping = false;
  bool more = atomic_load(&self->function) != NULL;
  if (!more) {
    remove_idle(self);
    count_out(self);
  }
  pthread_mutex_unlock(&lock);
  return more;
}

static void free_worker(worker *self) {
  pthread_cond_destroy(&self->wake);
  free(self);
}

/* The last that a worker does, also where a function has ended its thread (src/runtime/queue.c). */
static void end(void *argument) {
  worker *self = argument;
  if (!self->gone) {
    pthread_mutex_lock(&lock);
    count_out(self);
    pthread_mutex_unlock(&lock);
  }
  if (self->any_before)
    pthread_join(self->before, NULL);
  free_worker(self);
}

static void *work(void *argument) {
  worker *self = argument;
  dvt_thread_begin();
  pthread_cleanup_push(end, self);
  do {
    void (*function)(void *) = atomic_exchange(&self->function, NULL);
    dvt_thread_set_last(self->last);
    function(self->argument);
  } while (spin_for_work(self) || sleep_for_work(self));
  pthread_cleanup_pop(1);
  return NULL;
}

static davit_status start_worker(void (*function)(void *), void *argument) {
  worker *made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  pthread_cond_init(&made->wake, NULL);
  made->argument = argument;
  made->last = dvt_thread_is_last();
  atomic_store(&made->function, function);
  pthread_mutex_lock(&lock);
  alive++;
  pthread_mutex_unlock(&lock);
  pthread_t thread;
  const davit_status status = dvt_thread_start(work, made, &thread);
  if (status == DAVIT_SUCCESS)
    return status;
  pthread_mutex_lock(&lock);
  alive--;
  pthread_mutex_unlock(&lock);
  free_worker(made);
  return status;
}

davit_status dvt_pool_run(void (*function)(void *), void *argument) {
  pthread_mutex_lock(&lock);
  worker *chosen = idle;
  if (chosen) {
    idle = chosen->next;
    chosen->argument = argument;
    chosen->last = dvt_thread_is_last();
    atomic_store(&chosen->function, function);
    if (chosen->sleeping)
      pthread_cond_signal(&chosen->wake);
  }
  pthread_mutex_unlock(&lock);
  return chosen ? DAVIT_SUCCESS : start_worker(function, argument);
}

static void do_nothing(void *argument) {
  (void)argument;
}

davit_status dvt_pool_reserve(int threads) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (const worker *one = idle; one; one = one->next)
    found++;
  pthread_mutex_unlock(&lock);
  for (; found < threads; found++)
    DVT_TRY(start_worker(do_nothing, NULL));
  return DAVIT_SUCCESS;
}

/* At the end of the process no longer than until the deadline: then false. */
static bool await_end(void) {
  if (!dvt_ending_is_here())
    return pthread_cond_wait(&ended, &lock) == 0;
  return pthread_cond_timedwait(&ended, &lock, dvt_ending_deadline()) == 0;
}

void dvt_pool_stop(void) {
  pthread_mutex_lock(&lock);
  atomic_store(&stopping, true);
  for (worker *one = idle; one; one = one->next)
    pthread_cond_signal(&one->wake);
  while (alive > 0 && await_end())
    ;
  atomic_store(&stopping, false);
  const bool all = any_gone && alive == 0;
  const pthread_t last = newest_gone;
  any_gone = any_gone && !all;
  pthread_mutex_unlock(&lock);
  if (all && dvt_ending_is_here())
    (void)pthread_timedjoin_np(last, NULL, dvt_ending_deadline());
  else if (all)
    pthread_join(last, NULL);
}
