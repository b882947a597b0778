/* SPDX-License-Identifier: Apache-2.0 */
/* Refinement on the CPU: LU or Cholesky in single precision, residuals in double precision, until they are as small as
 * LAPACK's dsgesv and dsposv ask for: the largest element of a residual at most sqrt(n) eps ‖A‖ ‖x‖, in the
 * infinity norm. */
#include "ref/refine.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "ref/factored.h"
#include "ref/solve.h"
#include "src/base/allocate.h"

typedef struct refinement {
  const dvt_site *site;
  const dvt_refine *call;
  davit_type single;
  void *factor, *correction; /* in the shorter type, n × n and n × nrhs, */
  void *residual;            /* and in the longer one */
  int *pivots;
  double limit; /* of a residual, for a solution of 1 */
} refinement;

/* ---- elements ---- */

/* A matrix, or the half of it that is stored, as a dense one in the shorter type; false: an element does not fit. The
 * norm of A, the sum of a correction with X, a residual. */
#define DEFINE(name, T, S, ABS)                                                                              \
  static bool shorten_##name(char uplo, int64_t rows, int64_t cols, const void *from, int64_t ld,            \
                             void *result) {                                                                 \
    const T *a = from;                                                                                       \
    S *to = result;                                                                                          \
    bool fits = true;                                                                                        \
    for (int64_t j = 0; j < cols; j++) {                                                                     \
      const int64_t first = uplo == 'L' ? j : 0, end = uplo == 'U' ? j + 1 : rows;                           \
      for (int64_t i = first; i < end; i++) {                                                                \
        const T value = a[i + j * ld];                                                                       \
        fits &= ABS(value) <= (double)FLT_MAX;                                                               \
        to[i + j * rows] = (S)value;                                                                         \
      }                                                                                                      \
    }                                                                                                        \
    return fits;                                                                                             \
  }                                                                                                          \
                                                                                                             \
  static double norm_##name(const refinement *r, double *sums) {                                             \
    const dvt_refine *c = r->call;                                                                           \
    const T *a = c->a;                                                                                       \
    double most = 0;                                                                                         \
    for (int64_t i = 0; i < c->n; i++)                                                                       \
      sums[i] = 0;                                                                                           \
    for (int64_t j = 0; j < c->n; j++) {                                                                     \
      const int64_t first = c->uplo == 'L' ? j : 0, end = c->uplo == 'U' ? j + 1 : c->n;                     \
      for (int64_t i = first; i < end; i++) {                                                                \
        const double value = ABS(a[i + j * c->lda]);                                                         \
        sums[i] += value;                                                                                    \
        sums[j] += c->uplo && i != j ? value : 0;                                                            \
      }                                                                                                      \
    }                                                                                                        \
    for (int64_t i = 0; i < c->n; i++)                                                                       \
      most = sums[i] > most || isnan(sums[i]) ? sums[i] : most;                                              \
    return most;                                                                                             \
  }                                                                                                          \
                                                                                                             \
  static void add_##name(const refinement *r, bool first) {                                                  \
    const dvt_refine *c = r->call;                                                                           \
    const S *from = r->correction;                                                                           \
    T *x = c->x;                                                                                             \
    for (int64_t j = 0; j < c->nrhs; j++)                                                                    \
      for (int64_t i = 0; i < c->n; i++)                                                                     \
        x[i + j * c->ldx] = (first ? 0 : x[i + j * c->ldx]) + (T)from[i + j * c->n];                         \
  }                                                                                                          \
                                                                                                             \
  static void take_##name(const refinement *r) {                                                             \
    const dvt_refine *c = r->call;                                                                           \
    const T *b = c->b;                                                                                       \
    T *to = r->residual;                                                                                     \
    for (int64_t j = 0; j < c->nrhs; j++)                                                                    \
      for (int64_t i = 0; i < c->n; i++)                                                                     \
        to[i + j * c->n] = b[i + j * c->ldb];                                                                \
  }                                                                                                          \
                                                                                                             \
  static bool is_small_##name(const refinement *r) {                                                         \
    const dvt_refine *c = r->call;                                                                           \
    const T *x = c->x, *rest = r->residual;                                                                  \
    for (int64_t j = 0; j < c->nrhs; j++) {                                                                  \
      double most_x = 0, most_rest = 0;                                                                      \
      for (int64_t i = 0; i < c->n; i++) {                                                                   \
        const double of_x = ABS(x[i + j * c->ldx]), of_rest = ABS(rest[i + j * c->n]);                       \
        most_x = of_x > most_x ? of_x : most_x;                                                              \
        most_rest = of_rest > most_rest || isnan(of_rest) ? of_rest : most_rest;                             \
      }                                                                                                      \
      if (!(most_rest <= most_x * r->limit))                                                                 \
        return false;                                                                                        \
    }                                                                                                        \
    return true;                                                                                             \
  }
#define LARGER_PART(z) fmax(fabs(__real__(z)), fabs(__imag__(z)))
DEFINE(double, double, float, fabs)
DEFINE(complex_double, double _Complex, float _Complex, LARGER_PART)
#undef LARGER_PART

#define SHORTEN(r, ...)                                                                                      \
  ((r)->call->type == DAVIT_DOUBLE ? shorten_double(__VA_ARGS__) : shorten_complex_double(__VA_ARGS__))
#define CALL(r, name, ...)                                                                                   \
  ((r)->call->type == DAVIT_DOUBLE ? name##_double(r, ##__VA_ARGS__)                                         \
                                   : name##_complex_double(r, ##__VA_ARGS__))

/* ---- steps ---- */

static davit_status factor(const refinement *r, int *info) {
  const dvt_refine *c = r->call;
  const dvt_potrf potrf = {r->single, c->uplo, c->n, r->factor, c->n, info, false};
  const dvt_getrf getrf = {
      .type = r->single, .m = c->n, .n = c->n, .a = r->factor, .lda = c->n, .ipiv = r->pivots, .info = info};
  return c->uplo ? dvt_potrf_host(r->site, &potrf) : dvt_getrf_host(r->site, &getrf);
}

/* The correction for the residual that it is made of, in place. */
static davit_status solve(const refinement *r) {
  const dvt_refine *c = r->call;
  const dvt_getrs getrs = {r->single, 'N', c->n, c->nrhs, r->factor, c->n, r->pivots, r->correction, c->n};
  if (!c->uplo)
    return dvt_getrs_host(r->site, &getrs);
  for (int second = 0; second < 2; second++) {
    const char trans = (c->uplo == 'L') == (second == 1) ? dvt_adjoint_of(r->single) : 'N';
    const dvt_level3 half =
        dvt_solve_left(r->single, c->uplo, trans, 'N', c->n, c->nrhs, r->factor, c->n, r->correction, c->n);
    DVT_TRY(dvt_level3_host(r->site, &half));
  }
  return DAVIT_SUCCESS;
}

static davit_status subtract(const refinement *r) {
  const dvt_refine *c = r->call;
  dvt_level3 product = dvt_subtract_product(c->type, 'N', 'N', c->n, c->nrhs, c->n, c->a, c->lda, c->x,
                                            c->ldx, r->residual, c->n);
  if (c->uplo)
    product.routine = c->type == DAVIT_DOUBLE ? DVT_SYMM : DVT_HEMM;
  product.side = 'L';
  product.uplo = c->uplo;
  CALL(r, take);
  return dvt_level3_host(r->site, &product);
}

/* *steps stays negative where the criterion is not reached. */
static davit_status refine(refinement *r, double *sums, int *steps) {
  const dvt_refine *c = r->call;
  int info = 0;
  if (!SHORTEN(r, c->uplo, c->n, c->n, c->a, c->lda, r->factor) ||
      !SHORTEN(r, 0, c->n, c->nrhs, c->b, c->ldb, r->correction))
    return DAVIT_SUCCESS;
  r->limit = CALL(r, norm, sums) * DBL_EPSILON / 2 * sqrt((double)c->n);
  DVT_TRY(factor(r, &info));
  if (info)
    return DAVIT_SUCCESS;
  for (int step = 0; step <= DVT_REFINE_MOST; step++) {
    DVT_TRY(solve(r));
    CALL(r, add, step == 0);
    DVT_TRY(subtract(r));
    if (CALL(r, is_small)) {
      *steps = step;
      return DAVIT_SUCCESS;
    }
    if (!SHORTEN(r, 0, c->n, c->nrhs, r->residual, c->n, r->correction))
      return DAVIT_SUCCESS;
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_refine_host(const dvt_site *site, const void *given) {
  const dvt_refine *c = given;
  const size_t element = davit_type_bytes(c->type), n = (size_t)c->n, square = n * n * element / 2,
               sides = n * (size_t)c->nrhs * element;
  char *room = dvt_allocate_raw(square + sides / 2 + sides + n * sizeof(double) + n * sizeof(int) + 1);
  if (!room)
    return DAVIT_OUT_OF_HOST_MEMORY;
  refinement r = {.site = site,
                  .call = c,
                  .single = c->type == DAVIT_DOUBLE ? DAVIT_FLOAT : DAVIT_COMPLEX_FLOAT,
                  .factor = room + sides + n * sizeof(double)};
  r.residual = room;
  r.correction = (char *)r.factor + square;
  r.pivots = (int *)(void *)((char *)r.correction + sides / 2);
  int steps = -DVT_REFINE_MOST - 1;
  const davit_status status = refine(&r, (double *)(void *)(room + sides), &steps);
  *c->iterations = steps;
  free(room);
  return status;
}
