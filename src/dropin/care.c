/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that BLIS 0.9 answers wrongly, as far as a look at their scalars or at a diagonal shows it.
 *
 * Level 3: its kernels take a beta that is NaN for 0, as they compare without a look at whether there is an order. With
 * alpha or beta NaN all of the output is NaN. trsm multiplies by the reciprocals of the diagonal, and that of a
 * subnormal number is infinite: such a system is solved by divisions.
 *
 * Level 1: scal by 0 stores zeros in place of NaN, and nrm2 of a vector with infinities of both signs is NaN. */
#include <complex.h>
#include <float.h>
#include <math.h>

#include "src/dropin/dropin.h"

/* ---- level 3: a scalar that is NaN ---- */

static void fill_column(char type, void *c, int64_t from, int64_t to) {
  const int parts = dvt_complex(type) ? 2 : 1;
  for (int64_t i = parts * from; i < parts * to; i++)
    if (dvt_single(type))
      ((float *)c)[i] = NAN;
    else
      ((double *)c)[i] = NAN;
}

static void clear_imaginary(char type, void *c, int64_t i) {
  if (dvt_single(type))
    ((float *)c)[2 * i + 1] = 0;
  else
    ((double *)c)[2 * i + 1] = 0;
}

static void fill(const dvt_call *g) {
  const bool rank = g->routine >= DVT_SYRK && g->routine <= DVT_HER2K;
  const bool triangle = rank || (g->routine == DVT_GEMM && g->uplo); /* gemmt */
  const bool hermitian = g->routine == DVT_HERK || g->routine == DVT_HER2K;
  const size_t column = (dvt_single(g->type) ? sizeof(float) : sizeof(double)) *
                        (dvt_complex(g->type) ? 2 : 1) * (size_t)g->ldc;
  for (int64_t j = 0; j < g->n; j++) {
    char *c = (char *)g->c + (size_t)j * column;
    fill_column(g->type, c, triangle && g->uplo == 'L' ? j : 0, triangle && g->uplo == 'U' ? j + 1 : g->m);
    if (hermitian)
      clear_imaginary(g->type, c, j);
  }
}

/* ---- level 3: a diagonal with subnormal numbers ---- */

/* op(A) X = alpha B, or X op(A) = alpha B: of the columns of B, or the rows, each is solved by itself. The matrix of
 * that system is A, or its transpose where `across`. */
#define SOLVE(t, T, R, LEAST, ABSOLUTE, CONJUGATE)                                                           \
  static bool is_subnormal_##t(const dvt_call *g) {                                                          \
    const T *a = g->a;                                                                                       \
    for (int64_t i = 0; i < g->k; i++) {                                                                     \
      const R size = ABSOLUTE(a[i * (g->lda + 1)]);                                                          \
      if (size > 0 && size < LEAST)                                                                          \
        return true;                                                                                         \
    }                                                                                                        \
    return false;                                                                                            \
  }                                                                                                          \
  static void solve_##t(const dvt_call *g) {                                                                 \
    const bool left = g->side == 'L', across = left == (g->transa != 'N');                                   \
    const bool forward = (g->uplo == 'L') != across, conjugate = g->transa == 'C';                           \
    const int64_t rows = across ? g->lda : 1, cols = across ? 1 : g->lda;                                    \
    const int64_t next = left ? 1 : g->ldc, other = left ? g->ldc : 1, count = left ? g->n : g->m;           \
    const T *a = g->a, alpha = *(const T *)g->alpha;                                                         \
    for (int64_t v = 0; v < count; v++) {                                                                    \
      T *x = (T *)g->c + v * other;                                                                          \
      for (int64_t i = 0; i < g->k; i++)                                                                     \
        x[i * next] = alpha == 0 ? 0 : alpha * x[i * next];                                                  \
      for (int64_t l = 0; l < g->k; l++) {                                                                   \
        const int64_t i = forward ? l : g->k - 1 - l;                                                        \
        const T pivot = a[i * (rows + cols)];                                                                \
        const T found = x[i * next] / (conjugate ? CONJUGATE(pivot) : pivot);                                \
        x[i * next] = found;                                                                                 \
        for (int64_t j = forward ? i + 1 : 0; j < (forward ? g->k : i); j++) {                               \
          const T factor = a[j * rows + i * cols];                                                           \
          x[j * next] -= found * (conjugate ? CONJUGATE(factor) : factor);                                   \
        }                                                                                                    \
      }                                                                                                      \
    }                                                                                                        \
  }
#define ITSELF(x) (x)
#define LARGER_F(z) fmaxf(fabsf(crealf(z)), fabsf(cimagf(z)))
#define LARGER(z) fmax(fabs(creal(z)), fabs(cimag(z)))
SOLVE(s, float, float, FLT_MIN, fabsf, ITSELF)
SOLVE(d, double, double, DBL_MIN, fabs, ITSELF)
SOLVE(c, float _Complex, float, FLT_MIN, LARGER_F, conjf)
SOLVE(z, double _Complex, double, DBL_MIN, LARGER, conj)

static bool solve(const dvt_call *g) {
  const bool subnormal = DVT_BY_TYPE(g->type, is_subnormal_)(g);
  if (subnormal)
    DVT_BY_TYPE(g->type, solve_)(g);
  return subnormal;
}

const char *dvt_care(const dvt_call *g) {
  if (dvt_scalars_have_nan(g->routine, g->type, g->k > 0 ? g->alpha : NULL, g->beta)) {
    fill(g);
    return "a scalar is NaN";
  }
  return g->routine == DVT_TRSM && g->diag == 'N' && solve(g) ? "a number of the diagonal is subnormal"
                                                              : NULL;
}

/* ---- level 1 ---- */

static void say(const char *name) {
  if (dvt_log_on())
    dvt_log("%s: host, no form for devices", name);
}

#define SCAL(name, T, S, BY, ADDRESS)                                                                        \
  DVT_EXPORT void name##_(const dvt_int *n, const S *alpha, T *x, const dvt_int *incx);                      \
  DVT_EXPORT void cblas_##name(dvt_int n, BY alpha, T *x, dvt_int incx);                                     \
  void name##_(const dvt_int *n, const S *alpha, T *x, const dvt_int *incx) {                                \
    if (*n <= 0 || *incx <= 0 || *alpha != 0) {                                                              \
      DVT_BLIS(name##_)(n, alpha, x, incx);                                                                  \
      return;                                                                                                \
    }                                                                                                        \
    dvt_dropin_bind();                                                                                       \
    say(#name "_");                                                                                          \
    const int64_t count = *n, step = *incx;                                                                  \
    const S zero = *alpha; /* of either sign */                                                              \
    for (int64_t i = 0; i < count; i++)                                                                      \
      x[i * step] *= zero;                                                                                   \
  }                                                                                                          \
  void cblas_##name(dvt_int n, BY alpha, T *x, dvt_int incx) {                                               \
    name##_(&n, ADDRESS alpha, x, &incx);                                                                    \
  }
SCAL(sscal, float, float, float, &)
SCAL(dscal, double, double, double, &)
SCAL(cscal, float _Complex, float _Complex, const float _Complex *, )
SCAL(zscal, double _Complex, double _Complex, const double _Complex *, )
SCAL(csscal, float _Complex, float, float, &)
SCAL(zdscal, double _Complex, double, double, &)

/* A norm that is NaN though no number is one is infinite. An element has `parts` numbers. */
#define NRM2(name, R, parts)                                                                                 \
  static R mend_##name(const dvt_int *n, const R *x, const dvt_int *incx, R norm) {                          \
    const int64_t step = *incx < 0 ? -(int64_t)*incx : *incx;                                                \
    for (int64_t i = 0; i < *n; i++)                                                                         \
      for (int part = 0; part < parts; part++)                                                               \
        if (isnan(x[parts * i * step + part]))                                                               \
          return norm;                                                                                       \
    return (R)INFINITY;                                                                                      \
  }                                                                                                          \
  DVT_EXPORT R name##_(const dvt_int *n, const R *x, const dvt_int *incx);                                   \
  DVT_EXPORT R cblas_##name(dvt_int n, const R *x, dvt_int incx);                                            \
  DVT_EXPORT void name##sub_(const dvt_int *n, const R *x, const dvt_int *incx, R *norm);                    \
  R name##_(const dvt_int *n, const R *x, const dvt_int *incx) {                                             \
    const R norm = DVT_BLIS(name##_)(n, x, incx);                                                            \
    return isnan(norm) ? mend_##name(n, x, incx, norm) : norm;                                               \
  }                                                                                                          \
  R cblas_##name(dvt_int n, const R *x, dvt_int incx) {                                                      \
    return name##_(&n, x, &incx);                                                                            \
  }                                                                                                          \
  void name##sub_(const dvt_int *n, const R *x, const dvt_int *incx, R *norm) {                              \
    *norm = name##_(n, x, incx);                                                                             \
  }
NRM2(snrm2, float, 1)
NRM2(dnrm2, double, 1)
NRM2(scnrm2, float, 2)
NRM2(dznrm2, double, 2)
