/* SPDX-License-Identifier: Apache-2.0 */
/* Systems of linear equations by Cholesky's factorisation and by LU: the public calls. */
#include <davit/solve.h>

#include "src/base/clock.h"
#include "src/factor/plain.h"
#include "src/factor/refine.h"
#include "src/level3/arguments.h"
#include "src/runtime/memory.h"
#include "src/runtime/place.h"
#include "src/runtime/split.h"

/* A X = B, or one half of it: factor, solve with what is factored. */
enum { FACTOR = 1, SOLVE = 2 };

typedef struct systems {
  davit_type type;
  bool cholesky; /* else LU, which has pivots and a form for the (conjugate) transpose of A */
  char uplo, trans;
  int64_t m, n, nrhs;
  void *a;
  int64_t lda;
  void *ipiv;
  void *b;
  int64_t ldb;
  int steps;
} systems;

/* ---- arguments ---- */

static davit_status check_factor(systems *s) {
  int info;
  dvt_potrf potrf = {s->type, s->uplo, s->n, s->a, s->lda, &info, false};
  dvt_getrf getrf = {
      .type = s->type, .m = s->m, .n = s->n, .a = s->a, .lda = s->lda, .ipiv = s->ipiv, .info = &info};
  if (!s->cholesky)
    return dvt_getrf_operation.check(&getrf);
  DVT_TRY(dvt_potrf_operation.check(&potrf));
  s->uplo = potrf.uplo;
  return DAVIT_SUCCESS;
}

static davit_status check(systems *s) {
  if (!(s->steps & SOLVE))
    return check_factor(s);
  /* In LAPACK's order of arguments: letters, lengths, then each operand. */
  if (s->cholesky)
    DVT_TRY(dvt_check_letter("uplo", s->uplo, "UL", &s->uplo));
  else
    DVT_TRY(dvt_check_letter("trans", s->trans, "NTC", &s->trans));
  DVT_TRY(dvt_check_length("n", s->n));
  DVT_TRY(dvt_check_length("nrhs", s->nrhs));
  DVT_TRY(check_factor(s));
  DVT_TRY(dvt_check_ld("ldb", s->ldb, s->n, s->nrhs));
  if (s->n == 0 || s->nrhs == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_pointer("b", s->b));
  return dvt_blocks_overlap(s->b, s->ldb, s->n, s->nrhs, s->a, s->lda, s->n, s->n, davit_type_bytes(s->type))
             ? davit_fail(DAVIT_INVALID_ARGUMENT, "b overlaps a")
             : DAVIT_SUCCESS;
}

/* ---- with what is factored ---- */

/* Cholesky's halves: the systems with L, then with L'; with U', then with U. LU's: with L, then with U; of the
 * transpose with U', then with L'. */
static dvt_level3 half_of(const systems *s, bool second) {
  const char uplo = s->cholesky                   ? s->uplo
                    : (s->trans == 'N') == second ? 'U'
                                                  : 'L',
             trans = !s->cholesky              ? s->trans
                     : (uplo == 'L') == second ? dvt_adjoint_of(s->type)
                                               : 'N';
  return dvt_solve_left(s->type, uplo, trans, !s->cholesky && uplo == 'L' ? 'U' : 'N', s->n, s->nrhs, s->a,
                        s->lda, s->b, s->ldb);
}

/* Rows of B as LU has exchanged those of A, where B lies. */
static davit_status exchange(dvt_plain *p, const systems *s) {
  void *lists;
  const size_t n = (size_t)s->n;
  const bool back = s->trans != 'N';
  const int place = dvt_place_of(s->b), home = dvt_place_is_host(place) ? DAVIT_HOST : place;
  dvt_lent ipiv;
  DVT_TRY(dvt_lend(s->ipiv, n * sizeof(int), DAVIT_HOST, true, &ipiv));
  davit_status status = dvt_malloc(5 * n * sizeof(int), DAVIT_PINNED, &lists);
  if (status == DAVIT_SUCCESS) {
    int *scratch = lists, *to = scratch + n, *from = to + 2 * n;
    const int64_t count = dvt_pivots_to_rows(ipiv.pointer, 0, 0, s->n, s->n, scratch, to, from);
    const dvt_permute permute = {s->type, s->nrhs, s->b, s->ldb, count, back ? from : to, back ? to : from};
    p->report.written = true;
    status = dvt_operation_now(home, &dvt_permute_operation, &permute, 0);
    davit_free(lists);
  }
  const davit_status given_back = dvt_lent_back(&ipiv, false);
  return status == DAVIT_SUCCESS ? given_back : status;
}

static davit_status solve(dvt_plain *p, const systems *s) {
  const bool exchanges = !s->cholesky;
  if (exchanges && s->trans == 'N')
    DVT_TRY(exchange(p, s));
  for (int second = 0; second < 2; second++) {
    dvt_level3 half = half_of(s, second);
    DVT_TRY(dvt_plain_level3(p, &half));
  }
  return exchanges && s->trans != 'N' ? exchange(p, s) : DAVIT_SUCCESS;
}

/* ---- factors ---- */

static size_t pivot_bytes(const systems *s) {
  return (size_t)(s->m < s->n ? s->m : s->n) * sizeof(int);
}

static davit_status run_factor(dvt_plain *p, const systems *s, bool at_home, int *info) {
  const dvt_factor_call *c = &p->call;
  dvt_potrf potrf = {s->type, s->uplo, s->n, c->a.a, s->lda, info, false};
  dvt_getrf getrf = {
      .type = s->type, .m = s->m, .n = s->n, .a = c->a.a, .lda = s->lda, .ipiv = c->ipiv, .info = info};
  const dvt_at_home cholesky = {.operation = &dvt_potrf_operation, .arguments = &potrf},
                    lu = {&dvt_getrf_operation, &getrf, offsetof(dvt_getrf, ipiv), pivot_bytes(s), true};
  return dvt_plain_run(p, at_home, s->cholesky ? &cholesky : &lu, info);
}

static davit_status failure(dvt_plain *p, const systems *s, int info) {
  p->report.failed = info;
  return info == 0     ? DAVIT_SUCCESS
         : s->cholesky ? davit_fail(DAVIT_NOT_POSITIVE_DEFINITE,
                                    "the leading minor of order %d is not positive definite", info)
                       : davit_fail(DAVIT_SINGULAR, "the matrix is singular: U(%d, %d) is 0", info, info);
}

static bool refines(const dvt_plain *p, const systems *s) {
  return p->call.options->arithmetic == DAVIT_ARITHMETIC_MIXED && s->steps & SOLVE && s->nrhs > 0 &&
         (s->type == DAVIT_DOUBLE || s->type == DAVIT_COMPLEX_DOUBLE);
}

static davit_status factor(dvt_plain *p, const systems *s) {
  const double m = (double)s->m, n = (double)s->n, least = m < n ? m : n;
  dvt_factor_call *c = &p->call;
  int info = 0;
  c->rule = !s->cholesky     ? &dvt_lu_rule
            : s->uplo == 'L' ? &dvt_cholesky_lower_rule
                             : &dvt_cholesky_upper_rule;
  c->work = DVT_FACTOR;
  c->type = s->type;
  c->uplo = s->uplo;
  c->side = 'L';
  c->trans = s->trans;
  c->a = (dvt_dense){.a = s->a, .rows = s->m, .cols = s->n, .ld = s->lda};
  c->ipiv = s->ipiv;
  if (s->steps & SOLVE && s->nrhs > 0)
    c->b = (dvt_dense){.a = s->b, .rows = s->n, .cols = s->nrhs, .ld = s->ldb};
  p->flops = s->cholesky ? n * n * n / 3 : least * least * ((m > n ? m : n) - least / 3);
  p->elements = s->cholesky ? n * n / 2 : m * n;
  const bool at_home = dvt_plain_is_at_home(p);
  if (refines(p, s))
    DVT_TRY(dvt_plain_refine(p, s->cholesky ? s->uplo : 0, at_home, &c->solved));
  if (c->solved)
    return DAVIT_SUCCESS;
  DVT_TRY(run_factor(p, s, at_home, &info));
  return failure(p, s, info);
}

/* ---- the two forms ---- */

static davit_status run_steps(dvt_plain *p, systems *s) {
  if (p->given)
    DVT_TRY(DVT_CHECK_OPTIONS(p->given));
  DVT_TRY(check(s));
  DVT_TRY(dvt_plain_begin(p));
  const bool solves = s->steps & SOLVE && s->nrhs > 0;
  if (s->m == 0 || s->n == 0 || (s->steps == SOLVE && !solves))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_plain_mapped(p, "a", &s->a));
  DVT_TRY(dvt_plain_mapped(p, "ipiv", &s->ipiv));
  if (solves)
    DVT_TRY(dvt_plain_mapped(p, "b", &s->b));
  if (s->steps & FACTOR)
    DVT_TRY(factor(p, s));
  return solves && !p->call.solved ? solve(p, s) : DAVIT_SUCCESS;
}

static davit_status run(systems s, const davit_solve_options *options) {
  const int64_t begin = dvt_now_ns();
  dvt_plain p = {.given = options};
  return dvt_plain_end(&p, begin, run_steps(&p, &s));
}

static davit_status enqueue(davit_queue *queue, systems s, int *info, const davit_solve_options *options) {
  dvt_potrf potrf = {s.type, s.uplo, s.n, s.a, s.lda, info, false};
  dvt_getrf getrf = {
      .type = s.type, .m = s.m, .n = s.n, .a = s.a, .lda = s.lda, .ipiv = s.ipiv, .info = info};
  dvt_getrs getrs = {s.type, s.trans, s.n, s.nrhs, s.a, s.lda, s.ipiv, s.b, s.ldb};
  DVT_TRY(dvt_queue_options(options));
  if (s.steps & SOLVE)
    DVT_TRY(check(&s));
  if (s.steps & FACTOR)
    DVT_TRY(s.cholesky ? dvt_operation_enqueue(queue, &dvt_potrf_operation, &potrf, DVT_WHERE(options))
                       : dvt_operation_enqueue(queue, &dvt_getrf_operation, &getrf, DVT_WHERE(options)));
  if (!(s.steps & SOLVE))
    return DAVIT_SUCCESS;
  if (!s.cholesky)
    return dvt_operation_enqueue(queue, &dvt_getrs_operation, &getrs, DVT_WHERE(options));
  for (int second = 0; second < 2; second++) {
    dvt_level3 half = half_of(&s, second);
    DVT_TRY(dvt_operation_enqueue(queue, &dvt_level3_operations[DVT_TRSM], &half, DVT_WHERE(options)));
  }
  return DAVIT_SUCCESS;
}

/* ---- the calls ---- */

#define CHOLESKY(...)                                                                                        \
  (systems) {                                                                                                \
    .cholesky = true, .uplo = uplo, .trans = 'N', .m = n, .n = n, .lda = lda, __VA_ARGS__                    \
  }
#define LU(...)                                                                                              \
  (systems) {                                                                                                \
    .n = n, .lda = lda, __VA_ARGS__                                                                          \
  }
#define READ(x) (void *)(uintptr_t)(x)
#define SIDES .nrhs = nrhs, .b = b, .ldb = ldb

#define CALLS(p, T, TYPE)                                                                                    \
  davit_status davit_##p##potrf(char uplo, int64_t n, T *a, int64_t lda,                                     \
                                const davit_solve_options *options) {                                        \
    return run(CHOLESKY(.type = TYPE, .a = a, .steps = FACTOR), options);                                    \
  }                                                                                                          \
  davit_status davit_##p##potrs(char uplo, int64_t n, int64_t nrhs, const T *a, int64_t lda, T *b,           \
                                int64_t ldb, const davit_solve_options *options) {                           \
    return run(CHOLESKY(.type = TYPE, .a = READ(a), SIDES, .steps = SOLVE), options);                        \
  }                                                                                                          \
  davit_status davit_##p##posv(char uplo, int64_t n, int64_t nrhs, T *a, int64_t lda, T *b, int64_t ldb,     \
                               const davit_solve_options *options) {                                         \
    return run(CHOLESKY(.type = TYPE, .a = a, SIDES, .steps = FACTOR | SOLVE), options);                     \
  }                                                                                                          \
  davit_status davit_##p##getrf(int64_t m, int64_t n, T *a, int64_t lda, int *ipiv,                          \
                                const davit_solve_options *options) {                                        \
    return run(LU(.type = TYPE, .trans = 'N', .m = m, .a = a, .ipiv = ipiv, .steps = FACTOR), options);      \
  }                                                                                                          \
  davit_status davit_##p##getrs(char trans, int64_t n, int64_t nrhs, const T *a, int64_t lda,                \
                                const int *ipiv, T *b, int64_t ldb, const davit_solve_options *options) {    \
    return run(                                                                                              \
        LU(.type = TYPE, .trans = trans, .m = n, .a = READ(a), .ipiv = READ(ipiv), SIDES, .steps = SOLVE),   \
        options);                                                                                            \
  }                                                                                                          \
  davit_status davit_##p##gesv(int64_t n, int64_t nrhs, T *a, int64_t lda, int *ipiv, T *b, int64_t ldb,     \
                               const davit_solve_options *options) {                                         \
    return run(LU(.type = TYPE, .trans = 'N', .m = n, .a = a, .ipiv = ipiv, SIDES, .steps = FACTOR | SOLVE), \
               options);                                                                                     \
  }                                                                                                          \
  davit_status davit_queue_##p##potrf(davit_queue *queue, char uplo, int64_t n, T *a, int64_t lda,           \
                                      int *info, const davit_solve_options *options) {                       \
    return enqueue(queue, CHOLESKY(.type = TYPE, .a = a, .steps = FACTOR), info, options);                   \
  }                                                                                                          \
  davit_status davit_queue_##p##potrs(davit_queue *queue, char uplo, int64_t n, int64_t nrhs, const T *a,    \
                                      int64_t lda, T *b, int64_t ldb, const davit_solve_options *options) {  \
    return enqueue(queue, CHOLESKY(.type = TYPE, .a = READ(a), SIDES, .steps = SOLVE), NULL, options);       \
  }                                                                                                          \
  davit_status davit_queue_##p##posv(davit_queue *queue, char uplo, int64_t n, int64_t nrhs, T *a,           \
                                     int64_t lda, T *b, int64_t ldb, int *info,                              \
                                     const davit_solve_options *options) {                                   \
    return enqueue(queue, CHOLESKY(.type = TYPE, .a = a, SIDES, .steps = FACTOR | SOLVE), info, options);    \
  }                                                                                                          \
  davit_status davit_queue_##p##getrf(davit_queue *queue, int64_t m, int64_t n, T *a, int64_t lda,           \
                                      int *ipiv, int *info, const davit_solve_options *options) {            \
    return enqueue(queue, LU(.type = TYPE, .trans = 'N', .m = m, .a = a, .ipiv = ipiv, .steps = FACTOR),     \
                   info, options);                                                                           \
  }                                                                                                          \
  davit_status davit_queue_##p##getrs(davit_queue *queue, char trans, int64_t n, int64_t nrhs, const T *a,   \
                                      int64_t lda, const int *ipiv, T *b, int64_t ldb,                       \
                                      const davit_solve_options *options) {                                  \
    return enqueue(                                                                                          \
        queue,                                                                                               \
        LU(.type = TYPE, .trans = trans, .m = n, .a = READ(a), .ipiv = READ(ipiv), SIDES, .steps = SOLVE),   \
        NULL, options);                                                                                      \
  }                                                                                                          \
  davit_status davit_queue_##p##gesv(davit_queue *queue, int64_t n, int64_t nrhs, T *a, int64_t lda,         \
                                     int *ipiv, T *b, int64_t ldb, int *info,                                \
                                     const davit_solve_options *options) {                                   \
    return enqueue(                                                                                          \
        queue, LU(.type = TYPE, .trans = 'N', .m = n, .a = a, .ipiv = ipiv, SIDES, .steps = FACTOR | SOLVE), \
        info, options);                                                                                      \
  }
CALLS(d, double, DAVIT_DOUBLE)
CALLS(s, float, DAVIT_FLOAT)
CALLS(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
CALLS(c, davit_complex_float, DAVIT_COMPLEX_FLOAT)
