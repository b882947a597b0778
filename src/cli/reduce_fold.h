/* SPDX-License-Identifier: Apache-2.0 */
/* What davit reduce computes: the elements lie in groups of `length` neighbours, and each group gives one
 * result. The folds (sum, prod, min, max) run on the devices: davit_reduce() for one group, for several a
 * segmented scan, of which the last element of a segment counts. What comes before and after them, element
 * by element, is done by the host.
 *
 * Of complex elements the real and the imaginary parts are groups of their own, one behind the other, whose
 * results are the two parts of a complex one; of a norm they are one group, and a variance is the sum of
 * theirs. A product is computed by the host, element by element. */
#ifndef DAVIT_SRC_CLI_REDUCE_FOLD_H
#define DAVIT_SRC_CLI_REDUCE_FOLD_H

#include <davit/operator.h>

#include "src/cli/frame/job.h"

/* The values of davit_operator, and more. */
typedef enum reduce_op {
  REDUCE_MEAN = DAVIT_OPERATOR_COUNT,
  REDUCE_VAR,
  REDUCE_STD,
  REDUCE_NORM,
  REDUCE_ARGMIN,
  REDUCE_ARGMAX
} reduce_op;

typedef struct reduction {
  cli_job job;
  const char *x_path;
  int op; /* of davit_operator or reduce_op */
  int64_t axis;
  bool ordered;              /* changes nothing: the library has one order */
  bool parts;                /* the groups are real and imaginary parts in turn */
  int64_t groups, length;    /* here; of several ranks each has a part of the only group */
  cli_array shape;           /* of the results, and their type; without elements */
  cli_array x, result;       /* groups × length elements; `result`: one a group */
  cli_array terms, extremes; /* scratch, as far as the operator needs it, */
  cli_array flags, scan;     /* and for more than one group */
} reduction;

/* Makes the scratch arrays. */
int reduce_room(reduction *r);

/* One result a group, of x's type; places are int64. */
davit_status reduce_compute(const reduction *r, void *results, bool reference);

/* Elements of the group, on all ranks. */
static inline int64_t reduce_length(const reduction *r) {
  return r->job.sizes->count > 1 ? r->job.sizes->whole : r->length;
}

/* One result for all elements: a tree on the devices gives it. */
static inline bool reduce_is_single(const reduction *r) {
  return r->groups == (r->parts ? 2 : 1);
}

/* Whether the operator gives the place of an element. */
static inline bool reduce_gives_place(const reduction *r) {
  return r->op == REDUCE_ARGMIN || r->op == REDUCE_ARGMAX;
}

/* Whether the result is a variance, or the root of one. */
static inline bool reduce_has_variance(const reduction *r) {
  return r->op == REDUCE_VAR || r->op == REDUCE_STD;
}

/* Whether the operator divides or takes roots; x is float64 or complex128 then. */
static inline bool reduce_is_real(const reduction *r) {
  return r->op == REDUCE_MEAN || r->op == REDUCE_NORM || reduce_has_variance(r);
}

#endif
