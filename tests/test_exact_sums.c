/* SPDX-License-Identifier: Apache-2.0 */
/* What exact products are made of (ref/exact.h), against integers of 256 bits. */
#include "tests/support.h"

#include "ref/exact.h"

typedef unsigned _BitInt(256) big;
typedef signed _BitInt(256) signed_big;

static big big_of(const uint64_t word[3]) {
  return (big)word[2] << 128 | (big)word[1] << 64 | (big)word[0];
}

static int length_of(big value) {
  int length = 0;
  for (; value; value >>= 1)
    length++;
  return length;
}

static big random_big(uint64_t *seed, int bits) {
  big value = 0;
  for (int i = 0; i < 4; i++)
    value = value << 64 | (big)next_random(seed);
  return bits == 0 ? 0 : value >> (256 - bits);
}

static void expect_same(double is, double should, const char *what, int case_number) {
  if (memcmp(&is, &should, sizeof is) != 0)
    fail_msg("%s, case %d: %a, not %a", what, case_number, is, should);
}

/* ---- doubles ---- */

static double random_double(uint64_t *seed) {
  for (;;) {
    uint64_t bits = next_random(seed);
    double x;
    if (random_below(seed, 4) == 0)
      bits &= ~(UINT64_C(0x7fe) << 52); /* a denormal, or little more */
    if (random_below(seed, 4) == 0)
      bits &= ~UINT64_C(0) << random_below(seed, 53);
    memcpy(&x, &bits, sizeof x);
    if (isfinite(x) && x != 0)
      return x;
  }
}

static void expect_ends(double x) {
  const int top = dvt_exact_top(x), low = dvt_exact_low(x);
  int exponent;
  frexp(x, &exponent);
  assert_int_equal(top, exponent - 1);
  assert_true(low <= top && low > top - 53);
  const double integer = ldexp(fabs(x), -low < 1023 ? -low : 1023) * ldexp(1, -low < 1023 ? 0 : -low - 1023);
  assert_true(integer == floor(integer) && fmod(integer, 2) == 1);
}

CASE(test_ends_of_doubles) {
  static const double extremes[] = {0x1p-1074,
                                    0x1.8p-1073,
                                    0x1p-1022,
                                    0x1.fffffffffffffp-1022,
                                    1,
                                    0x1p1023,
                                    -0x1p-1074,
                                    0x1.fffffffffffffp1023,
                                    -0x0.fffffffffffffp-1022};
  uint64_t seed = 1;
  for (int i = 0; i < COUNT(extremes); i++)
    expect_ends(extremes[i]);
  for (int i = 0; i < scaled(20000); i++)
    expect_ends(random_double(&seed));
  assert_true(dvt_exact_is_finite(0) && dvt_exact_is_finite(0x1.fffffffffffffp1023));
  assert_false(dvt_exact_is_finite((double)NAN) || dvt_exact_is_finite(-(double)INFINITY));
}

/* Wherever the result is a double and the exponent may be. */
CASE(test_scale) {
  uint64_t seed = 2;
  for (int i = 0; i < scaled(20000); i++) {
    const double x = random_double(&seed);
    const int low = -1074 - dvt_exact_low(x), least = low > -2044 ? low : -2044,
              high = 1023 - dvt_exact_top(x), most = high < 2046 ? high : 2046,
              exponent = least + random_below(&seed, most - least + 1);
    expect_same(dvt_exact_scale(x, exponent), ldexp(x, exponent), "scaled", i);
  }
  for (int exponent = -1022; exponent <= 1023; exponent++)
    expect_same(dvt_exact_power(exponent), ldexp(1, exponent), "a power", exponent);
}

/* ---- vectors ---- */

CASE(test_norm) {
  for (int bits = 0; bits < 31; bits++)
    for (int more = -1; more <= 1; more++) {
      const uint64_t squares = (UINT64_C(1) << (2 * bits)) + (uint64_t)more;
      if (squares == 0)
        continue;
      const int norm = dvt_exact_norm(squares) + 14; /* squares is at most 4^norm, and no less power of 4 */
      assert_true(squares <= UINT64_C(1) << (2 * norm));
      assert_true(norm == 0 || squares > UINT64_C(1) << (2 * (norm - 1)));
    }
}

/* Sums are not below what they stand for and coarse values are not above, in all windows. */
CASE(test_sums_of_vectors) {
  uint64_t seed = 3;
  for (int trial = 0; trial < scaled(2000); trial++) {
    enum { MOST = 40 };
    const int length = 1 + random_below(&seed, MOST), parts = 1 + random_below(&seed, 2),
              middle = random_below(&seed, 1960) - 980, spread = 1 + random_below(&seed, 80);
    double x[MOST];
    int64_t tops = 0;
    dvt_exact_vector v = {.top = INT32_MIN, .low = INT32_MAX};
    for (int i = 0; i < length; i++) {
      x[i] = ldexp(random_unit(&seed), middle + random_below(&seed, spread) - spread / 2);
      x[i] = x[i] == 0 ? 0x1p-1074 : x[i];
      v.top = dvt_exact_top(x[i]) > v.top ? dvt_exact_top(x[i]) : v.top;
      v.low = dvt_exact_low(x[i]) < v.low ? dvt_exact_low(x[i]) : v.low;
      tops += dvt_exact_top(x[i]);
    }
    v.coarse = dvt_exact_coarse(parts, v.top, tops, length);
    long double squares = 0, sum = 0;
    for (int i = 0; i < length; i++) {
      const long double relative = ldexpl(fabsl((long double)x[i]), -v.top);
      dvt_exact_add(x[i], v.top, &v.squares, &v.sum);
      squares += relative * relative;
      sum += relative;
      for (int window = 0; window < DVT_EXACT_WINDOWS; window++) {
        const int exponent = v.coarse + DVT_EXACT_STEP * window,
                  value = dvt_exact_coarse_value(x[i], exponent - v.top, parts);
        assert_true(value >= 0 && value * parts < 128);
        assert_true((long double)value <= ldexpl(relative, exponent));
      }
    }
    assert_true(ldexpl(squares, 28) <= (long double)v.squares && ldexpl(sum, 14) <= (long double)v.sum);
    assert_true(sqrtl(squares) <= (long double)dvt_exact_relative_norm(&v));
    const int bits = dvt_exact_all_bits(&v), shift = dvt_exact_shift(&v, bits);
    for (int i = 0; i < length && bits < 120; i++) /* nothing is rounded, and the norm is less than 2^bits */
      assert_true(ldexpl((long double)x[i], shift) == (long double)dvt_exact_integer(x[i], shift));
    assert_true(ldexpl(sqrtl(squares), v.top + shift) <= ldexpl(1, bits));
  }
}

/* ---- moduli ---- */

CASE(test_moduli) {
  for (int l = 0; l < DVT_EXACT_MOST; l++) {
    const int p = dvt_exact_modulus(l);
    assert_true(p > 2 && p <= 256 && (l == 0 || p < dvt_exact_modulus(l - 1)));
    for (int other = 0; other < l; other++) {
      int a = p, b = dvt_exact_modulus(other);
      while (b) {
        const int rest = a % b;
        a = b;
        b = rest;
      }
      assert_int_equal(a, 1);
    }
  }
}

CASE(test_products_of_moduli) {
  for (int count = 1; count <= DVT_EXACT_MOST; count++)
    for (int skipped = -1; skipped < count; skipped++) {
      big product = 1;
      for (int l = 0; l < count; l++)
        product *= l == skipped ? 1 : (big)dvt_exact_modulus(l);
      uint64_t word[3];
      double limb[DVT_EXACT_LIMBS];
      big sum = 0;
      dvt_exact_product(count, skipped, word);
      dvt_exact_limbs(word, limb);
      assert_true(big_of(word) == product);
      for (int i = DVT_EXACT_LIMBS; i-- > 0;) {
        assert_true(limb[i] >= 0 && limb[i] < 0x1p40);
        sum = sum << DVT_EXACT_LIMB | (big)(uint64_t)limb[i];
      }
      assert_true(sum == product);
      if (skipped >= 0) {
        const big p = (big)dvt_exact_modulus(skipped);
        assert_true(product * (big)dvt_exact_inverse(count, skipped) % p == 1 % p);
      } else { /* the largest sum of either sign stays below half of the product */
        assert_true(((big)1 << (dvt_exact_room(count) + 2)) <= product);
        assert_true(((big)1 << (dvt_exact_room(count) + 3)) > product);
      }
    }
}

/* A number from its residues. */
CASE(test_chinese_remainders) {
  uint64_t seed = 4;
  for (int trial = 0; trial < scaled(3000); trial++) {
    const int count = 1 + random_below(&seed, DVT_EXACT_MOST);
    uint64_t word[3];
    dvt_exact_product(count, -1, word);
    const big all = big_of(word), value = random_big(&seed, dvt_exact_room(count) + 1);
    big sum = 0;
    for (int l = 0; l < count; l++) {
      const big p = (big)dvt_exact_modulus(l);
      dvt_exact_product(count, l, word);
      sum += value * (big)dvt_exact_inverse(count, l) % p * big_of(word);
    }
    assert_true(sum % all == value);
  }
}

/* ---- sums ---- */

CASE(test_add_wide) {
  uint64_t seed = 5, word[3] = {0, 0, 0};
  big sum = 0;
  for (int trial = 0; trial < scaled(100000); trial++) {
    const int64_t value = (int64_t)next_random(&seed) >> random_below(&seed, 64);
    const int shift = random_below(&seed, 192);
    if (random_below(&seed, 50) == 0) { /* carries go through all words */
      word[0] = word[1] = word[2] = ~UINT64_C(0);
      sum = big_of(word);
    }
    dvt_exact_add_wide(word, value, shift);
    sum = (sum + ((big)(signed_big)value << shift)) & (((big)1 << 192) - 1);
    assert_true(big_of(word) == sum);
  }
}

/* Rounded by hand. */
static double rounded(big magnitude, bool negative, int exponent, int digits, int least) {
  if (magnitude == 0)
    return 0;
  const int top = exponent + length_of(magnitude) - 1,
            unit = top - digits + 1 > least ? top - digits + 1 : least, shift = unit - exponent;
  big value = shift <= 0 ? magnitude << -shift : shift < 256 ? magnitude >> shift : 0;
  if (shift > 0 && shift < 256) {
    const big rest = magnitude & (((big)1 << shift) - 1), half = (big)1 << (shift - 1);
    value += rest > half || (rest == half && value % 2 == 1);
  }
  const double result = ldexp((double)(uint64_t)value, unit);
  return negative ? -result : result;
}

/* Lengths of all kinds; of three one is in the middle of two results, of which some have a bit more or less. */
static big random_sum(uint64_t *seed, int most, int exponent, int digits, int least) {
  big value = random_big(seed, random_below(seed, most + 1));
  const int top = exponent + length_of(value) - 1, unit = top - digits + 1 > least ? top - digits + 1 : least,
            shift = unit - exponent;
  if (shift > 0 && shift < most && random_below(seed, 3) == 0) {
    value = (value >> shift << shift) + ((big)1 << (shift - 1));
    value += (big)(signed_big)(random_below(seed, 3) - 1);
  }
  return value;
}

/* Into the ends of the exponents, too. */
static int random_exponent(uint64_t *seed, int length, int least) {
  switch (random_below(seed, 4)) {
  case 0:
    return least - random_below(seed, length + 60);
  case 1:
    return -least - random_below(seed, length + 60);
  default:
    return random_below(seed, 2000) - 1100;
  }
}

static const struct {
  int digits, least;
} formats[] = {{53, -1074}, {24, -149}};

CASE(test_round) {
  uint64_t seed = 6;
  for (int trial = 0; trial < scaled(100000); trial++) {
    const int digits = formats[trial % 2].digits, least = formats[trial % 2].least,
              exponent = random_exponent(&seed, 191, least);
    const bool negative = random_below(&seed, 2);
    const big value = random_sum(&seed, 191, exponent, digits, least), both = negative ? -value : value;
    double is = dvt_exact_round((uint64_t)both, (uint64_t)(both >> 64), (uint64_t)(both >> 128), exponent,
                                digits, least),
           should = rounded(value, negative, exponent, digits, least);
    if (digits == 24) {
      is = (double)(float)is;
      should = (double)(float)should;
    }
    expect_same(is, should, "rounded", trial);
  }
}

/* Limbs that have carries which nobody has added. */
CASE(test_round_limbs) {
  uint64_t seed = 7;
  for (int trial = 0; trial < scaled(100000); trial++) {
    const int digits = formats[trial % 2].digits, least = formats[trial % 2].least,
              most = random_below(&seed, 2) ? 75 : 165, exponent = random_exponent(&seed, most, least);
    const bool negative = random_below(&seed, 2);
    const big value = random_sum(&seed, most, exponent, digits, least);
    double limb[DVT_EXACT_LIMBS];
    int64_t carry = 0;
    for (int i = 0; i < DVT_EXACT_LIMBS; i++) {
      const int64_t part = (int64_t)(uint64_t)(value >> (DVT_EXACT_LIMB * i)) & ((INT64_C(1) << 40) - 1),
                    before = carry;
      carry = i == DVT_EXACT_LIMBS - 1 ? 0 : random_below(&seed, 1 << 12) - (1 << 11);
      const int64_t whole =
          i == DVT_EXACT_LIMBS - 1 ? (int64_t)(uint64_t)(value >> (DVT_EXACT_LIMB * i)) : part;
      limb[i] = (double)(whole + carry * (INT64_C(1) << 40) - before) * (negative ? -1 : 1);
    }
    double is = dvt_exact_round_limbs(limb, exponent, digits, least),
           should = rounded(value, negative, exponent, digits, least);
    if (digits == 24) {
      is = (double)(float)is;
      should = (double)(float)should;
    }
    expect_same(is, should, "limbs", trial);
  }
}

CASE(test_blend) {
  double c[2] = {(double)NAN, (double)NAN};
  dvt_exact_blend_double(1, 3, 0, (double[]){5}, 0, 0, c);
  assert_true(c[0] == 15);
  dvt_exact_blend_double(1, 1, 0, (double[]){5}, 2, 0, c);
  assert_true(c[0] == 35);
  dvt_exact_blend_double(2, 0, 1, (double[]){5, 7}, 0, 0, c);
  assert_true(c[0] == -7 && c[1] == 5);
  dvt_exact_blend_double(2, 1, 0, (double[]){1, 2}, 2, 3, c); /* (1 + 2i) + (2 + 3i) (-7 + 5i) */
  assert_true(c[0] == -28 && c[1] == -9);
  float d[2] = {1, (float)NAN};
  dvt_exact_blend_float(1, 2, 0, (float[]){0x1.000002p0F}, -0x1p-30F, 0, d);
  assert_true(d[0] == 0x1.000002p1F && isnan(d[1]));
}

/* ---- choices ---- */

/* A choice keeps all that is needed, or is none; the number of its moduli. `whole`: nothing is rounded. */
static int expect_choice(davit_type type, int64_t length, const dvt_exact_need *need, int windows, int least,
                         bool *whole) {
  const dvt_exact_choice choice = dvt_exact_choose(type, length, need, windows, least);
  const int room = choice.moduli ? dvt_exact_room(choice.moduli) : 0, sum = choice.bits[0] + choice.bits[1];
  *whole = choice.bits[0] == need->bits[0] && choice.bits[1] == need->bits[1];
  if (choice.moduli == 0)
    return DVT_EXACT_MOST + 1;
  assert_true(choice.moduli <= DVT_EXACT_MOST && sum <= room);
  assert_true(choice.bits[0] <= DVT_EXACT_MOST_BITS && choice.bits[1] <= DVT_EXACT_MOST_BITS);
  if (*whole) {
    assert_true(choice.moduli == 1 || dvt_exact_room(choice.moduli - 1) < sum);
    return choice.moduli;
  }
  const double unit = dvt_exact_is_long(type) ? 0x1p-53 : 0x1p-24,
               allowed = (double)(length < 64 ? length - 1 : 63) * unit,
               error = choice.bits[0] == choice.bits[1] ? need->growth.even : need->growth.odd;
  assert_true(choice.moduli >= least && sum == room && ldexp(error, -15 - choice.bits[1]) <= allowed);
  return choice.moduli;
}

/* What needs more has no fewer moduli. */
CASE(test_choose) {
  static const davit_type types[] = {DAVIT_FLOAT, DAVIT_DOUBLE, DAVIT_COMPLEX_FLOAT, DAVIT_COMPLEX_DOUBLE};
  uint64_t seed = 8;
  for (int trial = 0; trial < scaled(2000); trial++) {
    const davit_type type = types[trial % 4];
    const int64_t length = 1 + random_below(&seed, 1 << (1 + random_below(&seed, 18)));
    const int windows = random_below(&seed, 2) ? 1 : DVT_EXACT_WINDOWS,
              least = random_below(&seed, 2) ? random_below(&seed, DVT_EXACT_MOST + 1) : 0;
    dvt_exact_need need = {.bits = {10 + random_below(&seed, 120), 10 + random_below(&seed, 120)}};
    int before = 0;
    for (int step = 0; step < 90; step++) {
      const double scale = ldexp(1, step);
      bool whole;
      need.growth = (dvt_exact_growth){3 * scale, 2.5 * scale, scale};
      const int now = expect_choice(type, length, &need, windows, least, &whole);
      assert_true(now >= before || whole);
      before = now;
    }
    assert_true(before > DVT_EXACT_MOST || need.bits[0] + need.bits[1] <= dvt_exact_room(DVT_EXACT_MOST));
    need.infinite = 1;
    assert_int_equal(dvt_exact_choose(type, length, &need, windows, least).moduli, 0);
  }
}
