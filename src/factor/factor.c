/* SPDX-License-Identifier: Apache-2.0 */
/* What all factorisations by blocks have in common: tasks, panels on their way, slabs. memory.c has the tables. */
#include "src/factor/factor.h"

#include "src/factor/memory.h"
#include "src/factor/rows.h"
#include "src/level3/arguments.h"
#include "src/runtime/lane.h"
#include "src/runtime/place.h"

/* ---- tasks ---- */

static int lane_of(const dvt_factoring *f, int w, int role) {
  return w * DVT_FACTOR_ROLES + (f->worker[w].streams ? role : 0);
}

/* Tasks of its own lane it follows anyway. */
static dvt_graph_task new_task(dvt_factoring *f, int w, int role, dvt_follows *all, bool awaited) {
  const int lane = w == f->workers ? w * DVT_FACTOR_ROLES : lane_of(f, w, role);
  int count = 0;
  for (int i = 0; i < all->count; i++)
    if (f->lane[all->task[i]] != lane)
      all->task[count++] = all->task[i];
  f->lane[f->tasks] = (int16_t)lane;
  if (awaited && w < f->workers)
    f->worker[w].newest[role] = f->tasks;
  all->count = 0; /* what follows on the lane is behind them */
  return (dvt_graph_task){
      .number = f->tasks++, .lane = lane, .follows = all->task, .count = count, .awaited = awaited};
}

davit_status dvt_factor_compute(dvt_factoring *f, int w, int role, dvt_follows *all,
                                const dvt_operation *operation, const void *arguments, double flops,
                                int32_t *number) {
  const bool at_home = w == f->workers;
  dvt_lane *lane = f->graph.lane[at_home ? w * DVT_FACTOR_ROLES : lane_of(f, w, role)];
  const dvt_operation **prepared = at_home ? NULL : &f->worker[w].prepared[role];
  if (prepared && *prepared != operation && operation->prepare) {
    DVT_TRY(dvt_operation_prepare(lane, operation));
    *prepared = operation;
  }
  const dvt_graph_task task = new_task(f, w, role, all, number);
  if (number)
    *number = (int32_t)task.number;
  return dvt_graph_operation(&f->graph, &task, operation, arguments,
                             dvt_level3_threads(flops, lane->threads));
}

davit_status dvt_factor_level3(dvt_factoring *f, int w, int role, dvt_follows *all, const dvt_level3 *g,
                               int32_t *number) {
  return dvt_factor_compute(f, w, role, all, &dvt_level3_operations[g->routine], g,
                            2 * (double)g->m * (double)g->n * (double)g->k, number);
}

davit_status dvt_factor_copy(dvt_factoring *f, int w, int role, dvt_follows *all, const dvt_copy *copy,
                             int32_t *number) {
  const int64_t bytes = (int64_t)(copy->row_bytes * copy->cols);
  davit_solve_report *report = f->call->report;
  if (role == DVT_PEER ||
      !(dvt_place_is_host(copy->source_place) || dvt_place_is_host(copy->destination_place)))
    report->bytes_from_peers += bytes;
  else
    *(role == DVT_LOAD || role == DVT_LOAD_2 ? &report->bytes_from_host : &report->bytes_to_host) += bytes;
  const dvt_graph_task task = new_task(f, w, role, all, true);
  *number = (int32_t)task.number;
  return dvt_graph_copy(&f->graph, &task, copy);
}

/* ---- blocks ---- */

char *dvt_extra_of(const dvt_factoring *f, int64_t k) {
  return f->a.at[k] + dvt_factor_dense_bytes(f, &f->a, k);
}

/* Elements [low, high) of the first `width` columns (rows) of block k, between two places with their leading
 * dimensions. */
typedef struct part {
  int64_t k, width, low, high;
} part;

static davit_status copy_part(dvt_factoring *f, const dvt_blocks *b, int w, int role, dvt_follows *all,
                              part p, char *to, int64_t to_ld, int to_place, char *from, int64_t from_ld,
                              int from_place, int32_t *number) {
  const size_t length = (size_t)(p.high - p.low), width = (size_t)p.width;
  return dvt_factor_copy(f, w, role, all,
                         &(dvt_copy){.destination = to,
                                     .source = from,
                                     .destination_pitch = (size_t)to_ld * f->element,
                                     .source_pitch = (size_t)from_ld * f->element,
                                     .row_bytes = (b->by_rows ? width : length) * f->element,
                                     .cols = b->by_rows ? length : width,
                                     .destination_place = to_place,
                                     .source_place = from_place},
                         number);
}

/* Where the matrix has block k from element `at` of its columns (rows) on. */
static char *in_matrix(const dvt_factoring *f, const dvt_blocks *b, int64_t k, int64_t at) {
  const int64_t s = dvt_block_start(b, k), row = b->by_rows ? s : at, col = b->by_rows ? at : s;
  return (char *)b->matrix.a + (size_t)(row + col * b->matrix.ld) * f->element;
}

static part whole(const dvt_blocks *b, int64_t k) {
  return (part){k, dvt_block_width(b, k), dvt_block_top(b, k), dvt_blocks_length(b)};
}

/* Blocks of a device take one of two lanes in turn. */
static int in_turn(const dvt_factoring *f, int64_t k, int first, int second) {
  return k / f->workers % 2 ? second : first;
}

static davit_status load(dvt_factoring *f, dvt_blocks *b, int64_t k, const dvt_follows *before) {
  const int w = dvt_owner(f, k), role = in_turn(f, k, DVT_LOAD, DVT_LOAD_2);
  dvt_follows all = *before;
  return copy_part(f, b, w, role, &all, whole(b, k), b->at[k], dvt_block_ld(b, k),
                   dvt_place_for(f->worker[w].device), in_matrix(f, b, k, dvt_block_top(b, k)), b->matrix.ld,
                   b->matrix.place, &b->last[k]);
}

static davit_status store_part(dvt_factoring *f, dvt_blocks *b, part p, dvt_follows *all) {
  const int64_t k = p.k, top = dvt_block_top(b, k), ld = dvt_block_ld(b, k);
  const int w = dvt_owner(f, k), role = in_turn(f, k, DVT_STORE, DVT_STORE_2);
  dvt_follow(all, b->last[k]);
  f->call->report->written = true;
  return copy_part(f, b, w, role, all, p, in_matrix(f, b, k, p.low), b->matrix.ld, b->matrix.place,
                   dvt_behind(f, b, b->at[k], ld, p.low - top), ld, dvt_place_for(f->worker[w].device),
                   &b->stored[k]);
}

davit_status dvt_factor_store(dvt_factoring *f, int64_t k, int64_t low, int64_t high, dvt_follows *all) {
  return store_part(f, &f->a, (part){k, dvt_block_width(&f->a, k), low, high}, all);
}

static davit_status store(dvt_factoring *f, dvt_blocks *b, int64_t k) {
  const bool panel = b == &f->a && k < f->panels;
  const int role = in_turn(f, k, DVT_STORE, DVT_STORE_2);
  dvt_follows all = {.count = 0};
  part p = whole(b, k);
  if (panel && f->rule->settled)
    p.high = f->rule->settled(f, k);
  DVT_TRY(store_part(f, b, p, &all));
  return panel && f->rule->store ? f->rule->store(f, k, role) : DAVIT_SUCCESS;
}

/* ---- panels ---- */

static bool needs(const dvt_factoring *f, int w, int64_t from, int64_t end) {
  for (int64_t k = from; k < end && k < from + f->workers; k++)
    if (dvt_owner(f, k) == w)
      return true;
  return false;
}

/* A slot that nobody reads any more. */
static char *take_slot(dvt_factoring *f, int w, int64_t k, dvt_follows *all) {
  dvt_worker *e = &f->worker[w];
  int32_t *readers = e->readers[k % DVT_SLOTS];
  for (int i = 0; i < DVT_MAX_DEVICES + 2; i++) {
    dvt_follow(all, readers[i]);
    readers[i] = DVT_NOTHING;
  }
  return e->slot[k % DVT_SLOTS];
}

void dvt_factor_reads(dvt_factoring *f, int64_t k, int w, int role, int32_t task) {
  f->worker[w].readers[k % DVT_SLOTS][DVT_MAX_DEVICES + (role == DVT_UPDATE)] = task;
}

static dvt_panel in_slot(dvt_factoring *f, int w, int64_t k, int64_t origin, dvt_follows *all) {
  char *slot = take_slot(f, w, k, all);
  const int64_t ld = f->a.by_rows ? dvt_block_width(&f->a, k) : dvt_blocks_length(&f->a) - origin;
  return (dvt_panel){slot, slot + dvt_factor_dense_bytes(f, &f->a, 0), ld, origin, DVT_NOTHING};
}

/* The owner's panel k: in place, or loaded from element `origin` of its columns (rows) on. */
static davit_status own_panel(dvt_factoring *f, int64_t k, int64_t origin, bool in_place) {
  const int w = dvt_owner(f, k);
  dvt_worker *owner = &f->worker[w];
  if (in_place) {
    owner->panel = (dvt_panel){f->a.at[k], dvt_extra_of(f, k), dvt_block_ld(&f->a, k),
                               dvt_block_top(&f->a, k), f->a.last[k]};
    return f->rule->bring ? f->rule->bring(f, k, w) : DAVIT_SUCCESS;
  }
  dvt_follows all = {.count = 0};
  owner->panel = in_slot(f, w, k, origin, &all);
  dvt_follow(&all, f->a.stored[k]);
  DVT_TRY(copy_part(f, &f->a, w, DVT_LOAD, &all,
                    (part){k, dvt_block_width(&f->a, k), origin, dvt_blocks_length(&f->a)},
                    owner->panel.pointer, owner->panel.ld, dvt_place_for(owner->device),
                    in_matrix(f, &f->a, k, origin), f->a.matrix.ld, f->a.matrix.place, &owner->panel.ready));
  if (f->rule->prepare)
    DVT_TRY(f->rule->prepare(f, k));
  return f->rule->bring ? f->rule->bring(f, k, w) : DAVIT_SUCCESS;
}

/* Gives panel k, from element `origin` of its columns (rows) on, to all devices that own one of the blocks from `first` to
 * `end`. */
static davit_status distribute(dvt_factoring *f, int64_t k, int64_t origin, int64_t first, int64_t end,
                               bool in_place) {
  const int w = dvt_owner(f, k);
  const dvt_worker *owner = &f->worker[w];
  DVT_TRY(own_panel(f, k, origin, in_place));
  for (int i = 0; i < f->workers; i++) {
    dvt_worker *e = &f->worker[i];
    if (i == w || !needs(f, i, first, end))
      continue;
    dvt_follows all = {.count = 0};
    e->panel = in_slot(f, i, k, origin, &all);
    dvt_follow(&all, owner->panel.ready);
    DVT_TRY(copy_part(
        f, &f->a, i, DVT_PEER, &all, (part){k, dvt_block_width(&f->a, k), origin, dvt_blocks_length(&f->a)},
        e->panel.pointer, e->panel.ld, dvt_place_for(e->device),
        dvt_behind(f, &f->a, owner->panel.pointer, owner->panel.ld, origin - owner->panel.origin),
        owner->panel.ld, dvt_place_for(owner->device), &e->panel.ready));
    if (f->rule->bring)
      DVT_TRY(f->rule->bring(f, k, i));
    if (!in_place)
      f->worker[w].readers[k % DVT_SLOTS][i] = e->panel.ready;
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_factor_sweep(dvt_factoring *f, bool descending, dvt_factor_step step) {
  for (int64_t i = 0; i < f->panels; i++) {
    const int64_t k = descending ? f->panels - 1 - i : i;
    DVT_TRY(distribute(f, k, dvt_block_top(&f->a, k), 0, f->b.count, true));
    for (int64_t to = 0; to < f->b.count; to++)
      DVT_TRY(step(f, k, &f->b, to, DVT_UPDATE));
  }
  return DAVIT_SUCCESS;
}

/* ---- factorisations ---- */

static davit_status update(dvt_factoring *f, int64_t k, int64_t to, int role) {
  return f->rule->update(f, k, &f->a, to, role);
}

/* The panels before the slab, which are finished. */
static davit_status update_slab(dvt_factoring *f, int64_t first, int64_t end) {
  for (int64_t k = 0; k < first && k < f->panels; k++) {
    const int64_t origin = f->rule->triangle ? dvt_block_start(&f->a, first) : dvt_block_start(&f->a, k);
    DVT_TRY(distribute(f, k, origin, first, end, false));
    for (int64_t to = first; to < end; to++)
      DVT_TRY(update(f, k, to, DVT_UPDATE));
  }
  return DAVIT_SUCCESS;
}

/* Cholesky's ends where a block could not be factored. */
static bool ends(const dvt_factoring *f) {
  return f->failed && f->rule->triangle;
}

static davit_status settle(dvt_factoring *f, int64_t k) {
  if (f->rule->settle)
    DVT_TRY(f->rule->settle(f, k));
  return ends(f) ? DAVIT_SUCCESS : store(f, &f->a, k);
}

static davit_status factor_slab(dvt_factoring *f, int64_t first, int64_t end) {
  const int64_t last = end < f->panels ? end : f->panels, behind = f->rule->settles_behind;
  for (int64_t k = first; k < last && !ends(f); k++) {
    DVT_TRY(f->rule->factor(f, k));
    if (!behind)
      DVT_TRY(settle(f, k));
    if (k + 1 < end)
      DVT_TRY(distribute(f, k, dvt_block_start(&f->a, f->rule->triangle ? k + 1 : k), k + 1, end, true));
    for (int64_t to = k + 1; to < end; to++)
      DVT_TRY(update(f, k, to, to == k + 1 ? DVT_NEXT : DVT_UPDATE));
    if (behind && k > first)
      DVT_TRY(settle(f, k - 1));
  }
  if (behind && !ends(f) && last > first)
    DVT_TRY(settle(f, last - 1));
  for (int64_t k = last > first ? last : first; k < end && !ends(f); k++)
    DVT_TRY(store(f, &f->a, k));
  return DAVIT_SUCCESS;
}

dvt_follows dvt_factor_everything(const dvt_factoring *f) {
  dvt_follows all = {.count = 0};
  for (int w = 0; w < f->workers; w++)
    for (int role = 0; role < DVT_FACTOR_ROLES; role++)
      dvt_follow(&all, f->worker[w].newest[role]);
  return all;
}

static davit_status load_all(dvt_factoring *f, dvt_blocks *b, int64_t first, int64_t end,
                             const dvt_follows *before) {
  for (int64_t k = first; k < end; k++)
    DVT_TRY(load(f, b, k, before));
  return DAVIT_SUCCESS;
}

static davit_status factor_slabs(dvt_factoring *f) {
  dvt_follows before = {.count = 0};
  for (int64_t first = 0, end; first < f->a.count && !ends(f); first = end) {
    end = dvt_factor_slab_end(f, first);
    DVT_TRY(load_all(f, &f->a, first, end, &before));
    DVT_TRY(update_slab(f, first, end));
    DVT_TRY(factor_slab(f, first, end));
    before = dvt_factor_everything(f);
  }
  return DAVIT_SUCCESS;
}

/* The systems, where all panels are in place and there is room beside them. */
static davit_status solve(dvt_factoring *f) {
  if (f->failed || f->b.count == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(f->rule->solve(f));
  for (int64_t k = 0; k < f->b.count; k++)
    DVT_TRY(store(f, &f->b, k));
  f->call->solved = true;
  return DAVIT_SUCCESS;
}

static davit_status factor_all(dvt_factoring *f) {
  const dvt_follows none = {.count = 0};
  DVT_TRY(load_all(f, &f->b, 0, f->b.count, &none));
  DVT_TRY(factor_slabs(f));
  DVT_TRY(solve(f));
  return f->rule->finish ? f->rule->finish(f) : DAVIT_SUCCESS;
}

/* ---- products with what was factored ---- */

/* Whether panels are taken in ascending order: Q' C = … H2' H1' C, and C Q = C H1 H2 … */
static bool ascends(const dvt_factor_call *call) {
  return call->work == DVT_MULTIPLY && (call->side == 'L') == (call->trans != 'N');
}

static davit_status multiply_slab(dvt_factoring *f, int64_t first, int64_t end) {
  const bool generates = f->call->work == DVT_GENERATE;
  for (int64_t i = 0; i < f->panels; i++) {
    const int64_t k = ascends(f->call) ? i : f->panels - 1 - i, start = dvt_block_start(&f->a, k);
    if (generates && k >= end)
      continue; /* it leaves the first columns of the unit matrix as they are */
    DVT_TRY(distribute(f, k, start, generates && k > first ? k : first, end, false));
    for (int64_t to = generates && k > first ? k : first; to < end; to++)
      DVT_TRY(f->rule->update(f, k, &f->b, to, DVT_UPDATE));
  }
  for (int64_t k = first; k < end; k++)
    DVT_TRY(store(f, &f->b, k));
  return DAVIT_SUCCESS;
}

static davit_status multiply_all(dvt_factoring *f) {
  dvt_follows before = {.count = 0};
  for (int64_t first = 0, end; first < f->b.count; first = end) {
    end = dvt_factor_slab_end(f, first);
    DVT_TRY(load_all(f, &f->b, first, end, &before));
    DVT_TRY(multiply_slab(f, first, end));
    before = dvt_factor_everything(f);
  }
  return DAVIT_SUCCESS;
}

/* A slab takes the place of its own panels, which those before it do not need. */
static davit_status generate_all(dvt_factoring *f) {
  dvt_follows before = {.count = 0};
  for (int64_t end = f->b.count, first; end > 0; end = first) {
    first = 0;
    while (dvt_factor_slab_end(f, first) < end)
      first = dvt_factor_slab_end(f, first);
    for (int64_t k = first; k < end; k++) {
      const int w = dvt_owner(f, k);
      const dvt_unit unit = {.type = f->call->type,
                             .m = dvt_block_length(&f->b, k),
                             .n = dvt_block_width(&f->b, k),
                             .a = f->b.at[k],
                             .ld = dvt_block_ld(&f->b, k),
                             .diagonal = dvt_block_start(&f->b, k),
                             .below = true};
      dvt_follows all = before;
      DVT_TRY(dvt_factor_compute(f, w, DVT_UPDATE, &all, &dvt_unit_operation, &unit, 0, &f->b.last[k]));
    }
    DVT_TRY(multiply_slab(f, first, end));
    before = dvt_factor_everything(f);
  }
  return DAVIT_SUCCESS;
}

/* ---- the whole ---- */

static davit_status carry_out(dvt_factoring *f) {
  DVT_TRY(dvt_factor_prepare(f));
  f->call->report->block = f->a.width;
  return f->call->work == DVT_FACTOR     ? factor_all(f)
         : f->call->work == DVT_MULTIPLY ? multiply_all(f)
                                         : generate_all(f);
}

davit_status dvt_factor_run(dvt_factor_call *call, int *info) {
  dvt_factoring *f = dvt_factor_new(call);
  *info = 0;
  if (!f)
    return DAVIT_OUT_OF_HOST_MEMORY;
  const davit_status status = dvt_graph_wait(&f->graph, carry_out(f));
  dvt_error error = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&error, status);
  *info = f->failed;
  dvt_factor_free(f);
  return dvt_error_report(&error);
}
