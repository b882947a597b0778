/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/place.h"

#include "offload/runtime/device.h"
#include "src/base/check.h"
#include "src/base/fork.h"
#include "src/base/team.h"
#include "src/runtime/backend.h"

static _Thread_local int selected = DAVIT_CURRENT; /* DAVIT_CURRENT: nothing selected yet */
static _Thread_local int selected_in;              /* that process: a child after fork() has other devices */

static int current_device(void) {
  int count;
  if (selected != DAVIT_CURRENT && selected_in == dvt_process())
    return selected;
  dvt_devices(&count);
  return count > 0 ? 0 : DAVIT_HOST;
}

davit_status dvt_resolve_device(int device, int *resolved) {
  DVT_TRY(dvt_start());
  if (device == DAVIT_CURRENT)
    device = current_device();
  if (!dvt_device_find(device)) {
    const char *obstacle = dvt_device_obstacle(device);
    if (obstacle)
      return davit_fail(DAVIT_UNSUPPORTED, "device %d is left out: %s", device, obstacle);
    int count;
    dvt_devices(&count);
    return davit_fail(DAVIT_UNKNOWN_DEVICE, "device %d does not exist; there are %d, and DAVIT_HOST (-1)",
                      device, count);
  }
  *resolved = device;
  return DAVIT_SUCCESS;
}

davit_status dvt_resolve_place(int place, int *resolved) {
  DVT_TRY(dvt_start());
  *resolved = place;
  if (place == DAVIT_PINNED || place == DAVIT_PAGEABLE)
    return DAVIT_SUCCESS;
  if (place < 0 && place != DAVIT_HOST && place != DAVIT_CURRENT)
    return davit_fail(DAVIT_UNKNOWN_DEVICE,
                      "place is %d, neither a device nor DAVIT_PINNED (%d) nor DAVIT_PAGEABLE (%d)", place,
                      DAVIT_PINNED, DAVIT_PAGEABLE);
  DVT_TRY(dvt_resolve_device(place, resolved));
  *resolved = dvt_place_for(*resolved);
  return DAVIT_SUCCESS;
}

davit_status davit_device_select(int device) {
  DVT_TRY(dvt_resolve_device(device, &device));
  selected = device;
  selected_in = dvt_process();
  return DAVIT_SUCCESS;
}

davit_status davit_device_current(int *device) {
  DVT_TRY(dvt_check_pointer("device", device));
  DVT_TRY(dvt_start());
  *device = current_device();
  return DAVIT_SUCCESS;
}

bool dvt_place_is_host(int place) {
  return place < 0 || dvt_device_find(place)->shares_host_memory;
}

static bool has_nvidia(void) {
  int count;
  const dvt_device *devices = dvt_devices(&count);
  for (int i = 1; i <= count; i++)
    if (devices[i].ordinal >= 0)
      return true;
  return false;
}

bool dvt_place_is_streamable(int place) {
  return place == DAVIT_PINNED ? has_nvidia() : place >= 0 && dvt_device_find(place)->ordinal >= 0;
}

int dvt_device_threads(int device) {
  int count, sharing = 0;
  if (device == DAVIT_HOST)
    return dvt_threads();
  const dvt_device *devices = dvt_devices(&count);
  for (int i = 1; i <= count; i++)
    sharing += devices[i].shares_host_memory;
  const int all = dvt_threads(), threads = sharing == 0 ? all : all / sharing;
  return threads > 1 ? threads : 1;
}

bool dvt_place_reached(int device, int place) {
  return place == device || (dvt_place_is_host(device) && dvt_place_is_host(place));
}

bool dvt_place_any_gpu(const int *devices, int count) {
  bool any = false;
  for (int i = 0; i < count; i++)
    any = any || !dvt_device_find(devices[i])->runs_on_host;
  return any;
}
