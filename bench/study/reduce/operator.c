/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/reduce/operator.h"

#include <string.h>

static uint64_t add(uint64_t left, uint64_t right) {
  return (uint32_t)(left + right);
}

static uint64_t compose(uint64_t left, uint64_t right) {
  return study_compose(left, right);
}

static uint64_t join(uint64_t left, uint64_t right) {
  return study_join(left, right);
}

/* Elements in the lower bytes of 64 bits. */
#define LIBRARY(OPERATOR, op, TYPE, type)                                                                    \
  static uint64_t op##_##type(uint64_t left, uint64_t right) {                                               \
    DVT_C_##type a, b;                                                                                       \
    memcpy(&a, &left, sizeof a);                                                                             \
    memcpy(&b, &right, sizeof b);                                                                            \
    a = dvt_##op##_##type(a, b);                                                                             \
    right = 0;                                                                                               \
    memcpy(&right, &a, sizeof a);                                                                            \
    return right;                                                                                            \
  }
DVT_EACH_MONOID(LIBRARY)

#define ROW(OPERATOR, op, TYPE, type)                                                                        \
  [STUDY_LIBRARY(OPERATOR, TYPE)] = {#op " of " #type, sizeof(DVT_C_##type), true,                           \
                                     &(const DVT_C_##type){DVT_IDENTITY(op, type)}, op##_##type},
static const study_monoid monoids[STUDY_ALL_OPERATORS] = {
    [STUDY_SUM] = {"sum", sizeof(int32_t), true, &(const int32_t){STUDY_SUM_IDENTITY}, add},
    [STUDY_COMPOSE] = {"compose", sizeof(uint64_t), false, &(const uint64_t){STUDY_COMPOSE_IDENTITY},
                       compose},
    [STUDY_SEGMENTS] = {"segments", sizeof(uint64_t), false, &(const uint64_t){STUDY_SEGMENTS_IDENTITY},
                        join},
    DVT_EACH_MONOID(ROW)};

const study_monoid *study_monoid_of(study_operator op) {
  return &monoids[op];
}

uint64_t study_identity(const study_monoid *monoid) {
  return study_get(monoid, monoid->identity, 0);
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
