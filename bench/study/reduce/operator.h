/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of the study. Arithmetic is modulo 2^32, so results are exact and tests compare bits.
 *
 *   SUM       int32_t: addition, commutative; what the source's kernels do.
 *   COMPOSE   uint64_t: the affine map x → a x + b, a in the upper half; the left map is applied first.
 *             Not commutative.
 *   SEGMENTS  uint64_t: a sum in the lower half, a flag in bit 32: the pair operator that makes a segmented
 *             scan of any scan. Not commutative.
 *
 * The ladder also takes each operator of the library over each of its types, STUDY_LIBRARY(operator, type);
 * all of them commute. Floating results depend on the kernel and its launch. */
#ifndef DAVIT_STUDY_REDUCE_OPERATOR_H
#define DAVIT_STUDY_REDUCE_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/operator.h"

typedef enum study_operator {
  STUDY_SUM,
  STUDY_COMPOSE,
  STUDY_SEGMENTS,
  STUDY_OPERATORS, /* of the study itself */
  STUDY_ALL_OPERATORS = STUDY_OPERATORS + (int)DVT_MONOID_TYPES * (int)DAVIT_OPERATOR_COUNT
} study_operator;

/* The library's operator over its element type. */
#define STUDY_LIBRARY(op, type)                                                                              \
  ((study_operator)(STUDY_OPERATORS + (int)(type) * (int)DAVIT_OPERATOR_COUNT + (int)(op)))

#define STUDY_SUM_IDENTITY 0
#define STUDY_COMPOSE_IDENTITY (UINT64_C(1) << 32)
#define STUDY_SEGMENTS_IDENTITY UINT64_C(0)

static inline int32_t study_add(int32_t left, int32_t right) {
  return (int32_t)((uint32_t)left + (uint32_t)right);
}

static inline uint64_t study_affine(uint32_t a, uint32_t b) {
  return (uint64_t)a << 32 | b;
}

static inline uint64_t study_compose(uint64_t left, uint64_t right) {
  uint32_t la = (uint32_t)(left >> 32), lb = (uint32_t)left;
  uint32_t ra = (uint32_t)(right >> 32), rb = (uint32_t)right;
  return study_affine(ra * la, ra * lb + rb);
}

static inline uint64_t study_pair(int32_t value, bool flag) {
  return (uint64_t)flag << 32 | (uint32_t)value;
}

static inline uint64_t study_join(uint64_t left, uint64_t right) {
  const uint64_t flag = UINT64_C(1) << 32;
  uint32_t sum = right & flag ? (uint32_t)right : (uint32_t)left + (uint32_t)right;
  return ((left | right) & flag) | sum;
}

/* The same for code that takes any operator, elements widened to 64 bits. */
typedef struct study_monoid {
  const char *name;
  size_t bytes;
  bool commutative;
  const void *identity; /* an element */
  uint64_t (*combine)(uint64_t left, uint64_t right);
} study_monoid;

const study_monoid *study_monoid_of(study_operator op);

/* Its identity, widened. */
uint64_t study_identity(const study_monoid *monoid);

uint64_t study_get(const study_monoid *monoid, const void *array, int64_t index);
void study_set(const study_monoid *monoid, void *array, int64_t index, uint64_t value);

#endif
