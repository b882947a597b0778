/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products with symmetric matrices and of a triangle: they have the bits of exact gemm on the whole matrices, with
 * as many moduli, and leave what is not stored. */
#include "tests/exact.h"

#include "tests/support.h"

typedef struct example {
  davit_type type;
  bool triangle, hermitian, right;
  char uplo, trans;
  int64_t n, k, lda, ldc; /* of C n × n, or k × n and n × k beside a symmetric matrix of order n */
  char *a, *b, *c, *expected;
  double alpha, beta;
} example;

enum { MODULI = 19 };

static size_t bytes_of(const example *p, int64_t elements) {
  return (size_t)elements * davit_type_bytes(p->type);
}

static int parts_of(const example *p) {
  return p->type >= DAVIT_COMPLEX_FLOAT ? 2 : 1;
}

static davit_type real_of(const example *p) {
  return p->type == DAVIT_DOUBLE || p->type == DAVIT_COMPLEX_DOUBLE ? DAVIT_DOUBLE : DAVIT_FLOAT;
}

static char *random_matrix(const example *p, int64_t elements, uint64_t *seed) {
  char *m = kept_at(bytes_of(p, elements), DAVIT_PINNED); /* which queues reach */
  for (int64_t i = 0; i < elements * parts_of(p); i++)
    element_set(real_of(p), m, i, random_unit(seed) * exp(random_unit(seed)));
  return m;
}

static bool is_stored(const example *p, int64_t i, int64_t j) {
  return p->uplo == 'L' ? i >= j : i <= j;
}

/* The whole of the symmetric A, densely. */
static char *whole_of(const example *p) {
  char *whole = kept(bytes_of(p, p->n * p->n));
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->n; i++) {
      const int64_t from = is_stored(p, i, j) ? i + j * p->lda : j + i * p->lda, to = i + j * p->n;
      for (int part = 0; part < parts_of(p); part++) {
        double value = element_at(real_of(p), p->a, from * parts_of(p) + part);
        if (part == 1 && p->hermitian)
          value = i == j ? 0 : is_stored(p, i, j) ? value : -value;
        element_set(real_of(p), whole, to * parts_of(p) + part, value);
      }
    }
  return whole;
}

#define CALL_GEMM(P, T)                                                                                      \
  davit_##P##gemm(ta, tb, m, n, k, (T)p->alpha, a, lda, b, ldb, (T)p->beta, c, p->ldc, options)
static davit_status gemm(const example *p, char ta, char tb, int64_t m, int64_t n, int64_t k, const void *a,
                         int64_t lda, const void *b, int64_t ldb, void *c,
                         const davit_level3_options *options) {
  return p->type == DAVIT_DOUBLE           ? CALL_GEMM(d, double)
         : p->type == DAVIT_FLOAT          ? CALL_GEMM(s, float)
         : p->type == DAVIT_COMPLEX_DOUBLE ? CALL_GEMM(z, double _Complex)
                                           : CALL_GEMM(c, float _Complex);
}

#define CALL_UPDATE(P, T, name)                                                                              \
  davit_##P##name(p->uplo, p->trans, p->n, p->k, (T)p->alpha, (const void *)p->a, p->lda, (T)p->beta,        \
                  (void *)p->c, p->ldc, options)
#define CALL_MULTIPLY(P, T, name)                                                                            \
  davit_##P##name(side, p->uplo, m, n, (T)p->alpha, (const void *)p->a, p->lda, (const void *)p->b, m,       \
                  (T)p->beta, (void *)p->c, p->ldc, options)
static davit_status call(const example *p, const davit_level3_options *options) {
  const char side = p->right ? 'R' : 'L';
  const int64_t m = p->right ? p->k : p->n, n = p->right ? p->n : p->k;
  if (p->triangle && p->hermitian)
    return p->type == DAVIT_COMPLEX_DOUBLE ? CALL_UPDATE(z, double, herk) : CALL_UPDATE(c, float, herk);
  if (p->hermitian)
    return p->type == DAVIT_COMPLEX_DOUBLE ? CALL_MULTIPLY(z, double _Complex, hemm)
                                           : CALL_MULTIPLY(c, float _Complex, hemm);
  if (p->triangle)
    return p->type == DAVIT_DOUBLE           ? CALL_UPDATE(d, double, syrk)
           : p->type == DAVIT_FLOAT          ? CALL_UPDATE(s, float, syrk)
           : p->type == DAVIT_COMPLEX_DOUBLE ? CALL_UPDATE(z, double _Complex, syrk)
                                             : CALL_UPDATE(c, float _Complex, syrk);
  return p->type == DAVIT_DOUBLE           ? CALL_MULTIPLY(d, double, symm)
         : p->type == DAVIT_FLOAT          ? CALL_MULTIPLY(s, float, symm)
         : p->type == DAVIT_COMPLEX_DOUBLE ? CALL_MULTIPLY(z, double _Complex, symm)
                                           : CALL_MULTIPLY(c, float _Complex, symm);
}

/* What gemm makes of the whole matrices, where it is stored. */
static void expect_gemm(example *p) {
  const davit_level3_options options = {.devices = (int[]){DAVIT_HOST},
                                        .device_count = 1,
                                        .arithmetic = DAVIT_ARITHMETIC_EXACT,
                                        .moduli = MODULI,
                                        .exact_bits = true};
  if (!p->triangle) {
    const char *whole = whole_of(p);
    const int64_t m = p->right ? p->k : p->n, n = p->right ? p->n : p->k;
    CHECK(p->right ? gemm(p, 'N', 'N', m, n, p->n, p->b, m, whole, p->n, p->expected, &options)
                   : gemm(p, 'N', 'N', m, n, p->n, whole, p->n, p->b, m, p->expected, &options));
    return;
  }
  const size_t bytes = bytes_of(p, p->ldc * p->n);
  const char other = p->hermitian ? 'C' : 'T';
  char *all = memcpy(kept(bytes), p->expected, bytes);
  for (int64_t i = 0; p->hermitian && i < p->n; i++) /* which counts as 0 */
    element_set(real_of(p), all, (i + i * p->ldc) * 2 + 1, 0);
  CHECK(gemm(p, p->trans, p->trans == 'N' ? other : 'N', p->n, p->n, p->k, p->a, p->lda, p->a, p->lda, all,
             &options));
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->n; i++)
      if (is_stored(p, i, j))
        memcpy(p->expected + bytes_of(p, i + j * p->ldc), all + bytes_of(p, i + j * p->ldc), bytes_of(p, 1));
  /* The two factors keep different numbers of bits, so that gemm's imaginary part is not quite 0 there. */
  for (int64_t i = 0; p->hermitian && i < p->n; i++)
    element_set(real_of(p), p->expected, (i + i * p->ldc) * 2 + 1, 0);
}

static example example_new(davit_type type, uint64_t *seed) {
  example p = {.type = type,
               .triangle = random_below(seed, 2),
               .right = random_below(seed, 2),
               .uplo = random_below(seed, 2) ? 'L' : 'U',
               .n = 1 + random_below(seed, 150),
               .k = 1 + random_below(seed, 90),
               .alpha = random_below(seed, 2) ? 1 : -0.75,
               .beta = random_below(seed, 2) ? 0 : 0.5};
  p.hermitian = parts_of(&p) == 2 && random_below(seed, 2);
  p.trans = random_below(seed, 2) ? 'N' : p.hermitian ? 'C' : 'T';
  const int64_t rows = p.triangle && p.trans != 'N' ? p.k : p.n,
                columns = p.triangle && p.trans == 'N' ? p.k : p.n, of_c = !p.triangle && p.right ? p.k : p.n,
                columns_of_c = p.triangle || p.right ? p.n : p.k;
  p.lda = rows + random_below(seed, 3);
  p.ldc = of_c + random_below(seed, 3);
  p.a = random_matrix(&p, p.lda * columns, seed);
  p.b = random_matrix(&p, p.n * p.k, seed);
  p.c = random_matrix(&p, p.ldc * columns_of_c, seed);
  p.expected = memcpy(kept(bytes_of(&p, p.ldc * columns_of_c)), p.c, bytes_of(&p, p.ldc * columns_of_c));
  expect_gemm(&p);
  return p;
}

static void expect_bits(const example *p, const char *before, const davit_level3_options *options) {
  const int64_t columns = p->triangle || p->right ? p->n : p->k;
  const size_t bytes = bytes_of(p, p->ldc * columns);
  memcpy(p->c, before, bytes);
  CHECK(call(p, options));
  assert_int_equal(options->report->arithmetic, DAVIT_ARITHMETIC_EXACT);
  if (memcmp(p->c, p->expected, bytes))
    fail_msg("type %d, %s%s%s, %c%c, order %lld, %lld, %d devices: other bits than gemm's", (int)p->type,
             p->triangle ? "update" : "product", p->hermitian ? ", hermitian" : "", p->right ? ", right" : "",
             p->uplo, p->trans, (long long)p->n, (long long)p->k, options->device_count);
}

CASE(test_symmetric) {
  uint64_t seed = 11;
  for (int turn = 0; turn < 400; turn++) {
    SCOPE;
    example p = example_new(problem_types[turn % COUNT(problem_types)], &seed);
    const size_t bytes = bytes_of(&p, p.ldc * (p.triangle || p.right ? p.n : p.k));
    const char *before = memcpy(kept(bytes), p.c, bytes);
    davit_level3_report report;
    davit_level3_options options = {.devices = (int[]){DAVIT_HOST},
                                    .device_count = 1,
                                    .arithmetic = DAVIT_ARITHMETIC_EXACT,
                                    .moduli = MODULI,
                                    .exact_bits = true,
                                    .report = &report};
    expect_bits(&p, before, &options);
    options.devices = exact_devices;
    options.device_count = 1 + random_below(&seed, exact_spread);
    options.separate_memory = true;
    options.cache_bytes = random_below(&seed, 2) ? 0 : (size_t)4 << 20;
    expect_bits(&p, before, &options);
  }
}

/* A queue computes the same bits, in its order. */
CASE(test_queues) {
  uint64_t seed = 12;
  davit_queue *queue;
  CHECK(davit_queue_create(exact_devices[0], &queue, NULL));
  for (int turn = 0; turn < scaled(40); turn++) {
    SCOPE;
    const int64_t m = 1 + random_below(&seed, 70), k = 1 + random_below(&seed, 70);
    example p = {.type = DAVIT_DOUBLE, .n = m, .k = k};
    double *a = (double *)(void *)random_matrix(&p, m * k, &seed),
           *b = (double *)(void *)random_matrix(&p, k * m, &seed),
           *c = kept_at((size_t)(m * m) * sizeof *c, DAVIT_PINNED),
           *d = kept_at((size_t)(m * m) * sizeof *d, DAVIT_PINNED);
    const davit_level3_options options = {.arithmetic = DAVIT_ARITHMETIC_EXACT, .exact_bits = true};
    CHECK(davit_queue_dscal(queue, m * k, 2, a, 1, NULL));
    CHECK(davit_queue_dgemm(queue, 'N', 'N', m, m, k, 1, a, m, b, k, 0, c, m, &options));
    CHECK(davit_queue_dscal(queue, m * m, 0.5, c, 1, NULL));
    CHECK(davit_queue_synchronize(queue));
    CHECK(davit_dscal(m * k, 0.5, a, 1, NULL));
    CHECK(davit_dgemm('N', 'N', m, m, k, 1, a, m, b, k, 0, d, m, &options));
    assert_memory_equal(c, d, (size_t)(m * m) * sizeof *c);
  }
  CHECK(davit_queue_destroy(queue));
}

/* Of a queue, too, options are looked at, and native products are what they are. */
CASE(test_queue_options) {
  davit_queue *queue;
  SCOPE;
  double *const a = kept_at(16 * sizeof *a, DAVIT_PINNED), *const b = a + 4, *const c = a + 8,
                *const d = a + 12;
  for (int i = 0; i < 8; i++)
    a[i] = i == 1 ? NAN : i;
  davit_level3_options options = {.arithmetic = DAVIT_ARITHMETIC_MIXED};
  CHECK(davit_queue_create(exact_devices[0], &queue, NULL));
  REFUSED(davit_queue_dgemm(queue, 'N', 'N', 2, 2, 2, 1, a, 2, b, 2, 0, c, 2, &options),
          "options->arithmetic");
  options.arithmetic = DAVIT_ARITHMETIC_EXACT;
  options.moduli = 21;
  REFUSED(davit_queue_dgemm(queue, 'N', 'N', 2, 2, 2, 1, a, 2, b, 2, 0, c, 2, &options), "options->moduli");
  options.moduli = 0;
  options.exact_bits = true;
  CHECK(davit_queue_dgemm(queue, 'N', 'N', 2, 2, 2, 1, a, 2, b, 2, 0, c, 2, &options));
  CHECK(davit_queue_dgemm(queue, 'N', 'N', 2, 2, 2, 1, a, 2, b, 2, 0, d, 2, NULL));
  CHECK(davit_queue_synchronize(queue));
  assert_memory_equal(c, d, 4 * sizeof *c);
  CHECK(davit_queue_destroy(queue));
}

int main(void) {
  return run_cases(find_exact_devices, finalize);
}
