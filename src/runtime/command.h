/* SPDX-License-Identifier: Apache-2.0 */
/* Commands, and lanes as the back ends that carry them out see them. lane.h is what others do with a lane.
 *
 * A lane is an in-order sequence of commands on one device. A command is of one of eight kinds:
 *   STREAMED  enqueues work on the lane's device stream and returns at once;
 *   STAGED    begins work that host threads go on with, on the lane's stream: copies of pageable memory;
 *   REGION    emits target regions: `target nowait depend(inout: *site->order)`. Runs on the thread that
 *             generates all tasks, possibly long before the regions start, and must not wait;
 *   BLOCKING  runs on a host thread once everything before it is finished, and may take its time;
 *   TRANSFER  the same, but neither waits for another command nor opens a team of host threads: copies,
 *             regions of devices with memory of their own;
 *   RECORD    sets a record at this point;
 *   WAIT      holds the lane until a record is reached;
 *   FLUSH     holds it until its stream is empty, before regions: the task graph's own.
 * A lane has a stream where its device is NVIDIA's; lanes without a stream take neither STREAMED nor STAGED commands.
 *
 * A back end (backend.h) takes commands. Whatever the back end, errors go the same way: the first
 * failure stops the lane (dvt_lane_fail), a stopped lane skips commands and fails records, a failed record
 * stops the lanes that wait for it, and the next synchronisation lets the lane go on. */
#ifndef DAVIT_SRC_RUNTIME_COMMAND_H
#define DAVIT_SRC_RUNTIME_COMMAND_H

#include <pthread.h>
#include <semaphore.h>
#include <stdalign.h>
#include <stddef.h>

#include "src/base/operation.h"
#include "src/runtime/backend.h"
#include "src/runtime/record.h"
#include "src/runtime/trace.h"

typedef struct dvt_workspace dvt_workspace;

typedef enum dvt_command_kind {
  DVT_STREAMED,
  DVT_STAGED,
  DVT_REGION,
  DVT_BLOCKING,
  DVT_TRANSFER,
  DVT_RECORD,
  DVT_WAIT,
  DVT_FLUSH
} dvt_command_kind;

/* What the task graph reads of a command before its turn comes first. */
struct dvt_command {
  dvt_message message; /* to the generator of the task graph: it is submitted; later, its batch is over */
  dvt_command *next;   /* in the back end's lists */
  dvt_lane *lane;
  dvt_command_kind kind;
  int threads; /* that it may use; with `stream` false and this above 0 the work is a host form */
  dvt_record *record;
  dvt_form work;
  const char *name; /* of the work, a fixed text */
  uint64_t range;   /* of a STAGED command that has begun, for profilers */
  bool stream;      /* the work sees the lane's stream */
  bool beside;      /* given to the graph while somebody placed another command of the lane */
  dvt_span *span;   /* in a trace; NULL: in none */
  /* Kept by the task graph in the first command of a batch. */
  dvt_command *last;
  int commands;
  dvt_detached task;
  alignas(16) unsigned char arguments[];
};

/* Lanes of which the first failure stops all. */
typedef enum dvt_company_state {
  DVT_COMPANY_WORKS,
  DVT_COMPANY_FAILS,
  DVT_COMPANY_HAS_FAILED
} dvt_company_state;
typedef struct dvt_company {
  atomic_int state; /* of dvt_company_state */
  dvt_error error;  /* once it has failed */
} dvt_company;

struct dvt_lane {
  int device;
  int threads;          /* of the host that one command may use */
  dvt_stream *stream;   /* NULL: the lane works on host threads alone */
  atomic_bool shared;   /* the program may put work on the stream, too: it is never known to be idle */
  dvt_stream_role role; /* of its stream */
  bool issues_records;  /* its records pass through ISSUED */
  char address;         /* the address that orders the lane's tasks */
  atomic_int regions;   /* groups of regions in the task graph */
  atomic_bool failed;
  bool left;      /* by the back end, because the process ends: its commands run where they are enqueued */
  bool abandoned; /* with work under way that never ends, so it is not freed */
  pthread_mutex_t lock; /* guards error */
  dvt_error error;
  dvt_company *company;      /* lanes that stop together; NULL: it is alone */
  atomic_llong enqueued;     /* commands ever */
  atomic_llong synchronised; /* `enqueued` when the lane was last found flushed */
  dvt_command *last_command; /* a RECORD made at open, so that closing never lacks the memory to wait */
  dvt_workspace *workspace;  /* the newest and largest; older ones may still be in use by the stream */
  uint32_t *counters;
  void *backend;
  dvt_timeline timeline;
  dvt_site site;      /* of its commands, which have a stream and threads of their own */
  atomic_llong tried; /* commands with work that were not skipped, ever */
};

/* The lane whose command, other than a STREAMED one, the calling thread is running; NULL if none. */
dvt_lane *dvt_lane_current(void);

/* Whether lanes of the device have streams. */
bool dvt_lane_has_stream(int device);

/* Whether work of the lane may call a GPU's runtime, and has to enter (src/base/ending.h). */
bool dvt_lane_is_gpu(const dvt_lane *lane);

/* Whether the lane's stream is idle. One that does not answer is, and stops the lane. The argument is the lane. */
bool dvt_lane_stream_is_idle(void *argument);

/* Stops the lane, unless it is stopped already. */
void dvt_lane_fail(dvt_lane *lane, davit_status status, const char *message);

/* Stops it if the status is a failure, with the calling thread's sentence. */
void dvt_lane_check(dvt_lane *lane, davit_status status);

/* The lane's error so far, left in place. */
davit_status dvt_lane_error(dvt_lane *lane);

/* Runs a host form in a team (src/base/team.h) of at most site->threads threads. What the form computes by is led by a
 * thread of the pool where the calling thread is one that fork() has left. */
davit_status dvt_host_form(dvt_form form, const dvt_site *site, const void *arguments);

/* NULL sets the sentence. */
dvt_command *dvt_command_new(dvt_lane *lane, dvt_command_kind kind, size_t argument_bytes);

/* Runs a STREAMED or BLOCKING command unless the lane is stopped. */
void dvt_command_work(dvt_command *command);

/* The function of a command has ended its thread, which goes on nevertheless. */
void dvt_command_function_ended(void);

/* Begins a STAGED command: over(argument, status) is called at the end, and has to call dvt_command_staged(). False if
 * there is nothing to wait for: the lane is stopped, or is now. */
bool dvt_command_stage(dvt_command *command, void (*over)(void *argument, davit_status status),
                       void *argument);
void dvt_command_staged(dvt_command *command, davit_status status);

/* A WAIT whose record is over, or issued: passes its failure on. */
void dvt_command_pass_failure(dvt_command *command);

/* In a trace the WAIT begins (which it need not), and a WAIT or RECORD ends: in `stream`, or on the calling
 * thread if that is NULL. */
void dvt_command_begin_wait(dvt_command *command, dvt_stream *stream);
void dvt_command_end(dvt_command *command, dvt_stream *stream);

/* A RECORD on a lane that is flushed up to here: finishes it with the lane's error. */
void dvt_command_finish_record(dvt_command *command);

void dvt_command_free(dvt_command *command);

#endif
