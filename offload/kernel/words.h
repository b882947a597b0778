/* Values of any type among the lanes of a warp and among teams, 32 bits at a time. Included once for each element type:
 * DVT_T is the type, DVT_N(name) makes names of its own.
 *
 * What one team tells another is a slot: each 32-bit word of the value stands in the lower half of a 64-bit word, the slot's
 * state in the upper half. 64-bit words are written whole, so a reader that finds the same state in all of
 * them has the value of that state, without a fence. State 0 means that nothing was told yet. */

#ifndef DAVIT_KERNEL_GPU_H
#error "without gpu.h before it the kernels have no bodies"
#endif

_Static_assert(sizeof(DVT_T) % 4 == 0, "the size of an element must be a multiple of 4 bytes");

enum {
  DVT_N(words) = sizeof(DVT_T) / 4,
  DVT_N(slot_words) = DVT_N(words) == 1 ? 1 : (DVT_N(words) + 1) & ~1, /* whole pairs, or one */
  /* Elements that a lane loads at once, 16 bytes where they fit. */
  DVT_N(width) = sizeof(DVT_T) <= 16 && 16 % sizeof(DVT_T) == 0 ? 16 / sizeof(DVT_T) : 1
};

#ifdef DVT_GPU
DVT_DEFINE_SHUFFLE(DVT_T, DVT_N(shuffle))

DVT_INLINE void DVT_N(tell)(uint64_t *slot, uint32_t state, DVT_T value) {
  uint32_t word[DVT_N(slot_words)] = {0};
  const uint64_t tag = (uint64_t)state << 32;
  __builtin_memcpy(word, &value, sizeof value);
  if (DVT_N(words) == 1)
    dvt_publish(slot, tag | word[0]);
  else
#pragma unroll
    for (int w = 0; w + 1 < DVT_N(slot_words); w += 2)
      dvt_publish_pair(slot + w, tag | word[w], tag | word[w + 1]);
}

/* The slot's state, and the value if it is not 0. */
DVT_INLINE uint32_t DVT_N(hear)(const uint64_t *slot, DVT_T *value) {
  uint64_t tagged[DVT_N(slot_words)];
  uint32_t word[DVT_N(slot_words)], state;
  if (DVT_N(words) == 1)
    tagged[0] = dvt_observe(slot);
  else
#pragma unroll
    for (int w = 0; w + 1 < DVT_N(slot_words); w += 2)
      dvt_observe_pair(slot + w, &tagged[w], &tagged[w + 1]);
  state = (uint32_t)(tagged[0] >> 32);
#pragma unroll
  for (int w = 0; w < DVT_N(slot_words); w++) {
    word[w] = (uint32_t)tagged[w];
    state = (uint32_t)(tagged[w] >> 32) == state ? state : 0;
  }
  __builtin_memcpy(value, word, sizeof *value);
  return state;
}

/* An element that another team wrote in this launch. */
DVT_INLINE DVT_T DVT_N(peek)(const DVT_T *at) {
  DVT_T value;
  uint32_t word[DVT_N(words)];
#pragma unroll
  for (int w = 0; w < DVT_N(words); w++)
    word[w] = ((const volatile uint32_t *)(const volatile void *)at)[w];
  __builtin_memcpy(&value, word, sizeof value);
  return value;
}

/* The elements [0, DVT_N(width)) at `from`, which is a multiple of 16 where they are vectors. */
typedef struct DVT_N(pack) {
  DVT_T at[DVT_N(width)];
} DVT_N(pack);

DVT_INLINE DVT_N(pack) DVT_N(load)(const DVT_T *from) {
  DVT_N(pack) pack;
  if (sizeof pack == 16) {
    uint32_t word[4];
    dvt_load_16(from, word);
    __builtin_memcpy(&pack, word, 16);
  } else {
    pack = *(const DVT_N(pack) *)(const void *)from;
  }
  return pack;
}

/* Of memory that nobody writes during the launch. */
DVT_INLINE DVT_N(pack) DVT_N(load_constant)(const DVT_T *from) {
  DVT_N(pack) pack;
  if (sizeof pack == 16) {
    uint32_t word[4];
    dvt_load_constant_16(from, word);
    __builtin_memcpy(&pack, word, 16);
  } else {
    pack = *(const DVT_N(pack) *)(const void *)from;
  }
  return pack;
}

DVT_INLINE void DVT_N(store)(DVT_T *to, DVT_N(pack) pack) {
  if (sizeof pack == 16) {
    uint32_t word[4];
    __builtin_memcpy(word, &pack, 16);
    dvt_store_16(to, word);
  } else {
    *(DVT_N(pack) *)(void *)to = pack;
  }
}
#endif
