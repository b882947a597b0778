/* SPDX-License-Identifier: Apache-2.0 */
/* The course report's three exercises, corrected: what printed.h has, as it was meant. Double precision,
 * 64-bit indices, any sizes, no access outside; what all blocks must have finished is a launch of its own.
 * They are here to be studied; the library's own are <davit/stencil.h>, <davit/atax.h> and
 * <davit/covariance.h>. */
#ifndef DAVIT_STUDY_DENSE_DENSE_H
#define DAVIT_STUDY_DENSE_DENSE_H

#include <davit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum study_exercise {
  STUDY_CONVOLUTION, /* the 3 x 3 stencil of a */
  STUDY_ATAX,        /* tmp = A x, then y = Aᵀ tmp */
  STUDY_COVARIANCE,  /* the columns' means, a minus the means, and Dᵀ D of that */
  STUDY_EXERCISES
} study_exercise;

/* Row-major arrays, as far as an exercise has them:
 *
 *                 a              x      tmp           out
 *   CONVOLUTION   rows x cols    -      -             rows x cols; the border is left as it is
 *   ATAX          rows x cols    cols   rows          cols: y
 *   COVARIANCE    rows x cols    -      cols: means   cols x cols
 *
 * The covariance writes a. */
enum { STUDY_A, STUDY_X, STUDY_TMP, STUDY_OUT, STUDY_ARRAYS };
typedef struct study_dense_data {
  int64_t rows, cols;
  double divisor; /* of the covariance's means */
  bool symmetric; /* the covariance's kernels multiply one triangle of tiles, and mirror it */
  union {
    struct {
      double *a, *x, *tmp, *out;
    };
    double *array[STUDY_ARRAYS];
  };
} study_dense_data;

/* Elements of each array, and the bytes of all. */
void study_dense_counts(study_exercise e, int64_t rows, int64_t cols, int64_t counts[STUDY_ARRAYS]);
double study_dense_bytes(study_exercise e, int64_t rows, int64_t cols);

/* ---- on a device ---- */

/* Milliseconds of each launch, its end waited for (one, two or three of them), and of the copies of a run. */
typedef struct study_dense_times {
  double phase_ms[3], transfer_ms;
} study_dense_times;

/* The kernels, on memory of the device (host memory for the CPU and host-offload devices). GPUs run target
 * regions, one block after another on the CPU otherwise; returns when all is done. times may be NULL.
 *
 *   CONVOLUTION  a thread an element, blocks of block x block threads; block is 8, 16 or 32
 *   ATAX         a row by a warp (by half of one where the block has 16 threads), a column by a thread: both
 *                read neighbours; block is a power of two from 16 to 512
 *   COVARIANCE   the product in tiles of block x block elements; block is 8, 16 or 32 */
davit_status study_dense_kernels(study_exercise e, int device, int block, const study_dense_data *data,
                                 study_dense_times *times);

typedef struct study_dense {
  int block;           /* 0: 16, atax 256 */
  size_t memory_bytes; /* maximum that the arrays on the device may take; 0: what is free there */
} study_dense;

/* Whether so many bytes may be taken: DAVIT_OUT_OF_DEVICE_MEMORY, with both numbers, if not. */
davit_status study_dense_room(const study_dense *d, int device, double bytes);

/* The same with host memory: study_dense_room(), allocations, copies both ways. Errors beside those above:
 * DAVIT_OUT_OF_DEVICE_MEMORY, also where an allocation fails after all. */
davit_status study_dense_run(study_exercise e, const study_dense *d, int device, const study_dense_data *data,
                             study_dense_times *times);

/* ---- on the CPU, host memory ---- */

/* The handout's serial programs: plain loops in its order. That of the convolution, which is not known, goes
 * by rows; the product of the covariance goes down the columns, of one triangle, and is mirrored. */
void study_dense_handout(study_exercise e, const study_dense_data *data);

/* Loops in the best order, with the processor's vectors, on so many threads: 1 is the fair serial program, 0
 * takes all. The covariance multiplies one triangle. Fails for want of memory, which each thread of atax but
 * the first needs. */
davit_status study_dense_cpu(study_exercise e, int threads, const study_dense_data *data);

#endif
