/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing results with a reference, for --check.
 *
 * Equal elements differ by 0, infinities and NaNs included; zeros are equal whatever their sign. */
#ifndef DAVIT_SRC_CLI_FORMATS_COMPARE_H
#define DAVIT_SRC_CLI_FORMATS_COMPARE_H

#include "src/cli/formats/array.h"

bool cli_same(long double a, long double b);
long double cli_difference(long double a, long double b);

/* Distance of `found`, of `type`, from `value`. A value that is not finite in `type` is at 0 from the same,
 * and at infinity from others. If a partial result may overflow, every infinity or NaN is right, and at 0. */
double cli_error(cli_type type, long double value, long double found, bool may_overflow);

/* What the error of a value may be: 0 of one that is not finite, and finite of others, so that an infinite
 * error is beyond it. */
double cli_bound(long double value, long double bound);

/* Whether a partial result of this size, after so many roundings, may be beyond the range of `type`. */
bool cli_overflows(cli_type type, long double size, int64_t roundings);

/* Number of elements that differ between two arrays of one type and count. */
int64_t cli_differences(const cli_array *a, const cli_array *b);

/* Whether a NaN or an infinity that the reference has as well fails the check. */
typedef enum cli_nonfinite { CLI_NONFINITE_FAILS, CLI_NONFINITE_PASSES } cli_nonfinite;

/* Frobenius norm of an array, and of the difference of two with the same type, count and order. With
 * CLI_NONFINITE_PASSES the norm is that of the finite elements, and equal elements differ by 0; else a NaN
 * in an operand makes the result NaN. Sums are in long double, which neither overflows nor loses small
 * terms. */
double cli_norm(const cli_array *whole, cli_nonfinite nonfinite);
double cli_distance(const cli_array *whole_a, const cli_array *whole_b, cli_nonfinite nonfinite);

/* eps; of complex numbers 2 sqrt(2) eps, because of the rounding of a product (Higham, Accuracy and
 * Stability of Numerical Algorithms, 2002, lemma 3.5). */
double cli_rounding(cli_type type);

/* The bound of gemm, 3 eps (sqrt(k + 2) |alpha| ||A||_F ||B||_F + 2 |beta| ||C0||_F); an empty `c0` counts
 * as 0, alpha and beta are absolute values, and eps is cli_rounding(). */
double cli_product_bound(int64_t k, double alpha, const cli_array *a, const cli_array *b, double beta,
                         const cli_array *c0);

/* x 2^exponent: a product that neither overflows nor underflows. */
typedef struct cli_scaled {
  long double x;
  int64_t exponent;
} cli_scaled;

/* Sums and products of floating elements in long double, one element after the other. A sum is compensated
 * (Neumaier 1974), so its own error does not grow with the number of terms. */
typedef struct cli_running {
  davit_operator op; /* DAVIT_SUM or DAVIT_PROD */
  int64_t terms;
  long double value;       /* of a sum */
  long double rest;        /* what `value` has lost */
  long double magnitude;   /* the sum of the absolute values of the finite terms */
  cli_scaled product;      /* of all factors */
  cli_scaled above, below; /* of the absolute values above 1, and of the others but 0 */
} cli_running;

cli_running cli_running_start(davit_operator op);
void cli_running_add(cli_running *running, long double x);

/* The sum or the product of what was added. */
long double cli_running_value(const cli_running *running);

/* cli_error() of the running value; a partial sum or product may overflow if one does in some order. */
double cli_running_error(const cli_running *running, cli_type type, long double found);

/* What the error may be: of a sum 2 eps `depth` sum |x_i|; of a product of n factors n eps |value|, and
 * where a partial product may underflow in some order, the smallest normal number times all factors
 * above 1. `depth` is the maximum number of additions that an element goes through. */
double cli_running_bound(const cli_running *running, cli_type type, double depth);

#endif
