/* SPDX-License-Identifier: Apache-2.0 */
#include "src/dropin/library.h"

#include <dlfcn.h>

dvt_library_functions dvt_library;

const char *dvt_library_load(void) {
  void *library = dlopen(DVT_DROPIN_DAVIT, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return dlerror();
#define FIND(name)                                                                                           \
  dvt_library.name = (__typeof__(name) *)(uintptr_t)dlsym(library, #name);                                   \
  if (!dvt_library.name)                                                                                     \
    return "libdavit has no " #name;
  DVT_LIBRARY(FIND)
#undef FIND
  return NULL;
}

/* compute_t(): the call's routine in type t, whose elements are T and whose real numbers are REAL. */
#define CALL(t, name, ...) return dvt_library.davit_##t##name(__VA_ARGS__, options)
#define REAL_ROUTINES(t)                                                                                     \
  case DVT_GEMM:                                                                                             \
    CALL(t, gemm, c->transa, c->transb, c->m, c->n, c->k, *alpha, a, c->lda, b, c->ldb, *beta, out, c->ldc); \
  case DVT_SYMM:                                                                                             \
    CALL(t, symm, c->side, c->uplo, c->m, c->n, *alpha, a, c->lda, b, c->ldb, *beta, out, c->ldc);           \
  case DVT_SYRK:                                                                                             \
    CALL(t, syrk, c->uplo, c->transa, c->n, c->k, *alpha, a, c->lda, *beta, out, c->ldc);                    \
  case DVT_SYR2K:                                                                                            \
    CALL(t, syr2k, c->uplo, c->transa, c->n, c->k, *alpha, a, c->lda, b, c->ldb, *beta, out, c->ldc);        \
  case DVT_TRMM:                                                                                             \
    CALL(t, trmm, c->side, c->uplo, c->transa, c->diag, c->m, c->n, *alpha, a, c->lda, out, c->ldc);         \
  case DVT_TRSM:                                                                                             \
    CALL(t, trsm, c->side, c->uplo, c->transa, c->diag, c->m, c->n, *alpha, a, c->lda, out, c->ldc);
#define COMPLEX_ROUTINES(t)                                                                                  \
  REAL_ROUTINES(t)                                                                                           \
  case DVT_HEMM:                                                                                             \
    CALL(t, hemm, c->side, c->uplo, c->m, c->n, *alpha, a, c->lda, b, c->ldb, *beta, out, c->ldc);           \
  case DVT_HERK:                                                                                             \
    CALL(t, herk, c->uplo, c->transa, c->n, c->k, *real_alpha, a, c->lda, *real_beta, out, c->ldc);          \
  case DVT_HER2K:                                                                                            \
    CALL(t, her2k, c->uplo, c->transa, c->n, c->k, *alpha, a, c->lda, b, c->ldb, *real_beta, out, c->ldc);
#define COMPUTE(t, T, REAL, ROUTINES)                                                                        \
  static davit_status compute_##t(const dvt_call *c, const davit_level3_options *options) {                  \
    const T *alpha = c->alpha, *beta = c->beta, *a = c->a, *b = c->b;                                        \
    __attribute__((unused)) const REAL *real_alpha = c->alpha, *real_beta = c->beta;                         \
    T *out = c->c;                                                                                           \
    switch (c->routine) {                                                                                    \
      ROUTINES(t)                                                                                            \
    default:                                                                                                 \
      return DAVIT_UNSUPPORTED; /* Hermitian routines have no real form */                                   \
    }                                                                                                        \
  }
COMPUTE(s, float, float, REAL_ROUTINES)
COMPUTE(d, double, double, REAL_ROUTINES)
COMPUTE(c, davit_complex_float, float, COMPLEX_ROUTINES)
COMPUTE(z, davit_complex_double, double, COMPLEX_ROUTINES)

davit_status dvt_library_call(const dvt_call *call, const davit_level3_options *options) {
  switch (call->type) {
  case 's':
    return compute_s(call, options);
  case 'd':
    return compute_d(call, options);
  case 'c':
    return compute_c(call, options);
  default:
    return compute_z(call, options);
  }
}
