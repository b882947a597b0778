/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/grid.h"

#include <davit/device.h>
#include <limits.h>
#include <string.h>

#include "src/base/arithmetic.h"
#include "src/base/check.h"

static void free_comm(MPI_Comm *comm) {
  if (*comm != MPI_COMM_NULL)
    MPI_Comm_free(comm);
}

davit_status dvt_grid_forget(davit_mpi_grid *grid) {
  davit_status status = DAVIT_SUCCESS;
  for (int axis = 0; axis < 2 && grid->line[axis] != MPI_COMM_NULL; axis++) {
    const davit_status closed = dvt_shared_close(grid->line[axis], &grid->shared[axis]);
    status = status == DAVIT_SUCCESS ? closed : status;
  }
  return status;
}

static void free_grid(davit_mpi_grid *grid) {
  (void)dvt_grid_forget(grid);
  free_comm(&grid->line[0]);
  free_comm(&grid->line[1]);
  free_comm(&grid->comm);
  davit_free(grid);
}

static davit_status fill(MPI_Comm comm, davit_mpi_grid *grid) {
  int me;
  MPI_Comm node;
  MPI_Comm_rank(comm, &me);
  grid->at[0] = me / grid->size[1];
  grid->at[1] = me % grid->size[1];
  DVT_TRY_MPI(MPI_Comm_split(comm, grid->at[1], grid->at[0], &grid->line[0]));
  DVT_TRY_MPI(MPI_Comm_split(comm, grid->at[0], grid->at[1], &grid->line[1]));
  DVT_TRY_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &node));
  MPI_Comm_rank(node, &grid->node_at);
  MPI_Comm_size(node, &grid->node_size);
  return dvt_mpi_status(MPI_Comm_free(&node));
}

davit_status davit_mpi_grid_create(MPI_Comm comm, int rows, int cols, davit_mpi_grid **grid) {
  DVT_TRY(dvt_mpi_check(comm));
  int me, ranks;
  void *memory = NULL;
  davit_status status = DAVIT_SUCCESS;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  if (!grid)
    status = davit_fail(DAVIT_INVALID_ARGUMENT, "grid is NULL");
  else if (rows < 1 || cols < 1 || (int64_t)rows * cols > ranks)
    status = davit_fail(DAVIT_INVALID_ARGUMENT, "a grid of %d × %d processes does not fit %d ranks", rows,
                        cols, ranks);
  else
    status = davit_malloc(sizeof **grid, DAVIT_PAGEABLE, &memory);
  status = dvt_mpi_agree_on(comm, status, DVT_MPI_DIGEST(DVT_MPI_DIGEST((uint64_t)0, rows), cols));
  if (status != DAVIT_SUCCESS) {
    davit_free(memory);
    return status;
  }
  davit_mpi_grid *made = memory;
  const bool inside = me < rows * cols;
  *made =
      (davit_mpi_grid){.comm = MPI_COMM_NULL, .line = {MPI_COMM_NULL, MPI_COMM_NULL}, .size = {rows, cols}};
  status = dvt_mpi_status(MPI_Comm_split(comm, inside ? 0 : MPI_UNDEFINED, me, &made->comm));
  if (status == DAVIT_SUCCESS && inside)
    status = fill(made->comm, made);
  if (status != DAVIT_SUCCESS || !inside) {
    free_grid(made);
    made = NULL;
  }
  if (status == DAVIT_SUCCESS)
    *grid = made;
  return status;
}

davit_status davit_mpi_grid_destroy(davit_mpi_grid *grid) {
  if (grid) {
    DVT_TRY(dvt_mpi_check(grid->comm));
    free_grid(grid);
  }
  return DAVIT_SUCCESS;
}

davit_status davit_mpi_grid_position(const davit_mpi_grid *grid, int *row, int *col) {
  DVT_TRY(dvt_check_pointer("grid", grid));
  DVT_TRY(dvt_check_pointer("row", row));
  DVT_TRY(dvt_check_pointer("col", col));
  *row = grid->at[0];
  *col = grid->at[1];
  return DAVIT_SUCCESS;
}

/* ---- descriptors ---- */

enum { TYPE, CONTEXT, ROWS, COLS, ROW_BLOCK, COL_BLOCK, FIRST_ROW, FIRST_COL, LD };

static davit_status check_member(const char *name, const char *member, int64_t value, int64_t least,
                                 int64_t most) {
  if (value >= least && value <= most)
    return DAVIT_SUCCESS;
  return davit_fail(DAVIT_INVALID_ARGUMENT, "%s of descriptor %s is %lld, not in %lld … %lld", member, name,
                    (long long)value, (long long)least, (long long)most);
}

static davit_status check_descriptor(const davit_mpi_grid *grid, const char *name, const int64_t d[9]) {
  DVT_TRY(check_member(name, "the type", d[TYPE], 1, 1));
  DVT_TRY(check_member(name, "rows", d[ROWS], 0, INT_MAX));
  DVT_TRY(check_member(name, "cols", d[COLS], 0, INT_MAX));
  DVT_TRY(check_member(name, "the row block", d[ROW_BLOCK], 1, INT_MAX));
  DVT_TRY(check_member(name, "the column block", d[COL_BLOCK], 1, INT_MAX));
  DVT_TRY(check_member(name, "the first process row", d[FIRST_ROW], 0, grid->size[0] - 1));
  DVT_TRY(check_member(name, "the first process column", d[FIRST_COL], 0, grid->size[1] - 1));
  const int64_t rows =
      davit_mpi_local_size(d[ROWS], d[ROW_BLOCK], grid->at[0], (int)d[FIRST_ROW], grid->size[0]);
  return check_member(name, "the leading dimension", d[LD], dvt_at_least(rows, 1), INT_MAX);
}

davit_status davit_mpi_descriptor(const davit_mpi_grid *grid, int64_t rows, int64_t cols, int64_t row_block,
                                  int64_t col_block, int first_row, int first_col, int64_t ld,
                                  int descriptor[9]) {
  const int64_t d[9] = {1, 0, rows, cols, row_block, col_block, first_row, first_col, ld};
  DVT_TRY(dvt_check_pointer("grid", grid));
  DVT_TRY(dvt_check_pointer("descriptor", descriptor));
  DVT_TRY(check_descriptor(grid, "", d));
  for (int i = 0; i < 9; i++)
    descriptor[i] = (int)d[i];
  return DAVIT_SUCCESS;
}

static davit_status check_part(const char *name, const char *index, int64_t begin, int64_t n, int64_t all) {
  if (begin >= 1 && n <= all && begin - 1 <= all - n)
    return DAVIT_SUCCESS;
  return davit_fail(DAVIT_INVALID_ARGUMENT, "%s%s is %lld: %lld from there on do not lie in a matrix of %lld",
                    index, name, (long long)begin, (long long)n, (long long)all);
}

davit_status dvt_grid_view(const davit_mpi_grid *grid, davit_type type, const char *name,
                           const dvt_submatrix *matrix, int64_t rows, int64_t cols, dvt_view *view,
                           uint64_t *digest) {
  const int64_t i = matrix->i, j = matrix->j;
  int64_t d[9];
  if (!matrix->descriptor)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "desc%s is NULL", name);
  for (int n = 0; n < 9; n++)
    d[n] = matrix->descriptor[n];
  DVT_TRY(check_descriptor(grid, name, d));
  DVT_TRY(check_part(name, "i", i, rows, d[ROWS]));
  DVT_TRY(check_part(name, "j", j, cols, d[COLS]));
  *digest = DVT_MPI_DIGEST(DVT_MPI_DIGEST(*digest, i), j);
  for (int n = ROWS; n < LD; n++)
    *digest = DVT_MPI_DIGEST(*digest, d[n]);
  *view = (dvt_view){
      .type = type,
      .distribution = {dvt_distribution_part(rows, i - 1, d[ROW_BLOCK], (int)d[FIRST_ROW], grid->size[0]),
                       dvt_distribution_part(cols, j - 1, d[COL_BLOCK], (int)d[FIRST_COL], grid->size[1])},
      .axis = {0, 1},
      .stride = {1, d[LD]},
  };
  const int64_t above =
                    davit_mpi_local_size(i - 1, d[ROW_BLOCK], grid->at[0], (int)d[FIRST_ROW], grid->size[0]),
                left =
                    davit_mpi_local_size(j - 1, d[COL_BLOCK], grid->at[1], (int)d[FIRST_COL], grid->size[1]);
  if (!matrix->data && dvt_grid_local(grid, view, 0) > 0 && dvt_grid_local(grid, view, 1) > 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", name);
  if (matrix->data)
    view->data = (char *)(uintptr_t)matrix->data + (size_t)(above + left * d[LD]) * davit_type_bytes(type);
  return DAVIT_SUCCESS;
}

MPI_Datatype dvt_grid_type(davit_type type) {
  switch (type) {
  case DAVIT_FLOAT:
    return MPI_FLOAT;
  case DAVIT_COMPLEX_FLOAT:
    return MPI_C_FLOAT_COMPLEX;
  case DAVIT_COMPLEX_DOUBLE:
    return MPI_C_DOUBLE_COMPLEX;
  default:
    return MPI_DOUBLE;
  }
}

davit_status dvt_mpi_allocate(int64_t count, size_t bytes, int place, void *memory) {
  return davit_malloc((size_t)count * bytes, place, memory);
}

int64_t dvt_grid_local(const davit_mpi_grid *grid, const dvt_view *view, int d) {
  return dvt_distribution_below(&view->distribution[d], grid->at[view->axis[d]], view->distribution[d].n);
}

bool dvt_grid_on_machine(const davit_mpi_grid *grid) {
  return grid->node_size == grid->size[0] * grid->size[1];
}

bool dvt_grid_single(const davit_mpi_grid *grid) {
  return grid->size[0] == 1 && grid->size[1] == 1;
}

int64_t dvt_view_ld(const dvt_view *view) {
  return view->stride[1 - view->unit];
}

dvt_view dvt_view_transposed(const dvt_view *view) {
  return (dvt_view){.type = view->type,
                    .distribution = {view->distribution[1], view->distribution[0]},
                    .axis = {view->axis[1], view->axis[0]},
                    .unit = 1 - view->unit,
                    .data = view->data,
                    .stride = {view->stride[1], view->stride[0]}};
}

/* ---- options ---- */

/* The processes of a machine divide its GPUs, or share them if there are too few. Without GPUs each computes
 * where its part is; devices that stand in for GPUs on the CPU would copy it. */
static davit_status share(const davit_mpi_grid *grid, int devices[DVT_MPI_DEVICES], int *count) {
  int all[256], found;
  davit_device_info info;
  DVT_TRY(davit_device_defaults(256, all, &found));
  found = (int)dvt_at_most(found, 256);
  DVT_TRY(davit_device_describe(all[0], &info));
  if (info.kind == DAVIT_DEVICE_HOST_OFFLOAD) {
    devices[0] = DAVIT_HOST;
    *count = 1;
    return DAVIT_SUCCESS;
  }
  int begin = (int)((int64_t)found * grid->node_at / grid->node_size),
      end = (int)((int64_t)found * (grid->node_at + 1) / grid->node_size);
  if (found < grid->node_size) {
    begin = grid->node_at % found;
    end = begin + 1;
  }
  *count = (int)dvt_at_most(end - begin, DVT_MPI_DEVICES);
  memcpy(devices, all + begin, (size_t)*count * sizeof *devices);
  return DAVIT_SUCCESS;
}

static davit_status find_devices(const davit_mpi_grid *grid, const davit_mpi_options *options,
                                 int devices[DVT_MPI_DEVICES], int *count) {
  DVT_TRY(DVT_CHECK_OPTIONS(options));
  if (!options || !options->devices) {
    if (options && options->device_count)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "device_count is %d without devices", options->device_count);
    return share(grid, devices, count);
  }
  if (options->device_count < 1 || options->device_count > DVT_MPI_DEVICES)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "device_count is %d, not in 1 … %d", options->device_count,
                      DVT_MPI_DEVICES);
  for (int i = 0; i < options->device_count; i++) {
    davit_device_info info;
    devices[i] = options->devices[i];
    DVT_TRY(davit_device_describe(devices[i], &info));
  }
  *count = options->device_count;
  return DAVIT_SUCCESS;
}

davit_status dvt_grid_options(const davit_mpi_grid *grid, const davit_mpi_options *options, int64_t k,
                              int64_t *width, int devices[DVT_MPI_DEVICES], int *count) {
  /* Panels are twice as wide from WIDE inner indices on: rows of B are copied to a GPU at a higher rate, where there
   * are enough panels for a good start. */
  enum { PANEL = 512, WIDE = 16384 };
  *width = options && options->panel ? options->panel : k < WIDE ? PANEL : 2 * PANEL;
  if (*width < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "panel is %lld, less than 0", (long long)*width);
  *width = dvt_at_most(*width, k);
  return find_devices(grid, options, devices, count);
}
