/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors and matrices by vectors: axpy, scal, dot, nrm2 and asum, gemv. Each is a row: its check, its operands and how
 * it is split over devices; src/runtime/split.c does the rest. Where operands lie on the host, the bytes that cross the
 * links are the floor. */
#include <davit/axpy.h>
#include <davit/dot.h>
#include <davit/gemv.h>
#include <davit/norm.h>
#include <davit/scal.h>

#include "offload/blas.h"
#include "src/base/arithmetic.h"
#include "src/runtime/memory.h"
#include "src/runtime/split.h"
#include "src/runtime/tuning.h"

enum {
  CHUNK = 1 << 20,        /* elements of a vector */
  MATRIX_CHUNK = 1 << 21, /* elements of a matrix */
  SHORT_BYTES = 1 << 22   /* one thread is done with them before others could help */
};

#define ROW(routine)                                                                                         \
  .name = #routine, .bytes = DVT_BYTES_OF(dvt_##routine), .typed = true, .check = check_##routine,           \
  .stream = dvt_##routine##_stream, .prepare = dvt_blas_prepare, .host = dvt_##routine##_host,               \
  .region = dvt_##routine##_region, .region_on_host = true, .serial = true
#define VECTOR(T, member, increment, ...)                                                                    \
  DVT_ARRAY(T, member, DVT_ALONG_OUT, .step = offsetof(T, increment), __VA_ARGS__)

static davit_status check_lengths(int64_t n, int64_t incx, int64_t incy) {
  DVT_TRY(dvt_check_length("n", n));
  DVT_TRY(dvt_check_increment("incx", incx, n));
  return dvt_check_increment("incy", incy, n);
}

static davit_status check_vectors(int64_t n, const void *x, const void *y) {
  return n > 0 && (!x || !y) ? davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", x ? "y" : "x")
                             : DAVIT_SUCCESS;
}

/* Of one vector: the sign of its increment does not matter and is dropped. */
static davit_status check_vector(int64_t n, const void *x, int64_t *incx) {
  DVT_TRY(dvt_check_length("n", n));
  DVT_TRY(dvt_check_increment("incx", *incx, n));
  *incx = *incx < 0 ? -*incx : *incx;
  return n > 0 ? dvt_check_pointer("x", x) : DAVIT_SUCCESS;
}

/* ---- y = alpha x + y ---- */

static davit_status check_axpy(void *arguments) {
  const dvt_axpy *g = arguments;
  DVT_TRY(check_lengths(g->n, g->incx, g->incy));
  return check_vectors(g->n, g->x, g->y);
}

static void measure_axpy(const void *arguments, int device, int ranges, dvt_extents *e) {
  const dvt_axpy *g = arguments;
  (void)device;
  (void)ranges;
  e->length[DVT_OUT] = g->alpha == 0 ? 0 : g->n;
}

static const dvt_operation axpy = {ROW(axpy),
                                   .short_bytes = SHORT_BYTES,
                                   .array = {VECTOR(dvt_axpy, x, incx, .reads = true),
                                             VECTOR(dvt_axpy, y, incy, .reads = true, .writes = true)},
                                   .size = {offsetof(dvt_axpy, n)},
                                   .chunk = CHUNK,
                                   .tuned_chunk = DVT_TUNE_AXPY_CHUNK,
                                   .measure = measure_axpy,
                                   .order = DVT_CHUNKS_TURN};

/* Chunks of y are written while others of x are read. */
static davit_status call_axpy(dvt_axpy *g, dvt_where where) {
  DVT_TRY(check_axpy(g));
  if (dvt_vectors_overlap(g->x, g->n, g->incx, g->y, g->n, g->incy, davit_type_bytes(g->type)))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "y overlaps x");
  return dvt_operation_call(&axpy, g, where);
}

#define AXPY(plain, queued, T, TYPE)                                                                         \
  davit_status plain(int64_t n, T alpha, const T *x, int64_t incx, T *y, int64_t incy,                       \
                     const davit_axpy_options *options) {                                                    \
    return call_axpy(&(dvt_axpy){TYPE, n, (double _Complex)alpha, x, incx, y, incy}, DVT_WHERE(options));    \
  }                                                                                                          \
  davit_status queued(davit_queue *queue, int64_t n, T alpha, const T *x, int64_t incx, T *y, int64_t incy,  \
                      const davit_axpy_options *options) {                                                   \
    return dvt_operation_enqueue(                                                                            \
        queue, &axpy, &(dvt_axpy){TYPE, n, (double _Complex)alpha, x, incx, y, incy}, DVT_WHERE(options));   \
  }
AXPY(davit_daxpy, davit_queue_daxpy, double, DAVIT_DOUBLE)
AXPY(davit_saxpy, davit_queue_saxpy, float, DAVIT_FLOAT)
AXPY(davit_zaxpy, davit_queue_zaxpy, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
AXPY(davit_caxpy, davit_queue_caxpy, davit_complex_float, DAVIT_COMPLEX_FLOAT)

/* ---- x = alpha x ---- */

static davit_status check_scal(void *arguments) {
  dvt_scal *g = arguments;
  return check_vector(g->n, g->x, &g->incx);
}

static void measure_scal(const void *arguments, int device, int ranges, dvt_extents *e) {
  const dvt_scal *g = arguments;
  (void)device;
  (void)ranges;
  e->length[DVT_OUT] = g->alpha == 1 ? 0 : g->n;
}

static const dvt_operation scal = {ROW(scal),
                                   .short_bytes = SHORT_BYTES,
                                   .array = {VECTOR(dvt_scal, x, incx, .reads = true, .writes = true)},
                                   .size = {offsetof(dvt_scal, n)},
                                   .chunk = CHUNK,
                                   .measure = measure_scal,
                                   .order = DVT_CHUNKS_TURN};

#define SCAL(plain, queued, T, TYPE)                                                                         \
  davit_status plain(int64_t n, T alpha, T *x, int64_t incx, const davit_scal_options *options) {            \
    return dvt_operation_call(&scal, &(dvt_scal){TYPE, n, (double _Complex)alpha, x, incx},                  \
                              DVT_WHERE(options));                                                           \
  }                                                                                                          \
  davit_status queued(davit_queue *queue, int64_t n, T alpha, T *x, int64_t incx,                            \
                      const davit_scal_options *options) {                                                   \
    return dvt_operation_enqueue(queue, &scal, &(dvt_scal){TYPE, n, (double _Complex)alpha, x, incx},        \
                                 DVT_WHERE(options));                                                        \
  }
SCAL(davit_dscal, davit_queue_dscal, double, DAVIT_DOUBLE)
SCAL(davit_sscal, davit_queue_sscal, float, DAVIT_FLOAT)
SCAL(davit_zscal, davit_queue_zscal, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
SCAL(davit_cscal, davit_queue_cscal, davit_complex_float, DAVIT_COMPLEX_FLOAT)

/* ---- the dot product ---- */

static davit_status check_dot(void *arguments) {
  const dvt_dot *g = arguments;
  DVT_TRY(check_lengths(g->n, g->incx, g->incy));
  DVT_TRY(dvt_check_pointer("result", g->result));
  return check_vectors(g->n, g->x, g->y);
}

/* In double, as far as the type is narrower. A complex sum is two of real numbers. */
static davit_status merge_dot(const void *arguments, void *results, int64_t count) {
  const dvt_dot *g = arguments;
  const int parts = g->type >= DAVIT_COMPLEX_FLOAT ? 2 : 1;
  const bool wide = dvt_real_type(g->type) == DAVIT_DOUBLE;
  const double *doubles = results;
  const float *floats = results;
  double sums[2] = {0, 0};
  for (int64_t i = 0; i < parts * count; i++)
    sums[i % parts] += wide ? doubles[i] : (double)floats[i];
  const float narrow[2] = {(float)sums[0], (float)sums[1]};
  return davit_copy(davit_type_bytes(g->type), wide ? (const void *)sums : narrow, g->result);
}

static const dvt_operation dot = {
    ROW(dot),
    .short_bytes = SIZE_MAX, /* one thread works on a chunk anyway */
    .array = {VECTOR(dvt_dot, x, incx, .reads = true), VECTOR(dvt_dot, y, incy, .reads = true),
              DVT_ARRAY(dvt_dot, result, DVT_RESULT, .step = offsetof(dvt_dot, on_device))},
    .size = {offsetof(dvt_dot, n)},
    .chunk = CHUNK,
    .order = DVT_CHUNKS_TURN,
    .frozen = true,
    .merge = merge_dot};

#define DOT(plain, queued, T, TYPE, conjugate)                                                               \
  davit_status plain(int64_t n, const T *x, int64_t incx, const T *y, int64_t incy, T *result,               \
                     const davit_dot_options *options) {                                                     \
    return dvt_operation_call(&dot, &(dvt_dot){TYPE, n, x, incx, y, incy, result, conjugate, false},         \
                              DVT_WHERE(options));                                                           \
  }                                                                                                          \
  davit_status queued(davit_queue *queue, int64_t n, const T *x, int64_t incx, const T *y, int64_t incy,     \
                      T *result, const davit_dot_options *options) {                                         \
    return dvt_operation_enqueue(                                                                            \
        queue, &dot, &(dvt_dot){TYPE, n, x, incx, y, incy, result, conjugate, false}, DVT_WHERE(options));   \
  }
DOT(davit_ddot, davit_queue_ddot, double, DAVIT_DOUBLE, false)
DOT(davit_sdot, davit_queue_sdot, float, DAVIT_FLOAT, false)
DOT(davit_zdotu, davit_queue_zdotu, davit_complex_double, DAVIT_COMPLEX_DOUBLE, false)
DOT(davit_cdotu, davit_queue_cdotu, davit_complex_float, DAVIT_COMPLEX_FLOAT, false)
DOT(davit_zdotc, davit_queue_zdotc, davit_complex_double, DAVIT_COMPLEX_DOUBLE, true)
DOT(davit_cdotc, davit_queue_cdotc, davit_complex_float, DAVIT_COMPLEX_FLOAT, true)

/* ---- norms ---- */

static davit_status check_norm(void *arguments) {
  dvt_norm *g = arguments;
  DVT_TRY(check_vector(g->n, g->x, &g->incx));
  return dvt_check_pointer("result", g->result);
}

static void measure_norm(const void *arguments, int device, int ranges, dvt_extents *e) {
  (void)device;
  (void)ranges;
  e->result_bytes = davit_type_bytes(dvt_real_type(((const dvt_norm *)arguments)->type));
}

/* The norm of the norms: a sum for asum, a scaled sum of squares for nrm2. */
static davit_status merge_norm(const void *arguments, void *results, int64_t count) {
  const dvt_norm *g = arguments;
  const davit_type real = dvt_real_type(g->type);
  dvt_scalar norm;
  DVT_TRY(dvt_norm_host(&(dvt_site){.threads = 1},
                        &(dvt_norm){real, g->squares, count, results, 1, &norm, false}));
  return davit_copy(davit_type_bytes(real), &norm, g->result);
}

static const dvt_operation norm = {
    ROW(norm),
    .short_bytes = SIZE_MAX, /* as in dot */
    .array = {VECTOR(dvt_norm, x, incx, .reads = true),
              DVT_ARRAY(dvt_norm, result, DVT_RESULT, .step = offsetof(dvt_norm, on_device))},
    .size = {offsetof(dvt_norm, n)},
    .chunk = CHUNK,
    .measure = measure_norm,
    .order = DVT_CHUNKS_TURN,
    .frozen = true,
    .merge = merge_norm};

#define NORM(plain, queued, T, P, TYPE, squares)                                                             \
  davit_status plain(int64_t n, const T *x, int64_t incx, P *result, const davit_norm_options *options) {    \
    return dvt_operation_call(&norm, &(dvt_norm){TYPE, squares, n, x, incx, result, false},                  \
                              DVT_WHERE(options));                                                           \
  }                                                                                                          \
  davit_status queued(davit_queue *queue, int64_t n, const T *x, int64_t incx, P *result,                    \
                      const davit_norm_options *options) {                                                   \
    return dvt_operation_enqueue(queue, &norm, &(dvt_norm){TYPE, squares, n, x, incx, result, false},        \
                                 DVT_WHERE(options));                                                        \
  }
NORM(davit_dnrm2, davit_queue_dnrm2, double, double, DAVIT_DOUBLE, true)
NORM(davit_snrm2, davit_queue_snrm2, float, float, DAVIT_FLOAT, true)
NORM(davit_dznrm2, davit_queue_dznrm2, davit_complex_double, double, DAVIT_COMPLEX_DOUBLE, true)
NORM(davit_scnrm2, davit_queue_scnrm2, davit_complex_float, float, DAVIT_COMPLEX_FLOAT, true)
NORM(davit_dasum, davit_queue_dasum, double, double, DAVIT_DOUBLE, false)
NORM(davit_sasum, davit_queue_sasum, float, float, DAVIT_FLOAT, false)
NORM(davit_dzasum, davit_queue_dzasum, davit_complex_double, double, DAVIT_COMPLEX_DOUBLE, false)
NORM(davit_scasum, davit_queue_scasum, davit_complex_float, float, DAVIT_COMPLEX_FLOAT, false)

/* ---- y = alpha op(A) x + beta y ---- */

/* Lengths of y and x. */
static int64_t gemv_out(const dvt_gemv *g) {
  return g->trans == 'N' ? g->m : g->n;
}

static int64_t gemv_in(const dvt_gemv *g) {
  return g->trans == 'N' ? g->n : g->m;
}

static davit_status check_gemv(void *arguments) {
  dvt_gemv *g = arguments;
  DVT_TRY(dvt_check_trans("trans", g->type, g->trans, &g->trans));
  DVT_TRY(dvt_check_length("m", g->m));
  DVT_TRY(dvt_check_length("n", g->n));
  DVT_TRY(dvt_check_ld("lda", g->lda, g->m, g->n));
  DVT_TRY(dvt_check_increment("incx", g->incx, gemv_in(g)));
  DVT_TRY(dvt_check_increment("incy", g->incy, gemv_out(g)));
  if (g->m == 0 || g->n == 0)
    return DAVIT_SUCCESS;
  if (!g->y || (g->alpha != 0 && (!g->a || !g->x)))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", !g->y ? "y" : g->a ? "x" : "a");
  if (g->alpha != 0 &&
      dvt_vectors_overlap(g->x, gemv_in(g), g->incx, g->y, gemv_out(g), g->incy, davit_type_bytes(g->type)))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "y overlaps x");
  return DAVIT_SUCCESS;
}

/* A lane walks along x for its range of y, so that sums stay on the lane and ascend. Chunks of A are kept long in the
 * direction of the columns, which are contiguous. */
static void measure_gemv(const void *arguments, int device, int ranges, dvt_extents *e) {
  enum { A, X, Y };
  const dvt_gemv *g = arguments;
  const int64_t elements = dvt_tuned(device, DVT_TUNE_GEMV_CHUNK, MATRIX_CHUNK);
  e->rows = g->trans == 'N' ? DVT_OUT : DVT_IN;
  e->length[DVT_OUT] = gemv_out(g);
  e->length[DVT_IN] = gemv_in(g);
  e->skipped = g->alpha == 0 ? 1U << A | 1U << X : 0;
  e->unread = g->beta == 0 ? 1U << Y : 0;
  if (dvt_extents_are_empty(e))
    return;
  const int64_t range[DVT_AXES] = {dvt_divide_up(e->length[DVT_OUT], ranges), e->length[DVT_IN]};
  e->chunk[e->rows] = dvt_at_most(range[e->rows], elements);
  e->chunk[!e->rows] = dvt_at_most(dvt_at_least(elements / e->chunk[e->rows], 1), range[!e->rows]);
}

static void part_gemv(const void *arguments, const dvt_chunk *chunk, void *part) {
  const dvt_gemv *g = arguments;
  ((dvt_gemv *)part)->beta = chunk->range[DVT_IN].begin == 0 ? g->beta : 1;
}

static const dvt_operation gemv = {
    ROW(gemv),
    .short_bytes = SHORT_BYTES,
    .array = {DVT_ARRAY(dvt_gemv, a, DVT_MATRIX, .step = offsetof(dvt_gemv, lda), .reads = true),
              DVT_ARRAY(dvt_gemv, x, DVT_ALONG_IN, .step = offsetof(dvt_gemv, incx), .reads = true),
              VECTOR(dvt_gemv, y, incy, .reads = true, .writes = true)},
    .size = {offsetof(dvt_gemv, m), offsetof(dvt_gemv, n)},
    .measure = measure_gemv,
    .order = DVT_CHUNKS_STAY,
    .part = part_gemv};

#define GEMV(plain, queued, T, TYPE)                                                                         \
  davit_status plain(char trans, int64_t m, int64_t n, T alpha, const T *a, int64_t lda, const T *x,         \
                     int64_t incx, T beta, T *y, int64_t incy, const davit_gemv_options *options) {          \
    return dvt_operation_call(&gemv,                                                                         \
                              &(dvt_gemv){TYPE, trans, m, n, (double _Complex)alpha, a, lda, x, incx,        \
                                          (double _Complex)beta, y, incy},                                   \
                              DVT_WHERE(options));                                                           \
  }                                                                                                          \
  davit_status queued(davit_queue *queue, char trans, int64_t m, int64_t n, T alpha, const T *a,             \
                      int64_t lda, const T *x, int64_t incx, T beta, T *y, int64_t incy,                     \
                      const davit_gemv_options *options) {                                                   \
    return dvt_operation_enqueue(queue, &gemv,                                                               \
                                 &(dvt_gemv){TYPE, trans, m, n, (double _Complex)alpha, a, lda, x, incx,     \
                                             (double _Complex)beta, y, incy},                                \
                                 DVT_WHERE(options));                                                        \
  }
GEMV(davit_dgemv, davit_queue_dgemv, double, DAVIT_DOUBLE)
GEMV(davit_sgemv, davit_queue_sgemv, float, DAVIT_FLOAT)
GEMV(davit_zgemv, davit_queue_zgemv, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
GEMV(davit_cgemv, davit_queue_cgemv, davit_complex_float, DAVIT_COMPLEX_FLOAT)
