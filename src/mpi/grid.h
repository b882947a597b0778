/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAVIT_SRC_MPI_GRID_H
#define DAVIT_SRC_MPI_GRID_H

#include <davit_mpi.h>

#include "src/mpi/agree.h"
#include "src/mpi/distribution.h"
#include "src/mpi/shared.h"

enum { DVT_MPI_DEVICES = 16 };

struct davit_mpi_grid {
  MPI_Comm comm;          /* of the processes of the grid alone */
  MPI_Comm line[2];       /* along each axis, through this process; its rank there is at[axis] */
  int size[2], at[2];     /* axis 0: process rows */
  int node_at, node_size; /* among the processes of the grid on this machine */
  dvt_shared shared[2];   /* of each line, for panels and solutions */
};

/* A submatrix from (i, j) on, counted from 1, of a matrix, as the caller has it. */
typedef struct dvt_submatrix {
  const void *data;
  int64_t i, j;
  const int *descriptor;
} dvt_submatrix;

/* Checks a submatrix of rows × cols; `name` is its letter. The view's data point at the rank's first element. Adds to
 * the digest what all ranks have in common. */
davit_status dvt_grid_view(const davit_mpi_grid *grid, davit_type type, const char *name,
                           const dvt_submatrix *matrix, int64_t rows, int64_t cols, dvt_view *view,
                           uint64_t *digest);

/* Of the elements of a matrix. */
MPI_Datatype dvt_grid_type(davit_type type);

/* How many indices along dimension d this process has. */
int64_t dvt_grid_local(const davit_mpi_grid *grid, const dvt_view *view, int d);

/* Memory for an array, in *memory, for davit_free(). */
davit_status dvt_mpi_allocate(int64_t count, size_t bytes, int place, void *memory);

/* The view of the transpose. */
dvt_view dvt_view_transposed(const dvt_view *view);

/* Whether it is one process, whose part of a matrix is the whole. */
bool dvt_grid_single(const davit_mpi_grid *grid);

/* Frees what is kept for panels. Collective. */
davit_status dvt_grid_forget(davit_mpi_grid *grid);

/* Whether all its processes are on one machine. */
bool dvt_grid_on_machine(const davit_mpi_grid *grid);

/* The leading dimension of the rank's part. */
int64_t dvt_view_ld(const dvt_view *view);

/* What a call is told by its options: the width of panels, as much of it as k needs, and the devices. */
davit_status dvt_grid_options(const davit_mpi_grid *grid, const davit_mpi_options *options, int64_t k,
                              int64_t *width, int devices[DVT_MPI_DEVICES], int *count);

#endif
