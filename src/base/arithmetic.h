/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of sizes, on the host and in kernels. */
#ifndef DAVIT_SRC_BASE_ARITHMETIC_H
#define DAVIT_SRC_BASE_ARITHMETIC_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t dvt_at_most(int64_t value, int64_t most) {
  return value < most ? value : most;
}

static inline int64_t dvt_at_least(int64_t value, int64_t least) {
  return value > least ? value : least;
}

static inline int64_t dvt_divide_up(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

/* The largest value of a signed integer type. */
#define DVT_LARGEST(T) ((int64_t)((UINT64_C(1) << (8 * sizeof(T) - 1)) - 1))

/* Blocks of memory begin at multiples of this, and so do the parts that they are cut into. */
enum { DVT_ALIGNMENT = 256 };

static inline size_t dvt_aligned_up(size_t bytes) {
  return (bytes + DVT_ALIGNMENT - 1) / DVT_ALIGNMENT * DVT_ALIGNMENT;
}

#endif
