/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/local_panel.h"

#include <davit/event.h>
#include <davit/level3.h>
#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/mpi/local_blas.h"

static davit_status gemm(davit_type type, davit_queue *queue, char transb, int64_t m, int64_t n, int64_t k,
                         double alpha, const void *a, int64_t lda, const void *b, int64_t ldb, double beta,
                         void *c, int64_t ldc) {
  return type == DAVIT_FLOAT
             ? davit_queue_sgemm(queue, 'N', transb, m, n, k, (float)alpha, a, lda, b, ldb, (float)beta, c,
                                 ldc, NULL)
             : davit_queue_dgemm(queue, 'N', transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, NULL);
}

/* ---- memory ---- */

static davit_status allocate(const dvt_local_panels *s, int device, int64_t rows, int64_t cols,
                             char **memory) {
  void *pointer = NULL;
  const int place = device == DAVIT_HOST ? DAVIT_PAGEABLE : device;
  const davit_status status = rows > 0 && cols > 0
                                  ? davit_malloc((size_t)rows * (size_t)cols * s->bytes, place, &pointer)
                                  : DAVIT_SUCCESS;
  *memory = pointer;
  return status;
}

static bool has_work(const dvt_local_panels *s, const dvt_local_panel *local) {
  return s->rows > 0 && local->cols > 0;
}

/* Whether a device computes on memory of a place without a copy of it. */
static bool reaches(int device, int place) {
  return place == device || (device == DAVIT_HOST && place < 0);
}

static bool copies(const dvt_local_panels *s, int device) {
  return device != DAVIT_HOST && s->transport.place != device;
}

static davit_status open_stage(const dvt_local_panels *s, dvt_local_panel *local, dvt_stage *stage) {
  DVT_TRY(davit_event_create(&stage->arrived));
  DVT_TRY(davit_event_create(&stage->moved));
  DVT_TRY(davit_event_create(&stage->finished));
  return local->copies
             ? allocate(s, local->device, dvt_at_least(s->rows, s->width), s->width, &stage->left_copy)
             : DAVIT_SUCCESS;
}

static davit_status open_local(dvt_local_panels *s, dvt_local_panel *local, int place) {
  local->copies = copies(s, local->device);
  local->c = has_work(s, local) ? s->c + (size_t)(local->first * s->ldc) * s->bytes : NULL;
  local->ldc = s->ldc;
  local->whole = (dvt_block_range){.cols = local->cols, .end = s->rows};
  local->range = &local->whole;
  local->ranges = 1;
  if (!reaches(local->device, place)) {
    DVT_TRY(allocate(s, local->device, s->rows, local->cols, &local->own_c));
    local->c = local->own_c;
    local->ldc = dvt_at_least(s->rows, 1);
  }
  DVT_TRY(davit_queue_create(local->device, &local->queue, NULL));
  local->copy = local->queue;
  if (local->copies)
    DVT_TRY(davit_queue_create(local->device, &local->copy, NULL));
  if (local->own_c)
    DVT_TRY(davit_queue_create(local->device, &local->back, NULL));
  DVT_TRY(davit_event_create(&local->ready));
  DVT_TRY(allocate(s, local->device, local->cols * s->width, s->stages, &local->right));
  for (int t = 0; t < s->stages; t++) {
    local->stage[t].right_copy =
        local->right ? local->right + (size_t)(t * local->cols * s->width) * s->bytes : NULL;
    DVT_TRY(open_stage(s, local, &local->stage[t]));
  }
  return DAVIT_SUCCESS;
}

/* What the local panels' devices can spare for panels, whatever the size of C. */
static double spare_bytes(const dvt_local_panels *s) {
  double spare = (double)((size_t)1 << 30);
  for (int i = 0; i < s->count; i++) {
    size_t available, all;
    if (davit_device_memory(s->local[i].device, &available, &all) == DAVIT_SUCCESS &&
        (double)available / 16 < spare)
      spare = (double)available / 16;
  }
  return spare;
}

/* `place` is that of C. */
static void choose_stages(dvt_local_panels *s, int place) {
  /* Products of so many inner indices, which wait, take as long as C is stored, of which floats have half the bytes. */
  const int64_t wait = s->bytes == sizeof(float) ? 3072 : 6144;
  const double small = spare_bytes(s) / (double)s->bytes;
  bool copy = true, stores = true;
  int64_t cols = s->cols; /* of the smallest local panel */
  for (int i = 0; i < s->count; i++) {
    const dvt_local_panel *local = &s->local[i];
    copy = copy && copies(s, local->device);
    if (!has_work(s, local))
      continue;
    stores = stores && !reaches(local->device, place);
    cols = dvt_at_most(cols, local->cols);
  }
  const double part = (double)s->rows * (double)cols, panels = (double)s->width * (double)(s->rows + cols);
  const double most = part < small ? (small < 4 * part ? small : 4 * part) : part;
  while (copy && panels > 0 && s->stages < DVT_STAGES_MAXIMUM && (s->stages + 1) * panels <= most)
    s->stages++;
  s->last =
      copy && stores ? (int)dvt_at_most(s->stages, dvt_at_least(wait / dvt_at_least(s->width, 1), 1)) : 1;
  s->group = copy ? s->stages / 2 : 1;
}

davit_status dvt_local_panels_open(dvt_local_panels *s, const davit_mpi_grid *grid, const dvt_view *c,
                                   int64_t width, const int *devices, int count) {
  const int64_t rows = dvt_grid_local(grid, c, 0), cols = dvt_grid_local(grid, c, 1);
  *s = (dvt_local_panels){.type = c->type,
                          .bytes = davit_type_bytes(c->type),
                          .rows = rows,
                          .cols = cols,
                          .c = c->data,
                          .ldc = dvt_at_least(c->stride[1], 1),
                          .width = width,
                          .stages = DVT_STAGES_MINIMUM,
                          .count = count};
  int place = DAVIT_PAGEABLE; /* of C */
  if (rows > 0 && cols > 0)
    DVT_TRY(davit_pointer_place(s->c, &place));
  DVT_TRY(dvt_transport_choose(devices, count, dvt_grid_on_machine(grid), &s->transport));
  for (int i = 0; i < count; i++) {
    dvt_local_panel *local = &s->local[i];
    local->device = devices[i];
    local->first = cols * i / count;
    local->cols = cols * (i + 1) / count - local->first;
  }
  choose_stages(s, place);
  for (int i = 0; i < count; i++)
    DVT_TRY(open_local(s, &s->local[i], place));
  return DAVIT_SUCCESS;
}

static int64_t area(const dvt_block_range *range) {
  return range->cols * (range->end - range->row);
}

davit_status dvt_local_panels_divide(dvt_local_panels *s, dvt_local_panel *local,
                                     const dvt_block_range *ranges, int64_t count) {
  void *memory = NULL;
  DVT_TRY(davit_malloc((size_t)count * sizeof *ranges, DAVIT_PAGEABLE, &memory));
  local->range = local->own_range = memory;
  local->ranges = count;
  for (int64_t r = 0; r < count; r++) {
    local->own_range[r] = ranges[r];
    local->separate_elements += ranges[r].separate ? area(&ranges[r]) : 0;
  }
  DVT_TRY(allocate(s, local->device, local->separate_elements, 1, &local->separate));
  if (local->separate)
    DVT_TRY(davit_fill((size_t)local->separate_elements * s->bytes, 0, local->separate));
  char *at = local->separate;
  for (int64_t r = 0; r < count; r++)
    if (ranges[r].separate) {
      local->own_range[r].memory = at;
      at += (size_t)area(&ranges[r]) * s->bytes;
    }
  return DAVIT_SUCCESS;
}

static void synchronize(davit_queue *queue, dvt_error *failure) {
  if (queue)
    dvt_error_keep(failure, davit_queue_synchronize(queue));
}

davit_status dvt_local_panels_flush(dvt_local_panels *s) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  for (int i = 0; i < s->count; i++) {
    synchronize(s->local[i].copy, &failure);
    synchronize(s->local[i].queue, &failure);
  }
  return dvt_error_report(&failure);
}

davit_status dvt_local_panels_close(dvt_local_panels *s) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&failure, dvt_local_panels_flush(s));
  for (int i = 0; i < s->count; i++)
    synchronize(s->local[i].back, &failure);
  for (int i = 0; i < s->count; i++) {
    dvt_local_panel *local = &s->local[i];
    for (int t = 0; t < s->stages; t++) {
      davit_event_destroy(local->stage[t].arrived);
      davit_event_destroy(local->stage[t].moved);
      davit_event_destroy(local->stage[t].finished);
      davit_free(local->stage[t].left_copy);
    }
    if (local->copy != local->queue)
      davit_queue_destroy(local->copy);
    davit_queue_destroy(local->back);
    davit_queue_destroy(local->queue);
    davit_event_destroy(local->ready);
    davit_free(local->right);
    davit_free(local->own_c);
    davit_free(local->own_range);
    davit_free(local->separate);
  }
  s->count = 0;
  return dvt_error_report(&failure);
}

static dvt_stage *stage_of(const dvt_local_panels *s, dvt_local_panel *local, int64_t t) {
  return &local->stage[t % s->stages];
}

/* ---- copies ---- */

static davit_status move_range(const dvt_local_panels *s, const dvt_local_panel *local,
                               const dvt_block_range *range, bool load, davit_queue *queue) {
  const int64_t rows = range->end - range->row, col = local->first + range->first;
  char *c = s->c + (size_t)(range->row + col * s->ldc) * s->bytes,
       *own = local->c + (size_t)(range->row + range->first * local->ldc) * s->bytes;
  return load ? davit_queue_copy_2d(queue, rows, range->cols, s->bytes, c, s->ldc, own, local->ldc)
              : davit_queue_copy_2d(queue, rows, range->cols, s->bytes, own, local->ldc, c, s->ldc);
}

static davit_status move(dvt_local_panels *s, bool load) {
  for (int i = 0; i < s->count; i++) {
    const dvt_local_panel *local = &s->local[i];
    for (int64_t r = 0; r < local->ranges && local->own_c; r++)
      if (!local->range[r].separate)
        DVT_TRY(move_range(s, local, &local->range[r], load, local->queue));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_local_panels_load(dvt_local_panels *s) {
  return move(s, true);
}

davit_status dvt_local_panels_store(dvt_local_panels *s) {
  return move(s, false);
}

/* What is ready on the local panel's queue now. */
static davit_status store_range(dvt_local_panels *s, dvt_local_panel *local, const dvt_block_range *range) {
  if (!local->own_c)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_event_record(local->ready, local->queue));
  DVT_TRY(davit_queue_wait(local->back, local->ready));
  return move_range(s, local, range, false, local->back);
}

davit_status dvt_local_panels_store_rows(dvt_local_panels *s, int64_t row, int64_t rows) {
  for (int i = 0; i < s->count && rows > 0; i++) {
    const dvt_block_range range = {.cols = s->local[i].cols, .row = row, .end = row + rows};
    if (range.cols > 0)
      DVT_TRY(store_range(s, &s->local[i], &range));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_local_panels_read(dvt_local_panels *s, int64_t row, int64_t rows, void *to) {
  for (int i = 0; i < s->count; i++) {
    dvt_local_panel *local = &s->local[i];
    if (local->cols > 0)
      DVT_TRY(davit_queue_copy_2d(local->queue, rows, local->cols, s->bytes,
                                  local->c + (size_t)row * s->bytes, local->ldc,
                                  (char *)to + (size_t)(local->first * rows) * s->bytes, rows));
  }
  for (int i = 0; i < s->count; i++)
    DVT_TRY(davit_queue_synchronize(s->local[i].queue));
  return DAVIT_SUCCESS;
}

davit_status dvt_local_panels_wait(dvt_local_panels *s, int64_t t) {
  for (int i = 0; i < s->count && t >= 0; i++) {
    dvt_local_panel *local = &s->local[i];
    const dvt_stage *stage = stage_of(s, local, t);
    if (local->copies ? stage->copied : stage->used)
      DVT_TRY(davit_event_synchronize(local->copies ? stage->arrived : stage->finished));
    if (stage->kept)
      DVT_TRY(davit_event_synchronize(stage->moved));
  }
  return DAVIT_SUCCESS;
}

/* ---- operands ---- */

/* A copy within a GPU's memory is a kernel, which waits on a queue of its own for a running product, and all copies
 * behind it; between products it takes no time worth mentioning. */
static davit_queue *queue_of(const dvt_local_panel *local, bool here) {
  return here ? local->queue : local->copy;
}

static davit_status keep_moved(dvt_local_panel *local, dvt_stage *t, bool any) {
  if (!any)
    return DAVIT_SUCCESS;
  t->kept = true;
  return davit_event_record(t->moved, local->queue);
}

/* What is enqueued next finds the copies of a stage buffer. */
static davit_status hand_over(dvt_local_panel *local, dvt_stage *t) {
  if (local->copy == local->queue)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_event_record(t->arrived, local->copy));
  t->copied = true;
  return davit_queue_wait(local->queue, t->arrived);
}

static davit_status fetch_left(dvt_local_panels *s, dvt_local_panel *local, dvt_stage *t, int64_t rows,
                               int64_t pieces, const dvt_piece *left) {
  char *to = t->left_copy;
  bool here = false;
  if (t->used)
    DVT_TRY(davit_queue_wait(local->copy, t->finished));
  for (int64_t i = 0; i < pieces; to += (size_t)(rows * left[i].inner) * s->bytes, i++) {
    DVT_TRY(davit_queue_copy_2d(queue_of(local, left[i].here), rows, left[i].inner, s->bytes, left[i].data,
                                left[i].ld, to, rows));
    here = here || left[i].here;
  }
  DVT_TRY(keep_moved(local, t, here));
  return pieces > 0 ? hand_over(local, t) : DAVIT_SUCCESS;
}

davit_status dvt_local_panels_fetch_left(dvt_local_panels *s, int64_t t, int64_t rows, int64_t inner,
                                         int64_t pieces, const dvt_piece *left) {
  for (int i = 0; i < s->count; i++) {
    dvt_local_panel *local = &s->local[i];
    dvt_stage *stage = stage_of(s, local, t);
    const bool here = !local->copies && pieces > 0;
    stage->inner = inner;
    stage->left = here ? left->data : stage->left_copy;
    stage->left_ld = dvt_at_least(here ? left->ld : rows, 1);
    if (local->copies && has_work(s, local))
      DVT_TRY(fetch_left(s, local, stage, rows, pieces, left));
  }
  return DAVIT_SUCCESS;
}

/* The local panel's columns of all pieces, as one matrix. */
static davit_status fetch_pieces(dvt_local_panels *s, dvt_local_panel *local, dvt_stage *t, int64_t pieces,
                                 const dvt_piece *right) {
  t->trans = 'N';
  if (pieces == 1 && !local->copies) {
    t->right = right->data + (size_t)(local->first * right->ld) * s->bytes;
    t->right_ld = right->ld;
    return DAVIT_SUCCESS;
  }
  char *to = t->right_copy;
  t->right = to;
  t->right_ld = t->inner;
  bool here = false;
  for (int64_t i = 0; i < pieces; to += (size_t)right[i].inner * s->bytes, i++) {
    DVT_TRY(davit_queue_copy_2d(queue_of(local, right[i].here), right[i].inner, local->cols, s->bytes,
                                right[i].data + (size_t)(local->first * right[i].ld) * s->bytes, right[i].ld,
                                to, t->inner));
    here = here || right[i].here;
  }
  DVT_TRY(keep_moved(local, t, here));
  return hand_over(local, t);
}

/* Two groups take turns in the memory for all right operands. */
static davit_status fetch_group(dvt_local_panels *s, dvt_local_panel *local, int64_t t,
                                const dvt_piece *rest) {
  dvt_stage *stage = stage_of(s, local, t);
  const int64_t ld = s->group * s->width, first = t % s->group, before = t - s->group - 1;
  char *group = local->right + (size_t)(t / s->group % 2 * ld * local->cols) * s->bytes;
  stage->trans = 'N';
  stage->right = group + (size_t)(first * s->width) * s->bytes;
  stage->right_ld = ld;
  if (first > 0)
    return DAVIT_SUCCESS;
  if (before >= 0 && stage_of(s, local, before)->used)
    DVT_TRY(davit_queue_wait(local->copy, stage_of(s, local, before)->finished));
  DVT_TRY(davit_queue_copy_2d(local->copy, dvt_at_most(rest->inner, ld), local->cols, s->bytes,
                              rest->data + (size_t)(local->first * rest->ld) * s->bytes, rest->ld, group,
                              ld));
  return hand_over(local, stage);
}

/* The local panel's columns of all ranges of columns, as one matrix with a row for each. Rows of the left operand
 * are on the device, and what `queue` does next finds them. */
static davit_status fetch_columns(dvt_local_panels *s, dvt_local_panel *local, dvt_stage *t,
                                  int64_t column_ranges, const dvt_column_range *columns) {
  t->trans = 'T';
  t->right = t->right_copy;
  t->right_ld = local->cols;
  for (int64_t i = 0; i < column_ranges; i++) {
    const dvt_column_range *run = &columns[i];
    const int64_t from = dvt_at_least(run->first, local->first),
                  to = dvt_at_most(run->first + run->cols, local->first + local->cols);
    if (from >= to)
      continue;
    const char *data = run->data ? run->data : t->left;
    DVT_TRY(davit_queue_copy_2d(queue_of(local, !run->data), to - from, t->inner, s->bytes,
                                data + (size_t)(run->row + from - run->first) * s->bytes,
                                run->data ? run->ld : t->left_ld,
                                t->right_copy + (size_t)(from - local->first) * s->bytes, local->cols));
  }
  return hand_over(local, t);
}

davit_status dvt_local_panels_fetch_right(dvt_local_panels *s, int64_t t, const dvt_right *right) {
  for (int i = 0; i < s->count; i++) {
    dvt_local_panel *local = &s->local[i];
    dvt_stage *stage = stage_of(s, local, t);
    if (has_work(s, local))
      DVT_TRY(right->columns ? fetch_columns(s, local, stage, right->count, right->columns)
              : right->rest  ? fetch_group(s, local, t, right->rest)
                             : fetch_pieces(s, local, stage, right->count, right->pieces));
  }
  return DAVIT_SUCCESS;
}

void dvt_local_panels_take_rows(dvt_local_panels *s, int64_t t, int64_t row) {
  for (int i = 0; i < s->count; i++) {
    dvt_local_panel *local = &s->local[i];
    dvt_stage *stage = stage_of(s, local, t);
    if (!has_work(s, local))
      continue;
    stage->trans = 'N';
    stage->right = local->c + (size_t)row * s->bytes;
    stage->right_ld = local->ldc;
  }
}

/* ---- work ---- */

/* What of the range of rows lies in a range. */
static davit_status multiply_range(dvt_local_panels *s, dvt_local_panel *local, const dvt_block_range *range,
                                   const dvt_stage *t, const dvt_row_range *row_range, double alpha,
                                   double beta) {
  const int64_t end = row_range->row + row_range->rows;
  const int64_t from = dvt_at_least(range->row, row_range->row), to = dvt_at_most(range->end, end);
  if (from >= to || range->cols == 0)
    return DAVIT_SUCCESS;
  const int64_t at = t->trans == 'N' ? range->first * t->right_ld : range->first;
  char *c = local->c + (size_t)(from + range->first * local->ldc) * s->bytes;
  int64_t ldc = local->ldc;
  if (range->separate) {
    c = range->memory + (size_t)(from - range->row) * s->bytes;
    ldc = range->end - range->row;
    beta = 1;
  }
  return gemm(s->type, local->queue, t->trans, to - from, range->cols, t->inner, alpha,
              t->left + (size_t)(row_range->skip + from - row_range->row) * s->bytes, t->left_ld,
              t->right + (size_t)at * s->bytes, t->right_ld, beta, c, ldc);
}

davit_status dvt_local_panels_multiply(dvt_local_panels *s, int64_t t, dvt_row_range row_range, double alpha,
                                       double beta) {
  for (int i = 0; i < s->count; i++) {
    dvt_local_panel *local = &s->local[i];
    dvt_stage *stage = stage_of(s, local, t);
    if (!has_work(s, local))
      continue;
    for (int64_t r = 0; r < local->ranges; r++)
      DVT_TRY(multiply_range(s, local, &local->range[r], stage, &row_range, alpha, beta));
    DVT_TRY(davit_event_record(stage->finished, local->queue));
    stage->used = true;
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_local_panels_scale(dvt_local_panels *s, double beta) {
  for (int i = 0; i < s->count; i++) {
    const dvt_local_panel *local = &s->local[i];
    if (has_work(s, local))
      DVT_TRY(gemm(s->type, local->queue, 'N', s->rows, local->cols, 0, 0, NULL, s->rows, NULL, 1, beta,
                   local->c, local->ldc));
  }
  return DAVIT_SUCCESS;
}

static davit_status finish_range(dvt_local_panels *s, dvt_local_panel *local, const dvt_block_range *range,
                                 int64_t t, int64_t count, double alpha, double beta) {
  const dvt_row_range all = {.rows = s->rows};
  for (int64_t i = 0; i < count; i++)
    DVT_TRY(multiply_range(s, local, range, stage_of(s, local, t + i), &all, alpha, i == 0 ? beta : 1));
  return range->separate ? DAVIT_SUCCESS : store_range(s, local, range);
}

davit_status dvt_local_panels_finish(dvt_local_panels *s, int64_t t, int64_t count, double alpha,
                                     double beta) {
  enum {
    PARTS = 8
  }; /* of what a local panel stores: the last of them is stored when all products are done */
  for (int i = 0; i < s->count; i++) {
    dvt_local_panel *local = &s->local[i];
    const int64_t part = local->own_c ? s->rows * local->cols / PARTS : INT64_MAX;
    if (!has_work(s, local))
      continue;
    for (int64_t r = 0; r < local->ranges; r++) {
      const dvt_block_range *range = &local->range[r];
      const int64_t cols =
          range->separate ? range->cols : dvt_at_least(part / dvt_at_least(range->end - range->row, 1), 1);
      for (int64_t done = 0; done < range->cols; done += cols) {
        dvt_block_range some = *range;
        some.first += done;
        some.cols = dvt_at_most(cols, range->cols - done);
        DVT_TRY(finish_range(s, local, &some, t, count, alpha, beta));
      }
    }
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_local_panels_solve(dvt_local_panels *s, int64_t t, dvt_row_range row_range, char uplo,
                                    char diag) {
  for (int i = 0; i < s->count && row_range.rows > 0; i++) {
    dvt_local_panel *local = &s->local[i];
    const dvt_stage *stage = stage_of(s, local, t);
    if (local->cols > 0)
      DVT_TRY(dvt_local_trsm(local->queue, s->type, 'L', uplo, 'N', diag, row_range.rows, local->cols,
                             stage->left + (size_t)row_range.skip * s->bytes, stage->left_ld,
                             local->c + (size_t)row_range.row * s->bytes, local->ldc));
  }
  return DAVIT_SUCCESS;
}
