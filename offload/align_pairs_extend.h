/* SPDX-License-Identifier: Apache-2.0 */
/* Extensions of several pairs with an X-drop on the CPU, one in each lane of vectors of 16-bit words: what
 * dvt_ref_align_extend() finds, where 16 bits hold it. Cost: for each row that counts in some lane 12 vector
 * operations, 2 more with ends, 10 with steps, and those that look up what cells score. */
#ifndef DAVIT_OFFLOAD_ALIGN_PAIRS_EXTEND_H
#define DAVIT_OFFLOAD_ALIGN_PAIRS_EXTEND_H

#include "offload/align_pairs.h"

/* Steps of a pair, or of extensions side by side: of each anti-diagonal its rows; in lanes the last one first, four
 * rows in a word of each. Of a step, the gaps are those that leave the cell. Memory of a thread, which grows with what
 * counts. {0} at first. */
typedef struct dvt_pair_trail {
  dvt_pair_memory rows, steps;
  int64_t used; /* bytes of steps */
} dvt_pair_trail;

/* Before the steps of so many anti-diagonals. false: there is no memory. */
bool dvt_pair_trail_begin(dvt_pair_trail *trail, int64_t numbers);

/* Room for the steps of rows of an anti-diagonal. NULL: there is no memory. */
uint8_t *dvt_pair_trail_add(dvt_pair_trail *trail, int64_t number, dvt_pair_rows rows, int64_t bytes);

/* The step by which cell i, j is reached, as dvt_ref_align_pass() notes it; of a lane, or of a pair that is alone
 * (-1). */
int dvt_pair_trail_step(const dvt_pair_trail *trail, int lane, int64_t i, int64_t j);

void dvt_pair_trail_free(dvt_pair_trail *trail);

typedef struct dvt_pair_extend {
  const davit_align_scoring *scoring;
  int count; /* pairs, at most DVT_PAIR_LANES, none of them empty */
  int64_t x_drop;
  bool positions; /* wanted; else the ends have scores alone */
} dvt_pair_extend;

/* found[l] becomes that of part l. X and scores are at most DVT_PAIR_RANGE. Steps are noted unless `trail` is NULL.
 * false: there is no memory. */
bool dvt_pair_extend_lanes(const dvt_pair_extend *extend, const dvt_pair_part *parts, dvt_pair_memory *memory,
                           dvt_pair_trail *trail, dvt_pair_extension *found);

#endif
