/* SPDX-License-Identifier: Apache-2.0 */
/* BLIS's threads: how many, and in children of fork().
 *
 * BLIS's threads wait for each other by spinning, dozens of times in a product. Two that share a core slow each
 * other down, and where one has no processor all wait for it, for milliseconds (docs/notes/dropin.md). So where
 * devices may be used BLIS, which by itself computes on one thread, gets one for each core that the process may use,
 * unless the program or its user has said how many. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <unistd.h>

#include "src/base/cores.h"
#include "src/dropin/dropin.h"

typedef int64_t blis_int; /* BLIS's own integers have 64 bits, whatever those of its BLAS are */

static void (*set_threads)(blis_int);
static void (*set_ways)(blis_int, blis_int, blis_int, blis_int, blis_int);
static blis_int (*threads_of[5])(void); /* the number, and the ways that stand in for it */

static int given; /* threads that BLIS has got here; 0: none */
static int (*is_dynamic)(void);

int dvt_dropin_threads(void) {
  const blis_int all = threads_of[0] ? threads_of[0]() : 1;
  if (all > 0)
    return (int)all;
  blis_int ways = 1;
  for (int i = 1; i < 5; i++) {
    const blis_int way = threads_of[i] ? threads_of[i]() : 1;
    ways *= way > 0 ? way : 1;
  }
  return (int)ways;
}

bool dvt_dropin_threads_are_given(void) {
  return given > 0 && threads_of[0]() == given;
}

bool dvt_dropin_team_may_be_short(void) {
  return is_dynamic && is_dynamic();
}

/* A function of the runtime on which BLIS computes: the program's, if it has one. */
static int (*of_openmp(void *blis, const char *name))(void) {
  void *function = dlsym(RTLD_DEFAULT, name);
  return (int (*)(void))(uintptr_t)(function ? function : dlsym(blis, name));
}

static int ask_openmp(void *blis, const char *name, int otherwise) {
  int (*const function)(void) = of_openmp(blis, name);
  return function ? function() : otherwise;
}

/* BLIS ends the process where it gets fewer threads than it asks for, so it asks for one where that may be. */
static void give_threads(void *blis, const cpu_set_t *processors) {
  bool is_set = false;
  for (int i = 0; i < 5; i++)
    is_set |= threads_of[i] && threads_of[i]() > 0;
  if (is_set || !set_threads || !threads_of[0] || ask_openmp(blis, "omp_get_dynamic", 0) ||
      ask_openmp(blis, "omp_get_thread_limit", INT_MAX) < INT_MAX)
    return;
  const int cores = dvt_cores("", processors);
  is_dynamic = of_openmp(blis, "omp_get_dynamic");
  if (cores > 1)
    set_threads(given = cores);
}

void *dvt_dropin_load_blis(void) {
  static const char *const names[] = {"bli_thread_get_num_threads", "bli_thread_get_jc_nt",
                                      "bli_thread_get_ic_nt", "bli_thread_get_jr_nt", "bli_thread_get_ir_nt"};
  /* Of the main thread, before a runtime that BLIS brings along binds it to one. The kernel wants room for all
   * processors that it might have; the first 1024 count. */
  cpu_set_t processors[16];
  const bool known = sched_getaffinity(getpid(), sizeof processors, processors) == 0;
  void *blis = dlopen(DVT_DROPIN_BLIS, RTLD_NOW | RTLD_LOCAL);
  if (!blis)
    return NULL;
  for (int i = 0; i < 5; i++)
    threads_of[i] = (blis_int(*)(void))(uintptr_t)dlsym(blis, names[i]);
  set_threads = (void (*)(blis_int))(uintptr_t)dlsym(blis, "bli_thread_set_num_threads");
  set_ways = (void (*)(blis_int, blis_int, blis_int, blis_int, blis_int))(uintptr_t)dlsym(
      blis, "bli_thread_set_ways");
  const char *why;
  if (known && dvt_dropin_devices_likely(&why))
    give_threads(blis, processors);
  if (dvt_dropin_threads() >
      1) /* starts the runtime: its handlers of fork() come before those of the barrier */
    (void)ask_openmp(blis, "omp_in_parallel", 0);
  dvt_barrier_watch_runtime();
  dvt_alone_bind(blis, dvt_dropin_threads());
  return blis;
}

/* ---- fork ---- */

/* GCC's OpenMP, on whose threads Debian's BLIS computes, waits in the child for threads that only the parent has. With
 * one thread BLIS does not ask for them. It is not asked for more later, and of what the parent has seen of a team
 * nothing is known in the child. */
static bool several;

void dvt_dropin_threads_before_fork(void) {
  several = dvt_dropin_threads() > 1;
}

void dvt_dropin_threads_in_child(bool whole) {
  if (several && whole && set_threads)
    set_threads(1);
  if (several && whole && set_ways) /* BLIS_JC_NT and its kin count more than the number */
    set_ways(1, 1, 1, 1, 1);
}
