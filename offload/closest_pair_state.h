/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a search for a closest pair, which goes from stage to stage, and the grid in it. */
#ifndef DAVIT_OFFLOAD_CLOSEST_PAIR_STATE_H
#define DAVIT_OFFLOAD_CLOSEST_PAIR_STATE_H

#include <davit/closest_pair.h>
#include <stdbool.h>

/* Cells and their buckets, numbered from 1; bucket 0 is empty.
 *
 * Dense: cell (x, y, z) of a box is bucket first + x + y pitch[0] + z pitch[1]. A rim of empty cells gives
 * every neighbour a bucket.
 *
 * Hashed: cells of the side 2^e at multiples of the side. Runs of 32 cells in x have neighbouring buckets;
 * the first of them is hashed. Beyond 2^53 sides from the origin only points with that coordinate equal can
 * be in one cell.
 *
 * Of devices that share a grid each takes a slab, the cells [begin, end) along one axis. It compares the points
 * in it, and takes those of the cells next to it as well, to compare with. */
typedef struct dvt_closest_grid {
  int64_t hashed;
  int64_t buckets;                /* with bucket 0 */
  double origin[3], width, scale; /* of a dense one; scale is 1 / width */
  int64_t first, pitch[2];
  double factor[2]; /* their product is 1 / side */
  double most;      /* 2^53 sides */
  int64_t shift;    /* of a hash to a bucket */
  int64_t crowd;    /* points that are too many for a bucket */
  int64_t ranks;    /* sum over the buckets of c (c - 1) / 2 that is too much */
  int64_t slab;     /* not 0: a device's share alone */
  int64_t axis, begin, end;
  double from; /* the origin along the axis */
} dvt_closest_grid;

typedef struct dvt_closest_state {
  /* given to stage _COLLECT */
  davit_closest_pair_result limit;  /* the last pair that counts, as distance, i, j */
  davit_closest_pair_result *pairs; /* the host's: room for all parts */
  /* found there */
  uint64_t found; /* more than `held`: those held are any of them */
  int64_t held;
  /* given */
  int64_t sample, seed; /* points; without a sample, of stage _HASHED alone, 0 */
  int64_t part, parts;  /* the device among those that share the search */
  double known;         /* a distance that there is, or infinity */
  /* found */
  double low[3], high[3];
  int64_t bad; /* the first point that is not finite, INT64_MAX if none */
  dvt_closest_grid grid;
  uint64_t ranks;
  davit_closest_pair_result pair;
  /* used by the steps, 0 before: slots of _EQUAL, what _COLLECT does, the complement of a distance's bits,
   * flags */
  int64_t slots;
  int64_t collects; /* 1 in stage _COLLECT, which keeps up to `capacity` pairs; 0: it counts them */
  int64_t capacity;
  uint64_t bound;
  uint32_t stop, counter;
  uint32_t members; /* points that a device has taken for its slab */
} dvt_closest_state;

/* A cell has too many points, or there is no grid of the stage's kind: then `pair` is undefined. */
static inline bool dvt_closest_is_crowded(const dvt_closest_state *state) {
  return state->stop || state->ranks > (uint64_t)state->grid.ranks;
}

#endif
