/* SPDX-License-Identifier: Apache-2.0 */
/* SUMMA: while the devices multiply one panel of A and B, the next is broadcast. */
#include "src/mpi/multiply.h"

#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/mpi/panel.h"
#include "src/mpi/redistribute.h"

davit_status dvt_panel_width(const davit_mpi_options *options, int64_t k, int64_t *width) {
  *width = options && options->panel ? options->panel : DVT_MPI_PANEL;
  if (*width < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "panel is %lld, less than 0", (long long)*width);
  *width = dvt_at_most(*width, k);
  return DAVIT_SUCCESS;
}

/* ---- operands ---- */

static bool fits(const dvt_view *view, const dvt_deal *outer, int axis, int unit) {
  const dvt_deal *inner = &view->deal[1];
  return view->axis[0] == axis && view->unit == unit && dvt_deals_equal(&view->deal[0], outer) &&
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

davit_status dvt_fit(const davit_mpi_grid *grid, const dvt_deal *outer, int axis, int unit, dvt_view *view,
                     void **memory) {
  *memory = NULL;
  if (fits(view, outer, axis, unit))
    return DAVIT_SUCCESS;
  dvt_view to = {.axis = {axis, 1 - axis}, .unit = unit};
  to.deal[0] = *outer;
  to.deal[1] = (dvt_deal){.n = view->deal[1].n, .block = DVT_MPI_BLOCK, .count = grid->size[1 - axis]};
  DVT_TRY(dvt_move(grid, view, &to, memory));
  *view = to;
  return DAVIT_SUCCESS;
}

/* ---- the product ---- */

typedef struct product {
  dvt_strips *strips;
  dvt_panel left, right;
  int64_t k;
  dvt_error *failure;
} product;

static int64_t end_of(const product *p, int64_t begin) {
  return dvt_at_most(begin + p->strips->width, p->k);
}

static davit_status post(product *p, int turn, int64_t begin) {
  DVT_TRY(dvt_panel_post(&p->left, turn, begin, end_of(p, begin), 0, p->left.outer, p->failure));
  return dvt_panel_post(&p->right, turn, begin, end_of(p, begin), 0, p->right.outer, p->failure);
}

static davit_status run(product *p, double alpha, double beta) {
  int turn = 0;
  DVT_TRY(post(p, turn, 0));
  for (int64_t begin = 0; begin < p->k; begin = end_of(p, begin), turn = 1 - turn) {
    DVT_TRY(dvt_panel_arrive(&p->left));
    DVT_TRY(dvt_panel_arrive(&p->right));
    const int64_t inner = end_of(p, begin) - begin;
    const dvt_band all = {.rows = p->left.outer};
    dvt_error_keep(p->failure, dvt_strips_bring(p->strips, turn, p->left.data, all.rows, inner, p->left.ld));
    dvt_error_keep(p->failure, dvt_strips_multiply(p->strips, turn, all, inner, alpha, p->right.piece_count,
                                                   p->right.pieces, begin == 0 ? beta : 1));
    dvt_error_keep(p->failure, dvt_strips_wait(p->strips, 1 - turn));
    if (end_of(p, begin) < p->k)
      DVT_TRY(post(p, 1 - turn, end_of(p, begin)));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_multiply(davit_mpi_grid *grid, dvt_strips *strips, const dvt_view *left,
                          const dvt_view *right, double alpha, double beta, dvt_error *failure) {
  product p = {.strips = strips, .k = left->deal[1].n, .failure = failure};
  davit_status status = dvt_panel_open(&p.left, grid, left, strips->width, strips->panel_place, failure);
  if (status == DAVIT_SUCCESS)
    status = dvt_panel_open(&p.right, grid, right, strips->width, strips->panel_place, failure);
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_agree(grid->comm, dvt_error_report(failure));
  if (status == DAVIT_SUCCESS)
    status = run(&p, alpha, beta);
  dvt_error_keep(failure, dvt_strips_wait(strips, 0));
  dvt_error_keep(failure, dvt_strips_wait(strips, 1));
  dvt_panel_close(&p.left);
  dvt_panel_close(&p.right);
  return status;
}
