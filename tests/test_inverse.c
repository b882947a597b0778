/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses of triangles, of matrices with a Cholesky factor and of matrices as L U: errors as LAPACK's testers measure
 * them, zeros on the diagonal, what must stay as it is, over types, halves, places, devices, blocks and queues. */
#include "tests/solving.h"

typedef enum kind { TRTRI, POTRI, GETRI, KINDS } kind;

/* What is given: a triangle, whose other half is NaN, as is a diagonal of ones; or L and U in one matrix. */
typedef struct problem {
  kind kind;
  davit_type type;
  char uplo, diag;
  int64_t n;
  dense a;
  int *ipiv;
  number *full; /* the matrix whose inverse is wanted, n × n */
} problem;

static davit_status invert(problem *p, const davit_solve_options *o) {
  void *a = dense_there(&p->a);
  const int64_t ld = dense_ld(&p->a);
  return p->kind == TRTRI   ? BY_TYPE(p->type, davit_, trtri, p->uplo, p->diag, p->n, a, ld, o)
         : p->kind == POTRI ? BY_TYPE(p->type, davit_, potri, p->uplo, p->n, a, ld, o)
                            : BY_TYPE(p->type, davit_, getri, p->n, a, ld, p->ipiv, o);
}

static davit_status enqueue(davit_queue *q, problem *p, int *info) {
  void *a = dense_there(&p->a);
  const int64_t ld = dense_ld(&p->a);
  return p->kind == TRTRI
             ? BY_TYPE(p->type, davit_queue_, trtri, q, p->uplo, p->diag, p->n, a, ld, info, NULL)
         : p->kind == POTRI ? BY_TYPE(p->type, davit_queue_, potri, q, p->uplo, p->n, a, ld, info, NULL)
                            : BY_TYPE(p->type, davit_queue_, getri, q, p->n, a, ld, p->ipiv, info, NULL);
}

/* ---- problems ---- */

static bool is_stored(const problem *p, int64_t i, int64_t j) {
  return p->kind == GETRI || (p->uplo == 'L' ? i > j : i < j) || (i == j && p->diag == 'N');
}

static number *product(int64_t n, const number *a, const number *b) {
  number *c = minus_product(NULL, n, n, n, a, b);
  for (int64_t i = 0; i < n * n; i++)
    c[i] = -c[i];
  return c;
}

/* A triangle of what is stored, with zeros around it. */
static number *triangle(const problem *p, char uplo, bool unit) {
  const int64_t n = p->n;
  number *t = numbers(n, n);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = uplo == 'L' ? j : 0; i < (uplo == 'L' ? n : j + 1); i++)
      t[i + j * n] = i == j && unit ? 1 : number_at(&p->a, i, j);
  return t;
}

static number *matrix_of(const problem *p) {
  if (p->kind == TRTRI)
    return triangle(p, p->uplo, p->diag == 'U');
  if (p->kind == GETRI) {
    number *a = product(p->n, triangle(p, 'L', true), triangle(p, 'U', false));
    for (int64_t i = p->n - 1; i >= 0; i--)
      swap_rows(a, p->n, p->n, i, p->ipiv[i] - 1);
    return a;
  }
  const number *t = triangle(p, p->uplo, false), *other = adjoint_of(t, p->n, p->n);
  return p->uplo == 'L' ? product(p->n, t, other) : product(p->n, other, t);
}

static problem problem_new(kind kind, davit_type type, char uplo, char diag, int64_t n, int64_t extra_ld,
                           int place, uint64_t seed) {
  problem p = {.kind = kind,
               .type = type,
               .uplo = kind == GETRI ? 'U' : uplo,
               .diag = kind == TRTRI ? diag : 'N',
               .n = n,
               .a = dense_new(type, n, n, extra_ld, 0, place, seed),
               .ipiv = kept((size_t)(n + 1) * sizeof(int))};
  for (int64_t j = 0; j < n; j++) {
    p.ipiv[j] = (int)j + 1 + random_below(&seed, (int)(n - j));
    for (int64_t i = 0; i < n; i++) {
      const number value = number_at(&p.a, i, j);
      if (!is_stored(&p, i, j))
        dense_put(&p.a, i, j, (double)NAN, (double)NAN);
      else if (i == j)
        dense_put(&p.a, i, j, 1.5 + creal(value), kind == POTRI ? 0 : cimag(value));
      else
        dense_put(&p.a, i, j, creal(value) / 4, cimag(value) / 4);
    }
  }
  dense_give(&p.a);
  p.full = matrix_of(&p);
  return p;
}

/* ---- what is expected ---- */

/* The inverse, and nothing else may have changed. */
static number *inverse_of(const problem *p) {
  const int64_t n = p->n;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++)
      if (isnan(creal(number_at(&p->a, i, j))) == is_stored(p, i, j))
        fail_msg("kind %d, type %d, %c, %c, n %lld: element %lld, %lld is %g", p->kind, (int)p->type, p->uplo,
                 p->diag, (long long)n, (long long)i, (long long)j, creal(number_at(&p->a, i, j)));
  if (p->kind == TRTRI)
    return triangle(p, p->uplo, p->diag == 'U');
  number *x = numbers(n, n);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++)
      x[i + j * n] = is_stored(p, i, j) ? number_at(&p->a, i, j) : conj(number_at(&p->a, j, i));
  for (int64_t i = 0; i < n && p->kind == POTRI; i++)
    assert_true(cimag(x[i + i * n]) == 0);
  return x;
}

/* ‖I - A X‖ / (n ‖A‖ ‖X‖ eps). LAPACK's testers allow 30. */
static void expect_inverse(problem *p, const char *what) {
  const int64_t n = p->n;
  dense_take(&p->a);
  const number *x = inverse_of(p);
  number *unit = numbers(n, n);
  for (int64_t i = 0; i < n; i++)
    unit[i + i * n] = 1;
  const number *rest = minus_product(unit, n, n, n, p->full, x);
  const double unit_error = (double)n * norm_of(p->full, n, n) * norm_of(x, n, n) * epsilon_of(p->type),
               error = n == 0 ? 0 : norm_of(rest, n, n) / unit_error;
  if (!(error <= 30))
    fail_msg("%s, kind %d, type %d, %c, %c, n %lld: the error is %g", what, p->kind, (int)p->type, p->uplo,
             p->diag, (long long)n, error);
}

/* ---- whole matrices ---- */

#define EACH_PROBLEM(k, t, uplo)                                                                             \
  for (int k = 0; k < KINDS; k++)                                                                            \
    for (int t = 0; t < COUNT(types); t++)                                                                   \
      for (const char *uplo = "LU"; *uplo; uplo++)

static const int64_t orders[] = {0, 1, 2, 3, 31, 47, 48, 49, 64, 97, 130, 201, 257, 300};

CASE(test_orders) {
  int places[MAX_PLACES];
  const int count = all_places(places);
  EACH_PROBLEM(k, t, uplo)
  for (int i = 0; i < COUNT(orders); i++) {
    SCOPE;
    if (orders[i] > 64 && left_out())
      continue;
    problem p = problem_new((kind)k, types[t], *uplo, i % 2 ? 'N' : 'U', orders[i], i % 3,
                            places[(t + i) % count], (uint64_t)(i + 1));
    CHECK(invert(&p, NULL));
    expect_inverse(&p, "plain");
  }
}

/* ---- several devices, copies, blocks ---- */

static void try_devices(problem *p, int devices, int64_t block, size_t cache_bytes) {
  spread_call c;
  spread_over(&c, devices, block, cache_bytes);
  const int64_t element = (int64_t)davit_type_bytes(p->type), least = p->n * (p->n + 1) / 2 * element;
  CHECK(invert(p, &c.options));
  expect_inverse(p, "devices");
  assert_true(c.report.failed == 0 && c.report.written && c.report.seconds > 0 && c.report.device_count >= 1);
  assert_true(c.report.bytes_to_host >= least && c.report.bytes_from_host >= least);
  const bool whole = c.options.device_count == 1 && !cache_bytes;
  if (whole) {
    assert_true(c.report.block == p->n && c.report.bytes_to_host == c.report.bytes_from_host);
    assert_true(c.report.bytes_to_host <= p->n * p->n * element);
  } else if (block) {
    assert_int_equal(c.report.block, block);
  } else {
    assert_true(c.report.block < p->n);
  }
}

CASE(test_copies) {
  static const int64_t shapes[] = {1, 2, 50, 130, 600};
  EACH_PROBLEM(k, t, uplo)
  for (int s = 0; s < COUNT(shapes); s++) {
    SCOPE;
    if (shapes[s] == 600 && (t != DAVIT_DOUBLE || left_out())) /* columns are copied 512 at a time */
      continue;
    problem p = problem_new((kind)k, types[t], *uplo, s % 2 ? 'U' : 'N', shapes[s], 1,
                            s % 2 ? DAVIT_PAGEABLE : DAVIT_PINNED, 7);
    try_devices(&p, 1, 0, 0);
  }
}

CASE(test_parts) {
  static const int64_t shapes[][2] = {{70, 0}, {97, 20}, {130, 48}, {64, 16}, {150, 31}};
  EACH_PROBLEM(k, t, uplo)
  for (int devices = 1; devices <= 4; devices++)
    for (int s = 0; s < COUNT(shapes); s++) {
      SCOPE;
      if (left_out())
        continue;
      const int64_t n = shapes[s][0];
      problem p = problem_new((kind)k, types[t], *uplo, s % 2 ? 'U' : 'N', n, 1,
                              s % 2 ? DAVIT_PAGEABLE : DAVIT_PINNED, (uint64_t)n);
      const size_t whole = (size_t)(n * n) * davit_type_bytes(types[t]);
      try_devices(&p, devices, shapes[s][1], devices == 1 || s % 2 ? 2 * whole - 1 : 0);
    }
}

/* Far less than the matrix: pieces recurse, and so do the tiles of level 3. */
CASE(test_little_memory) {
  EACH_PROBLEM(k, t, uplo) {
    SCOPE;
    if (left_out())
      continue;
    problem p = problem_new((kind)k, types[t], *uplo, 'N', 260, 3, DAVIT_PAGEABLE, 11);
    try_devices(&p, 1 + t % 2, 0, (size_t)6 * 64 * 64 * davit_type_bytes(types[t]));
  }
}

/* ---- zeros on the diagonal ---- */

/* LAPACK's own, if it is there. */
static int lapack_info(problem *p) {
  static const char *const stems[] = {[TRTRI] = "trtri", [POTRI] = "potri", [GETRI] = "getri"};
  void (*const theirs)(void) = (void (*)(void))(uintptr_t)lapack(DAVIT_DOUBLE, stems[p->kind]);
  const int n = (int)p->n, ld = (int)dense_ld(&p->a), size = 64 * n;
  const size_t bytes = (size_t)(n * ld) * sizeof(double);
  double *a = memcpy(kept(bytes), dense_there(&p->a), bytes), *work = kept((size_t)size * sizeof *work);
  int info = -1;
  typedef void trtri(const char *, const char *, const int *, double *, const int *, int *, size_t, size_t);
  typedef void potri(const char *, const int *, double *, const int *, int *, size_t);
  typedef void getri(const int *, double *, const int *, const int *, double *, const int *, int *);
  if (theirs && p->kind == TRTRI)
    ((trtri *)theirs)(&p->uplo, &p->diag, &n, a, &ld, &info, 1, 1);
  else if (theirs && p->kind == POTRI)
    ((potri *)theirs)(&p->uplo, &n, a, &ld, &info, 1);
  else if (theirs)
    ((getri *)theirs)(&n, a, &ld, p->ipiv, work, &size, &info);
  return info;
}

static void try_singular(problem *p, int64_t at, const davit_solve_options *options) {
  char words[64];
  dense_put(&p->a, at, at, 0, 0);
  dense_put(&p->a, p->n - 1, p->n - 1, 0, 0);
  dense_give(&p->a);
  if (p->type == DAVIT_DOUBLE) {
    const int theirs = lapack_info(p);
    assert_true(theirs == -1 || theirs == at + 1);
  }
  snprintf(words, sizeof words, "element %lld of the diagonal is 0", (long long)at + 1);
  CHECK_FAILS(invert(p, options), DAVIT_SINGULAR, words);
  assert_true(dense_as_image(&p->a));
}

CASE(test_singular) {
  int all[MAX_PLACES];
  const int known = spread_devices(all);
  EACH_PROBLEM(k, t, uplo)
  for (int turn = 0; turn < 4; turn++) {
    SCOPE;
    davit_solve_report report = {.failed = -1};
    const davit_solve_options options = {.devices = all,
                                         .device_count = turn == 3 && known > 1 ? 2 : 1,
                                         .block = turn == 3 ? 16 : 0,
                                         .separate_memory = turn > 1,
                                         .report = &report};
    problem p = problem_new((kind)k, types[t], *uplo, 'N', 100, 0, DAVIT_PAGEABLE, 5);
    const int64_t at = turn * 33;
    try_singular(&p, at, &options);
    assert_true(report.failed == at + 1 && !report.written);
  }
}

/* A diagonal of ones is not looked at. */
CASE(test_zeros_that_are_not_stored) {
  double a[] = {0, 3, 7, 0};
  CHECK(davit_dtrtri('L', 'U', 2, a, 2, NULL));
  assert_true(a[0] == 0 && a[1] == -3 && a[2] == 7 && a[3] == 0);
}

/* ---- queues ---- */

static void try_queue(int device, kind kind, davit_type type, char uplo, int64_t n, int info_place) {
  SCOPE;
  davit_queue *queue = queue_of(device);
  const int place = place_for(device);
  problem p = problem_new(kind, type, uplo, n % 2 ? 'U' : 'N', n, 1, place, 3),
          bad = problem_new(kind, type, uplo, 'N', n, 1, place, 4);
  int *info = kept_at(2 * sizeof *info, info_place), found[2];
  dense_put(&bad.a, n - 1, n - 1, 0, 0);
  dense_give(&bad.a);
  CHECK(enqueue(queue, &p, info));
  CHECK(enqueue(queue, &bad, info + 1));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_copy(sizeof found, info, found));
  assert_int_equal(found[0], 0);
  assert_int_equal(found[1], n);
  assert_true(dense_as_image(&bad.a));
  expect_inverse(&p, "queue");
}

/* More than two blocks of the CPU's, or one of a GPU's. */
CASE(test_queues) {
  EACH_DEVICE(device)
    EACH_PROBLEM(k, t, uplo) {
      try_queue(device, (kind)k, types[t], *uplo, 1 + 60 * (t % 3), DAVIT_PAGEABLE);
      if (!left_out())
        try_queue(device, (kind)k, types[t], *uplo, is_gpu(device) ? 300 : 110, DAVIT_PINNED);
      try_queue(device, (kind)k, types[t], *uplo, 70, place_for(device));
    }
}

/* ---- the rest ---- */

CASE(test_same_bits) {
  for (int k = 0; k < KINDS; k++) {
    SCOPE;
    problem one = problem_new((kind)k, DAVIT_DOUBLE, 'L', 'N', 200, 0, DAVIT_PINNED, 1),
            other = problem_new((kind)k, DAVIT_DOUBLE, 'L', 'N', 200, 0, DAVIT_PINNED, 1);
    CHECK(invert(&one, NULL));
    CHECK(invert(&other, NULL));
    assert_memory_equal(dense_there(&one.a), dense_there(&other.a), 200 * 200 * sizeof(double));
  }
}

CASE(test_refused) {
  double a[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  int info, ipiv[4] = {1, 2, 5, 4};
  davit_queue *queue = queue_of(DAVIT_HOST);
  davit_solve_report report;
  REFUSED(davit_dpotri('L', 4, a, 3, NULL), "lda is 3");
  REFUSED(davit_dpotri('L', 4, a, 4, &(davit_solve_options){.block = -1}), "options->block is -1");
  REFUSED(davit_dgetri(4, a, 4, ipiv, NULL), "ipiv[2] is 5, not 1 to 4");
  ipiv[2] = 0;
  REFUSED(davit_dgetri(4, a, 4, ipiv, NULL), "ipiv[2] is 0, not 1 to 4");
  REFUSED(davit_queue_dtrtri(queue, 'L', 'N', 4, a, 4, &info, &(davit_solve_options){.report = &report}),
          "options->report");
  assert_true(a[0] == 1 && a[5] == 1);
}
