/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over pairs side by side. The symbols of the lanes lie row by row; before a column is computed, all of its
 * lanes' rows look up what they score (align_pairs_scores.c), each with its own symbol of the target. What lies
 * beyond a lane's own rows and columns scores 0 with everything, so no cell there is the first with its score. */
#include "offload/align_pairs.h"

#include <stdlib.h>

#include "offload/align_pairs_scores.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

enum {
  LANES = DVT_PAIR_LANES,
  ROWS = DVT_PAIR_ROWS,
  NONE = INT16_MIN, /* the score of what cannot be */
  NOTED = DVT_PAIR_NOTED,
  LOOKS = 8 /* columns between looks whether all lanes are done */
};

typedef int16_t words __attribute__((vector_size(2 * LANES)));
typedef uint16_t words_without_sign __attribute__((vector_size(2 * LANES)));
typedef int8_t bytes __attribute__((vector_size(LANES)));

/* All lanes at work. */
typedef struct work {
  const dvt_pair_pass *pass;
  const dvt_pair_part *parts;
  int64_t m, n, low, high, height; /* of the longest query and target, and of all bands together */
  int64_t inner_low, inner_high;   /* the diagonals that all bands have */
  dvt_pair_symbols symbols;
  int8_t *scores;                  /* of the column, of each row for all lanes */
  words *h, *d;                    /* of the column, rows 0 … m */
  words *steps;                    /* `height` for each column */
  words open, extend, first, last; /* costs; the rows of the band in the column */
  words most, row, column;         /* the best cells so far */
} work;

/* ---- memory ---- */

static void measure(work *w) {
  const dvt_pair_part *parts = w->parts;
  w->inner_low = -DVT_PAIR_LONGEST;
  w->inner_high = DVT_PAIR_LONGEST;
  for (int l = 0; l < w->pass->count; l++) {
    w->m = dvt_at_least(w->m, parts[l].m);
    w->n = dvt_at_least(w->n, parts[l].n);
    w->low = dvt_at_most(w->low, parts[l].low);
    w->high = dvt_at_least(w->high, parts[l].high);
    if (parts[l].m > 0 && parts[l].n > 0) {
      w->inner_low = dvt_at_least(w->inner_low, parts[l].low);
      w->inner_high = dvt_at_most(w->inner_high, parts[l].high);
    }
  }
  w->height = dvt_divide_up(dvt_at_most(w->high - w->low + 1, w->m), NOTED);
}

/* Steps come first: nothing before depends on the pass. */
static size_t lay_out(work *w, char *at) {
  const size_t rows = dvt_aligned_up((size_t)w->m + ROWS + 1) * LANES,
               steps = w->pass->noting ? dvt_aligned_up((size_t)(w->height * w->n) * sizeof(words)) : 0;
  if (at) {
    w->steps = (words *)(void *)at;
    w->h = (words *)(void *)(at + steps);
    w->d = (words *)(void *)(at + steps + 2 * rows);
    w->scores = (int8_t *)at + steps + 4 * rows;
    w->symbols.queries = (uint8_t *)at + steps + 5 * rows;
    w->symbols.targets = w->symbols.queries + dvt_pair_query_bytes(w->m);
  }
  return steps + 5 * rows + dvt_pair_query_bytes(w->m) + dvt_pair_target_bytes(w->n);
}

bool dvt_pair_reserve(dvt_pair_memory *memory, size_t wanted) {
  if (wanted <= memory->bytes)
    return true;
  free(memory->at);
  *memory = (dvt_pair_memory){0};
  memory->at = dvt_allocate_aligned(wanted + wanted / 4);
  memory->bytes = memory->at ? wanted + wanted / 4 : 0;
  return memory->at != NULL;
}

/* ---- a column ---- */

DVT_CPU_INLINE words all(int64_t value) {
  return (words){0} + (int16_t)dvt_at_least(dvt_at_most(value, INT16_MAX), NONE);
}

/* Of a gap that opens with cell h. Where scores stay at 0 or more, so do gaps. */
DVT_CPU_INLINE words opened(words h, words open, const bool local) {
  return local ? (words)__builtin_elementwise_sub_sat((words_without_sign)h, (words_without_sign)open)
               : __builtin_elementwise_sub_sat(h, open);
}

DVT_CPU_INLINE words chosen(words where, words a, words b) {
  return (where & a) | (~where & b);
}

DVT_CPU_INLINE int64_t edge_score(const work *w, int64_t length) {
  const davit_align_scoring *s = w->pass->scoring;
  return length > 0 && dvt_pair_in_corner(w->pass->kind)
             ? -(s->gap_open + (length - 1) * (int64_t)s->gap_extend)
             : 0;
}

/* Row 0 of column j, and the gap that leaves it. */
DVT_CPU_INLINE words edge_row(const work *w, int64_t j, const bool local, const bool banded) {
  words edge = all(edge_score(w, j));
  if (banded)
    edge = chosen(w->first > 0, local ? (words){0} : all(NONE), edge);
  return edge;
}

/* A column at work. */
typedef struct column {
  words diagonal, f; /* that come into the next row, */
  words i;           /* its number */
  words most, row;   /* the best cell of the column so far, if it is better than those before */
} column;

/* What is the same in all rows. */
typedef struct rules {
  words *h, *d;
  const int8_t *scores;
  words open, extend, first, last;
  bool local, searching, noting, banded;
} rules;

/* Row k; its step. A gap of query symbols opens from the score without the gap that passes, which is no worse by then,
 * and takes an operation off the chain from row to row. Where one passes, a step may say that it began before though
 * it might as well open again: the columns are the same. */
DVT_CPU_INLINE words pass_row(const rules *r, column *c, int64_t k) {
  const words none = r->local ? (words){0} : all(NONE), left = r->h[k], f = c->f,
              score = __builtin_convertvector(*(const bytes *)(r->scores + k * LANES), words),
              longer = r->local ? r->d[k] - r->extend : __builtin_elementwise_sub_sat(r->d[k], r->extend),
              opens = opened(left, r->open, r->local);
  words both = r->local ? c->diagonal + score : __builtin_elementwise_add_sat(c->diagonal, score),
        d = __builtin_elementwise_max(longer, opens), passing = f;
  if (r->banded) {
    const words out = (c->i < r->first) | (c->i > r->last);
    both = chosen(out, none, both);
    d = chosen(out, none, d);
    passing = chosen(out, none, f);
  }
  const words rest = __builtin_elementwise_max(both, d);
  if (r->searching)
    c->row = chosen(both > c->most, c->i, c->row);
  if (r->searching || r->local)
    c->most = __builtin_elementwise_max(c->most, both);
  const words goes_on = r->local ? passing - r->extend : __builtin_elementwise_sub_sat(passing, r->extend),
              down = opened(rest, r->open, r->local);
  c->diagonal = left;
  c->f = __builtin_elementwise_max(goes_on, down);
  c->i += 1;
  r->h[k] = __builtin_elementwise_max(rest, passing);
  r->d[k] = d;
  return r->noting ? ((rest > both) & DVT_ALIGN_D) | ((passing > rest) & DVT_ALIGN_I) |
                         ((longer > opens) & DVT_ALIGN_D_EXTENDS) | ((goes_on > down) & DVT_ALIGN_I_EXTENDS)
                   : none;
}

/* Rows `from` … `to`; the steps of four rows are one word. Returns where those of the next rows lie. */
DVT_CPU_INLINE words *pass_rows(const rules *r, column *c, int64_t from, int64_t to, words *steps) {
  int64_t k = from;
  for (; k + NOTED <= to + 1; k += NOTED) {
    words noted = {0};
#pragma unroll
    for (int row = 0; row < NOTED; row++)
      noted |= pass_row(r, c, k + row) << 4 * row;
    if (r->noting)
      *steps++ = noted;
  }
  words noted = {0};
  const bool rest = k <= to;
  for (int row = 0; k <= to; k++, row++)
    noted |= pass_row(r, c, k) << 4 * row;
  if (r->noting && rest)
    *steps++ = noted;
  return steps;
}

/* Rows `from` … `to` of column j. */
DVT_CPU_INLINE void pass_column(work *w, int64_t j, int64_t from, int64_t to, const rules *flags) {
  rules r = *flags;
  column c = {
      .diagonal = w->h[from - 1], .f = r.local ? (words){0} : all(NONE), .i = all(from), .most = w->most};
  words *steps = r.noting ? w->steps + (j - 1) * w->height : NULL;
  r.first = w->first;
  r.last = w->last;
  if (from == 1) {
    r.h[0] = edge_row(w, j, r.local, r.banded);
    c.f = opened(r.h[0], r.open, r.local);
  }
  if (r.banded) { /* only at the ends of the column are there rows that are not of all bands */
    const int64_t before = dvt_divide_up(dvt_at_least(j - w->inner_high - from, 0), NOTED) * NOTED,
                  inner = dvt_at_most(from + before, to + 1),
                  rows = dvt_at_least(dvt_at_most(j - w->inner_low, to) - inner + 1, 0) / NOTED * NOTED;
    steps = pass_rows(&r, &c, from, inner - 1, steps);
    r.banded = false;
    steps = pass_rows(&r, &c, inner, inner + rows - 1, steps);
    r.banded = true;
    from = inner + rows;
  }
  pass_rows(&r, &c, from, to, steps);
  if (r.searching) {
    const words better = c.most > w->most;
    w->row = chosen(better, c.row, w->row);
    w->column = chosen(better, all(j), w->column);
  }
  w->most = c.most;
}

/* ---- what is looked for ---- */

static int16_t h_of(const work *w, int64_t i, int l) {
  return ((const int16_t *)w->h)[i * LANES + l];
}

/* Of the last row and, where it is reached, the last column of each lane. */
static void look_at_ends(const work *w, int64_t j, dvt_pair_cell *best) {
  const dvt_pair_kind kind = w->pass->kind;
  for (int l = 0; l < w->pass->count; l++) {
    const dvt_pair_part *p = &w->parts[l];
    if (j > p->n || p->m == 0)
      continue;
    if (kind == DVT_PAIR_GLOBAL && j == p->n)
      best[l] = (dvt_pair_cell){h_of(w, p->m, l), p->m, j};
    if (kind == DVT_PAIR_GLOBAL)
      continue;
    if (dvt_pair_counts(p, p->m, j) && h_of(w, p->m, l) > best[l].score)
      best[l] = (dvt_pair_cell){h_of(w, p->m, l), p->m, j};
    for (int64_t i = kind == DVT_PAIR_ENDS; i < p->m && j == p->n; i++)
      if (dvt_pair_counts(p, i, j) && h_of(w, i, l) > best[l].score)
        best[l] = (dvt_pair_cell){h_of(w, i, l), i, j};
  }
}

static bool are_found(const work *w, int64_t j, const dvt_pair_cell *wanted) {
  bool found = true;
  for (int l = 0; l < w->pass->count; l++)
    found = found && (w->most[l] >= wanted[l].score || w->parts[l].n <= j);
  return found;
}

static void store_found(const work *w, dvt_pair_cell *best) {
  for (int l = 0; l < w->pass->count; l++)
    best[l] = (dvt_pair_cell){w->most[l], w->row[l], w->column[l]};
}

/* ---- all columns ---- */

static void begin_ends(const work *w, dvt_pair_cell *best) {
  for (int l = 0; l < w->pass->count; l++)
    best[l] = w->pass->kind == DVT_PAIR_BEGINS ? (dvt_pair_cell){h_of(w, w->parts[l].m, l), w->parts[l].m, 0}
                                               : (dvt_pair_cell){.score = INT32_MIN};
}

static void fill_edge(work *w) {
  const bool local = w->pass->kind == DVT_PAIR_LOCAL;
  for (int64_t i = 0; i <= w->m; i++) {
    w->h[i] = chosen(all(i) > w->last, local ? (words){0} : all(NONE), all(edge_score(w, i)));
    w->d[i] = local ? (words){0} : all(NONE);
  }
}

/* The rows of each lane's band in column 0. */
static void begin_band(work *w) {
  for (int l = 0; l < w->pass->count; l++) {
    w->first[l] = (int16_t)-w->parts[l].high;
    w->last[l] = (int16_t)-w->parts[l].low;
  }
}

DVT_CPU_INLINE void pass_all(work *w, dvt_pair_cell *best, const bool local, const bool searching,
                             const bool noting, const bool banded) {
  const dvt_pair_kind kind = w->pass->kind;
  const rules r = {.h = w->h,
                   .d = w->d,
                   .scores = w->scores,
                   .open = w->open,
                   .extend = w->extend,
                   .local = local,
                   .searching = searching,
                   .noting = noting,
                   .banded = banded};
  begin_band(w);
  fill_edge(w);
  if (kind >= DVT_PAIR_ENDS)
    begin_ends(w, best);
  for (int64_t j = 1; j <= w->n; j++) {
    const int64_t from = dvt_pair_first_row(w->high, j), to = dvt_at_most(w->m, j - w->low);
    if (from > w->m)
      break;
    w->first = w->first + 1;
    w->last = __builtin_elementwise_add_sat(w->last, all(1));
    dvt_pair_look_up(&w->symbols, j, from, to, w->scores);
    pass_column(w, j, from, to, &r);
    if (kind >= DVT_PAIR_ENDS)
      look_at_ends(w, j, best);
    if (kind == DVT_PAIR_BEGIN && j % LOOKS == 0 && are_found(w, j, best))
      break;
  }
  if (kind < DVT_PAIR_ENDS)
    store_found(w, best);
}

/* The flags are constants in each call. */
DVT_CPU_INLINE void pass_inline(work *w, dvt_pair_cell *best) {
  const dvt_pair_pass *p = w->pass;
  if (p->kind == DVT_PAIR_LOCAL && !p->positions && !p->banded)
    pass_all(w, best, true, false, false, false);
  else if (p->kind == DVT_PAIR_LOCAL && !p->banded)
    pass_all(w, best, true, true, false, false);
  else if (p->kind == DVT_PAIR_LOCAL)
    pass_all(w, best, true, true, false, true);
  else if (p->kind == DVT_PAIR_BEGIN && !p->banded)
    pass_all(w, best, false, true, false, false);
  else if (p->kind == DVT_PAIR_BEGIN)
    pass_all(w, best, false, true, false, true);
  else if (p->noting && !p->banded)
    pass_all(w, best, false, false, true, false);
  else if (p->noting)
    pass_all(w, best, false, false, true, true);
  else if (!p->banded)
    pass_all(w, best, false, false, false, false);
  else
    pass_all(w, best, false, false, false, true);
}

DVT_CPU_DISPATCH(void, pass_lanes, pass_inline, (work * w, dvt_pair_cell *best), (w, best))

bool dvt_pair_lanes(const dvt_pair_pass *pass, const dvt_pair_part *parts, dvt_pair_memory *memory,
                    dvt_pair_cell *best) {
  work w = {.pass = pass, .parts = parts};
  measure(&w);
  if (w.m == 0 || w.n == 0)
    return true;
  if (!dvt_pair_reserve(memory, lay_out(&w, NULL)))
    return false;
  w.symbols = (dvt_pair_symbols){.scoring = pass->scoring,
                                 .parts = parts,
                                 .count = pass->count,
                                 .m = w.m,
                                 .n = w.n,
                                 .few = dvt_pair_few(pass->scoring)};
  lay_out(&w, memory->at);
  w.open = all(pass->scoring->gap_open);
  w.extend = all(pass->scoring->gap_extend);
  dvt_pair_fill_symbols(&w.symbols);
  pass_lanes(&w, best);
  return true;
}

dvt_pair_steps dvt_pair_noted(const dvt_pair_pass *pass, const dvt_pair_part *parts,
                              const dvt_pair_memory *memory) {
  work w = {.pass = pass, .parts = parts};
  measure(&w);
  return (dvt_pair_steps){(const uint16_t *)(void *)memory->at, w.height, w.high};
}
