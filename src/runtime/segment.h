/* SPDX-License-Identifier: Apache-2.0 */
/* Segments: what the tasks of the graph run.
 *
 * backend_openmp.c cuts a lane's commands into segments, and task.c makes a task of each; here is what happens
 * when the task's turn comes, on whichever thread runs it. A segment is a list of commands of one lane:
 * first waits, then work of one kind, then at most one record. Its task follows those of the lane's earlier
 * segments and of the records that it waits for.
 *
 * A function below ends its segment once: it counts it out of the lane's track, then finishes its record, then frees
 * its commands, and says last that they are over. After that neither the commands nor, if they were the newest, the
 * lane may be touched.
 *
 * A command of a lane that has nothing in the graph needs no task, where nothing has to be waited for on the host: the
 * thread that enqueues it places it in the stream. */
#ifndef DAVIT_SRC_RUNTIME_SEGMENT_H
#define DAVIT_SRC_RUNTIME_SEGMENT_H

#include "src/runtime/command.h"

/* A lane's side of the graph. What is not atomic is the generator's while commands are not over, but for in_stream, and
 * else that of whoever places a command. */
typedef struct dvt_track {
  dvt_command *first, **end; /* not generated yet */
  dvt_command *drained;      /* the first one, if the stream has been waited for before it */
  dvt_lane *next;            /* in one list: active, parked at a record, or released */
  bool listed;               /* it is in one of them */
  bool certain;              /* the newest task is a region, whose outcome is known: it cannot fail */
  bool in_stream;            /* the stream may hold work; for whoever runs the lane's newest command */
  unsigned long long taken;  /* commands of segments that have been generated */
  atomic_int tasks;          /* segments in the graph */
  atomic_int held;           /* the generator goes on when `tasks` is at most this; -1: it does not wait */
  /* Commands that the graph was given, + DVT_PLACING, which those who enqueue write; and how many of them are over,
   * which those write who run them. */
  char apart[64];
  atomic_ullong given;
  char far[64];
  atomic_ullong over;
} dvt_track;

static inline dvt_track *dvt_track_of(const dvt_lane *lane) {
  return lane->backend;
}

/* ---- how many segments of a lane are in the graph ---- */

/* By whoever enqueues: places the command and frees it, or counts it among those that the graph is given (false). Who
 * places one sets DVT_PLACING meanwhile: no other thread places one then, and none where something is not over. */
#define DVT_PLACING (1ull << 63)
bool dvt_track_place(dvt_command *command);

/* By whoever closes the lane: waits for its stream. False if the graph has commands of it that are not over. */
bool dvt_track_drain(dvt_lane *lane);

/* Before the track is freed: waits for those who are about to say that its last commands are over. */
void dvt_track_end(dvt_lane *lane);

/* In the generator, which has a command of the lane: waits until nobody else places one. */
void dvt_track_settle(dvt_lane *lane);

/* In the generator, when a segment of so many commands is generated; whether all those before it are over. */
bool dvt_track_count_in(dvt_lane *lane, int commands);

/* True if the generator has to wait until at most `tasks` of the lane's segments are left. The lane is then
 * among the released ones when they are. */
bool dvt_track_hold(dvt_lane *lane, int tasks);

/* Takes the released lanes, linked by their tracks' `next`; and whether there are any. */
dvt_lane *dvt_track_take_released(void);
bool dvt_track_any_released(void);

/* ---- running ---- */

/* Streamed work, or no work: does it and ends the segment. */
void dvt_segment_run(dvt_command *first);

/* Blocking work: hands the segment to a host thread, at once or when the lane's stream is empty. The thread
 * does the work, ends the segment and has first->task fulfilled, which must be set. */
void dvt_segment_start(dvt_command *first);

/* Ends a segment of regions, which are over; first->last must be set. */
void dvt_segment_end_regions(dvt_command *first);

/* Has the task fulfilled when the lane's stream is empty, and counts out a segment that has no commands. */
typedef struct dvt_drain {
  dvt_message over;
  dvt_lane *lane;
  dvt_detached task;
} dvt_drain;

/* Frees the drain. */
void dvt_drain_start(dvt_drain *drain);

/* A bridge: finishes a record in a stream and has its task fulfilled when the device has reached it. Drops
 * a reference to the record. */
void dvt_bridge_start(dvt_record *record);

#endif
