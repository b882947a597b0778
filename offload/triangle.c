/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles by halves: products between the halves are cuBLAS's, triangles of at most ORDER rows have kernels
 * (triangle_kernel.inc).
 *
 *   trsm  op(A) X = alpha B or X op(A) = alpha B: the half of X that depends on itself alone, a product that
 *         subtracts what it contributes from the rest of B, the other half.
 *   trmm  C = alpha op(A) B + beta C or alpha B op(A) + beta C: all triangles of ORDER rows on the diagonal at
 *         once, then all products of ORDER rows beside them, of twice as many rows, and so on.
 *
 * cuBLAS 13's own trsm reaches 10 TFLOP/s for doubles with 2048 rows and 8192 right-hand sides on an H100, whose
 * gemm reaches 60; its trmm cannot add to C. They are called for other types, few rows, and few right-hand sides. */
#include "offload/triangle.h"

#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/launch.h"
#include "src/base/arithmetic.h"

enum {
  ORDER = 128,
  BLOCK = 32, /* rows; as many lanes load them */
  PAD = 4,    /* added to a block's columns, each of which begins at a multiple of 16 bytes */
  LINES = 32, /* right-hand sides of a team, a lane each */
  TEAM = 256,
  GROUPS = TEAM / 32,
  SHARE = BLOCK / GROUPS, /* rows of a block for each warp */
  ORDER_MINIMUM = 256,
  LINES_MINIMUM = 256
};
_Static_assert(LINES == 32 && BLOCK == 32 && ORDER % BLOCK == 0 && SHARE % (16 / sizeof(double)) == 0,
               "lanes are rows and right-hand sides, and a warp loads 16 bytes of a block at a time");

#define T double
#define NAME(x) double_##x
#include "offload/triangle_kernel.inc"
#undef T
#undef NAME

static bool is_large(const dvt_level3 *g, int64_t lines) {
  const bool left = g->side == 'L';
  return g->type == DAVIT_DOUBLE && (left ? g->m : g->n) >= ORDER_MINIMUM && (left ? g->n : g->m) >= lines;
}

bool dvt_solve_takes(const dvt_level3 *trsm) {
  return is_large(trsm, LINES_MINIMUM);
}

bool dvt_triangle_product_takes(const dvt_level3 *trmm) {
  return trmm->b != trmm->c && is_large(trmm, LINES);
}

typedef struct triangle {
  const dvt_site *site;
  dvt_level3 call;
  bool right;           /* X op(A) */
  bool lower;           /* op(A) */
  int64_t order, lines; /* lines: right-hand sides */
  dvt_products products;
} triangle;

static triangle triangle_of(const dvt_site *site, const dvt_level3 *call, dvt_products products) {
  triangle t = {.site = site, .call = *call, .right = call->side == 'R', .products = products};
  t.call.transa = call->transa == 'N' ? 'N' : 'T';
  t.lower = (call->uplo == 'L') == (t.call.transa == 'N');
  t.order = t.right ? call->n : call->m;
  t.lines = t.right ? call->m : call->n;
  return t;
}

/* Elements from the first of A to (i, l) of op(A), and from the first of a matrix to its row (column) i. */
static int64_t at_a(const triangle *t, int64_t i, int64_t l) {
  return t->call.transa == 'N' ? i + l * t->call.lda : l + i * t->call.lda;
}

static int64_t at_line(const triangle *t, int64_t i, int64_t ld) {
  return t->right ? i * ld : i;
}

/* The triangle of `order` rows from `first` on, as the kernels see it: X op(A) = B is op(A)ᵀ Xᵀ = Bᵀ, and an
 * upper triangle is a lower one from its last row up. */
typedef struct view {
  const double *a;
  int64_t a_row, a_col;
  bool upper;
} view;

static view view_of(const triangle *t, int64_t first, int64_t order) {
  const dvt_level3 *g = &t->call;
  const bool plain = (g->transa == 'N') != t->right;
  const int64_t row = plain ? 1 : g->lda, col = plain ? g->lda : 1;
  const double *a = (const double *)g->a + at_a(t, first, first);
  return t->lower != t->right ? (view){a, row, col, .upper = false}
                              : (view){a + (order - 1) * (row + col), -row, -col, .upper = true};
}

/* The rows of B or C in that view: the first one, and how far they are apart. */
static double *rows_of(const triangle *t, const void *x, int64_t ld, int64_t first, int64_t order, bool upper,
                       int64_t *step) {
  *step = t->right ? ld : 1;
  double *start = (double *)(uintptr_t)x + at_line(t, first, ld) + (upper ? (order - 1) * *step : 0);
  *step = upper ? -*step : *step;
  return start;
}

/* The product of op(A)'s block of rows [to, to + rest) and columns [from, from + known) with rows of B, added to
 * factor C: as the first of `count`, of which the next one's rows and columns lie `apart` behind. */
static davit_status multiply(const triangle *t, int64_t from, int64_t known, int64_t to, int64_t rest,
                             double factor, int64_t count, int64_t apart) {
  const dvt_level3 *g = &t->call;
  const bool solves = g->routine == DVT_TRSM;
  const double *block = (const double *)g->a + (t->right ? at_a(t, from, to) : at_a(t, to, from)),
               *b = solves ? g->c : g->b;
  const int64_t ldb = solves ? g->ldc : g->ldb;
  const double *x = b + at_line(t, from, ldb);
  dvt_level3 product = {.routine = DVT_GEMM,
                        .type = g->type,
                        .transa = 'N',
                        .transb = 'N',
                        .k = known,
                        .alpha = solves ? -1 : g->alpha,
                        .beta = factor,
                        .c = (double *)g->c + at_line(t, to, g->ldc),
                        .ldc = g->ldc};
  const int64_t apart_a = apart * (1 + g->lda), apart_b = at_line(t, apart, ldb),
                apart_c = at_line(t, apart, g->ldc);
  if (t->right) {
    product.transb = g->transa;
    product.m = t->lines;
    product.n = rest;
    product.a = x;
    product.lda = ldb;
    product.b = block;
    product.ldb = g->lda;
    return t->products(t->site, &product, count, apart_b, apart_a, apart_c);
  }
  product.transa = g->transa;
  product.m = rest;
  product.n = t->lines;
  product.a = block;
  product.lda = g->lda;
  product.b = x;
  product.ldb = ldb;
  return t->products(t->site, &product, count, apart_a, apart_b, apart_c);
}

/* ---- trsm ---- */

static davit_status substitute(const triangle *t, int64_t first, int64_t order, double alpha) {
  const view v = view_of(t, first, order);
  int64_t step;
  double *b = rows_of(t, t->call.c, t->call.ldc, first, order, v.upper, &step);
  const int64_t line = t->right ? 1 : t->call.ldc, unit = t->call.diag == 'U', lines = t->lines;
  DVT_RUN(t->site, double_solve_region, dvt_divide_up(lines, LINES), TEAM, v.a, v.a_row, v.a_col, b, step,
          line, order, lines, unit, alpha);
  return DAVIT_SUCCESS;
}

/* Rows (columns) of X from `first` on. */
static davit_status solve(const triangle *t, int64_t first, int64_t order, double alpha) {
  if (order <= ORDER)
    return substitute(t, first, order, alpha);
  int64_t half = ORDER;
  while (2 * half < order)
    half *= 2;
  const int64_t middle = first + half, rest = order - half;
  if (t->lower != t->right) { /* the first half depends on itself alone */
    DVT_TRY(solve(t, first, half, alpha));
    DVT_TRY(multiply(t, first, half, middle, rest, alpha, 1, 0));
    return solve(t, middle, rest, 1);
  }
  DVT_TRY(solve(t, middle, rest, alpha));
  DVT_TRY(multiply(t, middle, rest, first, half, alpha, 1, 0));
  return solve(t, first, half, 1);
}

davit_status dvt_solve(const dvt_site *site, const dvt_level3 *trsm, dvt_products products) {
  const triangle t = triangle_of(site, trsm, products);
  return solve(&t, 0, t.order, __real__ trsm->alpha);
}

/* ---- trmm ---- */

static davit_status multiply_diagonal(const triangle *t) {
  const dvt_level3 *g = &t->call;
  const view v = view_of(t, 0, t->order);
  int64_t b_step, c_step;
  const double *b = rows_of(t, g->b, g->ldb, 0, t->order, v.upper, &b_step);
  double *c = rows_of(t, g->c, g->ldc, 0, t->order, v.upper, &c_step);
  const int64_t b_line = t->right ? 1 : g->ldb, c_line = t->right ? 1 : g->ldc, unit = g->diag == 'U',
                order = t->order, lines = t->lines,
                teams = dvt_divide_up(order, ORDER) * dvt_divide_up(lines, LINES);
  const double alpha = __real__ g->alpha, beta = __real__ g->beta;
  DVT_RUN(t->site, double_product_region, teams, TEAM, v.a, v.a_row, v.a_col, b, b_step, b_line, c, c_step,
          c_line, order, lines, unit, alpha, beta);
  return DAVIT_SUCCESS;
}

/* Of each pair of neighbours of `half` rows, in the view of the kernels, what the first contributes to the
 * second, which at the end may be shorter, or missing. */
static davit_status multiply_pairs(const triangle *t, int64_t half) {
  const bool upper = t->lower == t->right;
  const int64_t pairs = t->order / (2 * half), rest = t->order % (2 * half) - half, end = 2 * half * pairs;
  if (pairs > 0) {
    const int64_t lowest = upper ? t->order - end : 0;
    DVT_TRY(multiply(t, lowest + (upper ? half : 0), half, lowest + (upper ? 0 : half), half, 1, pairs,
                     2 * half));
  }
  if (rest <= 0)
    return DAVIT_SUCCESS;
  return upper ? multiply(t, rest, half, 0, rest, 1, 1, 0)
               : multiply(t, end, half, end + half, rest, 1, 1, 0);
}

davit_status dvt_triangle_product(const dvt_site *site, const dvt_level3 *trmm, dvt_products products) {
  const triangle t = triangle_of(site, trmm, products);
  DVT_TRY(multiply_diagonal(&t));
  for (int64_t half = ORDER; half < t.order; half *= 2)
    DVT_TRY(multiply_pairs(&t, half));
  return DAVIT_SUCCESS;
}
