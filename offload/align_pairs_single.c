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

/* Bytes of the steps of all anti-diagonals. */
static size_t step_bytes(const dvt_pair_part *p) {
  int64_t bytes = 0;
  for (int64_t number = 1; number <= p->m + p->n; number++) {
    const dvt_pair_rows rows = dvt_pair_across(p, number);
    bytes += rows.from <= rows.to ? whole_blocks(rows.to - rows.from + 1) : 0;
  }
  return (size_t)bytes;
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
