/* SPDX-License-Identifier: Apache-2.0 */
/* The table of blocks and the pools behind davit/memory.h, for the other parts of the library. */
#ifndef DAVIT_SRC_RUNTIME_MEMORY_H
#define DAVIT_SRC_RUNTIME_MEMORY_H

#include "src/runtime/place.h"

/* The place of a pointer (never fails: unknown memory is pageable). */
int dvt_place_of(const void *pointer);

/* Blocking 2-D copy between known places (pitches and row in bytes); pageable memory is staged through pinned
 * buffers where a device is at the other end. */
davit_status dvt_copy_blocking(void *destination, size_t destination_pitch, int destination_place,
                               const void *source, size_t source_pitch, int source_place, size_t row_bytes,
                               size_t cols);

/* Checks the arguments of a 2-D copy, naming the bad one. */
davit_status dvt_check_copy_2d(const void *destination, int64_t destination_ld, const void *source,
                               int64_t source_ld, int64_t rows, int64_t cols, size_t element_bytes);

davit_status dvt_check_random(davit_type type, int64_t n, const void *x);

/* Bytes kept for re-use at `place`. */
size_t dvt_memory_kept(int place);

#endif
