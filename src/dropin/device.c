/* SPDX-License-Identifier: Apache-2.0 */
/* The devices: which, and their start by the first call that goes there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <davit/davit.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/environment.h"
#include "src/dropin/dropin.h"
#include "src/dropin/library.h"

enum { MAX_DEVICES = 64, SENTENCE = 256 };

enum { NOT_STARTED, STARTED, ABSENT };
static int state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while they start */
static int devices[MAX_DEVICES], count, gpus;
static dvt_rates rates;
static const char *absent = "";
static char sentence_of_start[SENTENCE];

/* ---- whether there can be any ---- */

static const char *named; /* DAVIT_BLAS_DEVICES */
static bool likely;

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
  return now == STARTED || (now == NOT_STARTED && likely);
}

bool dvt_dropin_devices_started(void) {
  return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == STARTED;
}

int dvt_dropin_devices_gpus(void) {
  return gpus;
}

const dvt_rates *dvt_dropin_devices_rates(void) {
  return &rates;
}

/* ---- start ---- */

/* When the process ends davit's devices are taken down before the program's own handlers have run: calls
 * that those make are BLIS's. The handler is registered after davit's, so it runs before them. */
static void end(void) {
  pthread_mutex_lock(&lock);
  if (state == STARTED) {
    absent = "the process ends";
    __atomic_store_n(&state, ABSENT, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&lock);
}

static void before_fork(void) {
  pthread_mutex_lock(&lock);
}

static void after_fork(void) {
  pthread_mutex_unlock(&lock);
}

/* The devices stay the parent's. A child of a process that has not started them may start its own. */
static void in_child(void) {
  pthread_mutex_init(&lock, NULL);
  if (state == STARTED) {
    absent = "a child of fork() has no devices";
    state = ABSENT;
  }
}

static bool is_gpu(int device) {
  davit_device_info info;
  return dvt_library.davit_device_describe(device, &info) == DAVIT_SUCCESS &&
         (info.kind == DAVIT_DEVICE_NVIDIA || info.kind == DAVIT_DEVICE_AMD);
}

/* DAVIT_BLAS_DEVICES: numbers, separated by commas. */
static const char *choose_named(const char *text) {
  int known;
  if (dvt_library.davit_device_count(&known) != DAVIT_SUCCESS)
    return dvt_library.davit_last_error();
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

/* 0: there is no such figure. */
static double figure(int device, const char *name) {
  enum { MOST = 32 };
  davit_level3_figure all[MOST];
  int found = 0;
  if (dvt_library.davit_level3_figures(device, MOST, all, &found) == DAVIT_SUCCESS)
    for (int i = 0; i < found && i < MOST; i++)
      if (strcmp(all[i].name, name) == 0)
        return all[i].value;
  return 0;
}

/* Pageable memory passes through buffers that davit's threads fill: no faster than they copy, than the links, and than
 * the host's memory. */
static void read_rates(void) {
  double links = 0;
  rates = (dvt_rates){.thread = figure(DAVIT_HOST, "thread rate")};
  for (int i = 0; i < count; i++)
    if (is_gpu(devices[i])) {
      rates.gpus += figure(devices[i], "rate");
      links += figure(devices[i], "up");
    }
  rates.link = fmin(fmin(links, figure(DAVIT_HOST, "all up")), figure(DAVIT_HOST, "all threads copy"));
}

static void start(void) {
  const char *wrong = dvt_library_load();
  if (!wrong)
    wrong = named ? choose_named(named) : choose_gpus();
  if (wrong) {
    static bool said;
    count = 0;
    snprintf(sentence_of_start, sizeof sentence_of_start, "%s", wrong);
    absent = sentence_of_start;
    if (named || !dvt_library.davit_device_count) /* it was asked for, or davit is not installed in full */
      dvt_complain(&said, "no devices: %s", absent);
  } else {
    read_rates();
    atexit(end);
    pthread_atfork(before_fork, after_fork, in_child);
  }
  __atomic_store_n(&state, wrong ? ABSENT : STARTED, __ATOMIC_RELEASE);
}

int dvt_dropin_devices(const int **numbers, const char **why) {
  pthread_mutex_lock(&lock);
  if (state == NOT_STARTED)
    start();
  pthread_mutex_unlock(&lock);
  *numbers = devices;
  *why = absent;
  return dvt_dropin_devices_started() ? count : 0;
}

/* ---- calls ---- */

/* beta of the Hermitian updates is real. */
static bool beta_is_zero(const dvt_call *c) {
  const bool real = c->type == 's' || c->type == 'd' || c->routine == DVT_HERK || c->routine == DVT_HER2K;
  for (int i = 0; i < (real ? 1 : 2); i++)
    if (dvt_scalar_part(c->type, c->beta, i) != 0)
      return false;
  return true;
}

dvt_outcome dvt_dropin_devices_run(const dvt_call *call, const char **sentence) {
  const davit_level3_options options = {.devices = devices, .device_count = count};
  const davit_status status = dvt_library_call(call, &options);
  if (status == DAVIT_SUCCESS)
    return DVT_DONE;
  *sentence = dvt_library.davit_last_error();
  /* Arguments are checked and memory of devices is taken before anything is written. */
  if (status == DAVIT_INVALID_ARGUMENT || status == DAVIT_OUT_OF_DEVICE_MEMORY || status == DAVIT_UNSUPPORTED)
    return DVT_UNTOUCHED;
  return call->beta && beta_is_zero(call) ? DVT_UNTOUCHED : DVT_BROKEN;
}
