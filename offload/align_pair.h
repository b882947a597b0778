/* What the kernels of detection and of alignment share beside offload/align_kernel.h. */
#ifndef DAVIT_OFFLOAD_ALIGN_PAIR_H
#define DAVIT_OFFLOAD_ALIGN_PAIR_H

#include <stdint.h>

#include "offload/kernel/gpu.h"

/* The kernels are for NVIDIA devices alone, and for what stands in for one in tests: nobody else launches them. */
#ifdef __NVPTX__
extern DVT_TEAM char dvt_team_memory[]
    __attribute__((aligned(16))); /* profiles are read 16 bytes at a time */
#elif !defined(DVT_EMULATED)
#undef DVT_GPU
static inline void no_body(const void *first, ...) {
  (void)first;
}
#endif

#ifdef DVT_GPU
/* Two scores side by side in a word: there are instructions for such. */
typedef short dvt_pair __attribute__((vector_size(4)));

DVT_INLINE dvt_pair dvt_pair_of(int both) {
  return (dvt_pair){(short)both, (short)both};
}

/* Copies a profile into the team's memory. */
DVT_INLINE void dvt_fetch_profile(const char *profile, int64_t bytes, int threads) {
  for (int64_t at = 16 * dvt_thread(); at < bytes; at += 16 * threads) {
    uint32_t word[4];
    dvt_load_constant_16(profile + at, word);
    for (int w = 0; w < 4; w++)
      *(DVT_TEAM uint32_t *)(DVT_TEAM void *)(dvt_team_memory + at + 4 * w) = word[w];
  }
  dvt_barrier();
}
#endif

#endif
