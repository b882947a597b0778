/* Long vectors of the BLAS 1 and 2 operations spread over devices: how a range is cut, and where the pieces of
 * operands that are not on the device are put.
 *
 * A run opens three lanes a device and gives each device a contiguous range, worked through in chunks that
 * rotate over the lanes: while one chunk is computed the next is fetched and the last goes home. A buffer
 * belongs to a lane, whose commands run in order, so chunks need no events. */
#ifndef DAVIT_SRC_RUNTIME_SPREAD_H
#define DAVIT_SRC_RUNTIME_SPREAD_H

#include "src/runtime/operation.h"

enum { DVT_VECTOR_LANES = 3, DVT_VECTOR_OPERANDS = 3 };

typedef struct dvt_vector_lane {
  dvt_lane *lane;
  void *buffer[DVT_VECTOR_OPERANDS]; /* device memory of buffer_bytes each, made when first asked for */
} dvt_vector_lane;

typedef struct dvt_vector_device {
  int device;
  dvt_vector_lane lane[DVT_VECTOR_LANES];
} dvt_vector_device;

typedef struct dvt_vector_run {
  size_t buffer_bytes;
  int devices;
  dvt_vector_device device[DVT_MOST_DEVICES];
} dvt_vector_run;

/* Opens lanes on the devices; nothing is held after a failure. */
davit_status dvt_vector_open(dvt_vector_run *run, const int *devices, int count, size_t buffer_bytes);

/* Waits for all lanes, frees all memory, returns `status` or else the first error of the work. */
davit_status dvt_vector_close(dvt_vector_run *run, davit_status status);

/* The part [begin, end) of n elements that device `index` of `count` gets. */
void dvt_vector_range(int64_t n, int index, int count, int64_t *begin, int64_t *end);

/* A strided vector of BLAS as memory: elements [begin, end) of n with increment `inc` start at `base`, as
 * columns of row_bytes bytes (all of it at once where the increment is 1). `step` is the increment of the
 * same chunk where its columns lie `pitch` apart. */
typedef struct dvt_vector_chunk {
  char *base;
  size_t pitch, row_bytes, cols;
} dvt_vector_chunk;
dvt_vector_chunk dvt_vector_cut(const void *x, int64_t n, int64_t inc, int64_t begin, int64_t end,
                                size_t element_bytes);
int64_t dvt_vector_step(int64_t inc, size_t pitch, size_t element_bytes);

/* Operand `which` of a chunk on the lane: *pointer is where the lane's device finds cols columns of row_bytes
 * contiguous bytes, *pitch their distance: in place if the device reaches the memory, else a buffer,
 * filled by a copy if `load`. */
davit_status dvt_vector_operand(dvt_vector_run *run, dvt_vector_lane *lane, int which, bool load,
                                void *source, size_t source_pitch, size_t row_bytes, size_t cols,
                                void **pointer, size_t *pitch);

/* Sends a buffer that dvt_vector_operand() gave back to where it belongs; nothing to do for memory in place. */
davit_status dvt_vector_store(dvt_vector_lane *lane, void *pointer, size_t pitch, void *home,
                              size_t home_pitch, size_t row_bytes, size_t cols);

#endif
