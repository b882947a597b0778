/* SPDX-License-Identifier: Apache-2.0 */
/* QR factorisation, products with Q, and least squares: the public calls. */
#include <davit/solve.h>

#include "src/base/arithmetic.h"
#include "src/base/clock.h"
#include "src/factor/plain.h"
#include "src/level3/arguments.h"
#include "src/runtime/lane.h"
#include "src/runtime/memory.h"
#include "src/runtime/place.h"
#include "src/runtime/split.h"

static int64_t least_of(int64_t m, int64_t n) {
  return m < n ? m : n;
}

/* Flops of a QR factorisation. */
static double flops_of(int64_t m, int64_t n) {
  const double least = (double)least_of(m, n), most = (double)(m < n ? n : m);
  return 2 * least * least * (most - least / 3);
}

static dvt_factor_call *set_call(dvt_plain *p, dvt_factor_work work, davit_type type, char side, char trans) {
  dvt_factor_call *c = &p->call;
  c->rule = &dvt_qr_rule;
  c->work = work;
  c->type = type;
  c->side = side;
  c->trans = trans;
  return c;
}

/* ---- factors ---- */

/* Of so many reflectors. */
static size_t tau_bytes(davit_type type, int64_t count) {
  return (size_t)count * davit_type_bytes(type);
}

/* With right-hand sides in call.b they are solved too where there is room. */
static davit_status factor(dvt_plain *p, const dvt_geqrf *g) {
  int info;
  p->call.a = (dvt_dense){.a = g->a, .rows = g->m, .cols = g->n, .ld = g->lda};
  p->call.tau = g->tau;
  p->call.tau_place = dvt_place_of(g->tau);
  p->flops = flops_of(g->m, g->n);
  p->elements = (double)g->m * (double)g->n;
  dvt_geqrf here = *g;
  const size_t bytes = tau_bytes(g->type, least_of(g->m, g->n));
  const dvt_at_home form = {&dvt_geqrf_operation, &here, offsetof(dvt_geqrf, tau), bytes, true};
  return dvt_plain_run(p, dvt_plain_is_at_home(p), &form, &info);
}

static davit_status geqrf(dvt_plain *p, dvt_geqrf *g) {
  DVT_TRY(dvt_geqrf_operation.check(g));
  DVT_TRY(dvt_plain_begin(p));
  if (g->m == 0 || g->n == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_plain_mapped(p, "a", &g->a));
  DVT_TRY(dvt_plain_mapped(p, "tau", &g->tau));
  set_call(p, DVT_FACTOR, g->type, 'L', 'N');
  return factor(p, g);
}

/* ---- products with Q ---- */

static davit_status multiply(dvt_plain *p, const dvt_ormqr *g) {
  int info;
  dvt_factor_call *c = set_call(p, DVT_MULTIPLY, g->type, g->side, g->trans);
  void *tau = (void *)(uintptr_t)g->tau;
  c->a = (dvt_dense){(void *)(uintptr_t)g->a, g->side == 'L' ? g->m : g->n, g->k, g->lda, 0};
  c->b = (dvt_dense){g->c, g->m, g->n, g->ldc, 0};
  c->tau = tau;
  c->tau_place = dvt_place_of(tau);
  p->flops = 4 * (double)g->m * (double)g->n * (double)g->k;
  p->elements = (double)g->m * (double)g->n;
  dvt_ormqr here = *g;
  const size_t bytes = tau_bytes(g->type, g->k);
  const dvt_at_home form = {&dvt_ormqr_operation, &here, offsetof(dvt_ormqr, tau), bytes, false};
  return dvt_plain_run(p, dvt_plain_is_at_home(p), &form, &info);
}

static davit_status ormqr(dvt_plain *p, dvt_ormqr *g) {
  void *a, *tau;
  DVT_TRY(dvt_ormqr_operation.check(g));
  DVT_TRY(dvt_plain_begin(p));
  if (g->m == 0 || g->n == 0 || g->k == 0)
    return DAVIT_SUCCESS;
  const int64_t order = g->side == 'L' ? g->m : g->n;
  if (dvt_blocks_overlap(g->c, g->ldc, g->m, g->n, g->a, g->lda, order, g->k, davit_type_bytes(g->type)))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "c overlaps a");
  a = (void *)(uintptr_t)g->a;
  tau = (void *)(uintptr_t)g->tau;
  DVT_TRY(dvt_plain_mapped(p, "a", &a));
  DVT_TRY(dvt_plain_mapped(p, "tau", &tau));
  DVT_TRY(dvt_plain_mapped(p, "c", &g->c));
  g->a = a;
  g->tau = tau;
  return multiply(p, g);
}

static davit_status orgqr(dvt_plain *p, dvt_orgqr *g) {
  int info;
  void *tau = (void *)(uintptr_t)g->tau;
  DVT_TRY(dvt_orgqr_operation.check(g));
  DVT_TRY(dvt_plain_begin(p));
  if (g->n == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_plain_mapped(p, "a", &g->a));
  if (g->k > 0)
    DVT_TRY(dvt_plain_mapped(p, "tau", &tau));
  g->tau = tau;
  dvt_factor_call *c = set_call(p, DVT_GENERATE, g->type, 'L', 'N');
  c->a = (dvt_dense){g->a, g->m, g->k, g->lda, 0};
  c->b = (dvt_dense){g->a, g->m, g->n, g->lda, 0};
  c->tau = tau;
  c->tau_place = dvt_place_of(tau);
  p->flops = 4 * (double)g->m * (double)g->n * (double)g->k;
  p->elements = (double)g->m * (double)g->n;
  bool at_home = dvt_plain_is_at_home(p);
  if (!at_home && g->k == 0) {
    p->home = dvt_place_is_host(c->a.place) ? DAVIT_HOST : c->a.place;
    at_home = true;
  }
  const dvt_at_home form = {&dvt_orgqr_operation, g, offsetof(dvt_orgqr, tau), tau_bytes(g->type, g->k),
                            false};
  return dvt_plain_run(p, at_home, &form, &info);
}

/* ---- least squares ---- */

typedef struct least_squares {
  davit_type type;
  char trans;
  int64_t m, n, nrhs;
  void *a;
  int64_t lda;
  void *b;
  int64_t ldb;
} least_squares;

static davit_status check(least_squares *s) {
  const bool real = s->type == DAVIT_DOUBLE || s->type == DAVIT_FLOAT;
  const int64_t most = s->m > s->n ? s->m : s->n;
  DVT_TRY(dvt_check_letter("trans", s->trans, real ? "NT" : "NC", &s->trans));
  DVT_TRY(dvt_check_length("m", s->m));
  DVT_TRY(dvt_check_length("n", s->n));
  DVT_TRY(dvt_check_length("nrhs", s->nrhs));
  DVT_TRY(dvt_check_ld("lda", s->lda, s->m, s->n));
  DVT_TRY(dvt_check_ld("ldb", s->ldb, most, s->nrhs));
  if (s->m > 0 && s->n > 0)
    DVT_TRY(dvt_check_pointer("a", s->a));
  if (most == 0 || s->nrhs == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_pointer("b", s->b));
  return dvt_blocks_overlap(s->b, s->ldb, most, s->nrhs, s->a, s->lda, s->m, s->n, davit_type_bytes(s->type))
             ? davit_fail(DAVIT_INVALID_ARGUMENT, "b overlaps a")
             : DAVIT_SUCCESS;
}

/* Rows of B from `first` on become 0. */
static dvt_unit rows_of_zeros(const least_squares *s, int64_t first, int64_t rows) {
  return (dvt_unit){.type = s->type,
                    .m = rows,
                    .n = s->nrhs,
                    .a = (char *)s->b + (size_t)first * davit_type_bytes(s->type),
                    .ld = s->ldb,
                    .diagonal = -s->nrhs - 1,
                    .below = true};
}

static bool is_zero(davit_type type, const void *number) {
  return type == DAVIT_DOUBLE           ? *(const double *)number == 0
         : type == DAVIT_FLOAT          ? *(const float *)number == 0
         : type == DAVIT_COMPLEX_DOUBLE ? *(const double _Complex *)number == 0
                                        : *(const float _Complex *)number == 0;
}

/* Number of the first element that is 0 on the diagonal of R; 0: none is. */
static davit_status find_zero(const dvt_geqrf *g, int64_t *zero) {
  const size_t element = davit_type_bytes(g->type), n = (size_t)g->n;
  void *diagonal;
  DVT_TRY(dvt_malloc(n * element, DAVIT_PAGEABLE, &diagonal));
  const dvt_copy copy =
      dvt_copy_columns(element, n, (dvt_columns){g->a, (size_t)(g->lda + 1) * element, dvt_place_of(g->a)},
                       (dvt_columns){diagonal, element, DAVIT_PAGEABLE});
  const davit_status status = dvt_copy_now(&copy);
  *zero = 0;
  for (size_t i = 0; i < n && status == DAVIT_SUCCESS && *zero == 0; i++)
    *zero = is_zero(g->type, (const char *)diagonal + i * element) ? (int64_t)i + 1 : 0;
  davit_free(diagonal);
  return status;
}

/* What computes the steps: one device, or plain forms, which choose devices on their own. */
typedef struct means {
  const dvt_site *site; /* NULL: plain forms */
  dvt_plain *plain;
} means;

static davit_status step(const means *w, const dvt_operation *operation, const void *arguments) {
  if (w->site)
    return dvt_operation_run(w->site, operation, arguments);
  if (operation == &dvt_geqrf_operation)
    return factor(w->plain, arguments);
  if (operation == &dvt_ormqr_operation)
    return multiply(w->plain, arguments);
  if (operation == &dvt_level3_operations[DVT_TRSM]) {
    dvt_level3 with_r = *(const dvt_level3 *)arguments;
    return dvt_plain_level3(w->plain, &with_r);
  }
  const bool clears = operation == &dvt_unit_operation;
  const int place =
      dvt_place_of(clears ? ((const dvt_unit *)arguments)->a : ((const dvt_adjoint *)arguments)->a);
  w->plain->report.written |= clears;
  return dvt_operation_now(dvt_place_is_host(place) ? DAVIT_HOST : place, operation, arguments, 0);
}

/* With A, or its adjoint, tall: R X = Q' B, or of the transpose X = Q R'^-1 B. `zero` as find_zero() has it; then there
 * is no solution. */
static davit_status solve_tall(const means *w, const least_squares *s, const dvt_geqrf *g, bool adjoint,
                               int64_t *zero) {
  const dvt_unit clear = rows_of_zeros(s, g->n, g->m - g->n);
  const dvt_ormqr by_q = {
      s->type, 'L',   adjoint ? 'N' : dvt_adjoint_of(s->type), g->m, s->nrhs, g->n, g->a, g->lda, g->tau,
      s->b,    s->ldb};
  const dvt_level3 with_r = dvt_solve_left(s->type, 'U', adjoint ? dvt_adjoint_of(s->type) : 'N', 'N', g->n,
                                           s->nrhs, g->a, g->lda, s->b, s->ldb);
  const dvt_operation *solve = &dvt_level3_operations[DVT_TRSM];
  if (adjoint && g->m > g->n)
    DVT_TRY(step(w, &dvt_unit_operation, &clear));
  DVT_TRY(step(w, &dvt_geqrf_operation, g));
  if (w->site)
    DVT_TRY(dvt_site_wait(w->site));
  DVT_TRY(find_zero(g, zero));
  if (*zero || (w->plain && w->plain->call.solved))
    return DAVIT_SUCCESS;
  if (adjoint)
    DVT_TRY(step(w, solve, &with_r));
  DVT_TRY(step(w, &dvt_ormqr_operation, &by_q));
  return adjoint ? DAVIT_SUCCESS : step(w, solve, &with_r);
}

/* Whether the matrix that is factored, tall, is the adjoint of op(A). */
static bool is_adjoint(const least_squares *s) {
  return (s->trans != 'N') != (s->m < s->n);
}

static size_t copy_bytes(const least_squares *s) {
  return s->m < s->n ? (size_t)(s->m * s->n) * davit_type_bytes(s->type) : 0;
}

/* A wide matrix is factored as its adjoint, in `copy`, and put back as LAPACK's LQ. */
static davit_status solve(const means *w, const least_squares *s, void *tau, void *copy, int64_t *zero) {
  const bool wide = s->m < s->n;
  const dvt_geqrf g = {
      s->type, wide ? s->n : s->m, wide ? s->m : s->n, wide ? copy : s->a, wide ? s->n : s->lda, tau};
  const dvt_adjoint there = {s->type, s->m, s->n, s->a, s->lda, g.a, g.lda},
                    back = {s->type, s->n, s->m, g.a, g.lda, s->a, s->lda};
  if (wide)
    DVT_TRY(step(w, &dvt_adjoint_operation, &there));
  DVT_TRY(solve_tall(w, s, &g, is_adjoint(s), zero));
  return wide ? step(w, &dvt_adjoint_operation, &back) : DAVIT_SUCCESS;
}

static davit_status gels(dvt_plain *p, least_squares *s) {
  const bool wide = s->m < s->n;
  const int64_t least = least_of(s->m, s->n), most = wide ? s->n : s->m;
  DVT_TRY(check(s));
  DVT_TRY(dvt_plain_begin(p));
  if (most == 0 || s->nrhs == 0)
    return DAVIT_SUCCESS;
  if (least > 0)
    DVT_TRY(dvt_plain_mapped(p, "a", &s->a));
  DVT_TRY(dvt_plain_mapped(p, "b", &s->b));
  const means plain = {.plain = p};
  if (least == 0) {
    const dvt_unit clear = rows_of_zeros(s, 0, most);
    return step(&plain, &dvt_unit_operation, &clear);
  }
  set_call(p, DVT_FACTOR, s->type, 'L', is_adjoint(s) ? dvt_adjoint_of(s->type) : 'N')->b =
      (dvt_dense){s->b, most, s->nrhs, s->ldb, 0};
  const int place = dvt_place_of(s->a);
  void *tau, *copy = NULL;
  int64_t zero = 0;
  DVT_TRY(dvt_malloc(tau_bytes(s->type, least), DAVIT_PINNED, &tau));
  davit_status status =
      wide ? dvt_malloc(copy_bytes(s), dvt_place_is_host(place) ? DAVIT_PAGEABLE : place, &copy)
           : DAVIT_SUCCESS;
  if (status == DAVIT_SUCCESS)
    status = solve(&plain, s, tau, copy, &zero);
  davit_free(copy);
  davit_free(tau);
  p->report.failed = zero;
  return status == DAVIT_SUCCESS && zero
             ? davit_fail(DAVIT_SINGULAR, "the matrix has not full rank: R(%lld, %lld) is 0", (long long)zero,
                          (long long)zero)
             : status;
}

/* ---- least squares on a queue ---- */

typedef struct least_squares_command {
  least_squares s;
  int *info;
} least_squares_command;

/* Inside a BLOCKING command: the host looks at the diagonal of R. */
static davit_status run_command(const dvt_site *site, const void *arguments) {
  const least_squares_command *c = arguments;
  const least_squares *s = &c->s;
  const int64_t least = least_of(s->m, s->n), most = s->m < s->n ? s->n : s->m;
  const size_t own_bytes = dvt_aligned_up(tau_bytes(s->type, least));
  int64_t zero = 0;
  if (s->nrhs > 0 && least == 0 && most > 0) {
    const dvt_unit clear = rows_of_zeros(s, 0, most);
    DVT_TRY(dvt_operation_run(site, &dvt_unit_operation, &clear));
    DVT_TRY(dvt_site_wait(site));
  } else if (s->nrhs > 0 && most > 0) {
    void *room;
    DVT_TRY(dvt_malloc(own_bytes + copy_bytes(s), dvt_place_for(site->device), &room));
    const davit_status status = solve(&(means){.site = site}, s, room, (char *)room + own_bytes, &zero),
                       end = dvt_site_wait(site);
    davit_free(room); /* which nothing uses any more */
    DVT_TRY(status);
    DVT_TRY(end);
  }
  const int info = (int)zero;
  const dvt_copy found = dvt_copy_bytes(sizeof info, &info, DAVIT_PAGEABLE, c->info, dvt_place_of(c->info));
  return dvt_copy_now(&found);
}

static davit_status enqueue(davit_queue *queue, least_squares s, int *info,
                            const davit_solve_options *options) {
  const dvt_where where = DVT_WHERE(options);
  dvt_lane *lane;
  DVT_TRY(dvt_queue_options(options));
  DVT_TRY(dvt_choose_lane(queue, where, &lane));
  DVT_TRY(check(&s));
  DVT_TRY(dvt_check_pointer("info", info));
  if (where.mapped) {
    if (s.m > 0 && s.n > 0)
      DVT_TRY(dvt_use_mapped(lane->device, "a", &s.a));
    if ((s.m > 0 || s.n > 0) && s.nrhs > 0)
      DVT_TRY(dvt_use_mapped(lane->device, "b", &s.b));
  }
  const least_squares_command command = {s, info};
  const dvt_work work = {.form = run_command, .name = "gels", .stream = true, .threads = lane->threads};
  return dvt_lane_submit_work(lane, DVT_BLOCKING, &work, &command, sizeof command);
}

/* ---- the calls ---- */

#define PLAIN(run, ...)                                                                                      \
  const int64_t begin = dvt_now_ns();                                                                        \
  dvt_plain p = {.given = options};                                                                          \
  const davit_status right = options ? DVT_CHECK_OPTIONS(options) : DAVIT_SUCCESS;                           \
  return dvt_plain_end(&p, begin, right == DAVIT_SUCCESS ? run(&p, &(__VA_ARGS__)) : right)
#define QUEUE(name, ...)                                                                                     \
  DVT_TRY(dvt_queue_options(options));                                                                       \
  return dvt_operation_enqueue(queue, &dvt_##name##_operation, &(__VA_ARGS__), DVT_WHERE(options))

#define CALLS(p_, T, TYPE, mqr, gqr)                                                                         \
  davit_status davit_##p_##geqrf(int64_t m, int64_t n, T *a, int64_t lda, T *tau,                            \
                                 const davit_solve_options *options) {                                       \
    PLAIN(geqrf, (dvt_geqrf){TYPE, m, n, a, lda, tau});                                                      \
  }                                                                                                          \
  davit_status davit_##p_##mqr(char side, char trans, int64_t m, int64_t n, int64_t k, const T *a,           \
                               int64_t lda, const T *tau, T *c, int64_t ldc,                                 \
                               const davit_solve_options *options) {                                         \
    PLAIN(ormqr, (dvt_ormqr){TYPE, side, trans, m, n, k, a, lda, tau, c, ldc});                              \
  }                                                                                                          \
  davit_status davit_##p_##gqr(int64_t m, int64_t n, int64_t k, T *a, int64_t lda, const T *tau,             \
                               const davit_solve_options *options) {                                         \
    PLAIN(orgqr, (dvt_orgqr){TYPE, m, n, k, a, lda, tau});                                                   \
  }                                                                                                          \
  davit_status davit_##p_##gels(char trans, int64_t m, int64_t n, int64_t nrhs, T *a, int64_t lda, T *b,     \
                                int64_t ldb, const davit_solve_options *options) {                           \
    PLAIN(gels, (least_squares){TYPE, trans, m, n, nrhs, a, lda, b, ldb});                                   \
  }                                                                                                          \
  davit_status davit_queue_##p_##geqrf(davit_queue *queue, int64_t m, int64_t n, T *a, int64_t lda, T *tau,  \
                                       const davit_solve_options *options) {                                 \
    QUEUE(geqrf, (dvt_geqrf){TYPE, m, n, a, lda, tau});                                                      \
  }                                                                                                          \
  davit_status davit_queue_##p_##mqr(davit_queue *queue, char side, char trans, int64_t m, int64_t n,        \
                                     int64_t k, const T *a, int64_t lda, const T *tau, T *c, int64_t ldc,    \
                                     const davit_solve_options *options) {                                   \
    QUEUE(ormqr, (dvt_ormqr){TYPE, side, trans, m, n, k, a, lda, tau, c, ldc});                              \
  }                                                                                                          \
  davit_status davit_queue_##p_##gqr(davit_queue *queue, int64_t m, int64_t n, int64_t k, T *a, int64_t lda, \
                                     const T *tau, const davit_solve_options *options) {                     \
    QUEUE(orgqr, (dvt_orgqr){TYPE, m, n, k, a, lda, tau});                                                   \
  }                                                                                                          \
  davit_status davit_queue_##p_##gels(davit_queue *queue, char trans, int64_t m, int64_t n, int64_t nrhs,    \
                                      T *a, int64_t lda, T *b, int64_t ldb, int *info,                       \
                                      const davit_solve_options *options) {                                  \
    return enqueue(queue, (least_squares){TYPE, trans, m, n, nrhs, a, lda, b, ldb}, info, options);          \
  }
CALLS(d, double, DAVIT_DOUBLE, ormqr, orgqr)
CALLS(s, float, DAVIT_FLOAT, ormqr, orgqr)
CALLS(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE, unmqr, ungqr)
CALLS(c, davit_complex_float, DAVIT_COMPLEX_FLOAT, unmqr, ungqr)
