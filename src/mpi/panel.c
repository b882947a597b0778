/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/panel.h"

#include <davit/memory.h>
#include <limits.h>

#include "src/base/arithmetic.h"

/* A process that fills panel t in shared memory has panel t - 2 (t - 1, if it fills it when it publishes it), so all
 * have published that. They did so when their devices were done with panel t - 5 and might still use t - 4: five
 * buffers. Where messages are sent, panel t is filled when it is published, and this process's devices are done with
 * panel t - 3. */

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
  for (int i = 0; i < 2; i++) {
    DVT_TRY(davit_malloc((size_t)width * sizeof *p->pieces, DAVIT_PAGEABLE, &memory));
    p->stage[i].pieces = memory;
  }
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
  if (p->shared && p->shared->separate)
    dvt_error_keep(failure, davit_queue_create(transport->device, &p->queue, NULL));
  dvt_error_keep(failure, allocate(p, transport->place));
  return DAVIT_SUCCESS;
}

void dvt_panel_close(dvt_panel *p) {
  davit_queue_destroy(p->queue);
  for (int i = 0; i < DVT_MESSAGE_BUFFERS; i++)
    davit_free(p->buffer[i]);
  davit_free(p->requests);
  davit_free(p->stage[0].pieces);
  davit_free(p->stage[1].pieces);
}

/* This rank's inner indices from `begin` on. */
static const char *part(const dvt_panel *p, int64_t begin, int64_t row) {
  const dvt_view *v = p->view;
  const int64_t at = dvt_distribution_below(&v->distribution[1], p->grid->at[v->axis[1]], begin);
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

/* A piece of columns that lie beside those of the last one lengthens that. */
static void append(const dvt_panel *p, dvt_posted *panel, const dvt_piece *piece) {
  dvt_piece *last = panel->piece_count > 0 ? &panel->pieces[panel->piece_count - 1] : NULL;
  if (p->view->unit == 0 && last && last->here == piece->here &&
      last->data + (size_t)(last->inner * last->ld) * p->bytes == piece->data)
    last->inner += piece->inner;
  else
    panel->pieces[panel->piece_count++] = *piece;
}

/* What is done with the parts of a panel. */
enum { LIST = 1, PACK = 2, SEND = 4 };

static davit_status each_part(dvt_panel *p, int64_t t, int what, dvt_error *failure) {
  dvt_posted *panel = &p->stage[t % 2];
  const dvt_distribution *inner = &p->view->distribution[1];
  const int axis = p->view->axis[1];
  const int64_t rows = panel->rows, most = dvt_at_least(INT_MAX / rows, 1);
  size_t at = 0;
  for (int64_t i = panel->begin, next; i < panel->end; i = next) {
    const int owner = dvt_distribution_owner(inner, i);
    next = dvt_distribution_end(inner, i);
    next = dvt_at_most(dvt_at_most(next, panel->end), i + most);
    const int count = (int)(rows * (next - i));
    char *to = at + (p->shared ? dvt_panel_part(p->shared, owner, t, buffer_bytes(p))
                               : p->buffer[t % DVT_MESSAGE_BUFFERS]);
    if (what & LIST)
      append(p, panel,
             &(dvt_piece){next - i, p->view->unit == 0 ? rows : next - i, to,
                          p->queue && owner == p->grid->at[axis]});
    if (what & PACK && owner == p->grid->at[axis])
      dvt_error_keep(failure, pack(p, i, next, panel->row, rows, to));
    if (what & SEND)
      DVT_TRY_MPI(MPI_Ibcast(to, count, dvt_grid_type(p->view->type), owner, p->grid->line[axis],
                             &p->requests[p->request_count++]));
    at += (size_t)count * p->bytes;
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_panel_post(dvt_panel *p, int64_t begin, int64_t end, int64_t row, int64_t rows,
                            dvt_error *failure) {
  const int64_t t = p->posted++;
  dvt_posted *panel = &p->stage[t % 2];
  *panel = (dvt_posted){.begin = begin, .end = end, .row = row, .rows = rows, .pieces = panel->pieces};
  if (rows == 0) /* nor has any other process of this line */
    return DAVIT_SUCCESS;
  if (!p->alone)
    return each_part(p, t, p->queue ? LIST | PACK : LIST, failure);
  const int64_t ld = p->view->stride[1 - p->view->unit];
  panel->pieces[panel->piece_count++] = (dvt_piece){end - begin, ld, part(p, begin, row), false};
  return DAVIT_SUCCESS;
}

davit_status dvt_panel_publish(dvt_panel *p, dvt_error *failure) {
  const int64_t t = p->published++;
  p->request_count = 0;
  if (p->alone || p->stage[t % 2].rows == 0)
    return DAVIT_SUCCESS;
  if (p->queue)
    dvt_error_keep(failure, davit_queue_synchronize(p->queue));
  else
    DVT_TRY(each_part(p, t, p->shared ? PACK : PACK | SEND, failure));
  return p->shared ? dvt_shared_publish(p->grid->line[p->view->axis[1]], &p->requests[p->request_count++])
                   : DAVIT_SUCCESS;
}

davit_status dvt_panel_arrive(dvt_panel *p) {
  const dvt_posted *panel = &p->stage[p->arrived++ % 2];
  const int64_t count = p->request_count;
  p->request_count = 0;
  p->pieces = panel->pieces;
  p->piece_count = panel->piece_count;
  return dvt_shared_await(count, p->requests);
}
