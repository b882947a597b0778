/* SPDX-License-Identifier: Apache-2.0 */
/* A = P L U by blocks of columns. The process column of a block collects it on the owner of its diagonal block, which
 * factors it as a whole, and gets it back; its rows go along the process rows, its pivots to all ranks. Rows of all
 * other columns are exchanged within the process columns, in one message between two processes. The process row that
 * has the diagonal block solves for the rows of U and sends them down the process columns. */
#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/mpi/factor.h"
#include "src/mpi/local_blas.h"

/* Some of the rank's rows, by their positions, in the order of the processes that they go to or come from. */
typedef struct row_list {
  int *counts, *at; /* of each process of the column */
  int64_t *positions;
} row_list;

typedef struct lu {
  dvt_mpi_factoring f; /* the first member */
  dvt_view given;      /* A as the caller has it */
  int64_t m, n;
  int *ipiv, *pivots; /* the caller's, and all of them: rows of the submatrix, counted from 1 */
  /* Of the last block: the rank's rows from its diagonal block on; those of all processes, one after the other and as a
   * matrix; the rows of U behind it; rows that are exchanged. */
  char *left, *pieces, *whole, *right, *sent, *received, *left_there, *right_there, *rows_there;
  int *order;     /* of all rows: who is where, between two exchanges the identity */
  int *to, *from; /* row to[e] becomes what row from[e] was */
  int exchanges;
  row_list send, receive;
} lu;

/* Columns that are factored; the block has more where the rows end. */
static int64_t rank_of(const lu *l, const dvt_mpi_block *b) {
  return dvt_at_most(b->end, l->m) - b->begin;
}

static int64_t rows_of(const lu *l, const dvt_mpi_block *b) {
  return l->f.rows - b->first[0];
}

/* ---- a block of columns ---- */

/* Between the rows of each process and the matrix of all. */
static davit_status arrange(lu *l, const dvt_mpi_block *b, bool whole) {
  const dvt_mpi_factoring *f = &l->f;
  const dvt_distribution *rows = &f->a.distribution[0];
  const int64_t width = dvt_mpi_block_width(b);
  for (int p = 0; p < rows->count; p++) {
    const int64_t first = dvt_distribution_below(rows, p, b->begin), count = l->send.counts[p];
    char *piece = l->pieces + (size_t)(l->send.at[p] * width) * f->bytes;
    for (int64_t row = 0, length; row < count; row += length) {
      const int64_t i = dvt_distribution_index(rows, p, first + row);
      char *of_whole = l->whole + (size_t)(i - b->begin) * f->bytes,
           *of_piece = piece + (size_t)row * f->bytes;
      length = dvt_distribution_end(rows, i) - i;
      DVT_TRY(whole ? davit_copy_2d(length, width, f->bytes, of_piece, count, of_whole, l->m - b->begin)
                    : davit_copy_2d(length, width, f->bytes, of_whole, l->m - b->begin, of_piece, count));
    }
  }
  return DAVIT_SUCCESS;
}

static davit_status factor_whole(lu *l, const dvt_mpi_block *b) {
  dvt_mpi_factoring *f = &l->f;
  const int64_t height = l->m - b->begin;
  int *pivots = l->pivots + b->begin;
  int64_t found;
  DVT_TRY(arrange(l, b, true));
  DVT_TRY(dvt_local_plain_getrf(f->devices, f->device_count, f->type, height, dvt_mpi_block_width(b),
                                l->whole, height, pivots, &found));
  if (found && !f->info)
    f->info = b->begin + found;
  return arrange(l, b, false);
}

/* Collective in the process column of the block. */
static davit_status factor_column(lu *l, const dvt_mpi_block *b, MPI_Datatype row) {
  dvt_mpi_factoring *f = &l->f;
  const dvt_distribution *rows = &f->a.distribution[0];
  const MPI_Comm column = dvt_mpi_factor_line(f, 0);
  const int mine = (int)rows_of(l, b);
  int *counts = l->send.counts, *at = l->send.at, sum = 0;
  for (int p = 0; p < rows->count; p++, sum += counts[p - 1]) {
    counts[p] = (int)(dvt_distribution_below(rows, p, l->m) - dvt_distribution_below(rows, p, b->begin));
    at[p] = sum;
  }
  DVT_TRY_MPI(MPI_Gatherv(l->left, mine, row, l->pieces, counts, at, row, b->owner[0], column));
  if (b->mine[0])
    DVT_FACTOR_DO(f, factor_whole(l, b));
  for (int64_t i = 0; i < rank_of(l, b); i++) /* others go on after a failure */
    l->pivots[b->begin + i] = dvt_mpi_factor_works(f) ? l->pivots[b->begin + i] : (int)i + 1;
  DVT_TRY_MPI(MPI_Bcast(&f->info, 1, MPI_INT64_T, b->owner[0], column));
  DVT_TRY_MPI(MPI_Bcast(l->pivots + b->begin, (int)rank_of(l, b), MPI_INT, b->owner[0], column));
  return dvt_mpi_status(MPI_Scatterv(l->pieces, counts, at, row, l->left, mine, row, b->owner[0], column));
}

/* Takes the block out of the process column's parts. */
static davit_status take(lu *l, const dvt_mpi_block *b) {
  dvt_mpi_factoring *f = &l->f;
  if (!b->mine[1])
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_mpi_factor_copy(f, b->first[0], rows_of(l, b), b->first[1], dvt_mpi_block_width(b), l->left,
                              rows_of(l, b), true));
  return davit_event_record(f->ready, f->queue);
}

static davit_status load(lu *l, const dvt_mpi_block *b) {
  dvt_mpi_factoring *f = &l->f;
  const int64_t rows = rows_of(l, b), width = dvt_mpi_block_width(b);
  if (rows > 0)
    DVT_TRY(davit_queue_copy(f->queue, (size_t)(rows * width) * f->bytes, l->left, l->left_there));
  if (b->mine[1])
    DVT_TRY(dvt_mpi_factor_copy(f, b->first[0], rows, b->first[1], width, l->left, rows, false));
  return davit_event_record(f->ready, f->queue);
}

/* Factors the block and gives all ranks what they need of it. */
static davit_status share(lu *l, const dvt_mpi_block *b) {
  dvt_mpi_factoring *f = &l->f;
  const MPI_Comm line = dvt_mpi_factor_line(f, 1);
  int *pivots = l->pivots + b->begin;
  MPI_Datatype row;
  DVT_FACTOR_DO(f, davit_event_synchronize(f->ready));
  DVT_TRY(dvt_mpi_factor_type(f, dvt_mpi_block_width(b), &row));
  if (b->mine[1])
    DVT_TRY(factor_column(l, b, row));
  DVT_TRY_MPI(MPI_Bcast(&f->info, 1, MPI_INT64_T, b->owner[1], line));
  DVT_TRY_MPI(MPI_Bcast(pivots, (int)rank_of(l, b), MPI_INT, b->owner[1], line));
  DVT_TRY_MPI(MPI_Bcast(l->left, (int)rows_of(l, b), row, b->owner[1], line));
  DVT_TRY_MPI(MPI_Type_free(&row));
  for (int64_t i = 0; i < rank_of(l, b); i++)
    pivots[i] += (int)b->begin;
  DVT_FACTOR_DO(f, load(l, b));
  return DAVIT_SUCCESS;
}

/* ---- rows ---- */

static void add(lu *l, int row) {
  if (l->order[row] != row) {
    l->to[l->exchanges] = row;
    l->from[l->exchanges++] = l->order[row];
    l->order[row] = row;
  }
}

/* The block's exchanges, one after the other, as a list of rows that move. */
static void list_exchanges(lu *l, const dvt_mpi_block *b) {
  const int begin = (int)b->begin, end = begin + (int)rank_of(l, b);
  l->exchanges = 0;
  for (int i = begin; i < end; i++) {
    const int other = l->pivots[i] - 1, kept = l->order[i];
    l->order[i] = l->order[other];
    l->order[other] = kept;
  }
  for (int i = begin; i < end; i++)
    add(l, i);
  for (int i = begin; i < end; i++)
    add(l, l->pivots[i] - 1);
}

/* The rank's rows among `own`, by the processes of those in `other`. */
static void group(const lu *l, const int *own, const int *other, row_list *g) {
  const dvt_distribution *rows = &l->f.a.distribution[0];
  const int me = dvt_mpi_factor_me(&l->f, 0);
  int sum = 0;
  for (int p = 0; p < rows->count; p++) {
    g->at[p] = sum;
    for (int e = 0; e < l->exchanges; e++)
      if (dvt_distribution_owner(rows, own[e]) == me && dvt_distribution_owner(rows, other[e]) == p)
        g->positions[sum++] = dvt_distribution_below(rows, me, own[e]);
    g->counts[p] = sum - g->at[p];
  }
}

static int64_t length_of(const lu *l, const row_list *g) {
  const int last = l->f.a.distribution[0].count - 1;
  return g->at[last] + g->counts[last];
}

/* Columns of the rank that are not the block's. */
static int64_t others(const lu *l, const dvt_mpi_block *b) {
  return l->f.cols - (b->after[1] - b->first[1]);
}

/* Rows that lie together, between the rank's part and a matrix with leading dimension ld: the columns before the block
 * and those behind it. */
static davit_status move_run(lu *l, const dvt_mpi_block *b, int64_t row, int64_t rows, char *buffer,
                             int64_t ld, bool out) {
  dvt_mpi_factoring *f = &l->f;
  DVT_TRY(dvt_mpi_factor_copy(f, row, rows, 0, b->first[1], buffer, ld, out));
  return dvt_mpi_factor_copy(f, row, rows, b->after[1], f->cols - b->after[1],
                             buffer + (size_t)(b->first[1] * ld) * f->bytes, ld, out);
}

static davit_status move_rows(lu *l, const dvt_mpi_block *b, const row_list *g, bool out) {
  for (int p = 0; p < l->f.a.distribution[0].count; p++) {
    const int64_t *positions = g->positions + g->at[p];
    const int64_t count = g->counts[p];
    char *matrix = l->rows_there + (size_t)(g->at[p] * others(l, b)) * l->f.bytes;
    for (int64_t k = 0, end; k < count; k = end) {
      for (end = k + 1; end < count && positions[end] == positions[end - 1] + 1;)
        end++;
      DVT_TRY(move_run(l, b, positions[k], end - k, matrix + (size_t)k * l->f.bytes, count, out));
    }
  }
  return DAVIT_SUCCESS;
}

static davit_status pack(lu *l, const dvt_mpi_block *b) {
  const size_t bytes = (size_t)(length_of(l, &l->send) * others(l, b)) * l->f.bytes;
  DVT_TRY(move_rows(l, b, &l->send, true));
  DVT_TRY(davit_queue_copy(l->f.queue, bytes, l->rows_there, l->sent));
  return davit_queue_synchronize(l->f.queue);
}

static davit_status unpack(lu *l, const dvt_mpi_block *b) {
  const size_t bytes = (size_t)(length_of(l, &l->receive) * others(l, b)) * l->f.bytes;
  DVT_TRY(davit_queue_copy(l->f.queue, bytes, l->received, l->rows_there));
  return move_rows(l, b, &l->receive, false);
}

static davit_status exchange(lu *l, const dvt_mpi_block *b) {
  dvt_mpi_factoring *f = &l->f;
  MPI_Datatype row;
  list_exchanges(l, b);
  if (l->exchanges == 0 || others(l, b) == 0) /* which is so for all of the process column */
    return DAVIT_SUCCESS;
  group(l, l->from, l->to, &l->send);
  group(l, l->to, l->from, &l->receive);
  DVT_FACTOR_DO(f, pack(l, b));
  DVT_TRY(dvt_mpi_factor_type(f, others(l, b), &row));
  DVT_TRY_MPI(MPI_Alltoallv(l->sent, l->send.counts, l->send.at, row, l->received, l->receive.counts,
                            l->receive.at, row, dvt_mpi_factor_line(f, 0)));
  DVT_TRY_MPI(MPI_Type_free(&row));
  DVT_FACTOR_DO(f, unpack(l, b));
  return DAVIT_SUCCESS;
}

/* ---- updates ---- */

static davit_status solve_rows(lu *l, const dvt_mpi_block *b, int64_t cols) {
  dvt_mpi_factoring *f = &l->f;
  const int64_t rank = rank_of(l, b);
  DVT_TRY(dvt_local_trsm(f->queue, f->type, 'L', 'L', 'N', 'U', rank, cols, l->left_there, rows_of(l, b),
                         dvt_mpi_factor_at(f, b->first[0], b->after[1]), dvt_view_ld(&f->a)));
  DVT_TRY(dvt_mpi_factor_copy(f, b->first[0], rank, b->after[1], cols, l->right, rank, true));
  return davit_queue_synchronize(f->queue);
}

/* The rows of U behind the block, on all ranks. */
static davit_status solve(lu *l, const dvt_mpi_block *b) {
  dvt_mpi_factoring *f = &l->f;
  const int64_t cols = f->cols - b->after[1], rank = rank_of(l, b);
  MPI_Datatype column;
  if (cols == 0) /* which is so for all of the process column */
    return DAVIT_SUCCESS;
  if (b->mine[0])
    DVT_FACTOR_DO(f, solve_rows(l, b, cols));
  DVT_TRY(dvt_mpi_factor_type(f, rank, &column));
  DVT_TRY_MPI(MPI_Bcast(l->right, (int)cols, column, b->owner[0], dvt_mpi_factor_line(f, 0)));
  DVT_TRY_MPI(MPI_Type_free(&column));
  DVT_FACTOR_DO(f, davit_queue_copy(f->queue, (size_t)(rank * cols) * f->bytes, l->right, l->right_there));
  DVT_FACTOR_DO(f, davit_event_record(f->ready, f->queue)); /* before others overwrite `right` */
  return DAVIT_SUCCESS;
}

/* The rank's columns from position `first` to `after`, with block b. */
static davit_status update(lu *l, const dvt_mpi_block *b, int64_t first, int64_t after) {
  dvt_mpi_factoring *f = &l->f;
  const int64_t rank = rank_of(l, b), rows = f->rows - b->after[0];
  if (rows == 0 || first == after)
    return DAVIT_SUCCESS;
  return dvt_local_gemm(f->queue, f->type, 'N', 'N', rows, after - first, rank,
                        l->left_there + (size_t)(b->after[0] - b->first[0]) * f->bytes, rows_of(l, b),
                        l->right_there + (size_t)((first - b->after[1]) * rank) * f->bytes, rank,
                        dvt_mpi_factor_at(f, b->after[0], first), dvt_view_ld(&f->a));
}

static davit_status steps(dvt_mpi_factoring *f) {
  lu *l = (lu *)f;
  dvt_mpi_block b = dvt_mpi_block_at(f, 0);
  DVT_FACTOR_DO(f, take(l, &b));
  for (;;) {
    DVT_TRY(share(l, &b));
    DVT_TRY(exchange(l, &b));
    DVT_TRY(solve(l, &b));
    if (b.end >= dvt_at_most(l->m, l->n))
      return DAVIT_SUCCESS;
    const dvt_mpi_block next = dvt_mpi_block_at(f, b.end);
    DVT_FACTOR_DO(f, update(l, &b, next.first[1], next.after[1]));
    DVT_FACTOR_DO(f, take(l, &next));
    DVT_FACTOR_DO(f, update(l, &b, next.after[1], f->cols));
    b = next;
  }
}

/* ---- the whole ---- */

static davit_status open_lists(lu *l) {
  dvt_mpi_factoring *f = &l->f;
  const int64_t processes = f->a.distribution[0].count, most = 2 * f->width;
  void *memory;
  DVT_TRY(dvt_mpi_factor_memory(f, (size_t)(2 * most) * sizeof(int64_t), &memory));
  l->send.positions = memory;
  l->receive.positions = l->send.positions + most;
  DVT_TRY(dvt_mpi_factor_memory(f, (size_t)(4 * processes + 2 * most + l->m) * sizeof(int), &memory));
  l->send.counts = memory;
  l->send.at = l->send.counts + processes;
  l->receive.counts = l->send.at + processes;
  l->receive.at = l->receive.counts + processes;
  l->to = l->receive.at + processes;
  l->from = l->to + most;
  l->order = l->from + most;
  for (int i = 0; i < l->m; i++)
    l->order[i] = i;
  return DAVIT_SUCCESS;
}

static davit_status open(dvt_mpi_factoring *f) {
  lu *l = (lu *)f;
  const int64_t left = f->rows * f->width, right = f->cols * f->width, whole = l->m * f->width;
  DVT_TRY(dvt_mpi_factor_buffer(f, left, false, &l->left));
  DVT_TRY(dvt_mpi_factor_buffer(f, whole, false, &l->pieces));
  DVT_TRY(dvt_mpi_factor_buffer(f, whole, false, &l->whole));
  DVT_TRY(dvt_mpi_factor_buffer(f, right, false, &l->right));
  DVT_TRY(dvt_mpi_factor_buffer(f, 2 * right, false, &l->sent));
  DVT_TRY(dvt_mpi_factor_buffer(f, 2 * right, false, &l->received));
  DVT_TRY(dvt_mpi_factor_buffer(f, left, true, &l->left_there));
  DVT_TRY(dvt_mpi_factor_buffer(f, right, true, &l->right_there));
  DVT_TRY(dvt_mpi_factor_buffer(f, 2 * right, true, &l->rows_there));
  return open_lists(l);
}

/* What belongs to the rank's rows of the submatrix. */
static int64_t own_pivots(const lu *l) {
  const davit_mpi_grid *grid = l->f.grid;
  return dvt_distribution_below(&l->given.distribution[0], grid->at[0], dvt_at_most(l->m, l->n));
}

/* Where they are in ipiv, and the number of the matrix's row before the submatrix. */
typedef struct place {
  int64_t position, row;
} place;

static davit_status store_pivots(const lu *l, place to) {
  const int64_t count = own_pivots(l);
  void *memory;
  if (count == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_malloc((size_t)count * sizeof(int), DAVIT_PAGEABLE, &memory));
  int *own = memory;
  for (int64_t i = 0; i < count; i++)
    own[i] = (int)to.row + l->pivots[dvt_distribution_index(&l->given.distribution[0], l->f.grid->at[0], i)];
  const davit_status status = davit_copy((size_t)count * sizeof *own, own, l->ipiv + to.position);
  davit_free(memory);
  return status;
}

static davit_status run(lu *l, place to) {
  static const dvt_mpi_factor_rule rule = {open, steps};
  dvt_mpi_factoring *f = &l->f;
  void *memory = NULL;
  davit_status status = dvt_mpi_agree(
      f->grid->comm, davit_malloc((size_t)dvt_at_most(l->m, l->n) * sizeof(int), DAVIT_PAGEABLE, &memory));
  l->pivots = memory;
  if (status == DAVIT_SUCCESS)
    status = dvt_grid_single(f->grid)
                 ? dvt_local_plain_getrf(f->devices, f->device_count, f->type, l->m, l->n, f->a.data,
                                         dvt_view_ld(&f->a), l->pivots, &f->info)
                 : dvt_mpi_factor_run(f, &rule);
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_agree(f->grid->comm, store_pivots(l, to));
  davit_free(memory);
  if (status == DAVIT_SUCCESS && f->info)
    status = davit_fail(DAVIT_SINGULAR, "the matrix is singular: U(%lld, %lld) is 0", (long long)f->info,
                        (long long)f->info);
  return status;
}

static davit_status check(lu *l, const dvt_submatrix *a, const davit_mpi_options *options) {
  dvt_mpi_factoring *f = &l->f;
  int64_t panel;
  DVT_TRY(dvt_check_length("m", l->m));
  DVT_TRY(dvt_check_length("n", l->n));
  f->digest = DVT_MPI_DIGEST_NUMBERS(f->type, l->m, l->n);
  DVT_TRY(dvt_grid_view(f->grid, f->type, "a", a, l->m, l->n, &f->a, &f->digest));
  l->given = f->a;
  if (own_pivots(l) > 0)
    DVT_TRY(dvt_check_pointer("ipiv", l->ipiv));
  return dvt_grid_options(f->grid, options, l->n, &panel, f->devices, &f->device_count);
}

static davit_status getrf(davit_mpi_grid *grid, davit_type type, int64_t m, int64_t n, dvt_submatrix a,
                          int *ipiv, const davit_mpi_options *options) {
  DVT_TRY(dvt_check_pointer("grid", grid));
  DVT_TRY(dvt_mpi_check(grid->comm));
  lu l = {.f = {.grid = grid, .type = type}, .m = m, .n = n, .ipiv = ipiv};
  const davit_status status = check(&l, &a, options);
  DVT_TRY(dvt_mpi_agree_on(grid->comm, status, l.f.digest));
  if (m == 0 || n == 0)
    return DAVIT_SUCCESS;
  const int64_t before = a.i - 1; /* rows */
  return run(
      &l, (place){davit_mpi_local_size(before, a.descriptor[4], grid->at[0], a.descriptor[6], grid->size[0]),
                  before});
}

#define DEFINE_GETRF(LETTER, T, TYPE)                                                                        \
  davit_status davit_mpi_##LETTER##getrf(davit_mpi_grid *grid, int64_t m, int64_t n, T *a, int64_t ia,       \
                                         int64_t ja, const int desca[9], int *ipiv,                          \
                                         const davit_mpi_options *options) {                                 \
    return getrf(grid, TYPE, m, n, (dvt_submatrix){a, ia, ja, desca}, ipiv, options);                        \
  }
DEFINE_GETRF(d, double, DAVIT_DOUBLE)
DEFINE_GETRF(s, float, DAVIT_FLOAT)
DEFINE_GETRF(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
DEFINE_GETRF(c, davit_complex_float, DAVIT_COMPLEX_FLOAT)
