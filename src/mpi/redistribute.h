/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAVIT_SRC_MPI_REDISTRIBUTE_H
#define DAVIT_SRC_MPI_REDISTRIBUTE_H

#include "src/mpi/grid.h"

/* Collective over the grid: copies the matrix `from` into `to`, which has its own distributions and axes. Both lie in
 * host memory. Every element travels once. `failure`, that of this rank so far, is returned by all. */
davit_status dvt_redistribute(const davit_mpi_grid *grid, const dvt_view *from, const dvt_view *to,
                              const dvt_error *failure);

#endif
