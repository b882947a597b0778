/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/base/team.h"

#include <dlfcn.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/cancel.h"
#include "src/base/cgroup.h"
#include "src/base/environment.h"
#include "src/base/fork.h"
#include "src/base/thread.h"

/* ---- the processors of the process ---- */

static cpu_set_t
    processors;    /* before OpenMP binds the first thread; then also those of its runtimes' places */
static bool bound; /* OpenMP binds threads */
static pthread_once_t processors_once = PTHREAD_ONCE_INIT;
static _Thread_local bool is_own;

/* The main thread's: that of another thread may be narrower. */
__attribute__((constructor)) static void read_processors(void) {
  if (sched_getaffinity(getpid(), sizeof processors, &processors) != 0)
    for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN) && i < CPU_SETSIZE; i++)
      CPU_SET((size_t)i, &processors);
}

/* What a runtime of OpenMP says of its places. */
typedef struct places {
  int (*count)(void);
  int (*processors)(int place);
  void (*ids)(int place, int *ids);
} places;

static void add_places(const places *p) {
  for (int place = 0; place < p->count(); place++) {
    int ids[CPU_SETSIZE], count = p->processors(place);
    if (count < 1 || count > CPU_SETSIZE)
      continue;
    p->ids(place, ids);
    for (int i = 0; i < count; i++)
      if (ids[i] >= 0 && ids[i] < CPU_SETSIZE)
        CPU_SET((size_t)ids[i], &processors);
  }
}

/* GCC's runtime, which BLIS may bring along, binds the main thread while libraries are loaded. */
static void add_places_of_gomp(void) {
  void *gomp = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
  places p = {NULL, NULL, NULL};
  if (!gomp)
    return;
  *(void **)&p.count = dlsym(gomp, "omp_get_num_places");
  *(void **)&p.processors = dlsym(gomp, "omp_get_place_num_procs");
  *(void **)&p.ids = dlsym(gomp, "omp_get_place_proc_ids");
  if (p.count && p.processors && p.ids)
    add_places(&p);
  dlclose(gomp);
}

/* If a runtime was started before this library was loaded, the main thread was bound by then. LLVM's takes what the
 * thread that starts it may use for all there is, and binds its threads to that: so that is all, for the moment. */
static void add_all_places(void) {
  add_places_of_gomp();
  sched_setaffinity(0, sizeof processors, &processors);
  add_places(&(places){omp_get_num_places, omp_get_place_num_procs, omp_get_place_proc_ids});
}

static void find_processors(void) {
  const dvt_mask saved = dvt_mask_save();
  bound = omp_get_proc_bind() != omp_proc_bind_false;
  if (bound)
    add_all_places();
  else
    read_processors(); /* what the program has chosen meanwhile */
  dvt_mask_restore(&saved);
}

static bool is_bound(void) {
  pthread_once(&processors_once, find_processors);
  return bound;
}

void dvt_thread_begin(void) {
  is_own = true;
  (void)dvt_cancelling_disable();
  if (!is_bound())
    return;
  kmp_affinity_mask_t mask;
  bool all = true; /* the runtime knows them all */
  kmp_create_affinity_mask(&mask);
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET((size_t)i, &processors))
      all = i < kmp_get_affinity_max_proc() && kmp_set_affinity_mask_proc(i, &mask) == 0 && all;
  if (kmp_set_affinity(&mask) != 0 || !all)
    sched_setaffinity(0, sizeof processors, &processors);
  kmp_destroy_affinity_mask(&mask);
}

dvt_mask dvt_mask_save(void) {
  dvt_mask saved = {.known = false};
  if (!is_own)
    saved.known = sched_getaffinity(0, sizeof saved.words, (cpu_set_t *)(void *)saved.words) == 0;
  return saved;
}

void dvt_mask_restore(const dvt_mask *saved) {
  if (saved->known)
    sched_setaffinity(0, sizeof saved->words, (const cpu_set_t *)(const void *)saved->words);
}

/* ---- the number of threads ---- */

static atomic_int chosen; /* by dvt_threads_set(); 0: the default */
static int default_threads;
static bool environment_is_good = true;
static pthread_once_t default_once = PTHREAD_ONCE_INIT;

/* The number at the head of a variable, which a character of `end` may follow; 0: none, or below 1. */
static int number_in(const char *variable, const char *end) {
  const char *text = dvt_environment(variable);
  char *after = NULL;
  const long number = text ? strtol(text, &after, 10) : 0;
  return number >= 1 && number <= DVT_MAX_THREADS && (!*after || strchr(end, *after)) ? (int)number : 0;
}

static void find_default(void) {
  DVT_UNCANCELLED;
  const char *own = dvt_environment("DAVIT_THREADS");
  pthread_once(&processors_once, find_processors); /* also before OpenMP is started */
  default_threads = number_in("DAVIT_THREADS", "");
  environment_is_good = !own || !*own || default_threads > 0;
  if (default_threads == 0)
    default_threads = number_in("OMP_NUM_THREADS", ", ");
  if (default_threads > 0)
    return;
  const int count = CPU_COUNT(&processors), quota = dvt_cgroup_processors("");
  default_threads = quota > 0 && quota < count ? quota : count > 0 ? count : 1;
}

int dvt_threads(void) {
  const int set = atomic_load(&chosen);
  if (set > 0)
    return set;
  pthread_once(&default_once, find_default);
  return default_threads;
}

void dvt_threads_set(int threads) {
  atomic_store(&chosen, threads);
}

bool dvt_threads_check(void) {
  pthread_once(&default_once, find_default);
  return environment_is_good;
}

/* ---- teams ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int busy; /* threads of all teams */
static unsigned long long last,
    admitted;                      /* numbers of those who have come, and of those who had their turn */
static bool ending;                /* the process ends */
static atomic_bool openmp_is_gone; /* or will be in a moment: its own end comes after this library's */
static _Thread_local int held;     /* threads of the calling thread's outermost team */
static _Thread_local enum { UNKNOWN, MAIN, OTHER } role;

/* With the lock held: waits until it is the caller's turn and no more than `most` threads are busy. */
static void take_turn(int most) {
  const unsigned long long number = ++last;
  while (ending || admitted + 1 != number || (busy > 0 && busy > most))
    pthread_cond_wait(&changed, &lock);
  admitted = number;
}

static void enter(int threads) {
  pthread_mutex_lock(&lock);
  if (!dvt_thread_is_last())
    take_turn(dvt_threads() - threads);
  busy += threads;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void leave(int threads) {
  pthread_mutex_lock(&lock);
  busy -= threads;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

/* fork() waits for the teams that are under way: what they are in the midst of, in OpenMP and in BLIS, would
 * stay so for ever in the child. */
static void end_teams(void) {
  if (held == 0 && !ending)
    take_turn(0);
}

static void let_teams_begin(void) {
  pthread_cond_broadcast(&changed);
}

static void forget_teams(void) {
  pthread_cond_init(&changed, NULL);
  role = UNKNOWN;
  busy = held = 0;
  ending = false;
  last = admitted = 0;
}

__attribute__((constructor)) static void stop_at_fork(void) {
  static const dvt_fork_part part = {&lock, end_teams, let_teams_begin, forget_teams};
  dvt_on_fork(DVT_FORK_TEAMS, &part);
}

__attribute__((destructor)) static void leave_openmp(void) {
  atomic_store(&openmp_is_gone, true);
}

void dvt_teams_end(const struct timespec *deadline) {
  pthread_mutex_lock(&lock);
  ending = true;
  while (held == 0 && busy > 0 && pthread_cond_timedwait(&changed, &lock, deadline) == 0)
    ;
  pthread_mutex_unlock(&lock);
}

/* The blocktime before, or UNCHANGED: libomp prints a warning if its INFINITE is set for a thread. Where
 * KMP_BLOCKTIME was given in microseconds, SPIN is one of these. */
enum { UNCHANGED = -1, INFINITE = INT_MAX, SPIN = 1 };

static int limit_spinning(void) {
  const int before = kmp_get_blocktime();
  if (before <= SPIN || before == INFINITE)
    return UNCHANGED;
  kmp_set_blocktime(SPIN);
  return before;
}

dvt_team dvt_team_begin(int wanted) {
  const bool inside = !is_own && held == 0 && (atomic_load(&openmp_is_gone) || omp_in_parallel());
  const int limit = held > 0 ? held : inside ? 1 : dvt_threads(), threads = wanted < limit ? wanted : limit;
  dvt_team team = {.threads = threads > 1 ? threads : 1, .outermost = held == 0 && !inside};
  if (!team.outermost)
    return team;
  team.cancelling = dvt_cancelling_disable();
  if (!is_own && is_bound())
    team.mask = dvt_mask_save();
  enter(team.threads);
  held = team.threads;
  team.blocktime = team.threads > 1 ? limit_spinning() : UNCHANGED;
  return team;
}

void dvt_team_end(const dvt_team *team) {
  if (!team->outermost)
    return;
  if (team->blocktime != UNCHANGED)
    kmp_set_blocktime(team->blocktime);
  dvt_mask_restore(&team->mask);
  held = 0;
  leave(team->threads);
  dvt_cancelling_restore(&team->cancelling);
}

bool dvt_team_may_lead(void) {
  if (role == UNKNOWN) /* two system calls, a thirtieth of a short loop */
    role = gettid() == getpid() ? MAIN : OTHER;
  return role == MAIN && !atomic_load(&openmp_is_gone) && !omp_in_parallel();
}

bool dvt_team_is_held(void) {
  return held > 0;
}
