/* SPDX-License-Identifier: Apache-2.0 */
/* SUMMA: while the devices multiply one panel of A and B, the next is broadcast. */
#include "src/mpi/multiply.h"

#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/mpi/panel.h"
#include "src/mpi/redistribute.h"

davit_status dvt_panel_width(const davit_mpi_options *options, int64_t k, int64_t *width) {
  *width = options && options->panel ? options->panel : k < DVT_MPI_WIDE ? DVT_MPI_PANEL : 2 * DVT_MPI_PANEL;
  if (*width < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "panel is %lld, less than 0", (long long)*width);
  *width = dvt_at_most(*width, k);
  return DAVIT_SUCCESS;
}

/* ---- operands ---- */

bool dvt_has_square_blocks(const dvt_view *view) {
  enum { BLOCK_MAXIMUM = 1024 };
  const dvt_distribution *rows = &view->distribution[0], *cols = &view->distribution[1];
  return rows->block == cols->block && rows->offset == cols->offset && cols->block >= DVT_MPI_BLOCK_MINIMUM &&
         cols->block <= BLOCK_MAXIMUM;
}

static bool fits(const dvt_view *view, const dvt_distribution *outer, int axis, int unit) {
  const dvt_distribution *inner = &view->distribution[1];
  return view->axis[0] == axis && view->unit == unit &&
         dvt_distributions_equal(&view->distribution[0], outer) &&
         (inner->count == 1 || inner->block >= DVT_MPI_BLOCK_MINIMUM);
}

davit_status dvt_to_host(const davit_mpi_grid *grid, dvt_view *view, bool copy, void **memory) {
  int place = DAVIT_PAGEABLE;
  const int u = view->unit;
  const int64_t rows = dvt_grid_local(grid, view, u), cols = dvt_grid_local(grid, view, 1 - u);
  *memory = NULL;
  if (rows == 0 || cols == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_pointer_place(view->data, &place));
  if (place < 0)
    return DAVIT_SUCCESS;
  const size_t bytes = davit_type_bytes(view->type);
  DVT_TRY(davit_malloc((size_t)rows * (size_t)cols * bytes, DAVIT_PINNED, memory));
  if (copy)
    DVT_TRY(davit_copy_2d(rows, cols, bytes, view->data, view->stride[1 - u], *memory, rows));
  view->data = *memory;
  view->stride[1 - u] = rows;
  return DAVIT_SUCCESS;
}

davit_status dvt_from_host(const davit_mpi_grid *grid, const dvt_view *view, const void *memory) {
  const int u = view->unit;
  const int64_t rows = dvt_grid_local(grid, view, u), cols = dvt_grid_local(grid, view, 1 - u);
  return memory ? davit_copy_2d(rows, cols, davit_type_bytes(view->type), memory, rows, view->data,
                                view->stride[1 - u])
                : DAVIT_SUCCESS;
}

davit_status dvt_move(const davit_mpi_grid *grid, const dvt_view *from, dvt_view *to, void **memory) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  void *on_host = NULL;
  dvt_view source = *from;
  const int64_t rows = dvt_grid_local(grid, to, to->unit), cols = dvt_grid_local(grid, to, 1 - to->unit);
  to->type = from->type;
  to->stride[to->unit] = 1;
  to->stride[1 - to->unit] = dvt_at_least(rows, 1);
  dvt_error_keep(&failure, dvt_to_host(grid, &source, true, &on_host));
  dvt_error_keep(
      &failure, davit_malloc((size_t)rows * (size_t)cols * davit_type_bytes(to->type), DAVIT_PINNED, memory));
  to->data = *memory;
  const davit_status status = dvt_redistribute(grid, &source, to, &failure);
  davit_free(on_host);
  return status;
}

davit_status dvt_move_back(const davit_mpi_grid *grid, const dvt_view *from, const dvt_view *to) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  void *on_host = NULL;
  dvt_view here = *to;
  dvt_error_keep(&failure, dvt_to_host(grid, &here, false, &on_host)); /* all of it is written */
  davit_status status = dvt_redistribute(grid, from, &here, &failure);
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_agree(grid->comm, dvt_from_host(grid, to, on_host));
  davit_free(on_host);
  return status;
}

davit_status dvt_fit(const davit_mpi_grid *grid, const dvt_distribution *outer, int axis, int unit,
                     dvt_view *view, void **memory) {
  *memory = NULL;
  if (fits(view, outer, axis, unit))
    return DAVIT_SUCCESS;
  dvt_view to = {.axis = {axis, 1 - axis}, .unit = unit};
  to.distribution[0] = *outer;
  to.distribution[1] =
      (dvt_distribution){.n = view->distribution[1].n, .block = DVT_MPI_BLOCK, .count = grid->size[1 - axis]};
  DVT_TRY(dvt_move(grid, view, &to, memory));
  *view = to;
  return DAVIT_SUCCESS;
}

/* ---- the local panels ---- */

davit_status dvt_local_panels_agree(davit_mpi_grid *grid, dvt_local_panels *locals,
                                    davit_status (*open)(void *call, dvt_local_panels *locals), void *call) {
  const davit_status status = dvt_mpi_agree(grid->comm, open(call, locals));
  if (status != DAVIT_OUT_OF_DEVICE_MEMORY)
    return status;
  (void)dvt_local_panels_close(locals);
  DVT_TRY(dvt_grid_forget(grid));
  return dvt_mpi_agree(grid->comm, open(call, locals));
}

/* ---- the product ---- */

static davit_status next(const dvt_local_panels *s, davit_status (*step)(void *, int64_t, int64_t),
                         void *operands, int64_t t, int64_t k) {
  const int64_t begin = t * s->width;
  return begin < k ? step(operands, begin, dvt_at_most(begin + s->width, k)) : DAVIT_SUCCESS;
}

/* After a failure no product is enqueued any more, but the other ranks still need this one's panels. */
davit_status dvt_multiply_panels(dvt_local_panels *s, const dvt_feed *feed, void *operands, int64_t k,
                                 bool in_groups, double alpha, double beta, dvt_error *failure) {
  const dvt_row_range all = {.rows = s->rows};
  const int64_t panels = dvt_divide_up(k, s->width);
  int64_t first = dvt_at_least(panels - s->last, 0); /* of those that dvt_local_panels_finish() multiplies */
  if (in_groups)                                     /* of which there are two at a time */
    first = dvt_at_least(first, ((panels - 1) / s->group - 1) * s->group);
  DVT_TRY(next(s, feed->post, operands, 0, k));
  DVT_TRY(next(s, feed->publish, operands, 0, k));
  DVT_TRY(next(s, feed->post, operands, 1, k));
  for (int64_t t = 0; t < panels; t++) {
    DVT_TRY(feed->arrive(operands));
    if (failure->status == DAVIT_SUCCESS)
      dvt_error_keep(failure, feed->fetch(operands, t, dvt_at_most(k - t * s->width, s->width)));
    if (failure->status == DAVIT_SUCCESS && t < first)
      dvt_error_keep(failure, dvt_local_panels_multiply(s, t, all, alpha, t == 0 ? beta : 1));
    if (t + 1 < panels)
      dvt_error_keep(failure, dvt_local_panels_wait(s, t - 2));
    DVT_TRY(next(s, feed->publish, operands, t + 1, k));
    DVT_TRY(next(s, feed->post, operands, t + 2, k));
  }
  if (failure->status == DAVIT_SUCCESS)
    dvt_error_keep(failure, dvt_local_panels_finish(s, first, panels - first, alpha, first == 0 ? beta : 1));
  return DAVIT_SUCCESS;
}

typedef struct product {
  dvt_local_panels *locals;
  dvt_panel left, right;
  int64_t k;
  bool in_groups; /* the right operand: the rank has all that it needs of it */
  dvt_error *failure;
} product;

static davit_status post(void *operands, int64_t begin, int64_t end) {
  product *p = operands;
  DVT_TRY(dvt_panel_post(&p->left, begin, end, 0, p->left.outer, p->failure));
  return dvt_panel_post(&p->right, begin, end, 0, p->right.outer, p->failure);
}

static davit_status publish(void *operands, int64_t begin, int64_t end) {
  product *p = operands;
  (void)begin, (void)end;
  DVT_TRY(dvt_panel_publish(&p->left, p->failure));
  return dvt_panel_publish(&p->right, p->failure);
}

static davit_status arrive(void *operands) {
  product *p = operands;
  DVT_TRY(dvt_panel_arrive(&p->left));
  return dvt_panel_arrive(&p->right);
}

static davit_status fetch(void *operands, int64_t t, int64_t inner) {
  product *p = operands;
  dvt_local_panels *s = p->locals;
  const dvt_piece *right = p->right.pieces;
  DVT_TRY(dvt_local_panels_fetch_left(s, t, p->left.outer, inner, p->left.piece_count, p->left.pieces));
  return p->in_groups ? dvt_local_panels_fetch_group(
                            s, t, &(dvt_piece){p->k - t * s->width, right->ld, right->data, false})
                      : dvt_local_panels_fetch_pieces(s, t, p->right.piece_count, right);
}

davit_status dvt_multiply(davit_mpi_grid *grid, dvt_local_panels *locals, const dvt_view *left,
                          const dvt_view *right, double alpha, double beta, dvt_error *failure) {
  static const dvt_feed feed = {post, publish, arrive, fetch};
  product p = {.locals = locals, .k = left->distribution[1].n, .failure = failure};
  davit_status status = dvt_panel_open(&p.left, grid, left, locals->width, &locals->transport, failure);
  if (status == DAVIT_SUCCESS)
    status = dvt_panel_open(&p.right, grid, right, locals->width, &locals->transport, failure);
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_agree(grid->comm, dvt_error_report(failure));
  p.in_groups = p.right.alone && locals->group > 1;
  if (status == DAVIT_SUCCESS)
    status = dvt_multiply_panels(locals, &feed, &p, p.k, p.in_groups, alpha, beta, failure);
  dvt_error_keep(failure, dvt_local_panels_flush(locals));
  dvt_panel_close(&p.left);
  dvt_panel_close(&p.right);
  return status;
}
