/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/runtime/backend.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/environment.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/team.h"
#include "src/base/thread.h"
#include "src/runtime/trace.h"

static dvt_backend *registered;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(const dvt_backend *) running;
static atomic_int open_lanes;

void dvt_backend_register(dvt_backend *backend) {
  backend->next = registered;
  registered = backend;
}

/* The back end of that name; NULL: the default one. */
static davit_status choose(const char *name, const dvt_backend **found) {
  if (!name)
    name = dvt_backend_openmp.name;
  dvt_backend *const own[] = {&dvt_backend_openmp, &dvt_backend_threads};
  const dvt_backend *one = registered;
  while (one && strcmp(name, one->name) != 0)
    one = one->next;
  for (size_t i = 0; !one && i < sizeof own / sizeof *own; i++)
    one = strcmp(name, own[i]->name) == 0 ? own[i] : NULL;
  if (one) {
    *found = one;
    return DAVIT_SUCCESS;
  }
  return davit_fail(DAVIT_INVALID_ARGUMENT, "DAVIT_BACKEND: no back end is called \"%s\"", name);
}

/* Where nobody has asked for a back end, and OpenMP gives the default one no second thread
 * (OMP_THREAD_LIMIT=1), there is one that needs no OpenMP. A child after fork() has that one too, and a process that
 * ends, which has no use for a generator any more. */
static davit_status start_chosen(const dvt_backend **chosen) {
  const bool own_threads = dvt_process() > 0 || dvt_thread_is_last();
  const char *name = own_threads ? dvt_backend_threads.name : dvt_environment("DAVIT_BACKEND");
  name = name && *name ? name : NULL;
  DVT_TRY(choose(name, chosen));
  davit_status status = (*chosen)->start();
  if (status != DAVIT_UNSUPPORTED || name)
    return status;
  dvt_error_clear();
  *chosen = &dvt_backend_threads;
  return (*chosen)->start();
}

static bool at_exit_is_set, has_left; /* of this process */

/* At exit the threads are stopped where nothing is left to do. Work that still runs is not waited for, because that
 * could take for ever, but does not enter the runtimes of OpenMP and of GPUs any more; what is inside them at this
 * moment is waited for, and may need a team, so teams end last. Registered after each of those runtimes has started,
 * so this comes before its own end. Handlers that the program has registered before may call davit
 * (src/base/ending.h). */
static void at_exit(void) {
  if (has_left)
    return;
  has_left = true;
  dvt_ending_begin();
  dvt_devices_settle(dvt_ending_deadline());
  const dvt_backend *backend = atomic_load(&running);
  if (backend)
    atomic_load(&open_lanes) == 0 ? backend->stop() : backend->leave();
  dvt_ending_wait();
  dvt_teams_end(dvt_ending_deadline());
  dvt_trace_leave();
}

/* The parent's threads and queues are not the child's. */
static void forget_start(void) {
  atomic_store(&running, NULL);
  atomic_store(&open_lanes, 0);
  at_exit_is_set = has_left = false;
}

__attribute__((constructor)) static void hold_at_fork(void) {
  static const dvt_fork_part part = {.lock = &start_lock, .child = forget_start};
  dvt_on_fork(DVT_FORK_START, &part);
}

/* The process may end while another thread is starting the library: that is waited for (10 seconds at most),
 * because OpenMP cannot be taken down in the midst of it, and what at_exit() does comes then. Registered when the
 * library is loaded, so this comes after at_exit(). */
static void no_more_starts(void) {
  dvt_ending_begin();
  if (!atomic_load(&running) && pthread_mutex_timedlock(&start_lock, dvt_ending_deadline()) == 0)
    pthread_mutex_unlock(&start_lock);
  dvt_devices_settle(dvt_ending_deadline());
  if (atomic_load(&running))
    at_exit();
}

__attribute__((constructor)) static void watch_exit(void) {
  (void)atexit(no_more_starts);
}

/* Threads run the library's code to the end of the process. The shared library is linked so that dlclose() does not unmap
 * it; this is for libraries that contain the static one. The program itself has no name. */
__attribute__((constructor)) static void stay_mapped(void) {
  Dl_info unused;
  struct link_map *self = NULL;
  if (dladdr1(&start_lock, &unused, (void **)&self, RTLD_DL_LINKMAP) && self && *self->l_name)
    (void)dlopen(self->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* The runtimes of GPUs have started. */
static void precede_devices(void) {
  (void)atexit(at_exit);
}

__attribute__((constructor)) static void watch_devices(void) {
  dvt_on_devices(precede_devices);
}

/* Variables that are one of few words; empty ones count as not set. */
static davit_status check_words(void) {
  static const struct {
    const char *name, *word, *other;
  } variables[] = {{"DAVIT_PEERS", "on", "off"},
                   {"DAVIT_WAIT", "sleep", "spin"},
                   {"DAVIT_BLAS", "target", NULL},
                   {"DAVIT_SIMULATE", "amd", NULL}};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = dvt_environment(variables[i].name), *other = variables[i].other;
    if (value && *value && strcmp(value, variables[i].word) != 0 && !(other && strcmp(value, other) == 0))
      return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is \"%s\", not %s%s%s", variables[i].name, value,
                        variables[i].word, other ? " or " : "", other ? other : "");
  }
  return DAVIT_SUCCESS;
}

static davit_status start(void) {
  const dvt_backend *chosen = NULL;
  if (!dvt_threads_check())
    return davit_fail(DAVIT_INVALID_ARGUMENT, "DAVIT_THREADS is \"%s\", not a number from 1 to %d",
                      dvt_environment("DAVIT_THREADS"), DVT_MAX_THREADS);
  DVT_TRY(check_words());
  dvt_fork_watch();
  DVT_TRY(dvt_trace_begin());
  DVT_TRY(start_chosen(&chosen));
  if (!at_exit_is_set)
    at_exit_is_set = atexit(at_exit) == 0;
  atomic_store(&running, chosen);
  return DAVIT_SUCCESS;
}

davit_status dvt_start(void) {
  if (dvt_backend_running())
    return DAVIT_SUCCESS;
  DVT_UNCANCELLED;
  pthread_mutex_lock(&start_lock);
  if (dvt_ending_is_late()) {
    pthread_mutex_unlock(&start_lock);
    dvt_ending_sleep();
  }
  davit_status status = atomic_load(&running) ? DAVIT_SUCCESS : start();
  pthread_mutex_unlock(&start_lock);
  return status;
}

const dvt_backend *dvt_backend_running(void) {
  return atomic_load_explicit(&running, memory_order_acquire);
}

const char *davit_backend_string(void) {
  const dvt_backend *backend = dvt_backend_running();
  return backend ? backend->name : "none";
}

static void (*at_stop)(void);

void dvt_on_stop(void (*function)(void)) {
  at_stop = function;
}

void dvt_backend_hold(void) {
  atomic_fetch_add(&open_lanes, 1);
  if (dvt_ending_is_late()) /* at_exit() may have seen no lane */
    dvt_ending_sleep();
}

void dvt_backend_drop(void) {
  atomic_fetch_sub(&open_lanes, 1);
}

davit_status davit_finalize(void) {
  DVT_UNCANCELLED;
  DVT_INSIDE;
  pthread_mutex_lock(&start_lock);
  const dvt_backend *backend = atomic_load(&running);
  davit_status status = DAVIT_SUCCESS;
  if (backend && atomic_load(&open_lanes) > 0) {
    status =
        davit_fail(DAVIT_INVALID_STATE, "%d sub-queues have not been destroyed", atomic_load(&open_lanes));
  } else if (backend) {
    backend->stop();
    atomic_store(&running, NULL);
    dvt_records_trim();
    if (at_stop)
      at_stop();
  }
  if (status == DAVIT_SUCCESS)
    status = dvt_trace_finish();
  pthread_mutex_unlock(&start_lock);
  return status;
}
