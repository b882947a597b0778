/* SPDX-License-Identifier: Apache-2.0 */
/* A = L L' by blocks of columns; an upper triangle is the lower one of the transpose, which lies row by row. The owner
 * of the block on the diagonal factors it, its process column solves with it and sends the rows below along the process
 * rows. The rows that belong to a rank's columns lie in its own process column, which gathers them. */
#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/mpi/factor.h"
#include "src/mpi/local_blas.h"

typedef struct cholesky {
  dvt_mpi_factoring f; /* the first member */
  char uplo;           /* of the memory */
  int found;           /* LAPACK's info of a block */
  /* Of the last block: what is on the diagonal, the rank's rows below, those of them that its process column gathers,
   * and what it has gathered. */
  char *diagonal, *left, *own, *right, *diagonal_there, *left_there, *right_there;
  /* Rows in `right` of each process of the column; where they begin; how many an update has passed. */
  int *counts, *at, *taken;
} cholesky;

static bool is_row_by_row(const cholesky *c) {
  return c->f.a.unit == 1;
}

/* ---- blocks of the rank's columns ---- */

/* Columns from position `col` on that are a block, and whose rows process `owner` of the column has. */
typedef struct column_block {
  int64_t begin, end, col;
  int owner;
} column_block;

static column_block columns_at(const cholesky *c, int64_t col) {
  const dvt_distribution *cols = &c->f.a.distribution[1];
  const dvt_mpi_block b =
      dvt_mpi_block_at(&c->f, dvt_distribution_index(cols, dvt_mpi_factor_me(&c->f, 1), col));
  return (column_block){b.begin, b.end, col, b.owner[0]};
}

static int64_t row_of(const cholesky *c, int64_t i) {
  return dvt_distribution_below(&c->f.a.distribution[0], dvt_mpi_factor_me(&c->f, 0), i);
}

/* Where row `row` of a matrix of `width` columns begins. */
static size_t row_bytes(const cholesky *c, int64_t row, int64_t width) {
  return (size_t)(is_row_by_row(c) ? row * width : row) * c->f.bytes;
}

static int64_t ld_of(const cholesky *c, int64_t rows, int64_t width) {
  return is_row_by_row(c) ? width : dvt_at_least(rows, 1);
}

/* ---- a block of columns ---- */

static davit_status factor_diagonal(cholesky *c, const dvt_mpi_block *b) {
  dvt_mpi_factoring *f = &c->f;
  const int64_t width = dvt_mpi_block_width(b);
  DVT_TRY(dvt_local_potrf(f->queue, f->type, c->uplo, width, dvt_mpi_factor_at(f, b->first[0], b->first[1]),
                          dvt_view_ld(&f->a), &c->found));
  DVT_TRY(dvt_mpi_factor_copy(f, b->first[0], width, b->first[1], width, c->diagonal, width, true));
  DVT_TRY(davit_queue_synchronize(f->queue));
  f->info = c->found ? b->begin + c->found : 0;
  return DAVIT_SUCCESS;
}

static davit_status solve_below(cholesky *c, const dvt_mpi_block *b) {
  dvt_mpi_factoring *f = &c->f;
  const int64_t width = dvt_mpi_block_width(b), rows = f->rows - b->after[0], ld = dvt_view_ld(&f->a);
  if (rows == 0)
    return DAVIT_SUCCESS;
  void *below = dvt_mpi_factor_at(f, b->after[0], b->first[1]);
  DVT_TRY(davit_queue_copy(f->queue, (size_t)(width * width) * f->bytes, c->diagonal, c->diagonal_there));
  DVT_TRY(is_row_by_row(c) ? dvt_local_trsm(f->queue, f->type, 'L', 'U', 'C', 'N', width, rows,
                                            c->diagonal_there, width, below, ld)
                           : dvt_local_trsm(f->queue, f->type, 'R', 'L', 'C', 'N', rows, width,
                                            c->diagonal_there, width, below, ld));
  DVT_TRY(
      dvt_mpi_factor_copy(f, b->after[0], rows, b->first[1], width, c->left, ld_of(c, rows, width), true));
  return davit_event_record(f->ready, f->queue);
}

/* The process column of the block computes it. */
static davit_status make(cholesky *c, const dvt_mpi_block *b) {
  dvt_mpi_factoring *f = &c->f;
  const int64_t width = dvt_mpi_block_width(b);
  const MPI_Comm column = dvt_mpi_factor_line(f, 0);
  MPI_Datatype type;
  if (!b->mine[1])
    return DAVIT_SUCCESS;
  if (b->mine[0])
    DVT_FACTOR_DO(f, factor_diagonal(c, b));
  DVT_TRY_MPI(MPI_Bcast(&f->info, 1, MPI_INT64_T, b->owner[0], column));
  DVT_TRY(dvt_mpi_factor_type(f, width, &type)); /* the number of elements may be too large for MPI */
  DVT_TRY_MPI(MPI_Bcast(c->diagonal, (int)width, type, b->owner[0], column));
  DVT_TRY_MPI(MPI_Type_free(&type));
  if (f->info == 0)
    DVT_FACTOR_DO(f, solve_below(c, b));
  return DAVIT_SUCCESS;
}

/* ---- on its way ---- */

static davit_status pack(cholesky *c, const dvt_mpi_block *b, const column_block *columns, int64_t row) {
  const dvt_mpi_factoring *f = &c->f;
  const int64_t width = dvt_mpi_block_width(b), rows = columns->end - columns->begin;
  const char *from = c->left + row_bytes(c, row_of(c, columns->begin) - b->after[0], width);
  char *to = c->own + (size_t)(row * width) * f->bytes;
  return is_row_by_row(c) ? davit_copy((size_t)(rows * width) * f->bytes, from, to)
                          : davit_copy_2d(rows, width, f->bytes, from, f->rows - b->after[0], to, rows);
}

/* The rows that belong to the rank's columns behind the block: blocks of each process, in ascending order. */
static davit_status gather(cholesky *c, const dvt_mpi_block *b, MPI_Datatype row) {
  dvt_mpi_factoring *f = &c->f;
  const int processes = f->a.distribution[0].count, me = dvt_mpi_factor_me(f, 0);
  for (int p = 0; p < processes; p++)
    c->counts[p] = 0;
  for (int64_t col = b->after[1]; col < f->cols;) {
    const column_block columns = columns_at(c, col);
    if (columns.owner == me)
      DVT_FACTOR_DO(f, pack(c, b, &columns, c->counts[me]));
    c->counts[columns.owner] += (int)(columns.end - columns.begin);
    col += columns.end - columns.begin;
  }
  c->at[0] = 0;
  for (int p = 1; p < processes; p++)
    c->at[p] = c->at[p - 1] + c->counts[p - 1];
  return dvt_mpi_status(
      MPI_Allgatherv(c->own, c->counts[me], row, c->right, c->counts, c->at, row, dvt_mpi_factor_line(f, 0)));
}

static davit_status load(cholesky *c, const dvt_mpi_block *b) {
  dvt_mpi_factoring *f = &c->f;
  const size_t row = (size_t)dvt_mpi_block_width(b) * f->bytes;
  const int64_t rows = f->rows - b->after[0], cols = f->cols - b->after[1];
  if (rows > 0)
    DVT_TRY(davit_queue_copy(f->queue, (size_t)rows * row, c->left, c->left_there));
  if (cols > 0)
    DVT_TRY(davit_queue_copy(f->queue, (size_t)cols * row, c->right, c->right_there));
  return davit_event_record(f->ready, f->queue);
}

/* Gives all ranks what they need of a block. */
static davit_status share(cholesky *c, const dvt_mpi_block *b) {
  dvt_mpi_factoring *f = &c->f;
  const MPI_Comm row = dvt_mpi_factor_line(f, 1);
  MPI_Datatype type;
  DVT_FACTOR_DO(f, davit_event_synchronize(f->ready));
  DVT_TRY_MPI(MPI_Bcast(&f->info, 1, MPI_INT64_T, b->owner[1], row));
  if (f->info || b->end == f->a.distribution[1].n)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_mpi_factor_type(f, dvt_mpi_block_width(b), &type));
  DVT_TRY_MPI(MPI_Bcast(c->left, (int)(f->rows - b->after[0]), type, b->owner[1], row));
  DVT_TRY(gather(c, b, type));
  DVT_TRY_MPI(MPI_Type_free(&type));
  DVT_FACTOR_DO(f, load(c, b));
  return DAVIT_SUCCESS;
}

/* ---- updates ---- */

/* `right` is what belongs to the columns. */
static davit_status update_columns(cholesky *c, const dvt_mpi_block *b, const column_block *columns,
                                   const char *right) {
  dvt_mpi_factoring *f = &c->f;
  const int64_t width = dvt_mpi_block_width(b), cols = columns->end - columns->begin,
                row = row_of(c, columns->end), rows = f->rows - row, ld = dvt_view_ld(&f->a),
                right_ld = ld_of(c, cols, width), left_ld = ld_of(c, f->rows - b->after[0], width);
  const char *left = c->left_there + row_bytes(c, row - b->after[0], width);
  if (columns->owner == dvt_mpi_factor_me(f, 0))
    DVT_TRY(dvt_local_herk(f->queue, f->type, c->uplo, is_row_by_row(c) ? 'C' : 'N', cols, width, right,
                           right_ld, dvt_mpi_factor_at(f, row - cols, columns->col), ld));
  if (rows == 0)
    return DAVIT_SUCCESS;
  void *below = dvt_mpi_factor_at(f, row, columns->col);
  return is_row_by_row(c) ? dvt_local_gemm(f->queue, f->type, 'C', 'N', cols, rows, width, right, right_ld,
                                           left, left_ld, below, ld)
                          : dvt_local_gemm(f->queue, f->type, 'N', 'C', rows, cols, width, left, left_ld,
                                           right, right_ld, below, ld);
}

/* The rank's columns from position `first` to `after`, with block b. */
static davit_status update(cholesky *c, const dvt_mpi_block *b, int64_t first, int64_t after) {
  const dvt_mpi_factoring *f = &c->f;
  const size_t row = (size_t)dvt_mpi_block_width(b) * f->bytes;
  for (int p = 0; p < f->a.distribution[0].count; p++)
    c->taken[p] = 0;
  for (int64_t col = b->after[1]; col < after;) {
    const column_block columns = columns_at(c, col);
    const int64_t cols = columns.end - columns.begin;
    int *taken = &c->taken[columns.owner];
    if (col >= first)
      DVT_TRY(update_columns(c, b, &columns, c->right_there + (size_t)(c->at[columns.owner] + *taken) * row));
    *taken += (int)cols;
    col += cols;
  }
  return DAVIT_SUCCESS;
}

static davit_status steps(dvt_mpi_factoring *f) {
  cholesky *c = (cholesky *)f;
  dvt_mpi_block b = dvt_mpi_block_at(f, 0);
  DVT_TRY(make(c, &b));
  DVT_TRY(share(c, &b));
  while (!f->info && b.end < f->a.distribution[1].n) {
    const dvt_mpi_block next = dvt_mpi_block_at(f, b.end);
    DVT_FACTOR_DO(f, update(c, &b, next.first[1], next.after[1]));
    DVT_TRY(make(c, &next));
    DVT_FACTOR_DO(f, update(c, &b, next.after[1], f->cols));
    DVT_TRY(share(c, &next));
    b = next;
  }
  return DAVIT_SUCCESS;
}

/* ---- the whole ---- */

static davit_status open(dvt_mpi_factoring *f) {
  cholesky *c = (cholesky *)f;
  const int64_t square = f->width * f->width, left = f->rows * f->width, right = f->cols * f->width;
  void *memory;
  DVT_TRY(dvt_mpi_factor_buffer(f, square, false, &c->diagonal));
  DVT_TRY(dvt_mpi_factor_buffer(f, left, false, &c->left));
  DVT_TRY(dvt_mpi_factor_buffer(f, right, false, &c->own));
  DVT_TRY(dvt_mpi_factor_buffer(f, right, false, &c->right));
  DVT_TRY(dvt_mpi_factor_buffer(f, square, true, &c->diagonal_there));
  DVT_TRY(dvt_mpi_factor_buffer(f, left, true, &c->left_there));
  DVT_TRY(dvt_mpi_factor_buffer(f, right, true, &c->right_there));
  const size_t processes = (size_t)f->a.distribution[0].count;
  DVT_TRY(dvt_mpi_factor_memory(f, 3 * processes * sizeof *c->counts, &memory));
  c->counts = memory;
  c->at = c->counts + processes;
  c->taken = c->at + processes;
  return DAVIT_SUCCESS;
}

static davit_status run(cholesky *c, int64_t n) {
  static const dvt_mpi_factor_rule rule = {open, steps};
  dvt_mpi_factoring *f = &c->f;
  if (dvt_grid_single(f->grid))
    DVT_TRY(dvt_local_plain_potrf(f->devices, f->device_count, f->type, c->uplo, n, f->a.data,
                                  dvt_view_ld(&f->a), &f->info));
  else
    DVT_TRY(dvt_mpi_factor_run(f, &rule));
  return f->info ? davit_fail(DAVIT_NOT_POSITIVE_DEFINITE,
                              "the leading minor of order %lld is not positive definite", (long long)f->info)
                 : DAVIT_SUCCESS;
}

static davit_status check(cholesky *c, int64_t n, const dvt_submatrix *a, const davit_mpi_options *options) {
  dvt_mpi_factoring *f = &c->f;
  int64_t panel;
  DVT_TRY(dvt_check_letter("uplo", c->uplo, "UL", &c->uplo));
  DVT_TRY(dvt_check_length("n", n));
  f->digest = DVT_MPI_DIGEST_NUMBERS(f->type, c->uplo, n);
  DVT_TRY(dvt_grid_view(f->grid, f->type, "a", a, n, n, &f->a, &f->digest));
  f->a = c->uplo == 'U' ? dvt_view_transposed(&f->a) : f->a;
  return dvt_grid_options(f->grid, options, n, &panel, f->devices, &f->device_count);
}

static davit_status potrf(davit_mpi_grid *grid, davit_type type, char uplo, int64_t n, dvt_submatrix a,
                          const davit_mpi_options *options) {
  DVT_TRY(dvt_check_pointer("grid", grid));
  DVT_TRY(dvt_mpi_check(grid->comm));
  cholesky c = {.f = {.grid = grid, .type = type}, .uplo = uplo};
  const davit_status status = check(&c, n, &a, options);
  DVT_TRY(dvt_mpi_agree_on(grid->comm, status, c.f.digest));
  return n == 0 ? DAVIT_SUCCESS : run(&c, n);
}

#define DEFINE_POTRF(LETTER, T, TYPE)                                                                        \
  davit_status davit_mpi_##LETTER##potrf(davit_mpi_grid *grid, char uplo, int64_t n, T *a, int64_t ia,       \
                                         int64_t ja, const int desca[9], const davit_mpi_options *options) { \
    return potrf(grid, TYPE, uplo, n, (dvt_submatrix){a, ia, ja, desca}, options);                           \
  }
DEFINE_POTRF(d, double, DAVIT_DOUBLE)
DEFINE_POTRF(s, float, DAVIT_FLOAT)
DEFINE_POTRF(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
DEFINE_POTRF(c, davit_complex_float, DAVIT_COMPLEX_FLOAT)
