/* SPDX-License-Identifier: Apache-2.0 */
/* The packed form of a covariance, its default divisors, and what it refuses. Its results are in test_operations.c. */
#include "tests/dense.h"

/* On centred random data D D is far from D' D, D D' too; on symmetric data they are the same. */
CASE(test_wrong_product_differs) {
  enum { SIZE = 40 };
  double centred[SIZE * SIZE], s[SIZE * SIZE], product[SIZE * SIZE];
  const double *d = rough_data(DAVIT_SUM, DAVIT_DOUBLE, SIZE * SIZE, 5);
  const davit_covariance_options options = {.mean_divisor = SIZE, .divisor = 1};
  CHECK(davit_covariance(DAVIT_DOUBLE, 'N', SIZE, SIZE, d, SIZE, NULL, centred, SIZE, s, SIZE, &options));
  for (int wrong = 0; wrong < 2; wrong++) {
    double distance = 0;
    CHECK(davit_dgemm('N', "NT"[wrong], SIZE, SIZE, SIZE, 1, centred, SIZE, centred, SIZE, 0, product, SIZE,
                      NULL));
    for (int e = 0; e < SIZE * SIZE; e++)
      distance = fmax(distance, fabs(product[e] - s[e]));
    assert_true(distance > 0.1);
  }
}

/* The packed index runs through 0 … N (N - 1) / 2 - 1, each once, row by row. */
CASE(test_packed_index) {
  static const int64_t sizes[] = {1, 2, 3, 7, 64, 1000};
  for (int s = 0; s < COUNT(sizes); s++) {
    int64_t next = 0;
    for (int64_t i = 0; i < sizes[s]; i++)
      for (int64_t j = i + 1; j < sizes[s]; j++)
        assert_true(davit_covariance_packed_index(sizes[s], i, j) == next++);
    assert_true(next == sizes[s] * (sizes[s] - 1) / 2);
  }
  const int64_t large = 50000;
  for (int64_t i = 0; i + 2 < large; i++)
    assert_true(davit_covariance_packed_index(large, i, large - 1) + 1 ==
                davit_covariance_packed_index(large, i + 1, i + 2));
  assert_true(davit_covariance_packed_index(large, large - 2, large - 1) == INT64_C(1249974999));
  const int64_t huge = INT64_C(3000000000);
  assert_true(davit_covariance_packed_index(huge, huge - 2, huge - 1) == huge / 2 * (huge - 1) - 1);
}

CASE(test_pack_and_unpack) {
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, 201};
  for (int s = 0; s < COUNT(sizes); s++)
    for (int v = 0; v < 4; v++) {
      davit_type type = real_type(v);
      int64_t n = sizes[s];
      dense packed = dense_new(type, n * (n - 1) / 2, 1, 0, 0, DAVIT_PAGEABLE, 3);
      dense diagonal = dense_new(type, n, 1, 0, 0, DAVIT_PAGEABLE, 4);
      dense full = dense_new(type, n, n, v, 1, DAVIT_PAGEABLE, UNSET);
      CHECK(davit_covariance_unpack(type, n, dense_there(&packed), v < 2 ? dense_there(&diagonal) : NULL,
                                    dense_there(&full), full.ld));
      dense_take(&full);
      for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
          double is = dense_at(&full, i, j);
          if (i == j)
            assert_true(v < 2 ? is == dense_at(&diagonal, i, 0) : isnan(is));
          else
            assert_true(is ==
                        dense_at(&packed, davit_covariance_packed_index(n, i < j ? i : j, i < j ? j : i), 0));
        }
      dense again = dense_new(type, n * (n - 1) / 2, 1, 0, 0, DAVIT_PAGEABLE, UNSET);
      dense ends = dense_new(type, n, 1, 0, 0, DAVIT_PAGEABLE, UNSET);
      CHECK(davit_covariance_pack(type, n, dense_there(&full), full.ld, dense_there(&again),
                                  v < 2 ? dense_there(&ends) : NULL));
      dense_take(&again);
      assert_memory_equal(again.image, packed.image, again.bytes);
      if (v < 2)
        assert_memory_equal(ends.there, diagonal.image, ends.bytes);
    }
}

CASE(test_bad_arguments) {
  double d[16] = {0}, mean[4], c[16], s[16];
  const davit_type t = DAVIT_DOUBLE;
  const davit_covariance_options full = {.mean_divisor = 4, .divisor = 3},
                                 packed = {.form = DAVIT_COVARIANCE_PACKED},
                                 other = {.form = (davit_covariance_form)2};
  REFUSED_BOTH("type", covariance, DAVIT_INT32, 'N', 4, 4, d, 4, mean, c, 4, s, 4, &full);
  REFUSED_BOTH("ldd is 3", covariance, t, 'N', 4, 4, d, 3, mean, c, 4, s, 4, &full);
  REFUSED_BOTH("ldd is 3", covariance, t, 'T', 3, 4, d, 3, mean, c, 4, s, 4, &full);
  REFUSED_BOTH("mean_divisor", covariance, t, 'N', 4, 4, d, 4, mean, c, 4, s, 4,
               &(davit_covariance_options){.mean_divisor = NAN, .divisor = 3});
  REFUSED_BOTH("divisor is", covariance, t, 'N', 4, 4, d, 4, mean, c, 4, s, 4,
               &(davit_covariance_options){.mean_divisor = 4, .divisor = NAN});
  REFUSED_BOTH("mean_divisor is 9.99989e-321, whose reciprocal is beyond the range of double", covariance, t,
               'N', 4, 4, d, 4, mean, c, 4, s, 4,
               &(davit_covariance_options){.mean_divisor = 1e-320, .divisor = 3});
  REFUSED_BOTH("divisor is -1e-39, whose reciprocal is beyond the range of float", covariance, DAVIT_FLOAT,
               'N', 4, 4, d, 4, mean, c, 4, s, 4,
               &(davit_covariance_options){.mean_divisor = 4, .divisor = -1e-39});
  REFUSED_BOTH("ldc is 3", covariance, t, 'N', 4, 4, d, 4, mean, c, 3, s, 4, &full);
  REFUSED_BOTH("lds is 3", covariance, t, 'N', 4, 4, d, 4, mean, c, 4, s, 3, &full);
  REFUSED_BOTH("options->form is 2", covariance, t, 'N', 4, 4, d, 4, mean, c, 4, s, 4, &other);
  REFUSED_BOTH("ldc is 5", covariance, t, 'N', 4, 4, d, 4, mean, d, 5, s, 4, &full);
  REFUSED_BOTH("centred overlaps d", covariance, t, 'N', 3, 3, d, 4, mean, d + 1, 4, s, 4, &full);
  REFUSED_BOTH("s overlaps d", covariance, t, 'N', 4, 4, d, 4, mean, c, 4, d, 4, &full);
  REFUSED_BOTH("s overlaps centred", covariance, t, 'N', 4, 4, d, 4, mean, c, 4, c + 15, 4, &packed);
  REFUSED_BOTH("s overlaps mean", covariance, t, 'N', 4, 4, d, 4, s, c, 4, s, 4, &packed);
  REFUSED_BOTH("mean overlaps d", covariance, t, 'N', 4, 4, d, 4, d, NULL, 0, s, 0, &packed);
  REFUSED(
      davit_covariance(t, 'N', 4, 4, d, 4, mean, c, 4, s, 4, &(davit_covariance_options){.device_count = -1}),
      "devices");
  REFUSED(davit_covariance_pack(DAVIT_INT64, 4, s, 4, c, NULL), "type");
  REFUSED(davit_covariance_pack(t, 4, s, 2, c, NULL), "lds is 2");
  CHECK(davit_covariance(t, 'N', 4, 1, d, 4, mean, NULL, 0, NULL, 0, &packed));
}

/* A device that cannot hold the data says so. */
CASE(test_out_of_device_memory) {
  const int device = 0;
  const davit_covariance_options options = {
      .mean_divisor = 30, .divisor = 29, .devices = &device, .device_count = 1};
  double d[30 * 20] = {0}, s[20 * 20];
  if (device_count() > 0) {
    dvt_inject(DVT_INJECT_DEVICE_MEMORY, 1);
    CHECK_FAILS(davit_covariance(DAVIT_DOUBLE, 'N', 30, 20, d, 30, NULL, NULL, 0, s, 20, &options),
                DAVIT_OUT_OF_DEVICE_MEMORY, "each device holds all 30 x 20 data");
    dvt_inject(DVT_INJECT_DEVICE_MEMORY, 0);
  }
}

/* The divisors of statistics: rows and rows - 1, and 1 where there is one row. */
CASE(test_default_divisors) {
  enum { ROWS = 7, COLS = 3 };
  double d[ROWS * COLS], s[COLS * COLS], should[COLS * COLS], mean[COLS], should_mean[COLS];
  CHECK(davit_random(DAVIT_DOUBLE, ROWS * COLS, 5, d));
  for (int64_t rows = 1; rows <= ROWS; rows++) {
    const davit_covariance_options given = {.mean_divisor = (double)rows,
                                            .divisor = rows > 1 ? (double)rows - 1 : 1};
    CHECK(davit_covariance(DAVIT_DOUBLE, 'N', rows, COLS, d, ROWS, mean, NULL, 0, s, COLS, NULL));
    CHECK(
        davit_covariance(DAVIT_DOUBLE, 'N', rows, COLS, d, ROWS, should_mean, NULL, 0, should, COLS, &given));
    assert_memory_equal(mean, should_mean, sizeof mean);
    assert_memory_equal(s, should, sizeof s);
  }
}
