/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the matrix of a pair, or over a part of it, which may be a band: what its forms share, and the plain
 * form. offload/align_pairs.h has the form for many pairs side by side.
 *
 * Rows are query symbols, columns target symbols, both counted from 1. h is the best score of the first i query symbols
 * with the first j target symbols, d that of alignments that end in a gap of target symbols, f that of those that go on
 * with a gap of query symbols. A gap of k symbols costs gap_open + (k - 1) gap_extend, gap_extend not being more than
 * gap_open. Only cells with low <= j - i <= high count. */
#ifndef DAVIT_REF_ALIGN_PAIR_H
#define DAVIT_REF_ALIGN_PAIR_H

#include <davit/align.h>
#include <stdbool.h>
#include <stddef.h>

/* Query and target, read forward (step 1) or backward from their ends (step -1). low <= 0 and n - m <= high, so that
 * the first and the last cell count. */
typedef struct dvt_pair_part {
  const uint8_t *query, *target;
  int64_t m, n;
  int step;
  int64_t low, high;
} dvt_pair_part;

typedef struct dvt_pair_cell {
  int64_t score, row, column;
} dvt_pair_cell;

/* What is looked for, and what row and column 0 score. The best cell is, of equal ones, the first
 *   DVT_PAIR_LOCAL   by column, then row, of all that score above 0; scores are kept at 0 or more
 *   DVT_PAIR_BEGIN   the same without that; alignments begin in the corner
 *   DVT_PAIR_ENDS    of the last row, then of the last column; alignments begin in row or column 0
 *   DVT_PAIR_BEGINS  the same with row and column 0; alignments begin in the corner
 *   DVT_PAIR_GLOBAL  is the last one; alignments begin in the corner */
typedef enum dvt_pair_kind {
  DVT_PAIR_LOCAL,
  DVT_PAIR_BEGIN,
  DVT_PAIR_ENDS,
  DVT_PAIR_BEGINS,
  DVT_PAIR_GLOBAL
} dvt_pair_kind;

static inline bool dvt_pair_in_corner(dvt_pair_kind kind) {
  return kind == DVT_PAIR_BEGIN || kind == DVT_PAIR_BEGINS || kind == DVT_PAIR_GLOBAL;
}

static inline bool dvt_pair_counts(const dvt_pair_part *p, int64_t i, int64_t j) {
  return p->low <= j - i && j - i <= p->high;
}

/* ---- parts of a pair ---- */

/* What lies before a cell, in which an alignment ends, read backward from it. */
static inline dvt_pair_part dvt_pair_before(const dvt_pair_part *a, int64_t row, int64_t column) {
  const int64_t low = column - row - a->high, high = column - row - a->low;
  return (dvt_pair_part){a->query + row - 1,      a->target + column - 1,       row, column, -1,
                         low > -row ? low : -row, high < column ? high : column};
}

/* What lies between the begin and the end of an alignment, read forward. */
static inline dvt_pair_part dvt_pair_between(const dvt_pair_part *a, int64_t query_begin, int64_t query_end,
                                             int64_t target_begin, int64_t target_end) {
  const int64_t m = query_end - query_begin, n = target_end - target_begin,
                low = a->low - (target_begin - query_begin), high = a->high - (target_begin - query_begin);
  return (dvt_pair_part){a->query + query_begin, a->target + target_begin, m, n, 1,
                         low > -m ? low : -m,    high < n ? high : n};
}

/* ---- what the score says of the way ----
 *
 * A query symbol scores no more than it likes best, so an alignment with score S of query symbols that like U in all
 * has gaps that cost at most U - S: it cannot go far from the diagonal of its end, and cells further away may be left
 * out of the passes that look for it, whichever of those with this score it is. */
typedef struct dvt_pair_costs {
  int64_t open, extend;
  const int8_t *likes; /* the best score of each query symbol, at least 0 */
} dvt_pair_costs;

typedef struct dvt_pair_wishes {
  int64_t sum, least; /* of what the symbols like */
} dvt_pair_wishes;

static inline dvt_pair_wishes dvt_pair_wishes_of(const dvt_pair_costs *c, const dvt_pair_part *a) {
  dvt_pair_wishes w = {0, INT8_MAX};
  for (int64_t i = 0; i < a->m; i++) {
    const int64_t likes = c->likes[a->query[i * a->step]];
    w.sum += likes;
    w.least = likes < w.least ? likes : w.least;
  }
  return w;
}

/* From the end on: k target symbols in gaps cost open + (k - 1) extend at least, k query symbols what they like as
 * well. */
static inline void dvt_pair_narrow_back(const dvt_pair_costs *c, int64_t score, dvt_pair_part *a) {
  const dvt_pair_wishes w = dvt_pair_wishes_of(c, a);
  const int64_t rest = w.sum - score - c->open + c->extend, left = rest > 0 ? rest : 0,
                high = left / c->extend, low = -(left / (c->extend + w.least));
  a->high = a->high < high ? a->high : high;
  a->low = a->low > low ? a->low : low;
}

/* Between two corners: who goes k diagonals beyond them has k symbols of each sequence more in gaps than he must. */
static inline void dvt_pair_narrow_between(const dvt_pair_costs *c, int64_t score, dvt_pair_part *a) {
  const dvt_pair_wishes w = dvt_pair_wishes_of(c, a);
  const int64_t more = a->n - a->m, right = more > 0 ? more : 0, left = more < 0 ? -more : 0,
                must = 2 * (c->open - c->extend) + (right + left) * c->extend + left * w.least,
                rest = w.sum - score - must, beyond = (rest > 0 ? rest : 0) / (2 * c->extend + w.least);
  a->high = a->high < right + beyond ? a->high : right + beyond;
  a->low = a->low > -left - beyond ? a->low : -left - beyond;
}

/* ---- steps ---- */

/* The step by which a cell is reached: where h comes from, whether the gap of target symbols that ends here began
 * before, and whether the gap of query symbols that may go on below did. DVT_ALIGN_ORIGIN is the gap of query symbols
 * as well, where that of target symbols would be the next best. Of equal scores a step takes the match first, then
 * the gap of target symbols, and opens a gap. */
enum {
  DVT_ALIGN_BOTH = 0,
  DVT_ALIGN_D = 1,
  DVT_ALIGN_I = 2,
  DVT_ALIGN_ORIGIN = 3,
  DVT_ALIGN_D_EXTENDS = 4,
  DVT_ALIGN_I_EXTENDS = 8
};

/* The first row of the band in column j. */
static inline int64_t dvt_pair_first_row(int64_t high, int64_t j) {
  return j - high > 1 ? j - high : 1;
}

/* The plain form. scratch: 2 (m + 1) words. Steps are noted unless `steps` is NULL: column after column, in each
 * dvt_ref_align_height() bytes for the rows of the band. */
int64_t dvt_ref_align_height(const dvt_pair_part *p);
dvt_pair_cell dvt_ref_align_pass(const davit_align_scoring *scoring, dvt_pair_kind kind,
                                 const dvt_pair_part *p, int64_t *scratch, uint8_t *steps);

/* ---- extensions with an X-drop ----
 *
 * Alignments begin in the corner and end in the best cell, of equal ones the first by column, then row; the corner
 * scores 0. Anti-diagonal s has the cells with i + j = s. Behind it, a cell counts if it is in the band and scores at
 * least what the best cell of the anti-diagonals before does, less X; alignments pass through cells that count alone.
 * So no order of the cells of an anti-diagonal matters. After Z. Zhang, S. Schwartz, L. Wagner and W. Miller, A Greedy
 * Algorithm for Aligning DNA Sequences (2000), with Gotoh's gaps. */
typedef struct dvt_pair_extension {
  dvt_pair_cell end;
  bool dropped; /* no cell of the last row or column counts */
} dvt_pair_extension;

typedef struct dvt_pair_rows {
  int64_t from, to; /* from > to: none */
} dvt_pair_rows;

#define DVT_PAIR_NO_ROWS ((dvt_pair_rows){INT64_MAX / 2, -1})

/* The rows that an anti-diagonal has within the band. */
static inline dvt_pair_rows dvt_pair_across(const dvt_pair_part *p, int64_t number) {
  const int64_t right = number - p->n, upper = (number - p->high + 1) / 2, lower = (number - p->low) / 2,
                least = right > upper ? right : upper, bottom = number < p->m ? number : p->m;
  return (dvt_pair_rows){least > 0 ? least : 0, lower < bottom ? lower : bottom};
}

/* Those of them that may count, from the rows that did on the anti-diagonal before and the one before that. */
static inline dvt_pair_rows dvt_pair_next_rows(dvt_pair_rows all, dvt_pair_rows last, dvt_pair_rows older) {
  const int64_t from = last.from < older.from + 1 ? last.from : older.from + 1,
                to = (last.to > older.to ? last.to : older.to) + 1;
  return (dvt_pair_rows){from > all.from ? from : all.from, to < all.to ? to : all.to};
}

/* The plain form. X: at least 0. scratch: 4 (m + 3) words. Steps are noted unless `note` is NULL: note(owner, number,
 * rows) gives room for a byte a row of this anti-diagonal; NULL: there is none. Of a step, the gaps
 * are those that leave the cell: DVT_ALIGN_D_EXTENDS is of the cell to the right. false: there was no room. */
typedef uint8_t *dvt_pair_note(void *owner, int64_t number, dvt_pair_rows rows);
bool dvt_ref_align_extend(const davit_align_scoring *scoring, const dvt_pair_part *p, int64_t x_drop,
                          int64_t *scratch, dvt_pair_note *note, void *owner, dvt_pair_extension *found);

#endif
