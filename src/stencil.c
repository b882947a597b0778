/* SPDX-License-Identifier: Apache-2.0 */
/* The stencil: on a queue, and spread over devices. Reads a once and writes b once: where they lie on the
 * host, the link's 2 rows cols elements are the floor. */
#include <davit/stencil.h>
#include <string.h>

#include "offload/stencil.h"
#include "src/base/arithmetic.h"
#include "src/base/team.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/spread.h"
#include "src/runtime/tuning.h"
#include "src/shape.h"

const double davit_stencil_coefficients[9] = {0.2, -0.3, 0.4, 0.5, 0.6, 0.7, -0.8, -0.9, 0.1};

static davit_status check(const dvt_stencil *s) {
  DVT_TRY(dvt_check_floating(s->type));
  DVT_TRY(dvt_check_length("rows", s->rows));
  DVT_TRY(dvt_check_length("cols", s->cols));
  DVT_TRY(dvt_check_ld("lda", s->lda, s->rows, s->cols));
  DVT_TRY(dvt_check_ld("ldb", s->ldb, s->rows, s->cols));
  if ((unsigned)s->border > DAVIT_STENCIL_BORDER_ZERO)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->border is %d, not a davit_stencil_border",
                      (int)s->border);
  if (s->rows == 0 || s->cols == 0)
    return DAVIT_SUCCESS;
  if (!s->a || !s->b)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", s->a ? "b" : "a");
  if (dvt_blocks_overlap(s->a, s->lda, s->rows, s->cols, s->b, s->ldb, s->rows, s->cols,
                         davit_type_bytes(s->type)))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "b overlaps a");
  return DAVIT_SUCCESS;
}

static davit_status make(dvt_stencil *s, davit_type type, int64_t rows, int64_t cols, const void *a,
                         int64_t lda, const double *coefficients, davit_stencil_border border, void *b,
                         int64_t ldb) {
  *s = (dvt_stencil){.type = type,
                     .rows = rows,
                     .cols = cols,
                     .a = a,
                     .lda = lda,
                     .border = border,
                     .edges = DVT_TOP | DVT_BOTTOM | DVT_LEFT | DVT_RIGHT,
                     .b = b,
                     .ldb = ldb};
  memcpy(s->coefficients, coefficients ? coefficients : davit_stencil_coefficients, sizeof s->coefficients);
  return check(s);
}

static const dvt_operation operation = {.name = "stencil",
                                        .bytes = sizeof(dvt_stencil),
                                        .stream = dvt_stencil_device,
                                        .host = dvt_stencil_host,
                                        .region = dvt_stencil_device,
                                        .tuned_threads = DVT_TUNE_STENCIL_THREADS};

static void choose_shape(int device, dvt_stencil *s) {
  s->threads = dvt_tuned(device, DVT_TUNE_STENCIL_TEAM_THREADS, 0);
  s->columns = dvt_tuned(device, DVT_TUNE_STENCIL_COLUMNS, 0);
}

static davit_status submit(dvt_lane *lane, const dvt_stencil *s) {
  dvt_stencil tuned = *s;
  choose_shape(lane->device, &tuned);
  return s->rows == 0 || s->cols == 0 ? DAVIT_SUCCESS : dvt_operation_submit(lane, &operation, &tuned, 0);
}

davit_status dvt_stencil_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  dvt_stencil s = {.type = DAVIT_DOUBLE, .lda = 2, .ldb = 2};
  choose_shape(device, &s);
  return dvt_stencil_fit(stream, &s, fit);
}

static davit_stencil_border border_of(const davit_stencil_options *options) {
  return options ? options->border : DAVIT_STENCIL_BORDER_UNTOUCHED;
}

davit_status davit_queue_stencil(davit_queue *queue, davit_type type, int64_t rows, int64_t cols,
                                 const void *a, int64_t lda, const double *coefficients, void *b, int64_t ldb,
                                 const davit_stencil_options *options) {
  dvt_lane *lane = dvt_queue_lane(queue);
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  dvt_stencil s;
  DVT_TRY(DVT_CHECK_QUEUE_OPTIONS(options));
  DVT_TRY(make(&s, type, rows, cols, a, lda, coefficients, border_of(options), b, ldb));
  if (DVT_MAPPED(options))
    DVT_TRY(DVT_USE_MAPPED(lane->device, {"a", &s.a, rows == 0 || cols == 0},
                           {"b", &s.b, rows == 0 || cols == 0}));
  return submit(lane, &s);
}

/* ---- over several devices ---- */

/* Each device gets a range of columns, in chunks that rotate over its lanes. A chunk is as wide as CHUNK
 * bytes allow, one column at least, and reads one more row or column at each side that is no border of the
 * matrix. Columns too long for that are cut as well. */
enum { CHUNK = 32 << 20, MIN_COLS = 4 };

/* `range` of `length` with its neighbours. */
static dvt_span widened(dvt_span range, int64_t length) {
  return (dvt_span){range.begin > 0 ? range.begin - 1 : 0, range.end < length ? range.end + 1 : length};
}

static void *at(const void *base, int64_t ld, int64_t row, int64_t column, size_t element) {
  return (char *)(uintptr_t)base + (row + column * ld) * (int64_t)element;
}

/* What of a chunk is written: all but borders that are to stay untouched. */
static dvt_span written(const dvt_stencil *s, dvt_span range, int64_t length) {
  bool whole = s->border != DAVIT_STENCIL_BORDER_UNTOUCHED;
  dvt_span w = {whole || range.begin > 0 ? range.begin : 1,
                whole || range.end < length ? range.end : length - 1};
  return w.end < w.begin ? (dvt_span){w.begin, w.begin} : w;
}

static davit_status store(dvt_spread_lane *lane, const dvt_stencil *s, dvt_span rows, dvt_span cols, void *b,
                          size_t pitch) {
  size_t element = davit_type_bytes(s->type);
  dvt_span r = written(s, rows, s->rows), c = written(s, cols, s->cols);
  if (r.begin >= r.end || c.begin >= c.end)
    return DAVIT_SUCCESS;
  void *from = (char *)b + (size_t)(r.begin - rows.begin) * element + (size_t)(c.begin - cols.begin) * pitch;
  return dvt_spread_store(lane, from, pitch, at(s->b, s->ldb, r.begin, c.begin, element),
                          (size_t)s->ldb * element, (size_t)(r.end - r.begin) * element,
                          (size_t)(c.end - c.begin));
}

static davit_status run_chunk(dvt_spread *run, dvt_spread_lane *lane, const dvt_stencil *s, dvt_span rows,
                              dvt_span cols) {
  size_t element = davit_type_bytes(s->type), pitch_a, pitch_b;
  dvt_span r = widened(rows, s->rows), c = widened(cols, s->cols);
  void *a, *b;
  DVT_TRY(dvt_spread_operand(run, lane, 0, true, at(s->a, s->lda, r.begin, c.begin, element),
                             (size_t)s->lda * element, (size_t)(r.end - r.begin) * element,
                             (size_t)(c.end - c.begin), &a, &pitch_a));
  DVT_TRY(dvt_spread_operand(run, lane, 1, false, at(s->b, s->ldb, rows.begin, cols.begin, element),
                             (size_t)s->ldb * element, (size_t)(rows.end - rows.begin) * element,
                             (size_t)(cols.end - cols.begin), &b, &pitch_b));
  dvt_stencil part = *s;
  part.rows = rows.end - rows.begin;
  part.cols = cols.end - cols.begin;
  part.lda = (int64_t)(pitch_a / element);
  part.a = at(a, part.lda, rows.begin - r.begin, cols.begin - c.begin, element);
  part.b = b;
  part.ldb = (int64_t)(pitch_b / element);
  part.edges = (rows.begin == 0 ? DVT_TOP : 0) | (rows.end == s->rows ? DVT_BOTTOM : 0) |
               (cols.begin == 0 ? DVT_LEFT : 0) | (cols.end == s->cols ? DVT_RIGHT : 0);
  DVT_TRY(submit(lane->lane, &part));
  return store(lane, s, rows, cols, b, pitch_b);
}

typedef struct chunk_shape {
  int64_t rows, cols;
} chunk_shape;

static chunk_shape shape_of(const dvt_stencil *s, int64_t bytes) {
  int64_t rows = dvt_at_most(s->rows, bytes / 64),
          fitting = bytes / rows / (int64_t)davit_type_bytes(s->type);
  return (chunk_shape){rows, dvt_at_most(s->cols, dvt_at_least(fitting, MIN_COLS))};
}

static davit_status run_device(dvt_spread *run, dvt_spread_device *device, const dvt_stencil *s,
                               chunk_shape shape, dvt_span range) {
  int64_t chunk = 0;
  for (int64_t j = range.begin; j < range.end; j += shape.cols)
    for (int64_t i = 0; i < s->rows; i += shape.rows, chunk++)
      DVT_TRY(run_chunk(run, &device->lane[chunk % DVT_SPREAD_LANES], s,
                        (dvt_span){i, dvt_at_most(i + shape.rows, s->rows)},
                        (dvt_span){j, dvt_at_most(j + shape.cols, range.end)}));
  return DAVIT_SUCCESS;
}

static davit_status run_all(dvt_spread *run, const dvt_stencil *s, chunk_shape shape) {
  for (int i = 0; i < run->devices; i++) {
    DVT_TRY(run_device(run, &run->device[i], s, shape, dvt_spread_range(s->cols, i, run->devices)));
  }
  return DAVIT_SUCCESS;
}

davit_status davit_stencil(davit_type type, int64_t rows, int64_t cols, const void *a, int64_t lda,
                           const double *coefficients, void *b, int64_t ldb,
                           const davit_stencil_options *options) {
  int chosen[DVT_MAX_DEVICES], count;
  dvt_stencil s;
  DVT_TRY(make(&s, type, rows, cols, a, lda, coefficients, border_of(options), b, ldb));
  DVT_TRY(DVT_CHOOSE_WITH_MAPPED(options, chosen, &count));
  if (DVT_MAPPED(options))
    DVT_TRY(
        DVT_USE_MAPPED(chosen[0], {"a", &s.a, rows == 0 || cols == 0}, {"b", &s.b, rows == 0 || cols == 0}));
  if (rows == 0 || cols == 0)
    return DAVIT_SUCCESS;
  if (dvt_spread_is_home(chosen, count, options && options->devices, 2, (const void *[]){s.a, s.b}) &&
      dvt_operation_runs_here(chosen[0], &operation, 0))
    return dvt_operation_run_here(chosen[0], &operation, &s, count > 1 ? dvt_threads() : 0);
  dvt_spread run;
  chunk_shape shape = shape_of(&s, dvt_tuned(chosen[0], DVT_TUNE_STENCIL_CHUNK_BYTES, CHUNK));
  size_t buffer = (size_t)(shape.rows + 2) * (size_t)(shape.cols + 2) * davit_type_bytes(s.type);
  DVT_TRY(dvt_spread_open(&run, chosen, count, buffer));
  return dvt_spread_close(&run, run_all(&run, &s, shape));
}
