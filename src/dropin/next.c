/* SPDX-License-Identifier: Apache-2.0 */
/* The host's routine of a name, where that is not BLIS's: the one that would have been called without this library.
 *
 * It is the next of the name: behind this library in the order in which the dynamic linker searches, if the library is
 * preloaded or linked in front; or in what the caller was loaded with, as modules of Python and R are; or elsewhere in
 * the process; else in liblapack.so.3, which is then loaded. It is looked for by the first call that the host computes,
 * and stays loaded. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/dropin/dropin.h"

enum { NAMES_BYTES = 64 << 10 };

static bool is_beside(const void *symbol, const void *other) {
  Dl_info one, two;
  return dladdr(symbol, &one) && dladdr(other, &two) && one.dli_fbase == two.dli_fbase;
}

static bool is_own(const void *symbol) {
  return is_beside(symbol, &dvt_dropin_least);
}

/* Whether the library of the symbol is a BLAS, as this one is. */
static bool is_of_blas(const void *symbol) {
  Dl_info where;
  void *handle = dladdr(symbol, &where) ? dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  const void *gemm = handle ? dlsym(handle, "dgemm_") : NULL;
  if (handle)
    dlclose(handle);
  return gemm && is_beside(symbol, gemm);
}

/* In a library, and what it was loaded with; NULL: there is none, or it is refused. Afterwards it stays. */
static void *find_in(const char *library, int flags, const char *name, bool (*refused)(const void *symbol)) {
  void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL | flags);
  void *symbol = handle ? dlsym(handle, name) : NULL;
  if (!symbol || refused(symbol)) {
    if (handle)
      dlclose(handle);
    return NULL;
  }
  (void)dlopen(library, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  return symbol;
}

/* Names of libraries behind each other; an empty one ends them. */
typedef struct loaded {
  size_t used;
  char names[NAMES_BYTES];
} loaded;

static int note(struct dl_phdr_info *object, size_t size, void *list) {
  loaded *all = list;
  const size_t bytes = strlen(object->dlpi_name) + 1;
  (void)size;
  if (bytes > 1 && all->used + bytes < NAMES_BYTES) {
    memcpy(all->names + all->used, object->dlpi_name, bytes);
    all->used += bytes;
  }
  return 0;
}

/* In all libraries, after a list of them was made: while it is, nothing can be loaded. */
static void *find_anywhere(const char *name, bool (*refused)(const void *symbol)) {
  loaded all;
  void *symbol = NULL;
  all.used = 0;
  dl_iterate_phdr(note, &all);
  all.names[all.used] = '\0';
  for (const char *library = all.names; !symbol && *library; library += strlen(library) + 1)
    symbol = find_in(library, RTLD_NOLOAD, name, refused);
  return symbol;
}

static void *find(const char *name, const void *caller) {
  Dl_info where;
  void *symbol = dlsym(RTLD_NEXT, name);
  if (symbol && !is_own(symbol) && dladdr(symbol, &where))
    symbol = find_in(where.dli_fname, RTLD_NOLOAD, name, is_own);
  if (!symbol && dladdr(caller, &where))
    symbol = find_in(where.dli_fname, RTLD_NOLOAD, name, is_own);
  if (!symbol)
    symbol = find_anywhere(name, is_own);
  if (!symbol)
    symbol = find_in(DVT_DROPIN_LAPACK, 0, name, is_own);
  if (!symbol) {
    fprintf(stderr, DVT_DROPIN_LIBRARY ": no library of the process has %s, nor has " DVT_DROPIN_LAPACK "\n",
            name);
    abort();
  }
  return symbol;
}

void *dvt_next(void **next, const char *name, const void *caller) {
  if (!__atomic_load_n(next, __ATOMIC_ACQUIRE)) {
    dvt_starting_lock(); /* no process is forked in the midst of it */
    __atomic_store_n(next, find(name, caller), __ATOMIC_RELEASE);
    dvt_starting_unlock();
  }
  return *next;
}

void *dvt_next_xerbla(void) {
  void *symbol = dlsym(RTLD_NEXT, "xerbla_");
  if (symbol)
    return symbol;
  dvt_starting_lock();
  symbol = find_anywhere("xerbla_", is_of_blas);
  dvt_starting_unlock();
  return symbol;
}
