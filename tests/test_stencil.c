/* SPDX-License-Identifier: Apache-2.0 */
/* The stencil: the same bits as the reference on every device, by every path and variant; the reference
 * against a long double loop, |error| <= 9 eps sum |c a|, and against fields whose result is known.
 * Everything around b's elements, borders included where they are to stay, is compared bytewise. */
#include "tests/dense.h"

#include "ref/ref.h"

typedef struct stencil_case {
  davit_type type;
  int64_t rows, cols, extra_lda, extra_ldb;
  davit_stencil_border border;
  int shift_a, shift_b;
  const double *coefficients;
} stencil_case;

static const double skewed[9] = {1, 2, -3, 0.25, -5, 6.5, 7, -0.125, 9};

static dense input(const stencil_case *c, int place) {
  return dense_new(c->type, c->rows, c->cols, c->extra_lda, c->shift_a, place, 7);
}

static dense output(const stencil_case *c, int place) {
  return dense_new(c->type, c->rows, c->cols, c->extra_ldb, c->shift_b, place, UNSET);
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

/* On the queue, or without one over the devices. */
static davit_status call(const stencil_case *c, const dense *a, const dense *b, davit_queue *queue,
                         const int *devices, int count) {
  const void *from = dense_there(a), *k = c->coefficients;
  void *to = dense_there(b);
  const davit_stencil_options o = {.border = c->border, .devices = devices, .device_count = count};
  return queue ? davit_queue_stencil(queue, c->type, c->rows, c->cols, from, a->ld, k, to, b->ld, &o)
               : davit_stencil(c->type, c->rows, c->cols, from, a->ld, k, to, b->ld, &o);
}

static void on_queue(const stencil_case *c, int device) {
  SCOPE;
  dense a = input(c, place_for(device)), b = output(c, place_for(device));
  davit_queue *queue = new_queue(device, 1);
  CHECK(call(c, &a, &b, queue, NULL, 0));
  finish(queue);
  refer(c, &a, &b);
  expect(c, &b, "queue of device", device);
}

static void spread(const stencil_case *c, int place_a, int place_b, const int *devices, int count) {
  SCOPE;
  dense a = input(c, place_a), b = output(c, place_b);
  CHECK(call(c, &a, &b, NULL, devices, count));
  refer(c, &a, &b);
  expect(c, &b, "devices:", count);
}

static const int64_t shapes[][2] = {{0, 5},   {5, 0},     {1, 1},    {1, 9},   {9, 1},    {2, 9},
                                    {9, 2},   {2, 2},     {3, 3},    {3, 70},  {37, 101}, {101, 37},
                                    {64, 64}, {129, 131}, {257, 40}, {512, 19}};

static void on_all_devices(void) {
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 24; v++) {
      const stencil_case c = {.type = real_type(v),
                              .rows = shapes[s][0],
                              .cols = shapes[s][1],
                              .extra_lda = v / 4 % 3,
                              .extra_ldb = v / 2 % 4,
                              .border = (davit_stencil_border)(v % 3),
                              .shift_a = v < 8 ? 0 : v % 4,
                              .shift_b = v < 12 ? 0 : v % 3,
                              .coefficients = v % 5 ? skewed : NULL};
      EACH_DEVICE(device)
        on_queue(&c, device);
    }
}

CASE(test_queues) {
  on_all_devices();
}

CASE(test_queues_without_cublas) {
  without_blas(on_all_devices);
}

/* All sides aligned, sizes multiples of what the kernels work in, and larger than one span of columns. */
CASE(test_large_and_aligned) {
  EACH_DEVICE(device)
    for (int v = 0; v < 6; v++) {
      stencil_case c = {.type = real_type(v),
                        .rows = 2304 + (v == 5),
                        .cols = 999,
                        .extra_lda = v == 5 ? 3 : 0,
                        .extra_ldb = v == 5 ? 7 : 0,
                        .border = (davit_stencil_border)(v % 3)};
      on_queue(&c, device);
    }
}

/* Every variant of the CPU's code gives the reference's bits, caches bypassed or not. */
CASE(test_variants) {
  EACH_CPU(variant)
    for (int v = 0; v < 4; v++) {
      stencil_case small = {.type = real_type(v), .rows = 83, .cols = 20, .shift_b = v};
      on_queue(&small, DAVIT_HOST);
      stencil_case large = {.type = real_type(v), .rows = 2111, .cols = 700, .shift_a = v};
      on_queue(&large, DAVIT_HOST);
    }
}

CASE(test_places_and_devices) {
  int devices[MAX_PLACES], count = plain_devices(devices);
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 16; v++) {
      stencil_case c = {.type = real_type(v),
                        .rows = shapes[s][0],
                        .cols = shapes[s][1],
                        .extra_lda = v % 3,
                        .extra_ldb = v % 2,
                        .border = (davit_stencil_border)(v % 3)};
      spread(&c, dense_place(v / 4), dense_place(v % 4), NULL, 0);
      spread(&c, dense_place(v / 4), dense_place(v % 4), devices, count);
    }
}

/* Several chunks: along the columns, and down columns that are too long for one. */
CASE(test_several_chunks) {
  const int host = DAVIT_HOST;
  stencil_case wide = {
      .type = DAVIT_DOUBLE, .rows = 3001, .cols = 4000, .border = DAVIT_STENCIL_BORDER_UNTOUCHED};
  spread(&wide, DAVIT_PAGEABLE, DAVIT_PAGEABLE, NULL, 0);
  for (int border = 0; border < 3; border++) {
    stencil_case tall = {
        .type = DAVIT_FLOAT, .rows = 1100003, .cols = 9, .border = (davit_stencil_border)border};
    spread(&tall, DAVIT_PAGEABLE, DAVIT_PINNED, &host, 1);
    spread(&tall, DAVIT_PINNED, DAVIT_PAGEABLE, NULL, 0);
  }
}

/* The reference itself. */
CASE(test_against_long_double) {
  for (int v = 0; v < 2; v++) {
    stencil_case c = {.type = real_type(v), .rows = 37, .cols = 41, .coefficients = skewed};
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
                    9 * (long double)element_epsilon(c.type) * size);
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
  double transposed[9];
  for (int k = 0; k < 9; k++)
    transposed[k] = davit_stencil_coefficients[k / 3 + k % 3 * 3];
  stencil_case c = {.type = DAVIT_DOUBLE, .rows = 30, .cols = 30, .coefficients = transposed};
  dense a = input(&c, DAVIT_PAGEABLE), b = output(&c, DAVIT_PAGEABLE);
  CHECK(call(&c, &a, &b, NULL, NULL, 0));
  c.coefficients = NULL;
  refer(&c, &a, &b);
  assert_false(dense_as_image(&b));
}

CASE(test_same_bits_again) {
  const stencil_case c = {.type = DAVIT_DOUBLE, .rows = 200, .cols = 90};
  for (int n = 0; n < 100; n++)
    on_queue(&c, n % (device_count() + 1) - 1);
}

/* Both forms refuse the arguments. */
static void expect_refused(davit_type type, int64_t rows, int64_t cols, const double *a, int64_t lda,
                           double *b, int64_t ldb, int border, const char *words) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  const davit_stencil_options o = {.border = (davit_stencil_border)border};
  REFUSED(davit_stencil(type, rows, cols, a, lda, NULL, b, ldb, &o), words);
  REFUSED(davit_queue_stencil(queue, type, rows, cols, a, lda, NULL, b, ldb, &o), words);
  finish(queue);
}

CASE(test_bad_arguments) {
  double a[16] = {0}, b[16] = {0};
  const davit_type d = DAVIT_DOUBLE;
  expect_refused(DAVIT_INT32, 4, 4, a, 4, b, 4, 0, "type");
  expect_refused(DAVIT_INT64, 4, 4, a, 4, b, 4, 0, "type");
  expect_refused(DAVIT_TYPE_COUNT, 4, 4, a, 4, b, 4, 0, "type");
  expect_refused(d, -1, 4, a, 4, b, 4, 0, "rows is -1");
  expect_refused(d, 4, -1, a, 4, b, 4, 0, "cols is -1");
  expect_refused(d, 4, 4, a, 3, b, 4, 0, "lda is 3");
  expect_refused(d, 4, 4, a, 4, b, 3, 0, "ldb is 3");
  expect_refused(d, 0, 4, a, 0, b, 1, 0, "lda is 0");
  expect_refused(d, 4, 4, a, 4, b, 4, 3, "border");
  expect_refused(d, 4, 4, NULL, 4, b, 4, 0, "a is NULL");
  expect_refused(d, 4, 4, a, 4, NULL, 4, 0, "b is NULL");
  expect_refused(d, 4, 4, a, 4, a, 4, 0, "b overlaps a");
  REFUSED(davit_stencil(d, 4, 4, a, 4, NULL, b, 4, &(davit_stencil_options){.device_count = 3}), "devices");
  REFUSED(davit_queue_stencil(NULL, d, 4, 4, a, 4, NULL, b, 4, NULL), "queue");
  CHECK(davit_stencil(d, 0, 4, NULL, 1, NULL, NULL, 1, NULL));
}

typedef struct attempt {
  stencil_case c;
  dense a, b;
} attempt;

static davit_status spread_over_all(void *argument) {
  attempt *t = argument;
  int devices[MAX_PLACES], count = plain_devices(devices);
  return call(&t->c, &t->a, &t->b, NULL, devices, count);
}

CASE(test_failures) {
  attempt t = {.c = {.type = DAVIT_DOUBLE, .rows = 300, .cols = 50}};
  t.a = input(&t.c, DAVIT_PAGEABLE);
  t.b = output(&t.c, DAVIT_PAGEABLE);
  fail_everywhere(spread_over_all, &t);
  refer(&t.c, &t.a, &t.b);
  expect(&t.c, &t.b, "after failures", 0);
}
