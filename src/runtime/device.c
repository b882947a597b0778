/* SPDX-License-Identifier: Apache-2.0 */
#include <davit/device.h>

#include "offload/runtime/device.h"
#include "src/base/cancel.h"
#include "src/base/check.h"
#include "src/base/ending.h"
#include "src/base/team.h"
#include "src/runtime/backend.h"
#include "src/runtime/memory.h"

davit_status davit_set_threads(int threads) {
  if (threads < 0 || threads > DVT_MAX_THREADS)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "threads is %d, not 0 to %d", threads, DVT_MAX_THREADS);
  dvt_threads_set(threads);
  return DAVIT_SUCCESS;
}

davit_status davit_device_count(int *count) {
  DVT_TRY(dvt_check_pointer("count", count));
  DVT_TRY(dvt_start());
  dvt_devices(count);
  return DAVIT_SUCCESS;
}

davit_status davit_device_describe(int device, davit_device_info *info) {
  DVT_TRY(dvt_check_pointer("info", info));
  DVT_TRY(dvt_resolve_device(device, &device));
  *info = dvt_device_find(device)->info;
  return DAVIT_SUCCESS;
}

const char *davit_device_kind_string(davit_device_kind kind) {
  static const char *const names[] = {"cpu", "host-offload", "nvidia", "amd", "other"};
  return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

davit_status davit_device_memory(int device, size_t *free_bytes, size_t *total_bytes) {
  DVT_UNCANCELLED;
  if (!free_bytes || !total_bytes)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", free_bytes ? "total_bytes" : "free_bytes");
  DVT_TRY(dvt_resolve_device(device, &device));
  size_t unused = 0, total = 0;
  DVT_INSIDE;
  DVT_TRY(dvt_device_memory(dvt_device_find(device), &unused, &total));
  *free_bytes = unused + dvt_memory_kept(device);
  *total_bytes = total;
  return DAVIT_SUCCESS;
}

davit_status dvt_memory_usable(int device, bool ask, size_t *bytes) {
  size_t total;
  const davit_status status = ask ? davit_device_memory(device, bytes, &total) : DAVIT_UNSUPPORTED;
  if (status != DAVIT_SUCCESS && status != DAVIT_UNSUPPORTED)
    return status;
  *bytes = status == DAVIT_SUCCESS ? *bytes / 10 * 8 : (size_t)1 << 30;
  return DAVIT_SUCCESS;
}

davit_status davit_device_link(int from, int to, davit_link_kind *link) {
  DVT_TRY(dvt_check_pointer("link", link));
  DVT_TRY(dvt_resolve_device(from, &from));
  DVT_TRY(dvt_resolve_device(to, &to));
  const dvt_device *a = dvt_device_find(from), *b = dvt_device_find(to);
  if (from == to || (a->shares_host_memory && b->shares_host_memory)) {
    *link = DAVIT_LINK_SAME;
    return DAVIT_SUCCESS;
  }
  DVT_INSIDE;
  *link = dvt_device_peers(a, b) ? DAVIT_LINK_PEER : DAVIT_LINK_STAGED;
  return DAVIT_SUCCESS;
}

davit_status davit_device_defaults(int capacity, int *devices, int *count) {
  if (!count || (capacity > 0 && !devices))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", count ? "devices" : "count");
  DVT_TRY(dvt_start());
  int total, found = 0;
  const dvt_device *table = dvt_devices(&total);
  for (int pass = 0; pass < 2 && found == 0; pass++) /* GPUs first, host-offload devices if there are none */
    for (int i = 1; i <= total; i++)
      if (table[i].shares_host_memory == (pass == 1)) {
        if (found < capacity)
          devices[found] = i - 1;
        found++;
      }
  if (found == 0) {
    if (capacity > 0)
      devices[0] = DAVIT_HOST;
    found = 1;
  }
  *count = found;
  return DAVIT_SUCCESS;
}
