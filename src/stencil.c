/* SPDX-License-Identifier: Apache-2.0 */
/* The stencil. Reads a once and writes b once: where they lie on the
 * host, the link's 2 rows cols elements are the floor. */
#include <davit/stencil.h>
#include <string.h>

#include "offload/stencil.h"
#include "src/base/arithmetic.h"
#include "src/runtime/split.h"
#include "src/runtime/tuning.h"
#include "src/shape.h"

const double davit_stencil_coefficients[9] = {0.2, -0.3, 0.4, 0.5, 0.6, 0.7, -0.8, -0.9, 0.1};

static davit_status check(void *arguments) {
  const dvt_stencil *s = arguments;
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

static dvt_stencil make(davit_type type, int64_t rows, int64_t cols, const void *a, int64_t lda,
                        const double *coefficients, const davit_stencil_options *options, void *b,
                        int64_t ldb) {
  dvt_stencil s = {.type = type,
                   .rows = rows,
                   .cols = cols,
                   .a = a,
                   .lda = lda,
                   .border = options ? options->border : DAVIT_STENCIL_BORDER_UNTOUCHED,
                   .edges = DVT_TOP | DVT_BOTTOM | DVT_LEFT | DVT_RIGHT,
                   .b = b,
                   .ldb = ldb};
  memcpy(s.coefficients, coefficients ? coefficients : davit_stencil_coefficients, sizeof s.coefficients);
  return s;
}

static void tune(void *arguments, int device) {
  dvt_stencil *s = arguments;
  s->threads = dvt_tuned(device, DVT_TUNE_STENCIL_TEAM_THREADS, 0);
  s->columns = dvt_tuned(device, DVT_TUNE_STENCIL_COLUMNS, 0);
}

/* A chunk is as wide as CHUNK_BYTES allow, MIN_COLS columns at least, and reads one more row or column at each side
 * that is no edge of the matrix. Columns too long for that are cut as well. */
enum { CHUNK_BYTES = 32 << 20, MIN_COLS = 4 };

static void measure(const void *arguments, int device, int ranges, dvt_extents *e) {
  const dvt_stencil *s = arguments;
  const int64_t bytes = dvt_tuned(device, DVT_TUNE_STENCIL_CHUNK_BYTES, CHUNK_BYTES);
  (void)ranges;
  e->rows = DVT_IN;
  e->length[DVT_OUT] = s->cols;
  e->length[DVT_IN] = s->rows;
  e->chunk[DVT_IN] = dvt_at_least(dvt_at_most(s->rows, bytes / 64), 1);
  e->chunk[DVT_OUT] = dvt_at_least(bytes / e->chunk[DVT_IN] / (int64_t)e->element, MIN_COLS);
  e->untouched = s->border == DAVIT_STENCIL_BORDER_UNTOUCHED;
}

static void part(const void *arguments, const dvt_chunk *chunk, void *part) {
  const dvt_stencil *s = arguments;
  const dvt_range rows = chunk->range[DVT_IN], cols = chunk->range[DVT_OUT];
  ((dvt_stencil *)part)->edges = (rows.begin == 0 ? DVT_TOP : 0) | (rows.end == s->rows ? DVT_BOTTOM : 0) |
                                 (cols.begin == 0 ? DVT_LEFT : 0) | (cols.end == s->cols ? DVT_RIGHT : 0);
}

static const dvt_operation operation = {
    .name = "stencil",
    .bytes = DVT_BYTES_OF(dvt_stencil),
    .typed = true,
    .check = check,
    .stream = dvt_stencil_device,
    .host = dvt_stencil_host,
    .region = dvt_stencil_device,
    .tune = tune,
    .tuned_threads = DVT_TUNE_STENCIL_THREADS,
    .array = {DVT_ARRAY(dvt_stencil, a, DVT_MATRIX, .step = offsetof(dvt_stencil, lda), .reads = true,
                        .border = 1),
              DVT_ARRAY(dvt_stencil, b, DVT_MATRIX, .step = offsetof(dvt_stencil, ldb), .writes = true)},
    .size = {offsetof(dvt_stencil, rows), offsetof(dvt_stencil, cols)},
    .measure = measure,
    .order = DVT_CHUNKS_TURN,
    .part = part};

davit_status dvt_stencil_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  dvt_stencil s = {.type = DAVIT_DOUBLE, .lda = 2, .ldb = 2};
  tune(&s, device);
  return dvt_stencil_fit(stream, &s, fit);
}

davit_status davit_queue_stencil(davit_queue *queue, davit_type type, int64_t rows, int64_t cols,
                                 const void *a, int64_t lda, const double *coefficients, void *b, int64_t ldb,
                                 const davit_stencil_options *options) {
  dvt_stencil s = make(type, rows, cols, a, lda, coefficients, options, b, ldb);
  return dvt_operation_enqueue(queue, &operation, &s, DVT_WHERE(options));
}

davit_status davit_stencil(davit_type type, int64_t rows, int64_t cols, const void *a, int64_t lda,
                           const double *coefficients, void *b, int64_t ldb,
                           const davit_stencil_options *options) {
  dvt_stencil s = make(type, rows, cols, a, lda, coefficients, options, b, ldb);
  return dvt_operation_call(&operation, &s, DVT_WHERE(options));
}
