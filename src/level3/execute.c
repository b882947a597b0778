/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a graph of tasks: a lane for each device and role, a task for each step. A device without streams has
 * one lane, as its steps would only take the host's threads from each other.
 *
 * Pageable memory has two lanes for a role, so that one tile is on its way while the host is busy with the end of
 * another. A tile buffer has always the same of them, and to the others the two are the one stream that the plan
 * knows: who waits for a step of one waits for what the other was given before, and what one waits for the other
 * does, too. */
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/team.h"
#include "src/level3/run.h"
#include "src/runtime/graph.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/place.h"
#include "src/runtime/pool.h"

enum { LOAD_2 = DVT_ROLES, STORE_2, LANES }; /* of a device: one for each role, and the other ones */
enum { STREAMS = DVT_PLAN_DEVICES * DVT_ROLES, NOTHING = -1 };

/* Tile buffers of a pool, cut from a few blocks of device memory. */
typedef struct buffers {
  void **page;
  int64_t pages, per_page;
  size_t buffer_bytes;
} buffers;

typedef struct worker {
  int device;
  bool streams;
  buffers pool[DVT_POOLS];
  int64_t products;
  bool prepared[LANES];
} worker;

/* A step's lane, and how many tasks that had before; the newest step, then, of the other lane of its role. */
typedef struct placed {
  int lane;
  int32_t other;
  int64_t tasks;
} placed;

typedef struct execution {
  const dvt_level3_call *call;
  const dvt_plan *plan;
  worker worker[DVT_PLAN_DEVICES];
  dvt_graph graph;
  placed *step; /* each that is enqueued */
  int64_t tasks[DVT_PLAN_DEVICES * LANES];
  int32_t newest[DVT_PLAN_DEVICES * LANES]; /* step of a lane */
  int32_t other_waits[DVT_PLAN_DEVICES * LANES]
                     [STREAMS]; /* newest step of each stream that the other lane waits for */
  int64_t enqueued, reported;
  davit_level3_report *report;
} execution;

/* ---- tiles ---- */

/* Where a tile lies: in a tile buffer, dense, or in the caller's matrix. */
typedef struct view {
  char *pointer;
  int64_t rows, cols, ld; /* as stored */
} view;

static view in_matrix(const execution *r, const dvt_operand *tile) {
  const dvt_level3 *g = &r->call->arguments;
  const dvt_plan *plan = r->plan;
  const int pool = dvt_pool_of(tile->matrix);
  const void *const base[] = {g->a, g->b, g->c};
  const int64_t ld[] = {g->lda, g->ldb, g->ldc};
  const int64_t row = plan->cut[plan->layout.rows[tile->matrix]].start[tile->row];
  const int64_t col = plan->cut[plan->layout.cols[tile->matrix]].start[tile->col];
  char *start = (char *)(uintptr_t)base[pool];
  return (view){start ? start + (size_t)(row + col * ld[pool]) * r->call->shape.element : NULL,
                dvt_tile_rows(plan, tile), dvt_tile_cols(plan, tile), ld[pool]};
}

static char *buffer_pointer(const worker *e, int pool, int32_t buffer) {
  const buffers *m = &e->pool[pool];
  return (char *)m->page[buffer / m->per_page] + (size_t)(buffer % m->per_page) * m->buffer_bytes;
}

static view view_of(const execution *r, const worker *e, const dvt_operand *tile, int32_t buffer) {
  if (tile->matrix < 0)
    return (view){NULL, 0, 0, 1};
  view v = in_matrix(r, tile);
  if (buffer >= 0) {
    v.pointer = buffer_pointer(e, dvt_pool_of(tile->matrix), buffer);
    v.ld = v.rows;
  }
  return v;
}

/* ---- steps as tasks ---- */

static bool is_pageable(const execution *r, const dvt_step *step) {
  const int place = r->call->places[dvt_pool_of(step->out.matrix)];
  return dvt_place_is_host(place) && place != DAVIT_PINNED;
}

/* Whether it moves a tile from or to the caller's matrix. */
static bool is_copy_home(const dvt_step *step) {
  return step->kind == DVT_STEP_LOAD || step->kind == DVT_STEP_STORE;
}

/* The other lane of a role, NOTHING if there is none. */
static int other_role(int role) {
  return role == DVT_ROLE_LOAD    ? LOAD_2
         : role == LOAD_2         ? DVT_ROLE_LOAD
         : role == DVT_ROLE_STORE ? STORE_2
         : role == STORE_2        ? DVT_ROLE_STORE
                                  : NOTHING;
}

static int other_lane(int lane) {
  const int other = other_role(lane % LANES);
  return other == NOTHING ? NOTHING : lane - lane % LANES + other;
}

static int role_of(const execution *r, const dvt_step *step) {
  const bool alternates = is_copy_home(step) && is_pageable(r, step);
  return !r->worker[step->device].streams                                       ? 0
         : alternates && (step->out_buffer + dvt_pool_of(step->out.matrix)) % 2 ? other_role(step->role)
                                                                                : step->role;
}

/* Whether the step writes the caller's C, and no copy of it. */
static bool writes(const dvt_step *step) {
  return step->kind == DVT_STEP_STORE || (step->kind != DVT_STEP_LOAD && step->out_buffer < 0);
}

static davit_status copy(execution *r, const dvt_graph_task *task, const view *to, int to_place,
                         const view *from, int from_place, int64_t *bytes) {
  const size_t element = r->call->shape.element;
  const dvt_copy c = dvt_copy_columns((size_t)to->rows * element, (size_t)to->cols,
                                      (dvt_columns){from->pointer, (size_t)from->ld * element, from_place},
                                      (dvt_columns){to->pointer, (size_t)to->ld * element, to_place});
  *bytes += (int64_t)(c.row_bytes * c.cols);
  return dvt_graph_copy(&r->graph, task, &c);
}

/* Between the caller's matrix and the tile buffer. */
static davit_status move(execution *r, const dvt_graph_task *task, const dvt_step *step) {
  const worker *e = &r->worker[step->device];
  const view home = in_matrix(r, &step->out), here = view_of(r, e, &step->out, step->out_buffer);
  const int place = r->call->places[dvt_pool_of(step->out.matrix)];
  davit_level3_report *report = r->report;
  const bool up = step->kind == DVT_STEP_LOAD;
  int64_t *bytes = !dvt_place_is_host(place) ? &report->bytes_from_peers
                   : up                      ? &report->bytes_from_host
                                             : &report->bytes_to_host;
  return up ? copy(r, task, &here, dvt_place_for(e->device), &home, place, bytes)
            : copy(r, task, &home, place, &here, dvt_place_for(e->device), bytes);
}

static davit_status move_over(execution *r, const dvt_graph_task *task, const dvt_step *step) {
  const worker *e = &r->worker[step->device], *other = &r->worker[step->from_device];
  const view from = view_of(r, other, &step->out, step->from_buffer),
             to = view_of(r, e, &step->out, step->out_buffer);
  return copy(r, task, &to, dvt_place_for(e->device), &from, dvt_place_for(other->device),
              &r->report->bytes_from_peers);
}

static davit_status compute(execution *r, const dvt_graph_task *task, const dvt_operation *operation,
                            double flops, const void *arguments) {
  const int threads = dvt_level3_threads(flops, r->graph.lane[task->lane]->threads);
  return dvt_graph_operation(&r->graph, task, operation, arguments, threads);
}

static double _Complex factor(const dvt_level3 *g, int which) {
  return which == DVT_ALPHA        ? g->alpha
         : which == DVT_CONJ_ALPHA ? __builtin_conj(g->alpha)
         : which == DVT_BETA       ? g->beta
         : which == DVT_ONE        ? 1
         : which == DVT_MINUS_ONE  ? -1
                                   : 0;
}

/* A term as the arguments of its kernel. */
static dvt_level3 term_arguments(const execution *r, const dvt_step *step) {
  const worker *e = &r->worker[step->device];
  const dvt_term *t = &step->term;
  dvt_level3 g = r->call->arguments;
  const view left = view_of(r, e, &t->left, step->left_buffer),
             right = view_of(r, e, &t->right, step->right_buffer),
             out = view_of(r, e, &step->out, step->out_buffer);
  g.routine = (dvt_routine)t->kernel;
  g.m = out.rows;
  g.n = out.cols;
  g.k = t->left.matrix < 0 ? 0 : t->left.trans == 'N' ? left.cols : left.rows;
  g.transa = t->left.matrix < 0 ? 'N' : t->left.trans;
  g.transb = t->right.matrix < 0 ? 'N' : t->right.trans;
  g.a = left.pointer;
  g.b = right.pointer;
  g.c = out.pointer;
  g.lda = dvt_at_least(left.ld, 1);
  g.ldb = dvt_at_least(right.ld, 1);
  g.ldc = dvt_at_least(out.ld, 1);
  if ((g.routine == DVT_SYMM || g.routine == DVT_HEMM || g.routine == DVT_TRMM) && t->left.matrix == DVT_B) {
    g.transa = t->right.trans;
    g.a = right.pointer;
    g.lda = dvt_at_least(right.ld, 1);
    g.b = left.pointer;
    g.ldb = dvt_at_least(left.ld, 1);
  }
  g.alpha = factor(&r->call->arguments, t->alpha);
  g.beta = factor(&r->call->arguments, t->beta);
  return g;
}

/* The first product of a lane finds its library loaded, which takes 0.1 s and more, while tiles are on their way. */
static davit_status multiply(execution *r, const dvt_graph_task *task, const dvt_step *step) {
  worker *e = &r->worker[step->device];
  const dvt_operation *operation = &dvt_level3_operations[step->term.kernel];
  const dvt_level3 g = term_arguments(r, step);
  bool *prepared = &e->prepared[task->lane % LANES];
  if (!*prepared)
    DVT_TRY(dvt_operation_prepare(r->graph.lane[task->lane], operation));
  *prepared = true;
  e->products++;
  return compute(r, task, operation, 2 * (double)g.m * (double)g.n * (double)g.k, &g);
}

/* A complex number is added as two real ones. */
static davit_status add(execution *r, const dvt_graph_task *task, const dvt_step *step) {
  const worker *e = &r->worker[step->device];
  const view out = view_of(r, e, &step->out, step->out_buffer);
  const davit_type type = r->call->arguments.type;
  const bool complex = type == DAVIT_COMPLEX_FLOAT || type == DAVIT_COMPLEX_DOUBLE;
  const int64_t parts = complex ? 2 : 1;
  const dvt_add sum = {.type = type == DAVIT_COMPLEX_FLOAT    ? DAVIT_FLOAT
                               : type == DAVIT_COMPLEX_DOUBLE ? DAVIT_DOUBLE
                                                              : type,
                       .m = parts * out.rows,
                       .n = out.cols,
                       .a = buffer_pointer(e, DVT_C, step->left_buffer),
                       .lda = parts * out.rows,
                       .c = out.pointer,
                       .ldc = parts * out.ld};
  return compute(r, task, &dvt_add_operation, 16 * (double)sum.m * (double)sum.n, &sum);
}

/* ---- what a task follows ---- */

enum {
  MOST_FOLLOWED = 4 * STREAMS
}; /* of each stream one, and of what is waited for for the other lane; both lanes */

typedef struct followed {
  int32_t step[MOST_FOLLOWED];
  int count;
} followed;

static int stream_of(const dvt_step *step) {
  return step->device * DVT_ROLES + step->role;
}

static void follow(const execution *r, int lane, int32_t number, followed *f) {
  if (number != NOTHING && r->step[number].lane != lane && f->count < MOST_FOLLOWED)
    f->step[f->count++] = number;
}

static void follow_both(const execution *r, int lane, int32_t number, followed *f) {
  follow(r, lane, number, f);
  follow(r, lane, r->step[number].other, f);
}

static void find_followed(execution *r, const dvt_step *step, int lane, followed *f) {
  const int other = other_lane(lane);
  f->count = 0;
  for (int32_t i = 0; i < step->waits; i++) {
    const int32_t wait = r->plan->wait[step->first_wait + i];
    follow_both(r, lane, wait, f);
    if (other != NOTHING)
      r->other_waits[other][stream_of(&r->plan->step[wait])] = wait;
  }
  for (int s = 0; s < STREAMS && other != NOTHING && r->graph.lane[other]; s++)
    if (r->other_waits[lane][s] != NOTHING) {
      follow_both(r, lane, r->other_waits[lane][s], f);
      r->other_waits[lane][s] = NOTHING;
    }
}

static davit_status enqueue(execution *r, int32_t number) {
  const dvt_step *step = &r->plan->step[number];
  const bool counted = step->kind == DVT_STEP_PRODUCT && r->call->options->progress;
  const int lane = step->device * LANES + role_of(r, step), other = other_lane(lane);
  const bool alternates = other != NOTHING && r->graph.lane[other];
  followed f;
  find_followed(r, step, lane, &f);
  r->step[number] = (placed){lane, alternates ? r->newest[other] : NOTHING, r->tasks[lane]++};
  r->newest[lane] = number;
  const dvt_graph_task task = {.number = number,
                               .lane = lane,
                               .follows = f.step,
                               .count = f.count,
                               .awaited = step->marked || counted || alternates};
  switch ((dvt_step_kind)step->kind) {
  case DVT_STEP_LOAD:
  case DVT_STEP_STORE:
    return move(r, &task, step);
  case DVT_STEP_PEER:
    return move_over(r, &task, step);
  case DVT_STEP_PRODUCT:
    return multiply(r, &task, step);
  default:
    return add(r, &task, step);
  }
}

/* ---- before and after ---- */

static davit_status open_pool(execution *r, int index, int pool) {
  const size_t page_bytes = (size_t)256 << 20;
  worker *e = &r->worker[index];
  buffers *m = &e->pool[pool];
  const int64_t count = r->plan->buffers[index][pool];
  m->buffer_bytes = dvt_aligned_up(r->plan->buffer_bytes[pool]);
  if (count == 0)
    return DAVIT_SUCCESS;
  const size_t all = (size_t)count * m->buffer_bytes;
  m->per_page = all <= page_bytes ? count : dvt_at_least((int64_t)(page_bytes / m->buffer_bytes), 1);
  m->page = dvt_allocate((size_t)dvt_divide_up(count, m->per_page), sizeof *m->page);
  if (!m->page)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (; m->pages * m->per_page < count; m->pages++) {
    const size_t bytes = (size_t)m->per_page * m->buffer_bytes;
    DVT_TRY(dvt_malloc(bytes > 0 ? bytes : 1, e->device, &m->page[m->pages]));
  }
  r->report->cache_bytes += (int64_t)((size_t)count * r->plan->buffer_bytes[pool]);
  return DAVIT_SUCCESS;
}

/* The lanes that its steps are on. Adds to *threads how many of them need one of the host. */
static davit_status open_lanes(execution *r, int index, int *threads) {
  static const dvt_stream_role stream_role[] = {[DVT_ROLE_LOAD] = DVT_STREAM_LOADS,
                                                [DVT_ROLE_PEER] = DVT_STREAM_PEERS,
                                                [DVT_ROLE_STORE] = DVT_STREAM_STORES,
                                                [DVT_ROLE_PRODUCT] = DVT_STREAM_KERNELS,
                                                [DVT_ROLE_PRODUCT_2] = DVT_STREAM_KERNELS,
                                                [LOAD_2] = DVT_STREAM_LOADS,
                                                [STORE_2] = DVT_STREAM_STORES};
  const worker *e = &r->worker[index];
  bool used[LANES] = {false};
  for (int64_t i = 0; i < r->plan->steps; i++)
    if (r->plan->step[i].device == index)
      used[role_of(r, &r->plan->step[i])] = true;
  for (int role = 0; role < LANES; role++) {
    const int lane = index * LANES + role;
    if (!used[role])
      continue;
    *threads += !e->streams;
    DVT_TRY(dvt_graph_add_lane(&r->graph, lane, e->device, stream_role[role]));
    /* What a product of the rule may need: later C may be written already. */
    if (e->streams && r->call->shape.rule->over_b && (role == DVT_ROLE_PRODUCT || role == DVT_ROLE_PRODUCT_2))
      DVT_TRY(dvt_lane_reserve(r->graph.lane[lane], r->plan->buffer_bytes[DVT_C]));
  }
  return DAVIT_SUCCESS;
}

/* `full` is the index of a device that has not enough memory. */
static davit_status open_all(execution *r, int *full) {
  DVT_TRY(dvt_graph_open(&r->graph, r->plan->devices * LANES, r->plan->steps));
  r->step = dvt_allocate_raw(((size_t)r->plan->steps + 1) * sizeof *r->step);
  if (!r->step)
    return DAVIT_OUT_OF_HOST_MEMORY;
  memset(r->newest, NOTHING, sizeof r->newest);
  memset(r->other_waits, NOTHING, sizeof r->other_waits);
  int threads = 0;
  for (int i = 0; i < r->plan->devices; i++) {
    davit_status status = DAVIT_SUCCESS;
    for (int pool = 0; pool < DVT_POOLS && status == DAVIT_SUCCESS; pool++)
      status = open_pool(r, i, pool);
    if (status == DAVIT_SUCCESS)
      status = open_lanes(r, i, &threads);
    if (status == DAVIT_OUT_OF_DEVICE_MEMORY)
      *full = i;
    DVT_TRY(status);
  }
  return dvt_pool_reserve(threads); /* before the first step: without them C is as it was */
}

/* As products are computed, in the plan's order, until one has failed. */
static davit_status report_products(execution *r) {
  const davit_level3_options *options = r->call->options;
  for (int32_t i = 0; i < r->enqueued && options->progress; i++)
    if (r->plan->step[i].kind == DVT_STEP_PRODUCT) {
      DVT_TRY(dvt_graph_await(&r->graph, i));
      options->progress(options->progress_context, ++r->reported, r->plan->products);
    }
  return DAVIT_SUCCESS;
}

static davit_status carry_out(execution *r, int *full) {
  DVT_TRY(open_all(r, full));
  for (int32_t i = 0; i < r->plan->steps; i++) {
    r->enqueued++; /* it may be, even where enqueueing fails */
    DVT_TRY(enqueue(r, i));
  }
  return report_products(r);
}

/* After the end: a lane that has failed has skipped the rest. */
static void find_tried(const execution *r, bool *begun) {
  for (int64_t i = 0; i < r->enqueued; i++) {
    const dvt_lane *lane = r->graph.lane[r->step[i].lane];
    if (r->step[i].tasks >= atomic_load(&lane->tried))
      continue;
    *begun = true;
    r->report->written |= writes(&r->plan->step[i]);
  }
}

static void close_all(execution *r) {
  dvt_graph_close(&r->graph);
  for (int i = 0; i < r->plan->devices; i++)
    for (int pool = 0; pool < DVT_POOLS; pool++) {
      const buffers *m = &r->worker[i].pool[pool];
      for (int64_t p = 0; p < m->pages; p++)
        davit_free(m->page[p]);
      free(m->page);
    }
  free(r->step);
}

static void fill_report(const execution *r) {
  davit_level3_report *report = r->report;
  report->device_count = r->plan->devices;
  report->products = r->plan->products;
  report->evictions = r->plan->evictions;
  for (int i = 0; i < r->plan->devices; i++) {
    report->devices[i].device = r->worker[i].device;
    report->devices[i].products = r->worker[i].products;
  }
}

static void set_workers(execution *r) {
  for (int i = 0; i < r->plan->devices; i++) {
    r->worker[i].device = r->call->devices[i];
    r->worker[i].streams = dvt_lane_has_stream(r->call->devices[i]);
  }
}

davit_status dvt_plan_run(const dvt_level3_call *call, const dvt_plan *plan, davit_level3_report *report,
                          int *full, bool *begun) {
  *full = -1;
  *begun = false;
  execution *r = dvt_allocate(1, sizeof *r);
  if (!r)
    return DAVIT_OUT_OF_HOST_MEMORY;
  *r = (execution){.call = call, .plan = plan, .report = report};
  report->bytes_from_host = report->bytes_to_host = report->bytes_from_peers = report->cache_bytes = 0;
  set_workers(r);
  davit_status status = carry_out(r, full);
  status = dvt_graph_wait(&r->graph, status);
  find_tried(r, begun);
  fill_report(r);
  dvt_error error = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&error, status);
  close_all(r);
  free(r);
  return dvt_error_report(&error);
}
