/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/panel.h"

#include <davit/memory.h>
#include <limits.h>

#include "src/base/arithmetic.h"

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

davit_status dvt_panel_share(davit_mpi_grid *grid, int axis, const dvt_transport *transport, size_t bytes,
                             const dvt_shared **shared) {
  dvt_shared *s = &grid->shared[axis];
  DVT_TRY(
      dvt_shared_open(grid->line[axis], DVT_SHARED_BUFFERS * bytes, transport->share, transport->device, s));
  *shared = s->part ? s : NULL;
  return DAVIT_SUCCESS;
}

char *dvt_panel_part(const dvt_shared *shared, int p, int64_t t, size_t bytes) {
  return shared->part[p] + (size_t)(t % DVT_SHARED_BUFFERS) * bytes;
}

davit_status dvt_panel_open(dvt_panel *p, davit_mpi_grid *grid, const dvt_view *view, int64_t width,
                            const dvt_transport *transport, dvt_error *failure) {
  const int axis = view->axis[1];
  *p = (dvt_panel){.grid = grid,
                   .view = view,
                   .bytes = davit_type_bytes(view->type),
                   .outer = dvt_grid_local(grid, view, 0),
                   .width = width};
  if (grid->size[axis] > 1 && p->outer > 0) /* which is so for all of the line */
    DVT_TRY(dvt_panel_share(grid, axis, transport, buffer_bytes(p), &p->shared));
  if (p->shared && p->shared->apart)
    dvt_error_keep(failure, davit_queue_create(transport->device, &p->queue, NULL));
  dvt_error_keep(failure, allocate(p, transport->place));
  return DAVIT_SUCCESS;
}

void dvt_panel_close(dvt_panel *p) {
  davit_queue_destroy(p->queue);
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
  const int64_t length = v->unit == 1 ? end - begin : rows, count = v->unit == 1 ? rows : end - begin;
  const int64_t ld = v->stride[1 - v->unit];
  return p->queue ? davit_queue_copy_2d(p->queue, length, count, p->bytes, from, ld, to, length)
                  : davit_copy_2d(length, count, p->bytes, from, ld, to, length);
}

/* Lengthens the last piece by one of columns that lie beside it. */
static bool joins(const dvt_panel *p, const dvt_piece *piece) {
  dvt_piece *last = p->piece_count > 0 ? &p->pieces[p->piece_count - 1] : NULL;
  if (p->view->unit != 0 || !last || last->data + (size_t)(last->inner * last->ld) * p->bytes != piece->data)
    return false;
  last->inner += piece->inner;
  return true;
}

davit_status dvt_panel_post(dvt_panel *p, int64_t begin, int64_t end, int64_t row, int64_t rows,
                            dvt_error *failure) {
  const dvt_deal *inner = &p->view->deal[1];
  const int axis = p->view->axis[1];
  const MPI_Datatype type = dvt_grid_type(p->view->type);
  const int64_t most = rows > 0 ? dvt_at_least(INT_MAX / rows, 1) : 1;
  const bool columns = p->view->unit == 0;
  const int64_t t = p->posted++;
  size_t at = 0; /* in the panel */
  p->request_count = p->piece_count = 0;
  if (rows == 0) /* nor has any other process of this line */
    return DAVIT_SUCCESS;
  if (p->alone) {
    p->pieces[p->piece_count++] =
        (dvt_piece){end - begin, p->view->stride[columns ? 1 : 0], part(p, begin, row)};
    return DAVIT_SUCCESS;
  }
  for (int64_t i = begin, next; i < end; i = next) {
    const int owner = dvt_deal_owner(inner, i);
    next = dvt_deal_end(inner, i);
    next = dvt_at_most(dvt_at_most(next, end), i + most);
    const int count = (int)(rows * (next - i));
    char *to = at + (p->shared ? dvt_panel_part(p->shared, owner, t, buffer_bytes(p))
                               : p->buffer[t % DVT_MESSAGE_BUFFERS]);
    const dvt_piece piece = {next - i, columns ? rows : next - i, to};
    if (owner == p->grid->at[axis])
      dvt_error_keep(failure, pack(p, i, next, row, rows, to));
    if (!joins(p, &piece))
      p->pieces[p->piece_count++] = piece;
    if (!p->shared)
      DVT_TRY_MPI(MPI_Ibcast(to, count, type, owner, p->grid->line[axis], &p->requests[p->request_count++]));
    at += (size_t)count * p->bytes;
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_panel_publish(dvt_panel *p, dvt_error *failure) {
  if (!p->shared || p->piece_count == 0)
    return DAVIT_SUCCESS;
  if (p->queue)
    dvt_error_keep(failure, davit_queue_synchronize(p->queue));
  return dvt_shared_publish(p->grid->line[p->view->axis[1]], &p->requests[p->request_count++]);
}

davit_status dvt_panel_arrive(dvt_panel *p) {
  const int64_t count = p->request_count;
  p->request_count = 0;
  return dvt_shared_await(count, p->requests);
}
