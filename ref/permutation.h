/* Random orders by counting: the same on every device.
 *
 * Order r of n things is a Fisher-Yates shuffle of 0 … n - 1 from the top, whose draws are the words of the Philox blocks with
 * counter (0, r), (1, r), … and the seed as the key. A word w picks one of k things as w k / 2^32, which prefers none by more than
 * k / 2^32. Order 0 is the things as they are.
 *
 * A header of inline functions because devices draw for themselves too. */
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

#endif
