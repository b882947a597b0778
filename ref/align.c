/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of alignments on the CPU, cell by cell, with one column of the matrix at a time: h[i] is the score
 * of query symbol i with the target symbol of the column, e[i] the gap of query symbol i that goes on in the
 * next one. Cost: m n cells, 8 or 16 m bytes. */
#include "ref/cell.h"
#include "ref/ref.h"

/* What target symbol t scores with the query: entry `place` of a profile, or that of the place's symbol. */
static const int8_t *column_of(const davit_align_scoring *s, int64_t m, int t) {
  return s->profile ? s->profile + t * m : s->matrix + (int64_t)t * s->symbols;
}

static int entry_of(const davit_align_scoring *s, const int8_t *column, const uint8_t *query, int64_t place) {
  return column[s->profile ? place : query[place]];
}

int32_t dvt_ref_align_score(const davit_align_scoring *scoring, int64_t m, const uint8_t *query, int64_t n,
                            const uint8_t *target, int32_t *scratch) {
  int32_t *h = scratch, *e = scratch + m, best = 0;
  for (int64_t i = 0; i < 2 * m; i++)
    scratch[i] = 0;
  for (int64_t j = 0; j < n; j++) {
    const int8_t *column = column_of(scoring, m, target[j]);
    int32_t diagonal = 0, f = 0;
    for (int64_t i = 0; i < m; i++) {
      const int32_t matched = diagonal + entry_of(scoring, column, query, i);
      diagonal = h[i];
      h[i] = dvt_int_cell(matched, scoring->gap_open, scoring->gap_extend, &e[i], &f, &best);
    }
  }
  return best;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* h and e have an element for the edge in front. Nothing keeps scores at 0 here, so each gap is looked at
 * from both of its ends, and cell.inc does not serve. */
int64_t dvt_ref_align_ends(davit_align_mode mode, const davit_align_scoring *scoring, int64_t m,
                           const uint8_t *query, int64_t n, const uint8_t *target, int64_t *scratch) {
  const int64_t open = scoring->gap_open, none = INT64_MIN / 2,
                extend = scoring->gap_extend < open ? scoring->gap_extend : open;
  const int64_t edge = mode == DAVIT_ALIGN_GLOBAL ? extend : 0, first = edge ? open - extend : 0;
  int64_t *h = scratch, *e = scratch + m + 1, best = none;
  for (int64_t i = 0; i <= m; i++) {
    h[i] = i ? -first - i * edge : 0;
    e[i] = none;
  }
  for (int64_t j = 1; j <= n; j++) {
    const int8_t *column = column_of(scoring, m, target[j - 1]);
    int64_t diagonal = h[0], f = none;
    h[0] = -first - j * edge;
    for (int64_t i = 1; i <= m; i++) {
      const int64_t matched = diagonal + entry_of(scoring, column, query, i - 1);
      e[i] = larger(e[i] - extend, h[i] - open);
      f = larger(f - extend, h[i - 1] - open);
      diagonal = h[i];
      h[i] = larger(matched, larger(e[i], f));
    }
    best = larger(best, h[m]);
  }
  if (mode == DAVIT_ALIGN_GLOBAL)
    return h[m];
  for (int64_t i = 1; i <= m; i++)
    best = larger(best, h[i]);
  return m && n ? best : 0;
}
