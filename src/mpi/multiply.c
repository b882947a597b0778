/* SPDX-License-Identifier: Apache-2.0 */
/* SUMMA: while the devices multiply one panel of A and B, the next is broadcast. Of a triangle a panel of A arrives
 * first; then what the process column has of it for the columns is sent. */
#include "src/mpi/multiply.h"

#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/mpi/mirror.h"
#include "src/mpi/redistribute.h"

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

/* ---- panels ---- */

/* The operands on their way to the local panels: each panel is posted, published, arrives and is fetched. All but the
 * last are collective. */
typedef struct operands {
  dvt_local_panels *locals;
  dvt_panel left, right;
  dvt_mirror mirror; /* of a triangle, in place of `right` */
  bool is_mirrored, in_groups;
  int64_t k, panels;
  dvt_error failure; /* what goes wrong on this rank */
} operands;

static int64_t inner_of(const operands *o, int64_t t) {
  return dvt_at_most(o->k - t * o->locals->width, o->locals->width);
}

static davit_status post_one(operands *o, dvt_panel *panel, int64_t t) {
  const int64_t begin = t * o->locals->width;
  return dvt_panel_post(panel, begin, begin + inner_of(o, t), 0, panel->outer, &o->failure);
}

/* Enqueues what can be enqueued. What is mirrored is taken out of panels that have arrived. */
static davit_status post(operands *o, int64_t t) {
  if (t >= o->panels || o->is_mirrored)
    return DAVIT_SUCCESS;
  DVT_TRY(post_one(o, &o->left, t));
  return post_one(o, &o->right, t);
}

static davit_status publish(operands *o, int64_t t) {
  if (t >= o->panels)
    return DAVIT_SUCCESS;
  if (o->is_mirrored)
    DVT_TRY(post_one(o, &o->left, t));
  DVT_TRY(dvt_panel_publish(&o->left, &o->failure));
  if (!o->is_mirrored)
    return dvt_panel_publish(&o->right, &o->failure);
  DVT_TRY(dvt_panel_arrive(&o->left));
  return dvt_mirror_post(&o->mirror, &o->left, inner_of(o, t), &o->failure);
}

static davit_status arrive(operands *o) {
  if (o->is_mirrored)
    return dvt_channel_await(&o->mirror.channel);
  DVT_TRY(dvt_panel_arrive(&o->left));
  return dvt_panel_arrive(&o->right);
}

static davit_status fetch(operands *o, int64_t t) {
  dvt_local_panels *s = o->locals;
  dvt_right right = {.count = o->right.piece_count, .pieces = o->right.pieces};
  dvt_piece rest;
  DVT_TRY(
      dvt_local_panels_fetch_left(s, t, o->left.outer, inner_of(o, t), o->left.piece_count, o->left.pieces));
  if (o->is_mirrored)
    right = (dvt_right){.count = o->mirror.column_ranges, .columns = o->mirror.columns};
  if (o->in_groups) {
    rest = right.pieces[0];
    rest.inner = o->k - t * s->width;
    right.rest = &rest;
  }
  return dvt_local_panels_fetch_right(s, t, &right);
}

static bool works(const operands *o) {
  return o->failure.status == DAVIT_SUCCESS;
}

/* While the devices work on one panel, the next is sent and the one after that is posted. After a failure no product is
 * enqueued any more, but the other ranks still need this one's panels. */
static davit_status multiply(operands *o, double alpha, double beta) {
  dvt_local_panels *s = o->locals;
  const dvt_row_range all = {.rows = s->rows};
  const int64_t panels = o->panels;
  int64_t first = dvt_at_least(panels - s->last, 0); /* of those that dvt_local_panels_finish() multiplies */
  if (o->in_groups)                                  /* of which there are two at a time */
    first = dvt_at_least(first, ((panels - 1) / s->group - 1) * s->group);
  DVT_TRY(post(o, 0));
  DVT_TRY(publish(o, 0));
  DVT_TRY(post(o, 1));
  for (int64_t t = 0; t < panels; t++) {
    DVT_TRY(arrive(o));
    if (works(o))
      dvt_error_keep(&o->failure, fetch(o, t));
    if (works(o) && t < first)
      dvt_error_keep(&o->failure, dvt_local_panels_multiply(s, t, all, alpha, t == 0 ? beta : 1));
    if (t + 1 < panels)
      dvt_error_keep(&o->failure, dvt_local_panels_wait(s, t - 2));
    DVT_TRY(publish(o, t + 1));
    DVT_TRY(post(o, t + 2));
  }
  if (works(o))
    dvt_error_keep(&o->failure,
                   dvt_local_panels_finish(s, first, panels - first, alpha, first == 0 ? beta : 1));
  return DAVIT_SUCCESS;
}

/* ---- the product ---- */

static davit_status open(void *call, dvt_local_panels *locals) {
  const dvt_product *p = call;
  DVT_TRY(dvt_local_panels_open(locals, p->grid, &p->c, p->width, p->devices, p->device_count));
  if (p->uplo)
    DVT_TRY(p->divide(p, locals));
  return p->beta != 0 ? dvt_local_panels_load(locals) : DAVIT_SUCCESS;
}

static davit_status open_operands(const dvt_product *p, operands *o) {
  const dvt_transport *transport = &o->locals->transport;
  DVT_TRY(dvt_panel_open(&o->left, p->grid, &p->a, o->locals->width, transport, &o->failure));
  DVT_TRY(o->is_mirrored
              ? dvt_mirror_open(&o->mirror, p->grid, &p->c, o->locals->width, transport, &o->failure)
              : dvt_panel_open(&o->right, p->grid, &p->b, o->locals->width, transport, &o->failure));
  o->in_groups = o->right.alone && o->locals->group > 1;
  return dvt_mpi_agree(p->grid->comm, dvt_error_report(&o->failure));
}

static davit_status multiply_operands(const dvt_product *p, operands *o) {
  davit_status status = open_operands(p, o);
  if (status == DAVIT_SUCCESS)
    status = multiply(o, p->alpha, p->beta);
  dvt_error_keep(&o->failure, dvt_local_panels_flush(o->locals));
  dvt_panel_close(&o->left);
  dvt_panel_close(&o->right);
  dvt_mirror_close(&o->mirror);
  return status;
}

static davit_status scale(dvt_local_panels *locals, double beta) {
  DVT_TRY(dvt_local_panels_scale(locals, beta));
  return dvt_local_panels_store(locals);
}

static davit_status compute(dvt_product *p, dvt_local_panels *locals) {
  operands o = {.locals = locals, .is_mirrored = p->uplo, .k = p->k};
  DVT_TRY(dvt_local_panels_agree(p->grid, locals, open, p));
  o.panels = p->alpha == 0 || p->k == 0 ? 0 : dvt_divide_up(p->k, locals->width);
  if (o.panels == 0)
    dvt_error_keep(&o.failure, scale(locals, p->beta));
  else
    DVT_TRY(multiply_operands(p, &o));
  if (p->uplo && works(&o))
    dvt_error_keep(&o.failure, p->merge(p, locals));
  dvt_error_keep(&o.failure, dvt_local_panels_close(locals));
  return dvt_mpi_agree(p->grid->comm, dvt_error_report(&o.failure));
}

davit_status dvt_multiply(dvt_product *p) {
  void *a = NULL, *b = NULL;
  dvt_local_panels locals = {.count = 0};
  const bool any = p->alpha != 0 && p->k > 0;
  davit_status status = any ? dvt_fit(p->grid, &p->c.distribution[0], 0, 0, &p->a, &a) : DAVIT_SUCCESS;
  if (status == DAVIT_SUCCESS && any && !p->uplo)
    status = dvt_fit(p->grid, &p->c.distribution[1], 1, 1, &p->b, &b);
  if (status == DAVIT_SUCCESS)
    status = compute(p, &locals);
  dvt_local_panels_close(&locals);
  davit_free(a);
  davit_free(b);
  return status;
}
