/* SPDX-License-Identifier: Apache-2.0 */
/* Uniform random numbers on the CPU: element i depends on the seed and i alone.
 *
 * A Philox block holds LANES elements, so a range that starts or ends inside a block makes that block and
 * keeps a part of it. Cost: see ref/philox.h. */
#include "ref/philox.h"
#include "ref/ref.h"

#define DEFINE(T, LANES)                                                                                     \
  void dvt_ref_random_##T(T *pointer, int64_t first, int64_t count, uint64_t seed) {                         \
    for (int64_t i = first, end = first + count; i < end;) {                                                 \
      T values[LANES];                                                                                       \
      dvt_philox_##T((uint64_t)(i / LANES), seed, values);                                                   \
      for (int64_t lane = i % LANES; lane < LANES && i < end; lane++, i++)                                   \
        pointer[i - first] = values[lane];                                                                   \
    }                                                                                                        \
  }

DEFINE(double, 2)
DEFINE(float, 4)
