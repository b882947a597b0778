/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs of the dense kernels: host data, memory that is asked for before it is taken, copies both ways.
 */
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

/* A run: memory on the device, copies there, the launches, copies back. */
typedef davit_status launches(int device, int block, const operand *o, double divisor,
                              study_dense_times *times);

static davit_status run(const study_dense *d, int device, double bytes, int fallback, operand *o, int count,
                        launches *launch, double divisor, study_dense_times *times) {
  study_dense_times own = {.transfer_ms = 0};
  davit_status status = study_dense_room(d, device, bytes);
  for (int i = 0; i < count && status == DAVIT_SUCCESS; i++)
    status = allocate(device, &o[i]);
  for (int i = 0; i < count && status == DAVIT_SUCCESS; i++)
    if (o[i].from)
      status = copy(&o[i], 0, o[i].there, o[i].from, &own);
  if (status == DAVIT_SUCCESS)
    status = launch(device, d->block ? d->block : fallback, o, divisor, &own);
  for (int i = 0; i < count; i++) {
    if (o[i].to && status == DAVIT_SUCCESS)
      status = copy(&o[i], o[i].border, o[i].to, o[i].there, &own);
    (void)davit_free(o[i].there);
  }
  if (times && status == DAVIT_SUCCESS)
    *times = own;
  return status;
}

static davit_status launch_convolution(int device, int side, const operand *o, double divisor,
                                       study_dense_times *times) {
  (void)divisor;
  return study_convolution(device, side, o[0].rows, o[0].cols, o[0].there, o[1].there, times);
}

davit_status study_convolution_run(const study_dense *d, int device, int64_t ni, int64_t nj, const double *a,
                                   double *b, study_dense_times *times) {
  operand o[] = {{.rows = ni, .cols = nj, .from = a}, {.rows = ni, .cols = nj, .border = 1, .to = b}};
  return run(d, device, study_convolution_bytes(ni, nj), DEFAULT_SIDE, o, 2, launch_convolution, 0, times);
}

static davit_status launch_atax(int device, int block, const operand *o, double divisor,
                                study_dense_times *times) {
  (void)divisor;
  return study_atax(device, block, o[0].rows, o[0].cols, o[0].there, o[1].there, o[2].there, o[3].there,
                    times);
}

davit_status study_atax_run(const study_dense *d, int device, int64_t nx, int64_t ny, const double *a,
                            const double *x, double *tmp, double *y, study_dense_times *times) {
  operand o[] = {{.rows = nx, .cols = ny, .from = a},
                 {.rows = 1, .cols = ny, .from = x},
                 {.rows = 1, .cols = nx, .to = tmp},
                 {.rows = 1, .cols = ny, .to = y}};
  return run(d, device, study_atax_bytes(nx, ny), DEFAULT_THREADS, o, 4, launch_atax, 0, times);
}

static davit_status launch_covariance(int device, int side, const operand *o, double divisor,
                                      study_dense_times *times) {
  return study_covariance(device, side, o[0].rows, o[0].cols, divisor, o[0].there, o[1].there, o[2].there,
                          times);
}

davit_status study_covariance_run(const study_dense *d, int device, int64_t m, int64_t n, double divisor,
                                  double *data, double *mean, double *symmat, study_dense_times *times) {
  operand o[] = {{.rows = m, .cols = n, .from = data, .to = data},
                 {.rows = 1, .cols = n, .to = mean},
                 {.rows = n, .cols = n, .to = symmat}};
  return run(d, device, study_covariance_bytes(m, n), DEFAULT_SIDE, o, 3, launch_covariance, divisor, times);
}
