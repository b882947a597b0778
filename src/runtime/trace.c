/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/trace.h"

#include <davit/device.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/cancel.h"
#include "src/base/check.h"
#include "src/base/clock.h"
#include "src/base/environment.h"
#include "src/base/fork.h"
#include "src/runtime/statistics.h"
#include "src/runtime/trace_clock.h"
#include "src/runtime/trace_file.h"

enum {
  MAX_SPANS = 1 << 18,
  MAX_KNOWN_DEVICES = 66,
  /* Processes of the file: threads of the program, then a process for each device, DAVIT_HOST first. */
  THREADS = 1,
  FIRST_DEVICE = 3,
  FIRST_QUEUE_ROW = 100000,
  ROWS = 4096, /* of lanes of plain forms, given again to later ones */
  TEXT = 6 * DVT_LABEL_BYTES,
  DEPTH = 64 /* of rows that wait for one another */
};

typedef enum span_kind { WORK, RECORD, WAIT } span_kind;

struct dvt_span {
  dvt_span *next;
  dvt_timeline *timeline;
  span_kind what;
  unsigned trace;
  long long command; /* its number */
  const char *operation, *kind;
  size_t bytes;
  char label[DVT_LABEL_BYTES];
  int64_t enqueued_ns, begin_ns, end_ns;
  dvt_anchor *clock; /* of the events */
  dvt_device_event *begin, *end;
  dvt_record *record; /* that is recorded, or waited for */
  bool skipped;
};

atomic_bool dvt_trace_runs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static unsigned current;                                 /* the trace; 0: there was none */
static dvt_timeline *timelines;                          /* that have spans which are not written */
static uint64_t rows_taken[ROWS / 64];
static int next_row;
static bool process_known[MAX_KNOWN_DEVICES];

static atomic_int spans;      /* that exist */
static atomic_llong left_out; /* commands */
static atomic_llong commands;
static atomic_int threads;

/* ---- texts of events ---- */

#define US "%lld.%03d"
#define IN_US(ns) (long long)((ns) / 1000), (int)((ns) % 1000)

static int process_of(int device) {
  return device - DAVIT_HOST + FIRST_DEVICE - 1;
}

static void name_process(int process, const char *name) {
  dvt_trace_file_add("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"%s\"}}",
                     process, name);
  dvt_trace_file_add("{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":{\"sort_index\":%d}}",
                     process, process);
}

static void name_row(int process, int row, const char *name) {
  dvt_trace_file_add(
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}}", process,
      row, name);
}

static void know_device(int device) {
  const int at = device - DAVIT_HOST;
  if (at >= MAX_KNOWN_DEVICES || process_known[at])
    return;
  char model[256], name[300];
  const dvt_device *found = dvt_device_find(device);
  process_known[at] = true;
  dvt_trace_file_quote(found ? found->info.name : "", sizeof model, model);
  if (device == DAVIT_HOST)
    snprintf(name, sizeof name, "host: %s", model);
  else
    snprintf(name, sizeof name, "device %d: %s", device, model);
  name_process(process_of(device), name);
}

/* ---- rows ---- */

void dvt_timeline_label(dvt_timeline *timeline, const char *label) {
  pthread_mutex_lock(&lock);
  snprintf(timeline->label, sizeof timeline->label, "%s", label ? label : "");
  pthread_mutex_unlock(&lock);
}

static int take_row(void) {
  for (int i = 0; i < ROWS / 64; i++)
    if (~rows_taken[i]) {
      const int bit = __builtin_ctzll(~rows_taken[i]);
      rows_taken[i] |= UINT64_C(1) << bit;
      return 1 + 64 * i + bit;
    }
  return ROWS + ++next_row;
}

static void give_row(int row) {
  if (row > 0 && row <= ROWS)
    rows_taken[(row - 1) / 64] &= ~(UINT64_C(1) << ((row - 1) % 64));
}

/* The timeline's row in the current trace. */
static void know_row(dvt_timeline *timeline) {
  char name[64];
  if (timeline->trace == current)
    return;
  timeline->trace = current;
  timeline->first = NULL;
  timeline->end = &timeline->first;
  timeline->last_ns = 0;
  know_device(timeline->device);
  if (timeline->queue > 0) {
    timeline->number = FIRST_QUEUE_ROW + 64 * timeline->queue + timeline->subqueue;
    snprintf(name, sizeof name, "queue %d, sub-queue %d", timeline->queue, timeline->subqueue);
  } else {
    timeline->number = take_row();
    snprintf(name, sizeof name, "internal lane %d", timeline->number);
  }
  name_row(process_of(timeline->device), timeline->number, name);
}

/* ---- making spans ---- */

/* With the lock held. */
static void free_span(dvt_span *span) {
  dvt_anchor_drop(span->clock);
  dvt_device_event_free(span->begin);
  dvt_device_event_free(span->end);
  if (span->what == RECORD && span->record->traced.ns == 0)
    span->record->traced.ns = -1;
  dvt_record_drop(span->record);
  free(span);
  atomic_fetch_sub(&spans, 1);
}

/* With the label and the row of now. Freed again if the trace has just ended. */
static dvt_span *enter(dvt_span *span) {
  pthread_mutex_lock(&lock);
  const bool runs = dvt_tracing();
  span->trace = current;
  if (runs) {
    know_row(span->timeline);
    memcpy(span->label, span->timeline->label, sizeof span->label);
  }
  if (runs && span->what == RECORD)
    span->record->traced =
        (dvt_traced){.trace = current, .command = span->command, .timeline = span->timeline};
  if (!runs)
    free_span(span);
  pthread_mutex_unlock(&lock);
  return runs ? span : NULL;
}

static dvt_span *new_span(dvt_timeline *timeline, span_kind what, const char *operation, const char *kind,
                          size_t bytes, dvt_record *record) {
  dvt_span *span = atomic_fetch_add(&spans, 1) < MAX_SPANS ? dvt_allocate(1, sizeof *span) : NULL;
  if (!span) {
    atomic_fetch_sub(&spans, 1);
    atomic_fetch_add(&left_out, 1);
    return NULL;
  }
  span->timeline = timeline;
  span->what = what;
  span->operation = operation;
  span->kind = kind;
  span->bytes = bytes;
  span->record = record ? dvt_record_hold(record) : NULL;
  span->command = 1 + atomic_fetch_add(&commands, 1);
  span->enqueued_ns = dvt_now_ns();
  return enter(span);
}

dvt_span *dvt_span_work(dvt_timeline *timeline, const char *operation, const char *kind, size_t bytes) {
  return new_span(timeline, WORK, operation, kind, bytes, NULL);
}

dvt_span *dvt_span_record(dvt_timeline *timeline, dvt_record *record) {
  return new_span(timeline, RECORD, "record", "record", 0, record);
}

dvt_span *dvt_span_wait(dvt_timeline *timeline, dvt_record *record) {
  return new_span(timeline, WAIT, "wait", "wait", 0, record);
}

void dvt_span_drop(dvt_span *span) {
  if (!span)
    return;
  pthread_mutex_lock(&lock);
  atomic_fetch_add(&left_out, span->trace == current && dvt_tracing());
  free_span(span);
  pthread_mutex_unlock(&lock);
}

/* ---- clocks of devices ---- */

static dvt_anchor *clock_of(dvt_stream *stream) {
  int64_t host_ns = 0, error_ns = 0;
  dvt_anchor *clock = dvt_anchor_of(stream, &host_ns, &error_ns);
  const int device = dvt_stream_device(stream);
  if (error_ns > 0)
    dvt_trace_file_add(
        "{\"ph\":\"i\",\"s\":\"p\",\"name\":\"clock of the device\",\"cat\":\"clock\",\"pid\":%d,"
        "\"tid\":0,\"ts\":" US ",\"args\":{\"device\":%d,\"accuracy_us\":" US "}}",
        process_of(device), IN_US(host_ns), device, IN_US(error_ns));
  return clock;
}

/* ---- writing spans ---- */

static void write_row_of_record(const dvt_span *span, int depth);

/* Whether the device has reached the end of the span; after a failure it says no more. */
static bool is_over(dvt_span *span) {
  bool reached = true;
  return !span->end || dvt_device_event_query(span->end, &reached) != DAVIT_SUCCESS || reached;
}

/* False if the device does not tell the times of the span. */
static bool find_times(dvt_span *span) {
  if (span->end && !dvt_anchor_time(span->clock, span->end, &span->end_ns))
    return false;
  return !span->begin || dvt_anchor_time(span->clock, span->begin, &span->begin_ns);
}

/* Events of a row follow one another, whatever the error of the device's clock. */
static void put_in_order(dvt_span *span) {
  dvt_timeline *timeline = span->timeline;
  if (span->what == WAIT && span->begin_ns == 0)
    span->begin_ns = span->enqueued_ns;
  if (span->what == RECORD)
    span->begin_ns = span->end_ns;
  if (span->begin_ns < timeline->last_ns)
    span->begin_ns = timeline->last_ns;
  if (span->what == WAIT && span->record->traced.ns >= span->end_ns)
    span->end_ns = span->record->traced.ns + 1;
  if (span->end_ns <= span->begin_ns)
    span->end_ns = span->begin_ns + 1;
  timeline->last_ns = span->end_ns;
}

static void write_arrow(const dvt_span *span, long long number) {
  const dvt_traced *from = &span->record->traced;
  dvt_trace_file_add("{\"ph\":\"s\",\"id\":%lld,\"name\":\"dependence\",\"cat\":\"dependence\",\"pid\":%d,"
                     "\"tid\":%d,\"ts\":" US "}",
                     number, from->process, from->row, IN_US(from->ns));
  dvt_trace_file_add("{\"ph\":\"f\",\"bp\":\"e\",\"id\":%lld,\"name\":\"dependence\",\"cat\":\"dependence\","
                     "\"pid\":%d,\"tid\":%d,\"ts\":" US "}",
                     number, process_of(span->timeline->device), span->timeline->number,
                     IN_US(span->end_ns - 1));
}

static void write_span(dvt_span *span) {
  const dvt_timeline *timeline = span->timeline;
  char name[TEXT], bytes[40] = "", waits_for[40] = "";
  put_in_order(span);
  const int process = process_of(timeline->device);
  dvt_traced *record = span->record ? &span->record->traced : NULL;
  const bool arrow = span->what == WAIT && record->ns > 0 && record->trace == current;
  dvt_trace_file_quote(*span->label && span->what == WORK ? span->label : span->operation, sizeof name, name);
  if (span->bytes > 0)
    snprintf(bytes, sizeof bytes, ",\"bytes\":%zu", span->bytes);
  if (arrow)
    snprintf(waits_for, sizeof waits_for, ",\"waits_for\":%lld", record->command);
  dvt_trace_file_add("{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":" US
                     ",\"dur\":" US ",\"args\":{\"command\":%lld,\"operation\":\"%s\",\"device\":%d,"
                     "\"queue\":%d,\"subqueue\":%d,\"enqueued\":" US "%s%s%s}}",
                     name, span->kind, process, timeline->number, IN_US(span->begin_ns),
                     IN_US(span->end_ns - span->begin_ns), span->command, span->operation, timeline->device,
                     timeline->queue, timeline->subqueue, IN_US(span->enqueued_ns), bytes, waits_for,
                     span->skipped ? ",\"skipped\":true" : "");
  if (span->what == RECORD) {
    record->process = process;
    record->row = timeline->number;
    record->ns = span->begin_ns;
  }
  if (arrow)
    write_arrow(span, span->command);
}

static void leave_list(dvt_timeline *timeline) {
  *timeline->from = timeline->next;
  if (timeline->next)
    timeline->next->from = timeline->from;
}

static dvt_span *remove_first(dvt_timeline *timeline) {
  dvt_span *span = timeline->first;
  timeline->first = span->next;
  if (!timeline->first) {
    timeline->end = &timeline->first;
    leave_list(timeline);
  }
  return span;
}

/* Writes what is over. `depth` bounds how far it follows waits to other rows. */
static void write_timeline(dvt_timeline *timeline, int depth) {
  while (timeline->first && is_over(timeline->first)) {
    dvt_span *span = remove_first(timeline);
    write_row_of_record(span, depth);
    if (find_times(span))
      write_span(span);
    else
      atomic_fetch_add(&left_out, 1);
    free_span(span);
  }
}

/* The record that a wait was for is over, too: its row comes first, so that the arrow's begin is known. */
static void write_row_of_record(const dvt_span *span, int depth) {
  const dvt_traced *from = span->what == WAIT ? &span->record->traced : NULL;
  if (from && from->ns == 0 && from->trace == current && from->timeline != span->timeline && depth > 0)
    write_timeline(from->timeline, depth - 1);
}

static void append(dvt_span *span) {
  dvt_timeline *timeline = span->timeline;
  if (!timeline->first) {
    timeline->next = timelines;
    timeline->from = &timelines;
    if (timelines)
      timelines->from = &timeline->next;
    timelines = timeline;
  }
  *timeline->end = span;
  timeline->end = &span->next;
}

/* ---- beginning and ending ---- */

static dvt_device_event *record_event(dvt_stream *stream) {
  dvt_device_event *event = NULL;
  return dvt_stream_record_timed(stream, &event) == DAVIT_SUCCESS ? event : NULL;
}

void dvt_span_begin(dvt_span *span, dvt_stream *stream) {
  span->begin_ns = dvt_now_ns();
  if (!stream)
    return;
  pthread_mutex_lock(&lock);
  if (span->trace == current && dvt_tracing())
    span->clock = clock_of(stream);
  pthread_mutex_unlock(&lock);
  if (span->clock)
    span->begin = record_event(stream);
}

void dvt_span_end(dvt_span *span, dvt_stream *stream, bool skipped) {
  span->end_ns = dvt_now_ns();
  span->skipped = skipped;
  if (span->what == WORK && span->begin_ns == 0)
    span->begin_ns = span->end_ns;
  pthread_mutex_lock(&lock);
  const bool runs = span->trace == current && dvt_tracing();
  if (runs && stream && !span->clock && span->what != WORK)
    span->clock = clock_of(stream);
  pthread_mutex_unlock(&lock);
  if (runs && stream && span->clock)
    span->end = record_event(stream);
  pthread_mutex_lock(&lock);
  const bool timed = !stream || (span->end && (span->begin || span->what != WORK));
  if (timed && span->trace == current && dvt_tracing()) {
    const bool behind = span->timeline->first != NULL;
    append(span);
    if (!skipped || !behind)
      write_timeline(span->timeline, DEPTH);
  } else {
    atomic_fetch_add(&left_out, !timed);
    free_span(span);
  }
  pthread_mutex_unlock(&lock);
}

void dvt_span_begin_task(void *span) {
  dvt_span_begin(span, NULL);
}

void dvt_span_end_task(void *span) {
  dvt_span_end(span, NULL, false);
}

/* With the lock held: what is left of a timeline. */
static void empty(dvt_timeline *timeline) {
  write_timeline(timeline, DEPTH);
  while (timeline->first) {
    free_span(remove_first(timeline));
    atomic_fetch_add(&left_out, 1);
  }
}

void dvt_timeline_end(dvt_timeline *timeline) {
  if (timeline->trace == 0) /* never traced; whoever traces first has enqueued, and nobody does any more */
    return;
  pthread_mutex_lock(&lock);
  if (timeline->trace == current && dvt_tracing()) { /* else nothing is left of it, or the process ends */
    empty(timeline);
    if (timeline->queue == 0)
      give_row(timeline->number);
  }
  pthread_mutex_unlock(&lock);
}

/* ---- threads of the program ---- */

/* The calling thread's row, with the lock held. */
static int thread_row(void) {
  static _Thread_local unsigned known;
  static _Thread_local int row;
  char name[40];
  if (row == 0)
    row = 1 + atomic_fetch_add(&threads, 1);
  if (known != current) {
    known = current;
    snprintf(name, sizeof name, "thread %d", row);
    name_row(THREADS, row, name);
  }
  return row;
}

void dvt_trace_thread(const char *name, const char *category, int64_t begin_ns, int64_t end_ns) {
  pthread_mutex_lock(&lock);
  if (dvt_tracing()) {
    const int row = thread_row();
    dvt_trace_file_add("{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":" US
                       ",\"dur\":" US "}",
                       name, category, THREADS, row, IN_US(begin_ns), IN_US(end_ns - begin_ns));
  }
  pthread_mutex_unlock(&lock);
}

void dvt_trace_warn(dvt_timeline *timeline, const char *text) {
  pthread_mutex_lock(&lock);
  if (dvt_tracing()) {
    if (timeline)
      know_row(timeline);
    const int row = timeline ? timeline->number : thread_row();
    dvt_trace_file_add(
        "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"%s\",\"cat\":\"warning\",\"pid\":%d,\"tid\":%d,\"ts\":" US "}",
        text, timeline ? process_of(timeline->device) : THREADS, row, IN_US(dvt_now_ns()));
  }
  pthread_mutex_unlock(&lock);
}

static _Thread_local bool waits;

dvt_wait dvt_wait_begin(const char *call) {
  if (waits)
    return (dvt_wait){0};
  waits = true;
  return (dvt_wait){call, dvt_now_ns()};
}

davit_status dvt_wait_end(const dvt_wait *wait, davit_status status) {
  if (!wait->call)
    return status;
  const int64_t end_ns = dvt_now_ns();
  waits = false;
  dvt_count_add(DVT_COUNT_WAITS, 1);
  dvt_count_add(DVT_COUNT_WAIT_NS, end_ns - wait->begin_ns);
  if (dvt_tracing())
    dvt_trace_thread(wait->call, "synchronise", wait->begin_ns, end_ns);
  return status;
}

/* ---- the trace ---- */

/* With the lock held. */
static davit_status start(const char *what, const char *path, bool go_on) {
  DVT_TRY(dvt_trace_file_open(what, path, go_on));
  current++;
  memset(process_known, 0, sizeof process_known);
  memset(rows_taken, 0, sizeof rows_taken);
  next_row = 0;
  atomic_store(&left_out, 0);
  name_process(THREADS, "threads of the program");
  atomic_store(&dvt_trace_runs, true);
  return DAVIT_SUCCESS;
}

/* With the lock held. */
static davit_status stop(bool ask_devices) {
  if (!dvt_tracing())
    return DAVIT_SUCCESS;
  while (ask_devices && timelines)
    empty(timelines);
  const long long missing = atomic_load(&left_out);
  if (missing > 0)
    dvt_trace_file_add("{\"ph\":\"i\",\"s\":\"g\",\"name\":\"%lld commands are left "
                       "out\",\"cat\":\"warning\",\"pid\":%d,\"tid\":0,"
                       "\"ts\":" US ",\"args\":{\"left_out\":%lld}}",
                       missing, THREADS, IN_US(dvt_now_ns()), missing);
  atomic_store(&dvt_trace_runs, false);
  if (ask_devices)
    dvt_anchors_end();
  return dvt_trace_file_close();
}

davit_status davit_trace_start(const char *path) {
  DVT_UNCANCELLED;
  DVT_TRY(dvt_check_pointer("path", path));
  pthread_mutex_lock(&lock);
  davit_status status = dvt_tracing() ? davit_fail(DAVIT_INVALID_STATE, "a trace is being written already")
                                      : start("path", path, false);
  pthread_mutex_unlock(&lock);
  return status;
}

davit_status davit_trace_stop(void) {
  DVT_UNCANCELLED;
  pthread_mutex_lock(&lock);
  davit_status status =
      dvt_tracing() ? stop(true) : davit_fail(DAVIT_INVALID_STATE, "no trace is being written");
  pthread_mutex_unlock(&lock);
  return status;
}

/* A library that is started again goes on with its file. A child after fork() has a file of its own, or
 * none. */
davit_status dvt_trace_begin(void) {
  const char *path = dvt_environment("DAVIT_TRACE");
  davit_status status = DAVIT_SUCCESS;
  if (!path || !*path || (dvt_process() > 0 && !strstr(path, "%p")))
    return status;
  pthread_mutex_lock(&lock);
  if (!dvt_tracing())
    status = start("DAVIT_TRACE", path, true);
  pthread_mutex_unlock(&lock);
  return status;
}

davit_status dvt_trace_finish(void) {
  pthread_mutex_lock(&lock);
  const davit_status status = stop(true);
  pthread_mutex_unlock(&lock);
  return status;
}

void dvt_trace_leave(void) {
  pthread_mutex_lock(&lock);
  (void)stop(false);
  pthread_mutex_unlock(&lock);
}

static void forget(void) {
  atomic_store(&dvt_trace_runs, false);
  atomic_store(&spans, 0);
  timelines = NULL;
  dvt_anchors_forget();
  dvt_trace_file_forget();
}

__attribute__((constructor)) static void hold_at_fork(void) {
  static const dvt_fork_part part = {.lock = &lock, .child = forget};
  dvt_on_fork(DVT_FORK_TRACE, &part);
}
