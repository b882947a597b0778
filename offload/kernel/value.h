/* SPDX-License-Identifier: Apache-2.0 */
/* Values of any type that lanes and teams exchange as words: shuffles and slots. Included by gpu.h, which
 * declares how one word is exchanged. */
#ifndef DAVIT_KERNEL_VALUE_H
#define DAVIT_KERNEL_VALUE_H

/* 64-bit words of a slot for a value of type T (dvt_publish_slot): one, or whole pairs. */
#define DVT_SLOT_WORDS(T) (sizeof(T) == 4 ? 1 : (sizeof(T) / 4 + 1) / 2 * 2)

/* Elements of type T that a lane loads at once: 16 bytes where they fit. */
#define DVT_PACK(T) (sizeof(T) <= 16 && 16 % sizeof(T) == 0 ? 16 / sizeof(T) : 1)

#ifdef DVT_GPU
/* Defines T name(T value, int from), dvt_shuffle() for values of a type of whole words. */
#define DVT_DEFINE_SHUFFLE(T, name)                                                                          \
  DVT_INLINE T name(T value, int from) {                                                                     \
    uint32_t word[sizeof(T) / 4];                                                                            \
    __builtin_memcpy(word, &value, sizeof value);                                                            \
    _Pragma("unroll") for (unsigned w = 0; w < sizeof(T) / 4; w++) word[w] = dvt_shuffle(word[w], from);     \
    __builtin_memcpy(&value, word, sizeof value);                                                            \
    return value;                                                                                            \
  }

/* Defines T name(const T *at): a value that another team wrote in this launch, read past the multiprocessor's
 * cache. */
#define DVT_DEFINE_LOAD_FRESH(T, name)                                                                       \
  DVT_INLINE T name(const T *at) {                                                                           \
    T value;                                                                                                 \
    uint32_t word[sizeof(T) / 4];                                                                            \
    _Pragma("unroll") for (unsigned w = 0; w < sizeof(T) / 4; w++) word[w] =                                 \
        ((const volatile uint32_t *)(const volatile void *)at)[w];                                           \
    __builtin_memcpy(&value, word, sizeof value);                                                            \
    return value;                                                                                            \
  }

/* A slot carries a value of at most 256 bytes from one team to others: each 32-bit word of the value lies in
 * the lower half of a 64-bit word, the slot's state in the upper half. 64-bit words are written whole, so a
 * reader that finds the same state in all of them has the value of that state, without a fence. State 0:
 * nothing was published yet. */
DVT_INLINE void dvt_publish_slot(uint64_t *slot, uint32_t state, const void *value, unsigned bytes) {
  uint32_t word[64] = {0};
  const uint64_t tag = (uint64_t)state << 32;
  __builtin_memcpy(word, value, bytes);
  if (bytes == 4)
    dvt_publish_word(slot, tag | word[0]);
  else
#pragma unroll
    for (unsigned w = 0; w < bytes / 4; w += 2)
      dvt_publish_pair(slot + w, tag | word[w], tag | word[w + 1]);
}

/* Returns the slot's state; the value is valid if that is not 0. */
DVT_INLINE uint32_t dvt_load_slot(const uint64_t *slot, void *value, unsigned bytes) {
  uint64_t tagged[64];
  uint32_t word[64], state;
  if (bytes == 4)
    tagged[0] = dvt_load_word(slot);
  else
#pragma unroll
    for (unsigned w = 0; w < bytes / 4; w += 2)
      dvt_load_pair(slot + w, &tagged[w], &tagged[w + 1]);
  state = (uint32_t)(tagged[0] >> 32);
#pragma unroll
  for (unsigned w = 0; w < (bytes == 4 ? 1 : (bytes / 4 + 1) / 2 * 2); w++) {
    word[w] = (uint32_t)tagged[w];
    state = (uint32_t)(tagged[w] >> 32) == state ? state : 0;
  }
  __builtin_memcpy(value, word, bytes);
  return state;
}
#endif

#endif
