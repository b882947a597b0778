/* SPDX-License-Identifier: Apache-2.0 */
/* The course report's three kernels as printed, block by block, the threads of a block in phases between its
 * barriers. */
#include "bench/study/dense/printed.h"

#include "bench/study/common/site.h"

static double get(const double *array, int64_t i, double outside, study_guard *reads) {
  return study_inside(reads, i) ? array[i] : outside;
}

/* ---- Convolution ---- */

/* c[r][s] is the coefficient of the element r - 1 rows and s - 1 columns away; printed as c11 … c33, column
 * first. */
static const double c[3][3] = {{+0.2, +0.5, -0.8}, {-0.3, +0.6, -0.9}, {+0.4, +0.7, +0.10}};

void study_printed_convolution(int side, int64_t ni, int64_t nj, const double *a, double *b,
                               study_guard *reads) {
  *reads = study_guard_of(ni * nj);
  int64_t rows = ((ni - 1) / side + 1) * side, cols = ((nj - 1) / side + 1) * side; /* threads */
  for (int64_t row = 0; row < rows; row++)
    for (int64_t col = 0; col < cols; col++)
      if (row > 0 && col > 0 && row < ni - 1 && col < nj - 1) {
        double sum = 0;
        for (int s = 0; s < 3; s++)
          for (int r = 0; r < 3; r++)
            sum += c[r][s] * get(a, (row + r - 1) * nj + col + s - 1, 0, reads);
        b[row * nj + col] = sum;
      }
}

/* ---- trans_norm_vector ---- */

enum { MAX_BLOCK = 1024 };

/* One of the two loops in one block: to[tid] = sum over j of A[tid + j nx] v[j]. */
static void atax_loop(int block, int64_t team, int64_t nx, int64_t ny, const double *a, const double *v,
                      double outside, double *to, study_guard *reads, study_guard *vector) {
  double staged[MAX_BLOCK], sum[MAX_BLOCK] = {0};
  for (int64_t m = 0; m < study_quotient_up(ny, block); m++) {
    for (int t = 0; t < block; t++)
      staged[t] = m * block + t < ny ? get(v, t + m * block, outside, vector) : 0;
    for (int t = 0; t < block; t++)
      for (int e = 0; e < block; e++)
        sum[t] += get(a, team * block + t + (e + block * m) * nx, outside, reads) * staged[e];
  }
  for (int t = 0; t < block; t++)
    if (team * block + t < nx)
      to[team * block + t] = sum[t];
}

void study_printed_atax(int block, bool descending, int64_t nx, int64_t ny, const double *a, const double *x,
                        double outside, double *tmp, double *y, study_guard *reads) {
  study_guard of_x = study_guard_of(ny), of_tmp = study_guard_of(nx);
  int64_t teams = study_quotient_up(nx, block);
  *reads = study_guard_of(nx * ny);
  for (int64_t i = 0; i < teams; i++) {
    int64_t team = descending ? teams - 1 - i : i;
    atax_loop(block, team, nx, ny, a, x, outside, tmp, reads, &of_x);
    atax_loop(block, team, nx, ny, a, tmp, outside, y, reads, &of_tmp);
  }
  reads->outside += of_x.outside + of_tmp.outside;
}

/* ---- covariance ---- */

enum { MAX_SIDE = 32 };

typedef struct run {
  const study_printed_covariance *p;
  int64_t wide, high; /* of the grid, in blocks */
  double *data, *mean, *symmat;
  study_guard *reads, *writes;
} run;

/* A block, and where Col of the threads with threadIdx.x = tx has come to. */
typedef struct block_state {
  int64_t bx, by, col[MAX_SIDE];
} block_state;

static bool corrected(const run *r, int what) {
  return (r->p->corrected & what) != 0;
}

static double datum(const run *r, int64_t i) {
  return get(r->data, i, r->p->outside, r->reads);
}

static void reset_columns(const run *r, block_state *b) {
  for (int tx = 0; tx < r->p->side; tx++)
    b->col[tx] = b->bx * r->p->side + tx;
}

/* while (Col < n) { visit; Col += gridDim.x * blockDim.x; }, in all threads of the block. */
static void for_columns(const run *r, block_state *b, void (*visit)(const run *, int64_t row, int64_t col)) {
  const study_printed_covariance *p = r->p;
  int64_t stride = r->wide * p->side;
  if (corrected(r, STUDY_COLUMN_RESET))
    reset_columns(r, b);
  for (int tx = 0; tx < p->side; tx++)
    for (; b->col[tx] < p->n; b->col[tx] += stride)
      for (int ty = 0; ty < p->side; ty++)
        visit(r, b->by * p->side + ty, b->col[tx]);
}

static void take_mean(const run *r, int64_t row, int64_t col) {
  double sum = 0;
  (void)row; /* every row of threads does the same */
  for (int64_t i = 0; i < r->p->m; i++)
    sum += datum(r, i * r->p->n + col);
  r->mean[col] = sum / r->p->divisor;
}

static void centre(const run *r, int64_t row, int64_t col) {
  if (corrected(r, STUDY_ONE_ROW) && row > 0)
    return;
  for (int64_t i = 0; i < r->p->m; i++)
    r->data[i * r->p->n + col] -= r->mean[col];
}

static void multiply(const run *r, block_state *b) {
  const study_printed_covariance *p = r->p;
  int side = p->side;
  double s1[MAX_SIDE][MAX_SIDE], s2[MAX_SIDE][MAX_SIDE], sum[MAX_SIDE][MAX_SIDE] = {{0}};
  if (corrected(r, STUDY_COLUMN_RESET))
    reset_columns(r, b);
  for (int64_t l = 0; l < study_quotient_up(p->n, side); l++) {
    for (int ty = 0; ty < side; ty++)
      for (int tx = 0; tx < side; tx++) {
        int64_t row = b->by * side + ty, k = l * side;
        s1[ty][tx] = datum(r, corrected(r, STUDY_TRANSPOSED) ? (k + tx) * p->n + row : row * p->n + k + tx);
        s2[ty][tx] = datum(r, b->col[tx] + (k + ty) * p->m);
      }
    for (int ty = 0; ty < side; ty++)
      for (int tx = 0; tx < side; tx++)
        for (int k = 0; k < side; k++) {
          if (l * side + k > p->m)
            break;
          sum[ty][tx] += s1[ty][k] * s2[k][tx];
        }
  }
  for (int ty = 0; ty < side; ty++)
    for (int tx = 0; tx < side; tx++) {
      int64_t at = (b->by * side + ty) * p->n + b->col[tx];
      if (study_inside(r->writes, at))
        r->symmat[at] = sum[ty][tx];
    }
}

enum { MEANS = 1, CENTRES = 2, PRODUCTS = 4 };

static void launch(const run *r, int parts) {
  int64_t blocks = r->wide * r->high;
  for (int64_t i = 0; i < blocks; i++) {
    int64_t number = r->p->descending ? blocks - 1 - i : i;
    block_state b = {.bx = number % r->wide, .by = number / r->wide};
    reset_columns(r, &b);
    if (parts & MEANS)
      for_columns(r, &b, take_mean);
    if (parts & CENTRES)
      for_columns(r, &b, centre);
    if (parts & PRODUCTS)
      multiply(r, &b);
  }
}

void study_printed_covariance_run(const study_printed_covariance *p, double *data, double *mean,
                                  double *symmat, study_guard *reads, study_guard *writes) {
  run r = {
      p,     study_quotient_up(p->m, p->side), study_quotient_up(p->n, p->side), data, mean, symmat, reads,
      writes};
  *reads = study_guard_of(p->m * p->n);
  *writes = study_guard_of(p->n * p->n);
  if (corrected(&r, STUDY_LAUNCHES)) {
    launch(&r, MEANS);
    launch(&r, CENTRES);
    launch(&r, PRODUCTS);
  } else {
    launch(&r, MEANS | CENTRES | PRODUCTS);
  }
}
