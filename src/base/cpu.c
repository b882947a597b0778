/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>

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
