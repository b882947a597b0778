/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/mirror.h"

#include <davit/memory.h>

#include "src/base/arithmetic.h"

enum { DOWN = 0 /* the axis of a process column */ };

static bool is_sent(const dvt_mirror *m) {
  return m->grid->size[DOWN] > 1 && m->count > 0; /* which is so for all of the process column */
}

/* ---- ranges of columns ---- */

/* From position l of the columns on: rows that lie together in a panel of one process. */
static dvt_column_range range_at(const dvt_mirror *m, int64_t l, int *owner) {
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

static void find_ranges(dvt_mirror *m) {
  const int me = m->grid->at[DOWN];
  int owner, before = -1;
  for (int64_t l = 0; l < m->count; before = owner) {
    dvt_column_range run = range_at(m, l, &owner), own = run;
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

static int64_t count_ranges(const dvt_mirror *m) {
  int64_t count = 0;
  int owner;
  for (int64_t l = 0; l < m->count; l += range_at(m, l, &owner).cols)
    count++;
  return count;
}

/* ---- memory ---- */

static davit_status allocate(dvt_mirror *m) {
  const int64_t columns = dvt_at_least(count_ranges(m), 1), processes = m->grid->size[DOWN];
  DVT_TRY(dvt_mpi_allocate(columns, sizeof *m->columns, DAVIT_PAGEABLE, &m->columns));
  DVT_TRY(dvt_mpi_allocate(columns, sizeof *m->own, DAVIT_PAGEABLE, &m->own));
  DVT_TRY(dvt_mpi_allocate(columns, sizeof *m->owners, DAVIT_PAGEABLE, &m->owners));
  DVT_TRY(dvt_mpi_allocate(processes + 1, sizeof *m->starts, DAVIT_PAGEABLE, &m->starts));
  for (int p = 0; p <= processes; p++)
    m->starts[p] = 0;
  find_ranges(m);
  return DAVIT_SUCCESS;
}

davit_status dvt_mirror_open(dvt_mirror *m, davit_mpi_grid *grid, const dvt_view *c, int64_t width,
                             const dvt_transport *transport, dvt_error *failure) {
  *m = (dvt_mirror){.grid = grid,
                    .rows = c->distribution[0],
                    .cols = c->distribution[1],
                    .type = c->type,
                    .bytes = davit_type_bytes(c->type),
                    .count = dvt_grid_local(grid, c, 1)};
  const int64_t messages = grid->size[DOWN] * (width / dvt_mpi_columns_at_once(m->count) + 1);
  dvt_error_keep(failure, allocate(m));
  return dvt_channel_open(&m->channel, grid, DOWN, is_sent(m) ? (size_t)(m->count * width) * m->bytes : 0,
                          messages, transport, failure);
}

void dvt_mirror_close(dvt_mirror *m) {
  davit_free(m->columns);
  davit_free(m->own);
  davit_free(m->owners);
  davit_free(m->starts);
  dvt_channel_close(&m->channel);
}

/* ---- panels ---- */

static davit_status pack_piece(const dvt_mirror *m, const dvt_piece *left, int64_t ld, char *to) {
  for (int64_t i = 0; i < m->own_count; i++) {
    const dvt_column_range *run = &m->own[i];
    DVT_TRY(davit_copy_2d(run->cols, left->inner, m->bytes, left->data + (size_t)run->row * m->bytes,
                          left->ld, to + (size_t)run->first * m->bytes, ld));
  }
  return DAVIT_SUCCESS;
}

static davit_status pack(const dvt_mirror *m, const dvt_panel *left, int64_t ld, char *to) {
  for (int64_t p = 0; p < left->piece_count; p++) {
    DVT_TRY(pack_piece(m, &left->pieces[p], ld, to));
    to += (size_t)(left->pieces[p].inner * ld) * m->bytes;
  }
  return DAVIT_SUCCESS;
}

/* The matrix of process `p`, with a row for each that it has. */
static davit_status send(dvt_mirror *m, int p, int64_t inner, int64_t rows, char *matrix) {
  const int64_t most = dvt_mpi_columns_at_once(m->count);
  for (int64_t j = 0; j < inner; j += most)
    DVT_TRY(dvt_channel_send(&m->channel, m->type, rows * dvt_at_most(inner - j, most), p,
                             matrix + (size_t)(j * rows) * m->bytes));
  return DAVIT_SUCCESS;
}

davit_status dvt_mirror_post(dvt_mirror *m, const dvt_panel *left, int64_t inner, dvt_error *failure) {
  const int me = m->grid->at[DOWN];
  if (!is_sent(m))
    return DAVIT_SUCCESS;
  const int64_t t = m->posted++;
  for (int p = 0; p < m->grid->size[DOWN]; p++) {
    const int64_t rows = m->starts[p + 1] - m->starts[p];
    char *matrix = dvt_channel_part(&m->channel, p, t) + (size_t)(m->starts[p] * inner) * m->bytes;
    if (rows == 0)
      continue;
    if (p == me)
      dvt_error_keep(failure, pack(m, left, rows, matrix));
    DVT_TRY(send(m, p, inner, rows, matrix));
  }
  for (int64_t i = 0; i < m->column_ranges; i++) {
    const int p = m->owners[i];
    if (p == me)
      continue;
    m->columns[i].data = dvt_channel_part(&m->channel, p, t) + (size_t)(m->starts[p] * inner) * m->bytes;
    m->columns[i].ld = m->starts[p + 1] - m->starts[p];
  }
  return dvt_channel_publish(&m->channel);
}
