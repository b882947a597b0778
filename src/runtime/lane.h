/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes (command.h says what they are): what sub-queues are made of, from the opening to the end. */
#ifndef DAVIT_SRC_RUNTIME_LANE_H
#define DAVIT_SRC_RUNTIME_LANE_H

#include <davit/queue.h>

#include "src/runtime/command.h"

/* The calling thread's current lane in the queue; a NULL queue sets the sentence and gives NULL. */
dvt_lane *dvt_queue_lane(davit_queue *queue);

davit_status dvt_lane_open(int device, dvt_lane **lane);

/* For commands of one kind. */
davit_status dvt_lane_open_for(int device, dvt_stream_role role, dvt_lane **lane);

/* On the stream of the program's interop object, or its `native` one where that is NULL. */
davit_status dvt_lane_open_on(int device, void *interop, void *native, dvt_lane **lane);

/* Shares its stream with the program, which may use it on the return: waits until what is enqueued now is placed there,
 * or over. DAVIT_UNSUPPORTED: it has none. */
davit_status dvt_lane_share(dvt_lane *lane);

/* Whether the calling thread may wait for lanes: everywhere but in the function of a DVT_REGION command. */
davit_status dvt_may_wait(void);

/* Scratch memory of so many bytes, before a command asks for it; the lane is idle. */
davit_status dvt_lane_reserve(dvt_lane *lane, size_t bytes);

/* Waits for the lane's work, frees the lane, returns the first error. The same in two steps: finish waits,
 * and may be called once; release frees, when nothing enqueued on the lane is left, synchronisations
 * included. */
davit_status dvt_lane_close(dvt_lane *lane);

/* Closes the lane; returns `status`, or else the first error of the lane. */
davit_status dvt_lane_end(dvt_lane *lane, davit_status status);

davit_status dvt_lane_finish(dvt_lane *lane);
void dvt_lane_release(dvt_lane *lane);

/* Enqueues work with a copy of `bytes` bytes of arguments. The work's site has the lane as its owner and
 * shows its stream and threads; dvt_lane_submit_work() chooses what it shows, and says what traces call it. */
davit_status dvt_lane_submit(dvt_lane *lane, dvt_command_kind kind, dvt_form work, const void *arguments,
                             size_t bytes);

typedef struct dvt_work {
  dvt_form form;
  const char *name; /* a fixed text */
  size_t moves;     /* bytes, where it moves some */
  bool stream;
  int threads;
} dvt_work;

davit_status dvt_lane_submit_work(dvt_lane *lane, dvt_command_kind kind, const dvt_work *work,
                                  const void *arguments, size_t bytes);

/* Enqueue a new record (returned with one reference for the caller), and a wait for one. */
davit_status dvt_lane_record(dvt_lane *lane, bool timed, dvt_record **record);
davit_status dvt_lane_wait(dvt_lane *lane, dvt_record *record);

/* Waits for what is enqueued on the lanes now, then returns and clears their first error. */
davit_status dvt_lanes_synchronize(dvt_lane *const *lanes, int count);

#endif
