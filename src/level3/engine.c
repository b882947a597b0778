/* SPDX-License-Identifier: Apache-2.0 */
#include "src/level3/run.h"

#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/ending.h"
#include "src/base/inject.h"
#include "src/base/team.h"
#include "src/level3/add.h"
#include "src/level3/ring.h"
#include "src/level3/running.h"
#include "src/runtime/memory.h"

/* ---- copies ---- */

static davit_status carry_copy(dvt_engine *e, int role, const dvt_copy *c) {
  dvt_stream *stream = e->stream[role];
  dvt_span *span = dvt_tracing() ? dvt_span_work(&e->trail[role], "copy", stream ? "stream" : "transfer",
                                                 c->row_bytes * c->cols)
                                 : NULL;
  if (span)
    dvt_span_begin(span, stream);
  davit_status status = stream ? dvt_copy_on_stream(stream, c) : dvt_copy_now(c);
  if (span)
    dvt_span_end(span, stream, false);
  return status;
}

static davit_status carry_peer(dvt_engine *e, const dvt_step *step) {
  dvt_running *run = e->run;
  dvt_engine *other = &run->engine[step->from_device];
  const dvt_tile_view from = dvt_step_view(other, &step->out, step->from_slot),
                      to = dvt_step_view(e, &step->out, step->out_slot);
  const dvt_copy copy = dvt_view_copy(&to, e->device, &from, other->device, run->element);
  atomic_fetch_add(&run->across, (long long)(copy.row_bytes * copy.cols));
  return carry_copy(e, step->role, &copy);
}

/* ---- arithmetic ---- */

/* Scratch memory for operations. Older blocks may still be in use by the stream, so they live on. */
static davit_status enlarge(dvt_scratch **newest, size_t bytes) {
  dvt_scratch *s = *newest;
  if (s->bytes >= bytes)
    return DAVIT_SUCCESS;
  dvt_scratch *made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  *made = (dvt_scratch){.engine = s->engine, .bytes = bytes, .older = s};
  davit_status status = dvt_malloc(bytes, s->engine->device, &made->memory);
  if (status != DAVIT_SUCCESS) {
    free(made);
    return status;
  }
  *newest = made;
  return DAVIT_SUCCESS;
}

static davit_status workspace(const dvt_site *site, size_t bytes, void **pointer) {
  dvt_scratch **newest = site->owner;
  DVT_TRY(enlarge(newest, bytes));
  *pointer = (*newest)->memory;
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
  const dvt_tile_view left = dvt_step_view(e, &t->left, step->left_slot),
                      right = dvt_step_view(e, &t->right, step->right_slot),
                      out = dvt_step_view(e, &step->out, step->out_slot);
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
  g.alpha = factor(&e->run->call->arguments, t->alpha);
  g.beta = factor(&e->run->call->arguments, t->beta);
  return g;
}

static davit_status carry_product(dvt_engine *e, const dvt_step *step) {
  const dvt_level3 g = term_arguments(e, step);
  e->products++;
  DVT_TRY(compute(e, step->role, &dvt_level3_operations[step->term.kernel],
                  2 * (double)g.m * (double)g.n * (double)g.k, &g));
  return dvt_product_report(e, step->role);
}

/* A complex number is added as two real ones. */
static davit_status carry_add(dvt_engine *e, const dvt_step *step) {
  const dvt_tile_view out = dvt_step_view(e, &step->out, step->out_slot);
  const davit_type type = e->run->call->arguments.type;
  const bool complex = type == DAVIT_COMPLEX_FLOAT || type == DAVIT_COMPLEX_DOUBLE;
  const int64_t parts = complex ? 2 : 1;
  const dvt_add add = {.type = type == DAVIT_COMPLEX_FLOAT    ? DAVIT_FLOAT
                               : type == DAVIT_COMPLEX_DOUBLE ? DAVIT_DOUBLE
                                                              : type,
                       .m = parts * out.rows,
                       .n = out.cols,
                       .a = dvt_slot_pointer(e, DVT_C, step->left_slot),
                       .lda = parts * out.rows,
                       .c = out.pointer,
                       .ldc = parts * out.ld};
  return compute(e, step->role, &dvt_add_operation, 16 * (double)add.m * (double)add.n, &add);
}

/* ---- a device's thread ---- */

static davit_status carry_step(dvt_engine *e, int32_t number) {
  const dvt_step *step = &e->run->plan->step[number];
  davit_status status = DAVIT_SUCCESS;
  atomic_store_explicit(&e->run->begun, true, memory_order_relaxed);
  if (dvt_injected(DVT_INJECT_RUN))
    return davit_fail(DAVIT_DEVICE_LOST, "device %d does not answer", e->device);
  DVT_TRY(dvt_step_wait(e, number));
  if (dvt_step_writes(step))
    atomic_store_explicit(&e->run->written, true, memory_order_relaxed);
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

/* cuBLAS's, for the streams that have products. The first one of a process takes 0.1 s and more, as the library is
 * loaded. Made here, it is done while the ring's threads load tiles; the first product waits for its tiles, so that
 * there it would begin when these are loaded. */
static davit_status make_handles(dvt_engine *e) {
  const dvt_plan *plan = e->run->plan;
  bool used[DVT_ROLES] = {false};
  for (int32_t i = 0; i < plan->steps; i++) {
    const dvt_step *step = &plan->step[i];
    if (step->device == e->index && step->kind == DVT_STEP_PRODUCT && !used[step->role])
      used[step->role] =
          dvt_path_on(e->device, e->streams, &dvt_level3_operations[step->term.kernel]) == DVT_ON_STREAM;
  }
  for (int role = 0; role < DVT_ROLES; role++) {
    void *handle;
    if (used[role])
      DVT_TRY(dvt_stream_cublas(e->stream[role], &handle));
  }
  return DAVIT_SUCCESS;
}

static void carry_engine(dvt_engine *e) {
  dvt_running *run = e->run;
  davit_status status = dvt_ring_takes_loads(e) ? make_handles(e) : DAVIT_SUCCESS;
  for (int32_t i = 0; i < run->plan->steps && status == DAVIT_SUCCESS; i++)
    if (run->plan->step[i].device == e->index && !dvt_ring_takes(e, &run->plan->step[i]))
      status = atomic_load(&run->failed) ? DVT_STOPPED : carry_step(e, i);
  if (status != DAVIT_SUCCESS)
    dvt_running_fail(run, status);
}

static void engine_thread(void *argument) {
  dvt_engine *e = argument;
  const bool guarded = e->run->guarded;
  dvt_error_clear();
  if (guarded)
    dvt_ending_follow();
  if (dvt_running_await_all(e->run))
    carry_engine(e);
  if (guarded)
    dvt_ending_leave();
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
    DVT_TRY(dvt_malloc(bytes > 0 ? bytes : 1, e->device, &m->page[m->pages]));
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
    /* What a product of the rule may need: later C may be written already. */
    if (e->streams && e->run->shape->rule->over_b && role >= DVT_ROLE_PRODUCT)
      DVT_TRY(enlarge(&e->scratch[role], e->run->plan->slot_bytes[DVT_C]));
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

/* No step of a device begins before all threads are there: without one of them C is as it was. */
static davit_status start_all(dvt_running *run) {
  for (int i = 0; i < run->plan->devices; i++)
    DVT_TRY(dvt_ring_open(&run->engine[i]));
  for (int i = 1; i < run->plan->devices; i++)
    DVT_TRY(dvt_running_start(run, engine_thread, &run->engine[i]));
  dvt_running_complete(run);
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
  dvt_products_await_reports(run);
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
  run->guarded = hosts < run->plan->devices;
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
  report->written |= atomic_load(&run->written);
  for (int i = 0; i < run->plan->devices; i++) {
    report->devices[i].device = run->engine[i].device;
    report->devices[i].products = run->engine[i].products;
  }
}

davit_status dvt_plan_run(const dvt_level3_call *call, const dvt_plan_shape *shape, const dvt_plan *plan,
                          const int *devices, const int *places, bool streams, davit_level3_report *report,
                          int *full, bool *begun) {
  *full = -1;
  *begun = false;
  dvt_running *run = dvt_allocate(1, sizeof *run);
  if (!run)
    return DAVIT_OUT_OF_HOST_MEMORY;
  run->state = dvt_allocate((size_t)plan->steps + 1, sizeof *run->state);
  if (!run->state) {
    free(run);
    return DAVIT_OUT_OF_HOST_MEMORY;
  }
  run->call = call;
  run->shape = shape;
  run->plan = plan;
  run->element = shape->element;
  memcpy(run->place, places, sizeof run->place);
  pthread_mutex_init(&run->lock, NULL);
  pthread_cond_init(&run->changed, NULL);
  pthread_mutex_init(&run->progress_lock, NULL);
  pthread_cond_init(&run->all_reported, NULL);
  set_engines(run, devices, streams);
  const int current = run->guarded ? dvt_cuda_current() : -1;
  carry_out(run);
  dvt_cuda_restore(current);
  fill_report(run, report);
  *full = run->full;
  *begun = atomic_load(&run->begun);
  davit_status status = dvt_error_report(&run->error);
  pthread_cond_destroy(&run->all_reported);
  pthread_mutex_destroy(&run->progress_lock);
  pthread_cond_destroy(&run->changed);
  pthread_mutex_destroy(&run->lock);
  free(run->state);
  free(run);
  return status;
}
