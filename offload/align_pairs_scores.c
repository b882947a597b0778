/* SPDX-License-Identifier: Apache-2.0 */
/* With few symbols a cell's two symbols are one index of a table that two byte shuffles hold, for two rows at a time.
 * With more of them 16 rows of two lanes are looked up at once, each lane in the table of its target's symbol; then the
 * bytes of 16 lanes change places, from lane by lane to row by row. */
#include "offload/align_pairs_scores.h"

#include <string.h>

#include "src/base/arithmetic.h"
#include "src/base/cpu.h"
#ifdef DVT_CPU_X86
#include <immintrin.h>
#endif

enum {
  LANES = DVT_PAIR_LANES,
  ROWS = DVT_PAIR_ROWS,
  PAD = 255 /* the symbol of what is beyond */
};

/* What the symbol's row of the matrix has, by query symbols; nothing for PAD. */
static void fill_table(dvt_pair_symbols *w) {
  const davit_align_scoring *s = w->scoring;
  const size_t symbols = (size_t)s->symbols;
  memset(w->table, 0, sizeof w->table);
  for (size_t t = 0; t < symbols && !w->few; t++)
    memcpy(w->table[t], s->matrix + t * symbols, symbols);
  if (w->few)
    memcpy(w->table[0], s->matrix, symbols * symbols);
}

/* Where row i (from 1) of a lane lies among the symbols of queries. Two lanes that are looked up together, l and
 * l + LANES / 2, are neighbours. */
static int64_t query_place(const dvt_pair_symbols *w, int64_t i, int l) {
  const int64_t block = (i - 1) / ROWS, beside = 2 * (l % (LANES / 2)) + l / (LANES / 2);
  return w->few ? i * LANES + l : (block * LANES + beside) * ROWS + (i - 1) % ROWS;
}

size_t dvt_pair_query_bytes(int64_t m) {
  return (size_t)(dvt_divide_up(m, ROWS) + 1) * ROWS * LANES;
}

/* Across there is a column 0, and the one before it. */
size_t dvt_pair_target_bytes(int64_t n) {
  return dvt_aligned_up((size_t)(n + 2) * LANES);
}

/* Where column j (from 1) lies. */
static int64_t target_place(const dvt_pair_symbols *w, int64_t j) {
  return (w->across && w->few ? w->n - j : j - 1) * LANES;
}

typedef uint8_t bytes __attribute__((vector_size(ROWS)));

/* A sequence of a lane; `times`: what its symbols are multiplied by. */
typedef struct lane_symbols {
  const uint8_t *at;
  int64_t count;
  int step, times, pad;
} lane_symbols;

/* 16 symbols from place `from` on, those beyond the end as well. */
static bytes take(const lane_symbols *s, int64_t from) {
  bytes x = (bytes){0} + (uint8_t)s->pad;
  if (from + ROWS > s->count) {
    for (int64_t k = from; k < s->count; k++)
      x[k - from] = (uint8_t)(s->at[k * s->step] * s->times);
    return x;
  }
  memcpy(&x, s->step > 0 ? s->at + from : s->at - from - (ROWS - 1), sizeof x);
  if (s->step < 0)
    x = __builtin_shufflevector(x, x, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return x * (uint8_t)s->times;
}

/* Rows become columns. Each time, halves of the rows are interleaved. */
static void transpose(bytes *x) {
  for (int round = 0; round < 4; round++) {
    bytes y[LANES];
#pragma unroll
    for (int k = 0; k < LANES / 2; k++) {
      const bytes a = x[k], b = x[k + LANES / 2];
      y[2 * k] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      y[2 * k + 1] =
          __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    memcpy(x, y, sizeof y);
  }
}

static lane_symbols query_of(const dvt_pair_symbols *w, int l) {
  const dvt_pair_part *p = &w->parts[l];
  return l < w->count ? (lane_symbols){p->query, p->m, p->step, 1, PAD}
                      : (lane_symbols){.step = 1, .pad = PAD};
}

static lane_symbols target_of(const dvt_pair_symbols *w, int l) {
  const dvt_pair_part *p = &w->parts[l];
  const int pad = w->few ? PAD : DAVIT_ALIGN_SYMBOLS_MAXIMUM, times = w->few ? w->scoring->symbols : 1;
  return l < w->count ? (lane_symbols){p->target, p->n, p->step, times, pad}
                      : (lane_symbols){.step = 1, .pad = pad};
}

static void fill_queries(const dvt_pair_symbols *w) {
  lane_symbols lanes[LANES];
  bytes x[LANES];
  for (int l = 0; l < LANES; l++)
    lanes[l] = query_of(w, l);
  for (int64_t from = 0; from < w->m; from += ROWS) {
    for (int l = 0; l < LANES; l++)
      x[l] = take(&lanes[l], from);
    if (w->few)
      transpose(x);
    for (int k = 0; k < LANES; k++) /* a row, or a lane */
      memcpy(w->queries + query_place(w, w->few ? from + 1 + k : from + 1, w->few ? 0 : k), &x[k],
             sizeof x[k]);
  }
}

static void fill_targets(const dvt_pair_symbols *w) {
  lane_symbols lanes[LANES];
  bytes x[LANES];
  for (int l = 0; l < LANES; l++)
    lanes[l] = target_of(w, l);
  for (int64_t from = 0; from < w->n; from += ROWS) {
    for (int l = 0; l < LANES; l++)
      x[l] = take(&lanes[l], from);
    transpose(x);
    for (int64_t k = 0; k < dvt_at_most(ROWS, w->n - from); k++)
      memcpy(w->targets + target_place(w, from + 1 + k), &x[k], sizeof x[k]);
  }
}

void dvt_pair_fill_symbols(dvt_pair_symbols *w) {
  fill_table(w);
  memset(w->queries, PAD, dvt_pair_query_bytes(w->m));
  memset(w->targets, w->few ? PAD : DAVIT_ALIGN_SYMBOLS_MAXIMUM, dvt_pair_target_bytes(w->n));
  fill_queries(w);
  fill_targets(w);
}

static int8_t score_of_few(const dvt_pair_symbols *w, int query, int target) {
  return query + target < 32 ? w->table[0][query + target] : 0;
}

static void look_up_few_0(const dvt_pair_symbols *w, const uint8_t *target, int64_t from, int64_t to,
                          int8_t *scores) {
  for (int64_t i = from; i <= to; i++)
    for (int l = 0; l < LANES; l++)
      scores[i * LANES + l] = score_of_few(w, w->queries[i * LANES + l], target[l]);
}

/* `targets`: of the column of row 0. */
static void look_across_0(const dvt_pair_symbols *w, const uint8_t *targets, int64_t from, int64_t to,
                          int8_t *scores) {
  for (int64_t i = from; i <= to; i++)
    look_up_few_0(w, targets + i * LANES, i, i, scores);
}

static void look_up_many_0(const dvt_pair_symbols *w, const uint8_t *target, int64_t from, int64_t to,
                           int8_t *scores) {
  for (int64_t i = from; i <= to; i++)
    for (int l = 0; l < LANES; l++) {
      const uint8_t query = w->queries[query_place(w, i, l)];
      scores[i * LANES + l] = query == PAD ? 0 : w->table[target[l]][query];
    }
}

#ifdef DVT_CPU_X86
/* A byte shuffle looks up 16 entries, and gives 0 where the index has its highest bit set. */
#define LOW_INDEX(at) _mm256_adds_epu8(at, _mm256_set1_epi8(0x70))
#define HIGH_INDEX(at) _mm256_sub_epi8(at, _mm256_set1_epi8(16))

/* Looks 32 entries up: each half of `at` in its half of the tables `low`, of the first 16 entries, and `high`, of the
 * last. */
__attribute__((target("avx2"))) static inline __m256i entries(__m256i low, __m256i high, __m256i at) {
  return _mm256_or_si256(_mm256_shuffle_epi8(low, LOW_INDEX(at)), _mm256_shuffle_epi8(high, HIGH_INDEX(at)));
}

/* Two rows a vector. */
__attribute__((target("avx2"))) static void look_up_few_1(const dvt_pair_symbols *w, const uint8_t *target,
                                                          int64_t from, int64_t to, int8_t *scores) {
  const __m128i *table = (const __m128i *)w->table[0];
  const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128(table)),
                high = _mm256_broadcastsi128_si256(_mm_loadu_si128(table + 1)),
                column = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)target));
  for (int64_t i = from; i <= to; i += 2) {
    const __m256i at =
        _mm256_adds_epu8(_mm256_loadu_si256((const __m256i *)(w->queries + i * LANES)), column);
    _mm256_storeu_si256((__m256i *)(scores + i * LANES), entries(low, high, at));
  }
}

__attribute__((target("avx2"))) static void look_across_1(const dvt_pair_symbols *w, const uint8_t *targets,
                                                          int64_t from, int64_t to, int8_t *scores) {
  const __m128i *table = (const __m128i *)w->table[0];
  const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128(table)),
                high = _mm256_broadcastsi128_si256(_mm_loadu_si128(table + 1));
  for (int64_t i = from; i <= to; i += 2) {
    const __m256i at = _mm256_adds_epu8(_mm256_loadu_si256((const __m256i *)(w->queries + i * LANES)),
                                        _mm256_loadu_si256((const __m256i *)(targets + i * LANES)));
    _mm256_storeu_si256((__m256i *)(scores + i * LANES), entries(low, high, at));
  }
}

/* 16 rows of two lanes, one in each half of the vector. */
__attribute__((target("avx2"))) static inline __m256i
two_lanes(const dvt_pair_symbols *w, const uint8_t *target, const uint8_t *queries, int l) {
  const __m128i *one = (const __m128i *)w->table[target[l]],
                *other = (const __m128i *)w->table[target[l + LANES / 2]];
  const __m256i at = _mm256_loadu_si256((const __m256i *)(queries + 2 * ROWS * l)),
                low = _mm256_loadu2_m128i(other, one), high = _mm256_loadu2_m128i(other + 1, one + 1);
  return entries(low, high, at);
}

__attribute__((target("avx2"))) static void look_up_many_1(const dvt_pair_symbols *w, const uint8_t *target,
                                                           int64_t from, int64_t to, int8_t *scores) {
  for (int64_t block = (from - 1) / ROWS; block * ROWS < to; block++) {
    const uint8_t *queries = w->queries + block * ROWS * LANES;
    __m256i r[8], s[8];
    for (int l = 0; l < 8; l++)
      r[l] = two_lanes(w, target, queries, l);
    for (int k = 0; k < 4; k++) { /* bytes of two lanes side by side, rows 0 … 7 and 8 … 15 */
      s[k] = _mm256_unpacklo_epi8(r[2 * k], r[2 * k + 1]);
      s[k + 4] = _mm256_unpackhi_epi8(r[2 * k], r[2 * k + 1]);
    }
    for (int k = 0; k < 8;
         k += 2) { /* of four lanes: r[k] has rows 2 k …, r[k + 1] the same of the other four */
      r[k / 4 * 4 + k % 4 / 2] = _mm256_unpacklo_epi16(s[k], s[k + 1]);
      r[k / 4 * 4 + k % 4 / 2 + 2] = _mm256_unpackhi_epi16(s[k], s[k + 1]);
    }
    int8_t *to_rows = scores + (block * ROWS + 1) * LANES;
    for (int k = 0; k < 8; k += 2) { /* of eight lanes in each half, two rows */
      const __m256i low = _mm256_unpacklo_epi32(r[k], r[k + 1]), high = _mm256_unpackhi_epi32(r[k], r[k + 1]);
      _mm256_storeu_si256((__m256i *)(to_rows + 2 * k * LANES), _mm256_permute4x64_epi64(low, 0xd8));
      _mm256_storeu_si256((__m256i *)(to_rows + (2 * k + 2) * LANES), _mm256_permute4x64_epi64(high, 0xd8));
    }
  }
}
#undef LOW_INDEX
#undef HIGH_INDEX
#endif

typedef void look_up(const dvt_pair_symbols *w, const uint8_t *target, int64_t from, int64_t to,
                     int8_t *scores);

void dvt_pair_look_up(const dvt_pair_symbols *w, int64_t j, int64_t from, int64_t to, int8_t *scores) {
  static look_up *const few[] = {
#ifdef DVT_CPU_X86
      look_up_few_0, look_up_few_1, look_up_few_1};
#else
      look_up_few_0};
#endif
  static look_up *const many[] = {
#ifdef DVT_CPU_X86
      look_up_many_0, look_up_many_1, look_up_many_1};
#else
      look_up_many_0};
#endif
  (w->few ? few : many)[dvt_cpu_best()](w, w->targets + target_place(w, j), from, to, scores);
}

void dvt_pair_look_up_across(const dvt_pair_symbols *w, int64_t number, int64_t from, int64_t to,
                             int8_t *scores) {
  static look_up *const across[] = {
#ifdef DVT_CPU_X86
      look_across_0, look_across_1, look_across_1};
#else
      look_across_0};
#endif
  across[dvt_cpu_best()](w, w->targets + (w->n - number) * LANES, from, to, scores);
}
