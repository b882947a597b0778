/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of the graph, by which OpenMP orders batches (batch.h). Each is generated with the clauses
 *
 *   depend(inout: lane)                     batches of a lane run in order
 *   depend(in: record ...)                  the records the batch waits for
 *   depend(out: record)                     the record it ends with
 *
 * A batch has commands of one kind, which decides what carries it:
 *
 *   PLAIN     streamed work: `target nowait` on the initial device. Its body places the work in the lane's device
 *             stream and ends there; the device orders what the stream holds, and a wait of one stream for
 *             another's record becomes a wait inside the device.
 *   DETACHED  blocking work: a detached task, because a region cannot outlive its body. The body hands the batch to a
 *             host thread (pool.h), and the thread tells the generator when it is over. So no OpenMP thread ever
 *             blocks, whatever user functions do.
 *   EMITTED   the program's regions: each command emits `target nowait depend(inout: lane)` when it is generated,
 *             and a region on the initial device ends the batch. A stopped lane must skip regions, so they are
 *             generated when the outcome of everything before them in the lane is known; regions themselves cannot
 *             fail, so a chain of regions, also across lanes, is in the graph as a whole.
 *
 * A host thread that must wait for a record in a stream waits for a callback: a detached task that ends when the device
 * notifies the host.
 *
 * A PLAIN batch that follows nothing in the graph, as those of a stream do, needs no task: the generator
 * runs it at once.
 *
 * The functions are for the generator, where nothing else is said. */
#ifndef DAVIT_SRC_RUNTIME_TASK_H
#define DAVIT_SRC_RUNTIME_TASK_H

#include <semaphore.h>

#include "src/runtime/command.h"

enum { DVT_MAX_WAITS = 48 };

/* Commands of one lane: at most DVT_MAX_WAITS waits, work of one kind, at most one record. */
typedef struct dvt_batch {
  dvt_lane *lane;
  dvt_command *first, *last;
  dvt_command_kind kind; /* of its work; DVT_RECORD: it has only a record, DVT_WAIT: only waits */
} dvt_batch;

/* If this is the lane's last batch, it may have run afterwards, and the lane may be freed. If the function of a
 * region ends the thread, the batch is generated to its end nevertheless, and then the thread unwinds. */
void dvt_task_generate(const dvt_batch *batch);

/* Before regions, as they run on streams of the OpenMP runtime's choice: waits for what the lane's own stream holds. */
void dvt_task_flush(dvt_lane *lane);

/* A region of a lane of another back end: the message that brings it, because the command is in a list of that back
 * end; `over` is posted when it is. */
typedef struct dvt_lone_region {
  dvt_message message;
  dvt_command *command;
  sem_t over;
} dvt_lone_region;
void dvt_task_alone(dvt_lone_region *lone);

/* At exit, if the calling thread is in the function of a region: what has been generated with it is under way, and is
 * waited for like other regions. */
void dvt_task_leave(void);

#endif
