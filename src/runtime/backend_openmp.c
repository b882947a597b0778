/* SPDX-License-Identifier: Apache-2.0 */
/* The task graph: lanes carried by OpenMP tasks and target regions with `depend`.
 *
 * One thread, the generator (generator.h), takes commands from an inbox, cuts the commands of a lane into
 * segments, and generates one task for each segment:
 *
 *   depend(inout: lane)                     segments of a lane run in order
 *   depend(in: record ...)                  the records the segment waits for
 *   depend(out: record)                     the record it ends with
 *
 * A segment has commands of one kind, which decides its carrier:
 *
 *   PLAIN     streamed work: a task that the generator runs. It places the work in the lane's device stream
 *             and ends there; the device orders what the stream holds, and a wait of one stream for another's
 *             record becomes a wait inside the device.
 *   DETACHED  blocking work: a detached task. Its body hands the segment to a host thread (pool.h), and the
 *             thread fulfils the task's event at the end. So no OpenMP thread ever blocks, whatever user
 *             functions do.
 *   EMITTED   regions: each command emits `target nowait depend(inout: lane)` when it is generated, and a
 *             region on the host ends the segment. A stopped lane must skip regions, so they are generated
 *             when the outcome of everything before them in the lane is known; regions themselves cannot
 *             fail, so a chain of regions, also across lanes, is in the graph as a whole.
 *   HELPER    a region on the host that runs the segment on a helper thread of the OpenMP runtime: short
 *             segments behind regions; and in the back end "nowait", which has no streams, copies and other
 *             work that a thread waits for.
 *
 * A host thread that must wait for a record in a stream waits for a bridge: a detached task that the device's
 * own notification fulfils.
 *
 * A PLAIN segment that follows nothing in the graph, as those of a stream do, needs no task: the generator
 * runs it at once.
 *
 * At most WINDOW segments of a lane are in the graph. What waits outside costs no more than its commands, and
 * is joined into longer segments. A wait enters the graph after the record that it waits for: until then its
 * lane is parked at the record. */
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include <omp.h>

#include "offload/runtime/device.h"
#include "offload/runtime/region.h"
#include "src/base/allocate.h"
#include "src/base/ending.h"
#include "src/base/fork.h"
#include "src/base/thread.h"
#include "src/runtime/backend_openmp.h"
#include "src/runtime/generator.h"
#include "src/runtime/pool.h"
#include "src/runtime/segment.h"

enum { MAX_WAITS = 48, WINDOW = 32, MAX_REGIONS = 32, TURN = 256, BATCH = 128 };

/* The threads that LLVM's OpenMP makes for regions: a team, and who begins it. */
enum { HELPER_TEAM = 8, HELPERS = HELPER_TEAM + 1 };

typedef struct segment {
  dvt_lane *lane;
  dvt_command *first, *last;
  dvt_command_kind kind; /* of its work; DVT_RECORD: it has only a record, DVT_WAIT: only waits */
} segment;

static dvt_lane *active, **active_end = &active;
static dvt_lane *delayed; /* until regions may be generated again */

/* ---- the inbox ---- */

/* A list in the order of arrival (D. Vyukov's intrusive queue of many producers and one consumer): a producer
 * makes its command the newest, then links it behind the one before. The generator never takes a command
 * without a follower; an empty inbox holds the command `none`. */
static dvt_command none;
static _Atomic(dvt_command *) newest = &none;
static dvt_command *oldest = &none; /* the generator's */

static void put(dvt_command *command) {
  atomic_store_explicit(&command->follower, NULL, memory_order_relaxed);
  dvt_command *before = atomic_exchange(&newest, command);
  atomic_store_explicit(&before->follower, command, memory_order_release);
}

static dvt_command *follower(dvt_command *command) {
  return atomic_load_explicit(&command->follower, memory_order_acquire);
}

/* NULL: there is none, or its producer has not linked it yet. */
static dvt_command *take(void) {
  dvt_command *first = oldest, *next = follower(first);
  if (first == &none) {
    if (!next)
      return NULL;
    oldest = first = next;
    next = follower(first);
  }
  if (!next && atomic_load(&newest) == first) {
    put(&none);
    next = follower(first);
  }
  if (!next)
    return NULL;
  oldest = next;
  return first;
}

static bool inbox_is_empty(void) {
  return oldest == &none && atomic_load(&newest) == &none;
}

static void submit(dvt_command *command) {
  put(command);
  dvt_generator_wake();
}

/* ---- generating ---- */

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

static bool is_over(dvt_record *record) {
  const int state = atomic_load(&record->state);
  return state == DVT_RECORD_DONE || state == DVT_RECORD_FAILED;
}

/* The address whose dependence stands for "the lane may go on past this record"; NULL if it may already. */
static char *awaited(const dvt_lane *lane, dvt_record *record) {
  if (is_over(record))
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
  char *in[MAX_WAITS], *out[1];
  int ins, outs;
  bool expected; /* it follows a region */
} dependences;

static void find_waits(const segment *s, dependences *d) {
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

static void find_record(const segment *s, dependences *d) {
  dvt_record *record = s->last->record;
  if (s->last->kind != DVT_RECORD)
    return;
  dvt_tokens *tokens = dvt_record_tokens(record);
  d->out[d->outs++] = record->on_stream ? &tokens->issued : &tokens->done;
}

static void generate_plain(const segment *s, const dependences *d) {
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

static void generate_detached(const segment *s, const dependences *d) {
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

static void generate_helper(const segment *s, const dependences *d) {
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

static void emit(const segment *s, const dependences *d) {
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

/* Regions run on streams of the OpenMP runtime's choice: what the lane's own stream holds must be over. */
static void generate_drain(dvt_lane *lane) {
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

/* A region of a lane of another back end, which waits for it; or none, to let the runtime make its helper
 * threads. */
static void end_alone(void *argument) {
  dvt_command *proxy = argument;
  if (proxy->alone)
    end_commands(proxy->alone->lane);
  sem_post(proxy->over);
}

static void emit_alone(dvt_command *proxy) {
  static char token;
  dvt_command *command = proxy->alone;
  if (command)
    emit_commands(command->lane, NULL, 0, command, 1, NULL, NULL, end_alone, proxy);
  else
    dvt_region_on_host(&(dvt_region_order){&token, NULL, 0, NULL}, end_alone, proxy);
}

/* ---- lanes in the generator ---- */

static void activate(dvt_lane *lane) {
  dvt_track *t = dvt_track_of(lane);
  t->listed = true;
  t->next = NULL;
  *active_end = lane;
  active_end = &t->next;
}

static void park(dvt_lane *lane, dvt_record *record) {
  dvt_track_of(lane)->next = record->parked;
  record->parked = lane;
}

static void activate_all(dvt_lane **list) {
  for (dvt_lane *lane = *list, *next; lane; lane = next) {
    next = dvt_track_of(lane)->next;
    activate(lane);
  }
  *list = NULL;
}

/* The command behind the waits at the lane's head. *known: the outcome of all they wait for is. Parks the
 * lane and sets *there to false if a record is not in the graph yet. */
static dvt_command *pass_waits(dvt_lane *lane, dvt_command **last, bool *known, bool *there) {
  dvt_track *t = dvt_track_of(lane);
  int waits = 0;
  dvt_command *c = t->first;
  *there = *known = true;
  for (; c && c->kind == DVT_WAIT && waits < MAX_WAITS; c = c->next, waits++) {
    if (!c->record->generated) {
      park(lane, c->record);
      *there = false;
      return NULL;
    }
    *known = *known && (is_over(c->record) || c->record->certain);
    *last = c;
  }
  return c;
}

/* The lane's next segment; false if it must wait. */
static bool find_segment(dvt_lane *lane, segment *s) {
  dvt_track *t = dvt_track_of(lane);
  bool known, there;
  *s = (segment){.lane = lane, .first = t->first, .kind = DVT_WAIT};
  dvt_command *c = pass_waits(lane, &s->last, &known, &there);
  if (!there)
    return false;
  const bool regions = c && c->kind == DVT_REGION && known;
  if (dvt_track_hold(lane, regions && !t->certain ? 0 : WINDOW - 1))
    return false;
  if (regions && t->in_stream && !t->certain) {
    generate_drain(lane);
    if (dvt_track_hold(lane, 0))
      return false;
  }
  if (!c || c->kind == DVT_WAIT || (c->kind == DVT_REGION && !regions))
    return true; /* the waits alone */
  s->kind = c->kind;
  int count = 0;
  for (; c && c->kind == s->kind && c->kind != DVT_RECORD && count < MAX_REGIONS; c = c->next) {
    s->last = c;
    count += c->kind == DVT_REGION;
  }
  if (c && c->kind == DVT_RECORD)
    s->last = c;
  return true;
}

typedef enum carrier { PLAIN, DETACHED, EMITTED, HELPER } carrier;

static carrier carrier_of(const segment *s) {
  switch (s->kind) {
  case DVT_STREAMED:
    return PLAIN;
  case DVT_REGION:
    return EMITTED;
  case DVT_TRANSFER:
    return dvt_track_of(s->lane)->on_helpers ? HELPER : DETACHED;
  case DVT_BLOCKING:
    return DETACHED;
  default:
    return dvt_track_of(s->lane)->behind_region ? HELPER : PLAIN;
  }
}

static void generate(const segment *s, carrier by) {
  dvt_track *t = dvt_track_of(s->lane);
  const bool region = by == EMITTED || by == HELPER;
  dependences d;
  find_waits(s, &d);
  const bool next = dvt_track_count_in(s->lane) && !t->elsewhere;
  t->elsewhere = by != PLAIN;
  if (by == PLAIN && next && d.ins == 0) {
    dvt_segment_run(s->first);
    return;
  }
  find_record(s, &d);
  t->behind_region = region;
  t->certain = by == EMITTED;
  if (d.outs) {
    s->last->record->of_region = region;
    s->last->record->certain = t->certain;
  }
  if (!region)
    dvt_generator_defer(d.expected);
  static void (*const with[])(const segment *, const dependences *) = {
      [PLAIN] = generate_plain, [DETACHED] = generate_detached, [EMITTED] = emit, [HELPER] = generate_helper};
  with[by](s, &d);
}

/* Generates what the lane has, as far as it may, and at most *left segments. With 256 tasks ready, libomp
 * runs a further one where it is generated, and a lane is closed and freed as soon as its last segment has
 * run: after the last segment the lane must not be touched. */
static void advance(dvt_lane *lane, int *left) {
  dvt_track *t = dvt_track_of(lane);
  segment s;
  for (bool more = true; more; --*left) {
    if (*left == 0) {
      activate(lane);
      return;
    }
    if (!find_segment(lane, &s))
      return;
    const carrier by = carrier_of(&s);
    if ((by == EMITTED || by == HELPER) && atomic_load(&closed)) {
      t->next = delayed;
      delayed = lane;
      return;
    }
    t->first = s.last->next;
    s.last->next = NULL;
    more = t->first != NULL;
    if (!more) {
      t->end = &t->first;
      t->listed = false;
    }
    if (s.last->kind == DVT_RECORD) {
      s.last->record->generated = true;
      activate_all(&s.last->record->parked);
    }
    generate(&s, by);
  }
}

/* Commands that are sorted and generated together: few enough to stay in the cache meanwhile. */
static bool take_inbox(void) {
  int taken = 0;
  for (dvt_command *c; taken < BATCH && (c = take()); taken++) {
    c->next = NULL;
    __builtin_prefetch(c->record);
    if (c->over) {
      emit_alone(c);
      continue;
    }
    dvt_track *t = dvt_track_of(c->lane);
    *t->end = c;
    t->end = &c->next;
    if (!t->listed)
      activate(c->lane);
  }
  if (taken == 0 && !inbox_is_empty())
    sched_yield(); /* to the producer that has not linked its command yet */
  return taken > 0;
}

static void take_released(void) {
  dvt_lane *list = dvt_track_take_released();
  activate_all(&list);
}

/* The process ends; the generator says that it has heard. */
static atomic_bool generates_no_more;
static bool has_answered; /* the generator's */
static sem_t heard;

/* A batch of commands is sorted before the first task is generated. After TURN segments tasks that have become
 * ready have theirs. */
static bool turn(void) {
  int left = TURN;
  if (atomic_load_explicit(&generates_no_more, memory_order_acquire)) {
    if (!has_answered)
      sem_post(&heard);
    has_answered = true;
    return false;
  }
  if (!atomic_load(&closed))
    activate_all(&delayed);
  take_released();
  const bool any = take_inbox() || active;
  while (active && left > 0) {
    dvt_lane *lane = active;
    active = dvt_track_of(lane)->next;
    if (!active)
      active_end = &active;
    advance(lane, &left);
  }
  return any;
}

static bool is_waiting(void) {
  if (atomic_load(&generates_no_more))
    return !has_answered;
  return active || !inbox_is_empty() || dvt_track_any_released();
}

static const dvt_generator_work work = {turn, is_waiting};

/* ---- the back ends ---- */

static davit_status start(void) {
  return dvt_generator_start(&work, false);
}

/* Emits the region of `command`, or makes the helper threads if it is NULL, and waits for the end. The inbox
 * links the proxy, because the command is still in a list of its own back end. */
static davit_status run_alone(dvt_command *command, bool library_runs) {
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  sem_t over;
  DVT_TRY(dvt_generator_start(&work, library_runs));
  sem_init(&over, 0, 0);
  dvt_command proxy = {.over = &over, .alone = command};
  pthread_mutex_lock(&one);
  submit(&proxy);
  while (sem_wait(&over) != 0) {
  }
  pthread_mutex_unlock(&one);
  sem_destroy(&over);
  return DAVIT_SUCCESS;
}

void dvt_region_run_alone(dvt_command *command) {
  const davit_status status = run_alone(command, true);
  if (status != DAVIT_SUCCESS)
    dvt_lane_fail(command->lane, status, davit_last_error());
}

/* The OpenMP runtime ends the process if its helper threads cannot be made, and waits for ever if it may make fewer of
 * them. So both are found out before. */
static davit_status make_helpers(bool library_runs) {
  DVT_TRY(dvt_generator_start(&work, library_runs));
  const int limit = dvt_generator_thread_limit();
  if (limit < HELPER_TEAM)
    return davit_fail(DAVIT_UNSUPPORTED,
                      "the OpenMP runtime gives regions no %d helper threads (its thread limit is %d)",
                      HELPER_TEAM, limit);
  DVT_TRY(dvt_threads_try(HELPERS));
  dvt_pool_keep();
  dvt_fork_without_handlers();
  return run_alone(NULL, library_runs);
}

static davit_status prepare(bool library_runs) {
  static pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;
  static atomic_bool prepared;
  davit_status status = DAVIT_SUCCESS;
  if (dvt_process() > 0)
    return davit_fail(DAVIT_UNSUPPORTED, "nowait regions do not run in a child after fork()");
  if (atomic_load(&prepared))
    return status;
  pthread_mutex_lock(&preparing);
  if (!atomic_load(&prepared)) {
    status = make_helpers(library_runs);
    atomic_store(&prepared, status == DAVIT_SUCCESS);
  }
  pthread_mutex_unlock(&preparing);
  return status;
}

davit_status dvt_region_prepare(void) {
  return prepare(true);
}

static davit_status start_nowait(void) {
  return prepare(false);
}

static void stop(void) {
  dvt_pool_stop();
  dvt_generator_rest();
}

/* ---- the end of the process ---- */

static void end_unfinished(void *unused) {
  (void)unused;
  dvt_ending_drop();
}

/* The function of a region ends the process. What it has generated stands at the gate, or is under way, and is waited
 * for like other regions. */
static void leave_from_generator(void) {
  if (emitting) {
    dvt_ending_hold();
    dvt_region_on_host(&(dvt_region_order){&emitting->token, NULL, 0, NULL}, end_unfinished, NULL);
    atomic_store(&gate_open, true);
  }
  while (!dvt_ending_is_over())
    dvt_generator_run_ready();
}

/* Regions that are under way may be behind a task that is over, which only the generator makes known. So it goes on,
 * but generates nothing, until they have ended. If it does not answer, it is blocked in the function of a region, and a
 * helper thread, which the OpenMP runtime waits for, may stand at the gate. */
static void leave_from_elsewhere(void) {
  sem_init(&heard, 0, 0);
  atomic_store(&generates_no_more, true);
  dvt_generator_wake();
  if (!dvt_ending_await(&heard))
    atomic_store(&gate_open, true);
  dvt_ending_wait();
}

void dvt_graph_leave(void) {
  dvt_generator_settle();
  if (!dvt_generator_exists())
    return;
  dvt_generator_is_here() ? leave_from_generator() : leave_from_elsewhere();
  dvt_generator_leave();
}

static davit_status open_track(dvt_lane *lane, bool on_helpers) {
  dvt_track *made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  if (!on_helpers && dvt_lane_wants_stream(lane)) {
    davit_status status = dvt_stream_acquire(lane->device, &lane->stream);
    if (status != DAVIT_SUCCESS) {
      free(made);
      return status;
    }
    lane->marks_records = true;
  }
  made->end = &made->first;
  made->on_helpers = on_helpers;
  atomic_store(&made->held, -1);
  lane->backend = made;
  return DAVIT_SUCCESS;
}

static davit_status open_lane(dvt_lane *lane) {
  return open_track(lane, false);
}

static davit_status open_nowait(dvt_lane *lane) {
  return open_track(lane, true);
}

static void close_lane(dvt_lane *lane) {
  if (lane->stream)
    dvt_stream_release(lane->stream);
  free(lane->backend);
}

dvt_backend dvt_backend_openmp = {"openmp",  start,      stop,   dvt_graph_leave,
                                  open_lane, close_lane, submit, NULL};
dvt_backend dvt_backend_nowait = {"nowait",    start_nowait, stop,   dvt_graph_leave,
                                  open_nowait, close_lane,   submit, NULL};
