/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of the search for a closest pair, each one piece of work on one device.
 *
 * A stage gets a state, does its work and returns the state with what it found. src/closest_pair.c decides
 * which stage is next, and with which grid. Several devices share a stage: each has all points and compares
 * its part of the pairs; the first of the pairs that they find is the answer. */
#ifndef DAVIT_OFFLOAD_CLOSEST_PAIR_H
#define DAVIT_OFFLOAD_CLOSEST_PAIR_H

#include <davit/closest_pair.h>
#include <stdbool.h>

#include "offload/runtime/stream.h"

typedef enum dvt_closest_stage {
  DVT_CLOSEST_BOX,    /* low, high, bad */
  DVT_CLOSEST_BRUTE,  /* the box, and pair */
  DVT_CLOSEST_DENSE,  /* the box, a dense grid of it, and pair: of pairs no farther apart than a cell */
  DVT_CLOSEST_HASHED, /* known, by a sample too; a grid with cells a little wider than that, and pair */
  DVT_CLOSEST_EQUAL   /* pair: of the pairs of equal points, if there is one */
} dvt_closest_stage;

/* Cells and their buckets, numbered from 1; bucket 0 is empty.
 *
 * Dense: cell (x, y, z) of a box is bucket first + x + y pitch[0] + z pitch[1]. A rim of empty cells gives
 * every neighbour a bucket.
 *
 * Hashed: cells of the side 2^e at multiples of the side. Runs of 32 cells in x have neighbouring buckets;
 * the first of them is hashed. Beyond 2^53 sides from the origin only points with that coordinate equal can
 * be in one cell. */
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
} dvt_closest_grid;

typedef struct dvt_closest_state {
  /* given */
  int64_t sample, seed; /* points; without a sample, of stage _HASHED alone, 0 */
  int64_t part, parts;
  double known; /* a distance that there is, or infinity */
  /* found */
  double low[3], high[3];
  int64_t bad; /* the first point that is not finite, INT64_MAX if none */
  dvt_closest_grid grid;
  uint64_t ranks;
  davit_closest_pair_result pair;
  /* used by the steps, 0 before: slots of _EQUAL, the complement of a distance's bits, flags */
  int64_t slots;
  uint64_t bound;
  uint32_t stop, counter;
} dvt_closest_state;

/* A cell has too many points, or there is no grid of the stage's kind: then `pair` is undefined. */
static inline bool dvt_closest_is_crowded(const dvt_closest_state *state) {
  return state->stop || state->ranks > (uint64_t)state->grid.ranks;
}

/* Points of one device, and what it works with. */
typedef struct dvt_closest_site {
  int device;
  bool gpu; /* else the CPU, with `threads` threads */
  int threads;
  int teams;          /* of a GPU's kernels, at most */
  dvt_stream *stream; /* of a GPU; NULL: target regions of the OpenMP runtime */
  davit_type type;
  int dim;
  int64_t n; /* below 2^32 but for DVT_CLOSEST_BOX and _BRUTE */
  const void *points;
  void *memory;              /* of the device: dvt_closest_bytes() */
  dvt_closest_state *staged; /* with a stream: pinned */
} dvt_closest_site;

/* Memory that stages up to `last` need: DVT_CLOSEST_BOX, DVT_CLOSEST_BRUTE or all. */
size_t dvt_closest_bytes(const dvt_closest_site *site, dvt_closest_stage last);

/* Points of a sample, which grow with each of DVT_CLOSEST_ROUNDS rounds. */
enum { DVT_CLOSEST_ROUNDS = 2 };
int64_t dvt_closest_sample(int64_t n, int round);

/* Does the stage and waits for it. */
davit_status dvt_closest_perform(const dvt_closest_site *site, dvt_closest_stage stage,
                                 dvt_closest_state *state);

#endif
