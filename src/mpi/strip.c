/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/strip.h"

#include <davit/event.h>
#include <davit/level3.h>
#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/mpi/transport.h"

static davit_status gemm(davit_type type, davit_queue *queue, char transb, int64_t m, int64_t n, int64_t k,
                         double alpha, const void *a, int64_t lda, const void *b, int64_t ldb, double beta,
                         void *c, int64_t ldc) {
  return type == DAVIT_FLOAT
             ? davit_queue_sgemm(queue, 'N', transb, m, n, k, (float)alpha, a, lda, b, ldb, (float)beta, c,
                                 ldc, NULL)
             : davit_queue_dgemm(queue, 'N', transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, NULL);
}

static davit_status trsm(davit_type type, davit_queue *queue, char uplo, char diag, int64_t m, int64_t n,
                         const void *a, int64_t lda, void *b, int64_t ldb) {
  return type == DAVIT_FLOAT ? davit_queue_strsm(queue, 'L', uplo, 'N', diag, m, n, 1, a, lda, b, ldb, NULL)
                             : davit_queue_dtrsm(queue, 'L', uplo, 'N', diag, m, n, 1, a, lda, b, ldb, NULL);
}

/* ---- memory ---- */

static davit_status allocate(const dvt_strips *s, int device, int64_t rows, int64_t cols, char **memory) {
  void *pointer = NULL;
  const int place = device == DAVIT_HOST ? DAVIT_PAGEABLE : device;
  const davit_status status = rows > 0 && cols > 0
                                  ? davit_malloc((size_t)rows * (size_t)cols * s->bytes, place, &pointer)
                                  : DAVIT_SUCCESS;
  *memory = pointer;
  return status;
}

/* Whether a device computes on memory of a place without a copy of it. */
static bool reaches(int device, int place) {
  return place == device || (device == DAVIT_HOST && place < 0);
}

static davit_status open_strip(dvt_strips *s, dvt_strip *strip) {
  int place = DAVIT_PAGEABLE;
  if (s->rows > 0 && strip->cols > 0)
    DVT_TRY(davit_pointer_place(s->c, &place));
  strip->copies = strip->device != DAVIT_HOST && s->panel_place != strip->device;
  strip->c = s->c + (size_t)(strip->first * s->ldc) * s->bytes;
  strip->ldc = s->ldc;
  strip->whole = (dvt_range){.cols = strip->cols, .end = s->rows};
  strip->range = &strip->whole;
  strip->ranges = 1;
  if (!reaches(strip->device, place)) {
    DVT_TRY(allocate(s, strip->device, s->rows, strip->cols, &strip->own_c));
    strip->c = strip->own_c;
    strip->ldc = dvt_at_least(s->rows, 1);
  }
  DVT_TRY(davit_queue_create(strip->device, &strip->queue, NULL));
  strip->copy = strip->queue;
  if (strip->copies)
    DVT_TRY(davit_queue_create(strip->device, &strip->copy, NULL));
  for (int turn = 0; turn < 2; turn++) {
    DVT_TRY(davit_event_create(&strip->arrived[turn]));
    DVT_TRY(davit_event_create(&strip->finished[turn]));
    if (strip->copies)
      DVT_TRY(allocate(s, strip->device, dvt_at_least(s->rows, s->width), s->width, &strip->left[turn]));
    DVT_TRY(allocate(s, strip->device, strip->cols, s->width, &strip->right[turn]));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_strips_open(dvt_strips *s, davit_type type, int64_t rows, int64_t cols, char *c, int64_t ldc,
                             int64_t width, const int *devices, int count) {
  *s = (dvt_strips){.type = type,
                    .bytes = davit_type_bytes(type),
                    .rows = rows,
                    .cols = cols,
                    .c = c,
                    .ldc = dvt_at_least(ldc, 1),
                    .width = width,
                    .count = count};
  DVT_TRY(dvt_transport_place(devices, count, &s->panel_place));
  for (int i = 0; i < count; i++) {
    dvt_strip *strip = &s->strip[i];
    strip->device = devices[i];
    strip->first = cols * i / count;
    strip->cols = cols * (i + 1) / count - strip->first;
  }
  for (int i = 0; i < count; i++)
    DVT_TRY(open_strip(s, &s->strip[i]));
  return DAVIT_SUCCESS;
}

static int64_t area(const dvt_range *range) {
  return range->cols * (range->end - range->row);
}

davit_status dvt_strips_divide(dvt_strips *s, dvt_strip *strip, const dvt_range *ranges, int64_t count) {
  void *memory = NULL;
  DVT_TRY(davit_malloc((size_t)count * sizeof *ranges, DAVIT_PAGEABLE, &memory));
  strip->range = strip->own_range = memory;
  strip->ranges = count;
  for (int64_t r = 0; r < count; r++) {
    strip->own_range[r] = ranges[r];
    strip->apart_elements += ranges[r].apart ? area(&ranges[r]) : 0;
  }
  DVT_TRY(allocate(s, strip->device, strip->apart_elements, 1, &strip->apart));
  if (strip->apart)
    DVT_TRY(davit_fill((size_t)strip->apart_elements * s->bytes, 0, strip->apart));
  char *at = strip->apart;
  for (int64_t r = 0; r < count; r++)
    if (ranges[r].apart) {
      strip->own_range[r].memory = at;
      at += (size_t)area(&ranges[r]) * s->bytes;
    }
  return DAVIT_SUCCESS;
}

davit_status dvt_strips_close(dvt_strips *s) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  for (int i = 0; i < s->count; i++) {
    if (s->strip[i].copy)
      dvt_error_keep(&failure, davit_queue_synchronize(s->strip[i].copy));
    if (s->strip[i].queue)
      dvt_error_keep(&failure, davit_queue_synchronize(s->strip[i].queue));
  }
  for (int i = 0; i < s->count; i++) {
    dvt_strip *strip = &s->strip[i];
    for (int turn = 0; turn < 2; turn++) {
      davit_event_destroy(strip->arrived[turn]);
      davit_event_destroy(strip->finished[turn]);
      davit_free(strip->left[turn]);
      davit_free(strip->right[turn]);
    }
    if (strip->copy != strip->queue)
      davit_queue_destroy(strip->copy);
    davit_queue_destroy(strip->queue);
    davit_free(strip->own_c);
    davit_free(strip->own_range);
    davit_free(strip->apart);
  }
  s->count = 0;
  return dvt_error_report(&failure);
}

/* ---- copies ---- */

static davit_status move_range(const dvt_strips *s, const dvt_strip *strip, const dvt_range *range,
                               bool load) {
  const int64_t rows = range->end - range->row, col = strip->first + range->first;
  char *c = s->c + (size_t)(range->row + col * s->ldc) * s->bytes,
       *own = strip->c + (size_t)(range->row + range->first * strip->ldc) * s->bytes;
  return load ? davit_queue_copy_2d(strip->queue, rows, range->cols, s->bytes, c, s->ldc, own, strip->ldc)
              : davit_queue_copy_2d(strip->queue, rows, range->cols, s->bytes, own, strip->ldc, c, s->ldc);
}

static davit_status move(dvt_strips *s, bool load) {
  for (int i = 0; i < s->count; i++) {
    const dvt_strip *strip = &s->strip[i];
    for (int64_t r = 0; r < strip->ranges && strip->own_c; r++)
      if (!strip->range[r].apart)
        DVT_TRY(move_range(s, strip, &strip->range[r], load));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_strips_load(dvt_strips *s) {
  return move(s, true);
}

davit_status dvt_strips_store(dvt_strips *s) {
  return move(s, false);
}

davit_status dvt_strips_read(dvt_strips *s, int64_t row, int64_t rows, void *to) {
  for (int i = 0; i < s->count; i++) {
    dvt_strip *strip = &s->strip[i];
    if (strip->cols > 0)
      DVT_TRY(davit_queue_copy_2d(strip->queue, rows, strip->cols, s->bytes,
                                  strip->c + (size_t)row * s->bytes, strip->ldc,
                                  (char *)to + (size_t)(strip->first * rows) * s->bytes, rows));
  }
  for (int i = 0; i < s->count; i++)
    DVT_TRY(davit_queue_synchronize(s->strip[i].queue));
  return DAVIT_SUCCESS;
}

davit_status dvt_strips_wait(dvt_strips *s, int turn) {
  for (int i = 0; i < s->count; i++)
    DVT_TRY(davit_event_synchronize(s->strip[i].finished[turn]));
  return DAVIT_SUCCESS;
}

/* ---- work ---- */

/* What is enqueued next finds the copies of a turn. */
static davit_status hand_over(dvt_strip *strip, int turn) {
  if (strip->copy == strip->queue)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_event_record(strip->arrived[turn], strip->copy));
  return davit_queue_wait(strip->queue, strip->arrived[turn]);
}

davit_status dvt_strips_bring(dvt_strips *s, int turn, const char *panel, int64_t rows, int64_t inner,
                              int64_t ld) {
  /* First, because after a failure the other ranks' products still need this rank to go on. */
  for (int i = 0; i < s->count; i++) {
    dvt_strip *strip = &s->strip[i];
    strip->here[turn] = strip->copies ? strip->left[turn] : panel;
    strip->here_ld[turn] = dvt_at_least(strip->copies ? rows : ld, 1);
  }
  for (int i = 0; i < s->count; i++) {
    dvt_strip *strip = &s->strip[i];
    if (!strip->copies || rows == 0 || inner == 0 || strip->cols == 0)
      continue;
    DVT_TRY(davit_queue_copy_2d(strip->copy, rows, inner, s->bytes, panel, ld, strip->left[turn], rows));
    DVT_TRY(hand_over(strip, turn));
  }
  return DAVIT_SUCCESS;
}

/* The strip's columns of all pieces, as one matrix. */
static davit_status bring_right(dvt_strips *s, dvt_strip *strip, int turn, int64_t inner, int64_t pieces,
                                const dvt_piece *right, const char **here, int64_t *ld) {
  if (pieces == 1 && !strip->copies) {
    *here = right->data + (size_t)(strip->first * right->ld) * s->bytes;
    *ld = right->ld;
    return DAVIT_SUCCESS;
  }
  char *to = strip->right[turn];
  *here = to;
  *ld = inner;
  for (int64_t i = 0; i < pieces; to += (size_t)right[i].inner * s->bytes, i++)
    DVT_TRY(davit_queue_copy_2d(strip->copy, right[i].inner, strip->cols, s->bytes,
                                right[i].data + (size_t)(strip->first * right[i].ld) * s->bytes, right[i].ld,
                                to, inner));
  return hand_over(strip, turn);
}

/* The right operand of a strip's products, on the strip's device. */
typedef struct right {
  char trans; /* 'N': inner × cols, 'T': cols × inner */
  const char *data;
  int64_t ld;
} right;

/* What of the band lies in a range. */
static davit_status multiply_range(dvt_strips *s, dvt_strip *strip, const dvt_range *range, int turn,
                                   const dvt_band *band, int64_t inner, double alpha, const right *b,
                                   double beta) {
  const int64_t end = band->row + band->rows;
  const int64_t from = dvt_at_least(range->row, band->row), to = dvt_at_most(range->end, end);
  if (from >= to || range->cols == 0)
    return DAVIT_SUCCESS;
  const bool any = inner > 0;
  const char *left = any ? strip->here[turn] + (size_t)(band->skip + from - band->row) * s->bytes : NULL;
  const int64_t at = b->trans == 'N' ? range->first * b->ld : range->first;
  char *c = strip->c + (size_t)(from + range->first * strip->ldc) * s->bytes;
  int64_t ldc = strip->ldc;
  if (range->apart) {
    c = range->memory + (size_t)(from - range->row) * s->bytes;
    ldc = range->end - range->row;
    beta = 1;
  }
  return gemm(s->type, strip->queue, b->trans, to - from, range->cols, inner, alpha, left,
              any ? strip->here_ld[turn] : to - from, any ? b->data + (size_t)at * s->bytes : NULL, b->ld,
              beta, c, ldc);
}

static davit_status multiply_ranges(dvt_strips *s, dvt_strip *strip, int turn, const dvt_band *band,
                                    int64_t inner, double alpha, const right *b, double beta) {
  for (int64_t r = 0; r < strip->ranges; r++)
    DVT_TRY(multiply_range(s, strip, &strip->range[r], turn, band, inner, alpha, b, beta));
  return davit_event_record(strip->finished[turn], strip->queue);
}

davit_status dvt_strips_multiply(dvt_strips *s, int turn, dvt_band band, int64_t inner, double alpha,
                                 int64_t pieces, const dvt_piece *data, double beta) {
  for (int i = 0; i < s->count && band.rows > 0; i++) {
    dvt_strip *strip = &s->strip[i];
    right b = {.trans = 'N', .ld = 1};
    if (strip->cols == 0)
      continue;
    if (inner > 0)
      DVT_TRY(bring_right(s, strip, turn, inner, pieces, data, &b.data, &b.ld));
    DVT_TRY(multiply_ranges(s, strip, turn, &band, inner, alpha, &b, beta));
  }
  return DAVIT_SUCCESS;
}

/* The strip's columns of all runs, as one matrix with a row for each. */
static davit_status gather_right(dvt_strips *s, dvt_strip *strip, int turn, int64_t inner, int64_t run_count,
                                 const dvt_run *runs) {
  for (int64_t i = 0; i < run_count; i++) {
    const dvt_run *run = &runs[i];
    const int64_t from = dvt_at_least(run->first, strip->first),
                  to = dvt_at_most(run->first + run->cols, strip->first + strip->cols);
    if (from >= to)
      continue;
    const char *data = run->data ? run->data : strip->here[turn];
    DVT_TRY(davit_queue_copy_2d(strip->copy, to - from, inner, s->bytes,
                                data + (size_t)(run->row + from - run->first) * s->bytes,
                                run->data ? run->ld : strip->here_ld[turn],
                                strip->right[turn] + (size_t)(from - strip->first) * s->bytes, strip->cols));
  }
  return hand_over(strip, turn);
}

davit_status dvt_strips_update(dvt_strips *s, int turn, int64_t inner, double alpha, int64_t run_count,
                               const dvt_run *runs, double beta) {
  const dvt_band all = {.rows = s->rows};
  for (int i = 0; i < s->count && s->rows > 0; i++) {
    dvt_strip *strip = &s->strip[i];
    const right b = {.trans = 'T', .data = strip->right[turn], .ld = strip->cols};
    if (strip->cols == 0)
      continue;
    DVT_TRY(gather_right(s, strip, turn, inner, run_count, runs));
    DVT_TRY(multiply_ranges(s, strip, turn, &all, inner, alpha, &b, beta));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_strips_solve(dvt_strips *s, int turn, dvt_band band, char uplo, char diag) {
  for (int i = 0; i < s->count && band.rows > 0; i++) {
    dvt_strip *strip = &s->strip[i];
    if (strip->cols > 0)
      DVT_TRY(trsm(s->type, strip->queue, uplo, diag, band.rows, strip->cols,
                   strip->here[turn] + (size_t)band.skip * s->bytes, strip->here_ld[turn],
                   strip->c + (size_t)band.row * s->bytes, strip->ldc));
  }
  return DAVIT_SUCCESS;
}
