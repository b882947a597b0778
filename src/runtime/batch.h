/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: what the tasks of the graph run.
 *
 * backend_openmp.c cuts a lane's commands into batches, and task.c makes a task of each; here is what happens
 * when the task's turn comes, on whichever thread runs it. A batch is a list of commands of one lane:
 * first waits, then work of one kind, then at most one record. Its task follows those of the lane's earlier
 * batches and of the records that it waits for.
 *
 * A function below ends its batch once: it counts it out of the lane's state, then finishes its record, then frees
 * its commands, and says last that they are over. After that neither the commands nor, if they were the newest, the
 * lane may be touched.
 *
 * A command of a lane that has nothing in the graph needs no task, where nothing has to be waited for on the host: the
 * thread that enqueues it places it in the stream. */
#ifndef DAVIT_SRC_RUNTIME_BATCH_H
#define DAVIT_SRC_RUNTIME_BATCH_H

#include "src/runtime/command.h"

/* A lane's side of the graph. What is not atomic is the generator's while commands are not over, but for in_stream, and
 * else that of whoever places a command. */
typedef struct dvt_lane_state {
  dvt_message go_on; /* to the generator: at most `held` batches are left */
  dvt_lane *lane;
  dvt_command *first, **end; /* not generated yet */
  dvt_command *flushed;      /* the first one, if the stream has been waited for before it */
  dvt_lane *next;            /* in one list: active, or parked at a record */
  bool listed;               /* it is in one of them, or held */
  bool certain;              /* the newest task is a region, whose outcome is known: it cannot fail */
  bool in_stream;            /* the stream may hold work; for whoever runs the lane's newest command */
  unsigned long long taken;  /* commands of batches that have been generated */
  atomic_int tasks;          /* batches in the graph */
  atomic_int held;           /* the generator goes on when `tasks` is at most this; -1: it does not wait */
  /* Commands that the graph was given, + DVT_PLACING, which those who enqueue write; and how many of them are over,
   * which those write who run them. */
  char apart[64];
  atomic_ullong given;
  char far[64];
  atomic_ullong over;
} dvt_lane_state;

static inline dvt_lane_state *dvt_lane_state_of(const dvt_lane *lane) {
  return lane->backend;
}

/* ---- how many batches of a lane are in the graph ---- */

/* By whoever enqueues: places the command and frees it, or counts it among those that the graph is given (false). Who
 * places one sets DVT_PLACING meanwhile: no other thread places one then, and none where something is not over. */
#define DVT_PLACING (1ull << 63)
bool dvt_lane_state_place(dvt_command *command);

/* By whoever closes the lane: waits for its stream. False if the graph has commands of it that are not over. */
bool dvt_lane_state_drain(dvt_lane *lane);

/* Before the state is freed: waits for those who are about to say that its last commands are over. */
void dvt_lane_state_end(dvt_lane *lane);

/* In the generator, which has a command of the lane: waits until nobody else places one. */
void dvt_lane_state_settle(dvt_lane *lane);

/* In the generator, when a batch of so many commands is generated; whether all those before it are over. */
bool dvt_lane_state_count_in(dvt_lane *lane, int commands);

/* True if the generator has to wait until at most `tasks` of the lane's batches are left. It is told when they are. */
bool dvt_lane_state_hold(dvt_lane *lane, int tasks);

/* ---- running ---- */

/* Streamed work, or no work: does it and ends the batch. */
void dvt_batch_run(dvt_command *first);

/* Blocking work: hands the batch to a host thread, at once or when the lane's stream is empty. The thread
 * does the work, ends the batch and has first->task fulfilled, which must be set. */
void dvt_batch_start(dvt_command *first);

/* Ends a batch of regions, which are over; first->last must be set. */
void dvt_batch_end_regions(dvt_command *first);

/* A callback: finishes a record in a stream and has its task fulfilled when the device has reached it. Drops
 * a reference to the record. */
void dvt_callback_start(dvt_record *record);

#endif
