/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of the search for a closest pair, each one piece of work on one device.
 *
 * A stage gets a state, does its work and returns the state with what it found. src/closest_pair.c decides
 * which stage is next, and with which grid. Several devices share a stage: each has all points and compares
 * its part of them with all others; the first of the pairs that they find is the answer. */
#ifndef DAVIT_OFFLOAD_CLOSEST_PAIR_H
#define DAVIT_OFFLOAD_CLOSEST_PAIR_H

#include "offload/closest_pair_state.h"
#include "offload/runtime/launch.h"
#include "offload/runtime/stream.h"

typedef enum dvt_closest_stage {
  DVT_CLOSEST_BOX,    /* low, high, bad */
  DVT_CLOSEST_BRUTE,  /* the box, and pair */
  DVT_CLOSEST_DENSE,  /* the box, a dense grid of it, and pair: of pairs no farther apart than a cell */
  DVT_CLOSEST_HASHED, /* known, by a sample too; a grid with cells a little wider than that, and pair */
  DVT_CLOSEST_EQUAL,  /* pair: of the pairs of equal points, if there is one */
  DVT_CLOSEST_COLLECT /* a hashed grid for `known`, and pairs up to `limit`, which is no farther */
} dvt_closest_stage;

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
  int part, parts;           /* of devices that share the search; alone it is 0 of 1 */
  int64_t capacity;          /* of DVT_CLOSEST_COLLECT */
  void *memory;              /* of the device: dvt_closest_bytes() */
  dvt_closest_state *staged; /* with a stream: pinned */
} dvt_closest_site;

/* Memory that stages up to `last` need: DVT_CLOSEST_BOX, _BRUTE, _EQUAL (all but the last), or all. */
size_t dvt_closest_bytes(const dvt_closest_site *site, dvt_closest_stage last);

/* Points of a sample, which grow with each of DVT_CLOSEST_ROUNDS rounds. */
enum { DVT_CLOSEST_ROUNDS = 2 };
int64_t dvt_closest_sample(int64_t n, int round);

/* What the search of a dense grid takes of the stream's device. */
davit_status dvt_closest_fit(dvt_stream *stream, davit_type type, int dim, dvt_kernel_fit *fit);

/* Does the stage and waits for it. */
davit_status dvt_closest_perform(const dvt_closest_site *site, dvt_closest_stage stage,
                                 dvt_closest_state *state);

#endif
