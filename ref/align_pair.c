/* SPDX-License-Identifier: Apache-2.0 */
/* A pass over one pair, cell by cell: for every cost, length and band. Cost: m n cells, or those of the band. */
#include "ref/align_pair.h"

#define NONE (INT64_MIN / 2)

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t edge(const davit_align_scoring *s, dvt_pair_kind kind, const dvt_pair_part *p, int64_t i,
                    int64_t j) {
  const int64_t length = i + j;
  if (!dvt_pair_counts(p, i, j))
    return NONE;
  return length > 0 && dvt_pair_in_corner(kind) ? -(s->gap_open + (length - 1) * (int64_t)s->gap_extend) : 0;
}

int64_t dvt_ref_align_height(const dvt_pair_part *p) {
  const int64_t diagonals = p->high - p->low + 1;
  return diagonals < p->m ? diagonals : p->m;
}

/* A column in the rows of the band, from h and d of the one before. */
static void pass_column(const davit_align_scoring *s, dvt_pair_kind kind, const dvt_pair_part *p, int64_t j,
                        int64_t *h, int64_t *d, uint8_t *steps, dvt_pair_cell *best) {
  const int64_t open = s->gap_open, extend = s->gap_extend, floor = kind == DVT_PAIR_LOCAL ? 0 : NONE;
  const int64_t from = dvt_pair_first_row(p->high, j), to = p->m < j - p->low ? p->m : j - p->low;
  const int8_t *column = s->matrix + (int64_t)p->target[(j - 1) * p->step] * s->symbols;
  int64_t diagonal = h[from - 1], f = NONE;
  if (from == 1) {
    h[0] = edge(s, kind, p, 0, j);
    f = h[0] - open;
  }
  for (int64_t i = from; i <= to; i++) {
    const int64_t longer = d[i] - extend, opened = h[i] - open,
                  both = diagonal + column[p->query[(i - 1) * p->step]];
    d[i] = larger(longer, opened);
    const int64_t rest = larger(larger(both, floor), d[i]), here = larger(rest, f);
    diagonal = h[i];
    h[i] = here;
    if (steps)
      *steps++ = (uint8_t)((here > rest   ? DVT_ALIGN_I
                            : rest > both ? DVT_ALIGN_D
                                          : DVT_ALIGN_BOTH) |
                           (longer > opened ? DVT_ALIGN_D_EXTENDS : 0) |
                           (f - extend > here - open ? DVT_ALIGN_I_EXTENDS : 0));
    f = larger(f - extend, here - open);
    if (kind <= DVT_PAIR_BEGIN && here > best->score)
      *best = (dvt_pair_cell){here, i, j};
  }
  const bool ends = kind == DVT_PAIR_ENDS || kind == DVT_PAIR_BEGINS;
  if (ends && to == p->m && h[p->m] > best->score)
    *best = (dvt_pair_cell){h[p->m], p->m, j};
}

dvt_pair_cell dvt_ref_align_pass(const davit_align_scoring *s, dvt_pair_kind kind, const dvt_pair_part *p,
                                 int64_t *scratch, uint8_t *steps) {
  int64_t *h = scratch, *d = scratch + p->m + 1;
  const int64_t height = dvt_ref_align_height(p);
  for (int64_t i = 0; i <= p->m; i++) {
    h[i] = edge(s, kind, p, i, 0);
    d[i] = NONE;
  }
  dvt_pair_cell best = {0};
  if (kind == DVT_PAIR_ENDS)
    best.score = NONE;
  if (kind == DVT_PAIR_BEGINS)
    best = (dvt_pair_cell){h[p->m], p->m, 0};
  /* Bands that only say where to look may end before the last column. */
  for (int64_t j = 1; j <= p->n && j - p->high <= p->m; j++)
    pass_column(s, kind, p, j, h, d, steps ? steps + (j - 1) * height : NULL, &best);
  if (kind == DVT_PAIR_GLOBAL)
    return (dvt_pair_cell){h[p->m], p->m, p->n};
  for (int64_t i = kind == DVT_PAIR_ENDS; i < p->m && kind >= DVT_PAIR_ENDS; i++)
    if (dvt_pair_counts(p, i, p->n) && h[i] > best.score)
      best = (dvt_pair_cell){h[i], i, p->n};
  return best;
}

/* ---- extensions ---- */

/* h of the last two anti-diagonals; d, f: gaps that leave the last one. Rows -1 … m + 1. */
typedef struct diagonals {
  int64_t *h, *older, *d, *f;
} diagonals;

static diagonals begin_diagonals(const davit_align_scoring *s, int64_t m, int64_t *scratch) {
  const int64_t rows = m + 3;
  const diagonals x = {scratch + 1, scratch + rows + 1, scratch + 2 * rows + 1, scratch + 3 * rows + 1};
  for (int64_t k = 0; k < 4 * rows; k++)
    scratch[k] = NONE;
  x.h[0] = 0;
  x.d[0] = x.f[0] = -(int64_t)s->gap_open;
  return x;
}

static bool is_better(int64_t score, int64_t column, const dvt_pair_cell *best) {
  return score > best->score || (score == best->score && column < best->column);
}

/* The rows of an anti-diagonal from below, into h of the one before the last; those that count. */
static dvt_pair_rows pass_diagonal(const davit_align_scoring *s, const dvt_pair_part *p, int64_t number,
                                   dvt_pair_rows rows, int64_t least, const diagonals *x, uint8_t *steps,
                                   dvt_pair_cell *best) {
  dvt_pair_rows count = DVT_PAIR_NO_ROWS;
  for (int64_t i = rows.to; i >= rows.from; i--) {
    const int64_t j = number - i, f = x->f[i - 1], d = x->d[i],
                  score = i > 0 && j > 0 ? s->matrix[p->query[(i - 1) * p->step] +
                                                     (int64_t)p->target[(j - 1) * p->step] * s->symbols]
                                         : 0,
                  both = x->older[i - 1] + score, rest = larger(both, d), all = larger(rest, f),
                  here = all >= least ? all : NONE, opened = here - s->gap_open;
    if (here > NONE)
      count = (dvt_pair_rows){i, larger(count.to, i)};
    if (steps)
      steps[i - rows.from] = (uint8_t)((all > rest    ? DVT_ALIGN_I
                                        : rest > both ? DVT_ALIGN_D
                                                      : DVT_ALIGN_BOTH) |
                                       (d - s->gap_extend > opened ? DVT_ALIGN_D_EXTENDS : 0) |
                                       (f - s->gap_extend > opened ? DVT_ALIGN_I_EXTENDS : 0));
    x->older[i] = here;
    x->d[i] = larger(d - s->gap_extend, opened);
    x->f[i] = larger(f - s->gap_extend, opened);
    if (is_better(here, j, best))
      *best = (dvt_pair_cell){here, i, j};
  }
  return count;
}

/* Nothing counts beside these rows; without any, nowhere. */
static void close_diagonal(const diagonals *x, dvt_pair_rows rows, int64_t m) {
  int64_t *const all[] = {x->older, x->d, x->f};
  for (int k = 0; k < 3; k++) {
    for (int64_t i = -1; i <= m + 1 && rows.from > rows.to; i++)
      all[k][i] = NONE;
    if (rows.from <= rows.to)
      all[k][rows.from - 1] = all[k][rows.to + 1] = NONE;
  }
}

static bool counts_at_end(const dvt_pair_part *p, int64_t number, dvt_pair_rows rows, const int64_t *h) {
  const int64_t ends[] = {p->m, number - p->n};
  bool any = false;
  for (int k = 0; k < 2; k++)
    any = any || (ends[k] >= rows.from && ends[k] <= rows.to && h[ends[k]] > NONE);
  return any;
}

bool dvt_ref_align_extend(const davit_align_scoring *s, const dvt_pair_part *p, int64_t x_drop,
                          int64_t *scratch, dvt_pair_note *note, void *owner, dvt_pair_extension *found) {
  diagonals x = begin_diagonals(s, p->m, scratch);
  const int64_t drop = x_drop < -NONE / 2 ? x_drop : -NONE / 2;
  dvt_pair_rows last = {0, 0}, older = DVT_PAIR_NO_ROWS;
  *found = (dvt_pair_extension){.dropped = p->m > 0 && p->n > 0};
  for (int64_t number = 1; number <= p->m + p->n && (last.from <= last.to || older.from <= older.to);
       number++) {
    const dvt_pair_rows rows = dvt_pair_next_rows(dvt_pair_across(p, number), last, older);
    uint8_t *steps = note && rows.from <= rows.to ? note(owner, number, rows) : NULL;
    if (note && rows.from <= rows.to && !steps)
      return false;
    older = last;
    last = pass_diagonal(s, p, number, rows, found->end.score - drop, &x, steps, &found->end);
    close_diagonal(&x, rows, p->m);
    found->dropped = found->dropped && !counts_at_end(p, number, rows, x.older);
    int64_t *const h = x.older;
    x.older = x.h;
    x.h = h;
  }
  return true;
}
