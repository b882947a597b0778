/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

static atomic_int allowed = DVT_CPU_COUNT - 1;

void dvt_cpu_allow(dvt_cpu most) {
  atomic_store(&allowed, (int)most);
}

static dvt_cpu found(void) {
#ifdef DVT_CPU_X86
  __builtin_cpu_init();
  bool fused = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  if (fused && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    return DVT_CPU_AVX512;
  if (fused)
    return DVT_CPU_AVX2;
#endif
  return DVT_CPU_PLAIN;
}

dvt_cpu dvt_cpu_best(void) {
  dvt_cpu best = found(), most = (dvt_cpu)atomic_load(&allowed);
  return best < most ? best : most;
}

static _Atomic int64_t cache_bytes; /* 0: not asked yet */

void dvt_cpu_cache_assume(int64_t bytes) {
  atomic_store(&cache_bytes, bytes);
}

int64_t dvt_cpu_cache_bytes(void) {
  enum {
    ASSUMED = 8 << 20, /* where the system does not say */
    SHARE = 32 << 20   /* of a processor: a virtual machine may name a cache that others fill, too */
  };
  int64_t bytes = atomic_load(&cache_bytes);
  if (bytes == 0) {
    const int64_t known = sysconf(_SC_LEVEL3_CACHE_SIZE),
                  shares = sysconf(_SC_NPROCESSORS_ONLN) * (int64_t)SHARE;
    bytes = known <= ASSUMED ? ASSUMED : known < shares ? known : shares;
    atomic_store(&cache_bytes, bytes);
  }
  return bytes;
}
