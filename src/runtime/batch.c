/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/batch.h"

#include <sched.h>
#include <stdlib.h>

#include "offload/runtime/device.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/order.h"
#include "src/runtime/generator.h"
#include "src/runtime/pool.h"

enum { PLACED = -1 }; /* in place of the number of commands: one that the graph was not given */

/* ---- how many batches of a lane are in the graph ---- */

bool dvt_lane_state_count_in(dvt_lane *lane, int commands) {
  dvt_lane_state *t = dvt_lane_state_of(lane);
  const bool next = atomic_load(&t->over) == t->taken;
  t->taken += (unsigned)commands;
  atomic_fetch_add(&t->tasks, 1);
  return next;
}

/* Counted before the batch's record is over, and with it what waits for the batch. */
static void count_out(dvt_lane *lane) {
  dvt_lane_state *t = dvt_lane_state_of(lane);
  const int left = atomic_fetch_sub(&t->tasks, 1) - 1;
  int held = atomic_load(&t->held);
  if (held >= 0 && left <= held && atomic_compare_exchange_strong(&t->held, &held, -1))
    dvt_generator_send(&t->go_on);
}

/* The last that the runner of a batch does: afterwards the next command may be placed by any thread, and the lane be
 * freed (dvt_lane_state_end()). */
static void count_over(dvt_lane_state *t, int commands) {
  if (commands == PLACED)
    atomic_fetch_and(&t->given, ~DVT_PLACING);
  else
    atomic_fetch_add(&t->over, (unsigned)commands);
}

bool dvt_lane_state_hold(dvt_lane *lane, int tasks) {
  dvt_lane_state *t = dvt_lane_state_of(lane);
  if (atomic_load(&t->tasks) <= tasks)
    return false;
  atomic_store(&t->held, tasks);
  int held = tasks;
  return atomic_load(&t->tasks) > tasks || !atomic_compare_exchange_strong(&t->held, &held, -1);
}

/* ---- running ---- */

static void take_over(dvt_message *over) {
  dvt_command *first = (dvt_command *)over;
  if (dvt_generator_fulfil(&first->task, over))
    dvt_command_free(first);
}

/* The first command of a detached batch is what tells the generator that the task is over. */
static void end_commands(dvt_command *first) {
  for (dvt_command *c = first->next, *next; c; c = next) {
    next = c->next;
    dvt_command_free(c);
  }
  if (first->task.event) {
    first->message.take = take_over;
    dvt_generator_send(&first->message);
  } else {
    dvt_command_free(first);
  }
}

/* A lane's waits at the head of a batch. On a stream the device waits; records of host lanes are over by
 * now, because the task depended on them. */
static void begin(dvt_command *first) {
  dvt_lane *lane = first->lane;
  if (atomic_load(&lane->shared))
    dvt_lane_state_of(lane)->in_stream = true;
  for (dvt_command *c = first; c && c->kind == DVT_WAIT; c = c->next) {
    if (lane->stream && dvt_record_known(c->record) == DVT_RECORD_ISSUED && c->record->event) {
      dvt_lane_state_of(lane)->in_stream = true;
      dvt_command_begin_wait(c, lane->stream);
      dvt_lane_check(lane, dvt_stream_wait(lane->stream, c->record->event));
    }
    dvt_command_end(c, dvt_lane_state_of(lane)->in_stream ? lane->stream : NULL);
    dvt_command_pass_failure(c);
  }
}

/* Places a record in the lane's stream. On a stopped lane it fails, but no sooner than what the stream
 * already holds is over: who waits for it may free that work's memory. */
static void record_in_stream(dvt_command *command) {
  dvt_lane *lane = command->lane;
  dvt_device_event *event = NULL;
  dvt_command_end(command, lane->stream);
  davit_status status =
      (command->record->timed ? dvt_stream_record_timed : dvt_stream_record)(lane->stream, &event);
  if (status != DAVIT_SUCCESS) {
    dvt_lane_fail(lane, status, davit_last_error());
    dvt_stream_synchronize(lane->stream); /* with no event to be had, the thread itself waits */
    dvt_command_finish_record(command);
    return;
  }
  status = dvt_lane_error(lane);
  if (status != DAVIT_SUCCESS)
    dvt_record_fail_pending(command->record, status, davit_last_error());
  dvt_record_issue(command->record, event);
}

/* The command that a thread has come to in a batch. */
typedef struct position {
  dvt_command *first, *at;
} position;

/* Everything behind the waits, and the batch's end. A record of a lane whose stream is empty is over. */
static void run_from(position *p) {
  dvt_lane *lane = p->first->lane;
  dvt_lane_state *t = dvt_lane_state_of(lane);
  const int commands = p->first->commands;
  for (; p->at; p->at = p->at->next) {
    dvt_command *c = p->at;
    if (c->kind == DVT_STREAMED || c->kind == DVT_STAGED)
      t->in_stream = true;
    if (c->kind == DVT_RECORD) {
      const bool in_stream = t->in_stream;
      if (in_stream)
        dvt_ending_enter();
      count_out(lane);
      in_stream ? record_in_stream(c) : dvt_command_finish_record(c);
      if (in_stream)
        dvt_ending_leave();
      break; /* the batch's last */
    }
    if (c->kind != DVT_WAIT && c->kind != DVT_FLUSH)
      dvt_command_work(c);
    if (!c->next)
      count_out(lane);
  }
  end_commands(p->first);
  count_over(t, commands);
}

static void run_commands(dvt_command *first) {
  run_from(&(position){.first = first, .at = first});
}

/* When the process ends, the thread that runs a task must not sleep on its way to a GPU: the generator and its workers
 * are still needed. What comes too late is not run, and its lane stays as it is. */
static bool come_to_device(void) {
  return !dvt_ending_is_guarded() || dvt_ending_come_in();
}

static void run_here(dvt_command *first) {
  begin(first);
  run_commands(first);
}

void dvt_batch_run(dvt_command *first) {
  if (!come_to_device())
    return;
  run_here(first);
  dvt_ending_leave();
}

/* ---- without a task ---- */

/* Whether the command is placed, or over, as soon as somebody runs it. A record that is being finished is not over: its
 * failure would be missed. */
static bool is_placed_at_once(const dvt_command *command) {
  switch (command->kind) {
  case DVT_STREAMED:
  case DVT_RECORD:
    return true;
  case DVT_WAIT:
    return dvt_record_is_over(command->record) ||
           (command->lane->stream && atomic_load(&command->record->state) == DVT_RECORD_ISSUED);
  default:
    return false;
  }
}

/* Failures are the lane's, so the calling thread, which may be the program's, keeps its sentence. */
static void place(dvt_command *command) {
  dvt_lane_state *t = dvt_lane_state_of(command->lane);
  dvt_error before = {.status = DAVIT_SUCCESS};
  if (*davit_last_error())
    dvt_error_keep(&before, DAVIT_INTERNAL_ERROR);
  command->next = NULL;
  command->commands = PLACED;
  if (command->kind == DVT_RECORD)
    command->record->generated = true;
  t->certain = false; /* regions before it are over */
  atomic_fetch_add(&t->tasks, 1);
  run_here(command);
  dvt_error_clear();
  (void)dvt_error_report(&before);
}

static bool is_drained(const dvt_lane_state *t, unsigned long long *given) {
  *given = atomic_load(&t->given);
  return atomic_load(&t->over) == *given;
}

static bool try_to_place(dvt_command *command) {
  dvt_lane_state *t = dvt_lane_state_of(command->lane);
  unsigned long long given;
  const bool placed =
      is_drained(t, &given) && atomic_compare_exchange_strong(&t->given, &given, given | DVT_PLACING);
  if (placed)
    place(command);
  return placed;
}

/* What works on a stream may leave another device current. */
static bool place_on_gpu(dvt_command *command) {
  DVT_INSIDE;
  const int current = command->kind == DVT_STREAMED ? dvt_cuda_current() : -1;
  const bool placed = try_to_place(command);
  dvt_cuda_restore(current);
  return placed;
}

bool dvt_lane_state_place(dvt_command *command) {
  dvt_lane_state *t = dvt_lane_state_of(command->lane);
  unsigned long long given;
  if (is_placed_at_once(command) && is_drained(t, &given) &&
      (dvt_lane_is_gpu(command->lane) ? place_on_gpu(command) : try_to_place(command)))
    return true;
  command->beside = atomic_fetch_add(&t->given, 1) & DVT_PLACING;
  return false;
}

bool dvt_lane_state_drain(dvt_lane *lane) {
  dvt_lane_state *t = dvt_lane_state_of(lane);
  unsigned long long given;
  if (!is_drained(t, &given))
    return false;
  if (t->in_stream || atomic_load(&lane->shared))
    dvt_poll(dvt_lane_stream_is_idle, lane);
  dvt_order_after(lane);
  return true;
}

void dvt_lane_state_end(dvt_lane *lane) {
  const dvt_lane_state *t = dvt_lane_state_of(lane);
  unsigned long long given;
  while (!is_drained(t, &given) && !dvt_ending_is_overdue())
    sched_yield();
}

void dvt_lane_state_settle(dvt_lane *lane) {
  while (atomic_load(&dvt_lane_state_of(lane)->given) & DVT_PLACING)
    sched_yield();
}

/* ---- by tasks ---- */

/* A function of the program's has ended the thread, and with that failed: its lane is stopped, and skips the rest. */
static void skip_rest(void *argument) {
  position *p = argument;
  dvt_command_end(p->at, NULL);
  if (!p->at->next)
    count_out(p->first->lane);
  p->at = p->at->next;
  run_from(p);
}

/* On a host thread: the whole blocking batch, its record too, then the task's end. */
static void run_blocking(void *argument) {
  dvt_command *first = argument;
  position p = {.first = first, .at = first};
  pthread_cleanup_push(skip_rest, &p);
  run_from(&p);
  pthread_cleanup_pop(0);
}

/* Without a thread the lane is stopped, and its commands return at once. They call no device, as the stream
 * is empty, so this may run in a callback of the device runtime. */
static void hand_over(dvt_command *first) {
  if (first->kind != DVT_FLUSH) {
    const davit_status status = dvt_pool_run(run_blocking, first);
    if (status == DAVIT_SUCCESS)
      return;
    dvt_lane_fail(first->lane, status, davit_last_error());
  }
  run_blocking(first);
}

/* ---- staged copies ---- */

static void go_on_staging(dvt_command *first, dvt_command *c);

static void staged(void *argument, davit_status status) {
  dvt_command *first = argument, *c = first->last;
  dvt_command_staged(c, status);
  go_on_staging(first, c->next);
}

/* One copy after the other, on threads of the stage; then the batch's end, on the last of them. */
static void go_on_staging(dvt_command *first, dvt_command *c) {
  dvt_lane_state_of(first->lane)->in_stream = true;
  for (; c && c->kind == DVT_STAGED; c = c->next) {
    first->last = c;
    if (dvt_command_stage(c, staged, first))
      return;
  }
  if (!c)
    count_out(first->lane);
  run_from(&(position){.first = first, .at = c});
  dvt_generator_hurry(-1);
}

static void start_drained(void *argument, davit_status status) {
  dvt_command *first = argument;
  dvt_lane_check(first->lane, status);
  hand_over(first);
}

/* When the lane's stream is empty: at once, or from a thread of the device runtime. */
static void hand_over_drained(dvt_command *first) {
  dvt_stream *stream = first->lane->stream;
  dvt_lane_state *t = dvt_lane_state_of(first->lane);
  dvt_device_event *event = NULL;
  bool flushed = !t->in_stream;
  davit_status status = DAVIT_SUCCESS;
  if (!flushed)
    status = dvt_stream_query(stream, &flushed);
  t->in_stream = false;
  if (status == DAVIT_SUCCESS && !flushed)
    status = dvt_stream_record(stream, &event);
  if (event) {
    status = dvt_device_event_notify(event, start_drained, first);
    dvt_device_event_free(
        event); /* the notification has its place in the stream; the event may be recorded anew */
    if (status == DAVIT_SUCCESS)
      return;
  }
  start_drained(first, status);
}

void dvt_batch_start(dvt_command *first) {
  if (!come_to_device())
    return;
  dvt_command *work = first;
  begin(first);
  while (work && work->kind == DVT_WAIT)
    work = work->next;
  if (work && work->kind == DVT_STAGED) {
    dvt_generator_hurry(1);
    go_on_staging(first, work);
  } else {
    hand_over_drained(first);
  }
  dvt_ending_leave();
}

void dvt_batch_end_regions(dvt_command *first) {
  dvt_command *last = first->last;
  dvt_lane_state *t = dvt_lane_state_of(first->lane);
  const int commands = first->commands;
  count_out(first->lane);
  if (last->kind == DVT_RECORD) {
    dvt_command_end(last, NULL);
    dvt_record_finish(last->record, DAVIT_SUCCESS, ""); /* one that is to fail does */
  }
  end_commands(first);
  count_over(t, commands);
}

/* ---- callbacks: the end of a record in a stream, for lanes of host threads ---- */

static void take_callback(dvt_message *over) {
  dvt_record *record = (dvt_record *)((char *)over - offsetof(dvt_record, callback_over));
  if (dvt_generator_fulfil(&record->callback, over))
    dvt_record_drop(record);
}

static void callback_reached(void *argument, davit_status status) {
  dvt_record *record = argument;
  dvt_record_finish(record, status, davit_last_error());
  record->callback_over.take = take_callback;
  dvt_generator_send(&record->callback_over);
}

static void start_callback(dvt_record *record) {
  if (dvt_record_query(record) != DVT_RECORD_ISSUED) {
    callback_reached(record, DAVIT_SUCCESS); /* over already: finishing again changes nothing */
    return;
  }
  davit_status status = dvt_device_event_notify(record->event, callback_reached, record);
  if (status != DAVIT_SUCCESS)
    callback_reached(record, status);
}

void dvt_callback_start(dvt_record *record) {
  if (!come_to_device())
    return;
  start_callback(record);
  dvt_ending_leave();
}
