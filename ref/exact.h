/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices by exact sums of integers, and what all of its forms share.
 *
 * C = A B for A of m rows, its vectors, and B of n columns, the others, all of length k (Ozaki's scheme II: Ozaki,
 * Uchino and Imamura, arXiv 2504.08009, with a decision of its own from the data):
 *
 *   1. A vector x becomes integers x 2^s, rounded to the nearest: `bits` says how long they are, in terms of the
 *      vector's norm, so s depends on the vector alone.
 *   2. The products of the integers are summed exactly. On an NVIDIA GPU modulo L numbers below 257 that have no common
 *      divisor, by units for 8-bit integers; on the CPU in digits of 20 bits, by BLIS in doubles.
 *   3. An element of C is the exact sum, scaled back and rounded once.
 *
 * So C depends on A, B and the two numbers of bits, and on nothing else: not on tiles, devices or the order of sums.
 *
 * How many bits are needed follows from what the vectors are, before the product, by integers alone: of each vector its
 * norm, the sum of its absolute values and coarse values of 7 bits, rounded down, whose products are a lower bound of
 * |A||B|; where that is too low, the largest of three, of values that begin 6 bits lower each and are cut off above.
 * Then |C - A B| <= min(k, 64) u |A||B|, element by element, where u is half the distance of 1 to the next number. For
 * complex numbers that holds of either part, and |x| is |re| + |im|. */
#ifndef DAVIT_REF_EXACT_H
#define DAVIT_REF_EXACT_H

#include <davit/operator.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "src/base/arithmetic.h"
#include "src/base/operation.h"

#define DVT_EXACT_INLINE static inline __attribute__((always_inline))

enum {
  DVT_EXACT_MOST = 20,      /* moduli */
  DVT_EXACT_GROUP = 16,     /* elements of a vector, and vectors, that planes are multiples of */
  DVT_EXACT_RUN = 131056,   /* elements of a vector whose products fit into sums of 32 bits */
  DVT_EXACT_MOST_BITS = 78, /* of an integer */
  DVT_EXACT_DIGIT = 20,     /* bits of a digit on the CPU */
  DVT_EXACT_DIGITS = 4,
  DVT_EXACT_LIMB = 40, /* bits of a part of a product of moduli */
  DVT_EXACT_LIMBS = 4
};

/* ---- doubles ---- */

DVT_EXACT_INLINE double dvt_exact_power(int exponent) { /* from -1022 to 1023 */
  const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double power;
  __builtin_memcpy(&power, &bits, sizeof power);
  return power;
}

/* x 2^exponent, which is exact where it is a double; exponents from -2044 to 2046. */
DVT_EXACT_INLINE double dvt_exact_scale(double x, int exponent) {
  const int half = exponent / 2;
  return x * dvt_exact_power(half) * dvt_exact_power(exponent - half);
}

DVT_EXACT_INLINE uint64_t dvt_exact_bits_of(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* The exponents of the highest and of the lowest bit of a finite x that is not 0. */
DVT_EXACT_INLINE int dvt_exact_top(double x) {
  const uint64_t bits = dvt_exact_bits_of(x) & ~(UINT64_C(1) << 63),
                 fraction = bits & ((UINT64_C(1) << 52) - 1);
  const int exponent = (int)(bits >> 52);
  return exponent > 0 ? exponent - 1023 : -1011 - __builtin_clzll(fraction);
}

DVT_EXACT_INLINE int dvt_exact_low(double x) {
  const uint64_t bits = dvt_exact_bits_of(x), fraction = bits & ((UINT64_C(1) << 52) - 1);
  const int exponent = (int)(bits >> 52 & 2047);
  return (exponent > 0 ? exponent : 1) - 1075 +
         __builtin_ctzll(exponent > 0 ? fraction | UINT64_C(1) << 52 : fraction);
}

DVT_EXACT_INLINE bool dvt_exact_is_finite(double x) {
  return (dvt_exact_bits_of(x) >> 52 & 2047) != 2047;
}

/* ---- vectors ---- */

/* What is known of a vector: sums of integers, so that their order does not count. */
typedef struct dvt_exact_vector {
  int32_t top, low; /* exponents of the highest and lowest bit; INT32_MIN and INT32_MAX: all is 0 */
  uint64_t squares; /* of the elements as multiples of 2^(top - 14), rounded up */
  uint64_t sum;     /* of their absolute values, likewise */
  int32_t coarse;   /* coarse values are multiples of 2^(top - coarse) */
  int32_t unused;
} dvt_exact_vector;

/* Coarse values are at most 127 together for the parts of an element, and those of most elements 16 or more: where they
 * lie far below the highest, up to two bits of the highest are cut off. `tops` are the exponents of `count` parts that
 * are not 0. In window w they begin 6 w bits lower. */
enum { DVT_EXACT_WINDOWS = 3, DVT_EXACT_STEP = 6 };
DVT_EXACT_INLINE int dvt_exact_coarse(int parts, int top, int64_t tops, int64_t count) {
  const int64_t typical = count ? tops / count : 0, cut = count ? top - typical - 3 : 0;
  return 7 - parts + (cut < 0 ? 0 : cut < 2 ? (int)cut : 2);
}

/* The least N with a norm of at most 2^N, as N - top; the vector is not 0. */
DVT_EXACT_INLINE int dvt_exact_norm(uint64_t squares) {
  const int bits = squares > 1 ? 64 - __builtin_clzll(squares - 1) : 0;
  return (bits + 1) / 2 - 14;
}

/* The exponent by which a vector is scaled to integers of so many bits. */
DVT_EXACT_INLINE int dvt_exact_shift(const dvt_exact_vector *v, int bits) {
  return v->squares == 0 ? 0 : bits - v->top - dvt_exact_norm(v->squares);
}

/* Bits with which nothing is rounded. */
DVT_EXACT_INLINE int dvt_exact_all_bits(const dvt_exact_vector *v) {
  return v->squares == 0 ? 0 : v->top + dvt_exact_norm(v->squares) - v->low;
}

DVT_EXACT_INLINE double dvt_exact_integer(double x, int shift) {
  return __builtin_rint(dvt_exact_scale(x, shift));
}

/* What a part adds to the sums of its vector, and its coarse value in a window. */
DVT_EXACT_INLINE void dvt_exact_add(double x, int top, uint64_t *squares, uint64_t *sum) {
  const double magnitude = __builtin_fabs(x), fine = __builtin_ceil(dvt_exact_scale(magnitude, 14 - top));
  const uint64_t length = magnitude == 0 ? 0 : fine < 1 ? 1 : (uint64_t)fine;
  *squares += length * length;
  *sum += length;
}

DVT_EXACT_INLINE int dvt_exact_coarse_value(double x, int exponent, int parts) {
  const int most = (1 << (8 - parts)) - 1;
  const double value = dvt_exact_scale(__builtin_fabs(x), exponent);
  return value < most ? (int)value : most;
}

/* How far the sums of one element of |A||B| are from their lower bound, a sum of products of coarse values: what an
 * error of a half in either integer makes of it. */
typedef struct dvt_exact_growth {
  double even, odd; /* with integers of A of as many bits as those of B, and of one bit more */
  double both;      /* of an error in both integers */
} dvt_exact_growth;

DVT_EXACT_INLINE dvt_exact_growth dvt_exact_growth_of(double norm_a, double sum_a, double norm_b,
                                                      double sum_b, double bound) {
  const double a = norm_a * sum_b, b = norm_b * sum_a;
  return (dvt_exact_growth){(a + b) / bound, (a / 2 + b) / bound, norm_a * norm_b / bound};
}

DVT_EXACT_INLINE void dvt_exact_raise(dvt_exact_growth *growth, const dvt_exact_growth *other) {
  growth->even = other->even > growth->even ? other->even : growth->even;
  growth->odd = other->odd > growth->odd ? other->odd : growth->odd;
  growth->both = other->both > growth->both ? other->both : growth->both;
}

/* Of a vector's norm, as a multiple of 2^top, and of a unit of its coarse values. */
DVT_EXACT_INLINE double dvt_exact_relative_norm(const dvt_exact_vector *v) {
  return v->squares ? dvt_exact_power(dvt_exact_norm(v->squares)) : 0;
}

DVT_EXACT_INLINE double dvt_exact_unit(const dvt_exact_vector *v) {
  return dvt_exact_power(-v->coarse);
}

/* ---- moduli ---- */

DVT_EXACT_INLINE int dvt_exact_modulus(int l) {
  const uint64_t less_1 = l < 8    ? UINT64_C(0xe8eef0f6fafcfeff)
                          : l < 16 ? UINT64_C(0xc0c4c6d2d8dee2e4)
                                   : UINT64_C(0xacb2b4be);
  return (int)(less_1 >> 8 * (l % 8) & 255) + 1;
}

/* The product of all moduli of `count` but number `skipped`. */
DVT_EXACT_INLINE void dvt_exact_product(int count, int skipped, uint64_t word[3]) {
  word[0] = 1;
  word[1] = word[2] = 0;
  for (int l = 0; l < count; l++) {
    const uint64_t by = l == skipped ? 1 : (uint64_t)dvt_exact_modulus(l);
    uint64_t carry = 0;
    for (int i = 0; i < 3; i++) {
      const uint64_t low = (word[i] & UINT32_MAX) * by + carry, high = (word[i] >> 32) * by + (low >> 32);
      word[i] = high << 32 | (low & UINT32_MAX);
      carry = high >> 32;
    }
  }
}

DVT_EXACT_INLINE void dvt_exact_limbs(const uint64_t word[3], double limb[DVT_EXACT_LIMBS]) {
  const uint64_t mask = (UINT64_C(1) << DVT_EXACT_LIMB) - 1;
  limb[0] = (double)(word[0] & mask);
  limb[1] = (double)((word[0] >> 40 | word[1] << 24) & mask);
  limb[2] = (double)(word[1] >> 16 & mask);
  limb[3] = (double)(word[1] >> 56 | word[2] << 8);
}

/* What the product of the others has to be multiplied with to be 1 modulo number l: by Euclid's algorithm. */
DVT_EXACT_INLINE int dvt_exact_inverse(int count, int l) {
  const int p = dvt_exact_modulus(l);
  int others = 1, x = 1, y = 0;
  for (int i = 0; i < count; i++)
    others = i == l ? others : others * (dvt_exact_modulus(i) % p) % p;
  for (int a = others, b = p; a > 1;) {
    const int times = a / b, rest = a % b, next = x - times * y;
    a = b;
    b = rest;
    x = y;
    y = next;
  }
  return x < 0 ? x + p : x;
}

/* ---- sums ---- */

/* Adds value 2^shift to a number of 192 bits, modulo 2^192. */
DVT_EXACT_INLINE void dvt_exact_add_wide(uint64_t word[3], int64_t value, int shift) {
  const uint64_t sign = value < 0 ? ~UINT64_C(0) : 0;
  const int by = shift % 64;
  uint64_t below = 0, carry = 0;
  for (int i = shift / 64, first = i; i < 3; i++) {
    const uint64_t here = i == first ? (uint64_t)value : sign,
                   part = by ? here << by | below >> (64 - by) : here;
    const uint64_t sum = word[i] + part;
    word[i] = sum + carry;
    carry = (sum < part) | (word[i] < sum);
    below = here;
  }
}

/* The number times 2^exponent, rounded to the nearest, to the even one of two, of `digits` bits, the lowest of which is
 * at least 2^least: 53 and -1074 for a double. */
DVT_EXACT_INLINE double dvt_exact_round(uint64_t low, uint64_t middle, uint64_t high, int exponent,
                                        int digits, int least) {
  const bool negative = high >> 63;
  if (negative) {
    low = ~low + 1;
    middle = ~middle + (low == 0);
    high = ~high + (low == 0 && middle == 0);
  }
  int length = 192;
  if (high == 0) {
    high = middle;
    middle = low;
    low = 0;
    length = 128;
    if (high == 0) {
      high = middle;
      middle = 0;
      length = 64;
    }
  }
  if (high == 0)
    return 0;
  const int lead = __builtin_clzll(high);
  if (lead > 0) {
    high = high << lead | middle >> (64 - lead);
    middle = middle << lead;
  }
  const bool more = middle != 0 || low != 0;
  const int top = exponent + length - 1 - lead, room = top - least + 1, kept = room < digits ? room : digits;
  if (kept < 0)
    return negative ? -0.0 : 0.0;
  const int drop = 64 - kept;
  const uint64_t value = drop < 64 ? high >> drop : 0,
                 rest = drop < 64 ? high & ((UINT64_C(1) << drop) - 1) : high,
                 half = UINT64_C(1) << (drop - 1);
  const uint64_t up = rest > half || (rest == half && (more || (value & 1)));
  const int scale = top - kept + 1, most = 2000; /* which makes an infinity of 1 */
  const double rounded = dvt_exact_scale((double)(value + up), scale < most ? scale : most);
  return negative ? -rounded : rounded;
}

/* The sum and what it lacks. */
DVT_EXACT_INLINE double dvt_exact_sum(double a, double b, double *rest) {
  const double sum = a + b, other = sum - a;
  *rest = (a - (sum - other)) + (b - other);
  return sum;
}

/* The number in limbs, integers in doubles of any sign. */
DVT_EXACT_INLINE double dvt_exact_round_limbs(const double limb[DVT_EXACT_LIMBS], int exponent, int digits,
                                              int least) {
  /* A sum of doubles tells how it is rounded, but close to the middle between two, and at the ends of the exponents. */
  double rest[3], high = limb[3] * 0x1p120;
  high = dvt_exact_sum(high, limb[2] * 0x1p80, &rest[0]);
  high = dvt_exact_sum(high, limb[1] * 0x1p40, &rest[1]);
  high = dvt_exact_sum(high, limb[0], &rest[2]);
  const double low = rest[2] + (rest[1] + rest[0]),
               slack =
                   (__builtin_fabs(rest[0]) + __builtin_fabs(rest[1]) + __builtin_fabs(rest[2])) * 0x1p-48,
               below = high + (low - slack), above = high + (low + slack);
  const bool ordinary = exponent > -700 && exponent < 700;
  if (ordinary && digits == 53 && below == above)
    return dvt_exact_scale(below, exponent);
  const double margin = __builtin_fabs(high) * 0x1p-50;
  const float short_below = (float)dvt_exact_scale(below - margin, exponent),
              short_above = (float)dvt_exact_scale(above + margin, exponent);
  if (ordinary && digits == 24 && short_below == short_above)
    return (double)short_below;
  const int64_t mask = (INT64_C(1) << DVT_EXACT_LIMB) - 1;
  const int64_t s0 = (int64_t)limb[0], s1 = (int64_t)limb[1] + (s0 >> 40), s2 = (int64_t)limb[2] + (s1 >> 40),
                s3 = (int64_t)limb[3] + (s2 >> 40);
  const uint64_t r0 = (uint64_t)(s0 & mask), r1 = (uint64_t)(s1 & mask), r2 = (uint64_t)(s2 & mask),
                 r3 = (uint64_t)s3;
  return dvt_exact_round(r0 | r1 << 40, r1 >> 24 | r2 << 16 | r3 << 56, (uint64_t)(s3 >> 8), exponent, digits,
                         least);
}

/* ---- results ---- */

/* *c = alpha r + beta *c, for numbers of one or two parts: the same bits everywhere. beta = 0 does not read C. */
#define DVT_EXACT_DEFINE_BLEND(T, FMA)                                                                       \
  DVT_EXACT_INLINE void dvt_exact_blend_##T(int parts, T alpha, T alpha_i, const T *r, T beta, T beta_i,     \
                                            T *c) {                                                          \
    if (parts == 1) {                                                                                        \
      const T product = alpha == 1 ? r[0] : alpha * r[0];                                                    \
      c[0] = beta == 0 ? product : FMA(beta, c[0], product);                                                 \
      return;                                                                                                \
    }                                                                                                        \
    T real = r[0], imaginary = r[1];                                                                         \
    if (alpha != 1 || alpha_i != 0) {                                                                        \
      real = FMA(-alpha_i, r[1], alpha * r[0]);                                                              \
      imaginary = FMA(alpha_i, r[0], alpha * r[1]);                                                          \
    }                                                                                                        \
    if (beta != 0 || beta_i != 0) {                                                                          \
      const T c_real = c[0], c_imaginary = c[1];                                                             \
      real = FMA(-beta_i, c_imaginary, FMA(beta, c_real, real));                                             \
      imaginary = FMA(beta_i, c_real, FMA(beta, c_imaginary, imaginary));                                    \
    }                                                                                                        \
    c[0] = real;                                                                                             \
    c[1] = imaginary;                                                                                        \
  }
DVT_EXACT_DEFINE_BLEND(double, __builtin_fma)
DVT_EXACT_DEFINE_BLEND(float, __builtin_fmaf)

/* ---- operations ---- */

/* How a product is computed: the moduli that are needed, and the bits of the integers of A and of B. */
typedef struct dvt_exact_choice {
  int moduli; /* 0: not at all */
  int bits[2];
} dvt_exact_choice;

/* What vectors and elements of C ask for, as maxima, in memory that the device writes. */
typedef struct dvt_exact_need {
  dvt_exact_growth growth;
  int32_t bits[2];  /* so that nothing of A and B is rounded */
  int32_t infinite; /* a number is not finite */
  int32_t unused;
} dvt_exact_need;

/* Vectors of A (side 0) or B (side 1), and what is made of them. Element h of vector v is x[v step + h stride]. Planes
 * have the elements of a vector behind each other, `pitch` of them, and vectors behind each other: integers of 8 bits
 * on a device with a stream, else doubles. Planes begin `plane` elements after each other. Elements beyond `length`, up
 * to a multiple of DVT_EXACT_GROUP, are 0; vectors beyond `count`, up to one, are anything. */
typedef struct dvt_exact_vectors {
  davit_type type;
  int side;
  bool conjugate;
  int64_t count, length;
  const void *x;
  int64_t step, stride;
  dvt_exact_vector *vector;
  void *coarse, *planes;
  int64_t pitch, plane;
  int windows;             /* of coarse values, each a plane */
  dvt_exact_choice choice; /* for the planes */
  dvt_exact_need *need;
} dvt_exact_vectors;

/* A tile of C: `rows` vectors of A with `columns` of B, or, where `need` is set, their coarse values. */
typedef struct dvt_exact_tile {
  davit_type type;
  int64_t rows, columns, length;
  const dvt_exact_vector *vector[2];
  const void *planes[2];
  int64_t pitch, plane[2];
  dvt_exact_choice choice;
  double _Complex alpha, beta;
  void *c;
  int64_t ldc;
  void *sums; /* scratch memory: dvt_exact_sum_bytes() */
  size_t sum_bytes;
  int windows; /* of coarse values */
  dvt_exact_need *need;
  /* The triangle of C that is stored, or 0; the imaginary parts of its diagonal count as 0 and become 0; how many rows
   * its first one is below the first column's. */
  char uplo;
  bool hermitian;
  int64_t offset;
} dvt_exact_tile;

DVT_EXACT_INLINE bool dvt_exact_is_stored(char uplo, int64_t row, int64_t column) {
  return uplo == 'L' ? row >= column : uplo == 'U' ? row <= column : true;
}

/* Whether nothing, or not all, of a part of the tile is stored. */
static inline bool dvt_exact_is_outside(char uplo, int64_t row, int64_t rows, int64_t column,
                                        int64_t columns) {
  return !dvt_exact_is_stored(uplo, uplo == 'L' ? row + rows - 1 : row,
                              uplo == 'L' ? column : column + columns - 1);
}

static inline bool dvt_exact_is_cut(char uplo, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  return !dvt_exact_is_stored(uplo, uplo == 'L' ? row : row + rows - 1,
                              uplo == 'L' ? column + columns - 1 : column);
}

/* The whole of a symmetric or hermitian matrix of order n, densely, of the half of it that is stored; both may be the
 * same matrix. */
typedef struct dvt_exact_mirror {
  davit_type type;
  char uplo;
  bool hermitian;
  int64_t n;
  const void *a;
  int64_t lda;
  void *whole;
} dvt_exact_mirror;

/* Measures vectors: fills `vector`, `coarse` and `need`. Cuts them into planes. Multiplies a tile, or looks at what it
 * needs. On a device with streams, and on the CPU. */
davit_status dvt_exact_measure_host(const dvt_site *site, const void *vectors);
davit_status dvt_exact_cut_host(const dvt_site *site, const void *vectors);
davit_status dvt_exact_multiply_host(const dvt_site *site, const void *tile);
davit_status dvt_exact_mirror_host(const dvt_site *site, const void *mirror);

/* Merges what others need. */
void dvt_exact_merge(dvt_exact_need *need, const dvt_exact_need *other);

static inline int64_t dvt_exact_padded(int64_t length) {
  return dvt_divide_up(length, DVT_EXACT_GROUP) * DVT_EXACT_GROUP;
}

static inline int dvt_exact_parts(davit_type type) {
  return type >= DAVIT_COMPLEX_FLOAT ? 2 : 1;
}

static inline bool dvt_exact_is_long(davit_type type) {
  return type == DAVIT_DOUBLE || type == DAVIT_COMPLEX_DOUBLE;
}

/* Moduli that are enough for most products. */
static inline int dvt_exact_usual(davit_type type) {
  return dvt_exact_is_long(type) ? 16 : 8;
}

static inline int dvt_exact_digits(int bits) {
  return (bits + 2 + DVT_EXACT_DIGIT - 1) / DVT_EXACT_DIGIT;
}

/* Planes of a choice for one operand. Of integers of 8 bits a complex number has three: its parts and their sum. */
static inline int dvt_exact_planes(davit_type type, const dvt_exact_choice *choice, int side, bool streams) {
  const int parts = dvt_exact_parts(type);
  return streams ? choice->moduli * (parts == 2 ? 3 : 1) : dvt_exact_digits(choice->bits[side]) * parts;
}

/* The product of so many moduli has this many bits for sums. */
int dvt_exact_room(int moduli);

/* The choice for what so many windows say is needed: where nothing is rounded, if that takes few moduli; else with at
 * least `least` moduli, of which any number says that the first preference is not asked for. moduli = 0: it would take
 * more than DVT_EXACT_MOST, or with one window so many that it is worth looking at others. */
dvt_exact_choice dvt_exact_choose(davit_type type, int64_t length, const dvt_exact_need *need, int windows,
                                  int least);

#endif
