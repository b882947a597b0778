/* SPDX-License-Identifier: Apache-2.0 */
/* The course report's kernels as they are printed, defects and all, run by a model of a GPU on the CPU; see
 * bench/study/reduce/printed.h. Row-major, double precision. */
#ifndef DAVIT_STUDY_DENSE_PRINTED_H
#define DAVIT_STUDY_DENSE_PRINTED_H

#include "bench/study/common/trace.h"

/* 3×3 stencil; blocks of side × side threads. Elements of the border of b are not written. */
void study_printed_convolution(int side, int64_t ni, int64_t nj, const double *a, double *b,
                               study_guard *reads);

/* One kernel for tmp = A x, y = Aᵀ tmp, block after block from the first (or from the last). What is read
 * outside of A, x or tmp is `outside`. */
void study_printed_atax(int block, bool descending, int64_t nx, int64_t ny, const double *a, const double *x,
                        double outside, double *tmp, double *y, study_guard *reads);

/* What is corrected in the printed covariance, so that the other defects show. */
enum {
  STUDY_COLUMN_RESET = 1, /* Col is set back before each of the three parts */
  STUDY_ONE_ROW = 2,      /* one row of threads subtracts the means */
  STUDY_LAUNCHES = 4,     /* the three parts are three launches */
  STUDY_TRANSPOSED = 8,   /* the product is Dᵀ D */
  STUDY_COVARIANCE_ALL = 15
};

typedef struct study_printed_covariance {
  int corrected;   /* an or of the above */
  int side;        /* of a block and a tile; at most 32 */
  bool descending; /* blocks from the last to the first */
  int64_t m, n;    /* rows and columns of data; symmat is n × n */
  double divisor;
  double outside; /* what is read outside of data or mean */
} study_printed_covariance;

/* The guards count reads of data, and writes of symmat. */
void study_printed_covariance_run(const study_printed_covariance *p, double *data, double *mean,
                                  double *symmat, study_guard *reads, study_guard *writes);

#endif
