/* SPDX-License-Identifier: Apache-2.0 */
/* What queues do, and when: traces and statistics (docs/trace.md).
 *
 * A trace is a file in the Trace Event Format of Chrome, which https://ui.perfetto.dev and chrome://tracing
 * show. It has every command of every queue, and of the lanes on which the plain forms work: its device, its
 * sub-queue, when it was enqueued, when it started and ended, how many bytes a copy moves, and the commands
 * that it waited for. With DAVIT_TRACE=FILE in the environment the library traces from its start to
 * davit_finalize() or the end of the process.
 *
 * Thread safety: any thread may call any function. */
#ifndef DAVIT_TRACE_H
#define DAVIT_TRACE_H

#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Traces commands that are enqueued from now on to the file `path`, which is created or overwritten; "%p" in it stands
 * for the process number. There can be one trace at a time: DAVIT_INVALID_STATE if there is one. Until
 * davit_trace_stop() commands cost more time, and about 200 bytes each until they have run; beyond 262144 such commands
 * further ones are left out, and counted in the file. */
DAVIT_API davit_status davit_trace_start(const char *path);

/* Ends the trace and closes its file; commands that have not ended are left out. DAVIT_INTERNAL_ERROR if the file could
 * not be written, for instance because the disk is full: it then ends with the last events for which there was room.
 * DAVIT_INVALID_STATE if there is no trace. */
DAVIT_API davit_status davit_trace_stop(void);

/* Names, in traces, the commands that any thread enqueues on the current sub-queue of `queue` from now on. At most 47
 * bytes of UTF-8 are kept; NULL or "": commands are named by their operation. */
DAVIT_API davit_status davit_queue_label(davit_queue *queue, const char *label);

/* Counts since the start of the process, of all threads together. A wait is a call in which a thread waited
 * for work: it synchronised with a queue, a device or an event, read a timer, destroyed a queue, or called a
 * plain form that waited for its devices. */
typedef struct davit_statistics {
  int64_t waits;
  double wait_seconds;      /* the time that threads spent in waits */
  int64_t unrecorded_waits; /* waits for an event that was never recorded, by queues and by threads */
  int64_t backend_calls; /* commands handed to the back end, and calls that ask a device for its progress */
  uint64_t reserved[8];  /* written as 0 */
} davit_statistics;

/* Reads the counts. They only grow: take differences. */
DAVIT_API davit_status davit_statistics_read(davit_statistics *statistics);

#ifdef __cplusplus
}
#endif
#endif
