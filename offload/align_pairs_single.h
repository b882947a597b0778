/* SPDX-License-Identifier: Apache-2.0 */
/* A pass over one pair on the CPU, along its anti-diagonals: what dvt_ref_align_pass() and dvt_ref_align_extend()
 * compute, for every cost, length and band. Cost: for each cell of the band, or that may count, 12 vector operations,
 * 10 more with steps, and a gather that looks up what it scores. */
#ifndef DAVIT_OFFLOAD_ALIGN_PAIRS_SINGLE_H
#define DAVIT_OFFLOAD_ALIGN_PAIRS_SINGLE_H

#include "offload/align_pairs_extend.h"

enum { DVT_PAIR_SINGLE_RANGE = 1 << 28 /* of scores and of costs that 32 bits hold */ };

typedef struct dvt_pair_single {
  const davit_align_scoring *scoring;
  dvt_pair_kind kind;
  int64_t x_drop; /* -1: none; else the kind is DVT_PAIR_BEGIN */
  bool wide;      /* 32 bits do not hold the scores */
} dvt_pair_single;

/* *found becomes the best cell, and whether the extension dropped. Steps are noted unless `trail` is NULL, those of
 * lane -1. false: there is no memory. */
bool dvt_pair_single_pass(const dvt_pair_single *pass, const dvt_pair_part *part, dvt_pair_memory *memory,
                          dvt_pair_trail *trail, dvt_pair_extension *found);

#endif
