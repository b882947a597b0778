/* SPDX-License-Identifier: Apache-2.0 */
/* An exact product over devices, as tasks of a graph.
 *
 * Each device has a range of the vectors of the longer side of C, and all of the other's. It brings them in panels, one
 * of A and one of B in turn; as soon as a panel is there it is measured, cut, and multiplied with all panels of the
 * other side that have come before. Where not everything fits, that is done for slabs of either side.
 *
 * How many bits are needed is known when all of C has been looked at. So that nothing waits for that, the first tile is
 * looked at before anything is cut, and decides for all; the others are looked at as they are computed. If one needs
 * more the product is computed once more. Where C is read all of it is looked at first. */
#include "src/exact/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/clock.h"
#include "src/base/ending.h"
#include "src/exact/processes.h"
#include "src/exact/product.h"
#include "src/runtime/graph.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/pool.h"

typedef enum role { LOAD_A, LOAD_B, LOAD_C, COMPUTE, STORE, ROLES } role;

/* ---- tasks ---- */

typedef struct follows {
  int32_t task[2];
  int count;
} follows;

static follows behind(int32_t one, int32_t other) {
  follows all = {.count = 0};
  if (one != DVT_EXACT_NOTHING)
    all.task[all.count++] = one;
  if (other != DVT_EXACT_NOTHING)
    all.task[all.count++] = other;
  return all;
}

static dvt_graph_task new_task(dvt_exact_call *p, int w, role role, const follows *all) {
  return (dvt_graph_task){.number = p->tasks++,
                          .lane = w * ROLES + (p->worker[w].streams ? (int)role : COMPUTE),
                          .follows = all->task,
                          .count = all->count,
                          .awaited = true};
}

static davit_status enqueue_copy(dvt_exact_call *p, int w, role role, follows all, const dvt_copy *copy,
                                 int32_t *task) {
  const dvt_graph_task new = new_task(p, w, role, &all);
  const int64_t bytes = (int64_t)(copy->row_bytes * copy->cols);
  if (role < COMPUTE)
    p->report->bytes_from_host += bytes;
  else
    p->report->bytes_to_host += bytes;
  *task = (int32_t)new.number;
  return dvt_graph_copy(&p->graph, &new, copy);
}

static davit_status enqueue(dvt_exact_call *p, int w, follows all, const dvt_operation *operation,
                            const void *arguments, double flops, int32_t *task) {
  const dvt_graph_task new = new_task(p, w, COMPUTE, &all);
  const int threads = p->graph.lane[w * ROLES + COMPUTE]->threads;
  *task = p->worker[w].computed = (int32_t)new.number;
  return dvt_graph_operation(&p->graph, &new, operation, arguments, dvt_level3_threads(flops, threads));
}

/* ---- panels ---- */

/* Vectors [i.begin, i.end) of one side as they lie, or as a panel will have them. */
static davit_status bring(dvt_exact_call *p, int w, int s, dvt_exact_range i, dvt_exact_vectors *v,
                          int32_t *loaded) {
  dvt_exact_worker *e = &p->worker[w];
  const dvt_exact_side *from = &p->side[s];
  const int64_t count = i.end - i.begin, length = p->length;
  const char *x =
      (const char *)(s == p->mirrored ? e->square : from->x) + (size_t)(i.begin * from->step) * p->element;
  *loaded = DVT_EXACT_NOTHING;
  v->x = x;
  v->step = from->step;
  v->stride = from->stride;
  if (!e->brings[s])
    return DAVIT_SUCCESS;
  const bool beside = dvt_exact_lies_apart(from);
  const int at = e->panel_turn++ % DVT_EXACT_PANELS;
  const size_t lines = (size_t)(beside ? length : count),
               line = (size_t)(beside ? count : length) * p->element,
               pitch = (size_t)(beside ? count : p->pitch) * p->element;
  const dvt_copy copy = dvt_copy_columns(
      line, lines, (dvt_columns){x, (size_t)(beside ? from->stride : from->step) * p->element, from->place},
      (dvt_columns){e->panels[at], pitch, dvt_place_for(e->device)});
  v->x = e->panels[at];
  v->step = beside ? 1 : p->pitch;
  v->stride = beside ? count : 1;
  DVT_TRY(enqueue_copy(p, w, s == 0 ? LOAD_A : LOAD_B, behind(e->panel_read[at], DVT_EXACT_NOTHING), &copy,
                       loaded));
  e->panel_read[at] = *loaded;
  return DAVIT_SUCCESS;
}

static davit_status cut_panel(dvt_exact_call *p, int w, dvt_exact_panel *q) {
  dvt_exact_worker *e = &p->worker[w];
  int32_t task;
  q->vectors.choice = p->choice;
  DVT_TRY(enqueue(p, w, behind(DVT_EXACT_NOTHING, DVT_EXACT_NOTHING), &dvt_exact_cut_operation, &q->vectors,
                  20 * (double)q->vectors.count * (double)p->length, &task));
  if (e->brings[q->vectors.side])
    e->panel_read[q->slot] = task;
  return DAVIT_SUCCESS;
}

static int64_t next_panel(const dvt_exact_worker *e, int s) {
  const int64_t left = e->slab[s].end - e->slab[s].begin - e->arrived[s];
  return dvt_at_most(left, e->arrived[s] == 0 && e->brings[s] ? dvt_at_most(e->panel[s], DVT_EXACT_FIRST)
                                                              : e->panel[s]);
}

static davit_status measure_panel(dvt_exact_call *p, int w, int s, dvt_exact_panel *q) {
  dvt_exact_worker *e = &p->worker[w];
  const int64_t first = e->arrived[s], count = next_panel(e, s);
  int32_t loaded, task;
  q->slot = e->panel_turn % DVT_EXACT_PANELS; /* if it is brought */
  q->vectors = (dvt_exact_vectors){.type = p->g->type,
                                   .side = s,
                                   .conjugate = p->side[s].conjugate,
                                   .count = count,
                                   .length = p->length,
                                   .vector = e->vector[s] + first,
                                   .coarse = dvt_exact_in_plane(p, e, e->coarse[s], first),
                                   .planes = dvt_exact_in_plane(p, e, e->planes[s], first),
                                   .pitch = p->pitch,
                                   .plane = dvt_exact_plane(p, e, s),
                                   .windows = p->windows,
                                   .need = e->need};
  DVT_TRY(bring(p, w, s, (dvt_exact_range){e->slab[s].begin + first, e->slab[s].begin + first + count},
                &q->vectors, &loaded));
  DVT_TRY(enqueue(p, w, behind(loaded, e->cleared), &dvt_exact_measure_operation, &q->vectors,
                  20 * (double)count * (double)p->length, &task));
  if (e->brings[s])
    e->panel_read[q->slot] = task;
  e->arrived[s] += count;
  return DAVIT_SUCCESS;
}

/* ---- tiles ---- */

/* Rows and columns of the slab. */
static dvt_exact_tile tile_of(const dvt_exact_call *p, const dvt_exact_worker *e, dvt_exact_range rows,
                              dvt_exact_range columns) {
  const dvt_exact_range *const i[2] = {&rows, &columns};
  dvt_exact_tile t = {.type = p->g->type,
                      .rows = rows.end - rows.begin,
                      .columns = columns.end - columns.begin,
                      .length = p->length,
                      .pitch = p->pitch,
                      .choice = p->choice,
                      .alpha = p->g->alpha,
                      .beta = p->g->beta,
                      .sums = e->sums,
                      .sum_bytes = e->sum_bytes,
                      .uplo = dvt_exact_triangle(p),
                      .hermitian = dvt_level3_is_hermitian(p->g),
                      .offset = e->slab[0].begin + rows.begin - e->slab[1].begin - columns.begin};
  for (int s = 0; s < 2; s++) {
    t.vector[s] = e->vector[s] + i[s]->begin;
    t.planes[s] = dvt_exact_in_plane(p, e, e->planes[s], i[s]->begin);
    t.plane[s] = dvt_exact_plane(p, e, s);
  }
  return t;
}

static double flops_of(const dvt_exact_tile *t) {
  return 2 * (double)t->rows * (double)t->columns * (double)t->length;
}

static davit_status look_at_tile(dvt_exact_call *p, int w, dvt_exact_range rows, dvt_exact_range columns) {
  const dvt_exact_worker *e = &p->worker[w];
  dvt_exact_tile t = tile_of(p, e, rows, columns);
  int32_t task;
  t.planes[0] = dvt_exact_in_plane(p, e, e->coarse[0], rows.begin);
  t.planes[1] = dvt_exact_in_plane(p, e, e->coarse[1], columns.begin);
  t.windows = p->windows;
  t.need = e->need;
  return enqueue(p, w, behind(DVT_EXACT_NOTHING, DVT_EXACT_NOTHING), &dvt_exact_multiply_operation, &t,
                 flops_of(&t), &task);
}

static davit_status copy_tile(dvt_exact_call *p, int w, role role, follows all, const dvt_exact_tile *t,
                              char *c, char *buffer, int32_t *task) {
  const size_t pitch = (size_t)p->g->ldc * p->element, line = (size_t)t->rows * p->element;
  const dvt_columns matrix = {c, pitch, p->c_place}, own = {buffer, line, dvt_place_for(p->worker[w].device)};
  const bool load = role == LOAD_C;
  const dvt_copy copy = dvt_copy_columns(line, (size_t)t->columns, load ? matrix : own, load ? own : matrix);
  return enqueue_copy(p, w, role, all, &copy, task);
}

static davit_status compute_tile(dvt_exact_call *p, int w, dvt_exact_range rows, dvt_exact_range columns) {
  dvt_exact_worker *e = &p->worker[w];
  dvt_exact_tile t = tile_of(p, e, rows, columns);
  char *c =
      (char *)p->g->c +
      (size_t)(e->slab[0].begin + rows.begin + (e->slab[1].begin + columns.begin) * p->g->ldc) * p->element;
  const int at = e->tile_turn % DVT_EXACT_TILES;
  int32_t task, loaded = DVT_EXACT_NOTHING;
  t.c = c;
  t.ldc = p->g->ldc;
  p->report->written = true;
  p->report->products++;
  p->report->devices[w].products++;
  p->report->tile_m = dvt_at_least(p->report->tile_m, t.rows);
  p->report->tile_n = dvt_at_least(p->report->tile_n, t.columns);
  p->report->tile_k = p->length;
  p->report->tile = dvt_at_least(dvt_at_least(p->report->tile_m, p->report->tile_n), p->length);
  if (!e->stores)
    return enqueue(p, w, behind(DVT_EXACT_NOTHING, DVT_EXACT_NOTHING), &dvt_exact_multiply_operation, &t,
                   flops_of(&t), &task);
  e->tile_turn++;
  t.c = e->tiles[at];
  t.ldc = t.rows;
  if (p->g->beta != 0 || dvt_exact_is_cut(t.uplo, t.offset, t.rows, 0, t.columns))
    DVT_TRY(
        copy_tile(p, w, LOAD_C, behind(e->tile_stored[at], DVT_EXACT_NOTHING), &t, c, e->tiles[at], &loaded));
  DVT_TRY(enqueue(p, w, behind(e->tile_stored[at], loaded), &dvt_exact_multiply_operation, &t, flops_of(&t),
                  &task));
  return copy_tile(p, w, STORE, behind(task, DVT_EXACT_NOTHING), &t, c, e->tiles[at], &e->tile_stored[at]);
}

static davit_status do_tiles(dvt_exact_call *p, int w, dvt_exact_range rows, dvt_exact_range columns) {
  const dvt_exact_worker *e = &p->worker[w];
  const int64_t longest = e->stores && p->computes ? DVT_EXACT_TILE : INT64_MAX;
  for (int64_t j = columns.begin; j < columns.end; j += dvt_at_most(longest, columns.end - j))
    for (int64_t i = rows.begin; i < rows.end; i += dvt_at_most(longest, rows.end - i)) {
      const dvt_exact_range r = {i, i + dvt_at_most(longest, rows.end - i)},
                            c = {j, j + dvt_at_most(longest, columns.end - j)};
      if (dvt_exact_is_outside(dvt_exact_triangle(p), e->slab[0].begin + r.begin, r.end - r.begin,
                               e->slab[1].begin + c.begin, c.end - c.begin))
        continue;
      if (p->looks)
        DVT_TRY(look_at_tile(p, w, r, c));
      if (p->computes)
        DVT_TRY(compute_tile(p, w, r, c));
    }
  return DAVIT_SUCCESS;
}

/* ---- decisions ---- */

/* What is needed travels on lanes of copies, so that no kernel waits behind the copy engine (stream.h). */
static davit_status fetch_need(dvt_exact_call *p, int w, int32_t *task) {
  const dvt_exact_worker *e = &p->worker[w];
  const follows all = behind(e->computed, DVT_EXACT_NOTHING);
  const dvt_copy copy =
      dvt_copy_bytes(sizeof *e->need, e->need, dvt_place_for(e->device), &p->need[w], DAVIT_PINNED);
  const dvt_graph_task new = new_task(p, w, STORE, &all);
  *task = (int32_t)new.number;
  return dvt_graph_copy(&p->graph, &new, &copy);
}

static davit_status clear_need(dvt_exact_call *p, int w) {
  dvt_exact_worker *e = &p->worker[w];
  const dvt_copy copy =
      dvt_copy_bytes(sizeof *e->need, &p->need[p->workers], DAVIT_PINNED, e->need, dvt_place_for(e->device));
  const dvt_graph_task new = new_task(p, w, LOAD_C, &(follows){.count = 0});
  e->cleared = (int32_t)new.number;
  return dvt_graph_copy(&p->graph, &new, &copy);
}

static dvt_exact_need need_of(const dvt_exact_call *p, int first, int end) {
  dvt_exact_need all = p->need[first];
  for (int w = first + 1; w < end; w++)
    dvt_exact_merge(&all, &p->need[w]);
  return all;
}

static dvt_exact_choice choose(const dvt_exact_call *p, const dvt_exact_need *need) {
  return dvt_exact_choose(p->g->type, p->length, need, p->windows, p->options->moduli);
}

static void set_choice(dvt_exact_call *p, dvt_exact_choice choice) {
  p->choice = choice;
  p->holds = choice.moduli > 0;
  for (int w = 0; w < p->workers; w++)
    for (int s = 0; s < 2; s++)
      p->holds &= dvt_exact_planes_of(p, &p->worker[w], s, &choice) <= p->worker[w].planes_held[s];
}

/* The first tile of the first device that has one decides, if nothing else has: panels are cut afterwards. */
static davit_status decide(dvt_exact_call *p) {
  int w = 0;
  while (w < p->workers && !p->worker[w].is_ahead)
    w++;
  if (w == p->workers)
    return DAVIT_SUCCESS;
  dvt_exact_worker *e = &p->worker[w];
  int32_t task;
  DVT_TRY(look_at_tile(p, w, (dvt_exact_range){0, e->arrived[0]}, (dvt_exact_range){0, e->arrived[1]}));
  DVT_TRY(fetch_need(p, w, &task));
  DVT_TRY(dvt_graph_await(&p->graph, task));
  e->has_decided = true;
  const dvt_exact_need need = need_of(p, w, w + 1);
  set_choice(p, choose(p, &need));
  return DAVIT_SUCCESS;
}

/* ---- slabs ---- */

static davit_status do_panel(dvt_exact_call *p, int w, int s) {
  dvt_exact_worker *e = &p->worker[w];
  const dvt_exact_range new = {e->arrived[s], e->arrived[s] + next_panel(e, s)},
                        other = {0, e->arrived[1 - s]};
  dvt_exact_panel q;
  DVT_TRY(measure_panel(p, w, s, &q));
  if (p->computes)
    DVT_TRY(cut_panel(p, w, &q));
  return s == 0 ? do_tiles(p, w, new, other) : do_tiles(p, w, other, new);
}

/* The first panels of both sides of the first slab, when it is decided how they are cut. The tile that has
 * decided has been looked at. */
static davit_status go_on(dvt_exact_call *p, int w) {
  dvt_exact_worker *e = &p->worker[w];
  const bool looks = p->looks;
  for (int s = 0; s < 2; s++)
    DVT_TRY(cut_panel(p, w, &e->ahead[s]));
  p->looks = looks && !e->has_decided;
  const davit_status status =
      do_tiles(p, w, (dvt_exact_range){0, e->arrived[0]}, (dvt_exact_range){0, e->arrived[1]});
  p->looks = looks;
  return status;
}

static bool has_more(const dvt_exact_worker *e, int s) {
  return e->arrived[s] < e->slab[s].end - e->slab[s].begin;
}

static davit_status do_slab(dvt_exact_call *p, int w) {
  dvt_exact_worker *e = &p->worker[w];
  if (e->is_ahead)
    DVT_TRY(go_on(p, w));
  else
    e->arrived[0] = e->arrived[1] = 0;
  e->is_ahead = false;
  while (has_more(e, 0) || has_more(e, 1)) {
    const int fewer = e->arrived[1] < e->arrived[0];
    DVT_TRY(do_panel(p, w, has_more(e, fewer) ? fewer : 1 - fewer));
  }
  return DAVIT_SUCCESS;
}

/* A symmetric operand, where the device does not reach it with the half that is not stored. */
static davit_status make_square(dvt_exact_call *p, int w) {
  const dvt_exact_worker *e = &p->worker[w];
  const dvt_exact_side *from = &p->side[p->mirrored];
  const int64_t n = from->count;
  const size_t line = (size_t)n * p->element;
  const bool reaches_it = !e->brings_square;
  dvt_exact_mirror m = {.type = p->g->type,
                        .uplo = p->g->uplo,
                        .hermitian = p->g->routine == DVT_HEMM,
                        .n = n,
                        .a = reaches_it ? from->x : e->square,
                        .lda = reaches_it ? p->g->lda : n,
                        .whole = e->square};
  const dvt_copy copy =
      dvt_copy_columns(line, (size_t)n, (dvt_columns){from->x, (size_t)p->g->lda * p->element, from->place},
                       (dvt_columns){e->square, line, dvt_place_for(e->device)});
  int32_t loaded = DVT_EXACT_NOTHING, task;
  if (!reaches_it)
    DVT_TRY(enqueue_copy(p, w, LOAD_A, behind(DVT_EXACT_NOTHING, DVT_EXACT_NOTHING), &copy, &loaded));
  return enqueue(p, w, behind(loaded, DVT_EXACT_NOTHING), &dvt_exact_mirror_operation, &m,
                 (double)n * (double)n, &task);
}

static void set_slab(dvt_exact_worker *e, int64_t i, int64_t j) {
  e->slab[0] = (dvt_exact_range){i, dvt_at_most(i + e->most[0], e->all[0].end)};
  e->slab[1] = (dvt_exact_range){j, dvt_at_most(j + e->most[1], e->all[1].end)};
}

/* What does not depend on the decision, for all devices before the first of them decides. */
static davit_status begin(dvt_exact_call *p, int w) {
  dvt_exact_worker *e = &p->worker[w];
  DVT_TRY(clear_need(p, w));
  if (p->mirrored != DVT_EXACT_NOTHING)
    DVT_TRY(make_square(p, w));
  e->is_ahead = p->computes && p->choice.moduli == 0 && e->all[0].begin < e->all[0].end &&
                e->all[1].begin < e->all[1].end;
  if (!e->is_ahead)
    return DAVIT_SUCCESS;
  set_slab(e, e->all[0].begin, e->all[1].begin);
  e->arrived[0] = e->arrived[1] = 0;
  for (int s = 0; s < 2; s++)
    DVT_TRY(measure_panel(p, w, s, &e->ahead[s]));
  return DAVIT_SUCCESS;
}

/* Everything is enqueued for one device after the other. */
static davit_status do_worker(dvt_exact_call *p, int w) {
  dvt_exact_worker *e = &p->worker[w];
  for (int64_t j = e->all[1].begin; j < e->all[1].end; j += e->most[1])
    for (int64_t i = e->all[0].begin; i < e->all[0].end; i += e->most[0]) {
      set_slab(e, i, j);
      DVT_TRY(do_slab(p, w));
    }
  int32_t task;
  return fetch_need(p, w, &task);
}

static int64_t most_tasks(const dvt_exact_call *p) {
  int64_t tasks = 0;
  for (int w = 0; w < p->workers; w++) {
    const dvt_exact_worker *e = &p->worker[w];
    int64_t slabs = 1, panels = 0, tiles = 2;
    for (int s = 0; s < 2; s++) {
      slabs *= dvt_divide_up(e->all[s].end - e->all[s].begin, e->most[s]);
      panels += dvt_divide_up(e->most[s], e->panel[s]) + 2;
      tiles += dvt_divide_up(e->most[s], DVT_EXACT_TILE) + 1;
    }
    tasks += slabs * panels * (3 + 4 * tiles) + 10;
  }
  return tasks;
}

/* Once over all devices: looks at everything, or computes, or both. */
static davit_status pass(dvt_exact_call *p) {
  static const dvt_stream_role stream_role[] = {[LOAD_A] = DVT_STREAM_LOADS,
                                                [LOAD_B] = DVT_STREAM_LOADS,
                                                [LOAD_C] = DVT_STREAM_LOADS,
                                                [COMPUTE] = DVT_STREAM_KERNELS,
                                                [STORE] = DVT_STREAM_STORES};
  int threads = 0;
  davit_status status = dvt_graph_open(&p->graph, p->workers * ROLES, most_tasks(p));
  p->tasks = 0;
  for (int w = 0; w < p->workers && status == DAVIT_SUCCESS; w++) {
    dvt_exact_worker *e = &p->worker[w];
    for (int role = 0; role < ROLES && status == DAVIT_SUCCESS; role++)
      if (e->streams || role == COMPUTE) {
        threads += !e->streams;
        status = dvt_graph_add_lane(&p->graph, w * ROLES + role, e->device, stream_role[role]);
      }
    for (int i = 0; i < DVT_EXACT_PANELS; i++)
      e->panel_read[i] = DVT_EXACT_NOTHING;
    for (int i = 0; i < DVT_EXACT_TILES; i++)
      e->tile_stored[i] = DVT_EXACT_NOTHING;
    e->panel_turn = e->tile_turn = 0;
    e->computed = DVT_EXACT_NOTHING;
    e->has_decided = false;
  }
  if (status == DAVIT_SUCCESS)
    status = dvt_pool_reserve(threads);
  for (int w = 0; w < p->workers && status == DAVIT_SUCCESS; w++)
    status = begin(p, w);
  if (status == DAVIT_SUCCESS)
    status = decide(p);
  for (int w = 0; w < p->workers && status == DAVIT_SUCCESS; w++)
    if (!p->computes || p->holds)
      status = do_worker(p, w);
  status = dvt_graph_wait(&p->graph, status);
  dvt_graph_close(&p->graph);
  return status;
}

static bool is_same(const dvt_exact_choice *a, const dvt_exact_choice *b) {
  return a->moduli == b->moduli && a->bits[0] == b->bits[0] && a->bits[1] == b->bits[1];
}

/* ---- passes ---- */

/* What all of C needs, that of other processes too. A first tile that asks for too much is enough. */
static dvt_exact_choice choose_for_all(dvt_exact_call *p) {
  dvt_exact_need need = need_of(p, 0, p->workers);
  p->follows = !dvt_exact_share(p->options->processes, &need);
  p->infinite = need.infinite;
  return p->follows ? (dvt_exact_choice){.moduli = 0} : choose(p, &need);
}

/* Where C is read, nobody computes before all have memory: else what is read would be lost. */
static bool may_compute(dvt_exact_call *p) {
  dvt_exact_need nothing = {.infinite = 0};
  p->follows =
      p->computes && !p->looks && p->g->beta != 0 && !dvt_exact_share(p->options->processes, &nothing);
  if (p->follows)
    p->choice.moduli = 0;
  return !p->follows;
}

/* Looks at C and computes it, in one pass where C is not read, until the choice is what all of C needs. Where one
 * window does not tell, all are looked through. */
static davit_status run_passes(dvt_exact_call *p, bool *fits) {
  bool done = false;
  p->windows = 1;
  p->looks = true;
  p->computes = p->g->beta == 0;
  while (!done) {
    DVT_TRY(dvt_exact_find_memory(p, fits));
    if (!*fits)
      return DAVIT_SUCCESS;
    if (!may_compute(p))
      return DAVIT_SUCCESS;
    p->holds = true;
    DVT_TRY(pass(p));
    if (p->holds || p->choice.moduli == 0) {
      const dvt_exact_choice wanted = p->looks ? choose_for_all(p) : p->choice;
      done = p->computes && is_same(&wanted, &p->choice);
      p->looks = false;
      p->computes = true;
      set_choice(p, wanted);
    }
    if (p->choice.moduli == 0) {
      if (p->windows > 1 || p->infinite || p->follows)
        return DAVIT_SUCCESS;
      p->windows = DVT_EXACT_WINDOWS;
      p->looks = true;
      p->computes = p->g->beta == 0;
      done = false;
    }
    if (!p->holds)
      dvt_exact_free_memory(p);
  }
  return DAVIT_SUCCESS;
}

/* ---- the whole ---- */

/* The shortest of m, n and k from which it is faster than natively on a GPU that has the operands, measured on an H200
 * (bench/results, exact); where they cross a link it is twice that. The CPU is never faster. */
static bool pays(const dvt_level3 *g, const davit_level3_options *options) {
  const int64_t least = g->type == DAVIT_DOUBLE           ? 6144
                        : g->type == DAVIT_COMPLEX_DOUBLE ? 4096
                        : g->type == DAVIT_FLOAT          ? 3072
                                                          : 2048;
  const void *const operand[] = {g->a, g->b ? g->b : g->a, g->c};
  bool crosses = false;
  for (int i = 0; i < options->device_count; i++) {
    if (!dvt_lane_has_stream(options->devices[i]) || dvt_device_find(options->devices[i])->shares_host_memory)
      return false;
    for (int x = 0; x < 3; x++)
      crosses |= !dvt_place_reached(options->devices[i], dvt_place_of(operand[x]));
  }
  return dvt_at_most(dvt_at_most(g->m, g->n), dvt_exact_length(g)) >= (crosses ? 2 * least : least);
}

static const char *why_not_tried(const dvt_level3 *g, const davit_level3_options *options) {
  if (g->routine > DVT_HERK)
    return "the routine has no exact form";
  if (dvt_level3_vanishes(g))
    return "nothing is multiplied";
  if (!options->exact_bits && !pays(g, options))
    return "it is not faster here";
  for (int i = 0; i < options->device_count; i++)
    if (dvt_path_on(options->devices[i], &dvt_exact_multiply_operation) == DVT_AS_REGION)
      return "a device has no exact products";
  return NULL;
}

static davit_status run(dvt_exact_call *p) {
  void *pinned = NULL;
  bool fits = true;
  dvt_exact_describe(p);
  DVT_TRY(dvt_exact_share_out(p));
  DVT_TRY(dvt_malloc((size_t)(p->workers + 1) * sizeof *p->need, DAVIT_PINNED, &pinned));
  p->need = memset(pinned, 0, (size_t)(p->workers + 1) * sizeof *p->need);
  const davit_status status = run_passes(p, &fits);
  if (!fits) /* once more, with what is needed */
    p->choice.moduli = 0;
  for (int w = 0; w < p->workers && p->worker[w].memory; w++)
    p->report->cache_bytes += (int64_t)p->worker[w].held;
  p->report->moduli = p->choice.moduli;
  p->report->arithmetic = p->choice.moduli ? DAVIT_ARITHMETIC_EXACT : DAVIT_ARITHMETIC_NATIVE;
  p->report->why_native = p->choice.moduli ? NULL
                          : !fits          ? "the devices have too little memory for it"
                          : p->follows     ? "another process has to multiply natively"
                          : p->infinite    ? "a number of an operand is not finite"
                                           : "the exponents of the operands are too far apart";
  dvt_exact_free_memory(p);
  davit_free(pinned);
  return status;
}

davit_status dvt_exact_run(const dvt_level3 *g, const davit_level3_options *options,
                           davit_level3_report *report) {
  const int64_t start = dvt_now_ns();
  report->why_native = why_not_tried(g, options);
  if (report->why_native)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_may_wait());
  dvt_exact_call *p = dvt_allocate(1, sizeof *p);
  if (!p)
    return DAVIT_OUT_OF_HOST_MEMORY;
  p->g = g;
  p->options = options;
  p->report = report;
  DVT_INSIDE_IF(dvt_place_any_gpu(options->devices, options->device_count));
  const davit_status status = run(p);
  free(p);
  report->seconds = 1e-9 * (double)(dvt_now_ns() - start);
  return status;
}
