/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/reduce/operator.h"

static uint64_t add(uint64_t left, uint64_t right) {
  return (uint32_t)(left + right);
}

static uint64_t compose(uint64_t left, uint64_t right) {
  return study_compose(left, right);
}

static uint64_t join(uint64_t left, uint64_t right) {
  return study_join(left, right);
}

static const study_monoid monoids[] = {
    {"sum", sizeof(int32_t), true, STUDY_SUM_IDENTITY, add},
    {"compose", sizeof(uint64_t), false, STUDY_COMPOSE_IDENTITY, compose},
    {"segments", sizeof(uint64_t), false, STUDY_SEGMENTS_IDENTITY, join},
};

const study_monoid *study_monoid_of(study_operator op) {
  return &monoids[op];
}

uint64_t study_get(const study_monoid *monoid, const void *array, int64_t index) {
  return monoid->bytes == sizeof(uint32_t) ? ((const uint32_t *)array)[index]
                                           : ((const uint64_t *)array)[index];
}

void study_set(const study_monoid *monoid, void *array, int64_t index, uint64_t value) {
  if (monoid->bytes == sizeof(uint32_t))
    ((uint32_t *)array)[index] = (uint32_t)value;
  else
    ((uint64_t *)array)[index] = value;
}
