#include "bench/study/operator.h"

static uint64_t add(uint64_t left, uint64_t right) {
  return (uint32_t)(left + right);
}

static uint64_t compose(uint64_t left, uint64_t right) {
  return dvt_study_compose(left, right);
}

static uint64_t join(uint64_t left, uint64_t right) {
  return dvt_study_join(left, right);
}

static const dvt_study_monoid monoids[] = {
    {"sum", sizeof(int32_t), true, DVT_STUDY_SUM_IDENTITY, add},
    {"compose", sizeof(uint64_t), false, DVT_STUDY_COMPOSE_IDENTITY, compose},
    {"segments", sizeof(uint64_t), false, DVT_STUDY_SEGMENTS_IDENTITY, join},
};

const dvt_study_monoid *dvt_study_monoid_of(dvt_study_operator op) {
  return &monoids[op];
}

uint64_t dvt_study_get(const dvt_study_monoid *monoid, const void *array, int64_t index) {
  return monoid->bytes == sizeof(uint32_t) ? ((const uint32_t *)array)[index]
                                           : ((const uint64_t *)array)[index];
}

void dvt_study_set(const dvt_study_monoid *monoid, void *array, int64_t index, uint64_t value) {
  if (monoid->bytes == sizeof(uint32_t))
    ((uint32_t *)array)[index] = (uint32_t)value;
  else
    ((uint64_t *)array)[index] = value;
}
