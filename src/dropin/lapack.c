/* SPDX-License-Identifier: Apache-2.0 */
/* LAPACK: routines that may go to devices as a whole, a row for each. Any other call of them goes, as it came, to the
 * LAPACK that would have been called without this library (next.c). That one reports what is wrong, and its calls of
 * level 3 come by here.
 *
 * Hidden lengths of the letters are not declared, as callers from C may pass none. The host's routine gets a 1 for
 * each, behind the arguments, as gfortran passes them. */
#include <stdio.h>

#include "src/base/clock.h"
#include "src/dropin/dropin.h"
#include "src/dropin/library.h"

/* LAPACK has small steps between its calls of level 3, so of many threads it keeps a part busy: it is as fast as
 * products on a third of them (docs/notes/dropin.md). */
enum { SHARE = 3, TEXT = 128 };

/* A call: sizes and letters for the log, and calls of level 3 that together take as long. */
typedef struct dvt_lapack {
  const char *routine;
  char type, letters[3];
  int64_t sizes[3];
  size_t size_count, like_count;
  double product;
  dvt_call like[3];
  davit_solve_options options;
  davit_solve_report report;
  dvt_decision decision;
  dvt_host_call host;
  dvt_arithmetic arithmetic; /* of the calling thread */
  int64_t begin_ns;
} dvt_lapack;

/* ---- where ---- */

/* "dpotrs L 8192 100" */
static const char *describe(const dvt_lapack *call, char *text, size_t size) {
  int length = snprintf(text, size, "%s %s", call->routine, call->letters);
  for (size_t i = 0; i < call->size_count; i++)
    length += snprintf(text + length, size - (size_t)length, " %lld", (long long)call->sizes[i]);
  return text;
}

static void hand_over(dvt_lapack *call) {
  const char *why;
  call->options.device_count = dvt_dropin_devices(&call->options.devices, &why);
  call->options.report = &call->report;
  call->begin_ns = dvt_now_ns();
  call->arithmetic = dvt_arithmetic_hold();
  dvt_barrier_enter_devices();
}

/* True: libdavit has to be called, and is_done() says whether it has done it. False: the host has to do the call, and
 * end_on_host() comes after it. A wrong call is logged at once, as xerbla may end the program. */
static bool route(dvt_lapack *call, bool right) {
  char text[TEXT];
  dvt_dropin_bind();
  if (!right) {
    if (dvt_log_on())
      dvt_log("%s: host, nothing to compute, or a wrong argument", describe(call, text, sizeof text));
    return false;
  }
  call->decision = dvt_decide(&(dvt_work){.calls = call->like,
                                          .count = (int)call->like_count,
                                          .product = call->product,
                                          .threads = (dvt_dropin_threads() + SHARE - 1) / SHARE,
                                          .by_calls = true});
  call->host = dvt_host_begin(&call->decision);
  if (call->decision.devices)
    hand_over(call);
  return call->decision.devices;
}

/* Takes over from libdavit. True: report.failed is LAPACK's info; a matrix that cannot be factored is a result. */
static bool is_done(dvt_lapack *call, davit_status status) {
  char text[TEXT];
  dvt_barrier_leave_devices();
  dvt_arithmetic_release(&call->arithmetic);
  describe(call, text, sizeof text);
  if (status == DAVIT_SUCCESS || call->report.failed) {
    if (dvt_log_on())
      dvt_log_devices(text, &call->decision, 1e-9 * (double)(dvt_now_ns() - call->begin_ns));
    return true;
  }
  call->host = dvt_host_begin(&(dvt_decision){.why = dvt_library.davit_last_error()});
  dvt_say_failed(text, call->report.written, call->host.why);
  return false;
}

static void end_on_host(const dvt_lapack *call) {
  char text[TEXT];
  dvt_count_work(&call->decision);
  if (call->host.why && dvt_log_on())
    dvt_log_host(describe(call, text, sizeof text), &call->host);
}

/* ---- rows ---- */

static bool is_half(const char *uplo) {
  return dvt_one_of(dvt_capital(uplo), "UL");
}

static double cube(int64_t m, int64_t n, int64_t k) {
  return (double)m * (double)n * (double)k;
}

static const void *one(char type) {
  static const float one_float[2] = {1, 0};
  static const double one_double[2] = {1, 0};
  return dvt_single(type) ? (const void *)one_float : one_double;
}

/* Cholesky's factorisation as an update of the half by n / 3 columns. A prediction reads none of them, so they may be
 * anywhere behind it. */
static dvt_call factor_half(char type, const char *uplo, int64_t n, void *a, int64_t lda) {
  const size_t element = (dvt_single(type) ? sizeof(float) : sizeof(double)) * (dvt_complex(type) ? 2 : 1);
  const int64_t k = n < 3 ? 1 : n / 3;
  return (dvt_call){.routine = dvt_complex(type) ? DVT_HERK : DVT_SYRK,
                    .type = type,
                    .uplo = dvt_capital(uplo),
                    .transa = 'N',
                    .m = n,
                    .n = n,
                    .k = k,
                    .alpha = one(type),
                    .a = (const void *)((uintptr_t)a + (size_t)n * (size_t)lda * element),
                    .lda = lda,
                    .beta = one(type),
                    .c = a,
                    .ldc = lda};
}

static dvt_call solve_triangle(char type, const char *uplo, int64_t n, int64_t nrhs, const void *a,
                               int64_t lda, void *b, int64_t ldb) {
  return (dvt_call){.routine = DVT_TRSM,
                    .type = type,
                    .side = 'L',
                    .uplo = dvt_capital(uplo),
                    .transa = 'N',
                    .diag = 'N',
                    .m = n,
                    .n = nrhs,
                    .k = n,
                    .alpha = one(type),
                    .a = a,
                    .lda = lda,
                    .c = b,
                    .ldc = ldb};
}

#define UNPACK(...) __VA_ARGS__
#define TYPES_1 , size_t
#define VALUES_1 , 1
#define LETTERS(letter) .letters = {dvt_capital(letter)}
#define SIZES(...) .sizes = {__VA_ARGS__}, .size_count = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define LIKE(...) .like = {__VA_ARGS__}, .like_count = sizeof((dvt_call[]){__VA_ARGS__}) / sizeof(dvt_call)

/* LENGTHS: how many hidden lengths there are. RIGHT: no argument is wrong, and there is something to compute. PRODUCT
 * is compared with DAVIT_BLAS_FROM cubed; no type has more than 8 times as many flops. LIBRARY: the arguments of
 * libdavit's function, without the options. The rest of the line initialises the dvt_lapack. */
#define ROUTINE(t, name, PARAMETERS, ARGUMENTS, LENGTHS, RIGHT, PRODUCT, LIBRARY, ...)                       \
  DVT_EXPORT void DVT_NAMED(t##name##_) PARAMETERS;                                                          \
  static void host_##t##name(const void *caller, UNPACK PARAMETERS) {                                        \
    static void *next;                                                                                       \
    void (*const routine)(UNPACK PARAMETERS TYPES_##LENGTHS) =                                               \
        (void (*)(UNPACK PARAMETERS TYPES_##LENGTHS))(uintptr_t)dvt_next(                                    \
            &next, DVT_STRING(DVT_NAMED(t##name##_)), caller);                                               \
    routine(UNPACK ARGUMENTS VALUES_##LENGTHS);                                                              \
  }                                                                                                          \
  static void routed_##t##name(const void *caller, UNPACK PARAMETERS) {                                      \
    dvt_lapack call = {.routine = #t #name, .type = #t[0], .product = (PRODUCT), __VA_ARGS__};               \
    if (route(&call, RIGHT) && is_done(&call, dvt_library.t##name(UNPACK LIBRARY, &call.options))) {         \
      *info = (dvt_int)call.report.failed;                                                                   \
      return;                                                                                                \
    }                                                                                                        \
    host_##t##name(caller, UNPACK ARGUMENTS);                                                                \
    end_on_host(&call);                                                                                      \
  }                                                                                                          \
  void DVT_NAMED(t##name##_) PARAMETERS {                                                                    \
    (dvt_is_large(PRODUCT) ? routed_##t##name : host_##t##name)(__builtin_return_address(0),                 \
                                                                UNPACK ARGUMENTS);                           \
  }

#define POTRF(t)                                                                                             \
  ROUTINE(t, potrf, (const char *uplo, const dvt_int *n, void *a, const dvt_int *lda, dvt_int *info),        \
          (uplo, n, a, lda, info), 1, is_half(uplo) && *n > 0 && dvt_holds(*lda, *n), cube(*n, *n, *n),      \
          (*uplo, *n, a, *lda), LETTERS(uplo), SIZES(*n), LIKE(factor_half(#t[0], uplo, *n, a, *lda)))

#define POTRS(t)                                                                                             \
  ROUTINE(t, potrs,                                                                                          \
          (const char *uplo, const dvt_int *n, const dvt_int *nrhs, const void *a, const dvt_int *lda,       \
           void *b, const dvt_int *ldb, dvt_int *info),                                                      \
          (uplo, n, nrhs, a, lda, b, ldb, info), 1,                                                          \
          is_half(uplo) && *n > 0 && *nrhs > 0 && dvt_holds(*lda, *n) && dvt_holds(*ldb, *n),                \
          cube(*n, *n, *nrhs), (*uplo, *n, *nrhs, a, *lda, b, *ldb), LETTERS(uplo), SIZES(*n, *nrhs),        \
          LIKE(SOLVES_OF_HALF(#t[0])))

#define POSV(t)                                                                                              \
  ROUTINE(t, posv,                                                                                           \
          (const char *uplo, const dvt_int *n, const dvt_int *nrhs, void *a, const dvt_int *lda, void *b,    \
           const dvt_int *ldb, dvt_int *info),                                                               \
          (uplo, n, nrhs, a, lda, b, ldb, info), 1,                                                          \
          is_half(uplo) && *n > 0 && *nrhs > 0 && dvt_holds(*lda, *n) && dvt_holds(*ldb, *n),                \
          cube(*n, *n, *n) + cube(*n, *n, *nrhs), (*uplo, *n, *nrhs, a, *lda, b, *ldb), LETTERS(uplo),       \
          SIZES(*n, *nrhs), LIKE(factor_half(#t[0], uplo, *n, a, *lda), SOLVES_OF_HALF(#t[0])))

/* A triangle and its adjoint. */
#define SOLVES_OF_HALF(type)                                                                                 \
  solve_triangle(type, uplo, *n, *nrhs, a, *lda, b, *ldb),                                                   \
      solve_triangle(type, uplo, *n, *nrhs, a, *lda, b, *ldb)

/* clang-format off */
POTRF(s) POTRF(d) POTRF(c) POTRF(z)
POTRS(s) POTRS(d) POTRS(c) POTRS(z)
POSV(s) POSV(d) POSV(c) POSV(z)
    /* clang-format on */
