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
#include "src/runtime/memory.h"
#include "src/runtime/tuning.h"

/* ---- options ---- */

davit_status dvt_choose_devices(dvt_where where, int *chosen, int *count) {
  static const int current = DAVIT_CURRENT;
  DVT_TRY(where.status);
  if (where.mapped && where.devices && where.device_count > 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "options->mapped is set, but options->device_count is %d, not 1", where.device_count);
  if (where.mapped && !where.devices && !where.device_count) {
    where.devices = &current;
    where.device_count = 1;
  }
  DVT_TRY(dvt_start());
  if (!where.devices && where.device_count == 0) {
    DVT_TRY(davit_device_defaults(DVT_MAX_DEVICES, chosen, count));
    *count = *count < DVT_MAX_DEVICES ? *count : DVT_MAX_DEVICES;
    return DAVIT_SUCCESS;
  }
  if (!where.devices)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->devices is NULL, but options->device_count is %d",
                      where.device_count);
  if (where.device_count < 1 || where.device_count > DVT_MAX_DEVICES)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->device_count is %d, not 1 to %d", where.device_count,
                      DVT_MAX_DEVICES);
  for (int i = 0; i < where.device_count; i++) {
    DVT_TRY(dvt_resolve_device(where.devices[i], &chosen[i]));
    for (int j = 0; j < i; j++)
      if (chosen[j] == chosen[i])
        return davit_fail(DAVIT_INVALID_ARGUMENT, "options->devices names device %d twice", chosen[i]);
  }
  *count = where.device_count;
  return DAVIT_SUCCESS;
}

davit_status dvt_choose_lane(davit_queue *queue, dvt_where where, dvt_lane **lane) {
  *lane = dvt_queue_lane(queue);
  if (!*lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(where.status);
  if (where.devices || where.device_count)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->%s is set, but the queue has its device",
                      where.devices ? "devices" : "device_count");
  return DAVIT_SUCCESS;
}

davit_status dvt_use_mapped(int device, const char *name, void **pointer) {
  const dvt_device *found = dvt_device_find(device);
  if (!found->shares_host_memory && found->ordinal < 0) /* whose addresses nothing tells from the host's */
    return davit_fail(DAVIT_UNSUPPORTED,
                      "options->mapped is set, but device %d is a GPU that is not NVIDIA's", device);
  DVT_INSIDE;
  void *const mapped = dvt_device_mapped(device, *pointer);
  if (!mapped)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->mapped is set, but %s is not mapped on device %d",
                      name, device);
  *pointer = mapped;
  return DAVIT_SUCCESS;
}

/* ---- operands ---- */

void dvt_operation_measure(const dvt_operation *operation, const void *arguments, int device, int ranges,
                           dvt_extents *extents) {
  dvt_extents *e = extents;
  davit_type type;
  *e = (dvt_extents){.length = {1, 1}, .results = 1};
  for (int axis = 0; axis < DVT_AXES; axis++)
    if (operation->size[axis])
      memcpy(&e->length[axis], (const char *)arguments + operation->size[axis], sizeof e->length[axis]);
  memcpy(&type, arguments, sizeof type);
  e->element = e->result_bytes = operation->typed ? davit_type_bytes(type) : 0;
  e->chunk[DVT_IN] = e->length[DVT_IN];
  e->chunk[DVT_OUT] = operation->tuned_chunk
                          ? dvt_tuned(device, (dvt_tunable)operation->tuned_chunk, operation->chunk)
                          : operation->chunk;
  if (operation->measure)
    operation->measure(arguments, device, ranges, e);
  for (int i = 0; i < DVT_ARRAYS && operation->array[i].name; i++)
    if (!dvt_array_pointer(&operation->array[i], arguments))
      e->skipped |= 1U << i;
}

bool dvt_extents_are_empty(const dvt_extents *extents) {
  return extents->length[DVT_OUT] == 0 || extents->length[DVT_IN] == 0;
}

static int64_t elements_of(const dvt_array *operand, const dvt_extents *e) {
  switch (operand->kind) {
  case DVT_MATRIX:
    return e->length[DVT_OUT] * e->length[DVT_IN];
  case DVT_ALONG_OUT:
    return e->length[DVT_OUT];
  case DVT_RESULT:
    return 0;
  default:
    return e->length[DVT_IN];
  }
}

size_t dvt_operation_bytes(const dvt_operation *operation, const dvt_extents *extents) {
  size_t bytes = 0;
  for (int i = 0; i < DVT_ARRAYS && operation->array[i].name; i++) {
    const dvt_array *o = &operation->array[i];
    if (!(extents->skipped >> i & 1))
      bytes += (size_t)elements_of(o, extents) * (o->element ? o->element : extents->element);
  }
  return bytes;
}

const dvt_array *dvt_operation_result(const dvt_operation *operation) {
  for (int i = 0; i < DVT_ARRAYS && operation->array[i].name; i++)
    if (operation->array[i].kind == DVT_RESULT)
      return &operation->array[i];
  return NULL;
}

davit_status dvt_operation_use_mapped(const dvt_operation *operation, void *arguments, int device) {
  dvt_extents e;
  dvt_operation_measure(operation, arguments, device, 1, &e);
  const bool empty = dvt_extents_are_empty(&e);
  for (int i = 0; i < DVT_ARRAYS && operation->array[i].name; i++) {
    const dvt_array *o = &operation->array[i];
    void *pointer = dvt_array_pointer(o, arguments);
    if (o->kind == DVT_RESULT || (e.skipped >> i & 1) || elements_of(o, &e) == 0 || (empty && !o->writes))
      continue;
    DVT_TRY(dvt_use_mapped(device, o->name, &pointer));
    dvt_array_point(o, arguments, pointer);
  }
  return DAVIT_SUCCESS;
}

/* ---- commands ---- */

dvt_path dvt_path_on(int device, const dvt_operation *operation) {
  const char *forced = dvt_environment("DAVIT_BLAS");
  const dvt_device *found = dvt_device_find(device);
  const bool region =
      device != DAVIT_HOST && (!found->runs_on_host || !operation || operation->region_on_host);
  if (region && forced && strcmp(forced, "target") == 0)
    return DVT_AS_REGION;
  if (dvt_lane_has_stream(device) &&
      (!operation || (operation->stream && !(operation->prepare && dvt_thread_is_last()))))
    return DVT_ON_STREAM;
  return region && !found->shares_host_memory ? DVT_AS_REGION : DVT_ON_HOST;
}

dvt_path dvt_path_of(const dvt_lane *lane, const dvt_operation *operation) {
  return dvt_path_on(lane->device, operation);
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

/* A stream form whose result is pageable: the arguments follow this head. */
typedef struct staged {
  const dvt_operation *operation;
  const dvt_array *result;
  size_t bytes; /* of the result */
  alignas(16) unsigned char arguments[DVT_ARGUMENT_BYTES];
} staged;

static davit_status run_staged(const dvt_site *site, const void *arguments) {
  staged s = *(const staged *)arguments;
  void *const result = dvt_array_pointer(s.result, s.arguments), *pinned;
  DVT_TRY(dvt_malloc(s.bytes, DAVIT_PINNED, &pinned));
  dvt_array_point(s.result, s.arguments, pinned);
  davit_status status = s.operation->stream(site, s.arguments);
  davit_status end = dvt_stream_synchronize(site->stream);
  status = status == DAVIT_SUCCESS ? end : status;
  if (status == DAVIT_SUCCESS)
    memcpy(result, pinned, s.bytes);
  davit_free(pinned);
  return status;
}

/* The arguments of a command on the lane: what is tuned, and where a result lies, are set. */
static const void *adapt(const dvt_lane *lane, const dvt_operation *operation, const dvt_array *result,
                         const void *arguments, bool streamed, unsigned char own[DVT_ARGUMENT_BYTES],
                         int *place) {
  if (!operation->tune && !result)
    return arguments;
  memcpy(own, arguments, operation->bytes);
  if (operation->tune)
    operation->tune(own, lane->device);
  if (!result || (!result->step && !streamed))
    return own;
  *place = dvt_place_of(dvt_array_pointer(result, own));
  if (result->step) {
    const bool on_device = !dvt_place_is_host(lane->device) && *place == lane->device;
    memcpy(own + result->step, &on_device, sizeof on_device);
  }
  return own;
}

static davit_status submit_stream(dvt_lane *lane, const dvt_operation *operation, const dvt_array *result,
                                  const void *arguments, int place) {
  staged s;
  dvt_extents e;
  if (!result || dvt_place_is_streamable(place))
    return dvt_lane_submit_work(
        lane, DVT_STREAMED, &(dvt_work){.form = operation->stream, .name = operation->name, .stream = true},
        arguments, operation->bytes);
  dvt_operation_measure(operation, arguments, lane->device, 1, &e);
  s = (staged){operation, result, e.result_bytes, {0}};
  memcpy(s.arguments, arguments, operation->bytes);
  return dvt_lane_submit_work(lane, DVT_BLOCKING,
                              &(dvt_work){.form = run_staged, .name = operation->name, .stream = true}, &s,
                              sizeof s);
}

static davit_status submit_host(dvt_lane *lane, const dvt_operation *operation, const void *arguments,
                                int threads) {
  dvt_extents e;
  if (operation->short_bytes > 0 && !operation->serial) {
    dvt_operation_measure(operation, arguments, lane->device, 1, &e);
    threads = dvt_operation_bytes(operation, &e) <= operation->short_bytes ? DVT_ALONE : threads;
  }
  return dvt_lane_submit_work(
      lane, DVT_BLOCKING,
      &(dvt_work){.form = operation->host,
                  .name = operation->name,
                  .threads = host_threads(lane->device, operation, threads, lane->threads)},
      arguments, operation->bytes);
}

davit_status dvt_operation_submit(dvt_lane *lane, const dvt_operation *operation, const void *arguments,
                                  int threads) {
  alignas(16) unsigned char own[DVT_ARGUMENT_BYTES];
  const dvt_array *result = dvt_operation_result(operation);
  int place = 0;
  const dvt_path path = dvt_path_of(lane, operation);
  arguments = adapt(lane, operation, result, arguments, path == DVT_ON_STREAM, own, &place);
  if (path == DVT_ON_STREAM)
    return submit_stream(lane, operation, result, arguments, place);
  if (path == DVT_ON_HOST)
    return submit_host(lane, operation, arguments, threads);
  if (can_be_tasks(lane, operation, arguments))
    return dvt_lane_submit_work(lane, DVT_REGION,
                                &(dvt_work){.form = operation->tasks, .name = operation->name}, arguments,
                                operation->bytes);
  return dvt_lane_submit_work(
      lane, dvt_device_find(lane->device)->shares_host_memory ? DVT_BLOCKING : DVT_TRANSFER,
      &(dvt_work){.form = operation->region, .name = operation->name}, arguments, operation->bytes);
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
  return dvt_path_on(device, operation) == DVT_ON_HOST && (threads == DVT_ALONE || dvt_team_may_lead());
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

davit_status dvt_operation_enqueue(davit_queue *queue, const dvt_operation *operation, void *arguments,
                                   dvt_where where) {
  dvt_lane *lane;
  dvt_extents e;
  DVT_TRY(dvt_choose_lane(queue, where, &lane));
  DVT_TRY(operation->check(arguments));
  if (where.mapped)
    DVT_TRY(dvt_operation_use_mapped(operation, arguments, lane->device));
  if (operation->order != DVT_WHOLE && !operation->merge) {
    dvt_operation_measure(operation, arguments, lane->device, 1, &e);
    if (dvt_extents_are_empty(&e))
      return DAVIT_SUCCESS;
  }
  return dvt_operation_submit(lane, operation, arguments, 0);
}
