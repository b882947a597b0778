/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/task.h"

#include <sched.h>

#include <omp.h>

#include "offload/runtime/device.h"
#include "offload/runtime/region.h"
#include "src/base/allocate.h"
#include "src/base/ending.h"
#include "src/runtime/generator.h"
#include "src/runtime/segment.h"

static void generate_bridge(dvt_record *record) {
  if (record->bridged)
    return;
  record->bridged = true;
  dvt_record_hold(record);
  const bool expected = record->of_region;
  dvt_generator_defer(expected);
  dvt_tokens *tokens = dvt_record_tokens(record);
  char *issued = &tokens->issued, *done = &tokens->done;
  omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task detach(event) depend(in : *issued) depend(out : *done) firstprivate(record, expected)
  {
    dvt_generator_began(expected);
    record->bridge_event = (uintptr_t)event;
    dvt_bridge_start(record);
  }
}

/* The address whose dependence stands for "the lane may go on past this record"; NULL if it may already. */
static char *awaited(const dvt_lane *lane, dvt_record *record) {
  if (dvt_record_is_over(record))
    return NULL;
  if (!record->on_stream)
    return &dvt_record_tokens(record)->done;
  if (lane->stream)
    return atomic_load(&record->state) == DVT_RECORD_PENDING ? &dvt_record_tokens(record)->issued : NULL;
  generate_bridge(record);
  return &record->tokens->done;
}

/* The addresses of a segment's `depend` clauses. */
typedef struct dependences {
  char *in[DVT_MAX_WAITS], *out[1];
  int ins, outs;
  bool expected; /* it follows a region */
} dependences;

static void find_waits(const dvt_segment *s, dependences *d) {
  const dvt_track *t = dvt_track_of(s->lane);
  d->ins = d->outs = 0;
  d->expected = t->behind_region;
  for (dvt_command *c = s->first; c && c->kind == DVT_WAIT; c = c->next) {
    char *token = awaited(s->lane, c->record);
    if (token)
      d->in[d->ins++] = token;
    d->expected |= token && c->record->of_region;
  }
}

static void find_record(const dvt_segment *s, dependences *d) {
  dvt_record *record = s->last->record;
  if (s->last->kind != DVT_RECORD)
    return;
  dvt_tokens *tokens = dvt_record_tokens(record);
  d->out[d->outs++] = record->on_stream ? &tokens->issued : &tokens->done;
}

static void generate_plain(const dvt_segment *s, const dependences *d) {
  char *const *in = d->in, *const *out = d->out, *token = &s->lane->token;
  const int ins = d->ins, outs = d->outs;
  dvt_command *first = s->first;
  const bool expected = d->expected;
  if (ins == 0 && outs == 0) {
#pragma omp task depend(inout : *token) firstprivate(first, expected)
    {
      dvt_generator_began(expected);
      dvt_segment_run(first);
    }
  } else {
#pragma omp task depend(inout : *token) depend(iterator(int i = 0 : ins), in : *in[i])                       \
    depend(iterator(int i = 0 : outs), out : *out[i]) firstprivate(first, expected)
    {
      dvt_generator_began(expected);
      dvt_segment_run(first);
    }
  }
}

static void generate_detached(const dvt_segment *s, const dependences *d) {
  char *const *in = d->in, *const *out = d->out, *token = &s->lane->token;
  const int ins = d->ins, outs = d->outs;
  dvt_command *first = s->first;
  const bool expected = d->expected;
  omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task detach(event) depend(inout : *token) depend(iterator(int i = 0 : ins), in : *in[i])         \
    depend(iterator(int i = 0 : outs), out : *out[i]) firstprivate(first, expected)
  {
    dvt_generator_began(expected);
    first->event = (uintptr_t)event;
    dvt_segment_start(first);
  }
}

static void generate_helper(const dvt_segment *s, const dependences *d) {
  dvt_region_on_host(&(dvt_region_order){&s->lane->token, d->in, d->ins, d->outs ? d->out[0] : NULL},
                     dvt_segment_run_on_helper, s->first);
}

/* ---- regions ---- */

/* Regions of devices that share the host's memory run on helper threads and may open teams there, and while
 * they do no region may be generated (region.h): they are in the graph one segment at a time, and the first
 * of them starts when the last is generated. */
static atomic_bool closed, gate_open;
static dvt_lane *emitting; /* whose regions are being generated */

static bool runs_on_helpers(const dvt_lane *lane) {
  return dvt_device_find(lane->device)->shares_host_memory;
}

static void nothing(void *argument) {
  (void)argument;
}

static void wait_for_gate(void *argument) {
  (void)argument;
  while (!atomic_load(&gate_open))
    sched_yield();
}

static dvt_span *take_span(dvt_command *command) {
  dvt_span *span = command->span;
  command->span = NULL;
  return span;
}

/* The region of a command; in a trace between two on the host that take the time. */
static void emit_command(dvt_lane *lane, dvt_command *command) {
  const dvt_region_order order = {&lane->token, NULL, 0, NULL};
  dvt_span *span = take_span(command);
  if (span)
    dvt_region_on_host(&order, dvt_span_begin_task, span);
  dvt_command_work(command);
  if (span)
    dvt_region_on_host(&order, dvt_span_end_task, span);
}

/* In a trace a wait ends with a region on the host that waits for the same. */
static void emit_end_of_wait(dvt_lane *lane, const dependences *d, dvt_command *command) {
  dvt_span *span = take_span(command);
  if (span)
    dvt_region_on_host(&(dvt_region_order){&lane->token, d->in, d->ins, NULL}, dvt_span_end_task, span);
}

/* The regions of the `count` commands from `c` on, between the waits for `in` and end(argument). On a stopped
 * lane `record`, which may be NULL, will fail. */
static void emit_commands(dvt_lane *lane, char *const *in, int ins, dvt_command *c, int count,
                          dvt_record *record, char *out, void (*end)(void *), void *argument) {
  const bool gated = runs_on_helpers(lane);
  const dvt_region_order first = {&lane->token, in, ins, NULL}, last = {&lane->token, NULL, 0, out};
  if (gated) {
    atomic_store(&closed, true);
    atomic_store(&gate_open, false);
  }
  if (gated || ins > 0)
    dvt_region_on_host(&first, gated ? wait_for_gate : nothing, NULL);
  emitting = lane;
  for (int i = 0; i < count; i++, c = i < count ? c->next : NULL)
    emit_command(lane, c);
  if (record && atomic_load(&lane->failed)) {
    davit_status status = dvt_lane_error(lane);
    dvt_record_doom(record, status, davit_last_error());
  }
  emitting = NULL;
  dvt_ending_hold(); /* until end(): the process waits for regions that are under way */
  dvt_region_on_host(&last, end, argument);
  atomic_store(&gate_open, true);
}

/* The regions of emit_commands() are over. */
static void end_commands(const dvt_lane *lane) {
  if (runs_on_helpers(lane))
    atomic_store(&closed, false);
  dvt_ending_drop();
}

static void regions_ended(void *argument) {
  dvt_command *first = argument;
  end_commands(first->lane);
  dvt_segment_end_regions(first);
  dvt_generator_notice();
}

static void emit(const dvt_segment *s, const dependences *d) {
  dvt_command *c = s->first, *last = s->last;
  int count = 0;
  for (; c->kind == DVT_WAIT; c = c->next) {
    emit_end_of_wait(s->lane, d, c);
    dvt_command_pass_failure(c);
  }
  for (dvt_command *region = c; region && region->kind == DVT_REGION; region = region->next)
    count++;
  s->first->last = last;
  emit_commands(s->lane, d->in, d->ins, c, count, last->record, d->outs ? d->out[0] : NULL, regions_ended,
                s->first);
}

void dvt_task_drain(dvt_lane *lane) {
  dvt_drain *d = dvt_allocate(1, sizeof *d);
  if (!d) {
    dvt_lane_fail(lane, DAVIT_OUT_OF_HOST_MEMORY, davit_last_error());
    dvt_stream_synchronize(lane->stream);
    dvt_track_of(lane)->in_stream = false;
    return;
  }
  dvt_track *t = dvt_track_of(lane);
  const bool expected = t->behind_region;
  d->lane = lane;
  dvt_track_count_in(lane);
  t->behind_region = false;
  dvt_generator_defer(expected);
  char *token = &lane->token;
  omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task detach(event) depend(inout : *token) firstprivate(d, expected)
  {
    dvt_generator_began(expected);
    d->event = (uintptr_t)event;
    dvt_drain_start(d);
  }
}

static void end_alone(void *argument) {
  dvt_command *proxy = argument;
  if (proxy->alone)
    end_commands(proxy->alone->lane);
  sem_post(proxy->over);
}

void dvt_task_alone(dvt_command *proxy) {
  static char token;
  dvt_command *command = proxy->alone;
  if (command)
    emit_commands(command->lane, NULL, 0, command, 1, NULL, NULL, end_alone, proxy);
  else
    dvt_region_on_host(&(dvt_region_order){&token, NULL, 0, NULL}, end_alone, proxy);
}

bool dvt_task_is_closed(void) {
  return atomic_load(&closed);
}

/* ---- any segment ---- */

void dvt_task_generate(const dvt_segment *s, dvt_carrier by) {
  dvt_track *t = dvt_track_of(s->lane);
  const bool region = by == DVT_EMITTED || by == DVT_HELPER;
  dependences d;
  find_waits(s, &d);
  const bool next = dvt_track_count_in(s->lane) && !t->elsewhere;
  t->elsewhere = by != DVT_PLAIN;
  if (by == DVT_PLAIN && next && d.ins == 0) {
    dvt_segment_run(s->first);
    return;
  }
  find_record(s, &d);
  t->behind_region = region;
  t->certain = by == DVT_EMITTED;
  if (d.outs) {
    s->last->record->of_region = region;
    s->last->record->certain = t->certain;
  }
  if (region)
    dvt_generator_region();
  else
    dvt_generator_defer(d.expected);
  static void (*const with[])(const dvt_segment *, const dependences *) = {[DVT_PLAIN] = generate_plain,
                                                                           [DVT_DETACHED] = generate_detached,
                                                                           [DVT_EMITTED] = emit,
                                                                           [DVT_HELPER] = generate_helper};
  with[by](s, &d);
}

/* ---- the end of the process ---- */

static void end_unfinished(void *unused) {
  (void)unused;
  dvt_ending_drop();
}

void dvt_task_leave(void) {
  if (!emitting)
    return;
  dvt_ending_hold();
  dvt_region_on_host(&(dvt_region_order){&emitting->token, NULL, 0, NULL}, end_unfinished, NULL);
  atomic_store(&gate_open, true);
}

void dvt_task_open_gate(void) {
  atomic_store(&gate_open, true);
}
