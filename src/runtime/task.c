/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/task.h"

#include <omp.h>
#include <pthread.h>

#include "offload/runtime/region.h"
#include "src/base/ending.h"
#include "src/runtime/batch.h"
#include "src/runtime/generator.h"

static void generate_callback(dvt_record *record) {
  if (record->has_callback)
    return;
  record->has_callback = true;
  dvt_record_hold(record);
  dvt_generator_defer();
  dvt_addresses *addresses = dvt_record_addresses(record);
  char *issued = &addresses->issued, *done = &addresses->done;
  omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task untied detach(event) depend(in : *issued) depend(out : *done) firstprivate(record)
  {
    dvt_generator_detach(&record->callback, (uintptr_t)event);
    dvt_callback_start(record);
  }
}

/* The address whose dependence stands for "the lane may go on past this record"; NULL if it may already. */
static char *awaited(const dvt_lane *lane, dvt_record *record) {
  if (dvt_record_is_over(record))
    return NULL;
  if (!record->on_stream)
    return &dvt_record_addresses(record)->done;
  if (lane->stream)
    return atomic_load(&record->state) == DVT_RECORD_PENDING ? &dvt_record_addresses(record)->issued : NULL;
  generate_callback(record);
  return &record->addresses->done;
}

/* The addresses of a batch's `depend` clauses. */
typedef struct dependences {
  char *in[DVT_MAX_WAITS], *out;
  int ins;
} dependences;

static void find_waits(const dvt_batch *s, dependences *d) {
  d->ins = 0;
  d->out = NULL;
  for (dvt_command *c = s->first; c && c->kind == DVT_WAIT; c = c->next) {
    char *address = awaited(s->lane, c->record);
    if (address)
      d->in[d->ins++] = address;
  }
}

static void find_record(const dvt_batch *s, dependences *d) {
  dvt_record *record = s->last->record;
  if (s->last->kind != DVT_RECORD)
    return;
  dvt_addresses *addresses = dvt_record_addresses(record);
  d->out = record->on_stream ? &addresses->issued : &addresses->done;
}

static dvt_region_order order_of(const dvt_batch *s, const dependences *d) {
  return (dvt_region_order){&s->lane->address, d->in, d->ins, d->out};
}

static void run_batch(void *first) {
  dvt_generator_began();
  dvt_batch_run(first);
}

static void generate_plain(const dvt_batch *s, const dependences *d) {
  const dvt_region_order order = order_of(s, d);
  dvt_generator_defer();
  dvt_region_on_host(&order, run_batch, s->first);
}

static void start_batch(dvt_command *first, omp_event_handle_t event) {
  dvt_generator_detach(&first->task, (uintptr_t)event);
  dvt_batch_start(first);
}

static void generate_detached(const dvt_batch *s, const dependences *d) {
  char *const *in = d->in, *const out[1] = {d->out}, *address = &s->lane->address;
  const int ins = d->ins, outs = d->out != NULL;
  dvt_command *first = s->first;
  omp_event_handle_t event = (omp_event_handle_t)0;
  dvt_generator_defer();
  if (ins == 0 && outs == 0) { /* lists of no fixed length take longer */
#pragma omp task untied detach(event) depend(inout : *address) firstprivate(first)
    start_batch(first, event);
  } else {
#pragma omp task untied detach(event) depend(inout : *address)                                               \
    depend(iterator(int i = 0 : ins), in : *in[i]) depend(iterator(int i = 0 : outs), out : *out[i])         \
    firstprivate(first)
    start_batch(first, event);
  }
}

/* ---- regions ---- */

/* The `count` commands from `at` on, whose regions are being emitted. On a stopped lane `record`, which may be NULL,
 * will fail. */
typedef struct emission {
  dvt_lane *lane;
  dvt_command *at;
  int count;
  dvt_span *span; /* of the command that is being emitted */
  dvt_record *record;
  char *out;
  void (*end)(void *);
  void *argument;
} emission;

static dvt_lane *emitting; /* whose regions are being generated */

static void nothing(void *argument) {
  (void)argument;
  dvt_generator_passed();
}

static dvt_span *take_span(dvt_command *command) {
  dvt_span *span = command->span;
  command->span = NULL;
  return span;
}

static void emit_end_of_span(emission *e) {
  const dvt_region_order order = {&e->lane->address, NULL, 0, NULL};
  if (e->span)
    dvt_region_on_host(&order, dvt_span_end_task, e->span);
  e->span = NULL;
}

/* The region of a command; in a trace between two on the host that take the time. */
static void emit_command(emission *e) {
  const dvt_region_order order = {&e->lane->address, NULL, 0, NULL};
  e->span = take_span(e->at);
  if (e->span)
    dvt_region_on_host(&order, dvt_span_begin_task, e->span);
  dvt_command_work(e->at);
  emit_end_of_span(e);
}

/* In a trace a wait ends with a region on the host that waits for the same. */
static void emit_end_of_wait(const dvt_batch *s, const dependences *d, dvt_command *command) {
  const dvt_region_order order = {&s->lane->address, d->in, d->ins, NULL};
  dvt_span *span = take_span(command);
  if (span)
    dvt_region_on_host(&order, dvt_span_end_task, span);
}

static void emit_rest(emission *e);

/* The function of a region has ended the thread, and with that failed: the lane is stopped, and skips the others. */
static void function_ended(void *argument) {
  emission *e = argument;
  dvt_command_function_ended();
  emit_end_of_span(e);
  e->count--;
  e->at = e->at->next;
  emit_rest(e);
}

static void emit_rest(emission *e) {
  pthread_cleanup_push(function_ended, e);
  for (; e->count > 0; e->count--, e->at = e->count > 0 ? e->at->next : NULL)
    emit_command(e);
  pthread_cleanup_pop(0);
  if (e->record && atomic_load(&e->lane->failed)) {
    davit_status status = dvt_lane_error(e->lane);
    dvt_record_fail_pending(e->record, status, davit_last_error());
  }
  const dvt_region_order last = {&e->lane->address, NULL, 0, e->out};
  emitting = NULL;
  dvt_region_on_host(&last, e->end, e->argument);
}

/* Regions that follow `in`. Until end_regions() they are under way: the process waits for them. */
static void emit(const emission *what, char *const *in, int ins) {
  emission e = *what;
  const dvt_region_order first = {&e.lane->address, in, ins, NULL};
  if (atomic_fetch_add(&e.lane->regions, 1) == 0)
    dvt_generator_regions_begin();
  dvt_ending_hold();
  if (ins > 0)
    dvt_region_on_host(&first, nothing, NULL);
  emitting = e.lane;
  emit_rest(&e);
}

/* `last`: the lane has no others in the graph. */
static void end_regions(bool last) {
  dvt_ending_drop();
  last ? dvt_generator_regions_end() : dvt_generator_passed();
}

static bool is_last(dvt_lane *lane) {
  return atomic_fetch_sub(&lane->regions, 1) == 1;
}

static void batch_ended(void *argument) {
  dvt_command *first = argument;
  const bool last = is_last(first->lane);
  dvt_batch_end_regions(first);
  end_regions(last);
}

static void generate_regions(const dvt_batch *s, const dependences *d) {
  emission e = {.lane = s->lane,
                .at = s->first,
                .record = s->last->record,
                .out = d->out,
                .end = batch_ended,
                .argument = s->first};
  for (; e.at->kind == DVT_WAIT; e.at = e.at->next) {
    emit_end_of_wait(s, d, e.at);
    dvt_command_pass_failure(e.at);
  }
  for (dvt_command *region = e.at; region && region->kind == DVT_REGION; region = region->next)
    e.count++;
  s->first->last = s->last;
  emit(&e, d->in, d->ins);
}

static void lone_ended(void *argument) {
  dvt_lone_region *lone = argument;
  end_regions(is_last(lone->command->lane));
  sem_post(&lone->over);
}

void dvt_task_alone(dvt_lone_region *lone) {
  dvt_command *region = lone->command;
  emit(&(emission){.lane = region->lane, .at = region, .count = 1, .end = lone_ended, .argument = lone}, NULL,
       0);
}

static void unfinished_ended(void *lane) {
  end_regions(is_last(lane));
}

void dvt_task_leave(void) {
  if (!emitting)
    return;
  const dvt_region_order last = {&emitting->address, NULL, 0, NULL};
  dvt_region_on_host(&last, unfinished_ended, emitting);
}

/* ---- any batch ---- */

static bool is_plain(const dvt_batch *s) {
  return s->kind == DVT_STREAMED || s->kind == DVT_RECORD || s->kind == DVT_WAIT;
}

void dvt_task_generate(const dvt_batch *s) {
  dvt_lane_state *t = dvt_lane_state_of(s->lane);
  dependences d;
  find_waits(s, &d);
  const bool next = dvt_lane_state_count_in(s->lane, s->first->commands);
  t->certain = s->kind == DVT_REGION;
  if (is_plain(s) && next && d.ins == 0) {
    dvt_batch_run(s->first);
    return;
  }
  find_record(s, &d);
  if (d.out)
    s->last->record->certain = t->certain;
  if (s->kind == DVT_REGION)
    generate_regions(s, &d);
  else
    is_plain(s) ? generate_plain(s, &d) : generate_detached(s, &d);
}

void dvt_task_flush(dvt_lane *lane) {
  dvt_command *flush = dvt_command_new(lane, DVT_FLUSH, 0);
  if (flush) {
    flush->commands = 0;
    dvt_task_generate(&(dvt_batch){lane, flush, flush, DVT_FLUSH});
    return;
  }
  dvt_lane_fail(lane, DAVIT_OUT_OF_HOST_MEMORY, davit_last_error());
  dvt_stream_synchronize(lane->stream);
  dvt_lane_state_of(lane)->in_stream = false;
}
