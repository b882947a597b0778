/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices in other layouts. */
#ifndef DAVIT_SRC_MPI_REDISTRIBUTE_H
#define DAVIT_SRC_MPI_REDISTRIBUTE_H

#include "src/mpi/grid.h"

enum { DVT_MPI_BLOCK = 256, DVT_MPI_BLOCK_MINIMUM = 32 };

/* Whether rows and columns have the same blocks, which are of a good size for panels. */
bool dvt_has_square_blocks(const dvt_view *view);

/* The layout of a matrix like `given`, index 0 along `axis`, index `unit` with stride 1, in blocks that are of a good
 * size. */
dvt_view dvt_layout(const davit_mpi_grid *grid, const dvt_view *given, int axis, int unit);

/* Makes `view`, whose index 1 is the inner one, an operand whose index 0 is distributed as `outer` along `axis`,
 * and whose index `unit` has stride 1: as it is, if it is one already and its blocks are not tiny; otherwise
 * a copy in *memory, for davit_free(). Collective, and returns the same on all ranks. */
davit_status dvt_fit(const davit_mpi_grid *grid, const dvt_distribution *outer, int axis, int unit,
                     dvt_view *view, void **memory);

/* Copies a matrix into a layout, of which the distributions, the axes and the unit are given; the rest and *memory,
 * for davit_free(), are set. Collective, and returns the same on all ranks. */
davit_status dvt_move(const davit_mpi_grid *grid, const dvt_view *from, dvt_view *to, void **memory);

/* The way back, into a matrix that is there. */
davit_status dvt_move_back(const davit_mpi_grid *grid, const dvt_view *from, const dvt_view *to);

#endif
