/* SPDX-License-Identifier: Apache-2.0 */
/* Solutions of posv and gesv that are refined from factors in a shorter type: their backward errors, what must stay as it
 * is, and when the native form takes over. */
#include "tests/solving.h"

typedef struct problem {
  davit_type type;
  char uplo; /* 0: gesv */
  int64_t n, nrhs;
  dense a, b;
  number *matrix, *sides;
} problem;

/* Both halves of a positive definite matrix are stored. `scale` of the off-diagonal elements. */
static problem problem_new(davit_type type, char uplo, int64_t n, int64_t nrhs, int place, double scale) {
  problem p = {.type = type, .uplo = uplo, .n = n, .nrhs = nrhs};
  p.a = dense_new(type, n, n, 1, 0, place, (uint64_t)n + 1);
  p.b = dense_new(type, n, nrhs, 2, 0, place, (uint64_t)n + 2);
  p.matrix = values_of(&p.a, n, n);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i <= j; i++) {
      if (uplo)
        p.matrix[j + i * n] = conj(p.matrix[i + j * n]);
      if (i == j)
        p.matrix[i + j * n] = creal(p.matrix[i + j * n]) + (double)n;
    }
  for (int64_t i = 0; i < n * n; i++)
    p.matrix[i] *= scale;
  give_values(&p.a, n, n, p.matrix);
  p.sides = values_of(&p.b, n, nrhs);
  return p;
}

static davit_status run(problem *p, const davit_solve_options *o) {
  void *a = dense_there(&p->a), *b = dense_there(&p->b);
  const int64_t n = p->n, nrhs = p->nrhs, lda = dense_ld(&p->a), ldb = dense_ld(&p->b);
  int *ipiv = kept((size_t)(n + 1) * sizeof *ipiv);
  switch (p->type) {
  case DAVIT_DOUBLE:
    return p->uplo ? davit_dposv(p->uplo, n, nrhs, a, lda, b, ldb, o)
                   : davit_dgesv(n, nrhs, a, lda, ipiv, b, ldb, o);
  case DAVIT_FLOAT:
    return p->uplo ? davit_sposv(p->uplo, n, nrhs, a, lda, b, ldb, o)
                   : davit_sgesv(n, nrhs, a, lda, ipiv, b, ldb, o);
  case DAVIT_COMPLEX_DOUBLE:
    return p->uplo ? davit_zposv(p->uplo, n, nrhs, a, lda, b, ldb, o)
                   : davit_zgesv(n, nrhs, a, lda, ipiv, b, ldb, o);
  default:
    return p->uplo ? davit_cposv(p->uplo, n, nrhs, a, lda, b, ldb, o)
                   : davit_cgesv(n, nrhs, a, lda, ipiv, b, ldb, o);
  }
}

static void expect_solved(problem *p, const char *what) {
  dense_take(&p->b);
  expect_solves(p->type, p->n, p->nrhs, p->matrix, p->sides, &p->b, what);
}

static const int host = DAVIT_HOST;
static const char letters[] = {0, 'L', 'U'};

static davit_solve_options mixed(davit_solve_report *report) {
  return (davit_solve_options){
      .devices = &host, .device_count = 1, .report = report, .arithmetic = DAVIT_ARITHMETIC_MIXED};
}

/* On the host matrices this well conditioned converge. */
CASE(test_converges) {
  static const int64_t shapes[][2] = {{2, 1}, {3, 4}, {33, 1}, {64, 7}, {150, 20}, {301, 2}};
  static const davit_type wide[] = {DAVIT_DOUBLE, DAVIT_COMPLEX_DOUBLE};
  for (int t = 0; t < COUNT(wide); t++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (int l = 0; l < COUNT(letters); l++) {
        SCOPE;
        davit_solve_report report;
        const davit_solve_options o = mixed(&report);
        problem p = problem_new(wide[t], letters[l], shapes[s][0], shapes[s][1],
                                s % 2 ? DAVIT_PAGEABLE : DAVIT_PINNED, 1);
        CHECK(run(&p, &o));
        assert_int_equal(report.arithmetic, DAVIT_ARITHMETIC_MIXED);
        assert_true(report.iterations >= 1 && report.iterations < 10 && report.failed == 0 && report.written);
        assert_true(dense_as_image(&p.a));
        expect_solved(&p, "refined");
      }
}

/* Wherever it runs, and whatever that does, the solution is one. */
CASE(test_anywhere) {
  int places[MAX_PLACES];
  const int count = all_places(places);
  for (int i = 0; i < count; i++)
    for (int l = 0; l < COUNT(letters); l++) {
      SCOPE;
      davit_solve_report report;
      const davit_solve_options o = {.report = &report, .arithmetic = DAVIT_ARITHMETIC_MIXED};
      problem p = problem_new(DAVIT_DOUBLE, letters[l], 120, 1, places[i], 1);
      CHECK(run(&p, &o));
      expect_solved(&p, "anywhere");
    }
}

/* Elements that single precision does not hold, and types that have no shorter one. */
CASE(test_native_instead) {
  for (int l = 0; l < COUNT(letters); l++) {
    SCOPE;
    davit_solve_report report;
    const davit_solve_options o = mixed(&report);
    problem large = problem_new(DAVIT_DOUBLE, letters[l], 50, 3, DAVIT_PAGEABLE, 0x1p200),
            single = problem_new(DAVIT_FLOAT, letters[l], 50, 3, DAVIT_PAGEABLE, 1);
    CHECK(run(&large, &o));
    assert_true(report.arithmetic == DAVIT_ARITHMETIC_NATIVE && !dense_as_image(&large.a));
    expect_solved(&large, "large");
    CHECK(run(&single, &o));
    assert_true(report.arithmetic == DAVIT_ARITHMETIC_NATIVE && report.iterations == 0);
    expect_solved(&single, "single");
  }
}

/* Hilbert's matrix of order 12 has a condition of 10^16. */
CASE(test_does_not_converge) {
  enum { N = 12 };
  davit_solve_report report;
  const davit_solve_options o = mixed(&report);
  problem p = problem_new(DAVIT_DOUBLE, 0, N, 1, DAVIT_PAGEABLE, 1);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      p.matrix[i + j * N] = 1.0 / (i + j + 1);
  give_values(&p.a, N, N, p.matrix);
  CHECK(run(&p, &o));
  assert_true(report.arithmetic == DAVIT_ARITHMETIC_NATIVE);
  expect_solved(&p, "Hilbert");
}

/* What has no solution is said by the native form, and B stays. */
CASE(test_no_solution) {
  for (int l = 0; l < COUNT(letters); l++) {
    SCOPE;
    davit_solve_report report;
    const davit_solve_options o = mixed(&report);
    problem p = problem_new(DAVIT_DOUBLE, letters[l], 40, 2, DAVIT_PAGEABLE, 1);
    for (int64_t i = 0; i < 40; i++)
      p.matrix[i + 30 * 40] = p.matrix[30 + i * 40] = 0;
    give_values(&p.a, 40, 40, p.matrix);
    CHECK_FAILS(run(&p, &o), letters[l] ? DAVIT_NOT_POSITIVE_DEFINITE : DAVIT_SINGULAR,
                letters[l] ? "order 31" : "U(31, 31) is 0");
    assert_true(report.failed == 31 && dense_as_image(&p.b));
  }
}

CASE(test_refused) {
  double a[4] = {2, 0, 0, 2}, b[2] = {1, 1};
  int ipiv[2], info;
  REFUSED(davit_dgesv(2, 1, a, 2, ipiv, b, 2, &(davit_solve_options){.arithmetic = (davit_arithmetic)2}),
          "options->arithmetic is 2");
  REFUSED(davit_queue_dgesv(queue_of(DAVIT_HOST), 2, 1, a, 2, ipiv, b, 2, &info,
                            &(davit_solve_options){.arithmetic = DAVIT_ARITHMETIC_MIXED}),
          "options->arithmetic");
  assert_true(a[0] == 2 && b[0] == 1);
}
