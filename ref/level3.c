/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 on the CPU, by BLIS.
 *
 * BLIS splits the work over the rows and columns of the result, never over the length of its sums, and any
 * number of threads may call at the same time: each call has its own thread count, and BLIS initialises
 * itself once under a lock. It does not read the half of a symmetric, hermitian or triangular matrix that is
 * not stored, nor a diagonal of ones, nor the imaginary parts of a hermitian diagonal.
 *
 * What BLIS computes otherwise than the reference BLAS is not left to it: a factor that is NaN (ref/blas.h), products
 * that vanish, trmm of a B that is not finite, trsm with an infinite alpha or a subnormal number on A's diagonal. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "ref/blas.h"
#include "ref/blis.h"
#include "src/base/fork.h"

/* BLIS aborts the process when a parallel region gives it several threads but fewer than it asked for. With
 * the runtime's dynamic adjustment off, OMP_THREAD_LIMIT takes threads away: outside of parallel regions it
 * says how many there are, inside of them the other threads' share is unknown. (LLVM's
 * KMP_DEVICE_THREAD_LIMIT counts the whole process, and cannot be asked for: it must not be set below what
 * all calls use.)
 *
 * On a thread that fork() has left, BLIS computes alone: the runtime may wait for threads of the parent. What shall
 * have more is handed to another thread (dvt_host_form()). */
int dvt_ref_threads(int threads) {
  if (dvt_thread_is_forked())
    return 1;
  int limit = omp_get_thread_limit();
  if (omp_in_parallel() && limit < INT_MAX)
    return 1;
  return threads < limit ? threads : limit;
}

static obj_t scalar_object(davit_type type, double _Complex value, dvt_scalar *memory) {
  obj_t object;
  *memory = dvt_scalar_of(type, value);
  bli_obj_create_1x1_with_attached_buffer(dvt_blis_type(type), memory, &object);
  return object;
}

/* A matrix whose op() is rows × cols. */
static obj_t matrix_object(davit_type type, char trans, int64_t rows, int64_t cols, const void *a,
                           int64_t lda) {
  obj_t object;
  bli_obj_create_with_attached_buffer(dvt_blis_type(type), trans == 'N' ? rows : cols,
                                      trans == 'N' ? cols : rows, (void *)(uintptr_t)a, 1, lda, &object);
  bli_obj_set_conjtrans(trans == 'N'   ? BLIS_NO_TRANSPOSE
                        : trans == 'T' ? BLIS_TRANSPOSE
                                       : BLIS_CONJ_TRANSPOSE,
                        &object);
  return object;
}

static void set_triangle(const dvt_level3 *g, struc_t structure, obj_t *object) {
  bli_obj_set_struc(structure, object);
  bli_obj_set_uplo(g->uplo == 'L' ? BLIS_LOWER : BLIS_UPPER, object);
}

/* C = alpha op(A) B + beta C, or in place. */
static void multiply_triangle(const dvt_level3 *g, side_t side, obj_t *alpha, obj_t *a, obj_t *beta, obj_t *c,
                              rntm_t *runtime) {
  if (g->b == g->c) {
    bli_trmm_ex(side, alpha, a, c, NULL, runtime);
    return;
  }
  obj_t b = matrix_object(g->type, 'N', g->m, g->n, g->b, g->ldb);
  bli_trmm3_ex(side, alpha, a, &b, beta, c, NULL, runtime);
}

static void call(const dvt_level3 *g, rntm_t *runtime) {
  dvt_scalar memory[2];
  const side_t side = g->side == 'R' ? BLIS_RIGHT : BLIS_LEFT;
  const int64_t order = g->side == 'R' ? g->n : g->m; /* of A, if it is square */
  obj_t alpha = scalar_object(g->type, g->alpha, &memory[0]),
        beta = scalar_object(g->type, g->beta, &memory[1]);
  obj_t c = matrix_object(g->type, 'N', g->m, g->n, g->c, g->ldc), a, b;
  switch (g->routine) {
  case DVT_GEMM:
    a = matrix_object(g->type, g->transa, g->m, g->k, g->a, g->lda);
    b = matrix_object(g->type, g->transb, g->k, g->n, g->b, g->ldb);
    bli_gemm_ex(&alpha, &a, &b, &beta, &c, NULL, runtime);
    return;
  case DVT_SYMM:
  case DVT_HEMM:
    a = matrix_object(g->type, 'N', order, order, g->a, g->lda);
    b = matrix_object(g->type, 'N', g->m, g->n, g->b, g->ldb);
    set_triangle(g, g->routine == DVT_SYMM ? BLIS_SYMMETRIC : BLIS_HERMITIAN, &a);
    (g->routine == DVT_SYMM ? bli_symm_ex : bli_hemm_ex)(side, &alpha, &a, &b, &beta, &c, NULL, runtime);
    return;
  case DVT_SYRK:
  case DVT_HERK:
    a = matrix_object(g->type, g->transa, g->n, g->k, g->a, g->lda);
    set_triangle(g, g->routine == DVT_SYRK ? BLIS_SYMMETRIC : BLIS_HERMITIAN, &c);
    (g->routine == DVT_SYRK ? bli_syrk_ex : bli_herk_ex)(&alpha, &a, &beta, &c, NULL, runtime);
    return;
  case DVT_SYR2K:
  case DVT_HER2K:
    a = matrix_object(g->type, g->transa, g->n, g->k, g->a, g->lda);
    b = matrix_object(g->type, g->transa, g->n, g->k, g->b, g->ldb);
    set_triangle(g, g->routine == DVT_SYR2K ? BLIS_SYMMETRIC : BLIS_HERMITIAN, &c);
    (g->routine == DVT_SYR2K ? bli_syr2k_ex : bli_her2k_ex)(&alpha, &a, &b, &beta, &c, NULL, runtime);
    return;
  default:
    a = matrix_object(g->type, g->transa, order, order, g->a, g->lda);
    set_triangle(g, BLIS_TRIANGULAR, &a);
    bli_obj_set_diag(g->diag == 'U' ? BLIS_UNIT_DIAG : BLIS_NONUNIT_DIAG, &a);
    if (g->routine == DVT_TRMM)
      multiply_triangle(g, side, &alpha, &a, &beta, &c, runtime);
    else
      bli_trsm_ex(side, &alpha, &a, &c, NULL, runtime);
  }
}

/* ---- scaling ---- */

/* C = beta C of what is stored. The beta of a hermitian C is real, and so are the products with it. */
static void scale(const dvt_level3 *g) {
  const size_t bytes = davit_type_bytes(g->type);
  const bool update = dvt_level3_is_update(g), real = dvt_level3_is_hermitian(g);
  for (int64_t j = 0; j < g->n; j++) {
    const int64_t first = update && g->uplo == 'L' ? j : 0, end = update && g->uplo == 'U' ? j + 1 : g->m;
    char *c = (char *)g->c + (size_t)(first + j * g->ldc) * bytes;
    if (g->beta == 0)
      memset(c, 0, (size_t)(end - first) * bytes);
    else
      dvt_scal_host(NULL, &(dvt_scal){real ? dvt_real_type(g->type) : g->type, (end - first) * (real ? 2 : 1),
                                      g->beta, c, 1});
  }
}

static void clear_imaginary_diagonal(const dvt_level3 *g) {
  for (int64_t i = 0; i < g->n; i++)
    if (g->type == DAVIT_COMPLEX_DOUBLE)
      __imag__((double _Complex *)g->c)[i * (g->ldc + 1)] = 0;
    else
      __imag__((float _Complex *)g->c)[i * (g->ldc + 1)] = 0;
}

/* ---- triangles by halves ---- */

/* BLIS puts zeros in place of the half of a triangle that is not stored, and multiplies them with B: an infinity there
 * would make NaN where it does not count. It multiplies by the reciprocals of A's diagonal, and that of a subnormal
 * number is infinite. By halves both do without: the half of C that is made from both halves of B takes its own
 * triangle and a product with a rectangle, the other half its triangle alone. A triangle of one row is a number. */
typedef struct halves {
  int threads;
  dvt_level3 call;
  bool right, down; /* C = B op(A); the second half is made from both */
  size_t bytes;
} halves;

/* Element (i, l) of op(A), and row (column) i of B or C. */
static const char *in_a(const halves *h, int64_t i, int64_t l) {
  const dvt_level3 *g = &h->call;
  const int64_t at = g->transa == 'N' ? i + l * g->lda : l + i * g->lda;
  return (const char *)g->a + (size_t)at * h->bytes;
}

static char *line_of(const halves *h, const void *x, int64_t ld, int64_t i) {
  return (char *)(uintptr_t)x + (size_t)(h->right ? i * ld : i) * h->bytes;
}

/* An element of A as a scalar. */
static double _Complex value_of(davit_type type, const void *a) {
  return type == DAVIT_DOUBLE           ? *(const double *)a
         : type == DAVIT_FLOAT          ? (double)*(const float *)a
         : type == DAVIT_COMPLEX_DOUBLE ? *(const double _Complex *)a
                                        : (double _Complex) * (const float _Complex *)a;
}

/* Adds factor times what lines `from` … of X contribute to lines `to` … of C. */
static void add_lines(const halves *h, double _Complex factor, int64_t from, int64_t known, int64_t to,
                      int64_t open) {
  const dvt_level3 *g = &h->call;
  const bool solves = g->routine == DVT_TRSM;
  const int64_t ldx = solves ? g->ldc : g->ldb;
  const char *x = line_of(h, solves ? g->c : g->b, ldx, from);
  dvt_level3 product = {.routine = DVT_GEMM,
                        .type = g->type,
                        .k = known,
                        .alpha = factor,
                        .beta = 1,
                        .c = line_of(h, g->c, g->ldc, to),
                        .ldc = g->ldc};
  if (h->right) {
    product.transa = 'N', product.transb = g->transa;
    product.m = g->m, product.n = open;
    product.a = x, product.lda = ldx;
    product.b = in_a(h, from, to), product.ldb = g->lda;
  } else {
    product.transa = g->transa, product.transb = 'N';
    product.m = open, product.n = g->n;
    product.a = in_a(h, to, from), product.lda = g->lda;
    product.b = x, product.ldb = ldx;
  }
  dvt_level3_host(&(dvt_site){.threads = h->threads}, &product);
}

#define DEFINE(type, T)                                                                                      \
  static void divide_##type(int64_t n, T divisor, T *x, int64_t step) {                                      \
    for (int64_t i = 0; i < n; i++)                                                                          \
      x[i * step] /= divisor;                                                                                \
  }
DEFINE(double, double)
DEFINE(float, float)
DEFINE(complex_double, double _Complex)
DEFINE(complex_float, float _Complex)
#undef DEFINE

static void divide_line(davit_type type, int64_t n, double _Complex divisor, void *x, int64_t step) {
  const dvt_scalar by = dvt_scalar_of(type, divisor);
  if (type == DAVIT_DOUBLE)
    divide_double(n, by.d, x, step);
  else if (type == DAVIT_FLOAT)
    divide_float(n, by.s, x, step);
  else if (type == DAVIT_COMPLEX_DOUBLE)
    divide_complex_double(n, by.z, x, step);
  else
    divide_complex_float(n, by.c, x, step);
}

/* One line, whose triangle is an element of A's diagonal. */
static void compute_line(const halves *h, int64_t i) {
  const dvt_level3 *g = &h->call;
  const int64_t length = h->right ? g->m : g->n, step = h->right ? 1 : g->ldc;
  const bool unit = g->diag == 'U', conjugate = g->transa == 'C';
  const double _Complex stored = unit ? 1 : value_of(g->type, in_a(h, i, i)),
                        own = conjugate ? __builtin_conj(stored) : stored;
  void *c = line_of(h, g->c, g->ldc, i);
  if (g->routine == DVT_TRSM) {
    if (!unit)
      divide_line(g->type, length, own, c, step);
  } else if (g->b != g->c && unit) {
    const void *b = line_of(h, g->b, g->ldb, i);
    dvt_axpy_host(NULL, &(dvt_axpy){g->type, length, g->alpha, b, h->right ? 1 : g->ldb, c, step});
  } else if (g->b != g->c) {
    add_lines(h, g->alpha, i, 1, i, 1);
  } else {
    dvt_scal_host(NULL, &(dvt_scal){g->type, length, own, c, step});
    dvt_scal_host(NULL, &(dvt_scal){g->type, length, g->alpha, c, step});
  }
}

static void compute_lines(const halves *h, int64_t first, int64_t order) {
  if (order == 1) {
    compute_line(h, first);
    return;
  }
  const int64_t half = order / 2, rest = order - half, middle = first + half;
  const int64_t source = h->down ? first : middle, known = h->down ? half : rest;
  const int64_t target = h->down ? middle : first, open = h->down ? rest : half;
  if (h->call.routine == DVT_TRSM) {
    compute_lines(h, source, known);
    add_lines(h, -1, source, known, target, open);
    compute_lines(h, target, open);
  } else { /* in place, what the target takes is still B */
    compute_lines(h, target, open);
    add_lines(h, h->call.alpha, source, known, target, open);
    compute_lines(h, source, known);
  }
}

/* Of trmm with beta = 1 where B is not C, or of trsm with alpha = 1. */
static void compute_by_halves(int threads, const dvt_level3 *g) {
  const bool right = g->side == 'R', lower = (g->uplo == 'L') == (g->transa == 'N');
  const halves h = {threads, *g, right, lower != right, davit_type_bytes(g->type)};
  compute_lines(&h, 0, right ? g->n : g->m);
}

/* ---- what BLIS takes ---- */

/* Whether all numbers are finite; whether an element on a diagonal, of `parts` numbers and `apart` numbers from the
 * next, is so small that its reciprocal may be infinite, and not 0. */
#define DEFINE(T)                                                                                            \
  static bool are_finite_##T(int64_t n, const T *x) {                                                        \
    int others = 0;                                                                                          \
    for (int64_t i = 0; i < n; i++)                                                                          \
      others |= !(x[i] - x[i] == 0);                                                                         \
    return !others;                                                                                          \
  }                                                                                                          \
                                                                                                             \
  static bool has_subnormal_##T(int64_t order, const T *x, int64_t apart, int parts, double normal) {        \
    bool found = false;                                                                                      \
    for (int64_t i = 0; i < order && !found; i++) {                                                          \
      const double real = fabs((double)x[i * apart]),                                                        \
                   imaginary = parts > 1 ? fabs((double)x[i * apart + 1]) : 0;                               \
      found = (real > 0 || imaginary > 0) && real < normal && imaginary < normal;                            \
    }                                                                                                        \
    return found;                                                                                            \
  }
DEFINE(double)
DEFINE(float)

static bool is_finite(const dvt_level3 *trmm, int threads) {
  enum { WORTH = 1 << 17 }; /* fewer numbers are looked at sooner by one thread */
  const bool wide = dvt_real_type(trmm->type) == DAVIT_DOUBLE;
  const int64_t parts = trmm->type >= DAVIT_COMPLEX_FLOAT ? 2 : 1, rows = parts * trmm->m,
                ld = parts * trmm->ldb;
  int others = 0;
  threads = rows * trmm->n < WORTH ? 1 : threads;
#pragma omp parallel for num_threads(threads) reduction(| : others) schedule(static)
  for (int64_t j = 0; j < trmm->n; j++)
    others |= !(wide ? are_finite_double(rows, (const double *)trmm->b + j * ld)
                     : are_finite_float(rows, (const float *)trmm->b + j * ld));
  return !others;
}

static bool has_subnormal_diagonal(const dvt_level3 *trsm) {
  const int parts = trsm->type >= DAVIT_COMPLEX_FLOAT ? 2 : 1;
  const int64_t order = trsm->side == 'R' ? trsm->n : trsm->m, apart = parts * (trsm->lda + 1);
  return trsm->diag != 'U' && (dvt_real_type(trsm->type) == DAVIT_DOUBLE
                                   ? has_subnormal_double(order, trsm->a, apart, parts, DBL_MIN)
                                   : has_subnormal_float(order, trsm->a, apart, parts, (double)FLT_MIN));
}

static bool is_infinite(double _Complex scalar) {
  return isinf(__real__ scalar) || isinf(__imag__ scalar);
}

/* C = factor C, whatever C is multiplied with besides. */
static void scale_by(const dvt_level3 *g, double _Complex factor) {
  dvt_level3 scaled = *g;
  scaled.beta = factor;
  scale(&scaled);
}

/* trmm where BLIS would compute something else. */
static bool is_multiplied(int threads, const dvt_level3 *g) {
  if (g->routine != DVT_TRMM || is_finite(g, threads))
    return false;
  if (g->b != g->c)
    scale(g);
  compute_by_halves(threads, g);
  return true;
}

/* trsm where BLIS would; else `g` is what is left for BLIS, which multiplies zeros around B with an infinite alpha. */
static bool is_solved(int threads, dvt_level3 *g) {
  const bool by_halves = g->routine == DVT_TRSM && has_subnormal_diagonal(g);
  if (by_halves || (g->routine == DVT_TRSM && is_infinite(g->alpha))) {
    scale_by(g, g->alpha);
    g->alpha = 1;
  }
  if (by_halves)
    compute_by_halves(threads, g);
  return by_halves;
}

/* A sum over nothing. */
static void scale_alone(const dvt_level3 *g) {
  if (g->beta != 1)
    scale(g);
  if (dvt_level3_is_hermitian(g))
    clear_imaginary_diagonal(g);
}

/* BLIS scales the whole of C before it clears the imaginary parts of a hermitian diagonal, and 0 times a NaN
 * there would reach the real parts. */
static void call_blis(const dvt_level3 *g, int threads) {
  rntm_t runtime = BLIS_RNTM_INITIALIZER;
  const int dynamic = omp_get_dynamic();
  bli_rntm_set_num_threads(threads, &runtime);
  if (dvt_level3_is_hermitian(g))
    clear_imaginary_diagonal(g);
  omp_set_dynamic(0);
  call(g, &runtime);
  omp_set_dynamic(dynamic);
}

static double flops_of(const dvt_level3 *g) {
  const bool triangle = g->routine == DVT_TRMM || g->routine == DVT_TRSM,
             square = triangle || g->routine == DVT_SYMM || g->routine == DVT_HEMM,
             half = triangle || g->routine == DVT_SYRK || g->routine == DVT_HERK;
  const int64_t depth = !square ? g->k : g->side == 'R' ? g->n : g->m;
  return (half ? 1 : 2) * (double)g->m * (double)g->n * (double)depth;
}

davit_status dvt_level3_host(const dvt_site *site, const void *arguments) {
  dvt_level3 g = dvt_level3_settled(arguments);
  const int threads = dvt_level3_threads(flops_of(&g), dvt_ref_threads(site->threads));
  if (dvt_level3_is_done(&g))
    return DAVIT_SUCCESS;
  if (dvt_level3_vanishes(&g))
    scale_alone(&g);
  else if (!is_multiplied(threads, &g) && !is_solved(threads, &g))
    call_blis(&g, threads);
  return DAVIT_SUCCESS;
}
