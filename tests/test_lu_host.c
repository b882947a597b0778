/* SPDX-License-Identifier: Apache-2.0 */
/* LU factorisation on the host: backward errors as LAPACK's testers measure them, LAPACK's pivots and its number of a
 * pivot that is 0, ties, tiny and NaN pivots; rows in a new order against a loop of interchanges. */
#include "ref/lu.h"
#include "tests/solving.h"

static const int teams[] = {1, 2, 4};

/* ---- problems ---- */

typedef struct problem {
  davit_type type;
  int64_t m, n;
  dense a;
  number *full; /* as it was, m × n */
  int *ipiv;    /* behind the last one there is a guard */
  int info;
} problem;

static bool is_wide(davit_type type) {
  return part_type(type) == DAVIT_DOUBLE;
}

static problem problem_new(davit_type type, int64_t m, int64_t n, int64_t extra_ld, uint64_t seed) {
  return (problem){.type = type,
                   .m = m,
                   .n = n,
                   .a = dense_new(type, m, n, extra_ld, 0, DAVIT_PAGEABLE, seed),
                   .ipiv = kept((size_t)(least_of(m, n) + 1) * sizeof(int))};
}

static void factor(problem *p, int threads) {
  dense_give(&p->a);
  p->full = values_of(&p->a, p->m, p->n);
  CHECK(dvt_getrf_host(&(dvt_site){.threads = threads}, &(dvt_getrf){.type = p->type,
                                                                     .m = p->m,
                                                                     .n = p->n,
                                                                     .a = dense_there(&p->a),
                                                                     .lda = dense_ld(&p->a),
                                                                     .ipiv = p->ipiv,
                                                                     .info = &p->info}));
  assert_int_equal(p->ipiv[least_of(p->m, p->n)], -1);
  for (int64_t j = 0; j < least_of(p->m, p->n); j++)
    assert_in_range(p->ipiv[j], j + 1, p->m);
}

static void expect_factored(problem *p, const char *what) {
  dense_take(&p->a);
  expect_lu(&p->a, p->type, p->m, p->n, p->full, p->ipiv, what);
}

/* LAPACK, if it is there, finds the same pivots and the same number. */
static void expect_lapacks(const problem *p) {
  int *ipiv = kept((size_t)(least_of(p->m, p->n) + 1) * sizeof *ipiv), info = -1;
  if (!lapack_getrf(p->type, p->m, p->n, p->full, ipiv, &info))
    return;
  assert_int_equal(info, p->info);
  assert_memory_equal(ipiv, p->ipiv, (size_t)least_of(p->m, p->n) * sizeof *ipiv);
}

/* ---- factorisations ---- */

static int64_t random_order(uint64_t *seed) {
  static const int64_t special[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 48, 64, 65};
  return random_below(seed, 2) ? special[random_below(seed, COUNT(special))] : random_below(seed, 150);
}

static void try_shape(davit_type type, int64_t m, int64_t n, int64_t extra_ld, int threads, uint64_t seed) {
  SCOPE;
  problem p = problem_new(type, m, n, extra_ld, seed);
  factor(&p, threads);
  expect_factored(&p, "random");
  assert_int_equal(p.info, 0);
  if (m > 0 && n > 0 && is_wide(type)) /* of floats, two may be the largest within an error */
    expect_lapacks(&p);
}

CASE(test_shapes) {
  uint64_t seed = 1;
  for (int turn = 0; turn < scaled(400); turn++) {
    const int64_t m = random_order(&seed), n = random_below(&seed, 3) ? random_order(&seed) : m;
    const int extra_ld = random_below(&seed, 4), threads = teams[random_below(&seed, COUNT(teams))];
    const uint64_t elements = next_random(&seed) | 1;
    EACH_CPU(variant)
      try_shape(types[turn % COUNT(types)], m, n, extra_ld, threads, elements);
  }
}

/* So large that threads share exchanges, panels, or products. */
CASE(test_large) {
  static const int64_t shapes[][2] = {{500, 500}, {300, 700}, {9000, 40}, {1500, 90}};
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (int i = 0; i < COUNT(teams); i++)
        if (!left_out()) {
          SCOPE;
          problem p = problem_new(types[t], shapes[s][0], shapes[s][1], 1, (uint64_t)s + 1);
          factor(&p, teams[i]);
          expect_factored(&p, "large");
          assert_int_equal(p.info, 0);
        }
}

CASE(test_same_bits) {
  static const int64_t shapes[][2] = {{300, 300}, {20000, 16}};
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(shapes); s++) {
      SCOPE;
      const int64_t m = shapes[s][0], n = shapes[s][1];
      const size_t bytes = (size_t)(m * n) * davit_type_bytes(types[t]);
      problem alone = problem_new(types[t], m, n, 0, 3);
      factor(&alone, 1);
      for (int i = 0; i < COUNT(teams); i++) {
        problem one = problem_new(types[t], m, n, 0, 3), other = problem_new(types[t], m, n, 0, 3);
        factor(&one, teams[i]);
        factor(&other, teams[i]);
        assert_memory_equal(dense_there(&one.a), dense_there(&other.a), bytes);
        if (n <= 16) /* a panel: whatever the number of threads */
          assert_memory_equal(dense_there(&one.a), dense_there(&alone.a), bytes);
        assert_memory_equal(one.ipiv, alone.ipiv, (size_t)n * sizeof(int));
      }
    }
}

/* ---- pivots that are 0 ---- */

typedef enum singular { ZERO_COLUMN, TWO_COLUMNS, LOW_RANK, ALL_ZERO, SINGULAR_COUNT } singular;

static bool vanishes(singular kind, int64_t at, int64_t i, int64_t j) {
  switch (kind) {
  case ZERO_COLUMN:
    return j == at;
  case TWO_COLUMNS:
    return j == at || j == at + 3;
  case LOW_RANK:
    return i >= at;
  default:
    return true;
  }
}

CASE(test_singular) {
  static const int64_t shapes[][2] = {{1, 1}, {20, 20}, {100, 100}, {130, 60}, {60, 130}};
  static const int64_t places[] = {0, 1, 5, 16, 31, 50, 59};
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (int i = 0; i < COUNT(places) && places[i] < shapes[s][0]; i++)
        for (singular kind = ZERO_COLUMN; kind < SINGULAR_COUNT; kind++) {
          const int64_t m = shapes[s][0], n = shapes[s][1], at = kind == ALL_ZERO ? 0 : places[i];
          if (at >= n || left_out())
            continue;
          SCOPE;
          problem p = problem_new(types[t], m, n, 1, 7);
          for (int64_t l = 0; l < m * n; l++)
            if (vanishes(kind, at, l % m, l / m))
              dense_put(&p.a, l % m, l / m, 0, 0);
          factor(&p, 1 + i % 2);
          assert_int_equal(p.info, at + 1);
          expect_factored(&p, "singular");
          if (is_wide(types[t]))
            expect_lapacks(&p);
        }
}

/* ---- which pivot ---- */

/* Wilkinson's matrix, whose last column doubles from row to row, and whose first candidates are the pivots. */
CASE(test_growth) {
  for (int t = 0; t < COUNT(types); t++) {
    SCOPE;
    const int64_t n = 60;
    problem p = problem_new(types[t], n, n, 0, 1);
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = 0; i < n; i++)
        dense_put(&p.a, i, j, i == j || j == n - 1 ? 1 : i > j ? -1 : 0, 0);
    factor(&p, 1);
    expect_factored(&p, "growth");
    for (int64_t i = 0; i < n; i++) {
      assert_int_equal(p.ipiv[i], i + 1);
      assert_true(dense_value(&p.a, i, n - 1) == (wide)ldexp(1, (int)i));
    }
  }
}

/* The pivot of a column of `m` ones with these two in it. */
static int pivot_of(davit_type type, int64_t m, int64_t i, number x, int64_t k, number y, int threads) {
  SCOPE;
  problem p = problem_new(type, m, 1, 0, 1);
  for (int64_t row = 0; row < m; row++)
    dense_put(&p.a, row, 0, 1, 0);
  dense_put(&p.a, i, 0, creal(x), cimag(x));
  dense_put(&p.a, k, 0, creal(y), cimag(y));
  factor(&p, threads);
  return p.ipiv[0];
}

static void try_choice(davit_type type, int64_t m, int threads) {
  const double nan = (double)NAN;
  const int64_t last = m - 1, middle = m / 2;
  assert_int_equal(pivot_of(type, m, middle, 2, last, -2, threads), middle + 1);
  assert_int_equal(pivot_of(type, m, middle, -2, last, 3, threads), last + 1);
  assert_int_equal(pivot_of(type, m, middle, -1, last, 1, threads), 1);
  assert_int_equal(pivot_of(type, m, 0, nan, last, 3, threads), 1);
  assert_int_equal(pivot_of(type, m, 0, nan, last, (double)INFINITY, threads), 1);
  assert_int_equal(pivot_of(type, m, middle, nan, last, 3, threads), last + 1);
  if (is_complex_type(type)) /* by the sum of the parts, not by the modulus */
    assert_int_equal(pivot_of(type, m, middle, 2 - 2 * I, last, 3.5, threads), middle + 1);
}

CASE(test_choice) {
  static const int64_t lengths[] = {3, 40, 600, 1700, 9000};
  for (int t = 0; t < COUNT(types); t++)
    for (int l = 0; l < COUNT(lengths); l++)
      for (int i = 0; i < COUNT(teams); i++)
        EACH_CPU(variant)
          try_choice(types[t], lengths[l], teams[i]);
}

CASE(test_nan) {
  uint64_t seed = 9;
  for (int turn = 0; turn < scaled(100); turn++) {
    SCOPE;
    const int64_t m = 1 + random_below(&seed, 120), n = 1 + random_below(&seed, 120);
    problem p = problem_new(types[turn % COUNT(types)], m, n, 1, next_random(&seed) | 1);
    for (int i = 0; i < 1 + turn % 3; i++)
      dense_put(&p.a, random_below(&seed, (int)m), random_below(&seed, (int)n),
                i % 2 ? (double)INFINITY : (double)NAN, 0);
    factor(&p, 1 + turn % 2);
    dense_take(&p.a);
    assert_true(isnan(norm_of(values_of(&p.a, m, n), m, n)));
  }
}

/* Pivots whose reciprocals are infinite, or so large that their squares are. */
CASE(test_small_and_large_pivots) {
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < 3; i++) {
      SCOPE;
      const double size = ldexp(1, i == 0 ? (is_wide(types[t]) ? -1070 : -145)
                                          : (is_wide(types[t]) ? 1020 : 124) * (2 * i - 3));
      problem p = problem_new(types[t], 2, 2, 0, 1);
      const double imaginary = is_complex_type(types[t]) ? size / 2 : 0;
      dense_put(&p.a, 0, 0, size / 2, imaginary / 2);
      dense_put(&p.a, 1, 0, size, imaginary);
      dense_put(&p.a, 0, 1, 1, 0);
      dense_put(&p.a, 1, 1, 1, 0);
      factor(&p, 1);
      dense_take(&p.a);
      assert_int_equal(p.ipiv[0], 2);
      assert_true(cabsl(dense_value(&p.a, 1, 0) - 0.5L) < 4 * (long double)epsilon_of(types[t]));
      assert_true(cabsl(dense_value(&p.a, 1, 1) - 0.5L) < 4 * (long double)epsilon_of(types[t]));
    }
}

/* ---- rows in a new order ---- */

/* Interchanges of rows first … first + count - 1 with later ones, or with any. */
static void try_rows(davit_type type, int64_t rows, int64_t n, int64_t first, int64_t base, int64_t count,
                     bool later, int threads, uint64_t *seed) {
  SCOPE;
  dense a = dense_new(type, rows, n, 1, 0, DAVIT_PAGEABLE, next_random(seed) | 1);
  number *expected = values_of(&a, rows, n);
  int *ipiv = kept((size_t)(count + 1) * sizeof *ipiv), *scratch = kept((size_t)(rows + 1) * sizeof *scratch),
      *to = kept((size_t)(2 * count + 1) * sizeof *to), *from = kept((size_t)(2 * count + 1) * sizeof *from);
  bool *listed = kept_zeros((size_t)rows + 1);
  for (int64_t j = 0; j < count; j++) {
    const int64_t lowest = later ? first + j : base;
    const int64_t other = lowest + random_below(seed, (int)(rows - lowest));
    ipiv[j] = (int)(other - base) + 1;
    swap_rows(expected, rows, n, first + j, other);
  }
  const int64_t pairs = dvt_pivots_to_rows(ipiv, first, base, count, rows, scratch, to, from);
  assert_true(pairs <= 2 * count && to[2 * count] == -1 && from[2 * count] == -1 && scratch[rows] == -1);
  for (int64_t i = 0; i < pairs; i++) {
    assert_true(to[i] != from[i] && !listed[to[i]]);
    listed[to[i]] = true;
  }
  CHECK(dvt_permute_host(&(dvt_site){.threads = threads},
                         &(dvt_permute){type, n, dense_there(&a), dense_ld(&a), pairs, to, from}));
  dense_take(&a);
  const number *found = values_of(&a, rows, n);
  assert_memory_equal(found, expected, (size_t)(rows * n) * sizeof *found);
}

CASE(test_rows) {
  uint64_t seed = 4;
  for (int turn = 0; turn < scaled(400); turn++) {
    const int64_t rows = 1 + random_below(&seed, 60), first = random_below(&seed, (int)rows),
                  base = random_below(&seed, (int)first + 1),
                  count = random_below(&seed, (int)(rows - first) + 1);
    try_rows(types[turn % COUNT(types)], rows, random_below(&seed, 20), first, base, count,
             random_below(&seed, 2), teams[turn % COUNT(teams)], &seed);
  }
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < COUNT(teams); i++)
      try_rows(types[t], 400, 301, 0, 0, 350, true, teams[i], &seed);
}

static davit_status permute_two_rows(void *unused) {
  double a[] = {1, 2, 3};
  const int to[] = {2, 0}, from[] = {0, 2};
  (void)unused;
  DVT_TRY(dvt_permute_host(&(dvt_site){.threads = 1}, &(dvt_permute){DAVIT_DOUBLE, 1, a, 3, 2, to, from}));
  assert_true(a[0] == 3 && a[1] == 2 && a[2] == 1);
  return DAVIT_SUCCESS;
}

CASE(test_no_memory_for_rows) {
  assert_int_equal(fail_each(DVT_INJECT_HOST_MEMORY, permute_two_rows, NULL), 1);
}
