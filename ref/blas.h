/* SPDX-License-Identifier: Apache-2.0 */
/* The BLAS operations: their arguments, and the host forms: by BLIS, but for scal, nrm2, asum and the addition of
 * matrices, which are plain loops.
 *
 * Meaning and order of the arguments are those of the reference BLAS; they have been checked. A scalar of a
 * float operation is exact in its double; of a real operation its imaginary part is 0. Every form keeps the
 * rules of the reference BLAS: beta = 0 does not read C or y, alpha = 0 does not read A, B and x; a negative
 * increment walks backwards from the end. */
#ifndef DAVIT_REF_BLAS_H
#define DAVIT_REF_BLAS_H

#include <davit/operator.h>

#include "src/base/operation.h"
#include "src/base/routine.h"

/* Any routine of level 3. The flags that a routine lacks are 0 or '\0', and the letters are upper case once
 * checked ('C' for a real type is 'T'). C is the matrix that is written, m × n:
 *
 *   gemm          C = alpha op(A) op(B) + beta C, op(A) is m × k
 *   symm, hemm    C = alpha A B + beta C (side 'L', A is m × m) or alpha B A + beta C ('R', A is n × n)
 *   syrk, herk    the triangle `uplo` of C = alpha op(A) op(A)' + beta C, op(A) is n × k, m is n
 *   syr2k, her2k  the same of C = alpha op(A) op(B)' + alpha' op(B) op(A)' + beta C
 *   trmm          C = alpha op(A) B ('L') or alpha B op(A) ('R'), B is C: BLAS' way; or + beta C, and B does not
 *                 overlap it
 *   trsm          C = alpha op(A)^-1 C ('L') or alpha C op(A)^-1 ('R'): BLAS' B is C here, B is unused
 *
 * transa is BLAS' trans of syrk, herk, syr2k and her2k, too. */
typedef struct dvt_level3 {
  dvt_routine routine;
  davit_type type;
  char side, uplo, transa, transb, diag;
  int64_t m, n, k;
  double _Complex alpha;
  const void *a;
  int64_t lda;
  const void *b;
  int64_t ldb;
  double _Complex beta;
  void *c;
  int64_t ldc;
} dvt_level3;

/* y = alpha op(A) x + beta y: 2 m n flops, reads A once. */
typedef struct dvt_gemv {
  davit_type type;
  char trans;
  int64_t m, n;
  double _Complex alpha;
  const void *a;
  int64_t lda;
  const void *x;
  int64_t incx;
  double _Complex beta;
  void *y;
  int64_t incy;
} dvt_gemv;

/* y = alpha x + y: 2 n flops, reads x and y and writes y once. */
typedef struct dvt_axpy {
  davit_type type;
  int64_t n;
  double _Complex alpha;
  const void *x;
  int64_t incx;
  void *y;
  int64_t incy;
} dvt_axpy;

/* x = alpha x: n flops, reads and writes x once. */
typedef struct dvt_scal {
  davit_type type;
  int64_t n;
  double _Complex alpha;
  void *x;
  int64_t incx;
} dvt_scal;

/* *result, which is real, = the norm of x: n flops, reads x once. */
typedef struct dvt_norm {
  davit_type type; /* of x */
  bool squares;    /* nrm2, the root of the sum of squares; else asum, the sum of |real| + |imaginary part| */
  int64_t n;
  const void *x;
  int64_t incx;
  void *result;
  bool on_device; /* the result lies in the memory of the site's device */
} dvt_norm;

/* *result = sum of x[i] y[i], or of conj(x[i]) y[i]: 2 n flops, reads x and y once. */
typedef struct dvt_dot {
  davit_type type;
  int64_t n;
  const void *x;
  int64_t incx;
  const void *y;
  int64_t incy;
  void *result;
  bool conjugate;
  bool on_device; /* the result lies in the memory of the site's device */
} dvt_dot;

/* C = C + A, m × n: sums of parts of a product. m n flops, reads A and C and writes C once. */
typedef struct dvt_add {
  davit_type type; /* DAVIT_DOUBLE or DAVIT_FLOAT: complex numbers are two of them */
  int64_t m, n;
  const void *a;
  int64_t lda;
  void *c;
  int64_t ldc;
} dvt_add;

/* On as many of the site's threads as its flops are worth. */
davit_status dvt_level3_host(const dvt_site *site, const void *level3);
davit_status dvt_add_host(const dvt_site *site, const void *add);
davit_status dvt_gemv_host(const dvt_site *site,
                           const void *gemv); /* on the calling thread, as the next ones */
davit_status dvt_axpy_host(const dvt_site *site, const void *axpy);
davit_status dvt_dot_host(const dvt_site *site, const void *dot);
davit_status dvt_scal_host(const dvt_site *site, const void *scal);
davit_status dvt_norm_host(const dvt_site *site, const void *norm);

/* A scalar of an operation's type in memory, aligned as cuBLAS has its complex numbers, by twice as much as
 * C. */
typedef union dvt_scalar {
  _Alignas(16) double d;
  float s;
  double _Complex z;
  float _Complex c;
} dvt_scalar;

static inline dvt_scalar dvt_scalar_of(davit_type type, double _Complex value) {
  return type == DAVIT_DOUBLE           ? (dvt_scalar){.d = __real__ value}
         : type == DAVIT_FLOAT          ? (dvt_scalar){.s = (float)__real__ value}
         : type == DAVIT_COMPLEX_DOUBLE ? (dvt_scalar){.z = value}
                                        : (dvt_scalar){.c = (float _Complex)value};
}

/* The type of the real part. */
static inline davit_type dvt_real_type(davit_type type) {
  return type == DAVIT_DOUBLE || type == DAVIT_COMPLEX_DOUBLE ? DAVIT_DOUBLE : DAVIT_FLOAT;
}

/* Threads that BLIS may be asked for, of those one would like. */
int dvt_ref_threads(int threads);

/* Threads of the host, of those there are, that so many flops are worth. */
static inline int dvt_level3_threads(double flops, int most) {
  const double worth = 4e6; /* less than that is faster on fewer threads */
  const double threads = flops / worth;
  return threads < 1 ? 1 : threads < most ? (int)threads : most;
}

/* The imaginary parts of C's diagonal count as 0 and become 0. */
static inline bool dvt_level3_is_hermitian(const dvt_level3 *g) {
  return g->routine == DVT_HERK || g->routine == DVT_HER2K;
}

/* C is a triangle. */
static inline bool dvt_level3_is_update(const dvt_level3 *g) {
  return g->routine >= DVT_SYRK && g->routine <= DVT_HER2K;
}

/* The product vanishes: A and B are not read. */
static inline bool dvt_level3_vanishes(const dvt_level3 *g) {
  const bool triangular = g->routine == DVT_TRMM || g->routine == DVT_TRSM;
  const bool summed = g->routine != DVT_SYMM && g->routine != DVT_HEMM && !triangular;
  return g->alpha == 0 || (summed && g->k == 0);
}

/* C stays as it is, but for the diagonal where it is hermitian. */
static inline bool dvt_level3_keeps(const dvt_level3 *g) {
  return dvt_level3_vanishes(g) && g->beta == 1 && g->routine != DVT_TRMM && g->routine != DVT_TRSM;
}

/* Nothing is to be done: C is empty, or stays as it is. */
static inline bool dvt_level3_is_done(const dvt_level3 *g) {
  return g->m == 0 || g->n == 0 || (dvt_level3_keeps(g) && !dvt_level3_is_hermitian(g));
}

/* Whether a scalar, or a part of it, is NaN. */
static inline bool dvt_is_nan(double _Complex scalar) {
  return __builtin_isnan(__real__ scalar) || __builtin_isnan(__imag__ scalar);
}

/* The arguments with which every form begins. A factor that is NaN, and counts, makes every element NaN that is
 * written: then the product is left out, and beta is NaN. So forms meet a NaN in beta alone, and only where the
 * product vanishes. BLIS' kernels take a beta that is NaN for 0, and other libraries promise nothing. */
static inline dvt_level3 dvt_level3_settled(const dvt_level3 *g) {
  dvt_level3 settled = *g;
  if (dvt_is_nan(g->beta) || (dvt_is_nan(g->alpha) && !dvt_level3_vanishes(g))) {
    settled.alpha = 0;
    settled.beta = __builtin_nan("");
  }
  return settled;
}

/* The same of gemv with m, n > 0. */
static inline dvt_gemv dvt_gemv_settled(const dvt_gemv *g) {
  dvt_gemv settled = *g;
  if (dvt_is_nan(g->beta) || dvt_is_nan(g->alpha)) {
    settled.alpha = 0;
    settled.beta = __builtin_nan("");
  }
  return settled;
}

/* The first element in walking order of a vector of n elements: with a negative increment the last. */
static inline void *dvt_walk_from(const void *x, int64_t n, int64_t inc, davit_type type) {
  const int64_t back = inc < 0 ? (n - 1) * inc : 0;
  return (void *)((uintptr_t)x - (uintptr_t)(back * (int64_t)davit_type_bytes(type))); /* x may be NULL */
}

/* ---- the arguments of BLAS's calls, in its order ---- */

static inline dvt_level3 dvt_gemm_of(davit_type type, char transa, char transb, int64_t m, int64_t n,
                                     int64_t k, double _Complex alpha, const void *a, int64_t lda,
                                     const void *b, int64_t ldb, double _Complex beta, void *c, int64_t ldc) {
  return (dvt_level3){DVT_GEMM, type, 0, 0, transa, transb, 0, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
}

/* syrk, or herk of complex numbers. */
static inline dvt_level3 dvt_rank_k_of(davit_type type, char uplo, char trans, int64_t n, int64_t k,
                                       double alpha, const void *a, int64_t lda, double beta, void *c,
                                       int64_t ldc) {
  const dvt_routine routine = type < DAVIT_COMPLEX_FLOAT ? DVT_SYRK : DVT_HERK;
  return (dvt_level3){routine, type, 0, uplo, trans, 0, 0, n, n, k, alpha, a, lda, NULL, 0, beta, c, ldc};
}

/* trmm, trsm: in place. */
static inline dvt_level3 dvt_triangular_of(dvt_routine routine, davit_type type, char side, char uplo,
                                           char trans, char diag, int64_t m, int64_t n, double _Complex alpha,
                                           const void *a, int64_t lda, void *b, int64_t ldb) {
  const int64_t order = side == 'L' ? m : n;
  return (dvt_level3){routine, type,  side, uplo, trans, 0,   diag, m, n,
                      order,   alpha, a,    lda,  b,     ldb, 0,    b, ldb};
}

/* B = op(A)^-1 B with a triangle A of order n; B is n × nrhs. */
static inline dvt_level3 dvt_solve_left(davit_type type, char uplo, char trans, char diag, int64_t n,
                                        int64_t nrhs, const void *a, int64_t lda, void *b, int64_t ldb) {
  return dvt_triangular_of(DVT_TRSM, type, 'L', uplo, trans, diag, n, nrhs, 1, a, lda, b, ldb);
}

/* C = C - op(A) op(B), m × n, with sums of k. */
static inline dvt_level3 dvt_subtract_product(davit_type type, char transa, char transb, int64_t m, int64_t n,
                                              int64_t k, const void *a, int64_t lda, const void *b,
                                              int64_t ldb, void *c, int64_t ldc) {
  return dvt_gemm_of(type, transa, transb, m, n, k, -1, a, lda, b, ldb, 1, c, ldc);
}

#endif
