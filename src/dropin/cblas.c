/* SPDX-License-Identifier: Apache-2.0 */
/* The CBLAS names of level 3, on top of the Fortran ones.
 *
 * A row-major matrix is the transpose of a column-major one. A row-major product becomes the product of
 * the transposes in reverse order, a triangle the other triangle, the left side the right one. A call with
 * an unknown enumerator goes to the host's CBLAS, which reports it by its number; sizes are checked below the
 * Fortran names. */
#include "src/dropin/dropin.h"

/* The enumerators of cblas.h. */
enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102 };

static bool is_layout(int layout) {
  return layout == ROW_MAJOR || layout == COLUMN_MAJOR;
}

/* The letter of an enumerator, `exchanged` in a row-major call where the table says so; 0: unknown. */
static char trans_letter(int trans) {
  return trans == 111 ? 'N' : trans == 112 ? 'T' : trans == 113 ? 'C' : 0;
}

static char uplo_letter(int uplo, bool exchanged) {
  return uplo != 121 && uplo != 122 ? 0 : (uplo == 121) != exchanged ? 'U' : 'L';
}

static char side_letter(int side, bool exchanged) {
  return side != 141 && side != 142 ? 0 : (side == 141) != exchanged ? 'L' : 'R';
}

static char diag_letter(int diag) {
  return diag == 131 ? 'N' : diag == 132 ? 'U' : 0;
}

/* A A' row-major is A' A column-major. `other` is the letter of the transpose that the routine has; real
 * routines take both. */
static char rank_letter(int trans, bool exchanged, char other, bool real) {
  const char letter = trans_letter(trans);
  if (letter == 'N')
    return exchanged ? other : 'N';
  return letter == other || (real && letter) ? (exchanged ? 'N' : letter) : 0;
}

/* Scalars of real routines come by value (v), of complex ones by address (p). */
#define BY_v(type) type
#define BY_p(type) const void *
#define AT_v(x) &x
#define AT_p(x) x

#define GEMM(t, name, by, type)                                                                              \
  void DVT_NAMED(t##name##_)(const char *, const char *, const dvt_int *, const dvt_int *, const dvt_int *,  \
                             const void *, const void *, const dvt_int *, const void *, const dvt_int *,     \
                             const void *, void *, const dvt_int *);                                         \
  DVT_EXPORT void DVT_NAMED(cblas_##t##name)(                                                                \
      int layout, int transa, int transb, dvt_int m, dvt_int n, dvt_int k, BY_##by(type) alpha,              \
      const void *a, dvt_int lda, const void *b, dvt_int ldb, BY_##by(type) beta, void *c, dvt_int ldc);     \
  void DVT_NAMED(cblas_##t##name)(int layout, int transa, int transb, dvt_int m, dvt_int n, dvt_int k,       \
                                  BY_##by(type) alpha, const void *a, dvt_int lda, const void *b,            \
                                  dvt_int ldb, BY_##by(type) beta, void *c, dvt_int ldc) {                   \
    const char letter_a = trans_letter(transa), letter_b = trans_letter(transb);                             \
    if (!is_layout(layout) || !letter_a || !letter_b)                                                        \
      DVT_HOST(cblas_##t##name)                                                                              \
    (layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                  \
    else if (layout == ROW_MAJOR) DVT_NAMED(t##name##_)(&letter_b, &letter_a, &n, &m, &k, AT_##by(alpha), b, \
                                                        &ldb, a, &lda, AT_##by(beta), c, &ldc);              \
    else DVT_NAMED(t##name##_)(&letter_a, &letter_b, &m, &n, &k, AT_##by(alpha), a, &lda, b, &ldb,           \
                               AT_##by(beta), c, &ldc);                                                      \
  }

#define SYMM(t, name, by, type)                                                                              \
  void DVT_NAMED(t##name##_)(const char *, const char *, const dvt_int *, const dvt_int *, const void *,     \
                             const void *, const dvt_int *, const void *, const dvt_int *, const void *,     \
                             void *, const dvt_int *);                                                       \
  DVT_EXPORT void DVT_NAMED(cblas_##t##name)(int layout, int side, int uplo, dvt_int m, dvt_int n,           \
                                             BY_##by(type) alpha, const void *a, dvt_int lda, const void *b, \
                                             dvt_int ldb, BY_##by(type) beta, void *c, dvt_int ldc);         \
  void DVT_NAMED(cblas_##t##name)(int layout, int side, int uplo, dvt_int m, dvt_int n, BY_##by(type) alpha, \
                                  const void *a, dvt_int lda, const void *b, dvt_int ldb,                    \
                                  BY_##by(type) beta, void *c, dvt_int ldc) {                                \
    const bool row = layout == ROW_MAJOR;                                                                    \
    const char letter_s = side_letter(side, row), letter_u = uplo_letter(uplo, row);                         \
    if (!is_layout(layout) || !letter_s || !letter_u)                                                        \
      DVT_HOST(cblas_##t##name)(layout, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);              \
    else                                                                                                     \
      DVT_NAMED(t##name##_)(&letter_s, &letter_u, row ? &n : &m, row ? &m : &n, AT_##by(alpha), a, &lda, b,  \
                            &ldb, AT_##by(beta), c, &ldc);                                                   \
  }

#define SYRK(t, name, by, type, other, real)                                                                 \
  void DVT_NAMED(t##name##_)(const char *, const char *, const dvt_int *, const dvt_int *, const void *,     \
                             const void *, const dvt_int *, const void *, void *, const dvt_int *);          \
  DVT_EXPORT void DVT_NAMED(cblas_##t##name)(int layout, int uplo, int trans, dvt_int n, dvt_int k,          \
                                             BY_##by(type) alpha, const void *a, dvt_int lda,                \
                                             BY_##by(type) beta, void *c, dvt_int ldc);                      \
  void DVT_NAMED(cblas_##t##name)(int layout, int uplo, int trans, dvt_int n, dvt_int k,                     \
                                  BY_##by(type) alpha, const void *a, dvt_int lda, BY_##by(type) beta,       \
                                  void *c, dvt_int ldc) {                                                    \
    const bool row = layout == ROW_MAJOR;                                                                    \
    const char letter_u = uplo_letter(uplo, row), letter_t = rank_letter(trans, row, other, real);           \
    if (!is_layout(layout) || !letter_u || !letter_t)                                                        \
      DVT_HOST(cblas_##t##name)(layout, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);                     \
    else                                                                                                     \
      DVT_NAMED(t##name##_)(&letter_u, &letter_t, &n, &k, AT_##by(alpha), a, &lda, AT_##by(beta), c, &ldc);  \
  }

/* `by_beta` is v where beta is real. alpha of a Hermitian update belongs to A B' and its conjugate to B
 * A'; row-major they change places. */
#define SYR2K(t, name, by, by_beta, type, other, real, ALPHA)                                                \
  void DVT_NAMED(t##name##_)(const char *, const char *, const dvt_int *, const dvt_int *, const void *,     \
                             const void *, const dvt_int *, const void *, const dvt_int *, const void *,     \
                             void *, const dvt_int *);                                                       \
  DVT_EXPORT void DVT_NAMED(cblas_##t##name)(int layout, int uplo, int trans, dvt_int n, dvt_int k,          \
                                             BY_##by(type) alpha, const void *a, dvt_int lda, const void *b, \
                                             dvt_int ldb, BY_##by_beta(type) beta, void *c, dvt_int ldc);    \
  void DVT_NAMED(cblas_##t##name)(int layout, int uplo, int trans, dvt_int n, dvt_int k,                     \
                                  BY_##by(type) alpha, const void *a, dvt_int lda, const void *b,            \
                                  dvt_int ldb, BY_##by_beta(type) beta, void *c, dvt_int ldc) {              \
    const bool row = layout == ROW_MAJOR;                                                                    \
    const char letter_u = uplo_letter(uplo, row), letter_t = rank_letter(trans, row, other, real);           \
    if (!is_layout(layout) || !letter_u || !letter_t)                                                        \
      DVT_HOST(cblas_##t##name)(layout, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);             \
    else                                                                                                     \
      DVT_NAMED(t##name##_)(&letter_u, &letter_t, &n, &k, ALPHA(type, AT_##by(alpha), row), a, &lda, b,      \
                            &ldb, AT_##by_beta(beta), c, &ldc);                                              \
  }
#define AS_IT_IS(type, alpha, row) alpha
#define CONJUGATE(type, alpha, row)                                                                          \
  (row ? (const void *)(const type[2]){((const type *)alpha)[0], -((const type *)alpha)[1]} : alpha)

#define TRMM(t, name, by, type)                                                                              \
  void DVT_NAMED(t##name##_)(const char *, const char *, const char *, const char *, const dvt_int *,        \
                             const dvt_int *, const void *, const void *, const dvt_int *, void *,           \
                             const dvt_int *);                                                               \
  DVT_EXPORT void DVT_NAMED(cblas_##t##name)(int layout, int side, int uplo, int transa, int diag,           \
                                             dvt_int m, dvt_int n, BY_##by(type) alpha, const void *a,       \
                                             dvt_int lda, void *b, dvt_int ldb);                             \
  void DVT_NAMED(cblas_##t##name)(int layout, int side, int uplo, int transa, int diag, dvt_int m,           \
                                  dvt_int n, BY_##by(type) alpha, const void *a, dvt_int lda, void *b,       \
                                  dvt_int ldb) {                                                             \
    const bool row = layout == ROW_MAJOR;                                                                    \
    const char letter_s = side_letter(side, row), letter_u = uplo_letter(uplo, row);                         \
    const char letter_t = trans_letter(transa), letter_d = diag_letter(diag);                                \
    if (!is_layout(layout) || !letter_s || !letter_u || !letter_t || !letter_d)                              \
      DVT_HOST(cblas_##t##name)(layout, side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb);              \
    else                                                                                                     \
      DVT_NAMED(t##name##_)(&letter_s, &letter_u, &letter_t, &letter_d, row ? &n : &m, row ? &m : &n,        \
                            AT_##by(alpha), a, &lda, b, &ldb);                                               \
  }

/* clang-format off */
GEMM(s, gemm, v, float) GEMM(d, gemm, v, double) GEMM(c, gemm, p, float) GEMM(z, gemm, p, double)
SYMM(s, symm, v, float) SYMM(d, symm, v, double) SYMM(c, symm, p, float) SYMM(z, symm, p, double)
SYMM(c, hemm, p, float) SYMM(z, hemm, p, double)
SYRK(s, syrk, v, float, 'T', true) SYRK(d, syrk, v, double, 'T', true)
SYRK(c, syrk, p, float, 'T', false) SYRK(z, syrk, p, double, 'T', false)
SYRK(c, herk, v, float, 'C', false) SYRK(z, herk, v, double, 'C', false)
SYR2K(s, syr2k, v, v, float, 'T', true, AS_IT_IS) SYR2K(d, syr2k, v, v, double, 'T', true, AS_IT_IS)
SYR2K(c, syr2k, p, p, float, 'T', false, AS_IT_IS) SYR2K(z, syr2k, p, p, double, 'T', false, AS_IT_IS)
SYR2K(c, her2k, p, v, float, 'C', false, CONJUGATE) SYR2K(z, her2k, p, v, double, 'C', false, CONJUGATE)
TRMM(s, trmm, v, float) TRMM(d, trmm, v, double) TRMM(c, trmm, p, float) TRMM(z, trmm, p, double)
TRMM(s, trsm, v, float) TRMM(d, trsm, v, double) TRMM(c, trsm, p, float) TRMM(z, trsm, p, double)
/* clang-format on */

#ifndef DVT_DROPIN_WHEEL /* what BLIS adds */
#define GEMMT(t, by, type)                                                                                   \
  void t##gemmt_(const char *, const char *, const char *, const dvt_int *, const dvt_int *, const void *,   \
                 const void *, const dvt_int *, const void *, const dvt_int *, const void *, void *,         \
                 const dvt_int *);                                                                           \
  DVT_EXPORT void cblas_##t##gemmt(int layout, int uplo, int transa, int transb, dvt_int n, dvt_int k,       \
                                   BY_##by(type) alpha, const void *a, dvt_int lda, const void *b,           \
                                   dvt_int ldb, BY_##by(type) beta, void *c, dvt_int ldc);                   \
  void cblas_##t##gemmt(int layout, int uplo, int transa, int transb, dvt_int n, dvt_int k,                  \
                        BY_##by(type) alpha, const void *a, dvt_int lda, const void *b, dvt_int ldb,         \
                        BY_##by(type) beta, void *c, dvt_int ldc) {                                          \
    const bool row = layout == ROW_MAJOR;                                                                    \
    const char letter_u = uplo_letter(uplo, row);                                                            \
    const char letter_a = trans_letter(transa), letter_b = trans_letter(transb);                             \
    if (!is_layout(layout) || !letter_u || !letter_a || !letter_b)                                           \
      DVT_BLIS(cblas_##t##gemmt)                                                                             \
    (layout, uplo, transa, transb, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                               \
    else if (row) t##gemmt_(&letter_u, &letter_b, &letter_a, &n, &k, AT_##by(alpha), b, &ldb, a, &lda,       \
                            AT_##by(beta), c, &ldc);                                                         \
    else t##gemmt_(&letter_u, &letter_a, &letter_b, &n, &k, AT_##by(alpha), a, &lda, b, &ldb, AT_##by(beta), \
                   c, &ldc);                                                                                 \
  }

/* Each group by the Fortran name. A scalar is `parts` numbers. */
#define BATCH(t, type, parts)                                                                                \
  void t##gemm_batch_(const char *, const char *, const dvt_int *, const dvt_int *, const dvt_int *,         \
                      const void *, const void *const *, const dvt_int *, const void *const *,               \
                      const dvt_int *, const void *, void *const *, const dvt_int *, const dvt_int *,        \
                      const dvt_int *);                                                                      \
  DVT_EXPORT void cblas_##t##gemm_batch(int layout, const int *transa, const int *transb, const dvt_int *m,  \
                                        const dvt_int *n, const dvt_int *k, const type *alpha,               \
                                        const void *const *a, const dvt_int *lda, const void *const *b,      \
                                        const dvt_int *ldb, const type *beta, void *const *c,                \
                                        const dvt_int *ldc, dvt_int groups, const dvt_int *sizes);           \
  void cblas_##t##gemm_batch(int layout, const int *transa, const int *transb, const dvt_int *m,             \
                             const dvt_int *n, const dvt_int *k, const type *alpha, const void *const *a,    \
                             const dvt_int *lda, const void *const *b, const dvt_int *ldb, const type *beta, \
                             void *const *c, const dvt_int *ldc, dvt_int groups, const dvt_int *sizes) {     \
    const bool row = layout == ROW_MAJOR;                                                                    \
    bool right = is_layout(layout);                                                                          \
    for (dvt_int i = 0; i < groups && right; i++)                                                            \
      right = trans_letter(transa[i]) && trans_letter(transb[i]) && sizes[i] >= 0;                           \
    if (!right) {                                                                                            \
      DVT_BLIS(cblas_##t##gemm_batch)                                                                        \
      (layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, sizes);                 \
      return;                                                                                                \
    }                                                                                                        \
    for (dvt_int i = 0, at = 0; i < groups; at += sizes[i++]) {                                              \
      const char letter_a = trans_letter(transa[i]), letter_b = trans_letter(transb[i]);                     \
      const dvt_int one = 1;                                                                                 \
      if (row)                                                                                               \
        t##gemm_batch_(&letter_b, &letter_a, &n[i], &m[i], &k[i], &alpha[parts * i], &b[at], &ldb[i],        \
                       &a[at], &lda[i], &beta[parts * i], &c[at], &ldc[i], &one, &sizes[i]);                 \
      else                                                                                                   \
        t##gemm_batch_(&letter_a, &letter_b, &m[i], &n[i], &k[i], &alpha[parts * i], &a[at], &lda[i],        \
                       &b[at], &ldb[i], &beta[parts * i], &c[at], &ldc[i], &one, &sizes[i]);                 \
    }                                                                                                        \
  }

    /* clang-format off */
GEMM(c, gemm3m, p, float) GEMM(z, gemm3m, p, double)
GEMMT(s, v, float) GEMMT(d, v, double) GEMMT(c, p, float) GEMMT(z, p, double)
BATCH(s, float, 1) BATCH(d, double, 1) BATCH(c, float, 2) BATCH(z, double, 2)
/* clang-format on */
#endif
