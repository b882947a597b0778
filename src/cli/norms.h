/* SPDX-License-Identifier: Apache-2.0 */
/* Norms that solve and factor check with, and the half that Cholesky's factorisation reads.
 *
 * A C-order matrix is in memory the transpose of a column-major one, so its lower half is that one's upper half, and no
 * element moves. The transpose of a Hermitian matrix is its conjugate. The other functions take column-major arrays.
 * CLI_DEVICE when memory is short. */
#ifndef DAVIT_SRC_CLI_NORMS_H
#define DAVIT_SRC_CLI_NORMS_H

#include <math.h>

#include "src/cli/frame/state.h"

/* The half in memory, as the library names it ('L' or 'U'). */
static inline char cli_half_of(const cli_array *a, bool upper) {
  return upper == a->fortran ? 'U' : 'L';
}

/* The larger one, NaN if one is. */
static inline double cli_larger(double x, double y) {
  return isnan(x) || x > y ? x : y;
}

/* The 1-norm, which is that of infinity too, of the matrix that has this half; imaginary parts of the diagonal count as
 * 0. */
int cli_half_norm(cli_job *job, const cli_array *a, char half, double *norm);

/* The largest sum of a row's absolute values; and of a column's. */
int cli_row_norm(cli_job *job, const cli_array *a, double *norm);
double cli_column_norm(const cli_array *a);

/* The norm of infinity of |L| |U|, from what LU has left of a matrix. */
int cli_lu_norm(cli_job *job, const cli_array *lu, double *norm);

#endif
