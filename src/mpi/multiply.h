/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAVIT_SRC_MPI_MULTIPLY_H
#define DAVIT_SRC_MPI_MULTIPLY_H

#include "src/mpi/local_panel.h"

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
  uint64_t digest; /* of what all ranks have in common */
  /* Of a triangle: sets the ranges of the local panels; adds to C what is separate from it. */
  davit_status (*divide)(const dvt_product *product, dvt_local_panels *locals);
  davit_status (*merge)(const dvt_product *product, const dvt_local_panels *locals);
};

/* Collective, and returns the same on all ranks. */
davit_status dvt_multiply(dvt_product *product);

#endif
