/* SPDX-License-Identifier: Apache-2.0 */
/* Work of the host's threads.
 *
 * What one thread does alone makes no call of the OpenMP runtime. A parallel region, be it of one thread or under
 * if(0), a loop of `omp for`, and omp_get_num_threads() all register the calling thread with LLVM's runtime. When a
 * registered thread ends, the runtime ends its helper threads too, and the next nowait region of a program that has
 * them crashes (docs/openmp.md). So a thread that has made only short calls of davit may end. */
#ifndef DAVIT_KERNEL_THREADS_H
#define DAVIT_KERNEL_THREADS_H

#include <omp.h>
#include <stdint.h>

/* The work of thread `thread`, from 0 to team - 1. */
typedef void dvt_part(int thread, int team, const void *arguments);

/* These two are not inlined: Clang asks for the calling thread's number, which registers it, where a function begins
 * that has a region or a barrier anywhere. */
static inline __attribute__((noinline)) void dvt_on_team(int wanted, dvt_part *part, const void *arguments) {
#pragma omp parallel num_threads(wanted)
  part(omp_get_thread_num(), omp_get_num_threads(), arguments);
}

static inline __attribute__((noinline)) void dvt_meet_team(void) {
#pragma omp barrier
}

/* On `wanted` threads, or fewer if the runtime has no more. */
static inline void dvt_on_threads(int wanted, dvt_part *part, const void *arguments) {
  if (wanted == 1)
    part(0, 1, arguments);
  else
    dvt_on_team(wanted, part, arguments);
}

/* In a part: waits until all threads of the team are here. */
static inline void dvt_meet(int team) {
  if (team > 1)
    dvt_meet_team();
}

/* Where the share of a thread begins, of n things in equal shares; it ends where the next thread's begins. */
static inline int64_t dvt_share_begin(int64_t n, int thread, int team) {
  const int64_t each = n / team, rest = n % team;
  return thread * each + (thread < rest ? thread : rest);
}

#endif
