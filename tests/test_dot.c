/* SPDX-License-Identifier: Apache-2.0 */
/* dot against a long double loop: |error| <= n eps sum |x y|, and the promised equality of bits. */
#include "tests/dense.h"

/* x and y with the exact product and its bound. */
typedef struct pair {
  dense x, y;
  int64_t incx, incy;
  double exact, bound;
} pair;

static pair pair_new(davit_type type, int64_t n, int64_t incx, int64_t incy, int place_x, int place_y) {
  pair p = {.x = vector_new(type, n, incx, place_x, 1),
            .y = vector_new(type, n, incy, place_y, 2),
            .incx = incx,
            .incy = incy};
  long double sum = 0, size = 0;
  for (int64_t i = 0; i < n; i++) {
    long double term = (long double)dense_at(&p.x, 0, i) * (long double)dense_at(&p.y, 0, i);
    sum += term;
    size += fabsl(term);
  }
  p.exact = (double)sum;
  p.bound = (double)n * element_epsilon(type) * (double)size;
  return p;
}

static void expect(const pair *p, double is) {
  if (!(fabs(is - p->exact) <= p->bound))
    fail_msg("n %lld: %g, not %g", (long long)p->x.cols, is, p->exact);
}

/* On the first `count` devices. */
static double spread(const pair *p, int count) {
  int devices[MAX_PLACES];
  double result = NAN;
  float single = NAN;
  spread_devices(devices);
  const davit_dot_options options = {.devices = devices, .device_count = count};
  const void *x = dense_there(&p->x), *y = dense_there(&p->y);
  if (p->x.type == DAVIT_DOUBLE)
    CHECK(davit_ddot(p->x.cols, x, p->incx, y, p->incy, &result, &options));
  else
    CHECK(davit_sdot(p->x.cols, x, p->incx, y, p->incy, &single, &options));
  return p->x.type == DAVIT_DOUBLE ? result : (double)single;
}

CASE(test_sizes_increments_places) {
  static const int64_t sizes[] = {0, 1, 2, 31, 1000, (1 << 20) + 3}, incs[] = {1, 2, -1, -3};
  int devices[MAX_PLACES], count = spread_devices(devices);
  for (int n = 0; n < COUNT(sizes); n++)
    for (int i = 0; i < COUNT(incs); i++)
      for (int j = 0; j < COUNT(incs); j++) {
        SCOPE;
        if (sizes[n] > 1000 && (llabs(incs[i]) != 1 || llabs(incs[j]) != 1))
          continue; /* strided copies of a million elements take too long here */
        const int place = (n + 4 * i + j) % (DENSE_PLACES * DENSE_PLACES);
        pair p = pair_new(real_type(i + j), sizes[n], incs[i], incs[j], dense_place(place % DENSE_PLACES),
                          dense_place(place / DENSE_PLACES));
        for (int d = 1; d <= count; d++)
          expect(&p, spread(&p, d));
      }
}

CASE(test_any_number_of_devices_same_bits) {
  int devices[MAX_PLACES], count = spread_devices(devices);
  for (int t = 0; t < 2; t++) {
    pair p = pair_new(real_type(t), 7 * (1 << 20) + 5, 1, 1, DAVIT_PINNED, DAVIT_PINNED);
    const double first = spread(&p, 1);
    for (int d = 1; d <= count; d++)
      for (int repeat = 0; repeat < 3; repeat++)
        assert_true(spread(&p, d) == first);
  }
}

CASE(test_on_a_queue) {
  EACH_DEVICE(device)
    for (int where = 0; where < 3; where++) {
      const int place = place_for(device), results[] = {DAVIT_PAGEABLE, DAVIT_PINNED, place};
      double is, *result = kept_at(sizeof is, results[where]);
      davit_queue *queue = new_queue(device, 1);
      pair p = pair_new(DAVIT_DOUBLE, 777, 2, -1, place, place);
      CHECK(davit_queue_ddot(queue, 777, dense_there(&p.x), 2, dense_there(&p.y), -1, result, NULL));
      CHECK(davit_queue_copy(queue, sizeof is, result, &is));
      finish(queue);
      expect(&p, is);
    }
}

CASE(test_bad_arguments) {
  double x[4] = {0}, y[4] = {0}, result = 5;
  int wrong = -7;
  REFUSED(davit_ddot(-3, x, 1, y, 1, &result, NULL), "n is -3");
  CHECK_FAILS(davit_ddot(4, x, 1, y, 1, &result, ON(davit_dot_options, &wrong, 1)), DAVIT_UNKNOWN_DEVICE,
              "-7");
  assert_true(result == 5);
  CHECK(davit_ddot(0, x, 1, y, 1, &result, NULL));
  assert_true(result == 0);
}
