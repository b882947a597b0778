/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/base/fork.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const dvt_fork_part *parts[DVT_FORK_PARTS]; /* NULL: its source is not in the program */
static int process;
static bool watching;             /* the library has started: prepare() and what follows are registered */
static atomic_bool driven;        /* at the last fork() a driver of GPUs was loaded */
static _Thread_local bool forked; /* by a fork() since the library was loaded */
static bool came_by_fork;         /* the process, before that */

void dvt_on_fork(dvt_fork_order order, const dvt_fork_part *part) {
  parts[order] = part;
}

static void prepare(void) {
  for (int i = 0; i < DVT_FORK_PARTS; i++) {
    if (parts[i] && parts[i]->lock)
      pthread_mutex_lock(parts[i]->lock);
    if (parts[i] && parts[i]->prepare)
      parts[i]->prepare();
  }
}

static void parent(void) {
  for (int i = DVT_FORK_PARTS; i-- > 0;) {
    if (parts[i] && parts[i]->parent)
      parts[i]->parent();
    if (parts[i] && parts[i]->lock)
      pthread_mutex_unlock(parts[i]->lock);
  }
}

static void child(void) {
  process++;
  for (int i = 0; i < DVT_FORK_PARTS; i++) {
    if (parts[i] && parts[i]->lock)
      pthread_mutex_init(parts[i]->lock, NULL);
    if (parts[i] && parts[i]->child)
      parts[i]->child();
  }
}

static void watch(void) {
  watching = true;
  pthread_atfork(prepare, parent, child);
}

/* ---- where there are GPUs ---- */

/* Drivers of GPUs are of no use to a child: their calls fail, which the OpenMP runtime answers by ending the
 * process, and what they do at exit crashes. The OpenMP runtime may have opened one when the program was
 * loaded, so these handlers are registered then. They come after OpenMP's before fork(), when no library is
 * being loaded on account of this thread, and before OpenMP's in the child. */
static bool is_loaded(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (handle)
    dlclose(handle);
  return handle != NULL;
}

static int take_loads(struct dl_phdr_info *object, size_t bytes, void *loads) {
  (void)bytes;
  *(unsigned long long *)loads = object->dlpi_adds;
  return 1;
}

/* To ask for a library takes 20 us, as the loader searches its folders; to ask how many it has loaded 0.1. */
bool dvt_driver_is_loaded(void) {
  static _Atomic(unsigned long long) known;
  static atomic_bool found;
  unsigned long long loads = 0;
  dl_iterate_phdr(take_loads, &loads);
  if (loads != atomic_load(&known)) {
    atomic_store(&found, is_loaded("libcuda.so.1") || is_loaded("libhsa-runtime64.so.1"));
    atomic_store(&known, loads);
  }
  return atomic_load(&found);
}

static void look_for_drivers(void) {
  driven = dvt_driver_is_loaded();
}

/* A process that has begun by fork(), without execve(), may load the library later. Linux says so of its main thread,
 * in the ninth word of this file; the second one is in parentheses and may have blanks. */
static bool process_came_by_fork(void) {
  enum { FORKED = 0x40 };
  char text[512] = "";
  unsigned flags = 0;
  FILE *file = fopen("/proc/self/stat", "re");
  if (file && !fgets(text, sizeof text, file))
    text[0] = '\0';
  if (file)
    fclose(file);
  const char *behind = strrchr(text, ')');
  return behind && sscanf(behind, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & FORKED) != 0;
}

/* Registered in the child, so it comes before all that the parent has registered: the handlers of the driver and of
 * OpenMP, and with them whatever else the parent has registered, are left out. */
static void leave(int status, void *unused) {
  (void)unused;
  fflush(NULL);
  _exit(status);
}

static void separate(void) {
  forked = true;
  if (driven)
    on_exit(leave, NULL);
  if (driven && !watching)
    child();
}

__attribute__((constructor)) static void watch_from_the_start(void) {
  came_by_fork = process_came_by_fork();
  pthread_atfork(look_for_drivers, NULL, separate);
}

bool dvt_thread_is_forked(void) {
  return forked || (came_by_fork && gettid() == getpid());
}

void dvt_fork_watch(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
}

int dvt_process(void) {
  return process;
}

davit_status dvt_check_process(const char *name, int maker) {
  return maker == process ? DAVIT_SUCCESS
                          : davit_fail(DAVIT_INVALID_ARGUMENT,
                                       "%s was made before fork() by another process than this one", name);
}

/* ---- LLVM's OpenMP ---- */

/* It says by a file in shared memory, named for the process, that it is loaded. A process that is killed while it makes
 * the file leaves an empty one, and a later process with the same number reads beyond its end: it gets SIGBUS when
 * OpenMP starts, or when it is forked. A file that is not empty is LLVM's to judge. */
static void remove_empty_file(void) {
  char path[64];
  struct stat status;
  snprintf(path, sizeof path, "/dev/shm/__KMP_REGISTERED_LIB_%d_%d", (int)getpid(), (int)getuid());
  if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0)
    unlink(path);
}

/* Before OpenMP starts, so that its handler in a child comes after this one. */
__attribute__((constructor(101))) static void guard_openmp(void) {
  remove_empty_file();
  pthread_atfork(NULL, NULL, remove_empty_file);
}
