/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/problem.h"

const char *const problem_names[] = {"gemm",  "symm",  "hemm", "syrk", "herk",
                                     "syr2k", "her2k", "trmm", "trsm"};
const davit_type problem_types[] = {DAVIT_DOUBLE, DAVIT_FLOAT, DAVIT_COMPLEX_DOUBLE, DAVIT_COMPLEX_FLOAT};

/* ---- matrices ---- */

wide element(const problem *p, const dense *x, int64_t i, int64_t j) {
  if (!is_complex(p->type))
    return (wide)dense_at(x, i, j);
  return __builtin_complex((long double)dense_at(x, 2 * i, j), (long double)dense_at(x, 2 * i + 1, j));
}

wide element_was(const problem *p, const dense *x, int64_t i, int64_t j) {
  if (!is_complex(p->type))
    return (wide)dense_was(x, i, j);
  return __builtin_complex((long double)dense_was(x, 2 * i, j), (long double)dense_was(x, 2 * i + 1, j));
}

void set_element(const problem *p, dense *x, int64_t i, int64_t j, double real, double imaginary) {
  dense_set(x, is_complex(p->type) ? 2 * i : i, j, real);
  if (is_complex(p->type))
    dense_set(x, 2 * i + 1, j, imaginary);
}

dense new_matrix(const problem *p, int64_t rows, int64_t cols, int64_t extra, int place, uint64_t seed) {
  if (!is_complex(p->type))
    return dense_new(p->type, rows, cols, extra, 0, place, seed);
  return dense_new(part_of(p->type), 2 * rows, cols, 2 * extra + (rows == 0), 0, place, seed);
}

/* ---- all flags ---- */

static const char *sides(dvt_routine r) {
  return is_square(r) || is_triangular(r) ? "LR" : "-";
}
static const char *halves(dvt_routine r) {
  return r == DVT_GEMM ? "-" : "UL";
}
static const char *transposes(dvt_routine r, davit_type type) {
  return is_square(r) ? "N" : is_hermitian(r) ? "NC" : is_update(r) && is_complex(type) ? "NT" : "NTC";
}

void each_flags(davit_type type, void (*work)(problem *p)) {
  for (dvt_routine r = 0; r < DVT_ROUTINES; r++)
    for (const char *side = sides(r); *side; side++)
      for (const char *uplo = halves(r); *uplo; uplo++)
        for (const char *ta = transposes(r, type); *ta; ta++)
          for (const char *tb = r == DVT_GEMM ? "NTC" : "-"; *tb; tb++)
            for (const char *diag = is_triangular(r) ? "NU" : "-"; *diag; diag++) {
              problem p = {r, type, *side, *uplo, *ta, *tb, *diag, 0, 0, 0, 0, 0};
              if (is_complex(type) || !is_hermitian(r))
                work(&p);
            }
}

void set_sizes(problem *p, int64_t m, int64_t n, int64_t k) {
  p->m = is_update(p->routine) ? n : m;
  p->n = n;
  p->k = is_square(p->routine) || is_triangular(p->routine) ? 0 : k;
}

/* ---- the calls ---- */

dvt_level3 problem_arguments(const problem *p, const dense o[3]) {
  const bool triangular = is_triangular(p->routine);
  const dense *b = triangular ? &o[2] : &o[1];
  return (dvt_level3){
      p->routine,        p->type,        p->side,       p->uplo, p->transa,          p->transb,
      p->diag,           p->m,           p->n,          p->k,    p->alpha,           dense_there(&o[0]),
      leading(p, &o[0]), dense_there(b), leading(p, b), p->beta, dense_there(&o[2]), leading(p, &o[2])};
}

#define EITHER(name, ...)                                                                                    \
  (queue ? davit_queue_##name(queue, __VA_ARGS__, options) : davit_##name(__VA_ARGS__, options))
#define AB a, g->lda, b, g->ldb
#define C c, g->ldc
#define REAL_ROUTINES(p)                                                                                     \
  case DVT_GEMM:                                                                                             \
    return EITHER(p##gemm, g->transa, g->transb, g->m, g->n, g->k, alpha, AB, beta, C);                      \
  case DVT_SYMM:                                                                                             \
    return EITHER(p##symm, g->side, g->uplo, g->m, g->n, alpha, AB, beta, C);                                \
  case DVT_SYRK:                                                                                             \
    return EITHER(p##syrk, g->uplo, g->transa, g->n, g->k, alpha, a, g->lda, beta, C);                       \
  case DVT_SYR2K:                                                                                            \
    return EITHER(p##syr2k, g->uplo, g->transa, g->n, g->k, alpha, AB, beta, C);                             \
  case DVT_TRMM:                                                                                             \
    return EITHER(p##trmm, g->side, g->uplo, g->transa, g->diag, g->m, g->n, alpha, a, g->lda, C);           \
  case DVT_TRSM:                                                                                             \
    return EITHER(p##trsm, g->side, g->uplo, g->transa, g->diag, g->m, g->n, alpha, a, g->lda, C);
#define COMPLEX_ROUTINES(p)                                                                                  \
  case DVT_HEMM:                                                                                             \
    return EITHER(p##hemm, g->side, g->uplo, g->m, g->n, alpha, AB, beta, C);                                \
  case DVT_HERK:                                                                                             \
    return EITHER(p##herk, g->uplo, g->transa, g->n, g->k, __real__ alpha, a, g->lda, __real__ beta, C);     \
  case DVT_HER2K:                                                                                            \
    return EITHER(p##her2k, g->uplo, g->transa, g->n, g->k, alpha, AB, __real__ beta, C);
#define NO_ROUTINES(p)
#define DEFINE(p, T, MORE)                                                                                   \
  static davit_status call_##p(const dvt_level3 *g, davit_queue *queue,                                      \
                               const davit_level3_options *options) {                                        \
    const T alpha = (T)g->alpha, beta = (T)g->beta, *a = g->a, *b = g->b;                                    \
    T *c = g->c;                                                                                             \
    switch (g->routine) {                                                                                    \
      REAL_ROUTINES(p)                                                                                       \
      MORE(p)                                                                                                \
    default:                                                                                                 \
      return DAVIT_INTERNAL_ERROR;                                                                           \
    }                                                                                                        \
  }
DEFINE(d, double, NO_ROUTINES)
DEFINE(s, float, NO_ROUTINES)
DEFINE(z, davit_complex_double, COMPLEX_ROUTINES)
DEFINE(c, davit_complex_float, COMPLEX_ROUTINES)

davit_status call_level3(const dvt_level3 *g, davit_queue *queue, const davit_level3_options *options) {
  return (g->type == DAVIT_DOUBLE           ? call_d
          : g->type == DAVIT_FLOAT          ? call_s
          : g->type == DAVIT_COMPLEX_DOUBLE ? call_z
                                            : call_c)(g, queue, options);
}
