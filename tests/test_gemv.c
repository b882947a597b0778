/* SPDX-License-Identifier: Apache-2.0 */
/* gemv against a long double loop: each element within (k + 2) eps (|alpha| sum |a x| + |beta y|) of the
 * exact one, k the length of x; gaps of y untouched. */
#include "tests/dense.h"

typedef struct gemv_case {
  davit_type type;
  char trans;
  int64_t m, n, extra_ld, incx, incy;
  double alpha, beta;
  int places[3]; /* of a, x and y */
} gemv_case;

static davit_status call(const gemv_case *c, davit_queue *queue, const dense *a, const void *x, void *y,
                         const davit_gemv_options *o) {
  const void *p = dense_there(a);
  const float alpha = (float)c->alpha, beta = (float)c->beta;
  const int64_t m = c->m, n = c->n, lda = a->ld, incx = c->incx, incy = c->incy;
  return c->type == DAVIT_DOUBLE
             ? FORM(queue, dgemv, c->trans, m, n, c->alpha, p, lda, x, incx, c->beta, y, incy, o)
             : FORM(queue, sgemv, c->trans, m, n, alpha, p, lda, x, incx, beta, y, incy, o);
}

static void expect_product(const gemv_case *c, const dense *a, const dense *x, const dense *y) {
  for (int64_t i = 0; i < y->cols && c->m > 0 && c->n > 0; i++) {
    long double sum = 0, size = 0;
    for (int64_t j = 0; j < x->cols && c->alpha != 0; j++) {
      long double term = (long double)(c->trans == 'N' ? dense_at(a, i, j) : dense_at(a, j, i)) *
                         (long double)dense_at(x, 0, j);
      sum += term;
      size += fabsl(term);
    }
    const double before = c->beta == 0 ? 0 : c->beta * dense_was(y, 0, i);
    const double right = c->alpha * (double)sum + before, is = dense_at(y, 0, i);
    const double bound =
        ((double)x->cols + 2) * element_epsilon(c->type) * (fabs(c->alpha) * (double)size + fabs(before));
    if (!(fabs(is - right) <= bound))
      fail_msg("%c m %lld n %lld, element %lld: %g, not %g", c->trans, (long long)c->m, (long long)c->n,
               (long long)i, is, right);
  }
}

/* On the queue, or without one on the first `count` devices. */
static void run(const gemv_case *c, davit_queue *queue, int count) {
  SCOPE;
  int devices[MAX_PLACES];
  spread_devices(devices);
  const int64_t inner = c->trans == 'N' ? c->n : c->m, outer = c->trans == 'N' ? c->m : c->n;
  dense a = dense_new(c->type, c->m, c->n, c->extra_ld, 0, c->places[0], 1);
  dense x = vector_new(c->type, inner, c->incx, c->places[1], 2);
  dense y = vector_new(c->type, outer, c->incy, c->places[2], 3);
  CHECK(call(c, queue, &a, dense_there(&x), dense_there(&y),
             queue ? NULL : ON(davit_gemv_options, devices, count)));
  if (queue)
    CHECK(davit_queue_synchronize(queue));
  dense_take(&y);
  expect_product(c, &a, &x, &y);
}

static void put_at(gemv_case *c, int a, int x, int y) {
  c->places[0] = a, c->places[1] = x, c->places[2] = y;
}

CASE(test_sizes_and_places) {
  static const int64_t sizes[] = {0, 1, 2, 37, 130}, incs[] = {1, 2, -1, -3};
  int devices[MAX_PLACES], count = spread_devices(devices);
  for (int m = 0; m < COUNT(sizes); m++)
    for (int n = 0; n < COUNT(sizes); n++)
      for (int p = 0; p < DENSE_PLACES * DENSE_PLACES * DENSE_PLACES; p += 7) {
        gemv_case c = {real_type(p), "NT"[p / 2 % 2], sizes[m], sizes[n], .extra_ld = p % 3};
        c.incx = incs[(m + p) % 4];
        c.incy = incs[(n + p / 4) % 4];
        c.alpha = 0.5;
        c.beta = -0.25;
        put_at(&c, dense_place(p % 4), dense_place(p / 4 % 4), dense_place(p / 16));
        run(&c, NULL, 1 + p % count);
      }
}

CASE(test_scalars) {
  static const double scalars[] = {0, 1, -1, 0.75};
  int devices[MAX_PLACES], count = spread_devices(devices);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      for (int t = 0; t < 2; t++) {
        gemv_case c = {real_type(t), "NT"[t], 65, 33, 1, 1, 1, scalars[i], .beta = scalars[j]};
        put_at(&c, dense_place(i), dense_place(j), dense_place(3 - i));
        run(&c, NULL, count);
      }
}

/* Long enough for several chunks along x and along y. */
CASE(test_several_chunks) {
  static const int64_t shapes[][2] = {{3000, 4500}, {3, 3000000}, {3000000, 3}};
  int devices[MAX_PLACES], count = spread_devices(devices);
  for (int s = 0; s < COUNT(shapes); s++)
    for (int t = 0; t < 2; t++) {
      gemv_case c = {real_type(s + 1), "NT"[t], shapes[s][0], shapes[s][1], 1, 1, -1, 1, .beta = 0.5};
      put_at(&c, dense_place(s % 2), DAVIT_PAGEABLE, DAVIT_PINNED);
      run(&c, NULL, count);
    }
}

CASE(test_beta_zero_does_not_read_y) {
  double a[4] = {1, 2, 3, 4}, x[2] = {1, 1}, y[2] = {NAN, NAN};
  CHECK(davit_dgemv('N', 2, 2, 1, a, 2, x, 1, 0, y, 1, NULL));
  assert_true(y[0] == 4 && y[1] == 6);
}

/* ---- numbers that are not finite ---- */

/* A(i, j), or x_j with `in_x`, is not finite, and is multiplied with `other`: the elements of y that
 * it belongs to are not finite, all others are. */
typedef struct special {
  gemv_case c;
  double value, other;
  bool in_x;
  int64_t i, j;
} special;

static void expect_special(const special *s, davit_queue *queue) {
  SCOPE;
  const gemv_case *c = &s->c;
  const int64_t inner = c->trans == 'N' ? c->n : c->m, outer = c->trans == 'N' ? c->m : c->n;
  dense a = dense_new(c->type, c->m, c->n, c->extra_ld, 0, c->places[0], 1);
  dense x = vector_new(c->type, inner, c->incx, c->places[1], 2);
  dense y = vector_new(c->type, outer, c->incy, c->places[2], 3);
  for (int64_t i = 0; i < outer && s->in_x; i++)
    dense_set(&a, c->trans == 'N' ? i : s->j, c->trans == 'N' ? s->j : i, s->other);
  if (!s->in_x)
    dense_set(&a, c->trans == 'N' ? s->i : s->j, c->trans == 'N' ? s->j : s->i, s->value);
  dense_set(&x, 0, s->j, s->in_x ? s->value : s->other);
  dense_give(&a), dense_give(&x);
  CHECK(call(c, queue, &a, dense_there(&x), dense_there(&y), NULL));
  if (queue)
    CHECK(davit_queue_synchronize(queue));
  dense_take(&y);
  for (int64_t i = 0; i < outer; i++)
    if (isfinite(dense_at(&y, 0, i)) != !(c->alpha != 0 && (s->in_x || i == s->i)))
      fail_msg("%c %s m %lld n %lld incx %lld incy %lld: %s %g at %lld times %g: element %lld is %g",
               c->trans, davit_type_string(c->type), (long long)c->m, (long long)c->n, (long long)c->incx,
               (long long)c->incy, s->in_x ? "x" : "A", s->value, (long long)s->j, s->other, (long long)i,
               dense_at(&y, 0, i));
}

static void expect_specials(davit_queue *queue, int place, uint64_t *seed) {
  static const double values[] = {NAN, INFINITY, -INFINITY}, others[] = {0, -0.0, 1, 1e-30};
  static const int64_t incs[] = {1, 1, 1, 2, -1, -3};
  for (int turn = 0; turn < 250; turn++) {
    special s = {.c = {.type = real_type(turn),
                       .trans = "NNT"[turn % 3],
                       .m = 1 + random_below(seed, turn % 7 ? 20 : 150),
                       .n = 1 + random_below(seed, turn % 5 ? 20 : 150),
                       .extra_ld = random_below(seed, 2),
                       .incx = incs[random_below(seed, COUNT(incs))],
                       .incy = incs[random_below(seed, COUNT(incs))],
                       .alpha = turn % 11 == 0  ? 0
                                : turn % 4 == 0 ? 1e-30
                                                : -1,
                       .beta = turn % 2,
                       .places = {place, place, place}},
                 .value = values[turn / 2 % COUNT(values)],
                 .other = others[random_below(seed, COUNT(others))],
                 .in_x = turn % 9 == 0};
    s.i = random_below(seed, (int)(s.c.trans == 'N' ? s.c.m : s.c.n));
    s.j = random_below(seed, (int)(s.c.trans == 'N' ? s.c.n : s.c.m));
    expect_special(&s, queue);
  }
}

static void specials_on_all_paths(void) {
  uint64_t seed = 17;
  for (int device = DAVIT_HOST; device < device_count(); device++) {
    davit_queue *queue = new_queue(device, 1);
    expect_specials(queue, place_for(device), &seed);
    finish(queue);
  }
  expect_specials(NULL, DAVIT_PAGEABLE, &seed);
}

/* NaN and infinity propagate, also where they are multiplied with 0, unless alpha is 0. */
CASE(test_not_finite) {
  specials_on_all_paths();
  without_blas(specials_on_all_paths);
}

CASE(test_on_a_queue) {
  EACH_DEVICE(device)
    for (int t = 0; t < 2; t++) {
      const int place = place_for(device);
      const gemv_case c = {real_type(t), "NT"[t], 123, 77, 2, 2, -1, 0.5, 2, {place, place, place}};
      davit_queue *queue = new_queue(device, 1);
      run(&c, queue, 0);
      finish(queue);
    }
}

CASE(test_bad_arguments) {
  double a[4] = {0}, x[2] = {0}, y[2] = {0};
  REFUSED(davit_dgemv('N', 2, 2, 1, a, 1, x, 1, 0, y, 1, NULL), "lda");
  REFUSED(davit_dgemv('N', 2, 2, 1, a, 2, y, 1, 0, y, 1, NULL), "overlaps");
}
