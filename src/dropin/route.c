/* SPDX-License-Identifier: Apache-2.0 */
/* Where a call of level 3 is computed.
 *
 * A call goes to the devices if it is predicted to be done there sooner than by BLIS. The prediction knows
 * the routine, the sizes and davit's figures of the machine: arithmetic at the cards' rate, or the bytes over
 * the link, whichever takes longer, against arithmetic on BLIS's threads. Until devices are started it takes
 * the figures of one H200. They are started when the calls so far would have saved the time that the start
 * takes: no program gets slower by more than that, and a program that makes only small calls never starts
 * them. DAVIT_BLAS_FROM=N sends every call of at least N³ there instead. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/base/environment.h"
#include "src/dropin/dropin.h"

/* docs/notes/dropin.md says where these were measured. */
static const dvt_rates usual = {
    .thread = 16e9, .gpus = 53.5e12, .link = 50e9}; /* until devices are started */
static const double call_seconds = 1e-3;            /* of a product of no size */
static const double start_seconds = 0.5;            /* until the devices compute the first product */

double dvt_dropin_least = -INFINITY;
static double from;      /* DAVIT_BLAS_FROM cubed; 0: not set */
static int64_t saved_ns; /* what devices would have saved so far */

static size_t element_bytes(char type) {
  return (dvt_single(type) ? sizeof(float) : sizeof(double)) * (dvt_complex(type) ? 2 : 1);
}

/* ---- the prediction ---- */

/* Elements that travel: every input once, the output there and back. */
static double elements(const dvt_call *call) {
  const double m = (double)call->m, n = (double)call->n, k = (double)call->k;
  switch (call->routine) {
  case DVT_GEMM:
    return m * k + k * n + 2 * m * n;
  case DVT_SYMM:
  case DVT_HEMM:
    return k * k + 3 * m * n;
  case DVT_SYRK:
  case DVT_HERK:
    return n * k + n * n;
  case DVT_SYR2K:
  case DVT_HER2K:
    return 2 * n * k + n * n;
  default:
    return k * k / 2 + 2 * m * n;
  }
}

static const dvt_rates *rates_now(void) {
  const bool started = dvt_dropin_devices_started() && dvt_dropin_devices_gpus() > 0;
  return started ? dvt_dropin_devices_rates() : &usual;
}

/* BLIS is twice as fast in single precision; cards are taken to be as fast in both. */
static double host_seconds(const dvt_call *call) {
  return dvt_flops(call) / (rates_now()->thread * (dvt_single(call->type) ? 2 : 1) * dvt_dropin_threads());
}

static double device_seconds(const dvt_call *call) {
  const dvt_rates *rates = rates_now();
  const double arithmetic = dvt_flops(call) / rates->gpus;
  const double link = elements(call) * (double)element_bytes(call->type) / rates->link;
  return call_seconds + (arithmetic > link ? arithmetic : link);
}

/* ---- the decision ---- */

static void set_least(double least) {
  if (dvt_log_on())
    least = -INFINITY;
  double is;
  __atomic_load(&dvt_dropin_least, &is, __ATOMIC_RELAXED);
  if (is != least) /* or each call would take the line from the threads that read it */
    __atomic_store(&dvt_dropin_least, &least, __ATOMIC_RELAXED);
}

/* Without devices BLIS is left as it is. */
static void leave_to_blis(void) {
  set_least(INFINITY);
  dvt_dropin_unwatch();
}

/* The cube may overflow: that is no call's business. */
static void read_from(void) {
  static bool said;
  const char *text = dvt_environment("DAVIT_BLAS_FROM");
  if (!text || !*text)
    return;
  char *end;
  const dvt_arithmetic before = dvt_arithmetic_hold();
  const double n = strtod(text, &end);
  const bool good = *end == 0 && n >= 1;
  from = good ? n * n * n : 0;
  dvt_arithmetic_release(&before);
  if (!good)
    dvt_complain(&said, "DAVIT_BLAS_FROM=%s is no size; it is ignored", text);
}

/* Sets below which size no call can go to devices. False: none can. */
static bool prepare(const char **why) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_from);
  if (!dvt_dropin_devices_likely(why)) {
    leave_to_blis();
    return false;
  }
  /* What takes one thread that long, whatever the number of threads: shorter calls are not worth watching either. zgemm
   * has the most arithmetic for its m n k. */
  set_least(from > 0 ? from : call_seconds * rates_now()->thread / 8);
  return true;
}

typedef struct decision {
  bool devices;
  double host, device;
  const char *why; /* of calls that stay on the host */
} decision;

static decision decide(const dvt_call *call) {
  decision d = {0};
  if (!prepare(&d.why))
    return d;
  if (dvt_keeps_diagonal(call)) {
    d.why = "nothing is added";
    return d;
  }
  const double product = (double)call->m * (double)call->n * (double)call->k;
  if (from > 0) {
    d.devices = product >= from;
    d.why = "smaller than DAVIT_BLAS_FROM";
    return d;
  }
  const bool started = dvt_dropin_devices_started();
  if (started && dvt_dropin_devices_gpus() == 0) {
    d.why = "the devices are the CPU itself";
    leave_to_blis();
    return d;
  }
  d.host = host_seconds(call);
  d.device = device_seconds(call);
  d.why = "sooner there";
  if (d.device >= d.host)
    return d;
  const int64_t saves = (int64_t)(1e9 * fmin(d.host - d.device, start_seconds));
  if (!started && __atomic_add_fetch(&saved_ns, saves, __ATOMIC_RELAXED) < (int64_t)(1e9 * start_seconds)) {
    d.why = "devices are not started for so little";
    return d;
  }
  d.devices = true;
  return d;
}

/* ---- wrong arguments, which BLIS reports ---- */

static bool one_of(char letter, const char *letters) {
  for (; *letters; letters++)
    if (letter == *letters)
      return true;
  return false;
}

/* A leading dimension for so many rows. */
static bool holds(int64_t ld, int64_t rows) {
  return ld >= 1 && ld >= rows;
}

bool dvt_is_right(const dvt_call *g) {
  const bool hermitian = g->routine == DVT_HERK || g->routine == DVT_HER2K;
  const int64_t rows_a = g->transa == 'N' ? g->m : g->k;
  if (g->m < 0 || g->n < 0 || g->k < 0 || (g->uplo && !one_of(g->uplo, "UL")))
    return false;
  switch (g->routine) {
  case DVT_GEMM:
    return one_of(g->transa, "NTC") && one_of(g->transb, "NTC") && holds(g->lda, rows_a) &&
           holds(g->ldb, g->transb == 'N' ? g->k : g->n) && holds(g->ldc, g->m);
  case DVT_SYMM:
  case DVT_HEMM:
    return one_of(g->side, "LR") && holds(g->lda, g->k) && holds(g->ldb, g->m) && holds(g->ldc, g->m);
  case DVT_SYRK:
  case DVT_HERK:
  case DVT_SYR2K:
  case DVT_HER2K:
    return one_of(g->transa, hermitian              ? "NC"
                             : dvt_complex(g->type) ? "NT"
                                                    : "NTC") &&
           holds(g->lda, rows_a) && (g->routine < DVT_SYR2K || holds(g->ldb, rows_a)) && holds(g->ldc, g->n);
  default:
    return one_of(g->side, "LR") && one_of(g->transa, "NTC") && one_of(g->diag, "NU") &&
           holds(g->lda, g->k) && holds(g->ldc, g->m);
  }
}

/* ---- carrying it out ---- */

/* "dgemm NT 8192 8192 8192" */
static const char *describe(const dvt_call *call, char *text, size_t size) {
  static const char *const routines[] = {"gemm",  "symm",  "hemm", "syrk", "herk",
                                         "syr2k", "her2k", "trmm", "trsm"};
  const char given[] = {call->side, call->uplo, call->transa, call->transb, call->diag};
  char letters[sizeof given + 1], *next = letters;
  for (size_t i = 0; i < sizeof given; i++)
    if (given[i])
      *next++ = given[i] >= 'A' && given[i] <= 'Z' ? given[i] : '?';
  *next = 0;
  const bool rank = call->routine >= DVT_SYRK && call->routine <= DVT_HER2K;
  const bool square = call->routine != DVT_GEMM && !rank;
  const long long m = call->m, n = call->n, k = call->k;
  if (rank)
    snprintf(text, size, "%c%s %s %lld %lld", call->type, routines[call->routine], letters, n, k);
  else if (square)
    snprintf(text, size, "%c%s %s %lld %lld", call->type, routines[call->routine], letters, m, n);
  else
    snprintf(text, size, "%c%s %s %lld %lld %lld", call->type, routines[call->routine], letters, m, n, k);
  return text;
}

static double seconds_since(int64_t begin_ns) {
  return 1e-9 * (double)(dvt_now_ns() - begin_ns);
}

static void log_host(const dvt_call *call, const dvt_host_call *host, double seconds) {
  char text[128];
  describe(call, text, sizeof text);
  if (host->host > 0)
    dvt_log("%s: host, %s; %.3g ms, predicted %.3g ms, devices %.3g ms", text, host->why, 1e3 * seconds,
            1e3 * host->host, 1e3 * host->device);
  else
    dvt_log("%s: host, %s; %.3g ms", text, host->why, 1e3 * seconds);
}

static void log_devices(const dvt_call *call, const decision *d, double seconds) {
  char text[128], list[64] = "";
  const int *numbers;
  const char *why;
  if (!dvt_log_on())
    return;
  const int count = dvt_dropin_devices(&numbers, &why);
  for (int i = 0, length = 0; i < count && length < (int)sizeof list - 12; i++)
    length += snprintf(list + length, sizeof list - (size_t)length, i ? ",%d" : "%d", numbers[i]);
  describe(call, text, sizeof text);
  if (from > 0)
    dvt_log("%s: devices %s, DAVIT_BLAS_FROM; %.3g ms", text, list, 1e3 * seconds);
  else
    dvt_log("%s: devices %s, sooner there; %.3g ms, predicted %.3g ms, host %.3g ms", text, list,
            1e3 * seconds, 1e3 * d->device, 1e3 * d->host);
}

static bool small(const dvt_call *call) {
  const bool log = dvt_log_on();
  const dvt_host_call small = {.why = "too small for more than one thread",
                               .begin_ns = log ? dvt_now_ns() : 0};
  const bool entered = dvt_gate_enter();
  const bool done = dvt_alone(call, dvt_dropin_threads());
  dvt_gate_leave(entered);
  if (done && log)
    log_host(call, &small, seconds_since(small.begin_ns));
  return done;
}

/* Leaves a right call to BLIS. */
static bool on_host(const decision *d, dvt_host_call *host) {
  if (d->host > 0)
    *host = (dvt_host_call){d->why, dvt_now_ns(), d->host, d->device, dvt_dropin_begin(), false};
  else if (dvt_log_on())
    *host = (dvt_host_call){.why = d->why, .begin_ns = dvt_now_ns()};
  host->entered = dvt_gate_enter();
  return false;
}

void dvt_route_end(const dvt_call *call, const dvt_host_call *host) {
  dvt_gate_leave(host->entered);
  if (!host->why)
    return;
  const double seconds = seconds_since(host->begin_ns);
  if (host->host > 0 && dvt_dropin_end(host->mark)) {
    const double fresh = 2e9; /* bytes a second that one thread touches for the first time */
    dvt_dropin_watch(seconds - elements(call) * (double)element_bytes(call->type) / fresh, host->host);
  }
  if (dvt_log_on())
    log_host(call, host, seconds);
}

/* Done here, as BLIS would do it wrongly. */
static bool with_care(const dvt_call *call) {
  const int64_t begin_ns = dvt_log_on() ? dvt_now_ns() : 0;
  const dvt_host_call host = {.why = dvt_care(call), .begin_ns = begin_ns};
  if (host.why && dvt_log_on())
    log_host(call, &host, seconds_since(begin_ns));
  return host.why;
}

/* The floating-point environment stays as it is: what davit plans with raises flags that say nothing of the call. */
static dvt_outcome run_on_devices(const dvt_call *call, const decision *d, const char **sentence) {
  const int64_t begin_ns = dvt_now_ns();
  const unsigned mark = dvt_dropin_begin();
  const dvt_arithmetic before = dvt_arithmetic_hold();
  const dvt_outcome outcome = dvt_dropin_devices_run(call, sentence);
  dvt_arithmetic_release(&before);
  dvt_dropin_end(mark);
  static bool said_untouched, said_broken;
  char text[128];
  if (outcome == DVT_DONE) {
    log_devices(call, d, seconds_since(begin_ns));
  } else if (outcome == DVT_UNTOUCHED) {
    dvt_complain(&said_untouched, "%s: computed on the host, as devices cannot: %s",
                 describe(call, text, sizeof text), *sentence);
  } else { /* BLAS has no way to report it, and the program must not compute with this */
    dvt_complain(&said_broken, "%s: the result is lost: %s", describe(call, text, sizeof text), *sentence);
    abort();
  }
  return outcome;
}

/* Where a right call goes that may be worth devices, or a thread of its own. */
static decision choose(const dvt_call *call) {
  decision d = decide(call);
  const int *numbers;
  if (d.devices && dvt_dropin_devices(&numbers, &d.why) == 0) {
    leave_to_blis();
    return (decision){.why = d.why};
  }
  return d.devices && from <= 0 ? decide(call) : d; /* now that they are started, what they are is known */
}

bool dvt_route(const dvt_call *call, dvt_host_call *host) {
  char text[128];
  *host = (dvt_host_call){.why = NULL};
  dvt_dropin_bind();
  const bool right = dvt_is_right(call), writes = call->m > 0 && call->n > 0;
  if (right && writes && with_care(call))
    return true;
  if (!right || !writes || call->k == 0) { /* said at once, as xerbla may end the program */
    if (dvt_log_on())
      dvt_log("%s: host, nothing to compute, or a wrong argument", describe(call, text, sizeof text));
    host->entered = right && dvt_gate_enter();
    return false;
  }
  if (!dvt_is_large_or_small(call->m, call->n, call->k))
    return on_host(&(decision){.why = NULL}, host);
  const decision d = choose(call);
  if (!d.devices)
    return small(call) || on_host(&d, host);
  const char *sentence;
  return run_on_devices(call, &d, &sentence) == DVT_DONE || on_host(&(decision){.why = sentence}, host);
}
