/* SPDX-License-Identifier: Apache-2.0 */
/* Tall panels by Cholesky QR, on the host and by the kernels of a GPU without one: V, R, tau and T beside those of
 * Householder's factorisation column by column; what is found of columns that are nearly or quite dependent. */
#include "tests/emulator.h"
/* The source under test. */
#define dvt_cholesky_qr_stream emulated_cholesky_qr
#define dvt_reconstruct_stream emulated_reconstruct
#define dvt_level3_stream dvt_level3_host
#define dvt_potrf_stream dvt_potrf_host
#define dvt_cholesky_qr_kernels emulated_kernels
#include "offload/cholesky_qr.c"
#include "offload/cholesky_qr_stream.c"
#include "ref/qr.h"
#include "tests/solving.h"

#define KERNELS(type)                                                                                        \
  static void run_##type##_upper(void *arguments) {                                                          \
    const dvt_argument *a = arguments;                                                                       \
    type##_upper(emulator_pointer(a), emulator_pointer(a + 1), (int64_t)a[2]);                               \
  }                                                                                                          \
  static void run_##type##_distance(void *arguments) {                                                       \
    const dvt_argument *a = arguments;                                                                       \
    type##_distance(emulator_pointer(a), emulator_pointer(a + 1), (int64_t)a[2]);                            \
  }                                                                                                          \
  static void run_##type##_correct(void *arguments) {                                                        \
    const dvt_argument *a = arguments;                                                                       \
    type##_correct(emulator_pointer(a), emulator_pointer(a + 1), (int64_t)a[2]);                             \
  }                                                                                                          \
  static void run_##type##_eliminate(void *arguments) {                                                      \
    const dvt_argument *a = arguments;                                                                       \
    type##_eliminate(emulator_pointer(a), (int64_t)a[1], (int64_t)a[2]);                                     \
  }                                                                                                          \
  static void run_##type##_finish(void *arguments) {                                                         \
    const dvt_argument *a = arguments;                                                                       \
    type##_finish(emulator_pointer(a), emulator_pointer(a + 1), emulator_pointer(a + 2), (int64_t)a[3],      \
                  emulator_pointer(a + 4), emulator_pointer(a + 5), emulator_pointer(a + 6), (int64_t)a[7]); \
  }
KERNELS(float)
KERNELS(double)
KERNELS(complex_float)
KERNELS(complex_double)

static void run_judge(void *arguments) {
  const dvt_argument *a = arguments;
  judge_all(emulator_pointer(a), (int64_t)a[1], (int64_t)a[2], emulator_double(a + 3),
            emulator_pointer(a + 4));
}

#define NAMES(type)                                                                                          \
  {"cholesky_qr_" #type "_upper_region", run_##type##_upper},                                                \
      {"cholesky_qr_" #type "_distance_region", run_##type##_distance},                                      \
      {"cholesky_qr_" #type "_correct_region", run_##type##_correct},                                        \
      {"cholesky_qr_" #type "_eliminate_region", run_##type##_eliminate}, {                                  \
    "cholesky_qr_" #type "_finish_region", run_##type##_finish                                               \
  }
const emulator_kernel emulator_kernels[] = {NAMES(float),
                                            NAMES(double),
                                            NAMES(complex_float),
                                            NAMES(complex_double),
                                            {"dvt_judge_region", run_judge}};

static davit_status find_room(const dvt_site *site, size_t bytes, void **pointer) {
  static _Alignas(16) char room[1 << 12];
  (void)site;
  assert_true(bytes <= sizeof room);
  *pointer = room;
  return DAVIT_SUCCESS;
}

/* Where the steps are taken. */
typedef struct where {
  const char *name;
  dvt_site site;
  dvt_form pass, reconstruct;
} where;

static char stream; /* there is one: kernels are launched */
static const where wheres[] = {
    {"host", {.device = DAVIT_HOST, .threads = 1}, dvt_cholesky_qr_host, dvt_reconstruct_host},
    {"kernels",
     {.threads = 1, .workspace = find_room, .stream = (void *)&stream},
     emulated_cholesky_qr,
     emulated_reconstruct}};

/* ---- problems ---- */

typedef struct problem {
  davit_type type;
  int64_t m, n;
  dense a, q, r, gram, tau, top, t;
} problem;

/* Each column but the first is the one before plus `apart` of a random one: the smaller, the nearer to dependent. */
static problem problem_new(davit_type type, int64_t m, int64_t n, double apart, uint64_t seed) {
  problem p = {.type = type, .m = m, .n = n};
  dense *const squares[] = {&p.r, &p.gram, &p.top, &p.t};
  p.a = dense_new(type, m, n, (int64_t)(seed % 3), 0, DAVIT_PAGEABLE, seed);
  p.q = dense_new(type, m, n, 0, 0, DAVIT_PAGEABLE, UNSET);
  p.tau = dense_new(type, n, 1, 0, 0, DAVIT_PAGEABLE, UNSET);
  for (int i = 0; i < COUNT(squares); i++)
    *squares[i] = dense_new(type, n, n, 0, 0, DAVIT_PAGEABLE, UNSET);
  for (int64_t j = 1; j < n && apart < 1; j++)
    for (int64_t i = 0; i < m; i++)
      put_number(&p.a, i, j, number_at(&p.a, i, j - 1) + apart * number_at(&p.a, i, j));
  dense_give(&p.a);
  return p;
}

/* Passes until one finds what is no reason for another: how many, and what it has found. */
static int orthonormalise(problem *p, const where *w, int *passes) {
  int found = 0;
  dvt_cholesky_qr c = {p->type,
                       p->m,
                       p->n,
                       dense_there(&p->a),
                       dense_ld(&p->a),
                       dense_there(&p->q),
                       dense_there(&p->r),
                       dense_there(&p->gram),
                       &found};
  *passes = 0;
  do {
    CHECK(w->pass(&w->site, &c));
    c.a = NULL;
    ++*passes;
  } while (found == DVT_NEARLY && *passes < 5);
  dense_take(&p->a); /* nothing of it has changed */
  return found;
}

static void reconstruct(problem *p, const where *w) {
  const dvt_reconstruct r = {p->type,
                             p->m,
                             p->n,
                             dense_there(&p->q),
                             dense_there(&p->r),
                             dense_there(&p->gram),
                             dense_there(&p->a),
                             dense_ld(&p->a),
                             dense_there(&p->tau),
                             dense_there(&p->top),
                             dense_there(&p->t)};
  CHECK(w->reconstruct(&w->site, &r));
  dense *const all[] = {&p->a, &p->q, &p->r, &p->gram, &p->tau, &p->top, &p->t};
  for (int i = 0; i < COUNT(all); i++)
    dense_take(all[i]);
}

/* By Householder, column by column. */
static void factor(problem *p) {
  const dvt_site *site = &wheres[0].site;
  const dvt_geqrf geqrf = {p->type, p->m, p->n, dense_there(&p->a), dense_ld(&p->a), dense_there(&p->tau)};
  const dvt_reflect reflect = {p->type,
                               p->m,
                               p->n,
                               dense_there(&p->a),
                               dense_ld(&p->a),
                               dense_there(&p->tau),
                               dense_there(&p->top),
                               dense_there(&p->t)};
  CHECK(dvt_geqrf_host(site, &geqrf));
  CHECK(dvt_reflect_host(site, &reflect));
  dense *const all[] = {&p->a, &p->tau, &p->top, &p->t};
  for (int i = 0; i < COUNT(all); i++)
    dense_take(all[i]);
}

static void expect_same(const problem *p, const dense *found, const dense *expected, const char *what,
                        double bound) {
  double most = 1;
  for (int64_t j = 0; j < expected->cols; j++)
    for (int64_t i = 0; i < expected->rows / expected->parts; i++)
      most = fmax(most, cabs(number_at(expected, i, j)));
  for (int64_t j = 0; j < expected->cols; j++)
    for (int64_t i = 0; i < expected->rows / expected->parts; i++)
      if (!(cabs(number_at(found, i, j) - number_at(expected, i, j)) <= bound * epsilon_of(p->type) * most))
        fail_msg("%s of type %d, %lld × %lld: element %lld, %lld is %g in place of %g", what, (int)p->type,
                 (long long)p->m, (long long)p->n, (long long)i, (long long)j, creal(number_at(found, i, j)),
                 creal(number_at(expected, i, j)));
}

/* `condition`: how far roundoff may be magnified on the way to vectors. */
static void expect_reflectors(problem *p, problem *expected, double condition) {
  const double bound = 100 * sqrt((double)p->m) * condition;
  factor(expected);
  expect_same(p, &p->a, &expected->a, "V", bound);
  expect_same(p, &p->tau, &expected->tau, "tau", bound);
  expect_same(p, &p->top, &expected->top, "the top", bound);
  expect_same(p, &p->t, &expected->t, "T", bound);
}

/* ‖A - Q R‖ / (m ‖A‖ eps) and ‖1 - Q' Q‖ / (m eps), with Q = 1 - V T V1'. */
static void expect_accurate(const problem *p, const problem *before) {
  const int64_t m = p->m, n = p->n;
  number *const v = values_of(&p->a, m, n), *const t = values_of(&p->t, n, n),
                *const r = values_of(&p->top, n, n), *const unit = numbers(m, n),
                *const a = values_of(&before->a, m, n), *const v1 = numbers(n, n);
  for (int64_t j = 0; j < n; j++) {
    unit[j + j * m] = 1;
    for (int64_t i = 0; i < n; i++) {
      v1[i + j * n] = v[i + j * m];
      if (i > j)
        r[i + j * n] = 0;
    }
  }
  const number *const tv = minus_product(NULL, n, n, n, t, adjoint_of(v1, n, n)), *const q = minus_product(
                                                                                      unit, m, n, n, v, tv);
  number *const plus = numbers(m, n);
  for (int64_t i = 0; i < m * n; i++)
    plus[i] = 2 * unit[i] - q[i]; /* tv was -T V1' */
  const number *const rest = minus_product(a, m, n, n, plus, r);
  expect_small(norm_of(rest, m, n), (double)m * norm_of(a, m, n), p->type, "A - Q R", m, n);
  expect_orthogonal(p->type, m, n, plus, "Q");
}

/* ---- tests ---- */

CASE(test_judgement) {
  static const struct {
    double value;
    int found;
  } cases[] = {{1e-30, DVT_ORTHONORMAL},     {0.3, DVT_NEARLY},
               {-0.3, DVT_NEARLY},           {0.6, DVT_DEPENDENT},
               {(double)NAN, DVT_DEPENDENT}, {(double)INFINITY, DVT_DEPENDENT}};
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < COUNT(cases); i++)
      for (int below = 0; below < 2; below++) {
        SCOPE;
        dense gram = dense_new(types[t], 90, 90, 0, 0, DAVIT_PAGEABLE, UNSET);
        int found = 0;
        for (int64_t e = 0; e < 90 * 90; e++)
          put_number(&gram, e % 90, e / 90, e % 91 == 0);
        put_number(&gram, below ? 80 : 7, below ? 7 : 80, cases[i].value);
        dense_give(&gram);
        CHECK(judge(&wheres[1].site, types[t], 90, dense_there(&gram), &found));
        assert_int_equal(found, below ? DVT_ORTHONORMAL : cases[i].found);
        found = 3; /* what potrf has found counts more */
        CHECK(judge(&wheres[1].site, types[t], 90, dense_there(&gram), &found));
        assert_int_equal(found, DVT_DEPENDENT);
      }
}

CASE(test_random_columns) {
  static const int64_t shapes[][2] = {{2, 1},   {9, 2},    {65, 32},  {64, 31},  {130, 33},
                                      {300, 7}, {260, 64}, {200, 65}, {400, 97}, {512, 129}};
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (int w = 0; w < COUNT(wheres); w++) {
        SCOPE;
        const uint64_t seed = (uint64_t)(7 + s);
        problem p = problem_new(types[t], shapes[s][0], shapes[s][1], 1, seed),
                same = problem_new(types[t], shapes[s][0], shapes[s][1], 1, seed);
        int passes;
        assert_int_equal(orthonormalise(&p, &wheres[w], &passes), DVT_ORTHONORMAL);
        assert_in_range(passes, 1, 2);
        reconstruct(&p, &wheres[w]);
        expect_reflectors(&p, &same, 1);
      }
}

/* The second pass, and the correction, which counts most where the first pass was just good enough. */
CASE(test_near_columns) {
  static const double wide_apart[] = {0.9, 0.03, 1e-3, 1e-5}, short_apart[] = {0.9, 0.3, 0.05, 0.01};
  int once = 0, again = 0;
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < COUNT(wide_apart); i++)
      for (int w = 0; w < COUNT(wheres); w++) {
        SCOPE;
        const double apart = epsilon_of(types[t]) < 0x1p-30 ? wide_apart[i] : short_apart[i];
        problem p = problem_new(types[t], 120, 6, apart, 3), same = problem_new(types[t], 120, 6, apart, 3);
        int passes;
        assert_int_equal(orthonormalise(&p, &wheres[w], &passes), DVT_ORTHONORMAL);
        once += passes == 1;
        again += passes == 2;
        reconstruct(&p, &wheres[w]);
        expect_accurate(&p, &same);
        expect_reflectors(&p, &same, 20 / apart);
      }
  assert_true(once >= 8 && again >= 8);
}

/* Columns of Q that are a little too long: what is left is of the square of that. */
CASE(test_correction) {
  for (int t = 0; t < COUNT(types); t++)
    for (int w = 0; w < COUNT(wheres); w++) {
      SCOPE;
      const double longer = epsilon_of(types[t]) < 0x1p-30 ? 3e-9 : 2e-4;
      problem p = problem_new(types[t], 40, 9, 1, 4), before = problem_new(types[t], 40, 9, 1, 4);
      int passes;
      assert_int_equal(orthonormalise(&p, &wheres[w], &passes), DVT_ORTHONORMAL);
      dense_take(&p.q);
      dense_take(&p.r);
      for (int64_t j = 0; j < 9; j++) {
        for (int64_t i = 0; i < 40; i++)
          put_number(&p.q, i, j, number_at(&p.q, i, j) * (1 + longer));
        for (int64_t i = 0; i < 9; i++) {
          put_number(&p.r, j, i, number_at(&p.r, j, i) / (1 + longer));
          put_number(&p.gram, i, j, i == j ? (1 + longer) * (1 + longer) : 0);
        }
      }
      dense_give(&p.q);
      dense_give(&p.r);
      dense_give(&p.gram);
      reconstruct(&p, &wheres[w]);
      expect_accurate(&p, &before);
    }
}

static void expect_refused(davit_type type, number first, number second, bool same) {
  for (int w = 0; w < COUNT(wheres); w++) {
    SCOPE;
    problem p = problem_new(type, 90, 40, 1, 5);
    int passes;
    for (int64_t i = 0; i < 90; i++)
      put_number(&p.a, i, 17, same ? number_at(&p.a, i, 16) : first);
    put_number(&p.a, 50, 17, same ? number_at(&p.a, 50, 16) : second);
    dense_give(&p.a);
    assert_int_equal(orthonormalise(&p, &wheres[w], &passes), DVT_DEPENDENT);
  }
}

CASE(test_dependent_columns) {
  for (int t = 0; t < COUNT(types); t++) {
    expect_refused(types[t], 0, 0, true);
    expect_refused(types[t], 0, 0, false);
    expect_refused(types[t], 1, (double)NAN, false);
    expect_refused(types[t], 1, (double)INFINITY, false);
    expect_refused(types[t], 0, epsilon_of(types[t]) < 0x1p-30 ? 1e-200 : 1e-30, false); /* its square is 0 */
    expect_refused(types[t], 0, epsilon_of(types[t]) < 0x1p-30 ? 1e200 : 1e30, false);   /* or infinite */
  }
}

CASE(test_refused_kernels) {
  problem p = problem_new(DAVIT_DOUBLE, 90, 70, 1, 2);
  int passes, launches;
  emulator_launches = 0;
  orthonormalise(&p, &wheres[1], &passes);
  launches = emulator_launches;
  assert_int_equal(launches, 3);
  reconstruct(&p, &wheres[1]);
  launches = emulator_launches;
  assert_int_equal(launches, 3 + 4);
  for (int at = 0; at < launches; at++) {
    SCOPE;
    problem again = problem_new(DAVIT_DOUBLE, 90, 70, 1, 2);
    int found = 0;
    const dvt_cholesky_qr c = {DAVIT_DOUBLE,
                               90,
                               70,
                               dense_there(&again.a),
                               dense_ld(&again.a),
                               dense_there(&again.q),
                               dense_there(&again.r),
                               dense_there(&again.gram),
                               &found};
    const dvt_reconstruct r = {DAVIT_DOUBLE,
                               90,
                               70,
                               c.q,
                               c.r,
                               c.gram,
                               dense_there(&again.a),
                               dense_ld(&again.a),
                               dense_there(&again.tau),
                               dense_there(&again.top),
                               dense_there(&again.t)};
    emulator_launches = 0;
    emulator_fails_at = at;
    davit_status status = emulated_cholesky_qr(&wheres[1].site, &c);
    if (status == DAVIT_SUCCESS)
      status = emulated_reconstruct(&wheres[1].site, &r);
    emulator_fails_at = -1;
    assert_int_equal(status, DAVIT_DEVICE_ERROR);
  }
}
