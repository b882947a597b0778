/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/reduce/model.h"

#include <math.h>

study_cost study_cost_of(int64_t n, int64_t p) {
  study_cost cost;
  double size = (double)n, workers = (double)p;
  cost.sequential = size;
  cost.parallel = size / workers + log2(workers);
  cost.speedup = cost.sequential / cost.parallel;
  cost.efficiency = cost.speedup / workers;
  cost.cost = workers * cost.parallel;
  cost.optimal = size >= workers * log2(workers);
  return cost;
}

int64_t study_workers(int64_t n) {
  return n < 2 ? 1 : (int64_t)((double)n / log2((double)n));
}

int study_block_for(int64_t p) {
  double exponent = p < 1 ? 0 : round(log2((double)p));
  return 1 << (exponent > 10 ? 10 : (int)exponent);
}
