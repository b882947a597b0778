/* SPDX-License-Identifier: Apache-2.0 */
#include "src/level3/running.h"

#include <sched.h>

#include "src/runtime/place.h"
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

/* ---- progress ---- */

/* Of a failed product nothing is reported. */
static void report(dvt_running *run, bool by_device, davit_status status) {
  const davit_level3_options *options = run->call->options;
  pthread_mutex_lock(&run->progress_lock);
  if (status == DAVIT_SUCCESS)
    options->progress(options->progress_context, ++run->reported, run->plan->products);
  run->unreported -= by_device;
  pthread_cond_signal(&run->all_reported);
  pthread_mutex_unlock(&run->progress_lock);
}

static void reached(void *run, davit_status status) {
  report(run, true, status);
}

davit_status dvt_product_report(dvt_engine *e, int role) {
  dvt_running *run = e->run;
  dvt_mark *mark;
  if (!run->call->options->progress)
    return DAVIT_SUCCESS;
  if (!e->streams) {
    report(run, false, DAVIT_SUCCESS);
    return DAVIT_SUCCESS;
  }
  DVT_TRY(dvt_stream_mark(e->stream[role], &mark));
  pthread_mutex_lock(&run->progress_lock);
  run->unreported++;
  pthread_mutex_unlock(&run->progress_lock);
  const davit_status status = dvt_mark_notify(mark, reached, run);
  if (status != DAVIT_SUCCESS)
    report(run, true, status);
  dvt_mark_free(mark);
  return status;
}

void dvt_products_await_reports(dvt_running *run) {
  pthread_mutex_lock(&run->progress_lock);
  while (run->unreported > 0)
    pthread_cond_wait(&run->all_reported, &run->progress_lock);
  pthread_mutex_unlock(&run->progress_lock);
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

void dvt_running_complete(dvt_running *run) {
  pthread_mutex_lock(&run->lock);
  run->complete = true;
  pthread_cond_broadcast(&run->changed);
  pthread_mutex_unlock(&run->lock);
}

bool dvt_running_await_all(dvt_running *run) {
  pthread_mutex_lock(&run->lock);
  while (!run->complete && !atomic_load(&run->failed))
    pthread_cond_wait(&run->changed, &run->lock);
  pthread_mutex_unlock(&run->lock);
  return !atomic_load(&run->failed);
}

/* ---- tiles ---- */

bool dvt_step_writes(const dvt_step *step) {
  return step->kind == DVT_STEP_STORE || (step->kind != DVT_STEP_LOAD && step->out_slot < 0);
}

static dvt_tile_view in_matrix(const dvt_running *run, const dvt_operand *tile) {
  const dvt_level3 *g = &run->call->arguments;
  const dvt_plan *plan = run->plan;
  const int pool = dvt_pool_of(tile->matrix);
  const void *const base[] = {g->a, g->b, g->c};
  const int64_t ld[] = {g->lda, g->ldb, g->ldc};
  const int64_t row = plan->cut[plan->rows[tile->matrix]].start[tile->row];
  const int64_t col = plan->cut[plan->cols[tile->matrix]].start[tile->col];
  char *start = (char *)(uintptr_t)base[pool];
  return (dvt_tile_view){start ? start + (size_t)(row + col * ld[pool]) * run->element : NULL,
                         dvt_tile_rows(plan, tile), dvt_tile_cols(plan, tile), ld[pool]};
}

char *dvt_slot_pointer(const dvt_engine *e, int pool, int32_t slot) {
  const dvt_slot_memory *m = &e->pool[pool];
  return (char *)m->page[slot / m->per_page] + (size_t)(slot % m->per_page) * m->slot_bytes;
}

dvt_tile_view dvt_step_view(const dvt_engine *e, const dvt_operand *tile, int32_t slot) {
  if (tile->matrix < 0)
    return (dvt_tile_view){NULL, 0, 0, 1};
  dvt_tile_view v = in_matrix(e->run, tile);
  if (slot >= 0) {
    v.pointer = dvt_slot_pointer(e, dvt_pool_of(tile->matrix), slot);
    v.ld = v.rows;
  }
  return v;
}

/* ---- copies ---- */

dvt_copy dvt_view_copy(const dvt_tile_view *to, int to_place, const dvt_tile_view *from, int from_place,
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
  const dvt_tile_view home = in_matrix(run, &step->out), here = dvt_step_view(e, &step->out, step->out_slot);
  const int place = run->place[dvt_pool_of(step->out.matrix)];
  const bool up = step->kind == DVT_STEP_LOAD;
  const dvt_copy copy = up ? dvt_view_copy(&here, e->device, &home, place, run->element)
                           : dvt_view_copy(&home, place, &here, e->device, run->element);
  atomic_llong *counter = !dvt_place_is_host(place) ? &run->across : up ? &run->up : &run->down;
  atomic_fetch_add(counter, (long long)(copy.row_bytes * copy.cols));
  return copy;
}
