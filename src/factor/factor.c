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

/* Of each lane the newest one. */
void dvt_follow_group(const dvt_factoring *f, dvt_follows *all, const dvt_group *g) {
  for (int64_t k = g->first; k < g->end; k += f->workers) {
    const int32_t task = g->blocks->last[k];
    int i = 0;
    while (i < all->count && task != DVT_NOTHING && f->lane[all->task[i]] != f->lane[task])
      i++;
    if (i == all->count)
      dvt_follow(all, task);
    else if (task > all->task[i])
      all->task[i] = task;
  }
}

void dvt_group_written(const dvt_factoring *f, const dvt_group *g, int32_t task) {
  for (int64_t k = g->first; k < g->end; k += f->workers)
    g->blocks->last[k] = task;
}

/* ---- blocks ---- */

/* Elements [low, high) of the first `width` columns (rows) of block k, between two places with their leading
 * dimensions. */
typedef struct part {
  int64_t k, width, low, high;
} part;

static davit_status copy_part(dvt_factoring *f, const dvt_blocks *b, int w, int role, dvt_follows *all,
                              part p, char *to, int64_t to_ld, int to_place, char *from, int64_t from_ld,
                              int from_place, int32_t *number) {
  const size_t length = (size_t)(p.high - p.low), width = (size_t)p.width;
  const dvt_copy copy =
      dvt_copy_columns((b->by_rows ? width : length) * f->element, b->by_rows ? length : width,
                       (dvt_columns){from, (size_t)from_ld * f->element, from_place},
                       (dvt_columns){to, (size_t)to_ld * f->element, to_place});
  return dvt_factor_copy(f, w, role, all, &copy, number);
}

/* Where the matrix has block k from element `at` of its columns (rows) on. */
static char *in_matrix(const dvt_factoring *f, const dvt_blocks *b, int64_t k, int64_t at) {
  const int64_t s = dvt_block_start(b, k), row = b->by_rows ? s : at, col = b->by_rows ? at : s;
  return (char *)b->matrix.a + (size_t)(row + col * b->matrix.ld) * f->element;
}

static part whole(const dvt_blocks *b, int64_t k) {
  return (part){k, dvt_block_width(b, k), dvt_block_top(b, k), dvt_block_bottom(b, k)};
}

/* Which of two lanes. */
static int in_turn(const dvt_factoring *f, const dvt_blocks *b, int64_t k, int first, int second) {
  return dvt_takes_turns(b) && k / f->workers % 2 ? second : first;
}

static davit_status load(dvt_factoring *f, dvt_blocks *b, int64_t k, const dvt_follows *before) {
  const int w = dvt_owner(f, k), role = in_turn(f, b, k, DVT_LOAD, DVT_LOAD_2);
  dvt_follows all = *before;
  return copy_part(f, b, w, role, &all, whole(b, k), b->at[k], dvt_block_ld(b, k),
                   dvt_place_for(f->worker[w].device), in_matrix(f, b, k, dvt_block_top(b, k)), b->matrix.ld,
                   b->matrix.place, &b->last[k]);
}

static davit_status store_part(dvt_factoring *f, const dvt_group *g, int role, int64_t low, int64_t high) {
  const dvt_blocks *b = g->blocks;
  const int64_t k = g->first, top = dvt_block_top(b, k), ld = dvt_block_ld(b, k);
  dvt_follows all = {.count = 0};
  dvt_follow_group(f, &all, g);
  f->call->report->written = true;
  return copy_part(f, b, g->w, role, &all, (part){k, g->width, low, high}, in_matrix(f, b, k, low),
                   b->matrix.ld, b->matrix.place, dvt_behind(f, b, b->at[k], ld, low - top), ld,
                   dvt_place_for(f->worker[g->w].device), &b->stored[k]);
}

/* Rows [low, high) of the blocks from `first` to `end`, which lie behind each other in the matrix, and on a device that
 * is alone; lanes take turns by the number of the panel. */
static davit_status store_rows(dvt_factoring *f, int64_t panel, int64_t first, int64_t end, int64_t low,
                               int64_t high) {
  for (int64_t k = first, next; k < end; k = next) {
    next = f->workers > 1 ? k + 1 : end;
    const dvt_group g = dvt_group_of(f, &f->a, dvt_owner(f, k), k, next);
    DVT_TRY(store_part(f, &g, in_turn(f, &f->a, panel, DVT_STORE, DVT_STORE_2), low, high));
  }
  return DAVIT_SUCCESS;
}

static davit_status store(dvt_factoring *f, dvt_blocks *b, int64_t k) {
  const int role = in_turn(f, b, k, DVT_STORE, DVT_STORE_2);
  const dvt_group g = dvt_group_of(f, b, dvt_owner(f, k), k, k + 1);
  DVT_TRY(store_part(f, &g, role, dvt_block_top(b, k), dvt_block_bottom(b, k)));
  return b == &f->a && k < f->panels && f->rule->store ? f->rule->store(f, k, role) : DAVIT_SUCCESS;
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
  const int64_t ld = dvt_block_bottom(&f->a, k) - origin;
  return (dvt_panel){slot, slot + dvt_factor_dense_bytes(f, &f->a, 0), ld, origin, DVT_NOTHING, 0};
}

static dvt_panel in_place(const dvt_factoring *f, int64_t k) {
  return (dvt_panel){
      f->a.at[k], f->a.beside[k], dvt_block_ld(&f->a, k), dvt_block_top(&f->a, k), f->a.last[k], 0};
}

/* The owner's panel k: in place, or loaded from element `origin` of its columns (rows) on. */
static davit_status own_panel(dvt_factoring *f, int64_t k, int64_t origin, bool stays) {
  const int w = dvt_owner(f, k);
  dvt_worker *owner = &f->worker[w];
  if (stays) {
    owner->panel = in_place(f, k);
    return f->rule->bring ? f->rule->bring(f, k, w) : DAVIT_SUCCESS;
  }
  dvt_follows all = {.count = 0};
  owner->panel = in_slot(f, w, k, origin, &all);
  dvt_follow(&all, f->a.stored[k]);
  DVT_TRY(copy_part(f, &f->a, w, DVT_LOAD, &all,
                    (part){k, dvt_block_width(&f->a, k), origin, dvt_block_bottom(&f->a, k)},
                    owner->panel.pointer, owner->panel.ld, dvt_place_for(owner->device),
                    in_matrix(f, &f->a, k, origin), f->a.matrix.ld, f->a.matrix.place, &owner->panel.ready));
  if (f->rule->prepare)
    DVT_TRY(f->rule->prepare(f, k));
  return f->rule->bring ? f->rule->bring(f, k, w) : DAVIT_SUCCESS;
}

/* Gives panel k, from element `origin` of its columns (rows) on, to all devices that own one of the blocks from `first`
 * to `end`. */
static davit_status distribute(dvt_factoring *f, int64_t k, int64_t origin, int64_t first, int64_t end,
                               bool stays) {
  const int w = dvt_owner(f, k);
  const dvt_worker *owner = &f->worker[w];
  DVT_TRY(own_panel(f, k, origin, stays));
  for (int i = 0; i < f->workers; i++) {
    dvt_worker *e = &f->worker[i];
    if (i == w || !needs(f, i, first, end))
      continue;
    dvt_follows all = {.count = 0};
    e->panel = in_slot(f, i, k, origin, &all);
    dvt_follow(&all, owner->panel.ready);
    DVT_TRY(copy_part(
        f, &f->a, i, DVT_PEER, &all, (part){k, dvt_block_width(&f->a, k), origin, dvt_block_bottom(&f->a, k)},
        e->panel.pointer, e->panel.ld, dvt_place_for(e->device),
        dvt_behind(f, &f->a, owner->panel.pointer, owner->panel.ld, origin - owner->panel.origin),
        owner->panel.ld, dvt_place_for(owner->device), &e->panel.ready));
    if (f->rule->bring)
      DVT_TRY(f->rule->bring(f, k, i));
    if (!stays)
      f->worker[w].readers[k % DVT_SLOTS][i] = e->panel.ready;
  }
  return DAVIT_SUCCESS;
}

/* Takes the step with each of the blocks from `first` to `end`, */
static davit_status each_alone(dvt_factoring *f, int64_t k, dvt_blocks *blocks, int64_t first, int64_t end,
                               dvt_factor_step step, int role) {
  for (int64_t to = first; to < end; to++) {
    const dvt_group g = dvt_group_of(f, blocks, dvt_owner(f, to), to, to + 1);
    DVT_TRY(step(f, k, &g, role));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_factor_sweep(dvt_factoring *f, bool descending, dvt_factor_step step) {
  for (int64_t i = 0; i < f->panels; i++) {
    const int64_t k = descending ? f->panels - 1 - i : i;
    DVT_TRY(distribute(f, k, dvt_block_top(&f->a, k), 0, f->b.count, true));
    DVT_TRY(each_alone(f, k, &f->b, 0, f->b.count, step, DVT_UPDATE));
  }
  return DAVIT_SUCCESS;
}

/* ---- factorisations ---- */

/* Whether blocks that are on their way may be updated later: one device has all panels in place. */
static bool catches_up(const dvt_factoring *f) {
  return f->rule->arrivals > 0 && f->workers == 1 && f->whole;
}

/* The end of the blocks that will have come when panel k is there: by count, so that bits do not depend on times. */
static int64_t come_with(const dvt_factoring *f, int64_t k, int64_t end) {
  const int64_t come = k + 2 + (k + 1) * (f->rule->arrivals - 1);
  if (f->workers > 1 && f->rule->waits)
    return k == 0 ? 0 : end;
  return k + 1 >= f->panels || come > end ? end : come;
}

/* Updates the blocks of A from `first` to `end` with panel k: where the rule says so those of a device as one, but for
 * those that are on their way. */
static davit_status update(dvt_factoring *f, int64_t k, int64_t first, int64_t end, int role) {
  int64_t as_one = !f->rule->merges ? first : catches_up(f) ? end : come_with(f, k, end);
  as_one = as_one < first ? first : as_one;
  for (int w = 0; w < f->workers; w++) {
    const dvt_group g = dvt_group_of(f, &f->a, w, first, as_one);
    if (g.width > 0)
      DVT_TRY(f->rule->update(f, k, &g, role));
  }
  return each_alone(f, k, &f->a, as_one, end, f->rule->update, role);
}

/* Whether rows are stored when no panel changes them any more, else blocks are. */
static bool by_rows(const dvt_factoring *f) {
  return f->rule->exchange && f->whole;
}

static int64_t final_rows(const dvt_factoring *f, int64_t k) {
  return k + 1 < f->panels ? dvt_block_start(&f->a, k + 1) : dvt_blocks_length(&f->a);
}

/* The rows of panel k, when it has updated the blocks below `end`: those before it have their rows exchanged. The left
 * part does not wait for the right one. */
static davit_status pass(dvt_factoring *f, int64_t k, int64_t end) {
  for (int w = 0; w < f->workers; w++) {
    const dvt_group g = dvt_group_of(f, &f->a, w, 0, k);
    if (g.width > 0)
      DVT_TRY(f->rule->exchange(f, k, k, &g));
  }
  const int64_t low = dvt_block_start(&f->a, k), high = final_rows(f, k);
  DVT_TRY(store_rows(f, k, 0, k + 1, low, high));
  return store_rows(f, k, k + 1, end, low, high);
}

/* One device updates no more blocks with a panel than will have come. */
static int64_t reach_of(const dvt_factoring *f, int64_t k, int64_t end) {
  return catches_up(f) ? come_with(f, k, end) : end;
}

/* Updates the blocks from `from` to `end` with panels 0 to k, all in place. */
static davit_status catch_up(dvt_factoring *f, int64_t k, int64_t from, int64_t end) {
  if (from == end)
    return DAVIT_SUCCESS;
  const dvt_group g = dvt_group_of(f, &f->a, 0, from, end);
  if (by_rows(f))
    DVT_TRY(f->rule->exchange(f, 0, k, &g));
  for (int64_t panel = 0; panel <= k; panel++) {
    f->worker[0].panel = in_place(f, panel);
    DVT_TRY(update(f, panel, from, end, DVT_UPDATE));
  }
  return by_rows(f) ? store_rows(f, k, from, end, 0, final_rows(f, k)) : DAVIT_SUCCESS;
}

/* With panel k, which the devices have: the next block on a lane of its own. */
static davit_status update_all(dvt_factoring *f, int64_t k, int64_t end) {
  const int64_t next = k + 1 < end ? k + 2 : end, reach = reach_of(f, k, end);
  DVT_TRY(update(f, k, k + 1, next, DVT_NEXT));
  DVT_TRY(update(f, k, next, reach, DVT_UPDATE));
  if (by_rows(f))
    DVT_TRY(pass(f, k, reach));
  return catch_up(f, k, reach, reach_of(f, k + 1, end));
}

/* The first row of panel k that blocks from `first` on are updated with. */
static int64_t origin_of(const dvt_factoring *f, int64_t k, int64_t first) {
  return f->rule->upper ? 0 : dvt_block_start(&f->a, f->rule->lower ? first : k);
}

/* The panels before the slab, which are finished. */
static davit_status update_slab(dvt_factoring *f, int64_t first, int64_t end) {
  for (int64_t k = 0; k < first && k < f->panels; k++) {
    DVT_TRY(distribute(f, k, origin_of(f, k, first), first, end, false));
    DVT_TRY(update(f, k, first, end, DVT_UPDATE));
  }
  return DAVIT_SUCCESS;
}

static bool ends(const dvt_factoring *f) {
  return f->failed && f->rule->ends;
}

static davit_status settle(dvt_factoring *f, int64_t k) {
  if (f->rule->settle)
    DVT_TRY(f->rule->settle(f, k));
  return ends(f) || by_rows(f) ? DAVIT_SUCCESS : store(f, &f->a, k);
}

static davit_status factor_slab(dvt_factoring *f, int64_t first, int64_t end) {
  const int64_t last = end < f->panels ? end : f->panels, behind = f->rule->settles_behind;
  for (int64_t k = first; k < last && !ends(f); k++) {
    DVT_TRY(f->rule->factor(f, k));
    if (!behind)
      DVT_TRY(settle(f, k));
    if (k + 1 < end)
      DVT_TRY(distribute(f, k, origin_of(f, k, k + 1), k + 1, end, true));
    DVT_TRY(update_all(f, k, end));
    if (behind && k > first)
      DVT_TRY(settle(f, k - 1));
  }
  if (behind && !ends(f) && last > first)
    DVT_TRY(settle(f, last - 1));
  for (int64_t k = last > first ? last : first; k < end && !ends(f) && !by_rows(f); k++)
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
    DVT_TRY(each_alone(f, k, &f->b, generates && k > first ? k : first, end, f->rule->update, DVT_UPDATE));
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
