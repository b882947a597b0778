/* SPDX-License-Identifier: Apache-2.0 */
/* Values of atax that are known, and what it refuses. Its results are in test_operations.c. */
#include "tests/elements.h"

/* The initial values of the handed-out program: A_ij = i j / n, x_j = j pi; y_j = pi j S² / n², S = sum of
 * i². */
CASE(test_closed_form) {
  enum { SIZE = 200 };
  const double pi = acos(-1), n = (double)SIZE;
  static double a[SIZE * SIZE], x[SIZE], y[SIZE];
  double s = (n - 1) * n * (2 * n - 1) / 6;
  for (int j = 0; j < SIZE; j++) {
    x[j] = j * pi;
    for (int i = 0; i < SIZE; i++)
      a[i + j * SIZE] = i * j / n;
  }
  for (int v = 0; v < 3; v++) {
    CHECK(davit_atax(DAVIT_DOUBLE, "NTc"[v], SIZE, SIZE, a, SIZE, x, NULL, y, NULL));
    for (int j = 0; j < SIZE; j++)
      assert_true(fabs(y[j] - pi * j * s * s / n / n) <= (2 * n + 8) * DBL_EPSILON * fabs(y[j]));
  }
}

/* Random data tell A'A from AA', A'A' and AA, which symmetric data do not. */
CASE(test_wrong_operator_differs) {
  enum { SIZE = 60 };
  const double *a = rough_data(DAVIT_SUM, DAVIT_DOUBLE, SIZE * SIZE, 1),
               *x = rough_data(DAVIT_SUM, DAVIT_DOUBLE, SIZE, 2);
  double right[SIZE];
  CHECK(davit_atax(DAVIT_DOUBLE, 'T', SIZE, SIZE, a, SIZE, x, NULL, right, NULL));
  for (int wrong = 0; wrong < 3; wrong++) {
    double tmp[SIZE], y[SIZE], distance = 0;
    char first = "NTN"[wrong], second = "TTN"[wrong];
    dvt_gemv_host(NULL, &(dvt_gemv){DAVIT_DOUBLE, first, SIZE, SIZE, 1, a, SIZE, x, 1, 0, tmp, 1});
    dvt_gemv_host(NULL, &(dvt_gemv){DAVIT_DOUBLE, second, SIZE, SIZE, 1, a, SIZE, tmp, 1, 0, y, 1});
    for (int i = 0; i < SIZE; i++)
      distance = fmax(distance, fabs(y[i] - right[i]));
    assert_true(distance > 0.1);
  }
}

/* How the CPU shares the work: columns, short ones too, or rows; last lines of a column that are not whole. */
CASE(test_shapes_of_the_cpu) {
  static const int64_t shapes[][2] = {{100, 3000}, {17, 2000},  {3, 5000},
                                      {130, 700},  {1500, 300}, {9000, 21}};
  for (int s = 0; s < COUNT(shapes); s++)
    for (int turn = 0; turn < 4; turn++) {
      const int64_t m = shapes[s][0], n = shapes[s][1], inner = turn % 2 ? n : m, outer = turn % 2 ? m : n;
      const davit_type type = turn / 2 ? DAVIT_FLOAT : DAVIT_DOUBLE;
      const size_t element = davit_type_bytes(type);
      void *a = rough_data(DAVIT_SUM, type, m * n, 3), *x = rough_data(DAVIT_SUM, type, outer, 4);
      void *y = kept((size_t)outer * element), *tmp = kept((size_t)inner * element);
      CHECK(davit_atax(type, "NT"[turn % 2], m, n, a, m, x, tmp, y,
                       ON(davit_atax_options, &(int){DAVIT_HOST}, 1)));
      for (int second = 0; second < 2; second++)
        for (int64_t i = 0; i < (second ? outer : inner); i++) {
          const bool column = second != turn % 2; /* sums run down a column of A */
          double sum = 0, size = 0;
          for (int64_t k = 0; k < (column ? m : n); k++) {
            const double factor = (double)element_at(type, second ? tmp : x, k),
                         term = factor * (double)element_at(type, a, column ? k + i * m : i + k * m);
            sum += term;
            size += fabs(term);
          }
          assert_true(fabs((double)element_at(type, second ? y : tmp, i) - sum) <=
                      (double)(column ? m : n) * element_epsilon(type) * size);
        }
    }
}

CASE(test_bad_arguments) {
  double a[16] = {0}, x[4] = {0}, tmp[4], y[4];
  const davit_type d = DAVIT_DOUBLE;
  REFUSED_BOTH("type", atax, DAVIT_INT64, 'N', 4, 4, a, 4, x, tmp, y, NULL);
  REFUSED_BOTH("type is 77", atax, (davit_type)77, 'N', 4, 4, a, 4, x, tmp, y, NULL);
  REFUSED_BOTH("lda is 3", atax, d, 'N', 4, 4, a, 3, x, tmp, y, NULL);
  REFUSED_BOTH("tmp overlaps y", atax, d, 'N', 4, 4, a, 4, x, y, y, NULL);
  REFUSED_BOTH("y overlaps x", atax, d, 'N', 4, 4, a, 4, x, tmp, x, NULL);
  REFUSED_BOTH("y overlaps a", atax, d, 'N', 4, 4, a, 4, x, tmp, a + 3, NULL);
  REFUSED_BOTH("tmp overlaps a", atax, d, 'T', 4, 4, a, 4, x, a, y, NULL);
  REFUSED_BOTH("tmp overlaps x", atax, d, 'T', 4, 4, a, 4, x, x, y, NULL);
  REFUSED(davit_atax(d, 'T', 4, 4, a, 4, x, tmp, y, &(davit_atax_options){.device_count = 2}), "devices");
}
