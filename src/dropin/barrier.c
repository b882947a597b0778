/* SPDX-License-Identifier: Apache-2.0 */
/* What must not be under way while the process forks: the binding to BLIS, the start of devices, and BLIS's level 3.
 *
 * A child has the thread that has forked and no other. BLIS keeps its settings and its memory under locks, and a
 * thread that holds one of these in the parent never releases it in the child. So the calls that take them, level 3
 * and what is made of it, are counted between dvt_barrier_enter() and dvt_barrier_leave(): fork() waits for those
 * under way, and who comes meanwhile waits for fork(). Levels 1 and 2 take no lock. Calls on devices are libdavit's,
 * which does the same for itself once it has started. While the process has one thread nothing is counted: it does not
 * fork in the midst of a call.
 *
 * fork() calls the handlers before it in the reverse order of their registration. The first of them to come here
 * does the work, so these are registered several times: when the library is loaded, so that no fork is missed; and
 * after each runtime that has handlers of its own, because what is under way may need the locks that those handlers
 * take. The handler from the beginning (fork.c) comes after all others. It waits for 10 seconds at most, as the work
 * that it waits for may wait for this fork.
 *
 * Handlers that are registered while a fork is under way do not come before it. So a fork that has begun before
 * devices were started has none of libdavit's, whose first call may be under way by then, with BLIS behind it where a
 * device is the CPU. Therefore the barrier is closed before a start is waited for, and calls on devices are counted
 * too, for such a fork. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sys/single_threaded.h>
#include <time.h>

#include "src/dropin/dropin.h"

enum { PATIENCE_S = 10, SHORT_PATIENCE_MS = 1000, COUNTERS = 64, CACHE_LINE = 64 };

/* Calls under way. A thread adds to one counter of many, so that threads do not take each other's cache lines. */
static struct {
  _Alignas(CACHE_LINE) int calls;
} counters[COUNTERS];
static int on_devices; /* calls under way there */
static int closed;     /* processes are being forked */
static pthread_mutex_t passing =
    PTHREAD_MUTEX_INITIALIZER; /* held by the thread that has closed the barrier */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static int libraries; /* loaded for devices, with handlers of their own: 1 from then on */
static int asking;    /* the thread that starts devices is in calls of libdavit's */

#define OF_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))
OF_THREAD int depth; /* of the calls that are counted */
OF_THREAD int *own;  /* the counter of this thread */
OF_THREAD int depth_on_devices;
OF_THREAD struct {
  bool barrier, starting; /* closed, and locked, by this thread */
  bool awaited;           /* the calls under way */
  bool gave_up;           /* it has waited for the start in vain */
  bool all;               /* the handlers of all libraries for devices come before this fork */
} held;

static struct timespec soon(void) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec += PATIENCE_S;
  return at;
}

static bool is_over(const struct timespec *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec > at->tv_sec || (now.tv_sec == at->tv_sec && now.tv_nsec >= at->tv_nsec);
}

/* ---- calls ---- */

static unsigned threads; /* that have got a counter */

static int *counter(void) {
  if (!own)
    own = &counters[__atomic_fetch_add(&threads, 1, __ATOMIC_SEQ_CST) % COUNTERS].calls;
  return own;
}

/* Waits until the process has forked, but not for ever: the thread may hold what another handler of fork() needs. */
static void wait_for_fork(int *calls) {
  const struct timespec until = soon();
  do {
    __atomic_sub_fetch(calls, 1, __ATOMIC_RELEASE);
    if (pthread_mutex_timedlock(&passing, &until) == 0)
      pthread_mutex_unlock(&passing);
    __atomic_add_fetch(calls, 1, __ATOMIC_SEQ_CST);
  } while (__atomic_load_n(&closed, __ATOMIC_SEQ_CST) && !is_over(&until));
}

/* Without the calling thread: a handler of signals that forks in the midst of a call does not wait for it. */
static int under_way(void) {
  int all = depth > 0 ? -1 : 0;
  const unsigned used = __atomic_load_n(&threads, __ATOMIC_SEQ_CST);
  for (unsigned i = 0; i < COUNTERS && i < used; i++)
    all += __atomic_load_n(&counters[i].calls, __ATOMIC_SEQ_CST);
  return all;
}

static bool others_on_devices(void) {
  return __atomic_load_n(&on_devices, __ATOMIC_SEQ_CST) > (depth_on_devices > 0);
}

bool dvt_barrier_others(void) {
  return !__libc_single_threaded && under_way() > 0;
}

/* A call counts itself before it looks whether the barrier is closed, and fork() closes the barrier before it looks
 * at the count: one of the two sees the other. */
bool dvt_barrier_enter(void) {
  if (depth == 0 && (__libc_single_threaded || held.barrier))
    return false;
  if (depth++ > 0)
    return true;
  int *calls = counter();
  __atomic_add_fetch(calls, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&closed, __ATOMIC_SEQ_CST))
    wait_for_fork(calls);
  return true;
}

void dvt_barrier_leave(bool entered) {
  if (entered && --depth == 0)
    __atomic_sub_fetch(own, 1, __ATOMIC_RELEASE);
}

/* Counted first, as above. */
void dvt_barrier_enter_devices(void) {
  if (depth_on_devices++ > 0)
    return;
  __atomic_add_fetch(&on_devices, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&closed, __ATOMIC_SEQ_CST))
    wait_for_fork(&on_devices);
}

void dvt_barrier_leave_devices(void) {
  if (--depth_on_devices == 0)
    __atomic_sub_fetch(&on_devices, 1, __ATOMIC_RELEASE);
}

void dvt_starting_lock(void) {
  pthread_mutex_lock(&starting);
}

void dvt_starting_unlock(void) {
  pthread_mutex_unlock(&starting);
}

void dvt_starting_asks(bool asks) {
  __atomic_store_n(&asking, asks, __ATOMIC_SEQ_CST);
}

/* ---- before fork() ---- */

/* NULL: as long as it takes. */
static void close_barrier(const struct timespec *until) {
  if (held.barrier || (until ? pthread_mutex_timedlock(&passing, until) : pthread_mutex_lock(&passing)) != 0)
    return;
  __atomic_store_n(&closed, 1, __ATOMIC_SEQ_CST);
  held.barrier = true;
}

/* Calls on devices only where libdavit does not do it: they may need what its OpenMP has locked for this fork. */
static void await_calls(const struct timespec *until, const struct timespec *until_devices) {
  struct timespec nap = {.tv_nsec = 20000};
  if (!held.barrier || held.awaited)
    return;
  while ((under_way() > 0 && !(until && is_over(until))) ||
         (!held.all && others_on_devices() && !is_over(until_devices))) {
    nanosleep(&nap, NULL);
    nap.tv_nsec = nap.tv_nsec < 1000000 ? 2 * nap.tv_nsec : nap.tv_nsec;
  }
  held.awaited = true;
}

/* What is being loaded is waited for. A thread that is in calls of libdavit's may wait for locks that libdavit's own
 * handler has taken for this fork: it is given a moment. */
static void stop_starts(const struct timespec *until) {
  for (int ms = 0; !held.starting && !held.gave_up; ms++) {
    held.starting = pthread_mutex_trylock(&starting) == 0;
    held.gave_up = !held.starting && (is_over(until) || ms >= SHORT_PATIENCE_MS);
    if (!__atomic_load_n(&asking, __ATOMIC_SEQ_CST))
      ms = 0;
    if (!held.starting && !held.gave_up)
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}

static void before_fork(void) {
  const struct timespec until = soon();
  close_barrier(NULL);
  stop_starts(&until);
  await_calls(NULL, &until);
}

static void before_fork_of_all(void) {
  held.all = true;
  before_fork();
}

void dvt_barrier_close_at_last(void) {
  const struct timespec until = soon();
  close_barrier(&until);
  stop_starts(&until);
  await_calls(&until, &until);
}

void dvt_barrier_watch_runtime(void) {
  pthread_atfork(before_fork, NULL, NULL);
}

void dvt_barrier_watch_libraries(void) {
  pthread_atfork(before_fork, NULL, NULL);
  __atomic_store_n(&libraries, 1, __ATOMIC_RELAXED);
}

void dvt_barrier_watch_all(void) {
  pthread_atfork(before_fork_of_all, NULL, NULL);
}

/* ---- after it ---- */

void dvt_barrier_open(void) {
  if (held.barrier) {
    __atomic_store_n(&closed, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&passing);
  }
  if (held.starting)
    pthread_mutex_unlock(&starting);
  held.barrier = held.starting = held.awaited = held.gave_up = held.all = false;
}

dvt_child dvt_barrier_in_child(void) {
  const dvt_child child = {.whole = held.barrier && depth == 0,
                           .parts = __atomic_load_n(&libraries, __ATOMIC_RELAXED) && !held.all};
  pthread_mutex_init(&passing, NULL);
  pthread_mutex_init(&starting, NULL);
  for (int i = 0; i < COUNTERS; i++)
    counters[i].calls = 0;
  if (depth > 0)
    *own = 1;
  on_devices = depth_on_devices > 0;
  closed = asking = 0;
  held.barrier = held.starting = held.awaited = held.gave_up = held.all = false;
  return child;
}
