/* SPDX-License-Identifier: Apache-2.0 */
/* What solve and factor share: positive definite matrices, of which one half is read.
 *
 * A C-order matrix is in memory the transpose of a column-major one, so its lower half is that one's upper half, and no
 * element moves. The transpose of a Hermitian matrix is its conjugate. */
#ifndef DAVIT_SRC_CLI_DEFINITE_H
#define DAVIT_SRC_CLI_DEFINITE_H

#include <math.h>

#include "src/cli/frame/state.h"

#define CLI_DEFINITE_HELP                                                                                    \
  "a symmetric, or complex Hermitian, positive definite matrix: float64, float32, complex128 or complex64"

/* The half in memory, as the library names it ('L' or 'U'). */
static inline char cli_half_of(const cli_array *a, bool upper) {
  return upper == a->fortran ? 'U' : 'L';
}

/* The larger one, NaN if one is. */
static inline double cli_larger(double x, double y) {
  return isnan(x) || x > y ? x : y;
}

/* The 1-norm, which is that of infinity too, of the matrix that has this half; imaginary parts of the diagonal count as
 * 0. CLI_DEVICE when memory is short. */
int cli_half_norm(cli_job *job, const cli_array *a, char half, double *norm);

#endif
