/* SPDX-License-Identifier: Apache-2.0 */
/* Householder's QR factorisation on the CPU, by blocks of columns. A block is factored by halves, together with its T,
 * down to narrow panels that are done column by column (Elmroth and Gustavson, "Applying recursion to serial and
 * parallel QR factorization leads to better performance", IBM J. Res. Dev. 44, 2000). While that lasts, and the columns
 * behind are updated, V stands in the block with its ones and zeros, and R beside it: all other work is then products
 * of whole matrices, BLIS's. */
#include "ref/qr.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/solve.h"
#include "src/base/allocate.h"

#pragma STDC CX_LIMITED_RANGE ON /* products as BLAS has them, so that loops are vectorised */

enum { NARROW = 8 }; /* columns; 4 and 16 are slower */

/* ---- narrow panels ---- */

/* The reflector is LAPACK's larfg: H' x = (beta, 0 …), beta real; x becomes v but for its first element, alpha. Returns
 * beta. Numbers below SAFE are scaled first, as 1 / (alpha - beta) could be infinite. The real part of
 * alpha - beta is the larger one, so that its reciprocal needs no other care. */
#define DEFINE(name, T, R, TYPE, REAL, IMAGINARY, MAKE, CONJ, HYPOT, SAFE)                                   \
  static void scale_##name(int64_t n, T factor, T *x) {                                                      \
    for (int64_t i = 0; i < n; i++)                                                                          \
      x[i] *= factor;                                                                                        \
  }                                                                                                          \
                                                                                                             \
  static R beta_##name(int64_t n, const T *x) {                                                              \
    R rest = 0;                                                                                              \
    dvt_norm_host(NULL, &(dvt_norm){TYPE, true, n - 1, x + 1, 1, &rest, false});                             \
    if (rest == 0 && IMAGINARY(x[0]) == 0)                                                                   \
      return 0;                                                                                              \
    const R size = HYPOT(HYPOT(REAL(x[0]), IMAGINARY(x[0])), rest);                                          \
    return signbit(REAL(x[0])) ? size : -size;                                                               \
  }                                                                                                          \
                                                                                                             \
  static T reflector_##name(int64_t n, T *x, T *tau) {                                                       \
    R beta = beta_##name(n, x);                                                                              \
    *tau = 0;                                                                                                \
    if (beta == 0)                                                                                           \
      return x[0];                                                                                           \
    int scalings = 0;                                                                                        \
    for (; beta < SAFE && -beta < SAFE && scalings < 20; scalings++) {                                       \
      scale_##name(n, 1 / SAFE, x);                                                                          \
      beta = beta_##name(n, x);                                                                              \
    }                                                                                                        \
    const R real = REAL(x[0]) - beta, imaginary = IMAGINARY(x[0]), ratio = imaginary / real,                 \
            inverse = 1 / (real + imaginary * ratio);                                                        \
    *tau = MAKE(-real / beta, -imaginary / beta);                                                            \
    scale_##name(n - 1, MAKE(inverse, -ratio * inverse), x + 1);                                             \
    while (scalings-- > 0)                                                                                   \
      beta *= SAFE;                                                                                          \
    return beta;                                                                                             \
  }                                                                                                          \
                                                                                                             \
  /* The products v' a of some columns a. */                                                                 \
  static void multiply_##name(int64_t n, const T *v, int64_t columns, const T *a, int64_t ld, T *products) { \
    int64_t l = 0;                                                                                           \
    for (; l + 4 <= columns; l += 4) {                                                                       \
      const T *a0 = a + l * ld, *a1 = a0 + ld, *a2 = a1 + ld, *a3 = a2 + ld;                                 \
      T s0 = 0, s1 = 0, s2 = 0, s3 = 0;                                                                      \
      _Pragma("omp simd reduction(+ : s0, s1, s2, s3)") for (int64_t i = 0; i < n; i++) {                    \
        const T x = CONJ(v[i]);                                                                              \
        s0 += x * a0[i];                                                                                     \
        s1 += x * a1[i];                                                                                     \
        s2 += x * a2[i];                                                                                     \
        s3 += x * a3[i];                                                                                     \
      }                                                                                                      \
      products[l] = s0, products[l + 1] = s1, products[l + 2] = s2, products[l + 3] = s3;                    \
    }                                                                                                        \
    for (; l < columns; l++) {                                                                               \
      const T *a0 = a + l * ld;                                                                              \
      T sum = 0;                                                                                             \
      _Pragma("omp simd reduction(+ : sum)") for (int64_t i = 0; i < n; i++) sum += CONJ(v[i]) * a0[i];      \
      products[l] = sum;                                                                                     \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  static void subtract_##name(int64_t n, const T *v, int64_t columns, T *a, int64_t ld, const T *factors) {  \
    for (int64_t l = 0; l < columns; l++) {                                                                  \
      T *column = a + l * ld;                                                                                \
      const T factor = factors[l];                                                                           \
      _Pragma("omp simd") for (int64_t i = 0; i < n; i++) column[i] -= v[i] * factor;                        \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  static void columns_##name(int64_t m, int64_t n, void *matrix, int64_t ld, void *factors) {                \
    T *a = matrix, *tau = factors, products[NARROW];                                                         \
    for (int64_t j = 0; j < n; j++) {                                                                        \
      T *v = a + j + j * ld;                                                                                 \
      const int64_t length = m - j, later = n - 1 - j;                                                       \
      const T beta = reflector_##name(length, v, tau + j);                                                   \
      if (tau[j] != 0) {                                                                                     \
        v[0] = 1;                                                                                            \
        multiply_##name(length, v, later, v + ld, ld, products);                                             \
        scale_##name(later, CONJ(tau[j]), products);                                                         \
        subtract_##name(length, v, later, v + ld, ld, products);                                             \
      }                                                                                                      \
      v[0] = beta;                                                                                           \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  /* Column j of T is -tau T V' v. */                                                                        \
  static void triangle_##name(int64_t m, int64_t n, const void *matrix, int64_t ld, const void *factors,     \
                              void *result, int64_t ldt) {                                                   \
    const T *v = matrix, *tau = factors;                                                                     \
    T *t = result, products[NARROW];                                                                         \
    for (int64_t j = 0; j < n; j++) {                                                                        \
      multiply_##name(m - j, v + j + j * ld, j, v + j, ld, products);                                        \
      for (int64_t i = 0; i < j; i++) {                                                                      \
        T sum = 0;                                                                                           \
        for (int64_t l = i; l < j; l++)                                                                      \
          sum += t[i + l * ldt] * CONJ(products[l]);                                                         \
        t[i + j * ldt] = -tau[j] * sum;                                                                      \
      }                                                                                                      \
      t[j + j * ldt] = tau[j];                                                                               \
    }                                                                                                        \
  }
#define SAME(x) (x)
#define NOTHING(x) 0
#define FIRST(x, y) (x)
DEFINE(double, double, double, DAVIT_DOUBLE, SAME, NOTHING, FIRST, SAME, hypot, (DBL_MIN / (DBL_EPSILON / 2)))
DEFINE(float, float, float, DAVIT_FLOAT, SAME, NOTHING, FIRST, SAME, hypotf, (FLT_MIN / (FLT_EPSILON / 2)))
DEFINE(complex_double, double _Complex, double, DAVIT_COMPLEX_DOUBLE, __real__, __imag__, __builtin_complex,
       ~, hypot, (DBL_MIN / (DBL_EPSILON / 2)))
DEFINE(complex_float, float _Complex, float, DAVIT_COMPLEX_FLOAT, __real__, __imag__, __builtin_complex, ~,
       hypotf, (FLT_MIN / (FLT_EPSILON / 2)))

static void factor_narrow(davit_type type, int64_t m, int64_t n, void *a, int64_t ld, void *tau) {
  static void (*const by_type[DAVIT_TYPE_COUNT])(int64_t, int64_t, void *, int64_t,
                                                 void *) = {[DAVIT_DOUBLE] = columns_double,
                                                            [DAVIT_FLOAT] = columns_float,
                                                            [DAVIT_COMPLEX_DOUBLE] = columns_complex_double,
                                                            [DAVIT_COMPLEX_FLOAT] = columns_complex_float};
  by_type[type](m, n, a, ld, tau);
}

static void make_narrow_triangle(davit_type type, int64_t m, int64_t n, const void *v, int64_t ld,
                                 const void *tau, void *t, int64_t ldt) {
  static void (*const by_type[DAVIT_TYPE_COUNT])(int64_t, int64_t, const void *, int64_t, const void *,
                                                 void *,
                                                 int64_t) = {[DAVIT_DOUBLE] = triangle_double,
                                                             [DAVIT_FLOAT] = triangle_float,
                                                             [DAVIT_COMPLEX_DOUBLE] = triangle_complex_double,
                                                             [DAVIT_COMPLEX_FLOAT] = triangle_complex_float};
  by_type[type](m, n, v, ld, tau, t, ldt);
}

/* ---- products ---- */

static davit_status apply(const dvt_site *site, const dvt_reflector *r, int64_t ldt, void *work,
                          dvt_level3_form form) {
  const char adjoint = dvt_adjoint_of(r->type), of_t = r->adjoint ? adjoint : 'N';
  const int64_t rows = r->right ? r->m : r->k, cols = r->right ? r->k : r->n; /* of the products in `work` */
  void *product = (char *)work + (size_t)(rows * cols) * davit_type_bytes(r->type);
  if (r->m == 0 || r->n == 0 || r->k == 0)
    return DAVIT_SUCCESS;
  dvt_level3 by_v = {.routine = DVT_GEMM, .type = r->type, .transa = 'N', .transb = 'N', .alpha = 1}, by_t,
             last;
  by_v.m = rows, by_v.n = cols, by_v.c = work, by_v.ldc = rows;
  by_t = by_v, last = by_v;
  by_t.k = r->k, by_t.c = product;
  last.m = r->m, last.n = r->n, last.k = r->k, last.alpha = -1, last.beta = 1, last.c = r->c,
  last.ldc = r->ldc;
  if (r->right) {
    by_v.k = r->n, by_v.a = r->c, by_v.lda = r->ldc, by_v.b = r->v, by_v.ldb = r->ldv;
    by_t.transb = of_t, by_t.a = work, by_t.lda = rows, by_t.b = r->t, by_t.ldb = ldt;
    last.transb = adjoint, last.a = product, last.lda = rows, last.b = r->v, last.ldb = r->ldv;
  } else {
    by_v.k = r->m, by_v.transa = adjoint, by_v.a = r->v, by_v.lda = r->ldv, by_v.b = r->c, by_v.ldb = r->ldc;
    by_t.transa = of_t, by_t.a = r->t, by_t.lda = ldt, by_t.b = work, by_t.ldb = rows;
    last.a = r->v, last.lda = r->ldv, last.b = product, last.ldb = rows;
  }
  DVT_TRY(form(site, &by_v));
  DVT_TRY(form(site, &by_t));
  return form(site, &last);
}

davit_status dvt_reflector_apply(const dvt_site *site, const dvt_reflector *r, void *work,
                                 dvt_level3_form form) {
  return apply(site, r, r->k, work, form);
}

davit_status dvt_reflector_host(const dvt_site *site, const void *reflector) {
  const dvt_reflector *r = reflector;
  void *work = dvt_allocate_raw((size_t)(2 * r->k * (r->right ? r->m : r->n)) * davit_type_bytes(r->type));
  if (!work)
    return DAVIT_OUT_OF_HOST_MEMORY;
  const davit_status status = dvt_reflector_apply(site, r, work, dvt_level3_host);
  free(work);
  return status;
}

/* ---- blocks ---- */

/* `rows` × k. R is in `top`; what is factored of `a` is V. */
typedef struct block {
  const dvt_site *site;
  davit_type type;
  int64_t rows, k;
  char *a;
  int64_t lda;
  char *tau, *top, *t;
  void *work;
} block;

static void *element(const block *b, const char *x, int64_t ld, int64_t i, int64_t j) {
  return (char *)(uintptr_t)x + (size_t)(i + j * ld) * davit_type_bytes(b->type);
}

/* Copies a part of `a` to `top`. What is above its diagonal becomes 0, and the diagonal 1; or all of it becomes 0. */
static void lift(const block *b, int64_t i, int64_t j, int64_t rows, int64_t cols, bool on_diagonal) {
  const size_t bytes = davit_type_bytes(b->type);
  const dvt_scalar one = dvt_scalar_of(b->type, 1);
  for (int64_t l = 0; l < cols; l++) {
    char *from = element(b, b->a, b->lda, i, j + l);
    memcpy(element(b, b->top, b->k, i, j + l), from, (size_t)rows * bytes);
    memset(from, 0, (size_t)(on_diagonal ? l : rows) * bytes);
    if (on_diagonal)
      memcpy(from + (size_t)l * bytes, &one, bytes);
  }
}

static void put_back(const block *b) {
  for (int64_t j = 0; j < b->k; j++)
    memcpy(element(b, b->a, b->lda, 0, j), element(b, b->top, b->k, 0, j),
           (size_t)(j + 1) * davit_type_bytes(b->type));
}

/* T of `left` columns from c on and of `right` ones behind them: what is beside both is -T1 V1' V2 T2. */
static davit_status join_triangles(const block *b, int64_t c, int64_t left, int64_t right) {
  const int64_t middle = c + left;
  void *beside = element(b, b->t, b->k, c, middle);
  const dvt_level3 inner = dvt_gemm_of(b->type, dvt_adjoint_of(b->type), 'N', left, right, b->rows - middle,
                                       1, element(b, b->a, b->lda, middle, c), b->lda,
                                       element(b, b->a, b->lda, middle, middle), b->lda, 0, beside, b->k);
  dvt_level3 by_t = dvt_triangular_of(DVT_TRMM, b->type, 'L', 'U', 'N', 'N', left, right, -1,
                                      element(b, b->t, b->k, c, c), b->k, beside, b->k);
  DVT_TRY(dvt_level3_host(b->site, &inner));
  DVT_TRY(dvt_level3_host(b->site, &by_t));
  by_t.side = 'R', by_t.k = right, by_t.alpha = 1, by_t.a = element(b, b->t, b->k, middle, middle);
  return dvt_level3_host(b->site, &by_t);
}

static int64_t half_of(int64_t columns) {
  return (columns / 2 + NARROW - 1) / NARROW * NARROW;
}

static davit_status make_triangle(const block *b, int64_t c, int64_t columns) {
  if (columns <= NARROW) {
    make_narrow_triangle(b->type, b->rows - c, columns, element(b, b->a, b->lda, c, c), b->lda,
                         element(b, b->tau, 1, c, 0), element(b, b->t, b->k, c, c), b->k);
    return DAVIT_SUCCESS;
  }
  const int64_t left = half_of(columns);
  DVT_TRY(make_triangle(b, c, left));
  DVT_TRY(make_triangle(b, c + left, columns - left));
  return join_triangles(b, c, left, columns - left);
}

davit_status dvt_reflect_host(const dvt_site *site, const void *reflect) {
  const dvt_reflect *r = reflect;
  const block b = {site, r->type, r->m, r->k, r->a, r->lda, (char *)(uintptr_t)r->tau, r->top, r->t, NULL};
  if (r->k == 0)
    return DAVIT_SUCCESS;
  lift(&b, 0, 0, r->k, r->k, true);
  memset(r->t, 0, (size_t)(r->k * r->k) * davit_type_bytes(r->type));
  return make_triangle(&b, 0, r->k);
}

/* Multiplies `columns` columns from `to` on, in rows from c on, by the adjoint of `count` reflectors from c on. */
static davit_status update(const block *b, int64_t c, int64_t count, int64_t to, int64_t columns) {
  const dvt_reflector r = {.type = b->type,
                           .adjoint = true,
                           .m = b->rows - c,
                           .n = columns,
                           .k = count,
                           .v = element(b, b->a, b->lda, c, c),
                           .ldv = b->lda,
                           .t = element(b, b->t, b->k, c, c),
                           .c = element(b, b->a, b->lda, c, to),
                           .ldc = b->lda};
  return apply(b->site, &r, b->k, b->work, dvt_level3_host);
}

static davit_status factor(const block *b, int64_t c, int64_t columns) {
  if (columns <= NARROW) {
    factor_narrow(b->type, b->rows - c, columns, element(b, b->a, b->lda, c, c), b->lda,
                  element(b, b->tau, 1, c, 0));
    lift(b, c, c, columns, columns, true);
    return make_triangle(b, c, columns);
  }
  const int64_t left = half_of(columns), right = columns - left;
  DVT_TRY(factor(b, c, left));
  DVT_TRY(update(b, c, left, c + left, right));
  lift(b, c, c + left, left, right, false);
  DVT_TRY(factor(b, c + left, right));
  return join_triangles(b, c, left, right);
}

/* Columns of a block: T costs less in narrow blocks, and products are faster with wide ones. */
static int64_t width_of(int64_t count) {
  const int64_t width = count < 1500 ? 32 : 64;
  return count < width ? count : width;
}

static davit_status factor_blocks(const dvt_site *site, const dvt_geqrf *g, int64_t width, char *memory) {
  const size_t bytes = davit_type_bytes(g->type);
  const int64_t count = g->m < g->n ? g->m : g->n;
  for (int64_t j = 0; j < count; j += width) {
    const int64_t k = count - j < width ? count - j : width;
    const block b = {.site = site,
                     .type = g->type,
                     .rows = g->m - j,
                     .k = k,
                     .a = (char *)g->a + (size_t)(j + j * g->lda) * bytes,
                     .lda = g->lda,
                     .tau = (char *)g->tau + (size_t)j * bytes,
                     .top = memory,
                     .t = memory + (size_t)(width * width) * bytes,
                     .work = memory + (size_t)(2 * width * width) * bytes};
    memset(b.t, 0, (size_t)(k * k) * bytes);
    DVT_TRY(factor(&b, 0, k));
    DVT_TRY(update(&b, 0, k, k, g->n - j - k));
    put_back(&b);
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_geqrf_host(const dvt_site *site, const void *geqrf) {
  const dvt_geqrf *g = geqrf;
  const int64_t count = g->m < g->n ? g->m : g->n, width = width_of(count);
  char *memory = dvt_allocate_raw((size_t)(2 * width * (width + g->n)) * davit_type_bytes(g->type));
  if (!memory)
    return DAVIT_OUT_OF_HOST_MEMORY;
  const davit_status status = factor_blocks(site, g, width, memory);
  free(memory);
  return status;
}
