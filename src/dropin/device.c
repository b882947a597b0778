/* SPDX-License-Identifier: Apache-2.0 */
/* The devices: which, and their start by the first call that goes there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <davit/davit.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/environment.h"
#include "src/dropin/dropin.h"
#include "src/dropin/library.h"

enum { MAX_DEVICES = 64, SENTENCE = 256 };

enum { NOT_STARTED, STARTED, ABSENT };
static int
    state; /* changed by dvt_dropin_devices(), and at the end of the process or in a child, when it is too late */
static bool loading; /* libdavit and what it needs */
static int devices[MAX_DEVICES], count, gpus;
static const char *absent = "";
static char sentence_of_start[SENTENCE];

/* ---- whether there can be any ---- */

static const char *named;      /* DAVIT_BLAS_DEVICES */
static bool likely, only_host; /* which is started for exact bits alone */

/* A look at the drivers' files, because loading libdavit takes tens of milliseconds and of mebibytes. */
static bool has_gpu(void) {
  static const char *const files[] = {"/dev/nvidiactl", "/dev/dxg", "/dev/kfd"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (access(files[i], F_OK) == 0)
      return true;
  return false;
}

static void look(void) {
  named = dvt_environment("DAVIT_BLAS_DEVICES");
  likely = named ? *named != 0 : has_gpu();
}

bool dvt_dropin_devices_likely(const char **why) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, look);
  const int now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
  *why = now == ABSENT ? absent : named ? "DAVIT_BLAS_DEVICES names none" : "no GPU";
  return (now == STARTED && !only_host) || (now == NOT_STARTED && likely);
}

bool dvt_dropin_devices_started(void) {
  return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == STARTED;
}

int dvt_dropin_devices_gpus(void) {
  return gpus;
}

/* ---- start ---- */

/* When the process ends davit's devices are taken down before the program's own handlers have run: calls that those
 * make are BLIS's, and so are those of the process's other threads. Registered before libdavit is loaded, so that it
 * comes before all handlers that the program has registered until then and after libdavit's own; and again when
 * libdavit has started. libdavit waits for another thread that starts it; one that still loads it is waited for here,
 * as what it loads is taken down next. */
static void end(void) {
  absent = "the process ends";
  __atomic_store_n(&state, ABSENT, __ATOMIC_SEQ_CST);
  for (int i = 0; i < 10000 && __atomic_load_n(&loading, __ATOMIC_SEQ_CST); i++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void dvt_dropin_devices_in_child(bool parts) {
  if (state != STARTED && !parts)
    return;
  absent = "a child of fork() has no devices";
  state = ABSENT;
  loading = false;
}

static bool is_gpu(int device) {
  davit_device_info info;
  return dvt_library.davit_device_describe(device, &info) == DAVIT_SUCCESS &&
         (info.kind == DAVIT_DEVICE_NVIDIA || info.kind == DAVIT_DEVICE_AMD);
}

/* DAVIT_BLAS_DEVICES: numbers below `known`, separated by commas. */
static const char *choose_named(const char *text, int known) {
  for (const char *next = text;;) {
    char *rest;
    const long number = strtol(next, &rest, 10);
    if (rest == next || (*rest && *rest != ','))
      return "DAVIT_BLAS_DEVICES is no list of numbers such as 0,1";
    if (number < 0 || number >= known || count == MAX_DEVICES)
      return "DAVIT_BLAS_DEVICES names a device that is not there";
    devices[count++] = (int)number;
    gpus += is_gpu((int)number);
    if (!*rest)
      return NULL;
    next = rest + 1;
  }
}

/* The GPUs among davit's defaults. */
static const char *choose_gpus(void) {
  int all[MAX_DEVICES], found;
  if (dvt_library.davit_device_defaults(MAX_DEVICES, all, &found) != DAVIT_SUCCESS)
    return dvt_library.davit_last_error();
  for (int i = 0; i < found && i < MAX_DEVICES; i++)
    if (is_gpu(all[i]))
      devices[count++] = all[i];
  gpus = count;
  return count ? NULL : "no GPU that davit can use";
}

/* NULL, or why there are none. */
static const char *start(void) {
  int known = 0;
  atexit(end);
  dvt_barrier_watch_libraries();
  __atomic_store_n(&loading, true, __ATOMIC_SEQ_CST);
  const char *wrong = dvt_library_load();
  __atomic_store_n(&loading, false, __ATOMIC_SEQ_CST);
  dvt_starting_asks(true);
  if (!wrong && dvt_library.davit_device_count(&known) != DAVIT_SUCCESS) /* starts it, with its handlers */
    wrong = dvt_library.davit_last_error();
  dvt_barrier_watch_all();
  only_host = !wrong && !likely && dvt_dropin_products() == DVT_EXACT_BITS;
  if (only_host)
    devices[count++] = DAVIT_HOST;
  else if (!wrong)
    wrong = named ? choose_named(named, known) : choose_gpus();
  atexit(end);
  dvt_starting_asks(false);
  if (!wrong)
    return NULL;
  count = 0;
  snprintf(sentence_of_start, sizeof sentence_of_start, "%s", wrong);
  return sentence_of_start;
}

/* What it finds is kept if the process does not end meanwhile. */
static void start_once(void) {
  int expected = NOT_STARTED;
  const dvt_arithmetic before = dvt_arithmetic_hold();
  const char *wrong = start();
  dvt_arithmetic_release(&before);
  if (wrong)
    absent = wrong;
  const bool kept = __atomic_compare_exchange_n(&state, &expected, wrong ? ABSENT : STARTED, false,
                                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  static bool said; /* where they were asked for, or davit is not installed in full */
  if (kept && wrong && (named || !dvt_library.davit_device_count))
    dvt_complain(&said, "no devices: %s", wrong);
}

int dvt_dropin_devices(const int **numbers, const char **why) {
  if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == NOT_STARTED) {
    dvt_starting_lock(); /* no process is forked in the midst of it */
    if (__atomic_load_n(&state, __ATOMIC_RELAXED) == NOT_STARTED)
      start_once();
    dvt_starting_unlock();
  }
  *numbers = devices;
  *why = absent;
  return dvt_dropin_devices_started() ? count : 0;
}

/* ---- calls ---- */

bool dvt_dropin_devices_are_faster(const dvt_work *work, double *host, double *device, const char **why) {
  *host = *device = 0;
  for (int i = 0; i < work->count; i++) {
    davit_level3_explanation predicted = {0};
    const davit_level3_options options = {.devices = devices,
                                          .device_count = count,
                                          .explanation = &predicted,
                                          .predict_threads = work->threads};
    if (dvt_library_call(&work->calls[i], &options) != DAVIT_SUCCESS) {
      *host = *device = 0;
      *why = dvt_library.davit_last_error();
      return false;
    }
    *host += predicted.host;
    *device += predicted.seconds;
  }
  *why = "sooner there";
  return *device < *host;
}

/* beta of the Hermitian updates is real. */
static bool beta_is_zero(const dvt_call *c) {
  const bool real = c->type == 's' || c->type == 'd' || c->routine == DVT_HERK || c->routine == DVT_HER2K;
  for (int i = 0; i < (real ? 1 : 2); i++)
    if (dvt_scalar_part(c->type, c->beta, i) != 0)
      return false;
  return true;
}

dvt_outcome dvt_dropin_devices_run(const dvt_call *call, dvt_ran *ran) {
  davit_level3_report report = {.written = true};
  const dvt_products products = dvt_products_of(call);
  const davit_level3_options options = {
      .devices = devices,
      .device_count = count,
      .report = &report,
      .arithmetic = products == DVT_NATIVE_PRODUCTS ? DAVIT_ARITHMETIC_NATIVE : DAVIT_ARITHMETIC_EXACT,
      .exact_bits = products == DVT_EXACT_BITS};
  const davit_status status = dvt_library_call(call, &options);
  ran->moduli = report.moduli;
  ran->why_native = report.why_native;
  if (status == DAVIT_SUCCESS)
    return DVT_DONE;
  ran->sentence = dvt_library.davit_last_error();
  if (!report.written)
    return DVT_UNTOUCHED;
  return call->beta && beta_is_zero(call) ? DVT_UNTOUCHED : DVT_BROKEN;
}
