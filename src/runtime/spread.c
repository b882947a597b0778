/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/spread.h"

#include <string.h>

#include "offload/runtime/device.h"
#include "src/runtime/copy.h"
#include "src/runtime/memory.h"

static davit_status open_device(dvt_spread_device *d, int device) {
  d->device = device;
  for (int i = 0; i < DVT_SPREAD_LANES; i++)
    DVT_TRY(dvt_lane_open(device, &d->lane[i].lane));
  return DAVIT_SUCCESS;
}

bool dvt_spread_is_home(const int *devices, int count, bool named, int arrays, const void *const array[]) {
  bool home = count == 1 || !named;
  for (int i = 0; i < count && home; i++)
    home = dvt_device_find(devices[i])->shares_host_memory;
  for (int i = 0; i < arrays && home; i++)
    home = dvt_place_is_host(dvt_place_of(array[i]));
  return home;
}

bool dvt_spread_is_short(const dvt_operation *operation, const int *devices, int count, bool named,
                         int arrays, const void *const array[], double bytes) {
  return bytes <= (double)DVT_SHORT_BYTES && dvt_spread_is_home(devices, count, named, arrays, array) &&
         dvt_operation_runs_here(devices[0], operation, DVT_ALONE);
}

davit_status dvt_spread_open(dvt_spread *run, const int *devices, int count, size_t buffer_bytes) {
  *run = (dvt_spread){.buffer_bytes = buffer_bytes, .devices = count};
  for (int i = 0; i < count; i++) {
    davit_status status = open_device(&run->device[i], devices[i]);
    if (status != DAVIT_SUCCESS)
      return dvt_spread_close(run, status);
  }
  return DAVIT_SUCCESS;
}

static void close_lane(dvt_spread_lane *lane, dvt_error *first) {
  davit_status status = lane->lane ? dvt_lane_close(lane->lane) : DAVIT_SUCCESS;
  dvt_error_keep(first, status);
  for (int i = 0; i < DVT_SPREAD_OPERANDS; i++)
    davit_free(lane->buffer[i]);
}

davit_status dvt_spread_close(dvt_spread *run, davit_status status) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, status);
  for (int i = 0; i < run->devices; i++)
    for (int j = 0; j < DVT_SPREAD_LANES; j++)
      close_lane(&run->device[i].lane[j], &first);
  return dvt_error_report(&first);
}

dvt_span dvt_spread_range(int64_t n, int index, int count) {
  const int64_t each = n / count, rest = n % count;
  const int64_t begin = index * each + (index < rest ? index : rest);
  return (dvt_span){begin, begin + each + (index < rest)};
}

dvt_spread_chunk dvt_spread_cut(const void *x, int64_t n, int64_t inc, int64_t begin, int64_t end,
                                size_t element_bytes) {
  int64_t stride = inc < 0 ? -inc : inc, length = end - begin;
  int64_t first =
      inc < 0 ? (n - end) * stride : begin * stride; /* a negative increment counts from the end */
  size_t pitch = (size_t)stride * element_bytes;
  return (dvt_spread_chunk){.base = (char *)(uintptr_t)x + (size_t)first * element_bytes,
                            .pitch = pitch,
                            .row_bytes = stride == 1 ? (size_t)length * element_bytes : element_bytes,
                            .cols = stride == 1 ? 1 : (size_t)length};
}

int64_t dvt_spread_step(int64_t inc, size_t pitch, size_t element_bytes) {
  int64_t stride = inc == 1 || inc == -1 ? 1 : (int64_t)(pitch / element_bytes);
  return inc < 0 ? -stride : stride;
}

davit_status dvt_spread_operand(dvt_spread *run, dvt_spread_lane *lane, int which, bool load, void *source,
                                size_t source_pitch, size_t row_bytes, size_t cols, void **pointer,
                                size_t *pitch) {
  int place = dvt_place_of(source);
  if (dvt_place_reached(lane->lane->device, place)) {
    *pointer = source;
    *pitch = source_pitch;
    return DAVIT_SUCCESS;
  }
  if (!lane->buffer[which])
    DVT_TRY(dvt_malloc(run->buffer_bytes, lane->lane->device, &lane->buffer[which]));
  *pointer = lane->buffer[which];
  *pitch = row_bytes;
  if (!load)
    return DAVIT_SUCCESS;
  dvt_copy copy = {*pointer, source, row_bytes, source_pitch, row_bytes, cols, lane->lane->device, place};
  return dvt_copy_submit(lane->lane, &copy);
}

davit_status dvt_spread_store(dvt_spread_lane *lane, void *pointer, size_t pitch, void *home,
                              size_t home_pitch, size_t row_bytes, size_t cols) {
  if (pointer == home)
    return DAVIT_SUCCESS;
  dvt_copy copy = {home, pointer, home_pitch, pitch, row_bytes, cols, dvt_place_of(home), lane->lane->device};
  return dvt_copy_submit(lane->lane, &copy);
}
