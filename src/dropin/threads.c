/* SPDX-License-Identifier: Apache-2.0 */
/* BLIS's threads: how many, in children of fork(), and fewer of them where a team of all is held up. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>

#include "src/base/clock.h"
#include "src/dropin/dropin.h"

typedef int64_t blis_int; /* BLIS's own integers have 64 bits, whatever those of its BLAS are */

static void (*set_threads)(blis_int);
static void (*set_ways)(blis_int, blis_int, blis_int, blis_int, blis_int);
static blis_int (*threads_of[5])(void); /* the number, and the ways that stand in for it */
static int (*in_parallel)(void);        /* of BLIS's OpenMP: the program's, if it has one */

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
  in_parallel = (int (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "omp_in_parallel");
  if (!in_parallel)
    in_parallel = (int (*)(void))(uintptr_t)dlsym(blis, "omp_in_parallel");
  if (in_parallel &&
      dvt_dropin_threads() >
          1) /* starts the runtime, so that its handlers of fork() are registered before those of the gate */
    in_parallel();
  dvt_gate_watch_runtime();
  dvt_alone_bind(blis, dvt_dropin_threads());
}

/* ---- a team that is held up ---- */

/* BLIS's threads wait for each other by spinning, dozens of times in a product. Where one of them has no CPU,
 * because something else runs there or because a virtual machine has fewer than it shows, all wait for milliseconds
 * each time: a product of order 500 took 43 ms on the 64 CPUs of such a machine, and 0.7 on 32 of them
 * (docs/notes/dropin.md). Where calls take far longer than expected, a product is timed on one thread, on two and so on,
 * until more threads take longer. What holds them up may pass, so the number that BLIS had is tried again later. */

enum { ORDER = 320, IN_TURN = 2 };
static const double late_s = 2e-3, late_factor = 8; /* a call is late beyond both together */
static const double enough_ms = 30;                 /* for one number of threads, and a product */
#define SECOND_NS INT64_C(1000000000)
static const int64_t fewer_ns = 60 * SECOND_NS,
                     in_vain_ns = SECOND_NS; /* until the next time, and then twice as long */
static const int64_t longest_ns = 1000 * SECOND_NS;

/* All but `given` under the lock. */
static pthread_mutex_t fitting = PTHREAD_MUTEX_INITIALIZER;
static int first, given; /* threads that BLIS had, and has in their place; 0: none in their place */
static int late;         /* calls in turn that were; no lock */
static int64_t wait_ns, again_at_ns;

/* Milliseconds of a product on n threads, the least of some; 0: BLIS cannot be told. */
static double product_ms(int n) {
  static double memory[2 * ORDER * ORDER]; /* zeros: no page of it is had until then */
  double least = INFINITY, spent = 0;
  for (int i = 0; i < 4 && spent < enough_ms; i++) { /* the first also makes the threads */
    const int64_t begin = dvt_now_ns();
    if (!dvt_alone_product(n, ORDER, memory))
      return 0;
    const double ms = 1e-6 * (double)(dvt_now_ns() - begin);
    spent += ms;
    least = fmin(least, ms);
  }
  return least;
}

/* The largest number up to `all` that does not take twice as long as a smaller one: large products gain more by threads
 * than this one. *ms: of the product on it, and on the next number. */
static int fitting_threads(int all, double ms[2]) {
  double least = INFINITY;
  int found = all;
  for (int n = 1; n <= all; n = 2 * n < all || n == all ? 2 * n : all) {
    const double next = ms[1] = product_ms(n);
    if (next == 0 || next > 2 * least)
      break;
    least = fmin(least, next);
    ms[0] = next;
    found = n;
  }
  return found;
}

static void fit(int all) {
  double ms[2];
  const bool entered = dvt_gate_enter();
  const int best = fitting_threads(all, ms);
  const bool fewer = best < all, were_fewer = given > 0;
  if (best != dvt_dropin_threads())
    set_threads(best);
  dvt_gate_leave(entered);
  first = all;
  __atomic_store_n(&given, fewer ? best : 0, __ATOMIC_RELAXED);
  wait_ns = fewer != were_fewer || wait_ns == 0 ? (fewer ? fewer_ns : in_vain_ns) : 2 * wait_ns;
  wait_ns = wait_ns < longest_ns ? wait_ns : longest_ns;
  again_at_ns = dvt_now_ns() + wait_ns;
  if (fewer)
    dvt_log("BLIS computes on %d of its %d threads: a product of order %d takes %.3g ms, and %.3g on more",
            best, all, ORDER, ms[0], ms[1]);
  else if (were_fewer)
    dvt_log("BLIS computes on all of its %d threads again", all);
}

/* ---- the watch ---- */

/* Calls that run at once take each other's CPUs, and davit's threads those of BLIS. */
static int in_flight;
static unsigned begun;

unsigned dvt_dropin_begin(void) {
  const bool others = __atomic_fetch_add(&in_flight, 1, __ATOMIC_RELAXED) > 0;
  const unsigned mark = __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
  return others ? 0 : mark;
}

bool dvt_dropin_end(unsigned mark) {
  __atomic_fetch_sub(&in_flight, 1, __ATOMIC_RELAXED);
  return mark != 0 && mark == __atomic_load_n(&begun, __ATOMIC_RELAXED);
}

void dvt_dropin_watch(double seconds, double expected) {
  const bool is_late = seconds > late_s + late_factor * expected;
  if (!is_late && __atomic_load_n(&late, __ATOMIC_RELAXED))
    __atomic_store_n(&late, 0, __ATOMIC_RELAXED);
  if (!__atomic_load_n(&given, __ATOMIC_RELAXED) &&
      (!is_late || __atomic_add_fetch(&late, 1, __ATOMIC_RELAXED) < IN_TURN))
    return;
  /* In a parallel region BLIS gets one thread. Ways were set on purpose. */
  if (!set_threads || !threads_of[0] || (in_parallel && in_parallel()) ||
      pthread_mutex_trylock(&fitting) != 0)
    return;
  const int now = (int)threads_of[0]();
  if (given && now != given) /* the program has set another */
    __atomic_store_n(&given, 0, __ATOMIC_RELAXED);
  if (now > 0 && (given || now > 1) && dvt_now_ns() >= again_at_ns)
    fit(given ? first : now);
  __atomic_store_n(&late, 0, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&fitting);
}

void dvt_dropin_unwatch(void) {
  if (!__atomic_load_n(&given, __ATOMIC_RELAXED) || pthread_mutex_trylock(&fitting) != 0)
    return;
  if (given && threads_of[0]() == given) {
    const bool entered = dvt_gate_enter();
    set_threads(first);
    dvt_gate_leave(entered);
  }
  __atomic_store_n(&given, 0, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&fitting);
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
  pthread_mutex_init(&fitting, NULL);
  given = late = in_flight = 0;
}
