/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of levels 1 and 2 of BLAS, and of atax. */
#include <ctype.h>

#include "tests/operations.h"

enum { X, Y };

/* Vectors of a trial: its first size long. One case of 100 has several chunks. */
static void draw_vectors(trial *t, uint64_t *seed) {
  const bool is_long = t->number % 100 == 7;
  t->type = draw_type(seed);
  t->size[0] = is_long ? (1 << 20) + draw_length(seed, 1 << 20) : draw_length(seed, 5000);
  t->step[X] = is_long ? 1 : draw_increment(seed);
  t->step[Y] = is_long ? DRAW(seed, int64_t, 1, -1) : draw_increment(seed);
  t->alpha = draw_factor(t->type, seed);
  t->which = random_below(seed, 2);
}

static dense new_vector(const trial *t, int which, int64_t n, const int *places, bool unread) {
  return vector_new(t->type, n, t->step[which], places[which], unread ? UNSET : t->data + (uint64_t)which);
}

/* ---- axpy ---- */

static void draw_axpy(trial *t, uint64_t *seed) {
  draw_vectors(t, seed);
  t->written = 1 << Y;
}

static void make_axpy(const trial *t, const int places[OPERANDS], dense *o) {
  o[X] = new_vector(t, X, t->size[0], places, t->alpha == 0);
  o[Y] = new_vector(t, Y, t->size[0], places, false);
}

static davit_status call_axpy(const trial *t, const dense *o, davit_queue *queue, const int *devices,
                              int count) {
  const void *x = dense_there(&o[X]);
  void *y = dense_there(&o[Y]);
  const int64_t n = t->size[0], incx = t->step[X], incy = t->step[Y];
  const davit_axpy_options *options = ON(davit_axpy_options, devices, count);
  return OF_TYPE(t->type, FORM(queue, daxpy, n, (double)t->alpha, x, incx, y, incy, options),
                 FORM(queue, saxpy, n, (float)t->alpha, x, incx, y, incy, options),
                 FORM(queue, zaxpy, n, t->alpha, x, incx, y, incy, options),
                 FORM(queue, caxpy, n, (davit_complex_float)t->alpha, x, incx, y, incy, options));
}

static void expect_axpy(const trial *t, dense *o) {
  for (int64_t i = 0; i < t->size[0]; i++) {
    const wide was = dense_old_value(&o[Y], 0, i),
               term = t->alpha == 0 ? 0 : (wide)t->alpha * dense_value(&o[X], 0, i);
    expect_within("y", &o[Y], 0, i, term + was, 2 * trial_epsilon(t) * (size_of(term) + size_of(was)));
  }
}

const operation axpy_operation = {.name = "axpy",
                                  .cases = 2500,
                                  .operands = 2,
                                  .tunable = "chunk",
                                  .shortest = 1 << 12,
                                  .draw = draw_axpy,
                                  .make = make_axpy,
                                  .call = call_axpy,
                                  .expect = expect_axpy};

/* ---- scal ---- */

static void draw_scal(trial *t, uint64_t *seed) {
  draw_vectors(t, seed);
  t->written = 1 << X;
}

static void make_scal(const trial *t, const int places[OPERANDS], dense *o) {
  o[X] = new_vector(t, X, t->size[0], places, false);
}

static davit_status call_scal(const trial *t, const dense *o, davit_queue *queue, const int *devices,
                              int count) {
  void *x = dense_there(&o[X]);
  const int64_t n = t->size[0], incx = t->step[X];
  const davit_scal_options *options = ON(davit_scal_options, devices, count);
  return OF_TYPE(t->type, FORM(queue, dscal, n, (double)t->alpha, x, incx, options),
                 FORM(queue, sscal, n, (float)t->alpha, x, incx, options),
                 FORM(queue, zscal, n, t->alpha, x, incx, options),
                 FORM(queue, cscal, n, (davit_complex_float)t->alpha, x, incx, options));
}

static void expect_scal(const trial *t, dense *o) {
  for (int64_t i = 0; i < t->size[0]; i++) {
    const wide right = (wide)t->alpha * dense_old_value(&o[X], 0, i);
    expect_within("x", &o[X], 0, i, right, trial_epsilon(t) * size_of(right));
  }
}

const operation scal_operation = {.name = "scal",
                                  .cases = 600,
                                  .operands = 1,
                                  .draw = draw_scal,
                                  .make = make_scal,
                                  .call = call_scal,
                                  .expect = expect_scal};

/* ---- dot ---- */

enum { DOT = 2 };

static void draw_dot(trial *t, uint64_t *seed) {
  draw_vectors(t, seed);
  t->written = 1 << DOT;
}

static void make_dot(const trial *t, const int places[OPERANDS], dense *o) {
  o[X] = new_vector(t, X, t->size[0], places, false);
  o[Y] = new_vector(t, Y, t->size[0], places, false);
  o[DOT] = dense_new(t->type, 1, 1, 0, 0, places[DOT], UNSET);
}

static davit_status call_dot(const trial *t, const dense *o, davit_queue *queue, const int *devices,
                             int count) {
  const void *x = dense_there(&o[X]), *y = dense_there(&o[Y]);
  void *dot = dense_there(&o[DOT]);
  const int64_t n = t->size[0], incx = t->step[X], incy = t->step[Y];
  const davit_dot_options *options = ON(davit_dot_options, devices, count);
  return OF_TYPE(t->type, FORM(queue, ddot, n, x, incx, y, incy, dot, options),
                 FORM(queue, sdot, n, x, incx, y, incy, dot, options),
                 t->which ? FORM(queue, zdotc, n, x, incx, y, incy, dot, options)
                          : FORM(queue, zdotu, n, x, incx, y, incy, dot, options),
                 t->which ? FORM(queue, cdotc, n, x, incx, y, incy, dot, options)
                          : FORM(queue, cdotu, n, x, incx, y, incy, dot, options));
}

static void expect_dot(const trial *t, dense *o) {
  wide sum = 0;
  long double size = 0;
  for (int64_t i = 0; i < t->size[0]; i++) {
    const wide x = dense_value(&o[X], 0, i), term = (t->which ? conjl(x) : x) * dense_value(&o[Y], 0, i);
    sum += term;
    size += size_of(term);
  }
  expect_within("dot", &o[DOT], 0, 0, sum, sqrtl((long double)t->size[0]) * trial_epsilon(t) * size);
}

const operation dot_operation = {.name = "dot",
                                 .cases = 2500,
                                 .operands = 3,
                                 .results = 1 << DOT,
                                 .draw = draw_dot,
                                 .make = make_dot,
                                 .call = call_dot,
                                 .expect = expect_dot};

/* ---- norms ---- */

enum { NORM = 1 };

static void draw_norm(trial *t, uint64_t *seed) {
  draw_vectors(t, seed);
  t->written = 1 << NORM;
}

static void make_norm(const trial *t, const int places[OPERANDS], dense *o) {
  o[X] = new_vector(t, X, t->size[0], places, false);
  o[NORM] = dense_new(part_type(t->type), 1, 1, 0, 0, places[NORM], UNSET);
}

static davit_status call_norm(const trial *t, const dense *o, davit_queue *queue, const int *devices,
                              int count) {
  const void *x = dense_there(&o[X]);
  void *norm = dense_there(&o[NORM]);
  const int64_t n = t->size[0], incx = t->step[X];
  const davit_norm_options *options = ON(davit_norm_options, devices, count);
  return t->which ? OF_TYPE(t->type, FORM(queue, dnrm2, n, x, incx, norm, options),
                            FORM(queue, snrm2, n, x, incx, norm, options),
                            FORM(queue, dznrm2, n, x, incx, norm, options),
                            FORM(queue, scnrm2, n, x, incx, norm, options))
                  : OF_TYPE(t->type, FORM(queue, dasum, n, x, incx, norm, options),
                            FORM(queue, sasum, n, x, incx, norm, options),
                            FORM(queue, dzasum, n, x, incx, norm, options),
                            FORM(queue, scasum, n, x, incx, norm, options));
}

static void expect_norm(const trial *t, dense *o) {
  long double sum = 0;
  for (int64_t i = 0; i < t->size[0]; i++) {
    const wide x = dense_value(&o[X], 0, i);
    sum += t->which ? creall(x) * creall(x) + cimagl(x) * cimagl(x) : size_of(x);
  }
  const long double right = t->which ? sqrtl(sum) : sum;
  expect_within("norm", &o[NORM], 0, 0, right,
                (4 + sqrtl((long double)t->size[0])) * trial_epsilon(t) * right);
}

const operation norm_operation = {.name = "norm",
                                  .cases = 2500,
                                  .operands = 2,
                                  .results = 1 << NORM,
                                  .draw = draw_norm,
                                  .make = make_norm,
                                  .call = call_norm,
                                  .expect = expect_norm};

/* ---- matrices ---- */

/* Lengths of the rows and columns of op(A), whose shape are the sizes. */
static int64_t inner(const trial *t) {
  return t->size[t->flag[0] == 'N'];
}

static int64_t outer(const trial *t) {
  return t->size[t->flag[0] != 'N'];
}

/* Element (i, j) of op(A). */
static wide op(const trial *t, const dense *a, int64_t i, int64_t j) {
  const wide value = t->flag[0] == 'N' ? dense_value(a, i, j) : dense_value(a, j, i);
  return t->flag[0] == 'C' ? conjl(value) : value;
}

/* One case of 20 is large or long. */
static void draw_matrix(trial *t, uint64_t *seed) {
  const int64_t most = t->number % 20 == 7 ? 700 : 150;
  t->size[0] = draw_length(seed, most);
  t->size[1] = draw_length(seed, most);
  if (t->number % 20 == 17)
    t->size[t->number / 20 % 2] = draw_length(seed, 20000),
                             t->size[1 - t->number / 20 % 2] = random_below(seed, 10);
}

/* flag[1]: 'n' makes an element of A not finite, 'x' one of x; what it is multiplied with is small or 0. Its results
 * are not finite either. */
static void put_special(const trial *t, dense *a, dense *x, bool column) {
  static const double specials[] = {NAN, INFINITY, -INFINITY}, others[] = {0, -0.0, 1, 1e-30};
  if (t->flag[1] == '-' || inner(t) == 0 || outer(t) == 0)
    return;
  const int64_t i = (int64_t)(t->data >> 8) % t->size[0],
                j = (int64_t)(t->data >> 24 & 0xffffff) % t->size[1], at = t->flag[0] == 'N' ? j : i;
  const double special = specials[(t->data >> 6) % COUNT(specials)],
               other = others[(t->data >> 40) % COUNT(others)];
  for (int64_t k = 0; k < outer(t) && t->flag[1] == 'x'; k++)
    dense_set(a, t->flag[0] == 'N' ? k : i, t->flag[0] == 'N' ? j : k, other);
  if (t->flag[1] == 'n')
    dense_set(a, i, j, special);
  dense_set(x, column ? at : 0, column ? 0 : at, t->flag[1] == 'n' ? other : special);
  dense_give(a);
  dense_give(x);
}

/* ---- gemv ---- */

enum { A, OF_A, Y_OF_A };

static void draw_gemv(trial *t, uint64_t *seed) {
  t->type = draw_type(seed);
  t->flag[0] = DRAW(seed, char, 'N', 'T', is_complex_type(t->type) ? 'C' : 'T');
  draw_matrix(t, seed);
  t->lower_case = random_below(seed, 4) == 0;
  t->step[A] = random_below(seed, 4);
  t->shift[A] = random_below(seed, 4);
  t->step[OF_A] = draw_increment(seed);
  t->step[Y_OF_A] = draw_increment(seed);
  t->alpha = draw_factor(t->type, seed);
  t->beta = draw_factor(t->type, seed);
  t->flag[1] =
      is_complex_type(t->type) || t->alpha == 0 ? '-' : DRAW(seed, char, '-', '-', '-', 'n', 'n', 'x');
  if (t->flag[1] != '-' && random_below(seed, 4) == 0)
    t->alpha = 1e-30;
  t->written = 1 << Y_OF_A;
}

static void make_gemv(const trial *t, const int places[OPERANDS], dense *o) {
  const bool unread = t->alpha == 0;
  o[A] = dense_new(t->type, t->size[0], t->size[1], t->step[A], t->shift[A], places[A],
                   unread ? UNSET : t->data + A);
  o[OF_A] = new_vector(t, OF_A, inner(t), places, unread);
  o[Y_OF_A] = new_vector(t, Y_OF_A, outer(t), places, t->beta == 0);
  put_special(t, &o[A], &o[OF_A], false);
}

static davit_status call_gemv(const trial *t, const dense *o, davit_queue *queue, const int *devices,
                              int count) {
  const void *a = dense_there(&o[A]), *x = dense_there(&o[OF_A]);
  void *y = dense_there(&o[Y_OF_A]);
  const int64_t m = t->size[0], n = t->size[1], lda = dense_ld(&o[A]), incx = t->step[OF_A],
                incy = t->step[Y_OF_A];
  const char trans = (char)(t->lower_case ? tolower(t->flag[0]) : t->flag[0]);
  const davit_complex_float alpha = (davit_complex_float)t->alpha, beta = (davit_complex_float)t->beta;
  const davit_gemv_options *options = ON(davit_gemv_options, devices, count);
  return OF_TYPE(
      t->type,
      FORM(queue, dgemv, trans, m, n, (double)t->alpha, a, lda, x, incx, (double)t->beta, y, incy, options),
      FORM(queue, sgemv, trans, m, n, (float)t->alpha, a, lda, x, incx, (float)t->beta, y, incy, options),
      FORM(queue, zgemv, trans, m, n, t->alpha, a, lda, x, incx, t->beta, y, incy, options),
      FORM(queue, cgemv, trans, m, n, alpha, a, lda, x, incx, beta, y, incy, options));
}

static void expect_gemv(const trial *t, dense *o) {
  if (t->size[0] == 0 || t->size[1] == 0) {
    expect_old("y", &o[Y_OF_A]);
    return;
  }
  for (int64_t i = 0; i < outer(t); i++) {
    wide sum = 0;
    long double size = 0;
    for (int64_t j = 0; j < inner(t) && t->alpha != 0; j++) {
      const wide term = op(t, &o[A], i, j) * dense_value(&o[OF_A], 0, j);
      sum += term;
      size += size_of(term);
    }
    const wide was = t->beta == 0 ? 0 : (wide)t->beta * dense_old_value(&o[Y_OF_A], 0, i);
    expect_within("y", &o[Y_OF_A], 0, i, (wide)t->alpha * sum + was,
                  ((long double)inner(t) + 2) * trial_epsilon(t) *
                      (size_of((wide)t->alpha) * size + size_of(was)));
  }
}

const operation gemv_operation = {.name = "gemv",
                                  .cases = 4000,
                                  .operands = 3,
                                  .tunable = "chunk",
                                  .shortest = 1 << 12,
                                  .draw = draw_gemv,
                                  .make = make_gemv,
                                  .call = call_gemv,
                                  .expect = expect_gemv};

/* ---- atax ---- */

enum { TMP = 2, ATAX };

static void draw_atax(trial *t, uint64_t *seed) {
  t->type = real_type(random_below(seed, 2));
  t->flag[0] = DRAW(seed, char, 'N', 'T');
  t->flag[1] = DRAW(seed, char, '-', '-', '-', 'n');
  draw_matrix(t, seed);
  t->step[A] = random_below(seed, 4);
  for (int i = 0; i < OPERANDS; i++)
    t->shift[i] = random_below(seed, 2) * random_below(seed, 4);
  t->written = 1U << ATAX | (unsigned)(random_below(seed, 3) > 0) << TMP;
}

static void make_atax(const trial *t, const int places[OPERANDS], dense *o) {
  o[A] = dense_new(t->type, t->size[0], t->size[1], t->step[A], t->shift[A], places[A], t->data);
  o[OF_A] = dense_new(t->type, inner(t), 1, 0, t->shift[OF_A], places[OF_A], t->data + 1);
  o[TMP] = dense_new(t->type, outer(t), 1, 0, t->shift[TMP], places[TMP], UNSET);
  o[ATAX] = dense_new(t->type, inner(t), 1, 0, t->shift[ATAX], places[ATAX], UNSET);
  put_special(t, &o[A], &o[OF_A], true);
}

static davit_status call_atax(const trial *t, const dense *o, davit_queue *queue, const int *devices,
                              int count) {
  void *tmp = t->written >> TMP & 1 ? dense_there(&o[TMP]) : NULL;
  return FORM(queue, atax, t->type, t->flag[0], t->size[0], t->size[1], dense_there(&o[A]), o[A].ld,
              dense_there(&o[OF_A]), tmp, dense_there(&o[ATAX]), ON(davit_atax_options, devices, count));
}

/* With d the length of tmp and e that of y: |tmp - exact| <= (e + 2) eps sum |a| |x|, and
 * |y - exact| <= (d + e + 4) eps sum |a| sum |a| |x|, whatever the order of the sums. */
static void expect_atax(const trial *t, dense *o) {
  const int64_t d = outer(t), e = inner(t);
  const long double eps = trial_epsilon(t);
  long double *tmp = kept_zeros((size_t)(2 * d) * sizeof *tmp), *size = tmp + d;
  for (int64_t i = 0; i < d; i++) {
    for (int64_t j = 0; j < e; j++) {
      const long double term = creall(op(t, &o[A], i, j)) * (long double)dense_at(&o[OF_A], j, 0);
      tmp[i] += term;
      size[i] += fabsl(term);
    }
    if (t->written >> TMP & 1)
      expect_within("tmp", &o[TMP], i, 0, tmp[i], (long double)(e + 2) * eps * size[i]);
  }
  for (int64_t j = 0; j < e; j++) {
    long double y = 0, bound = 0;
    for (int64_t i = 0; i < d; i++) {
      const long double a = creall(op(t, &o[A], i, j));
      y += a * tmp[i];
      bound += fabsl(a) * size[i];
    }
    expect_within("y", &o[ATAX], j, 0, y, (long double)(d + e + 4) * eps * bound);
  }
}

static bool refer_atax(const trial *t, const dense *o) {
  const int64_t m = t->size[0], n = t->size[1];
  if (t->written != (1 << ATAX | 1 << TMP))
    return false;
  if (t->type == DAVIT_DOUBLE)
    dvt_ref_datax(t->flag[0], m, n, dense_there(&o[A]), o[A].ld, dense_there(&o[OF_A]), dense_there(&o[TMP]),
                  dense_there(&o[ATAX]));
  else
    dvt_ref_satax(t->flag[0], m, n, dense_there(&o[A]), o[A].ld, dense_there(&o[OF_A]), dense_there(&o[TMP]),
                  dense_there(&o[ATAX]));
  return true;
}

const operation atax_operation = {.name = "atax",
                                  .cases = 2500,
                                  .operands = 4,
                                  .tunable = "chunk_bytes",
                                  .shortest = 1 << 16,
                                  .draw = draw_atax,
                                  .make = make_atax,
                                  .call = call_atax,
                                  .refer = refer_atax,
                                  .expect = expect_atax};
