/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/panel.h"

#include <davit/memory.h>

#include "src/base/arithmetic.h"

/* A process that fills panel t in shared memory has panel t - 2 (t - 1, if it fills it when it publishes it), so all
 * have published that. They did so when their devices were done with panel t - 5 and might still use t - 4: five
 * buffers. Where messages are sent, panel t is filled when it is published, and this process's devices are done with
 * panel t - 3. */

/* ---- channels ---- */

davit_status dvt_channel_open(dvt_channel *c, davit_mpi_grid *grid, int axis, size_t bytes, int64_t requests,
                              const dvt_transport *transport, dvt_error *failure) {
  dvt_shared *s = &grid->shared[axis];
  *c = (dvt_channel){.line = grid->line[axis], .bytes = bytes};
  if (grid->size[axis] > 1 && bytes > 0) { /* which is so for all of the line */
    DVT_TRY(dvt_shared_open(c->line, DVT_SHARED_BUFFERS * bytes, transport->share, transport->device, s));
    c->shared = s->part ? s : NULL;
  }
  for (int i = 0; i < DVT_MESSAGE_BUFFERS && !c->shared; i++)
    dvt_error_keep(failure, dvt_mpi_allocate(1, bytes, transport->place, &c->buffer[i]));
  dvt_error_keep(failure, dvt_mpi_allocate(requests, sizeof *c->requests, DAVIT_PAGEABLE, &c->requests));
  return DAVIT_SUCCESS;
}

void dvt_channel_close(dvt_channel *c) {
  for (int i = 0; i < DVT_MESSAGE_BUFFERS; i++)
    davit_free(c->buffer[i]);
  davit_free(c->requests);
}

char *dvt_channel_part(const dvt_channel *c, int p, int64_t t) {
  return c->shared ? c->shared->part[p] + (size_t)(t % DVT_SHARED_BUFFERS) * c->bytes
                   : c->buffer[t % DVT_MESSAGE_BUFFERS];
}

davit_status dvt_channel_send(dvt_channel *c, davit_type type, int64_t count, int p, char *data) {
  return c->shared ? DAVIT_SUCCESS
                   : dvt_mpi_status(MPI_Ibcast(data, (int)count, dvt_grid_type(type), p, c->line,
                                               &c->requests[c->request_count++]));
}

davit_status dvt_channel_publish(dvt_channel *c) {
  return c->shared ? dvt_shared_publish(c->line, &c->requests[c->request_count++]) : DAVIT_SUCCESS;
}

davit_status dvt_channel_await(dvt_channel *c) {
  const int64_t count = c->request_count;
  c->request_count = 0;
  return dvt_shared_await(count, c->requests);
}

/* ---- panels ---- */

static davit_status find_alone(dvt_panel *p, const dvt_transport *transport) {
  int place = DAVIT_PAGEABLE;
  if (p->outer == 0 || transport->place != DAVIT_PINNED || p->grid->size[p->view->axis[1]] > 1)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_pointer_place(p->view->data, &place));
  p->alone = place < 0;
  return DAVIT_SUCCESS;
}

davit_status dvt_panel_open(dvt_panel *p, davit_mpi_grid *grid, const dvt_view *view, int64_t width,
                            const dvt_transport *transport, dvt_error *failure) {
  *p = (dvt_panel){.grid = grid,
                   .view = view,
                   .bytes = davit_type_bytes(view->type),
                   .outer = dvt_grid_local(grid, view, 0)};
  dvt_error_keep(failure, find_alone(p, transport));
  if (!p->alone)
    DVT_TRY(dvt_channel_open(&p->channel, grid, view->axis[1], (size_t)(p->outer * width) * p->bytes, width,
                             transport, failure));
  if (p->channel.shared && p->channel.shared->separate)
    dvt_error_keep(failure, davit_queue_create(transport->device, &p->queue, NULL));
  for (int i = 0; i < 2; i++)
    dvt_error_keep(failure, dvt_mpi_allocate(width, sizeof *p->pieces, DAVIT_PAGEABLE, &p->stage[i].pieces));
  return DAVIT_SUCCESS;
}

void dvt_panel_close(dvt_panel *p) {
  davit_queue_destroy(p->queue);
  dvt_channel_close(&p->channel);
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
  const int64_t ld = dvt_view_ld(v);
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

/* Lists the parts of a panel, or sends them; and before, as `packs` says, puts this process's own into its place. */
static davit_status each_part(dvt_panel *p, int64_t t, bool lists, bool packs, dvt_error *failure) {
  dvt_posted *panel = &p->stage[t % 2];
  const dvt_distribution *inner = &p->view->distribution[1];
  const int me = p->grid->at[p->view->axis[1]];
  const int64_t rows = panel->rows, most = dvt_mpi_columns_at_once(rows);
  size_t at = 0;
  for (int64_t i = panel->begin, next; i < panel->end; i = next) {
    const int owner = dvt_distribution_owner(inner, i);
    next = dvt_distribution_end(inner, i);
    next = dvt_at_most(dvt_at_most(next, panel->end), i + most);
    const int64_t length = next - i;
    char *to = at + dvt_channel_part(&p->channel, owner, t);
    if (packs && owner == me)
      dvt_error_keep(failure, pack(p, i, next, panel->row, rows, to));
    if (lists)
      append(p, panel, &(dvt_piece){length, p->view->unit == 0 ? rows : length, to, p->queue && owner == me});
    else
      DVT_TRY(dvt_channel_send(&p->channel, p->view->type, rows * length, owner, to));
    at += (size_t)(rows * length) * p->bytes;
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
    return each_part(p, t, true, p->queue, failure);
  const int64_t ld = dvt_view_ld(p->view);
  panel->pieces[panel->piece_count++] = (dvt_piece){end - begin, ld, part(p, begin, row), false};
  return DAVIT_SUCCESS;
}

davit_status dvt_panel_publish(dvt_panel *p, dvt_error *failure) {
  const int64_t t = p->published++;
  if (p->alone || p->stage[t % 2].rows == 0)
    return DAVIT_SUCCESS;
  if (p->queue)
    dvt_error_keep(failure, davit_queue_synchronize(p->queue));
  else
    DVT_TRY(each_part(p, t, false, true, failure));
  return dvt_channel_publish(&p->channel);
}

davit_status dvt_panel_arrive(dvt_panel *p) {
  const dvt_posted *panel = &p->stage[p->arrived++ % 2];
  p->pieces = panel->pieces;
  p->piece_count = panel->piece_count;
  return dvt_channel_await(&p->channel);
}
