/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/strip.h"

#include <davit/event.h>
#include <davit/level3.h>
#include <davit/memory.h>

#include "src/base/arithmetic.h"

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

static bool has_work(const dvt_strips *s, const dvt_strip *strip) {
  return s->rows > 0 && strip->cols > 0;
}

/* Whether a device computes on memory of a place without a copy of it. */
static bool reaches(int device, int place) {
  return place == device || (device == DAVIT_HOST && place < 0);
}

static bool copies(const dvt_strips *s, int device) {
  return device != DAVIT_HOST && s->transport.place != device;
}

static davit_status open_turn(const dvt_strips *s, dvt_strip *strip, dvt_turn *turn) {
  DVT_TRY(davit_event_create(&turn->arrived));
  DVT_TRY(davit_event_create(&turn->moved));
  DVT_TRY(davit_event_create(&turn->finished));
  return strip->copies
             ? allocate(s, strip->device, dvt_at_least(s->rows, s->width), s->width, &turn->left_copy)
             : DAVIT_SUCCESS;
}

static davit_status open_strip(dvt_strips *s, dvt_strip *strip, int place) {
  strip->copies = copies(s, strip->device);
  strip->c = has_work(s, strip) ? s->c + (size_t)(strip->first * s->ldc) * s->bytes : NULL;
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
  if (strip->own_c)
    DVT_TRY(davit_queue_create(strip->device, &strip->back, NULL));
  DVT_TRY(davit_event_create(&strip->ready));
  DVT_TRY(allocate(s, strip->device, strip->cols * s->width, s->turns, &strip->right));
  for (int t = 0; t < s->turns; t++) {
    strip->turn[t].right_copy =
        strip->right ? strip->right + (size_t)(t * strip->cols * s->width) * s->bytes : NULL;
    DVT_TRY(open_turn(s, strip, &strip->turn[t]));
  }
  return DAVIT_SUCCESS;
}

/* What the strips' devices can spare for panels, whatever the size of C. */
static double spare_bytes(const dvt_strips *s) {
  double spare = (double)((size_t)1 << 30);
  for (int i = 0; i < s->count; i++) {
    size_t available, all;
    if (davit_device_memory(s->strip[i].device, &available, &all) == DAVIT_SUCCESS &&
        (double)available / 16 < spare)
      spare = (double)available / 16;
  }
  return spare;
}

/* `place` is that of C. */
static void choose_turns(dvt_strips *s, int place) {
  /* Products of so many inner indices, which wait, take as long as C is stored, of which floats have half the bytes. */
  const int64_t wait = s->bytes == sizeof(float) ? 3072 : 6144;
  const double small = spare_bytes(s) / (double)s->bytes;
  bool copy = true, stores = true;
  int64_t cols = s->cols; /* of the smallest strip */
  for (int i = 0; i < s->count; i++) {
    const dvt_strip *strip = &s->strip[i];
    copy = copy && copies(s, strip->device);
    if (!has_work(s, strip))
      continue;
    stores = stores && !reaches(strip->device, place);
    cols = dvt_at_most(cols, strip->cols);
  }
  const double part = (double)s->rows * (double)cols, panels = (double)s->width * (double)(s->rows + cols);
  const double most = part < small ? (small < 4 * part ? small : 4 * part) : part;
  while (copy && panels > 0 && s->turns < DVT_TURNS_MAXIMUM && (s->turns + 1) * panels <= most)
    s->turns++;
  s->last =
      copy && stores ? (int)dvt_at_most(s->turns, dvt_at_least(wait / dvt_at_least(s->width, 1), 1)) : 1;
  s->slab = copy ? s->turns / 2 : 1;
}

davit_status dvt_strips_open(dvt_strips *s, const davit_mpi_grid *grid, davit_type type, int64_t rows,
                             int64_t cols, char *c, int64_t ldc, int64_t width, const int *devices,
                             int count) {
  *s = (dvt_strips){.type = type,
                    .bytes = davit_type_bytes(type),
                    .rows = rows,
                    .cols = cols,
                    .c = c,
                    .ldc = dvt_at_least(ldc, 1),
                    .width = width,
                    .turns = DVT_TURNS_MINIMUM,
                    .count = count};
  int place = DAVIT_PAGEABLE; /* of C */
  if (rows > 0 && cols > 0)
    DVT_TRY(davit_pointer_place(c, &place));
  DVT_TRY(dvt_transport_choose(devices, count, dvt_grid_on_machine(grid), &s->transport));
  for (int i = 0; i < count; i++) {
    dvt_strip *strip = &s->strip[i];
    strip->device = devices[i];
    strip->first = cols * i / count;
    strip->cols = cols * (i + 1) / count - strip->first;
  }
  choose_turns(s, place);
  for (int i = 0; i < count; i++)
    DVT_TRY(open_strip(s, &s->strip[i], place));
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

static void synchronize(davit_queue *queue, dvt_error *failure) {
  if (queue)
    dvt_error_keep(failure, davit_queue_synchronize(queue));
}

davit_status dvt_strips_drain(dvt_strips *s) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  for (int i = 0; i < s->count; i++) {
    synchronize(s->strip[i].copy, &failure);
    synchronize(s->strip[i].queue, &failure);
  }
  return dvt_error_report(&failure);
}

davit_status dvt_strips_close(dvt_strips *s) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&failure, dvt_strips_drain(s));
  for (int i = 0; i < s->count; i++)
    synchronize(s->strip[i].back, &failure);
  for (int i = 0; i < s->count; i++) {
    dvt_strip *strip = &s->strip[i];
    for (int t = 0; t < s->turns; t++) {
      davit_event_destroy(strip->turn[t].arrived);
      davit_event_destroy(strip->turn[t].moved);
      davit_event_destroy(strip->turn[t].finished);
      davit_free(strip->turn[t].left_copy);
    }
    if (strip->copy != strip->queue)
      davit_queue_destroy(strip->copy);
    davit_queue_destroy(strip->back);
    davit_queue_destroy(strip->queue);
    davit_event_destroy(strip->ready);
    davit_free(strip->right);
    davit_free(strip->own_c);
    davit_free(strip->own_range);
    davit_free(strip->apart);
  }
  s->count = 0;
  return dvt_error_report(&failure);
}

static dvt_turn *turn_of(const dvt_strips *s, dvt_strip *strip, int64_t t) {
  return &strip->turn[t % s->turns];
}

/* ---- copies ---- */

static davit_status move_range(const dvt_strips *s, const dvt_strip *strip, const dvt_range *range, bool load,
                               davit_queue *queue) {
  const int64_t rows = range->end - range->row, col = strip->first + range->first;
  char *c = s->c + (size_t)(range->row + col * s->ldc) * s->bytes,
       *own = strip->c + (size_t)(range->row + range->first * strip->ldc) * s->bytes;
  return load ? davit_queue_copy_2d(queue, rows, range->cols, s->bytes, c, s->ldc, own, strip->ldc)
              : davit_queue_copy_2d(queue, rows, range->cols, s->bytes, own, strip->ldc, c, s->ldc);
}

static davit_status move(dvt_strips *s, bool load) {
  for (int i = 0; i < s->count; i++) {
    const dvt_strip *strip = &s->strip[i];
    for (int64_t r = 0; r < strip->ranges && strip->own_c; r++)
      if (!strip->range[r].apart)
        DVT_TRY(move_range(s, strip, &strip->range[r], load, strip->queue));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_strips_load(dvt_strips *s) {
  return move(s, true);
}

davit_status dvt_strips_store(dvt_strips *s) {
  return move(s, false);
}

/* What is ready on the strip's queue now. */
static davit_status store_range(dvt_strips *s, dvt_strip *strip, const dvt_range *range) {
  if (!strip->own_c)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_event_record(strip->ready, strip->queue));
  DVT_TRY(davit_queue_wait(strip->back, strip->ready));
  return move_range(s, strip, range, false, strip->back);
}

davit_status dvt_strips_store_rows(dvt_strips *s, int64_t row, int64_t rows) {
  for (int i = 0; i < s->count && rows > 0; i++) {
    const dvt_range range = {.cols = s->strip[i].cols, .row = row, .end = row + rows};
    if (range.cols > 0)
      DVT_TRY(store_range(s, &s->strip[i], &range));
  }
  return DAVIT_SUCCESS;
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

davit_status dvt_strips_wait(dvt_strips *s, int64_t t) {
  for (int i = 0; i < s->count && t >= 0; i++) {
    dvt_strip *strip = &s->strip[i];
    const dvt_turn *turn = turn_of(s, strip, t);
    if (strip->copies ? turn->copied : turn->used)
      DVT_TRY(davit_event_synchronize(strip->copies ? turn->arrived : turn->finished));
    if (turn->kept)
      DVT_TRY(davit_event_synchronize(turn->moved));
  }
  return DAVIT_SUCCESS;
}

/* ---- operands ---- */

/* A copy within a GPU's memory is a kernel, which waits on a queue of its own for a running product, and all copies
 * behind it; between products it takes no time worth mentioning. */
static davit_queue *queue_of(const dvt_strip *strip, bool here) {
  return here ? strip->queue : strip->copy;
}

static davit_status keep_moved(dvt_strip *strip, dvt_turn *t, bool any) {
  if (!any)
    return DAVIT_SUCCESS;
  t->kept = true;
  return davit_event_record(t->moved, strip->queue);
}

/* What is enqueued next finds the copies of a turn. */
static davit_status hand_over(dvt_strip *strip, dvt_turn *t) {
  if (strip->copy == strip->queue)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_event_record(t->arrived, strip->copy));
  t->copied = true;
  return davit_queue_wait(strip->queue, t->arrived);
}

static davit_status fetch_left(dvt_strips *s, dvt_strip *strip, dvt_turn *t, int64_t rows, int64_t pieces,
                               const dvt_piece *left) {
  char *to = t->left_copy;
  bool here = false;
  if (t->used)
    DVT_TRY(davit_queue_wait(strip->copy, t->finished));
  for (int64_t i = 0; i < pieces; to += (size_t)(rows * left[i].inner) * s->bytes, i++) {
    DVT_TRY(davit_queue_copy_2d(queue_of(strip, left[i].here), rows, left[i].inner, s->bytes, left[i].data,
                                left[i].ld, to, rows));
    here = here || left[i].here;
  }
  DVT_TRY(keep_moved(strip, t, here));
  return pieces > 0 ? hand_over(strip, t) : DAVIT_SUCCESS;
}

davit_status dvt_strips_fetch_left(dvt_strips *s, int64_t t, int64_t rows, int64_t inner, int64_t pieces,
                                   const dvt_piece *left) {
  for (int i = 0; i < s->count; i++) {
    dvt_strip *strip = &s->strip[i];
    dvt_turn *turn = turn_of(s, strip, t);
    const bool here = !strip->copies && pieces > 0;
    turn->inner = inner;
    turn->left = here ? left->data : turn->left_copy;
    turn->left_ld = dvt_at_least(here ? left->ld : rows, 1);
    if (strip->copies && has_work(s, strip))
      DVT_TRY(fetch_left(s, strip, turn, rows, pieces, left));
  }
  return DAVIT_SUCCESS;
}

/* The strip's columns of all pieces, as one matrix. */
static davit_status fetch_pieces(dvt_strips *s, dvt_strip *strip, dvt_turn *t, int64_t pieces,
                                 const dvt_piece *right) {
  t->trans = 'N';
  if (pieces == 1 && !strip->copies) {
    t->right = right->data + (size_t)(strip->first * right->ld) * s->bytes;
    t->right_ld = right->ld;
    return DAVIT_SUCCESS;
  }
  char *to = t->right_copy;
  t->right = to;
  t->right_ld = t->inner;
  bool here = false;
  for (int64_t i = 0; i < pieces; to += (size_t)right[i].inner * s->bytes, i++) {
    DVT_TRY(davit_queue_copy_2d(queue_of(strip, right[i].here), right[i].inner, strip->cols, s->bytes,
                                right[i].data + (size_t)(strip->first * right[i].ld) * s->bytes, right[i].ld,
                                to, t->inner));
    here = here || right[i].here;
  }
  DVT_TRY(keep_moved(strip, t, here));
  return hand_over(strip, t);
}

davit_status dvt_strips_fetch_pieces(dvt_strips *s, int64_t t, int64_t pieces, const dvt_piece *right) {
  for (int i = 0; i < s->count; i++)
    if (has_work(s, &s->strip[i]))
      DVT_TRY(fetch_pieces(s, &s->strip[i], turn_of(s, &s->strip[i], t), pieces, right));
  return DAVIT_SUCCESS;
}

/* Two slabs take turns in the memory for all right operands. */
static davit_status fetch_slab(dvt_strips *s, dvt_strip *strip, int64_t t, const dvt_piece *rest) {
  dvt_turn *turn = turn_of(s, strip, t);
  const int64_t ld = s->slab * s->width, first = t % s->slab, before = t - s->slab - 1;
  char *slab = strip->right + (size_t)(t / s->slab % 2 * ld * strip->cols) * s->bytes;
  turn->trans = 'N';
  turn->right = slab + (size_t)(first * s->width) * s->bytes;
  turn->right_ld = ld;
  if (first > 0)
    return DAVIT_SUCCESS;
  if (before >= 0 && turn_of(s, strip, before)->used)
    DVT_TRY(davit_queue_wait(strip->copy, turn_of(s, strip, before)->finished));
  DVT_TRY(davit_queue_copy_2d(strip->copy, dvt_at_most(rest->inner, ld), strip->cols, s->bytes,
                              rest->data + (size_t)(strip->first * rest->ld) * s->bytes, rest->ld, slab, ld));
  return hand_over(strip, turn);
}

davit_status dvt_strips_fetch_slab(dvt_strips *s, int64_t t, const dvt_piece *rest) {
  for (int i = 0; i < s->count; i++)
    if (has_work(s, &s->strip[i]))
      DVT_TRY(fetch_slab(s, &s->strip[i], t, rest));
  return DAVIT_SUCCESS;
}

/* The strip's columns of all runs, as one matrix with a row for each. Rows of the left operand are on the device, and
 * what `queue` does next finds them. */
static davit_status fetch_runs(dvt_strips *s, dvt_strip *strip, dvt_turn *t, int64_t run_count,
                               const dvt_run *runs) {
  t->trans = 'T';
  t->right = t->right_copy;
  t->right_ld = strip->cols;
  for (int64_t i = 0; i < run_count; i++) {
    const dvt_run *run = &runs[i];
    const int64_t from = dvt_at_least(run->first, strip->first),
                  to = dvt_at_most(run->first + run->cols, strip->first + strip->cols);
    if (from >= to)
      continue;
    const char *data = run->data ? run->data : t->left;
    DVT_TRY(davit_queue_copy_2d(queue_of(strip, !run->data), to - from, t->inner, s->bytes,
                                data + (size_t)(run->row + from - run->first) * s->bytes,
                                run->data ? run->ld : t->left_ld,
                                t->right_copy + (size_t)(from - strip->first) * s->bytes, strip->cols));
  }
  return hand_over(strip, t);
}

davit_status dvt_strips_fetch_runs(dvt_strips *s, int64_t t, int64_t run_count, const dvt_run *runs) {
  for (int i = 0; i < s->count; i++)
    if (has_work(s, &s->strip[i]))
      DVT_TRY(fetch_runs(s, &s->strip[i], turn_of(s, &s->strip[i], t), run_count, runs));
  return DAVIT_SUCCESS;
}

void dvt_strips_take_rows(dvt_strips *s, int64_t t, int64_t row) {
  for (int i = 0; i < s->count; i++) {
    dvt_strip *strip = &s->strip[i];
    dvt_turn *turn = turn_of(s, strip, t);
    if (!has_work(s, strip))
      continue;
    turn->trans = 'N';
    turn->right = strip->c + (size_t)row * s->bytes;
    turn->right_ld = strip->ldc;
  }
}

/* ---- work ---- */

/* What of the band lies in a range. */
static davit_status multiply_range(dvt_strips *s, dvt_strip *strip, const dvt_range *range, const dvt_turn *t,
                                   const dvt_band *band, double alpha, double beta) {
  const int64_t end = band->row + band->rows;
  const int64_t from = dvt_at_least(range->row, band->row), to = dvt_at_most(range->end, end);
  if (from >= to || range->cols == 0)
    return DAVIT_SUCCESS;
  const int64_t at = t->trans == 'N' ? range->first * t->right_ld : range->first;
  char *c = strip->c + (size_t)(from + range->first * strip->ldc) * s->bytes;
  int64_t ldc = strip->ldc;
  if (range->apart) {
    c = range->memory + (size_t)(from - range->row) * s->bytes;
    ldc = range->end - range->row;
    beta = 1;
  }
  return gemm(s->type, strip->queue, t->trans, to - from, range->cols, t->inner, alpha,
              t->left + (size_t)(band->skip + from - band->row) * s->bytes, t->left_ld,
              t->right + (size_t)at * s->bytes, t->right_ld, beta, c, ldc);
}

davit_status dvt_strips_multiply(dvt_strips *s, int64_t t, dvt_band band, double alpha, double beta) {
  for (int i = 0; i < s->count; i++) {
    dvt_strip *strip = &s->strip[i];
    dvt_turn *turn = turn_of(s, strip, t);
    if (!has_work(s, strip))
      continue;
    for (int64_t r = 0; r < strip->ranges; r++)
      DVT_TRY(multiply_range(s, strip, &strip->range[r], turn, &band, alpha, beta));
    DVT_TRY(davit_event_record(turn->finished, strip->queue));
    turn->used = true;
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_strips_scale(dvt_strips *s, double beta) {
  for (int i = 0; i < s->count; i++) {
    const dvt_strip *strip = &s->strip[i];
    if (has_work(s, strip))
      DVT_TRY(gemm(s->type, strip->queue, 'N', s->rows, strip->cols, 0, 0, NULL, s->rows, NULL, 1, beta,
                   strip->c, strip->ldc));
  }
  return DAVIT_SUCCESS;
}

static davit_status finish_range(dvt_strips *s, dvt_strip *strip, const dvt_range *range, int64_t t,
                                 int64_t count, double alpha, double beta) {
  const dvt_band all = {.rows = s->rows};
  for (int64_t i = 0; i < count; i++)
    DVT_TRY(multiply_range(s, strip, range, turn_of(s, strip, t + i), &all, alpha, i == 0 ? beta : 1));
  return range->apart ? DAVIT_SUCCESS : store_range(s, strip, range);
}

davit_status dvt_strips_finish(dvt_strips *s, int64_t t, int64_t count, double alpha, double beta) {
  enum { PARTS = 8 }; /* of what a strip stores: the last of them is stored when all products are done */
  for (int i = 0; i < s->count; i++) {
    dvt_strip *strip = &s->strip[i];
    const int64_t part = strip->own_c ? s->rows * strip->cols / PARTS : INT64_MAX;
    if (!has_work(s, strip))
      continue;
    for (int64_t r = 0; r < strip->ranges; r++) {
      const dvt_range *range = &strip->range[r];
      const int64_t cols =
          range->apart ? range->cols : dvt_at_least(part / dvt_at_least(range->end - range->row, 1), 1);
      for (int64_t done = 0; done < range->cols; done += cols) {
        dvt_range some = *range;
        some.first += done;
        some.cols = dvt_at_most(cols, range->cols - done);
        DVT_TRY(finish_range(s, strip, &some, t, count, alpha, beta));
      }
    }
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_strips_solve(dvt_strips *s, int64_t t, dvt_band band, char uplo, char diag) {
  for (int i = 0; i < s->count && band.rows > 0; i++) {
    dvt_strip *strip = &s->strip[i];
    const dvt_turn *turn = turn_of(s, strip, t);
    if (strip->cols > 0)
      DVT_TRY(trsm(s->type, strip->queue, uplo, diag, band.rows, strip->cols,
                   turn->left + (size_t)band.skip * s->bytes, turn->left_ld,
                   strip->c + (size_t)band.row * s->bytes, strip->ldc));
  }
  return DAVIT_SUCCESS;
}
