/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the matrix of one alignment on the CPU: exact scores in vectors, of which one column is kept.
 *
 * Rows are query symbols, columns target symbols, both counted from 1; row and column 0 are the edges. h is
 * the best score of the first i query symbols with the first j target symbols, d that of alignments that end
 * in a gap of target symbols (Gotoh 1982). A gap of k symbols costs first + k extend. A sweep is given h and d
 * of column 0 and turns them into those of column n.
 *
 * Several threads share a sweep: each has a band of rows, and computes a block of columns when the band above,
 * whose last row it needs, is through with it. Cost: m n cells, 13 vector operations a cell for all lanes; 33
 * KiB a thread. */
#ifndef DAVIT_OFFLOAD_ALIGN_SWEEP_H
#define DAVIT_OFFLOAD_ALIGN_SWEEP_H

#include <davit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ref/align_pair.h"

#define DVT_ALIGN_NONE (INT64_MIN / 2) /* the score of what cannot be */

/* The matrix, or the profile (davit_align_scoring) of the query of m symbols that stretches are of. */
typedef struct dvt_align_costs {
  const int8_t *matrix;
  int symbols, largest;  /* entry of either, at least 0 */
  int64_t first, extend; /* 0 or more, 1 or more */
  const int8_t *profile; /* NULL: the matrix */
  const uint8_t *query;  /* with a profile */
  int64_t m;
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

/* Columns that a sweep keeps: those whose number is a multiple of `every`, without column 0 and the last. `every` is
 * a multiple of 32, and of DVT_ALIGN_BLOCK if it is larger. Of each column h of rows 0 … m, then d of these. Scores
 * are in 32 bits; what is less than DVT_ALIGN_KEPT_NONE is that. */
enum { DVT_ALIGN_BLOCK = 1024 };
#define DVT_ALIGN_KEPT_NONE (-(1 << 30))
typedef struct dvt_align_kept {
  int64_t every;    /* 0: none is kept */
  int32_t *columns; /* dvt_align_kept_columns(n, every) times 2 (m + 1) words */
} dvt_align_kept;

static inline int64_t dvt_align_kept_columns(int64_t n, int64_t every) {
  return n > 0 && every > 0 ? (n - 1) / every : 0;
}

struct dvt_align_tile;

/* How the matrix is cut into tiles, of a strip of rows by a block of columns. */
typedef struct dvt_align_tiling {
  int lanes;     /* of a vector */
  int64_t strip; /* rows */
  int64_t reach; /* columns that scores may count from one corner */
  int64_t span;  /* they, and gaps that open there, differ by less */
  void (*make)(const struct dvt_align_tile *tile);
} dvt_align_tiling;

/* Threads and what they need. */
typedef struct dvt_align_team {
  dvt_align_tiling tiling;
  int threads;
  struct dvt_align_band *bands;
} dvt_align_team;

/* How many of so many threads share a sweep over m rows and n columns. */
int dvt_align_sweep_threads(const dvt_align_costs *costs, int64_t m, int64_t n, int threads);

/* For sweeps with these costs over at most m rows and n columns. */
davit_status dvt_align_team_open(const dvt_align_costs *costs, int64_t m, int64_t n, int threads,
                                 dvt_align_team *team);
void dvt_align_team_close(dvt_align_team *team);

/* Column 0 of a global alignment whose first gap of target symbols costs `first` to open, and of a local one.
 * Both arrays have m + 1 elements. */
void dvt_align_edge(const dvt_align_costs *costs, int64_t m, int64_t first, int64_t *h, int64_t *d);
void dvt_align_local_edge(int64_t m, int64_t *h, int64_t *d);

/* From column 0 in h and d to column n of a global alignment. Steps are noted unless `steps` is NULL, and
 * take dvt_align_steps_bytes(m n). `kept`, here and below: NULL, or where columns are kept. */
void dvt_align_sweep(const dvt_align_costs *costs, const dvt_align_stretch *s, dvt_align_team *team,
                     int64_t *h, int64_t *d, uint8_t *steps, const dvt_align_kept *kept);

/* The same without steps for the best cell, of equal ones the first by column, then row; all 0 if none scores
 * above 0. No score of h falls below `floor`: 0 for a local alignment, else DVT_ALIGN_NONE. A cell that
 * scores `enough` ends the sweep. */
dvt_align_cell dvt_align_best(const dvt_align_costs *costs, const dvt_align_stretch *s, int64_t floor,
                              int64_t enough, dvt_align_team *team, int64_t *h, int64_t *d,
                              const dvt_align_kept *kept);

/* The same for the best cell of the last row and of the last column, whatever it scores, of equal ones the
 * first of the row, then of the column; for m and n of 1 or more. Scores of row 0 do not fall below `edge`: 0
 * where a stretch of the target's beginning may be left out, else DVT_ALIGN_NONE. With `corners` the cells of
 * row and column 0 count as well. */
dvt_align_cell dvt_align_end(const dvt_align_costs *costs, const dvt_align_stretch *s, int64_t edge,
                             bool corners, dvt_align_team *team, int64_t *h, int64_t *d,
                             const dvt_align_kept *kept);

/* Bytes of steps (ref/align_pair.h). */
size_t dvt_align_steps_bytes(int64_t cells);

/* That of the cell in row i >= 1 and column j >= 1. */
int dvt_align_step(const dvt_align_tiling *tiling, const dvt_align_stretch *s, const uint8_t *steps,
                   int64_t i, int64_t j);

#endif
