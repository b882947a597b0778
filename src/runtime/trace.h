/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: every command is a span on the row of its lane.
 *
 * Where nothing is traced, no command has a span, and a command costs one load and one branch. A span is made
 * when the command is enqueued, begins and ends where the command does, and belongs to the trace from then
 * on. Spans of a lane end in the order of its commands.
 *
 * The host's clock times what the host does. What a stream does lies between two events, which the device
 * times (trace_clock.h); the spans of the lane wait in its timeline until the device has reached them.
 *
 * An arrow leads from a record to each wait for it. Spans of both hold the record. */
#ifndef DAVIT_SRC_RUNTIME_TRACE_H
#define DAVIT_SRC_RUNTIME_TRACE_H

#include <davit/trace.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/runtime/record.h"

typedef struct dvt_span dvt_span;
typedef struct dvt_timeline dvt_timeline;

enum { DVT_LABEL_BYTES = 48 };

/* A lane's row. {0}, with the device, is a lane of a plain form. */
struct dvt_timeline {
  int device;
  int queue, subqueue; /* queue 0: none */
  char label[DVT_LABEL_BYTES];
  /* Under the lock of traces: */
  unsigned trace; /* in which it has this number */
  int number;
  int64_t last_ns;            /* the end of its last event */
  dvt_span *first, **end;     /* spans that have ended and are not written */
  dvt_timeline *next, **from; /* in the list of timelines that have such spans */
};

extern atomic_bool dvt_trace_runs;

static inline bool dvt_tracing(void) {
  return atomic_load_explicit(&dvt_trace_runs, memory_order_relaxed);
}

/* ---- rows ---- */

void dvt_timeline_label(dvt_timeline *timeline, const char *label);

/* The lane ends; it is flushed. */
void dvt_timeline_end(dvt_timeline *timeline);

/* ---- spans ---- */

/* Spans of work, of a record and of a wait, enqueued now. NULL if nothing is traced or memory is short. Names
 * are fixed texts. */
dvt_span *dvt_span_work(dvt_timeline *timeline, const char *operation, const char *kind, size_t bytes);
dvt_span *dvt_span_record(dvt_timeline *timeline, dvt_record *record);
dvt_span *dvt_span_wait(dvt_timeline *timeline, dvt_record *record);

/* The command begins and ends, on the calling thread or, where a stream is given, in the stream. A wait that
 * does not begin began when its lane had nothing else to do. In callbacks of a device runtime, where the
 * device must not be called, a span may end as `skipped` only. */
void dvt_span_begin(dvt_span *span, dvt_stream *stream);
void dvt_span_end(dvt_span *span, dvt_stream *stream, bool skipped);

/* As tasks of a graph; the argument is the span. */
void dvt_span_begin_task(void *span);
void dvt_span_end_task(void *span);

/* The command does not run. NULL is allowed. */
void dvt_span_drop(dvt_span *span);

/* ---- threads of the program ---- */

/* What the calling thread did from begin_ns to end_ns: it waited in a call ("synchronise"), or did the work
 * of a plain form itself ("compute"). A warning, on the row of the lane or,
 * where it is NULL, of the calling thread. */
void dvt_trace_thread(const char *name, const char *category, int64_t begin_ns, int64_t end_ns);
void dvt_trace_warn(dvt_timeline *timeline, const char *text);

/* Around a call in which the calling thread waits for work, which is counted; waits inside others are not. */
typedef struct dvt_wait {
  const char *call; /* NULL: it is inside another one */
  int64_t begin_ns;
} dvt_wait;

dvt_wait dvt_wait_begin(const char *call);

/* Returns `status`. */
davit_status dvt_wait_end(const dvt_wait *wait, davit_status status);

/* ---- the library's start and end ---- */

/* Starts what DAVIT_TRACE asks for. */
davit_status dvt_trace_begin(void);

/* Ends the trace, if there is one, when the library stops; and when the process ends, without asking a
 * device. */
davit_status dvt_trace_finish(void);
void dvt_trace_leave(void);

#endif
