/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAVIT_SRC_MPI_MULTIPLY_H
#define DAVIT_SRC_MPI_MULTIPLY_H

#include "src/mpi/local_panel.h"

/* Panels are twice as wide from DVT_MPI_WIDE inner indices on: rows of B are copied to a GPU at a higher rate, where
 * there are enough panels for a good start. */
enum { DVT_MPI_PANEL = 512, DVT_MPI_WIDE = 16384, DVT_MPI_BLOCK = 256, DVT_MPI_BLOCK_MINIMUM = 32 };

/* Whether rows and columns have the same blocks, which are of a good size for panels. */
bool dvt_has_square_blocks(const dvt_view *view);

/* options->panel, or what is usual; and as much of it as k needs. */
davit_status dvt_panel_width(const davit_mpi_options *options, int64_t k, int64_t *width);

/* Where `view` lies on a device: memory of the host for it in *memory, for davit_free(), with or without a
 * copy of what it holds, and the view is of that; otherwise NULL. And the way back, into the view as it was;
 * nothing with NULL. */
davit_status dvt_to_host(const davit_mpi_grid *grid, dvt_view *view, bool copy, void **memory);
davit_status dvt_from_host(const davit_mpi_grid *grid, const dvt_view *view, const void *memory);

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

/* C = alpha left right + beta C for the local panels of all ranks. `left` is fitted to the rows of C (unit 0), `right`,
 * with its indices exchanged, to its columns (unit 1). Stores C; dvt_local_panels_close() waits for that. A rank that
 * failed before stores nothing. `failure` gets what goes wrong. */
davit_status dvt_multiply(davit_mpi_grid *grid, dvt_local_panels *locals, const dvt_view *left,
                          const dvt_view *right, double alpha, double beta, dvt_error *failure);

/* How the operands of panels get to the local panels: each panel, with the inner indices from begin to end, is posted,
 * published, arrives and is fetched. All but the last are collective. */
typedef struct dvt_feed {
  davit_status (*post)(void *operands, int64_t begin, int64_t end);    /* enqueues what can be enqueued */
  davit_status (*publish)(void *operands, int64_t begin, int64_t end); /* begins to send it */
  davit_status (*arrive)(void *operands);                              /* waits for it */
  davit_status (*fetch)(void *operands, int64_t t, int64_t inner);     /* enqueues the copies of panel t */
} dvt_feed;

/* C = alpha (sum of the panels' products) + beta C, k inner indices in all, for what dvt_multiply() says of C and of
 * `failure`. While the devices work on one panel, the next is sent and the one after that is posted. `in_slabs`:
 * right operands come by dvt_local_panels_fetch_group(). */
davit_status dvt_multiply_panels(dvt_local_panels *locals, const dvt_feed *feed, void *operands, int64_t k,
                                 bool in_slabs, double alpha, double beta, dvt_error *failure);

#endif
