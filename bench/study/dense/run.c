/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs of the dense kernels: host data, memory that is asked for before it is taken, copies both ways. */
#include <davit/device.h>
#include <davit/memory.h>
#include <omp.h>

#include "bench/study/dense/dense.h"

/* A matrix, row-major, on the host and on the device. */
typedef struct operand {
  int64_t rows, cols, border; /* the border is not copied back */
  const double *from;         /* NULL: nothing to copy there */
  double *to;                 /* NULL: nothing to copy back */
  double *there;
} operand;

enum { DEFAULT_SIDE = 16, DEFAULT_THREADS = 256 };

double study_convolution_bytes(int64_t ni, int64_t nj) {
  return sizeof(double) * 2 * (double)ni * (double)nj;
}

double study_atax_bytes(int64_t nx, int64_t ny) {
  return sizeof(double) * ((double)nx * (double)ny + (double)nx + 2 * (double)ny);
}

double study_covariance_bytes(int64_t m, int64_t n) {
  return sizeof(double) * ((double)m * (double)n + (double)n + (double)n * (double)n);
}

davit_status study_dense_room(const study_dense *d, int device, double bytes) {
  size_t room = d->memory_bytes, total;
  if (!room) {
    davit_status status = davit_device_memory(device, &room, &total);
    if (status != DAVIT_SUCCESS)
      return status;
  }
  return bytes <= (double)room
             ? DAVIT_SUCCESS
             : davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "the arrays need %.0f bytes, and %s %zu", bytes,
                          d->memory_bytes ? "memory_bytes is" : "the device has", room);
}

static davit_status allocate(int device, operand *o) {
  void *memory;
  davit_status status = davit_malloc((size_t)(o->rows * o->cols) * sizeof *o->there,
                                     device == DAVIT_HOST ? DAVIT_PAGEABLE : device, &memory);
  if (status == DAVIT_SUCCESS)
    o->there = memory;
  return status;
}

static davit_status copy(const operand *o, int64_t border, double *to, const double *from,
                         study_dense_times *times) {
  const int64_t first = border * (o->cols + 1), rows = o->rows - 2 * border, cols = o->cols - 2 * border;
  if (rows < 1 || cols < 1)
    return DAVIT_SUCCESS;
  const double start = omp_get_wtime();
  davit_status status =
      davit_copy_2d(cols, rows, sizeof *o->there, from + first, o->cols, to + first, o->cols);
  times->transfer_ms += 1e3 * (omp_get_wtime() - start);
  return status;
}

/* The operands there, with what they have; those that were not made stay NULL. */
static davit_status begin(const study_dense *d, int device, double bytes, operand *operands, int count,
                          study_dense_times *times) {
  davit_status status = study_dense_room(d, device, bytes);
  for (int i = 0; i < count && status == DAVIT_SUCCESS; i++)
    status = allocate(device, &operands[i]);
  for (int i = 0; i < count && status == DAVIT_SUCCESS; i++)
    if (operands[i].from)
      status = copy(&operands[i], 0, operands[i].there, operands[i].from, times);
  return status;
}

static davit_status end(davit_status status, operand *operands, int count, study_dense_times *times) {
  for (int i = 0; i < count; i++) {
    const operand *o = &operands[i];
    if (o->to && status == DAVIT_SUCCESS)
      status = copy(o, o->border, o->to, o->there, times);
    (void)davit_free(o->there);
  }
  return status;
}

static int or_default(int block, int fallback) {
  return block ? block : fallback;
}

davit_status study_convolution_run(const study_dense *d, int device, int64_t ni, int64_t nj, const double *a,
                                   double *b, study_dense_times *times) {
  enum { A, B, COUNT };
  study_dense_times own = {.transfer_ms = 0};
  operand o[COUNT] = {
      [A] = {.rows = ni, .cols = nj, .from = a}, [B] = {.rows = ni, .cols = nj, .border = 1, .to = b}};
  davit_status status = begin(d, device, study_convolution_bytes(ni, nj), o, COUNT, &own);
  if (status == DAVIT_SUCCESS)
    status =
        study_convolution(device, or_default(d->block, DEFAULT_SIDE), ni, nj, o[A].there, o[B].there, &own);
  status = end(status, o, COUNT, &own);
  if (times && status == DAVIT_SUCCESS)
    *times = own;
  return status;
}

davit_status study_atax_run(const study_dense *d, int device, int64_t nx, int64_t ny, const double *a,
                            const double *x, double *tmp, double *y, study_dense_times *times) {
  enum { A, X, TMP, Y, COUNT };
  study_dense_times own = {.transfer_ms = 0};
  operand o[COUNT] = {[A] = {.rows = nx, .cols = ny, .from = a},
                      [X] = {.rows = 1, .cols = ny, .from = x},
                      [TMP] = {.rows = 1, .cols = nx, .to = tmp},
                      [Y] = {.rows = 1, .cols = ny, .to = y}};
  davit_status status = begin(d, device, study_atax_bytes(nx, ny), o, COUNT, &own);
  if (status == DAVIT_SUCCESS)
    status = study_atax(device, or_default(d->block, DEFAULT_THREADS), nx, ny, o[A].there, o[X].there,
                        o[TMP].there, o[Y].there, &own);
  status = end(status, o, COUNT, &own);
  if (times && status == DAVIT_SUCCESS)
    *times = own;
  return status;
}

davit_status study_covariance_run(const study_dense *d, int device, int64_t m, int64_t n, double divisor,
                                  double *data, double *mean, double *symmat, study_dense_times *times) {
  enum { DATA, MEAN, SYMMAT, COUNT };
  study_dense_times own = {.transfer_ms = 0};
  operand o[COUNT] = {[DATA] = {.rows = m, .cols = n, .from = data, .to = data},
                      [MEAN] = {.rows = 1, .cols = n, .to = mean},
                      [SYMMAT] = {.rows = n, .cols = n, .to = symmat}};
  davit_status status = begin(d, device, study_covariance_bytes(m, n), o, COUNT, &own);
  if (status == DAVIT_SUCCESS)
    status = study_covariance(device, or_default(d->block, DEFAULT_SIDE), m, n, divisor, o[DATA].there,
                              o[MEAN].there, o[SYMMAT].there, &own);
  status = end(status, o, COUNT, &own);
  if (times && status == DAVIT_SUCCESS)
    *times = own;
  return status;
}
