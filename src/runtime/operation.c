/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/operation.h"

#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "offload/runtime/profile.h"
#include "offload/runtime/stream.h"
#include "src/base/allocate.h"
#include "src/base/clock.h"
#include "src/base/ending.h"
#include "src/base/environment.h"
#include "src/base/inject.h"
#include "src/base/team.h"
#include "src/base/thread.h"
#include "src/runtime/backend_openmp.h"
#include "src/runtime/memory.h"
#include "src/runtime/tuning.h"

/* ---- options ---- */

davit_status dvt_choose_devices(const int *devices, int device_count, int *chosen, int *count) {
  DVT_TRY(dvt_start());
  if (!devices && device_count == 0) {
    DVT_TRY(davit_device_defaults(DVT_MAX_DEVICES, chosen, count));
    *count = *count < DVT_MAX_DEVICES ? *count : DVT_MAX_DEVICES;
    return DAVIT_SUCCESS;
  }
  if (!devices)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->devices is NULL, but options->device_count is %d",
                      device_count);
  if (device_count < 1 || device_count > DVT_MAX_DEVICES)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->device_count is %d, not 1 to %d", device_count,
                      DVT_MAX_DEVICES);
  for (int i = 0; i < device_count; i++) {
    DVT_TRY(dvt_resolve_device(devices[i], &chosen[i]));
    for (int j = 0; j < i; j++)
      if (chosen[j] == chosen[i])
        return davit_fail(DAVIT_INVALID_ARGUMENT, "options->devices names device %d twice", chosen[i]);
  }
  *count = device_count;
  return DAVIT_SUCCESS;
}

davit_status dvt_choose_mapped(const int *devices, int device_count, int *chosen, int *count) {
  static const int current = DAVIT_CURRENT;
  if (devices && device_count > 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "options->mapped is set, but options->device_count is %d, not 1", device_count);
  const bool named = devices || device_count;
  return dvt_choose_devices(named ? devices : &current, named ? device_count : 1, chosen, count);
}

davit_status dvt_use_mapped(int device, size_t count, const dvt_mappable *operands) {
  const dvt_device *found = dvt_device_find(device);
  if (!found->shares_host_memory && found->ordinal < 0) /* whose addresses nothing tells from the host's */
    return davit_fail(DAVIT_UNSUPPORTED,
                      "options->mapped is set, but device %d is a GPU that is not NVIDIA's", device);
  DVT_INSIDE;
  for (size_t i = 0; i < count; i++) {
    void *pointer;
    memcpy(&pointer, operands[i].pointer, sizeof pointer);
    if (!pointer || operands[i].unused)
      continue;
    void *const mapped = dvt_device_mapped(device, pointer);
    if (!mapped)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "options->mapped is set, but %s is not mapped on device %d",
                        operands[i].name, device);
    memcpy(operands[i].pointer, &mapped, sizeof mapped);
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_check_no_devices(const int *devices, int device_count) {
  if (devices || device_count)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->%s is set, but the queue has its device",
                      devices ? "devices" : "device_count");
  return DAVIT_SUCCESS;
}

/* ---- commands ---- */

dvt_path dvt_path_on(int device, bool stream, const dvt_operation *operation) {
  const char *forced = dvt_environment("DAVIT_BLAS");
  const dvt_device *found = dvt_device_find(device);
  const bool region =
      device != DAVIT_HOST && (!found->runs_on_host || !operation || operation->region_on_host);
  if (region && forced && strcmp(forced, "target") == 0)
    return DVT_AS_REGION;
  if (stream && (!operation || (operation->stream && !(operation->prepare && dvt_thread_is_last()))))
    return DVT_ON_STREAM;
  return region && !found->shares_host_memory ? DVT_AS_REGION : DVT_ON_HOST;
}

dvt_path dvt_path_of(const dvt_lane *lane, const dvt_operation *operation) {
  return dvt_path_on(lane->device, lane->stream != NULL, operation);
}

/* `wanted`, or what was tuned, or `all`. */
static int host_threads(int device, const dvt_operation *operation, int wanted, int all) {
  if (operation->serial || wanted == DVT_ALONE)
    return 1;
  if (wanted > 0)
    return wanted;
  return operation->tuned_threads ? (int)dvt_tuned(device, (dvt_tunable)operation->tuned_threads, all) : all;
}

/* Where the process ends nothing of the graph begins: the region form waits on a thread of its own. */
static bool can_be_tasks(const dvt_lane *lane, const dvt_operation *operation, const void *arguments) {
  return operation->tasks && dvt_backend_running() == &dvt_backend_openmp && !dvt_thread_is_last() &&
         operation->has_tasks(lane->device, arguments);
}

davit_status dvt_operation_submit(dvt_lane *lane, const dvt_operation *operation, const void *arguments,
                                  int threads) {
  const bool shares = dvt_device_find(lane->device)->shares_host_memory;
  switch (dvt_path_of(lane, operation)) {
  case DVT_ON_STREAM:
    return dvt_lane_submit_work(
        lane, DVT_STREAMED, &(dvt_work){.form = operation->stream, .name = operation->name, .stream = true},
        arguments, operation->bytes);
  case DVT_ON_HOST:
    threads = host_threads(lane->device, operation, threads, lane->threads);
    return dvt_lane_submit_work(
        lane, DVT_BLOCKING, &(dvt_work){.form = operation->host, .name = operation->name, .threads = threads},
        arguments, operation->bytes);
  default:
    if (can_be_tasks(lane, operation, arguments))
      return dvt_lane_submit_work(lane, DVT_REGION,
                                  &(dvt_work){.form = operation->tasks, .name = operation->name}, arguments,
                                  operation->bytes);
    return dvt_lane_submit_work(lane, shares ? DVT_BLOCKING : DVT_TRANSFER,
                                &(dvt_work){.form = operation->region, .name = operation->name}, arguments,
                                operation->bytes);
  }
}

davit_status dvt_operation_prepare(dvt_lane *lane, const dvt_operation *operation) {
  dvt_site site = lane->site;
  if (!operation->prepare || dvt_path_of(lane, operation) != DVT_ON_STREAM)
    return DAVIT_SUCCESS;
  site.stream = lane->stream;
  DVT_INSIDE;
  DVT_KEEP_CURRENT;
  return operation->prepare(&site);
}

davit_status dvt_operation_run(const dvt_site *site, const dvt_operation *operation, const void *arguments) {
  switch (dvt_path_of(site->owner, operation)) {
  case DVT_ON_STREAM:
    return operation->stream(site, arguments);
  case DVT_ON_HOST:
    return dvt_host_form(operation->host, site, arguments);
  default:
    return operation->region(site, arguments);
  }
}

/* The scratch memory of an operation that no lane runs: one block, which is asked for once. */
static davit_status workspace_here(const dvt_site *site, size_t bytes, void **pointer) {
  void **block = site->owner;
  if (!*block && !(*block = dvt_allocate_aligned(bytes)))
    return DAVIT_OUT_OF_HOST_MEMORY;
  *pointer = *block;
  return DAVIT_SUCCESS;
}

bool dvt_operation_runs_here(int device, const dvt_operation *operation, int threads) {
  return dvt_path_on(device, dvt_device_find(device)->ordinal >= 0, operation) == DVT_ON_HOST &&
         (threads == DVT_ALONE || dvt_team_may_lead());
}

davit_status dvt_operation_run_here(int device, const dvt_operation *operation, const void *arguments,
                                    int threads) {
  void *block = NULL;
  const dvt_site site = {.device = device,
                         .threads = host_threads(device, operation, threads, dvt_device_threads(device)),
                         .owner = &block,
                         .workspace = workspace_here};
  DVT_TRY(dvt_may_wait());
  if (dvt_injected(DVT_INJECT_RUN))
    return davit_fail(DAVIT_DEVICE_LOST, "device %d does not answer", device);
  const int64_t begin = dvt_now_ns();
  dvt_profile_push(operation->name);
  const davit_status status = threads == DVT_ALONE ? operation->host(&site, arguments)
                                                   : dvt_host_form(operation->host, &site, arguments);
  dvt_profile_pop();
  if (dvt_tracing())
    dvt_trace_thread(operation->name, "compute", begin, dvt_now_ns());
  free(block);
  return status;
}

/* A stream form whose result is pageable: the arguments follow this head. */
typedef struct staged {
  const dvt_operation *operation;
  size_t offset, bytes; /* of the pointer to the result in the arguments; of the result */
  alignas(16) unsigned char arguments[256];
} staged;

static davit_status run_staged(const dvt_site *site, const void *arguments) {
  staged s = *(const staged *)arguments;
  void *result, *pinned;
  DVT_TRY(dvt_malloc(s.bytes, DAVIT_PINNED, &pinned));
  memcpy(&result, s.arguments + s.offset, sizeof result);
  memcpy(s.arguments + s.offset, &pinned, sizeof pinned);
  davit_status status = s.operation->stream(site, s.arguments);
  davit_status end = dvt_stream_synchronize(site->stream);
  status = status == DAVIT_SUCCESS ? end : status;
  if (status == DAVIT_SUCCESS)
    memcpy(result, pinned, s.bytes);
  davit_free(pinned);
  return status;
}

davit_status dvt_operation_submit_result(dvt_lane *lane, const dvt_operation *operation,
                                         const void *arguments, int threads, void *const *result,
                                         size_t bytes) {
  if (dvt_path_of(lane, operation) != DVT_ON_STREAM || dvt_place_is_streamable(dvt_place_of(*result)))
    return dvt_operation_submit(lane, operation, arguments, threads);
  staged s = {operation, (size_t)((const char *)result - (const char *)arguments), bytes, {0}};
  memcpy(s.arguments, arguments, operation->bytes);
  return dvt_lane_submit_work(lane, DVT_BLOCKING,
                              &(dvt_work){.form = run_staged, .name = operation->name, .stream = true}, &s,
                              sizeof s);
}

davit_status dvt_operation_enqueue(davit_queue *queue, const dvt_operation *operation, void *arguments,
                                   bool mapped) {
  dvt_lane *lane = dvt_queue_lane(queue);
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(operation->check(arguments));
  if (mapped)
    DVT_TRY(operation->use_mapped(arguments, lane->device));
  return dvt_operation_submit(lane, operation, arguments, 0);
}
