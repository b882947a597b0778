/* The operators of the study. Arithmetic is modulo 2^32, so results are exact and tests compare bits.
 *
 *   SUM       int32_t: addition, commutative; what the source's kernels do.
 *   COMPOSE   uint64_t: the affine map x → a x + b, a in the upper half; the left map is applied first.
 *             Not commutative.
 *   SEGMENTS  uint64_t: a sum in the lower half, a flag in bit 32: the pair operator that makes a segmented
 *             scan of any scan. Not commutative. */
#ifndef DAVIT_BENCH_STUDY_OPERATOR_H
#define DAVIT_BENCH_STUDY_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum dvt_study_operator {
  DVT_STUDY_SUM,
  DVT_STUDY_COMPOSE,
  DVT_STUDY_SEGMENTS,
  DVT_STUDY_OPERATORS
} dvt_study_operator;

#define DVT_STUDY_SUM_IDENTITY 0
#define DVT_STUDY_COMPOSE_IDENTITY (UINT64_C(1) << 32)
#define DVT_STUDY_SEGMENTS_IDENTITY UINT64_C(0)

static inline int32_t dvt_study_add(int32_t left, int32_t right) {
  return (int32_t)((uint32_t)left + (uint32_t)right);
}

static inline uint64_t dvt_study_affine(uint32_t a, uint32_t b) {
  return (uint64_t)a << 32 | b;
}

static inline uint64_t dvt_study_compose(uint64_t left, uint64_t right) {
  uint32_t la = (uint32_t)(left >> 32), lb = (uint32_t)left;
  uint32_t ra = (uint32_t)(right >> 32), rb = (uint32_t)right;
  return dvt_study_affine(ra * la, ra * lb + rb);
}

static inline uint64_t dvt_study_pair(int32_t value, bool flag) {
  return (uint64_t)flag << 32 | (uint32_t)value;
}

static inline uint64_t dvt_study_join(uint64_t left, uint64_t right) {
  const uint64_t flag = UINT64_C(1) << 32;
  uint32_t sum = right & flag ? (uint32_t)right : (uint32_t)left + (uint32_t)right;
  return ((left | right) & flag) | sum;
}

/* The same for code that takes any operator, elements widened to 64 bits. */
typedef struct dvt_study_monoid {
  const char *name;
  size_t bytes;
  bool commutative;
  uint64_t identity;
  uint64_t (*combine)(uint64_t left, uint64_t right);
} dvt_study_monoid;

const dvt_study_monoid *dvt_study_monoid_of(dvt_study_operator op);

uint64_t dvt_study_get(const dvt_study_monoid *monoid, const void *array, int64_t index);
void dvt_study_set(const dvt_study_monoid *monoid, void *array, int64_t index, uint64_t value);

#endif
