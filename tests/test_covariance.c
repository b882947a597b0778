/* SPDX-License-Identifier: Apache-2.0 */
/* Covariance against long double. With u = (rows + 4) eps, M_j = sum_i |d_ij| / |mean_divisor|, C the exact
 * centred data:
 *
 *   |mean_j - exact|     <= u M_j
 *   |centred_ij - exact| <= u (M_j + |d_ij|) <= E_j = u (M_j + max_i |d_ij|)
 *   |S_ij - exact|       <= (u sum_k |C_ki C_kj| + sum_k (|C_ki| E_j + |C_kj| E_i) + rows E_i E_j) / |divisor|
 *
 * and S equals its transpose to the last bit. Everything around the outputs is compared bytewise. */
#include "tests/dense.h"

typedef struct covariance_case {
  davit_type type;
  char trans;
  int64_t rows, cols;
  double mean_divisor, divisor;
  int64_t extra_ld;
  int shift;
  davit_covariance_form form;
  bool in_place, no_mean, no_centred;
} covariance_case;

enum { D, CENTRED, MEAN, S };

static bool is_full(const covariance_case *c) {
  return c->form == DAVIT_COVARIANCE_FULL;
}

static int64_t packed_length(const covariance_case *c) {
  return c->cols * (c->cols - 1) / 2;
}

static void make(const void *problem, const int places[MAX_OPERANDS], dense *o) {
  const covariance_case *c = problem;
  const int64_t high = c->trans == 'N' ? c->rows : c->cols, wide = c->trans == 'N' ? c->cols : c->rows;
  const bool full = is_full(c);
  o[D] = dense_new(c->type, high, wide, c->extra_ld, c->shift, places[D], 5);
  o[CENTRED] = dense_new(c->type, high, wide, c->extra_ld / 2, c->shift, places[CENTRED], UNSET);
  o[MEAN] = dense_new(c->type, c->cols, 1, 0, c->shift / 2, places[MEAN], UNSET);
  o[S] = dense_new(c->type, full ? c->cols : packed_length(c), full ? c->cols : 1, full ? c->extra_ld : 0,
                   c->shift, places[S], UNSET);
}

/* Observation i of variable j. */
static long double at(const covariance_case *c, const dense *m, int64_t i, int64_t j) {
  return (long double)(c->trans == 'N' ? dense_at(m, i, j) : dense_at(m, j, i));
}

static void expect_near(const covariance_case *c, const char *name, int64_t i, int64_t j, long double is,
                        long double right, long double bound) {
  if (!(fabsl(is - right) <= bound)) /* catches NaN */
    fail_msg("type %d %c %lld x %lld ld +%lld form %d: %s(%lld, %lld) is %Lg, not %Lg within %Lg",
             (int)c->type, c->trans, (long long)c->rows, (long long)c->cols, (long long)c->extra_ld,
             (int)c->form, name, (long long)i, (long long)j, is, right, bound);
}

/* The exact answer, and how far off each number may be. */
typedef struct exact {
  long double *mean, *mean_bound, *bound, *centred, *s, *s_bound; /* bound: of a column of centred */
} exact;

static long double *numbers(int64_t count) {
  long double *x = calloc((size_t)count + 1, sizeof *x);
  assert_non_null(x);
  return x;
}

static void solve_data(const covariance_case *c, const dense *d, long double u, exact *e) {
  for (int64_t j = 0; j < c->cols; j++) {
    long double most = 0, size = 0;
    for (int64_t i = 0; i < c->rows; i++) {
      e->mean[j] += at(c, d, i, j) / (long double)c->mean_divisor;
      size += fabsl(at(c, d, i, j) / (long double)c->mean_divisor);
      most = fmaxl(most, fabsl(at(c, d, i, j)));
    }
    e->mean_bound[j] = u * size;
    e->bound[j] = u * (size + most);
    for (int64_t i = 0; i < c->rows; i++)
      e->centred[i + j * c->rows] = at(c, d, i, j) - e->mean[j];
  }
}

static void solve_product(const covariance_case *c, long double u, exact *e) {
  const long double divisor = (long double)c->divisor;
  for (int64_t j = 0; j < c->cols; j++)
    for (int64_t i = 0; i <= j; i++) {
      const long double *x = e->centred + i * c->rows, *y = e->centred + j * c->rows;
      long double sum = 0, bound = (long double)c->rows * e->bound[i] * e->bound[j];
      for (int64_t k = 0; k < c->rows; k++) {
        sum += x[k] * y[k];
        bound += u * fabsl(x[k] * y[k]) + fabsl(x[k]) * e->bound[j] + fabsl(y[k]) * e->bound[i];
      }
      e->s[i + j * c->cols] = sum / divisor;
      e->s_bound[i + j * c->cols] = bound / fabsl(divisor);
    }
}

/* From the case's data; kept, for a case is tried on all devices. */
static const exact *solve(const covariance_case *c) {
  static covariance_case last;
  static exact e;
  if (e.s && memcmp(c, &last, sizeof last) == 0)
    return &e;
  free(e.mean), free(e.mean_bound), free(e.bound), free(e.centred), free(e.s), free(e.s_bound);
  e = (exact){numbers(c->cols),           numbers(c->cols),           numbers(c->cols),
              numbers(c->cols * c->rows), numbers(c->cols * c->cols), numbers(c->cols * c->cols)};
  const long double u = (long double)(c->rows + 4) * (long double)element_epsilon(c->type);
  dense o[MAX_OPERANDS];
  make(c, pageable, o);
  solve_data(c, &o[D], u, &e);
  solve_product(c, u, &e);
  last = *c;
  return &e;
}

static void expect_data(const covariance_case *c, dense *o, const exact *e) {
  dense *centred = &o[c->in_place ? D : CENTRED];
  if (c->no_mean)
    assert_true(dense_as_image(&o[MEAN]));
  else
    dense_take(&o[MEAN]);
  if (c->no_centred || !c->in_place)
    assert_true(dense_as_image(&o[D]));
  if (c->no_centred || c->in_place)
    assert_true(dense_as_image(&o[CENTRED]));
  if (!c->no_centred)
    dense_take(centred);
  for (int64_t j = 0; j < c->cols; j++) {
    if (!c->no_mean)
      expect_near(c, "mean", 0, j, (long double)dense_at(&o[MEAN], j, 0), e->mean[j], e->mean_bound[j]);
    for (int64_t i = 0; i < c->rows && !c->no_centred; i++)
      expect_near(c, "centred", i, j, at(c, centred, i, j), e->centred[i + j * c->rows], e->bound[j]);
  }
}

static void expect_product(const covariance_case *c, dense *o, const exact *e) {
  dense_take(&o[S]);
  for (int64_t j = 0; j < c->cols; j++)
    for (int64_t i = 0; i < j + is_full(c); i++) {
      const double is = is_full(c) ? dense_at(&o[S], i, j)
                                   : dense_at(&o[S], davit_covariance_packed_index(c->cols, i, j), 0);
      expect_near(c, "s", i, j, (long double)is, e->s[i + j * c->cols], e->s_bound[i + j * c->cols]);
      assert_true(!is_full(c) || is == dense_at(&o[S], j, i));
    }
}

static void expect(const void *c, dense *o) {
  const exact *e = solve(c);
  expect_data(c, o, e);
  expect_product(c, o, e);
}

static davit_status call(const void *problem, const dense *o, davit_queue *queue, const int *devices,
                         int count) {
  const covariance_case *c = problem;
  const void *d = dense_there(&o[D]);
  void *mean = c->no_mean ? NULL : dense_there(&o[MEAN]), *s = dense_there(&o[S]);
  void *centred = c->no_centred ? NULL : dense_there(&o[c->in_place ? D : CENTRED]);
  const int64_t ldd = o[D].ld, ldc = o[c->in_place ? D : CENTRED].ld, lds = o[S].ld;
  const davit_covariance_options options = {.mean_divisor = c->mean_divisor,
                                            .divisor = c->divisor,
                                            .form = c->form,
                                            .devices = devices,
                                            .device_count = count};
  return FORM(queue, covariance, c->type, c->trans, c->rows, c->cols, d, ldd, mean, centred, ldc, s, lds,
              &options);
}

static const routine covariance = {4, 3, make, call, expect};

static const int64_t shapes[][2] = {{0, 4},  {4, 0},  {0, 0},    {1, 1},    {1, 7},    {9, 1},
                                    {2, 3},  {33, 2}, {37, 101}, {101, 37}, {64, 64},  {65, 33},
                                    {3, 70}, {5, 31}, {300, 20}, {20, 150}, {1000, 9}, {129, 67}};

static covariance_case variant(int s, int v) {
  covariance_case c = {real_type(v), "NT"[v / 2 % 2], .rows = shapes[s][0], .cols = shapes[s][1]};
  c.mean_divisor = v % 4 == 1 ? 3214212.01 : (double)c.rows + 1;
  c.divisor = v % 4 == 2 ? -2.5 : 1;
  c.extra_ld = v / 4 % 4;
  c.shift = v / 8 % 4;
  c.form = v / 4 % 2 ? DAVIT_COVARIANCE_PACKED : DAVIT_COVARIANCE_FULL;
  c.in_place = v % 3 == 0;
  c.no_mean = v % 5 == 0;
  c.no_centred = v % 7 == 0;
  return c;
}

static void on_all_devices(void) {
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 24; v++) {
      if (left_out())
        continue;
      const covariance_case c = variant(s, v);
      EACH_DEVICE(device)
        run_on_queue(&covariance, &c, device);
    }
}

CASES_ON_QUEUES(on_all_devices)

CASE(test_places_and_devices) {
  int devices[MAX_PLACES], count = plain_devices(devices);
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 32; v++) {
      if (left_out())
        continue;
      covariance_case c = variant(s, v);
      int places[4] = {dense_place(v % 4), dense_place(v / 4 % 4), dense_place(v / 2 % 4),
                       dense_place(v / 8)};
      run_spread(&covariance, &c, places, NULL, 0);
      run_spread(&covariance, &c, places, devices, count);
      run_spread(&covariance, &c, places, devices + count - 1, 1);
    }
}

/* Panels of 64 columns, so that there are several: on all devices, and on those alone that may have to fetch D. */
CASE(test_panels) {
  int devices[MAX_PLACES], count = plain_devices(devices);
  for (int d = 0; d < count; d++)
    CHECK(davit_tuning_set(devices[d], "covariance", "panel", 64, 0));
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 32; v++) {
      covariance_case c = variant(s, v);
      if (c.cols <= 64 || left_out())
        continue;
      int places[4] = {dense_place(0), dense_place(v / 4 % 4), dense_place(v / 2 % 4), dense_place(v / 8)};
      run_spread(&covariance, &c, places, devices, count);
      if (count > 1)
        run_spread(&covariance, &c, places, devices + 1, count - 1);
      run_spread(&covariance, &c, places, devices + count - 1, 1);
    }
  davit_tuning_clear();
}

/* Several panels a device, and more than one block of columns without cuBLAS. */
CASE(test_many_columns) {
  int devices[MAX_PLACES], count = plain_devices(devices);
  const int places[4] = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PINNED, DAVIT_PAGEABLE};
  for (int v = 0; v < 4; v++) {
    covariance_case c = {real_type(v), "NT"[v / 2], 20, 1111, 20, .divisor = 19};
    c.form = v == 1 ? DAVIT_COVARIANCE_PACKED : DAVIT_COVARIANCE_FULL;
    run_spread(&covariance, &c, places, devices, count);
    if (count > 1)
      run_spread(&covariance, &c, places, devices + 1, count - 1);
    if (v == 0)
      for (int d = 0; d < count; d++)
        run_on_queue(&covariance, &c, devices[d]);
  }
}

CASE(test_reference) {
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 1; v < 4; v += 2) {
      covariance_case c = variant(s, v);
      c.form = DAVIT_COVARIANCE_FULL;
      c.in_place = c.no_mean = c.no_centred = false;
      dense o[MAX_OPERANDS];
      make(&c, pageable, o);
      dvt_ref_dcovariance(c.trans, c.rows, c.cols, dense_there(&o[D]), o[D].ld, c.mean_divisor, c.divisor,
                          dense_there(&o[MEAN]), dense_there(&o[CENTRED]), o[CENTRED].ld, dense_there(&o[S]),
                          o[S].ld);
      expect(&c, o);
    }
}

/* On centred random data D D is far from D' D, D D' too; on symmetric data they are the same. */
CASE(test_wrong_product_differs) {
  enum { SIZE = 40 };
  covariance_case c = {DAVIT_DOUBLE, 'N', SIZE, SIZE, 40, .divisor = 1};
  dense o[MAX_OPERANDS];
  make(&c, pageable, o);
  CHECK(call(&c, o, NULL, NULL, 0));
  dense_take(&o[S]);
  dense_take(&o[CENTRED]);
  for (int wrong = 0; wrong < 2; wrong++) {
    static double product[SIZE * SIZE];
    const double *centred = dense_image(&o[CENTRED]);
    double distance = 0;
    dvt_level3_host(&(dvt_site){.threads = 1}, &(dvt_level3){.type = DAVIT_DOUBLE,
                                                             .transa = 'N',
                                                             .transb = "NT"[wrong],
                                                             .m = SIZE,
                                                             .n = SIZE,
                                                             .k = SIZE,
                                                             .alpha = 1,
                                                             .a = centred,
                                                             .lda = SIZE,
                                                             .b = centred,
                                                             .ldb = SIZE,
                                                             .c = product,
                                                             .ldc = SIZE});
    for (int e = 0; e < SIZE * SIZE; e++)
      distance = fmax(distance, fabs(product[e] - dense_at(&o[S], e % SIZE, e / SIZE)));
    assert_true(distance > 0.1);
  }
}

CASE(test_same_bits_again) {
  EACH_DEVICE(device)
    for (int v = 0; v < 2; v++) {
      const covariance_case c = {DAVIT_DOUBLE, "NT"[v], 90, 70, 90, .divisor = 89};
      same_bits_again(&covariance, &c, device);
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

CASE(test_failures) {
  for (int v = 0; v < 2; v++) {
    covariance_case c = {DAVIT_DOUBLE, "NT"[v], 30, 150, 30, .divisor = 29};
    c.form = v ? DAVIT_COVARIANCE_PACKED : DAVIT_COVARIANCE_FULL;
    fail_routine(&covariance, &c);
  }
}

/* A device that cannot hold the data says so. */
CASE(test_out_of_device_memory) {
  const int device = 0;
  const covariance_case c = {DAVIT_DOUBLE, 'N', 30, 20, 30, 29, .no_centred = true};
  dense o[MAX_OPERANDS];
  make(&c, pageable, o);
  if (device_count() > 0) {
    dvt_inject(DVT_INJECT_DEVICE_MEMORY, 1);
    CHECK_FAILS(call(&c, o, NULL, &device, 1), DAVIT_OUT_OF_DEVICE_MEMORY,
                "each device holds all 30 x 20 data");
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
