/* SPDX-License-Identifier: Apache-2.0 */
/* Long vectors of the BLAS 1 and 2 operations spread over devices: how a range is cut, and where the pieces
 * of operands that are not on the device are put.
 *
 * A run opens three lanes a device and gives each device a contiguous range, worked through in chunks that
 * rotate over the lanes: while one chunk is computed the next is fetched and the last goes home. A buffer
 * belongs to a lane, whose commands run in order, so chunks need no events. */
#ifndef DAVIT_SRC_RUNTIME_SPREAD_H
#define DAVIT_SRC_RUNTIME_SPREAD_H

#include "src/runtime/operation.h"

enum { DVT_SPREAD_LANES = 3, DVT_SPREAD_OPERANDS = 3 };

typedef struct dvt_spread_lane {
  dvt_lane *lane;
  void *buffer[DVT_SPREAD_OPERANDS]; /* device memory of buffer_bytes each, made when first asked for */
} dvt_spread_lane;

typedef struct dvt_spread_device {
  int device;
  dvt_spread_lane lane[DVT_SPREAD_LANES];
} dvt_spread_device;

typedef struct dvt_spread {
  size_t buffer_bytes;
  int devices;
  dvt_spread_device device[DVT_MAX_DEVICES];
} dvt_spread;

/* Opens lanes on the devices; nothing is held after a failure. */
davit_status dvt_spread_open(dvt_spread *run, const int *devices, int count, size_t buffer_bytes);

/* Waits for all lanes, frees all memory, returns `status` or else the first error of the work. */
davit_status dvt_spread_close(dvt_spread *run, davit_status status);

/* Whether the host's memory has all arrays and the devices share it, so that nothing has to be spread for want of
 * memory; host devices that were named share the work all the same, as `named` says. And whether that is so and
 * `bytes` are so few that the calling thread alone is done sooner than others can be told. */
enum { DVT_SHORT_BYTES = 1 << 22 };
bool dvt_spread_is_home(const int *devices, int count, bool named, int arrays, const void *const array[]);
bool dvt_spread_is_short(const dvt_operation *operation, const int *devices, int count, bool named,
                         int arrays, const void *const array[], double bytes);

typedef struct dvt_span {
  int64_t begin, end;
} dvt_span;

/* The part of n elements that device `index` of `count` gets. */
dvt_span dvt_spread_range(int64_t n, int index, int count);

/* A strided vector of BLAS as memory: elements [begin, end) of n with increment `inc` start at `base`, as
 * columns of row_bytes bytes (all of it at once where the increment is 1). `step` is the increment of the
 * same chunk where its columns lie `pitch` apart. */
typedef struct dvt_spread_chunk {
  char *base;
  size_t pitch, row_bytes, cols;
} dvt_spread_chunk;
dvt_spread_chunk dvt_spread_cut(const void *x, int64_t n, int64_t inc, int64_t begin, int64_t end,
                                size_t element_bytes);
int64_t dvt_spread_step(int64_t inc, size_t pitch, size_t element_bytes);

/* Operand `which` of a chunk on the lane: *pointer is where the lane's device finds cols columns of row_bytes
 * contiguous bytes, *pitch their distance: in place if the device reaches the memory, else a buffer,
 * filled by a copy if `load`. */
davit_status dvt_spread_operand(dvt_spread *run, dvt_spread_lane *lane, int which, bool load, void *source,
                                size_t source_pitch, size_t row_bytes, size_t cols, void **pointer,
                                size_t *pitch);

/* Copies a buffer of dvt_spread_operand() back to where the operand lies; does nothing for memory in place.
 */
davit_status dvt_spread_store(dvt_spread_lane *lane, void *pointer, size_t pitch, void *home,
                              size_t home_pitch, size_t row_bytes, size_t cols);

#endif
