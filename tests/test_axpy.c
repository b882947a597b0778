/* axpy against a plain loop: every element within 2 eps of its exact value, gaps and x untouched. */
#include "tests/strided.h"

typedef struct axpy_case {
  char type;
  int64_t n, incx, incy;
  double alpha;
  int place_x, place_y;
} axpy_case;

static void assert_sum(const axpy_case *c, const strided *x, const strided *y) {
  void *now = strided_fetch(y);
  char *touched = calloc((size_t)strided_extent(c->n, c->incy) + 1, 1);
  assert_non_null(touched);
  for (int64_t i = 0; i < c->n; i++) {
    int64_t at = strided_index(i, c->n, c->incy);
    double a = c->alpha * strided_at(c->type, x->host, strided_index(i, c->n, c->incx));
    double b = strided_at(c->type, y->host, at), is = strided_at(c->type, now, at);
    touched[at] = 1;
    if (!(fabs(is - (a + b)) <= 2 * strided_epsilon(c->type) * (fabs(a) + fabs(b))))
      fail_msg("element %lld of %lld: %g, not %g", (long long)i, (long long)c->n, is, a + b);
  }
  for (int64_t i = 0; i < strided_extent(c->n, c->incy); i++)
    if (!touched[i])
      assert_true(strided_at(c->type, now, i) == strided_at(c->type, y->host, i));
  free(touched);
  free(now);
}

static void run(const axpy_case *c, int devices) {
  strided x = strided_make(c->type, strided_extent(c->n, c->incx), strided_place(c->place_x), 1);
  strided y = strided_make(c->type, strided_extent(c->n, c->incy), strided_place(c->place_y), 2);
  if (c->type == 'd')
    check(davit_daxpy(c->n, c->alpha, x.data, c->incx, y.data, c->incy,
                      &(davit_axpy_options){.devices = strided_devices, .device_count = devices}));
  else
    check(davit_saxpy(c->n, (float)c->alpha, x.data, c->incx, y.data, c->incy,
                      &(davit_axpy_options){.devices = strided_devices, .device_count = devices}));
  assert_sum(c, &x, &y);
  void *now = strided_fetch(&x);
  assert_memory_equal(now, x.host, x.bytes);
  free(now);
  strided_drop(&x);
  strided_drop(&y);
}

static void test_sizes_increments_places(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, 1, 2, 31, 1000}, incs[] = {1, 2, -1, -3};
  for (int n = 0; n < 5; n++)
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++)
        for (int p = 0; p < STRIDED_PLACES * STRIDED_PLACES; p += 1 + (n + i + j) % 3) {
          axpy_case c = {"ds"[(i + j + p) % 2], sizes[n],           incs[i],           incs[j],
                         i ? 0.75 : -1,         p % STRIDED_PLACES, p / STRIDED_PLACES};
          run(&c, 1 + p % strided_count);
        }
}

/* Several chunks on every device. */
static void test_long(void **state) {
  (void)state;
  for (int p = 0; p < STRIDED_PLACES; p++) {
    axpy_case c = {p % 2 ? 's' : 'd', 9 * (1 << 20) + 7, 1, -1, 0.5, p, STRIDED_PLACES - 1 - p};
    run(&c, strided_count);
  }
}

static void test_alpha_zero_does_not_read_x(void **state) {
  (void)state;
  double x[3] = {NAN, NAN, NAN}, y[3] = {1, 2, 3};
  check(davit_daxpy(3, 0, x, 1, y, 1, NULL));
  assert_true(y[0] == 1 && y[1] == 2 && y[2] == 3);
}

static void test_on_a_queue(void **state) {
  (void)state;
  for (int d = -1; d < strided_count; d++) {
    int device = d < 0 ? DAVIT_HOST : strided_devices[d];
    axpy_case c = {d % 2 ? 's' : 'd', 1234, 2, -3, 0.3, 0, 0};
    davit_queue *queue;
    check(davit_queue_create(device, &queue, NULL));
    int place = device == DAVIT_HOST ? DAVIT_PAGEABLE : device;
    strided x = strided_make(c.type, strided_extent(c.n, c.incx), place, 1);
    strided y = strided_make(c.type, strided_extent(c.n, c.incy), place, 2);
    if (c.type == 'd')
      check(davit_queue_daxpy(queue, c.n, c.alpha, x.data, c.incx, y.data, c.incy, NULL));
    else
      check(davit_queue_saxpy(queue, c.n, (float)c.alpha, x.data, c.incx, y.data, c.incy, NULL));
    check(davit_queue_synchronize(queue));
    if (c.type == 's')
      c.alpha = (double)(float)c.alpha;
    assert_sum(&c, &x, &y);
    strided_drop(&x);
    strided_drop(&y);
    check(davit_queue_destroy(queue));
  }
}

static void test_bad_arguments(void **state) {
  (void)state;
  double x[4] = {0}, y[4] = {0};
  int wrong = 999;
  strided_refused(davit_daxpy(-1, 1, x, 1, y, 1, NULL), DAVIT_INVALID_ARGUMENT, "n is -1");
  strided_refused(davit_daxpy(4, 1, x, 0, y, 1, NULL), DAVIT_INVALID_ARGUMENT, "incx");
  strided_refused(davit_daxpy(4, 1, x, 1, y, 0, NULL), DAVIT_INVALID_ARGUMENT, "incy");
  strided_refused(davit_daxpy(4, 1, NULL, 1, y, 1, NULL), DAVIT_INVALID_ARGUMENT, "x is NULL");
  strided_refused(davit_daxpy(4, 1, x, 1, NULL, 1, NULL), DAVIT_INVALID_ARGUMENT, "y is NULL");
  strided_refused(davit_daxpy(3, 1, y, 1, y + 1, 1, NULL), DAVIT_INVALID_ARGUMENT, "overlaps");
  strided_refused(davit_daxpy(4, 1, x, 1, y, 1, &(davit_axpy_options){.devices = &wrong, .device_count = 1}),
                  DAVIT_UNKNOWN_DEVICE, "999");
  strided_refused(davit_queue_daxpy(NULL, 4, 1, x, 1, y, 1, NULL), DAVIT_INVALID_ARGUMENT, "queue");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes_increments_places),
      cmocka_unit_test(test_long),
      cmocka_unit_test(test_alpha_zero_does_not_read_x),
      cmocka_unit_test(test_on_a_queue),
      cmocka_unit_test(test_bad_arguments),
  };
  return cmocka_run_group_tests(tests, strided_find_devices, strided_stop);
}
