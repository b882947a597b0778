/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/factor.h"

#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/mpi/redistribute.h"

/* ---- parts ---- */

dvt_mpi_block dvt_mpi_block_at(const dvt_mpi_factoring *f, int64_t begin) {
  const dvt_distribution *cols = &f->a.distribution[1];
  const int64_t next = ((cols->offset + begin) / cols->block + 1) * cols->block - cols->offset;
  dvt_mpi_block b = {.begin = begin, .end = dvt_at_most(next, cols->n)};
  for (int d = 0; d < 2; d++) {
    const dvt_distribution *of = &f->a.distribution[d];
    const int me = dvt_mpi_factor_me(f, d);
    b.owner[d] = dvt_distribution_owner(of, begin);
    b.mine[d] = b.owner[d] == me;
    b.first[d] = dvt_distribution_below(of, me, dvt_at_most(begin, of->n));
    b.after[d] = dvt_distribution_below(of, me, dvt_at_most(b.end, of->n));
  }
  return b;
}

char *dvt_mpi_factor_at(const dvt_mpi_factoring *f, int64_t row, int64_t col) {
  return f->a.data + (size_t)(row * f->a.stride[0] + col * f->a.stride[1]) * f->bytes;
}

davit_status dvt_mpi_factor_copy(dvt_mpi_factoring *f, int64_t row, int64_t rows, int64_t col, int64_t cols,
                                 char *buffer, int64_t ld, bool out) {
  const int64_t length = f->a.unit == 0 ? rows : cols, count = f->a.unit == 0 ? cols : rows;
  if (rows == 0 || cols == 0)
    return DAVIT_SUCCESS;
  char *part = dvt_mpi_factor_at(f, row, col);
  return out ? davit_queue_copy_2d(f->queue, length, count, f->bytes, part, dvt_view_ld(&f->a), buffer, ld)
             : davit_queue_copy_2d(f->queue, length, count, f->bytes, buffer, ld, part, dvt_view_ld(&f->a));
}

davit_status dvt_mpi_factor_type(const dvt_mpi_factoring *f, int64_t elements, MPI_Datatype *type) {
  DVT_TRY_MPI(MPI_Type_contiguous((int)elements, dvt_grid_type(f->type), type));
  return dvt_mpi_status(MPI_Type_commit(type));
}

/* ---- memory ---- */

static davit_status allocate(dvt_mpi_factoring *f, size_t bytes, int place, void **memory) {
  DVT_TRY(davit_malloc(bytes, place, memory));
  f->buffer[f->buffers++] = *memory;
  return DAVIT_SUCCESS;
}

davit_status dvt_mpi_factor_memory(dvt_mpi_factoring *f, size_t bytes, void **memory) {
  return allocate(f, bytes, DAVIT_PAGEABLE, memory);
}

davit_status dvt_mpi_factor_buffer(dvt_mpi_factoring *f, int64_t elements, bool there, char **buffer) {
  const int device = f->devices[0];
  const int place = !there ? DAVIT_PINNED : device == DAVIT_HOST ? DAVIT_PAGEABLE : device;
  void *memory = NULL;
  DVT_TRY(allocate(f, (size_t)dvt_at_least(elements, 1) * f->bytes, place, &memory));
  *buffer = memory;
  return DAVIT_SUCCESS;
}

/* The rank's part, between where `from` and where `to` have it. */
static davit_status transfer(const dvt_mpi_factoring *f, const dvt_view *from, const dvt_view *to) {
  const int u = f->a.unit;
  const int64_t length = u == 0 ? f->rows : f->cols, count = u == 0 ? f->cols : f->rows;
  return from->data == to->data ? DAVIT_SUCCESS
                                : davit_queue_copy_2d(f->queue, length, count, f->bytes, from->data,
                                                      from->stride[1 - u], to->data, to->stride[1 - u]);
}

static davit_status load(dvt_mpi_factoring *f) {
  const int device = f->devices[0], u = f->a.unit;
  const dvt_view home = f->a;
  int place = DAVIT_PAGEABLE;
  if (f->rows == 0 || f->cols == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_pointer_place(home.data, &place));
  if (place == device || (device == DAVIT_HOST && place < 0))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_mpi_factor_buffer(f, f->rows * f->cols, true, &f->a.data));
  f->a.stride[1 - u] = u == 0 ? f->rows : f->cols;
  return transfer(f, &home, &f->a);
}

static davit_status open(dvt_mpi_factoring *f, const dvt_mpi_factor_rule *rule) {
  DVT_TRY(davit_queue_create(f->devices[0], &f->queue, NULL));
  DVT_TRY(davit_event_create(&f->ready));
  DVT_TRY(load(f));
  return rule->open(f);
}

static davit_status close(dvt_mpi_factoring *f) {
  const davit_status status = f->queue ? davit_queue_synchronize(f->queue) : DAVIT_SUCCESS;
  davit_event_destroy(f->ready);
  davit_queue_destroy(f->queue);
  while (f->buffers > 0)
    davit_free(f->buffer[--f->buffers]);
  f->ready = NULL;
  f->queue = NULL;
  return status;
}

/* Where a device has no memory, again without what the grid keeps there for panels. */
static davit_status open_all(dvt_mpi_factoring *f, const dvt_mpi_factor_rule *rule) {
  const dvt_view home = f->a;
  const davit_status status = dvt_mpi_agree(f->grid->comm, open(f, rule));
  if (status != DAVIT_OUT_OF_DEVICE_MEMORY)
    return status;
  (void)close(f);
  f->a = home;
  DVT_TRY(dvt_grid_forget(f->grid));
  return dvt_mpi_agree(f->grid->comm, open(f, rule));
}

/* ---- the whole ---- */

static davit_status compute(dvt_mpi_factoring *f, const dvt_mpi_factor_rule *rule) {
  const dvt_view home = f->a;
  f->rows = dvt_grid_local(f->grid, &f->a, 0);
  f->cols = dvt_grid_local(f->grid, &f->a, 1);
  f->width = dvt_at_most(f->a.distribution[1].block, f->a.distribution[1].n);
  davit_status status = open_all(f, rule);
  if (status == DAVIT_SUCCESS)
    status = rule->steps(f);
  if (status == DAVIT_SUCCESS)
    DVT_FACTOR_DO(f, transfer(f, &f->a, &home));
  dvt_error_keep(&f->failure, close(f));
  f->a = home;
  return status == DAVIT_SUCCESS ? dvt_mpi_agree(f->grid->comm, dvt_error_report(&f->failure)) : status;
}

davit_status dvt_mpi_factor_run(dvt_mpi_factoring *f, const dvt_mpi_factor_rule *rule) {
  void *memory = NULL;
  const dvt_view given = f->a;
  const bool fits = dvt_has_square_blocks(&given);
  davit_status status = DAVIT_SUCCESS;
  f->bytes = davit_type_bytes(f->type);
  if (!fits) {
    f->a = dvt_layout(f->grid, &given, given.axis[0], given.unit);
    status = dvt_move(f->grid, &given, &f->a, &memory);
  }
  if (status == DAVIT_SUCCESS)
    status = compute(f, rule);
  if (status == DAVIT_SUCCESS && !fits)
    status = dvt_move_back(f->grid, &f->a, &given);
  davit_free(memory);
  return status;
}
