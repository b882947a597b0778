/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products: sums of integers against integers of 128 bits, and the bound |C - A B| <= min(k, 64) u |A||B| in
 * numbers of 113 bits. */
#include "tests/exact.h"

/* ---- exact sums ---- */

static double rounded(const trial *t, __int128 sum) {
  return trial_is_long(t) ? (double)sum : (double)(float)sum;
}

/* Integers, or rationals whose denominators are powers of two of their vectors. */
static void try_integers(davit_type type, int64_t k, int bits, int powers, uint64_t *seed) {
  SCOPE;
  trial t = trial_new(type, 1 + random_below(seed, 20), 1 + random_below(seed, 20), k);
  int *power[2];
  trial_set_layout(&t, seed);
  for (int s = 0; s < 2; s++) {
    power[s] = kept((size_t)trial_vectors(&t, s) * sizeof(int));
    for (int64_t i = 0; i < trial_vectors(&t, s); i++) {
      power[s][i] = random_power(seed, powers);
      for (int64_t h = 0; h < k; h++)
        for (int p = 0; p < trial_parts(&t); p++)
          trial_number(&t, s, i, h)[p] = ldexp((double)random_integer(seed, bits), power[s][i]);
    }
  }
  trial_lay_out(&t, all_pageable, seed);
  trial_run(&t);
  trial_expect_exact(&t);
  for (int64_t j = 0; j < t.n; j++)
    for (int64_t i = 0; i < t.m; i++) {
      __int128 sum[2] = {0, 0};
      for (int64_t h = 0; h < k; h++) {
        const double *a = trial_number(&t, 0, i, h), *b = trial_number(&t, 1, j, h);
        const __int128 x[2] = {(__int128)ldexp(a[0], -power[0][i]), (__int128)ldexp(a[1], -power[0][i])},
                       y[2] = {(__int128)ldexp(b[0], -power[1][j]), (__int128)ldexp(b[1], -power[1][j])};
        sum[0] += x[0] * y[0] - x[1] * y[1];
        sum[1] += x[0] * y[1] + x[1] * y[0];
      }
      for (int p = 0; p < trial_parts(&t); p++) {
        const double should = ldexp(rounded(&t, sum[p]), power[0][i] + power[1][j]);
        if (trial_result(&t, i, j, p) != should)
          fail_msg("%d bits, k %lld, type %d: %a, not %a", bits, (long long)k, (int)type,
                   trial_result(&t, i, j, p), should);
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

/* Sums of digits that are far larger than what is left of them at the end. */
CASE(test_long_sums) {
  uint64_t seed = 10;
  const int64_t k = 240000, half = k / 2;
  for (int parts = 1; parts <= 2; parts++) {
    SCOPE;
    trial t = trial_new(parts == 1 ? DAVIT_DOUBLE : DAVIT_COMPLEX_DOUBLE, 1, 1, k);
    for (int64_t h = 0; h < half; h++)
      for (int s = 0; s < 2; s++) {
        const int64_t low = (INT64_C(3) << 17) + random_below(&seed, 1 << 17),
                      high = (INT64_C(3) << 17) + random_below(&seed, 1 << 17);
        const double x = (double)(low + (high << 20));
        trial_number(&t, s, 0, h)[0] = trial_number(&t, s, 0, half + h)[0] = x;
        trial_number(&t, s, 0, half + h)[0] *= s ? -1 : 1;
      }
    trial_number(&t, 1, 0, k - 1)[0]++;
    for (int64_t h = 0; h < k; h++)
      trial_number(&t, 1, 0, h)[parts - 1] = trial_number(&t, 1, 0, h)[0];
    trial_lay_out(&t, all_pageable, &seed);
    trial_run(&t);
    trial_expect_exact(&t);
    for (int p = 0; p < parts; p++)
      assert_true(trial_result(&t, 0, 0, p) == trial_number(&t, 0, 0, k - 1)[0]);
  }
}

/* A I = A. */
CASE(test_identity) {
  uint64_t seed = 2;
  for (int turn = 0; turn < scaled(40); turn++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      SCOPE;
      trial t = trial_new(problem_types[v], 1 + random_below(&seed, 30), 1 + random_below(&seed, 60), 1);
      const bool longer = trial_is_long(&t);
      t = trial_new(t.type, t.m, t.n, t.n);
      trial_set_layout(&t, &seed);
      trial_fill(&t, (operands){.wild = longer ? 900 : 90}, &seed);
      for (int64_t j = 0; j < t.n; j++)
        for (int64_t h = 0; h < t.k; h++) {
          trial_number(&t, 1, j, h)[0] = h == j;
          trial_number(&t, 1, j, h)[1] = 0;
        }
      trial_lay_out(&t, all_pageable, &seed);
      trial_run(&t);
      trial_expect_exact(&t);
      for (int64_t j = 0; j < t.n; j++)
        for (int64_t i = 0; i < t.m; i++)
          for (int p = 0; p < trial_parts(&t); p++)
            assert_true(trial_result(&t, i, j, p) == trial_number(&t, 0, i, j)[p]);
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
      trial_fill(&t, (operands){.phi = turn % 3, .inside = turn % 2 ? 20 : 0}, &seed);
      trial_lay_out(&t, all_pageable, &seed);
      trial_run(&t);
      const dense before = t.o[2];
      const davit_level3_report report = t.report;
      for (int s = 0; s < 2; s++)
        for (int64_t i = 0; i < trial_vectors(&t, s); i++) {
          power[s][i] = random_power(&seed, trial_is_long(&t) ? 300 : 15);
          for (int64_t h = 0; h < t.k * 2; h++)
            trial_number(&t, s, i, 0)[h] = ldexp(trial_number(&t, s, i, 0)[h], power[s][i]);
        }
      trial_lay_out(&t, all_pageable, &seed);
      trial_run(&t);
      assert_true(t.report.moduli == report.moduli && t.report.why_native == report.why_native);
      for (int64_t j = 0; j < t.n && !report.why_native; j++)
        for (int64_t i = 0; i < t.m; i++)
          for (int p = 0; p < trial_parts(&t); p++)
            assert_true(trial_result(&t, i, j, p) ==
                        ldexp(dense_at(&before, i * trial_parts(&t) + p, j), power[0][i] + power[1][j]));
    }
}

/* ---- the bound ---- */

/* False: it was computed natively, which it `must` not be. */
static bool try_bound(trial t, operands o, bool must, uint64_t *seed) {
  trial_set_layout(&t, seed);
  trial_fill(&t, o, seed);
  trial_lay_out(&t, all_pageable, seed);
  trial_run(&t);
  if (t.report.why_native && !must) {
    trial_expect_native(&t);
    return false;
  }
  trial_expect_exact(&t);
  char what[100];
  snprintf(what, sizeof what, "phi %g, powers %d, inside %d, zeros %d", o.phi, o.wild, o.inside, o.zeros);
  trial_expect_bound(&t, what);
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
      const bool longer = trial_is_long(&t);
      operands o = {.phi = turn % 5};
      if (random_below(&seed, 2))
        o.wild = longer ? 1000 : 100;
      if (random_below(&seed, 4) == 0)
        o.zeros = 4;
      if (random_below(&seed, 4) == 0)
        o.inside = longer ? 30 : 10;
      natively += !try_bound(t, o, o.phi <= 2 && o.inside == 0 && t.k > 1, &seed);
    }
  print_message("%d products, %d of them natively; at worst %g of the bound\n", count, natively,
                worst_excess);
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
      const double turned = trial_parts(&t) == 2 && random_below(&seed, 2) ? 0.3 : 0;
      t.alpha = factors[random_below(&seed, 4)] + __builtin_complex(0.0, turned);
      t.beta = factors[random_below(&seed, COUNT(factors))] + __builtin_complex(0.0, turned);
      if (!trial_is_long(&t)) {
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
      const int least = trial_is_long(&t) ? -1074 : -149, most = trial_is_long(&t) ? 1023 : 127;
      for (int s = 0; s < 2; s++)
        for (int64_t i = 0; i < 6; i++)
          for (int64_t h = 0; h < t.k; h++)
            for (int p = 0; p < trial_parts(&t); p++)
              trial_number(&t, s, i, h)[p] = ldexp((double)random_integer(&seed, trial_is_long(&t) ? 50 : 20),
                                                   s == 0                   ? least
                                                   : random_below(&seed, 3) ? most - 60
                                                                            : 0);
      trial_lay_out(&t, all_pageable, &seed);
      trial_run(&t);
      trial_expect_bound(&t, "subnormal numbers");
    }
}

/* Sums that are far smaller than their terms. */
CASE(test_cancellation) {
  uint64_t seed = 8;
  for (int turn = 0; turn < scaled(60); turn++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      SCOPE;
      trial t = trial_new(problem_types[v], 7, 5, 2 * (1 + random_below(&seed, 50)));
      trial_fill(&t, (operands){.phi = turn % 3}, &seed);
      for (int s = 0; s < 2; s++)
        for (int64_t i = 0; i < trial_vectors(&t, s); i++)
          for (int64_t h = 0; h < t.k; h += 2)
            for (int p = 0; p < trial_parts(&t); p++)
              trial_number(&t, s, i, h + 1)[p] =
                  trial_number(&t, s, i, h)[p] * (s ? -1 - ldexp(random_unit(&seed), -turn % 60) : 1);
      trial_lay_out(&t, all_pageable, &seed);
      trial_run(&t);
      trial_expect_bound(&t, "cancellation");
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
            trial_number(&t, s, i, h)[0] = (s && (i + h) % 2 ? -1 : 1) / (double)(i + h + 1);
            trial_number(&t, s, i, h)[1] = trial_parts(&t) == 2 ? 1 / (double)(2 * i + h + 1) : 0;
          }
      trial_lay_out(&t, all_pageable, &seed);
      trial_run(&t);
      trial_expect_exact(&t);
      trial_expect_bound(&t, "Hilbert's matrix");
    }
}

int main(void) {
  return run_cases(find_exact_devices, finalize);
}
