/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of level 3. Each makes one dvt_level3 of its arguments, for a queue or for several
 * devices. */
#include <davit/level3.h>

#include "offload/factored.h"
#include "ref/exact.h"
#include "src/exact/exact.h"
#include "src/exact/processes.h"
#include "src/level3/run.h"

/* The first member that a queue does not read and that is set, if there is one. */
static const char *member_of_tiles(const davit_level3_options *options) {
  return options->tile              ? "tile"
         : options->cache_bytes     ? "cache_bytes"
         : options->separate_memory ? "separate_memory"
         : options->report          ? "report"
         : options->explanation     ? "explanation"
         : options->progress        ? "progress"
         : options->predict_threads ? "predict_threads"
         : options->processes       ? "processes"
                                    : NULL;
}

/* ---- exact products ---- */

static davit_status check_arithmetic(const davit_level3_options *options) {
  if (options->arithmetic != DAVIT_ARITHMETIC_NATIVE && options->arithmetic != DAVIT_ARITHMETIC_EXACT)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "options->arithmetic is %d, not DAVIT_ARITHMETIC_NATIVE or DAVIT_ARITHMETIC_EXACT",
                      (int)options->arithmetic);
  if (options->moduli < 0 || options->moduli > DVT_EXACT_MOST)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->moduli is %d, not 0 to %d", options->moduli,
                      DVT_EXACT_MOST);
  return DAVIT_SUCCESS;
}

/* A product of a queue that waits for what its operands need. */
typedef struct exact_command {
  dvt_level3 arguments;
  int device, moduli;
  bool exact_bits;
} exact_command;

static davit_status run_exact_command(const dvt_site *site, const void *command) {
  const exact_command *c = command;
  davit_level3_report report = {0};
  const davit_level3_options options = {.devices = &c->device,
                                        .device_count = 1,
                                        .arithmetic = DAVIT_ARITHMETIC_EXACT,
                                        .moduli = c->moduli,
                                        .exact_bits = c->exact_bits};
  DVT_TRY(dvt_exact_run(&c->arguments, &options, &report));
  if (!report.why_native)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_operation_run(site, &dvt_level3_operations[c->arguments.routine], &c->arguments));
  return dvt_site_wait(site);
}

static davit_status enqueue_exact(davit_queue *queue, const dvt_level3 *g,
                                  const davit_level3_options *options) {
  const dvt_operation *operation = &dvt_level3_operations[g->routine];
  dvt_lane *lane;
  DVT_TRY(dvt_choose_lane(queue, DVT_WHERE(options), &lane));
  exact_command c = {*g, lane->device, options->moduli, options->exact_bits};
  DVT_TRY(operation->check(&c.arguments));
  if (options->mapped)
    DVT_TRY(dvt_operation_use_mapped(operation, &c.arguments, lane->device));
  if (c.arguments.m == 0 || c.arguments.n == 0)
    return DAVIT_SUCCESS;
  const dvt_work work = {
      .form = run_exact_command, .name = "exact product", .stream = true, .threads = lane->threads};
  return dvt_lane_submit_work(lane, DVT_BLOCKING, &work, &c, sizeof c);
}

static davit_status enqueue(davit_queue *queue, dvt_level3 *g, const davit_level3_options *options) {
  const char *member = options ? member_of_tiles(options) : NULL;
  if (member)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->%s is set, but a queue does one product as a whole",
                      member);
  if (options)
    DVT_TRY(check_arithmetic(options));
  if (options && options->arithmetic == DAVIT_ARITHMETIC_EXACT)
    return enqueue_exact(queue, g, options);
  return dvt_operation_enqueue(queue, &dvt_level3_operations[g->routine], g, DVT_WHERE(options));
}

/* What the planner has to know: how long the sums are. Of a square A they are its order; where nothing is to
 * be read the routine is a product of length 0, as far as it writes all of C. */
static void describe_sums(dvt_level3 *g) {
  const bool update = g->routine >= DVT_SYRK && g->routine <= DVT_HER2K;
  if (dvt_level3_vanishes(g)) {
    g->k = 0;
    if (!update) {
      g->routine = DVT_GEMM;
      g->transa = g->transb = 'N';
    }
  } else if (!update && g->routine != DVT_GEMM) {
    g->k = g->side == 'R' ? g->n : g->m;
  }
}

/* A prediction fills the explanation, and nothing else. */
static davit_status check_prediction(davit_level3_options *options) {
  DVT_TRY(dvt_check_length("options->predict_threads", options->predict_threads));
  if (options->predict_threads > 0 && !options->explanation)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->predict_threads is set, but no explanation");
  if (options->predict_threads > 0)
    options->report = NULL;
  return DAVIT_SUCCESS;
}

/* Natively, where exact sums are not due. */
static davit_status run_in_arithmetic(const dvt_level3 *g, const davit_level3_options *options,
                                      bool any_device) {
  davit_level3_report report = {0};
  const bool empty = g->m == 0 || g->n == 0;
  if (options->arithmetic == DAVIT_ARITHMETIC_NATIVE || options->predict_threads > 0)
    return dvt_level3_run(g, options, any_device);
  davit_status status = empty ? DAVIT_SUCCESS : dvt_exact_run(g, options, &report);
  const dvt_exact_end end = dvt_exact_leave(options->processes, status != DAVIT_SUCCESS ? DVT_EXACT_FAILED
                                                                : report.why_native     ? DVT_EXACT_NATIVE
                                                                                        : DVT_EXACT_DONE);
  if (status == DAVIT_SUCCESS && end == DVT_EXACT_NATIVE && !report.why_native)
    report.why_native = "another process has to multiply natively";
  else if (empty)
    report.why_native = "nothing is multiplied";
  if (status == DAVIT_SUCCESS && report.why_native) {
    const char *const why = report.why_native;
    status = dvt_level3_run(g, options, any_device);
    if (options->report) {
      options->report->why_native = why;
      options->report->written |= report.written;
    }
    return status;
  }
  if (options->report && status == DAVIT_SUCCESS)
    *options->report = report;
  else if (options->report)
    options->report->written = report.written;
  if (status == DAVIT_SUCCESS && options->progress)
    options->progress(options->progress_context, 1, 1);
  return status;
}

static davit_status call_plain(dvt_level3 *g, const davit_level3_options *given, bool *met) {
  static const davit_level3_options defaults;
  davit_level3_options options = given ? *given : defaults;
  if (options.report)
    options.report->written = false;
  DVT_TRY(dvt_level3_operations[g->routine].check(g));
  const dvt_where where = DVT_WHERE(given);
  DVT_TRY(where.status);
  DVT_TRY(dvt_check_length("options->tile", options.tile));
  DVT_TRY(check_prediction(&options));
  DVT_TRY(check_arithmetic(&options));
  int devices[DVT_MAX_DEVICES];
  const bool any_device = !options.devices && !options.mapped;
  DVT_TRY(dvt_choose_devices(where, devices, &options.device_count));
  if (where.mapped)
    DVT_TRY(dvt_operation_use_mapped(&dvt_level3_operations[g->routine], g, devices[0]));
  options.devices = devices;
  describe_sums(g);
  *met = true;
  return run_in_arithmetic(g, &options, any_device);
}

/* What fails before the processes have met does not leave the others waiting. */
davit_status dvt_level3_call_plain(dvt_level3 *g, const davit_level3_options *options) {
  bool met = false;
  const davit_status status = call_plain(g, options, &met);
  if (!met && options && options->arithmetic == DAVIT_ARITHMETIC_EXACT && options->predict_threads <= 0)
    dvt_exact_leave(options->processes, DVT_EXACT_FAILED);
  return status;
}

/* ---- the calls ---- */

/* Both forms of a call: its parameters, and the members of a dvt_level3 that they give. */
#define CALL(p, name, PARAMETERS, ...)                                                                       \
  davit_status davit_##p##name(DVT_UNPACK PARAMETERS, const davit_level3_options *options) {                 \
    return dvt_level3_call_plain(&(dvt_level3){__VA_ARGS__}, options);                                       \
  }                                                                                                          \
  davit_status davit_queue_##p##name(davit_queue *queue, DVT_UNPACK PARAMETERS,                              \
                                     const davit_level3_options *options) {                                  \
    return enqueue(queue, &(dvt_level3){__VA_ARGS__}, options);                                              \
  }
#define DVT_UNPACK(...) __VA_ARGS__

/* X(prefix, type, its name, the type of its real part, …) */
#define EACH_TYPE(X, ...)                                                                                    \
  X(d, double, DAVIT_DOUBLE, double, __VA_ARGS__)                                                            \
  X(s, float, DAVIT_FLOAT, float, __VA_ARGS__)                                                               \
  EACH_COMPLEX(X, __VA_ARGS__)
#define EACH_COMPLEX(X, ...)                                                                                 \
  X(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE, double, __VA_ARGS__)                                      \
  X(c, davit_complex_float, DAVIT_COMPLEX_FLOAT, float, __VA_ARGS__)

#define OPERANDS .alpha = (double _Complex)alpha, .a = a, .lda = lda
#define OPERAND_B .b = b, .ldb = ldb
#define RESULT .beta = (double _Complex)beta, .c = c, .ldc = ldc

#define GEMM(p, T, TYPE, P, name, ROUTINE)                                                                   \
  CALL(p, name,                                                                                              \
       (char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T *a, int64_t lda,         \
        const T *b, int64_t ldb, T beta, T *c, int64_t ldc),                                                 \
       .routine = ROUTINE, .type = TYPE, .transa = transa, .transb = transb, .m = m, .n = n, .k = k,         \
       OPERANDS, OPERAND_B, RESULT)
EACH_TYPE(GEMM, gemm, DVT_GEMM)

#define SYMM(p, T, TYPE, P, name, ROUTINE)                                                                   \
  CALL(p, name,                                                                                              \
       (char side, char uplo, int64_t m, int64_t n, T alpha, const T *a, int64_t lda, const T *b,            \
        int64_t ldb, T beta, T *c, int64_t ldc),                                                             \
       .routine = ROUTINE, .type = TYPE, .side = side, .uplo = uplo, .m = m, .n = n, OPERANDS, OPERAND_B,    \
       RESULT)
  EACH_TYPE(SYMM, symm, DVT_SYMM)
    EACH_COMPLEX(SYMM, hemm, DVT_HEMM)

/* S is the type of alpha and beta: real for herk, as beta is for her2k. */
#define RANK_K(p, T, TYPE, S, name, ROUTINE)                                                                 \
  CALL(p, name,                                                                                              \
       (char uplo, char trans, int64_t n, int64_t k, S alpha, const T *a, int64_t lda, S beta, T *c,         \
        int64_t ldc),                                                                                        \
       .routine = ROUTINE, .type = TYPE, .uplo = uplo, .transa = trans, .m = n, .n = n, .k = k, OPERANDS,    \
       RESULT)
#define SYRK(p, T, TYPE, P, name, ROUTINE) RANK_K(p, T, TYPE, T, name, ROUTINE)
EACH_TYPE(SYRK, syrk, DVT_SYRK)
  EACH_COMPLEX(RANK_K, herk, DVT_HERK)

#define RANK_2K(p, T, TYPE, R, name, ROUTINE)                                                                \
  CALL(p, name,                                                                                              \
       (char uplo, char trans, int64_t n, int64_t k, T alpha, const T *a, int64_t lda, const T *b,           \
        int64_t ldb, R beta, T *c, int64_t ldc),                                                             \
       .routine = ROUTINE, .type = TYPE, .uplo = uplo, .transa = trans, .m = n, .n = n, .k = k, OPERANDS,    \
       OPERAND_B, RESULT)
#define SYR2K(p, T, TYPE, P, name, ROUTINE) RANK_2K(p, T, TYPE, T, name, ROUTINE)
EACH_TYPE(SYR2K, syr2k, DVT_SYR2K)
  EACH_COMPLEX(RANK_2K, her2k, DVT_HER2K)

/* In place: what BLAS calls B is input and output. */
#define TRIANGULAR(p, T, TYPE, P, name, ROUTINE)                                                             \
  CALL(p, name,                                                                                              \
       (char side, char uplo, char transa, char diag, int64_t m, int64_t n, T alpha, const T *a,             \
        int64_t lda, T *b, int64_t ldb),                                                                     \
       .routine = ROUTINE, .type = TYPE, .side = side, .uplo = uplo, .transa = transa, .diag = diag, .m = m, \
       .n = n, OPERANDS, OPERAND_B, .c = b, .ldc = ldb)
EACH_TYPE(TRIANGULAR, trmm, DVT_TRMM)
  EACH_TYPE(TRIANGULAR, trsm, DVT_TRSM)
