/* SPDX-License-Identifier: Apache-2.0 */
/* The rank's part of a matrix C on its devices: a local panel of columns each, with a queue. A device that reaches
 * the memory of C computes there, others hold a copy. Panels, numbered from 0, take turns at stages: each stage has
 * buffers on the devices, which are filled while the devices work on those of stages before. All is enqueued; what the
 * host waits for is said. */
#ifndef DAVIT_SRC_MPI_LOCAL_PANEL_H
#define DAVIT_SRC_MPI_LOCAL_PANEL_H

#include <davit/queue.h>

#include "src/mpi/grid.h"
#include "src/mpi/transport.h"

/* Columns of a local panel, and the rows of them that are wanted. Products are added to C, or to memory separate
 * from C, which is contiguous and 0 at first. */
typedef struct dvt_block_range {
  int64_t first, cols, row, end;
  bool separate;
  char *memory; /* NULL: C */
} dvt_block_range;

/* Limits of the number of stage buffers. Three are needed: one panel is being filled while the devices use the two
 * before it. More let products wait (`last`) and right operands come at once (`group`), but take memory and events. */
enum { DVT_STAGES_MINIMUM = 3, DVT_STAGES_MAXIMUM = 8 };

/* What is added to C is the product of a left and a right operand, with `inner` columns and rows. */
typedef struct dvt_stage {
  char *left_copy, *right_copy; /* on the device; the latter is a part of the local panel's `right` */
  const char *left, *right;     /* wherever they are used */
  int64_t left_ld, right_ld, inner;
  char trans;              /* of the right operand, 'N': inner × cols, 'T': cols × inner */
  davit_event *arrived;    /* the copies on the copy queue */
  davit_event *moved;      /* those within the device's memory, on the queue */
  davit_event *finished;   /* all products */
  bool copied, kept, used; /* these were recorded */
} dvt_stage;

typedef struct dvt_local_panel {
  int device;
  bool copies; /* panels are copied to it, because it does not reach them */
  davit_queue *queue;
  davit_queue *copy;  /* what carries panels to the device; `queue` itself if nothing is copied */
  davit_queue *back;  /* what carries C back, if it holds a copy of that */
  davit_event *ready; /* what `back` waits for */
  int64_t first, cols;
  char *c; /* its columns */
  int64_t ldc;
  char *own_c; /* what it holds a copy in; NULL: it computes where C is */
  char *right; /* memory for the right operands of all stage buffers */
  dvt_stage stage[DVT_STAGES_MAXIMUM];
  dvt_block_range whole;
  const dvt_block_range *range; /* the whole alone, unless dvt_local_panels_divide() has been called */
  int64_t ranges;
  dvt_block_range *own_range;
  char *separate; /* the memory of all ranges that are separate from C, on the device */
  int64_t separate_elements;
} dvt_local_panel;

typedef struct dvt_local_panels {
  davit_type type;
  size_t bytes;       /* of an element */
  int64_t rows, cols; /* of the rank's part of C */
  char *c;            /* where that lies */
  int64_t ldc;
  int64_t width; /* of panels */
  /* Each local panel has so many stage buffers: where all local panels copy panels, as many as fit into the memory
   * that the smallest local panel of C takes (four times that if it is small, up to 1 GiB), within the limits above;
   * otherwise DVT_STAGES_MINIMUM. */
  int stages;
  /* The products of at most so many panels wait for dvt_local_panels_finish(), which stores C meanwhile. It is 1
   * unless all local panels copy panels and hold a copy of C. */
  int last;
  /* So many right operands are copied at once; 1: none comes out of a `rest`. */
  int group;
  dvt_transport transport; /* of panels */
  int count;
  dvt_local_panel local[DVT_MPI_DEVICES];
} dvt_local_panels;

/* `c` is column-major. */
davit_status dvt_local_panels_open(dvt_local_panels *locals, const davit_mpi_grid *grid, const dvt_view *c,
                                   int64_t width, const int *devices, int count);

/* Waits for everything, and frees it. */
davit_status dvt_local_panels_close(dvt_local_panels *locals);

/* Divides a local panel into `count` ranges, which it copies. Before anything is enqueued. */
davit_status dvt_local_panels_divide(dvt_local_panels *locals, dvt_local_panel *local,
                                     const dvt_block_range *ranges, int64_t count);

/* Copies ranges to local panels that have memory of their own, or back to C; not what is separate. */
davit_status dvt_local_panels_load(dvt_local_panels *locals);
davit_status dvt_local_panels_store(dvt_local_panels *locals);

/* The same for these rows of C, which do not change any more, while work goes on. */
davit_status dvt_local_panels_store_rows(dvt_local_panels *locals, int64_t row, int64_t rows);

/* Some inner indices of a panel; columns have distance ld. Of a left operand it is rows × inner, of a right one
 * inner × cols of C. `here`: it lies in memory of the rank's device, not another process's. */
typedef struct dvt_piece {
  int64_t inner, ld;
  const char *data;
  bool here;
} dvt_piece;

/* Enqueues the copies of panel t to where the local panels use it, as the left operand, rows × inner: pieces beside
 * each other, one alone if a local panel uses it where it lies; none if there are no rows. They must not change
 * before dvt_local_panels_wait(). After a failure, here or of a right operand, the panel's stage buffer is not fit
 * for use. */
davit_status dvt_local_panels_fetch_left(dvt_local_panels *locals, int64_t t, int64_t rows, int64_t inner,
                                         int64_t pieces, const dvt_piece *left);

/* Columns `first` to first + cols of C, and where the rows of the right operand are that belong to them: from row `row`
 * on of the panel of the stage buffer, or of `data`, a column-major matrix, whose columns have distance ld. */
typedef struct dvt_column_range {
  int64_t first, cols, row, ld;
  const char *data; /* NULL: the panel */
} dvt_column_range;

/* A right operand, as `count` pieces on top of each other; or out of all that is left of a matrix that does not change
 * before dvt_local_panels_flush(): then it comes with those of the next panels, `group` in all, because rows of 16 KB
 * are copied at a higher rate than short ones; or transposed, each column of C in one of `count` ranges of columns. */
typedef struct dvt_right {
  int64_t count;
  const dvt_piece *pieces, *rest;
  const dvt_column_range *columns;
} dvt_right;

/* After the left operand. What it comes from must not change before dvt_local_panels_wait(). `rest` is for every panel
 * from 0 on. */
davit_status dvt_local_panels_fetch_right(dvt_local_panels *locals, int64_t t, const dvt_right *right);

/* The right operand: rows of C itself, from `row` on. */
void dvt_local_panels_take_rows(dvt_local_panels *locals, int64_t t, int64_t row);

/* Rows `row` to row + rows of C, and the part of the left operand that belongs to them: from row `skip` on. */
typedef struct dvt_row_range {
  int64_t row, rows, skip;
} dvt_row_range;

/* The range of rows of C = alpha left right + beta C. */
davit_status dvt_local_panels_multiply(dvt_local_panels *locals, int64_t t, dvt_row_range row_range,
                                       double alpha, double beta);

/* C = beta C */
davit_status dvt_local_panels_scale(dvt_local_panels *locals, double beta);

/* The last products: of `count` panels from panel t on, to all of C, which is stored part by part as it gets ready.
 * beta is that of the first. */
davit_status dvt_local_panels_finish(dvt_local_panels *locals, int64_t t, int64_t count, double alpha,
                                     double beta);

/* The range of rows of C becomes A⁻¹ times itself; A is the triangular part of the left operand. */
davit_status dvt_local_panels_solve(dvt_local_panels *locals, int64_t t, dvt_row_range row_range, char uplo,
                                    char diag);

/* Copies rows of C into a contiguous matrix of the host, and waits. */
davit_status dvt_local_panels_read(dvt_local_panels *locals, int64_t row, int64_t rows, void *to);

/* Waits until the operands of panel t are not read any more where they came from. t is one of the last `stages`
 * panels, or less than 0. */
davit_status dvt_local_panels_wait(dvt_local_panels *locals, int64_t t);

/* Waits for all but what is stored. */
davit_status dvt_local_panels_flush(dvt_local_panels *locals);

#endif
