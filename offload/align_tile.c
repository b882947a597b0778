/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of an alignment's matrix: the words that they are computed in, and where their steps lie. */
#include "offload/align_tile.h"

#include <davit/align.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

/* Vectors of a strip: with more of them the profile of 20 letters leaves a first cache of 32 KiB. */
enum { VECTORS = 16 };

/* With fewer columns from one corner, counting anew costs more than wider words do (measured; both cost the
 * same at some 30). */
enum { FEWEST_COLUMNS = 32 };

/* More than an entry of the matrix, of either sign. */
enum { SLACK = 256 };

/* How rows lie in vectors: `vectors` of them, with rows in the first `lanes` lanes. */
typedef struct stripes {
  int vectors, lanes;
} stripes;

static stripes stripes_of(const dvt_align_tiling *tiling, int64_t rows) {
  const int vectors = (int)dvt_divide_up(rows, tiling->lanes);
  return (stripes){vectors, (int)dvt_divide_up(rows, vectors)};
}

/* The steps of strips follow each other, in them those of columns, and in these those of vectors without the
 * lanes that have no rows. A vector is written whole; what is too much is overwritten by the next. */
static int64_t place_of(const dvt_align_stretch *s, int64_t row, const stripes *shape, int64_t column) {
  return row * s->n + (column - 1) * shape->vectors * shape->lanes;
}

#define T int16_t
#define NAME(x) x##_short
#include "offload/align_tile.inc"

#define T int32_t
#define NAME(x) x##_int
#include "offload/align_tile.inc"

#define T int64_t
#define NAME(x) x##_long
#include "offload/align_tile.inc"

/* Words of one width. */
typedef struct width {
  int lanes;
  int64_t largest;
  void (*make)(const dvt_align_tiling *tiling, const dvt_align_tile *tile);
} width;

static const width widths[] = {{LANES_short, INT16_MAX, tile_short},
                               {LANES_int, INT32_MAX, tile_int},
                               {LANES_long, INT64_MAX, tile_long}};

/* Scores of a strip and `reach` columns differ from that of their corner by at most strip + reach times what
 * neighbours differ by. -span is two times that less again, so no score, nor a gap that opens there, is as
 * little; and it has to bear another opening, the slope and the matrix. */
static dvt_align_tiling tiling_with(const width *w, const dvt_align_costs *costs) {
  const int64_t open = costs->first + costs->extend, differ = open + costs->largest;
  const int64_t strip = (int64_t)VECTORS * w->lanes, room = w->largest - SLACK - strip * costs->extend - open;
  const int64_t reach = dvt_at_most(room / differ - strip - 2, DVT_ALIGN_BLOCK);
  return (dvt_align_tiling){w->lanes, strip, reach, (strip + reach + 2) * differ, w->make};
}

dvt_align_tiling dvt_align_tiling_of(const dvt_align_costs *costs) {
  const width *w = widths;
  while (tiling_with(w, costs).reach < FEWEST_COLUMNS)
    w++;
  return tiling_with(w, costs);
}

/* Lanes without rows are fewer than vectors, and v + 1 vectors are taken for more than v times all lanes: so
 * they are fewer than one in `lanes` rows. The last vector is written whole. */
size_t dvt_align_steps_bytes(int64_t cells) {
  return (size_t)(cells + cells / LANES_long + LANES_short);
}

int dvt_align_step(const dvt_align_tiling *tiling, const dvt_align_stretch *s, const uint8_t *steps,
                   int64_t i, int64_t j) {
  const int64_t row = (i - 1) % tiling->strip, begin = i - 1 - row;
  const stripes shape = stripes_of(tiling, dvt_at_most(s->m - begin, tiling->strip));
  const int64_t vector = row % shape.vectors, lane = row / shape.vectors;
  return steps[place_of(s, begin, &shape, j) + vector * shape.lanes + lane];
}
