/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/generator.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "src/base/ending.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/team.h"
#include "src/base/thread.h"

enum {
  IDLE_SPINS = 60,
  HURRIED_SPINS = 600,
  EXPECTING_SPINS = 200,
  SHORTEST_NAP_MS = 1,
  LONGEST_NAP_MS = 128,
  /* Regions on the host may open a team of their own inside the runtime's team of helper threads. */
  ACTIVE_LEVELS = 4
};

static const dvt_generator_work *work;
static atomic_ullong noticed; /* tasks that other threads completed */
static atomic_bool sleeping, leaving;
static atomic_int fulfilling; /* threads in omp_fulfill_event() */
static atomic_int hurries;    /* work under way whose end is waited for without sleep */
static _Thread_local bool is_generator;
static sem_t wake_up, begun, started, parked, park, left;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static bool team_is_two, may_begin;
static int thread_limit, active_levels; /* of the OpenMP runtime */
static int process;                     /* that made the generator */

/* The generator's own. */
static unsigned long long bodies; /* begun */
static long deferred;             /* tasks generated, and not begun */
static long expected;             /* of them those behind a region */
static bool regions;              /* there have been some */

void dvt_generator_wake(void) {
  if (atomic_load(&sleeping) && atomic_exchange(&sleeping, false))
    sem_post(&wake_up);
}

void dvt_generator_notice(void) {
  atomic_fetch_add(&noticed, 1);
  dvt_generator_wake();
}

void dvt_generator_fulfil(uintptr_t event) {
  atomic_fetch_add(&fulfilling, 1);
  if (atomic_load(&leaving) && !is_generator) { /* the OpenMP runtime is being taken down */
    atomic_fetch_sub(&fulfilling, 1);
    dvt_ending_sleep();
  }
  omp_fulfill_event((omp_event_handle_t)event);
  atomic_fetch_sub(&fulfilling, 1);
  dvt_generator_notice();
}

void dvt_generator_hurry(int works) {
  atomic_fetch_add(&hurries, works);
}

void dvt_generator_defer(bool is_expected) {
  deferred++;
  expected += is_expected;
}

void dvt_generator_began(bool was_expected) {
  bodies++;
  deferred--;
  expected -= was_expected;
}

bool dvt_generator_is_here(void) {
  return is_generator;
}

void dvt_generator_region(void) {
  regions = true;
}

/* Runs what is ready. A yield that ran no body either ended a fulfilled task or found nothing; as no more
 * than `owed` tasks can have been fulfilled, the last two of them found nothing. (A fulfilment that is not
 * counted yet may take the place of a counted one; its own count then comes later and wakes the generator
 * again.) */
static void run_ready(unsigned long long owed) {
  for (unsigned long long idle = 0; idle < owed + 2;) {
    unsigned long long before = bodies;
#pragma omp taskyield
    idle += bodies == before;
  }
}

/* A region gives notice inside its body, and the tasks behind it are ready a moment later. */
static void run_expected(void) {
  for (int i = 0; i < EXPECTING_SPINS && expected > 0; i++) {
    const unsigned long long before = bodies;
    run_ready(0); /* with them what they make ready */
    if (bodies != before)
      i = 0;
  }
}

static bool has_news(unsigned long long seen) {
  return work->is_waiting() || atomic_load(&noticed) != seen || atomic_load(&leaving);
}

static void wait_for(sem_t *semaphore) {
  while (sem_wait(semaphore) != 0) {
  }
}

static void wait_at_most(sem_t *semaphore, long milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += milliseconds * 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  if (sem_timedwait(semaphore, &until) != 0 && !atomic_exchange(&sleeping, false))
    wait_for(semaphore); /* somebody has woken the generator at that moment, and the semaphore says so */
}

/* Sleeps until there is news; where a task may follow a region, no longer than *nap milliseconds: a region that was
 * interrupted between its notice and its end would be missed otherwise. */
static void doze(unsigned long long seen, long *nap) {
  for (int i = 0; i < (atomic_load(&hurries) > 0 ? HURRIED_SPINS : IDLE_SPINS); i++) {
    if (has_news(seen)) {
      *nap = SHORTEST_NAP_MS;
      return;
    }
    sched_yield();
  }
  atomic_store(&sleeping, true);
  if (has_news(seen) && atomic_exchange(&sleeping, false))
    return; /* else somebody has woken the generator already, and the semaphore says so */
  if (deferred == 0 || !regions) {
    wait_for(&wake_up);
  } else {
    wait_at_most(&wake_up, *nap);
    *nap = *nap < LONGEST_NAP_MS ? 2 * *nap : LONGEST_NAP_MS;
  }
}

static void generate_until_left(void) {
  unsigned long long seen = 0;
  long nap = SHORTEST_NAP_MS;
  while (!atomic_load(&leaving)) {
    bool any = work->turn();
    unsigned long long now = atomic_load(&noticed);
    if (deferred > 0 || now != seen)
      run_ready(now - seen);
    if (now != seen)
      run_expected();
    if (!any && now == seen)
      doze(seen, &nap);
    seen = now;
  }
}

static void *generator(void *argument) {
  wait_for(&begun);
  if (!may_begin)
    return argument;
  omp_set_dynamic(0);
  thread_limit = omp_get_thread_limit();
  active_levels = omp_get_max_active_levels();
  omp_set_max_active_levels(ACTIVE_LEVELS);
#pragma omp parallel num_threads(thread_limit > 1 ? 2 : 1) /* or libomp prints a warning */
  {
    const bool two = omp_get_num_threads() == 2, first = omp_get_thread_num() == 0;
    if (first) {
      team_is_two = two;
      is_generator = true;
      dvt_thread_begin();
      sem_post(&started);
    }
    if (first && two)
      generate_until_left();
    if (two)
      sem_post(first ? &left : &parked);
    while (two)
      sem_wait(&park);
  }
  return argument;
}

static void *return_at_once(void *argument) {
  return argument;
}

/* Where the OpenMP runtime cannot make the team's second thread, it ends the process. So one is tried, while
 * the generator's thread waits to begin. */
static davit_status begin_generator(pthread_t thread) {
  pthread_t second;
  const davit_status status = dvt_thread_start(return_at_once, NULL, &second);
  may_begin = status == DAVIT_SUCCESS;
  if (may_begin)
    pthread_join(second, NULL);
  sem_post(&begun);
  if (!may_begin)
    pthread_join(thread, NULL);
  return status;
}

/* If it cannot be made, the next start tries again. */
static davit_status make_generator(void) {
  pthread_t thread;
  sem_t *const all[] = {&wake_up, &begun, &park, &started, &parked, &left};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    sem_init(all[i], 0, 0);
  DVT_TRY(dvt_thread_start(generator, NULL, &thread));
  DVT_TRY(begin_generator(thread));
  wait_for(&started);
  if (!team_is_two) {
    pthread_join(thread, NULL);
    return davit_fail(DAVIT_UNSUPPORTED,
                      "the OpenMP runtime gives no team of two threads (its thread limit is %d, its limit of "
                      "active levels %d); DAVIT_BACKEND=threads works without",
                      thread_limit, active_levels);
  }
  pthread_detach(thread);
  process = dvt_process();
  wait_for(&parked); /* or a process that ends at once would catch the second thread on its way */
  return DAVIT_SUCCESS;
}

davit_status dvt_generator_start(const dvt_generator_work *what, bool library_runs) {
  pthread_mutex_lock(&starting);
  if (library_runs && dvt_ending_is_late()) {
    pthread_mutex_unlock(&starting);
    dvt_ending_sleep();
  }
  if (!team_is_two)
    work = what;
  davit_status status = team_is_two ? DAVIT_SUCCESS : make_generator();
  pthread_mutex_unlock(&starting);
  return status;
}

int dvt_generator_thread_limit(void) {
  return thread_limit;
}

void dvt_generator_rest(void) {
  /* Its last yields may not be over. */
  while (team_is_two && !atomic_load(&sleeping) && !atomic_load(&leaving) && !dvt_ending_is_overdue())
    sched_yield();
}

bool dvt_generator_exists(void) {
  return team_is_two && dvt_process() == process;
}

void dvt_generator_settle(void) {
  if (dvt_process() == 0 && pthread_mutex_timedlock(&starting, dvt_ending_deadline()) == 0)
    pthread_mutex_unlock(&starting);
}

void dvt_generator_run_ready(void) {
  run_ready(0);
}

/* The generator answers at once unless it is blocked, in a GPU's runtime or in the function of a region. It is here
 * itself if such a function ends the process. */
void dvt_generator_leave(void) {
  atomic_store(&leaving, true);
  if (!is_generator) {
    dvt_generator_wake();
    dvt_ending_await(&left);
  }
  while (atomic_load(&fulfilling) > 0 && !dvt_ending_is_overdue())
    sched_yield();
}

/* At the end of the process the OpenMP runtime does not wait for its idle workers while the generator's region is
 * open, but frees a table that they read when they go to sleep. From here on they stay awake. Without the region, as
 * in a child after fork(), it waits for them, and would not wake those that sleep already. Nor does it wake them for
 * work, so nobody may be about to give them some: this comes after all exit handlers, in which davit may be called,
 * and before the end of the runtime, which is loaded for this library. */
__attribute__((destructor)) static void keep_workers_awake(void) {
  if (dvt_generator_exists())
    kmp_set_defaults("KMP_BLOCKTIME=infinite");
}
