/* SPDX-License-Identifier: Apache-2.0 */
/* atax against long double loops. With d the length of op(A)'s rows and e that of its columns,
 *
 *   |tmp_i - exact| <= (d + 2) eps sum |a_ij| |x_j|
 *   |y_j - exact|   <= (d + e + 4) eps sum |a_ij| sum |a_ik| |x_k|
 *
 * whatever the order of the sums. Everything around the outputs is compared bytewise. */
#include "tests/dense.h"

typedef struct atax_case {
  davit_type type;
  char trans;
  int64_t m, n, extra_ld;
  int shift;
  bool no_tmp;
} atax_case;

enum { A, X, TMP, Y };

static int64_t inner(const atax_case *c) {
  return c->trans == 'N' ? c->m : c->n;
}

static int64_t outer(const atax_case *c) {
  return c->trans == 'N' ? c->n : c->m;
}

static void make(const void *problem, const int places[MAX_OPERANDS], dense *o) {
  const atax_case *c = problem;
  o[A] = dense_new(c->type, c->m, c->n, c->extra_ld, c->shift, places[A], 1);
  o[X] = dense_new(c->type, outer(c), 1, 0, c->shift / 2, places[X], 2);
  o[TMP] = dense_new(c->type, inner(c), 1, 0, c->shift, places[TMP], UNSET);
  o[Y] = dense_new(c->type, outer(c), 1, 0, c->shift, places[Y], UNSET);
}

static void expect_near(const atax_case *c, const char *name, int64_t i, double is, long double right,
                        long double bound) {
  if (!(fabsl((long double)is - right) <= bound)) /* catches NaN */
    fail_msg("type %d %c m %lld n %lld ld +%lld shift %d: %s[%lld] is %g, not %Lg within %Lg", (int)c->type,
             c->trans, (long long)c->m, (long long)c->n, (long long)c->extra_ld, c->shift, name, (long long)i,
             is, right, bound);
}

/* Element (i, j) of op(A). */
static long double element(const atax_case *c, const dense *o, int64_t i, int64_t j) {
  return (long double)(c->trans == 'N' ? dense_at(&o[A], i, j) : dense_at(&o[A], j, i));
}

static void expect(const void *problem, dense *o) {
  const atax_case *c = problem;
  long double eps = (long double)element_epsilon(c->type);
  long double *tmp = kept_zeros((size_t)(2 * inner(c)) * sizeof *tmp), *size = tmp + inner(c);
  dense_take(&o[Y]);
  if (c->no_tmp)
    assert_true(dense_as_image(&o[TMP]));
  else
    dense_take(&o[TMP]);
  for (int64_t i = 0; i < inner(c); i++) {
    for (int64_t j = 0; j < outer(c); j++) {
      long double term = element(c, o, i, j) * (long double)dense_at(&o[X], j, 0);
      tmp[i] += term;
      size[i] += fabsl(term);
    }
    if (!c->no_tmp)
      expect_near(c, "tmp", i, dense_at(&o[TMP], i, 0), tmp[i], (long double)(outer(c) + 2) * eps * size[i]);
  }
  for (int64_t j = 0; j < outer(c); j++) {
    long double y = 0, bound = 0;
    for (int64_t i = 0; i < inner(c); i++) {
      y += element(c, o, i, j) * tmp[i];
      bound += fabsl(element(c, o, i, j)) * size[i];
    }
    expect_near(c, "y", j, dense_at(&o[Y], j, 0), y, (long double)(inner(c) + outer(c) + 4) * eps * bound);
  }
}

static davit_status call(const void *problem, const dense *o, davit_queue *queue, const int *devices,
                         int count) {
  const atax_case *c = problem;
  const void *a = dense_there(&o[A]), *x = dense_there(&o[X]);
  void *tmp = c->no_tmp ? NULL : dense_there(&o[TMP]), *y = dense_there(&o[Y]);
  return FORM(queue, atax, c->type, c->trans, c->m, c->n, a, o[A].ld, x, tmp, y,
              ON(davit_atax_options, devices, count));
}

static const routine atax = {4, 2, make, call, expect};

static const int64_t shapes[][2] = {{0, 0},    {0, 7},    {7, 0},    {1, 1},     {1, 50},    {50, 1},
                                    {37, 101}, {101, 37}, {64, 64},  {65, 1000}, {193, 300}, {300, 193},
                                    {769, 50}, {50, 769}, {1537, 9}, {3100, 70}, {12288, 5}, {12289, 3}};

static void on_all_devices(void) {
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 16; v++) {
      if (left_out())
        continue;
      atax_case c = {real_type(v), "NT"[v / 2 % 2], shapes[s][0], shapes[s][1], .extra_ld = v / 4 % 4};
      c.shift = v < 8 ? 0 : v % 4;
      c.no_tmp = v % 5 == 0;
      EACH_DEVICE(device)
        run_on_queue(&atax, &c, device);
    }
}

CASES_ON_QUEUES(on_all_devices)

/* A NaN of A that is multiplied with a 0 of x makes all of y NaN. */
static void nan_times_zero(void) {
  for (int s = 3; s < COUNT(shapes); s++)
    for (int v = 0; v < 8; v++)
      for (int device = DAVIT_HOST; device <= device_count(); device++) {
        SCOPE;
        const atax_case c = {real_type(v), "NT"[v / 2 % 2], shapes[s][0], shapes[s][1], .extra_ld = v / 4};
        const bool queued = device < device_count();
        const int place = queued ? place_for(device) : DAVIT_PAGEABLE;
        dense o[MAX_OPERANDS];
        make(&c, (int[]){place, place, place, place}, o);
        const int64_t row = c.m * (v + 1) / 9, col = c.n * (8 - v) / 9;
        dense_set(&o[A], row, col, NAN);
        dense_set(&o[X], c.trans == 'N' ? col : row, 0, 0);
        dense_give(&o[A]), dense_give(&o[X]);
        davit_queue *queue = queued ? new_queue(device, 1) : NULL;
        CHECK(call(&c, o, queue, NULL, 0));
        if (queued)
          finish(queue);
        dense_take(&o[Y]);
        for (int64_t j = 0; j < outer(&c); j++)
          if (!isnan(dense_at(&o[Y], j, 0)))
            fail_msg("%c m %lld n %lld device %d: y[%lld] is %g", c.trans, (long long)c.m, (long long)c.n,
                     device, (long long)j, dense_at(&o[Y], j, 0));
      }
}

CASE(test_nan_times_zero) {
  nan_times_zero();
  without_blas(nan_times_zero);
}

CASE(test_variants) {
  EACH_CPU(variant)
    for (int v = 0; v < 4; v++) {
      atax_case c = {.type = real_type(v), .trans = "NT"[v / 2], .m = 203, .n = 401};
      run_on_queue(&atax, &c, DAVIT_HOST);
    }
}

CASE(test_places_and_devices) {
  int devices[MAX_PLACES], count = plain_devices(devices);
  for (int s = 0; s < 12; s++)
    for (int v = 0; v < 64; v += 3) {
      if (left_out())
        continue;
      atax_case c = {real_type(v), "NT"[v / 2 % 2], shapes[s][0], shapes[s][1], .extra_ld = v % 3};
      c.no_tmp = v % 7 == 0;
      int places[4] = {dense_place(v % 4), dense_place(v / 4 % 4), dense_place(v / 16),
                       dense_place((v + 1) % 4)};
      run_spread(&atax, &c, places, NULL, 0);
      run_spread(&atax, &c, places, devices, count);
      run_spread(&atax, &c, places, devices, 1);
    }
}

/* Several chunks for each lane of two devices. */
CASE(test_several_chunks) {
  int places[4] = {DAVIT_PINNED, DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE};
  int devices[MAX_PLACES], count = plain_devices(devices);
  for (int v = 0; v < 2; v++) {
    atax_case c = {.type = DAVIT_DOUBLE, .trans = "NT"[v], .m = 5300, .n = 5101, .extra_ld = 1};
    run_spread(&atax, &c, places, devices, count < 2 ? count : 2);
  }
}

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
  atax_case c = {.type = DAVIT_DOUBLE, .trans = 'T', .m = SIZE, .n = SIZE};
  dense o[MAX_OPERANDS];
  make(&c, pageable, o);
  CHECK(call(&c, o, NULL, NULL, 0));
  dense_take(&o[Y]);
  for (int wrong = 0; wrong < 3; wrong++) {
    double tmp[SIZE], y[SIZE], distance = 0;
    char first = "NTN"[wrong], second = "TTN"[wrong];
    dvt_gemv_host(NULL, &(dvt_gemv){DAVIT_DOUBLE, first, SIZE, SIZE, 1, dense_image(&o[A]), SIZE,
                                    dense_image(&o[X]), 1, 0, tmp, 1});
    dvt_gemv_host(
        NULL, &(dvt_gemv){DAVIT_DOUBLE, second, SIZE, SIZE, 1, dense_image(&o[A]), SIZE, tmp, 1, 0, y, 1});
    for (int i = 0; i < SIZE; i++)
      distance = fmax(distance, fabs(y[i] - dense_at(&o[Y], i, 0)));
    assert_true(distance > 0.1);
  }
}

CASE(test_reference) {
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 4; v++) {
      const atax_case c = {.type = real_type(v), .trans = "NT"[v / 2], .m = shapes[s][0], .n = shapes[s][1]};
      dense o[MAX_OPERANDS];
      make(&c, pageable, o);
      if (v % 2)
        dvt_ref_datax(c.trans, c.m, c.n, dense_there(&o[A]), o[A].ld, dense_there(&o[X]),
                      dense_there(&o[TMP]), dense_there(&o[Y]));
      else
        dvt_ref_satax(c.trans, c.m, c.n, dense_there(&o[A]), o[A].ld, dense_there(&o[X]),
                      dense_there(&o[TMP]), dense_there(&o[Y]));
      expect(&c, o);
    }
}

CASE(test_same_bits_again) {
  EACH_DEVICE(device)
    for (int v = 0; v < 4; v++) {
      const atax_case c = {.type = real_type(v), .trans = "NT"[v / 2], .m = 401, .n = 217};
      same_bits_again(&atax, &c, device);
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

CASE(test_failures) {
  for (int v = 0; v < 2; v++)
    fail_routine(&atax, &(atax_case){.type = DAVIT_DOUBLE, .trans = "NT"[v], .m = 90, .n = 70});
}
