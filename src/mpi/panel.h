/* SPDX-License-Identifier: Apache-2.0 */
/* Panels of an operand: some of its inner indices, for all processes of a line of the grid that need them. Index 0
 * of the view is distributed as C is, index 1 is the inner one. A process that is alone in its line uses its part of
 * the operand where it is. Processes of a line on one machine put what they have into memory that they share; others
 * broadcast it. */
#ifndef DAVIT_SRC_MPI_PANEL_H
#define DAVIT_SRC_MPI_PANEL_H

#include "src/mpi/local_panel.h"

/* While the devices use a panel, the one before may still be in use, and the next is being filled. In shared memory
 * the one after that is being filled as well, and another process may still use the one before these (see panel.c). */
enum { DVT_MESSAGE_BUFFERS = 3, DVT_SHARED_BUFFERS = 5 };

/* What the processes of a line of the grid send each other, in buffers that they fill in turn: in memory that they
 * share, or by messages. */
typedef struct dvt_channel {
  MPI_Comm line;
  size_t bytes;                      /* of a buffer */
  const dvt_shared *shared;          /* DVT_SHARED_BUFFERS of them in each part, or NULL */
  char *buffer[DVT_MESSAGE_BUFFERS]; /* where MPI sends and receives, otherwise */
  MPI_Request *requests;
  int64_t request_count;
} dvt_channel;

/* With room for so many messages at a time. Collective in the line, whatever `failure` gets. */
davit_status dvt_channel_open(dvt_channel *channel, davit_mpi_grid *grid, int axis, size_t bytes,
                              int64_t requests, const dvt_transport *transport, dvt_error *failure);
void dvt_channel_close(dvt_channel *channel);

/* Where process `p` of the line writes what buffer `t` is to hold. */
char *dvt_channel_part(const dvt_channel *channel, int p, int64_t t);

/* Begins a message from process `p` to the others, unless they share memory; then says to them what this process has
 * written there; and waits for all of that. */
davit_status dvt_channel_send(dvt_channel *channel, davit_type type, int64_t count, int p, char *data);
davit_status dvt_channel_publish(dvt_channel *channel);
davit_status dvt_channel_await(dvt_channel *channel);

/* A panel on its way: `rows` outer indices from position `row` on. */
typedef struct dvt_posted {
  int64_t begin, end, row, rows;
  dvt_piece *pieces;
  int64_t piece_count;
} dvt_posted;

typedef struct dvt_panel {
  const davit_mpi_grid *grid;
  const dvt_view *view;
  size_t bytes;                       /* of an element */
  int64_t outer;                      /* the rank's number of outer indices */
  bool alone;                         /* in its line, with the operand in the host's memory */
  dvt_channel channel;                /* of the line, otherwise */
  davit_queue *queue;                 /* for copies into this process's part, if that is on its device */
  int64_t posted, published, arrived; /* so many panels */
  dvt_posted stage[2];
  const dvt_piece *pieces; /* of the panel that arrived last */
  int64_t piece_count;
} dvt_panel;

/* For panels of at most `width` inner indices. Where the inner index has stride 1, a piece is inner × outer; otherwise
 * it is outer × inner. Pieces that lie beside each other are one. Collective, whatever `failure` gets. */
davit_status dvt_panel_open(dvt_panel *panel, davit_mpi_grid *grid, const dvt_view *view, int64_t width,
                            const dvt_transport *transport, dvt_error *failure);
void dvt_panel_close(dvt_panel *panel);

/* The next panel: the inner indices from begin to end, of `rows` outer ones from position `row` on. What is to be
 * copied to the device is enqueued. At most one panel before has not arrived. */
davit_status dvt_panel_post(dvt_panel *panel, int64_t begin, int64_t end, int64_t row, int64_t rows,
                            dvt_error *failure);

/* The first panel that was posted and not published: waits until this process's part of it is there and says so to
 * the others, or begins to broadcast it. Of those before it the last must have arrived, and only one more may still
 * be in use. */
davit_status dvt_panel_publish(dvt_panel *panel, dvt_error *failure);

/* Waits for the arrival of the panel that was published last. */
davit_status dvt_panel_arrive(dvt_panel *panel);

#endif
