/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/panel.h"

#include <davit/memory.h>
#include <limits.h>

#include "src/base/arithmetic.h"
#include "src/mpi/transport.h"

/* A process that packs panel t into shared memory has panel t - 1, so all have packed that. They did so when their
 * devices were done with panel t - 4 and might still use t - 3: four buffers. Of its own a process knows more:
 * three. */

static size_t buffer_bytes(const dvt_panel *p) {
  return (size_t)(p->outer * p->width) * p->bytes;
}

static davit_status is_on_host(const dvt_view *view, bool *host) {
  int place = DAVIT_PAGEABLE;
  DVT_TRY(davit_pointer_place(view->data, &place));
  *host = place < 0;
  return DAVIT_SUCCESS;
}

static davit_status allocate(dvt_panel *p, int place) {
  void *memory = NULL;
  const int axis = p->view->axis[1];
  if (p->outer > 0 && place == DAVIT_PINNED && p->grid->size[axis] == 1)
    DVT_TRY(is_on_host(p->view, &p->alone));
  for (int i = 0; i < DVT_MESSAGE_BUFFERS && !p->alone && !p->shared; i++) {
    DVT_TRY(davit_malloc(buffer_bytes(p), place, &memory));
    p->buffer[i] = memory;
  }
  const int64_t width = p->width;
  DVT_TRY(davit_malloc((size_t)width * sizeof *p->requests, DAVIT_PAGEABLE, &memory));
  p->requests = memory;
  DVT_TRY(davit_malloc((size_t)width * sizeof *p->pieces, DAVIT_PAGEABLE, &memory));
  p->pieces = memory;
  return DAVIT_SUCCESS;
}

davit_status dvt_panel_share(davit_mpi_grid *grid, int axis, int place, size_t bytes, char **memory) {
  int willing = dvt_transport_shares() && place == DAVIT_PINNED, all;
  DVT_TRY_MPI(MPI_Allreduce(&willing, &all, 1, MPI_INT, MPI_LAND, grid->line[axis]));
  if (all)
    DVT_TRY(dvt_shared_open(grid->line[axis], DVT_SHARED_BUFFERS * bytes, &grid->shared[axis]));
  *memory = all ? grid->shared[axis].memory : NULL;
  return DAVIT_SUCCESS;
}

davit_status dvt_panel_open(dvt_panel *p, davit_mpi_grid *grid, const dvt_view *view, int64_t width,
                            int place, dvt_error *failure) {
  const int axis = view->axis[1];
  *p = (dvt_panel){.grid = grid,
                   .view = view,
                   .bytes = davit_type_bytes(view->type),
                   .outer = dvt_grid_local(grid, view, 0),
                   .width = width};
  if (grid->size[axis] > 1 && p->outer > 0) /* which is so for all of the line */
    DVT_TRY(dvt_panel_share(grid, axis, place, buffer_bytes(p), &p->shared));
  dvt_error_keep(failure, allocate(p, place));
  return DAVIT_SUCCESS;
}

void dvt_panel_close(dvt_panel *p) {
  for (int i = 0; i < DVT_MESSAGE_BUFFERS; i++)
    davit_free(p->buffer[i]);
  davit_free(p->requests);
  davit_free(p->pieces);
}

/* This rank's inner indices from `begin` on. */
static const char *part(const dvt_panel *p, int64_t begin, int64_t row) {
  const dvt_view *v = p->view;
  const int64_t at = dvt_deal_below(&v->deal[1], p->grid->at[v->axis[1]], begin);
  return v->data + (size_t)(row * v->stride[0] + at * v->stride[1]) * p->bytes;
}

/* Those to `end`, of which it has all, into the buffer. */
static davit_status pack(const dvt_panel *p, int64_t begin, int64_t end, int64_t row, int64_t rows,
                         char *to) {
  const dvt_view *v = p->view;
  const char *from = part(p, begin, row);
  return v->unit == 1 ? davit_copy_2d(end - begin, rows, p->bytes, from, v->stride[0], to, end - begin)
                      : davit_copy_2d(rows, end - begin, p->bytes, from, v->stride[1], to, rows);
}

davit_status dvt_panel_post(dvt_panel *p, int64_t begin, int64_t end, int64_t row, int64_t rows,
                            dvt_error *failure) {
  const dvt_deal *inner = &p->view->deal[1];
  const int axis = p->view->axis[1];
  const MPI_Datatype type = dvt_grid_type(p->view->type);
  const int64_t most = rows > 0 ? dvt_at_least(INT_MAX / rows, 1) : 1;
  const bool columns = p->view->unit == 0;
  const int64_t t = p->posted++;
  char *to = p->shared ? p->shared + (size_t)(t % DVT_SHARED_BUFFERS) * buffer_bytes(p)
                       : p->buffer[t % DVT_MESSAGE_BUFFERS];
  p->request_count = p->piece_count = 0;
  p->data = to;
  p->ld = rows;
  if (rows == 0) /* nor has any other process of this line */
    return DAVIT_SUCCESS;
  if (p->alone) {
    p->data = part(p, begin, row);
    p->ld = p->view->stride[columns ? 1 : 0];
    p->pieces[p->piece_count++] = (dvt_piece){end - begin, p->ld, p->data};
    return DAVIT_SUCCESS;
  }
  for (int64_t i = begin, next; i < end; i = next) {
    const int owner = dvt_deal_owner(inner, i);
    next = dvt_deal_end(inner, i);
    next = dvt_at_most(dvt_at_most(next, end), i + most);
    if (owner == p->grid->at[axis])
      dvt_error_keep(failure, pack(p, i, next, row, rows, to));
    p->pieces[p->piece_count++] = (dvt_piece){next - i, columns ? rows : next - i, to};
    const int count = (int)(rows * (next - i));
    if (!p->shared)
      DVT_TRY_MPI(MPI_Ibcast(to, count, type, owner, p->grid->line[axis], &p->requests[p->request_count++]));
    to += (size_t)count * p->bytes;
  }
  return p->shared ? dvt_shared_publish(p->grid->line[axis], &p->requests[p->request_count++])
                   : DAVIT_SUCCESS;
}

davit_status dvt_panel_arrive(dvt_panel *p) {
  const int64_t count = p->request_count;
  p->request_count = 0;
  return dvt_shared_await(count, p->requests);
}
