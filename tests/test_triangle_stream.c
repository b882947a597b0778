/* SPDX-License-Identifier: Apache-2.0 */
/* trsm's and trmm's own kernels on a GPU without one: offload/triangle_kernel.inc thread by thread, and the products
 * between by plain loops. What is expected is computed by plain loops. */
#include "tests/emulator.h"
/* The source under test. */
#define dvt_solve emulated_solve
#define dvt_solve_takes emulated_solve_takes
#define dvt_triangle_product emulated_product
#define dvt_triangle_product_takes emulated_product_takes
#include "offload/triangle.c"
#include "tests/dense.h"

static void run_solve(void *arguments) {
  const dvt_argument *a = arguments;
  double_solve_lines(emulator_pointer(a), (int64_t)a[1], (int64_t)a[2], emulator_pointer(a + 3),
                     (int64_t)a[4], (int64_t)a[5], (int64_t)a[6], (int64_t)a[7], (int64_t)a[8],
                     emulator_double(a + 9));
}
static void run_product(void *arguments) {
  const dvt_argument *a = arguments;
  double_multiply_lines(emulator_pointer(a), (int64_t)a[1], (int64_t)a[2], emulator_pointer(a + 3),
                        (int64_t)a[4], (int64_t)a[5], emulator_pointer(a + 6), (int64_t)a[7], (int64_t)a[8],
                        (int64_t)a[9], (int64_t)a[10], (int64_t)a[11], emulator_double(a + 12),
                        emulator_double(a + 13));
}
const emulator_kernel emulator_kernels[] = {{"double_solve_region", run_solve},
                                            {"double_product_region", run_product}};

static int products, product_fails_at = -1;

static double op_at(davit_type type, const void *x, int64_t ld, char trans, int64_t i, int64_t j) {
  return element_at(type, x, trans == 'N' ? i + j * ld : j + i * ld);
}

/* C = alpha op(A) op(B) + beta C. */
static void multiply_one(const dvt_level3 *g, const double *a, const double *b, double *c) {
  for (int64_t j = 0; j < g->n; j++)
    for (int64_t i = 0; i < g->m; i++) {
      double sum = 0;
      for (int64_t l = 0; l < g->k; l++)
        sum += op_at(g->type, a, g->lda, g->transa, i, l) * op_at(g->type, b, g->ldb, g->transb, l, j);
      c[i + j * g->ldc] = __real__ g->alpha * sum + __real__ g->beta * c[i + j * g->ldc];
    }
}

/* In place of cuBLAS. */
static davit_status products_of(const dvt_site *site, const dvt_level3 *g, int64_t count, int64_t apart_a,
                                int64_t apart_b, int64_t apart_c) {
  (void)site;
  assert_int_equal(g->routine, DVT_GEMM);
  assert_int_equal(g->type, DAVIT_DOUBLE);
  if (products++ == product_fails_at)
    return davit_fail(DAVIT_DEVICE_ERROR, "the product is refused");
  for (int64_t i = 0; i < count; i++)
    multiply_one(g, (const double *)g->a + i * apart_a, (const double *)g->b + i * apart_b,
                 (double *)g->c + i * apart_c);
  return DAVIT_SUCCESS;
}

/* A's stored triangle with a diagonal around 2; the rest is NaN, and so is the diagonal if it counts as 1. */
static void make_triangle(dense *a, char uplo, char diag) {
  for (int64_t j = 0; j < a->cols; j++)
    for (int64_t i = 0; i < a->rows; i++) {
      const bool stored = uplo == 'L' ? i > j : i < j;
      if (i == j ? diag == 'U' : !stored)
        dense_set(a, i, j, (double)NAN);
      else
        dense_set(a, i, j, i == j ? 2 + dense_at(a, i, j) : 4 * dense_at(a, i, j) / (double)a->rows);
    }
}

static double element_of(const dense *a, char uplo, char diag, char trans, int64_t i, int64_t j) {
  const int64_t row = trans == 'N' ? i : j, col = trans == 'N' ? j : i;
  if (i == j)
    return diag == 'U' ? 1 : dense_at(a, i, i);
  return (uplo == 'L' ? row > col : row < col) ? dense_at(a, row, col) : 0;
}

/* |alpha B - op(A) X|, or of X op(A), by the largest element. */
static double residual(const dvt_level3 *g, const dense *a, const dense *x, const dense *b) {
  double largest = 0;
  for (int64_t j = 0; j < b->cols; j++)
    for (int64_t i = 0; i < b->rows; i++) {
      double sum = 0;
      for (int64_t l = 0; l < a->rows; l++)
        sum += g->side == 'L' ? element_of(a, g->uplo, g->diag, g->transa, i, l) * dense_at(x, l, j)
                              : dense_at(x, i, l) * element_of(a, g->uplo, g->diag, g->transa, l, j);
      const double wrong = fabs(__real__ g->alpha * dense_at(b, i, j) - sum);
      largest = wrong <= largest ? largest : wrong; /* NaN is the largest of all */
      if (isnan(largest))
        return largest;
    }
  return largest;
}

typedef struct triangle_case {
  char side, uplo, trans, diag;
  int64_t order, lines, extra_lda, extra_ldb;
  double alpha;
} triangle_case;

static int64_t rows_of_case(const triangle_case *c) {
  return c->side == 'L' ? c->order : c->lines;
}

static int64_t cols_of_case(const triangle_case *c) {
  return c->side == 'L' ? c->lines : c->order;
}

static dvt_level3 call_of(dvt_routine routine, const triangle_case *c, dense *a, dense *x) {
  return (dvt_level3){.routine = routine,
                      .type = DAVIT_DOUBLE,
                      .side = c->side,
                      .uplo = c->uplo,
                      .transa = c->trans,
                      .diag = c->diag,
                      .m = rows_of_case(c),
                      .n = cols_of_case(c),
                      .alpha = c->alpha,
                      .a = dense_image(a),
                      .lda = a->ld,
                      .c = dense_image(x),
                      .ldc = x->ld};
}

/* With a stream that nobody looks at. */
static dvt_site site_of_case(void) {
  dvt_site site = emulator_site;
  site.stream = (dvt_stream *)(uintptr_t)16;
  return site;
}

/* What is no element of x is as in the other one. */
static void expect_frame(dense *x, const dense *other) {
  for (int64_t j = 0; j < x->cols; j++)
    for (int64_t i = 0; i < x->rows; i++)
      dense_set(x, i, j, dense_at(other, i, j));
  assert_memory_equal(x->image, other->image, x->bytes);
}

static void try_solve(const triangle_case *c, uint64_t seed) {
  const int64_t m = rows_of_case(c), n = cols_of_case(c);
  dense a = dense_new(DAVIT_DOUBLE, c->order, c->order, c->extra_lda, 0, DAVIT_PAGEABLE, seed),
        b = dense_new(DAVIT_DOUBLE, m, n, c->extra_ldb, 0, DAVIT_PAGEABLE, seed + 1),
        x = dense_new(DAVIT_DOUBLE, m, n, c->extra_ldb, 0, DAVIT_PAGEABLE, seed + 1);
  make_triangle(&a, c->uplo, c->diag);
  char *before = kept(a.bytes);
  memcpy(before, a.image, a.bytes);
  const dvt_level3 g = call_of(DVT_TRSM, c, &a, &x);
  const dvt_site site = site_of_case();
  CHECK(emulated_solve(&site, &g, products_of));
  const double wrong = residual(&g, &a, &x, &b);
  if (!(wrong <= 20 * 0x1p-52))
    fail_msg("%c%c%c%c, order %lld, %lld lines, lda + %lld, ldb + %lld: a residual of %g", c->side, c->uplo,
             c->trans, c->diag, (long long)c->order, (long long)c->lines, (long long)c->extra_lda,
             (long long)c->extra_ldb, wrong);
  assert_memory_equal(a.image, before, a.bytes);
  expect_frame(&x, &b);
}

/* C as it should be, of B without elements that do not count, be they NaN; rounding errors of sums of random numbers
 * are far below the bound. */
static void expect_product(const dvt_level3 *g, const dense *a, const dense *b, const dense *c,
                           const dense *was) {
  for (int64_t j = 0; j < c->cols; j++)
    for (int64_t i = 0; i < c->rows; i++) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < a->rows; l++) {
        const bool left = g->side == 'L', upper = (g->uplo == 'U') == (g->transa == 'N');
        const int64_t row = left ? i : l, col = left ? l : j;
        if (upper ? row > col : row < col)
          continue;
        const double term = element_of(a, g->uplo, g->diag, g->transa, row, col) *
                            (left ? dense_at(b, l, j) : dense_at(b, i, l));
        sum += term;
        size += fabs(term);
      }
      const double should = __real__ g->alpha * sum +
                            (__real__ g->beta != 0 ? __real__ g->beta * dense_at(was, i, j) : 0),
                   is = dense_at(c, i, j);
      if (isnan(should) ? !isnan(is) : !(fabs(is - should) <= 0x1p-46 * (size + 1)))
        fail_msg("%c%c%c%c, order %lld: element (%lld, %lld) is %g, not %g", g->side, g->uplo, g->transa,
                 g->diag, (long long)a->rows, (long long)i, (long long)j, is, should);
    }
}

static void try_product(const triangle_case *c, double beta, bool in_place, uint64_t seed) {
  const int64_t m = rows_of_case(c), n = cols_of_case(c), extra = in_place ? c->extra_ldb : c->extra_lda;
  const uint64_t other = in_place ? seed + 1 : seed + 2;
  dense a = dense_new(DAVIT_DOUBLE, c->order, c->order, c->extra_lda, 0, DAVIT_PAGEABLE, seed),
        b = dense_new(DAVIT_DOUBLE, m, n, c->extra_ldb, 0, DAVIT_PAGEABLE, seed + 1),
        x = dense_new(DAVIT_DOUBLE, m, n, extra, 0, DAVIT_PAGEABLE, other),
        was = dense_new(DAVIT_DOUBLE, m, n, extra, 0, DAVIT_PAGEABLE, other);
  make_triangle(&a, c->uplo, c->diag);
  const int64_t row = random_below(&seed, (int)m), col = random_below(&seed, (int)n);
  dense_set(&b, row, col, (double)NAN);
  if (in_place)
    dense_set(&x, row, col, (double)NAN);
  for (int64_t i = 0; i < m && beta == 0 && !in_place; i++) /* is not read */
    dense_set(&x, i, random_below(&seed, (int)n), (double)NAN);
  char *before = kept(a.bytes + b.bytes);
  memcpy(before, a.image, a.bytes);
  memcpy(before + a.bytes, b.image, b.bytes);
  dvt_level3 g = call_of(DVT_TRMM, c, &a, &x);
  g.b = dense_image(in_place ? &x : &b);
  g.ldb = b.ld;
  g.beta = beta;
  const dvt_site site = site_of_case();
  CHECK(emulated_product(&site, &g, products_of));
  expect_product(&g, &a, &b, &x, &was);
  assert_true(memcmp(a.image, before, a.bytes) == 0 && memcmp(b.image, before + a.bytes, b.bytes) == 0);
  expect_frame(&x, &was);
}

CASE(all_letters_and_ugly_sizes) {
  static const int64_t orders[] = {1, 31, 32, 33, 100, 128, 129, 257, 300, 660};
  const int percent = scaled(100);
  uint64_t seed = 1;
  for (int o = 0; o < COUNT(orders); o++)
    for (int letters = 0; letters < 16; letters++)
      for (int turn = 0; turn < 2; turn++) {
        if (orders[o] > 129 && letters != o && random_below(&seed, 100) >= percent)
          continue;
        const triangle_case c = {letters & 1 ? 'R' : 'L',
                                 letters & 2 ? 'U' : 'L',
                                 letters & 4 ? 'T' : 'N',
                                 letters & 8 ? 'U' : 'N',
                                 orders[o],
                                 turn == 0 ? 33 + random_below(&seed, 40) : 1 + random_below(&seed, 33),
                                 random_below(&seed, 3),
                                 random_below(&seed, 3),
                                 random_below(&seed, 3) ? 1 : -0.7};
        emulator_descending = random_below(&seed, 2) == 1;
        if (orders[o] <= 300)
          try_solve(&c, seed);
        if (orders[o] <= 300 || turn == 0)
          try_product(&c, turn ? 0 : 0.5, false, seed);
        if (orders[o] <= 300 && turn == letters % 2)
          try_product(&c, 0, true, seed);
      }
}

/* What cuBLAS keeps. */
CASE(only_what_was_measured_is_taken) {
  const dvt_site site = site_of_case();
  const dvt_level3 left = {
      .routine = DVT_TRSM, .type = DAVIT_DOUBLE, .side = 'L', .m = ORDER_MINIMUM, .n = LINES_MINIMUM};
  dvt_level3 right = left, g = left;
  right.side = 'R';
  right.m = LINES_MINIMUM;
  right.n = ORDER_MINIMUM;
  assert_true(emulated_solve_takes(&site, &left) && emulated_solve_takes(&site, &right));
  g.m--;
  assert_false(emulated_solve_takes(&site, &g));
  g = left;
  g.n--;
  assert_false(emulated_solve_takes(&site, &g));
  static const davit_type others[] = {DAVIT_FLOAT, DAVIT_COMPLEX_FLOAT, DAVIT_COMPLEX_DOUBLE};
  for (int i = 0; i < COUNT(others); i++) {
    g = left;
    g.type = others[i];
    assert_false(emulated_solve_takes(&site, &g));
  }
  emulator_team_bytes = TEAM_BYTES - 1;
  assert_false(emulated_solve_takes(&site, &left));
  emulator_team_bytes = TEAM_BYTES;
  assert_true(emulated_solve_takes(&site, &left));
}

CASE(products_in_place_need_more_lines) {
  const dvt_site site = site_of_case();
  double x[2] = {0};
  const dvt_level3 left = {.routine = DVT_TRMM,
                           .type = DAVIT_DOUBLE,
                           .side = 'L',
                           .m = ORDER_MINIMUM,
                           .n = LINES,
                           .b = x,
                           .c = x + 1};
  dvt_level3 g = left;
  assert_true(emulated_product_takes(&site, &left));
  g.m--;
  assert_false(emulated_product_takes(&site, &g));
  g = left;
  g.n--;
  assert_false(emulated_product_takes(&site, &g));
  g = left;
  g.c = x;
  assert_false(emulated_product_takes(&site, &g));
  g.n = LINES_MINIMUM;
  assert_true(emulated_product_takes(&site, &g));
  g = left;
  g.type = DAVIT_FLOAT;
  assert_false(emulated_product_takes(&site, &g));
}

CASE(a_failure_ends_the_call) {
  double x[300 * 300] = {0};
  const dvt_level3 g = {.routine = DVT_TRSM,
                        .type = DAVIT_DOUBLE,
                        .side = 'L',
                        .uplo = 'L',
                        .transa = 'N',
                        .diag = 'U',
                        .m = 300,
                        .n = 40,
                        .alpha = 1,
                        .a = x,
                        .lda = 300,
                        .c = x,
                        .ldc = 300};
  const dvt_site site = site_of_case();
  for (int i = 0; i < 5; i++) { /* three triangles, two products between them */
    emulator_launches = products = 0;
    emulator_fails_at = i < 3 ? i : -1;
    product_fails_at = i < 3 ? -1 : i - 3;
    CHECK_FAILS(emulated_solve(&site, &g, products_of), DAVIT_DEVICE_ERROR, "is refused");
    assert_int_equal(emulator_launches, i < 3 ? i + 1 : i - 2);
  }
  emulator_fails_at = product_fails_at = -1;
}
