/* SPDX-License-Identifier: Apache-2.0 */
/* y = alpha op(A) x + beta y: on a queue, and spread over devices. 2 m n flops over m n elements of A, each
 * read once: where A lies on the host the link's m n elements are the floor. */
#include <davit/gemv.h>

#include "offload/blas.h"
#include "src/runtime/operation.h"
#include "src/runtime/spread.h"
#include "src/runtime/tuning.h"

/* Lengths of y and x. */
static int64_t outer(const dvt_gemv *g) {
  return g->trans == 'N' ? g->m : g->n;
}

static int64_t inner(const dvt_gemv *g) {
  return g->trans == 'N' ? g->n : g->m;
}

static davit_status check(void *arguments) {
  dvt_gemv *g = arguments;
  DVT_TRY(dvt_check_trans("trans", g->type, g->trans, &g->trans));
  DVT_TRY(dvt_check_length("m", g->m));
  DVT_TRY(dvt_check_length("n", g->n));
  DVT_TRY(dvt_check_ld("lda", g->lda, g->m, g->n));
  DVT_TRY(dvt_check_increment("incx", g->incx, g->trans == 'N' ? g->n : g->m));
  DVT_TRY(dvt_check_increment("incy", g->incy, g->trans == 'N' ? g->m : g->n));
  if (g->m == 0 || g->n == 0)
    return DAVIT_SUCCESS;
  if (!g->y || (g->alpha != 0 && (!g->a || !g->x)))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", !g->y ? "y" : g->a ? "x" : "a");
  size_t element = davit_type_bytes(g->type);
  if (g->alpha != 0 && dvt_vectors_overlap(g->x, inner(g), g->incx, g->y, outer(g), g->incy, element))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "y overlaps x");
  return DAVIT_SUCCESS;
}

static davit_status use_mapped(void *arguments, int device) {
  dvt_gemv *g = arguments;
  const bool nothing = g->m == 0 || g->n == 0, unread = nothing || g->alpha == 0;
  return DVT_USE_MAPPED(device, {"a", &g->a, unread}, {"x", &g->x, unread}, {"y", &g->y, nothing});
}

static const dvt_operation operation = {.name = "gemv",
                                        .bytes = sizeof(dvt_gemv),
                                        .check = check,
                                        .stream = dvt_gemv_stream,
                                        .prepare = dvt_blas_prepare,
                                        .host = dvt_gemv_host,
                                        .region = dvt_gemv_region,
                                        .region_on_host = true,
                                        .serial = true,
                                        .use_mapped = use_mapped};

/* ---- over several devices ---- */

/* A lane owns a range of y and walks along x for it, so that sums stay on the lane and ascend. A chunk of A
 * is at most CHUNK elements; chunks are kept long in the direction of the columns, which are contiguous. */
enum { CHUNK = 1 << 21 };

static dvt_span along(int64_t begin, int64_t length, int64_t end) {
  return (dvt_span){begin, end - begin < length ? end : begin + length};
}

static davit_status run_chunk(dvt_spread *run, dvt_spread_lane *lane, const dvt_gemv *g, dvt_span out,
                              dvt_span in, void *y, int64_t incy) {
  size_t element = davit_type_bytes(g->type), pitch_a = 0, pitch_x = 0;
  dvt_span rows = g->trans == 'N' ? out : in, cols = g->trans == 'N' ? in : out;
  void *a = NULL, *x = NULL;
  if (g->alpha != 0) {
    char *block = (char *)(uintptr_t)g->a + (size_t)(rows.begin + cols.begin * g->lda) * element;
    DVT_TRY(dvt_spread_operand(run, lane, 0, true, block, (size_t)g->lda * element,
                               (size_t)(rows.end - rows.begin) * element, (size_t)(cols.end - cols.begin), &a,
                               &pitch_a));
    dvt_spread_chunk part = dvt_spread_cut(g->x, inner(g), g->incx, in.begin, in.end, element);
    DVT_TRY(dvt_spread_operand(run, lane, 1, true, part.base, part.pitch, part.row_bytes, part.cols, &x,
                               &pitch_x));
  }
  dvt_gemv part = *g;
  part.m = rows.end - rows.begin;
  part.n = cols.end - cols.begin;
  part.a = a;
  part.lda = a ? (int64_t)(pitch_a / element) : part.m;
  part.x = x;
  part.incx = dvt_spread_step(g->incx, pitch_x ? pitch_x : element, element);
  part.beta = in.begin == 0 ? g->beta : 1;
  part.y = y;
  part.incy = incy;
  return dvt_operation_submit(lane->lane, &operation, &part, 0);
}

static davit_status run_range(dvt_spread *run, dvt_spread_lane *lane, const dvt_gemv *g, dvt_span range) {
  size_t element = davit_type_bytes(g->type), pitch;
  int64_t length_in = inner(g), chunk_in = length_in, chunk_out;
  int64_t chunk = (int64_t)(run->buffer_bytes / element);
  if (g->trans == 'N') {
    chunk_out = range.end - range.begin < chunk ? range.end - range.begin : chunk;
    chunk_in = chunk / (chunk_out > 0 ? chunk_out : 1);
  } else {
    chunk_in = length_in < chunk ? length_in : chunk;
    chunk_out = chunk / chunk_in;
  }
  for (dvt_span out = {range.begin, range.begin}; out.end < range.end;) {
    out = along(out.end, chunk_out, range.end);
    dvt_spread_chunk home = dvt_spread_cut(g->y, outer(g), g->incy, out.begin, out.end, element);
    void *y;
    DVT_TRY(dvt_spread_operand(run, lane, 2, g->beta != 0, home.base, home.pitch, home.row_bytes, home.cols,
                               &y, &pitch));
    int64_t incy = dvt_spread_step(g->incy, pitch, element);
    for (dvt_span in = {0, 0}; in.end < length_in;) {
      in = along(in.end, chunk_in, length_in);
      DVT_TRY(run_chunk(run, lane, g, out, in, y, incy));
    }
    DVT_TRY(dvt_spread_store(lane, y, pitch, home.base, home.pitch, home.row_bytes, home.cols));
  }
  return DAVIT_SUCCESS;
}

static davit_status run_all(dvt_spread *run, const dvt_gemv *g) {
  int lanes = run->devices * DVT_SPREAD_LANES;
  for (int i = 0; i < lanes; i++) {
    dvt_spread_lane *lane = &run->device[i / DVT_SPREAD_LANES].lane[i % DVT_SPREAD_LANES];
    DVT_TRY(run_range(run, lane, g, dvt_spread_range(outer(g), i, lanes)));
  }
  return DAVIT_SUCCESS;
}

static davit_status spread(dvt_gemv *g, const davit_gemv_options *options) {
  int chosen[DVT_MAX_DEVICES], count;
  DVT_TRY(check(g));
  DVT_TRY(DVT_CHOOSE_WITH_MAPPED(options, chosen, &count));
  if (DVT_MAPPED(options))
    DVT_TRY(use_mapped(g, chosen[0]));
  if (g->m == 0 || g->n == 0)
    return DAVIT_SUCCESS;
  if (dvt_spread_is_short(&operation, chosen, count, options && options->devices, 3,
                          (const void *[]){g->a, g->x, g->y},
                          (double)g->m * (double)g->n * (double)davit_type_bytes(g->type)))
    return dvt_operation_run_here(chosen[0], &operation, g, DVT_ALONE);
  dvt_spread run;
  size_t chunk = (size_t)dvt_tuned(chosen[0], DVT_TUNE_GEMV_CHUNK, CHUNK);
  DVT_TRY(dvt_spread_open(&run, chosen, count, chunk * davit_type_bytes(g->type)));
  return dvt_spread_close(&run, run_all(&run, g));
}

/* ---- the calls ---- */

#define DEFINE(p, T, TYPE)                                                                                   \
  davit_status davit_##p##gemv(char trans, int64_t m, int64_t n, T alpha, const T *a, int64_t lda,           \
                               const T *x, int64_t incx, T beta, T *y, int64_t incy,                         \
                               const davit_gemv_options *options) {                                          \
    return spread(&(dvt_gemv){TYPE, trans, m, n, (double _Complex)alpha, a, lda, x, incx,                    \
                              (double _Complex)beta, y, incy},                                               \
                  options);                                                                                  \
  }                                                                                                          \
  davit_status davit_queue_##p##gemv(davit_queue *queue, char trans, int64_t m, int64_t n, T alpha,          \
                                     const T *a, int64_t lda, const T *x, int64_t incx, T beta, T *y,        \
                                     int64_t incy, const davit_gemv_options *options) {                      \
    DVT_TRY(DVT_CHECK_QUEUE_OPTIONS(options));                                                               \
    return dvt_operation_enqueue(queue, &operation,                                                          \
                                 &(dvt_gemv){TYPE, trans, m, n, (double _Complex)alpha, a, lda, x, incx,     \
                                             (double _Complex)beta, y, incy},                                \
                                 DVT_MAPPED(options));                                                       \
  }
DEFINE(d, double, DAVIT_DOUBLE)
DEFINE(s, float, DAVIT_FLOAT)
DEFINE(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
DEFINE(c, davit_complex_float, DAVIT_COMPLEX_FLOAT)
