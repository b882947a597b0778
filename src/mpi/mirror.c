/* SPDX-License-Identifier: Apache-2.0 */
/* A panel of the rows arrives; then what the process column has of it for the columns is sent. Both happen while the
 * devices multiply with the panel before.
 *
 * Buffers change in turns, as those of panels (panel.c). */
#include "src/mpi/mirror.h"

#include <davit/memory.h>
#include <limits.h>

#include "src/base/arithmetic.h"
#include "src/mpi/multiply.h"
#include "src/mpi/panel.h"

enum { DOWN = 0 /* the axis of a process column */ };

/* The rows of A that belong to the rank's columns of C. */
typedef struct mirror {
  const davit_mpi_grid *grid;
  dvt_distribution rows, cols; /* of C */
  davit_type type;
  size_t bytes;
  int64_t width, count;      /* maximum number of inner indices; of rows */
  dvt_column_range *columns; /* all of them, in the order of columns */
  int *owners;               /* of the ranges of columns, in the process column */
  int64_t column_ranges;
  dvt_column_range *own; /* what is sent: `first` counts rows of this process's matrix */
  int64_t own_count;
  int64_t *starts;          /* of the matrices of the column's processes, in rows */
  const dvt_shared *shared; /* DVT_SHARED_BUFFERS of them in each part, or NULL */
  int64_t posted;
  char *buffer[DVT_MESSAGE_BUFFERS]; /* where MPI sends and receives, otherwise */
  MPI_Request *requests;
  int64_t request_count;
} mirror;

static bool is_sent(const mirror *m) {
  return m->grid->size[DOWN] > 1 && m->count > 0; /* which is so for all of the process column */
}

static size_t buffer_bytes(const mirror *m) {
  return (size_t)(m->count * m->width) * m->bytes;
}

/* How many columns of a matrix of all rows MPI counts. */
static int64_t most_columns(const mirror *m) {
  return dvt_at_least(INT_MAX / dvt_at_least(m->count, 1), 1);
}

/* ---- ranges of columns ---- */

/* From position l of the columns on: rows that lie together in a panel of one process. */
static dvt_column_range run_at(const mirror *m, int64_t l, int *owner) {
  const int64_t j = dvt_distribution_index(&m->cols, m->grid->at[1 - DOWN], l);
  const int64_t end = dvt_at_most(dvt_distribution_end(&m->cols, j), dvt_distribution_end(&m->rows, j));
  *owner = dvt_distribution_owner(&m->rows, j);
  return (dvt_column_range){.first = l, .cols = end - j, .row = dvt_distribution_below(&m->rows, *owner, j)};
}

/* Adds it, or lengthens the one before, which must be of the same process. */
static void append(dvt_column_range *columns, int64_t *count, bool same, const dvt_column_range *run) {
  dvt_column_range *last = same && *count > 0 ? &columns[*count - 1] : NULL;
  if (last && last->first + last->cols == run->first && last->row + last->cols == run->row)
    last->cols += run->cols;
  else
    columns[(*count)++] = *run;
}

static void find_runs(mirror *m) {
  const int me = m->grid->at[DOWN];
  int owner, before = -1;
  for (int64_t l = 0; l < m->count; before = owner) {
    dvt_column_range run = run_at(m, l, &owner), own = run;
    int64_t *sent = &m->starts[owner + 1]; /* the lengths, until all are known */
    own.first = *sent;
    if (owner == me)
      append(m->own, &m->own_count, true, &own);
    else
      run.row = *sent; /* of what it sends */
    append(m->columns, &m->column_ranges, owner == before, &run);
    m->owners[m->column_ranges - 1] = owner;
    *sent += run.cols;
    l += run.cols;
  }
  for (int p = 0; p < m->grid->size[DOWN]; p++)
    m->starts[p + 1] += m->starts[p];
}

static int64_t count_runs(const mirror *m) {
  int64_t count = 0;
  int owner;
  for (int64_t l = 0; l < m->count; l += run_at(m, l, &owner).cols)
    count++;
  return count;
}

/* ---- memory ---- */

static davit_status allocate(mirror *m, int place) {
  const int64_t columns = dvt_at_least(count_runs(m), 1), processes = m->grid->size[DOWN];
  const int64_t requests = processes * (m->width / most_columns(m) + 1);
  void *memory = NULL;
  DVT_TRY(davit_malloc((size_t)columns * sizeof *m->columns, DAVIT_PAGEABLE, &memory));
  m->columns = memory;
  DVT_TRY(davit_malloc((size_t)columns * sizeof *m->own, DAVIT_PAGEABLE, &memory));
  m->own = memory;
  DVT_TRY(davit_malloc((size_t)columns * sizeof *m->owners, DAVIT_PAGEABLE, &memory));
  m->owners = memory;
  DVT_TRY(davit_malloc((size_t)(processes + 1) * sizeof *m->starts, DAVIT_PAGEABLE, &memory));
  m->starts = memory;
  for (int p = 0; p <= processes; p++)
    m->starts[p] = 0;
  DVT_TRY(davit_malloc((size_t)requests * sizeof *m->requests, DAVIT_PAGEABLE, &memory));
  m->requests = memory;
  for (int i = 0; i < DVT_MESSAGE_BUFFERS && is_sent(m) && !m->shared; i++) {
    DVT_TRY(davit_malloc(buffer_bytes(m), place, &memory));
    m->buffer[i] = memory;
  }
  find_runs(m);
  return DAVIT_SUCCESS;
}

/* Collective, whatever `failure` gets. */
static davit_status open(mirror *m, davit_mpi_grid *grid, const dvt_view *c, int64_t width,
                         const dvt_transport *transport, dvt_error *failure) {
  *m = (mirror){.grid = grid,
                .rows = c->distribution[0],
                .cols = c->distribution[1],
                .type = c->type,
                .bytes = davit_type_bytes(c->type),
                .width = width,
                .count = dvt_grid_local(grid, c, 1)};
  if (is_sent(m))
    DVT_TRY(dvt_panel_share(grid, DOWN, transport, buffer_bytes(m), &m->shared));
  dvt_error_keep(failure, allocate(m, transport->place));
  return DAVIT_SUCCESS;
}

static void close(mirror *m) {
  davit_free(m->columns);
  davit_free(m->own);
  davit_free(m->owners);
  davit_free(m->starts);
  davit_free(m->requests);
  for (int i = 0; i < DVT_MESSAGE_BUFFERS; i++)
    davit_free(m->buffer[i]);
}

/* ---- panels ---- */

static davit_status pack_piece(const mirror *m, const dvt_piece *left, int64_t ld, char *to) {
  for (int64_t i = 0; i < m->own_count; i++) {
    const dvt_column_range *run = &m->own[i];
    DVT_TRY(davit_copy_2d(run->cols, left->inner, m->bytes, left->data + (size_t)run->row * m->bytes,
                          left->ld, to + (size_t)run->first * m->bytes, ld));
  }
  return DAVIT_SUCCESS;
}

static davit_status pack(const mirror *m, const dvt_panel *left, int64_t ld, char *to) {
  for (int64_t p = 0; p < left->piece_count; p++) {
    DVT_TRY(pack_piece(m, &left->pieces[p], ld, to));
    to += (size_t)(left->pieces[p].inner * ld) * m->bytes;
  }
  return DAVIT_SUCCESS;
}

/* Where process `p` of the column writes into buffer `t`. */
static char *part(const mirror *m, int p, int64_t t) {
  return m->shared ? dvt_panel_part(m->shared, p, t, buffer_bytes(m)) : m->buffer[t % DVT_MESSAGE_BUFFERS];
}

/* The matrix of process `p`, with a row for each that it has. */
static davit_status send(mirror *m, int p, int64_t inner, int64_t rows, char *matrix) {
  const int64_t most = most_columns(m);
  for (int64_t j = 0; j < inner && !m->shared; j += most)
    DVT_TRY_MPI(MPI_Ibcast(matrix + (size_t)(j * rows) * m->bytes, (int)(rows * dvt_at_most(inner - j, most)),
                           dvt_grid_type(m->type), p, m->grid->line[DOWN], &m->requests[m->request_count++]));
  return DAVIT_SUCCESS;
}

/* Begins to send what the processes have of the panel, which has arrived. */
static davit_status post(mirror *m, const dvt_panel *left, int64_t inner, dvt_error *failure) {
  m->request_count = 0;
  if (!is_sent(m))
    return DAVIT_SUCCESS;
  const int64_t t = m->posted++;
  for (int p = 0; p < m->grid->size[DOWN]; p++) {
    const int64_t rows = m->starts[p + 1] - m->starts[p];
    char *matrix = part(m, p, t) + (size_t)(m->starts[p] * inner) * m->bytes;
    if (rows == 0)
      continue;
    if (p == m->grid->at[DOWN])
      dvt_error_keep(failure, pack(m, left, rows, matrix));
    DVT_TRY(send(m, p, inner, rows, matrix));
  }
  for (int64_t i = 0; i < m->column_ranges; i++) {
    const int p = m->owners[i];
    if (p == m->grid->at[DOWN])
      continue;
    m->columns[i].data = part(m, p, t) + (size_t)(m->starts[p] * inner) * m->bytes;
    m->columns[i].ld = m->starts[p + 1] - m->starts[p];
  }
  return m->shared ? dvt_shared_publish(m->grid->line[DOWN], &m->requests[m->request_count++])
                   : DAVIT_SUCCESS;
}

static davit_status arrive(mirror *m) {
  return dvt_shared_await(m->request_count, m->requests);
}

/* ---- the product ---- */

typedef struct product {
  dvt_local_panels *locals;
  dvt_panel left;
  mirror right;
  dvt_error *failure;
} product;

/* What the process column sends is taken out of panels that have arrived. */
static davit_status post_nothing(void *operands, int64_t begin, int64_t end) {
  (void)operands, (void)begin, (void)end;
  return DAVIT_SUCCESS;
}

static davit_status publish_both(void *operands, int64_t begin, int64_t end) {
  product *p = operands;
  DVT_TRY(dvt_panel_post(&p->left, begin, end, 0, p->left.outer, p->failure));
  DVT_TRY(dvt_panel_publish(&p->left, p->failure));
  DVT_TRY(dvt_panel_arrive(&p->left));
  return post(&p->right, &p->left, end - begin, p->failure);
}

static davit_status arrive_both(void *operands) {
  product *p = operands;
  return arrive(&p->right);
}

static davit_status fetch(void *operands, int64_t t, int64_t inner) {
  product *p = operands;
  DVT_TRY(
      dvt_local_panels_fetch_left(p->locals, t, p->left.outer, inner, p->left.piece_count, p->left.pieces));
  return dvt_local_panels_fetch_columns(p->locals, t, p->right.column_ranges, p->right.columns);
}

davit_status dvt_multiply_mirrored(davit_mpi_grid *grid, dvt_local_panels *locals, const dvt_view *left,
                                   const dvt_view *c, double alpha, double beta, dvt_error *failure) {
  static const dvt_feed feed = {post_nothing, publish_both, arrive_both, fetch};
  product p = {.locals = locals, .failure = failure};
  davit_status status = dvt_panel_open(&p.left, grid, left, locals->width, &locals->transport, failure);
  if (status == DAVIT_SUCCESS)
    status = open(&p.right, grid, c, locals->width, &locals->transport, failure);
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_agree(grid->comm, dvt_error_report(failure));
  if (status == DAVIT_SUCCESS)
    status = dvt_multiply_panels(locals, &feed, &p, left->distribution[1].n, false, alpha, beta, failure);
  dvt_error_keep(failure, dvt_local_panels_flush(locals));
  dvt_panel_close(&p.left);
  close(&p.right);
  return status;
}
