/* SPDX-License-Identifier: Apache-2.0 */
/* The exercises on the CPU: the handout's serial programs, and what they have to be compared with.
 *
 * The handout's loops are plain and in its order. The others are one text for a core and for many: pieces of
 * work in the vectors of the processor, dealt to threads. A piece of the product is one row of symmat and a
 * few rows of D, which stay in the second cache while all rows of symmat pass by. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/common/site.h"
#include "bench/study/dense/dense.h"
#include "bench/study/dense/point.h"
#include "src/base/cpu.h"

enum { STRIP = 32 }; /* rows of D that stay in the cache */

/* ---- the handout ---- */

static void handout_convolution(const study_dense_data *d) {
  for (int64_t i = 1; i < d->rows - 1; i++)
    for (int64_t j = 1; j < d->cols - 1; j++)
      d->out[i * d->cols + j] = study_convolve(&d->a[i * d->cols + j], d->cols);
}

static void handout_atax(const study_dense_data *d) {
  const int64_t nx = d->rows, ny = d->cols;
  const double *a = d->a, *x = d->x;
  double *tmp = d->tmp, *y = d->out;
  for (int64_t j = 0; j < ny; j++)
    y[j] = 0;
  for (int64_t i = 0; i < nx; i++) {
    tmp[i] = 0;
    for (int64_t j = 0; j < ny; j++)
      tmp[i] += a[i * ny + j] * x[j];
    for (int64_t j = 0; j < ny; j++)
      y[j] += a[i * ny + j] * tmp[i];
  }
}

static void handout_covariance(const study_dense_data *d) {
  const int64_t m = d->rows, n = d->cols;
  double *data = d->a, *mean = d->tmp, *symmat = d->out;
  for (int64_t j = 0; j < n; j++) {
    mean[j] = 0;
    for (int64_t i = 0; i < m; i++)
      mean[j] += data[i * n + j];
    mean[j] /= d->divisor;
  }
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      data[i * n + j] -= mean[j];
  for (int64_t j1 = 0; j1 < n; j1++)
    for (int64_t j2 = j1; j2 < n; j2++) {
      symmat[j1 * n + j2] = 0;
      for (int64_t i = 0; i < m; i++)
        symmat[j1 * n + j2] += data[i * n + j1] * data[i * n + j2];
      symmat[j2 * n + j1] = symmat[j1 * n + j2];
    }
}

void study_dense_handout(study_exercise e, const study_dense_data *data) {
  static void (*const programs[])(const study_dense_data *) = {[STUDY_CONVOLUTION] = handout_convolution,
                                                               [STUDY_ATAX] = handout_atax,
                                                               [STUDY_COVARIANCE] = handout_covariance};
  programs[e](data);
}

/* ---- pieces ---- */

STUDY_INLINE void convolve_row(int64_t nj, const double *a, double *b) {
#pragma omp simd
  for (int64_t j = 1; j < nj - 1; j++)
    b[j] = study_convolve(&a[j], nj);
}

/* The row's element of tmp, and what it adds to y while the row is in the cache. */
STUDY_INLINE double atax_row(int64_t ny, const double *row, const double *x, double *y) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < ny; j++)
    sum += row[j] * x[j];
#pragma omp simd
  for (int64_t j = 0; j < ny; j++)
    y[j] += row[j] * sum;
  return sum;
}

/* Adds what `count` rows of D give to row j of symmat, from the diagonal on. */
STUDY_INLINE void product_row(int64_t count, int64_t n, const double *d, int64_t j, double *row) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const double *d0 = d + i * n, *d1 = d0 + n, *d2 = d1 + n, *d3 = d2 + n;
#pragma omp simd
    for (int64_t k = j; k < n; k++)
      row[k] += d0[j] * d0[k] + d1[j] * d1[k] + d2[j] * d2[k] + d3[j] * d3[k];
  }
  for (; i < count; i++)
#pragma omp simd
    for (int64_t k = j; k < n; k++)
      row[k] += d[i * n + j] * d[i * n + k];
}

DVT_CPU_DISPATCH(void, best_convolve_row, convolve_row, (int64_t nj, const double *a, double *b), (nj, a, b))
DVT_CPU_DISPATCH(double, best_atax_row, atax_row, (int64_t ny, const double *row, const double *x, double *y),
                 (ny, row, x, y))
DVT_CPU_DISPATCH(void, best_product_row, product_row,
                 (int64_t count, int64_t n, const double *d, int64_t j, double *row), (count, n, d, j, row))

/* ---- the same on threads ---- */

static davit_status cpu_convolution(int threads, const study_dense_data *d) {
  const int64_t rows = d->rows, cols = d->cols;
  const double *a = d->a;
  double *b = d->out;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 1; i < rows - 1; i++)
    best_convolve_row(cols, a + i * cols, b + i * cols);
  return DAVIT_SUCCESS;
}

static davit_status cpu_atax(int threads, const study_dense_data *d) {
  const int64_t nx = d->rows, ny = d->cols;
  const double *a = d->a, *x = d->x;
  double *tmp = d->tmp, *y = d->out;
  double *sums = malloc(((size_t)ny * (size_t)(threads - 1) + 1) * sizeof *sums);
  if (!sums)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for the sums of %d threads", threads);
#pragma omp parallel num_threads(threads)
  {
    const int mine = omp_get_thread_num(), count = omp_get_num_threads();
    double *own = mine == 0 ? y : sums + (mine - 1) * ny;
    memset(own, 0, (size_t)ny * sizeof *own);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < nx; i++)
      tmp[i] = best_atax_row(ny, a + i * ny, x, own);
#pragma omp for schedule(static)
    for (int64_t j = 0; j < ny; j++)
      for (int t = 1; t < count; t++)
        y[j] += sums[(t - 1) * ny + j];
  }
  free(sums);
  return DAVIT_SUCCESS;
}

/* The columns from `first` to `last`, of which a thread reads rows. */
static void column_means(int64_t m, int64_t n, double divisor, const double *data, int64_t first,
                         int64_t last, double *mean) {
  for (int64_t j = first; j < last; j++)
    mean[j] = 0;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = first; j < last; j++)
      mean[j] += data[i * n + j];
  for (int64_t j = first; j < last; j++)
    mean[j] /= divisor;
}

static davit_status cpu_covariance(int threads, const study_dense_data *d) {
  const int64_t m = d->rows, n = d->cols;
  const double divisor = d->divisor;
  double *data = d->a, *mean = d->tmp, *symmat = d->out;
#pragma omp parallel num_threads(threads)
  {
    const int mine = omp_get_thread_num(), count = omp_get_num_threads();
    column_means(m, n, divisor, data, study_part_begin(n, count, mine), study_part_begin(n, count, mine + 1),
                 mean);
#pragma omp barrier
#pragma omp for schedule(static)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++)
        data[i * n + j] -= mean[j];
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n * n; i++)
      symmat[i] = 0;
    /* Row j is the same thread's for every strip; in turns, as they grow shorter. */
    for (int64_t i = 0; i < m; i += STRIP)
#pragma omp for schedule(static, 1) nowait
      for (int64_t j = 0; j < n; j++)
        best_product_row(m - i < STRIP ? m - i : STRIP, n, data + i * n, j, symmat + j * n);
#pragma omp barrier
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < i; j++)
        symmat[i * n + j] = symmat[j * n + i];
  }
  return DAVIT_SUCCESS;
}

davit_status study_dense_cpu(study_exercise e, int threads, const study_dense_data *data) {
  static davit_status (*const programs[])(int, const study_dense_data *) = {
      [STUDY_CONVOLUTION] = cpu_convolution, [STUDY_ATAX] = cpu_atax, [STUDY_COVARIANCE] = cpu_covariance};
  return programs[e](threads > 0 ? threads : omp_get_max_threads(), data);
}
