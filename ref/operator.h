/* The operators of <davit/operator.h> on one pair of elements, as plain as can be: dvt_ref_sum_float(a, b) and so on.
 *
 * DVT_REF_EACH_OPERATOR(X) expands X(OPERATOR, op, TYPE, type, T) for each, DVT_REF_IDENTITY_op(type) is the identity. Unsigned
 * arithmetic wraps around; a minimum or maximum is NaN as soon as a or b is. */
#ifndef DAVIT_REF_OPERATOR_H
#define DAVIT_REF_OPERATOR_H

#include <davit/operator.h>
#include <math.h>
#include <stdint.h>

#define DVT_REF_EACH_TYPE(X, OPERATOR, op)                                                                   \
  X(OPERATOR, op, DAVIT_FLOAT, float, float)                                                                 \
  X(OPERATOR, op, DAVIT_DOUBLE, double, double)                                                              \
  X(OPERATOR, op, DAVIT_INT32, int32, int32_t)                                                               \
  X(OPERATOR, op, DAVIT_INT64, int64, int64_t)
#define DVT_REF_EACH_OPERATOR(X)                                                                             \
  DVT_REF_EACH_TYPE(X, DAVIT_SUM, sum)                                                                       \
  DVT_REF_EACH_TYPE(X, DAVIT_PROD, prod)                                                                     \
  DVT_REF_EACH_TYPE(X, DAVIT_MIN, min)                                                                       \
  DVT_REF_EACH_TYPE(X, DAVIT_MAX, max)

#define DVT_REF_FLOATING(type, T)                                                                            \
  static inline T dvt_ref_sum_##type(T a, T b) {                                                             \
    return a + b;                                                                                            \
  }                                                                                                          \
  static inline T dvt_ref_prod_##type(T a, T b) {                                                            \
    return a * b;                                                                                            \
  }                                                                                                          \
  static inline T dvt_ref_min_##type(T a, T b) {                                                             \
    return isnan(a) ? a : isnan(b) ? b : b < a ? b : a;                                                      \
  }                                                                                                          \
  static inline T dvt_ref_max_##type(T a, T b) {                                                             \
    return isnan(a) ? a : isnan(b) ? b : b > a ? b : a;                                                      \
  }
DVT_REF_FLOATING(float, float)
DVT_REF_FLOATING(double, double)
#undef DVT_REF_FLOATING

#define DVT_REF_INTEGER(type, T)                                                                             \
  static inline T dvt_ref_sum_##type(T a, T b) {                                                             \
    return (T)((u##T)a + (u##T)b);                                                                           \
  }                                                                                                          \
  static inline T dvt_ref_prod_##type(T a, T b) {                                                            \
    return (T)((u##T)a * (u##T)b);                                                                           \
  }                                                                                                          \
  static inline T dvt_ref_min_##type(T a, T b) {                                                             \
    return b < a ? b : a;                                                                                    \
  }                                                                                                          \
  static inline T dvt_ref_max_##type(T a, T b) {                                                             \
    return b > a ? b : a;                                                                                    \
  }
DVT_REF_INTEGER(int32, int32_t)
DVT_REF_INTEGER(int64, int64_t)
#undef DVT_REF_INTEGER

#define DVT_REF_GREATEST_float INFINITY
#define DVT_REF_GREATEST_double INFINITY
#define DVT_REF_GREATEST_int32 INT32_MAX
#define DVT_REF_GREATEST_int64 INT64_MAX
#define DVT_REF_LEAST_float (-INFINITY)
#define DVT_REF_LEAST_double (-INFINITY)
#define DVT_REF_LEAST_int32 INT32_MIN
#define DVT_REF_LEAST_int64 INT64_MIN
#define DVT_REF_IDENTITY_sum(type) 0
#define DVT_REF_IDENTITY_prod(type) 1
#define DVT_REF_IDENTITY_min(type) DVT_REF_GREATEST_##type
#define DVT_REF_IDENTITY_max(type) DVT_REF_LEAST_##type

#endif
