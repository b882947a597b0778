/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of level 3 share: a problem is a routine with its type, flags, sizes and factors. Its operands are
 * A, B and C in this order; the triangular routines have no B, and C is BLAS' B there. */
#ifndef DAVIT_TESTS_PROBLEM_H
#define DAVIT_TESTS_PROBLEM_H

#include <davit/level3.h>

#include "tests/dense.h"

typedef struct problem {
  dvt_routine routine;
  davit_type type;
  char side, uplo, transa, transb, diag;
  int64_t m, n, k;
  double _Complex alpha, beta;
} problem;

extern const char *const problem_names[DVT_ROUTINES];
extern const davit_type problem_types[4];

static inline bool is_hermitian(dvt_routine routine) {
  return routine == DVT_HEMM || routine == DVT_HERK || routine == DVT_HER2K;
}

static inline bool is_triangular(dvt_routine routine) {
  return routine == DVT_TRMM || routine == DVT_TRSM;
}

static inline bool is_square(dvt_routine routine) {
  return routine == DVT_SYMM || routine == DVT_HEMM;
}

static inline bool is_update(dvt_routine routine) {
  return routine >= DVT_SYRK && routine <= DVT_HER2K;
}

static inline bool is_pair(dvt_routine routine) {
  return routine == DVT_SYR2K || routine == DVT_HER2K;
}

static inline bool outside(char uplo, int64_t i, int64_t j) {
  return uplo == 'L' ? i < j : i > j;
}

/* The order of a square A. */
static inline int64_t order_of(const problem *p) {
  return p->side == 'R' ? p->n : p->m;
}

/* Does the work with every routine of the type, of which the flags are set. */
void each_flags(davit_type type, void (*work)(problem *p));
void set_sizes(problem *p, int64_t m, int64_t n, int64_t k);

/* Factors that the routine takes, by a number below 16: real ones where it is hermitian. */
void set_factors(problem *p, int which);

/* A, B and C of the problem. What the routine must not read is NaN: the half of a matrix that is not stored, a unit
 * diagonal, C for beta = 0, the inputs for alpha = 0. The
 * seed decides about leading dimensions, too. */
void problem_make(const problem *p, const int places[3], uint64_t seed, dense o[3]);

/* Compares C, which has been taken, with plain loops in long double over the matrices as the flags show them, or with
 * BLIS where these would take long. The error is bounded in Frobenius' norm as by SLATE's testers,
 * 3 eps (sqrt(length + 2) |alpha| |A| |B| + 2 |beta| |C|), a solution by its residual; complex arithmetic counts
 * twice. */
void problem_expect(const problem *p, dense o[3]);

dvt_level3 problem_arguments(const problem *p, const dense o[3]);

/* A problem with the places of its operands, and the options of its call. */
typedef struct product {
  problem g;
  int place[3];
  davit_level3_options options;
  dense o[3];
} product;

void product_make(product *p);

/* On the queue or, where that is NULL, by the options. */
davit_status product_call(const product *p, davit_queue *queue);

/* The result is right, and what is read is as it was. */
void product_expect(product *p);

/* The public call, on the queue or, where that is NULL, over devices. */
davit_status call_level3(const dvt_level3 *g, davit_queue *queue, const davit_level3_options *options);

#endif
