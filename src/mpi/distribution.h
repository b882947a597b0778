/* SPDX-License-Identifier: Apache-2.0 */
/* Indices that are distributed to processes in blocks, in turn, and matrices of which both are. */
#ifndef DAVIT_SRC_MPI_DISTRIBUTION_H
#define DAVIT_SRC_MPI_DISTRIBUTION_H

#include <davit/operator.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/arithmetic.h"

/* n indices, distributed to `count` processes in blocks. Index 0 is the `offset`-th of a block, on process
 * `first`. */
typedef struct dvt_distribution {
  int64_t n, block, offset;
  int first, count;
} dvt_distribution;

/* n indices from `begin` on of those that are distributed from index 0 on process `first`. */
dvt_distribution dvt_distribution_part(int64_t n, int64_t begin, int64_t block, int first, int count);

int dvt_distribution_owner(const dvt_distribution *distribution, int64_t i);
/* The first index after i that may be another process's. */
int64_t dvt_distribution_end(const dvt_distribution *distribution, int64_t i);
/* How many of the indices below i a process has; that is the position of index i if it is its own. */
int64_t dvt_distribution_below(const dvt_distribution *distribution, int process, int64_t i);
/* The index at position `l` of a process. */
int64_t dvt_distribution_index(const dvt_distribution *distribution, int process, int64_t l);

/* How many columns of `rows` elements one message may have, as MPI counts elements by an int; at least 1. */
static inline int64_t dvt_mpi_columns_at_once(int64_t rows) {
  return dvt_at_least(INT_MAX / dvt_at_least(rows, 1), 1);
}

/* Whether both give each process the same indices. */
bool dvt_distributions_equal(const dvt_distribution *a, const dvt_distribution *b);

/* The calling rank's part of a matrix of elements (i, j): index d is distributed along axis[d] of the grid, whose
 * axis 0 counts process rows, and steps by stride[d] elements in memory; that of index `unit` is 1. */
typedef struct dvt_view {
  davit_type type;
  dvt_distribution distribution[2];
  int axis[2];
  int unit;
  char *data;
  int64_t stride[2];
} dvt_view;

#endif
