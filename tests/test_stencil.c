/* SPDX-License-Identifier: Apache-2.0 */
/* The stencil: the same bits as the reference on every device, by every path and variant; the reference
 * against a long double loop, |error| <= 9 eps sum |c a|, and against fields whose result is known.
 * Everything around b's elements, borders included where they are to stay, is compared bytewise. */
#include "tests/dense.h"

typedef struct stencil_case {
  davit_type type;
  int64_t rows, cols, extra_lda, extra_ldb;
  int border; /* a davit_stencil_border */
  int shift_a, shift_b;
  const double *coefficients;
} stencil_case;

static const double skewed[9] = {1, 2, -3, 0.25, -5, 6.5, 7, -0.125, 9};

enum { A, B };

static void make(const void *problem, const int places[MAX_OPERANDS], dense *o) {
  const stencil_case *c = problem;
  o[A] = dense_new(c->type, c->rows, c->cols, c->extra_lda, c->shift_a, places[A], 7);
  o[B] = dense_new(c->type, c->rows, c->cols, c->extra_ldb, c->shift_b, places[B], UNSET);
}

/* The image of b becomes what it should be. */
static void refer(const stencil_case *c, dense *o) {
  const dense *a = &o[A], *b = &o[B];
  const double *k = c->coefficients ? c->coefficients : davit_stencil_coefficients;
  if (c->type == DAVIT_DOUBLE)
    dvt_ref_dstencil(c->rows, c->cols, dense_image(a), a->ld, k, (davit_stencil_border)c->border,
                     dense_image(b), b->ld);
  else
    dvt_ref_sstencil(c->rows, c->cols, dense_image(a), a->ld, k, (davit_stencil_border)c->border,
                     dense_image(b), b->ld);
}

static void expect(const void *problem, dense *o) {
  const stencil_case *c = problem;
  refer(c, o);
  if (!dense_as_image(&o[B]))
    fail_msg("type %d, %lld x %lld, ld +%lld +%lld, border %d, shifts %d %d", (int)c->type,
             (long long)c->rows, (long long)c->cols, (long long)c->extra_lda, (long long)c->extra_ldb,
             c->border, c->shift_a, c->shift_b);
}

static davit_status call(const void *problem, const dense *o, davit_queue *queue, const int *devices,
                         int count) {
  const stencil_case *c = problem;
  const void *from = dense_there(&o[A]), *k = c->coefficients;
  void *to = dense_there(&o[B]);
  const davit_stencil_options options = {
      .border = (davit_stencil_border)c->border, .devices = devices, .device_count = count};
  return FORM(queue, stencil, c->type, c->rows, c->cols, from, o[A].ld, k, to, o[B].ld, &options);
}

static const routine stencil = {2, 1, make, call, expect};

static const int64_t shapes[][2] = {{0, 5},   {5, 0},     {1, 1},    {1, 9},   {9, 1},    {2, 9},
                                    {9, 2},   {2, 2},     {3, 3},    {3, 70},  {37, 101}, {101, 37},
                                    {64, 64}, {129, 131}, {257, 40}, {512, 19}};

static void on_all_devices(void) {
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 24; v++) {
      if (left_out())
        continue;
      stencil_case c = {real_type(v), shapes[s][0], shapes[s][1], v / 4 % 3, v / 2 % 4, .border = v % 3};
      c.shift_a = v < 8 ? 0 : v % 4;
      c.shift_b = v < 12 ? 0 : v % 3;
      c.coefficients = v % 5 ? skewed : NULL;
      EACH_DEVICE(device)
        run_on_queue(&stencil, &c, device);
    }
}

CASES_ON_QUEUES(on_all_devices)

/* All sides aligned, sizes multiples of what the kernels work in, and larger than one span of columns. */
CASE(test_large_and_aligned) {
  EACH_DEVICE(device)
    for (int v = 0; v < 6; v++) {
      const bool odd = v == 5;
      stencil_case c = {real_type(v), 2304 + odd, 999, odd ? 3 : 0, odd ? 7 : 0, .border = v % 3};
      run_on_queue(&stencil, &c, device);
    }
}

/* Every variant of the CPU's code gives the reference's bits, caches bypassed or not. */
CASE(test_variants) {
  EACH_CPU(variant)
    for (int v = 0; v < 4; v++) {
      stencil_case small = {.type = real_type(v), .rows = 83, .cols = 20, .shift_b = v};
      run_on_queue(&stencil, &small, DAVIT_HOST);
      stencil_case large = {.type = real_type(v), .rows = 2111, .cols = 70, .shift_a = v};
      run_on_queue(&stencil, &large, DAVIT_HOST);
      dvt_cpu_cache_assume(1 << 16);
      run_on_queue(&stencil, &large, DAVIT_HOST);
      dvt_cpu_cache_assume(0);
    }
}

CASE(test_places_and_devices) {
  int devices[MAX_PLACES], count = plain_devices(devices);
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 16; v++) {
      if (left_out())
        continue;
      stencil_case c = {real_type(v), shapes[s][0], shapes[s][1], v % 3, v % 2, .border = v % 3};
      run_spread(&stencil, &c, (int[]){dense_place(v / 4), dense_place(v % 4)}, NULL, 0);
      run_spread(&stencil, &c, (int[]){dense_place(v / 4), dense_place(v % 4)}, devices, count);
    }
}

/* Several chunks: along the columns, and down columns that are too long for one. */
CASE(test_several_chunks) {
  const int host = DAVIT_HOST;
  stencil_case wide = {DAVIT_DOUBLE, 3001, 4000, .border = DAVIT_STENCIL_BORDER_UNTOUCHED};
  run_spread(&stencil, &wide, (int[]){DAVIT_PAGEABLE, DAVIT_PAGEABLE}, NULL, 0);
  for (int border = 0; border < 3; border++) {
    stencil_case tall = {DAVIT_FLOAT, 1100003, 9, .border = border};
    run_spread(&stencil, &tall, (int[]){DAVIT_PAGEABLE, DAVIT_PINNED}, &host, 1);
    run_spread(&stencil, &tall, (int[]){DAVIT_PINNED, DAVIT_PAGEABLE}, NULL, 0);
  }
}

/* The reference itself. */
CASE(test_against_long_double) {
  for (int v = 0; v < 2; v++) {
    stencil_case c = {.type = real_type(v), .rows = 37, .cols = 41, .coefficients = skewed};
    dense o[MAX_OPERANDS];
    make(&c, pageable, o);
    refer(&c, o);
    for (int64_t j = 1; j < c.cols - 1; j++)
      for (int64_t i = 1; i < c.rows - 1; i++) {
        long double sum = 0, size = 0;
        for (int64_t x = 0; x < 3; x++)
          for (int64_t y = 0; y < 3; y++) {
            long double term =
                (long double)skewed[y + 3 * x] * (long double)dense_at(&o[A], i + y - 1, j + x - 1);
            sum += term;
            size += fabsl(term);
          }
        assert_true(fabsl((long double)dense_at(&o[B], i, j) - sum) <=
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
  dense o[MAX_OPERANDS];
  make(&c, pageable, o);
  CHECK(call(&c, o, NULL, NULL, 0));
  c.coefficients = NULL;
  refer(&c, o);
  assert_false(dense_as_image(&o[B]));
}

CASE(test_same_bits_again) {
  const stencil_case c = {.type = DAVIT_DOUBLE, .rows = 200, .cols = 90};
  for (int n = 0; n < 100; n++)
    run_on_queue(&stencil, &c, n % (device_count() + 1) - 1);
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

CASE(test_failures) {
  fail_routine(&stencil, &(stencil_case){.type = DAVIT_DOUBLE, .rows = 300, .cols = 50});
}
