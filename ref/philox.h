/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10: random numbers by counting.
 *
 * A block of four 32-bit words is a pure function of a 128-bit counter and a 64-bit key (Salmon, Moraes,
 * Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3, SC'11), so any thread of any device makes any
 * element by itself and all get the same bits: integer arithmetic, and conversions that are exact. davit's
 * counter is the block's index with the upper words zero, the key is the seed, low word first.
 *
 * Cost: 20 multiplications of 32 by 32 bits and about 40 other integer operations a block.
 *
 * A header of inline functions because offload/runtime/space.c compiles them for the devices too. */
#ifndef DAVIT_REF_PHILOX_H
#define DAVIT_REF_PHILOX_H

#include <stdint.h>

typedef struct dvt_philox_block {
  uint32_t word[4];
} dvt_philox_block;

static inline dvt_philox_block dvt_philox(dvt_philox_block counter, uint32_t key0, uint32_t key1) {
  dvt_philox_block c = counter;
  for (int round = 0; round < 10; round++) {
    uint64_t product0 = UINT64_C(0xD2511F53) * c.word[0];
    uint64_t product1 = UINT64_C(0xCD9E8D57) * c.word[2];
    c = (dvt_philox_block){{(uint32_t)(product1 >> 32) ^ c.word[1] ^ key0, (uint32_t)product1,
                            (uint32_t)(product0 >> 32) ^ c.word[3] ^ key1, (uint32_t)product0}};
    key0 += UINT32_C(0x9E3779B9);
    key1 += UINT32_C(0xBB67AE85);
  }
  return c;
}

static inline dvt_philox_block dvt_philox_words(uint64_t block, uint64_t seed) {
  dvt_philox_block counter = {{(uint32_t)block, (uint32_t)(block >> 32), 0, 0}};
  return dvt_philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
}

/* Elements 2 block and 2 block + 1: 53 random bits each, in [0, 1). */
static inline void dvt_philox_double(uint64_t block, uint64_t seed, double values[2]) {
  dvt_philox_block words = dvt_philox_words(block, seed);
  for (int i = 0; i < 2; i++) {
    uint64_t high = words.word[2 * i] >> 5, low = words.word[2 * i + 1] >> 6;
    values[i] = (double)(high << 26 | low) * 0x1p-53;
  }
}

/* Elements 4 block … 4 block + 3: 24 random bits each, in [0, 1). */
static inline void dvt_philox_float(uint64_t block, uint64_t seed, float values[4]) {
  dvt_philox_block words = dvt_philox_words(block, seed);
  for (int i = 0; i < 4; i++)
    values[i] = (float)(words.word[i] >> 8) * 0x1p-24f;
}

#endif
