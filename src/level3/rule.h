/* SPDX-License-Identifier: Apache-2.0 */
/* What a routine of level 3 tells the planner: one rule, a table of pure functions.
 *
 * An output tile (i, j) of C is the sum of terms, in the order of their numbers. The rule says which tiles of
 * C are outputs and gives the terms of each. Positions in operands are those of the tile as it is stored:
 * where op(A) is the transpose, the operand of op(A) (i, k) is {DVT_A, 'T', k, i}.
 *
 *   uniform    outputs do not depend on each other, and every output has terms_per_k terms for each tile of k
 *              (of which the first is a product): the planner orders and divides them as it likes, and sets
 *              their beta (gemm, symm, hemm, syrk, herk, syr2k, her2k)
 *   over B     uniform, but an output has the first terms(…) of its terms alone, and C is stored where B was
 *              (trmm): columns (rows) are divided over devices, and the terms of one k are done for all outputs of a
 *              column (row) before those of the next k. The last term of an output reads the tile of B that it
 *              replaces, which nothing else reads later.
 *   in place   C is loaded, and outputs are made from finished outputs in the same column (or row) as well (trsm).
 *              The first term of an output works on it in place. Columns (rows) are divided over devices, and the
 *              outputs of one are computed in the order that the rule gives. */
#ifndef DAVIT_SRC_LEVEL3_RULE_H
#define DAVIT_SRC_LEVEL3_RULE_H

#include "src/level3/plan.h"

typedef enum dvt_distribution_kind {
  DVT_DISTRIBUTE_BLOCKS,   /* any grid */
  DVT_DISTRIBUTE_TRIANGLE, /* outputs are the triangle `uplo`; columns are distributed by area */
  DVT_DISTRIBUTE_COLUMNS,  /* over B or in place: columns of tiles are independent */
  DVT_DISTRIBUTE_ROWS      /* the same: rows of tiles are independent */
} dvt_distribution_kind;

struct dvt_rule {
  const char *name;
  bool uniform, over_b;
  bool splits_k;        /* uniform, and partial sums over parts of k may be added */
  int terms_per_k;      /* of a uniform rule; 0: 1 */
  dvt_routine diagonal; /* kernel of tiles on the diagonal, of routines with a symmetric matrix, */
  char mirrored;        /* whose other half is 'T' or 'C' of the stored one */
  dvt_layout (*layout)(const dvt_plan_shape *shape);
  dvt_distribution_kind (*distribution)(const dvt_plan_shape *shape);
  /* In place: outputs of a column (row) come in descending order. NULL: ascending. */
  bool (*descends)(const dvt_plan_shape *shape);
  /* How many terms an output has; NULL: terms_per_k for each tile of k. */
  int64_t (*terms)(const dvt_plan_shape *shape, const dvt_plan *plan, int64_t i, int64_t j);
  void (*term)(const dvt_plan_shape *shape, const dvt_plan *plan, int64_t i, int64_t j, int64_t number,
               dvt_term *term);
};

const dvt_rule *dvt_rule_of(dvt_routine routine);

#endif
