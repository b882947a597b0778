/* SPDX-License-Identifier: Apache-2.0 */
/* The instances of align_pairs_single.inc. */
#include "offload/align_pairs_single.h"

#include <string.h>

#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

enum { BLOCK = 16 /* rows that are computed together */ };

static int64_t whole_blocks(int64_t rows) {
  return dvt_divide_up(rows, BLOCK) * BLOCK;
}

/* Steps of all anti-diagonals, at most. */
static size_t most_steps(const dvt_pair_part *p) {
  const int64_t rows = whole_blocks(dvt_at_most(dvt_at_most(p->m, p->n), (p->high - p->low) / 2) + 1);
  return (size_t)((p->m + p->n) * rows);
}

#define WORD int32_t
#define NAME(x) x##_32
#include "offload/align_pairs_single.inc"
#undef WORD
#undef NAME

#define WORD int64_t
#define NAME(x) x##_64
#include "offload/align_pairs_single.inc"
#undef WORD
#undef NAME

bool dvt_pair_single_pass(const dvt_pair_single *pass, const dvt_pair_part *part, dvt_pair_memory *memory,
                          dvt_pair_trail *trail, dvt_pair_extension *found) {
  return (pass->wide ? single_64 : single_32)(pass, part, memory, trail, found);
}
