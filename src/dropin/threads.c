/* SPDX-License-Identifier: Apache-2.0 */
/* BLIS's threads: how many, and in children of fork(). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include "src/dropin/dropin.h"

typedef int64_t blis_int; /* BLIS's own integers have 64 bits, whatever those of its BLAS are */

static void (*set_threads)(blis_int);
static void (*set_ways)(blis_int, blis_int, blis_int, blis_int, blis_int);
static blis_int (*threads_of[5])(void); /* the number, and the ways that stand in for it */

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

void dvt_dropin_bind_threads(void *blis) {
  static const char *const names[] = {"bli_thread_get_num_threads", "bli_thread_get_jc_nt",
                                      "bli_thread_get_ic_nt", "bli_thread_get_jr_nt", "bli_thread_get_ir_nt"};
  for (int i = 0; i < 5; i++)
    threads_of[i] = (blis_int(*)(void))(uintptr_t)dlsym(blis, names[i]);
  set_threads = (void (*)(blis_int))(uintptr_t)dlsym(blis, "bli_thread_set_num_threads");
  set_ways = (void (*)(blis_int, blis_int, blis_int, blis_int, blis_int))(uintptr_t)dlsym(
      blis, "bli_thread_set_ways");
  int (*in_parallel)(void) = (int (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "omp_in_parallel");
  if (!in_parallel)
    in_parallel = (int (*)(void))(uintptr_t)dlsym(blis, "omp_in_parallel");
  if (in_parallel &&
      dvt_dropin_threads() >
          1) /* starts the runtime, so that its handlers of fork() are registered before those of the gate */
    in_parallel();
  dvt_gate_watch_runtime();
  dvt_alone_bind(blis, dvt_dropin_threads());
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
