/* SPDX-License-Identifier: Apache-2.0 */
/* The stencil with caches bypassed, fields whose result is known, and what it refuses; its results against a long
 * double loop, |error| <= 9 eps sum |c a|. The bits of all paths are in test_operations.c. */
#include "tests/operations.h"

enum { A, B };

static trial stencil_of(int v, int64_t rows, int64_t cols) {
  return (trial){.row = &stencil_operation,
                 .data = 7,
                 .type = real_type(v),
                 .flag = {'d'},
                 .size = {rows, cols},
                 .shift = {v, 3 - v},
                 .written = 1 << B};
}

CASE(test_variants) {
  EACH_CPU(variant)
    for (int v = 0; v < 4; v++)
      for (int bypassed = 0; bypassed < 2; bypassed++) {
        const trial small = stencil_of(v, 83, 20), large = stencil_of(v, 2111, 70);
        dvt_cpu_cache_assume(bypassed ? 1 << 16 : 0);
        try_trial(&small, DAVIT_HOST);
        try_trial(&large, DAVIT_HOST);
      }
  dvt_cpu_cache_assume(0);
}

CASE(test_against_long_double) {
  for (int v = 0; v < 2; v++) {
    const trial t = stencil_of(v, 37, 41);
    dense o[OPERANDS];
    t.row->make(&t, pageable, o);
    CHECK(t.row->call(&t, o, NULL, NULL, 0));
    dense_take(&o[B]);
    for (int64_t j = 1; j < t.size[1] - 1; j++)
      for (int64_t i = 1; i < t.size[0] - 1; i++) {
        long double sum = 0, size = 0;
        for (int64_t x = 0; x < 3; x++)
          for (int64_t y = 0; y < 3; y++) {
            const long double term = (long double)davit_stencil_coefficients[y + 3 * x] *
                                     (long double)dense_at(&o[A], i + y - 1, j + x - 1);
            sum += term;
            size += fabsl(term);
          }
        expect_within("b", &o[B], i, j, sum, 9 * trial_epsilon(&t) * size);
      }
  }
}

/* Constant k gives k / 2, the row's number i gives i / 2 + 1.3, the column's number j gives j / 2 - 1.9. */
CASE(test_known_fields) {
  enum { ROWS = 50, COLS = 60 };
  static double a[ROWS * COLS], b[ROWS * COLS];
  for (int field = 0; field < 3; field++) {
    for (int e = 0; e < ROWS * COLS; e++)
      a[e] = field == 0 ? 3 : field == 1 ? e % ROWS : e / ROWS;
    CHECK(davit_stencil(DAVIT_DOUBLE, ROWS, COLS, a, ROWS, NULL, b, ROWS,
                        &(davit_stencil_options){.border = DAVIT_STENCIL_BORDER_ZERO}));
    for (int e = 0; e < ROWS * COLS; e++) {
      int i = e % ROWS, j = e / ROWS;
      bool border = i == 0 || j == 0 || i == ROWS - 1 || j == COLS - 1;
      double right = border ? 0 : field == 0 ? 1.5 : field == 1 ? i / 2.0 + 1.3 : j / 2.0 - 1.9;
      assert_true(fabs(b[e] - right) <= 9 * DBL_EPSILON * 4.5 * 60);
    }
  }
}

/* Coefficients the wrong way round give something else: the data tell rows from columns. */
CASE(test_transposed_coefficients_differ) {
  enum { SIZE = 30 };
  double transposed[9], b[2][SIZE * SIZE] = {{0}};
  const double *a = rough_data(DAVIT_SUM, DAVIT_DOUBLE, SIZE * SIZE, 1);
  for (int k = 0; k < 9; k++)
    transposed[k] = davit_stencil_coefficients[k / 3 + k % 3 * 3];
  for (int turn = 0; turn < 2; turn++)
    CHECK(davit_stencil(DAVIT_DOUBLE, SIZE, SIZE, a, SIZE, turn ? transposed : NULL, b[turn], SIZE, NULL));
  assert_memory_not_equal(b[0], b[1], sizeof b[0]);
}

CASE(test_bad_arguments) {
  double a[16] = {0}, b[16] = {0};
  const davit_type d = DAVIT_DOUBLE;
  const davit_stencil_options other = {.border = (davit_stencil_border)3};
  REFUSED_BOTH("type", stencil, DAVIT_INT32, 4, 4, a, 4, NULL, b, 4, NULL);
  REFUSED_BOTH("type", stencil, DAVIT_INT64, 4, 4, a, 4, NULL, b, 4, NULL);
  REFUSED_BOTH("type", stencil, DAVIT_TYPE_COUNT, 4, 4, a, 4, NULL, b, 4, NULL);
  REFUSED_BOTH("lda is 3", stencil, d, 4, 4, a, 3, NULL, b, 4, NULL);
  REFUSED_BOTH("ldb is 3", stencil, d, 4, 4, a, 4, NULL, b, 3, NULL);
  REFUSED_BOTH("lda is 0", stencil, d, 0, 4, a, 0, NULL, b, 1, NULL);
  REFUSED_BOTH("border", stencil, d, 4, 4, a, 4, NULL, b, 4, &other);
  REFUSED_BOTH("b overlaps a", stencil, d, 4, 4, a, 4, NULL, a, 4, NULL);
  REFUSED(davit_stencil(d, 4, 4, a, 4, NULL, b, 4, &(davit_stencil_options){.device_count = 3}), "devices");
  CHECK(davit_stencil(d, 0, 4, NULL, 1, NULL, NULL, 1, NULL));
}
