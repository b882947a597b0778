/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products: sums of integers against integers of 128 bits, the bound |C - A B| <= min(k, 64) u |A||B| in numbers of
 * 113 bits, and the same bits whatever computes them. */
#include "tests/problem.h"

#include <ctype.h>

typedef __float128 quad;

enum { MOST_DEVICES = 4 };
static int devices[MAX_PLACES], spread;

static int find_devices(void **state) {
  (void)state;
  spread = spread_devices(devices);
  spread = spread < MOST_DEVICES ? spread : MOST_DEVICES;
  return 0;
}

/* ---- products ---- */

/* op(A) and op(B) as vectors of length k: part p of element h of vector i is x[side][(i k + h) 2 + p]. */
typedef struct trial {
  davit_type type;
  char transa, transb;
  int64_t m, n, k;
  double _Complex alpha, beta;
  double *x[2];
  dense o[3];
  davit_level3_options options;
  davit_level3_report report;
} trial;

static int parts_of(const trial *t) {
  return is_complex_type(t->type) ? 2 : 1;
}

static bool is_long(const trial *t) {
  return part_type(t->type) == DAVIT_DOUBLE;
}

static double *number(const trial *t, int side, int64_t i, int64_t h) {
  return t->x[side] + (i * t->k + h) * 2;
}

static int64_t vectors(const trial *t, int side) {
  return side == 0 ? t->m : t->n;
}

static trial trial_new(davit_type type, int64_t m, int64_t n, int64_t k) {
  trial t = {.type = type, .transa = 'N', .transb = 'N', .m = m, .n = n, .k = k, .alpha = 1};
  for (int s = 0; s < 2; s++)
    t.x[s] = kept_zeros((size_t)(vectors(&t, s) * k * 2 + 1) * sizeof(double));
  t.options = (davit_level3_options){
      .devices = devices, .device_count = 1, .arithmetic = DAVIT_ARITHMETIC_EXACT, .exact_bits = true};
  return t;
}

/* Any transposes and leading dimensions. */
static void set_layout(trial *t, uint64_t *seed) {
  t->transa = "NTC"[random_below(seed, 3)];
  t->transb = "NTC"[random_below(seed, 3)];
}

/* The matrices of the vectors, which are rounded to the type, and a C of which nothing is read if beta is 0. */
static void lay_out(trial *t, const int places[3], uint64_t *seed) {
  const char trans[2] = {t->transa, t->transb};
  for (int s = 0; s < 2; s++) {
    const bool down = (trans[s] == 'N') == (s == 1); /* vectors are columns */
    const int64_t count = vectors(t, s);
    dense *m = &t->o[s];
    *m = dense_new(t->type, down ? t->k : count, down ? count : t->k, random_below(seed, 4),
                   random_below(seed, 4), places[s], UNSET);
    for (int64_t i = 0; i < count; i++)
      for (int64_t h = 0; h < t->k; h++) {
        double *x = number(t, s, i, h);
        for (int p = 0; p < 2; p++)
          x[p] = is_long(t) ? x[p] : (double)(float)x[p];
        dense_put(m, down ? h : i, down ? i : h, x[0], trans[s] == 'C' ? -x[1] : x[1]);
      }
    dense_give(m);
  }
  t->o[2] = dense_new(t->type, t->m, t->n, random_below(seed, 4), random_below(seed, 4), places[2],
                      t->beta == 0 ? UNSET : next_random(seed) | 1);
}

static const int pageable[3] = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE};

static davit_status call(trial *t) {
  t->options.report = &t->report;
  const dvt_level3 g = {.routine = DVT_GEMM,
                        .type = t->type,
                        .transa = t->transa,
                        .transb = t->transb,
                        .m = t->m,
                        .n = t->n,
                        .k = t->k,
                        .alpha = t->alpha,
                        .a = dense_there(&t->o[0]),
                        .lda = dense_ld(&t->o[0]),
                        .b = dense_there(&t->o[1]),
                        .ldb = dense_ld(&t->o[1]),
                        .beta = t->beta,
                        .c = dense_there(&t->o[2]),
                        .ldc = dense_ld(&t->o[2])};
  return call_level3(&g, NULL, &t->options);
}

static void run(trial *t) {
  CHECK(call(t));
  dense_take(&t->o[2]);
  assert_true(dense_as_image(&t->o[0]) && dense_as_image(&t->o[1]));
}

static void expect_exact(const trial *t) {
  if (t->report.arithmetic != DAVIT_ARITHMETIC_EXACT || t->report.moduli == 0 || t->report.why_native)
    fail_msg("%lld x %lld x %lld of type %d is native, because %s", (long long)t->m, (long long)t->n,
             (long long)t->k, (int)t->type, t->report.why_native ? t->report.why_native : "of nothing");
}

static double result(const trial *t, int64_t i, int64_t j, int part) {
  return dense_at(&t->o[2], i * parts_of(t) + part, j);
}

/* ---- the bound ---- */

static quad magnitude(quad x) {
  return x < 0 ? -x : x;
}

/* An element of op(A) op(B), and of |op(A)||op(B)|. */
typedef struct element {
  quad part[2], size;
} element;

static element multiply(const trial *t, int64_t i, int64_t j) {
  element e = {{0, 0}, 0};
  for (int64_t h = 0; h < t->k; h++) {
    const double *a = number(t, 0, i, h), *b = number(t, 1, j, h);
    if (parts_of(t) == 1) {
      e.part[0] += (quad)a[0] * (quad)b[0];
      e.size += magnitude((quad)a[0] * (quad)b[0]);
    } else {
      e.part[0] += (quad)a[0] * (quad)b[0] - (quad)a[1] * (quad)b[1];
      e.part[1] += (quad)a[0] * (quad)b[1] + (quad)a[1] * (quad)b[0];
      e.size +=
          (magnitude((quad)a[0]) + magnitude((quad)a[1])) * (magnitude((quad)b[0]) + magnitude((quad)b[1]));
    }
  }
  return e;
}

/* In multiples of what is allowed: at most 1. Products by factors other than 1 are rounded a few times more. */
static double excess(const trial *t, double is, quad should, quad allowed, quad more) {
  const quad unit = is_long(t) ? 0x1p-53 : 0x1p-24, least = is_long(t) ? 0x1p-1074 : 0x1p-149,
             most = is_long(t) ? (quad)DBL_MAX : (quad)FLT_MAX,
             bound =
                 allowed * unit * (1 + 0x1p-20) + 4 * unit * more + least * (more == 0 ? (quad)0.5 : (quad)8),
             wrong = magnitude((quad)is - should);
  if (isinf(is))
    return (is > 0) == (should > 0) && magnitude(should) + bound > most ? 0 : 1e300;
  return wrong <= bound ? (double)(wrong / bound) : wrong > bound * 1e300 ? 1e300 : (double)(wrong / bound);
}

static double worst;

/* `terms`: the bound's factor. */
static void expect_bound(const trial *t, int64_t terms, const char *what) {
  const bool plain = t->alpha == 1 && t->beta == 0;
  const quad alpha[2] = {(quad) __real__ t->alpha, (quad) __imag__ t->alpha},
             beta[2] = {(quad) __real__ t->beta, (quad) __imag__ t->beta};
  const quad alpha_size = magnitude(alpha[0]) + magnitude(alpha[1]),
             beta_size = magnitude(beta[0]) + magnitude(beta[1]);
  for (int64_t j = 0; j < t->n; j++)
    for (int64_t i = 0; i < t->m; i++) {
      const element e = multiply(t, i, j);
      const wide old = t->beta == 0 ? 0 : dense_old_value(&t->o[2], i, j);
      const quad c[2] = {(quad) __real__ old, (quad) __imag__ old};
      const quad should[2] = {alpha[0] * e.part[0] - alpha[1] * e.part[1] + beta[0] * c[0] - beta[1] * c[1],
                              alpha[0] * e.part[1] + alpha[1] * e.part[0] + beta[0] * c[1] + beta[1] * c[0]};
      const quad more = plain ? 0
                              : alpha_size * (magnitude(e.part[0]) + magnitude(e.part[1])) +
                                    beta_size * (magnitude(c[0]) + magnitude(c[1]));
      for (int p = 0; p < parts_of(t); p++) {
        const double wrong =
            excess(t, result(t, i, j, p), should[p], alpha_size * (quad)terms * e.size, more);
        worst = wrong > worst ? wrong : worst;
        if (!(wrong <= 1))
          fail_msg("%s: %lld x %lld x %lld of type %d, %c%c, %d moduli: part %d of (%lld, %lld) is %a, not "
                   "%a, %g times what is allowed",
                   what, (long long)t->m, (long long)t->n, (long long)t->k, (int)t->type, t->transa,
                   t->transb, t->report.moduli, p, (long long)i, (long long)j, result(t, i, j, p),
                   (double)should[p], wrong);
      }
    }
}

static int64_t terms_of(const trial *t) {
  return t->k < 64 ? t->k : 64;
}

/* The same bits as the native product has. */
static void expect_native(trial *t) {
  const dense exact = t->o[2];
  davit_level3_options native = t->options;
  dense again = exact;
  again.image = exact.before;
  native.arithmetic = DAVIT_ARITHMETIC_NATIVE;
  trial other = *t;
  other.options = native;
  other.o[2] = again;
  dense_give(&other.o[2]);
  run(&other);
  assert_true(t->report.arithmetic == DAVIT_ARITHMETIC_NATIVE && t->report.moduli == 0);
  assert_true(!other.report.why_native && *t->report.why_native);
  assert_memory_equal(other.o[2].image, exact.image, exact.bytes);
}

/* ---- operands ---- */

/* (random - 1/2) exp(phi normal), rows of A and columns of B times powers of two, some of them 0. */
typedef struct operands {
  double phi;
  int wild;   /* powers of vectors */
  int inside; /* powers of their elements */
  int zeros;  /* one of so many vectors is 0, and one of so many elements; 0: none */
} operands;

static double normal(uint64_t *seed) {
  const double u = 0.5 + 0.5 * random_unit(seed), v = random_unit(seed);
  return sqrt(-2 * log(u + 0x1p-60)) * cos(v * acos(-1.0));
}

static int random_power(uint64_t *seed, int most) {
  return random_below(seed, 2 * most + 1) - most;
}

static void fill(trial *t, operands o, uint64_t *seed) {
  for (int s = 0; s < 2; s++)
    for (int64_t i = 0; i < vectors(t, s); i++) {
      const int power = random_power(seed, o.wild);
      const bool empty = o.zeros && random_below(seed, o.zeros) == 0;
      for (int64_t h = 0; h < t->k; h++)
        for (int p = 0; p < parts_of(t); p++) {
          const double x = random_unit(seed) / 2 * (o.phi > 0 ? exp(o.phi * normal(seed)) : 1);
          number(t, s, i, h)[p] = empty || (o.zeros && random_below(seed, o.zeros) == 0)
                                      ? 0
                                      : ldexp(x, power + random_power(seed, o.inside));
        }
    }
}

/* ---- exact sums ---- */

static int64_t random_integer(uint64_t *seed, int bits) {
  return (int64_t)(next_random(seed) >> (64 - bits)) - (INT64_C(1) << (bits - 1));
}

static double rounded(const trial *t, __int128 sum) {
  return is_long(t) ? (double)sum : (double)(float)sum;
}

/* Integers, or rationals whose denominators are powers of two of their vectors. */
static void try_integers(davit_type type, int64_t k, int bits, int powers, uint64_t *seed) {
  SCOPE;
  trial t = trial_new(type, 1 + random_below(seed, 20), 1 + random_below(seed, 20), k);
  int *power[2];
  set_layout(&t, seed);
  for (int s = 0; s < 2; s++) {
    power[s] = kept((size_t)vectors(&t, s) * sizeof(int));
    for (int64_t i = 0; i < vectors(&t, s); i++) {
      power[s][i] = random_power(seed, powers);
      for (int64_t h = 0; h < k; h++)
        for (int p = 0; p < parts_of(&t); p++)
          number(&t, s, i, h)[p] = ldexp((double)random_integer(seed, bits), power[s][i]);
    }
  }
  lay_out(&t, pageable, seed);
  run(&t);
  expect_exact(&t);
  for (int64_t j = 0; j < t.n; j++)
    for (int64_t i = 0; i < t.m; i++) {
      __int128 sum[2] = {0, 0};
      for (int64_t h = 0; h < k; h++) {
        const double *a = number(&t, 0, i, h), *b = number(&t, 1, j, h);
        const __int128 x[2] = {(__int128)ldexp(a[0], -power[0][i]), (__int128)ldexp(a[1], -power[0][i])},
                       y[2] = {(__int128)ldexp(b[0], -power[1][j]), (__int128)ldexp(b[1], -power[1][j])};
        sum[0] += x[0] * y[0] - x[1] * y[1];
        sum[1] += x[0] * y[1] + x[1] * y[0];
      }
      for (int p = 0; p < parts_of(&t); p++) {
        const double should = ldexp(rounded(&t, sum[p]), power[0][i] + power[1][j]);
        if (result(&t, i, j, p) != should)
          fail_msg("%d bits, k %lld, type %d: %a, not %a", bits, (long long)k, (int)type, result(&t, i, j, p),
                   should);
      }
    }
}

CASE(test_integers) {
  uint64_t seed = 1;
  for (int turn = 0; turn < scaled(60); turn++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      const davit_type type = problem_types[v];
      const bool longer = part_type(type) == DAVIT_DOUBLE;
      const int64_t k = 1 + random_below(&seed, turn % 2 ? 20 : 300);
      try_integers(type, k, longer ? 50 : 20, turn % 3 == 0 ? 0 : longer ? 400 : 30, &seed);
      try_integers(type, k, 1 + random_below(&seed, longer ? 50 : 20), 0, &seed);
    }
}

/* A I = A. */
CASE(test_identity) {
  uint64_t seed = 2;
  for (int turn = 0; turn < scaled(40); turn++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      SCOPE;
      trial t = trial_new(problem_types[v], 1 + random_below(&seed, 30), 1 + random_below(&seed, 60), 1);
      const bool longer = is_long(&t);
      t = trial_new(t.type, t.m, t.n, t.n);
      set_layout(&t, &seed);
      fill(&t, (operands){.wild = longer ? 900 : 90}, &seed);
      for (int64_t j = 0; j < t.n; j++)
        for (int64_t h = 0; h < t.k; h++) {
          number(&t, 1, j, h)[0] = h == j;
          number(&t, 1, j, h)[1] = 0;
        }
      lay_out(&t, pageable, &seed);
      run(&t);
      expect_exact(&t);
      for (int64_t j = 0; j < t.n; j++)
        for (int64_t i = 0; i < t.m; i++)
          for (int p = 0; p < parts_of(&t); p++)
            assert_true(result(&t, i, j, p) == number(&t, 0, i, j)[p]);
    }
}

/* Vectors times powers of two give the elements times them, to the bit, rounded or not. */
CASE(test_powers_of_two) {
  uint64_t seed = 3;
  for (int turn = 0; turn < scaled(60); turn++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      SCOPE;
      trial t = trial_new(problem_types[v], 1 + random_below(&seed, 20), 1 + random_below(&seed, 20),
                          1 + random_below(&seed, 200));
      int power[2][20];
      fill(&t, (operands){.phi = turn % 3, .inside = turn % 2 ? 20 : 0}, &seed);
      lay_out(&t, pageable, &seed);
      run(&t);
      const dense before = t.o[2];
      const davit_level3_report report = t.report;
      for (int s = 0; s < 2; s++)
        for (int64_t i = 0; i < vectors(&t, s); i++) {
          power[s][i] = random_power(&seed, is_long(&t) ? 300 : 15);
          for (int64_t h = 0; h < t.k * 2; h++)
            number(&t, s, i, 0)[h] = ldexp(number(&t, s, i, 0)[h], power[s][i]);
        }
      lay_out(&t, pageable, &seed);
      run(&t);
      assert_true(t.report.moduli == report.moduli && t.report.why_native == report.why_native);
      for (int64_t j = 0; j < t.n && !report.why_native; j++)
        for (int64_t i = 0; i < t.m; i++)
          for (int p = 0; p < parts_of(&t); p++)
            assert_true(result(&t, i, j, p) ==
                        ldexp(dense_at(&before, i * parts_of(&t) + p, j), power[0][i] + power[1][j]));
    }
}

/* ---- the bound ---- */

/* False: it was computed natively, which it `must` not be. */
static bool try_bound(trial t, operands o, bool must, uint64_t *seed) {
  set_layout(&t, seed);
  fill(&t, o, seed);
  lay_out(&t, pageable, seed);
  run(&t);
  if (t.report.why_native && !must) {
    expect_native(&t);
    return false;
  }
  expect_exact(&t);
  char what[100];
  snprintf(what, sizeof what, "phi %g, powers %d, inside %d, zeros %d", o.phi, o.wild, o.inside, o.zeros);
  expect_bound(&t, terms_of(&t), what);
  return true;
}

CASE(test_bound) {
  uint64_t seed = 4;
  int natively = 0, count = 0;
  for (int turn = 0; turn < scaled(2500); turn++)
    for (int v = 0; v < COUNT(problem_types); v++, count++) {
      SCOPE;
      static const int lengths[] = {1, 2, 5, 17, 63, 64, 65, 130};
      trial t = trial_new(problem_types[v], 1 + random_below(&seed, 9), 1 + random_below(&seed, 9),
                          1 + random_below(&seed, lengths[random_below(&seed, COUNT(lengths))]));
      const bool longer = is_long(&t);
      operands o = {.phi = turn % 5};
      if (random_below(&seed, 2))
        o.wild = longer ? 1000 : 100;
      if (random_below(&seed, 4) == 0)
        o.zeros = 4;
      if (random_below(&seed, 4) == 0)
        o.inside = longer ? 30 : 10;
      natively += !try_bound(t, o, o.phi <= 2 && o.inside == 0 && t.k > 1, &seed);
    }
  print_message("%d products, %d of them natively; at worst %g of the bound\n", count, natively, worst);
  assert_true(natively < count / 5);
}

/* With factors, and at least so many moduli. */
CASE(test_factors) {
  static const double _Complex factors[] = {1, 0.7, -3, 0x1p-20, 0, 1e3};
  uint64_t seed = 5;
  for (int turn = 0; turn < scaled(150); turn++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      SCOPE;
      trial t = trial_new(problem_types[v], 1 + random_below(&seed, 12), 1 + random_below(&seed, 12),
                          1 + random_below(&seed, 100));
      const double turned = parts_of(&t) == 2 && random_below(&seed, 2) ? 0.3 : 0;
      t.alpha = factors[random_below(&seed, 4)] + __builtin_complex(0.0, turned);
      t.beta = factors[random_below(&seed, COUNT(factors))] + __builtin_complex(0.0, turned);
      if (!is_long(&t)) {
        t.alpha = (float _Complex)t.alpha;
        t.beta = (float _Complex)t.beta;
      }
      t.options.moduli = random_below(&seed, 21);
      try_bound(t, (operands){.phi = turn % 3}, t.k > 1, &seed);
    }
}

CASE(test_long_vectors) {
  uint64_t seed = 6;
  const int64_t lengths[] = {1000, 4095, 4096, 4097, 9000, 140000};
  for (int i = 0; i < COUNT(lengths); i++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      SCOPE;
      if (left_out())
        continue;
      const int most = lengths[i] > 100000 ? 2 : 4;
      trial t = trial_new(problem_types[v], 1 + random_below(&seed, most), 1 + random_below(&seed, most),
                          lengths[i]);
      try_bound(t, (operands){.phi = i % 2}, true, &seed);
    }
}

/* Subnormal numbers alone, and together with the largest. */
CASE(test_ends_of_exponents) {
  uint64_t seed = 7;
  for (int turn = 0; turn < scaled(60); turn++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      SCOPE;
      trial t = trial_new(problem_types[v], 6, 6, 1 + random_below(&seed, 40));
      const int least = is_long(&t) ? -1074 : -149, most = is_long(&t) ? 1023 : 127;
      for (int s = 0; s < 2; s++)
        for (int64_t i = 0; i < 6; i++)
          for (int64_t h = 0; h < t.k; h++)
            for (int p = 0; p < parts_of(&t); p++)
              number(&t, s, i, h)[p] = ldexp((double)random_integer(&seed, is_long(&t) ? 50 : 20),
                                             s == 0                   ? least
                                             : random_below(&seed, 3) ? most - 60
                                                                      : 0);
      lay_out(&t, pageable, &seed);
      run(&t);
      expect_bound(&t, terms_of(&t), "subnormal numbers");
    }
}

/* Sums that are far smaller than their terms. */
CASE(test_cancellation) {
  uint64_t seed = 8;
  for (int turn = 0; turn < scaled(60); turn++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      SCOPE;
      trial t = trial_new(problem_types[v], 7, 5, 2 * (1 + random_below(&seed, 50)));
      fill(&t, (operands){.phi = turn % 3}, &seed);
      for (int s = 0; s < 2; s++)
        for (int64_t i = 0; i < vectors(&t, s); i++)
          for (int64_t h = 0; h < t.k; h += 2)
            for (int p = 0; p < parts_of(&t); p++)
              number(&t, s, i, h + 1)[p] =
                  number(&t, s, i, h)[p] * (s ? -1 - ldexp(random_unit(&seed), -turn % 60) : 1);
      lay_out(&t, pageable, &seed);
      run(&t);
      expect_bound(&t, terms_of(&t), "cancellation");
    }
}

CASE(test_hilbert) {
  for (int v = 0; v < COUNT(problem_types); v++)
    for (int64_t n = 1; n < 90; n += 11) {
      SCOPE;
      uint64_t seed = 9;
      trial t = trial_new(problem_types[v], n, n, n);
      for (int s = 0; s < 2; s++)
        for (int64_t i = 0; i < n; i++)
          for (int64_t h = 0; h < n; h++) {
            number(&t, s, i, h)[0] = (s && (i + h) % 2 ? -1 : 1) / (double)(i + h + 1);
            number(&t, s, i, h)[1] = parts_of(&t) == 2 ? 1 / (double)(2 * i + h + 1) : 0;
          }
      lay_out(&t, pageable, &seed);
      run(&t);
      expect_exact(&t);
      expect_bound(&t, terms_of(&t), "Hilbert's matrix");
    }
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, find_devices, finalize);
}
