/* SPDX-License-Identifier: Apache-2.0 */
#include "src/level3/run.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/inject.h"
#include "src/base/team.h"
#include "src/level3/add.h"
#include "src/level3/running.h"
#include "src/runtime/memory.h"
#include "src/runtime/pool.h"

/* ---- threads ---- */

void dvt_running_fail(dvt_running *run, davit_status status) {
  pthread_mutex_lock(&run->lock);
  dvt_error_keep(&run->error, status);
  atomic_store(&run->failed, true);
  pthread_cond_broadcast(&run->changed);
  pthread_mutex_unlock(&run->lock);
}

bool dvt_step_await(dvt_running *run, int32_t step) {
  enum { SPINS = 200 };
  atomic_bool *issued = &run->state[step].issued;
  for (int i = 0; i < SPINS && !atomic_load(issued) && !atomic_load(&run->failed); i++)
    sched_yield();
  if (!atomic_load(issued)) {
    pthread_mutex_lock(&run->lock);
    atomic_fetch_add(&run->waiting, 1);
    while (!atomic_load(issued) && !atomic_load(&run->failed))
      pthread_cond_wait(&run->changed, &run->lock);
    atomic_fetch_sub(&run->waiting, 1);
    pthread_mutex_unlock(&run->lock);
  }
  return !atomic_load(&run->failed);
}

davit_status dvt_step_issue(dvt_engine *e, int32_t number) {
  dvt_running *run = e->run;
  const dvt_step *step = &run->plan->step[number];
  dvt_span *span = NULL;
  if (step->marked && dvt_tracing())
    span = dvt_span_record(&e->trail[step->role], &run->state[number].point);
  if (span)
    dvt_span_end(span, e->stream[step->role], false);
  if (e->streams && step->marked)
    DVT_TRY(dvt_stream_mark(e->stream[step->role], &run->state[number].mark));
  atomic_store(&run->state[number].issued, true);
  if (atomic_load(&run->waiting) > 0) {
    pthread_mutex_lock(&run->lock);
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
  }
  return DAVIT_SUCCESS;
}

/* The other step is issued. */
static davit_status wait_for(dvt_engine *e, int role, const dvt_step_state *other) {
  dvt_span *span = other->point && dvt_tracing() ? dvt_span_wait(&e->trail[role], other->point) : NULL;
  davit_status status = DAVIT_SUCCESS;
  if (span)
    dvt_span_begin(span, e->stream[role]);
  if (other->mark)
    status = e->streams ? dvt_stream_wait(e->stream[role], other->mark) : dvt_mark_wait(other->mark);
  if (span)
    dvt_span_end(span, e->stream[role], false);
  return status;
}

davit_status dvt_step_wait(dvt_engine *e, int32_t number) {
  dvt_running *run = e->run;
  const dvt_step *step = &run->plan->step[number];
  for (int32_t i = 0; i < step->waits; i++) {
    const int32_t other = run->plan->wait[step->first_wait + i];
    if (!dvt_step_await(run, other))
      return DVT_STOPPED;
    DVT_TRY(wait_for(e, step->role, &run->state[other]));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_running_start(dvt_running *run, void (*function)(void *), void *argument) {
  pthread_mutex_lock(&run->lock);
  run->threads++;
  pthread_mutex_unlock(&run->lock);
  davit_status status = dvt_pool_run(function, argument);
  if (status != DAVIT_SUCCESS)
    dvt_running_leave(run);
  return status;
}

void dvt_running_leave(dvt_running *run) {
  pthread_mutex_lock(&run->lock);
  run->threads--;
  pthread_cond_broadcast(&run->changed);
  pthread_mutex_unlock(&run->lock);
}

/* ---- tiles ---- */

/* Where a tile lies: in a slot, dense, or in the caller's matrix. */
typedef struct tile_view {
  char *pointer;
  int64_t rows, cols, ld; /* as stored */
} tile_view;

static tile_view in_matrix(const dvt_running *run, const dvt_operand *tile) {
  const dvt_level3 *g = &run->call->arguments;
  const dvt_plan *plan = run->plan;
  const int pool = dvt_pool_of(tile->matrix);
  const void *const base[] = {g->a, g->b, g->c};
  const int64_t ld[] = {g->lda, g->ldb, g->ldc};
  const int64_t row = plan->cut[plan->rows[tile->matrix]].start[tile->row];
  const int64_t col = plan->cut[plan->cols[tile->matrix]].start[tile->col];
  char *start = (char *)(uintptr_t)base[pool];
  return (tile_view){start ? start + (size_t)(row + col * ld[pool]) * run->element : NULL,
                     dvt_tile_rows(plan, tile), dvt_tile_cols(plan, tile), ld[pool]};
}

static char *slot_pointer(const dvt_engine *e, int pool, int32_t slot) {
  const dvt_slot_memory *m = &e->pool[pool];
  return (char *)m->page[slot / m->per_page] + (size_t)(slot % m->per_page) * m->slot_bytes;
}

static tile_view view(const dvt_engine *e, const dvt_operand *tile, int32_t slot) {
  if (tile->matrix < 0)
    return (tile_view){NULL, 0, 0, 1};
  tile_view v = in_matrix(e->run, tile);
  if (slot >= 0) {
    v.pointer = slot_pointer(e, dvt_pool_of(tile->matrix), slot);
    v.ld = v.rows;
  }
  return v;
}

/* ---- copies ---- */

static dvt_copy copy_of(const tile_view *to, int to_place, const tile_view *from, int from_place,
                        size_t element) {
  return (dvt_copy){.destination = to->pointer,
                    .source = from->pointer,
                    .destination_pitch = (size_t)to->ld * element,
                    .source_pitch = (size_t)from->ld * element,
                    .row_bytes = (size_t)to->rows * element,
                    .cols = (size_t)to->cols,
                    .destination_place = to_place,
                    .source_place = from_place};
}

dvt_copy dvt_step_copy(const dvt_engine *e, const dvt_step *step) {
  dvt_running *run = e->run;
  const tile_view home = in_matrix(run, &step->out), here = view(e, &step->out, step->out_slot);
  const int place = run->place[dvt_pool_of(step->out.matrix)];
  const bool up = step->kind == DVT_STEP_LOAD;
  const dvt_copy copy = up ? copy_of(&here, e->device, &home, place, run->element)
                           : copy_of(&home, place, &here, e->device, run->element);
  atomic_llong *counter = !dvt_place_is_host(place) ? &run->across : up ? &run->up : &run->down;
  atomic_fetch_add(counter, (long long)(copy.row_bytes * copy.cols));
  return copy;
}

static davit_status carry_copy(dvt_engine *e, int role, const dvt_copy *c) {
  dvt_stream *stream = e->stream[role];
  dvt_span *span = dvt_tracing() ? dvt_span_work(&e->trail[role], "copy", stream ? "stream" : "transfer",
                                                 c->row_bytes * c->cols)
                                 : NULL;
  if (span)
    dvt_span_begin(span, stream);
  davit_status status = stream ? dvt_stream_copy(stream, c->destination, c->destination_pitch, c->source,
                                                 c->source_pitch, c->row_bytes, c->cols)
                               : dvt_copy_now(c);
  if (span)
    dvt_span_end(span, stream, false);
  return status;
}

static davit_status carry_peer(dvt_engine *e, const dvt_step *step) {
  dvt_running *run = e->run;
  dvt_engine *other = &run->engine[step->from_device];
  const tile_view from = view(other, &step->out, step->from_slot), to = view(e, &step->out, step->out_slot);
  const dvt_copy copy = copy_of(&to, e->device, &from, other->device, run->element);
  atomic_fetch_add(&run->across, (long long)(copy.row_bytes * copy.cols));
  return carry_copy(e, step->role, &copy);
}

/* ---- arithmetic ---- */

/* Scratch memory for an operation. Older blocks may still be in use by the stream, so they live on. */
static davit_status workspace(const dvt_site *site, size_t bytes, void **pointer) {
  dvt_scratch *const *newest = site->owner;
  dvt_scratch *s = *newest;
  if (s->bytes < bytes) {
    dvt_scratch *made = dvt_allocate(1, sizeof *made);
    if (!made)
      return DAVIT_OUT_OF_HOST_MEMORY;
    *made = (dvt_scratch){.engine = s->engine, .bytes = bytes, .older = s};
    davit_status status = davit_malloc(bytes, s->engine->device, &made->memory);
    if (status != DAVIT_SUCCESS) {
      free(made);
      return status;
    }
    *(dvt_scratch **)site->owner = s = made;
  }
  *pointer = s->memory;
  return DAVIT_SUCCESS;
}

int dvt_level3_threads(double flops, int most) {
  const double worth = 4e6; /* less than that is faster on fewer threads */
  const double threads = flops / worth;
  return threads < 1 ? 1 : threads < most ? (int)threads : most;
}

static davit_status compute(dvt_engine *e, int role, const dvt_operation *operation, double flops,
                            const void *arguments) {
  const dvt_path path = dvt_path_on(e->device, e->streams, operation);
  if (e->streams && path != DVT_ON_STREAM) /* a region does not wait for what its stream waits for */
    DVT_TRY(dvt_stream_synchronize(e->stream[role]));
  const dvt_site site = {.device = e->device,
                         .stream = path == DVT_ON_STREAM ? e->stream[role] : NULL,
                         .threads = path == DVT_ON_HOST ? dvt_level3_threads(flops, e->threads) : 0,
                         .owner = &e->scratch[role],
                         .workspace = workspace};
  dvt_span *span = dvt_tracing()
                       ? dvt_span_work(&e->trail[role], operation->name, site.stream ? "stream" : "host", 0)
                       : NULL;
  if (span)
    dvt_span_begin(span, site.stream);
  const davit_status status = path == DVT_ON_STREAM ? operation->stream(&site, arguments)
                              : path == DVT_ON_HOST ? dvt_host_form(operation->host, &site, arguments)
                                                    : operation->region(&site, arguments);
  if (span)
    dvt_span_end(span, site.stream, false);
  return status;
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
static dvt_level3 term_arguments(const dvt_engine *e, const dvt_step *step) {
  const dvt_term *t = &step->term;
  dvt_level3 g = e->run->call->arguments;
  const tile_view left = view(e, &t->left, step->left_slot), right = view(e, &t->right, step->right_slot),
                  out = view(e, &step->out, step->out_slot);
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
  if ((g.routine == DVT_SYMM || g.routine == DVT_HEMM) && t->left.matrix == DVT_B) {
    g.a = right.pointer;
    g.lda = dvt_at_least(right.ld, 1);
    g.b = left.pointer;
    g.ldb = dvt_at_least(left.ld, 1);
  }
  if (g.routine == DVT_TRMM) { /* in place */
    g.b = g.c;
    g.ldb = g.ldc;
  }
  g.alpha = factor(&e->run->call->arguments, t->alpha);
  g.beta = factor(&e->run->call->arguments, t->beta);
  return g;
}

static davit_status carry_product(dvt_engine *e, const dvt_step *step) {
  const dvt_level3 g = term_arguments(e, step);
  e->products++;
  return compute(e, step->role, &dvt_level3_operations[step->term.kernel],
                 2 * (double)g.m * (double)g.n * (double)g.k, &g);
}

/* A complex number is added as two real ones. */
static davit_status carry_add(dvt_engine *e, const dvt_step *step) {
  const tile_view out = view(e, &step->out, step->out_slot);
  const davit_type type = e->run->call->arguments.type;
  const bool complex = type == DAVIT_COMPLEX_FLOAT || type == DAVIT_COMPLEX_DOUBLE;
  const int64_t parts = complex ? 2 : 1;
  const dvt_add add = {.type = type == DAVIT_COMPLEX_FLOAT    ? DAVIT_FLOAT
                               : type == DAVIT_COMPLEX_DOUBLE ? DAVIT_DOUBLE
                                                              : type,
                       .m = parts * out.rows,
                       .n = out.cols,
                       .a = slot_pointer(e, DVT_C, step->left_slot),
                       .lda = parts * out.rows,
                       .c = out.pointer,
                       .ldc = parts * out.ld};
  return compute(e, step->role, &dvt_add_operation, 16 * (double)add.m * (double)add.n, &add);
}

/* ---- a device's thread ---- */

static davit_status carry_step(dvt_engine *e, int32_t number) {
  const dvt_step *step = &e->run->plan->step[number];
  davit_status status = DAVIT_SUCCESS;
  if (dvt_injected(DVT_INJECT_RUN))
    return davit_fail(DAVIT_DEVICE_LOST, "device %d does not answer", e->device);
  DVT_TRY(dvt_step_wait(e, number));
  switch ((dvt_step_kind)step->kind) {
  case DVT_STEP_LOAD:
  case DVT_STEP_STORE: {
    const dvt_copy copy = dvt_step_copy(e, step);
    status = carry_copy(e, step->role, &copy);
    break;
  }
  case DVT_STEP_PEER:
    status = carry_peer(e, step);
    break;
  case DVT_STEP_PRODUCT:
    status = carry_product(e, step);
    break;
  case DVT_STEP_ADD:
    status = carry_add(e, step);
    break;
  }
  return status == DAVIT_SUCCESS ? dvt_step_issue(e, number) : status;
}

static davit_status drain(dvt_engine *e) {
  davit_status status = DAVIT_SUCCESS;
  for (int role = 0; role < DVT_ROLES; role++)
    if (e->stream[role]) {
      davit_status end = dvt_stream_synchronize(e->stream[role]);
      status = status == DAVIT_SUCCESS ? end : status;
    }
  return status;
}

static void carry_engine(dvt_engine *e) {
  dvt_running *run = e->run;
  davit_status status = DAVIT_SUCCESS;
  for (int32_t i = 0; i < run->plan->steps && status == DAVIT_SUCCESS; i++)
    if (run->plan->step[i].device == e->index && !dvt_ring_takes(e, &run->plan->step[i]))
      status = atomic_load(&run->failed) ? DVT_STOPPED : carry_step(e, i);
  if (status != DAVIT_SUCCESS)
    dvt_running_fail(run, status);
}

static void engine_thread(void *argument) {
  dvt_engine *e = argument;
  dvt_error_clear();
  carry_engine(e);
  dvt_running_leave(e->run);
}

/* ---- before and after ---- */

static davit_status open_pool(dvt_engine *e, int pool) {
  const size_t page_bytes = (size_t)256 << 20;
  dvt_slot_memory *m = &e->pool[pool];
  const int64_t slots = e->run->plan->slots[e->index][pool];
  m->slot_bytes = dvt_aligned_up(e->run->plan->slot_bytes[pool]);
  if (slots == 0)
    return DAVIT_SUCCESS;
  const size_t all = (size_t)slots * m->slot_bytes;
  m->per_page = all <= page_bytes ? slots : dvt_at_least((int64_t)(page_bytes / m->slot_bytes), 1);
  m->page = dvt_allocate((size_t)dvt_divide_up(slots, m->per_page), sizeof *m->page);
  if (!m->page)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (; m->pages * m->per_page < slots; m->pages++) {
    const size_t bytes = (size_t)m->per_page * m->slot_bytes;
    DVT_TRY(davit_malloc(bytes > 0 ? bytes : 1, e->device, &m->page[m->pages]));
  }
  e->run->cache_bytes += (int64_t)((size_t)slots * e->run->plan->slot_bytes[pool]);
  return DAVIT_SUCCESS;
}

static davit_status open_engine(dvt_engine *e) {
  for (int pool = 0; pool < DVT_POOLS; pool++)
    DVT_TRY(open_pool(e, pool));
  for (int role = 0; role < DVT_ROLES; role++) {
    if (e->streams)
      DVT_TRY(dvt_stream_acquire(e->device, &e->stream[role]));
    e->scratch[role] = dvt_allocate(1, sizeof *e->scratch[role]);
    if (!e->scratch[role])
      return DAVIT_OUT_OF_HOST_MEMORY;
    e->scratch[role]->engine = e;
  }
  return DAVIT_SUCCESS;
}

static void close_engine(dvt_engine *e) {
  for (int pool = 0; pool < DVT_POOLS; pool++) {
    for (int64_t i = 0; i < e->pool[pool].pages; i++)
      davit_free(e->pool[pool].page[i]);
    free(e->pool[pool].page);
  }
  for (int role = 0; role < DVT_ROLES; role++) {
    dvt_trail_end(&e->trail[role]);
    if (e->stream[role])
      dvt_stream_release(e->stream[role]);
    for (dvt_scratch *s = e->scratch[role], *older; s; s = older) {
      older = s->older;
      davit_free(s->memory);
      free(s);
    }
  }
}

static davit_status start_all(dvt_running *run) {
  for (int i = 0; i < run->plan->devices; i++)
    DVT_TRY(dvt_ring_open(&run->engine[i]));
  for (int i = 1; i < run->plan->devices; i++)
    DVT_TRY(dvt_running_start(run, engine_thread, &run->engine[i]));
  return DAVIT_SUCCESS;
}

/* The calling thread is the first device's. */
static void carry_out(dvt_running *run) {
  davit_status status = DAVIT_SUCCESS;
  run->full = -1;
  for (int i = 0; i < run->plan->devices && status == DAVIT_SUCCESS; i++) {
    status = open_engine(&run->engine[i]);
    if (status == DAVIT_OUT_OF_DEVICE_MEMORY)
      run->full = i;
  }
  if (status == DAVIT_SUCCESS)
    status = start_all(run);
  if (status == DAVIT_SUCCESS)
    carry_engine(&run->engine[0]);
  else
    dvt_running_fail(run, status);
  pthread_mutex_lock(&run->lock);
  while (run->threads > 0)
    pthread_cond_wait(&run->changed, &run->lock);
  pthread_mutex_unlock(&run->lock);
  for (int i = 0; i < run->plan->devices; i++) {
    status = drain(&run->engine[i]);
    if (status != DAVIT_SUCCESS)
      dvt_running_fail(run, status);
  }
  for (int64_t i = 0; i < run->plan->steps; i++) {
    dvt_mark_free(run->state[i].mark);
    dvt_point_drop(run->state[i].point);
  }
  for (int i = 0; i < run->plan->devices; i++) {
    dvt_ring_close(&run->engine[i]);
    close_engine(&run->engine[i]);
  }
}

static void set_engines(dvt_running *run, const int *devices, bool streams) {
  int hosts = 0;
  for (int i = 0; i < run->plan->devices; i++)
    hosts += dvt_device_find(devices[i])->shares_host_memory;
  for (int i = 0; i < run->plan->devices; i++) {
    dvt_engine *e = &run->engine[i];
    e->run = run;
    e->index = i;
    e->device = devices[i];
    for (int role = 0; role < DVT_ROLES; role++)
      e->trail[role].device = devices[i];
    e->streams = streams && dvt_device_find(devices[i])->ordinal >= 0;
    e->threads = (int)dvt_at_least(dvt_threads() / (hosts > 0 ? hosts : 1), 1);
  }
}

static void fill_report(const dvt_running *run, davit_level3_report *report) {
  report->device_count = run->plan->devices;
  report->products = run->plan->products;
  report->evictions = run->plan->evictions;
  report->bytes_from_host = atomic_load(&run->up);
  report->bytes_to_host = atomic_load(&run->down);
  report->bytes_from_peers = atomic_load(&run->across);
  report->cache_bytes = run->cache_bytes;
  for (int i = 0; i < run->plan->devices; i++) {
    report->devices[i].device = run->engine[i].device;
    report->devices[i].products = run->engine[i].products;
  }
}

davit_status dvt_plan_run(const dvt_level3_call *call, const dvt_plan_shape *shape, const dvt_plan *plan,
                          const int *devices, const int *places, bool streams, davit_level3_report *report,
                          int *full) {
  *full = -1;
  dvt_running *run = dvt_allocate(1, sizeof *run);
  if (!run)
    return DAVIT_OUT_OF_HOST_MEMORY;
  run->state = dvt_allocate((size_t)plan->steps + 1, sizeof *run->state);
  if (!run->state) {
    free(run);
    return DAVIT_OUT_OF_HOST_MEMORY;
  }
  const int current = dvt_cuda_current();
  run->call = call;
  run->shape = shape;
  run->plan = plan;
  run->element = shape->element;
  memcpy(run->place, places, sizeof run->place);
  pthread_mutex_init(&run->lock, NULL);
  pthread_cond_init(&run->changed, NULL);
  set_engines(run, devices, streams);
  carry_out(run);
  fill_report(run, report);
  *full = run->full;
  davit_status status = dvt_error_report(&run->error);
  pthread_cond_destroy(&run->changed);
  pthread_mutex_destroy(&run->lock);
  free(run->state);
  free(run);
  dvt_cuda_restore(current);
  return status;
}
