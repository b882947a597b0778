/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a query with many targets on the CPU. Most targets go in batches, 64 side by side in bytes
 * (align_lanes.inc). A score that does not fit a byte is computed again: with the whole batch in words of
 * 16 bits if there are many of them, one by one if there are few. One by one the query is striped
 * (align_striped.inc): in bytes, which hold the scores of most pairs that are not related, and from where
 * they do not, in 16 bits. Pairs whose scores these may not hold, or that are too long for the caches, take
 * a sweep in tiles (align_sweep.h), a few long targets each by all threads. A target that is far longer than the
 * query is folded: its parts are a batch, and overlap by what an alignment may span (reach_of()), so that one
 * of them holds the best alignment whole. Cost: docs/notes/align.md; memory bytes_of() and a team's a thread. */
#include "offload/align.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"
#include "src/base/error.h"
#ifdef DVT_CPU_X86
#include <immintrin.h>
#endif

enum {
  FEW = 6,        /* targets of a batch that are computed again one by one */
  SHORT = 256,    /* fewer symbols are too few for a sweep in tiles */
  BANDS = 2,      /* threads that share a long target are at least so many, */
  FASTER = 4,     /* and so many if one may stripe it instead, in bytes: 2.6 times as fast as a sweep */
  NEAR = 1 << 20, /* bytes that a second cache has */
  ROOM = 2,       /* reaches that a lane of a folded target, or a piece of its rows, has at least, */
  PLENTY = 16,    /* and so many where the pieces are enough for all threads */
  SHARES = 4      /* pieces for each thread */
};

_Static_assert((SHORT - 1) * INT8_MAX <= INT16_MAX, "scores of striped pairs fit 16 bits");

/* What the symbols 0 … 31 of a target score against symbol q of the query, or at place q of a profile: table[q], where
 * there are batches. What the symbols of the query score against symbol t of a target: across[t], without a profile. */
typedef struct query_tables {
  const dvt_align_query *query;
  int8_t (*table)[32];
  int8_t own[DAVIT_ALIGN_SYMBOLS_MAXIMUM][32], across[DAVIT_ALIGN_SYMBOLS_MAXIMUM][32];
  uint8_t places[DAVIT_ALIGN_SYMBOLS_MAXIMUM]; /* 0, 1, … */
} query_tables;

/* Rows first … first + count - 1 of lanes. Below the last of `height` rows each lane goes on with the next one's
 * first: what lies there is the same folded target. */
typedef struct batch_rows {
  const uint8_t *lanes;
  int64_t height, first, count;
} batch_rows;

static const uint8_t *row_at(const batch_rows *rows, int64_t at, uint8_t *moved) {
  if (at < rows->height)
    return rows->lanes + at * DVT_ALIGN_LANES;
  const int64_t over = dvt_at_most(at / rows->height, DVT_ALIGN_LANES);
  memset(moved, DVT_ALIGN_PAD, DVT_ALIGN_LANES);
  memcpy(moved, rows->lanes + at % rows->height * DVT_ALIGN_LANES + over, (size_t)(DVT_ALIGN_LANES - over));
  return moved;
}

/* scores[k][l] by table k of `count` for the symbols of DVT_ALIGN_LANES lanes; 0 for DVT_ALIGN_PAD. */
static void look_up(const int8_t tables[][32], int count, const uint8_t *symbols, int8_t *scores);

/* Words without sign, for the subtraction that stops at 0. */
typedef uint8_t unsigned_8 __attribute__((vector_size(64)));
typedef uint16_t unsigned_16 __attribute__((vector_size(64)));
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

/* What one pair is aligned in, and how far it has come: the rows of a column, in order, where the words
 * were too narrow to go on. */
typedef struct striped_state {
  const query_tables *tables;
  uint8_t *order; /* the query's symbols in the order of the lanes */
  void *profile, *columns;
  uint16_t *h, *e;
  int64_t column;
} striped_state;

#define NEXT_8(k) (k), (k) + 1, (k) + 2, (k) + 3, (k) + 4, (k) + 5, (k) + 6, (k) + 7
#define NEXT_16(k) NEXT_8(k), NEXT_8((k) + 8)
#define NEXT_32(k) NEXT_16(k), NEXT_16((k) + 16)

#define T int8_t
#define NAME(x) x##_striped_byte
#define MOVED(a, b, k) __builtin_shufflevector(a, b, NEXT_32(32 - k))
#include "offload/align_striped.inc"

#define T int16_t
#define NAME(x) x##_striped_short
#define MOVED(a, b, k) __builtin_shufflevector(a, b, NEXT_16(16 - k))
#include "offload/align_striped.inc"
#undef NEXT_8
#undef NEXT_16
#undef NEXT_32

/* ---- tables ---- */

static void look_up_0(const int8_t tables[][32], int count, const uint8_t *symbols, int8_t *scores) {
  for (int q = 0; q < count; q++)
    for (int l = 0; l < DVT_ALIGN_LANES; l++)
      scores[q * DVT_ALIGN_LANES + l] = symbols[l] < 32 ? tables[q][symbols[l]] : 0;
}

#ifdef DVT_CPU_X86
/* A byte shuffle looks up 16 entries, and gives 0 where the index has its highest bit set: so two of them,
 * each with the other's indices made such. */
__attribute__((target("avx2"))) static void look_up_1(const int8_t tables[][32], int count,
                                                      const uint8_t *symbols, int8_t *scores) {
  for (int part = 0; part < DVT_ALIGN_LANES; part += 32) {
    const __m256i at = _mm256_load_si256((const __m256i *)(symbols + part)),
                  low = _mm256_adds_epu8(at, _mm256_set1_epi8(0x70)),
                  high = _mm256_sub_epi8(at, _mm256_set1_epi8(16));
    for (int q = 0; q < count; q++) {
      const __m128i *table = (const __m128i *)tables[q];
      const __m256i a = _mm256_broadcastsi128_si256(_mm_loadu_si128(table)),
                    b = _mm256_broadcastsi128_si256(_mm_loadu_si128(table + 1));
      _mm256_store_si256((__m256i *)(scores + q * DVT_ALIGN_LANES + part),
                         _mm256_or_si256(_mm256_shuffle_epi8(a, low), _mm256_shuffle_epi8(b, high)));
    }
  }
}

__attribute__((target("avx512f,avx512bw"))) static void look_up_2(const int8_t tables[][32], int count,
                                                                  const uint8_t *symbols, int8_t *scores) {
  const __m512i at = _mm512_load_si512(symbols), low = _mm512_adds_epu8(at, _mm512_set1_epi8(0x70)),
                high = _mm512_sub_epi8(at, _mm512_set1_epi8(16));
  for (int q = 0; q < count; q++) {
    const __m128i *table = (const __m128i *)tables[q];
    const __m512i a = _mm512_broadcast_i32x4(_mm_loadu_si128(table)),
                  b = _mm512_broadcast_i32x4(_mm_loadu_si128(table + 1));
    _mm512_store_si512(scores + q * DVT_ALIGN_LANES,
                       _mm512_or_si512(_mm512_shuffle_epi8(a, low), _mm512_shuffle_epi8(b, high)));
  }
}
#endif

static void look_up(const int8_t tables[][32], int count, const uint8_t *symbols, int8_t *scores) {
  static void (*const variants[])(const int8_t[][32], int, const uint8_t *, int8_t *) = {
#define VARIANT(number, attributes) look_up_##number,
      DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
  };
  variants[dvt_cpu_best()](tables, count, symbols, scores);
}

/* False: there is no memory. free_tables() follows. */
static bool make_tables(const dvt_align_query *query, bool batches, query_tables *t) {
  const davit_align_scoring *scoring = query->scoring;
  const int symbols = scoring->symbols;
  const int8_t *from = scoring->profile ? scoring->profile : scoring->matrix;
  const int64_t count = scoring->profile ? query->m : symbols;
  t->query = query;
  for (int s = 0; s < symbols && !scoring->profile; s++)
    memcpy(t->across[s], scoring->matrix + s * symbols, (size_t)symbols);
  for (int q = 0; q < DAVIT_ALIGN_SYMBOLS_MAXIMUM; q++)
    t->places[q] = (uint8_t)q;
  t->table = scoring->profile && batches ? dvt_allocate_raw((size_t)count * sizeof *t->table) : t->own;
  for (int64_t q = 0; batches && t->table && q < count; q++)
    for (int s = 0; s < symbols; s++)
      t->table[q][s] = from[q + s * count];
  return t->table != NULL;
}

static void free_tables(query_tables *t) {
  if (t->table != t->own)
    free(t->table);
}

/* ---- the CPU ---- */

/* With those of the last vector that are none, of which a table's look-up writes some more. */
static size_t striped_rows(const dvt_align_query *query) {
  return ((size_t)query->m / DVT_ALIGN_LANES + 2) * DVT_ALIGN_LANES;
}

/* For a row: in 16 bits what it scores with each symbol, h and e of two columns, and both in order; its symbol. */
static size_t striped_bytes(const dvt_align_query *query) {
  return striped_rows(query) * (2 * ((size_t)query->scoring->symbols + 4 + 2) + 1);
}

static striped_state striped_state_of(const query_tables *tables, char *memory) {
  const size_t rows = striped_rows(tables->query);
  char *columns = memory + 2 * rows * (size_t)tables->query->scoring->symbols;
  uint16_t *h = (uint16_t *)(void *)(columns + 8 * rows);
  return (striped_state){.tables = tables,
                         .profile = memory,
                         .columns = columns,
                         .h = h,
                         .e = h + rows,
                         .order = (uint8_t *)(h + 2 * rows)};
}

static size_t bytes_of(const dvt_align_query *query) {
  const size_t lanes = 64 * (4 * DAVIT_ALIGN_SYMBOLS_MAXIMUM + 2 * (size_t)query->m),
               striped = striped_bytes(query);
  return lanes > striped ? lanes : striped; /* `lanes` is enough for the vectors of a sweep */
}

/* Targets 0 … count - 1 are folded, and their rows cut in pieces of `each`; a piece goes on for `reach` - 1 rows. */
typedef struct folding {
  int64_t count, reach, each, pieces;
} folding;

/* What one thread works with. */
typedef struct worker {
  const dvt_align_targets *targets;
  const query_tables *tables;
  folding folding;
  int32_t *lanes; /* NULL, or the best score of each lane of the only target */
  void *memory;
  dvt_align_team team; /* opened by the first sweep */
  bool wide;           /* the last batch needed 16 bits, so the next one begins with them */
  bool failed;         /* there was no memory for the team */
  int32_t *scores;
} worker;

static bool open_team(worker *w, int threads) {
  const dvt_align_query *query = w->tables->query;
  const dvt_align_costs costs = dvt_align_costs_of(query);
  if (dvt_align_team_open(&costs, query->m, dvt_align_length(w->targets, 0), threads, &w->team) ==
      DAVIT_SUCCESS)
    return true;
  w->failed = true; /* and stays so */
  return false;
}

static void close_worker(worker *w) {
  dvt_align_team_close(&w->team);
  free(w->memory);
}

static int32_t do_pass(worker *w, int64_t n, const uint8_t *target) {
  const dvt_align_query *query = w->tables->query;
  const dvt_align_costs costs = dvt_align_costs_of(query);
  const dvt_align_stretch all = {query->symbols, target, query->m, n, 1};
  int64_t *h = w->memory, *d = h + query->m + 1;
  if (!w->team.bands && !open_team(w, 1))
    return 0;
  dvt_align_local_edge(query->m, h, d);
  return (int32_t)dvt_align_best(&costs, &all, 0, INT64_MAX, &w->team, h, d, NULL).score;
}

/* Whether a pair is striped in words of so many bytes: few symbols are too few for a sweep in tiles, and of
 * others what is read for each column has to stay near. */
static bool is_striped(const dvt_align_query *query, int64_t n, int64_t bytes) {
  return query->m < SHORT || n < SHORT || bytes * (query->scoring->symbols + 2) * query->m <= NEAR;
}

/* Bytes must hold the costs. */
static bool suits_bytes(const dvt_align_query *query, int64_t n) {
  return query->scoring->gap_open <= INT8_MAX && is_striped(query, n, 1);
}

/* 16 bits must hold every score. */
static bool suits_shorts(const dvt_align_query *query, int64_t n) {
  return dvt_at_most(query->m, n) * query->largest <= INT16_MAX && is_striped(query, n, 2);
}

/* `large`: the score is known to be too large for bytes. */
static int32_t do_pair(worker *w, int64_t n, const uint8_t *target, bool large) {
  const dvt_align_query *query = w->tables->query;
  striped_state state = striped_state_of(w->tables, w->memory);
  if (!large && suits_bytes(query, n)) {
    const int32_t score = pair_striped_byte(query, n, target, &state);
    if (state.column == n)
      return score;
  }
  return suits_shorts(query, n) ? pair_striped_short(query, n, target, &state) : do_pass(w, n, target);
}

static const uint8_t *target_of(const worker *w, int64_t k) {
  return w->targets->symbols + w->targets->offsets[k];
}

static void do_single(worker *w, int64_t k, bool large) {
  w->scores[k] = do_pair(w, dvt_align_length(w->targets, k), target_of(w, k), large);
}

static int count_above(const int32_t *best, int count, int32_t most) {
  int above = 0;
  for (int l = 0; l < count; l++)
    above += best[l] > most;
  return above;
}

/* The scores of `count` lanes; the result is the largest that is sure to be exact. */
static int32_t do_lanes(worker *w, const batch_rows *rows, int count, int32_t *best) {
  int32_t most = INT8_MAX - w->tables->query->largest;
  if (!w->wide)
    batch_byte(w->tables, rows, 0, w->memory, best);
  if (w->wide || count_above(best, count, most) > FEW) {
    for (int half = 0; half < count; half += LANES_short)
      batch_short(w->tables, rows, half, w->memory, best);
    w->wide = count_above(best, count, most) > FEW;
    most = INT16_MAX - w->tables->query->largest;
  }
  return most;
}

static batch_rows rows_of(const dvt_align_targets *t, int64_t unit) {
  const int64_t height = t->rows[unit + 1] - t->rows[unit];
  return (batch_rows){t->lanes + t->rows[unit] * DVT_ALIGN_LANES, height, 0, height};
}

static void do_batch(worker *w, int64_t b) {
  const dvt_align_targets *t = w->targets;
  const int64_t first = t->singles + b * DVT_ALIGN_LANES;
  const int count = (int)dvt_at_most(t->count - first, DVT_ALIGN_LANES);
  const batch_rows rows = rows_of(t, t->folds + b);
  int32_t best[DVT_ALIGN_LANES];
  const int32_t most = do_lanes(w, &rows, count, best);
  for (int l = 0; l < count; l++)
    if (best[l] > most)
      do_single(w, first + l, true);
    else
      w->scores[first + l] = best[l];
}

/* ---- folded targets ---- */

static int64_t likes_at(const dvt_align_query *query, int64_t place) {
  int64_t most = 0;
  for (int t = 0; t < query->scoring->symbols; t++)
    most = dvt_at_least(most, dvt_align_entry(query, place, t));
  return most;
}

/* The target symbols that a local alignment with a score above 0 spans, at most. No more of them are in columns with a
 * query symbol than the query has; those columns score at most `sum`, each query symbol with what it likes best. Gaps
 * have d > 0 of the others and cost open + (d - 1) extend at least, as extend is not more than open: less than
 * `sum`. */
static int64_t reach_of(const dvt_align_query *query) {
  const davit_align_scoring *s = query->scoring;
  int64_t likes[DAVIT_ALIGN_SYMBOLS_MAXIMUM] = {0}, sum = 0;
  for (int k = 0; k < s->symbols * s->symbols && !s->profile; k++)
    likes[k % s->symbols] = dvt_at_least(likes[k % s->symbols], s->matrix[k]);
  for (int64_t i = 0; i < query->m; i++)
    sum += s->profile ? likes_at(query, i) : likes[query->symbols[i]];
  return query->m + (sum > s->gap_open ? 1 + (sum - 1 - s->gap_open) / s->gap_extend : 0);
}

static int64_t pieces_of(const dvt_align_targets *t, const folding *f, int64_t k) {
  return dvt_divide_up(t->rows[k + 1] - t->rows[k], f->each);
}

/* A score of the target is one of a piece of it and the other way round: a piece's alignments are the target's, and
 * the best of these begins in the first `each` rows of some lane of a piece, and ends within `reach` of there. */
static folding folding_of(const dvt_align_targets *t, const dvt_align_query *query, int threads) {
  folding f = {0};
  if (t->folds == 0 || query->m > NEAR / (2 * DVT_ALIGN_LANES))
    return f;
  f.reach = reach_of(query);
  while (f.count < t->folds && t->rows[f.count + 1] - t->rows[f.count] >= ROOM * f.reach)
    f.count++;
  const int64_t rows = t->rows[f.count];
  f.each = dvt_at_least(dvt_divide_up(rows, SHARES * threads), PLENTY * f.reach);
  f.each = dvt_at_most(f.each, dvt_at_least(dvt_divide_up(rows, threads), ROOM * f.reach));
  for (int64_t k = 0; k < f.count; k++)
    f.pieces += pieces_of(t, &f, k);
  return f;
}

/* Scores are 0 at first. */
static void do_piece(worker *w, int64_t k, int64_t piece) {
  const int64_t n = dvt_align_length(w->targets, k);
  batch_rows rows = rows_of(w->targets, k);
  rows.first = piece * w->folding.each;
  rows.count = dvt_at_most(w->folding.each, rows.height - rows.first) + w->folding.reach - 1;
  int32_t best[DVT_ALIGN_LANES], score = 0;
  const int32_t most = do_lanes(w, &rows, DVT_ALIGN_LANES, best);
  for (int64_t l = 0; l < DVT_ALIGN_LANES; l++) {
    const int64_t begin = l * rows.height + rows.first;
    if (best[l] > most)
      best[l] = do_pair(w, dvt_at_most(rows.count, n - begin), target_of(w, k) + begin, true);
    score = best[l] > score ? best[l] : score;
    if (w->lanes)
      __atomic_fetch_max(&w->lanes[l], best[l], __ATOMIC_RELAXED);
  }
  __atomic_fetch_max(&w->scores[k], score, __ATOMIC_RELAXED);
}

/* ---- all targets ---- */

static davit_status no_memory(const dvt_align_query *query) {
  return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory to align a query of %lld symbols",
                    (long long)query->m);
}

/* Threads for each of the long targets, where these are fewer than the threads and one thread would take longer for it;
 * else 0. */
static int threads_for_long(const dvt_align_targets *targets, const dvt_align_query *query, int64_t folded,
                            int threads) {
  const int64_t count = targets->singles - folded, n = count > 0 ? dvt_align_length(targets, folded) : 0,
                least = (suits_bytes(query, n) ? FASTER : BANDS) * count;
  if (count == 0 || least > threads)
    return 0;
  const dvt_align_costs costs = dvt_align_costs_of(query);
  const int each = dvt_align_sweep_threads(&costs, query->m, n, threads);
  return each >= least ? each : 0;
}

/* The long targets from *done on, one after the other, each by all threads. *done moves behind them. */
static davit_status do_long(const worker *like, int threads, int64_t *done) {
  worker w = *like;
  if (threads_for_long(w.targets, w.tables->query, *done, threads) == 0)
    return DAVIT_SUCCESS;
  w.memory = dvt_allocate_aligned(bytes_of(w.tables->query));
  const bool open = w.memory && open_team(&w, threads);
  for (; open && *done < w.targets->singles; ++*done)
    w.scores[*done] = do_pass(&w, dvt_align_length(w.targets, *done), target_of(&w, *done));
  close_worker(&w);
  return open ? DAVIT_SUCCESS : no_memory(w.tables->query);
}

/* Threads without work would cost a short pair more than its alignment. */
static int threads_for(const dvt_align_targets *targets, const folding *f, int64_t done, int most) {
  return (int)dvt_at_least(1, dvt_at_most(f->pieces + targets->singles - done + targets->batches, most));
}

int dvt_align_host_threads(const dvt_align_targets *targets, const dvt_align_query *query, int threads) {
  const folding f = folding_of(targets, query, threads);
  const int each = threads_for_long(targets, query, f.count, threads);
  return each > 0 ? each : threads_for(targets, &f, f.count, threads);
}

static bool open_worker(worker *w, const worker *like) {
  *w = *like;
  w->memory = dvt_allocate_aligned(bytes_of(w->tables->query));
  return w->memory != NULL;
}

/* Without OpenMP, whose region of one thread takes as long as a short pair. */
static bool do_alone(const worker *like, int64_t done) {
  worker w;
  const bool open = open_worker(&w, like);
  for (int64_t k = 0; k < like->folding.count && open; k++)
    for (int64_t piece = 0; piece < pieces_of(like->targets, &like->folding, k); piece++)
      do_piece(&w, k, piece);
  for (int64_t k = done; k < like->targets->singles && open; k++)
    do_single(&w, k, false);
  for (int64_t b = 0; b < like->targets->batches && open; b++)
    do_batch(&w, b);
  close_worker(&w);
  return open && !w.failed;
}

static bool do_by_team(const worker *like, int64_t done, int threads) {
  atomic_bool failed = false;
#pragma omp parallel num_threads(threads)
  {
    worker w;
    const bool open = open_worker(&w, like);
    for (int64_t k = 0; k < like->folding.count; k++)
#pragma omp for schedule(dynamic) nowait
      for (int64_t piece = 0; piece < pieces_of(like->targets, &like->folding, k); piece++)
        if (open)
          do_piece(&w, k, piece);
#pragma omp for schedule(dynamic) nowait
    for (int64_t k = done; k < like->targets->singles; k++)
      if (open)
        do_single(&w, k, false);
#pragma omp for schedule(dynamic)
    for (int64_t b = 0; b < like->targets->batches; b++)
      if (open)
        do_batch(&w, b);
    if (!open || w.failed)
      atomic_store(&failed, true);
    close_worker(&w);
  }
  return !atomic_load(&failed);
}

static davit_status do_all(const worker *like, int64_t done, int most) {
  DVT_TRY(do_long(like, most, &done));
  const int threads = threads_for(like->targets, &like->folding, done, most);
  return (threads > 1 ? do_by_team(like, done, threads) : do_alone(like, done))
             ? DAVIT_SUCCESS
             : no_memory(like->tables->query);
}

davit_status dvt_align_host(const dvt_site *site, const void *work) {
  const dvt_align_work *a = work;
  const dvt_align_targets *targets = a->targets;
  const dvt_align_query *query = a->query;
  if (query->m == 0 || targets->count == 0) {
    memset(a->scores, 0, (size_t)targets->count * sizeof *a->scores);
    return DAVIT_SUCCESS;
  }
  const folding f = folding_of(targets, query, site->threads);
  query_tables tables;
  memset(a->scores, 0, (size_t)f.count * sizeof *a->scores);
  const worker like = {.targets = targets, .tables = &tables, .folding = f, .scores = a->scores};
  const davit_status status = make_tables(query, f.count + targets->batches > 0, &tables)
                                  ? do_all(&like, f.count, site->threads)
                                  : DAVIT_OUT_OF_HOST_MEMORY;
  free_tables(&tables);
  return status;
}

/* ---- one pair ---- */

enum { LONG_TARGET = 1 << 14 }; /* symbols; with fewer of them a sweep takes no time */

/* A long target as the only one of many. */
typedef struct folded {
  dvt_align_targets targets;
  int64_t offsets[2], rows[2];
} folded;

static void fold_alone(int64_t n, const uint8_t *target, folded *f) {
  *f = (folded){.offsets = {0, n}, .rows = {0, dvt_divide_up(n, DVT_ALIGN_LANES)}};
  f->targets = (dvt_align_targets){.count = 1,
                                   .singles = 1,
                                   .folds = 1,
                                   .offsets = f->offsets,
                                   .symbols = (uint8_t *)(uintptr_t)target,
                                   .rows = f->rows};
}

size_t dvt_align_score_bytes(const dvt_align_query *query) {
  return bytes_of(query);
}

bool dvt_align_score(const dvt_align_query *query, int64_t n, const uint8_t *target, void *memory,
                     int32_t *score) {
  query_tables tables;
  folded f;
  fold_alone(n, target, &f);
  make_tables(query, false, &tables); /* without batches it needs no memory */
  worker w = {.targets = &f.targets, .tables = &tables, .memory = memory};
  *score = do_pair(&w, n, target, false);
  dvt_align_team_close(&w.team);
  return !w.failed;
}

bool dvt_align_is_folded(const dvt_align_query *query, int64_t n) {
  folded f;
  fold_alone(n, NULL, &f);
  return query->m > 0 && n >= LONG_TARGET && folding_of(&f.targets, query, 1).count > 0;
}

void dvt_align_fold(int64_t n, const uint8_t *target, uint8_t *lanes) {
  const int64_t height = dvt_divide_up(n, DVT_ALIGN_LANES);
  for (int64_t row = 0; row < height; row++)
    for (int64_t l = 0; l < DVT_ALIGN_LANES; l++) {
      const int64_t at = l * height + row;
      lanes[row * DVT_ALIGN_LANES + l] = at < n ? target[at] : DVT_ALIGN_PAD;
    }
}

/* The first cell in the first lane with an alignment that scores as much, or behind it, within what its alignments may
 * span. No alignment that begins later ends before those of that lane do, unless it ends there as well. */
static void find_in_lane(const dvt_align_query *query, const folded *f, const folding *folding,
                         const int32_t *lanes, dvt_align_team *team, int64_t *h, int64_t *d,
                         dvt_align_cell *best) {
  const dvt_align_costs costs = dvt_align_costs_of(query);
  const int64_t n = f->offsets[1], height = f->rows[1];
  int32_t score = 0;
  int64_t lane = 0;
  for (int64_t l = DVT_ALIGN_LANES - 1; l >= 0; l--)
    if (lanes[l] >= score) {
      score = lanes[l];
      lane = l;
    }
  *best = (dvt_align_cell){0};
  if (score == 0)
    return;
  const int64_t begin = lane * height, end = dvt_at_most(n, begin + height + folding->reach - 1);
  const dvt_align_stretch part = {query->symbols, f->targets.symbols + begin, query->m, end - begin, 1};
  dvt_align_local_edge(query->m, h, d);
  *best = dvt_align_best(&costs, &part, 0, score, team, h, d, NULL);
  best->column += begin;
}

davit_status dvt_align_best_folded(const dvt_align_query *query, int64_t n, const uint8_t *target,
                                   int threads, dvt_align_team *team, int64_t *h, int64_t *d,
                                   dvt_align_cell *best) {
  int32_t score = 0, lanes[DVT_ALIGN_LANES] = {0};
  query_tables tables;
  folded f;
  fold_alone(n, target, &f);
  f.targets.lanes = dvt_allocate_aligned((size_t)f.rows[1] * DVT_ALIGN_LANES);
  if (!f.targets.lanes)
    return DAVIT_OUT_OF_HOST_MEMORY;
  dvt_align_fold(n, target, f.targets.lanes);
  const bool made = make_tables(query, true, &tables);
  const worker like = {.targets = &f.targets,
                       .tables = &tables,
                       .folding = folding_of(&f.targets, query, threads),
                       .lanes = lanes,
                       .scores = &score};
  const int most = threads_for(&f.targets, &like.folding, 1, threads);
  const bool done = made && (most > 1 ? do_by_team(&like, 1, most) : do_alone(&like, 1));
  if (done)
    find_in_lane(query, &f, &like.folding, lanes, team, h, d, best);
  free_tables(&tables);
  free(f.targets.lanes);
  return done ? DAVIT_SUCCESS : no_memory(query);
}
