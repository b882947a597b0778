/* SPDX-License-Identifier: Apache-2.0 */
/* Native CUDA streams and events behind the interface of src/runtime/command.h: the peer of davit's back ends,
 * chosen by DAVIT_BACKEND=cuda in programs that this object is linked into (tests and benchmarks).
 *
 * Commands of a lane with a stream are issued to the stream by the thread that enqueues them, under the
 * lane's lock, as a CUDA program would; a record is a CUDA event, a wait for it cudaStreamWaitEvent. What
 * only a host thread can do holds the lane: a BLOCKING command, a wait for a record that is in no stream yet,
 * on a lane without a stream every wait that is not over, and the record of a stopped lane whose stream still
 * works. Commands behind it stay in the lane's list, and the pool thread that did the work issues them
 * afterwards. At most one pool thread works for a lane, only while it is held. Enqueueing waits for nothing
 * but room in the stream.
 *
 * A stream is never made to wait for the host (cuStreamWaitValue32): streams share a few hardware channels,
 * and work that the host's part needs could be stuck in the same channel behind such a wait. */
#include <stdio.h>
#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/runtime/command.h"
#include "src/runtime/pool.h"

typedef struct cuda_lane {
  pthread_mutex_t lock;
  dvt_command *head, **tail; /* not issued yet; the head of a held lane is its pool thread's */
  bool held;                 /* a pool thread or a notification will go on */
  bool busy;                 /* the stream may hold work that no host command has waited for */
} cuda_lane;

static void check(dvt_lane *lane, davit_status status) {
  if (status != DAVIT_SUCCESS)
    dvt_lane_fail(lane, status, davit_last_error());
}

/* ---- issuing, under the lane's lock ---- */

/* These two: false if the command needs a host thread. */
static bool issue_record(dvt_command *command) {
  dvt_lane *lane = command->lane;
  bool failed = atomic_load(&lane->failed);
  if (failed && (((cuda_lane *)lane->backend)->busy || atomic_load(&lane->shared)))
    return false;
  if (lane->stream && !failed) {
    dvt_device_event *event = NULL;
    dvt_command_end(command, lane->stream);
    davit_status status =
        (command->record->timed ? dvt_stream_record_timed : dvt_stream_record)(lane->stream, &event);
    if (status == DAVIT_SUCCESS) {
      dvt_record_issue(command->record, event);
      return true;
    }
    check(lane, status);
  }
  dvt_command_finish_record(command);
  return true;
}

static bool issue_wait(dvt_command *command) {
  dvt_lane *lane = command->lane;
  dvt_record_state state = dvt_record_query(command->record);
  /* A record without a event that counts as issued is being finished this moment. */
  if (state == DVT_RECORD_PENDING ||
      (state == DVT_RECORD_ISSUED && !(lane->stream && command->record->event)))
    return false;
  if (state == DVT_RECORD_ISSUED) {
    ((cuda_lane *)lane->backend)->busy = true;
    dvt_command_begin_wait(command, lane->stream);
    check(lane, dvt_stream_wait(lane->stream, command->record->event));
  }
  dvt_command_end(command, ((cuda_lane *)lane->backend)->busy ? lane->stream : NULL);
  dvt_command_pass_failure(command);
  return true;
}

static bool needs_host(const dvt_command *command) {
  return command->kind == DVT_BLOCKING || command->kind == DVT_TRANSFER || command->kind == DVT_REGION;
}

static bool issue(dvt_command *command) {
  dvt_lane *lane = command->lane;
  switch (command->kind) {
  case DVT_STREAMED:
  case DVT_STAGED:
    ((cuda_lane *)lane->backend)->busy = true;
    dvt_command_work(command);
    return true;
  case DVT_RECORD:
    return issue_record(command);
  case DVT_WAIT:
    return issue_wait(command);
  case DVT_FLUSH: /* nobody but the task graph has any */
    break;
  case DVT_BLOCKING:
  case DVT_TRANSFER:
  case DVT_REGION:
    return atomic_load(&lane->failed); /* then it is skipped */
  }
  return true;
}

static void remove_head(cuda_lane *self) {
  dvt_command *command = self->head;
  self->head = command->next;
  if (!self->head)
    self->tail = &self->head;
  dvt_command_free(command);
}

/* Issues what can be issued; true, and the lane held, if a host thread has to go on. */
static bool advance(cuda_lane *self) {
  while (self->head && issue(self->head))
    remove_head(self);
  self->held = self->head != NULL;
  return self->held;
}

/* ---- a held lane: one host thread at a time ---- */

static void run_on_host(void *argument);

static void hand_over(dvt_lane *lane) {
  const davit_status status = dvt_pool_run(run_on_host, lane);
  check(lane, status);
  if (status != DAVIT_SUCCESS)
    run_on_host(lane); /* a stopped lane's commands return at once */
}

static void flushed(void *argument, davit_status status) {
  dvt_lane *lane = argument;
  check(lane, status);
  hand_over(lane);
}

/* Whether a command that needs the host has to wait for the lane's stream; then a notification goes on with
 * the lane. */
static bool wait_for_stream(dvt_lane *lane) {
  cuda_lane *self = lane->backend;
  if (!needs_host(self->head) || (!self->busy && !atomic_load(&lane->shared)) || atomic_load(&lane->failed))
    return false;
  self->busy = false;
  dvt_device_event *event = NULL;
  davit_status status = dvt_stream_record(lane->stream, &event);
  bool reached = false;
  if (status == DAVIT_SUCCESS) {
    status = dvt_device_event_query(event, &reached);
    if (status == DAVIT_SUCCESS && !reached)
      status = dvt_device_event_notify(event, flushed, lane);
    dvt_device_event_free(
        event); /* the notification has its place in the stream; the event may be recorded again */
  }
  check(lane, status);
  return status == DAVIT_SUCCESS && !reached;
}

static void do_host_part(dvt_command *command) {
  dvt_lane *lane = command->lane;
  if (command->kind == DVT_REGION) {
    dvt_region_run_alone(command);
  } else if (needs_host(command)) {
    dvt_command_work(command);
  } else if (command->kind == DVT_RECORD) {
    ((cuda_lane *)lane->backend)->busy = false;
    check(lane, dvt_stream_synchronize(lane->stream));
  } else if (lane->stream) {
    dvt_record_wait_issued(command->record);
  } else {
    dvt_record_wait(command->record);
  }
}

/* Does the host's part of the head of a held lane, then what follows it. After the last unlock the lane may
 * be gone: what was issued there may have been all that its owner waited for. */
static void run_on_host(void *argument) {
  dvt_lane *lane = argument;
  cuda_lane *self = lane->backend;
  bool more = true;
  while (more) {
    bool blocking = needs_host(self->head);
    do_host_part(self->head);
    pthread_mutex_lock(&self->lock);
    if (blocking)
      remove_head(self);
    more = advance(self);
    pthread_mutex_unlock(&self->lock);
    if (more && wait_for_stream(lane))
      return;
  }
}

static void submit(dvt_command *command) {
  dvt_lane *lane = command->lane;
  cuda_lane *self = lane->backend;
  char sentence[DVT_MESSAGE_BYTES]; /* the enqueuing thread's own, which issued work would overwrite */
  snprintf(sentence, sizeof sentence, "%s", davit_last_error());
  command->next = NULL;
  pthread_mutex_lock(&self->lock);
  *self->tail = command;
  self->tail = &command->next;
  bool hold = !self->held && advance(self);
  pthread_mutex_unlock(&self->lock);
  if (hold && !wait_for_stream(lane))
    hand_over(lane);
  davit_fail(DAVIT_SUCCESS, "%s", sentence);
}

/* ---- lanes ---- */

static davit_status open_lane(dvt_lane *lane) {
  cuda_lane *self = dvt_allocate(1, sizeof *self);
  if (!self)
    return DAVIT_OUT_OF_HOST_MEMORY;
  lane->issues_records = lane->stream != NULL;
  pthread_mutex_init(&self->lock, NULL);
  self->tail = &self->head;
  lane->backend = self;
  return DAVIT_SUCCESS;
}

static void close_lane(dvt_lane *lane) {
  cuda_lane *self = lane->backend;
  pthread_mutex_lock(&self->lock); /* whoever issued the lane's last record has let go of it */
  pthread_mutex_unlock(&self->lock);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

static davit_status start(void) {
  return DAVIT_SUCCESS;
}

static void stop(void) {
  dvt_pool_stop();
}

static void leave(void) {
}

/* What the stream has comes first whoever adds to it. */
static bool is_idle(dvt_lane *lane) {
  return lane != NULL;
}

__attribute__((constructor)) static void register_here(void) {
  static dvt_backend here = {.name = "cuda",
                             .start = start,
                             .stop = stop,
                             .leave = leave,
                             .open = open_lane,
                             .close = close_lane,
                             .submit = submit,
                             .is_idle = is_idle};
  dvt_backend_register(&here);
}
