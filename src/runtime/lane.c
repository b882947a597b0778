/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/lane.h"

#include <davit/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/ending.h"
#include "src/base/inject.h"
#include "src/base/order.h"
#include "src/base/team.h"
#include "src/runtime/generator.h"
#include "src/runtime/memory.h"
#include "src/runtime/statistics.h"

static _Thread_local dvt_lane *current;

/* ---- lanes ---- */

dvt_lane *dvt_lane_current(void) {
  return current;
}

void dvt_lane_fail(dvt_lane *lane, davit_status status, const char *message) {
  pthread_mutex_lock(&lane->lock);
  if (lane->error.status == DAVIT_SUCCESS) {
    lane->error.status = status;
    snprintf(lane->error.message, sizeof lane->error.message, "%s",
             *message ? message : davit_status_string(status));
    atomic_store(&lane->failed, true);
  }
  pthread_mutex_unlock(&lane->lock);
}

davit_status dvt_lane_error(dvt_lane *lane) {
  if (!atomic_load(&lane->failed))
    return DAVIT_SUCCESS;
  pthread_mutex_lock(&lane->lock);
  dvt_error error = lane->error;
  pthread_mutex_unlock(&lane->lock);
  return dvt_error_report(&error);
}

static davit_status take_error(dvt_lane *lane) {
  pthread_mutex_lock(&lane->lock);
  dvt_error error = lane->error;
  lane->error.status = DAVIT_SUCCESS;
  atomic_store(&lane->failed, false);
  pthread_mutex_unlock(&lane->lock);
  return dvt_error_report(&error);
}

/* ---- enqueueing ---- */

static dvt_command *command_new(dvt_lane *lane, dvt_command_kind kind, size_t bytes) {
  dvt_command *command = dvt_allocate_raw(offsetof(dvt_command, arguments) + bytes);
  if (!command)
    return NULL;
  command->next = NULL;
  command->lane = lane;
  command->kind = kind;
  command->work = NULL;
  command->record = NULL;
  command->span = NULL;
  command->over = NULL;
  return command;
}

/* Counted when it is in the back end's hands: whoever sees the count and then records comes after it. */
static void submit(dvt_command *command) {
  dvt_lane *lane = command->lane;
  dvt_order_before(command);
  dvt_count_add(DVT_COUNT_BACKEND_CALLS, 1);
  dvt_backend_running()->submit(command);
  atomic_fetch_add(&lane->enqueued, 1);
}

davit_status dvt_lane_submit_work(dvt_lane *lane, dvt_command_kind kind, const dvt_work *work,
                                  const void *arguments, size_t bytes) {
  static const char *const kinds[] = {[DVT_STREAMED] = "stream",
                                      [DVT_REGION] = "region",
                                      [DVT_BLOCKING] = "host",
                                      [DVT_TRANSFER] = "transfer"};
  dvt_command *command = command_new(lane, kind, bytes);
  if (!command)
    return DAVIT_OUT_OF_HOST_MEMORY;
  command->work = work->form;
  command->stream = work->stream;
  command->threads = work->threads;
  memcpy(command->arguments, arguments, bytes);
  if (dvt_tracing())
    command->span = dvt_span_work(&lane->trail, work->name, kinds[kind], work->moves);
  submit(command);
  return DAVIT_SUCCESS;
}

davit_status dvt_lane_submit(dvt_lane *lane, dvt_command_kind kind, dvt_form work, const void *arguments,
                             size_t bytes) {
  const dvt_work whole = {.form = work, .name = "work", .stream = true, .threads = lane->threads};
  return dvt_lane_submit_work(lane, kind, &whole, arguments, bytes);
}

davit_status dvt_lane_record(dvt_lane *lane, bool timed, dvt_record **record) {
  dvt_command *command = command_new(lane, DVT_RECORD, 0);
  dvt_record *made = command ? dvt_record_new(lane->device, lane->marks_records, timed) : NULL;
  if (!made) {
    free(command);
    return DAVIT_OUT_OF_HOST_MEMORY;
  }
  command->record = dvt_record_hold(made);
  if (dvt_tracing())
    command->span = dvt_span_record(&lane->trail, &made->point);
  submit(command);
  *record = made;
  return DAVIT_SUCCESS;
}

davit_status dvt_lane_wait(dvt_lane *lane, dvt_record *record) {
  dvt_command *command = command_new(lane, DVT_WAIT, 0);
  if (!command)
    return DAVIT_OUT_OF_HOST_MEMORY;
  command->record = dvt_record_hold(record);
  if (dvt_tracing())
    command->span = dvt_span_wait(&lane->trail, record->point);
  submit(command);
  return DAVIT_SUCCESS;
}

/* Waits for a record of the lane. If it failed, the lane's error is this caller's to report and to clear; an
 * error met after the record belongs to a later synchronisation. */
static davit_status drained(dvt_lane *lane, dvt_record *record, long long upto) {
  davit_status status = dvt_record_wait(record);
  davit_status kept = status == DAVIT_SUCCESS ? DAVIT_SUCCESS : take_error(lane);
  if (atomic_load(&lane->enqueued) == upto + 1)
    atomic_store(&lane->synchronised, upto + 1);
  return kept != DAVIT_SUCCESS ? kept : status;
}

/* One record per lane first, then one wait after the other: a snapshot of all lanes. */
davit_status dvt_lanes_synchronize(dvt_lane *const *lanes, int count) {
  enum { BATCH = 64 };
  DVT_TRY(dvt_may_wait());
  dvt_error first = {.status = DAVIT_SUCCESS};
  const dvt_wait wait = dvt_wait_begin("the end of a call");
  for (int begin = 0; begin < count; begin += BATCH) {
    int n = count - begin < BATCH ? count - begin : BATCH;
    dvt_record *records[BATCH] = {NULL};
    long long upto[BATCH];
    for (int i = 0; i < n; i++) {
      dvt_lane *lane = lanes[begin + i];
      upto[i] = atomic_load(&lane->enqueued);
      bool idle = upto[i] == atomic_load(&lane->synchronised) && !atomic_load(&lane->failed);
      if (!idle)
        dvt_error_keep(&first, dvt_lane_record(lane, false, &records[i]));
    }
    for (int i = 0; i < n; i++) /* asking the device sooner would hold up whoever enqueues the rest */
      if (records[i])
        dvt_record_wait_issued(records[i]);
    dvt_records_join(records, n);
    for (int i = 0; i < n; i++) {
      if (records[i])
        dvt_error_keep(&first, drained(lanes[begin + i], records[i], upto[i]));
      dvt_record_drop(records[i]);
    }
  }
  return dvt_wait_end(&wait, dvt_error_report(&first));
}

/* ---- scratch memory ---- */

struct dvt_workspace {
  dvt_workspace *older;
  void *memory;
  size_t bytes;
};

static davit_status workspace(const dvt_site *site, size_t bytes, void **pointer) {
  enum { LEAST = 1 << 20 };
  dvt_lane *lane = site->owner;
  dvt_workspace *newest = lane->workspace;
  if (!newest || newest->bytes < bytes) {
    dvt_workspace *made = dvt_allocate(1, sizeof *made);
    if (!made)
      return DAVIT_OUT_OF_HOST_MEMORY;
    /* At least doubled: all older ones together are smaller than the newest. */
    size_t least = newest ? 2 * newest->bytes : LEAST;
    made->bytes = bytes > least ? bytes : least;
    davit_status status = davit_malloc(made->bytes, lane->device, &made->memory);
    if (status != DAVIT_SUCCESS && made->bytes > bytes) {
      made->bytes = bytes;
      status = davit_malloc(made->bytes, lane->device, &made->memory);
    }
    if (status != DAVIT_SUCCESS) {
      free(made);
      return status;
    }
    made->older = newest;
    lane->workspace = made;
  }
  *pointer = lane->workspace->memory;
  return DAVIT_SUCCESS;
}

static davit_status counters_of(const dvt_site *site, uint32_t **counters) {
  dvt_lane *lane = site->owner;
  if (!lane->counters) {
    void *memory;
    size_t bytes = DVT_SITE_COUNTERS * sizeof *lane->counters;
    DVT_TRY(davit_malloc(bytes, lane->device, &memory));
    davit_status status = dvt_stream_fill(lane->stream, memory, 0, bytes);
    if (status != DAVIT_SUCCESS) {
      davit_free(memory);
      return status;
    }
    lane->counters = memory;
  }
  *counters = lane->counters;
  return DAVIT_SUCCESS;
}

static void scratch_free(dvt_lane *lane) {
  while (lane->workspace) {
    dvt_workspace *older = lane->workspace->older;
    davit_free(lane->workspace->memory);
    free(lane->workspace);
    lane->workspace = older;
  }
  davit_free(lane->counters);
}

/* ---- opening and closing ---- */

static void lane_free(dvt_lane *lane) {
  if (lane->last_command)
    dvt_command_free(lane->last_command);
  pthread_mutex_destroy(&lane->lock);
  free(lane);
}

static davit_status open_in_backend(dvt_lane *lane) {
  const bool guarded = dvt_lane_is_gpu(lane);
  if (guarded)
    dvt_ending_enter();
  const davit_status status = dvt_backend_running()->open(lane);
  if (guarded)
    dvt_ending_leave();
  return status;
}

static davit_status lane_prepare(dvt_lane *lane) {
  DVT_TRY(open_in_backend(lane));
  lane->last_command = command_new(lane, DVT_RECORD, 0);
  if (lane->last_command)
    lane->last_command->record = dvt_record_new(lane->device, lane->marks_records, false);
  if (lane->last_command && lane->last_command->record)
    return DAVIT_SUCCESS;
  dvt_backend_running()->close(lane);
  return DAVIT_OUT_OF_HOST_MEMORY;
}

davit_status dvt_may_wait(void) {
  return dvt_generator_is_here()
             ? davit_fail(DAVIT_WOULD_DEADLOCK,
                          "a nowait region's function runs where all tasks are generated, "
                          "and cannot wait")
             : DAVIT_SUCCESS;
}

davit_status dvt_lane_open(int device, dvt_lane **lane) {
  DVT_TRY(dvt_may_wait());
  DVT_TRY(dvt_start());
  dvt_lane *made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  made->device = made->trail.device = device;
  made->threads = dvt_device_threads(device);
  pthread_mutex_init(&made->lock, NULL);
  dvt_backend_hold();
  davit_status status = lane_prepare(made);
  if (status != DAVIT_SUCCESS) {
    dvt_backend_drop();
    lane_free(made);
    return status;
  }
  *lane = made;
  return DAVIT_SUCCESS;
}

davit_status dvt_lane_finish(dvt_lane *lane) {
  dvt_command *command = lane->last_command;
  dvt_record *record = dvt_record_hold(command->record);
  lane->last_command = NULL;
  submit(command);
  const dvt_wait wait = dvt_wait_begin("the end of a call");
  davit_status status = drained(lane, record, atomic_load(&lane->enqueued));
  dvt_record_drop(record);
  return dvt_wait_end(&wait, status);
}

void dvt_lane_release(dvt_lane *lane) {
  dvt_trail_end(&lane->trail);
  dvt_backend_running()->close(lane);
  scratch_free(lane);
  lane_free(lane);
  dvt_backend_drop();
}

davit_status dvt_lane_close(dvt_lane *lane) {
  davit_status status = dvt_lane_finish(lane);
  dvt_lane_release(lane);
  return status;
}

davit_status dvt_lane_end(dvt_lane *lane, davit_status status) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, status);
  dvt_error_keep(&first, dvt_lane_close(lane));
  return dvt_error_report(&first);
}

/* ---- for back ends ---- */

bool dvt_lane_wants_stream(const dvt_lane *lane) {
  return dvt_device_find(lane->device)->ordinal >= 0;
}

bool dvt_lane_is_gpu(const dvt_lane *lane) {
  return dvt_ending_is_guarded() &&
         (dvt_lane_wants_stream(lane) || !dvt_device_find(lane->device)->shares_host_memory);
}

davit_status dvt_host_form(dvt_form form, const dvt_site *site, const void *arguments) {
  const dvt_team team = dvt_team_begin(site->threads);
  dvt_site here = *site;
  here.threads = team.threads;
  davit_status status = form(&here, arguments);
  dvt_team_end(&team);
  return status;
}

static bool is_host_form(const dvt_command *command) {
  return !command->stream && command->threads > 0;
}

/* Whether the command calls the runtime of a GPU, or may. */
static bool is_for_gpu(const dvt_command *command) {
  return !is_host_form(command) && dvt_lane_is_gpu(command->lane);
}

static davit_status work(dvt_command *command, const dvt_site *site) {
  if (dvt_injected(DVT_INJECT_RUN))
    return davit_fail(DAVIT_DEVICE_LOST, "device %d does not answer", command->lane->device);
  return is_host_form(command) ? dvt_host_form(command->work, site, command->arguments)
                               : command->work(site, command->arguments);
}

static void end_span(dvt_command *command, dvt_stream *stream, bool skipped) {
  if (command->span)
    dvt_span_end(command->span, stream, skipped);
  command->span = NULL;
}

void dvt_command_begin_wait(dvt_command *command, dvt_stream *stream) {
  if (command->span)
    dvt_span_begin(command->span, stream);
}

void dvt_command_end(dvt_command *command, dvt_stream *stream) {
  end_span(command, stream, false);
}

static void work_in_trace(dvt_command *command) {
  dvt_lane *lane = command->lane;
  dvt_span *span = command->kind == DVT_REGION ? NULL : command->span;
  dvt_stream *traced = command->kind == DVT_STREAMED ? lane->stream : NULL;
  const dvt_site site = {.device = lane->device,
                         .stream = command->stream ? lane->stream : NULL,
                         .threads = command->threads,
                         .order = &lane->token,
                         .owner = lane,
                         .workspace = workspace,
                         .counters = counters_of};
  dvt_lane *outer = current;
  if (command->kind != DVT_STREAMED)
    current = lane;
  dvt_order_after(command);
  dvt_order_after(lane);
  if (span)
    dvt_span_begin(span, traced);
  dvt_error_clear();
  davit_status status = work(command, &site);
  dvt_order_before(lane);
  current = outer;
  if (status != DAVIT_SUCCESS)
    dvt_lane_fail(lane, status, davit_last_error());
  if (span)
    end_span(command, traced, false);
}

/* On a stopped lane it calls no device and does not sleep: it may be in a callback of the device runtime. */
void dvt_command_work(dvt_command *command) {
  if (atomic_load(&command->lane->failed)) {
    end_span(command, NULL, true);
    return;
  }
  const bool guarded = is_for_gpu(command);
  if (guarded)
    dvt_ending_enter();
  work_in_trace(command);
  if (guarded)
    dvt_ending_leave();
}

void dvt_command_pass_failure(dvt_command *command) {
  dvt_record *record = command->record;
  dvt_record_state state = dvt_record_known(record);
  const bool placed = state == DVT_RECORD_ISSUED || record->certain;
  if (state == DVT_RECORD_FAILED || (placed && record->doomed))
    dvt_lane_fail(command->lane, record->error.status, record->error.message);
  dvt_order_before(command->lane);
}

void dvt_command_finish_record(dvt_command *command) {
  dvt_order_after(command->lane);
  davit_status status = dvt_lane_error(command->lane);
  end_span(command, NULL, status != DAVIT_SUCCESS);
  dvt_record_finish(command->record, status, status == DAVIT_SUCCESS ? "" : davit_last_error());
}

void dvt_command_free(dvt_command *command) {
  dvt_record_drop(command->record);
  dvt_span_drop(command->span);
  free(command);
}
