/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of level 3 share: a problem is a routine with its type, flags, sizes and factors. Its operands are
 * A, B and C in this order; the triangular routines have no B, and C is BLAS' B there. A complex matrix is a real one
 * of twice the rows (tests/dense.h). */
#ifndef DAVIT_TESTS_PROBLEM_H
#define DAVIT_TESTS_PROBLEM_H

#include <davit/level3.h>

#include "tests/dense.h"

typedef long double _Complex wide;

typedef struct problem {
  dvt_routine routine;
  davit_type type;
  char side, uplo, transa, transb, diag;
  int64_t m, n, k;
  double _Complex alpha, beta;
} problem;

extern const char *const problem_names[DVT_ROUTINES];
extern const davit_type problem_types[4];

static inline bool is_complex(davit_type type) {
  return type >= DAVIT_COMPLEX_FLOAT;
}

static inline davit_type part_of(davit_type type) {
  return type == DAVIT_DOUBLE || type == DAVIT_COMPLEX_DOUBLE ? DAVIT_DOUBLE : DAVIT_FLOAT;
}

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

static inline int64_t leading(const problem *p, const dense *x) {
  return is_complex(p->type) ? x->ld / 2 : x->ld;
}

/* Element (i, j), as it is and, after dense_take(), as it was. */
wide element(const problem *p, const dense *x, int64_t i, int64_t j);
wide element_was(const problem *p, const dense *x, int64_t i, int64_t j);
void set_element(const problem *p, dense *x, int64_t i, int64_t j, double real, double imaginary);
dense new_matrix(const problem *p, int64_t rows, int64_t cols, int64_t extra, int place, uint64_t seed);

/* Does the work with every routine of the type, of which the flags are set. */
void each_flags(davit_type type, void (*work)(problem *p));
void set_sizes(problem *p, int64_t m, int64_t n, int64_t k);

dvt_level3 problem_arguments(const problem *p, const dense o[3]);

/* The public call, on the queue or, where that is NULL, over devices. */
davit_status call_level3(const dvt_level3 *g, davit_queue *queue, const davit_level3_options *options);

#endif
