/* SPDX-License-Identifier: Apache-2.0 */
/* The lecture's analytic model of reduction and scan: n elements, p processors, unit time an operation.
 *
 *   T_S = n,  T_P = n/p + log2 p,  S = T_S / T_P,  E = S / p,  C = p T_P
 *
 * For p = n this is T_P = 1 + log2 n: E tends to 0 and C = n + n log2 n grows faster than T_S, which is not
 * cost-optimal. The cost is that of the sequential loop, up to a factor of 2, as long as n >= p log2 p. */
#ifndef DAVIT_STUDY_REDUCE_MODEL_H
#define DAVIT_STUDY_REDUCE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct study_cost {
  double sequential, parallel, speedup, efficiency, cost;
  bool optimal; /* n >= p log2 p */
} study_cost;

study_cost study_cost_of(int64_t n, int64_t p);

/* p = n / log2 n, rounded down: 186 for the 2048 elements of the lecture, which prints 341, the sixth part of
 * 2048. 1 for n < 2. */
int64_t study_workers(int64_t n);

/* The power of two nearest to p by ratio, 1 … 1024: 256 for 186, and for 341. */
int study_block_for(int64_t p);

#endif
