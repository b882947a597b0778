/* SPDX-License-Identifier: Apache-2.0 */
/* What the ladder is measured against: the loop with the compiler's own reduction. In a file apart, since
 * several reductions in one file cost registers. */
#include <davit/device.h>
#include <omp.h>

#include "bench/study/reduce/reduce.h"

int32_t study_clause_sum(int device, int64_t n, const int32_t *x) {
  uint32_t sum = 0;
  int where = device == DAVIT_HOST ? omp_get_initial_device() : device;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(tofrom : sum) device(where)          \
    is_device_ptr(x)
  for (int64_t i = 0; i < n; i++)
    sum += (uint32_t)x[i];
  return (int32_t)sum;
}
