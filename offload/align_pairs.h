/* SPDX-License-Identifier: Apache-2.0 */
/* A pass over the matrices of several pairs on the CPU, one in each lane of vectors of 16-bit words: what
 * dvt_ref_align_pass() computes, where 16 bits hold it. Cost: the cells of the longest query with the longest target
 * for all lanes, 12 to 17 vector operations each, of which 2 to 6 look up what they score. */
#ifndef DAVIT_OFFLOAD_ALIGN_PAIRS_H
#define DAVIT_OFFLOAD_ALIGN_PAIRS_H

#include "offload/align_pairs_scores.h"

enum {
  DVT_PAIR_NOTED = 4,       /* rows whose steps a word has */
  DVT_PAIR_LONGEST = 32000, /* symbols of a query and of a target that are side by side with others */
  DVT_PAIR_RANGE = 32000    /* scores and costs of theirs are no further from 0 */
};

/* Memory of a thread, which grows with the pairs. {0} at first. */
typedef struct dvt_pair_memory {
  char *at;
  size_t bytes;
} dvt_pair_memory;

/* At least so many bytes. false: there is no memory. */
bool dvt_pair_reserve(dvt_pair_memory *memory, size_t bytes);

typedef struct dvt_pair_pass {
  const davit_align_scoring *scoring;
  dvt_pair_kind kind;
  int count;      /* pairs, at most DVT_PAIR_LANES; parts without rows or columns are none */
  bool banded;    /* cells beyond a band must not count; else the bands only say where to look */
  bool positions; /* wanted where DVT_PAIR_LOCAL; else the best cells have scores alone */
  bool noting;    /* steps */
} dvt_pair_pass;

/* best[l] becomes that of part l; before, where DVT_PAIR_BEGIN, its score is that of the cell that ends the pass.
 * false: there is no memory. */
bool dvt_pair_lanes(const dvt_pair_pass *pass, const dvt_pair_part *parts, dvt_pair_memory *memory,
                    dvt_pair_cell *best);

/* Steps that the last pass of these parts has noted: four rows in a word of each lane. */
typedef struct dvt_pair_steps {
  const uint16_t *steps;
  int64_t height, high;
} dvt_pair_steps;
static inline int dvt_pair_step(const dvt_pair_steps *s, int lane, int64_t i, int64_t j) {
  const int64_t row = i - dvt_pair_first_row(s->high, j);
  const int64_t word = (j - 1) * s->height + row / DVT_PAIR_NOTED;
  return s->steps[word * DVT_PAIR_LANES + lane] >> 4 * (row % DVT_PAIR_NOTED) & 15;
}
dvt_pair_steps dvt_pair_noted(const dvt_pair_pass *pass, const dvt_pair_part *parts,
                              const dvt_pair_memory *memory);

#endif
