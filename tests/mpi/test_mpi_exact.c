/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products over ranks: the bits of one process on every grid, in four types; and products of complex numbers,
 * which go the same way. Every rank knows all elements, and computes the whole by itself to compare with. */
#include <complex.h>
#include <davit/davit.h>
#include <davit_mpi.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mpi_test.h"

enum { M = 71, N = 53, K = 90 };

static int me, ranks;
static const int host = DAVIT_HOST;

/* What elements are: all rows of op(A) but the last ones are whole numbers, so that nothing of them would be rounded. */
typedef enum contents { PLAIN, WHOLE_ROWS, ONE_NAN } contents;

static double noise(int64_t seed) {
  uint64_t z = (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 32) * UINT64_C(0x94d049bb133111eb);
  return (double)(z >> 11) * 0x1p-53 - 0.5;
}

static double _Complex element(char name, contents what, int64_t i, int64_t j) {
  const int64_t seed = (name * INT64_C(1000) + i) * 1000 + j;
  double _Complex x = noise(2 * seed) + noise(2 * seed + 1) * I;
  if (name == 'a' && what == WHOLE_ROWS && i < M - 3)
    x = rint(1000 * creal(x)) + rint(1000 * cimag(x)) * I;
  if (name == 'a' && what == ONE_NAN && i == M - 3 && j == 7)
    x = NAN;
  return x;
}

static void put(davit_type type, void *x, size_t at, double _Complex value) {
  if (type == DAVIT_FLOAT)
    ((float *)x)[at] = (float)creal(value);
  else if (type == DAVIT_DOUBLE)
    ((double *)x)[at] = creal(value);
  else if (type == DAVIT_COMPLEX_FLOAT)
    ((float _Complex *)x)[at] = (float _Complex)value;
  else
    ((double _Complex *)x)[at] = value;
}

/* ---- matrices ---- */

typedef struct matrix {
  int64_t rows, cols;
  int desc[9];
  int i, j; /* where the submatrix begins, from 1 on */
  char *data;
} matrix;

/* The rows × cols submatrix of which elements are given by indices of op(X). */
static matrix create(davit_mpi_grid *grid, const int size[2], davit_type type, char name, contents what,
                     char trans, int64_t rows, int64_t cols, int block, int offset) {
  matrix x = {.i = offset + 1, .j = 2 * offset + 1};
  int at[2];
  x.rows = trans == 'N' ? rows : cols;
  x.cols = trans == 'N' ? cols : rows;
  CHECK(davit_mpi_grid_position(grid, &at[0], &at[1]));
  const int first[2] = {(size[0] - 1) % 2, (size[1] - 1) % 3 % size[1]}, other = block + 2;
  const int64_t m = x.rows + offset, n = x.cols + 2 * offset,
                local = davit_mpi_local_size(m, block, at[0], first[0], size[0]),
                local_cols = davit_mpi_local_size(n, other, at[1], first[1], size[1]), ld = local + 3;
  CHECK(davit_mpi_descriptor(grid, m, n, block, other, first[0], first[1], ld, x.desc));
  x.data = calloc((size_t)(ld * local_cols + 1), davit_type_bytes(type));
  for (int64_t jl = 0; jl < local_cols; jl++)
    for (int64_t il = 0; il < local; il++) {
      const int64_t row = (at[0] - first[0] + size[0]) % size[0],
                    col = (at[1] - first[1] + size[1]) % size[1];
      const int64_t i = (il / block * size[0] + row) * block + il % block - offset,
                    j = (jl / other * size[1] + col) * other + jl % other - 2 * offset;
      if (i >= 0 && j >= 0)
        put(type, x.data, (size_t)(il + jl * ld),
            trans == 'N' ? element(name, what, i, j) : element(name, what, j, i));
    }
  return x;
}

/* The elements of this rank that differ from the whole one, in units of eps where `bound` is above 0. */
static int64_t count_differences(davit_mpi_grid *grid, const int size[2], davit_type type, const matrix *c,
                                 const char *whole, double bound) {
  int at[2];
  int64_t wrong = 0;
  CHECK(davit_mpi_grid_position(grid, &at[0], &at[1]));
  const int *d = c->desc;
  const size_t bytes = davit_type_bytes(type);
  const int64_t local = davit_mpi_local_size(d[2], d[4], at[0], d[6], size[0]),
                local_cols = davit_mpi_local_size(d[3], d[5], at[1], d[7], size[1]);
  for (int64_t jl = 0; jl < local_cols; jl++)
    for (int64_t il = 0; il < local; il++) {
      const int64_t row = (at[0] - d[6] + size[0]) % size[0], col = (at[1] - d[7] + size[1]) % size[1];
      const int64_t i = (il / d[4] * size[0] + row) * d[4] + il % d[4] - (c->i - 1),
                    j = (jl / d[5] * size[1] + col) * d[5] + jl % d[5] - (c->j - 1);
      const char *mine = c->data + (size_t)(il + jl * d[8]) * bytes,
                 *right = whole + (size_t)(i + j * M) * bytes;
      if (i < 0 || j < 0)
        continue;
      if (bound == 0)
        wrong += memcmp(mine, right, bytes) != 0;
      else if (type == DAVIT_COMPLEX_DOUBLE)
        wrong +=
            !(cabs(*(const double _Complex *)mine - *(const double _Complex *)right) <= bound * DBL_EPSILON);
      else
        wrong += !(cabsf(*(const float _Complex *)mine - *(const float _Complex *)right) <=
                   (float)bound * FLT_EPSILON);
    }
  return wrong;
}

/* ---- products ---- */

typedef struct product {
  davit_type type;
  char transa, transb;
  double _Complex alpha, beta;
  contents what;
  davit_arithmetic arithmetic;
} product;

static davit_status multiply_whole(const product *p, const void *a, const void *b, void *c,
                                   davit_level3_report *report) {
  const davit_level3_options o = {
      .devices = &host, .device_count = 1, .arithmetic = p->arithmetic, .exact_bits = true, .report = report};
  const int64_t lda = p->transa == 'N' ? M : K, ldb = p->transb == 'N' ? K : N;
#define WHOLE(LETTER, T)                                                                                     \
  davit_##LETTER##gemm(p->transa, p->transb, M, N, K, (T)p->alpha, a, lda, b, ldb, (T)p->beta, c, M, &o)
  return p->type == DAVIT_FLOAT           ? WHOLE(s, float)
         : p->type == DAVIT_DOUBLE        ? WHOLE(d, double)
         : p->type == DAVIT_COMPLEX_FLOAT ? WHOLE(c, davit_complex_float)
                                          : WHOLE(z, davit_complex_double);
}

static davit_status multiply(davit_mpi_grid *grid, const product *p, const matrix *a, const matrix *b,
                             matrix *c, const davit_mpi_options *o) {
#define PARTS(LETTER, T)                                                                                     \
  davit_mpi_##LETTER##gemm(grid, p->transa, p->transb, M, N, K, (T)p->alpha, (const T *)(void *)a->data,     \
                           a->i, a->j, a->desc, (const T *)(void *)b->data, b->i, b->j, b->desc, (T)p->beta, \
                           (T *)(void *)c->data, c->i, c->j, c->desc, o)
  return p->type == DAVIT_FLOAT           ? PARTS(s, float)
         : p->type == DAVIT_DOUBLE        ? PARTS(d, double)
         : p->type == DAVIT_COMPLEX_FLOAT ? PARTS(c, davit_complex_float)
                                          : PARTS(z, davit_complex_double);
}

/* Column-major, as stored. */
static char *create_whole(davit_type type, char name, contents what, char trans, int64_t rows, int64_t cols) {
  char *x = malloc((size_t)(rows * cols) * davit_type_bytes(type));
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = 0; i < rows; i++)
      put(type, x, (size_t)(trans == 'N' ? i + j * rows : j + i * cols), element(name, what, i, j));
  return x;
}

static void try_product(const int size[2], int block, int offset, const product *p) {
  davit_mpi_grid *grid = NULL;
  davit_level3_report right, report = {.why_native = NULL};
  char *whole_a = create_whole(p->type, 'a', p->what, p->transa, M, K),
       *whole_b = create_whole(p->type, 'b', p->what, p->transb, K, N),
       *whole_c = create_whole(p->type, 'c', p->what, 'N', M, N);
  CHECK(multiply_whole(p, whole_a, whole_b, whole_c, &right));
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, size[0], size[1], &grid));
  if (grid) {
    const davit_mpi_options options = {
        .devices = &host, .device_count = 1, .arithmetic = p->arithmetic, .report = &report};
    matrix a = create(grid, size, p->type, 'a', p->what, p->transa, M, K, block, offset),
           b = create(grid, size, p->type, 'b', p->what, p->transb, K, N, block + 1, 0),
           c = create(grid, size, p->type, 'c', p->what, 'N', M, N, block + 3, offset);
    CHECK(multiply(grid, p, &a, &b, &c, &options));
    const bool same = p->arithmetic == DAVIT_ARITHMETIC_EXACT && p->what != ONE_NAN;
    const int64_t wrong =
        p->what == ONE_NAN ? 0 : count_differences(grid, size, p->type, &c, whole_c, same ? 0 : 4 * K);
    EXPECT(wrong == 0, "type %d, %c%c, contents %d, beta %g, %d × %d ranks, block %d: %lld elements differ",
           (int)p->type, p->transa, p->transb, (int)p->what, creal(p->beta), size[0], size[1], block,
           (long long)wrong);
    const int *d = c.desc;
    int row, col;
    CHECK(davit_mpi_grid_position(grid, &row, &col));
    const bool has_part = davit_mpi_local_size(d[2], d[4], row, d[6], size[0]) > 0 &&
                          davit_mpi_local_size(d[3], d[5], col, d[7], size[1]) > 0;
    EXPECT(!has_part || (report.arithmetic == right.arithmetic && report.moduli == right.moduli &&
                         !report.why_native == !right.why_native),
           "%d moduli, not %d: %s", report.moduli, right.moduli, report.why_native ? report.why_native : "");
    free(a.data);
    free(b.data);
    free(c.data);
    CHECK(davit_mpi_grid_destroy(grid));
  }
  free(whole_a);
  free(whole_b);
  free(whole_c);
}

static void try_all(const int size[2], int block, int offset) {
  static const davit_type types[] = {DAVIT_FLOAT, DAVIT_DOUBLE, DAVIT_COMPLEX_FLOAT, DAVIT_COMPLEX_DOUBLE};
  static const char letters[][3] = {"NN", "TN", "NC", "CT"};
  for (int t = 0; t < 4; t++)
    for (int l = 0; l < 4; l++) {
      product p = {.type = types[t],
                   .transa = letters[l][0],
                   .transb = letters[l][1],
                   .alpha = 0.7 + 0.2 * I,
                   .beta = l % 2 ? -0.3 + 0.1 * I : 0,
                   .what = l / 2 ? WHOLE_ROWS : PLAIN,
                   .arithmetic = DAVIT_ARITHMETIC_EXACT};
      try_product(size, block, offset, &p);
      p.arithmetic = DAVIT_ARITHMETIC_NATIVE;
      p.what = PLAIN;
      if (t >= 2)
        try_product(size, block, offset, &p);
    }
}

/* Natively on all ranks, and C is still there where it is read; nothing to multiply; an argument. */
static void try_ends(const int size[2]) {
  product p = {.type = DAVIT_DOUBLE,
               .transa = 'N',
               .transb = 'N',
               .alpha = 1,
               .beta = 1,
               .what = ONE_NAN,
               .arithmetic = DAVIT_ARITHMETIC_EXACT};
  try_product(size, 9, 0, &p);
  p.what = PLAIN;
  p.alpha = 0;
  try_product(size, 9, 0, &p);
  davit_mpi_grid *grid;
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, 1, ranks, &grid));
  const davit_mpi_options mixed = {.arithmetic = DAVIT_ARITHMETIC_MIXED};
  int desc[9];
  double x[4] = {0};
  CHECK(davit_mpi_descriptor(grid, 1, 1, 1, 1, 0, 0, 1, desc));
  EXPECT(davit_mpi_dgemm(grid, 'N', 'N', 1, 1, 1, 1, x, 1, 1, desc, x + 1, 1, 1, desc, 0, x + 2, 1, 1, desc,
                         &mixed) == DAVIT_INVALID_ARGUMENT,
         "mixed arithmetic");
  EXPECT(strstr(davit_last_error(), "options->arithmetic is 1"), "the sentence is: %s", davit_last_error());
  CHECK(davit_mpi_grid_destroy(grid));
}

int main(int argc, char **argv) {
  mpi_test_begin(&argc, &argv, &me, &ranks);
  const int sizes[][2] = {{ranks, 1}, {1, ranks}, {2, ranks / 2}, {ranks > 4 ? 3 : 1, ranks > 4 ? 2 : 1}};
  for (int i = 0; i < 4; i++)
    if (sizes[i][1] > 0 && (i == 0 || sizes[i][0] * sizes[i][1] > 1))
      try_all(sizes[i], i % 2 ? 7 : 32, i == 1 ? 0 : 5);
  try_ends((const int[2]){ranks, 1});
  return mpi_test_end();
}
