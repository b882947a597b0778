/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of A that belong to the rank's columns of C = alpha A Aᵀ + beta C. They lie in panels of its process column,
 * its own among them: each process of the column sends what it has of these, as one matrix. */
#ifndef DAVIT_SRC_MPI_MIRROR_H
#define DAVIT_SRC_MPI_MIRROR_H

#include "src/mpi/panel.h"

typedef struct dvt_mirror {
  const davit_mpi_grid *grid;
  dvt_distribution rows, cols; /* of C */
  davit_type type;
  size_t bytes;
  int64_t count;             /* of rows of A */
  dvt_column_range *columns; /* all of them, in the order of columns */
  int *owners;               /* of the ranges of columns, in the process column */
  int64_t column_ranges;
  dvt_column_range *own; /* what is sent: `first` counts rows of this process's matrix */
  int64_t own_count;
  int64_t *starts; /* of the matrices of the column's processes, in rows */
  int64_t posted;
  dvt_channel channel;
} dvt_mirror;

/* For panels of at most `width` inner indices; `c` is square. Collective, whatever `failure` gets. */
davit_status dvt_mirror_open(dvt_mirror *mirror, davit_mpi_grid *grid, const dvt_view *c, int64_t width,
                             const dvt_transport *transport, dvt_error *failure);
void dvt_mirror_close(dvt_mirror *mirror);

/* Begins to send what the processes have of the panel, which has arrived. `columns` are there when the channel has been
 * awaited. */
davit_status dvt_mirror_post(dvt_mirror *mirror, const dvt_panel *left, int64_t inner, dvt_error *failure);

#endif
