/* SPDX-License-Identifier: Apache-2.0 */
/* Prefix sums and fills where points are: on the CPU, enqueued on a stream, or as regions. Included by a source that a
 * test compiles for the emulator of kernels. */
#ifndef DAVIT_OFFLOAD_SCAN_HERE_H
#define DAVIT_OFFLOAD_SCAN_HERE_H

#include <davit/monoid.h>

#include "offload/monoid.h"
#include "offload/runtime/space.h"
#include "offload/runtime/stream.h"
#include "src/base/arithmetic.h"

typedef struct dvt_here {
  int device;
  bool gpu; /* else the CPU, with `threads` threads */
  int threads;
  dvt_stream *stream; /* of a GPU; NULL: target regions of the OpenMP runtime */
} dvt_here;

/* Every byte of the words gets the value. */
static inline davit_status dvt_fill_words(const dvt_here *here, uint32_t *words, int64_t count,
                                          uint8_t value) {
  const size_t bytes = (size_t)count * sizeof *words;
  if (here->stream)
    return dvt_stream_fill(here->stream, words, value, bytes);
  if (here->gpu)
    return dvt_space_fill(words, here->device, value, bytes);
#pragma omp parallel for num_threads(here->threads) schedule(static)
  for (int64_t i = 0; i < count; i++)
    words[i] = value * UINT32_C(0x01010101);
  return DAVIT_SUCCESS;
}

/* Of the sums and of the prefixes that a GPU's scan of integers needs. */
static inline size_t dvt_scan_bytes(davit_type type, int64_t count) {
  const dvt_builtin_scan *scan = &dvt_builtin_scans[DAVIT_SUM][type];
  return 2 * dvt_aligned_up((size_t)dvt_divide_up(count, scan->tile) * scan->slot_bytes);
}

/* Each of the integers becomes the sum of those up to it. */
static inline davit_status dvt_scan_here(const dvt_here *here, davit_type type, void *x, int64_t count,
                                         char *slots) {
  enum { ALIGNED = 2 };
  const dvt_builtin_scan *scan = &dvt_builtin_scans[DAVIT_SUM][type];
  const size_t bytes = dvt_scan_bytes(type, count);
  const int modes = (uintptr_t)x % 16 == 0 ? ALIGNED : 0;
  char *prefixes = slots + bytes / 2;
  if (here->gpu)
    DVT_TRY(dvt_fill_words(here, (uint32_t *)(void *)slots, (int64_t)(bytes / sizeof(uint32_t)), 0));
  if (here->stream)
    return dvt_launch(scan->kernel, here->stream, dvt_divide_up(count, scan->tile) + 1, scan->threads, 0,
                      DVT_ARGUMENTS(count, x, NULL, slots, prefixes, NULL, NULL, x, modes));
  const davit_monoid_task task = {.device = here->device,
                                  .gpu = here->gpu,
                                  .threads = here->threads,
                                  .n = count,
                                  .x = x,
                                  .y = x,
                                  .sums = (uint64_t *)(void *)slots,
                                  .prefixes = (uint64_t *)(void *)prefixes,
                                  .modes = modes};
  scan->scan(&task);
  return DAVIT_SUCCESS;
}

#endif
