/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler takes from the C library in code for AMD GPUs, where there is none: copies of structures
 * that it does not unroll. */
#include <stddef.h>

#pragma omp begin declare target device_type(nohost)
#ifdef __AMDGCN__
__attribute__((used, weak, no_builtin("memcpy"))) void *memcpy(void *restrict to, const void *restrict from,
                                                               size_t bytes) {
  unsigned char *target = to;
  const unsigned char *source = from;
  for (size_t i = 0; i < bytes; i++)
    target[i] = source[i];
  return to;
}
#endif
#pragma omp end declare target
