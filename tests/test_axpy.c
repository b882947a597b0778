/* SPDX-License-Identifier: Apache-2.0 */
/* axpy against a plain loop: every element within 2 eps of its exact value, gaps and x untouched. */
#include "tests/dense.h"

#include "src/base/check.h"

typedef struct axpy_case {
  davit_type type;
  int64_t n, incx, incy;
  double alpha;
} axpy_case;

static davit_status call(const axpy_case *c, davit_queue *queue, const void *x, void *y,
                         const davit_axpy_options *options) {
  return c->type == DAVIT_DOUBLE ? FORM(queue, daxpy, c->n, c->alpha, x, c->incx, y, c->incy, options)
                                 : FORM(queue, saxpy, c->n, (float)c->alpha, x, c->incx, y, c->incy, options);
}

/* On the queue, or without one on the first `count` devices. */
static void run(const axpy_case *c, davit_queue *queue, int place_x, int place_y, int count) {
  SCOPE;
  int devices[MAX_PLACES];
  spread_devices(devices);
  const double alpha = c->type == DAVIT_DOUBLE ? c->alpha : (double)(float)c->alpha;
  dense x = vector_new(c->type, c->n, c->incx, place_x, 1);
  dense y = vector_new(c->type, c->n, c->incy, place_y, 2);
  CHECK(call(c, queue, dense_there(&x), dense_there(&y),
             queue ? NULL : ON(davit_axpy_options, devices, count)));
  if (queue)
    CHECK(davit_queue_synchronize(queue));
  dense_take(&y);
  for (int64_t i = 0; i < c->n; i++) {
    const double a = alpha * dense_at(&x, 0, i), b = dense_was(&y, 0, i), is = dense_at(&y, 0, i);
    if (!(fabs(is - (a + b)) <= 2 * element_epsilon(c->type) * (fabs(a) + fabs(b))))
      fail_msg("element %lld of %lld: %g, not %g", (long long)i, (long long)c->n, is, a + b);
  }
  assert_true(dense_as_image(&x));
}

CASE(test_sizes_increments_places) {
  static const int64_t sizes[] = {0, 1, 2, 31, 1000}, incs[] = {1, 2, -1, -3};
  int devices[MAX_PLACES], count = spread_devices(devices);
  for (int n = 0; n < COUNT(sizes); n++)
    for (int i = 0; i < COUNT(incs); i++)
      for (int j = 0; j < COUNT(incs); j++)
        for (int p = 0; p < DENSE_PLACES * DENSE_PLACES; p += 1 + (n + i + j) % 3) {
          const axpy_case c = {real_type(i + j + p), sizes[n], incs[i], incs[j], i ? 0.75 : -1};
          run(&c, NULL, dense_place(p % DENSE_PLACES), dense_place(p / DENSE_PLACES), 1 + p % count);
        }
}

/* Several chunks on every device. */
CASE(test_long) {
  int devices[MAX_PLACES], count = spread_devices(devices);
  for (int p = 0; p < DENSE_PLACES; p++) {
    const axpy_case c = {real_type(p), 9 * (1 << 20) + 7, 1, -1, 0.5};
    run(&c, NULL, dense_place(p), dense_place(DENSE_PLACES - 1 - p), count);
  }
}

CASE(test_alpha_zero_does_not_read_x) {
  double x[3] = {NAN, NAN, NAN}, y[3] = {1, 2, 3};
  CHECK(davit_daxpy(3, 0, x, 1, y, 1, NULL));
  assert_true(y[0] == 1 && y[1] == 2 && y[2] == 3);
}

CASE(test_on_a_queue) {
  EACH_DEVICE(device) {
    const axpy_case c = {real_type(device), 1234, 2, -3, 0.3};
    davit_queue *queue = new_queue(device, 1);
    run(&c, queue, place_for(device), place_for(device), 0);
    finish(queue);
  }
}

CASE(test_bad_arguments) {
  double x[4] = {0}, y[4] = {0};
  int wrong = 999;
  REFUSED(davit_daxpy(3, 1, y, 1, y + 1, 1, NULL), "overlaps");
  CHECK_FAILS(davit_daxpy(4, 1, x, 1, y, 1, ON(davit_axpy_options, &wrong, 1)), DAVIT_UNKNOWN_DEVICE, "999");
}

/* ---- vectors that overlap ---- */

/* Whether an element of a vector of nx has a byte of one of ny that begins `start` bytes behind it. */
static bool meet(int64_t nx, int64_t ny, int64_t stride, int64_t size, int64_t start) {
  for (int64_t i = 0; i < nx; i++)
    for (int64_t j = 0; j < ny; j++)
      if (llabs(start + (j - i) * stride) < size)
        return true;
  return false;
}

/* Vectors of one stride may lie between each other's elements, at any byte. */
CASE(test_vectors_between_each_other) {
  enum { SIZE = 8 };
  const char *x = kept(1024);
  x += 512;
  for (int64_t inc = 1; inc <= 4; inc++)
    for (int64_t nx = 0; nx <= 4; nx++)
      for (int64_t ny = 0; ny <= 4; ny++)
        for (int64_t start = -150; start <= 150; start++)
          for (int sign = -1; sign <= 1; sign += 2)
            assert_int_equal(dvt_vectors_overlap(x, nx, inc, x + start, ny, sign * inc, SIZE),
                             meet(nx, ny, inc * SIZE, SIZE, start));
}
