/* SPDX-License-Identifier: Apache-2.0 */
/* The task graph: lanes carried by OpenMP tasks and target regions with `depend`.
 *
 * One thread, the generator (generator.h), takes commands from an inbox, cuts the commands of a lane into segments,
 * and generates one task for each (task.h). A segment has commands of one kind, which decides its carrier.
 *
 * At most WINDOW segments of a lane are in the graph. What waits outside costs no more than its commands, and
 * is joined into longer segments. A wait enters the graph after the record that it waits for: until then its
 * lane is parked at the record. */
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/fork.h"
#include "src/base/thread.h"
#include "src/runtime/backend_openmp.h"
#include "src/runtime/generator.h"
#include "src/runtime/pool.h"
#include "src/runtime/segment.h"
#include "src/runtime/task.h"

enum { WINDOW = 32, MAX_REGIONS = 32, TURN = 256, BATCH = 128 };

/* The threads that LLVM's OpenMP makes for regions: a team, and who begins it. */
enum { HELPER_TEAM = 8, HELPERS = HELPER_TEAM + 1 };

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

static void hand_in(dvt_command *command) {
  put(command);
  dvt_generator_wake();
}

static void submit(dvt_command *command) {
  if (!dvt_track_place(command))
    hand_in(command);
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
  for (; c && c->kind == DVT_WAIT && waits < DVT_MAX_WAITS; c = c->next, waits++) {
    if (!c->record->generated) {
      park(lane, c->record);
      *there = false;
      return NULL;
    }
    *known = *known && (dvt_record_is_over(c->record) || c->record->certain);
    *last = c;
  }
  return c;
}

/* The lane's next segment; false if it must wait. */
static bool find_segment(dvt_lane *lane, dvt_segment *s) {
  dvt_track *t = dvt_track_of(lane);
  bool known, there;
  *s = (dvt_segment){.lane = lane, .first = t->first, .kind = DVT_WAIT};
  dvt_command *c = pass_waits(lane, &s->last, &known, &there);
  if (!there)
    return false;
  const bool regions = c && c->kind == DVT_REGION && known;
  if (dvt_track_hold(lane, regions && !t->certain ? 0 : WINDOW - 1))
    return false;
  if (regions && t->in_stream && !t->certain) {
    dvt_task_drain(lane);
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

static dvt_carrier carrier_of(const dvt_segment *s) {
  switch (s->kind) {
  case DVT_STREAMED:
    return DVT_PLAIN;
  case DVT_REGION:
    return DVT_EMITTED;
  case DVT_TRANSFER:
    return dvt_track_of(s->lane)->on_helpers ? DVT_HELPER : DVT_DETACHED;
  case DVT_BLOCKING:
  case DVT_STAGED:
    return DVT_DETACHED;
  default:
    return dvt_track_of(s->lane)->behind_region ? DVT_HELPER : DVT_PLAIN;
  }
}

/* Generates what the lane has, as far as it may, and at most *left segments. With 256 tasks ready, libomp
 * runs a further one where it is generated, and a lane is closed and freed as soon as its last segment has
 * run: after the last segment the lane must not be touched. */
static void advance(dvt_lane *lane, int *left) {
  dvt_track *t = dvt_track_of(lane);
  dvt_segment s;
  for (bool more = true; more; --*left) {
    if (*left == 0) {
      activate(lane);
      return;
    }
    if (!find_segment(lane, &s))
      return;
    const dvt_carrier by = carrier_of(&s);
    if ((by == DVT_EMITTED || by == DVT_HELPER) && dvt_task_is_closed()) {
      t->next = delayed;
      delayed = lane;
      return;
    }
    t->first = s.last->next;
    s.last->next = NULL;
    for (const dvt_command *c = s.first; c; c = c->next)
      s.first->commands = c == s.first ? 1 : s.first->commands + 1;
    more = t->first != NULL;
    if (!more) {
      t->end = &t->first;
      t->listed = false;
    }
    if (s.last->kind == DVT_RECORD) {
      s.last->record->generated = true;
      activate_all(&s.last->record->parked);
    }
    dvt_task_generate(&s, by);
  }
}

/* Commands that are sorted and generated together: few enough to stay in the cache meanwhile. */
static bool take_inbox(void) {
  int taken = 0;
  for (dvt_command *c; taken < BATCH && (c = take()); taken++) {
    c->next = NULL;
    __builtin_prefetch(c->record);
    if (c->over) {
      dvt_task_alone(c);
      continue;
    }
    dvt_track *t = dvt_track_of(c->lane);
    if (c->beside)
      dvt_track_settle(c->lane);
    if (!t->listed)
      activate(c->lane);
    *t->end = c;
    t->end = &c->next;
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
  if (!dvt_task_is_closed())
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
  hand_in(&proxy);
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
  DVT_UNCANCELLED;
  static pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;
  static atomic_bool prepared;
  davit_status status = DAVIT_SUCCESS;
  if (dvt_process() > 0)
    return davit_fail(DAVIT_UNSUPPORTED, "nowait regions do not run in a child after fork()");
  if (dvt_thread_is_last())
    return davit_fail(DAVIT_UNSUPPORTED, "nowait regions do not run when the process ends");
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

static void leave_from_generator(void) {
  dvt_task_leave();
  while (!dvt_ending_is_over())
    dvt_generator_run_ready();
}

/* Regions that are under way may be behind a task that is over, which only the generator makes known. So it goes on,
 * but generates nothing, until they have ended. If it does not answer, it is blocked in the function of a region. */
static void leave_from_elsewhere(void) {
  sem_init(&heard, 0, 0);
  atomic_store(&generates_no_more, true);
  dvt_generator_wake();
  if (!dvt_ending_await(&heard))
    dvt_task_open_gate();
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
  dvt_track_end(lane);
  if (lane->stream)
    dvt_stream_release(lane->stream);
  free(lane->backend);
}

/* Nobody takes from the inbox any more, and its last command may not be linked yet, by a thread that is late. */
static bool is_idle(dvt_lane *lane) {
  const dvt_track *t = dvt_track_of(lane);
  bool waiting = t->first || atomic_load(&t->tasks) > 0;
  for (dvt_command *c = oldest; c && !waiting; c = follower(c))
    waiting = c != &none && !c->over && c->lane == lane;
  return !waiting;
}

dvt_backend dvt_backend_openmp = {.name = "openmp",
                                  .start = start,
                                  .stop = stop,
                                  .leave = dvt_graph_leave,
                                  .open = open_lane,
                                  .close = close_lane,
                                  .submit = submit,
                                  .drain = dvt_track_drain,
                                  .is_idle = is_idle,
                                  .gives_streams = true};
dvt_backend dvt_backend_nowait = {.name = "nowait",
                                  .start = start_nowait,
                                  .stop = stop,
                                  .leave = dvt_graph_leave,
                                  .open = open_nowait,
                                  .close = close_lane,
                                  .submit = submit,
                                  .drain = dvt_track_drain,
                                  .is_idle = is_idle};
