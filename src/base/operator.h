/* SPDX-License-Identifier: Apache-2.0 */
/* The element types and the operators of <davit/operator.h>: the one list of each, and what each operator
 * computes.
 *
 * DVT_EACH_TYPE(X, …) expands X(TYPE, type, …) for each element type that has operators, in the order of
 * davit_type: DAVIT_INT32, int32. DVT_EACH_OPERATOR(X, …) expands X(OPERATOR, operator, …): DAVIT_MIN, min.
 * DVT_EACH_MONOID(X) expands X(OPERATOR, operator, TYPE, type) for each pair. The names `type` and `operator`
 * select the macros below.
 *
 * dvt_OPERATOR_TYPE(a, b) is a ∘ b: the CPU reference and the kernels use the same function. */
#ifndef DAVIT_SRC_BASE_OPERATOR_H
#define DAVIT_SRC_BASE_OPERATOR_H

#include <davit/operator.h>
#include <stdint.h>

#define DVT_EACH_TYPE(X, ...)                                                                                \
  X(DAVIT_FLOAT, float, __VA_ARGS__)                                                                         \
  X(DAVIT_DOUBLE, double, __VA_ARGS__)                                                                       \
  X(DAVIT_INT32, int32, __VA_ARGS__)                                                                         \
  X(DAVIT_INT64, int64, __VA_ARGS__)

/* How many there are: complex types, which come behind them, have no operators. */
enum { DVT_MONOID_TYPES = DAVIT_COMPLEX_FLOAT };

#define DVT_EACH_OPERATOR(X, ...)                                                                            \
  X(DAVIT_SUM, sum, __VA_ARGS__)                                                                             \
  X(DAVIT_PROD, prod, __VA_ARGS__)                                                                           \
  X(DAVIT_MIN, min, __VA_ARGS__)                                                                             \
  X(DAVIT_MAX, max, __VA_ARGS__)

#define DVT_EACH_OPERATOR_OF(TYPE, type, X) DVT_EACH_OPERATOR(X, TYPE, type)
#define DVT_EACH_MONOID(X) DVT_EACH_TYPE(DVT_EACH_OPERATOR_OF, X)

/* The C type. */
#define DVT_C_float float
#define DVT_C_double double
#define DVT_C_int32 int32_t
#define DVT_C_int64 int64_t

/* The type in which elements are added and multiplied: unsigned integers wrap around. */
#define DVT_ARITHMETIC_float float
#define DVT_ARITHMETIC_double double
#define DVT_ARITHMETIC_int32 uint32_t
#define DVT_ARITHMETIC_int64 uint64_t

/* DVT_IDENTITY(operator, type) is the result for no elements. DVT_NEUTRAL(operator, type) changes no bit of
 * what it is combined with: for sums of floating type it is -0, as 0 + -0 is 0. */
#define DVT_IDENTITY(op, type) DVT_IDENTITY_OF(op, type)
#define DVT_IDENTITY_OF(op, type) DVT_IDENTITY_##op(type)
#define DVT_NEUTRAL(op, type) DVT_NEUTRAL_OF(op, type)
#define DVT_NEUTRAL_OF(op, type) DVT_NEUTRAL_##op(type)
#define DVT_IDENTITY_sum(type) 0
#define DVT_IDENTITY_prod(type) 1
#define DVT_IDENTITY_min(type) DVT_MAXIMUM_##type
#define DVT_IDENTITY_max(type) DVT_MINIMUM_##type
#define DVT_NEUTRAL_sum(type) DVT_MINUS_ZERO_##type
#define DVT_NEUTRAL_prod(type) DVT_IDENTITY_prod(type)
#define DVT_NEUTRAL_min(type) DVT_IDENTITY_min(type)
#define DVT_NEUTRAL_max(type) DVT_IDENTITY_max(type)
#define DVT_MINUS_ZERO_float (-0.0f)
#define DVT_MINUS_ZERO_double (-0.0)
#define DVT_MINUS_ZERO_int32 0
#define DVT_MINUS_ZERO_int64 0
#define DVT_MINIMUM_float (-__builtin_inff())
#define DVT_MAXIMUM_float __builtin_inff()
#define DVT_MINIMUM_double (-__builtin_inf())
#define DVT_MAXIMUM_double __builtin_inf()
#define DVT_MINIMUM_int32 INT32_MIN
#define DVT_MAXIMUM_int32 INT32_MAX
#define DVT_MINIMUM_int64 INT64_MIN
#define DVT_MAXIMUM_int64 INT64_MAX

/* a ∘ b for values of type T, which may be vectors of elements; A is their arithmetic type. A minimum or
 * maximum is NaN if a or b is: if only b is NaN, both comparisons are false. Integers are never NaN: Clang
 * warns that they equal themselves. */
#define DVT_OPERATE_sum(T, A, a, b) ((T)((A)(a) + (A)(b)))
#define DVT_OPERATE_prod(T, A, a, b) ((T)((A)(a) * (A)(b)))
#define DVT_OPERATE_min(T, A, a, b) ((((a) < (b)) | ((a) != (a))) ? (a) : (b))
#define DVT_OPERATE_max(T, A, a, b) ((((a) > (b)) | ((a) != (a))) ? (a) : (b))

/* The same where a is not NaN, in one instruction. DVT_SELECTS: whether there is a difference. */
#define DVT_OPERATE_NUMBERS_sum(T, A, a, b) DVT_OPERATE_sum(T, A, a, b)
#define DVT_OPERATE_NUMBERS_prod(T, A, a, b) DVT_OPERATE_prod(T, A, a, b)
#define DVT_OPERATE_NUMBERS_min(T, A, a, b) ((a) < (b) ? (a) : (b))
#define DVT_OPERATE_NUMBERS_max(T, A, a, b) ((a) > (b) ? (a) : (b))
#define DVT_SELECTS_sum 0
#define DVT_SELECTS_prod 0
#define DVT_SELECTS_min 1
#define DVT_SELECTS_max 1

#define DVT_DEFINE_OPERATOR(OPERATOR, op, TYPE, type)                                                        \
  static inline DVT_C_##type dvt_##op##_##type(DVT_C_##type a, DVT_C_##type b) {                             \
    return DVT_OPERATE_##op(DVT_C_##type, DVT_ARITHMETIC_##type, a, b);                                      \
  }
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wtautological-compare"
DVT_EACH_MONOID(DVT_DEFINE_OPERATOR)
#pragma clang diagnostic pop
#undef DVT_DEFINE_OPERATOR

#endif
