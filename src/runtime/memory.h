/* SPDX-License-Identifier: Apache-2.0 */
/* The table of blocks and the pools behind davit/memory.h, for the other parts of the library. */
#ifndef DAVIT_SRC_RUNTIME_MEMORY_H
#define DAVIT_SRC_RUNTIME_MEMORY_H

#include "src/runtime/place.h"

/* davit_malloc() for the library's own use. While no device but the CPU is in use, pinned memory is pageable: pinning
 * would open the driver of a GPU that nothing is copied to. */
davit_status dvt_malloc(size_t bytes, int place, void **pointer);

/* The place of a pointer (never fails: unknown memory is pageable). */
int dvt_place_of(const void *pointer);

/* Bytes kept for re-use at `place`. */
size_t dvt_memory_kept(int place);

/* How many bytes of the device's memory one call may take: 80 % of what is free, or 1 GiB, which any GPU has, where
 * that is unknown or is not asked for. To ask a GPU takes some 40 µs. (device.c) */
davit_status dvt_memory_usable(int device, bool ask, size_t *bytes);

#endif
