/* SPDX-License-Identifier: Apache-2.0 */
/* LAPACK: routines that may go to devices as a whole, a row for each. Any other call of them goes, as it came, to the
 * LAPACK that would have been called without this library (next.c). That one reports what is wrong, and its calls of
 * level 3 come by here.
 *
 * Hidden lengths of the letters are not declared, as callers from C may pass none. The host's routine gets a 1 for
 * each, behind the arguments, as gfortran passes them. */
#include <float.h>
#include <stdio.h>
#include <sys/mman.h>

#include "src/base/clock.h"
#include "src/dropin/dropin.h"
#include "src/dropin/library.h"

/* LAPACK has small steps between its calls of level 3, so of many threads it keeps a part busy: it is as fast as
 * products on a third of them (docs/notes/dropin.md). */
enum { SHARE = 3, TEXT = 128 };

/* A call: sizes and letters for the log, calls of level 3 that together take as long, and what the caller gets besides
 * what libdavit writes. */
typedef struct dvt_lapack {
  const char *routine;
  char type, letters[3];
  int64_t sizes[3];
  size_t size_count, like_count;
  double product;
  const dvt_call *like; /* NULL: an argument is wrong, or there is nothing to compute */
  dvt_int *ipiv;        /* in which libdavit writes so many pivots */
  int64_t pivots;
  void *work; /* its first element becomes lwork */
  int64_t lwork;
  int *narrow; /* of the caller's pivots: pages of its own, */
  size_t narrow_bytes;
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
  int length = snprintf(text, size, *call->letters ? "%s %s" : "%s", call->routine, call->letters);
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
static bool route(dvt_lapack *call) {
  char text[TEXT];
  dvt_dropin_bind();
  if (!call->like) {
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

/* libdavit's pivots have 32 bits. */
static void widen(dvt_int *ipiv, int64_t count) {
  for (int64_t i = sizeof(int) < sizeof *ipiv ? count : 0; i-- > 0;) {
    int pivot;
    memcpy(&pivot, (const char *)ipiv + (size_t)i * sizeof pivot, sizeof pivot);
    ipiv[i] = pivot;
  }
}

/* Without memory NULL, which libdavit refuses. */
static const int *narrow(dvt_lapack *call, const dvt_int *ipiv, int64_t count) {
  if (sizeof(int) == sizeof *ipiv)
    return (const int *)ipiv;
  call->narrow_bytes = (size_t)count * sizeof(int);
  void *pages = mmap(NULL, call->narrow_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  call->narrow = pages == MAP_FAILED ? NULL : pages;
  for (int64_t i = 0; call->narrow && i < count; i++)
    call->narrow[i] = (int)ipiv[i];
  return call->narrow;
}

/* LAPACK gives the size of `work` that is best, and devices need none: it is the caller's, not rounded down. */
static void set_work(const dvt_lapack *call) {
  const double parts[2] = {(double)call->lwork, 0};
  float float_parts[2] = {(float)call->lwork, 0};
  if (float_parts[0] < parts[0])
    float_parts[0] += float_parts[0] * FLT_EPSILON;
  const size_t count = dvt_complex(call->type) ? 2 : 1;
  if (call->work && dvt_single(call->type))
    memcpy(call->work, float_parts, count * sizeof *float_parts);
  else if (call->work)
    memcpy(call->work, parts, count * sizeof *parts);
}

/* Takes over from libdavit. True: report.failed is LAPACK's info; a matrix that cannot be factored is a result. */
static bool is_done(dvt_lapack *call, davit_status status) {
  char text[TEXT];
  dvt_barrier_leave_devices();
  dvt_arithmetic_release(&call->arithmetic);
  if (call->narrow)
    munmap(call->narrow, call->narrow_bytes);
  describe(call, text, sizeof text);
  if (status == DAVIT_SUCCESS || call->report.failed) {
    widen(call->ipiv, call->pivots);
    set_work(call);
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

static int64_t least(int64_t m, int64_t n) {
  return m < n ? m : n;
}

static int64_t most(int64_t m, int64_t n) {
  return m < n ? n : m;
}

static double cube(int64_t m, int64_t n, int64_t k) {
  return (double)m * (double)n * (double)k;
}

/* LAPACK's gels answers a matrix of zeros with zeros, where libdavit says that it is singular. */
static bool is_not_zero(char type, int64_t m, int64_t n, const void *a, int64_t lda) {
  const int64_t parts = dvt_complex(type) ? 2 : 1;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m * parts; i++)
      if (dvt_single(type) ? ((const float *)a)[i + j * lda * parts] != 0
                           : ((const double *)a)[i + j * lda * parts] != 0)
        return true;
  return false;
}

static const void *one(char type) {
  static const float one_float[2] = {1, 0};
  static const double one_double[2] = {1, 0};
  return dvt_single(type) ? (const void *)one_float : one_double;
}

/* So many columns behind a matrix. */
static void *behind(char type, const void *a, int64_t lda, int64_t n) {
  const size_t element = (dvt_single(type) ? sizeof(float) : sizeof(double)) * (dvt_complex(type) ? 2 : 1);
  return (void *)((uintptr_t)a + (size_t)n * (size_t)lda * element);
}

/* Cholesky's factorisation as an update of the half by n / 3 columns. A prediction reads none of them, so they may be
 * anywhere behind it. */
static dvt_call factor_half(char type, const char *uplo, int64_t n, void *a, int64_t lda) {
  const int64_t k = n < 3 ? 1 : n / 3;
  return (dvt_call){.routine = dvt_complex(type) ? DVT_HERK : DVT_SYRK,
                    .type = type,
                    .uplo = dvt_capital(uplo),
                    .transa = 'N',
                    .m = n,
                    .n = n,
                    .k = k,
                    .alpha = one(type),
                    .a = behind(type, a, lda, n),
                    .lda = lda,
                    .beta = one(type),
                    .c = a,
                    .ldc = lda};
}

/* Flops of real types of LU, of QR, of a product of Q's k reflectors with n vectors, and of Q's first n columns. */
static double flops_of_lu(int64_t m, int64_t n) {
  const double k = (double)least(m, n);
  return k * k * ((double)most(m, n) - k / 3);
}
static double flops_of_qr(int64_t m, int64_t n) {
  return 2 * flops_of_lu(m, n);
}
static double flops_of_product(int64_t m, int64_t n, int64_t k) {
  return 4 * cube(m, n, k) - 2 * cube(n, k, k);
}
static double flops_of_columns(int64_t m, int64_t n, int64_t k) {
  return 4 * cube(m, n, k) - 2 * cube(m + n, k, k) + 4 * cube(k, k, k) / 3;
}

/* So many flops as an update of C by a product whose factors are anywhere behind it. */
static dvt_call update(char type, double flops, int64_t m, int64_t n, void *c, int64_t ldc) {
  const int64_t k = most(1, (int64_t)(flops / (2 * (double)m * (double)n)));
  const void *const a = behind(type, c, ldc, n);
  return (dvt_call){.routine = DVT_GEMM,
                    .type = type,
                    .transa = 'N',
                    .transb = 'N',
                    .m = m,
                    .n = n,
                    .k = k,
                    .alpha = one(type),
                    .a = a,
                    .lda = m,
                    .b = behind(type, a, m, k),
                    .ldb = k,
                    .beta = one(type),
                    .c = c,
                    .ldc = ldc};
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
#define TYPES_0
#define TYPES_1 , size_t
#define TYPES_2 , size_t, size_t
#define VALUES_0
#define VALUES_1 , 1
#define VALUES_2 , 1, 1
#define LETTERS(letter) .letters = {dvt_capital(letter)}
#define SIZES(...) .sizes = {__VA_ARGS__}, .size_count = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define LIKE(...)                                                                                            \
  .like = right ? (const dvt_call[]){__VA_ARGS__} : NULL,                                                    \
  .like_count = sizeof((dvt_call[]){__VA_ARGS__}) / sizeof(dvt_call)
#define PIVOTS(count) .ipiv = ipiv, .pivots = (count)
#define WORK .work = work, .lwork = *lwork

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
    const bool right = (RIGHT);                                                                              \
    dvt_lapack call = {.routine = #t #name, .type = #t[0], .product = (PRODUCT), __VA_ARGS__};               \
    if (route(&call) && is_done(&call, dvt_library.t##name(UNPACK LIBRARY, &call.options))) {                \
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
          LIKE(SOLVES(#t[0], uplo)))

#define POSV(t)                                                                                              \
  ROUTINE(t, posv,                                                                                           \
          (const char *uplo, const dvt_int *n, const dvt_int *nrhs, void *a, const dvt_int *lda, void *b,    \
           const dvt_int *ldb, dvt_int *info),                                                               \
          (uplo, n, nrhs, a, lda, b, ldb, info), 1,                                                          \
          is_half(uplo) && *n > 0 && *nrhs > 0 && dvt_holds(*lda, *n) && dvt_holds(*ldb, *n),                \
          cube(*n, *n, *n) + cube(*n, *n, *nrhs), (*uplo, *n, *nrhs, a, *lda, b, *ldb), LETTERS(uplo),       \
          SIZES(*n, *nrhs), LIKE(factor_half(#t[0], uplo, *n, a, *lda), SOLVES(#t[0], uplo)))

#define GETRF(t)                                                                                             \
  ROUTINE(t, getrf,                                                                                          \
          (const dvt_int *m, const dvt_int *n, void *a, const dvt_int *lda, dvt_int *ipiv, dvt_int *info),   \
          (m, n, a, lda, ipiv, info), 0, *m > 0 && *n > 0 && dvt_holds(*lda, *m),                            \
          cube(*m, *n, least(*m, *n)), (*m, *n, a, *lda, (int *)ipiv), SIZES(*m, *n), PIVOTS(least(*m, *n)), \
          LIKE(update(#t[0], flops_of_lu(*m, *n), *m, *n, a, *lda)))

#define GETRS(t)                                                                                             \
  ROUTINE(t, getrs,                                                                                          \
          (const char *trans, const dvt_int *n, const dvt_int *nrhs, const void *a, const dvt_int *lda,      \
           const dvt_int *ipiv, void *b, const dvt_int *ldb, dvt_int *info),                                 \
          (trans, n, nrhs, a, lda, ipiv, b, ldb, info), 1,                                                   \
          dvt_one_of(dvt_capital(trans), "NTC") && *n > 0 && *nrhs > 0 && dvt_holds(*lda, *n) &&             \
              dvt_holds(*ldb, *n),                                                                           \
          cube(*n, *n, *nrhs), (*trans, *n, *nrhs, a, *lda, narrow(&call, ipiv, *n), b, *ldb),               \
          LETTERS(trans), SIZES(*n, *nrhs), LIKE(SOLVES(#t[0], "L")))

#define GESV(t)                                                                                              \
  ROUTINE(t, gesv,                                                                                           \
          (const dvt_int *n, const dvt_int *nrhs, void *a, const dvt_int *lda, dvt_int *ipiv, void *b,       \
           const dvt_int *ldb, dvt_int *info),                                                               \
          (n, nrhs, a, lda, ipiv, b, ldb, info), 0,                                                          \
          *n > 0 && *nrhs > 0 && dvt_holds(*lda, *n) && dvt_holds(*ldb, *n),                                 \
          cube(*n, *n, *n) + cube(*n, *n, *nrhs), (*n, *nrhs, a, *lda, (int *)ipiv, b, *ldb),                \
          SIZES(*n, *nrhs), PIVOTS(*n),                                                                      \
          LIKE(update(#t[0], flops_of_lu(*n, *n), *n, *n, a, *lda), SOLVES(#t[0], "L")))

/* Where `lwork` is -1 the caller asks for LAPACK's size. */
#define GEQRF(t)                                                                                             \
  ROUTINE(t, geqrf,                                                                                          \
          (const dvt_int *m, const dvt_int *n, void *a, const dvt_int *lda, void *tau, void *work,           \
           const dvt_int *lwork, dvt_int *info),                                                             \
          (m, n, a, lda, tau, work, lwork, info), 0,                                                         \
          *m > 0 && *n > 0 && dvt_holds(*lda, *m) && *lwork >= *n, cube(*m, *n, least(*m, *n)),              \
          (*m, *n, a, *lda, tau), SIZES(*m, *n), WORK,                                                       \
          LIKE(update(#t[0], flops_of_qr(*m, *n), *m, *n, a, *lda)))

#define MQR(t, name, adjoint)                                                                                \
  ROUTINE(t, name,                                                                                           \
          (const char *side, const char *trans, const dvt_int *m, const dvt_int *n, const dvt_int *k,        \
           const void *a, const dvt_int *lda, const void *tau, void *c, const dvt_int *ldc, void *work,      \
           const dvt_int *lwork, dvt_int *info),                                                             \
          (side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork, info), 2,                                 \
          dvt_one_of(dvt_capital(side), "LR") && dvt_one_of(dvt_capital(trans), "N" adjoint) && *m > 0 &&    \
              *n > 0 && *k > 0 && *k <= *ORDER && dvt_holds(*lda, *ORDER) && dvt_holds(*ldc, *m) &&          \
              *lwork >= *OTHER,                                                                              \
          2 * cube(*m, *n, *k), (*side, *trans, *m, *n, *k, a, *lda, tau, c, *ldc),                          \
          .letters = {dvt_capital(side), dvt_capital(trans)}, SIZES(*m, *n, *k), WORK,                       \
          LIKE(update(#t[0], flops_of_product(*ORDER, *OTHER, *k), *m, *n, c, *ldc)))

/* Of Q, and the other side of C. */
#define ORDER (dvt_capital(side) == 'L' ? m : n)
#define OTHER (dvt_capital(side) == 'L' ? n : m)

#define GQR(t, name)                                                                                         \
  ROUTINE(t, name,                                                                                           \
          (const dvt_int *m, const dvt_int *n, const dvt_int *k, void *a, const dvt_int *lda,                \
           const void *tau, void *work, const dvt_int *lwork, dvt_int *info),                                \
          (m, n, k, a, lda, tau, work, lwork, info), 0,                                                      \
          *k > 0 && *k <= *n && *n <= *m && dvt_holds(*lda, *m) && *lwork >= *n, 2 * cube(*m, *n, *k),       \
          (*m, *n, *k, a, *lda, tau), SIZES(*m, *n, *k), WORK,                                               \
          LIKE(update(#t[0], flops_of_columns(*m, *n, *k), *m, *n, a, *lda)))

#define GELS(t, adjoint)                                                                                     \
  ROUTINE(t, gels,                                                                                           \
          (const char *trans, const dvt_int *m, const dvt_int *n, const dvt_int *nrhs, void *a,              \
           const dvt_int *lda, void *b, const dvt_int *ldb, void *work, const dvt_int *lwork,                \
           dvt_int *info),                                                                                   \
          (trans, m, n, nrhs, a, lda, b, ldb, work, lwork, info), 1,                                         \
          dvt_one_of(dvt_capital(trans), "N" adjoint) && *m > 0 && *n > 0 && *nrhs > 0 &&                    \
              dvt_holds(*lda, *m) && dvt_holds(*ldb, most(*m, *n)) &&                                        \
              *lwork >= LEAST + most(LEAST, *nrhs) && is_not_zero(#t[0], *m, *n, a, *lda),                   \
          cube(*m, *n, LEAST + 2 * *nrhs), (*trans, *m, *n, *nrhs, a, *lda, b, *ldb), LETTERS(trans),        \
          SIZES(*m, *n, *nrhs), WORK,                                                                        \
          LIKE(update(#t[0], flops_of_qr(*m, *n), *m, *n, a, *lda),                                          \
               update(#t[0], flops_of_product(most(*m, *n), *nrhs, LEAST), most(*m, *n), *nrhs, b, *ldb),    \
               solve_triangle(#t[0], "U", LEAST, *nrhs, a, *lda, b, *ldb)))
#define LEAST least(*m, *n)

/* With both triangles, or a triangle and its adjoint. */
#define SOLVES(type, uplo)                                                                                   \
  solve_triangle(type, uplo, *n, *nrhs, a, *lda, b, *ldb),                                                   \
      solve_triangle(type, uplo, *n, *nrhs, a, *lda, b, *ldb)

/* clang-format off */
POTRF(s) POTRF(d) POTRF(c) POTRF(z)
POTRS(s) POTRS(d) POTRS(c) POTRS(z)
POSV(s) POSV(d) POSV(c) POSV(z)
GETRF(s) GETRF(d) GETRF(c) GETRF(z)
GETRS(s) GETRS(d) GETRS(c) GETRS(z)
GESV(s) GESV(d) GESV(c) GESV(z)
GEQRF(s) GEQRF(d) GEQRF(c) GEQRF(z)
MQR(s, ormqr, "T") MQR(d, ormqr, "T") MQR(c, unmqr, "C") MQR(z, unmqr, "C")
GQR(s, orgqr) GQR(d, orgqr) GQR(c, ungqr) GQR(z, ungqr)
GELS(s, "T") GELS(d, "T") GELS(c, "C") GELS(z, "C")
    /* clang-format on */
