/* dot against a long double loop: |error| <= n eps sum |x y|, and the promised equality of bits. */
#include "tests/strided.h"

static double exact(char type, int64_t n, const strided *x, int64_t incx, const strided *y, int64_t incy,
                    double *bound) {
  long double sum = 0, size = 0;
  for (int64_t i = 0; i < n; i++) {
    long double term = (long double)strided_at(type, x->host, strided_index(i, n, incx)) *
                       (long double)strided_at(type, y->host, strided_index(i, n, incy));
    sum += term;
    size += fabsl(term);
  }
  *bound = (double)n * strided_epsilon(type) * (double)size;
  return (double)sum;
}

static double spread(char type, int64_t n, const strided *x, int64_t incx, const strided *y, int64_t incy,
                     int devices) {
  double result = NAN;
  float single = NAN;
  if (type == 'd') {
    check(davit_ddot(n, x->data, incx, y->data, incy, &result,
                     &(davit_dot_options){.devices = strided_devices, .device_count = devices}));
    return result;
  }
  check(davit_sdot(n, x->data, incx, y->data, incy, &single,
                   &(davit_dot_options){.devices = strided_devices, .device_count = devices}));
  return (double)single;
}

static void test_sizes_increments_places(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, 1, 2, 31, 1000, (1 << 20) + 3}, incs[] = {1, 2, -1, -3};
  for (int n = 0; n < 6; n++)
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++) {
        if (sizes[n] > 1000 && (llabs(incs[i]) != 1 || llabs(incs[j]) != 1))
          continue; /* strided copies of a million elements take too long here */
        int p = (n + 4 * i + j) % (STRIDED_PLACES * STRIDED_PLACES);
        char type = "ds"[(i + j) % 2];
        strided x =
            strided_make(type, strided_extent(sizes[n], incs[i]), strided_place(p % STRIDED_PLACES), 1);
        strided y =
            strided_make(type, strided_extent(sizes[n], incs[j]), strided_place(p / STRIDED_PLACES), 2);
        double bound, right = exact(type, sizes[n], &x, incs[i], &y, incs[j], &bound);
        for (int d = 1; d <= strided_count; d++) {
          double is = spread(type, sizes[n], &x, incs[i], &y, incs[j], d);
          if (!(fabs(is - right) <= bound))
            fail_msg("n %lld: %g, not %g", (long long)sizes[n], is, right);
        }
        strided_drop(&x);
        strided_drop(&y);
      }
}

static void test_any_number_of_devices_same_bits(void **state) {
  (void)state;
  int64_t n = 7 * (1 << 20) + 5;
  for (int t = 0; t < 2; t++) {
    strided x = strided_make("ds"[t], n, DAVIT_PINNED, 3), y = strided_make("ds"[t], n, DAVIT_PINNED, 4);
    double first = spread("ds"[t], n, &x, 1, &y, 1, 1);
    for (int d = 1; d <= strided_count; d++)
      for (int repeat = 0; repeat < 3; repeat++)
        assert_true(spread("ds"[t], n, &x, 1, &y, 1, d) == first);
    strided_drop(&x);
    strided_drop(&y);
  }
}

static void test_on_a_queue(void **state) {
  (void)state;
  for (int d = -1; d < strided_count; d++)
    for (int where = 0; where < 3; where++) {
      int device = d < 0 ? DAVIT_HOST : strided_devices[d];
      int place = device == DAVIT_HOST ? DAVIT_PAGEABLE : device;
      int result_place = where == 0 ? DAVIT_PAGEABLE : where == 1 ? DAVIT_PINNED : place;
      davit_queue *queue;
      void *result;
      double is, bound;
      check(davit_queue_create(device, &queue, NULL));
      check(davit_malloc(sizeof is, result_place, &result));
      strided x = strided_make('d', strided_extent(777, 2), place, 1), y = strided_make('d', 777, place, 2);
      check(davit_queue_ddot(queue, 777, x.data, 2, y.data, -1, result, NULL));
      check(davit_queue_copy(queue, sizeof is, result, &is));
      check(davit_queue_synchronize(queue));
      double right = exact('d', 777, &x, 2, &y, -1, &bound);
      assert_true(fabs(is - right) <= bound);
      strided_drop(&x);
      strided_drop(&y);
      check(davit_free(result));
      check(davit_queue_destroy(queue));
    }
}

static void test_bad_arguments(void **state) {
  (void)state;
  double x[4] = {0}, y[4] = {0}, result = 5;
  int wrong = -7;
  strided_refused(davit_ddot(4, x, 0, y, 1, &result, NULL), DAVIT_INVALID_ARGUMENT, "incx");
  strided_refused(davit_ddot(4, x, 1, y, 0, &result, NULL), DAVIT_INVALID_ARGUMENT, "incy");
  strided_refused(davit_ddot(4, NULL, 1, y, 1, &result, NULL), DAVIT_INVALID_ARGUMENT, "x is NULL");
  strided_refused(davit_ddot(4, x, 1, NULL, 1, &result, NULL), DAVIT_INVALID_ARGUMENT, "y is NULL");
  strided_refused(davit_ddot(4, x, 1, y, 1, NULL, NULL), DAVIT_INVALID_ARGUMENT, "result is NULL");
  strided_refused(
      davit_ddot(4, x, 1, y, 1, &result, &(davit_dot_options){.devices = &wrong, .device_count = 1}),
      DAVIT_UNKNOWN_DEVICE, "-7");
  assert_true(result == 5);
  check(davit_ddot(-3, x, 1, y, 1, &result, NULL));
  assert_true(result == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes_increments_places),
      cmocka_unit_test(test_any_number_of_devices_same_bits),
      cmocka_unit_test(test_on_a_queue),
      cmocka_unit_test(test_bad_arguments),
  };
  return cmocka_run_group_tests(tests, strided_find_devices, strided_stop);
}
