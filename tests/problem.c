/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/problem.h"

const char *const problem_names[] = {"gemm",  "symm",  "hemm", "syrk", "herk",
                                     "syr2k", "her2k", "trmm", "trsm"};
const davit_type problem_types[] = {DAVIT_DOUBLE, DAVIT_FLOAT, DAVIT_COMPLEX_DOUBLE, DAVIT_COMPLEX_FLOAT};

/* ---- all flags ---- */

static const char *sides(dvt_routine r) {
  return is_square(r) || is_triangular(r) ? "LR" : "-";
}
static const char *halves(dvt_routine r) {
  return r == DVT_GEMM ? "-" : "UL";
}
static const char *transposes(dvt_routine r, davit_type type) {
  return is_square(r) ? "N" : is_hermitian(r) ? "NC" : is_update(r) && is_complex_type(type) ? "NT" : "NTC";
}

void each_flags(davit_type type, void (*work)(problem *p)) {
  for (dvt_routine r = 0; r < DVT_ROUTINES; r++)
    for (const char *side = sides(r); *side; side++)
      for (const char *uplo = halves(r); *uplo; uplo++)
        for (const char *ta = transposes(r, type); *ta; ta++)
          for (const char *tb = r == DVT_GEMM ? "NTC" : "-"; *tb; tb++)
            for (const char *diag = is_triangular(r) ? "NU" : "-"; *diag; diag++) {
              problem p = {r, type, *side, *uplo, *ta, *tb, *diag, 0, 0, 0, 0, 0};
              if (is_complex_type(type) || !is_hermitian(r))
                work(&p);
            }
}

void set_sizes(problem *p, int64_t m, int64_t n, int64_t k) {
  p->m = is_update(p->routine) ? n : m;
  p->n = n;
  p->k = is_square(p->routine) || is_triangular(p->routine) ? 0 : k;
}

/* ---- operands ---- */

/* The half that must not be read becomes NaN, and of a hermitian diagonal the imaginary parts. */
static void hide_half(const problem *p, dense *x, int64_t order) {
  for (int64_t j = 0; j < order; j++)
    for (int64_t i = 0; i < order; i++)
      if (outside(p->uplo, i, j))
        dense_put(x, i, j, (double)NAN, (double)NAN);
      else if (i == j && is_hermitian(p->routine))
        dense_set(x, 2 * i + 1, j, (double)NAN);
}

/* A triangle whose inverse is no larger than itself. */
static void temper(const problem *p, dense *x, int64_t order) {
  for (int64_t j = 0; j < order; j++)
    for (int64_t i = 0; i < order; i++) {
      const wide value = dense_value(x, i, j) / (long double)(i == j ? 1 : order);
      dense_put(x, i, j, (double)creall(value) + (i == j), (double)cimagl(value));
      if (i == j && p->diag == 'U')
        dense_put(x, i, j, (double)NAN, (double)NAN);
    }
}

static bool vanishes(const problem *p) {
  return p->alpha == 0 || (!is_square(p->routine) && !is_triangular(p->routine) && p->k == 0);
}

/* A, B and C; the triangular routines have no B. */
void problem_make(const problem *p, const int places[3], uint64_t seed, dense o[3]) {
  const bool ta = p->transa != 'N', tb = p->routine == DVT_GEMM ? p->transb != 'N' : ta;
  const bool none = vanishes(p), c_counts = is_triangular(p->routine) ? !none : p->beta != 0;
  int64_t rows = p->m, cols = p->k;
  if (is_square(p->routine) || is_triangular(p->routine))
    rows = cols = order_of(p);
  o[0] = dense_new(p->type, ta && !is_triangular(p->routine) ? cols : rows,
                   ta && !is_triangular(p->routine) ? rows : cols, (int64_t)(seed % 4), 0, places[0],
                   none ? UNSET : seed);
  if (!none && (is_square(p->routine) || is_triangular(p->routine))) {
    if (is_triangular(p->routine))
      temper(p, &o[0], rows);
    hide_half(p, &o[0], rows);
    dense_give(&o[0]);
  }
  rows = p->routine == DVT_GEMM ? p->k : is_square(p->routine) ? p->m : p->n;
  cols = is_pair(p->routine) ? p->k : p->n;
  o[1] = dense_new(p->type, tb ? cols : rows, tb ? rows : cols, (int64_t)(seed / 4 % 4), 0, places[1],
                   none ? UNSET : seed + 1);
  o[2] = dense_new(p->type, p->m, p->n, (int64_t)(seed / 16 % 4), 0, places[2], c_counts ? seed + 2 : UNSET);
  if (is_update(p->routine)) {
    hide_half(p, &o[2], p->n);
    dense_give(&o[2]);
  }
}

/* ---- the oracle ---- */

/* Element (i, j) of op(X). */
static wide op(const dense *x, char trans, int64_t i, int64_t j) {
  const wide value = trans == 'N' ? dense_value(x, i, j) : dense_value(x, j, i);
  return trans == 'C' ? conjl(value) : value;
}

/* Element (i, j) of the matrix that the stored half of A stands for, op() applied. */
static wide whole(const problem *p, const dense *a, int64_t i, int64_t j) {
  if (is_triangular(p->routine)) {
    const int64_t row = p->transa == 'N' ? i : j, col = p->transa == 'N' ? j : i;
    if (i == j && p->diag == 'U')
      return 1;
    return outside(p->uplo, row, col) ? 0 : op(a, p->transa, i, j);
  }
  const bool mirrored = outside(p->uplo, i, j);
  const wide value = mirrored ? dense_value(a, j, i) : dense_value(a, i, j);
  if (p->routine == DVT_HEMM)
    return i == j ? creall(value) : mirrored ? conjl(value) : value;
  return value;
}

/* The factors of the product, op applied: left is m × length, right length × n. */
static wide left(const problem *p, const dense o[3], const dense *c, int64_t i, int64_t l) {
  if (p->routine == DVT_GEMM || is_update(p->routine))
    return op(&o[0], p->transa, i, l);
  return p->side == 'L' ? whole(p, &o[0], i, l) : c ? dense_old_value(c, i, l) : dense_value(&o[1], i, l);
}

static char other(const problem *p) {
  return p->transa != 'N' ? 'N' : is_hermitian(p->routine) ? 'C' : 'T';
}

static wide right(const problem *p, const dense o[3], const dense *c, int64_t l, int64_t j) {
  if (p->routine == DVT_GEMM)
    return op(&o[1], p->transb, l, j);
  if (is_update(p->routine)) {
    const wide value = op(&o[is_pair(p->routine)], other(p), l, j);
    return value;
  }
  return p->side == 'R' ? whole(p, &o[0], l, j) : c ? dense_old_value(c, l, j) : dense_value(&o[1], l, j);
}

static int64_t length_of(const problem *p) {
  return is_square(p->routine) || is_triangular(p->routine) ? order_of(p) : p->k;
}

/* The second product of syr2k and her2k. */
static wide second(const problem *p, const dense o[3], int64_t i, int64_t j) {
  wide sum = 0;
  for (int64_t l = 0; l < p->k; l++)
    sum += op(&o[1], p->transa, i, l) * op(&o[0], other(p), l, j);
  return (is_hermitian(p->routine) ? conjl(p->alpha) : (wide)p->alpha) * sum;
}

static long double square(wide x) {
  return creall(x) * creall(x) + cimagl(x) * cimagl(x);
}

typedef struct norms {
  long double left, right, c, error;
} norms;

/* What C should be at (i, j), of what it was. */
static wide should_be(const problem *p, const dense o[3], int64_t i, int64_t j) {
  const dense *c = &o[2], *in_place = p->routine == DVT_TRMM ? c : NULL;
  const bool real = is_hermitian(p->routine) && is_update(p->routine) && i == j;
  wide sum = 0;
  if (!vanishes(p)) {
    for (int64_t l = 0; l < length_of(p); l++)
      sum += left(p, o, in_place, i, l) * right(p, o, in_place, l, j);
    sum *= (wide)p->alpha;
    if (is_pair(p->routine))
      sum += second(p, o, i, j);
  }
  if (p->beta != 0 && !is_triangular(p->routine)) {
    const wide was = dense_old_value(c, i, j);
    sum += (wide)p->beta * (real ? creall(was) : was);
  }
  return real ? creall(sum) : sum;
}

/* op(A) X - alpha B at (i, j). */
static wide residual(const problem *p, const dense o[3], int64_t i, int64_t j) {
  wide sum = 0;
  for (int64_t l = 0; l < order_of(p); l++)
    sum += p->side == 'L' ? whole(p, &o[0], i, l) * dense_value(&o[2], l, j)
                          : dense_value(&o[2], i, l) * whole(p, &o[0], l, j);
  return sum - (wide)p->alpha * dense_old_value(&o[2], i, j);
}

/* Squares of norms of the factors. */
static void measure(const problem *p, const dense o[3], norms *s) {
  const int64_t length = length_of(p);
  const dense *in_place = p->routine == DVT_TRMM ? &o[2] : NULL;
  const bool solves = p->routine == DVT_TRSM;
  for (int64_t l = 0; l < length; l++) {
    for (int64_t i = 0; i < p->m; i++)
      s->left += square(solves && p->side == 'R' ? dense_value(&o[2], i, l) : left(p, o, in_place, i, l));
    for (int64_t j = 0; j < p->n; j++)
      s->right += square(solves && p->side == 'L' ? dense_value(&o[2], l, j) : right(p, o, in_place, l, j));
  }
}

/* What BLIS makes of C as it was. */
static dense by_blis(const problem *p, const dense o[3]) {
  dense c = o[2];
  dvt_level3 g = problem_arguments(p, o);
  c.image = memcpy(kept(c.bytes), c.before, c.bytes);
  g.a = dense_image(&o[0]);
  g.b = dense_image(is_triangular(p->routine) ? &c : &o[1]);
  g.c = dense_image(&c);
  CHECK(dvt_level3_host(&(dvt_site){.threads = 1}, &g));
  return c;
}

void problem_expect(const problem *p, dense o[3]) {
  enum { LARGE = 1 << 20 };
  norms s = {0};
  dense *c = &o[2];
  const bool solves = p->routine == DVT_TRSM && !vanishes(p),
             large = !solves && p->m * p->n * length_of(p) > LARGE;
  const dense should = large ? by_blis(p, o) : *c;
  const size_t bytes = davit_type_bytes(p->type);
  const bool unchanged = is_update(p->routine) && vanishes(p) && p->beta == 1;
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->m; i++) {
      const char *now = (char *)dense_image(c) + (size_t)(i + j * dense_ld(c)) * bytes,
                 *was = c->before + c->start + (size_t)(i + j * dense_ld(c)) * bytes;
      const bool real = is_hermitian(p->routine) && i == j;
      if ((unchanged && !real) || (is_update(p->routine) && outside(p->uplo, i, j))) {
        assert_memory_equal(now, was, bytes);
        continue;
      }
      const wide right = solves  ? residual(p, o, i, j)
                         : large ? dense_value(&should, i, j)
                                 : should_be(p, o, i, j);
      s.error += square(solves ? right : dense_value(c, i, j) - right);
      if (p->beta != 0 && !is_triangular(p->routine))
        s.c += is_hermitian(p->routine) && i == j ? powl(creall(dense_old_value(c, i, j)), 2)
                                                  : square(dense_old_value(c, i, j));
    }
  if (!vanishes(p))
    measure(p, o, &s);
  const long double eps =
      (long double)element_epsilon(part_type(p->type)) * (is_complex_type(p->type) ? 2 : 1);
  const long double terms = (long double)(is_pair(p->routine) ? 2 : 1);
  const long double alpha = solves ? 1 : cabsl((wide)p->alpha);
  const long double bound =
      3 * eps *
      (terms * sqrtl(terms * (long double)length_of(p) + 2) * alpha * sqrtl(s.left * s.right) +
       2 * cabsl((wide)p->beta) * sqrtl(s.c));
  if (!(sqrtl(s.error) <= bound)) /* NaN fails, too */
    fail_msg("%s type %d side %c uplo %c trans %c %c diag %c m %lld n %lld k %lld alpha %g %g beta %g %g: "
             "%Lg > %Lg",
             problem_names[p->routine], (int)p->type, p->side, p->uplo, p->transa, p->transb, p->diag,
             (long long)p->m, (long long)p->n, (long long)p->k, creal(p->alpha), cimag(p->alpha),
             creal(p->beta), cimag(p->beta), sqrtl(s.error), bound);
}

/* Factors that the routine takes: real ones where it is hermitian. */
void set_factors(problem *p, int which) {
  static const double parts[] = {0, 1, -1, 0.7};
  p->alpha = parts[which % 4];
  p->beta = is_triangular(p->routine) ? 0 : parts[which / 4 % 4];
  if (is_complex_type(p->type) && p->routine != DVT_HERK && which % 4 == 3)
    p->alpha = __builtin_complex(0.7, 0.25);
  if (is_complex_type(p->type) && p->routine != DVT_HERK && p->routine != DVT_HER2K && which / 4 % 4 == 3 &&
      !is_triangular(p->routine))
    p->beta = __builtin_complex(0.7, -0.5);
  if (part_type(p->type) == DAVIT_FLOAT) {
    p->alpha = (float _Complex)p->alpha;
    p->beta = (float _Complex)p->beta;
  }
}

/* ---- the calls ---- */

dvt_level3 problem_arguments(const problem *p, const dense o[3]) {
  const bool triangular = is_triangular(p->routine);
  const dense *b = triangular ? &o[2] : &o[1];
  return (dvt_level3){
      p->routine,      p->type,        p->side,     p->uplo, p->transa,          p->transb,
      p->diag,         p->m,           p->n,        p->k,    p->alpha,           dense_there(&o[0]),
      dense_ld(&o[0]), dense_there(b), dense_ld(b), p->beta, dense_there(&o[2]), dense_ld(&o[2])};
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

/* ---- products ---- */

void product_make(product *p) {
  if (part_type(p->g.type) == DAVIT_FLOAT) {
    p->g.alpha = (float _Complex)p->g.alpha;
    p->g.beta = (float _Complex)p->g.beta;
  }
  problem_make(&p->g, p->place, 39, p->o);
}

davit_status product_call(const product *p, davit_queue *queue) {
  const dvt_level3 g = problem_arguments(&p->g, p->o);
  return call_level3(&g, queue, queue ? NULL : &p->options);
}

void product_expect(product *p) {
  dense_take(&p->o[2]);
  assert_true(dense_as_image(&p->o[0]) && dense_as_image(&p->o[1]));
  problem_expect(&p->g, p->o);
}
