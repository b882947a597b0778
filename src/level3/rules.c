/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the routines, and a table of them. */
#include "src/level3/rule.h"

/* Tile (row, col) of op(X), as stored. */
static dvt_operand op(dvt_matrix matrix, char trans, int64_t row, int64_t col) {
  return trans == 'N' ? (dvt_operand){(int8_t)matrix, 'N', (int32_t)row, (int32_t)col}
                      : (dvt_operand){(int8_t)matrix, trans, (int32_t)col, (int32_t)row};
}

/* The matrices as stored, by the letters of the dimensions: rows and columns of A and B. */
static dvt_layout make_layout(const dvt_dim a[2], const dvt_dim b[2], dvt_dim sharing, dvt_dim shared) {
  dvt_layout layout = {.rows = {(uint8_t)a[0], (uint8_t)b[0], DVT_DIM_M, DVT_DIM_M},
                       .cols = {(uint8_t)a[1], (uint8_t)b[1], DVT_DIM_N, DVT_DIM_N},
                       .same = {DVT_DIM_M, DVT_DIM_N, DVT_DIM_K}};
  layout.same[sharing] = (uint8_t)shared;
  return layout;
}

/* ---- gemm ---- */

static dvt_layout layout(const dvt_plan_shape *shape) {
  const bool na = shape->transa == 'N', nb = shape->transb == 'N';
  return make_layout((dvt_dim[]){na ? DVT_DIM_M : DVT_DIM_K, na ? DVT_DIM_K : DVT_DIM_M},
                     (dvt_dim[]){nb ? DVT_DIM_K : DVT_DIM_N, nb ? DVT_DIM_N : DVT_DIM_K}, DVT_DIM_K,
                     DVT_DIM_K);
}

static dvt_distribution_kind distribution(const dvt_plan_shape *shape) {
  (void)shape;
  return DVT_DISTRIBUTE_BLOCKS;
}

/* C (i, j) += op(A) (i, k) op(B) (k, j). */
static void term(const dvt_plan_shape *shape, const dvt_plan *plan, int64_t i, int64_t j, int64_t k,
                 dvt_term *t) {
  (void)plan;
  t->kernel = DVT_GEMM;
  t->left = op(DVT_A, shape->transa, i, k);
  t->right = op(DVT_B, shape->transb, k, j);
}

/* ---- symm, hemm ---- */

/* A is square, and k its order: m for side 'L', n for 'R'. */
static dvt_layout square_layout(const dvt_plan_shape *shape) {
  const bool right = shape->side == 'R';
  const dvt_dim order = right ? DVT_DIM_N : DVT_DIM_M;
  return make_layout((dvt_dim[]){order, order},
                     (dvt_dim[]){right ? DVT_DIM_M : DVT_DIM_K, right ? DVT_DIM_K : DVT_DIM_N}, DVT_DIM_K,
                     order);
}

/* Tile (i, j) of A, which is stored, or whose mirror image is. */
static dvt_operand of_half(const dvt_plan_shape *shape, int64_t i, int64_t j) {
  const bool stored = shape->uplo == 'L' ? i >= j : i <= j;
  return op(DVT_A, stored ? 'N' : shape->rule->mirrored, i, j);
}

static void square_term(const dvt_plan_shape *shape, const dvt_plan *plan, int64_t i, int64_t j, int64_t k,
                        dvt_term *t) {
  const bool right = shape->side == 'R';
  (void)plan;
  t->kernel = (uint8_t)((right ? j : i) == k ? shape->rule->diagonal : DVT_GEMM);
  t->left = right ? op(DVT_B, 'N', i, k) : of_half(shape, i, k);
  t->right = right ? of_half(shape, k, j) : op(DVT_B, 'N', k, j);
}

/* ---- syrk, herk, syr2k, her2k ---- */

static dvt_layout update_layout(const dvt_plan_shape *shape) {
  const bool plain = shape->transa == 'N';
  const dvt_dim operand[] = {plain ? DVT_DIM_N : DVT_DIM_K, plain ? DVT_DIM_K : DVT_DIM_N};
  return make_layout(operand, operand, DVT_DIM_N, DVT_DIM_M);
}

static dvt_distribution_kind triangle(const dvt_plan_shape *shape) {
  (void)shape;
  return DVT_DISTRIBUTE_TRIANGLE;
}

/* op(left) (i, k) op'(right) (k, j), where op' undoes op. On the diagonal the kernel takes both from one
 * side. With two terms a k: A B' first, then B A', which the diagonal's kernel has done already. */
static void update_term(const dvt_plan_shape *shape, const dvt_plan *plan, int64_t i, int64_t j,
                        int64_t number, dvt_term *t) {
  const dvt_rule *rule = shape->rule;
  const bool pairs = rule->terms_per_k == 2, second = pairs && number % 2 == 1;
  const int64_t k = pairs ? number / 2 : number;
  (void)plan;
  t->kernel = (uint8_t)(i != j ? DVT_GEMM : second ? DVT_ROUTINES : rule->diagonal);
  t->left = op(second ? DVT_B : DVT_A, shape->transa, i, k);
  t->right = op(pairs && !second ? DVT_B : DVT_A, shape->transa == 'N' ? rule->mirrored : 'N', k, j);
  if (rule->mirrored == 'C' && pairs)
    t->alpha = second ? DVT_CONJ_ALPHA : DVT_ALPHA;
}

/* ---- trmm, trsm ---- */

static dvt_layout triangular_layout(const dvt_plan_shape *shape) {
  const dvt_dim order = shape->side == 'R' ? DVT_DIM_N : DVT_DIM_M;
  return make_layout((dvt_dim[]){order, order}, (dvt_dim[]){DVT_DIM_M, DVT_DIM_N}, DVT_DIM_K, order);
}

static dvt_distribution_kind lines(const dvt_plan_shape *shape) {
  return shape->side == 'R' ? DVT_DISTRIBUTE_ROWS : DVT_DISTRIBUTE_COLUMNS;
}

/* Whether op(A) is a lower triangle. */
static bool is_lower(const dvt_plan_shape *shape) {
  return (shape->uplo == 'L') == (shape->transa == 'N');
}

/* Whether an output is made from those before it in its line: else from those behind. */
static bool takes_earlier(const dvt_plan_shape *shape) {
  return is_lower(shape) == (shape->side == 'L');
}

static bool trsm_descends(const dvt_plan_shape *shape) {
  return !takes_earlier(shape);
}

static int64_t position_in_line(const dvt_plan_shape *shape, int64_t i, int64_t j) {
  return shape->side == 'R' ? j : i;
}

/* Its own diagonal tile, and one for each tile that it is made from. */
static int64_t triangular_terms(const dvt_plan_shape *shape, const dvt_plan *plan, int64_t i, int64_t j) {
  const int64_t at = position_in_line(shape, i, j),
                tiles = plan->cut[shape->side == 'R' ? DVT_DIM_N : DVT_DIM_M].tiles;
  return takes_earlier(shape) ? at + 1 : tiles - at;
}

/* The product with tile `other` of `matrix`, B or C. */
static void other_term(const dvt_plan_shape *shape, int64_t i, int64_t j, dvt_matrix matrix, int64_t other,
                       dvt_term *t) {
  const bool right = shape->side == 'R';
  t->kernel = DVT_GEMM;
  t->left = right ? op(matrix, 'N', i, other) : op(DVT_A, shape->transa, i, other);
  t->right = right ? op(DVT_A, shape->transa, other, j) : op(matrix, 'N', other, j);
}

/* The n-th of the tiles that an output is made from, the nearest last. */
static int64_t other_tile(const dvt_plan_shape *shape, const dvt_plan *plan, int64_t n) {
  return takes_earlier(shape) ? n : plan->cut[shape->side == 'R' ? DVT_DIM_N : DVT_DIM_M].tiles - 1 - n;
}

/* The diagonal tile comes last. */
static void trmm_term(const dvt_plan_shape *shape, const dvt_plan *plan, int64_t i, int64_t j, int64_t number,
                      dvt_term *t) {
  const int64_t last = triangular_terms(shape, plan, i, j) - 1;
  t->kernel = DVT_ROUTINES;
  if (number > last)
    return;
  other_term(shape, i, j, DVT_B, other_tile(shape, plan, number), t);
  if (number == last)
    t->kernel = DVT_TRMM;
}

static void trsm_term(const dvt_plan_shape *shape, const dvt_plan *plan, int64_t i, int64_t j, int64_t number,
                      dvt_term *t) {
  const int64_t last = triangular_terms(shape, plan, i, j) - 1;
  t->alpha = number < last ? DVT_MINUS_ONE : last == 0 ? DVT_ALPHA : DVT_ONE;
  t->beta = number < last ? (number == 0 ? DVT_ALPHA : DVT_ONE) : DVT_ZERO;
  other_term(shape, i, j, DVT_C, other_tile(shape, plan, number), t);
  if (number == last) { /* in place */
    const int64_t at = position_in_line(shape, i, j);
    t->kernel = DVT_TRSM;
    t->left = op(DVT_A, shape->transa, at, at);
    t->right.matrix = -1;
  }
}

/* ---- all ---- */

#define SQUARE(letter)                                                                                       \
  .uniform = true, .mirrored = letter, .layout = square_layout, .distribution = distribution,                \
  .term = square_term
#define UPDATE(letter)                                                                                       \
  .uniform = true, .mirrored = letter, .layout = update_layout, .distribution = triangle, .term = update_term

const dvt_rule *dvt_rule_of(dvt_routine routine) {
  static const dvt_rule rules[DVT_ROUTINES] = {
      [DVT_GEMM] = {.name = "gemm",
                    .uniform = true,
                    .splits_k = true,
                    .layout = layout,
                    .distribution = distribution,
                    .term = term},
      [DVT_SYMM] = {.name = "symm", .diagonal = DVT_SYMM, SQUARE('T')},
      [DVT_HEMM] = {.name = "hemm", .diagonal = DVT_HEMM, SQUARE('C')},
      [DVT_SYRK] = {.name = "syrk", .diagonal = DVT_SYRK, UPDATE('T')},
      [DVT_HERK] = {.name = "herk", .diagonal = DVT_HERK, UPDATE('C')},
      [DVT_SYR2K] = {.name = "syr2k", .diagonal = DVT_SYR2K, .terms_per_k = 2, UPDATE('T')},
      [DVT_HER2K] = {.name = "her2k", .diagonal = DVT_HER2K, .terms_per_k = 2, UPDATE('C')},
      [DVT_TRMM] = {.name = "trmm",
                    .uniform = true,
                    .over_b = true,
                    .layout = square_layout,
                    .distribution = lines,
                    .terms = triangular_terms,
                    .term = trmm_term},
      [DVT_TRSM] = {.name = "trsm",
                    .layout = triangular_layout,
                    .distribution = lines,
                    .descends = trsm_descends,
                    .terms = triangular_terms,
                    .term = trsm_term}};
  return &rules[routine];
}
