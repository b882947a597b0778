/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 over ranks, beside ScaLAPACK: shapes, blocks, alignments, grids and letters drawn by a seed, by the
 * bounds of SLATE's testers. A result C differs from ScaLAPACK's by
 *
 *   ||C - Cref||_F <= 3 eps (sqrt(k + 2) |alpha| ||A||_F ||B||_F + 2 |beta| ||C0||_F),
 *
 * and a solution X of op(A) X = alpha B, A of order n, leaves the residual
 *
 *   ||B - op(A) X / alpha||_1 <= 3 eps n ||op(A)||_1,
 *
 * with the norm of the rows if A is at the right. Here A is well conditioned, and elements of B are at most 1.
 * What a call may not write is compared byte by byte. */
#include <davit/davit.h>
#include <davit_mpi.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mpi_test.h"

/* ScaLAPACK has no C header. */
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void Cblacs_gridexit(int context);
void Cdgsum2d(int context, const char *scope, const char *top, int m, int n, double *a, int lda, int row,
              int col);
#define PDGEMM(LETTER, T)                                                                                    \
  void p##LETTER##gemm_(const char *, const char *, const int *, const int *, const int *, const T *,        \
                        const T *, const int *, const int *, const int *, const T *, const int *,            \
                        const int *, const int *, const T *, T *, const int *, const int *, const int *);    \
  void p##LETTER##syrk_(const char *, const char *, const int *, const int *, const T *, const T *,          \
                        const int *, const int *, const int *, const T *, T *, const int *, const int *,     \
                        const int *);                                                                        \
  void p##LETTER##trsm_(const char *, const char *, const char *, const char *, const int *, const int *,    \
                        const T *, const T *, const int *, const int *, const int *, T *, const int *,       \
                        const int *, const int *);                                                           \
  void p##LETTER##trmm_(const char *, const char *, const char *, const char *, const int *, const int *,    \
                        const T *, const T *, const int *, const int *, const int *, T *, const int *,       \
                        const int *, const int *);                                                           \
  void p##LETTER##potrf_(const char *, const int *, T *, const int *, const int *, const int *, int *);      \
  void p##LETTER##getrf_(const int *, const int *, T *, const int *, const int *, const int *, int *, int *);
PDGEMM(d, double)
PDGEMM(s, float)

static int me, ranks;
static uint32_t random_state = 4711; /* the same on all ranks */

static int below(int n) {
  random_state = random_state * 1664525u + 1013904223u;
  return (int)((random_state >> 8) % (uint32_t)n);
}

static char one_of(const char *letters) {
  return letters[below((int)strlen(letters))];
}

/* A rows × cols submatrix at (i, j) of a larger matrix. */
typedef struct matrix {
  int i, j, rows, cols, desc[9];
  int p, q, row, col; /* the grid, and where in it this rank is */
  size_t elements;
  double *d, *expected_d;
  float *s, *expected_s;
} matrix;

static double value(uint32_t seed, int64_t k) {
  uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)k * UINT64_C(0xbf58476d1ce4e5b9);
  z ^= z >> 29;
  z *= UINT64_C(0x94d049bb133111eb);
  return (double)(z >> 11) / 4503599627370496.0 - 1;
}

/* Row and column in the submatrix of this rank's element k; false if it is outside. */
static bool inside(const matrix *a, size_t k, int *i, int *j) {
  const int *desc = a->desc, mb = desc[4], nb = desc[5];
  const int il = (int)(k % (size_t)desc[8]), jl = (int)(k / (size_t)desc[8]);
  *i = (il / mb * a->p + (a->row - desc[6] + a->p) % a->p) * mb + il % mb - (a->i - 1);
  *j = (jl / nb * a->q + (a->col - desc[7] + a->q) % a->q) * nb + jl % nb - (a->j - 1);
  return il < davit_mpi_local_size(desc[2], mb, a->row, desc[6], a->p) &&
         jl < davit_mpi_local_size(desc[3], nb, a->col, desc[7], a->q) && *i >= 0 && *i < a->rows &&
         *j >= 0 && *j < a->cols;
}

static int smallest_block = 1;

/* `like` NULL, or a matrix whose blocks it takes, so that some operands are aligned. `dominant`: large values
 * on the submatrix's diagonal. */
static matrix make(davit_mpi_grid *grid, int p, int q, int context, int rows, int cols, const matrix *like,
                   bool dominant) {
  matrix a = {.rows = rows, .cols = cols, .p = p, .q = q};
  const int above = like ? 0 : below(3) * below(40), left = like ? 0 : below(3) * below(40);
  const int mb = like ? like->desc[4] : smallest_block + below(3) * below(70);
  const int nb = like ? mb : smallest_block + below(3) * below(70);
  const int first_row = like ? like->desc[6] : below(p), first_col = like ? like->desc[7] : below(q);
  const int m = above + rows + below(5), n = left + cols + below(5);
  CHECK(davit_mpi_grid_position(grid, &a.row, &a.col));
  const int local_rows = (int)davit_mpi_local_size(m, mb, a.row, first_row, p),
            local_cols = (int)davit_mpi_local_size(n, nb, a.col, first_col, q);
  const int ld = (local_rows > 1 ? local_rows : 1) + below(4);
  CHECK(davit_mpi_descriptor(grid, m, n, mb, nb, first_row, first_col, ld, a.desc));
  a.desc[1] = context;
  a.i = above + 1;
  a.j = left + 1;
  a.elements = (size_t)ld * (size_t)(local_cols > 1 ? local_cols : 1);
  a.d = malloc(a.elements * sizeof(double));
  a.expected_d = malloc(a.elements * sizeof(double));
  a.s = malloc(a.elements * sizeof(float));
  a.expected_s = malloc(a.elements * sizeof(float));
  const uint32_t seed = (uint32_t)below(1 << 20);
  for (size_t k = 0; k < a.elements; k++)
    a.d[k] = value(seed + 7919u * (uint32_t)me, (int64_t)k);
  for (size_t k = 0; dominant && k < a.elements; k++) {
    int i, j;
    const bool diagonal = inside(&a, k, &i, &j) && i == j;
    a.d[k] = diagonal ? 2 + fabs(a.d[k]) : a.d[k] / rows;
  }
  for (size_t k = 0; k < a.elements; k++)
    a.s[k] = (float)a.d[k];
  memcpy(a.expected_d, a.d, a.elements * sizeof(double));
  for (size_t k = 0; k < a.elements; k++)
    a.expected_s[k] = a.s[k];
  return a;
}

static void destroy(matrix *a) {
  free(a->d);
  free(a->expected_d);
  free(a->s);
  free(a->expected_s);
}

static double over_grid(int context, double x) {
  Cdgsum2d(context, "All", " ", 1, 1, &x, 1, -1, -1);
  return x;
}

static bool outside(char uplo, int i, int j) {
  return (uplo == 'L' && i < j) || (uplo == 'U' && i > j);
}

/* How often an element counts in the norm of a symmetric matrix with one triangle; uplo 'A': all elements. */
static int weight(char uplo, int i, int j) {
  return outside(uplo, i, j) ? 0 : uplo == 'A' || i == j ? 1 : 2;
}

/* Of the symmetric matrix of a triangle, or of all elements. */
static double frobenius(int context, const matrix *a, char uplo) {
  double sum = 0;
  int i, j;
  for (size_t k = 0; k < a->elements; k++)
    if (inside(a, k, &i, &j))
      sum += weight(uplo, i, j) * a->d[k] * a->d[k];
  return sqrt(over_grid(context, sum));
}

/* In units of eps. */
static double bound_of(int k, double alpha, double a, double b, double beta, double c) {
  return 3 * (sqrt(k + 2.0) * fabs(alpha) * a * b + 2 * fabs(beta) * c);
}

/* With ScaLAPACK's result; `uplo` as for frobenius(). */
static void compare(int context, const matrix *c, char uplo, double bound, const char *what) {
  double d = 0, s = 0;
  size_t touched = 0;
  for (size_t k = 0; k < c->elements; k++) {
    int i, j;
    if (inside(c, k, &i, &j) && !outside(uplo, i, j)) {
      d += weight(uplo, i, j) * pow(c->d[k] - c->expected_d[k], 2);
      s += weight(uplo, i, j) * pow((double)c->s[k] - (double)c->expected_s[k], 2);
    } else {
      touched += memcmp(&c->d[k], &c->expected_d[k], sizeof *c->d) != 0;
      touched += memcmp(&c->s[k], &c->expected_s[k], sizeof *c->s) != 0;
    }
  }
  d = sqrt(over_grid(context, d)) / DBL_EPSILON;
  s = sqrt(over_grid(context, s)) / (double)FLT_EPSILON;
  EXPECT(touched == 0, "%s: %zu elements outside are not what they were", what, touched);
  EXPECT(d <= bound, "%s: double is off by %g eps of %g", what, d, bound); /* NaN fails, too */
  EXPECT(s <= bound, "%s: float is off by %g eps of %g", what, s, bound);
}

static const double factors[] = {0, 1, -1, 0.7};

typedef struct product {
  int m, n, k;
  double alpha, beta;
} product;

static void check_gemm(davit_mpi_grid *grid, int p, int q, int context, const davit_mpi_options *options,
                       const product *g) {
  const int m = g->m, n = g->n, k = g->k;
  const char ta = one_of("NTC"), tb = one_of("NTC");
  const double alpha = g->alpha, beta = g->beta;
  const float sa = (float)alpha, sb = (float)beta;
  matrix c = make(grid, p, q, context, m, n, NULL, false);
  const bool aligned = below(2);
  matrix a = make(grid, p, q, context, ta == 'N' ? m : k, ta == 'N' ? k : m, aligned ? &c : NULL, false);
  matrix b = make(grid, p, q, context, tb == 'N' ? k : n, tb == 'N' ? n : k, aligned ? &c : NULL, false);
  char what[200];
  snprintf(what, sizeof what,
           "gemm %c%c %d × %d × %d, alpha %g, beta %g, grid %d × %d, panel %d, blocks of C %d × %d%s", ta, tb,
           m, n, k, alpha, beta, p, q, (int)options->panel, c.desc[4], c.desc[5], aligned ? ", aligned" : "");
  const double bound = bound_of(k, alpha, frobenius(context, &a, 'A'), frobenius(context, &b, 'A'), beta,
                                frobenius(context, &c, 'A'));
  pdgemm_(&ta, &tb, &m, &n, &k, &alpha, a.d, &a.i, &a.j, a.desc, b.d, &b.i, &b.j, b.desc, &beta, c.expected_d,
          &c.i, &c.j, c.desc);
  psgemm_(&ta, &tb, &m, &n, &k, &sa, a.s, &a.i, &a.j, a.desc, b.s, &b.i, &b.j, b.desc, &sb, c.expected_s,
          &c.i, &c.j, c.desc);
  CHECK(davit_mpi_dgemm(grid, ta, tb, m, n, k, alpha, a.d, a.i, a.j, a.desc, b.d, b.i, b.j, b.desc, beta, c.d,
                        c.i, c.j, c.desc, options));
  CHECK(davit_mpi_sgemm(grid, ta, tb, m, n, k, sa, a.s, a.i, a.j, a.desc, b.s, b.i, b.j, b.desc, sb, c.s, c.i,
                        c.j, c.desc, options));
  compare(context, &c, 'A', bound, what);
  destroy(&a);
  destroy(&b);
  destroy(&c);
}

static void try_gemm(davit_mpi_grid *grid, int p, int q, int context, const davit_mpi_options *options) {
  const product g = {below(150), below(150), below(4) ? below(200) : below(3), factors[below(4)],
                     factors[below(4)]};
  check_gemm(grid, p, q, context, options, &g);
}

/* Memory of a device with a copy of `data`, or `data` itself. */
static void *placed(void *data, size_t bytes, int place) {
  void *there = data;
  if (place >= 0) {
    CHECK(davit_malloc(bytes, place, &there));
    CHECK(davit_copy(bytes, data, there));
  }
  return there;
}

/* The way back. */
static void fetch(void *there, size_t bytes, void *data) {
  if (there == data)
    return;
  CHECK(davit_copy(bytes, there, data));
  davit_free(there);
}

/* ScaLAPACK's product of A and its transpose in place of its syrk, which wants square blocks of C that lie on its
 * diagonal; the triangle that is not named is what it was. */
static void expect_product(char uplo, char trans, int n, int k, double alpha, const matrix *a, double beta,
                           matrix *c) {
  const char other = trans == 'N' ? 'T' : 'N';
  const float sa = (float)alpha, sb = (float)beta;
  int i, j;
  pdgemm_(&trans, &other, &n, &n, &k, &alpha, a->d, &a->i, &a->j, a->desc, a->d, &a->i, &a->j, a->desc, &beta,
          c->expected_d, &c->i, &c->j, c->desc);
  psgemm_(&trans, &other, &n, &n, &k, &sa, a->s, &a->i, &a->j, a->desc, a->s, &a->i, &a->j, a->desc, &sb,
          c->expected_s, &c->i, &c->j, c->desc);
  for (size_t e = 0; e < c->elements; e++)
    if (inside(c, e, &i, &j) && outside(uplo, i, j)) {
      c->expected_d[e] = c->d[e];
      c->expected_s[e] = c->s[e];
    }
}

typedef struct update {
  char uplo;
  int n, k;
  double alpha, beta;
} update;

static void check_syrk(davit_mpi_grid *grid, int p, int q, int context, const davit_mpi_options *options,
                       const update *u) {
  const int n = u->n, k = u->k;
  const char uplo = u->uplo, trans = one_of("NTC");
  const double alpha = u->alpha, beta = u->beta;
  const float sa = (float)alpha, sb = (float)beta;
  const bool any = below(2), on_device = below(2) && options->devices && options->devices[0] != DAVIT_HOST;
  const int place = on_device ? options->devices[0] : DAVIT_PAGEABLE;
  matrix shape = {.desc = {1, context, 0, 0, smallest_block + below(40), 0, below(p), below(q), 1}};
  matrix c = make(grid, p, q, context, n, n, any ? NULL : &shape, false);
  matrix a =
      make(grid, p, q, context, trans == 'N' ? n : k, trans == 'N' ? k : n, below(2) ? &c : NULL, false);
  char what[200];
  snprintf(what, sizeof what, "syrk %c%c %d × %d, alpha %g, beta %g, grid %d × %d, panel %d, blocks %d × %d",
           uplo, trans, n, k, alpha, beta, p, q, (int)options->panel, c.desc[4], c.desc[5]);
  const double norm = frobenius(context, &a, 'A'),
               bound = bound_of(k, alpha, norm, norm, beta, frobenius(context, &c, uplo));
  if (any) {
    expect_product(uplo, trans, n, k, alpha, &a, beta, &c);
  } else {
    pdsyrk_(&uplo, &trans, &n, &k, &alpha, a.d, &a.i, &a.j, a.desc, &beta, c.expected_d, &c.i, &c.j, c.desc);
    pssyrk_(&uplo, &trans, &n, &k, &sa, a.s, &a.i, &a.j, a.desc, &sb, c.expected_s, &c.i, &c.j, c.desc);
  }
  const size_t c_d = c.elements * sizeof *c.d, c_s = c.elements * sizeof *c.s;
  double *a_there = placed(a.d, a.elements * sizeof *a.d, place), *c_there = placed(c.d, c_d, place);
  float *c_there_s = placed(c.s, c_s, place);
  CHECK(davit_mpi_dsyrk(grid, uplo, trans, n, k, alpha, a_there, a.i, a.j, a.desc, beta, c_there, c.i, c.j,
                        c.desc, options));
  CHECK(davit_mpi_ssyrk(grid, uplo, trans, n, k, sa, a.s, a.i, a.j, a.desc, sb, c_there_s, c.i, c.j, c.desc,
                        options));
  fetch(a_there, a.elements * sizeof *a.d, a.d);
  fetch(c_there, c_d, c.d);
  fetch(c_there_s, c_s, c.s);
  compare(context, &c, uplo, bound, what);
  destroy(&a);
  destroy(&c);
}

static void try_syrk(davit_mpi_grid *grid, int p, int q, int context, const davit_mpi_options *options) {
  update u = {.n = below(150)};
  u.k = below(4) ? below(200) : below(3);
  u.uplo = one_of("UL");
  u.alpha = factors[below(4)];
  u.beta = factors[below(4)];
  check_syrk(grid, p, q, context, options, &u);
}

enum { MOST = 160 }; /* no submatrix has as many rows or columns */

/* The largest sum of absolute values in a column (side 'L') or row ('R') of x, laid out as `like`, within a
 * triangle; a unit diagonal counts as ones. */
static double largest_sum(int context, const matrix *like, const double *x, char side, char uplo, char diag) {
  double sums[MOST] = {0}, most = 0;
  int i, j;
  for (size_t k = 0; k < like->elements; k++)
    if (inside(like, k, &i, &j) && !outside(uplo, i, j))
      sums[side == 'L' ? j : i] += diag == 'U' && i == j ? 1 : fabs(x[k]);
  Cdgsum2d(context, "All", " ", MOST, 1, sums, MOST, -1, -1);
  for (i = 0; i < MOST; i++)
    most = sums[i] <= most ? most : sums[i]; /* NaN stays */
  return most;
}

typedef struct solve {
  char side, uplo, ta, diag;
  int m, n;
} solve;

/* x is X, and b what B was, laid out as like_b; a is A, laid out as like_a. x is overwritten. */
static void residual(int context, const solve *s, double alpha, const matrix *like_a, const double *a,
                     const matrix *like_b, const double *b, double *x, double eps, const char *what) {
  const double factor = 1 / alpha;
  pdtrmm_(&s->side, &s->uplo, &s->ta, &s->diag, &s->m, &s->n, &factor, a, &like_a->i, &like_a->j,
          like_a->desc, x, &like_b->i, &like_b->j, like_b->desc);
  for (size_t k = 0; k < like_b->elements; k++)
    x[k] -= b[k];
  const char of_op = s->ta == 'N' ? s->side : s->side == 'L' ? 'R' : 'L';
  const double error = largest_sum(context, like_b, x, s->side, 'A', 'N') / eps,
               bound = 3 * like_a->rows * largest_sum(context, like_a, a, of_op, s->uplo, s->diag);
  EXPECT(error <= bound, "%s: a residual of %g eps, %g allowed, eps is %g", what, error, bound, eps);
}

static double *widened(const float *x, size_t n) {
  double *y = malloc(n * sizeof *y);
  for (size_t k = 0; k < n; k++)
    y[k] = (double)x[k];
  return y;
}

static double *copied(const double *x, size_t n) {
  return memcpy(malloc(n * sizeof *x), x, n * sizeof *x);
}

static void try_trsm(davit_mpi_grid *grid, int p, int q, int context, const davit_mpi_options *options) {
  const int m = below(150), n = below(150);
  const char side = one_of("LR"), uplo = one_of("UL"), ta = one_of("NTC"), diag = one_of("UN");
  const double alpha = factors[below(4)];
  const float sa = (float)alpha;
  const int order = side == 'L' ? m : n;
  matrix shape = {.desc = {1, context, 0, 0, 1 + below(70), 0, below(p), below(q), 1}};
  matrix a = make(grid, p, q, context, order, order, &shape, true);
  matrix b = make(grid, p, q, context, m, n, &a, false);
  char what[200];
  snprintf(what, sizeof what, "trsm %c%c%c%c %d × %d, alpha %g, grid %d × %d, block %d", side, uplo, ta, diag,
           m, n, alpha, p, q, a.desc[4]);
  const double bound = bound_of(order, alpha, frobenius(context, &a, 'A'), frobenius(context, &b, 'A'), 0, 0);
  double *before_d = copied(b.d, b.elements), *before_s = widened(b.s, b.elements);
  pdtrsm_(&side, &uplo, &ta, &diag, &m, &n, &alpha, a.d, &a.i, &a.j, a.desc, b.expected_d, &b.i, &b.j,
          b.desc);
  pstrsm_(&side, &uplo, &ta, &diag, &m, &n, &sa, a.s, &a.i, &a.j, a.desc, b.expected_s, &b.i, &b.j, b.desc);
  CHECK(davit_mpi_dtrsm(grid, side, uplo, ta, diag, m, n, alpha, a.d, a.i, a.j, a.desc, b.d, b.i, b.j, b.desc,
                        options));
  CHECK(davit_mpi_strsm(grid, side, uplo, ta, diag, m, n, sa, a.s, a.i, a.j, a.desc, b.s, b.i, b.j, b.desc,
                        options));
  compare(context, &b, 'A', bound, what); /* the inverse of such an A is no larger than A */
  double *x = copied(b.d, b.elements), *x_s = widened(b.s, b.elements), *a_s = widened(a.s, a.elements);
  const solve s = {side, uplo, ta, diag, m, n};
  if (alpha != 0) { /* with 0 the bound above is 0, too */
    residual(context, &s, alpha, &a, a.d, &b, before_d, x, DBL_EPSILON, what);
    residual(context, &s, (double)sa, &a, a_s, &b, before_s, x_s, (double)FLT_EPSILON, what);
  }
  free(before_d);
  free(before_s);
  free(x);
  free(x_s);
  free(a_s);
  destroy(&a);
  destroy(&b);
}

/* test_mpi_factor.c has more; the inverse of A is no larger than A. */
static void try_potrf(davit_mpi_grid *grid, int p, int q, int context, const davit_mpi_options *options) {
  const int n = below(150);
  const char uplo = one_of("UL");
  matrix shape = {.desc = {1, context, 0, 0, 1 + below(70), 0, below(p), below(q), 1}};
  matrix a = make(grid, p, q, context, n, n, &shape, true);
  int info_d, info_s;
  char what[200];
  snprintf(what, sizeof what, "potrf %c %d, grid %d × %d, block %d", uplo, n, p, q, a.desc[4]);
  const double norm = frobenius(context, &a, uplo), bound = bound_of(n, 1, norm, norm, 0, 0);
  pdpotrf_(&uplo, &n, a.expected_d, &a.i, &a.j, a.desc, &info_d);
  pspotrf_(&uplo, &n, a.expected_s, &a.i, &a.j, a.desc, &info_s);
  EXPECT(info_d == 0 && info_s == 0, "%s: ScaLAPACK says %d and %d", what, info_d, info_s);
  CHECK(davit_mpi_dpotrf(grid, uplo, n, a.d, a.i, a.j, a.desc, options));
  CHECK(davit_mpi_spotrf(grid, uplo, n, a.s, a.i, a.j, a.desc, options));
  compare(context, &a, uplo, bound, what);
  destroy(&a);
}

/* Pivots, and where they are. ScaLAPACK wants a submatrix that begins with a block. */
static void try_getrf(davit_mpi_grid *grid, int p, int q, int context, const davit_mpi_options *options) {
  const int m = 1 + below(150), n = 1 + below(150), least = m < n ? m : n;
  matrix shape = {.desc = {1, context, 0, 0, 1 + below(40), 0, below(p), below(q), 1}};
  matrix a = make(grid, p, q, context, m, n, &shape, false);
  const int mb = a.desc[4], i = m > mb ? mb + 1 : 1, j = n > 2 * mb ? 2 * mb + 1 : 1, rows = m - i + 1,
            cols = n - j + 1, own = (int)davit_mpi_local_size(a.desc[2], mb, a.row, a.desc[6], p);
  int info, *expected = calloc((size_t)(own + mb), sizeof *expected),
            *ipiv = calloc((size_t)own + 1, sizeof *ipiv);
  pdgetrf_(&rows, &cols, a.expected_d, &i, &j, a.desc, expected, &info);
  CHECK(davit_mpi_dgetrf(grid, rows, cols, a.d, i, j, a.desc, ipiv, options));
  for (int il = 0; il < own; il++) {
    const int row = (il / mb * p + (a.row - a.desc[6] + p) % p) * mb + il % mb - (i - 1);
    if (row >= 0 && row < rows && row < cols)
      EXPECT(ipiv[il] == expected[il],
             "getrf %d × %d at (%d, %d), grid %d × %d, block %d: pivot %d of %d is %d, not %d", rows, cols, i,
             j, p, q, mb, row + 1, least, ipiv[il], expected[il]);
  }
  free(expected);
  free(ipiv);
  destroy(&a);
}

static void test_grid(int p, int q, int cases) {
  davit_mpi_grid *grid = NULL;
  int context;
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, p, q, &grid));
  EXPECT((grid != NULL) == (me < p * q), "who is in the grid");
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, "Row", p, q);
  static const int devices[4][2] = {{DAVIT_HOST, 0}, {0, 0}, {DAVIT_HOST, 0}, {0, 1}};
  int count;
  CHECK(davit_device_count(&count));
  for (int i = 0; i < cases; i++) {
    /* On the CPU, on a device with memory of its own, on both, on two such devices, and by default. */
    const int how = below(5);
    const int narrow = below(2) ? 60 : 6; /* panels, of which many are on a device at a time */
    davit_mpi_options options = {.panel = below(2) ? 1 + below(narrow) : 0};
    if (how < 4 && (how == 0 || count > (how == 3))) {
      options.devices = devices[how];
      options.device_count = how >= 2 ? 2 : 1;
    }
    const uint32_t state = random_state;
    if (grid) {
      try_gemm(grid, p, q, context, &options);
      try_syrk(grid, p, q, context, &options);
      try_trsm(grid, p, q, context, &options);
      try_potrf(grid, p, q, context, &options);
      try_getrf(grid, p, q, context, &options);
    }
    random_state = state * 69069u + 1; /* for ranks outside as well */
  }
  if (grid)
    Cblacs_gridexit(context);
  CHECK(davit_mpi_grid_destroy(grid));
}

/* So many panels that a device holds eight of them, and gets the right operands of four at once. */
static void test_slabs(void) {
  static const int devices[2] = {0, 1};
  static const product products[] = {{250, 300, 26, 1, 0}, {250, 300, 99, 0.7, -1}, {250, 300, 36, -1, 0.7}};
  davit_mpi_grid *grid;
  int context, count;
  CHECK(davit_device_count(&count));
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, 1, ranks, &grid));
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, "Row", 1, ranks);
  for (int i = 0; i < 3 && count > 0; i++)
    for (int both = 0; both < 1 + (count > 1); both++) {
      const davit_mpi_options options = {.devices = devices, .device_count = 1 + both, .panel = 2};
      check_gemm(grid, 1, ranks, context, &options, &products[i]);
    }
  Cblacs_gridexit(context);
  CHECK(davit_mpi_grid_destroy(grid));
}

/* Blocks that need no other layout, of which a panel has several, from different processes. */
static void test_wide_panels(int p, int q) {
  const int device = 0;
  davit_mpi_grid *grid;
  int context, count;
  CHECK(davit_device_count(&count));
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, p, q, &grid));
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, "Row", p, q);
  smallest_block = 32;
  for (int i = 0; i < 12; i++) {
    const bool by_default = count == 0 || i % 4 == 0;
    const davit_mpi_options options = {.devices = by_default ? NULL : &device,
                                       .device_count = by_default ? 0 : 1};
    const product g = {1 + below(150), 1 + below(150), 100 + below(200), 0.7, factors[below(4)]};
    const update u = {one_of("UL"), 1 + below(150), 100 + below(200), -1, factors[below(4)]};
    check_gemm(grid, p, q, context, &options, &g);
    check_syrk(grid, p, q, context, &options, &u);
    try_trsm(grid, p, q, context, &options);
  }
  smallest_block = 1;
  Cblacs_gridexit(context);
  CHECK(davit_mpi_grid_destroy(grid));
}

/* So large that ranges of a triangle are halved on a device. */
static void test_large_syrk(void) {
  const update upper = {'U', 1300, 40, 0.7, 0.7}, lower = {'L', 1300, 40, -1, 0};
  const int device = 0;
  const davit_mpi_options options = {.devices = &device, .device_count = 1, .panel = 3};
  davit_mpi_grid *grid;
  int context, count;
  CHECK(davit_device_count(&count));
  if (count == 0)
    return;
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, ranks, 1, &grid));
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, "Row", ranks, 1);
  check_syrk(grid, ranks, 1, context, &options, &upper);
  check_syrk(grid, ranks, 1, context, &options, &lower);
  Cblacs_gridexit(context);
  CHECK(davit_mpi_grid_destroy(grid));
}

/* beta = 0 does not read C, and the triangle that is not named is not read. */
static void test_unread(void) {
  davit_mpi_grid *grid;
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, 1, ranks, &grid));
  enum { N = 40 };
  double a[N * N], b[N * N], c[N * N];
  int desc[9], row, col;
  CHECK(davit_mpi_grid_position(grid, &row, &col));
  CHECK(davit_mpi_descriptor(grid, N, N, 8, 8, 0, 0, N, desc));
  const int cols = (int)davit_mpi_local_size(N, 8, col, 0, ranks);
  for (int jl = 0; jl < cols; jl++)
    for (int i = 0; i < N; i++) {
      const int j = (jl / 8 * ranks + col) * 8 + jl % 8;
      a[jl * N + i] = i < j ? NAN : i == j ? 2 : 0.01;
      b[jl * N + i] = 1;
      c[jl * N + i] = NAN;
    }
  CHECK(davit_mpi_dtrsm(grid, 'L', 'L', 'N', 'N', N, N, 1, a, 1, 1, desc, b, 1, 1, desc, NULL));
  CHECK(davit_mpi_dgemm(grid, 'N', 'T', N, N, N, 1, b, 1, 1, desc, b, 1, 1, desc, 0, c, 1, 1, desc, NULL));
  for (int i = 0; i < cols * N; i++)
    EXPECT(!isnan(b[i]) && !isnan(c[i]), "NaN at %d", i);
  for (int k = 0; k <= N; k += N) {
    for (int i = 0; i < cols * N; i++)
      c[i] = NAN;
    CHECK(davit_mpi_dsyrk(grid, 'U', 'N', N, k, 1, b, 1, 1, desc, 0, c, 1, 1, desc, NULL));
    for (int i = 0; i < cols * N; i++) {
      const int jl = i / N, j = (jl / 8 * ranks + col) * 8 + jl % 8;
      EXPECT(!isnan(c[i]) == (i % N <= j), "syrk with k = %d: %g in row %d, column %d", k, c[i], i % N, j);
    }
  }
  EXPECT(davit_mpi_dgemm(grid, 'N', 'X', N, N, N, 1, b, 1, 1, desc, b, 1, 1, desc, 0, c, 1, 1, desc, NULL) ==
             DAVIT_INVALID_ARGUMENT,
         "transb X");
  EXPECT(strstr(davit_last_error(), "transb is 'X'"), "the sentence is: %s", davit_last_error());
  EXPECT(davit_mpi_dgemm(grid, 'N', 'N', N, N, N, 1, b, 2, 1, desc, b, 1, 1, desc, 0, c, 1, 1, desc, NULL) ==
             DAVIT_INVALID_ARGUMENT,
         "rows beyond the matrix");
  EXPECT(strstr(davit_last_error(), "ia is 2"), "the sentence is: %s", davit_last_error());
  if (ranks > 1) {
    EXPECT(davit_mpi_dgemm(grid, 'N', 'N', N, N, me == 0 ? N : N - 1, 1, b, 1, 1, desc, b, 1, 1, desc, 0, c,
                           1, 1, desc, NULL) == DAVIT_INVALID_ARGUMENT,
           "sizes that differ");
    EXPECT(strstr(davit_last_error(), "differ"), "the sentence is: %s", davit_last_error());
  }
  const davit_mpi_options reserved = {.reserved = {1}};
  EXPECT(davit_mpi_dsyrk(grid, 'L', 'N', N, N, 1, a, 1, 1, desc, 0, c, 1, 1, desc, &reserved) ==
             DAVIT_INVALID_ARGUMENT,
         "a reserved word");
  CHECK(davit_mpi_grid_destroy(grid));
  EXPECT(davit_mpi_grid_create(MPI_COMM_WORLD, ranks, 2, &grid) == DAVIT_INVALID_ARGUMENT,
         "a grid too large");
}

/* A factor that is NaN makes every element NaN that is written. */
static void test_nan_factors(void) {
  enum { N = 40, BLOCK = 8 };
  static const double pairs[][2] = {{NAN, 1}, {NAN, 0}, {1, NAN}, {0, NAN}, {NAN, NAN}};
  double a[N * N], c[N * N];
  davit_mpi_grid *grid;
  int desc[9], row, col;
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, 1, ranks, &grid));
  CHECK(davit_mpi_grid_position(grid, &row, &col));
  CHECK(davit_mpi_descriptor(grid, N, N, BLOCK, BLOCK, 0, 0, N, desc));
  const int count = N * (int)davit_mpi_local_size(N, BLOCK, col, 0, ranks);
  for (int call = 0; call < 4 * 5; call++) { /* gemm, syrk of both triangles, trsm */
    const int routine = call / 5;
    const double alpha = pairs[call % 5][0], beta = pairs[call % 5][1];
    for (int e = 0; e < count; e++) {
      const int j = (e / N / BLOCK * ranks + col) * BLOCK + e / N % BLOCK;
      a[e] = e % N == j ? 2 : 0.01;
      c[e] = 1;
    }
    if (routine == 0)
      CHECK(davit_mpi_dgemm(grid, 'N', 'T', N, N, N, alpha, a, 1, 1, desc, a, 1, 1, desc, beta, c, 1, 1, desc,
                            NULL));
    else if (routine < 3)
      CHECK(davit_mpi_dsyrk(grid, routine == 1 ? 'L' : 'U', 'N', N, N, alpha, a, 1, 1, desc, beta, c, 1, 1,
                            desc, NULL));
    else
      CHECK(davit_mpi_dtrsm(grid, 'L', 'U', 'N', 'N', N, N, NAN, a, 1, 1, desc, c, 1, 1, desc, NULL));
    for (int e = 0; e < count; e++) {
      const int i = e % N, j = (e / N / BLOCK * ranks + col) * BLOCK + e / N % BLOCK;
      const bool written = routine == 1 ? i >= j : routine == 2 ? i <= j : true;
      EXPECT(isnan(c[e]) == written, "routine %d, alpha %g, beta %g: %g in row %d, column %d", routine, alpha,
             beta, c[e], i, j);
    }
  }
  CHECK(davit_mpi_grid_destroy(grid));
}

int main(int argc, char **argv) {
  mpi_test_begin(&argc, &argv, &me, &ranks);
  const char *scale = getenv("DAVIT_TEST_SCALE");
  const int cases = scale && atof(scale) < 1 ? 12 : 40;
  test_grid(ranks, 1, cases);
  if (ranks > 1)
    test_grid(1, ranks, cases);
  if (ranks >= 4)
    test_grid(2, ranks / 2, cases);
  if (ranks == 6)
    test_grid(2, 2, cases); /* two ranks are not in it */
  test_wide_panels(1, ranks);
  if (ranks % 2 == 0)
    test_wide_panels(2, ranks / 2);
  test_slabs();
  test_large_syrk();
  test_unread();
  test_nan_factors();
  return mpi_test_end();
}
