/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/exact.h"

typedef __float128 quad;

int exact_devices[MAX_PLACES], exact_spread;

int find_exact_devices(void **state) {
  (void)state;
  exact_spread = spread_devices(exact_devices);
  exact_spread = exact_spread < MOST_DEVICES ? exact_spread : MOST_DEVICES;
  return 0;
}

/* ---- products ---- */

int trial_parts(const trial *t) {
  return is_complex_type(t->type) ? 2 : 1;
}

bool trial_is_long(const trial *t) {
  return part_type(t->type) == DAVIT_DOUBLE;
}

double *trial_number(const trial *t, int side, int64_t i, int64_t h) {
  return t->x[side] + (i * t->k + h) * 2;
}

int64_t trial_vectors(const trial *t, int side) {
  return side == 0 ? t->m : t->n;
}

trial trial_new(davit_type type, int64_t m, int64_t n, int64_t k) {
  trial t = {.type = type, .transa = 'N', .transb = 'N', .m = m, .n = n, .k = k, .alpha = 1};
  for (int s = 0; s < 2; s++)
    t.x[s] = kept_zeros((size_t)(trial_vectors(&t, s) * k * 2 + 1) * sizeof(double));
  t.options = (davit_level3_options){
      .devices = exact_devices, .device_count = 1, .arithmetic = DAVIT_ARITHMETIC_EXACT, .exact_bits = true};
  return t;
}

void trial_set_layout(trial *t, uint64_t *seed) {
  t->transa = "NTC"[random_below(seed, 3)];
  t->transb = "NTC"[random_below(seed, 3)];
}

void trial_lay_out(trial *t, const int places[3], uint64_t *seed) {
  const char trans[2] = {t->transa, t->transb};
  for (int s = 0; s < 2; s++) {
    const bool down = (trans[s] == 'N') == (s == 1); /* vectors are columns */
    const int64_t count = trial_vectors(t, s);
    dense *m = &t->o[s];
    *m = dense_new(t->type, down ? t->k : count, down ? count : t->k, random_below(seed, 4),
                   random_below(seed, 4), places[s], UNSET);
    for (int64_t i = 0; i < count; i++)
      for (int64_t h = 0; h < t->k; h++) {
        double *x = trial_number(t, s, i, h);
        for (int p = 0; p < 2; p++)
          x[p] = trial_is_long(t) ? x[p] : (double)(float)x[p];
        dense_put(m, down ? h : i, down ? i : h, x[0], trans[s] == 'C' ? -x[1] : x[1]);
      }
    dense_give(m);
  }
  t->o[2] = dense_new(t->type, t->m, t->n, random_below(seed, 4), random_below(seed, 4), places[2],
                      t->beta == 0 ? UNSET : next_random(seed) | 1);
}

const int all_pageable[3] = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE};

davit_status trial_call(trial *t) {
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

void trial_run(trial *t) {
  CHECK(trial_call(t));
  dense_take(&t->o[2]);
  assert_true(dense_as_image(&t->o[0]) && dense_as_image(&t->o[1]));
}

void trial_expect_exact(const trial *t) {
  if (t->report.arithmetic != DAVIT_ARITHMETIC_EXACT || t->report.moduli == 0 || t->report.why_native)
    fail_msg("%lld x %lld x %lld of type %d is native, because %s", (long long)t->m, (long long)t->n,
             (long long)t->k, (int)t->type, t->report.why_native ? t->report.why_native : "of nothing");
}

double trial_result(const trial *t, int64_t i, int64_t j, int part) {
  return dense_at(&t->o[2], i * trial_parts(t) + part, j);
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
    const double *a = trial_number(t, 0, i, h), *b = trial_number(t, 1, j, h);
    if (trial_parts(t) == 1) {
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
  const quad unit = trial_is_long(t) ? 0x1p-53 : 0x1p-24, least = trial_is_long(t) ? 0x1p-1074 : 0x1p-149,
             most = trial_is_long(t) ? (quad)DBL_MAX : (quad)FLT_MAX,
             bound =
                 allowed * unit * (1 + 0x1p-20) + 4 * unit * more + least * (more == 0 ? (quad)0.5 : (quad)8),
             wrong = magnitude((quad)is - should);
  if (isinf(is))
    return (is > 0) == (should > 0) && magnitude(should) + bound > most ? 0 : 1e300;
  return wrong <= bound ? (double)(wrong / bound) : wrong > bound * 1e300 ? 1e300 : (double)(wrong / bound);
}

double worst_excess;

void trial_expect_bound(const trial *t, const char *what) {
  const int64_t most = 64, terms = t->k < most ? t->k : most;
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
      for (int p = 0; p < trial_parts(t); p++) {
        const double wrong =
            excess(t, trial_result(t, i, j, p), should[p], alpha_size * (quad)terms * e.size, more);
        worst_excess = wrong > worst_excess ? wrong : worst_excess;
        if (!(wrong <= 1))
          fail_msg("%s: %lld x %lld x %lld of type %d, %c%c, %d moduli: part %d of (%lld, %lld) is %a, not "
                   "%a, %g times what is allowed",
                   what, (long long)t->m, (long long)t->n, (long long)t->k, (int)t->type, t->transa,
                   t->transb, t->report.moduli, p, (long long)i, (long long)j, trial_result(t, i, j, p),
                   (double)should[p], wrong);
      }
    }
}

void trial_expect_native(trial *t) {
  const dense exact = t->o[2];
  davit_level3_options native = t->options;
  dense again = exact;
  again.image = exact.before;
  native.arithmetic = DAVIT_ARITHMETIC_NATIVE;
  trial other = *t;
  other.options = native;
  other.o[2] = again;
  dense_give(&other.o[2]);
  trial_run(&other);
  assert_true(t->report.arithmetic == DAVIT_ARITHMETIC_NATIVE && t->report.moduli == 0);
  assert_true(!other.report.why_native && *t->report.why_native);
  assert_memory_equal(other.o[2].image, exact.image, exact.bytes);
}

/* ---- operands ---- */

static double normal(uint64_t *seed) {
  const double u = 0.5 + 0.5 * random_unit(seed), v = random_unit(seed);
  return sqrt(-2 * log(u + 0x1p-60)) * cos(v * acos(-1.0));
}

int random_power(uint64_t *seed, int most) {
  return random_below(seed, 2 * most + 1) - most;
}

void trial_fill(trial *t, operands o, uint64_t *seed) {
  for (int s = 0; s < 2; s++)
    for (int64_t i = 0; i < trial_vectors(t, s); i++) {
      const int power = random_power(seed, o.wild);
      const bool empty = o.zeros && random_below(seed, o.zeros) == 0;
      for (int64_t h = 0; h < t->k; h++)
        for (int p = 0; p < trial_parts(t); p++) {
          const double x = random_unit(seed) / 2 * (o.phi > 0 ? exp(o.phi * normal(seed)) : 1);
          trial_number(t, s, i, h)[p] = empty || (o.zeros && random_below(seed, o.zeros) == 0)
                                            ? 0
                                            : ldexp(x, power + random_power(seed, o.inside));
        }
    }
}

int64_t random_integer(uint64_t *seed, int bits) {
  return (int64_t)(next_random(seed) >> (64 - bits)) - (INT64_C(1) << (bits - 1));
}
