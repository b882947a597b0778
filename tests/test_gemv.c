/* gemv against a long double loop: each element within (k + 2) eps (|alpha| sum |a x| + |beta y|) of the exact
 * one, k the length of x; gaps of y untouched. */
#include "tests/strided.h"

typedef struct gemv_case {
  char type, trans;
  int64_t m, n, extra_ld, incx, incy;
  double alpha, beta;
  int place_a, place_x, place_y;
} gemv_case;

static int64_t outer(const gemv_case *c) {
  return c->trans == 'N' ? c->m : c->n;
}

static int64_t inner(const gemv_case *c) {
  return c->trans == 'N' ? c->n : c->m;
}

static int64_t ld_of(const gemv_case *c) {
  return (c->m > 0 ? c->m : 1) + c->extra_ld;
}

static void assert_product(const gemv_case *c, const strided *a, const strided *x, const strided *y) {
  void *now = strided_fetch(y);
  char *touched = calloc((size_t)strided_extent(outer(c), c->incy) + 1, 1);
  assert_non_null(touched);
  for (int64_t i = 0; i < outer(c) && c->m > 0 && c->n > 0; i++) {
    int64_t at = strided_index(i, outer(c), c->incy);
    long double sum = 0, size = 0;
    for (int64_t j = 0; j < inner(c) && c->alpha != 0; j++) {
      int64_t where = c->trans == 'N' ? i + j * ld_of(c) : j + i * ld_of(c);
      long double term = (long double)strided_at(c->type, a->host, where) *
                         (long double)strided_at(c->type, x->host, strided_index(j, inner(c), c->incx));
      sum += term;
      size += fabsl(term);
    }
    double before = c->beta == 0 ? 0 : c->beta * strided_at(c->type, y->host, at);
    double right = c->alpha * (double)sum + before, is = strided_at(c->type, now, at);
    double bound =
        ((double)inner(c) + 2) * strided_epsilon(c->type) * (fabs(c->alpha) * (double)size + fabs(before));
    touched[at] = 1;
    if (!(fabs(is - right) <= bound))
      fail_msg("%c m %lld n %lld, element %lld: %g, not %g", c->trans, (long long)c->m, (long long)c->n,
               (long long)i, is, right);
  }
  for (int64_t i = 0; i < strided_extent(outer(c), c->incy); i++)
    if (!touched[i])
      assert_true(strided_at(c->type, now, i) == strided_at(c->type, y->host, i));
  free(touched);
  free(now);
}

static void run(const gemv_case *c, int devices) {
  strided a = strided_make(c->type, ld_of(c) * c->n, strided_place(c->place_a), 1);
  strided x = strided_make(c->type, strided_extent(inner(c), c->incx), strided_place(c->place_x), 2);
  strided y = strided_make(c->type, strided_extent(outer(c), c->incy), strided_place(c->place_y), 3);
  if (c->type == 'd')
    check(davit_dgemv(c->trans, c->m, c->n, c->alpha, a.data, ld_of(c), x.data, c->incx, c->beta, y.data,
                      c->incy, &(davit_gemv_options){.devices = strided_devices, .device_count = devices}));
  else
    check(davit_sgemv(c->trans, c->m, c->n, (float)c->alpha, a.data, ld_of(c), x.data, c->incx,
                      (float)c->beta, y.data, c->incy,
                      &(davit_gemv_options){.devices = strided_devices, .device_count = devices}));
  assert_product(c, &a, &x, &y);
  strided_drop(&a);
  strided_drop(&x);
  strided_drop(&y);
}

static void test_sizes_and_places(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, 1, 2, 37, 130}, incs[] = {1, 2, -1, -3};
  for (int m = 0; m < 5; m++)
    for (int n = 0; n < 5; n++)
      for (int p = 0; p < STRIDED_PLACES * STRIDED_PLACES * STRIDED_PLACES; p += 7) {
        gemv_case c = {"ds"[p % 2],
                       "NT"[p / 2 % 2],
                       sizes[m],
                       sizes[n],
                       p % 3,
                       incs[(m + p) % 4],
                       incs[(n + p / 4) % 4],
                       0.5,
                       -0.25,
                       p % 4,
                       p / 4 % 4,
                       p / 16};
        run(&c, 1 + p % strided_count);
      }
}

static void test_scalars(void **state) {
  (void)state;
  static const double scalars[] = {0, 1, -1, 0.75};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      for (int t = 0; t < 2; t++) {
        gemv_case c = {"ds"[t], "NT"[t], 65, 33, 1, 1, 1, scalars[i], scalars[j], i, j, 3 - i};
        run(&c, strided_count);
      }
}

/* Long enough for several chunks along x and along y. */
static void test_several_chunks(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{3000, 4500}, {3, 3000000}, {3000000, 3}};
  for (int s = 0; s < 3; s++)
    for (int t = 0; t < 2; t++) {
      gemv_case c = {"ds"[s % 2], "NT"[t], shapes[s][0], shapes[s][1], 1, 1, -1, 1, 0.5, s % 2, 0, 1};
      run(&c, strided_count);
    }
}

static void test_beta_zero_does_not_read_y(void **state) {
  (void)state;
  double a[4] = {1, 2, 3, 4}, x[2] = {1, 1}, y[2] = {NAN, NAN};
  check(davit_dgemv('N', 2, 2, 1, a, 2, x, 1, 0, y, 1, NULL));
  assert_true(y[0] == 4 && y[1] == 6);
}

static void test_on_a_queue(void **state) {
  (void)state;
  for (int d = -1; d < strided_count; d++)
    for (int t = 0; t < 2; t++) {
      int device = d < 0 ? DAVIT_HOST : strided_devices[d];
      int place = device == DAVIT_HOST ? DAVIT_PAGEABLE : device;
      gemv_case c = {"ds"[t], "NT"[t], 123, 77, 2, 2, -1, 0.5, 2, 0, 0, 0};
      davit_queue *queue;
      check(davit_queue_create(device, &queue, NULL));
      strided a = strided_make(c.type, ld_of(&c) * c.n, place, 1);
      strided x = strided_make(c.type, strided_extent(inner(&c), c.incx), place, 2);
      strided y = strided_make(c.type, strided_extent(outer(&c), c.incy), place, 3);
      if (c.type == 'd')
        check(davit_queue_dgemv(queue, c.trans, c.m, c.n, c.alpha, a.data, ld_of(&c), x.data, c.incx, c.beta,
                                y.data, c.incy, NULL));
      else
        check(davit_queue_sgemv(queue, c.trans, c.m, c.n, (float)c.alpha, a.data, ld_of(&c), x.data, c.incx,
                                (float)c.beta, y.data, c.incy, NULL));
      check(davit_queue_synchronize(queue));
      assert_product(&c, &a, &x, &y);
      strided_drop(&a);
      strided_drop(&x);
      strided_drop(&y);
      check(davit_queue_destroy(queue));
    }
}

static void test_bad_arguments(void **state) {
  (void)state;
  double a[4] = {0}, x[2] = {0}, y[2] = {0};
  const davit_status bad = DAVIT_INVALID_ARGUMENT;
  strided_refused(davit_dgemv('Q', 2, 2, 1, a, 2, x, 1, 0, y, 1, NULL), bad, "trans");
  strided_refused(davit_dgemv('N', -2, 2, 1, a, 2, x, 1, 0, y, 1, NULL), bad, "m is -2");
  strided_refused(davit_dgemv('N', 2, -2, 1, a, 2, x, 1, 0, y, 1, NULL), bad, "n is -2");
  strided_refused(davit_dgemv('N', 2, 2, 1, a, 1, x, 1, 0, y, 1, NULL), bad, "lda");
  strided_refused(davit_dgemv('N', 2, 2, 1, a, 2, x, 0, 0, y, 1, NULL), bad, "incx");
  strided_refused(davit_dgemv('N', 2, 2, 1, a, 2, x, 1, 0, y, 0, NULL), bad, "incy");
  strided_refused(davit_dgemv('N', 2, 2, 1, NULL, 2, x, 1, 0, y, 1, NULL), bad, "a is NULL");
  strided_refused(davit_dgemv('N', 2, 2, 1, a, 2, NULL, 1, 0, y, 1, NULL), bad, "x is NULL");
  strided_refused(davit_dgemv('N', 2, 2, 1, a, 2, x, 1, 0, NULL, 1, NULL), bad, "y is NULL");
  strided_refused(davit_dgemv('N', 2, 2, 1, a, 2, y, 1, 0, y, 1, NULL), bad, "overlaps");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes_and_places), cmocka_unit_test(test_scalars),
      cmocka_unit_test(test_several_chunks),   cmocka_unit_test(test_beta_zero_does_not_read_y),
      cmocka_unit_test(test_on_a_queue),       cmocka_unit_test(test_bad_arguments),
  };
  return cmocka_run_group_tests(tests, strided_find_devices, strided_stop);
}
