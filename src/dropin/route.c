/* SPDX-License-Identifier: Apache-2.0 */
/* Where a call of level 3 is computed.
 *
 * A call goes to the devices if libdavit predicts that they do it sooner than BLIS on its threads (`predict_threads`
 * of its options). libdavit can be asked when the devices are started. They are started by the call with which BLIS
 * has had as much arithmetic to do as takes it the time of the start: no program gets slower by more than that, and
 * one that makes only small calls never starts them. DAVIT_BLAS_FROM=N sends every call of at least N³ there
 * instead. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/base/environment.h"
#include "src/dropin/dropin.h"

/* For the time before; docs/notes/dropin.md says where they were measured. */
static const double thread_flops = 16e9; /* that BLIS does in a second on one thread, in double precision */
static const double call_seconds = 1e-3; /* a call on devices takes about that, however small it is */
static const double start_seconds = 0.5; /* until the devices compute the first product */

double dvt_dropin_least = -INFINITY;
static double from;      /* DAVIT_BLAS_FROM cubed; 0: not set */
static int64_t given_ns; /* that BLIS needs for the calls so far */

/* ---- the decision ---- */

static void set_least(double least) {
  if (dvt_log_on() || dvt_dropin_products() == DVT_EXACT_BITS)
    least = -INFINITY;
  double is;
  __atomic_load(&dvt_dropin_least, &is, __ATOMIC_RELAXED);
  if (is != least) /* or each call would take the line from the threads that read it */
    __atomic_store(&dvt_dropin_least, &least, __ATOMIC_RELAXED);
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
  bool any = dvt_dropin_devices_likely(why);
  if (any && from <= 0 && dvt_dropin_devices_started() && dvt_dropin_devices_gpus() == 0) {
    *why = "the devices are the CPU itself";
    any = false;
  }
  if (!any) {
    set_least(INFINITY);
    return false;
  }
  /* What takes one thread that long, whatever the number of threads. zgemm has the most arithmetic for its m n k. */
  set_least(from > 0 ? from : call_seconds * thread_flops / 8);
  return true;
}

/* Whether the work is long enough for devices, and these are started, or shall be now. */
static bool is_enough(const dvt_work *work, dvt_decision *d) {
  double flops = 0;
  for (int i = 0; i < work->count; i++)
    flops += dvt_flops(&work->calls[i]);
  const double seconds = flops / (thread_flops * (dvt_single(work->calls->type) ? 2 : 1) * work->threads);
  d->why = "too short for devices";
  if (seconds < call_seconds)
    return false;
  d->why = "devices are not started for so little";
  const int64_t ns = (int64_t)(1e9 * fmin(seconds, start_seconds));
  if (dvt_dropin_devices_started())
    return true;
  d->given_ns = work->by_calls ? __atomic_load_n(&given_ns, __ATOMIC_RELAXED) + ns
                               : __atomic_add_fetch(&given_ns, ns, __ATOMIC_RELAXED);
  return d->given_ns >= (int64_t)(1e9 * start_seconds);
}

void dvt_count_work(const dvt_decision *d) {
  int64_t now = __atomic_load_n(&given_ns, __ATOMIC_RELAXED);
  while (now < d->given_ns &&
         !__atomic_compare_exchange_n(&given_ns, &now, d->given_ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

dvt_decision dvt_decide(const dvt_work *work) {
  dvt_decision d = {0};
  const int *numbers;
  if (!prepare(&d.why))
    return d;
  d.why = work->never;
  if (d.why)
    return d;
  d.why = "smaller than DAVIT_BLAS_FROM";
  if (from > 0 ? work->product < from : !is_enough(work, &d))
    return d;
  dvt_dropin_devices(&numbers, &d.why); /* now that they are started, what they are is known */
  if (prepare(&d.why))
    d.devices = from > 0 || dvt_dropin_devices_are_faster(work, &d.host, &d.device, &d.why);
  if (d.devices && from > 0)
    d.why = "DAVIT_BLAS_FROM";
  return d;
}

/* For exact bits the CPU will do where there is no GPU. */
static dvt_decision decide_on_exact(void) {
  dvt_decision d = {0};
  const int *numbers;
  set_least(-INFINITY);
  d.devices = dvt_dropin_devices(&numbers, &d.why) > 0;
  if (d.devices)
    d.why = "DAVIT_BLAS_ARITHMETIC";
  return d;
}

/* Of a right call that may be worth devices. */
static dvt_decision decide(const dvt_call *call) {
  if (dvt_products_of(call) == DVT_EXACT_BITS)
    return decide_on_exact();
  return dvt_decide(&(dvt_work){.calls = call,
                                .count = 1,
                                .product = (double)call->m * (double)call->n * (double)call->k,
                                .threads = dvt_dropin_threads(),
                                .never = dvt_keeps_diagonal(call) ? "nothing is added" : NULL});
}

/* ---- wrong arguments, which BLIS reports ---- */

bool dvt_is_right(const dvt_call *g) {
  const bool hermitian = g->routine == DVT_HERK || g->routine == DVT_HER2K;
  const int64_t rows_a = g->transa == 'N' ? g->m : g->k;
  if (g->m < 0 || g->n < 0 || g->k < 0 || (g->uplo && !dvt_one_of(g->uplo, "UL")))
    return false;
  switch (g->routine) {
  case DVT_GEMM:
    return dvt_one_of(g->transa, "NTC") && dvt_one_of(g->transb, "NTC") && dvt_holds(g->lda, rows_a) &&
           dvt_holds(g->ldb, g->transb == 'N' ? g->k : g->n) && dvt_holds(g->ldc, g->m);
  case DVT_SYMM:
  case DVT_HEMM:
    return dvt_one_of(g->side, "LR") && dvt_holds(g->lda, g->k) && dvt_holds(g->ldb, g->m) &&
           dvt_holds(g->ldc, g->m);
  case DVT_SYRK:
  case DVT_HERK:
  case DVT_SYR2K:
  case DVT_HER2K:
    return dvt_one_of(g->transa, hermitian              ? "NC"
                                 : dvt_complex(g->type) ? "NT"
                                                        : "NTC") &&
           dvt_holds(g->lda, rows_a) && (g->routine < DVT_SYR2K || dvt_holds(g->ldb, rows_a)) &&
           dvt_holds(g->ldc, g->n);
  default:
    return dvt_one_of(g->side, "LR") && dvt_one_of(g->transa, "NTC") && dvt_one_of(g->diag, "NU") &&
           dvt_holds(g->lda, g->k) && dvt_holds(g->ldc, g->m);
  }
}

/* ---- carrying it out ---- */

enum { TEXT = 256 };

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

/* For the log. */
static int64_t begin(void) {
  return dvt_log_on() ? dvt_now_ns() : 0;
}

void dvt_log_host(const char *text, const dvt_host_call *host) {
  const double seconds = seconds_since(host->begin_ns);
  if (host->host > 0)
    dvt_log("%s: host, %s; %.3g ms, predicted %.3g ms, devices %.3g ms", text, host->why, 1e3 * seconds,
            1e3 * host->host, 1e3 * host->device);
  else
    dvt_log("%s: host, %s; %.3g ms", text, host->why, 1e3 * seconds);
}

static void log_host(const dvt_call *call, const dvt_host_call *host) {
  char text[TEXT];
  if (host->why && dvt_log_on())
    dvt_log_host(describe(call, text, sizeof text), host);
}

void dvt_log_devices(const char *text, const dvt_decision *d, double seconds) {
  char list[64] = "";
  const int *numbers;
  const char *why;
  const int count = dvt_dropin_devices(&numbers, &why);
  for (int i = 0, length = 0; i < count && length < (int)sizeof list - 12; i++)
    length += snprintf(list + length, sizeof list - (size_t)length, i ? ",%d" : "%d", numbers[i]);
  if (d->host <= 0)
    dvt_log("%s: devices %s, %s; %.3g ms", text, list, d->why, 1e3 * seconds);
  else
    dvt_log("%s: devices %s, sooner there; %.3g ms, predicted %.3g ms, host %.3g ms", text, list,
            1e3 * seconds, 1e3 * d->device, 1e3 * d->host);
}

/* A small call; and any while another thread is in one, unless the program wants teams: several of these at once would
 * wait for each other's processors. And any where OpenMP may give BLIS fewer threads than it asks for, with which it
 * ends the process. */
static bool alone(const dvt_call *call) {
  const bool given = dvt_dropin_threads_are_given(), dynamic = given && dvt_dropin_team_may_be_short(),
             shared = dynamic || (given && dvt_barrier_others());
  const dvt_host_call alone = {.why = dynamic  ? "teams may have fewer threads"
                                      : shared ? "another thread computes"
                                               : "too small for more than one thread",
                               .begin_ns = begin()};
  const bool entered = dvt_barrier_enter();
  const bool done = dvt_alone(call, dvt_dropin_threads(), shared);
  dvt_barrier_leave(entered);
  if (done)
    log_host(call, &alone);
  return done;
}

dvt_host_call dvt_host_begin(const dvt_decision *d) {
  return (dvt_host_call){d->why, begin(), d->host, d->device, false};
}

/* Leaves a right call to BLIS. */
static bool on_host(const dvt_decision *d, dvt_host_call *host) {
  *host = dvt_host_begin(d);
  host->entered = dvt_barrier_enter();
  return false;
}

void dvt_route_end(const dvt_call *call, const dvt_host_call *host) {
  dvt_barrier_leave(host->entered);
  log_host(call, host);
}

/* Done here, as BLIS would do it wrongly. */
static bool with_care(const dvt_call *call) {
  dvt_host_call host = {.begin_ns = begin()};
  host.why = dvt_care(call);
  log_host(call, &host);
  return host.why;
}

void dvt_say_failed(const char *text, bool broken, const char *sentence) {
  static bool said_untouched, said_broken;
  if (!broken) {
    dvt_complain(&said_untouched, "%s: computed on the host, as devices cannot: %s", text, sentence);
    return;
  }
  /* BLAS has no way to report it, and the program must not compute with this. */
  dvt_complain(&said_broken, "%s: the result is lost: %s", text, sentence);
  abort();
}

static void describe_arithmetic(const dvt_ran *ran, char *text, size_t size) {
  const size_t length = strlen(text);
  if (ran->moduli)
    snprintf(text + length, size - length, ", exact in %d moduli", ran->moduli);
  else if (ran->why_native)
    snprintf(text + length, size - length, ", native as %s", ran->why_native);
}

static bool run_on_devices(const dvt_call *call, const dvt_decision *d, const char **sentence) {
  char text[TEXT];
  dvt_ran ran = {.moduli = 0};
  const int64_t begin_ns = dvt_now_ns();
  dvt_barrier_enter_devices();
  const dvt_outcome outcome = dvt_dropin_devices_run(call, &ran);
  dvt_barrier_leave_devices();
  describe(call, text, sizeof text);
  *sentence = ran.sentence;
  if (outcome != DVT_DONE) {
    dvt_say_failed(text, outcome == DVT_BROKEN, ran.sentence);
  } else if (dvt_log_on()) {
    describe_arithmetic(&ran, text, sizeof text);
    dvt_log_devices(text, d, seconds_since(begin_ns));
  }
  return outcome == DVT_DONE;
}

/* Said at once, as xerbla may end the program. */
static void log_idle(const dvt_call *call) {
  char text[TEXT];
  if (dvt_log_on())
    dvt_log("%s: host, nothing to compute, or a wrong argument", describe(call, text, sizeof text));
}

bool dvt_route_elsewhere(const dvt_call *call, dvt_host_call *host) {
  *host = (dvt_host_call){.why = NULL};
  dvt_dropin_bind();
  if (!dvt_is_right(call) || call->m == 0 || call->n == 0 || call->k == 0) {
    log_idle(call);
    return false;
  }
  const dvt_decision d = decide(call);
  const char *sentence = d.why;
  if (d.devices && (with_care(call) || run_on_devices(call, &d, &sentence)))
    return true;
  *host = dvt_host_begin(d.devices ? &(dvt_decision){.why = sentence} : &d);
  return false;
}

bool dvt_route(const dvt_call *call, dvt_host_call *host) {
  *host = (dvt_host_call){.why = NULL};
  dvt_dropin_bind();
  const bool right = dvt_is_right(call), writes = call->m > 0 && call->n > 0;
  if (right && writes && with_care(call))
    return true;
  if (!right || !writes || call->k == 0) {
    log_idle(call);
    host->entered = right && dvt_barrier_enter();
    return false;
  }
  if (!dvt_is_large_or_small(call->m, call->n, call->k))
    return (dvt_dropin_threads_are_given() && alone(call)) || on_host(&(dvt_decision){.why = NULL}, host);
  const dvt_decision d = decide(call);
  if (!d.devices)
    return alone(call) || on_host(&d, host);
  const char *sentence;
  return run_on_devices(call, &d, &sentence) || on_host(&(dvt_decision){.why = sentence}, host);
}
