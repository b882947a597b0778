/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAVIT_SRC_MPI_MULTIPLY_H
#define DAVIT_SRC_MPI_MULTIPLY_H

#include "src/mpi/local_panel.h"

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

/* Opens the local panels by open(call, locals), and agrees on how it went. Where a device has no memory for
 * them, again without what the grid keeps there for panels of the next call. */
davit_status dvt_local_panels_agree(davit_mpi_grid *grid, dvt_local_panels *locals,
                                    davit_status (*open)(void *call, dvt_local_panels *locals), void *call);

/* C = alpha A B + beta C over the ranks of a grid, where A is op(A), its index 1 the inner one, and B is op(B) with its
 * indices exchanged. Of a triangle B is the transpose of A, which then is the only operand. */
typedef struct dvt_product dvt_product;
struct dvt_product {
  davit_mpi_grid *grid;
  davit_type type;
  char uplo; /* of a triangle; 0: all of C is wanted */
  double alpha, beta;
  dvt_view a, b, c;
  int64_t k, width;
  int devices[DVT_MPI_DEVICES], device_count;
  /* Of a triangle: sets the ranges of the local panels; adds to C what is separate from it. */
  davit_status (*divide)(const dvt_product *product, dvt_local_panels *locals);
  davit_status (*merge)(const dvt_product *product, const dvt_local_panels *locals);
};

/* Collective, and returns the same on all ranks. */
davit_status dvt_multiply(dvt_product *product);

#endif
