/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are too small for a team: BLIS computes them on the calling thread, whatever its number of threads.
 *
 * BLIS 0.9 has every call of level 3 done by all of its threads, one of order 1 too: waking them costs 5 to 100 us,
 * and LAPACK makes such calls by the ten thousand. Its typed functions take the number of threads of one call, so no
 * other call is changed; for the rest they are what its BLAS calls itself. */
#include <blis.h>
#include <dlfcn.h>
#include <string.h>

#include "src/dropin/dropin.h"

double dvt_alone_most = -INFINITY;

#define REAL_ROUTINES(X, t) X(t, gemm) X(t, symm) X(t, syrk) X(t, syr2k) X(t, trmm) X(t, trsm)
#define COMPLEX_ROUTINES(X, t) REAL_ROUTINES(X, t) X(t, hemm) X(t, herk) X(t, her2k)
#define ALL_ROUTINES(X) REAL_ROUTINES(X, s) REAL_ROUTINES(X, d) COMPLEX_ROUTINES(X, c) COMPLEX_ROUTINES(X, z)

static struct {
#define FIELD(t, name) __typeof__(bli_##t##name##_ex) *t##name;
  ALL_ROUTINES(FIELD)
#undef FIELD
} typed;

/* A team costs a call as much as so many flops that one thread computes: measured with 2 to 32 threads, where calls
 * of one and of all threads take the same time (docs/notes/dropin.md). gemm has a form of its own for small matrices,
 * which waits less. */
static double team_costs(dvt_routine routine, int threads) {
  return routine == DVT_GEMM ? 0.03e6 * (threads < 7 ? threads : 7) : 0.25e6 * (threads < 12 ? threads : 12);
}

static bool known; /* the functions and the settings */
static rntm_t one_thread;

/* The settings of BLIS's calls with one thread. False: this BLIS keeps them otherwise than the one that davit was
 * built with, or with ways (BLIS_JC_NT and its kin) in place of a number. All bytes of a struct of that size are
 * written, and no others. */
static bool read_settings(void *blis, int threads) {
  union {
    rntm_t settings;
    unsigned char bytes[1024];
  } all[2];
  void (*settings_now)(rntm_t *) = (void (*)(rntm_t *))(uintptr_t)dlsym(blis, "bli_rntm_init_from_global");
  if (!settings_now)
    return false;
  for (int i = 0; i < 2; i++) {
    memset(&all[i], i ? 0x5a : 0xa5, sizeof all[i]);
    settings_now(&all[i].settings);
  }
  for (size_t i = 0; i < sizeof all[0]; i++)
    if ((all[0].bytes[i] == all[1].bytes[i]) != (i < sizeof(rntm_t)))
      return false;
  if (bli_rntm_num_threads(&all[0].settings) != threads)
    return false;
  one_thread = all[0].settings;
  bli_rntm_set_num_threads(1, &one_thread);
  bli_rntm_enable_l3_sup(&one_thread); /* which calls of BLAS do not look at */
  return true;
}

void dvt_alone_bind(void *blis, int threads) {
#define FIND(t, name)                                                                                        \
  typed.t##name = (__typeof__(bli_##t##name##_ex) *)(uintptr_t)dlsym(blis, "bli_" #t #name "_ex");           \
  if (!typed.t##name)                                                                                        \
    return;
  ALL_ROUTINES(FIND)
#undef FIND
  if (threads <= 1 || !read_settings(blis, threads))
    return;
  known = true;
  double most = 2 * team_costs(DVT_SYRK, threads); /* of single precision */
  __atomic_store(&dvt_alone_most, &most, __ATOMIC_RELEASE);
}

bool dvt_alone_product(int threads, int order, double *memory) {
  double one = 1, zero = 0, *c = memory + (size_t)order * (size_t)order;
  rntm_t settings = one_thread;
  if (!known)
    return false;
  bli_rntm_set_num_threads(threads, &settings);
  typed.dgemm(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, order, order, order, &one, memory, 1, order, memory, 1,
              order, &zero, c, 1, order, NULL, &settings);
  return true;
}

/* ---- the call in BLIS's terms ---- */

static trans_t trans_of(char letter, bool real) {
  return letter == 'N' ? BLIS_NO_TRANSPOSE : letter == 'T' || real ? BLIS_TRANSPOSE : BLIS_CONJ_TRANSPOSE;
}

static side_t side_of(char letter) {
  return letter == 'L' ? BLIS_LEFT : BLIS_RIGHT;
}

static uplo_t uplo_of(char letter) {
  return letter == 'L' ? BLIS_LOWER : BLIS_UPPER;
}

static diag_t diag_of(char letter) {
  return letter == 'U' ? BLIS_UNIT_DIAG : BLIS_NONUNIT_DIAG;
}

/* compute_t(): the call's routine in type t, whose elements are T and whose real numbers are R. */
#define CALL(t, name, ...) typed.t##name(__VA_ARGS__, NULL, &settings)
#define SQUARE_CASE(t, NAME, name)                                                                           \
  case NAME:                                                                                                 \
    CALL(t, name, side, uplo, BLIS_NO_CONJUGATE, BLIS_NO_TRANSPOSE, g->m, g->n, alpha, a, 1, g->lda, b, 1,   \
         g->ldb, beta, c, 1, g->ldc);                                                                        \
    break;
#define RANK_CASE(t, NAME, name, alpha, beta)                                                                \
  case NAME:                                                                                                 \
    CALL(t, name, uplo, transa, g->n, g->k, alpha, a, 1, g->lda, beta, c, 1, g->ldc);                        \
    break;
#define RANK_2_CASE(t, NAME, name, beta)                                                                     \
  case NAME:                                                                                                 \
    CALL(t, name, uplo, transa, transa, g->n, g->k, alpha, a, 1, g->lda, b, 1, g->ldb, beta, c, 1, g->ldc);  \
    break;
#define TRIANGLE_CASE(t, NAME, name)                                                                         \
  case NAME:                                                                                                 \
    CALL(t, name, side, uplo, transa, diag_of(g->diag), g->m, g->n, alpha, a, 1, g->lda, c, 1, g->ldc);      \
    break;
#define REAL_CASES(t)                                                                                        \
  case DVT_GEMM:                                                                                             \
    CALL(t, gemm, transa, trans_of(g->transb, real), g->m, g->n, g->k, alpha, a, 1, g->lda, b, 1, g->ldb,    \
         beta, c, 1, g->ldc);                                                                                \
    break;                                                                                                   \
    SQUARE_CASE(t, DVT_SYMM, symm)                                                                           \
    RANK_CASE(t, DVT_SYRK, syrk, alpha, beta)                                                                \
    RANK_2_CASE(t, DVT_SYR2K, syr2k, beta)                                                                   \
    TRIANGLE_CASE(t, DVT_TRMM, trmm)                                                                         \
    TRIANGLE_CASE(t, DVT_TRSM, trsm)
#define COMPLEX_CASES(t)                                                                                     \
  REAL_CASES(t)                                                                                              \
  SQUARE_CASE(t, DVT_HEMM, hemm)                                                                             \
  RANK_CASE(t, DVT_HERK, herk, real_alpha, real_beta)                                                        \
  RANK_2_CASE(t, DVT_HER2K, her2k, real_beta)
#define COMPUTE(t, T, R, REAL, CASES)                                                                        \
  static void compute_##t(const dvt_call *g) {                                                               \
    const bool real = REAL;                                                                                  \
    const trans_t transa = trans_of(g->transa, real);                                                        \
    const side_t side = side_of(g->side);                                                                    \
    const uplo_t uplo = uplo_of(g->uplo);                                                                    \
    T *alpha = (T *)(uintptr_t)g->alpha, *beta = (T *)(uintptr_t)g->beta;                                    \
    __attribute__((unused)) R *real_alpha = (R *)(uintptr_t)g->alpha, *real_beta = (R *)(uintptr_t)g->beta;  \
    T *a = (T *)(uintptr_t)g->a, *b = (T *)(uintptr_t)g->b, *c = g->c;                                       \
    rntm_t settings = one_thread;                                                                            \
    switch (g->routine) {                                                                                    \
      CASES(t)                                                                                               \
    default:; /* Hermitian routines have no real form */                                                     \
    }                                                                                                        \
  }
COMPUTE(s, float, float, true, REAL_CASES)
COMPUTE(d, double, double, true, REAL_CASES)
COMPUTE(c, scomplex, float, false, COMPLEX_CASES)
COMPUTE(z, dcomplex, double, false, COMPLEX_CASES)

/* ---- which calls ---- */

bool dvt_keeps_diagonal(const dvt_call *g) {
  if ((g->routine != DVT_HERK && g->routine != DVT_HER2K) || dvt_scalar_part(g->type, g->beta, 0) != 1)
    return false;
  return g->k == 0 || (dvt_scalar_part(g->type, g->alpha, 0) == 0 &&
                       (g->routine == DVT_HERK || dvt_scalar_part(g->type, g->alpha, 1) == 0));
}

/* BLIS's BLAS has gemm done by gemv if C is a vector, on one thread anyway. */
static bool done_otherwise(const dvt_call *g) {
  return g->routine == DVT_GEMM ? g->m == 1 || g->n == 1 : dvt_keeps_diagonal(g);
}

bool dvt_alone(const dvt_call *g, int threads) {
  if (!known || dvt_flops(g) > team_costs(g->routine, threads) * (dvt_single(g->type) ? 2 : 1) ||
      done_otherwise(g))
    return false;
  switch (g->type) {
  case 's':
    compute_s(g);
    return true;
  case 'd':
    compute_d(g);
    return true;
  case 'c':
    compute_c(g);
    return true;
  default:
    compute_z(g);
    return true;
  }
}
