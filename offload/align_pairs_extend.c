/* SPDX-License-Identifier: Apache-2.0 */
/* Anti-diagonals of several pairs side by side. A row needs h of the row above on the anti-diagonal before the last, and
 * the gaps that leave the last one: from the last row up, all of them may be replaced where they lie. Rows that count in
 * no lane are left out at both ends. Rows of a lane's own anti-diagonal are told from those beyond it only where not all
 * lanes have them.
 *
 * With few symbols a row of the anti-diagonal looks up its own two symbols. With more, 16 rows look up a column at a
 * time, when it enters the first of them; it is kept in a ring until it has left the last one. */
#include "offload/align_pairs_extend.h"

#include <stdlib.h>
#include <string.h>

#include "offload/align_pairs_scores.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

enum {
  LANES = DVT_PAIR_LANES,
  ROWS = DVT_PAIR_ROWS,
  NOTED = DVT_PAIR_NOTED,
  NONE = INT16_MIN, /* the score of what does not count */
  COLUMN_BYTES = ROWS * LANES,
  RING_BYTES = ROWS * COLUMN_BYTES
};

typedef int16_t words __attribute__((vector_size(2 * LANES)));
typedef int8_t bytes __attribute__((vector_size(LANES)));
typedef int32_t numbers __attribute__((vector_size(4 * LANES)));

typedef struct work {
  const dvt_pair_extend *extend;
  const dvt_pair_part *parts;
  dvt_pair_part all, inner; /* lengths and bands: of all lanes together, and what each lane has */
  dvt_pair_symbols symbols;
  dvt_pair_trail *trail;
  int8_t *scores;           /* of the anti-diagonal, of each row for all lanes */
  int8_t *rings;            /* many symbols: of each 16 rows, from row 1 on */
  words *h, *older, *d, *f; /* of the last anti-diagonal, the one before; the gaps that leave the last one */
  words open, gap, drop;
  words most, row, column; /* the best cells so far */
  numbers m, n, low, high;
  dvt_pair_rows last, before; /* rows that count in some lane */
} work;

/* ---- steps ---- */

/* The last of the rows, and where its steps begin. */
typedef struct trail_rows {
  int64_t last, count, at;
} trail_rows;

bool dvt_pair_trail_begin(dvt_pair_trail *t, int64_t count) {
  t->used = 0;
  if (!dvt_pair_reserve(&t->rows, (size_t)count * sizeof(trail_rows)))
    return false;
  memset(t->rows.at, 0, (size_t)count * sizeof(trail_rows));
  return true;
}

static bool grow(dvt_pair_memory *memory, size_t used, size_t more) {
  dvt_pair_memory larger = {0};
  if (used + more <= memory->bytes)
    return true;
  if (!dvt_pair_reserve(&larger, 2 * (used + more)))
    return false;
  if (used > 0)
    memcpy(larger.at, memory->at, used);
  free(memory->at);
  *memory = larger;
  return true;
}

uint8_t *dvt_pair_trail_add(dvt_pair_trail *t, int64_t number, dvt_pair_rows rows, int64_t bytes) {
  if (!grow(&t->steps, (size_t)t->used, (size_t)bytes))
    return NULL;
  ((trail_rows *)(void *)t->rows.at)[number] = (trail_rows){rows.to, rows.to - rows.from + 1, t->used};
  t->used += bytes;
  return (uint8_t *)t->steps.at + t->used - bytes;
}

static int noted_step(const dvt_pair_trail *t, int lane, int64_t i, int64_t j) {
  const trail_rows *r = (const trail_rows *)(const void *)t->rows.at + i + j;
  const int64_t row = r->last - i;
  if (row < 0 || row >= r->count)
    return 0;
  if (lane < 0)
    return t->steps.at[r->at + r->count - 1 - row];
  const uint16_t *words_of = (const uint16_t *)(const void *)(t->steps.at + r->at);
  return words_of[row / NOTED * LANES + lane] >> 4 * (row % NOTED) & 15;
}

int dvt_pair_trail_step(const dvt_pair_trail *t, int lane, int64_t i, int64_t j) {
  return (noted_step(t, lane, i, j) & ~DVT_ALIGN_D_EXTENDS) |
         (noted_step(t, lane, i, j - 1) & DVT_ALIGN_D_EXTENDS);
}

void dvt_pair_trail_free(dvt_pair_trail *t) {
  free(t->rows.at);
  free(t->steps.at);
}

/* ---- memory ---- */

/* Lengths and bands of lanes in `all` and `inner`; absent lanes have no rows. */
static void measure(work *w) {
  const dvt_pair_part *parts = w->parts;
  w->all = w->inner = parts[0];
  w->m = w->n = w->low = w->high = (numbers){0};
  for (int l = 0; l < w->extend->count; l++) {
    const dvt_pair_part *p = &parts[l];
    w->all.m = dvt_at_least(w->all.m, p->m);
    w->all.n = dvt_at_least(w->all.n, p->n);
    w->all.low = dvt_at_most(w->all.low, p->low);
    w->all.high = dvt_at_least(w->all.high, p->high);
    w->inner.m = dvt_at_most(w->inner.m, p->m);
    w->inner.n = dvt_at_most(w->inner.n, p->n);
    w->inner.low = dvt_at_least(w->inner.low, p->low);
    w->inner.high = dvt_at_most(w->inner.high, p->high);
    w->m[l] = (int32_t)p->m;
    w->n[l] = (int32_t)p->n;
    w->low[l] = (int32_t)p->low;
    w->high[l] = (int32_t)p->high;
  }
}

/* Rows -1 … m + 1, and perhaps one more of scores. */
static size_t lay_out(work *w, char *at) {
  const size_t rows = (size_t)w->all.m + 4, words_bytes = dvt_aligned_up(rows * sizeof(words)),
               score_bytes = dvt_aligned_up(rows * LANES),
               ring_bytes = w->symbols.few ? 0 : (size_t)dvt_divide_up(w->all.m, ROWS) * RING_BYTES,
               query_bytes = dvt_pair_query_bytes(w->all.m);
  if (at) {
    w->h = (words *)(void *)at + 1;
    w->older = (words *)(void *)(at + words_bytes) + 1;
    w->d = (words *)(void *)(at + 2 * words_bytes) + 1;
    w->f = (words *)(void *)(at + 3 * words_bytes) + 1;
    w->scores = (int8_t *)at + 4 * words_bytes;
    w->rings = w->scores + score_bytes;
    w->symbols.queries = (uint8_t *)w->rings + ring_bytes;
    w->symbols.targets = w->symbols.queries + query_bytes;
    memset(w->rings, 0, ring_bytes);
  }
  return 4 * words_bytes + score_bytes + ring_bytes + query_bytes + dvt_pair_target_bytes(w->all.n);
}

/* ---- what cells score ---- */

/* The column that has come to the first row of each 16 rows with one of the rows. */
static void enter_columns(work *w, int64_t number, dvt_pair_rows rows) {
  for (int64_t k = dvt_at_least(rows.from - 1, 0) / ROWS; k * ROWS < rows.to; k++) {
    const int64_t first = k * ROWS + 1, j = number - first;
    if (j >= 1 && j <= w->all.n)
      dvt_pair_look_up(&w->symbols, j, first, first + ROWS - 1,
                       w->rings + k * RING_BYTES + j % ROWS * COLUMN_BYTES - first * LANES);
  }
}

static void look_up(work *w, int64_t number, dvt_pair_rows rows) {
  if (w->symbols.few) {
    dvt_pair_look_up_across(&w->symbols, number, rows.from, rows.to, w->scores);
    return;
  }
  enter_columns(w, number, rows);
  for (int64_t i = dvt_at_least(rows.from, 1); i <= rows.to; i++) {
    const int64_t k = (i - 1) / ROWS, row = (i - 1) % ROWS;
    memcpy(w->scores + i * LANES,
           w->rings + k * RING_BYTES + (number - i) % ROWS * COLUMN_BYTES + row * LANES, LANES);
  }
}

/* ---- an anti-diagonal ---- */

/* A gap that costs more than a word holds opens no better than what has dropped. */
DVT_CPU_INLINE words all(int64_t value) {
  return (words){0} + (int16_t)dvt_at_most(value, INT16_MAX);
}

DVT_CPU_INLINE words chosen(words where, words a, words b) {
  return (where & a) | (~where & b);
}

DVT_CPU_INLINE words larger(words a, words b) {
  return __builtin_elementwise_max(a, b);
}

/* What is the same in all rows. */
typedef struct rules {
  words *older, *d, *f;
  const int8_t *scores;
  words open, gap, least, first, last; /* what a score must be to count; the rows that each lane has */
  bool positions, noting, masked;
} rules;

typedef struct diagonal {
  words most, row,
      i; /* the best cell of the anti-diagonal, the first by column; the number of the next row */
} diagonal;

/* Row i; its step. */
DVT_CPU_INLINE words pass_row(const rules *r, diagonal *c, int64_t i) {
  const words d = r->d[i], f = r->f[i - 1],
              score = __builtin_convertvector(*(const bytes *)(r->scores + i * LANES), words),
              both = __builtin_elementwise_add_sat(r->older[i - 1], score), rest = larger(both, d),
              here = larger(rest, f);
  words counts = here >= r->least;
  if (r->masked)
    counts = counts & (c->i >= r->first) & (c->i <= r->last);
  const words h = chosen(counts, here, all(NONE)), opened = __builtin_elementwise_sub_sat(h, r->open),
              d_on = __builtin_elementwise_sub_sat(d, r->gap),
              f_on = __builtin_elementwise_sub_sat(f, r->gap);
  if (r->positions)
    c->row = chosen(h > c->most, c->i, c->row);
  c->most = larger(c->most, h);
  c->i -= 1;
  r->older[i] = h;
  r->d[i] = larger(d_on, opened);
  r->f[i] = larger(f_on, opened);
  return r->noting ? ((rest > both) & DVT_ALIGN_D) | ((here > rest) & DVT_ALIGN_I) |
                         ((d_on > opened) & DVT_ALIGN_D_EXTENDS) | ((f_on > opened) & DVT_ALIGN_I_EXTENDS)
                   : h;
}

/* Rows from `to` up to `from`; the steps of four rows are one word. Returns where those of the next rows lie. */
DVT_CPU_INLINE words *pass_rows(const rules *r, diagonal *c, int64_t from, int64_t to, words *steps) {
  int64_t i = to;
  for (; i - NOTED >= from - 1; i -= NOTED) {
    words noted = {0};
#pragma unroll
    for (int row = 0; row < NOTED; row++)
      noted |= pass_row(r, c, i - row) << 4 * row;
    if (r->noting)
      *steps++ = noted;
  }
  words noted = {0};
  const bool rest = i >= from;
  for (int row = 0; i >= from; i--, row++)
    noted |= pass_row(r, c, i) << 4 * row;
  if (r->noting && rest)
    *steps++ = noted;
  return steps;
}

/* The rows that each lane has of the anti-diagonal. Far behind the last column of a lane the first of them may not fit a
 * word; what counts there is never better than before. */
DVT_CPU_INLINE void lane_rows(const work *w, int64_t number, words *first, words *last) {
  const numbers zero = {0}, s = zero + (int32_t)number;
  *first = __builtin_convertvector(
      __builtin_elementwise_max(__builtin_elementwise_max(s - w->n, (s - w->high + 1) >> 1), zero), words);
  *last = __builtin_convertvector(
      __builtin_elementwise_min(__builtin_elementwise_min(s, w->m), (s - w->low) >> 1), words);
}

/* Only at both ends are there rows that not all lanes have; above and in the middle rows go by fours. */
DVT_CPU_INLINE void pass_diagonal(work *w, int64_t number, dvt_pair_rows rows, words *steps,
                                  const rules *flags, diagonal *c) {
  const dvt_pair_rows inner = dvt_pair_across(&w->inner, number);
  const int64_t below = dvt_divide_up(dvt_at_least(rows.to - inner.to, 0), NOTED) * NOTED,
                to = dvt_at_least(rows.to - below, rows.from - 1),
                count = dvt_at_least(to - dvt_at_least(inner.from, rows.from) + 1, 0) / NOTED * NOTED;
  rules r = *flags;
  lane_rows(w, number, &r.first, &r.last);
  r.masked = true;
  steps = pass_rows(&r, c, to + 1, rows.to, steps);
  r.masked = false;
  steps = pass_rows(&r, c, to - count + 1, to, steps);
  r.masked = true;
  pass_rows(&r, c, rows.from, to - count, steps);
}

/* ---- what counts ---- */

DVT_CPU_INLINE bool is_any(words h) {
  uint64_t bits[sizeof h / sizeof(uint64_t)];
  const words differs = h ^ all(NONE);
  memcpy(bits, &differs, sizeof bits);
  return (bits[0] | bits[1] | bits[2] | bits[3]) != 0;
}

/* Those of the rows that count in some lane. */
DVT_CPU_INLINE dvt_pair_rows counting_rows(const words *h, dvt_pair_rows rows) {
  while (rows.from <= rows.to && !is_any(h[rows.from]))
    rows.from++;
  while (rows.from <= rows.to && !is_any(h[rows.to]))
    rows.to--;
  return rows.from <= rows.to ? rows : DVT_PAIR_NO_ROWS;
}

/* Nothing counts beside these rows; without any, nowhere. */
static void close_diagonal(const work *w, dvt_pair_rows rows) {
  words *const lists[] = {w->older, w->d, w->f};
  for (int k = 0; k < 3; k++) {
    for (int64_t i = -1; i <= w->all.m + 1 && rows.from > rows.to; i++)
      lists[k][i] = all(NONE);
    if (rows.from <= rows.to)
      lists[k][rows.from - 1] = lists[k][rows.to + 1] = all(NONE);
  }
}

static bool counts(const words *h, dvt_pair_rows rows, int64_t i, int l) {
  return i >= rows.from && i <= rows.to && ((const int16_t *)h)[i * LANES + l] > NONE;
}

/* Lanes whose last row or column is reached. */
static void look_at_ends(const work *w, int64_t number, dvt_pair_rows rows, const words *h,
                         dvt_pair_extension *found) {
  if (rows.to < w->inner.m && number - rows.from < w->inner.n)
    return;
  for (int l = 0; l < w->extend->count; l++)
    if (found[l].dropped && (counts(h, rows, w->parts[l].m, l) || counts(h, rows, number - w->parts[l].n, l)))
      found[l].dropped = false;
}

DVT_CPU_INLINE void keep_best(work *w, int64_t number, const diagonal *c, const bool positions) {
  if (positions) {
    const words column = all(number) - c->row,
                better = (c->most > w->most) | ((c->most == w->most) & (column < w->column));
    w->row = chosen(better, c->row, w->row);
    w->column = chosen(better, column, w->column);
  }
  w->most = larger(w->most, c->most);
}

/* ---- all anti-diagonals ---- */

static void begin(work *w, dvt_pair_extension *found) {
  const dvt_pair_rows corner = {0, 0};
  w->h[0] = all(NONE);
  for (int l = 0; l < w->extend->count; l++) {
    ((int16_t *)w->h)[l] = 0;
    found[l] = (dvt_pair_extension){.dropped = true};
  }
  w->h[-1] = w->h[1] = all(NONE);
  w->d[0] = w->f[0] = __builtin_elementwise_sub_sat(w->h[0], w->open);
  w->older[0] = all(NONE);
  close_diagonal(w, corner);
  w->last = corner;
  w->before = DVT_PAIR_NO_ROWS;
}

/* Where the steps of these rows go. false: there is no memory. */
static bool take_steps(const work *w, int64_t number, dvt_pair_rows rows, words **steps) {
  if (!w->trail || rows.from > rows.to)
    return true;
  const int64_t bytes = dvt_divide_up(rows.to - rows.from + 1, NOTED) * (int64_t)sizeof(words);
  *steps = (words *)(void *)dvt_pair_trail_add(w->trail, number, rows, bytes);
  return *steps != NULL;
}

DVT_CPU_INLINE bool extend_all(work *w, dvt_pair_extension *found, const bool positions, const bool noting) {
  begin(w, found);
  for (int64_t number = 1;
       number <= w->all.m + w->all.n && (w->last.from <= w->last.to || w->before.from <= w->before.to);
       number++) {
    const dvt_pair_rows rows = dvt_pair_next_rows(dvt_pair_across(&w->all, number), w->last, w->before);
    const rules r = {.older = w->older,
                     .d = w->d,
                     .f = w->f,
                     .scores = w->scores,
                     .open = w->open,
                     .gap = w->gap,
                     .least = w->most - w->drop,
                     .positions = positions,
                     .noting = noting};
    diagonal c = {all(NONE), {0}, all(rows.to)};
    words *steps = NULL;
    if (!take_steps(w, number, rows, &steps))
      return false;
    look_up(w, number, rows);
    pass_diagonal(w, number, rows, steps, &r, &c);
    close_diagonal(w, rows);
    keep_best(w, number, &c, positions);
    w->before = w->last;
    w->last = counting_rows(w->older, rows);
    look_at_ends(w, number, w->last, w->older, found);
    words *const h = w->older;
    w->older = w->h;
    w->h = h;
  }
  return true;
}

/* The flags are constants in each call. */
DVT_CPU_INLINE bool extend_inline(work *w, dvt_pair_extension *found) {
  return w->trail               ? extend_all(w, found, true, true)
         : w->extend->positions ? extend_all(w, found, true, false)
                                : extend_all(w, found, false, false);
}

DVT_CPU_DISPATCH(bool, extend_lanes, extend_inline, (work * w, dvt_pair_extension *found), (w, found))

bool dvt_pair_extend_lanes(const dvt_pair_extend *extend, const dvt_pair_part *parts, dvt_pair_memory *memory,
                           dvt_pair_trail *trail, dvt_pair_extension *found) {
  work w = {.extend = extend, .parts = parts, .trail = trail};
  measure(&w);
  w.symbols = (dvt_pair_symbols){.scoring = extend->scoring,
                                 .parts = parts,
                                 .count = extend->count,
                                 .m = w.all.m,
                                 .n = w.all.n,
                                 .across = true,
                                 .few = dvt_pair_few(extend->scoring)};
  if (!dvt_pair_reserve(memory, lay_out(&w, NULL)) ||
      (trail && !dvt_pair_trail_begin(trail, w.all.m + w.all.n + 1)))
    return false;
  lay_out(&w, memory->at);
  dvt_pair_fill_symbols(&w.symbols);
  w.open = all(extend->scoring->gap_open);
  w.gap = all(extend->scoring->gap_extend);
  w.drop = all(extend->x_drop);
  if (!extend_lanes(&w, found))
    return false;
  for (int l = 0; l < extend->count; l++)
    found[l].end = (dvt_pair_cell){w.most[l], w.row[l], w.column[l]};
  return true;
}
