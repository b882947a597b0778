/* SPDX-License-Identifier: Apache-2.0 */
/* C = alpha A Aᵀ + beta C over the ranks of a grid, with one operand: a rank gets panels of the rows of A that belong
 * to its rows of C, as in a product; those that belong to its columns lie in panels of its process column, its own
 * among them. Each process of the column sends what it has of these, as one matrix. */
#ifndef DAVIT_SRC_MPI_MIRROR_H
#define DAVIT_SRC_MPI_MIRROR_H

#include "src/mpi/local_panel.h"

/* The ranges of the local panels of all ranks. `left` is fitted to the rows of `c` (unit 0, index 1 is the inner
 * one), which is square. Stores C, but not what is separate from it; dvt_local_panels_close() waits for that. A rank
 * that failed before stores nothing. `failure` gets what goes wrong. */
davit_status dvt_multiply_mirrored(davit_mpi_grid *grid, dvt_local_panels *locals, const dvt_view *left,
                                   const dvt_view *c, double alpha, double beta, dvt_error *failure);

#endif
