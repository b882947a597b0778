/* SPDX-License-Identifier: Apache-2.0 */
/* Raw memory of devices, and blocking operations on it.
 *
 * `place` is a device number, DAVIT_PINNED or DAVIT_PAGEABLE, as in davit/memory.h. Nothing here keeps
 * books: pooling and the table of blocks are the caller's. */
#ifndef DAVIT_OFFLOAD_RUNTIME_SPACE_H
#define DAVIT_OFFLOAD_RUNTIME_SPACE_H

#include <davit/memory.h>
#include <stdbool.h>

/* How a block was made, for whoever frees it. */
typedef struct dvt_space_origin {
  size_t skipped; /* bytes before the block that are its own, for its alignment */
  bool mapped;    /* pinned memory that davit has mapped and registered; else CUDA's own */
} dvt_space_origin;

/* Allocates and frees; NULL when there is no memory. Device and pinned memory wait for the device here. */
void *dvt_space_alloc(size_t bytes, int place, dvt_space_origin *origin);
void dvt_space_free(void *pointer, size_t bytes, const dvt_space_origin *origin, int place);

/* The place of memory that davit did not allocate: asks the device runtime. */
int dvt_space_place(const void *pointer);

davit_status dvt_space_pin(void *pointer, size_t bytes);
davit_status dvt_space_unpin(void *pointer);

/* What other processes need to reach a block of a device, and the block of another process as memory of a
 * device of this one; DAVIT_UNSUPPORTED elsewhere. */
enum { DVT_SPACE_HANDLE = 64 };
davit_status dvt_space_export(const void *pointer, int place, unsigned char handle[DVT_SPACE_HANDLE]);
davit_status dvt_space_map(const unsigned char handle[DVT_SPACE_HANDLE], int device, void **pointer);
void dvt_space_unmap(void *pointer, int device);

/* Blocking 2-D copy between two places (columns of row_bytes bytes, pitches in bytes). Reaches link speed
 * when host memory is pinned; pageable memory of some size is better staged by the caller. */
davit_status dvt_space_copy(void *destination, size_t destination_pitch, int destination_place,
                            const void *source, size_t source_pitch, int source_place, size_t row_bytes,
                            size_t cols);

/* Blocking fills: of bytes with a value, and, of a device's memory, with the numbers of davit_random(). */
davit_status dvt_space_fill(void *pointer, int place, int value, size_t bytes);
davit_status dvt_space_random(davit_type type, void *x, int place, int64_t n, uint64_t seed);

#endif
