/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/strip.h"

#include <davit/event.h>
#include <davit/level3.h>
#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/mpi/transport.h"

static davit_status gemm(davit_type type, davit_queue *queue, int64_t m, int64_t n, int64_t k, double alpha,
                         const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c,
                         int64_t ldc) {
  return type == DAVIT_FLOAT
             ? davit_queue_sgemm(queue, 'N', 'N', m, n, k, (float)alpha, a, lda, b, ldb, (float)beta, c, ldc,
                                 NULL)
             : davit_queue_dgemm(queue, 'N', 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, NULL);
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
  strip->range[0] = (dvt_range){0, strip->cols, 0, s->rows};
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
  }
  s->count = 0;
  return dvt_error_report(&failure);
}

/* ---- copies ---- */

static davit_status move(dvt_strips *s, bool load) {
  for (int i = 0; i < s->count; i++) {
    dvt_strip *strip = &s->strip[i];
    char *c = s->c + (size_t)(strip->first * s->ldc) * s->bytes;
    if (!strip->own_c)
      continue;
    DVT_TRY(load ? davit_queue_copy_2d(strip->queue, s->rows, strip->cols, s->bytes, c, s->ldc, strip->c,
                                       strip->ldc)
                 : davit_queue_copy_2d(strip->queue, s->rows, strip->cols, s->bytes, strip->c, strip->ldc, c,
                                       s->ldc));
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

/* What of the band lies in a range. */
static davit_status multiply_range(dvt_strips *s, dvt_strip *strip, const dvt_range *range, int turn,
                                   const dvt_band *band, int64_t inner, double alpha, const char *right,
                                   int64_t ld, double beta) {
  const int64_t end = band->row + band->rows;
  const int64_t from = dvt_at_least(range->row, band->row), to = dvt_at_most(range->end, end);
  if (from >= to || range->cols == 0)
    return DAVIT_SUCCESS;
  const char *a = inner > 0 ? strip->here[turn] + (size_t)(band->skip + from - band->row) * s->bytes : NULL;
  return gemm(s->type, strip->queue, to - from, range->cols, inner, alpha, a,
              inner > 0 ? strip->here_ld[turn] : to - from,
              inner > 0 ? right + (size_t)(range->first * ld) * s->bytes : NULL, ld, beta,
              strip->c + (size_t)(from + range->first * strip->ldc) * s->bytes, strip->ldc);
}

davit_status dvt_strips_multiply(dvt_strips *s, int turn, dvt_band band, int64_t inner, double alpha,
                                 int64_t pieces, const dvt_piece *right, double beta) {
  for (int i = 0; i < s->count && band.rows > 0; i++) {
    dvt_strip *strip = &s->strip[i];
    const char *here = NULL;
    int64_t ld = 1;
    if (strip->cols == 0)
      continue;
    if (inner > 0)
      DVT_TRY(bring_right(s, strip, turn, inner, pieces, right, &here, &ld));
    for (int r = 0; r < strip->ranges; r++)
      DVT_TRY(multiply_range(s, strip, &strip->range[r], turn, &band, inner, alpha, here, ld, beta));
    DVT_TRY(davit_event_record(strip->finished[turn], strip->queue));
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
