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
