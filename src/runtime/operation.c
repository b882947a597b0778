#include "src/runtime/operation.h"

#include <davit/device.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/runtime/device.h"
#include "src/runtime/memory.h"

dvt_blas_path dvt_blas_path_of(const dvt_lane *lane) {
  const char *forced = getenv("DAVIT_BLAS");
  if (forced && strcmp(forced, "target") == 0 && lane->device != DAVIT_HOST)
    return DVT_BLAS_TARGET;
  if (lane->stream)
    return DVT_BLAS_STREAM;
  return dvt_device_find(lane->device)->shares_host_memory ? DVT_BLAS_REF : DVT_BLAS_TARGET;
}

davit_status dvt_blas_submit(dvt_lane *lane, const dvt_blas_works works, const void *arguments,
                             size_t bytes) {
  dvt_blas_path path = dvt_blas_path_of(lane);
  return dvt_lane_submit(lane, path == DVT_BLAS_STREAM ? DVT_STREAMED : DVT_BLOCKING, works[path], arguments,
                         bytes);
}

int dvt_blas_threads(int device) {
  int count, sharing = 0;
  const dvt_device *devices = dvt_devices(&count);
  for (int i = 1; i <= count; i++)
    sharing += devices[i].shares_host_memory;
  int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
  int threads = device == DAVIT_HOST || sharing == 0 ? cores : cores / sharing;
  return threads > 1 ? threads : 1;
}

davit_status dvt_choose_devices(const int *devices, int device_count, int *chosen, int *count) {
  DVT_TRY(dvt_start());
  if (!devices && device_count == 0) {
    DVT_TRY(davit_device_defaults(DVT_MOST_DEVICES, chosen, count));
    *count = *count < DVT_MOST_DEVICES ? *count : DVT_MOST_DEVICES;
    return DAVIT_SUCCESS;
  }
  if (!devices)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->devices is NULL, but options->device_count is %d",
                      device_count);
  if (device_count < 1 || device_count > DVT_MOST_DEVICES)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->device_count is %d, not 1 to %d", device_count,
                      DVT_MOST_DEVICES);
  for (int i = 0; i < device_count; i++) {
    DVT_TRY(dvt_resolve_device(devices[i], &chosen[i]));
    for (int j = 0; j < i; j++)
      if (chosen[j] == chosen[i])
        return davit_fail(DAVIT_INVALID_ARGUMENT, "options->devices names device %d twice", chosen[i]);
  }
  *count = device_count;
  return DAVIT_SUCCESS;
}

davit_status dvt_check_no_devices(const int *devices, int device_count) {
  if (devices || device_count)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->%s is set, but the queue has its device",
                      devices ? "devices" : "device_count");
  return DAVIT_SUCCESS;
}
