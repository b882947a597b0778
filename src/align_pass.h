/* A pass over the matrix of an alignment that keeps one column of it: what src/align_trace.c is made of.
 *
 * Rows are query symbols, columns target symbols, both counted from 1; row and column 0 are the edges. h[i] is the best score of the first i
 * query symbols with all target symbols so far, d[i] that of alignments that end in a gap of target symbols (Gotoh 1982).
 *
 * Several threads share a pass: each has a band of rows, and goes through the columns a block behind the band above, whose last row it
 * needs. */
#ifndef DAVIT_SRC_ALIGN_PASS_H
#define DAVIT_SRC_ALIGN_PASS_H

#include <davit/status.h>
#include <stdbool.h>
#include <stdint.h>

#define DVT_ALIGN_NONE (INT64_MIN / 2) /* the score of what cannot be */

typedef struct dvt_align_costs {
  const int8_t *matrix;
  int symbols;
  int64_t first, extend; /* a gap of k costs first + k extend, both 0 or more */
} dvt_align_costs;

/* Query and target of a rectangle, read forward (step 1) or backward from their ends (step -1). */
typedef struct dvt_align_stretch {
  const uint8_t *query, *target;
  int64_t m, n;
  int step;
} dvt_align_stretch;

typedef struct dvt_align_cell {
  int64_t score, row, column;
} dvt_align_cell;

/* Threads and what they need. */
typedef struct dvt_align_team {
  int threads;
  struct dvt_align_band *bands;
} dvt_align_team;

davit_status dvt_align_team_open(int64_t m, int64_t n, int threads, dvt_align_team *team);
void dvt_align_team_close(dvt_align_team *team);

/* What a target symbol scores against each query symbol. */
static inline const int8_t *dvt_align_scores_of(const dvt_align_costs *costs, const dvt_align_stretch *s,
                                                int64_t column) {
  return costs->matrix + (int64_t)s->target[(column - 1) * s->step] * costs->symbols;
}

static inline int64_t dvt_larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Column 0 of a global alignment whose first gap of target symbols costs `first` to open. */
void dvt_align_edge(const dvt_align_costs *costs, int64_t m, int64_t first, int64_t *h, int64_t *d);

/* From column 0 in h and d, of m + 1 each, to column n. No score of h falls below `least`. */
void dvt_align_pass(const dvt_align_costs *costs, const dvt_align_stretch *s, int64_t least,
                    dvt_align_team *team, int64_t *h, int64_t *d);

/* The same for the best cell, of equal ones the first by column, then row; all 0 if none scores above 0. A cell that scores `enough` ends
 * the pass. */
dvt_align_cell dvt_align_best(const dvt_align_costs *costs, const dvt_align_stretch *s, int64_t least,
                              int64_t enough, dvt_align_team *team, int64_t *h, int64_t *d);

#endif
