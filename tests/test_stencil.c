/* The stencil: the same bits as the reference on every device, by every path and variant; the reference against a
 * long double loop, |error| <= 9 eps sum |c a|, and against fields whose result is known. Everything around b's
 * elements, borders included where they are to stay, is compared bytewise. */
#include "tests/dense.h"

#include "ref/ref.h"
#include "src/base/cpu.h"

typedef struct stencil_case {
  davit_type type;
  int64_t rows, cols, extra_lda, extra_ldb;
  davit_stencil_border border;
  int shift_a, shift_b;
  const double *coefficients;
} stencil_case;

static const double skewed[9] = {1, 2, -3, 0.25, -5, 6.5, 7, -0.125, 9};

static dense input(const stencil_case *c, int place) {
  return dense_random(c->type, c->rows, c->cols, c->extra_lda, c->shift_a, place, 7);
}

static dense output(const stencil_case *c, int place) {
  return dense_new(c->type, c->rows, c->cols, c->extra_ldb, c->shift_b, place);
}

/* The image of b becomes what it should be. */
static void refer(const stencil_case *c, const dense *a, dense *b) {
  const double *k = c->coefficients ? c->coefficients : davit_stencil_coefficients;
  if (c->type == DAVIT_DOUBLE)
    dvt_ref_dstencil(c->rows, c->cols, dense_image(a), a->ld, k, c->border, dense_image(b), b->ld);
  else
    dvt_ref_sstencil(c->rows, c->cols, dense_image(a), a->ld, k, c->border, dense_image(b), b->ld);
}

static void expect(const stencil_case *c, const dense *b, const char *where, int device) {
  if (!dense_as_image(b))
    fail_msg("%s %d: type %d, %lld x %lld, ld +%lld +%lld, border %d, shifts %d %d", where, device,
             (int)c->type, (long long)c->rows, (long long)c->cols, (long long)c->extra_lda,
             (long long)c->extra_ldb, (int)c->border, c->shift_a, c->shift_b);
}

static void on_queue(const stencil_case *c, int device) {
  int place = place_for(device);
  dense a = input(c, place), b = output(c, place);
  davit_queue *queue = new_queue(device, 1);
  CHECK(davit_queue_stencil(queue, c->type, c->rows, c->cols, dense_there(&a), a.ld, c->coefficients,
                            dense_there(&b), b.ld, &(davit_stencil_options){.border = c->border}));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_queue_destroy(queue));
  refer(c, &a, &b);
  expect(c, &b, "queue of device", device);
  dense_drop(&a);
  dense_drop(&b);
}

static davit_status call(const stencil_case *c, const dense *a, const dense *b, const int *devices,
                         int count) {
  return davit_stencil(
      c->type, c->rows, c->cols, dense_there(a), a->ld, c->coefficients, dense_there(b), b->ld,
      &(davit_stencil_options){.border = c->border, .devices = devices, .device_count = count});
}

static void spread(const stencil_case *c, int place_a, int place_b, const int *devices, int count) {
  dense a = input(c, place_a), b = output(c, place_b);
  CHECK(call(c, &a, &b, devices, count));
  refer(c, &a, &b);
  expect(c, &b, "devices:", count);
  dense_drop(&a);
  dense_drop(&b);
}

static const int64_t shapes[][2] = {{0, 5},   {5, 0},     {1, 1},    {1, 9},   {9, 1},    {2, 9},
                                    {9, 2},   {2, 2},     {3, 3},    {3, 70},  {37, 101}, {101, 37},
                                    {64, 64}, {129, 131}, {257, 40}, {512, 19}};

static void on_all_devices(void) {
  int devices[MOST_PLACES], count = all_devices(devices);
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 24; v++) {
      stencil_case c = {v % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT,
                        shapes[s][0],
                        shapes[s][1],
                        v / 4 % 3,
                        v / 2 % 4,
                        (davit_stencil_border)(v % 3),
                        v < 8 ? 0 : v % 4,
                        v < 12 ? 0 : v % 3,
                        v % 5 ? skewed : NULL};
      for (int d = 0; d < count; d++)
        on_queue(&c, devices[d]);
    }
}

static void test_queues(void **state) {
  (void)state;
  on_all_devices();
}

static void test_queues_without_cublas(void **state) {
  (void)state;
  assert_int_equal(setenv("DAVIT_BLAS", "target", 1), 0);
  on_all_devices();
  unsetenv("DAVIT_BLAS");
}

/* All sides aligned, sizes multiples of what the kernels work in, and larger than one span of columns. */
static void test_large_and_aligned(void **state) {
  (void)state;
  int devices[MOST_PLACES], count = all_devices(devices);
  for (int d = 0; d < count; d++)
    for (int v = 0; v < 6; v++) {
      stencil_case c = {.type = v % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT,
                        .rows = 2304 + (v == 5),
                        .cols = 999,
                        .extra_lda = v == 5 ? 3 : 0,
                        .extra_ldb = v == 5 ? 7 : 0,
                        .border = (davit_stencil_border)(v % 3)};
      on_queue(&c, devices[d]);
    }
}

/* Every variant of the CPU's code gives the reference's bits, caches bypassed or not. */
static void test_variants(void **state) {
  (void)state;
  for (int most = DVT_CPU_COUNT - 1; most >= 0; most--) {
    dvt_cpu_allow((dvt_cpu)most);
    for (int v = 0; v < 4; v++) {
      stencil_case small = {.type = v % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT, .rows = 83, .cols = 20, .shift_b = v};
      on_queue(&small, DAVIT_HOST);
      stencil_case large = {
          .type = v % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT, .rows = 2111, .cols = 700, .shift_a = v};
      on_queue(&large, DAVIT_HOST);
    }
  }
  dvt_cpu_allow(DVT_CPU_COUNT - 1);
}

static void test_places_and_devices(void **state) {
  (void)state;
  int devices[MOST_PLACES], count = all_devices(devices);
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 16; v++) {
      stencil_case c = {.type = v % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT,
                        .rows = shapes[s][0],
                        .cols = shapes[s][1],
                        .extra_lda = v % 3,
                        .extra_ldb = v % 2,
                        .border = (davit_stencil_border)(v % 3)};
      spread(&c, dense_place(v / 4), dense_place(v % 4), NULL, 0);
      spread(&c, dense_place(v / 4), dense_place(v % 4), devices, count < 16 ? count : 16);
    }
}

/* Several chunks: along the columns, and down columns that are too long for one. */
static void test_several_chunks(void **state) {
  (void)state;
  int devices[MOST_PLACES];
  all_devices(devices);
  stencil_case wide = {
      .type = DAVIT_DOUBLE, .rows = 3001, .cols = 4000, .border = DAVIT_STENCIL_BORDER_UNTOUCHED};
  spread(&wide, DAVIT_PAGEABLE, DAVIT_PAGEABLE, NULL, 0);
  for (int border = 0; border < 3; border++) {
    stencil_case tall = {
        .type = DAVIT_FLOAT, .rows = 1100003, .cols = 9, .border = (davit_stencil_border)border};
    spread(&tall, DAVIT_PAGEABLE, DAVIT_PINNED, devices, 1);
    spread(&tall, DAVIT_PINNED, DAVIT_PAGEABLE, NULL, 0);
  }
}

/* The reference itself. */
static void test_against_long_double(void **state) {
  (void)state;
  for (int v = 0; v < 2; v++) {
    stencil_case c = {.type = v ? DAVIT_DOUBLE : DAVIT_FLOAT, .rows = 37, .cols = 41, .coefficients = skewed};
    dense a = input(&c, DAVIT_PAGEABLE), b = output(&c, DAVIT_PAGEABLE);
    refer(&c, &a, &b);
    for (int64_t j = 1; j < c.cols - 1; j++)
      for (int64_t i = 1; i < c.rows - 1; i++) {
        long double sum = 0, size = 0;
        for (int64_t x = 0; x < 3; x++)
          for (int64_t y = 0; y < 3; y++) {
            long double term =
                (long double)skewed[y + 3 * x] * (long double)dense_at(&a, i + y - 1, j + x - 1);
            sum += term;
            size += fabsl(term);
          }
        assert_true(fabsl((long double)dense_at(&b, i, j) - sum) <=
                    9 * (long double)dense_epsilon(c.type) * size);
      }
    dense_drop(&a);
    dense_drop(&b);
  }
}

/* Constant k gives k / 2, the row's number i gives i / 2 + 1.3, the column's number j gives j / 2 - 1.9. */
static void test_known_fields(void **state) {
  (void)state;
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
static void test_transposed_coefficients_differ(void **state) {
  (void)state;
  double transposed[9];
  for (int k = 0; k < 9; k++)
    transposed[k] = davit_stencil_coefficients[k / 3 + k % 3 * 3];
  stencil_case c = {.type = DAVIT_DOUBLE, .rows = 30, .cols = 30, .coefficients = transposed};
  dense a = input(&c, DAVIT_PAGEABLE), b = output(&c, DAVIT_PAGEABLE);
  CHECK(call(&c, &a, &b, NULL, 0));
  c.coefficients = NULL;
  refer(&c, &a, &b);
  assert_false(dense_as_image(&b));
  dense_drop(&a);
  dense_drop(&b);
}

static void test_same_bits_again(void **state) {
  (void)state;
  int devices[MOST_PLACES], count = all_devices(devices);
  for (int n = 0; n < 100; n++) {
    stencil_case c = {.type = DAVIT_DOUBLE, .rows = 200, .cols = 90};
    on_queue(&c, devices[n % count]);
  }
}

static void test_bad_arguments(void **state) {
  (void)state;
  double a[16] = {0}, b[16] = {0};
  const davit_status bad = DAVIT_INVALID_ARGUMENT;
  const davit_type d = DAVIT_DOUBLE;
  CHECK_FAILS(davit_stencil(DAVIT_INT32, 4, 4, a, 4, NULL, b, 4, &(davit_stencil_options){.border = 0}), bad,
              "type");
  CHECK_FAILS(davit_stencil(DAVIT_TYPE_COUNT, 4, 4, a, 4, NULL, b, 4, &(davit_stencil_options){.border = 0}),
              bad, "type");
  CHECK_FAILS(davit_stencil(d, -1, 4, a, 4, NULL, b, 4, &(davit_stencil_options){.border = 0}), bad,
              "rows is -1");
  CHECK_FAILS(davit_stencil(d, 4, -1, a, 4, NULL, b, 4, &(davit_stencil_options){.border = 0}), bad,
              "cols is -1");
  CHECK_FAILS(davit_stencil(d, 4, 4, a, 3, NULL, b, 4, &(davit_stencil_options){.border = 0}), bad,
              "lda is 3");
  CHECK_FAILS(davit_stencil(d, 4, 4, a, 4, NULL, b, 3, &(davit_stencil_options){.border = 0}), bad,
              "ldb is 3");
  CHECK_FAILS(davit_stencil(d, 0, 4, a, 0, NULL, b, 1, &(davit_stencil_options){.border = 0}), bad,
              "lda is 0");
  CHECK_FAILS(
      davit_stencil(d, 4, 4, a, 4, NULL, b, 4, &(davit_stencil_options){.border = (davit_stencil_border)3}),
      bad, "border");
  CHECK_FAILS(davit_stencil(d, 4, 4, NULL, 4, NULL, b, 4, &(davit_stencil_options){.border = 0}), bad,
              "a is NULL");
  CHECK_FAILS(davit_stencil(d, 4, 4, a, 4, NULL, NULL, 4, &(davit_stencil_options){.border = 0}), bad,
              "b is NULL");
  CHECK_FAILS(davit_stencil(d, 4, 4, a, 4, NULL, a, 4, &(davit_stencil_options){.border = 0}), bad,
              "b overlaps a");
  CHECK_FAILS(davit_stencil(d, 4, 4, a, 4, NULL, b, 4,
                            &(davit_stencil_options){.border = 0, .devices = NULL, .device_count = 3}),
              bad, "devices");
  CHECK_FAILS(davit_queue_stencil(NULL, d, 4, 4, a, 4, NULL, b, 4, &(davit_stencil_options){.border = 0}),
              bad, "queue");
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  CHECK_FAILS(
      davit_queue_stencil(queue, DAVIT_INT64, 4, 4, a, 4, NULL, b, 4, &(davit_stencil_options){.border = 0}),
      bad, "type");
  CHECK_FAILS(davit_queue_stencil(queue, d, 4, 4, a, 4, NULL, NULL, 4, &(davit_stencil_options){.border = 0}),
              bad, "b is NULL");
  CHECK(davit_queue_destroy(queue));
  CHECK(davit_stencil(d, 0, 4, NULL, 1, NULL, NULL, 1, &(davit_stencil_options){.border = 0}));
}

typedef struct attempt {
  stencil_case c;
  dense a, b;
} attempt;

static davit_status spread_over_all(void *argument) {
  attempt *t = argument;
  int devices[MOST_PLACES], count = all_devices(devices);
  return call(&t->c, &t->a, &t->b, devices, count < 16 ? count : 16);
}

static void test_failures(void **state) {
  (void)state;
  attempt t = {.c = {.type = DAVIT_DOUBLE, .rows = 300, .cols = 50}};
  t.a = input(&t.c, DAVIT_PAGEABLE);
  t.b = output(&t.c, DAVIT_PAGEABLE);
  dense_fail_everywhere(spread_over_all, &t);
  CHECK(spread_over_all(&t));
  refer(&t.c, &t.a, &t.b);
  expect(&t.c, &t.b, "after failures", 0);
  dense_drop(&t.a);
  dense_drop(&t.b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queues),
      cmocka_unit_test(test_queues_without_cublas),
      cmocka_unit_test(test_large_and_aligned),
      cmocka_unit_test(test_variants),
      cmocka_unit_test(test_places_and_devices),
      cmocka_unit_test(test_several_chunks),
      cmocka_unit_test(test_against_long_double),
      cmocka_unit_test(test_known_fields),
      cmocka_unit_test(test_transposed_coefficients_differ),
      cmocka_unit_test(test_same_bits_again),
      cmocka_unit_test(test_bad_arguments),
      cmocka_unit_test(test_failures),
  };
  return cmocka_run_group_tests(tests, NULL, dense_stop);
}
