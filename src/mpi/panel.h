/* SPDX-License-Identifier: Apache-2.0 */
/* Panels of an operand: some of its inner indices, for all processes of a line of the grid that need them.
 * Index 0 of the view is dealt as C is, index 1 is the inner one; each process of the line broadcasts what it
 * has. */
#ifndef DAVIT_SRC_MPI_PANEL_H
#define DAVIT_SRC_MPI_PANEL_H

#include "src/mpi/strip.h"

typedef struct dvt_panel {
  const davit_mpi_grid *grid;
  const dvt_view *view;
  size_t bytes;    /* of an element */
  int64_t outer;   /* the rank's number of outer indices */
  int64_t width;   /* maximum number of inner ones */
  char *buffer[2]; /* where MPI sends and receives */
  MPI_Request *requests;
  int64_t request_count;
  dvt_piece *pieces; /* of the panel that was posted last */
  int64_t piece_count;
} dvt_panel;

/* Where the inner index has stride 1, a piece is inner × outer; otherwise all pieces are columns of one outer
 * × inner matrix. */
davit_status dvt_panel_open(dvt_panel *panel, const davit_mpi_grid *grid, const dvt_view *view, int64_t width,
                            int place);
void dvt_panel_close(dvt_panel *panel);

/* Begins to broadcast the inner indices from begin to end, of `rows` outer ones from position `row` on, into
 * the buffer of `turn`. The panel before must have arrived. */
davit_status dvt_panel_post(dvt_panel *panel, int turn, int64_t begin, int64_t end, int64_t row, int64_t rows,
                            dvt_error *failure);

/* Waits for its arrival. */
davit_status dvt_panel_arrive(dvt_panel *panel);

#endif
