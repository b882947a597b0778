/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products as kernels: vectors are measured and cut into residues, sums of integers become numbers.
 *
 * Bytes: a vector is read twice to be measured and once to be cut; a residue is written once, a sum read once. */
#include "offload/exact.h"

#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/launch.h"
#include "src/base/arithmetic.h"

enum {
  TEAM = 128,
  GROUP = DVT_EXACT_GROUP,
  SLOTS = 8, /* vectors of a team whose elements lie beside those of other vectors; */
  LINES = 4, /* of one whose own elements lie behind each other */
  ROWS = 4,  /* of C for a thread */
  MOST_TEAMS = 132 * 16,
  LASTING = 132 * 4,               /* teams that make a table first */
  COLUMNS = 16,                    /* of coarse sums at once */
  AHEAD = 5,                       /* sums that a thread waits for together */
  LINE = TEAM / SLOTS * GROUP + 16 /* bytes of a vector in the team's memory, so that banks do not clash */
};

#ifdef DVT_NVIDIA
/* sum + the products of the bytes of `numbers`, without a sign, and of `factors`, with one. */
DVT_INLINE int add_bytes(uint32_t numbers, uint32_t factors, int sum) {
#ifdef __NVPTX__
  int result;
  __asm__("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(numbers), "r"(factors), "r"(sum));
  return result;
#else
  for (int i = 0; i < 4; i++)
    sum += (int)(numbers >> 8 * i & 255) * (int8_t)(factors >> 8 * i);
  return sum;
#endif
}

DVT_INLINE uint32_t multiply_high(uint32_t a, uint32_t b) {
  return (uint32_t)((uint64_t)a * b >> 32);
}

/* The maximum of an integer in memory, and of a double that is not negative. */
DVT_INLINE void raise_integer(int32_t *at, int32_t value) {
  if (value > *(volatile int32_t *)at)
    __atomic_fetch_max(at, value, __ATOMIC_RELAXED);
}

DVT_INLINE void raise_double(double *at, double value) {
  if (value > *(volatile double *)at)
    __atomic_fetch_max((unsigned long long *)(void *)at, (unsigned long long)dvt_exact_bits_of(value),
                       __ATOMIC_RELAXED);
}

/* Which vector of its team a thread works at, and its place among those that work at it. Neighbouring threads read
 * neighbouring vectors, or, where a vector's elements lie behind each other, neighbouring groups of them. */
typedef struct share {
  int slots, slot, place, places;
} share;

DVT_INLINE share share_of(int64_t stride) {
  const int thread = dvt_thread();
  return stride == 1 ? (share){LINES, thread / 32, thread % 32, 32}
                     : (share){SLOTS, thread % SLOTS, thread / SLOTS, TEAM / SLOTS};
}

/* What a modulus does with integers of `words` words, to which half of their range is added so that they have no sign:
 * factors of their bytes, a multiple of the modulus that takes away what was added, and the reciprocal. */
typedef struct modulus {
  uint32_t factor[3];
  int start;
  uint32_t reciprocal;
  int value, half;
} modulus;

DVT_INLINE int remainder_of(int value, int p) {
  const int rest = value % p;
  return rest < 0 ? rest + p : rest;
}

/* Residues of side 0 are multiplied by what the Chinese remainder theorem wants of them, so that nobody else is. */
DVT_INLINE modulus modulus_of(int count, int l, int side, int words) {
  enum { BYTES_SUM = 12 * 255 * 128 };
  const int p = dvt_exact_modulus(l), fold = side == 0 ? dvt_exact_inverse(count, l) : 1;
  modulus m = {.value = p, .half = p / 2, .reciprocal = (uint32_t)((UINT64_C(1) << 32) / (unsigned)p + 1)};
  int power = fold % p, added = 0;
#pragma unroll /* so that the factors are registers */
  for (int byte = 0; byte < 4 * words; byte++) {
    const int factor = power > (p - 1) / 2 ? power - p : power;
    m.factor[byte / 4] |= (uint32_t)(factor & 255) << 8 * (byte % 4);
    if (byte == 4 * words - 1)
      added = remainder_of(64 * power, p);
    power = power * 256 % p;
  }
  m.start = (BYTES_SUM / p + 2) * p + m.half - added;
  return m;
}

/* From 0 to p - 1: the residue and half of the modulus. */
DVT_INLINE uint32_t residue_of(const uint32_t *word, int words, const modulus *m) {
  int sum = m->start;
#pragma unroll
  for (int i = 0; i < words; i++)
    sum = add_bytes(word[i], m->factor[i], sum);
  return (uint32_t)sum - (uint32_t)m->value * multiply_high((uint32_t)sum, m->reciprocal);
}

/* An integer as words, with 2^(32 words - 2) added. */
DVT_INLINE void words_of(double integer, int words, uint32_t *word) {
  uint64_t rest;
  if (words == 2) {
    rest = (uint64_t)(int64_t)integer + (UINT64_C(1) << 62);
    word[0] = (uint32_t)rest;
    word[1] = (uint32_t)(rest >> 32);
    return;
  }
  const double high = __builtin_floor(integer * 0x1p-32);
  word[0] = (uint32_t)(integer - high * 0x1p32);
  rest = (uint64_t)(int64_t)high + (UINT64_C(1) << 62);
  word[1] = (uint32_t)rest;
  word[2] = (uint32_t)(rest >> 32);
}

/* Four residues of the sums as bytes with a sign. */
DVT_INLINE uint32_t pack(const uint32_t *residue, int half) {
  uint32_t bytes = 0;
#pragma unroll
  for (int i = 0; i < 4; i++)
    bytes |= ((residue[i] - (uint32_t)half) & 255) << 8 * i;
  return bytes;
}

/* ---- from sums to numbers ---- */

/* What the sums of a modulus are multiplied with: the product of the others in limbs, and a reciprocal. */
typedef struct weight {
  double limb[DVT_EXACT_LIMBS], share;
  int value, reciprocal;
} weight;

DVT_INLINE void set_weights(int count, DVT_TEAM weight *weights) {
  for (int l = dvt_thread(); l <= count; l += TEAM) {
    uint64_t word[3];
    double limb[DVT_EXACT_LIMBS];
    dvt_exact_product(count, l, word); /* number `count`: of all */
    dvt_exact_limbs(word, limb);
    const int p = dvt_exact_modulus(l < count ? l : 0);
    for (int i = 0; i < DVT_EXACT_LIMBS; i++)
      weights[l].limb[i] = limb[i];
    weights[l].share = 1.0 / p;
    weights[l].value = p;
    weights[l].reciprocal = (int)(((INT64_C(1) << 33) / p + 1) / 2);
  }
  dvt_barrier();
}

/* A number that is the same modulo the modulus, and less than it and a half. */
DVT_INLINE int reduce(int sum, int value, int reciprocal) {
  return sum - value * (int)((int64_t)sum * reciprocal >> 32);
}

/* A small integer as a double: conversions are slow. */
DVT_INLINE double small_double(int value) {
  const uint64_t bits = UINT64_C(0x4330000000000000) | (uint32_t)(value + (1 << 20));
  double shifted;
  __builtin_memcpy(&shifted, &bits, sizeof shifted);
  return shifted - (0x1p52 + 0x1p20);
}

typedef struct number {
  double limb[DVT_EXACT_LIMBS], share;
} number;

DVT_INLINE void add_residue(number *n, int residue, const DVT_TEAM weight *w, int limbs) {
  const double factor = small_double(residue);
  n->share += factor * w->share;
#pragma unroll
  for (int i = 0; i < limbs; i++)
    n->limb[i] += factor * w->limb[i];
}

/* Takes the multiple of the product of all moduli away that is too much. */
DVT_INLINE double round_number(number *n, const DVT_TEAM weight *all, int exponent, int digits, int least) {
  const double times = __builtin_rint(n->share);
#pragma unroll
  for (int i = 0; i < DVT_EXACT_LIMBS; i++)
    n->limb[i] -= times * all->limb[i];
  return dvt_exact_round_limbs(n->limb, exponent, digits, least);
}

/* ---- what is needed ---- */

/* What the team knows of the vectors that are the columns of its sums. */
typedef struct column_table {
  double norm[COLUMNS], sum[COLUMNS], unit[COLUMNS];
} column_table;

/* The largest lower bound of the windows, from sums of coarse values in runs, of ROWS rows. */
DVT_INLINE void find_bounds(const int *sums, int64_t plane, int windows, int64_t runs, double *best) {
#pragma unroll
  for (int i = 0; i < ROWS; i++)
    best[i] = 0;
  for (int window = 0; window < windows; window++) {
    double product[ROWS] = {0};
    for (int64_t run = 0; run < runs; run++) {
      int word[ROWS];
      dvt_load_constant_16(sums + (run * windows + window) * plane, word);
#pragma unroll
      for (int i = 0; i < ROWS; i++)
        product[i] += word[i];
    }
    const double unit = dvt_exact_power(-2 * DVT_EXACT_STEP * window);
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      best[i] = product[i] * unit > best[i] ? product[i] * unit : best[i];
  }
}

/* As dvt_exact_growth. A thread has ROWS rows, and divides only where it may find more than before. */
DVT_INLINE void find_growth(const int *sums, int64_t plane, int windows, int64_t runs, int64_t ld,
                            int64_t rows, int64_t columns, const dvt_exact_vector *a,
                            const dvt_exact_vector *b, dvt_exact_need *need, int uplo, int64_t offset) {
  DVT_SHARED column_table table;
  const int64_t lines = (rows + TEAM * ROWS - 1) / (TEAM * ROWS),
                row = (dvt_team() % lines * TEAM + dvt_thread()) * ROWS, first = dvt_team() / lines * COLUMNS;
  const int count = columns - first < COLUMNS ? (int)(columns - first) : COLUMNS;
  if (dvt_thread() < count) {
    const dvt_exact_vector *v = &b[first + dvt_thread()];
    table.norm[dvt_thread()] = dvt_exact_relative_norm(v);
    table.sum[dvt_thread()] = (double)v->sum;
    table.unit[dvt_thread()] = dvt_exact_unit(v);
  }
  dvt_barrier();
  if (row >= rows)
    return;
  double norm_a[ROWS], sum_a[ROWS], unit_a[ROWS];
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    const dvt_exact_vector *v = &a[row + i < rows ? row + i : row];
    norm_a[i] = dvt_exact_relative_norm(v);
    sum_a[i] = (double)v->sum;
    unit_a[i] = dvt_exact_unit(v);
  }
  dvt_exact_growth most = {0, 0, 0};
  for (int j = 0; j < count; j++) {
    double best[ROWS];
    find_bounds(sums + (first + j) * ld + row, plane, windows, runs, best);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      const double bound = best[i] * unit_a[i] * table.unit[j], nearly = bound * (1 - 0x1p-40),
                   from_b = norm_a[i] * table.sum[j], from_a = table.norm[j] * sum_a[i];
      if (norm_a[i] > 0 && table.norm[j] > 0 && row + i < rows &&
          dvt_exact_is_stored((char)uplo, row + i + offset, first + j) &&
          (from_b + from_a >= most.even * nearly || from_b / 2 + from_a >= most.odd * nearly ||
           norm_a[i] * table.norm[j] >= most.both * nearly)) {
        const dvt_exact_growth growth =
            dvt_exact_growth_of(norm_a[i], sum_a[i], table.norm[j], table.sum[j], bound);
        dvt_exact_raise(&most, &growth);
      }
    }
  }
  raise_double(&need->growth.even, most.even);
  raise_double(&need->growth.odd, most.odd);
  raise_double(&need->growth.both, most.both);
}
#endif

DVT_NVIDIA_REGION(dvt_exact_growth_region, find_growth, TEAM, (sums, a, b, need),
                  (const int *sums, int64_t plane, int64_t windows, int64_t runs, int64_t ld, int64_t rows,
                   int64_t columns, const dvt_exact_vector *a, const dvt_exact_vector *b,
                   dvt_exact_need *need, int64_t uplo, int64_t offset),
                  sums, plane, (int)windows, runs, ld, rows, columns, a, b, need, (int)uplo, offset)

#define EACH "offload/exact.inc"
#include "offload/each_floating.inc"

/* ---- forms ---- */

davit_status dvt_exact_measure_stream(const dvt_site *site, const void *vectors) {
  const dvt_exact_vectors *v = vectors;
  if (v->count == 0)
    return DAVIT_SUCCESS;
  return (dvt_exact_is_long(v->type) ? double_launch_measure : float_launch_measure)(site, v);
}

davit_status dvt_exact_cut_stream(const dvt_site *site, const void *vectors) {
  const dvt_exact_vectors *v = vectors;
  if (v->count == 0)
    return DAVIT_SUCCESS;
  return (dvt_exact_is_long(v->type) ? double_launch_cut : float_launch_cut)(site, v);
}

davit_status dvt_exact_mirror_stream(const dvt_site *site, const void *mirror) {
  const dvt_exact_mirror *m = mirror;
  return (dvt_exact_is_long(m->type) ? double_launch_mirror : float_launch_mirror)(site, m);
}

static int planes_of(const dvt_exact_tile *t) {
  return t->need ? t->windows : dvt_exact_planes(t->type, &t->choice, 0, true);
}

size_t dvt_exact_sum_bytes(const dvt_exact_tile *tile, int64_t rows, int64_t columns) {
  return (size_t)(dvt_exact_padded(rows) * dvt_exact_padded(columns) *
                  dvt_divide_up(tile->length, DVT_EXACT_RUN) * planes_of(tile)) *
         sizeof(int);
}

static davit_status multiply_part(const dvt_site *site, const dvt_exact_tile *t) {
  const int64_t runs = dvt_divide_up(t->length, DVT_EXACT_RUN), m = dvt_exact_padded(t->rows),
                n = dvt_exact_padded(t->columns), plane = m * n, count = planes_of(t);
  int *sums = t->sums;
  for (int64_t run = 0; run < runs; run++) {
    const int64_t first = run * DVT_EXACT_RUN;
    DVT_TRY(dvt_exact_integers_stream(
        site, &(dvt_exact_integers){.m = m,
                                    .n = n,
                                    .length = dvt_at_most(dvt_exact_padded(t->length) - first, DVT_EXACT_RUN),
                                    .pitch = t->pitch,
                                    .count = (int)count,
                                    .a = (const int8_t *)t->planes[0] + first,
                                    .b = (const int8_t *)t->planes[1] + first,
                                    .plane_a = t->plane[0],
                                    .plane_b = t->plane[1],
                                    .c = sums + run * count * plane,
                                    .plane_c = plane}));
  }
  if (!t->need)
    return (dvt_exact_is_long(t->type) ? double_launch_join : float_launch_join)(site, t);
  const dvt_exact_vector *a = t->vector[0], *b = t->vector[1];
  const int64_t windows = t->windows, uplo = t->uplo;
  dvt_exact_need *need = t->need;
  DVT_RUN(site, dvt_exact_growth_region,
          dvt_divide_up(t->rows, TEAM * ROWS) * dvt_divide_up(t->columns, COLUMNS), TEAM, (const int *)sums,
          plane, windows, runs, m, t->rows, t->columns, a, b, need, uplo, t->offset);
  return DAVIT_SUCCESS;
}

/* In squares, whose products are faster than those of stripes, as far as there is room for sums. */
davit_status dvt_exact_multiply_stream(const dvt_site *site, const void *tile) {
  const dvt_exact_tile *t = tile;
  int64_t rows = dvt_at_most(dvt_exact_padded(t->rows), DVT_EXACT_SQUARE),
          columns = dvt_at_most(dvt_exact_padded(t->columns), DVT_EXACT_SQUARE);
  while (dvt_exact_sum_bytes(t, rows, columns) > t->sum_bytes)
    *(rows > columns ? &rows : &columns) = dvt_exact_padded((rows > columns ? rows : columns) / 2);
  rows = dvt_exact_padded(dvt_divide_up(t->rows, dvt_divide_up(t->rows, rows)));
  columns = dvt_exact_padded(dvt_divide_up(t->columns, dvt_divide_up(t->columns, columns)));
  for (int64_t j = 0; j < t->columns; j += columns)
    for (int64_t i = 0; i < t->rows; i += rows) {
      dvt_exact_tile part = *t;
      part.offset += i - j;
      part.rows = dvt_at_most(t->rows - i, rows);
      part.columns = dvt_at_most(t->columns - j, columns);
      part.vector[0] += i;
      part.vector[1] += j;
      part.planes[0] = (const int8_t *)t->planes[0] + i * t->pitch;
      part.planes[1] = (const int8_t *)t->planes[1] + j * t->pitch;
      part.c = (char *)t->c + (size_t)(i + j * t->ldc) * davit_type_bytes(t->type);
      if (!dvt_exact_is_outside(t->uplo, part.offset, part.rows, 0, part.columns))
        DVT_TRY(multiply_part(site, &part));
    }
  return DAVIT_SUCCESS;
}
