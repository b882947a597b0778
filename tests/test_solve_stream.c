/* SPDX-License-Identifier: Apache-2.0 */
/* trsm's own kernels on a GPU without one: offload/solve_kernel.inc thread by thread, and the products between them by
 * plain loops, against substitution by plain loops in double precision. */
#include "tests/emulator.h"
/* The source under test. */
#define dvt_solve emulated_solve
#define dvt_solve_takes emulated_solve_takes
#define dvt_level3_stream emulated_level3_stream
#include "offload/solve.c"
#include "tests/dense.h"

#define SOLVE_BODY(type)                                                                                     \
  static void run_##type(void *arguments) {                                                                  \
    const dvt_argument *a = arguments;                                                                       \
    type##_solve_lines(emulator_pointer(a), (int64_t)a[1], (int64_t)a[2], emulator_pointer(a + 3),           \
                       (int64_t)a[4], (int64_t)a[5], (int64_t)a[6], (int64_t)a[7], (int64_t)a[8],            \
                       emulator_double(a + 9));                                                              \
  }
SOLVE_BODY(float)
SOLVE_BODY(double)
const emulator_kernel emulator_kernels[] = {{"float_solve_region", run_float},
                                            {"double_solve_region", run_double}};

static double op_at(davit_type type, const void *x, int64_t ld, char trans, int64_t i, int64_t j) {
  return element_at(type, x, trans == 'N' ? i + j * ld : j + i * ld);
}

/* C = alpha op(A) op(B) + beta C, in place of cuBLAS. */
davit_status emulated_level3_stream(const dvt_site *site, const void *level3) {
  const dvt_level3 *g = level3;
  (void)site;
  assert_int_equal(g->routine, DVT_GEMM);
  for (int64_t j = 0; j < g->n; j++)
    for (int64_t i = 0; i < g->m; i++) {
      double sum = 0;
      for (int64_t l = 0; l < g->k; l++)
        sum += op_at(g->type, g->a, g->lda, g->transa, i, l) * op_at(g->type, g->b, g->ldb, g->transb, l, j);
      const int64_t at = i + j * g->ldc;
      element_set(g->type, g->c, at,
                  __real__ g->alpha * sum + __real__ g->beta * element_at(g->type, g->c, at));
    }
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

static void try_solve(davit_type type, char side, char uplo, char trans, char diag, int64_t order,
                      int64_t lines, double alpha, uint64_t seed) {
  const bool left = side == 'L';
  const int64_t m = left ? order : lines, n = left ? lines : order;
  dense a = dense_new(type, order, order, (int64_t)(seed % 3), 0, DAVIT_PAGEABLE, seed),
        b = dense_new(type, m, n, (int64_t)(seed % 2), 0, DAVIT_PAGEABLE, seed + 1),
        x = dense_new(type, m, n, (int64_t)(seed % 2), 0, DAVIT_PAGEABLE, seed + 1);
  make_triangle(&a, uplo, diag);
  const dvt_level3 g = {.routine = DVT_TRSM,
                        .type = type,
                        .side = side,
                        .uplo = uplo,
                        .transa = trans,
                        .diag = diag,
                        .m = m,
                        .n = n,
                        .alpha = alpha,
                        .a = dense_image(&a),
                        .lda = a.ld,
                        .c = dense_image(&x),
                        .ldc = x.ld};
  dvt_site site = emulator_site;
  site.stream = (dvt_stream *)(uintptr_t)16; /* there is one; nobody looks at it */
  CHECK(emulated_solve(&site, &g));
  const double eps = type == DAVIT_DOUBLE ? 0x1p-52 : 0x1p-23, wrong = residual(&g, &a, &x, &b);
  if (!(wrong <= 20 * eps))
    fail_msg("%c%c%c%c, order %lld, %lld lines: a residual of %g", side, uplo, trans, diag, (long long)order,
             (long long)lines, wrong);
  for (int64_t j = 0; j < n; j++) /* nothing between the columns was written */
    for (int64_t i = m; i < x.ld; i++)
      assert_true(isnan(element_at(type, dense_image(&x), i + j * x.ld)));
}

CASE(all_letters_and_ugly_sizes) {
  static const int64_t orders[] = {1, 31, 32, 33, 100, 128, 129, 257, 300}, lines[] = {1, 32, 33, 70};
  uint64_t seed = 1;
  for (int o = 0; o < COUNT(orders); o++)
    for (int letters = 0; letters < 16; letters++, seed++) {
      emulator_descending = seed & 1;
      try_solve(seed % 3 ? DAVIT_DOUBLE : DAVIT_FLOAT, letters & 1 ? 'R' : 'L', letters & 2 ? 'U' : 'L',
                letters & 4 ? 'T' : 'N', letters & 8 ? 'U' : 'N', orders[o], lines[(seed + seed / 4) % 4],
                seed % 5 ? 1 : -0.7, seed);
    }
}

/* What cuBLAS keeps: complex elements, and few right-hand sides. */
CASE(only_what_fills_a_device_is_taken) {
  dvt_level3 g = {.routine = DVT_TRSM, .type = DAVIT_DOUBLE, .side = 'L', .m = 7, .n = LINES_MINIMUM};
  assert_true(emulated_solve_takes(&g));
  g.side = 'R';
  assert_false(emulated_solve_takes(&g));
  g.side = 'L';
  g.type = DAVIT_COMPLEX_DOUBLE;
  assert_false(emulated_solve_takes(&g));
}

CASE(a_launch_that_fails_ends_the_call) {
  double x[200 * 200] = {0};
  const dvt_level3 g = {.routine = DVT_TRSM,
                        .type = DAVIT_DOUBLE,
                        .side = 'L',
                        .uplo = 'L',
                        .transa = 'N',
                        .diag = 'U',
                        .m = 200,
                        .n = 40,
                        .alpha = 1,
                        .a = x,
                        .lda = 200,
                        .c = x,
                        .ldc = 200};
  dvt_site site = emulator_site;
  site.stream = (dvt_stream *)(uintptr_t)16;
  for (int i = 0; i < 2; i++) {
    emulator_launches = 0;
    emulator_fails_at = i;
    CHECK_FAILS(emulated_solve(&site, &g), DAVIT_DEVICE_ERROR, "is refused");
  }
  emulator_fails_at = -1;
}
