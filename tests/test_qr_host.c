/* SPDX-License-Identifier: Apache-2.0 */
/* Householder's QR on the host: backward errors as LAPACK's testers measure them, with Q made by the products with
 * blocks of reflectors; R and tau beside LAPACK's; columns of any size, zero columns, numbers that are not finite; the
 * products beside single reflectors; same bits. */
#include "ref/qr.h"
#include "src/base/inject.h"
#include "tests/solving.h"

static const int threads_tried[] = {1, 2, 4};

static double smallest_of(davit_type type) {
  return epsilon_of(type) < 0x1p-30 ? 0x1p-1074 : 0x1p-149;
}

static dvt_site site_of(int threads) {
  return (dvt_site){.device = DAVIT_HOST, .threads = threads};
}

/* ---- matrices ---- */

static double column_norm(const number *x, int64_t rows) {
  return norm_of(x, rows, 1);
}

static int64_t most_of(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* ---- problems ---- */

typedef struct problem {
  davit_type type;
  int64_t m, n;
  dense a, tau;
  number *before; /* A as it was, m × n */
  number *r;      /* once it is factored: R, m × n, with zeros */
} problem;

/* Columns may be multiplied by powers of 10: GRADED is where squares underflow or overflow, TINY with subnormal
 * numbers, too, whose reciprocals overflow. */
typedef enum grade { EVEN, GRADED, TINY } grade;

static int random_power(davit_type type, grade how, uint64_t *seed) {
  const bool is_wide = epsilon_of(type) < 0x1p-30;
  const int normal = is_wide ? -300 : -36, tiny = is_wide ? -312 : -42, lowest = how == TINY ? tiny : normal;
  return how == EVEN                  ? 0
         : random_below(seed, 3) == 0 ? lowest
                                      : lowest + random_below(seed, (is_wide ? 300 : 34) - lowest);
}

/* `diagonal` is added to A's, with either sign: R is then far from singular. */
static problem problem_new(davit_type type, int64_t m, int64_t n, double diagonal, grade how, uint64_t seed) {
  problem p = {
      .type = type, .m = m, .n = n, .a = dense_new(type, m, n, (int64_t)(seed % 3), 0, DAVIT_PAGEABLE, seed)};
  p.tau = dense_new(type, least_of(m, n), 1, 0, 0, DAVIT_PAGEABLE, UNSET);
  for (int64_t j = 0; j < n; j++) {
    const double scale = pow(10, random_power(type, how, &seed)),
                 added = random_below(&seed, 2) ? diagonal : -diagonal;
    for (int64_t i = 0; i < m; i++)
      put_number(&p.a, i, j, (number_at(&p.a, i, j) + (i == j ? added : 0)) * scale);
  }
  dense_give(&p.a);
  p.before = values_of(&p.a, m, n);
  return p;
}

static void factor(problem *p, int threads) {
  const dvt_site site = site_of(threads);
  const dvt_geqrf geqrf = {p->type, p->m, p->n, dense_there(&p->a), dense_ld(&p->a), dense_there(&p->tau)};
  CHECK(dvt_geqrf_host(&site, &geqrf));
  dense_take(&p->a);
  dense_take(&p->tau);
  p->r = kept_zeros((size_t)(p->m * p->n + 1) * sizeof *p->r);
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->m && i <= j; i++)
      p->r[i + j * p->m] = number_at(&p->a, i, j);
}

/* ---- blocks of reflectors ---- */

/* Columns j … of reflectors, copied and prepared. */
typedef struct panel {
  davit_type type;
  int64_t m, k;
  dense v, top, t;
} panel;

static panel panel_of(davit_type type, const dense *a, const dense *tau, int64_t j, int64_t m, int64_t k,
                      int threads) {
  const dvt_site site = site_of(threads);
  panel p = {type,
             m,
             k,
             dense_new(type, m, k, 1, 0, DAVIT_PAGEABLE, UNSET),
             dense_new(type, k, k, 0, 0, DAVIT_PAGEABLE, UNSET),
             dense_new(type, k, k, 0, 0, DAVIT_PAGEABLE, UNSET)};
  for (int64_t l = 0; l < k; l++)
    for (int64_t i = 0; i < m; i++)
      put_number(&p.v, i, l, number_at(a, j + i, j + l));
  dense_give(&p.v);
  const dvt_reflect reflect = {.type = type,
                               .m = m,
                               .k = k,
                               .a = dense_there(&p.v),
                               .lda = dense_ld(&p.v),
                               .tau = (char *)dense_image(tau) + (size_t)j * davit_type_bytes(type),
                               .top = dense_there(&p.top),
                               .t = dense_there(&p.t)};
  CHECK(dvt_reflect_host(&site, &reflect));
  dense_take(&p.v);
  dense_take(&p.top);
  dense_take(&p.t);
  for (int64_t l = 0; l < k; l++)
    for (int64_t i = 0; i < m; i++) {
      const number was = number_at(a, j + i, j + l);
      assert_true(number_at(&p.v, i, l) == (i > l ? was : i == l ? 1 : 0));
      if (i < k)
        assert_true(number_at(&p.top, i, l) == was);
      if (i < k && i > l)
        assert_true(number_at(&p.t, i, l) == 0);
    }
  return p;
}

/* Rows (columns) from j on of C, m × n, are multiplied; by the form that is given, or the one that asks for memory. */
static void apply(const panel *p, bool right, bool adjoint, int64_t m, int64_t n, void *c, int64_t ldc,
                  bool given, int threads) {
  const dvt_site site = site_of(threads);
  const dvt_reflector r = {
      p->type, right, adjoint, m, n, p->k, dense_there(&p->v), dense_ld(&p->v), dense_there(&p->t), c, ldc};
  const int64_t elements = 2 * p->k * (right ? m : n);
  dense work = dense_new(p->type, elements, 1, 0, 0, DAVIT_PAGEABLE, UNSET);
  if (given)
    CHECK(dvt_reflector_apply(&site, &r, dense_there(&work), dvt_level3_host));
  else
    CHECK(dvt_reflector_host(&site, &r));
  dense_take(&work);
}

/* Q, m × m, in blocks of `width` reflectors. */
static number *q_of(const problem *p, int64_t width, int threads) {
  const int64_t count = least_of(p->m, p->n);
  dense q = dense_new(p->type, p->m, p->m, 0, 0, DAVIT_PAGEABLE, UNSET);
  for (int64_t j = 0; j < p->m; j++)
    for (int64_t i = 0; i < p->m; i++)
      put_number(&q, i, j, i == j);
  dense_give(&q);
  for (int64_t j = (count + width - 1) / width * width - width; j >= 0; j -= width) {
    const panel block = panel_of(p->type, &p->a, &p->tau, j, p->m - j, least_of(width, count - j), threads);
    char *c = (char *)dense_there(&q) + (size_t)(j + j * dense_ld(&q)) * davit_type_bytes(p->type);
    apply(&block, false, false, p->m - j, p->m - j, c, dense_ld(&q), j % 2, threads);
  }
  dense_take(&q);
  return values_of(&q, p->m, p->m);
}

/* ---- errors ---- */

static void expect(const problem *p, double error, const char *what) {
  if (!(error <= 30))
    fail_msg("type %d, %lld × %lld: %s is %g", (int)p->type, (long long)p->m, (long long)p->n, what, error);
}

/* The largest ‖a - Q r‖ / (max(m, n) eps ‖a‖) of a column: columns do not depend on each other's size. Subnormal
 * numbers have an error of their own. */
static double error_of_columns(const problem *p, const number *q) {
  const int64_t m = p->m;
  number *rest = kept((size_t)(m + 1) * sizeof *rest);
  double most = 0;
  for (int64_t j = 0; j < p->n; j++) {
    for (int64_t i = 0; i < m; i++) {
      rest[i] = p->before[i + j * m];
      for (int64_t l = 0; l <= j && l < m; l++)
        rest[i] -= q[i + l * m] * p->r[l + j * m];
    }
    const double error = column_norm(rest, m),
                 bound = (double)most_of(m, p->n) *
                         (column_norm(p->before + j * m, m) * epsilon_of(p->type) + smallest_of(p->type));
    most = isnan(error) ? INFINITY : fmax(most, error / bound);
  }
  return most;
}

static void expect_factored(const problem *p, int64_t width, int threads) {
  const number *q = q_of(p, width, threads);
  expect_orthogonal(p->type, p->m, p->m, q, "I - Q' Q");
  expect(p, error_of_columns(p, q), "A - Q R");
  for (int64_t i = 0; i < p->m && i < p->n; i++)
    assert_true(cimag(p->r[i + i * p->m]) == 0);
}

/* ---- LAPACK ---- */

typedef void (*geqrf_of_lapack)(const int *, const int *, void *, const int *, void *, void *, const int *,
                                int *);

/* R and tau are LAPACK's, where R is far from singular: the former column by column. */
static void compare_with_lapack(davit_type type, int64_t m, int64_t n, grade how, int threads,
                                uint64_t seed) {
  SCOPE;
  const geqrf_of_lapack geqrf = (geqrf_of_lapack)(uintptr_t)lapack(type, "geqrf");
  problem p = problem_new(type, m, n, 2 * sqrt((double)m), how, seed),
          other = problem_new(type, m, n, 2 * sqrt((double)m), how, seed);
  if (!geqrf || m == 0 || n == 0)
    return;
  const int rows = (int)m, cols = (int)n, ld = (int)dense_ld(&other.a), room = 64 * cols;
  int info = -1;
  void *work = kept((size_t)room * davit_type_bytes(type));
  geqrf(&rows, &cols, dense_there(&other.a), &ld, dense_there(&other.tau), work, &room, &info);
  assert_int_equal(info, 0);
  dense_take(&other.a);
  dense_take(&other.tau);
  factor(&p, threads);
  const double bound = 30 * (double)most_of(m, n) * epsilon_of(type);
  for (int64_t j = 0; j < n; j++) {
    const double size = column_norm(p.before + j * m, m);
    for (int64_t i = 0; i < m; i++) /* below the diagonal elements are at most 1 */
      assert_true(cabs(number_at(&p.a, i, j) - number_at(&other.a, i, j)) <= bound * (i <= j ? size : 1));
  }
  for (int64_t i = 0; i < m && i < n; i++)
    assert_true(cabs(number_at(&p.tau, i, 0) - number_at(&other.tau, i, 0)) <= bound);
}

/* ---- cases ---- */

static void try_shape(davit_type type, int64_t m, int64_t n, int64_t width, int threads, uint64_t seed) {
  SCOPE;
  problem p = problem_new(type, m, n, 0, EVEN, seed);
  factor(&p, threads);
  expect_factored(&p, width, threads);
  compare_with_lapack(type, m, n, EVEN, threads, seed);
}

static const int64_t shapes[][2] = {{0, 0},   {0, 3},   {3, 0},    {1, 1},   {1, 5},   {5, 1},
                                    {2, 2},   {7, 8},   {8, 8},    {9, 9},   {31, 32}, {33, 31},
                                    {40, 17}, {64, 64}, {65, 130}, {200, 9}, {99, 99}};

CASE(test_shapes) {
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (int i = 0; i < COUNT(threads_tried); i++)
        if (!left_out())
          try_shape(types[t], shapes[s][0], shapes[s][1], 1 + 13 * i + s, threads_tried[i],
                    (uint64_t)(s + 1));
}

CASE(test_random_shapes) {
  uint64_t seed = 7;
  for (int turn = 0; turn < scaled(80); turn++) {
    const int most = turn % 10 ? 70 : 180, m = random_below(&seed, most), n = random_below(&seed, most);
    try_shape(types[turn % COUNT(types)], m, n, 1 + random_below(&seed, 80), threads_tried[turn / 4 % 3],
              next_random(&seed) | 1);
  }
}

/* Blocks are wider there. */
CASE(test_many_columns) {
  for (int t = 0; t < COUNT(types); t++)
    if (!left_out())
      compare_with_lapack(types[t], 1520, 1501, EVEN, 1, 11);
}

CASE(test_graded) {
  for (int t = 0; t < COUNT(types); t++)
    for (int turn = 0; turn < scaled(12); turn++) {
      SCOPE;
      const int64_t m = 20 + 7 * turn, n = 90 - 4 * turn;
      problem p = problem_new(types[t], m, n, 0, TINY, (uint64_t)(turn + 1));
      factor(&p, 1);
      expect_factored(&p, 32, 1);
      compare_with_lapack(types[t], m, n, GRADED, 1, (uint64_t)(turn + 1));
    }
}

/* Nothing changes where all below the diagonal is 0, and the diagonal is real. */
CASE(test_triangles) {
  for (int t = 0; t < COUNT(types); t++)
    for (int zero = 0; zero < 2; zero++) {
      SCOPE;
      problem p = problem_new(types[t], 60, 50, 0, EVEN, 4);
      for (int64_t j = 0; j < 50; j++)
        for (int64_t i = 0; i < 60; i++)
          put_number(&p.a, i, j,
                     zero || i > j ? 0
                     : i == j      ? creal(number_at(&p.a, i, j))
                                   : number_at(&p.a, i, j));
      dense_give(&p.a);
      factor(&p, 2);
      assert_memory_equal(p.a.image, p.a.before, p.a.bytes);
      for (int64_t i = 0; i < 50; i++)
        assert_true(number_at(&p.tau, i, 0) == 0);
      p.before = values_of(&p.a, 60, 50);
      expect_factored(&p, 16, 1);
    }
}

CASE(test_zero_columns) {
  for (int t = 0; t < COUNT(types); t++) {
    SCOPE;
    problem p = problem_new(types[t], 70, 60, 0, EVEN, 9);
    for (int64_t j = 0; j < 60; j += 1 + j % 5)
      for (int64_t i = 0; i < 70; i++)
        put_number(&p.a, i, j, 0);
    dense_give(&p.a);
    p.before = values_of(&p.a, 70, 60);
    factor(&p, 1);
    for (int64_t j = 0; j < 60; j += 1 + j % 5)
      assert_true(number_at(&p.tau, j, 0) == 0);
    expect_factored(&p, 20, 1);
  }
}

/* What comes before the column is as without it. */
CASE(test_not_finite) {
  static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
  static const int64_t at[] = {0, 7, 33, 89};
  for (int t = 0; t < COUNT(types); t++)
    for (int v = 0; v < COUNT(values); v++)
      for (int i = 0; i < COUNT(at); i++) {
        SCOPE;
        problem p = problem_new(types[t], 100, 90, 0, EVEN, 3),
                plain = problem_new(types[t], 100, 90, 0, EVEN, 3);
        dense_put(&p.a, 50, at[i], values[v], 0);
        dense_give(&p.a);
        factor(&p, 2);
        factor(&plain, 2);
        assert_true(isnan(cabs(p.r[at[i] + at[i] * 100])) || isinf(cabs(p.r[at[i] + at[i] * 100])));
        if (at[i] >= 32) /* a block of columns before it */
          for (int64_t j = 0; j < 32; j++)
            assert_memory_equal(p.r + j * 100, plain.r + j * 100, 100 * sizeof *p.r);
      }
}

/* Products are large enough for several threads. */
CASE(test_same_bits) {
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < COUNT(threads_tried); i++) {
      compare_with_lapack(types[t], 400, 300, EVEN, threads_tried[i], 2);
      for (int turn = 0; turn < scaled(4); turn++) {
        SCOPE;
        problem one = problem_new(types[t], 400, 300, 0, EVEN, 2),
                other = problem_new(types[t], 400, 300, 0, EVEN, 2);
        factor(&one, threads_tried[i]);
        factor(&other, threads_tried[i]);
        assert_memory_equal(one.a.image, other.a.image, one.a.bytes);
        assert_memory_equal(one.tau.image, other.tau.image, one.tau.bytes);
      }
    }
}

/* ---- reflectors ---- */

/* C = H C or C H of the reflector j, or of H'. */
static void multiply_by_one(number *c, int64_t m, int64_t n, bool right, const number *v, int64_t length,
                            number tau) {
  for (int64_t line = 0; line < (right ? m : n); line++) {
    number sum = 0;
    for (int64_t i = 0; i < length; i++)
      sum += right ? c[line + i * m] * v[i] : conj(v[i]) * c[i + line * m];
    for (int64_t i = 0; i < length; i++)
      if (right)
        c[line + i * m] -= tau * sum * conj(v[i]);
      else
        c[i + line * m] -= tau * v[i] * sum;
  }
}

/* H is unitary with tau = (1 + w) / ‖v‖² where |w| = 1. Some are 0. */
static dense random_taus(davit_type type, const dense *v, int64_t length, int64_t k, uint64_t seed) {
  dense tau = dense_new(type, k, 1, 0, 0, DAVIT_PAGEABLE, UNSET);
  for (int64_t j = 0; j < k; j++) {
    double square = 1;
    for (int64_t i = j + 1; i < length; i++)
      square += creal(number_at(v, i, j) * conj(number_at(v, i, j)));
    const double angle = tau.parts == 2 ? 3 * random_unit(&seed) : 0;
    put_number(&tau, j, 0, random_below(&seed, 5) == 0 ? 0 : (1 + cos(angle) + I * sin(angle)) / square);
  }
  return tau;
}

static void try_reflectors(davit_type type, int64_t m, int64_t n, int64_t k, int turn) {
  SCOPE;
  const bool right = turn & 1, adjoint = turn & 2, given = turn & 4;
  const int64_t length = right ? n : m;
  const int threads = threads_tried[turn % 3];
  const dense a = dense_new(type, length, k, 1, 0, DAVIT_PAGEABLE, (uint64_t)(turn + 1));
  const dense tau = random_taus(type, &a, length, k, (uint64_t)(turn + 1));
  dense c = dense_new(type, m, n, turn % 4, 0, DAVIT_PAGEABLE, (uint64_t)(turn + 2));
  const panel p = panel_of(type, &a, &tau, 0, length, k, threads);
  number *expected = values_of(&c, m, n);
  const number *v = values_of(&p.v, length, k);
  const double size = norm_of(expected, m, n) + 1;
  for (int64_t i = 0; i < k; i++) { /* the last factor of H1 H2 … meets C first on the left */
    const int64_t j = right != adjoint ? i : k - 1 - i;
    const number factor_of_j = number_at(&tau, j, 0);
    multiply_by_one(expected, m, n, right, v + j * length, length, adjoint ? conj(factor_of_j) : factor_of_j);
  }
  apply(&p, right, adjoint, m, n, dense_there(&c), dense_ld(&c), given, threads);
  dense_take(&c);
  const double bound = 30 * (double)(length + k) * epsilon_of(type) * size;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++)
      assert_true(cabs(number_at(&c, i, j) - expected[i + j * m]) <= bound);
}

CASE(test_reflectors) {
  uint64_t seed = 5;
  for (int turn = 0; turn < scaled(200); turn++) {
    const bool right = turn & 1;
    const int64_t length = random_below(&seed, turn % 20 ? 50 : 200), across = random_below(&seed, 40),
                  k = turn % 7 ? random_below(&seed, (int)length + 1)
                               : least_of(length, random_below(&seed, 10));
    try_reflectors(types[turn / 8 % COUNT(types)], right ? across : length, right ? length : across, k, turn);
  }
}

/* ---- memory ---- */

CASE(test_no_memory) {
  const dvt_site site = site_of(1);
  double a[16] = {1}, tau[4];
  const dvt_geqrf geqrf = {DAVIT_DOUBLE, 4, 4, a, 4, tau};
  const dvt_reflector reflector = {DAVIT_DOUBLE, false, false, 4, 4, 4, a, 4, a, a, 4};
  dvt_inject(DVT_INJECT_HOST_MEMORY, 1);
  CHECK_FAILS(dvt_geqrf_host(&site, &geqrf), DAVIT_OUT_OF_HOST_MEMORY, "no host memory");
  dvt_inject(DVT_INJECT_HOST_MEMORY, 1);
  CHECK_FAILS(dvt_reflector_host(&site, &reflector), DAVIT_OUT_OF_HOST_MEMORY, "no host memory");
  assert_int_equal(dvt_inject(DVT_INJECT_HOST_MEMORY, 0), 0);
  assert_true(a[0] == 1);
}
