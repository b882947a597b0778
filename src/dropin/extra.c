/* SPDX-License-Identifier: Apache-2.0 */
/* What BLIS adds to level 3: gemm3m, gemmt (a triangle of a product) and gemm_batch (products in groups of one shape).
 * BLIS computes gemm3m and gemmt; a batch is its products, one after another. Whatever is wrong goes to BLIS, which
 * reports it. The CBLAS names of gemm3m and gemmt are in cblas.c. */
#include "src/dropin/dropin.h"

/* ---- gemm3m, gemmt ---- */

/* *done: nothing is left for BLIS to do. Returns what dvt_barrier_leave() needs. */
static bool begin(const dvt_call *call, bool *done) {
  const bool right = dvt_is_right(call);
  *done = right && call->m > 0 && call->n > 0 && dvt_care(call);
  return right && !*done && dvt_barrier_enter();
}

/* M is a name of the sizes m and n; the last line is what only one of the two routines has. */
#define EXTRA(t, name, PARAMETERS, ARGUMENTS, M, ...)                                                        \
  DVT_EXPORT void t##name##_ PARAMETERS;                                                                     \
  void t##name##_ PARAMETERS {                                                                               \
    const dvt_call call = {.routine = DVT_GEMM,                                                              \
                           .type = #t[0],                                                                    \
                           .transa = dvt_capital(transa),                                                    \
                           .transb = dvt_capital(transb),                                                    \
                           .m = *M,                                                                          \
                           .n = *n,                                                                          \
                           .k = *k,                                                                          \
                           .alpha = alpha,                                                                   \
                           .lda = *lda,                                                                      \
                           .ldb = *ldb,                                                                      \
                           .beta = beta,                                                                     \
                           .c = c,                                                                           \
                           .ldc = *ldc,                                                                      \
                           __VA_ARGS__};                                                                     \
    bool done;                                                                                               \
    const bool entered = begin(&call, &done);                                                                \
    if (!done)                                                                                               \
      DVT_BLIS(t##name##_) ARGUMENTS;                                                                        \
    dvt_barrier_leave(entered);                                                                              \
  }
#define GEMM3M(t)                                                                                            \
  EXTRA(t, gemm3m,                                                                                           \
        (const char *transa, const char *transb, const dvt_int *m, const dvt_int *n, const dvt_int *k,       \
         const void *alpha, const void *a, const dvt_int *lda, const void *b, const dvt_int *ldb,            \
         const void *beta, void *c, const dvt_int *ldc),                                                     \
        (transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), m, .uplo = 0)
#define GEMMT(t)                                                                                             \
  EXTRA(t, gemmt,                                                                                            \
        (const char *uplo, const char *transa, const char *transb, const dvt_int *n, const dvt_int *k,       \
         const void *alpha, const void *a, const dvt_int *lda, const void *b, const dvt_int *ldb,            \
         const void *beta, void *c, const dvt_int *ldc),                                                     \
        (uplo, transa, transb, n, k, alpha, a, lda, b, ldb, beta, c, ldc), n, .uplo = dvt_capital(uplo))

/* clang-format off */
GEMM3M(c) GEMM3M(z) GEMMT(s) GEMMT(d) GEMMT(c) GEMMT(z)
/* clang-format on */

/* ---- gemm_batch ---- */

/* The group of a batch as a product, without its matrices. */
#define GROUP(t, i, letter_a, letter_b, m, n, k, lda, ldb, ldc)                                              \
  {.routine = DVT_GEMM,                                                                                      \
   .type = t,                                                                                                \
   .transa = letter_a,                                                                                       \
   .transb = letter_b,                                                                                       \
   .m = (m)[i],                                                                                              \
   .n = (n)[i],                                                                                              \
   .k = (k)[i],                                                                                              \
   .lda = (lda)[i],                                                                                          \
   .ldb = (ldb)[i],                                                                                          \
   .ldc = (ldc)[i]}

#define BATCH(t, T)                                                                                          \
  void t##gemm_(const char *, const char *, const dvt_int *, const dvt_int *, const dvt_int *, const void *, \
                const void *, const dvt_int *, const void *, const dvt_int *, const void *, void *,          \
                const dvt_int *);                                                                            \
  DVT_EXPORT void t##gemm_batch_(                                                                            \
      const char *transa, const char *transb, const dvt_int *m, const dvt_int *n, const dvt_int *k,          \
      const void *alpha, const void *const *a, const dvt_int *lda, const void *const *b, const dvt_int *ldb, \
      const void *beta, void *const *c, const dvt_int *ldc, const dvt_int *groups, const dvt_int *sizes);    \
  void t##gemm_batch_(const char *transa, const char *transb, const dvt_int *m, const dvt_int *n,            \
                      const dvt_int *k, const void *alpha, const void *const *a, const dvt_int *lda,         \
                      const void *const *b, const dvt_int *ldb, const void *beta, void *const *c,            \
                      const dvt_int *ldc, const dvt_int *groups, const dvt_int *sizes) {                     \
    bool right = *groups >= 0;                                                                               \
    for (dvt_int i = 0; i < *groups && right; i++) {                                                         \
      const dvt_call group =                                                                                 \
          GROUP(#t[0], i, dvt_capital(&transa[i]), dvt_capital(&transb[i]), m, n, k, lda, ldb, ldc);         \
      right = sizes[i] >= 0 && dvt_is_right(&group);                                                         \
    }                                                                                                        \
    if (!right) {                                                                                            \
      DVT_BLIS(t##gemm_batch_)                                                                               \
      (transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, sizes);                         \
      return;                                                                                                \
    }                                                                                                        \
    for (dvt_int i = 0, at = 0; i < *groups; at += sizes[i++])                                               \
      for (dvt_int j = at; j < at + sizes[i]; j++)                                                           \
        t##gemm_(&transa[i], &transb[i], &m[i], &n[i], &k[i], (const T *)alpha + i, a[j], &lda[i], b[j],     \
                 &ldb[i], (const T *)beta + i, c[j], &ldc[i]);                                               \
  }

    /* clang-format off */
BATCH(s, float) BATCH(d, double) BATCH(c, float _Complex) BATCH(z, double _Complex)
    /* clang-format on */
