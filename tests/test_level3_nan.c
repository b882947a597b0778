/* SPDX-License-Identifier: Apache-2.0 */
/* NaN, infinities and zeros in level 3: scalars and elements, by every path that a call can take.
 *
 * The oracle is the definition in plain loops, with the rules of the reference BLAS: beta = 0 does not read C, alpha
 * = 0 or a sum over nothing does not read A and B, the half of a matrix that is not stored does not count; all else
 * is arithmetic, in which a NaN factor makes NaN. Elements are positive (those beside a trsm's diagonal negative), so
 * that an infinite factor makes one infinity, whatever is added first. What must not be read is NaN in one half of
 * the cases and an infinity in the other. */
#include <complex.h>

#include "tests/problem.h"

typedef long double real;

/* A complex number whose parts are multiplied as BLAS does, without C's rules for infinities. */
typedef struct number {
  real re, im;
} number;

/* Op(X) as the definition has it: elements that count. */
typedef struct table {
  int64_t rows, cols;
  number *x;
} table;

static number at(const table *t, int64_t i, int64_t j) {
  return t->x[i + j * t->rows];
}

static number number_of(wide x) {
  return (number){creall(x), cimagl(x)};
}

static number times(const problem *p, number a, number b) {
  if (!is_complex_type(p->type))
    return (number){a.re * b.re, 0};
  return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static number over(const problem *p, number a, number b) {
  if (!is_complex_type(p->type))
    return (number){a.re / b.re, 0};
  const real size = b.re * b.re + b.im * b.im;
  const number q = times(p, a, (number){b.re, -b.im});
  return (number){q.re / size, q.im / size};
}

static void add(number *sum, number a) {
  sum->re += a.re;
  sum->im += a.im;
}

/* ---- operands ---- */

static int poison_turn;

static double poison(void) {
  return poison_turn % 2 ? (double)NAN : (double)INFINITY;
}

/* Whether element (i, j) of the square matrix is read, and its imaginary part. */
static bool counts(const problem *p, int64_t i, int64_t j) {
  return !outside(p->uplo, i, j) && !(i == j && p->diag == 'U');
}

static double element_for(const problem *p, int64_t i, int64_t j, int64_t order) {
  const double value = 0.25 + (double)((7 * i + 13 * j + i * j) % 31) / 64;
  if (p->routine != DVT_TRSM)
    return value;
  return i == j ? 1 + value : -value / (double)order;
}

/* `triangle`: of a square matrix only the stored half is no poison, which the element is else. */
static dense made(const problem *p, int64_t rows, int64_t cols, bool read, bool triangle, int place) {
  dense x = dense_new(p->type, rows, cols, 2, 0, place, UNSET);
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = 0; i < rows; i++) {
      const double value = element_for(p, i, j, rows);
      const bool given = read && (!triangle || counts(p, i, j));
      dense_put(&x, i, j, given ? value : poison(),
                !given || (triangle && i == j && is_hermitian(p->routine)) ? poison() : 0.5 * value);
    }
  return x;
}

static bool vanishes(const problem *p) {
  return p->alpha == 0 || (!is_square(p->routine) && !is_triangular(p->routine) && p->k == 0);
}

static void make(const problem *p, dense o[3], int place) {
  const bool square = is_square(p->routine) || is_triangular(p->routine), read = !vanishes(p);
  const bool ta = p->transa != 'N' && !square, tb = p->routine == DVT_GEMM ? p->transb != 'N' : ta;
  const int64_t rows = square ? order_of(p) : p->m, cols = square ? order_of(p) : p->k;
  const int64_t rows_b = p->routine == DVT_GEMM  ? p->k
                         : is_square(p->routine) ? p->m
                                                 : p->n,
                cols_b = is_pair(p->routine) ? p->k : p->n;
  o[0] = made(p, ta ? cols : rows, ta ? rows : cols, read, square, place);
  o[1] = made(p, tb ? cols_b : rows_b, tb ? rows_b : cols_b, read, false, place);
  o[2] = made(p, p->m, p->n, is_triangular(p->routine) ? read : p->beta != 0, is_update(p->routine), place);
  if (p->routine == DVT_TRSM) /* right-hand sides, which are positive */
    for (int64_t j = 0; j < p->n && read; j++)
      for (int64_t i = 0; i < p->m; i++)
        dense_put(&o[2], i, j, fabs((double)creall(dense_value(&o[2], i, j))),
                  fabs((double)cimagl(dense_value(&o[2], i, j))));
}

static void give(dense o[3]) {
  for (int i = 0; i < 3; i++)
    dense_give(&o[i]);
}

/* ---- the oracle ---- */

static table table_new(int64_t rows, int64_t cols) {
  return (table){rows, cols, kept_zeros((size_t)(rows * cols) * sizeof(number))};
}

static table op_of(const problem *p, const dense *x, char trans) {
  const int64_t parts = is_complex_type(p->type) ? 2 : 1, rows = x->rows / parts, cols = x->cols;
  table t = table_new(trans == 'N' ? rows : cols, trans == 'N' ? cols : rows);
  for (int64_t j = 0; j < t.cols; j++)
    for (int64_t i = 0; i < t.rows; i++) {
      number value = number_of(trans == 'N' ? dense_value(x, i, j) : dense_value(x, j, i));
      value.im = trans == 'C' ? -value.im : value.im;
      t.x[i + j * t.rows] = value;
    }
  return t;
}

/* The matrix that the stored half of A stands for, op() applied; what a triangle lacks is 0. */
static table square_of(const problem *p, const dense *a) {
  const int64_t order = order_of(p);
  table t = table_new(order, order);
  for (int64_t j = 0; j < order; j++)
    for (int64_t i = 0; i < order; i++) {
      const bool swap = is_triangular(p->routine) ? p->transa != 'N' : outside(p->uplo, i, j);
      const int64_t row = swap ? j : i, col = swap ? i : j;
      number value = number_of(dense_value(a, row, col));
      if (is_triangular(p->routine) && outside(p->uplo, row, col))
        value = (number){0, 0};
      if (i == j && p->diag == 'U')
        value = (number){1, 0};
      if (swap && (p->transa == 'C' || p->routine == DVT_HEMM))
        value.im = -value.im;
      if (i == j && p->routine == DVT_HEMM)
        value.im = 0;
      t.x[i + j * order] = value;
    }
  return t;
}

static char undone(const problem *p) {
  return p->transa != 'N' ? 'N' : is_hermitian(p->routine) ? 'C' : 'T';
}

/* Adds factor X Y, without the elements of a triangle that are not stored. */
static void add_product(const problem *p, number factor, const table *x, const table *y, table *c) {
  const bool triangular = p->routine == DVT_TRMM, right = p->side == 'R';
  const bool lower = (p->uplo == 'L') == (p->transa == 'N');
  for (int64_t j = 0; j < c->cols; j++)
    for (int64_t i = 0; i < c->rows; i++) {
      number sum = {0, 0};
      for (int64_t l = 0; l < x->cols; l++) {
        const int64_t row = right ? l : i, col = right ? j : l;
        if (!triangular || (lower ? row >= col : row <= col))
          add(&sum, times(p, at(x, i, l), at(y, l, j)));
      }
      add(&c->x[i + j * c->rows], times(p, factor, sum));
    }
}

/* Element `i` of line `j` of X: a column for side 'L', a row for side 'R'. */
static number *line_at(const problem *p, table *x, int64_t i, int64_t j) {
  return &x->x[p->side == 'R' ? j + i * x->rows : i + j * x->rows];
}

static void solve(const problem *p, const table *a, table *x) {
  const bool right = p->side == 'R', up = ((p->uplo == 'L') == (p->transa == 'N')) == right;
  const int64_t order = order_of(p), lines = right ? p->m : p->n;
  for (int64_t j = 0; j < lines; j++)
    for (int64_t n = 0; n < order; n++) {
      const int64_t i = up ? order - 1 - n : n;
      number sum = times(p, number_of((wide)p->alpha), *line_at(p, x, i, j));
      for (int64_t k = 0; k < n; k++) {
        const int64_t l = up ? order - 1 - k : k;
        const number part = times(p, right ? at(a, l, i) : at(a, i, l), *line_at(p, x, l, j));
        sum.re -= part.re;
        sum.im -= part.im;
      }
      *line_at(p, x, i, j) = p->diag == 'U' ? sum : over(p, sum, at(a, i, i));
    }
}

static void add_start(const problem *p, const dense *c, table *result) {
  const bool real_factor = is_hermitian(p->routine) && is_update(p->routine);
  const number beta = number_of((wide)p->beta);
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->m; i++) {
      const number was = number_of(dense_value(c, i, j));
      add(&result->x[i + j * p->m],
          real_factor ? (number){beta.re * was.re, beta.re * was.im} : times(p, beta, was));
    }
}

static table should_be(const problem *p, const dense o[3]) {
  table c = table_new(p->m, p->n);
  const number alpha = number_of((wide)p->alpha), conjugate = {alpha.re, -alpha.im};
  if (!vanishes(p) && is_update(p->routine)) {
    const table a = op_of(p, &o[0], p->transa), a2 = op_of(p, &o[0], undone(p));
    const table b = op_of(p, &o[1], p->transa), b2 = op_of(p, &o[1], undone(p));
    add_product(p, alpha, &a, is_pair(p->routine) ? &b2 : &a2, &c);
    if (is_pair(p->routine))
      add_product(p, is_hermitian(p->routine) ? conjugate : alpha, &b, &a2, &c);
  } else if (!vanishes(p)) {
    const table a = p->routine == DVT_GEMM ? op_of(p, &o[0], p->transa) : square_of(p, &o[0]);
    table b = op_of(p, &o[is_triangular(p->routine) ? 2 : 1], p->routine == DVT_GEMM ? p->transb : 'N');
    if (p->routine == DVT_TRSM)
      solve(p, &a, &b);
    if (p->routine == DVT_TRSM)
      return b;
    add_product(p, alpha, p->side == 'R' ? &b : &a, p->side == 'R' ? &a : &b, &c);
  }
  if (p->beta != 0 && !is_triangular(p->routine))
    add_start(p, &o[2], &c);
  return c;
}

/* ---- the comparison ---- */

static const char *path; /* that is tried */

static bool agree(const problem *p, real is, real should) {
  const real eps = (real)element_epsilon(part_type(p->type)), length = (real)(p->m + p->n + p->k + 4);
  const real alpha = isfinite(creal(p->alpha)) ? fabsl((real)creal(p->alpha)) : 1,
             beta = isfinite(creal(p->beta)) ? fabsl((real)creal(p->beta)) : 1;
  if (isfinite(should))
    return isfinite(is) && fabsl(is - should) <= 16 * eps * length * (1 + alpha + beta) * (1 + fabsl(should));
  if (is_complex_type(p->type) && !isnan(should)) /* the parts of an infinite number */
    return !isfinite(is);
  return is_complex_type(p->type) ? !isfinite(is) : isnan(should) ? isnan(is) : is == should;
}

static bool has_nan(double _Complex x) {
  return isnan(creal(x)) || isnan(cimag(x));
}

static void expect_element_at(const problem *p, const dense *c, const table *should, int64_t i, int64_t j) {
  const bool nan = has_nan(p->beta) || (has_nan(p->alpha) && !vanishes(p));
  const number is = number_of(dense_value(c, i, j)), right = at(should, i, j);
  const bool diagonal = i == j && is_update(p->routine) && is_hermitian(p->routine);
  bool fine;
  if (diagonal)
    fine = (nan ? isnan(is.re) : agree(p, is.re, right.re)) && is.im == 0;
  else if (nan)
    fine = isnan(is.re) && (!is_complex_type(p->type) || isnan(is.im));
  else
    fine = agree(p, is.re, right.re) && agree(p, is.im, right.im);
  if (!fine)
    fail_msg(
        "%s: %s type %d side %c uplo %c trans %c %c diag %c m %lld n %lld k %lld alpha %g %g beta %g %g: "
        "(%lld, %lld) is %Lg %Lg, not %Lg %Lg",
        path, problem_names[p->routine], (int)p->type, p->side, p->uplo, p->transa, p->transb, p->diag,
        (long long)p->m, (long long)p->n, (long long)p->k, creal(p->alpha), cimag(p->alpha), creal(p->beta),
        cimag(p->beta), (long long)i, (long long)j, is.re, is.im, right.re, right.im);
}

static void expect(const problem *p, dense o[3], const table *should) {
  dense *c = &o[2];
  const size_t bytes = davit_type_bytes(p->type);
  const bool unchanged = vanishes(p) && p->beta == 1 && !is_triangular(p->routine);
  dense_take(c);
  assert_true(dense_as_image(&o[0]) && (is_triangular(p->routine) || dense_as_image(&o[1])));
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->m; i++) {
      const size_t where = c->start + (size_t)(i + j * dense_ld(c)) * bytes;
      const bool diagonal = i == j && is_update(p->routine) && is_hermitian(p->routine);
      if ((is_update(p->routine) && outside(p->uplo, i, j)) || (unchanged && !diagonal))
        assert_memory_equal(c->image + where, c->before + where, bytes);
      else
        expect_element_at(p, c, should, i, j);
    }
}

/* ---- the paths ---- */

enum { ON_HOST, ON_QUEUE, IN_TILES, AS_REGION, REGION_TILES, PATHS };

static davit_queue *queue;

static davit_status call_by(const problem *p, int which, const dense o[3]) {
  static const int host = DAVIT_HOST;
  int devices[2] = {DAVIT_HOST};
  const int count = two_devices(devices) ? 2 : 1;
  const int64_t longest = p->m > p->n ? p->m : p->n;
  const davit_level3_options on_host = {.devices = &host, .device_count = 1},
                             in_tiles = {.devices = devices,
                                         .device_count = count,
                                         .tile = longest > 7 ? 32 : (longest + 1) / 2,
                                         .separate_memory = true};
  const dvt_level3 g = problem_arguments(p, o);
  const bool tiles = which == IN_TILES || which == REGION_TILES;
  const davit_status status = call_level3(&g, which == ON_QUEUE || which == AS_REGION ? queue : NULL,
                                          which == ON_HOST ? &on_host
                                          : tiles          ? &in_tiles
                                                           : NULL);
  return status == DAVIT_SUCCESS && queue ? davit_queue_synchronize(queue) : status;
}

/* Small problems take all paths, others the host's and in turn another one. `change` puts its elements into the
 * operands, if there is one. */
static void try_paths(const problem *p, void (*change)(const problem *p, dense o[3])) {
  static const char *const names[PATHS] = {"host", "queue", "tiles", "region", "tiles by regions"};
  static int turn;
  SCOPE;
  dense o[3];
  table should = {0, 0, NULL};
  turn++;
  poison_turn++;
  for (int which = 0; which < PATHS; which++) {
    if (which != ON_HOST && p->n > 2 && which != 1 + turn % (PATHS - 1))
      continue;
    path = names[which];
    make(p, o,
         which == ON_QUEUE || which == AS_REGION ? place_for(device_count() > 0 ? 0 : DAVIT_HOST)
                                                 : DAVIT_PAGEABLE);
    if (change)
      change(p, o);
    give(o);
    if (!should.x)
      should = should_be(p, o);
    if (which >= AS_REGION)
      assert_int_equal(setenv("DAVIT_BLAS", "target", 1), 0);
    CHECK(call_by(p, which, o));
    unsetenv("DAVIT_BLAS");
    expect(p, o, &should);
  }
}

static void with_queue_of_first(void (*work)(void)) {
  queue = new_queue(device_count() > 0 ? 0 : DAVIT_HOST, 1);
  work();
  finish(queue);
  queue = NULL;
}

/* ---- scalars ---- */

static const int64_t orders[] = {1, 2, 7, 40};

/* The first five are for all types, the others have a NaN in one part. */
enum { SCALARS = 5, COMPLEX_SCALARS = 8 };

static double _Complex scalar(int which) {
  static const double parts[COMPLEX_SCALARS][2] = {
      {0, 0},  {1, 0},           {(double)NAN, 0}, {(double)INFINITY, 0},
      {-2, 0}, {1, (double)NAN}, {0, (double)NAN}, {(double)NAN, 2}};
  return __builtin_complex(parts[which][0], parts[which][1]);
}

static void try_scalars(problem *p) {
  const bool complex_alpha = is_complex_type(p->type) && p->routine != DVT_HERK,
             complex_beta = complex_alpha && p->routine != DVT_HER2K;
  for (int s = 0; s <= COUNT(orders); s++) {
    const int64_t order = s < COUNT(orders) ? orders[s] : 7, k = s < COUNT(orders) ? order : 0;
    const bool parts = order == 7;
    set_sizes(p, order, order, k);
    for (int a = 0; a < (complex_alpha && parts ? COMPLEX_SCALARS : SCALARS); a++)
      for (int b = 0; b < (is_triangular(p->routine) ? 1
                           : complex_beta && parts   ? COMPLEX_SCALARS
                                                     : SCALARS);
           b++) {
        p->alpha = scalar(a);
        p->beta = is_triangular(p->routine) ? 0 : scalar(b);
        if (!left_out())
          try_paths(p, NULL);
      }
  }
}

static void all_scalars(void) {
  for (int t = 0; t < COUNT(problem_types); t++)
    each_flags(problem_types[t], try_scalars);
}

CASE(test_scalars) {
  with_queue_of_first(all_scalars);
}

/* ---- elements ---- */

static int element_turn;

/* An element of an input that counts becomes an infinity or NaN: beside a trsm's diagonal one that makes all that
 * comes after it infinite. */
static void put_element(const problem *p, dense o[3]) {
  const bool in_a = element_turn % 4 == 3 || p->routine == DVT_SYRK || p->routine == DVT_HERK,
             square = is_square(p->routine) || is_triangular(p->routine);
  dense *x = &o[in_a ? 0 : is_triangular(p->routine) ? 2 : 1];
  const int64_t parts = is_complex_type(p->type) ? 2 : 1, rows = x->rows / parts;
  int64_t row = element_turn * 5 % rows, col = element_turn * 3 % x->cols;
  if (in_a && square && !counts(p, row, col)) {
    const int64_t other = row;
    row = col, col = other;
  }
  if (in_a && square && !counts(p, row, col))
    return;
  const double sign = in_a && p->routine == DVT_TRSM && row != col ? -1 : 1,
               value = sign * (element_turn % 3 ? (double)INFINITY : (double)NAN);
  dense_put(x, row, col, value, in_a && square && row == col && p->routine == DVT_HEMM ? poison() : value);
}

/* A subnormal number on A's diagonal, and right-hand sides that are as small: the quotient is an ordinary number, the
 * reciprocal is infinite. */
static void put_subnormal(const problem *p, dense o[3]) {
  const bool wide_type = part_type(p->type) == DAVIT_DOUBLE;
  const double tiny = wide_type ? 1e-310 : 1e-40;
  const int64_t at = element_turn * 5 % order_of(p);
  dense_put(&o[0], at, at, tiny, -tiny / 2);
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->m; i++) {
      const wide value = dense_value(&o[2], i, j);
      dense_put(&o[2], i, j, tiny * (double)creall(value), tiny * (double)cimagl(value));
    }
}

static void try_subnormal(problem *p) {
  if (p->routine != DVT_TRSM || p->diag == 'U')
    return;
  for (int s = 0; s < COUNT(orders); s++) {
    set_sizes(p, orders[s], orders[s] + s % 2, orders[s]);
    p->alpha = s % 2 ? 2 : 1;
    p->beta = 0;
    element_turn++;
    try_paths(p, put_subnormal);
  }
}

static bool on_nvidia(void) {
  return device_count() > 0 && is_gpu(0) && !simulates_amd();
}

/* cuBLAS multiplies zeros in place of a triangle's other half, as <davit/level3.h> says. */
static void try_elements(problem *p) {
  if (p->routine == DVT_TRMM && on_nvidia())
    return;
  for (int s = 0; s < COUNT(orders); s++)
    for (int turn = 0; turn < 3; turn++) {
      set_sizes(p, orders[s], orders[s] + turn, orders[s]);
      p->alpha = turn == 2 ? 2 : 1;
      p->beta = is_triangular(p->routine) ? 0 : turn;
      element_turn++;
      if (!left_out())
        try_paths(p, put_element);
    }
}

static void all_elements(void) {
  for (int t = 0; t < COUNT(problem_types); t++)
    each_flags(problem_types[t], try_elements);
}

static void all_subnormal(void) {
  for (int t = 0; t < COUNT(problem_types); t++)
    each_flags(problem_types[t], try_subnormal);
}

CASE(test_elements) {
  with_queue_of_first(all_elements);
}

/* NVIDIA's devices may multiply by reciprocals. */
CASE(test_subnormal_diagonals) {
  if (on_nvidia())
    skip();
  with_queue_of_first(all_subnormal);
}
