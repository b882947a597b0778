/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic in which products and solutions are computed. */
#ifndef DAVIT_ARITHMETIC_H
#define DAVIT_ARITHMETIC_H

/* NATIVE computes in the type of the operands.
 * MIXED, only for posv and gesv in d and z, factors in a shorter type and refines the solution in the operands' own type
 * until its backward error is that of a native solution. If that does not converge, or is not faster, davit computes
 * natively.
 * EXACT, only for gemm, symm, hemm, syrk and herk, computes by exact sums of integers (docs/exact.md). */
typedef enum davit_arithmetic {
  DAVIT_ARITHMETIC_NATIVE = 0,
  DAVIT_ARITHMETIC_MIXED,
  DAVIT_ARITHMETIC_EXACT
} davit_arithmetic;

#endif
