/* atax against long double loops. With d the length of op(A)'s rows and e that of its columns,
 *
 *   |tmp_i - exact| <= (d + 2) eps sum |a_ij| |x_j|
 *   |y_j - exact|   <= (d + e + 4) eps sum |a_ij| sum |a_ik| |x_k|
 *
 * whatever the order of the sums. Everything around the outputs is compared bytewise. */
#include "tests/dense.h"

#include "ref/blas.h"
#include "ref/ref.h"
#include "src/base/cpu.h"

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
  return (operands){dense_random(c->type, c->m, c->n, c->extra_ld, c->shift, places[0], 1),
                    dense_random(c->type, outer(c), 1, 0, c->shift / 2, places[1], 2),
                    dense_new(c->type, inner(c), 1, 0, c->shift, places[2]),
                    dense_new(c->type, outer(c), 1, 0, c->shift, places[3])};
}

static void drop(operands *o) {
  dense_drop(&o->a);
  dense_drop(&o->x);
  dense_drop(&o->tmp);
  dense_drop(&o->y);
}

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
  long double eps = (long double)dense_epsilon(c->type);
  long double *tmp = calloc((size_t)(2 * inner(c)) + 1, sizeof *tmp), *size = tmp + inner(c);
  assert_non_null(tmp);
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
  free(tmp);
}

static void on_queue(const atax_case *c, int device) {
  int place = place_for(device);
  operands o = make(c, (int[]){place, place, place, place});
  davit_queue *queue = new_queue(device, 1);
  CHECK(davit_queue_atax(queue, c->type, c->trans, c->m, c->n, dense_there(&o.a), o.a.ld, dense_there(&o.x),
                         c->no_tmp ? NULL : dense_there(&o.tmp), dense_there(&o.y), NULL));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_queue_destroy(queue));
  expect(c, &o);
  drop(&o);
}

static davit_status call(const atax_case *c, const operands *o, const int *devices, int count) {
  return davit_atax(c->type, c->trans, c->m, c->n, dense_there(&o->a), o->a.ld, dense_there(&o->x),
                    c->no_tmp ? NULL : dense_there(&o->tmp), dense_there(&o->y),
                    &(davit_atax_options){.devices = devices, .device_count = count});
}

static void spread(const atax_case *c, const int places[4], const int *devices, int count) {
  operands o = make(c, places);
  CHECK(call(c, &o, devices, count));
  expect(c, &o);
  drop(&o);
}

static const int64_t shapes[][2] = {{0, 0},    {0, 7},    {7, 0},    {1, 1},     {1, 50},    {50, 1},
                                    {37, 101}, {101, 37}, {64, 64},  {65, 1000}, {193, 300}, {300, 193},
                                    {769, 50}, {50, 769}, {1537, 9}, {3100, 70}, {12288, 5}, {12289, 3}};

static void on_all_devices(void) {
  int devices[MOST_PLACES], count = all_devices(devices);
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 16; v++) {
      atax_case c = {v % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT,
                     "NT"[v / 2 % 2],
                     shapes[s][0],
                     shapes[s][1],
                     v / 4 % 4,
                     v < 8 ? 0 : v % 4,
                     v % 5 == 0};
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

static void test_variants(void **state) {
  (void)state;
  for (int most = DVT_CPU_COUNT - 1; most >= 0; most--) {
    dvt_cpu_allow((dvt_cpu)most);
    for (int v = 0; v < 4; v++) {
      atax_case c = {.type = v % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT, .trans = "NT"[v / 2], .m = 203, .n = 401};
      on_queue(&c, DAVIT_HOST);
    }
  }
  dvt_cpu_allow(DVT_CPU_COUNT - 1);
}

static void test_places_and_devices(void **state) {
  (void)state;
  int devices[MOST_PLACES], count = all_devices(devices);
  for (int s = 0; s < 12; s++)
    for (int v = 0; v < 64; v += 3) {
      atax_case c = {.type = v % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT,
                     .trans = "NT"[v / 2 % 2],
                     .m = shapes[s][0],
                     .n = shapes[s][1],
                     .extra_ld = v % 3,
                     .no_tmp = v % 7 == 0};
      int places[4] = {dense_place(v % 4), dense_place(v / 4 % 4), dense_place(v / 16),
                       dense_place((v + 1) % 4)};
      spread(&c, places, NULL, 0);
      spread(&c, places, devices, count < 16 ? count : 16);
      spread(&c, places, devices, 1);
    }
}

/* Several chunks for each lane of two devices. */
static void test_several_chunks(void **state) {
  (void)state;
  int places[4] = {DAVIT_PINNED, DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE};
  int devices[MOST_PLACES], count = all_devices(devices);
  for (int v = 0; v < 2; v++) {
    atax_case c = {.type = DAVIT_DOUBLE, .trans = "NT"[v], .m = 5300, .n = 5101, .extra_ld = 1};
    spread(&c, places, devices, count < 2 ? count : 2);
  }
}

/* The initial values of the handed-out program: A_ij = i j / n, x_j = j pi; y_j = pi j S² / n², S = sum of i². */
static void test_closed_form(void **state) {
  (void)state;
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
static void test_wrong_operator_differs(void **state) {
  (void)state;
  enum { SIZE = 60 };
  atax_case c = {.type = DAVIT_DOUBLE, .trans = 'T', .m = SIZE, .n = SIZE};
  operands o = make(&c, (int[]){DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE});
  CHECK(call(&c, &o, NULL, 0));
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
  drop(&o);
}

static void test_reference(void **state) {
  (void)state;
  for (int s = 0; s < COUNT(shapes); s++)
    for (int v = 0; v < 4; v++) {
      atax_case c = {.type = v % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT,
                     .trans = "NT"[v / 2],
                     .m = shapes[s][0],
                     .n = shapes[s][1]};
      operands o = make(&c, (int[]){DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE});
      if (v % 2)
        dvt_ref_datax(c.trans, c.m, c.n, dense_there(&o.a), o.a.ld, dense_there(&o.x), dense_there(&o.tmp),
                      dense_there(&o.y));
      else
        dvt_ref_satax(c.trans, c.m, c.n, dense_there(&o.a), o.a.ld, dense_there(&o.x), dense_there(&o.tmp),
                      dense_there(&o.y));
      expect(&c, &o);
      drop(&o);
    }
}

static void same_bits(const atax_case *c, int device) {
  int place = place_for(device);
  operands o = make(c, (int[]){place, place, place, place});
  davit_queue *queue = new_queue(device, 1);
  for (int n = 0; n < 100; n++) {
    CHECK(davit_queue_fill(queue, o.tmp.bytes, 0xff, o.tmp.there));
    CHECK(davit_queue_fill(queue, o.y.bytes, 0xff, o.y.there));
    CHECK(davit_queue_atax(queue, c->type, c->trans, c->m, c->n, dense_there(&o.a), o.a.ld, dense_there(&o.x),
                           dense_there(&o.tmp), dense_there(&o.y), NULL));
    CHECK(davit_queue_synchronize(queue));
    if (n == 0) {
      dense_take(&o.tmp);
      dense_take(&o.y);
    }
    assert_true(dense_as_image(&o.tmp) && dense_as_image(&o.y));
  }
  CHECK(davit_queue_destroy(queue));
  expect(c, &o);
  drop(&o);
}

static void test_same_bits_again(void **state) {
  (void)state;
  int devices[MOST_PLACES], count = all_devices(devices);
  for (int d = 0; d < count; d++)
    for (int v = 0; v < 4; v++) {
      atax_case c = {.type = v % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT, .trans = "NT"[v / 2], .m = 401, .n = 217};
      same_bits(&c, devices[d]);
    }
}

static void test_bad_arguments(void **state) {
  (void)state;
  double a[16] = {0}, x[4] = {0}, tmp[4], y[4];
  const davit_status bad = DAVIT_INVALID_ARGUMENT;
  const davit_type d = DAVIT_DOUBLE;
  CHECK_FAILS(davit_atax(DAVIT_INT64, 'N', 4, 4, a, 4, x, tmp, y, NULL), bad, "type");
  CHECK_FAILS(davit_atax((davit_type)77, 'N', 4, 4, a, 4, x, tmp, y, NULL), bad, "type is 77");
  CHECK_FAILS(davit_atax(d, 'X', 4, 4, a, 4, x, tmp, y, NULL), bad, "trans");
  CHECK_FAILS(davit_atax(d, 'N', -4, 4, a, 4, x, tmp, y, NULL), bad, "m is -4");
  CHECK_FAILS(davit_atax(d, 'N', 4, -4, a, 4, x, tmp, y, NULL), bad, "n is -4");
  CHECK_FAILS(davit_atax(d, 'N', 4, 4, a, 3, x, tmp, y, NULL), bad, "lda is 3");
  CHECK_FAILS(davit_atax(d, 'N', 4, 4, NULL, 4, x, tmp, y, NULL), bad, "a is NULL");
  CHECK_FAILS(davit_atax(d, 'N', 4, 4, a, 4, NULL, tmp, y, NULL), bad, "x is NULL");
  CHECK_FAILS(davit_atax(d, 'N', 4, 4, a, 4, x, tmp, NULL, NULL), bad, "y is NULL");
  CHECK_FAILS(davit_atax(d, 'N', 4, 4, a, 4, x, y, y, NULL), bad, "tmp overlaps y");
  CHECK_FAILS(davit_atax(d, 'N', 4, 4, a, 4, x, tmp, x, NULL), bad, "y overlaps x");
  CHECK_FAILS(davit_atax(d, 'N', 4, 4, a, 4, x, tmp, a + 3, NULL), bad, "y overlaps a");
  CHECK_FAILS(davit_atax(d, 'T', 4, 4, a, 4, x, a, y, NULL), bad, "tmp overlaps a");
  CHECK_FAILS(davit_atax(d, 'T', 4, 4, a, 4, x, x, y, NULL), bad, "tmp overlaps x");
  CHECK_FAILS(
      davit_atax(d, 'T', 4, 4, a, 4, x, tmp, y, &(davit_atax_options){.devices = NULL, .device_count = 2}),
      bad, "devices");
  CHECK_FAILS(davit_queue_atax(NULL, d, 'T', 4, 4, a, 4, x, tmp, y, NULL), bad, "queue");
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  CHECK_FAILS(davit_queue_atax(queue, d, 'Q', 4, 4, a, 4, x, tmp, y, NULL), bad, "trans");
  CHECK_FAILS(davit_queue_atax(queue, d, 'T', 4, 4, a, 4, x, tmp, NULL, NULL), bad, "y is NULL");
  CHECK(davit_queue_destroy(queue));
}

typedef struct attempt {
  atax_case c;
  operands o;
} attempt;

static davit_status spread_over_all(void *argument) {
  attempt *t = argument;
  int devices[MOST_PLACES], count = all_devices(devices);
  return call(&t->c, &t->o, devices, count < 16 ? count : 16);
}

static void test_failures(void **state) {
  (void)state;
  for (int v = 0; v < 2; v++) {
    attempt t = {.c = {.type = DAVIT_DOUBLE, .trans = "NT"[v], .m = 90, .n = 70}};
    t.o = make(&t.c, (int[]){DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE});
    dense_fail_everywhere(spread_over_all, &t);
    CHECK(spread_over_all(&t));
    expect(&t.c, &t.o);
    drop(&t.o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reference),
      cmocka_unit_test(test_queues),
      cmocka_unit_test(test_queues_without_cublas),
      cmocka_unit_test(test_variants),
      cmocka_unit_test(test_places_and_devices),
      cmocka_unit_test(test_several_chunks),
      cmocka_unit_test(test_closed_form),
      cmocka_unit_test(test_wrong_operator_differs),
      cmocka_unit_test(test_same_bits_again),
      cmocka_unit_test(test_bad_arguments),
      cmocka_unit_test(test_failures),
  };
  return cmocka_run_group_tests(tests, NULL, dense_stop);
}
