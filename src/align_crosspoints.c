/* SPDX-License-Identifier: Apache-2.0 */
/* Cells that the best alignment passes through. The forward sweep has left h and d of some columns (as CUDAlign
 * keeps special rows, Sandes and de Melo 2010). From the alignment's last cell a backward sweep goes to the kept
 * column before it; where forward and backward score make up that of the cell, the best alignments pass. Rows that
 * none of them can reach there are left out: in w columns an alignment with r more query symbols gains at most w
 * largest - first - r extend, and what the column has in a row must make up for the rest.
 *
 * A cell is taken only if all best alignments pass through it, for where they begin is a rule (align_trace.c); of a
 * global alignment, whose beginning is known, the first one is. If there is none the next sweep goes to a column
 * further away: twice as far, four times. The cells do not depend on where and by how many threads they are found.
 *
 * A similar pair costs a strip along the diagonal. */
#include "src/align_columns.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"

/* Rows first … last of a kept column, to kh and kd. */
static davit_status load(dvt_trace *t, int64_t column, int64_t first, int64_t last) {
  const int64_t rows = t->all.m + 1, which = column / t->every - 1;
  const int32_t *h, *d;
  if (t->kept) {
    h = t->kept + 2 * rows * which + first;
    d = h + rows;
  } else {
    if (first == 0) {
      t->kh[0] = t->mode == DAVIT_ALIGN_GLOBAL ? -(t->costs.first + column * t->costs.extend) : 0;
      t->kd[0] = DVT_ALIGN_KEPT_NONE;
      first = 1;
    }
    DVT_TRY(dvt_align_wavefront_kept(t->wavefront, t->all.m, which, first, last, &h, &d));
  }
  for (int64_t i = first; i <= last; i++) {
    t->kh[i] = h[i - first];
    t->kd[i] = d[i - first];
  }
  return DAVIT_SUCCESS;
}

/* The first row of a kept column from which a best alignment may come to x, and those from there on loaded. No cell
 * scores more than its row times `largest`. */
static davit_status lowest_row(dvt_trace *t, const dvt_align_cell *x, int64_t column, int64_t *row) {
  const int64_t width = x->column - column, most = width * t->costs.largest, need = x->score - most;
  *row = need > 0 ? dvt_divide_up(need, t->costs.largest) : 0;
  DVT_TRY(load(t, column, *row, x->row));
  for (; *row < x->row; ++*row) {
    const int64_t excess = x->row - *row - width;
    if (t->kh[*row] >= need + (excess > 0 ? t->costs.first + excess * t->costs.extend : 0))
      break;
  }
  return DAVIT_SUCCESS;
}

/* h and d of all cells that lie before x, down to the kept column; the best of them if the alignment may begin
 * there. */
static davit_status pass_back(dvt_trace *t, const dvt_align_cell *x, int64_t row, int64_t column,
                              dvt_align_cell *best) {
  const dvt_align_stretch back = {t->all.query + x->row - 1, t->all.target + x->column - 1, x->row - row,
                                  x->column - column, -1};
  const bool searches = t->mode == DAVIT_ALIGN_LOCAL && x->score <= back.n * t->costs.largest;
  if (dvt_trace_is_for_device(t, &back)) {
    DVT_TRY(searches ? dvt_align_wavefront_best(t->wavefront, &back, false, false, best)
                     : dvt_align_wavefront_sweeps(t->wavefront, 1,
                                                  &(dvt_align_wavefront_sweep){back, t->costs.first}, false));
    dvt_align_wavefront_column(t->wavefront, 0, t->h, t->d);
    return DAVIT_SUCCESS;
  }
  dvt_align_edge(&t->costs, back.m, t->costs.first, t->h, t->d);
  if (searches)
    *best = dvt_align_best(&t->costs, &back, DVT_ALIGN_NONE, x->score, &t->team, t->h, t->d, NULL);
  else
    dvt_align_sweep(&t->costs, &back, &t->team, t->h, t->d, NULL, NULL);
  return DAVIT_SUCCESS;
}

/* The row, from `row` on, in which the best alignments pass through the column; -1: in several, or in a gap of target
 * symbols. Where opening a gap costs no more than going on with it, a gap is no obstacle. */
static int64_t crosspoint_row(const dvt_trace *t, const dvt_align_cell *x, int64_t row) {
  int64_t found = -1;
  for (int64_t i = row; i <= x->row; i++) {
    const int64_t meet = t->kh[i] + t->h[x->row - i], gone = t->kd[i] + t->d[x->row - i] + t->costs.first;
    const bool global = t->mode == DAVIT_ALIGN_GLOBAL, through = gone == x->score && t->costs.first > 0;
    if (global && meet == x->score)
      return i;
    if (!global && (through || (meet == x->score && found >= 0)))
      return -1;
    if (meet == x->score)
      found = i;
  }
  return found;
}

/* What a step back to a kept column has found: no cell that all best alignments share; one, to which x moved; where
 * they begin, to which it moved; or that they may begin in row 0 before that. */
typedef enum outcome { NOTHING, MOVED, BEGUN, EDGE } outcome;

static davit_status cross(dvt_trace *t, int64_t column, dvt_align_cell *x, outcome *found) {
  dvt_align_cell best = {.score = DVT_ALIGN_NONE};
  int64_t row;
  *found = EDGE;
  DVT_TRY(lowest_row(t, x, column, &row));
  if (t->mode == DAVIT_ALIGN_SEMIGLOBAL && row == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(pass_back(t, x, row, column, &best));
  if (best.score >= x->score) {
    *x = (dvt_align_cell){0, x->row - best.row, x->column - best.column};
    *found = BEGUN;
    return DAVIT_SUCCESS;
  }
  const int64_t at = crosspoint_row(t, x, row);
  *found = at >= 0 ? MOVED : NOTHING;
  if (at >= 0)
    *x = (dvt_align_cell){t->kh[at], at, column};
  return DAVIT_SUCCESS;
}

davit_status dvt_trace_cross(dvt_trace *t, dvt_align_cell *x) {
  const int64_t columns = dvt_align_kept_columns(t->all.n, t->every),
                furthest = columns > 0 ? dvt_at_least(columns / 4, 1) : 0;
  for (int64_t apart = 1; apart <= furthest && t->crossed < DVT_TRACE_CROSSINGS && x->row > 0;) {
    const int64_t which = (x->column - 1) / t->every - (apart - 1);
    outcome found;
    if (which < 1)
      break;
    DVT_TRY(cross(t, which * t->every, x, &found));
    if (found == BEGUN || found == EDGE)
      break;
    if (found == MOVED)
      t->crosspoints[t->crossed++] = *x;
    apart = found == MOVED ? 1 : 2 * apart;
  }
  return DAVIT_SUCCESS;
}
