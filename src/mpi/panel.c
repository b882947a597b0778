/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/panel.h"

#include <davit/memory.h>
#include <limits.h>

#include "src/base/arithmetic.h"

davit_status dvt_panel_open(dvt_panel *p, const davit_mpi_grid *grid, const dvt_view *view, int64_t width,
                            int place) {
  *p = (dvt_panel){.grid = grid,
                   .view = view,
                   .bytes = davit_type_bytes(view->type),
                   .outer = dvt_grid_local(grid, view, 0),
                   .width = width};
  void *memory = NULL;
  for (int turn = 0; turn < 2; turn++) {
    DVT_TRY(davit_malloc((size_t)(p->outer * width) * p->bytes, place, &memory));
    p->buffer[turn] = memory;
  }
  DVT_TRY(davit_malloc((size_t)width * sizeof *p->requests, DAVIT_PAGEABLE, &memory));
  p->requests = memory;
  DVT_TRY(davit_malloc((size_t)width * sizeof *p->pieces, DAVIT_PAGEABLE, &memory));
  p->pieces = memory;
  return DAVIT_SUCCESS;
}

void dvt_panel_close(dvt_panel *p) {
  davit_free(p->buffer[0]);
  davit_free(p->buffer[1]);
  davit_free(p->requests);
  davit_free(p->pieces);
}

/* This rank's inner indices from `begin` to `end`, of which it has all, into the buffer. */
static davit_status pack(const dvt_panel *p, int64_t begin, int64_t end, int64_t row, int64_t rows,
                         char *to) {
  const dvt_view *v = p->view;
  const int64_t at = dvt_deal_below(&v->deal[1], p->grid->at[v->axis[1]], begin);
  const char *from = v->data + (size_t)(row * v->stride[0] + at * v->stride[1]) * p->bytes;
  return v->unit == 1 ? davit_copy_2d(end - begin, rows, p->bytes, from, v->stride[0], to, end - begin)
                      : davit_copy_2d(rows, end - begin, p->bytes, from, v->stride[1], to, rows);
}

davit_status dvt_panel_post(dvt_panel *p, int turn, int64_t begin, int64_t end, int64_t row, int64_t rows,
                            dvt_error *failure) {
  const dvt_deal *inner = &p->view->deal[1];
  const int axis = p->view->axis[1];
  const MPI_Datatype type = dvt_grid_type(p->view->type);
  const int64_t most = rows > 0 ? dvt_at_least(INT_MAX / rows, 1) : 1;
  char *to = p->buffer[turn];
  p->request_count = p->piece_count = 0;
  if (rows == 0) /* nor has any other process of this line */
    return DAVIT_SUCCESS;
  for (int64_t i = begin, next; i < end; i = next) {
    const int owner = dvt_deal_owner(inner, i);
    next = dvt_deal_end(inner, i);
    next = dvt_at_most(dvt_at_most(next, end), i + most);
    if (owner == p->grid->at[axis])
      dvt_error_keep(failure, pack(p, i, next, row, rows, to));
    p->pieces[p->piece_count++] = (dvt_piece){next - i, to};
    const int count = (int)(rows * (next - i));
    DVT_TRY_MPI(MPI_Ibcast(to, count, type, owner, p->grid->line[axis], &p->requests[p->request_count++]));
    to += (size_t)count * p->bytes;
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_panel_arrive(dvt_panel *p) {
  const int count = (int)p->request_count;
  p->request_count = 0;
  return dvt_mpi_status(MPI_Waitall(count, p->requests, MPI_STATUSES_IGNORE));
}
