/* SPDX-License-Identifier: Apache-2.0 */
/* Factorisations over the ranks of a grid, by blocks of columns (potrf.c, getrf.c). The rank's part of A lies where its
 * first device reaches it, and one queue computes there. A block is factored before the others are updated with the
 * block before it, and sent while they are: what is sent lies in pinned memory, here, and is copied to the device,
 * there. */
#ifndef DAVIT_SRC_MPI_FACTOR_H
#define DAVIT_SRC_MPI_FACTOR_H

#include <davit/event.h>
#include <davit/queue.h>

#include "src/mpi/grid.h"

enum { DVT_FACTOR_BUFFERS = 16 };

typedef struct dvt_mpi_factoring {
  davit_mpi_grid *grid;
  davit_type type;
  size_t bytes; /* of an element */
  dvt_view a;   /* for an upper triangle the transpose */
  int devices[DVT_MPI_DEVICES], device_count;
  uint64_t digest; /* of what all ranks have in common */

  int64_t rows, cols; /* of the rank's part */
  int64_t width;      /* maximum columns of a block */
  davit_queue *queue;
  davit_event *ready; /* what is to be sent is here, and what was sent before is there */
  void *buffer[DVT_FACTOR_BUFFERS];
  int buffers;
  dvt_error failure;
  int64_t info; /* LAPACK's, the same on all ranks when a block was sent */
} dvt_mpi_factoring;

/* Opens the buffers of a routine, of which the first failure is kept; goes through its blocks, which is collective. */
typedef struct dvt_mpi_factor_rule {
  davit_status (*open)(dvt_mpi_factoring *f);
  davit_status (*steps)(dvt_mpi_factoring *f);
} dvt_mpi_factor_rule;

/* Collective, and returns the same on all ranks. */
davit_status dvt_mpi_factor_run(dvt_mpi_factoring *f, const dvt_mpi_factor_rule *rule);

/* ---- for the rules ---- */

/* Memory of the host, and so many elements, here or there; freed at the end. */
davit_status dvt_mpi_factor_memory(dvt_mpi_factoring *f, size_t bytes, void **memory);
davit_status dvt_mpi_factor_buffer(dvt_mpi_factoring *f, int64_t elements, bool there, char **buffer);

/* A block of columns, and the block on the diagonal with it. Index 0 of arrays is that of rows. */
typedef struct dvt_mpi_block {
  int64_t begin, end;
  int owner[2];               /* its process row and column */
  bool mine[2];               /* whether they are this process's */
  int64_t first[2], after[2]; /* positions of `begin` and `end` in the rank's part */
} dvt_mpi_block;

dvt_mpi_block dvt_mpi_block_at(const dvt_mpi_factoring *f, int64_t begin);

static inline int64_t dvt_mpi_block_width(const dvt_mpi_block *b) {
  return b->end - b->begin;
}

/* The process's coordinate along index d of A, and those that differ in it. */
static inline int dvt_mpi_factor_me(const dvt_mpi_factoring *f, int d) {
  return f->grid->at[f->a.axis[d]];
}
static inline MPI_Comm dvt_mpi_factor_line(const dvt_mpi_factoring *f, int d) {
  return f->grid->line[f->a.axis[d]];
}

/* An element of the rank's part. */
char *dvt_mpi_factor_at(const dvt_mpi_factoring *f, int64_t row, int64_t col);

/* Enqueues a copy of some of the rank's part to a buffer (`out`), or back. The buffer's columns, rows of a transpose,
 * have distance ld. */
davit_status dvt_mpi_factor_copy(dvt_mpi_factoring *f, int64_t row, int64_t rows, int64_t col, int64_t cols,
                                 char *buffer, int64_t ld, bool out);

static inline bool dvt_mpi_factor_works(const dvt_mpi_factoring *f) {
  return f->failure.status == DAVIT_SUCCESS;
}

/* Unless the rank has failed. */
#define DVT_FACTOR_DO(f, call)                                                                               \
  do {                                                                                                       \
    if (dvt_mpi_factor_works(f))                                                                             \
      dvt_error_keep(&(f)->failure, call);                                                                   \
  } while (0)

/* So many elements as one, for which counts of MPI are large enough; for MPI_Type_free(). */
davit_status dvt_mpi_factor_type(const dvt_mpi_factoring *f, int64_t elements, MPI_Datatype *type);

#endif
