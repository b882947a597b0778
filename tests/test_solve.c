/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation and the systems solved with it: backward errors as LAPACK's testers measure them, the order
 * of the minor that fails, what must stay as it is, over types, halves, places, devices, blocks and slabs. */
#include <dlfcn.h>

#include "tests/dense.h"

static const davit_type types[] = {DAVIT_DOUBLE, DAVIT_FLOAT, DAVIT_COMPLEX_DOUBLE, DAVIT_COMPLEX_FLOAT};

/* ---- by type ---- */

static davit_status potrf(davit_type type, char uplo, int64_t n, void *a, int64_t lda,
                          const davit_solve_options *o) {
  return type == DAVIT_DOUBLE           ? davit_dpotrf(uplo, n, a, lda, o)
         : type == DAVIT_FLOAT          ? davit_spotrf(uplo, n, a, lda, o)
         : type == DAVIT_COMPLEX_DOUBLE ? davit_zpotrf(uplo, n, a, lda, o)
                                        : davit_cpotrf(uplo, n, a, lda, o);
}

static davit_status potrs(davit_type type, char uplo, int64_t n, int64_t nrhs, const void *a, int64_t lda,
                          void *b, int64_t ldb, const davit_solve_options *o) {
  return type == DAVIT_DOUBLE           ? davit_dpotrs(uplo, n, nrhs, a, lda, b, ldb, o)
         : type == DAVIT_FLOAT          ? davit_spotrs(uplo, n, nrhs, a, lda, b, ldb, o)
         : type == DAVIT_COMPLEX_DOUBLE ? davit_zpotrs(uplo, n, nrhs, a, lda, b, ldb, o)
                                        : davit_cpotrs(uplo, n, nrhs, a, lda, b, ldb, o);
}

static davit_status posv(davit_type type, char uplo, int64_t n, int64_t nrhs, void *a, int64_t lda, void *b,
                         int64_t ldb, const davit_solve_options *o) {
  return type == DAVIT_DOUBLE           ? davit_dposv(uplo, n, nrhs, a, lda, b, ldb, o)
         : type == DAVIT_FLOAT          ? davit_sposv(uplo, n, nrhs, a, lda, b, ldb, o)
         : type == DAVIT_COMPLEX_DOUBLE ? davit_zposv(uplo, n, nrhs, a, lda, b, ldb, o)
                                        : davit_cposv(uplo, n, nrhs, a, lda, b, ldb, o);
}

static davit_status queue_potrf(davit_queue *q, davit_type type, char uplo, int64_t n, void *a, int64_t lda,
                                int *info) {
  return type == DAVIT_DOUBLE           ? davit_queue_dpotrf(q, uplo, n, a, lda, info, NULL)
         : type == DAVIT_FLOAT          ? davit_queue_spotrf(q, uplo, n, a, lda, info, NULL)
         : type == DAVIT_COMPLEX_DOUBLE ? davit_queue_zpotrf(q, uplo, n, a, lda, info, NULL)
                                        : davit_queue_cpotrf(q, uplo, n, a, lda, info, NULL);
}

static davit_status queue_posv(davit_queue *q, davit_type type, char uplo, int64_t n, int64_t nrhs, void *a,
                               int64_t lda, void *b, int64_t ldb, int *info) {
  return type == DAVIT_DOUBLE           ? davit_queue_dposv(q, uplo, n, nrhs, a, lda, b, ldb, info, NULL)
         : type == DAVIT_FLOAT          ? davit_queue_sposv(q, uplo, n, nrhs, a, lda, b, ldb, info, NULL)
         : type == DAVIT_COMPLEX_DOUBLE ? davit_queue_zposv(q, uplo, n, nrhs, a, lda, b, ldb, info, NULL)
                                        : davit_queue_cposv(q, uplo, n, nrhs, a, lda, b, ldb, info, NULL);
}

static double epsilon_of(davit_type type) {
  return type == DAVIT_DOUBLE || type == DAVIT_COMPLEX_DOUBLE ? 0x1p-53 : 0x1p-24;
}

/* ---- problems ---- */

/* A positive definite matrix of which one half is there, the other is NaN; the imaginary parts of the diagonal are
 * noise. `graded`: rows and columns are scaled by powers of 2, so that the elements differ by 2^40. */
typedef struct problem {
  davit_type type;
  char uplo;
  int64_t n;
  dense a;
  double _Complex *full; /* as it was, both halves, n × n */
} problem;

static bool is_stored(const problem *p, int64_t i, int64_t j) {
  return p->uplo == 'L' ? i >= j : i <= j;
}

static problem problem_new(davit_type type, char uplo, int64_t n, int64_t extra_ld, int place, uint64_t seed,
                           bool graded) {
  problem p = {type, uplo, n, dense_new(type, n, n, extra_ld, 0, place, seed),
               kept((size_t)(n * n + 1) * sizeof *p.full)};
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
      const double _Complex z = __builtin_complex((double)creall(kept_value),
                                                  is_complex && i != j ? (double)cimagl(kept_value) : 0.0);
      p.full[i + j * n] = z;
      p.full[j + i * n] = conj(z);
    }
  dense_give(&p.a);
  return p;
}

static double norm_of(const double _Complex *x, int64_t rows, int64_t cols) {
  double most = 0;
  for (int64_t j = 0; j < cols; j++) {
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
      sum += cabs(x[i + j * rows]);
    most = sum > most ? sum : most;
  }
  return most;
}

/* The factor as a lower triangle, and nothing else may have changed. */
static double _Complex *factor_of(problem *p) {
  double _Complex *l = kept_zeros((size_t)(p->n * p->n + 1) * sizeof *l);
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->n; i++) {
      const wide value = dense_value(&p->a, i, j);
      if (!is_stored(p, i, j)) {
        assert_true(isnan((double)creall(value)));
        continue;
      }
      const double _Complex z = __builtin_complex((double)creall(value), (double)cimagl(value));
      l[p->uplo == 'L' ? i + j * p->n : j + i * p->n] = p->uplo == 'L' ? z : conj(z);
    }
  return l;
}

/* ‖A - L L'‖ / (n ‖A‖ eps) of the first `minor` rows and columns. LAPACK's testers allow 30. */
static double error_of_factor(problem *p, int64_t minor) {
  const int64_t n = p->n;
  const double _Complex *l = factor_of(p);
  double _Complex *rest = kept((size_t)(n * n + 1) * sizeof *rest);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++) {
      double _Complex sum = 0;
      for (int64_t k = 0; k <= (i < j ? i : j) && i < minor && j < minor; k++)
        sum += l[i + k * n] * conj(l[j + k * n]);
      rest[i + j * n] = i < minor && j < minor ? p->full[i + j * n] - sum : 0;
      if (isnan(cabs(rest[i + j * n])))
        return (double)NAN;
    }
  return n == 0 ? 0 : norm_of(rest, n, n) / ((double)n * norm_of(p->full, n, n) * epsilon_of(p->type));
}

static void expect_factored(problem *p, const char *what) {
  dense_take(&p->a);
  const double error = error_of_factor(p, p->n);
  if (!(error <= 30))
    fail_msg("%s, type %d, %c, n %lld: the error is %g", what, (int)p->type, p->uplo, (long long)p->n, error);
}

/* ‖B - A X‖ / (‖A‖ ‖X‖ n eps) */
static void expect_solved(const problem *p, dense *x, const double _Complex *b, int64_t nrhs,
                          const char *what) {
  const int64_t n = p->n;
  dense_take(x);
  double _Complex *solution = kept((size_t)(n * nrhs + 1) * sizeof *solution),
                  *rest = kept((size_t)(n * nrhs + 1) * sizeof *rest);
  for (int64_t j = 0; j < nrhs; j++)
    for (int64_t i = 0; i < n; i++) {
      const wide value = dense_value(x, i, j);
      solution[i + j * n] = __builtin_complex((double)creall(value), (double)cimagl(value));
    }
  for (int64_t j = 0; j < nrhs; j++)
    for (int64_t i = 0; i < n; i++) {
      double _Complex sum = b[i + j * n];
      for (int64_t k = 0; k < n; k++)
        sum -= p->full[i + k * n] * solution[k + j * n];
      rest[i + j * n] = sum;
    }
  if (n == 0 || nrhs == 0)
    return;
  const double error = norm_of(rest, n, nrhs) / (norm_of(p->full, n, n) * norm_of(solution, n, nrhs) *
                                                 (double)n * epsilon_of(p->type));
  if (!(error <= 30))
    fail_msg("%s, type %d, %c, n %lld: the error is %g", what, (int)p->type, p->uplo, (long long)n, error);
}

static double _Complex *values_of(const dense *b, int64_t n, int64_t nrhs) {
  double _Complex *values = kept((size_t)(n * nrhs + 1) * sizeof *values);
  for (int64_t j = 0; j < nrhs; j++)
    for (int64_t i = 0; i < n; i++) {
      const wide value = dense_value(b, i, j);
      values[i + j * n] = __builtin_complex((double)creall(value), (double)cimagl(value));
    }
  return values;
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
        CHECK(potrf(types[t], *uplo, p.n, dense_there(&p.a), dense_ld(&p.a), NULL));
        expect_factored(&p, "plain");
      }
}

/* Over some devices, by blocks, with as much memory as they need or less. */
static void try_blocks(davit_type type, char uplo, int64_t n, int64_t block, int devices, size_t cache_bytes,
                       int place, bool graded) {
  SCOPE;
  int all[MAX_PLACES];
  const int known = spread_devices(all);
  int chosen[4];
  for (int i = 0; i < devices; i++)
    chosen[i] = all[i % known];
  davit_solve_report report;
  const davit_solve_options options = {.devices = chosen,
                                       .device_count = devices < known ? devices : known,
                                       .block = block,
                                       .cache_bytes = cache_bytes,
                                       .separate_memory = true,
                                       .report = &report};
  problem p = problem_new(type, uplo, n, 1, place, (uint64_t)n, graded);
  CHECK(potrf(type, uplo, n, dense_there(&p.a), dense_ld(&p.a), &options));
  expect_factored(&p, "blocks");
  assert_int_equal(report.failed, 0);
  assert_true(report.block == block && report.written);
  assert_true(report.bytes_from_host >= n * (n + 1) / 2 * (int64_t)davit_type_bytes(type));
  if (cache_bytes == 0)
    assert_true(report.bytes_to_host == report.bytes_from_host);
  else /* blocks come back for a slab behind theirs */
    assert_true(report.bytes_to_host < report.bytes_from_host);
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
  const int device = 0;
  davit_solve_report report;
  const davit_solve_options options = {.devices = &device,
                                       .device_count = 1,
                                       .block = 50,
                                       .cache_bytes = 1000,
                                       .separate_memory = true,
                                       .report = &report};
  memset(a, 0, 100 * 100 * sizeof *a);
  CHECK_FAILS(davit_dpotrf('L', 100, a, 100, &options), DAVIT_OUT_OF_DEVICE_MEMORY, "blocks of 50");
  assert_false(report.written);
}

/* ---- what is not positive definite ---- */

/* LAPACK's own, if it is there: the order of the minor that fails. */
static int lapack_info(char uplo, int n, const double *a, int ld) {
  static void (*dpotrf)(const char *, const int *, double *, const int *, int *, size_t);
  if (!dpotrf) {
    void *lapack = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
    dpotrf = lapack ? (void (*)(const char *, const int *, double *, const int *, int *, size_t))(
                          uintptr_t)dlsym(lapack, "dpotrf_")
                    : NULL;
  }
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
  int all[MAX_PLACES];
  const int known = spread_devices(all);
  davit_solve_report report = {.failed = -1};
  const davit_solve_options options = {.devices = all,
                                       .device_count = devices < known ? devices : known,
                                       .block = block,
                                       .separate_memory = block > 0,
                                       .report = &report};
  problem p = problem_new(type, uplo, n, 0, DAVIT_PAGEABLE, 5, false);
  dense b = dense_new(type, n, 2, 0, 0, DAVIT_PAGEABLE, 6);
  dense_put(&p.a, at, at, value, 0);
  p.full[at + at * n] = value;
  dense_give(&p.a);
  if (type == DAVIT_DOUBLE && !isnan(value)) { /* OpenBLAS's LAPACK goes on with NaN */
    const int theirs = lapack_info(uplo, (int)n, dense_there(&p.a), (int)dense_ld(&p.a));
    assert_true(theirs == -1 || theirs == at + 1);
  }
  char words[64];
  snprintf(words, sizeof words, "minor of order %lld is not positive definite", (long long)at + 1);
  CHECK_FAILS(
      posv(type, uplo, n, 2, dense_there(&p.a), dense_ld(&p.a), dense_there(&b), dense_ld(&b), &options),
      DAVIT_NOT_POSITIVE_DEFINITE, words);
  assert_int_equal(report.failed, at + 1);
  assert_true(dense_as_image(&b));
  dense_take(&p.a);
  const int64_t before = !report.written ? 0 : report.block < n ? at / report.block * report.block : at;
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
  const double _Complex *b = values_of(&x, n, nrhs), *c = values_of(&again, n, nrhs);
  CHECK(posv(type, uplo, n, nrhs, dense_there(&p.a), dense_ld(&p.a), dense_there(&x), dense_ld(&x), options));
  expect_solved(&p, &x, b, nrhs, "posv");
  CHECK(potrs(type, uplo, n, nrhs, dense_there(&p.a), dense_ld(&p.a), dense_there(&again), dense_ld(&again),
              options));
  expect_solved(&p, &again, c, nrhs, "potrs");
  expect_factored(&p, "posv");
}

CASE(test_systems) {
  static const int64_t shapes[][2] = {{0, 3}, {1, 1}, {5, 0}, {33, 1}, {64, 7}, {150, 20}};
  int all[MAX_PLACES], places[MAX_PLACES];
  const int known = spread_devices(all), count = all_places(places);
  const davit_solve_options blocks = {
      .devices = all, .device_count = known < 3 ? known : 3, .block = 24, .separate_memory = true};
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (const char *uplo = "LU"; *uplo; uplo++) {
        try_systems(types[t], *uplo, shapes[s][0], shapes[s][1], places[(t + s) % count], NULL);
        try_systems(types[t], *uplo, shapes[s][0], shapes[s][1], DAVIT_PAGEABLE, &blocks);
      }
}

/* ---- queues ---- */

static void drop_queue(void *queue) {
  CHECK(davit_queue_destroy(queue));
}

static void try_queue(int device, davit_type type, char uplo, int64_t n, int info_place) {
  SCOPE;
  davit_queue *queue;
  CHECK(davit_queue_create(device, &queue, NULL));
  keep(queue, drop_queue);
  const int place = device == DAVIT_HOST ? DAVIT_PINNED : device;
  problem p = problem_new(type, uplo, n, 1, place, 3, false),
          bad = problem_new(type, uplo, n, 1, place, 4, false);
  dense x = dense_new(type, n, 3, 0, 0, place, 8);
  const double _Complex *b = values_of(&x, n, 3);
  int *info = kept_at(2 * sizeof *info, info_place), found[2];
  dense_put(&bad.a, n - 1, n - 1, -1, 0);
  dense_give(&bad.a);
  CHECK(queue_posv(queue, type, uplo, n, 3, dense_there(&p.a), dense_ld(&p.a), dense_there(&x), dense_ld(&x),
                   info));
  CHECK(queue_potrf(queue, type, uplo, n, dense_there(&bad.a), dense_ld(&bad.a), info + 1));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_copy(sizeof found, info, found));
  assert_int_equal(found[0], 0);
  assert_int_equal(found[1], n);
  expect_factored(&p, "queue");
  expect_solved(&p, &x, b, 3, "queue");
}

CASE(test_queues) {
  EACH_DEVICE(device)
    for (int t = 0; t < COUNT(types); t++)
      for (const char *uplo = "LU"; *uplo; uplo++) {
        try_queue(device, types[t], *uplo, 1 + 60 * (t % 3), DAVIT_PAGEABLE);
        try_queue(device, types[t], *uplo, 300, DAVIT_PINNED);
        try_queue(device, types[t], *uplo, 70, device == DAVIT_HOST ? DAVIT_PINNED : device);
      }
}

/* ---- the rest ---- */

CASE(test_same_bits) {
  int all[MAX_PLACES];
  const int known = spread_devices(all);
  const davit_solve_options options = {
      .devices = all, .device_count = known < 3 ? known : 3, .block = 32, .separate_memory = true};
  for (int turn = 0; turn < scaled(20); turn++) {
    SCOPE;
    problem one = problem_new(DAVIT_DOUBLE, 'L', 200, 0, DAVIT_PINNED, 1, true),
            other = problem_new(DAVIT_DOUBLE, 'L', 200, 0, DAVIT_PINNED, 1, true);
    CHECK(davit_dpotrf('L', 200, dense_there(&one.a), 200, &options));
    CHECK(davit_dpotrf('L', 200, dense_there(&other.a), 200, &options));
    assert_memory_equal(dense_there(&one.a), dense_there(&other.a), 200 * 200 * sizeof(double));
  }
}

CASE(test_refused) {
  double a[16] = {1}, b[8] = {1};
  int info;
  davit_queue *queue;
  davit_solve_report report;
  CHECK(davit_queue_create(DAVIT_HOST, &queue, NULL));
  keep(queue, drop_queue);
  REFUSED(davit_dpotrf('X', 4, a, 4, NULL), "uplo");
  REFUSED(davit_dpotrf('L', -1, a, 4, NULL), "n is -1");
  REFUSED(davit_dpotrf('L', 4, a, 3, NULL), "lda is 3");
  REFUSED(davit_dpotrf('L', 4, NULL, 4, NULL), "a is NULL");
  REFUSED(davit_dpotrf('L', 4, a, 4, &(davit_solve_options){.block = -1}), "options->block is -1");
  REFUSED(davit_dpotrf('L', 4, a, 4, &(davit_solve_options){.reserved = {1}}), "reserved");
  REFUSED(davit_dpotrs('L', 4, -1, a, 4, b, 4, NULL), "nrhs is -1");
  REFUSED(davit_dposv('L', 4, 2, a, 4, b, 3, NULL), "ldb is 3");
  REFUSED(davit_dposv('L', 4, 2, a, 4, a + 8, 4, NULL), "b overlaps a");
  REFUSED(davit_dposv('L', 4, 2, a, 4, NULL, 4, NULL), "b is NULL");
  REFUSED(davit_queue_dpotrf(queue, 'L', 4, a, 4, NULL, NULL), "info is NULL");
  REFUSED(davit_queue_dpotrf(queue, 'L', 4, a, 4, &info, &(davit_solve_options){.report = &report}),
          "options->report");
  assert_true(a[0] == 1 && b[0] == 1);
}
