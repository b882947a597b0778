/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/generator.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "src/base/arithmetic.h"
#include "src/base/ending.h"
#include "src/base/environment.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/team.h"
#include "src/base/thread.h"

enum {
  IDLE_SPINS = 60,
  HURRIED_SPINS = 600,
  MOST_WORKERS = 8,
  WORKER_SPINS = 200,
  LAST_SPINS = 5 * MOST_WORKERS, /* between naps: a look at most other lists */
  SHORTEST_NAP_US = 50,
  SHORT_NAP_US = 1000, /* while a region is under way */
  LONG_NAP_US = 10000, /* while tasks wait for something else */
  BATCH = 128, /* messages taken before the first task is generated: few enough to stay in the cache */
  /* Regions on the host may open a team of their own inside the generator's. */
  ACTIVE_LEVELS = 4
};

static bool (*generate)(void);
static atomic_bool sleeping, leaving;
static atomic_int hurries; /* work under way whose end is waited for without sleep */
static _Thread_local bool is_generator;
static sem_t wake_up, begun, started, parked, park, left;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static bool team_exists, may_begin;
static int thread_limit; /* of the OpenMP runtime */
static int workers;
static int process; /* that made the generator */

/* ---- the tasks ---- */

/* A yield runs one task, if it finds one: of the thread's own list, or else of another one that it draws. This counts
 * the tasks of davit's that have begun. */
static atomic_ullong bodies;
static atomic_long deferred; /* tasks generated, and not begun */
static atomic_int regions;   /* lanes with regions of the program's under way */
static atomic_bool
    regions_are_over; /* the last of those has ended, and the generator has not seen that yet */

void dvt_generator_defer(void) {
  atomic_fetch_add_explicit(&deferred, 1, memory_order_relaxed);
}

void dvt_generator_passed(void) {
  atomic_fetch_add(&bodies, 1);
}

void dvt_generator_began(void) {
  atomic_fetch_sub_explicit(&deferred, 1, memory_order_relaxed);
  dvt_generator_passed();
}

void dvt_generator_regions_end(void) {
  dvt_generator_passed();
  if (atomic_fetch_sub(&regions, 1) > 1)
    return;
  atomic_store(&regions_are_over, true);
  dvt_generator_wake();
}

/* What is ready, and what that makes ready. Clang has an untied task put itself back into the list once before it
 * begins; that is a yield without a body. */
static void run_ready(void) {
  for (int idle = 0; idle < 2 && atomic_load(&deferred) > 0; idle++) {
    const unsigned long long before = atomic_load(&bodies);
#pragma omp taskyield
    if (atomic_load(&bodies) != before)
      idle = -1;
  }
}

/* ---- the messages ---- */

/* A list in the order of arrival (D. Vyukov's intrusive queue of many producers and one consumer): a producer
 * makes its message the newest, then links it behind the one before. The generator never takes a message without a
 * follower; where there are none, the list holds `none`. */
static dvt_message none;
static _Atomic(dvt_message *) newest = &none;
static dvt_message *oldest = &none; /* the generator's */

static void put(dvt_message *message) {
  atomic_store_explicit(&message->follower, NULL, memory_order_relaxed);
  dvt_message *before = atomic_exchange(&newest, message);
  atomic_store_explicit(&before->follower, message, memory_order_release);
}

static dvt_message *follower(const dvt_message *message) {
  return atomic_load_explicit(&message->follower, memory_order_acquire);
}

/* NULL: there is none, or its producer has not linked it yet. */
static dvt_message *take(void) {
  dvt_message *first = oldest, *next = follower(first);
  if (first == &none) {
    if (!next)
      return NULL;
    oldest = first = next;
    next = follower(first);
  }
  if (!next && atomic_load(&newest) == first) {
    put(&none);
    next = follower(first);
  }
  if (!next)
    return NULL;
  oldest = next;
  return first;
}

static bool any_messages(void) {
  return oldest != &none || atomic_load(&newest) != &none;
}

static bool take_messages(void) {
  int taken = 0;
  for (dvt_message *m; taken < BATCH && (m = take()); taken++)
    m->take(m);
  if (taken == 0 && any_messages())
    sched_yield(); /* to the producer that has not linked its message yet */
  return taken > 0;
}

dvt_message *dvt_generator_unread(const dvt_message *after) {
  dvt_message *next = after ? follower(after) : oldest;
  return next == &none ? follower(next) : next;
}

void dvt_generator_send(dvt_message *message) {
  put(message);
  dvt_generator_wake();
}

/* ---- sleep ---- */

void dvt_generator_wake(void) {
  if (atomic_load(&sleeping) && atomic_exchange(&sleeping, false))
    sem_post(&wake_up);
}

void dvt_generator_hurry(int works) {
  atomic_fetch_add(&hurries, works);
}

static bool has_news(void) {
  return any_messages() || atomic_load(&regions_are_over) || atomic_load(&leaving);
}

static void wait_for(sem_t *semaphore) {
  while (sem_wait(semaphore) != 0) {
  }
}

static void doze(void) {
  for (int i = 0; i < (atomic_load(&hurries) > 0 ? HURRIED_SPINS : IDLE_SPINS); i++) {
    if (has_news())
      return;
    sched_yield();
  }
  atomic_store(&sleeping, true);
  if (has_news() && atomic_exchange(&sleeping, false))
    return; /* else somebody has woken the generator already, and the semaphore says so */
  wait_for(&wake_up);
}

/* ---- the workers ---- */

static sem_t called, nudge;
static atomic_int awake, napping;
static atomic_uint yields[MOST_WORKERS];            /* of each */
static _Thread_local const atomic_uint *own_yields; /* NULL except in a worker */

static int wanted(void) {
  const int under_way = atomic_load(&regions);
  return under_way == 0 ? 0 : under_way < workers ? under_way + 1 : workers;
}

/* One more counts as awake, if one is wanted. */
static bool rouse(void) {
  int now = atomic_load(&awake);
  while (now < wanted())
    if (atomic_compare_exchange_weak(&awake, &now, now + 1))
      return true;
  return false;
}

static void call_workers(void) {
  int nudges = 0;
  while (rouse())
    sem_post(&called);
  if (atomic_load(&napping) > 0 && sem_getvalue(&nudge, &nudges) == 0 && nudges == 0)
    sem_post(&nudge);
}

void dvt_generator_regions_begin(void) {
  atomic_fetch_add(&regions, 1);
  call_workers();
}

/* Whether it was nudged. */
static bool nap(long microseconds) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += microseconds * 1000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  atomic_fetch_add(&napping, 1);
  const bool nudged = sem_timedwait(&nudge, &until) == 0;
  atomic_fetch_sub(&napping, 1);
  return nudged;
}

/* Runs tasks until there are none that have not begun, and more workers are awake than wanted. Earlier it must not
 * leave: its last yield may have put a task into its own list (run_ready()), or the generator's last one have taken a
 * task from there. */
static void look_for_tasks(atomic_uint *done) {
  long microseconds = SHORTEST_NAP_US;
  for (int idle = 0; !atomic_load(&leaving); idle++) {
    const unsigned long long before = atomic_load(&bodies);
#pragma omp taskyield
    atomic_fetch_add(done, 1);
    if (atomic_load(&bodies) != before) {
      idle = -1;
      microseconds = SHORTEST_NAP_US;
    } else if (atomic_load(&deferred) == 0 && atomic_load(&awake) > wanted()) {
      return;
    } else if (idle < WORKER_SPINS) {
      sched_yield();
    } else {
      idle = nap(microseconds) ? -1 : WORKER_SPINS - LAST_SPINS;
      microseconds = dvt_at_most(2 * microseconds, wanted() > 0 ? SHORT_NAP_US : LONG_NAP_US);
    }
  }
}

static void work_until_left(int number) {
  own_yields = &yields[number];
  sem_post(&parked);
  while (!atomic_load(&leaving)) {
    wait_for(&called);
    do {
      look_for_tasks(&yields[number]);
      atomic_fetch_sub(&awake, 1);
      /* A region that has come meanwhile may have found this worker awake. */
    } while (!atomic_load(&leaving) && rouse());
  }
}

static void run_or_call(void) {
  if (atomic_load(&regions) > 0)
    call_workers();
  else
    run_ready();
}

void dvt_generator_go_on(void) {
  take_messages();
  run_or_call();
}

/* ---- detached tasks ---- */

void dvt_generator_detach(dvt_detached *task, uintptr_t event) {
  dvt_generator_began();
  *task = (dvt_detached){event, own_yields, own_yields ? atomic_load(own_yields) : 0};
}

bool dvt_generator_fulfil(const dvt_detached *task, dvt_message *over) {
  if (task->yields && atomic_load(task->yields) == task->yield) {
    dvt_generator_send(over);
    return false;
  }
  omp_fulfill_event((omp_event_handle_t)task->event);
  return true;
}

/* ---- the team ---- */

static void generate_until_left(void);

/* The function of a region has ended this thread (docs/threads.md), which has no successor: it goes on. */
static void go_on(void *unused) {
  (void)unused;
  generate_until_left();
  sem_post(&left);
  for (;;)
    wait_for(&park);
}

static void generate_until_left(void) {
  pthread_cleanup_push(go_on, NULL);
  while (!atomic_load(&leaving)) {
    bool any = take_messages();
    any |= generate();
    any |= atomic_exchange(&regions_are_over, false);
    run_or_call();
    if (!any)
      doze();
  }
  pthread_cleanup_pop(0);
}

/* Whether the environment asks for LLVM's helper threads. */
static bool is_on(const char *name) {
  const char *value = dvt_environment(name);
  return value && *value && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0 &&
         strcasecmp(value, "off") != 0 && strcasecmp(value, "no") != 0;
}

static bool program_has_helpers(void) {
  return is_on("LIBOMP_USE_HIDDEN_HELPER_TASK") || is_on("LIBOMP_NUM_HIDDEN_HELPER_THREADS");
}

static void take_part(void) {
  const bool first = omp_get_thread_num() == 0;
  dvt_thread_begin();
  if (first) {
    workers = omp_get_num_threads() - 1;
    is_generator = true;
    sem_post(&started);
  }
  if (omp_get_num_threads() == 1)
    return;
  first ? generate_until_left() : work_until_left(omp_get_thread_num() - 1);
  if (first)
    sem_post(&left);
  for (;;)
    wait_for(&park);
}

static void *generator(void *argument) {
  thread_limit = omp_get_thread_limit();
  sem_post(&started);
  wait_for(&begun);
  if (!may_begin)
    return argument;
  omp_set_dynamic(0);
  omp_set_max_active_levels(ACTIVE_LEVELS);
  /* LIBOMP_USE_HIDDEN_HELPER_TASK=0 would leave their places in the runtime's table of threads taken. */
  if (workers > 0)
    kmp_set_defaults("LIBOMP_NUM_HIDDEN_HELPER_THREADS=0");
#pragma omp parallel num_threads(1 + workers)
  take_part();
  return argument;
}

/* Where the OpenMP runtime cannot make the team's threads, it ends the process. So they are tried, while the
 * generator's thread waits to begin. */
static davit_status begin_generator(pthread_t thread) {
  wait_for(&started);
  workers = (int)dvt_at_least(dvt_threads() + 1, 2);
  workers = workers < MOST_WORKERS ? workers : MOST_WORKERS;
  workers = workers < thread_limit ? workers : thread_limit - 1; /* or libomp prints a warning */
  const davit_status status = dvt_threads_try(workers);
  may_begin = status == DAVIT_SUCCESS;
  sem_post(&begun);
  if (!may_begin)
    pthread_join(thread, NULL);
  return status;
}

/* If it cannot be made, the next start tries again. */
static davit_status make_generator(void) {
  pthread_t thread;
  sem_t *const all[] = {&wake_up, &begun, &park, &started, &parked, &left, &called, &nudge};
  if (program_has_helpers())
    return davit_fail(
        DAVIT_UNSUPPORTED,
        "LIBOMP_USE_HIDDEN_HELPER_TASK or LIBOMP_NUM_HIDDEN_HELPER_THREADS asks for helper threads of "
        "OpenMP, which nowait regions and the back end \"openmp\" do without; "
        "DAVIT_BACKEND=threads works with them");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    sem_init(all[i], 0, 0);
  DVT_TRY(dvt_thread_start(generator, NULL, &thread));
  DVT_TRY(begin_generator(thread));
  wait_for(&started);
  team_exists = workers > 0;
  if (!team_exists) {
    pthread_join(thread, NULL);
    return davit_fail(DAVIT_UNSUPPORTED,
                      "the OpenMP runtime gives no team of two threads (its thread limit is %d); "
                      "DAVIT_BACKEND=threads works without",
                      thread_limit);
  }
  pthread_detach(thread);
  process = dvt_process();
  for (int i = 0; i < workers; i++)
    wait_for(&parked); /* or a process that ends at once would catch them on their way */
  return DAVIT_SUCCESS;
}

davit_status dvt_generator_start(bool (*turn)(void), bool library_runs) {
  pthread_mutex_lock(&starting);
  if (library_runs && dvt_ending_is_late()) {
    pthread_mutex_unlock(&starting);
    dvt_ending_sleep();
  }
  if (!team_exists)
    generate = turn;
  davit_status status = team_exists ? DAVIT_SUCCESS : make_generator();
  pthread_mutex_unlock(&starting);
  return status;
}

bool dvt_generator_is_here(void) {
  return is_generator && dvt_generator_exists();
}

/* Whether it sleeps, as another thread sees it: it may be about to find news. */
static bool rests(void) {
  return atomic_load(&sleeping) && atomic_load(&awake) == 0 && atomic_load(&newest) == &none &&
         !atomic_load(&regions_are_over);
}

void dvt_generator_rest(void) {
  /* Its last yields may not be over. */
  while (team_exists && !rests() && !atomic_load(&leaving) && !dvt_ending_is_overdue())
    sched_yield();
}

bool dvt_generator_exists(void) {
  return team_exists && dvt_process() == process;
}

/* ---- the end of the process ---- */

void dvt_generator_settle(void) {
  if (dvt_process() == 0 && pthread_mutex_timedlock(&starting, dvt_ending_deadline()) == 0)
    pthread_mutex_unlock(&starting);
}

/* The generator answers at once unless it is blocked, in a GPU's runtime or in the function of a region; a worker,
 * unless it is in a region. The calling thread is one of them if such a function or region ends the process. */
void dvt_generator_leave(void) {
  atomic_store(&leaving, true);
  if (!is_generator) {
    dvt_generator_wake();
    dvt_ending_await(&left);
  }
  while (atomic_load(&awake) > (own_yields != NULL) && !dvt_ending_is_overdue())
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
