/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/lane.h"

#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/order.h"
#include "src/base/thread.h"
#include "src/runtime/generator.h"
#include "src/runtime/memory.h"
#include "src/runtime/statistics.h"

/* ---- when the process ends ---- */

/* Host functions may still end by themselves; other work that is under way is the back end's, and abandoned. */
static void take_from_backend(dvt_lane *lane) {
  bool idle;
  while (!(idle = dvt_backend_running()->is_idle(lane)) && lane != dvt_lane_current() &&
         !dvt_ending_is_overdue())
    dvt_nap(1000000);
  while (idle && lane->stream && !dvt_lane_stream_is_idle(lane) && !dvt_ending_is_overdue())
    dvt_nap(1000000); /* what comes now may not be on the stream */
  lane->left = true;
  lane->abandoned = !idle;
}

/* The back end has been left, and the calling thread does the command at once. */
static void run_here(dvt_command *command) {
  dvt_lane *lane = command->lane;
  if (!lane->left)
    take_from_backend(lane);
  if (lane->abandoned)
    dvt_lane_fail(lane, DAVIT_WORK_FAILED, "the process ends, and work of the queue was abandoned");
  dvt_command_run(command);
  dvt_command_free(command);
}

/* ---- submitting ---- */

/* Counted when it is in the back end's hands: whoever sees the count and then records comes after it. */
static void submit(dvt_command *command) {
  dvt_lane *lane = command->lane;
  dvt_order_before(command);
  dvt_count_add(DVT_COUNT_BACKEND_CALLS, 1);
  dvt_thread_is_last() ? run_here(command) : dvt_backend_running()->submit(command);
  atomic_fetch_add(&lane->enqueued, 1);
}

davit_status dvt_lane_submit_work(dvt_lane *lane, dvt_command_kind kind, const dvt_work *work,
                                  const void *arguments, size_t bytes) {
  static const char *const kinds[] = {[DVT_STREAMED] = "stream",
                                      [DVT_STAGED] = "transfer",
                                      [DVT_REGION] = "region",
                                      [DVT_BLOCKING] = "host",
                                      [DVT_TRANSFER] = "transfer"};
  dvt_command *command = dvt_command_new(lane, kind, bytes);
  if (!command)
    return DAVIT_OUT_OF_HOST_MEMORY;
  command->work = work->form;
  command->name = work->name;
  command->stream = work->stream;
  command->threads = work->threads;
  memcpy(command->arguments, arguments, bytes);
  if (dvt_tracing())
    command->span = dvt_span_work(&lane->timeline, work->name, kinds[kind], work->moves);
  submit(command);
  return DAVIT_SUCCESS;
}

davit_status dvt_lane_submit(dvt_lane *lane, dvt_command_kind kind, dvt_form work, const void *arguments,
                             size_t bytes) {
  const dvt_work whole = {.form = work, .name = "work", .stream = true, .threads = lane->threads};
  return dvt_lane_submit_work(lane, kind, &whole, arguments, bytes);
}

davit_status dvt_lane_record(dvt_lane *lane, bool timed, dvt_record **record) {
  dvt_command *command = dvt_command_new(lane, DVT_RECORD, 0);
  dvt_record *made = command ? dvt_record_new(lane->device, lane->issues_records, timed) : NULL;
  if (!made) {
    free(command);
    return DAVIT_OUT_OF_HOST_MEMORY;
  }
  command->record = dvt_record_hold(made);
  if (dvt_tracing())
    command->span = dvt_span_record(&lane->timeline, made);
  submit(command);
  *record = made;
  return DAVIT_SUCCESS;
}

davit_status dvt_lane_wait(dvt_lane *lane, dvt_record *record) {
  dvt_command *command = dvt_command_new(lane, DVT_WAIT, 0);
  if (!command)
    return DAVIT_OUT_OF_HOST_MEMORY;
  command->record = dvt_record_hold(record);
  if (dvt_tracing())
    command->span = dvt_span_wait(&lane->timeline, record);
  submit(command);
  return DAVIT_SUCCESS;
}

static davit_status take_error(dvt_lane *lane) {
  pthread_mutex_lock(&lane->lock);
  dvt_error error = lane->error;
  lane->error.status = DAVIT_SUCCESS;
  atomic_store(&lane->failed, false);
  pthread_mutex_unlock(&lane->lock);
  return dvt_error_report(&error);
}

/* Waits for a record of the lane. If it failed, the lane's error is this caller's to report and to clear; an
 * error met after the record belongs to a later synchronisation. */
static davit_status flushed(dvt_lane *lane, dvt_record *record, long long upto) {
  davit_status status = dvt_record_wait(record);
  davit_status kept = status == DAVIT_SUCCESS ? DAVIT_SUCCESS : take_error(lane);
  if (atomic_load(&lane->enqueued) == upto + 1)
    atomic_store(&lane->synchronised, upto + 1);
  return kept != DAVIT_SUCCESS ? kept : status;
}

/* One record per lane first, then one wait after the other: a snapshot of all lanes. */
davit_status dvt_lanes_synchronize(dvt_lane *const *lanes, int count) {
  DVT_UNCANCELLED;
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
      bool idle = upto[i] == atomic_load(&lane->synchronised) && !atomic_load(&lane->failed) &&
                  !atomic_load(&lane->shared);
      if (!idle)
        dvt_error_keep(&first, dvt_lane_record(lane, false, &records[i]));
    }
    for (int i = 0; i < n; i++) /* asking the device sooner would hold up whoever enqueues the rest */
      if (records[i])
        dvt_record_wait_issued(records[i]);
    dvt_records_join(records, n);
    for (int i = 0; i < n; i++) {
      if (records[i])
        dvt_error_keep(&first, flushed(lanes[begin + i], records[i], upto[i]));
      dvt_record_drop(records[i]);
    }
  }
  return dvt_wait_end(&wait, dvt_error_report(&first));
}

davit_status dvt_lane_share(dvt_lane *lane) {
  DVT_UNCANCELLED;
  dvt_record *record;
  DVT_TRY(dvt_may_wait());
  if (!lane->stream)
    return davit_fail(DAVIT_UNSUPPORTED, "device %d has no streams to share", lane->device);
  atomic_store(&lane->shared, true);
  DVT_TRY(dvt_lane_record(lane, false, &record));
  dvt_record_wait_issued(record);
  dvt_record_drop(record);
  return DAVIT_SUCCESS;
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
    davit_status status = dvt_malloc(made->bytes, lane->device, &made->memory);
    if (status != DAVIT_SUCCESS && made->bytes > bytes) {
      made->bytes = bytes;
      status = dvt_malloc(made->bytes, lane->device, &made->memory);
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

davit_status dvt_lane_reserve(dvt_lane *lane, size_t bytes) {
  void *memory;
  DVT_INSIDE;
  return workspace(&lane->site, bytes, &memory);
}

static davit_status counters_of(const dvt_site *site, uint32_t **counters) {
  dvt_lane *lane = site->owner;
  if (!lane->counters) {
    void *memory;
    size_t bytes = DVT_SITE_COUNTERS * sizeof *lane->counters;
    DVT_TRY(dvt_malloc(bytes, lane->device, &memory));
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

static void close_in_backend(dvt_lane *lane) {
  dvt_backend_running()->close(lane);
  DVT_INSIDE_IF(lane->stream && dvt_lane_is_gpu(lane));
  if (lane->stream)
    dvt_stream_release(lane->stream);
}

static davit_status take_stream(dvt_lane *lane, void *interop, void *native) {
  if (!dvt_lane_has_stream(lane->device))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_acquire(lane->device, lane->role, &lane->stream));
  const bool shared = interop || native;
  atomic_store(&lane->shared, shared);
  return shared ? dvt_stream_adopt(lane->stream, interop, native) : DAVIT_SUCCESS;
}

static davit_status open_in_backend(dvt_lane *lane, void *interop, void *native) {
  DVT_INSIDE_IF(dvt_lane_is_gpu(lane));
  davit_status status = take_stream(lane, interop, native);
  if (status == DAVIT_SUCCESS)
    status = dvt_backend_running()->open(lane);
  if (status != DAVIT_SUCCESS && lane->stream)
    dvt_stream_release(lane->stream);
  return status;
}

static davit_status lane_prepare(dvt_lane *lane, void *interop, void *native) {
  DVT_TRY(open_in_backend(lane, interop, native));
  lane->last_command = dvt_command_new(lane, DVT_RECORD, 0);
  if (lane->last_command)
    lane->last_command->record = dvt_record_new(lane->device, lane->issues_records, false);
  if (lane->last_command && lane->last_command->record)
    return DAVIT_SUCCESS;
  close_in_backend(lane);
  return DAVIT_OUT_OF_HOST_MEMORY;
}

davit_status dvt_may_wait(void) {
  return dvt_generator_is_here()
             ? davit_fail(DAVIT_WOULD_DEADLOCK,
                          "a nowait region's function runs where all tasks are generated, "
                          "and cannot wait")
             : DAVIT_SUCCESS;
}

static davit_status open_lane(int device, dvt_stream_role role, void *interop, void *native,
                              dvt_lane **lane) {
  DVT_UNCANCELLED;
  DVT_TRY(dvt_may_wait());
  DVT_TRY(dvt_start());
  dvt_lane *made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  made->device = made->timeline.device = device;
  made->role = role;
  made->threads = dvt_device_threads(device);
  made->site = (dvt_site){.device = device,
                          .order = &made->address,
                          .owner = made,
                          .workspace = workspace,
                          .counters = counters_of};
  pthread_mutex_init(&made->lock, NULL);
  dvt_backend_hold();
  davit_status status = lane_prepare(made, interop, native);
  if (status != DAVIT_SUCCESS) {
    dvt_backend_drop();
    lane_free(made);
    return status;
  }
  *lane = made;
  return DAVIT_SUCCESS;
}

davit_status dvt_lane_open(int device, dvt_lane **lane) {
  return open_lane(device, DVT_STREAM_MIXED, NULL, NULL, lane);
}

davit_status dvt_lane_open_for(int device, dvt_stream_role role, dvt_lane **lane) {
  return open_lane(device, role, NULL, NULL, lane);
}

davit_status dvt_lane_open_on(int device, void *interop, void *native, dvt_lane **lane) {
  return open_lane(device, DVT_STREAM_MIXED, interop, native, lane);
}

davit_status dvt_lane_finish(dvt_lane *lane) {
  DVT_UNCANCELLED;
  const dvt_backend *backend = dvt_backend_running();
  if (backend->flush && !dvt_thread_is_last() && !dvt_tracing() && backend->flush(lane))
    return take_error(lane);
  dvt_command *command = lane->last_command;
  dvt_record *record = dvt_record_hold(command->record);
  lane->last_command = NULL;
  submit(command);
  const dvt_wait wait = dvt_wait_begin("the end of a call");
  davit_status status = flushed(lane, record, atomic_load(&lane->enqueued));
  dvt_record_drop(record);
  return dvt_wait_end(&wait, status);
}

void dvt_lane_release(dvt_lane *lane) {
  DVT_UNCANCELLED;
  if (lane->abandoned)
    return;
  dvt_timeline_end(&lane->timeline);
  close_in_backend(lane);
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
