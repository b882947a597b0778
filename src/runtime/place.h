/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and places by their numbers: what exists, what is the host's. Also davit_device_select() and
 * _current(). */
#ifndef DAVIT_SRC_RUNTIME_PLACE_H
#define DAVIT_SRC_RUNTIME_PLACE_H

#include <davit/memory.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts the library. DAVIT_CURRENT resolved and the number checked against the device table. */
davit_status dvt_resolve_device(int device, int *resolved);

/* The same for a place: a device with memory of its own or the host's, DAVIT_PINNED or DAVIT_PAGEABLE. */
davit_status dvt_resolve_place(int place, int *resolved);

/* Where davit_malloc() puts memory for a device: its own, or pinned for DAVIT_HOST. */
static inline int dvt_place_for(int device) {
  return device == DAVIT_HOST ? DAVIT_PINNED : device;
}

/* Whether memory at `place` is the host's: pageable, pinned, or of a device that shares it. */
bool dvt_place_is_host(int place);

/* Whether the device reaches memory at `place` without a copy. */
bool dvt_place_reached(int device, int place);

/* Whether one of the devices computes with kernels: not the CPU or one that it stands in for. */
bool dvt_place_any_gpu(const int *devices, int count);

/* Whether streams reach memory at `place` directly and asynchronously. */
bool dvt_place_is_streamable(int place);

/* Host threads that one operation of the device may use: all for the CPU, its share for one of several
 * host-offload devices. */
int dvt_device_threads(int device);

/* A 2-D copy between known places. */
typedef struct dvt_copy {
  void *destination;
  const void *source;
  size_t destination_pitch, source_pitch, row_bytes, cols; /* bytes; columns of row_bytes */
  int destination_place, source_place;
} dvt_copy;

/* One end of a copy: where its columns lie, `pitch` bytes from one to the next. */
typedef struct dvt_columns {
  const void *at;
  size_t pitch;
  int place;
} dvt_columns;

static inline dvt_copy dvt_copy_columns(size_t row_bytes, size_t cols, dvt_columns from, dvt_columns to) {
  return (dvt_copy){
      (void *)(uintptr_t)to.at, from.at, to.pitch, from.pitch, row_bytes, cols, to.place, from.place};
}

/* `bytes` bytes in one column. */
static inline dvt_copy dvt_copy_bytes(size_t bytes, const void *source, int source_place, void *destination,
                                      int destination_place) {
  return (dvt_copy){destination, source, bytes, bytes, bytes, 1, destination_place, source_place};
}

#endif
