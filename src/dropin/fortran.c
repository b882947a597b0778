/* SPDX-License-Identifier: Apache-2.0 */
/* The Fortran names of level 3. A call that can only go to the host is passed on by a jump; another one is described
 * and routed. Scalars and matrices are passed by address for every type, so one text serves all four. Hidden
 * lengths of the letters are not declared: no BLAS reads them, and the jump leaves the caller's stack
 * as it is. */
#include "src/dropin/dropin.h"

/* Defines t##name##_; CARE says that dvt_care() has to see the call, M, N and K give the product's sizes, and the
 * rest of the line initialises the dvt_call. */
#define ROUTINE(t, name, PARAMETERS, ARGUMENTS, CARE, M, N, K, ...)                                          \
  DVT_EXPORT void DVT_NAMED(t##name##_) PARAMETERS;                                                          \
  static void routed_##t##name PARAMETERS {                                                                  \
    const dvt_call call = {.type = #t[0], .m = (M), .n = (N), .k = (K), __VA_ARGS__};                        \
    dvt_host_call host;                                                                                      \
    if (DVT_ROUTE(&call, &host))                                                                             \
      return;                                                                                                \
    DVT_HOST(t##name##_) ARGUMENTS;                                                                          \
    dvt_route_end(&call, &host);                                                                             \
  }                                                                                                          \
  void DVT_NAMED(t##name##_) PARAMETERS {                                                                    \
    (DVT_TO_ROUTE((M), (N), (K), CARE) ? routed_##t##name : DVT_HOST(t##name##_)) ARGUMENTS;                 \
  }

/* Whether a scalar is NaN, in a call that writes. */
#define HAS_NAN(t, kind, rows, cols, alpha, beta)                                                            \
  (rows > 0 && cols > 0 && dvt_scalars_have_nan(kind, #t[0], alpha, beta))

#define GEMM(t)                                                                                              \
  ROUTINE(t, gemm,                                                                                           \
          (const char *transa, const char *transb, const dvt_int *m, const dvt_int *n, const dvt_int *k,     \
           const void *alpha, const void *a, const dvt_int *lda, const void *b, const dvt_int *ldb,          \
           const void *beta, void *c, const dvt_int *ldc),                                                   \
          (transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                                    \
          HAS_NAN(t, DVT_GEMM, *m, *n, alpha, beta), *m, *n, *k, .routine = DVT_GEMM,                        \
          .transa = dvt_capital(transa), .transb = dvt_capital(transb), .alpha = alpha, .a = a, .lda = *lda, \
          .b = b, .ldb = *ldb, .beta = beta, .c = c, .ldc = *ldc)

#define SYMM(t, name, kind)                                                                                  \
  ROUTINE(t, name,                                                                                           \
          (const char *side, const char *uplo, const dvt_int *m, const dvt_int *n, const void *alpha,        \
           const void *a, const dvt_int *lda, const void *b, const dvt_int *ldb, const void *beta, void *c,  \
           const dvt_int *ldc),                                                                              \
          (side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc), HAS_NAN(t, kind, *m, *n, alpha, beta),    \
          *m, *n, (dvt_capital(side) == 'L' ? *m : *n), .routine = kind, .side = dvt_capital(side),          \
          .uplo = dvt_capital(uplo), .alpha = alpha, .a = a, .lda = *lda, .b = b, .ldb = *ldb, .beta = beta, \
          .c = c, .ldc = *ldc)

#define SYRK(t, name, kind)                                                                                  \
  ROUTINE(t, name,                                                                                           \
          (const char *uplo, const char *trans, const dvt_int *n, const dvt_int *k, const void *alpha,       \
           const void *a, const dvt_int *lda, const void *beta, void *c, const dvt_int *ldc),                \
          (uplo, trans, n, k, alpha, a, lda, beta, c, ldc), HAS_NAN(t, kind, *n, *n, alpha, beta), *n, *n,   \
          *k, .routine = kind, .uplo = dvt_capital(uplo), .transa = dvt_capital(trans), .alpha = alpha,      \
          .a = a, .lda = *lda, .beta = beta, .c = c, .ldc = *ldc)

#define SYR2K(t, name, kind)                                                                                 \
  ROUTINE(t, name,                                                                                           \
          (const char *uplo, const char *trans, const dvt_int *n, const dvt_int *k, const void *alpha,       \
           const void *a, const dvt_int *lda, const void *b, const dvt_int *ldb, const void *beta, void *c,  \
           const dvt_int *ldc),                                                                              \
          (uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc), HAS_NAN(t, kind, *n, *n, alpha, beta),   \
          *n, *n, *k, .routine = kind, .uplo = dvt_capital(uplo), .transa = dvt_capital(trans),              \
          .alpha = alpha, .a = a, .lda = *lda, .b = b, .ldb = *ldb, .beta = beta, .c = c, .ldc = *ldc)

#define TRMM(t, name, kind)                                                                                  \
  ROUTINE(t, name,                                                                                           \
          (const char *side, const char *uplo, const char *transa, const char *diag, const dvt_int *m,       \
           const dvt_int *n, const void *alpha, const void *a, const dvt_int *lda, void *b,                  \
           const dvt_int *ldb),                                                                              \
          (side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb),                                           \
          kind == DVT_TRSM || HAS_NAN(t, kind, *m, *n, alpha, NULL), *m, *n,                                 \
          (dvt_capital(side) == 'L' ? *m : *n), .routine = kind, .side = dvt_capital(side),                  \
          .uplo = dvt_capital(uplo), .transa = dvt_capital(transa), .diag = dvt_capital(diag),               \
          .alpha = alpha, .a = a, .lda = *lda, .c = b, .ldc = *ldb)

/* clang-format off */
GEMM(s) GEMM(d) GEMM(c) GEMM(z)
SYMM(s, symm, DVT_SYMM) SYMM(d, symm, DVT_SYMM) SYMM(c, symm, DVT_SYMM) SYMM(z, symm, DVT_SYMM)
SYMM(c, hemm, DVT_HEMM) SYMM(z, hemm, DVT_HEMM)
SYRK(s, syrk, DVT_SYRK) SYRK(d, syrk, DVT_SYRK) SYRK(c, syrk, DVT_SYRK) SYRK(z, syrk, DVT_SYRK)
SYRK(c, herk, DVT_HERK) SYRK(z, herk, DVT_HERK)
SYR2K(s, syr2k, DVT_SYR2K) SYR2K(d, syr2k, DVT_SYR2K) SYR2K(c, syr2k, DVT_SYR2K) SYR2K(z, syr2k, DVT_SYR2K)
SYR2K(c, her2k, DVT_HER2K) SYR2K(z, her2k, DVT_HER2K)
TRMM(s, trmm, DVT_TRMM) TRMM(d, trmm, DVT_TRMM) TRMM(c, trmm, DVT_TRMM) TRMM(z, trmm, DVT_TRMM)
TRMM(s, trsm, DVT_TRSM) TRMM(d, trsm, DVT_TRSM) TRMM(c, trsm, DVT_TRSM) TRMM(z, trsm, DVT_TRSM)
    /* clang-format on */
