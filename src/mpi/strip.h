/* SPDX-License-Identifier: Apache-2.0 */
/* The rank's part of a matrix C on its devices: a strip of columns each, with a queue. A device that reaches
 * the memory of C computes there, others hold a copy. Products are enqueued and read panels from two pairs of
 * buffers, so that one pair is filled while the devices work on the other. */
#ifndef DAVIT_SRC_MPI_STRIP_H
#define DAVIT_SRC_MPI_STRIP_H

#include <davit/queue.h>

#include "src/mpi/grid.h"

/* Columns of a strip, and the rows of them that are wanted. Products are added to C, or to memory apart from C, which
 * is contiguous and 0 at first. */
typedef struct dvt_range {
  int64_t first, cols, row, end;
  bool apart;
  char *memory; /* NULL: C */
} dvt_range;

typedef struct dvt_strip {
  int device;
  bool copies; /* panels are copied to it, because it does not reach them */
  davit_queue *queue;
  davit_queue *copy; /* what carries panels to the device; `queue` itself if nothing is copied */
  int64_t first, cols;
  char *c; /* its columns */
  int64_t ldc;
  char *own_c;              /* what it holds a copy in; NULL: it computes where C is */
  char *left[2], *right[2]; /* its copies of panels */
  const char *here[2];      /* the panel from the left, wherever it is used, */
  int64_t here_ld[2];       /* and the distance of its columns */
  davit_event *arrived[2];  /* what writes its copies of a turn */
  davit_event *finished[2]; /* what reads the buffers of a turn */
  dvt_range whole;
  const dvt_range *range; /* the whole alone, unless dvt_strips_divide() has been called */
  int64_t ranges;
  dvt_range *own_range;
  char *apart; /* the memory of all ranges that are apart from C, on the device */
  int64_t apart_elements;
} dvt_strip;

typedef struct dvt_strips {
  davit_type type;
  size_t bytes;       /* of an element */
  int64_t rows, cols; /* of the rank's part of C */
  char *c;            /* where that lies */
  int64_t ldc;
  int64_t width;   /* of panels */
  int panel_place; /* where those lie that MPI sends and receives */
  int count;
  dvt_strip strip[DVT_MPI_DEVICES];
} dvt_strips;

davit_status dvt_strips_open(dvt_strips *strips, davit_type type, int64_t rows, int64_t cols, char *c,
                             int64_t ldc, int64_t width, const int *devices, int count);

/* Waits for everything, and frees it. */
davit_status dvt_strips_close(dvt_strips *strips);

/* Divides a strip into `count` ranges, which it copies. Before anything is enqueued. */
davit_status dvt_strips_divide(dvt_strips *strips, dvt_strip *strip, const dvt_range *ranges, int64_t count);

/* Enqueues the copies of ranges to strips, if they have memory of their own, or back to C; not what is apart. */
davit_status dvt_strips_load(dvt_strips *strips);
davit_status dvt_strips_store(dvt_strips *strips);

/* Enqueues what gets a panel to where the strips use it. The panel must not change before
 * dvt_strips_wait() of the same turn. */
davit_status dvt_strips_bring(dvt_strips *strips, int turn, const char *panel, int64_t rows, int64_t inner,
                              int64_t ld);

/* Rows `row` to row + rows of C, and the part of the panel of a turn that belongs to them: from row `skip` on. */
typedef struct dvt_band {
  int64_t row, rows, skip;
} dvt_band;

/* inner × cols of C; columns have distance ld. */
typedef struct dvt_piece {
  int64_t inner, ld;
  const char *data;
} dvt_piece;

/* The band of C = alpha panel right + beta C, enqueued; `right` are pieces on top of each other, `inner` rows
 * in all, which must not change before dvt_strips_wait() of the same turn. */
davit_status dvt_strips_multiply(dvt_strips *strips, int turn, dvt_band band, int64_t inner, double alpha,
                                 int64_t pieces, const dvt_piece *right, double beta);

/* Columns `first` to first + cols of C, and where the rows of the right operand are that belong to them: from row `row`
 * on of the panel of the turn, or of `data`, a column-major matrix, whose columns have distance ld. */
typedef struct dvt_run {
  int64_t first, cols, row, ld;
  const char *data; /* NULL: the panel */
} dvt_run;

/* C = alpha panel rightᵀ + beta C, enqueued; each column of C is in one of the runs, whose data must not change
 * before dvt_strips_wait() of the same turn. */
davit_status dvt_strips_update(dvt_strips *strips, int turn, int64_t inner, double alpha, int64_t run_count,
                               const dvt_run *runs, double beta);

/* The band of C becomes A⁻¹ times itself, enqueued; A is the triangular part of the panel. */
davit_status dvt_strips_solve(dvt_strips *strips, int turn, dvt_band band, char uplo, char diag);

/* Copies rows of C into a contiguous matrix of the host, and waits. */
davit_status dvt_strips_read(dvt_strips *strips, int64_t row, int64_t rows, void *to);

/* Waits until the buffers of a turn are free. */
davit_status dvt_strips_wait(dvt_strips *strips, int turn);

#endif
