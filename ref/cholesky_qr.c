/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/cholesky_qr.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ref/solve.h"

/* ---- the order of the steps ---- */

static davit_status multiply_gram(const dvt_site *site, const dvt_cholesky_qr *c,
                                  const dvt_cholesky_qr_forms *forms) {
  const dvt_level3 gram = dvt_gemm_of(c->type, dvt_adjoint_of(c->type), 'N', c->n, c->n, c->m, 1, c->q, c->m,
                                      c->q, c->m, 0, c->gram, c->n);
  return forms->level3(site, &gram);
}

davit_status dvt_cholesky_qr_steps(const dvt_site *site, const dvt_cholesky_qr *c,
                                   const dvt_cholesky_qr_forms *forms) {
  const int64_t m = c->m, n = c->n;
  const dvt_potrf factor = {c->type, 'U', n, c->gram, n, c->found, false};
  const dvt_level3 divide =
                       dvt_triangular_of(DVT_TRSM, c->type, 'R', 'U', 'N', 'N', m, n, 1, c->gram, n, c->q, m),
                   collect =
                       dvt_triangular_of(DVT_TRMM, c->type, 'L', 'U', 'N', 'N', n, n, 1, c->gram, n, c->r, n);
  if (c->a) {
    DVT_TRY(forms->copy(site, c->type, m, n, c->a, c->lda, c->q));
    DVT_TRY(multiply_gram(site, c, forms));
  }
  DVT_TRY(forms->potrf(site, &factor));
  DVT_TRY(forms->level3(site, &divide));
  DVT_TRY(c->a ? forms->upper(site, c->type, n, c->gram, c->r) : forms->level3(site, &collect));
  DVT_TRY(multiply_gram(site, c, forms));
  return forms->judge(site, c->type, n, c->gram, c->found);
}

static char *at(davit_type type, void *matrix, int64_t ld, int64_t i, int64_t j) {
  return (char *)matrix + (size_t)(i + j * ld) * davit_type_bytes(type);
}

/* L U = S minus signs, by blocks of columns. */
static davit_status eliminate(const dvt_site *site, davit_type type, int64_t n, void *s,
                              const dvt_cholesky_qr_forms *forms) {
  const int64_t most = forms->narrow(type);
  for (int64_t k = 0; k < n; k += most) {
    const int64_t width = most < n - k ? most : n - k, next = k + width, rest = n - next;
    char *square = at(type, s, n, k, k), *right = at(type, s, n, k, next), *below = at(type, s, n, next, k);
    const dvt_level3 rows = dvt_triangular_of(DVT_TRSM, type, 'L', 'L', 'N', 'U', width, rest, 1, square, n,
                                              right, n),
                     columns = dvt_triangular_of(DVT_TRSM, type, 'R', 'U', 'N', 'N', rest, width, 1, square,
                                                 n, below, n),
                     subtract = dvt_gemm_of(type, 'N', 'N', rest, rest, width, -1, below, n, right, n, 1,
                                            at(type, s, n, next, next), n);
    DVT_TRY(forms->eliminate(site, type, width, square, n));
    if (rest == 0)
      break;
    DVT_TRY(forms->level3(site, &rows));
    DVT_TRY(forms->level3(site, &columns));
    DVT_TRY(forms->level3(site, &subtract));
  }
  return DAVIT_SUCCESS;
}

/* With the corrected Q, Q (1 - H) = V W S + S on top, where V is unit lower trapezoidal and W S = U upper: then
 * Q S = 1 - V T V1' with T = -U S V1'^-1. Below the top V is Q (1 - H) U^-1. */
davit_status dvt_reconstruct_steps(const dvt_site *site, const dvt_reconstruct *r,
                                   const dvt_cholesky_qr_forms *forms) {
  const davit_type type = r->type;
  const int64_t m = r->m, n = r->n;
  void *s = r->gram;
  const dvt_level3 collect =
                       dvt_triangular_of(DVT_TRMM, type, 'L', 'U', 'N', 'N', n, n, 1, r->gram, n, r->r, n),
                   top = dvt_gemm_of(type, 'N', 'N', n, n, n, 1, r->q, m, r->t, n, 0, s, n),
                   divide = dvt_triangular_of(DVT_TRSM, type, 'R', 'U', 'N', 'N', n, n, 1, s, n, r->t, n),
                   below =
                       dvt_gemm_of(type, 'N', 'N', m - n, n, n, 1, at(type, (void *)(uintptr_t)r->q, m, n, 0),
                                   m, r->t, n, 0, at(type, r->a, r->lda, n, 0), r->lda),
                   form_t = dvt_triangular_of(DVT_TRSM, type, 'R', 'L', dvt_adjoint_of(type), 'U', n, n, 1, s,
                                              n, r->t, n);
  DVT_TRY(forms->correct(site, type, n, r->gram, r->t));
  DVT_TRY(forms->level3(site, &collect));
  DVT_TRY(forms->level3(site, &top));
  DVT_TRY(eliminate(site, type, n, s, forms));
  DVT_TRY(forms->level3(site, &divide));
  DVT_TRY(forms->level3(site, &below));
  DVT_TRY(forms->finish(site, r));
  return forms->level3(site, &form_t);
}

/* ---- on the host ---- */

enum { NARROW = 32 };

#define DEFINE(name, T, REAL, IMAGINARY)                                                                     \
  static void upper_##name(int64_t n, const void *matrix, void *triangle) {                                  \
    const T *a = matrix;                                                                                     \
    T *r = triangle;                                                                                         \
    for (int64_t j = 0; j < n; j++)                                                                          \
      for (int64_t i = 0; i < n; i++)                                                                        \
        r[i + j * n] = i <= j ? a[i + j * n] : 0;                                                            \
  }                                                                                                          \
                                                                                                             \
  static double distance_##name(int64_t n, const void *matrix) {                                             \
    const T *a = matrix;                                                                                     \
    double most = 0;                                                                                         \
    for (int64_t j = 0; j < n; j++)                                                                          \
      for (int64_t i = 0; i <= j; i++) {                                                                     \
        const double real = fabs((double)REAL(a[i + j * n]) - (i == j)),                                     \
                     imaginary = i < j ? fabs((double)IMAGINARY(a[i + j * n])) : 0;                          \
        most = most >= real && most >= imaginary ? most : real > imaginary ? real : imaginary;               \
        if (isnan(real) || isnan(imaginary))                                                                 \
          return NAN;                                                                                        \
      }                                                                                                      \
    return most;                                                                                             \
  }                                                                                                          \
                                                                                                             \
  static void correct_##name(int64_t n, void *matrix, void *triangle) {                                      \
    T *gram = matrix, *t = triangle;                                                                         \
    for (int64_t j = 0; j < n; j++) {                                                                        \
      for (int64_t i = 0; i < n; i++)                                                                        \
        t[i + j * n] = i < j ? -gram[i + j * n] : 0;                                                         \
      const T half = (REAL(gram[j + j * n]) - 1) / 2;                                                        \
      gram[j + j * n] = 1 + half;                                                                            \
      t[j + j * n] = 1 - half;                                                                               \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  static void eliminate_##name(int64_t n, void *matrix, int64_t ld) {                                        \
    T *s = matrix;                                                                                           \
    for (int64_t j = 0; j < n; j++) {                                                                        \
      s[j + j * ld] += REAL(s[j + j * ld]) < 0 ? -1 : 1;                                                     \
      for (int64_t i = j + 1; i < n; i++)                                                                    \
        s[i + j * ld] /= s[j + j * ld];                                                                      \
      for (int64_t l = j + 1; l < n; l++)                                                                    \
        for (int64_t i = j + 1; i < n; i++)                                                                  \
          s[i + l * ld] -= s[i + j * ld] * s[j + l * ld];                                                    \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  static void finish_##name(const dvt_reconstruct *p) {                                                      \
    const T *s = p->gram, *r = p->r;                                                                         \
    T *a = p->a, *tau = p->tau, *top = p->top, *t = p->t;                                                    \
    const int64_t n = p->n;                                                                                  \
    for (int64_t j = 0; j < n; j++)                                                                          \
      for (int64_t i = 0; i < n; i++) {                                                                      \
        const int64_t e = i + j * n;                                                                         \
        const T row = REAL(s[i + i * n]) < 0 ? 1 : -1, column = REAL(s[j + j * n]) < 0 ? 1 : -1;             \
        top[e] = i > j ? s[e] : r[e] * row;                                                                  \
        t[e] = i > j ? 0 : -s[e] * column;                                                                   \
        a[i + j * p->lda] = i > j ? s[e] : i == j;                                                           \
        if (i == j)                                                                                          \
          tau[j] = t[e];                                                                                     \
      }                                                                                                      \
  }
#define SAME(x) (x)
#define NOTHING(x) 0
DEFINE(double, double, SAME, NOTHING)
DEFINE(float, float, SAME, NOTHING)
DEFINE(complex_double, double _Complex, __real__, __imag__)
DEFINE(complex_float, float _Complex, __real__, __imag__)

#define BY_TYPE(type, name)                                                                                  \
  ((type) == DAVIT_DOUBLE           ? name##_double                                                          \
   : (type) == DAVIT_FLOAT          ? name##_float                                                           \
   : (type) == DAVIT_COMPLEX_DOUBLE ? name##_complex_double                                                  \
                                    : name##_complex_float)

static davit_status copy(const dvt_site *site, davit_type type, int64_t m, int64_t n, const void *from,
                         int64_t ldf, void *to) {
  const size_t column = (size_t)m * davit_type_bytes(type), step = (size_t)ldf * davit_type_bytes(type);
  (void)site;
  for (size_t j = 0; j < (size_t)n; j++)
    memcpy((char *)to + j * column, (const char *)from + j * step, column);
  return DAVIT_SUCCESS;
}

static davit_status upper(const dvt_site *site, davit_type type, int64_t n, const void *a, void *r) {
  (void)site;
  BY_TYPE(type, upper)(n, a, r);
  return DAVIT_SUCCESS;
}

static davit_status judge(const dvt_site *site, davit_type type, int64_t n, const void *gram, int *found) {
  const double epsilon = dvt_real_type(type) == DAVIT_DOUBLE ? DBL_EPSILON : FLT_EPSILON;
  (void)site;
  *found = *found ? DVT_DEPENDENT : dvt_cholesky_qr_found(n, BY_TYPE(type, distance)(n, gram), epsilon);
  return DAVIT_SUCCESS;
}

static davit_status correct(const dvt_site *site, davit_type type, int64_t n, void *gram, void *t) {
  (void)site;
  BY_TYPE(type, correct)(n, gram, t);
  return DAVIT_SUCCESS;
}

static davit_status eliminate_narrow(const dvt_site *site, davit_type type, int64_t n, void *s, int64_t ld) {
  (void)site;
  BY_TYPE(type, eliminate)(n, s, ld);
  return DAVIT_SUCCESS;
}

static int64_t narrow(davit_type type) {
  (void)type;
  return NARROW;
}

static davit_status finish(const dvt_site *site, const dvt_reconstruct *r) {
  (void)site;
  BY_TYPE(r->type, finish)(r);
  return DAVIT_SUCCESS;
}

static const dvt_cholesky_qr_forms on_host = {.level3 = dvt_level3_host,
                                              .potrf = dvt_potrf_host,
                                              .copy = copy,
                                              .upper = upper,
                                              .judge = judge,
                                              .correct = correct,
                                              .eliminate = eliminate_narrow,
                                              .narrow = narrow,
                                              .finish = finish};

davit_status dvt_cholesky_qr_host(const dvt_site *site, const void *cholesky_qr) {
  return dvt_cholesky_qr_steps(site, cholesky_qr, &on_host);
}

davit_status dvt_reconstruct_host(const dvt_site *site, const void *reconstruct) {
  return dvt_reconstruct_steps(site, reconstruct, &on_host);
}
