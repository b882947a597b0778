/* SPDX-License-Identifier: Apache-2.0 */
/* In which arithmetic products and solutions are computed. */
#ifndef DAVIT_ARITHMETIC_H
#define DAVIT_ARITHMETIC_H

/* NATIVE: in the type of the operands. MIXED, of posv and gesv of d and z alone: factor in a shorter type, and refine
 * the solution in the operands' own until its backward error is what the native solution's is; where that does not
 * converge, or is not faster, the native form is computed. EXACT, of gemm, symm, hemm, syrk and herk: by exact sums of
 * integers, docs/exact.md. */
typedef enum davit_arithmetic {
  DAVIT_ARITHMETIC_NATIVE = 0,
  DAVIT_ARITHMETIC_MIXED,
  DAVIT_ARITHMETIC_EXACT
} davit_arithmetic;

#endif
