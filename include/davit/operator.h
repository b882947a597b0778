/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and operators of reductions and scans.
 *
 * Integers wrap around: results are those of two's complement modulo 2^32 or 2^64, and have the elements' type.
 * Floating-point sums and products follow IEEE 754 in the order that the operation states. A sum is -0 if all its
 * elements are -0. The result for one element has the bits of this element (except that those of a NaN may differ); the
 * result for no elements is the identity. A minimum or maximum is NaN if one of the elements is NaN; which of two zeros
 * is chosen is not specified. For operators on types of your own see <davit/monoid.h>. Thread safety: any thread. */
#ifndef DAVIT_OPERATOR_H
#define DAVIT_OPERATOR_H

#include <davit/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum davit_type {
  DAVIT_FLOAT,
  DAVIT_DOUBLE,
  DAVIT_INT32,
  DAVIT_INT64,
  DAVIT_COMPLEX_FLOAT, /* pairs of real and imaginary part, <davit/complex.h>: only for BLAS routines */
  DAVIT_COMPLEX_DOUBLE,
  DAVIT_TYPE_COUNT
} davit_type;

typedef enum davit_operator {
  DAVIT_SUM,  /* identity 0, for floating-point types +0 */
  DAVIT_PROD, /* identity 1 */
  DAVIT_MIN,  /* identity: the type's maximum, infinity for floating-point types */
  DAVIT_MAX,  /* identity: the type's minimum, -infinity for floating-point types */
  DAVIT_OPERATOR_COUNT
} davit_operator;

/* Bytes of an element; 0 for an unknown type. */
DAVIT_API size_t davit_type_bytes(davit_type type);

/* "float", "double", "int32", "int64", "complex_float", "complex_double"; "sum", "prod", "min", "max";
 * "unknown" for other numbers. */
DAVIT_API const char *davit_type_string(davit_type type);
DAVIT_API const char *davit_operator_string(davit_operator op);

#ifdef __cplusplus
}
#endif
#endif
