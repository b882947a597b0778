/* SPDX-License-Identifier: Apache-2.0 */
/* atax against long double loops. With d the length of op(A)'s rows and e that of its columns,
 *
 *   |tmp_i - exact| <= (d + 2) eps sum |a_ij| |x_j|
 *   |y_j - exact|   <= (d + e + 4) eps sum |a_ij| sum |a_ik| |x_k|
 *
 * whatever the order of the sums. Everything around the outputs is compared bytewise. */
#include "tests/dense.h"

#include "ref/blas.h"
#include "ref/ref.h"

typedef struct atax_case {
  davit_type type;
  char trans;
  int64_t m, n, extra_ld;
  int shift;
  bool no_tmp;
} atax_case;

typedef struct operands {
  dense a, x, tmp, y;
} operands;

static int64_t inner(const atax_case *c) {
  return c->trans == 'N' ? c->m : c->n;
}

static int64_t outer(const atax_case *c) {
  return c->trans == 'N' ? c->n : c->m;
}

static operands make(const atax_case *c, const int places[4]) {
  return (operands){dense_new(c->type, c->m, c->n, c->extra_ld, c->shift, places[0], 1),
                    dense_new(c->type, outer(c), 1, 0, c->shift / 2, places[1], 2),
                    dense_new(c->type, inner(c), 1, 0, c->shift, places[2], UNSET),
                    dense_new(c->type, outer(c), 1, 0, c->shift, places[3], UNSET)};
}

static const int pageable[] = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE};

static void expect_near(const atax_case *c, const char *name, int64_t i, double is, long double right,
                        long double bound) {
  if (!(fabsl((long double)is - right) <= bound)) /* catches NaN */
    fail_msg("type %d %c m %lld n %lld ld +%lld shift %d: %s[%lld] is %g, not %Lg within %Lg", (int)c->type,
             c->trans, (long long)c->m, (long long)c->n, (long long)c->extra_ld, c->shift, name, (long long)i,
             is, right, bound);
}

/* Element (i, j) of op(A). */
static long double element(const atax_case *c, const operands *o, int64_t i, int64_t j) {
  return (long double)(c->trans == 'N' ? dense_at(&o->a, i, j) : dense_at(&o->a, j, i));
}

static void expect(const atax_case *c, operands *o) {
  long double eps = (long double)element_epsilon(c->type);
  long double *tmp = kept_zeros((size_t)(2 * inner(c)) * sizeof *tmp), *size = tmp + inner(c);
  dense_take(&o->y);
  if (c->no_tmp)
    assert_true(dense_as_image(&o->tmp));
  else
    dense_take(&o->tmp);
  for (int64_t i = 0; i < inner(c); i++) {
    for (int64_t j = 0; j < outer(c); j++) {
      long double term = element(c, o, i, j) * (long double)dense_at(&o->x, j, 0);
      tmp[i] += term;
      size[i] += fabsl(term);
    }
    if (!c->no_tmp)
      expect_near(c, "tmp", i, dense_at(&o->tmp, i, 0), tmp[i], (long double)(outer(c) + 2) * eps * size[i]);
  }
  for (int64_t j = 0; j < outer(c); j++) {
    long double y = 0, bound = 0;
    for (int64_t i = 0; i < inner(c); i++) {
      y += element(c, o, i, j) * tmp[i];
      bound += fabsl(element(c, o, i, j)) * size[i];
    }
    expect_near(c, "y", j, dense_at(&o->y, j, 0), y, (long double)(inner(c) + outer(c) + 4) * eps * bound);
  }
}

/* On the queue, or without one over the devices. */
static davit_status call(const atax_case *c, const operands *o, davit_queue *queue, const int *devices,
                         int count) {
  const void *a = dense_there(&o->a), *x = dense_there(&o->x);
  void *tmp = c->no_tmp ? NULL : dense_there(&o->tmp), *y = dense_there(&o->y);
  const davit_atax_options options = {.devices = devices, .device_count = count};
  return queue ? davit_queue_atax(queue, c->type, c->trans, c->m, c->n, a, o->a.ld, x, tmp, y, &options)
               : davit_atax(c->type, c->trans, c->m, c->n, a, o->a.ld, x, tmp, y, &options);
}

static void on_queue(const atax_case *c, int device) {
  SCOPE;
  const int place = place_for(device);
  operands o = make(c, (int[]){place, place, place, place});
  davit_queue *queue = new_queue(device, 1);
  CHECK(call(c, &o, queue, NULL, 0));
  finish(queue);
  expect(c, &o);
}

static void spread(const atax_case *c, const int places[4], const int *devices, int count) {
  SCOPE;
  operands o = make(c, places);
  CHECK(call(c, &o, NULL, devices, count));
  expect(c, &o);
}

static const int64_t shapes[][2] = {{0, 0},    {0, 7},    {7, 0},    {1, 1},     {1, 50},    {50, 1},
                                    {37, 101}, {101, 37}, {64, 64},  {65, 1000}, {193, 300}, {300, 193},
                                    {769, 50}, {50, 769}, {1537, 9}, {3100, 70}, {12288, 5}, {12289, 3}};

static void on_all_devices(void) {
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 16; v++) {
      const atax_case c = {.type = real_type(v),
                           .trans = "NT"[v / 2 % 2],
                           .m = shapes[s][0],
                           .n = shapes[s][1],
                           .extra_ld = v / 4 % 4,
                           .shift = v < 8 ? 0 : v % 4,
                           .no_tmp = v % 5 == 0};
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

/* A NaN of A that is multiplied with a 0 of x makes all of y NaN. */
static void nan_times_zero(void) {
  for (int s = 3; s < COUNT(shapes); s++)
    for (int v = 0; v < 8; v++)
      for (int device = DAVIT_HOST; device <= device_count(); device++) {
        SCOPE;
        const atax_case c = {.type = real_type(v),
                             .trans = "NT"[v / 2 % 2],
                             .m = shapes[s][0],
                             .n = shapes[s][1],
                             .extra_ld = v / 4};
        const bool queued = device < device_count();
        const int place = queued ? place_for(device) : DAVIT_PAGEABLE;
        operands o = make(&c, (int[]){place, place, place, place});
        const int64_t row = c.m * (v + 1) / 9, col = c.n * (8 - v) / 9;
        dense_set(&o.a, row, col, NAN);
        dense_set(&o.x, c.trans == 'N' ? col : row, 0, 0);
        dense_give(&o.a), dense_give(&o.x);
        davit_queue *queue = queued ? new_queue(device, 1) : NULL;
        CHECK(call(&c, &o, queue, NULL, 0));
        if (queued)
          finish(queue);
        dense_take(&o.y);
        for (int64_t j = 0; j < outer(&c); j++)
          if (!isnan(dense_at(&o.y, j, 0)))
            fail_msg("%c m %lld n %lld device %d: y[%lld] is %g", c.trans, (long long)c.m, (long long)c.n,
                     device, (long long)j, dense_at(&o.y, j, 0));
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
      on_queue(&c, DAVIT_HOST);
    }
}

CASE(test_places_and_devices) {
  int devices[MAX_PLACES], count = plain_devices(devices);
  for (int s = 0; s < 12; s++)
    for (int v = 0; v < 64; v += 3) {
      atax_case c = {.type = real_type(v),
                     .trans = "NT"[v / 2 % 2],
                     .m = shapes[s][0],
                     .n = shapes[s][1],
                     .extra_ld = v % 3,
                     .no_tmp = v % 7 == 0};
      int places[4] = {dense_place(v % 4), dense_place(v / 4 % 4), dense_place(v / 16),
                       dense_place((v + 1) % 4)};
      spread(&c, places, NULL, 0);
      spread(&c, places, devices, count);
      spread(&c, places, devices, 1);
    }
}

/* Several chunks for each lane of two devices. */
CASE(test_several_chunks) {
  int places[4] = {DAVIT_PINNED, DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE};
  int devices[MAX_PLACES], count = plain_devices(devices);
  for (int v = 0; v < 2; v++) {
    atax_case c = {.type = DAVIT_DOUBLE, .trans = "NT"[v], .m = 5300, .n = 5101, .extra_ld = 1};
    spread(&c, places, devices, count < 2 ? count : 2);
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
  operands o = make(&c, pageable);
  CHECK(call(&c, &o, NULL, NULL, 0));
  dense_take(&o.y);
  for (int wrong = 0; wrong < 3; wrong++) {
    double tmp[SIZE], y[SIZE], distance = 0;
    char first = "NTN"[wrong], second = "TTN"[wrong];
    dvt_gemv_host(NULL, &(dvt_gemv){DAVIT_DOUBLE, first, SIZE, SIZE, 1, dense_image(&o.a), SIZE,
                                    dense_image(&o.x), 1, 0, tmp, 1});
    dvt_gemv_host(NULL,
                  &(dvt_gemv){DAVIT_DOUBLE, second, SIZE, SIZE, 1, dense_image(&o.a), SIZE, tmp, 1, 0, y, 1});
    for (int i = 0; i < SIZE; i++)
      distance = fmax(distance, fabs(y[i] - dense_at(&o.y, i, 0)));
    assert_true(distance > 0.1);
  }
}

CASE(test_reference) {
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 4; v++) {
      const atax_case c = {.type = real_type(v), .trans = "NT"[v / 2], .m = shapes[s][0], .n = shapes[s][1]};
      operands o = make(&c, pageable);
      if (v % 2)
        dvt_ref_datax(c.trans, c.m, c.n, dense_there(&o.a), o.a.ld, dense_there(&o.x), dense_there(&o.tmp),
                      dense_there(&o.y));
      else
        dvt_ref_satax(c.trans, c.m, c.n, dense_there(&o.a), o.a.ld, dense_there(&o.x), dense_there(&o.tmp),
                      dense_there(&o.y));
      expect(&c, &o);
    }
}

static void same_bits(const atax_case *c, int device) {
  const int place = place_for(device);
  operands o = make(c, (int[]){place, place, place, place});
  davit_queue *queue = new_queue(device, 1);
  for (int n = 0; n < 100; n++) {
    CHECK(davit_queue_fill(queue, o.tmp.bytes, 0xff, o.tmp.there));
    CHECK(davit_queue_fill(queue, o.y.bytes, 0xff, o.y.there));
    CHECK(call(c, &o, queue, NULL, 0));
    CHECK(davit_queue_synchronize(queue));
    if (n == 0)
      expect(c, &o);
    assert_true(dense_as_image(&o.tmp) && dense_as_image(&o.y));
  }
  finish(queue);
}

CASE(test_same_bits_again) {
  EACH_DEVICE(device)
    for (int v = 0; v < 4; v++) {
      const atax_case c = {.type = real_type(v), .trans = "NT"[v / 2], .m = 401, .n = 217};
      same_bits(&c, device);
    }
}

/* Both forms refuse the arguments of 4 x 4 elements. */
static void expect_refused(davit_type type, char trans, int64_t m, int64_t n, const double *a, int64_t lda,
                           const double *x, double *tmp, double *y, const char *words) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  REFUSED(davit_atax(type, trans, m, n, a, lda, x, tmp, y, NULL), words);
  REFUSED(davit_queue_atax(queue, type, trans, m, n, a, lda, x, tmp, y, NULL), words);
  finish(queue);
}

CASE(test_bad_arguments) {
  double a[16] = {0}, x[4] = {0}, tmp[4], y[4];
  const davit_type d = DAVIT_DOUBLE;
  expect_refused(DAVIT_INT64, 'N', 4, 4, a, 4, x, tmp, y, "type");
  expect_refused((davit_type)77, 'N', 4, 4, a, 4, x, tmp, y, "type is 77");
  expect_refused(d, 'X', 4, 4, a, 4, x, tmp, y, "trans");
  expect_refused(d, 'N', -4, 4, a, 4, x, tmp, y, "m is -4");
  expect_refused(d, 'N', 4, -4, a, 4, x, tmp, y, "n is -4");
  expect_refused(d, 'N', 4, 4, a, 3, x, tmp, y, "lda is 3");
  expect_refused(d, 'N', 4, 4, NULL, 4, x, tmp, y, "a is NULL");
  expect_refused(d, 'N', 4, 4, a, 4, NULL, tmp, y, "x is NULL");
  expect_refused(d, 'N', 4, 4, a, 4, x, tmp, NULL, "y is NULL");
  expect_refused(d, 'N', 4, 4, a, 4, x, y, y, "tmp overlaps y");
  expect_refused(d, 'N', 4, 4, a, 4, x, tmp, x, "y overlaps x");
  expect_refused(d, 'N', 4, 4, a, 4, x, tmp, a + 3, "y overlaps a");
  expect_refused(d, 'T', 4, 4, a, 4, x, a, y, "tmp overlaps a");
  expect_refused(d, 'T', 4, 4, a, 4, x, x, y, "tmp overlaps x");
  REFUSED(davit_atax(d, 'T', 4, 4, a, 4, x, tmp, y, &(davit_atax_options){.device_count = 2}), "devices");
  REFUSED(davit_queue_atax(NULL, d, 'T', 4, 4, a, 4, x, tmp, y, NULL), "queue");
}

typedef struct attempt {
  atax_case c;
  operands o;
} attempt;

static davit_status spread_over_all(void *argument) {
  attempt *t = argument;
  int devices[MAX_PLACES], count = plain_devices(devices);
  return call(&t->c, &t->o, NULL, devices, count);
}

CASE(test_failures) {
  for (int v = 0; v < 2; v++) {
    attempt t = {.c = {.type = DAVIT_DOUBLE, .trans = "NT"[v], .m = 90, .n = 70}};
    t.o = make(&t.c, pageable);
    fail_everywhere(spread_over_all, &t);
    expect(&t.c, &t.o);
  }
}
