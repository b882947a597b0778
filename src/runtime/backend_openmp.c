/* SPDX-License-Identifier: Apache-2.0 */
/* The task graph: lanes carried by OpenMP tasks and target regions with `depend`.
 *
 * One thread, the generator (generator.h), takes commands from an inbox, cuts the commands of a lane into batches,
 * and generates one task for each (task.h). A batch has commands of one kind, which decides its executor.
 *
 * At most WINDOW batches of a lane are in the graph. What waits outside costs no more than its commands, and
 * is joined into longer batches. A wait enters the graph after the record that it waits for: until then its
 * lane is parked at the record. */
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/fork.h"
#include "src/base/thread.h"
#include "src/runtime/batch.h"
#include "src/runtime/generator.h"
#include "src/runtime/pool.h"
#include "src/runtime/task.h"

enum { WINDOW = 32, MAX_REGIONS = 32, TURN = 256 };

static dvt_lane *active, **active_end = &active;

/* ---- lanes in the generator ---- */

static void activate(dvt_lane *lane) {
  dvt_lane_state *t = dvt_lane_state_of(lane);
  t->listed = true;
  t->next = NULL;
  *active_end = lane;
  active_end = &t->next;
}

static void park(dvt_lane *lane, dvt_record *record) {
  dvt_lane_state_of(lane)->next = record->parked;
  record->parked = lane;
}

static void activate_all(dvt_lane **list) {
  for (dvt_lane *lane = *list, *next; lane; lane = next) {
    next = dvt_lane_state_of(lane)->next;
    activate(lane);
  }
  *list = NULL;
}

/* The command behind the waits at the lane's head. *known: the outcome of all they wait for is. Parks the
 * lane and sets *there to false if a record is not in the graph yet. */
static dvt_command *pass_waits(dvt_lane *lane, dvt_command **last, bool *known, bool *there) {
  dvt_lane_state *t = dvt_lane_state_of(lane);
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

/* The lane's next batch; false if it must wait. */
static bool find_batch(dvt_lane *lane, dvt_batch *s) {
  dvt_lane_state *t = dvt_lane_state_of(lane);
  bool known, there;
  *s = (dvt_batch){.lane = lane, .first = t->first, .kind = DVT_WAIT};
  dvt_command *c = pass_waits(lane, &s->last, &known, &there);
  if (!there)
    return false;
  const bool regions = c && c->kind == DVT_REGION && known, shared = atomic_load(&lane->shared);
  const bool after = regions && (shared || !t->certain);
  if (dvt_lane_state_hold(lane, after ? 0 : WINDOW - 1))
    return false;
  if (after && (shared || t->in_stream) && t->flushed != t->first) {
    t->flushed = t->first;
    dvt_task_flush(lane);
    if (dvt_lane_state_hold(lane, 0))
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

/* The function of a region has ended the thread: what the lane has besides is generated later. */
static void relist(void *lane) {
  if (lane)
    activate(lane);
}

static void generate(const dvt_batch *s, bool more) {
  if (s->kind != DVT_REGION) {
    dvt_task_generate(s);
    return;
  }
  pthread_cleanup_push(relist, more ? s->lane : NULL);
  dvt_task_generate(s);
  pthread_cleanup_pop(0);
}

/* Generates what the lane has, as far as it may, and at most *left batches. With 256 tasks ready, libomp
 * runs a further one where it is generated, and a lane is closed and freed as soon as its last batch has
 * run: after the last batch the lane must not be touched. */
static void advance(dvt_lane *lane, int *left) {
  dvt_lane_state *t = dvt_lane_state_of(lane);
  dvt_batch s;
  for (bool more = true; more; --*left) {
    if (*left == 0) {
      activate(lane);
      return;
    }
    if (!find_batch(lane, &s))
      return;
    t->first = s.last->next;
    t->flushed = NULL;
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
    generate(&s, more);
  }
}

static void take_command(dvt_message *message) {
  dvt_command *c = (dvt_command *)message;
  dvt_lane_state *t = dvt_lane_state_of(c->lane);
  c->next = NULL;
  __builtin_prefetch(c->record);
  if (c->beside)
    dvt_lane_state_settle(c->lane);
  if (!t->listed)
    activate(c->lane);
  *t->end = c;
  t->end = &c->next;
}

static void submit(dvt_command *command) {
  if (dvt_lane_state_place(command))
    return;
  command->message.take = take_command;
  dvt_generator_send(&command->message);
}

/* A lane that was held. */
static void take_lane(dvt_message *go_on) {
  activate(((dvt_lane_state *)go_on)->lane);
}

static atomic_bool generates_no_more; /* the process ends */

/* After TURN batches tasks that have become ready have theirs. */
static bool turn(void) {
  int left = TURN;
  if (atomic_load_explicit(&generates_no_more, memory_order_acquire))
    return false;
  const bool any = active;
  while (active && left > 0) {
    dvt_lane *lane = active;
    active = dvt_lane_state_of(lane)->next;
    if (!active)
      active_end = &active;
    advance(lane, &left);
  }
  return any;
}

/* ---- the back ends ---- */

static davit_status start(void) {
  return dvt_generator_start(turn, false);
}

static void take_lone(dvt_message *message) {
  if (!atomic_load(&generates_no_more))
    dvt_task_alone((dvt_lone_region *)message);
}

static void run_lone(dvt_command *command) {
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  dvt_lone_region lone = {.message.take = take_lone, .command = command};
  sem_init(&lone.over, 0, 0);
  pthread_mutex_lock(&one);
  dvt_generator_send(&lone.message);
  while (sem_wait(&lone.over) != 0) {
  }
  pthread_mutex_unlock(&one);
  sem_destroy(&lone.over);
}

void dvt_region_run_alone(dvt_command *command) {
  const davit_status status = dvt_generator_start(turn, true);
  if (status == DAVIT_SUCCESS)
    run_lone(command);
  else
    dvt_lane_fail(command->lane, status, davit_last_error());
}

davit_status dvt_region_prepare(void) {
  DVT_UNCANCELLED;
  if (dvt_process() > 0)
    return davit_fail(DAVIT_UNSUPPORTED, "nowait regions do not run in a child after fork()");
  if (dvt_thread_is_last())
    return davit_fail(DAVIT_UNSUPPORTED, "nowait regions do not run when the process ends");
  return dvt_generator_start(turn, true);
}

static void stop(void) {
  dvt_pool_stop();
  dvt_generator_rest();
}

/* ---- the end of the process ---- */

static void leave_from_generator(void) {
  atomic_store(&generates_no_more, true);
  dvt_task_leave();
  while (!dvt_ending_is_over()) {
    dvt_generator_go_on();
    sched_yield();
  }
}

static sem_t heard;

static void answer(dvt_message *last) {
  (void)last;
  sem_post(&heard);
}

/* Regions that are under way may be behind a task that is over, which only the generator makes known. So it goes on,
 * but generates nothing, until they have ended. If it does not answer, it is blocked in the function of a region. */
static void leave_from_elsewhere(void) {
  static dvt_message last = {.take = answer};
  sem_init(&heard, 0, 0);
  atomic_store(&generates_no_more, true);
  dvt_generator_send(&last);
  dvt_ending_await(&heard);
  dvt_ending_wait();
}

void dvt_graph_leave(void) {
  dvt_generator_settle();
  if (!dvt_generator_exists())
    return;
  dvt_generator_is_here() ? leave_from_generator() : leave_from_elsewhere();
  dvt_generator_leave();
}

static davit_status open_lane(dvt_lane *lane) {
  dvt_lane_state *made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  lane->issues_records = lane->stream != NULL;
  made->lane = lane;
  made->go_on.take = take_lane;
  made->end = &made->first;
  atomic_store(&made->held, -1);
  lane->backend = made;
  return DAVIT_SUCCESS;
}

static void close_lane(dvt_lane *lane) {
  dvt_lane_state_end(lane);
  free(lane->backend);
}

/* Nobody takes a message any more, and the last one may not be linked yet, by a thread that is late. */
static bool is_idle(dvt_lane *lane) {
  const dvt_lane_state *t = dvt_lane_state_of(lane);
  bool waiting = t->first || atomic_load(&t->tasks) > 0;
  for (dvt_message *m = NULL; !waiting && (m = dvt_generator_unread(m));)
    waiting = m->take == take_command && ((dvt_command *)m)->lane == lane;
  return !waiting;
}

dvt_backend dvt_backend_openmp = {.name = "openmp",
                                  .start = start,
                                  .stop = stop,
                                  .leave = dvt_graph_leave,
                                  .open = open_lane,
                                  .close = close_lane,
                                  .submit = submit,
                                  .flush = dvt_lane_state_drain,
                                  .is_idle = is_idle};
