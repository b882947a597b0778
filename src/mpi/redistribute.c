/* SPDX-License-Identifier: Apache-2.0 */
/* A rank holds, of each dimension, some indices. Those that another rank will hold, or has held, are a list
 * for each coordinate of the grid, and what travels between two ranks is the product of two such lists.
 * Sender and receiver walk it in the same order. */
#include "src/mpi/redistribute.h"

#include <davit/memory.h>
#include <string.h>

#include "src/base/arithmetic.h"

/* Positions in this rank's part, grouped by the coordinate of the rank at the other end. */
typedef struct groups {
  int64_t *positions; /* of group g: those from starts[g] to starts[g + 1] */
  int64_t *starts;
} groups;

/* The rank's indices from begin to end of `own`, by who has them in `other`. */
static void group(const dvt_distribution *own, int me, const dvt_distribution *other, int64_t begin,
                  int64_t end, groups *g) {
  const int64_t first = dvt_distribution_below(own, me, begin), after = dvt_distribution_below(own, me, end);
  memset(g->starts, 0, (size_t)(other->count + 2) * sizeof *g->starts);
  for (int64_t l = first; l < after; l++)
    g->starts[dvt_distribution_owner(other, dvt_distribution_index(own, me, l)) + 2]++;
  for (int c = 2; c <= other->count + 1; c++)
    g->starts[c] += g->starts[c - 1];
  /* While they are filled, starts[c + 1] is where group c goes on. */
  for (int64_t l = first; l < after; l++)
    g->positions[g->starts[dvt_distribution_owner(other, dvt_distribution_index(own, me, l)) + 1]++] = l;
}

static int64_t length(const groups *g, int c) {
  return g->starts[c + 1] - g->starts[c];
}

/* One side of the exchange, sending or receiving. */
typedef struct side {
  const dvt_view *own, *other;
  groups group[2];
  int *counts, *at;
  char *buffer;
} side;

/* The coordinate of rank (row, col) along index d at the other end. */
static int coordinate(const side *s, int d, int row, int col) {
  return s->other->axis[d] == 0 ? row : col;
}

static void count_all(const davit_mpi_grid *grid, side *s) {
  int64_t total = 0;
  for (int row = 0; row < grid->size[0]; row++)
    for (int col = 0; col < grid->size[1]; col++) {
      const int rank = row * grid->size[1] + col;
      const int64_t count =
          length(&s->group[0], coordinate(s, 0, row, col)) * length(&s->group[1], coordinate(s, 1, row, col));
      s->counts[rank] = (int)count;
      s->at[rank] = (int)total;
      total += count;
    }
}

typedef struct sixteen_bytes {
  uint64_t half[2];
} sixteen_bytes;

/* Between the matrix and the buffer; ELEMENT is as large as the elements and keeps their bits. Where neighbours
 * in the buffer are far separate in the matrix, several columns are walked together, so that a cache line is
 * used while it is there. */
#define DEFINE_MOVE(NAME, ELEMENT)                                                                           \
  static ELEMENT *NAME(const side *s, int c0, int c1, ELEMENT *buffer, bool pack) {                          \
    const groups *rows = &s->group[0], *cols = &s->group[1];                                                 \
    const int64_t *row = rows->positions + rows->starts[c0], *col = cols->positions + cols->starts[c1];      \
    const int64_t m = length(rows, c0), n = length(cols, c1), together = s->own->stride[0] == 1 ? 1 : 16;    \
    ELEMENT *data = (ELEMENT *)(void *)s->own->data;                                                         \
    for (int64_t begin = 0; begin < n; begin += together)                                                    \
      for (int64_t i = 0; i < m; i++)                                                                        \
        for (int64_t j = begin; j < dvt_at_most(begin + together, n); j++) {                                 \
          ELEMENT *x = data + row[i] * s->own->stride[0] + col[j] * s->own->stride[1];                       \
          if (pack)                                                                                          \
            buffer[i + j * m] = *x;                                                                          \
          else                                                                                               \
            *x = buffer[i + j * m];                                                                          \
        }                                                                                                    \
    return buffer + m * n;                                                                                   \
  }
DEFINE_MOVE(move_4, uint32_t)
DEFINE_MOVE(move_8, uint64_t)
DEFINE_MOVE(move_16, sixteen_bytes)

static void move_all(const davit_mpi_grid *grid, const side *s, bool pack) {
  const size_t bytes = davit_type_bytes(s->own->type);
  void *buffer = s->buffer;
  for (int row = 0; row < grid->size[0]; row++)
    for (int col = 0; col < grid->size[1]; col++) {
      const int c0 = coordinate(s, 0, row, col), c1 = coordinate(s, 1, row, col);
      buffer = bytes == 4   ? (void *)move_4(s, c0, c1, buffer, pack)
               : bytes == 8 ? (void *)move_8(s, c0, c1, buffer, pack)
                            : (void *)move_16(s, c0, c1, buffer, pack);
    }
}

typedef struct exchange {
  const davit_mpi_grid *grid;
  side send, receive;
} exchange;

static void group_side(const davit_mpi_grid *grid, side *s, int d, int64_t begin, int64_t end) {
  group(&s->own->distribution[d], grid->at[s->own->axis[d]], &s->other->distribution[d], begin, end,
        &s->group[d]);
}

/* The columns from begin to end. */
static davit_status exchange_cols(exchange *e, int64_t begin, int64_t end) {
  const MPI_Datatype type = dvt_grid_type(e->send.own->type);
  group_side(e->grid, &e->send, 1, begin, end);
  group_side(e->grid, &e->receive, 1, begin, end);
  count_all(e->grid, &e->send);
  count_all(e->grid, &e->receive);
  move_all(e->grid, &e->send, true);
  DVT_TRY_MPI(MPI_Alltoallv(e->send.buffer, e->send.counts, e->send.at, type, e->receive.buffer,
                            e->receive.counts, e->receive.at, type, e->grid->comm));
  move_all(e->grid, &e->receive, false);
  return DAVIT_SUCCESS;
}

/* Columns at a time: few enough that a rank's part of them is at most about 2^24 elements. The same on all
 * ranks. */
static int64_t cols_at_a_time(const dvt_view *from, const dvt_view *to) {
  int64_t rows = 1;
  const dvt_distribution *distributions[] = {&from->distribution[0], &to->distribution[0]};
  for (int i = 0; i < 2; i++) {
    rows = dvt_at_least(rows,
                        dvt_at_most(distributions[i]->n / distributions[i]->count + distributions[i]->block,
                                    distributions[i]->n));
  }
  return dvt_at_least((INT64_C(1) << 24) / rows, 1);
}

/* All memory of one side, for `cols` columns at a time. */
static davit_status open_side(const davit_mpi_grid *grid, side *s, int64_t cols) {
  const size_t bytes = davit_type_bytes(s->own->type);
  const int64_t rows = dvt_grid_local(grid, s->own, 0), mine = dvt_grid_local(grid, s->own, 1);
  const int64_t local[2] = {rows, dvt_at_most(cols, mine)}, ranks = (int64_t)grid->size[0] * grid->size[1];
  for (int d = 0; d < 2; d++) {
    DVT_TRY(dvt_mpi_allocate(local[d], sizeof(int64_t), DAVIT_PAGEABLE, &s->group[d].positions));
    DVT_TRY(dvt_mpi_allocate(s->other->distribution[d].count + 2, sizeof(int64_t), DAVIT_PAGEABLE,
                             &s->group[d].starts));
  }
  DVT_TRY(dvt_mpi_allocate(ranks, sizeof(int), DAVIT_PAGEABLE, &s->counts));
  DVT_TRY(dvt_mpi_allocate(ranks, sizeof(int), DAVIT_PAGEABLE, &s->at));
  return dvt_mpi_allocate(dvt_at_least(local[0] * local[1], 1), bytes, DAVIT_PAGEABLE, &s->buffer);
}

static void close_side(side *s) {
  for (int d = 0; d < 2; d++) {
    davit_free(s->group[d].positions);
    davit_free(s->group[d].starts);
  }
  davit_free(s->counts);
  davit_free(s->at);
  davit_free(s->buffer);
}

/* Collective over the grid: copies the matrix `from` into `to`, which has its own distributions and axes. Both lie in
 * host memory. Every element travels once. `failure`, that of this rank so far, is returned by all. */
static davit_status redistribute(const davit_mpi_grid *grid, const dvt_view *from, const dvt_view *to,
                                 const dvt_error *failure) {
  exchange e = {.grid = grid, .send = {.own = from, .other = to}, .receive = {.own = to, .other = from}};
  const int64_t n = from->distribution[1].n, cols = dvt_at_most(cols_at_a_time(from, to), n);
  dvt_error own = *failure;
  dvt_error_keep(&own, open_side(grid, &e.send, cols));
  dvt_error_keep(&own, open_side(grid, &e.receive, cols));
  davit_status status = dvt_mpi_agree(grid->comm, dvt_error_report(&own));
  if (status == DAVIT_SUCCESS) {
    group_side(grid, &e.send, 0, 0, from->distribution[0].n);
    group_side(grid, &e.receive, 0, 0, from->distribution[0].n);
  }
  for (int64_t j = 0; j < n && status == DAVIT_SUCCESS; j += cols)
    status = exchange_cols(&e, j, dvt_at_most(j + cols, n));
  close_side(&e.send);
  close_side(&e.receive);
  return status;
}

/* ---- layouts ---- */

bool dvt_has_square_blocks(const dvt_view *view) {
  enum { BLOCK_MAXIMUM = 1024 };
  const dvt_distribution *rows = &view->distribution[0], *cols = &view->distribution[1];
  return rows->block == cols->block && rows->offset == cols->offset && cols->block >= DVT_MPI_BLOCK_MINIMUM &&
         cols->block <= BLOCK_MAXIMUM;
}

static bool fits(const dvt_view *view, const dvt_distribution *outer, int axis, int unit) {
  const dvt_distribution *inner = &view->distribution[1];
  return view->axis[0] == axis && view->unit == unit &&
         dvt_distributions_equal(&view->distribution[0], outer) &&
         (inner->count == 1 || inner->block >= DVT_MPI_BLOCK_MINIMUM);
}

/* Where `view` lies on a device: memory of the host for it in *memory, for davit_free(), with or without a copy of what
 * it holds, and the view is of that; otherwise NULL. */
static davit_status to_host(const davit_mpi_grid *grid, dvt_view *view, bool copy, void **memory) {
  int place = DAVIT_PAGEABLE;
  const int u = view->unit;
  const int64_t rows = dvt_grid_local(grid, view, u), cols = dvt_grid_local(grid, view, 1 - u);
  *memory = NULL;
  if (rows == 0 || cols == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_pointer_place(view->data, &place));
  if (place < 0)
    return DAVIT_SUCCESS;
  const size_t bytes = davit_type_bytes(view->type);
  DVT_TRY(davit_malloc((size_t)rows * (size_t)cols * bytes, DAVIT_PINNED, memory));
  if (copy)
    DVT_TRY(davit_copy_2d(rows, cols, bytes, view->data, view->stride[1 - u], *memory, rows));
  view->data = *memory;
  view->stride[1 - u] = rows;
  return DAVIT_SUCCESS;
}

/* The way back, into the view as it was; nothing with NULL. */
static davit_status from_host(const davit_mpi_grid *grid, const dvt_view *view, const void *memory) {
  const int u = view->unit;
  const int64_t rows = dvt_grid_local(grid, view, u), cols = dvt_grid_local(grid, view, 1 - u);
  return memory ? davit_copy_2d(rows, cols, davit_type_bytes(view->type), memory, rows, view->data,
                                view->stride[1 - u])
                : DAVIT_SUCCESS;
}

dvt_view dvt_layout(const davit_mpi_grid *grid, const dvt_view *given, int axis, int unit) {
  dvt_view view = {.axis = {axis, 1 - axis}, .unit = unit};
  for (int d = 0; d < 2; d++)
    view.distribution[d] = (dvt_distribution){
        .n = given->distribution[d].n, .block = DVT_MPI_BLOCK, .count = grid->size[view.axis[d]]};
  return view;
}

davit_status dvt_move(const davit_mpi_grid *grid, const dvt_view *from, dvt_view *to, void **memory) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  void *on_host = NULL;
  dvt_view source = *from;
  const int64_t rows = dvt_grid_local(grid, to, to->unit), cols = dvt_grid_local(grid, to, 1 - to->unit);
  to->type = from->type;
  to->stride[to->unit] = 1;
  to->stride[1 - to->unit] = dvt_at_least(rows, 1);
  dvt_error_keep(&failure, to_host(grid, &source, true, &on_host));
  dvt_error_keep(
      &failure, davit_malloc((size_t)rows * (size_t)cols * davit_type_bytes(to->type), DAVIT_PINNED, memory));
  to->data = *memory;
  const davit_status status = redistribute(grid, &source, to, &failure);
  davit_free(on_host);
  return status;
}

davit_status dvt_move_back(const davit_mpi_grid *grid, const dvt_view *from, const dvt_view *to) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  void *on_host = NULL;
  dvt_view here = *to;
  dvt_error_keep(&failure, to_host(grid, &here, false, &on_host)); /* all of it is written */
  davit_status status = redistribute(grid, from, &here, &failure);
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_agree(grid->comm, from_host(grid, to, on_host));
  davit_free(on_host);
  return status;
}

davit_status dvt_fit(const davit_mpi_grid *grid, const dvt_distribution *outer, int axis, int unit,
                     dvt_view *view, void **memory) {
  *memory = NULL;
  if (fits(view, outer, axis, unit))
    return DAVIT_SUCCESS;
  dvt_view to = dvt_layout(grid, view, axis, unit);
  to.distribution[0] = *outer;
  DVT_TRY(dvt_move(grid, view, &to, memory));
  *view = to;
  return DAVIT_SUCCESS;
}
