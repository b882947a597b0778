/* SPDX-License-Identifier: Apache-2.0 */
/* Systems with a positive definite matrix: where Cholesky's factorisation is computed, and the public calls. */
#include <davit/solve.h>

#include "offload/runtime/device.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/team.h"
#include "src/cholesky.h"
#include "src/level3/model.h"
#include "src/level3/run.h"
#include "src/runtime/backend.h"
#include "src/runtime/lane.h"
#include "src/runtime/memory.h"
#include "src/runtime/place.h"
#include "src/runtime/split.h"

/* ---- where ---- */

static bool computes_in_place(int device, int place, bool separate) {
  return dvt_place_reached(device, place) && !(separate && dvt_device_find(device)->shares_host_memory);
}

/* Whether the host would be done before the devices, which have the matrix to fetch. */
static bool host_is_faster(const dvt_cholesky *f) {
  const dvt_potrf *p = f->arguments;
  const double n = (double)p->n, half = n * n / 2 * (double)davit_type_bytes(p->type);
  dvt_model model;
  dvt_model_of(f->devices, f->count, p->type, &model);
  const dvt_model_device *d = &model.device[0], host = dvt_model_host(dvt_threads(), p->type);
  const double there = model.start + half / d->up + half / d->down + n * d->solve +
                       dvt_model_product(d, n, n, n / 6) / f->count;
  return dvt_model_product(&host, n, n, n / 6) < there;
}

/* The device that computes the whole where it lies, DAVIT_HOST for the host; false: it has to travel. */
static bool find_home(const dvt_cholesky *f, bool any_device, int *home) {
  const bool separate = f->options->separate_memory, host = dvt_place_is_host(f->place);
  if (any_device && !host) {
    *home = f->place;
    return true;
  }
  if ((host || f->count == 1) && computes_in_place(f->devices[0], f->place, separate)) {
    *home = f->count > 1 ? DAVIT_HOST : f->devices[0];
    return true;
  }
  if (!any_device || separate || f->options->block || !host_is_faster(f))
    return false;
  *home = DAVIT_HOST;
  return true;
}

static davit_status factor_whole(dvt_potrf *p, int home, davit_solve_report *report) {
  report->block = p->n;
  report->device_count = 1;
  report->written = true;
  return dvt_operation_call(&dvt_potrf_operation, p, (dvt_where){.devices = &home, .device_count = 1});
}

static davit_status factor_tiled(dvt_cholesky *f, int *info) {
  DVT_UNCANCELLED;
  DVT_TRY(dvt_may_wait());
  dvt_backend_hold();
  DVT_INSIDE_IF(dvt_place_any_gpu(f->devices, f->count));
  const davit_status status = dvt_cholesky_run(f, info);
  dvt_backend_drop();
  return status;
}

static davit_status factor(dvt_potrf *p, const davit_solve_options *given, davit_solve_report *report) {
  static const davit_solve_options defaults;
  const dvt_where where = DVT_WHERE(given);
  dvt_cholesky f = {.arguments = p, .options = given ? given : &defaults, .report = report};
  int info = 0, home;
  p->info = &info;
  DVT_TRY(dvt_potrf_operation.check(p));
  DVT_TRY(dvt_check_length("options->block", f.options->block));
  DVT_TRY(dvt_choose_devices(where, f.devices, &f.count));
  if (where.mapped)
    DVT_TRY(dvt_use_mapped(f.devices[0], "a", &p->a));
  if (p->n == 0)
    return DAVIT_SUCCESS;
  f.place = dvt_place_of(p->a);
  DVT_TRY(find_home(&f, !where.devices && !where.mapped, &home) ? factor_whole(p, home, report)
                                                                : factor_tiled(&f, &info));
  report->failed = info;
  return info ? davit_fail(DAVIT_NOT_POSITIVE_DEFINITE,
                           "the leading minor of order %d is not positive definite", info)
              : DAVIT_SUCCESS;
}

/* ---- systems ---- */

typedef struct systems {
  dvt_potrf factor;
  int64_t nrhs;
  void *b;
  int64_t ldb;
} systems;

static davit_status check_systems(const systems *s) {
  dvt_potrf factor = s->factor;
  int info;
  factor.info = &info;
  DVT_TRY(dvt_check_letter("uplo", factor.uplo, "UL", &factor.uplo));
  DVT_TRY(dvt_check_length("n", factor.n));
  DVT_TRY(dvt_check_length("nrhs", s->nrhs));
  DVT_TRY(dvt_potrf_operation.check(&factor));
  DVT_TRY(dvt_check_ld("ldb", s->ldb, factor.n, s->nrhs));
  if (factor.n == 0 || s->nrhs == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_pointer("b", s->b));
  return dvt_blocks_overlap(s->b, s->ldb, factor.n, s->nrhs, factor.a, factor.lda, factor.n, factor.n,
                            davit_type_bytes(factor.type))
             ? davit_fail(DAVIT_INVALID_ARGUMENT, "b overlaps a")
             : DAVIT_SUCCESS;
}

/* The systems with L, then with L'; with U', then with U. */
static dvt_level3 half_of(const systems *s, bool second) {
  const dvt_potrf *p = &s->factor;
  const bool lower = p->uplo == 'L' || p->uplo == 'l';
  return (dvt_level3){.routine = DVT_TRSM,
                      .type = p->type,
                      .side = 'L',
                      .uplo = p->uplo,
                      .transa = lower == second ? dvt_adjoint_of(p->type) : 'N',
                      .diag = 'N',
                      .m = p->n,
                      .n = s->nrhs,
                      .k = p->n,
                      .alpha = 1,
                      .a = p->a,
                      .lda = p->lda,
                      .c = s->b,
                      .ldc = s->ldb};
}

static davit_status solve_half(const systems *s, bool second, const davit_solve_options *given,
                               davit_solve_report *report) {
  davit_level3_report done = {.seconds = 0};
  davit_level3_options options = {.report = &done};
  if (given) {
    options.devices = given->devices;
    options.device_count = given->device_count;
    options.mapped = given->mapped;
    options.cache_bytes = given->cache_bytes;
    options.separate_memory = given->separate_memory;
  }
  dvt_level3 half = half_of(s, second);
  const davit_status status = dvt_level3_call_plain(&half, &options);
  report->written |= done.written;
  if (status != DAVIT_SUCCESS)
    return status;
  report->bytes_from_host += done.bytes_from_host;
  report->bytes_to_host += done.bytes_to_host;
  report->bytes_from_peers += done.bytes_from_peers;
  report->device_count = done.device_count > report->device_count ? done.device_count : report->device_count;
  return DAVIT_SUCCESS;
}

static davit_status solve(const systems *s, const davit_solve_options *options, davit_solve_report *report) {
  DVT_TRY(solve_half(s, false, options, report));
  return solve_half(s, true, options, report);
}

/* ---- plain forms ---- */

enum { FACTOR = 1, SOLVE = 2 };

static davit_status run_steps(systems *s, int steps, const davit_solve_options *options,
                              davit_solve_report *report) {
  if (options)
    DVT_TRY(DVT_CHECK_OPTIONS(options));
  if (steps & SOLVE)
    DVT_TRY(check_systems(s));
  if (steps & FACTOR) {
    dvt_potrf factored = s->factor;
    DVT_TRY(factor(&factored, options, report));
  }
  return steps & SOLVE && s->factor.n > 0 && s->nrhs > 0 ? solve(s, options, report) : DAVIT_SUCCESS;
}

static davit_status run(systems *s, int steps, const davit_solve_options *options) {
  const int64_t begin = dvt_now_ns();
  davit_solve_report report = {.seconds = 0};
  const davit_status status = run_steps(s, steps, options, &report);
  report.seconds = 1e-9 * (double)(dvt_now_ns() - begin);
  if (options && options->report)
    *options->report = report;
  return status;
}

/* ---- queue forms ---- */

static const char *member_of_blocks(const davit_solve_options *options) {
  return options->block             ? "block"
         : options->cache_bytes     ? "cache_bytes"
         : options->separate_memory ? "separate_memory"
         : options->report          ? "report"
                                    : NULL;
}

static davit_status enqueue(davit_queue *queue, const systems *s, int steps,
                            const davit_solve_options *options) {
  const char *member = options ? member_of_blocks(options) : NULL;
  dvt_potrf factored = s->factor;
  if (member)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->%s is set, but a queue does one system as a whole",
                      member);
  if (steps & SOLVE)
    DVT_TRY(check_systems(s));
  if (steps & FACTOR)
    DVT_TRY(dvt_operation_enqueue(queue, &dvt_potrf_operation, &factored, DVT_WHERE(options)));
  for (int second = 0; second < 2 && steps & SOLVE; second++) {
    dvt_level3 half = half_of(s, second);
    DVT_TRY(dvt_operation_enqueue(queue, &dvt_level3_operations[DVT_TRSM], &half, DVT_WHERE(options)));
  }
  return DAVIT_SUCCESS;
}

/* ---- the calls ---- */

#define CALLS(p, T, TYPE)                                                                                    \
  davit_status davit_##p##potrf(char uplo, int64_t n, T *a, int64_t lda,                                     \
                                const davit_solve_options *options) {                                        \
    return run(&(systems){.factor = {.type = TYPE, .uplo = uplo, .n = n, .a = a, .lda = lda}}, FACTOR,       \
               options);                                                                                     \
  }                                                                                                          \
  davit_status davit_##p##potrs(char uplo, int64_t n, int64_t nrhs, const T *a, int64_t lda, T *b,           \
                                int64_t ldb, const davit_solve_options *options) {                           \
    return run(&(systems){{TYPE, uplo, n, (void *)(uintptr_t)a, lda, NULL, false}, nrhs, b, ldb}, SOLVE,     \
               options);                                                                                     \
  }                                                                                                          \
  davit_status davit_##p##posv(char uplo, int64_t n, int64_t nrhs, T *a, int64_t lda, T *b, int64_t ldb,     \
                               const davit_solve_options *options) {                                         \
    return run(&(systems){{TYPE, uplo, n, a, lda, NULL, false}, nrhs, b, ldb}, FACTOR | SOLVE, options);     \
  }                                                                                                          \
  davit_status davit_queue_##p##potrf(davit_queue *queue, char uplo, int64_t n, T *a, int64_t lda,           \
                                      int *info, const davit_solve_options *options) {                       \
    return enqueue(queue, &(systems){.factor = {TYPE, uplo, n, a, lda, info, false}}, FACTOR, options);      \
  }                                                                                                          \
  davit_status davit_queue_##p##potrs(davit_queue *queue, char uplo, int64_t n, int64_t nrhs, const T *a,    \
                                      int64_t lda, T *b, int64_t ldb, const davit_solve_options *options) {  \
    return enqueue(queue, &(systems){{TYPE, uplo, n, (void *)(uintptr_t)a, lda, NULL, false}, nrhs, b, ldb}, \
                   SOLVE, options);                                                                          \
  }                                                                                                          \
  davit_status davit_queue_##p##posv(davit_queue *queue, char uplo, int64_t n, int64_t nrhs, T *a,           \
                                     int64_t lda, T *b, int64_t ldb, int *info,                              \
                                     const davit_solve_options *options) {                                   \
    return enqueue(queue, &(systems){{TYPE, uplo, n, a, lda, info, false}, nrhs, b, ldb}, FACTOR | SOLVE,    \
                   options);                                                                                 \
  }
CALLS(d, double, DAVIT_DOUBLE)
CALLS(s, float, DAVIT_FLOAT)
CALLS(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
CALLS(c, davit_complex_float, DAVIT_COMPLEX_FLOAT)
