/* SPDX-License-Identifier: Apache-2.0 */
/* Code for the CPU in several variants, of which the best that the processor runs is taken: the library
 * itself is built for the architecture's baseline.
 *
 * A variant is a function that does nothing but call an always-inline one: the compiler makes it once more
 * with the instructions named. DVT_CPU_VARIANTS(X) expands X(number, attributes) for each, in the order of
 * dvt_cpu. */
#ifndef DAVIT_SRC_BASE_CPU_H
#define DAVIT_SRC_BASE_CPU_H

#include <stdint.h>

typedef enum dvt_cpu { DVT_CPU_PLAIN, DVT_CPU_AVX2, DVT_CPU_AVX512, DVT_CPU_COUNT } dvt_cpu;

/* x86-64 code is being made, and no device's with x86-64 as its host. */
#if defined(__x86_64__) && !defined(__NVPTX__) && !defined(__AMDGCN__)
#define DVT_CPU_X86 1
#endif

#ifdef DVT_CPU_X86
#define DVT_CPU_VARIANTS(X)                                                                                  \
  X(0, )                                                                                                     \
  X(1, __attribute__((target("avx2,fma"))))                                                                  \
  X(2, __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"))))
#else
#define DVT_CPU_VARIANTS(X) X(0, )
#endif

/* Defines static function `name`, which calls the best variant of the always-inline function `body`:
 *   DVT_CPU_DISPATCH(int, sum, sum_inline, (int n, const int *x), (n, x)) */
#define DVT_CPU_DISPATCH(result, name, body, parameters, arguments)                                          \
  DVT_CPU_DISPATCH_(result, name, body, parameters, arguments)
#ifdef DVT_CPU_X86
#define DVT_CPU_DISPATCH_(result, name, body, parameters, arguments)                                         \
  static result name##_0 parameters {                                                                        \
    return body arguments;                                                                                   \
  }                                                                                                          \
  __attribute__((target("avx2,fma"))) static result name##_1 parameters {                                    \
    return body arguments;                                                                                   \
  }                                                                                                          \
  __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"))) static result name##_2 parameters { \
    return body arguments;                                                                                   \
  }                                                                                                          \
  static result name parameters {                                                                            \
    static result(*const variants[]) parameters = {name##_0, name##_1, name##_2};                            \
    return variants[dvt_cpu_best()] arguments;                                                               \
  }
#else
#define DVT_CPU_DISPATCH_(result, name, body, parameters, arguments)                                         \
  static result name parameters {                                                                            \
    return body arguments;                                                                                   \
  }
#endif

/* A function that becomes part of its callers, so it does not matter how a call would pass vectors. */
#pragma clang diagnostic ignored "-Wpsabi"
#define DVT_CPU_INLINE static inline __attribute__((always_inline))

/* To be called after stores that bypass the caches: they are not ordered with others. */
static inline void dvt_cpu_end_bypass(void) {
#ifdef DVT_CPU_X86
  __builtin_ia32_sfence();
#endif
}

/* The best variant of this processor, or what tests allow at most. */
dvt_cpu dvt_cpu_best(void);
void dvt_cpu_allow(dvt_cpu most);

/* Bytes of the last-level cache that this machine's processors may have for themselves, or what tests assume; 0 assumes
 * nothing any more. */
int64_t dvt_cpu_cache_bytes(void);
void dvt_cpu_cache_assume(int64_t bytes);

#endif
