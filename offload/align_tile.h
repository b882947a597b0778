/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of the matrix of one alignment on the CPU, in vectors and exact: what passes over a long pair are
 * made of (src/align_pass.h).
 *
 * Rows are query symbols, columns target symbols, both counted from 1; row and column 0 are the edges. h is
 * the best score of the first i query symbols with the first j target symbols, d that of alignments that end
 * in a gap of target symbols (Gotoh 1982). A gap of k symbols costs first + k extend.
 *
 * A tile is a strip of rows by a block of columns. It takes h and d of the column before, h and the gap of
 * query symbols of the row above, and leaves those of its last column and row. Inside, scores count from that
 * of the corner, in the narrowest words that hold them: a cell scores at least `open` less than the one
 * before it in its row or column, as one more symbol in a gap would do, and at most open + largest more, so
 * what a tile spans is known before. */
#ifndef DAVIT_OFFLOAD_ALIGN_TILE_H
#define DAVIT_OFFLOAD_ALIGN_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DVT_ALIGN_BLOCK = 1024 /* most columns of a tile */ };

#define DVT_ALIGN_NONE (INT64_MIN / 2) /* the score of what cannot be */

typedef struct dvt_align_costs {
  const int8_t *matrix;
  int symbols, largest;  /* entry of the matrix, at least 0 */
  int64_t first, extend; /* 0 or more, 1 or more */
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

/* Of equal cells the first by column; that of the rows above then stays. */
static inline bool dvt_align_better(const dvt_align_cell *a, const dvt_align_cell *b) {
  return a->score != b->score ? a->score > b->score : a->column < b->column;
}

/* Of a row: h, and the gap of query symbols that may go on below. */
typedef struct dvt_align_border {
  int64_t h[DVT_ALIGN_BLOCK], gap[DVT_ALIGN_BLOCK];
} dvt_align_border;

/* A step, by which a cell is reached: where h comes from, whether the gap of target symbols that ends here
 * began before, and whether the gap of query symbols that may go on below did. */
enum {
  DVT_ALIGN_BOTH = 0,
  DVT_ALIGN_D = 1,
  DVT_ALIGN_I = 2,
  DVT_ALIGN_ORIGIN = 3,
  DVT_ALIGN_D_EXTENDS = 4,
  DVT_ALIGN_I_EXTENDS = 8
};

typedef struct dvt_align_tile {
  const dvt_align_costs *costs;
  const dvt_align_stretch *s;
  int64_t least;       /* no h falls below it */
  int64_t row, rows;   /* rows row + 1 … row + rows; a strip, or what is left of the last */
  int64_t first, last; /* columns, at most DVT_ALIGN_BLOCK */
  int64_t *h, *d;      /* of all rows of the rectangle, by row */
  int64_t corner;      /* h in the row above, the column before */
  const dvt_align_border *above;
  dvt_align_border *below; /* may be `above` */
  dvt_align_cell *best;    /* becomes the tile's, the first by column, then row, if that is better */
  uint8_t *steps;          /* NULL, or those of the rectangle */
} dvt_align_tile;

/* The way of making tiles that fits the costs. */
typedef struct dvt_align_tiling {
  int lanes;     /* of a vector */
  int64_t strip; /* rows */
  int64_t reach; /* columns that scores may count from one corner */
  int64_t span;  /* which they, and gaps that open there, differ by less than */
  void (*make)(const struct dvt_align_tiling *tiling, const dvt_align_tile *tile);
} dvt_align_tiling;

dvt_align_tiling dvt_align_tiling_of(const dvt_align_costs *costs);

/* Bytes that the steps of a rectangle of so many cells may take. */
size_t dvt_align_steps_bytes(int64_t cells);

/* The step of a cell in row i >= 1 and column j >= 1. */
int dvt_align_step(const dvt_align_tiling *tiling, const dvt_align_stretch *s, const uint8_t *steps,
                   int64_t i, int64_t j);

#endif
