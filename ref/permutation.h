/* SPDX-License-Identifier: Apache-2.0 */
/* Random orders by counting: the same on every device.
 *
 * Order r of n things is a Fisher-Yates shuffle of 0 … n - 1 from the top, whose draws are the words of the
 * Philox blocks with counter (0, r), (1, r), … and the seed as the key. A word w picks one of k things as w k
 * / 2^32, which prefers none by more than k / 2^32. Order 0 is the things as they are.
 * Inline, because kernels of the study draw orders too. */
#ifndef DAVIT_REF_PERMUTATION_H
#define DAVIT_REF_PERMUTATION_H

#include "ref/philox.h"

static inline void dvt_permutation(uint64_t seed, uint64_t r, int n, uint16_t *order) {
  dvt_philox_block words = {{0}};
  for (int i = 0; i < n; i++)
    order[i] = (uint16_t)i;
  if (r == 0)
    return;
  for (int i = n - 1, draw = 0; i > 0; i--, draw++) {
    if (draw % 4 == 0)
      words = dvt_philox((dvt_philox_block){{(uint32_t)(draw / 4), 0, (uint32_t)r, (uint32_t)(r >> 32)}},
                         (uint32_t)seed, (uint32_t)(seed >> 32));
    const int j = (int)((uint64_t)words.word[draw % 4] * (uint64_t)(i + 1) >> 32);
    const uint16_t moved = order[i];
    order[i] = order[j];
    order[j] = moved;
  }
}

/* The same for blocks of `block` neighbours, which stay together in their order, as neighbouring frames of
 * sound are similar. The things are a circle, cut into blocks from a random place on (the last block may be
 * shorter). Blocks of 1 are dvt_permutation(). */
static inline void dvt_block_permutation(uint64_t seed, uint64_t r, int n, int block, uint16_t *order) {
  const int count = (n + block - 1) / block, at = n - count;
  if (block <= 1 || r == 0) {
    dvt_permutation(seed, r, n, order);
    return;
  }
  const dvt_philox_block words =
      dvt_philox((dvt_philox_block){{UINT32_MAX, 0, (uint32_t)r, (uint32_t)(r >> 32)}}, (uint32_t)seed,
                 (uint32_t)(seed >> 32));
  const int first = (int)((uint64_t)words.word[0] * (uint64_t)n >> 32);
  /* The blocks' numbers stand at the end, and are read before they are written over. */
  dvt_permutation(seed, r, count, order + at);
  for (int i = 0, to = 0; i < count; i++) {
    const int from = order[at + i] * block, end = from + block < n ? from + block : n;
    for (int k = from; k < end; k++)
      order[to++] = (uint16_t)((k + first) % n);
  }
}

#endif
