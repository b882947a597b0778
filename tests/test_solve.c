/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation and the systems solved with it: backward errors as LAPACK's testers measure them, the order
 * of the minor that fails, what must stay as it is, over types, halves, places, devices, blocks and slabs. */
#include "tests/solving.h"

/* ---- problems ---- */

/* A positive definite matrix of which one half is there, the other is NaN; the imaginary parts of the diagonal are
 * noise. `graded`: rows and columns are scaled by powers of 2, so that the elements differ by 2^40. */
typedef struct problem {
  davit_type type;
  char uplo;
  int64_t n;
  dense a;
  number *full; /* as it was, both halves, n × n */
} problem;

static bool is_stored(const problem *p, int64_t i, int64_t j) {
  return p->uplo == 'L' ? i >= j : i <= j;
}

static problem problem_new(davit_type type, char uplo, int64_t n, int64_t extra_ld, int place, uint64_t seed,
                           bool graded) {
  problem p = {type, uplo, n, dense_new(type, n, n, extra_ld, 0, place, seed), numbers(n, n)};
  const bool is_complex = p.a.parts == 2;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++) {
      if (!is_stored(&p, i, j)) {
        dense_put(&p.a, i, j, (double)NAN, (double)NAN);
        continue;
      }
      const double scale = graded ? ldexp(1, (int)(i * 7 % 21 + j * 7 % 21) - 20) : 1;
      const wide value = dense_value(&p.a, i, j);
      const double real = ((double)creall(value) + (i == j ? (double)n : 0)) * scale,
                   imaginary = (double)cimagl(value) * scale;
      dense_put(&p.a, i, j, real, imaginary);
      const wide kept_value = dense_value(&p.a, i, j);
      const number z = __builtin_complex((double)creall(kept_value),
                                         is_complex && i != j ? (double)cimagl(kept_value) : 0.0);
      p.full[i + j * n] = z;
      p.full[j + i * n] = conj(z);
    }
  dense_give(&p.a);
  return p;
}

/* The factor as a lower triangle, and nothing else may have changed. */
static number *factor_of(problem *p) {
  number *l = numbers(p->n, p->n);
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->n; i++) {
      const number z = number_at(&p->a, i, j);
      if (!is_stored(p, i, j)) {
        assert_true(isnan(creal(z)));
        continue;
      }
      l[p->uplo == 'L' ? i + j * p->n : j + i * p->n] = p->uplo == 'L' ? z : conj(z);
    }
  return l;
}

/* ‖A - L L'‖ / (n ‖A‖ eps) of the first `minor` rows and columns. LAPACK's testers allow 30. */
static double error_of_factor(problem *p, int64_t minor) {
  const int64_t n = p->n;
  const number *l = factor_of(p);
  number *rest = numbers(n, n);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++) {
      double _Complex sum = 0;
      for (int64_t k = 0; k <= (i < j ? i : j) && i < minor && j < minor; k++)
        sum += l[i + k * n] * conj(l[j + k * n]);
      rest[i + j * n] = i < minor && j < minor ? p->full[i + j * n] - sum : 0;
    }
  return n == 0 ? 0 : norm_of(rest, n, n) / ((double)n * norm_of(p->full, n, n) * epsilon_of(p->type));
}

static void expect_factored(problem *p, const char *what) {
  dense_take(&p->a);
  const double error = error_of_factor(p, p->n);
  if (!(error <= 30))
    fail_msg("%s, type %d, %c, n %lld: the error is %g", what, (int)p->type, p->uplo, (long long)p->n, error);
}

/* ---- factors ---- */

static const int64_t orders[] = {0, 1, 2, 3, 31, 32, 47, 48, 49, 64, 97, 130, 201};

CASE(test_orders) {
  int places[MAX_PLACES];
  const int count = all_places(places);
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < COUNT(orders); i++)
      for (const char *uplo = "LU"; *uplo; uplo++) {
        SCOPE;
        problem p =
            problem_new(types[t], *uplo, orders[i], i % 3, places[(t + i) % count], (uint64_t)(i + 1), i % 2);
        CHECK(BY_TYPE(types[t], davit_, potrf, *uplo, p.n, dense_there(&p.a), dense_ld(&p.a), NULL));
        expect_factored(&p, "plain");
      }
}

/* Over some devices, by blocks, with as much memory as they need or less. */
static void try_blocks(davit_type type, char uplo, int64_t n, int64_t block, int devices, size_t cache_bytes,
                       int place, bool graded) {
  SCOPE;
  spread_call c;
  spread_over(&c, devices, block, cache_bytes);
  problem p = problem_new(type, uplo, n, 1, place, (uint64_t)n, graded);
  CHECK(BY_TYPE(type, davit_, potrf, uplo, n, dense_there(&p.a), dense_ld(&p.a), &c.options));
  expect_factored(&p, "blocks");
  assert_int_equal(c.report.failed, 0);
  assert_true(c.report.block == least_of(block, n) && c.report.written);
  int64_t stored = 0; /* half of A, by blocks */
  for (int64_t start = 0; start < n; start += block)
    stored += least_of(block, n - start) * (n - start) * (int64_t)davit_type_bytes(type);
  assert_true(c.report.bytes_from_host >= stored);
  if (cache_bytes == 0)
    assert_true(c.report.bytes_to_host == stored && c.report.bytes_from_host == stored);
  else /* blocks come back for a slab behind theirs */
    assert_true(c.report.bytes_to_host < c.report.bytes_from_host);
}

CASE(test_blocks) {
  static const int64_t shapes[][2] = {{1, 1},   {2, 1},    {9, 2},    {50, 7},   {64, 16},
                                      {97, 32}, {130, 40}, {200, 64}, {150, 200}};
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (const char *uplo = "LU"; *uplo; uplo++)
        for (int devices = 1; devices <= 4; devices++)
          if (!left_out())
            try_blocks(types[t], *uplo, shapes[s][0], shapes[s][1], devices, 0,
                       s % 2 ? DAVIT_PAGEABLE : DAVIT_PINNED, devices % 2);
}

/* Slots and one to three whole blocks fit, of 10 that are half as large on average; a device alone needs no slots where
 * all of them fit. */
CASE(test_slabs) {
  for (int t = 0; t < COUNT(types); t++)
    for (const char *uplo = "LU"; *uplo; uplo++)
      for (int devices = 1; devices <= 3; devices++)
        for (int room = 4; room < 8; room++)
          if (devices * (room - 3) < 5 && (devices > 1 || room < 6) && !left_out()) {
            const int64_t n = 160, block = 16;
            const size_t bytes = (size_t)(n * block) * davit_type_bytes(types[t]) * (size_t)room;
            try_blocks(types[t], *uplo, n, block, devices, bytes, DAVIT_PINNED, false);
          }
}

CASE(test_too_little_memory) {
  double *a = kept_at(100 * 100 * sizeof *a, DAVIT_PINNED);
  spread_call c;
  spread_over(&c, 1, 50, 1000);
  memset(a, 0, 100 * 100 * sizeof *a);
  CHECK_FAILS(davit_dpotrf('L', 100, a, 100, &c.options), DAVIT_OUT_OF_DEVICE_MEMORY, "blocks of 50");
  assert_false(c.report.written);
}

CASE(test_full_devices) {
  SCOPE;
  spread_call c;
  problem p = problem_new(DAVIT_DOUBLE, 'U', 130, 1, DAVIT_PAGEABLE, 1, false);
  spread_over(&c, 1, 0, 100); /* named devices are used as given */
  CHECK_FAILS(BY_TYPE(p.type, davit_, potrf, 'U', p.n, dense_there(&p.a), dense_ld(&p.a), &c.options),
              DAVIT_OUT_OF_DEVICE_MEMORY, "too few");
  assert_false(c.report.written);
  spread_over_full(&c);
  CHECK(BY_TYPE(p.type, davit_, potrf, 'U', p.n, dense_there(&p.a), dense_ld(&p.a), &c.options));
  expect_host(&c, 130);
  expect_factored(&p, "full devices");
}

/* ---- what is not positive definite ---- */

/* LAPACK's own, if it is there: the order of the minor that fails. */
static int lapack_info(char uplo, int n, const double *a, int ld) {
  typedef void function(const char *, const int *, double *, const int *, int *, size_t);
  function *dpotrf = (function *)(uintptr_t)lapack(DAVIT_DOUBLE, "potrf");
  if (!dpotrf)
    return -1;
  const size_t bytes = (size_t)ld * (size_t)n * sizeof(double);
  double *copy = memcpy(kept(bytes), a, bytes);
  int info = 0;
  dpotrf(&uplo, &n, copy, &ld, &info, 1);
  return info;
}

/* The minor of order `at` + 1 fails: an element of the diagonal is negative, 0, or NaN. What comes before the block
 * that fails is the factor's, and B is as it was. */
static void try_indefinite(davit_type type, char uplo, int64_t n, int64_t at, double value, int64_t block,
                           int devices) {
  SCOPE;
  spread_call c;
  spread_over(&c, devices, block, 0);
  c.options.separate_memory = block > 0;
  problem p = problem_new(type, uplo, n, 0, DAVIT_PAGEABLE, 5, false);
  dense b = dense_new(type, n, 2, 0, 0, DAVIT_PAGEABLE, 6);
  dense_put(&p.a, at, at, value, 0);
  p.full[at + at * n] = isnan(value) ? 0 : value; /* no part of what is compared */
  dense_give(&p.a);
  if (type == DAVIT_DOUBLE && !isnan(value)) { /* OpenBLAS's LAPACK goes on with NaN */
    const int theirs = lapack_info(uplo, (int)n, dense_there(&p.a), (int)dense_ld(&p.a));
    assert_true(theirs == -1 || theirs == at + 1);
  }
  char words[64];
  snprintf(words, sizeof words, "minor of order %lld is not positive definite", (long long)at + 1);
  CHECK_FAILS(BY_TYPE(type, davit_, posv, uplo, n, 2, dense_there(&p.a), dense_ld(&p.a), dense_there(&b),
                      dense_ld(&b), &c.options),
              DAVIT_NOT_POSITIVE_DEFINITE, words);
  assert_int_equal(c.report.failed, at + 1);
  assert_true(dense_as_image(&b));
  dense_take(&p.a);
  const int64_t before = !c.report.written    ? 0
                         : c.report.block < n ? at / c.report.block * c.report.block
                                              : at;
  const double error = error_of_factor(&p, before);
  if (!(error <= 30))
    fail_msg("type %d, %c: before the minor of order %lld the error is %g", (int)type, uplo,
             (long long)at + 1, error);
}

CASE(test_indefinite) {
  static const double values[] = {-1, 0, (double)NAN};
  static const int64_t at[] = {0, 5, 47, 48, 63, 64, 99};
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < COUNT(at); i++)
      for (const char *uplo = "LU"; *uplo; uplo++)
        for (int turn = 0; turn < 3; turn++) {
          if (isnan(values[turn]) && left_out())
            continue;
          try_indefinite(types[t], *uplo, 100, at[i], values[turn], 16, turn + 1);
          try_indefinite(types[t], *uplo, 100, at[i], values[turn], 0, 1);
        }
}

/* ---- systems ---- */

static void try_systems(davit_type type, char uplo, int64_t n, int64_t nrhs, int place,
                        const davit_solve_options *options) {
  SCOPE;
  problem p = problem_new(type, uplo, n, 2, place, (uint64_t)(n + nrhs), false);
  dense x = dense_new(type, n, nrhs, 1, 0, place, 9), again = dense_new(type, n, nrhs, 0, 0, place, 10);
  const number *b = values_of(&x, n, nrhs), *c = values_of(&again, n, nrhs);
  CHECK(BY_TYPE(type, davit_, posv, uplo, n, nrhs, dense_there(&p.a), dense_ld(&p.a), dense_there(&x),
                dense_ld(&x), options));
  expect_solves(type, n, nrhs, p.full, b, &x, "posv");
  CHECK(BY_TYPE(type, davit_, potrs, uplo, n, nrhs, dense_there(&p.a), dense_ld(&p.a), dense_there(&again),
                dense_ld(&again), options));
  expect_solves(type, n, nrhs, p.full, c, &again, "potrs");
  expect_factored(&p, "posv");
}

CASE(test_systems) {
  static const int64_t shapes[][2] = {{0, 3}, {1, 1}, {5, 0}, {33, 1}, {64, 7}, {150, 20}};
  spread_call blocks;
  int places[MAX_PLACES];
  const int count = all_places(places);
  spread_over(&blocks, 3, 24, 0);
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (const char *uplo = "LU"; *uplo; uplo++) {
        try_systems(types[t], *uplo, shapes[s][0], shapes[s][1], places[(t + s) % count], NULL);
        try_systems(types[t], *uplo, shapes[s][0], shapes[s][1], DAVIT_PAGEABLE, &blocks.options);
      }
}

/* ---- queues ---- */

static void try_queue(int device, davit_type type, char uplo, int64_t n, int info_place) {
  SCOPE;
  davit_queue *queue = queue_of(device);
  const int place = place_for(device);
  problem p = problem_new(type, uplo, n, 1, place, 3, false),
          bad = problem_new(type, uplo, n, 1, place, 4, false);
  dense x = dense_new(type, n, 3, 0, 0, place, 8);
  const number *b = values_of(&x, n, 3);
  int *info = kept_at(2 * sizeof *info, info_place), found[2];
  dense_put(&bad.a, n - 1, n - 1, -1, 0);
  dense_give(&bad.a);
  CHECK(BY_TYPE(type, davit_queue_, posv, queue, uplo, n, 3, dense_there(&p.a), dense_ld(&p.a),
                dense_there(&x), dense_ld(&x), info, NULL));
  CHECK(BY_TYPE(type, davit_queue_, potrf, queue, uplo, n, dense_there(&bad.a), dense_ld(&bad.a), info + 1,
                NULL));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_copy(sizeof found, info, found));
  assert_int_equal(found[0], 0);
  assert_int_equal(found[1], n);
  expect_factored(&p, "queue");
  expect_solves(type, n, 3, p.full, b, &x, "queue");
}

/* More than two blocks of the CPU's, or one of a GPU's. */
CASE(test_queues) {
  EACH_DEVICE(device)
    for (int t = 0; t < COUNT(types); t++)
      for (const char *uplo = "LU"; *uplo; uplo++) {
        try_queue(device, types[t], *uplo, 1 + 60 * (t % 3), DAVIT_PAGEABLE);
        try_queue(device, types[t], *uplo, is_gpu(device) ? 300 : 110, DAVIT_PINNED);
        try_queue(device, types[t], *uplo, 70, device == DAVIT_HOST ? DAVIT_PINNED : device);
      }
}

/* ---- the rest ---- */

CASE(test_same_bits) {
  spread_call c;
  spread_over(&c, 3, 32, 0);
  for (int turn = 0; turn < scaled(20); turn++) {
    SCOPE;
    problem one = problem_new(DAVIT_DOUBLE, 'L', 200, 0, DAVIT_PINNED, 1, true),
            other = problem_new(DAVIT_DOUBLE, 'L', 200, 0, DAVIT_PINNED, 1, true);
    CHECK(davit_dpotrf('L', 200, dense_there(&one.a), 200, &c.options));
    CHECK(davit_dpotrf('L', 200, dense_there(&other.a), 200, &c.options));
    assert_memory_equal(dense_there(&one.a), dense_there(&other.a), 200 * 200 * sizeof(double));
  }
}

CASE(test_refused) {
  double a[16] = {1}, b[8] = {1};
  int info;
  davit_solve_report report;
  davit_queue *queue = queue_of(DAVIT_HOST);
  REFUSED(davit_dpotrf('L', 4, a, 3, NULL), "lda is 3");
  REFUSED(davit_dpotrf('L', 4, a, 4, &(davit_solve_options){.block = -1}), "options->block is -1");
  REFUSED(davit_dposv('L', 4, 2, a, 4, b, 3, NULL), "ldb is 3");
  REFUSED(davit_dposv('L', 4, 2, a, 4, a + 8, 4, NULL), "b overlaps a");
  REFUSED(davit_queue_dpotrf(queue, 'L', 4, a, 4, &info, &(davit_solve_options){.report = &report}),
          "options->report");
  assert_true(a[0] == 1 && b[0] == 1);
}
