/* SPDX-License-Identifier: Apache-2.0 */
/* One host thread per lane, and nothing else: the second back end.
 *
 * The thread takes the lane's commands one by one; work for the device stream is launched and waited for
 * before the next command, so that records are simply the thread's own progress. Idle threads and threads
 * that wait for a record sleep on condition variables. */
#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/base/ending.h"
#include "src/runtime/command.h"
#include "src/runtime/generator.h"
#include "src/runtime/pool.h"

typedef struct lane_thread {
  sem_t left;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  dvt_command *head, **tail, *running;
  bool busy, stop;
} lane_thread;

static dvt_command *take(lane_thread *self) {
  pthread_mutex_lock(&self->lock);
  self->busy = false;
  while (!self->head && !self->stop)
    pthread_cond_wait(&self->changed, &self->lock);
  dvt_command *command = self->head;
  self->busy = command != NULL;
  if (command) {
    self->head = command->next;
    if (!self->head)
      self->tail = &self->head;
  }
  pthread_mutex_unlock(&self->lock);
  return command;
}

/* The calling thread is inside. */
static void flush(dvt_lane *lane) {
  dvt_lane_check(lane, dvt_stream_synchronize(lane->stream));
}

static void run_streamed(dvt_command *command) {
  DVT_INSIDE;
  dvt_command_work(command);
  if (!atomic_load(&command->lane->failed))
    flush(command->lane);
}

/* What the program has put on the stream comes before what the host does. */
static void drain_shared(const dvt_command *command) {
  if (!atomic_load(&command->lane->shared) || command->kind == DVT_STREAMED || command->kind == DVT_STAGED)
    return;
  DVT_INSIDE;
  flush(command->lane);
}

void dvt_command_run(dvt_command *command) {
  drain_shared(command);
  switch (command->kind) {
  case DVT_STREAMED:
  case DVT_STAGED:
    run_streamed(command);
    break;
  case DVT_BLOCKING:
  case DVT_TRANSFER:
    dvt_command_work(command);
    break;
  case DVT_REGION:
    dvt_region_run_alone(command);
    break;
  case DVT_RECORD:
    dvt_command_finish_record(command);
    break;
  case DVT_FLUSH: /* nobody but the task graph has any */
    break;
  case DVT_WAIT:
    dvt_command_begin_wait(command, NULL);
    if (dvt_record_wait(command->record) != DAVIT_SUCCESS && !dvt_record_is_over(command->record))
      dvt_lane_fail(command->lane, DAVIT_WORK_FAILED,
                    davit_last_error()); /* it never will be: the process ends */
    dvt_command_end(command, NULL);
    dvt_command_pass_failure(command);
    break;
  }
}

static void loop(void *argument);

/* A function of the program's has ended the thread, and with that failed: another thread goes on. Without one this
 * does, before it ends. */
static void go_on(void *argument) {
  lane_thread *self = argument;
  dvt_command_end(self->running, NULL);
  dvt_command_free(self->running);
  if (dvt_pool_run(loop, self) != DAVIT_SUCCESS)
    loop(self);
}

static void loop(void *argument) {
  lane_thread *self = argument;
  pthread_cleanup_push(go_on, self);
  while ((self->running = take(self))) {
    dvt_command_run(self->running);
    dvt_command_free(self->running);
  }
  pthread_cleanup_pop(0);
  sem_post(&self->left);
}

static void submit(dvt_command *command) {
  lane_thread *self = command->lane->backend;
  command->next = NULL;
  pthread_mutex_lock(&self->lock);
  *self->tail = command;
  self->tail = &command->next;
  pthread_cond_signal(&self->changed);
  pthread_mutex_unlock(&self->lock);
}

static void free_thread(lane_thread *self) {
  sem_destroy(&self->left);
  pthread_mutex_destroy(&self->lock);
  pthread_cond_destroy(&self->changed);
  free(self);
}

static davit_status open_lane(dvt_lane *lane) {
  lane_thread *self = dvt_allocate(1, sizeof *self);
  if (!self)
    return DAVIT_OUT_OF_HOST_MEMORY;
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->changed, NULL);
  self->tail = &self->head;
  lane->backend = self;
  sem_init(&self->left, 0, 0);
  const davit_status status = dvt_pool_run(loop, self);
  if (status == DAVIT_SUCCESS)
    return status;
  free_thread(self);
  return status;
}

static void close_lane(dvt_lane *lane) {
  lane_thread *self = lane->backend;
  pthread_mutex_lock(&self->lock);
  self->stop = true;
  pthread_cond_signal(&self->changed);
  pthread_mutex_unlock(&self->lock);
  while (sem_wait(&self->left) != 0) {
  }
  free_thread(self);
}

static bool is_idle(dvt_lane *lane) {
  lane_thread *self = lane->backend;
  pthread_mutex_lock(&self->lock);
  const bool idle = !self->busy && !self->head;
  pthread_mutex_unlock(&self->lock);
  return idle;
}

static davit_status start(void) {
  return DAVIT_SUCCESS;
}

static void stop(void) {
  dvt_pool_stop();
  if (dvt_generator_exists())
    dvt_generator_rest();
}

dvt_backend dvt_backend_threads = {.name = "threads",
                                   .start = start,
                                   .stop = stop,
                                   .leave = dvt_graph_leave,
                                   .open = open_lane,
                                   .close = close_lane,
                                   .submit = submit,
                                   .is_idle = is_idle};
