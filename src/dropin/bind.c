/* SPDX-License-Identifier: Apache-2.0 */
/* Binds the names to BLIS, at the first call of any of them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/dropin/dropin.h"

typedef int64_t blis_int; /* BLIS's own integers have 64 bits, whatever those of its BLAS are */

static struct {
  const char *text;
  bool logged; /* here; names of ROUTED are by route.c */
  void *blis;
} names[DVT_NAMES] = {
#define ROUTED(name) {#name, false, NULL},
#define FORWARD(name) {#name, true, NULL},
#define HELPER(name) {#name, false, NULL},
#include "src/dropin/names.inc"
#undef ROUTED
#undef FORWARD
#undef HELPER
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool bound;
static bool comes_back; /* BLIS's CBLAS calls Fortran names that lead here */
static void (*set_threads)(blis_int);
static void (*set_ways)(blis_int, blis_int, blis_int, blis_int, blis_int);
static blis_int (*threads_of[5])(void);

static void missing(void) {
  fputs(DVT_DROPIN_LIBRARY ": this BLIS does not have the routine that the program calls\n", stderr);
  abort();
}

static void *find(void *blis, const char *name) {
  void *symbol = dlsym(blis, name);
  return symbol ? symbol : (void *)(uintptr_t)missing;
}

/* GCC's OpenMP, on whose threads Debian's BLIS computes, waits in the child for threads that only the parent
 * has. With one thread BLIS does not ask for them. A child whose parent has one already is left alone: to set
 * the number BLIS takes a lock, which another thread of the parent may have held. */
static bool several;

static void before_fork(void) {
  several = dvt_dropin_threads() > 1;
}

static void in_child(void) {
  if (several && set_threads)
    set_threads(1);
  if (several && set_ways) /* BLIS_JC_NT and its kin count more than the number */
    set_ways(1, 1, 1, 1, 1);
}

static void bind_names(void) {
  void *blis = dlopen(DVT_DROPIN_BLIS, RTLD_NOW | RTLD_LOCAL);
  if (!blis) {
    fprintf(stderr, DVT_DROPIN_LIBRARY ": cannot load BLIS: %s\n", dlerror());
    abort();
  }
  static const char *const ways[] = {"bli_thread_get_num_threads", "bli_thread_get_jc_nt",
                                     "bli_thread_get_ic_nt", "bli_thread_get_jr_nt", "bli_thread_get_ir_nt"};
  for (int i = 0; i < 5; i++)
    threads_of[i] = (blis_int(*)(void))(uintptr_t)dlsym(blis, ways[i]);
  set_threads = (void (*)(blis_int))(uintptr_t)dlsym(blis, "bli_thread_set_num_threads");
  set_ways = (void (*)(blis_int, blis_int, blis_int, blis_int, blis_int))(uintptr_t)dlsym(
      blis, "bli_thread_set_ways");
  dvt_log_open();
  for (int i = 0; i < DVT_NAMES; i++) {
    names[i].blis = find(blis, names[i].text);
    if (!names[i].logged || !dvt_log_on())
      __atomic_store_n(&dvt_dropin_slots[i], names[i].blis, __ATOMIC_RELAXED);
  }
  Dl_info found, self;
  void *daxpy = dlsym(RTLD_DEFAULT, "daxpy_");
  comes_back = daxpy && dladdr(daxpy, &found) && dladdr(&once, &self) && found.dli_fbase == self.dli_fbase;
  pthread_atfork(before_fork, NULL, in_child);
  __atomic_store_n(&bound, true, __ATOMIC_RELEASE);
}

void dvt_dropin_bind(void) {
  pthread_once(&once, bind_names);
}

/* For entry.c: where the slot's name leads. A CBLAS routine is logged when BLIS calls the Fortran one. */
void *dvt_dropin_slow(void **slot);
void *dvt_dropin_slow(void **slot) {
  dvt_dropin_bind();
  const ptrdiff_t i = slot - dvt_dropin_slots;
  if (names[i].logged && dvt_log_on() && !(comes_back && names[i].text[0] == 'c' && names[i].text[1] == 'b'))
    dvt_log("%s: host, no form for devices", names[i].text);
  return names[i].blis;
}

int dvt_dropin_threads(void) {
  dvt_dropin_bind();
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
