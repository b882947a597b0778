/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a query with many targets on the CPU. Most targets go in batches, 64 side by side in bytes
 * (align_lanes.inc). A score that does not fit a byte is computed again: with the whole batch in words of 16
 * bits if there are many of them, one by one (align_striped.inc) if there are few, or if it does not fit 16
 * bits either. Cost: docs/align.md; memory bytes_of() a thread. */
#include "offload/align.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"
#ifdef DVT_CPU_X86
#include <immintrin.h>
#endif

enum {
  FEW = 6,      /* targets of a batch that are computed again one by one */
  STRETCH = 256 /* symbols of a target, after which a striped pass checks whether its scores still fit */
};

/* What the symbols 0 … 31 of a target score against symbol q of the query: table[q]. */
typedef struct query_tables {
  const dvt_align_query *query;
  int8_t table[DAVIT_ALIGN_SYMBOLS_MAXIMUM][32];
} query_tables;

/* scores[q][l] for the symbols of all lanes; 0 for DVT_ALIGN_PAD. */
static void look_up(const query_tables *t, const uint8_t *symbols, int8_t *scores);

/* Words without sign, for the subtraction that stops at 0. */
typedef uint8_t unsigned_8 __attribute__((vector_size(64)));
typedef uint16_t unsigned_16 __attribute__((vector_size(64)));
typedef uint32_t unsigned_32 __attribute__((vector_size(64)));
#define SATURATED(width, h, o)                                                                               \
  (__typeof__(h))__builtin_elementwise_sub_sat((unsigned_##width)(h), (unsigned_##width)(o))

#define T int8_t
#define NAME(x) x##_byte
#define OPENED(h, open) SATURATED(8, h, open)
#include "offload/align_lanes.inc"

#define T int16_t
#define NAME(x) x##_short
#define OPENED(h, open) SATURATED(16, h, open)
#include "offload/align_lanes.inc"

#define T int16_t
#define NAME(x) x##_striped_short
#define OPENED(h, open) SATURATED(16, h, open)
#include "offload/align_striped.inc"

#define T int32_t
#define NAME(x) x##_striped_int
#define OPENED(h, open) SATURATED(32, h, open)
#include "offload/align_striped.inc"

/* ---- tables ---- */

static void look_up_0(const query_tables *t, const uint8_t *symbols, int8_t *scores) {
  for (int q = 0; q < t->query->scoring->symbols; q++)
    for (int l = 0; l < DVT_ALIGN_LANES; l++)
      scores[q * DVT_ALIGN_LANES + l] = symbols[l] < 32 ? t->table[q][symbols[l]] : 0;
}

#ifdef DVT_CPU_X86
/* A byte shuffle looks up 16 entries, and gives 0 where the index has its highest bit set: so two of them,
 * each with the other's indices made such. */
__attribute__((target("avx2"))) static void look_up_1(const query_tables *t, const uint8_t *symbols,
                                                      int8_t *scores) {
  for (int part = 0; part < DVT_ALIGN_LANES; part += 32) {
    const __m256i at = _mm256_load_si256((const __m256i *)(symbols + part)),
                  low = _mm256_adds_epu8(at, _mm256_set1_epi8(0x70)),
                  high = _mm256_sub_epi8(at, _mm256_set1_epi8(16));
    for (int q = 0; q < t->query->scoring->symbols; q++) {
      const __m128i *table = (const __m128i *)t->table[q];
      const __m256i a = _mm256_broadcastsi128_si256(_mm_loadu_si128(table)),
                    b = _mm256_broadcastsi128_si256(_mm_loadu_si128(table + 1));
      _mm256_store_si256((__m256i *)(scores + q * DVT_ALIGN_LANES + part),
                         _mm256_or_si256(_mm256_shuffle_epi8(a, low), _mm256_shuffle_epi8(b, high)));
    }
  }
}

__attribute__((target("avx512f,avx512bw"))) static void look_up_2(const query_tables *t,
                                                                  const uint8_t *symbols, int8_t *scores) {
  const __m512i at = _mm512_load_si512(symbols), low = _mm512_adds_epu8(at, _mm512_set1_epi8(0x70)),
                high = _mm512_sub_epi8(at, _mm512_set1_epi8(16));
  for (int q = 0; q < t->query->scoring->symbols; q++) {
    const __m128i *table = (const __m128i *)t->table[q];
    const __m512i a = _mm512_broadcast_i32x4(_mm_loadu_si128(table)),
                  b = _mm512_broadcast_i32x4(_mm_loadu_si128(table + 1));
    _mm512_store_si512(scores + q * DVT_ALIGN_LANES,
                       _mm512_or_si512(_mm512_shuffle_epi8(a, low), _mm512_shuffle_epi8(b, high)));
  }
}
#endif

static void look_up(const query_tables *t, const uint8_t *symbols, int8_t *scores) {
  static void (*const variants[])(const query_tables *, const uint8_t *, int8_t *) = {
#define VARIANT(number, attributes) look_up_##number,
      DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
  };
  variants[dvt_cpu_best()](t, symbols, scores);
}

static void make_tables(const dvt_align_query *query, query_tables *t) {
  const int symbols = query->scoring->symbols;
  *t = (query_tables){.query = query};
  for (int q = 0; q < symbols; q++)
    for (int s = 0; s < symbols; s++)
      t->table[q][s] = query->scoring->matrix[q + s * symbols];
}

/* ---- the CPU ---- */

static size_t bytes_of(const dvt_align_query *query) {
  const size_t lanes = 64 * (4 * DAVIT_ALIGN_SYMBOLS_MAXIMUM + 2 * (size_t)query->m),
               striped = 64 * ((size_t)query->scoring->symbols + 2) * ((size_t)query->m / 16 + 1);
  return lanes > striped ? lanes : striped;
}

/* What one thread works with. */
typedef struct worker {
  const dvt_align_targets *targets;
  const query_tables *tables;
  void *memory;
  bool wide; /* the last batch needed 16 bits, so the next one begins with them */
  int32_t *scores;
} worker;

static void do_single(const worker *w, int64_t k) {
  const dvt_align_query *query = w->tables->query;
  const int64_t begin = w->targets->offsets[k], n = w->targets->offsets[k + 1] - begin;
  int32_t score = pair_striped_short(query, n, w->targets->symbols + begin, w->memory);
  if (score > INT16_MAX - query->largest)
    score = pair_striped_int(query, n, w->targets->symbols + begin, w->memory);
  w->scores[k] = score;
}

static int count_above(const int32_t *best, int count, int32_t most) {
  int above = 0;
  for (int l = 0; l < count; l++)
    above += best[l] > most;
  return above;
}

static void do_batch(worker *w, int64_t b) {
  const dvt_align_targets *t = w->targets;
  const int64_t first = t->singles + b * DVT_ALIGN_LANES, left = t->count - first,
                rows = t->rows[b + 1] - t->rows[b];
  const int count = left < DVT_ALIGN_LANES ? (int)left : DVT_ALIGN_LANES;
  const uint8_t *lanes = t->lanes + t->rows[b] * DVT_ALIGN_LANES;
  int32_t best[DVT_ALIGN_LANES], most = INT8_MAX - w->tables->query->largest;
  if (!w->wide)
    batch_byte(w->tables, lanes, rows, 0, w->memory, best);
  if (w->wide || count_above(best, count, most) > FEW) {
    most = INT16_MAX - w->tables->query->largest;
    for (int half = 0; half < count; half += LANES_short)
      batch_short(w->tables, lanes, rows, half, w->memory, best);
    w->wide = count_above(best, count, INT8_MAX - w->tables->query->largest) > FEW;
  }
  for (int l = 0; l < count; l++)
    if (best[l] > most)
      do_single(w, first + l);
    else
      w->scores[first + l] = best[l];
}

davit_status dvt_align_host(const dvt_site *site, const void *work) {
  const dvt_align_work *a = work;
  const dvt_align_targets *targets = a->targets;
  const dvt_align_query *query = a->query;
  if (query->m == 0) {
    memset(a->scores, 0, (size_t)targets->count * sizeof *a->scores);
    return DAVIT_SUCCESS;
  }
  atomic_bool failed = false;
  query_tables tables;
  make_tables(query, &tables);
#pragma omp parallel num_threads(site->threads)
  {
    worker w = {.targets = targets,
                .tables = &tables,
                .memory = dvt_allocate_aligned(bytes_of(query)),
                .scores = a->scores};
    if (!w.memory)
      atomic_store(&failed, true);
#pragma omp for schedule(dynamic) nowait
    for (int64_t k = 0; k < targets->singles; k++)
      if (w.memory)
        do_single(&w, k);
#pragma omp for schedule(dynamic)
    for (int64_t b = 0; b < targets->batches; b++)
      if (w.memory)
        do_batch(&w, b);
    free(w.memory);
  }
  return atomic_load(&failed) ? davit_fail(DAVIT_OUT_OF_HOST_MEMORY,
                                           "no memory to align a query of %lld symbols", (long long)query->m)
                              : DAVIT_SUCCESS;
}
