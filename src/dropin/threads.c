/* SPDX-License-Identifier: Apache-2.0 */
/* BLIS's threads: how many, in children of fork(), and fewer of them where a team of all is held up. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/dropin/dropin.h"

typedef int64_t blis_int; /* BLIS's own integers have 64 bits, whatever those of its BLAS are */

typedef void product(const char *transa, const char *transb, const dvt_int *m, const dvt_int *n,
                     const dvt_int *k, const double *alpha, const double *a, const dvt_int *lda,
                     const double *b, const dvt_int *ldb, const double *beta, double *c, const dvt_int *ldc);

static product *multiply;
static void (*set_threads)(blis_int);
static void (*set_ways)(blis_int, blis_int, blis_int, blis_int, blis_int);
static blis_int (*threads_of[5])(void); /* the number, and the ways that stand in for it */

static int threads_now(void) {
  const blis_int all = threads_of[0] ? threads_of[0]() : 1;
  if (all > 0)
    return (int)all;
  blis_int product = 1;
  for (int i = 1; i < 5; i++) {
    const blis_int way = threads_of[i] ? threads_of[i]() : 1;
    product *= way > 0 ? way : 1;
  }
  return (int)product;
}

int dvt_dropin_threads(void) {
  dvt_dropin_bind();
  return threads_now();
}

/* ---- fork ---- */

/* GCC's OpenMP, on whose threads Debian's BLIS computes, waits in the child for threads that only the parent
 * has. With one thread BLIS does not ask for them. A child whose parent has one already is left alone: to set
 * the number BLIS takes a lock, which another thread of the parent may have held. */
static bool several;

static void before_fork(void) {
  several = threads_now() > 1;
}

static void in_child(void) {
  if (several && set_threads)
    set_threads(1);
  if (several && set_ways) /* BLIS_JC_NT and its kin count more than the number */
    set_ways(1, 1, 1, 1, 1);
}

void dvt_dropin_bind_threads(void *blis) {
  static const char *const names[] = {"bli_thread_get_num_threads", "bli_thread_get_jc_nt",
                                      "bli_thread_get_ic_nt", "bli_thread_get_jr_nt", "bli_thread_get_ir_nt"};
  for (int i = 0; i < 5; i++)
    threads_of[i] = (blis_int(*)(void))(uintptr_t)dlsym(blis, names[i]);
  set_threads = (void (*)(blis_int))(uintptr_t)dlsym(blis, "bli_thread_set_num_threads");
  set_ways = (void (*)(blis_int, blis_int, blis_int, blis_int, blis_int))(uintptr_t)dlsym(
      blis, "bli_thread_set_ways");
  multiply = (product *)(uintptr_t)dlsym(blis, "dgemm_");
  pthread_atfork(before_fork, NULL, in_child);
  dvt_alone_bind(blis, threads_now());
}

/* ---- a team that is held up ---- */

/* BLIS's threads wait for each other by spinning, dozens of times in a product. Where one of them has no CPU,
 * because something else runs there or because a virtual machine has fewer than it shows, all wait for milliseconds
 * each time: a product of order 500 took 43 ms on the 64 CPUs of such a machine, and 0.7 on 32 of them
 * (docs/dropin.md). Where calls take far longer than expected, a product is timed on all threads, on half of them and
 * so on. */

enum { ORDER = 320, IN_TURN = 2, TRIES = 4 };
static const double alone_ms = 4;   /* more than a product of that order takes on one thread */
static const double enough_ms = 30; /* spent on one number of threads */

/* Milliseconds that it takes on n threads, the least of some. */
static double product_ms(int n, double *memory) {
  const dvt_int order = ORDER;
  const double one = 1, zero = 0;
  double least = INFINITY, spent = 0;
  set_threads(n);
  for (int i = 0; i < 4 && spent < enough_ms; i++) { /* the first also makes the threads */
    const int64_t begin = dvt_now_ns();
    multiply("N", "N", &order, &order, &order, &one, memory, &order, memory, &order, &zero,
             memory + ORDER * ORDER, &order);
    const double ms = 1e-6 * (double)(dvt_now_ns() - begin);
    spent += ms;
    least = fmin(least, ms);
  }
  return least;
}

static void fit(int all, double *memory) {
  const double all_ms = product_ms(all, memory);
  double least = all_ms;
  int best = all;
  for (int n = all / 2; n >= 1 && least > alone_ms; n /= 2) {
    const double ms = product_ms(n, memory);
    if (ms < least / 2) {
      least = ms;
      best = n;
    }
  }
  set_threads(best);
  if (best < all)
    dvt_log("BLIS computes on %d of its %d threads: a product of order %d takes %.3g ms, and %.3g on all",
            best, all, ORDER, least, all_ms);
}

void dvt_dropin_watch(double seconds, double expected) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static int late, tries; /* in turn, and of the process */
  const bool is_late = seconds > 2e-3 + 8 * expected;
  if (!is_late) {
    if (__atomic_load_n(&late, __ATOMIC_RELAXED))
      __atomic_store_n(&late, 0, __ATOMIC_RELAXED);
    return;
  }
  if (__atomic_add_fetch(&late, 1, __ATOMIC_RELAXED) < IN_TURN || pthread_mutex_trylock(&lock) != 0)
    return;
  const int all = threads_of[0] && set_threads ? (int)threads_of[0]() : 1; /* ways were set on purpose */
  double *memory = all > 1 && multiply && tries < TRIES ? calloc(2 * ORDER * ORDER, sizeof *memory) : NULL;
  if (memory) {
    tries++;
    fit(all, memory);
    free(memory);
  }
  __atomic_store_n(&late, 0, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&lock);
}
