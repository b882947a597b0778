/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles by halves: products between the halves are cuBLAS's, triangles of at most ORDER rows have kernels
 * (triangle_kernel.inc).
 *
 *   trsm  op(A) X = alpha B or X op(A) = alpha B: the half of X that depends on itself alone, a product that
 *         subtracts what it contributes from the rest of B, the other half.
 *   trmm  C = alpha op(A) B + beta C or alpha B op(A) + beta C: all triangles of ORDER rows on the diagonal at
 *         once, then all products of ORDER rows beside them, of twice as many rows, and so on. In place: by halves
 *         like trsm, in the opposite order.
 *
 * cuBLAS 13's own trsm reaches 10 TFLOP/s for doubles with 2048 rows and 8192 right-hand sides on an H100, whose
 * gemm reaches 60; its trmm cannot add to C. They are called for other types, few rows, few
 * right-hand sides, and where a team has less than TEAM_BYTES. */
#include "offload/triangle.h"

#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/launch.h"
#include "src/base/arithmetic.h"

enum {
  ORDER = 128,
  TILE = 8,  /* rows and columns of what tensor cores multiply */
  STEP = 4,  /* columns that they take at once */
  GROUP = 4, /* tiles of rows whose sums a warp has in registers */
  ROWS = GROUP * TILE,
  WARPS = 4, /* that compute; as many more help to load the triangle */
  TEAM = 32 * 2 * WARPS,
  LINES = TILE * WARPS, /* right-hand sides of a team */
  COLUMN_PAD = 4,
  LINE_PAD = 2,
  TRIANGLE = ORDER / TILE * (ORDER / TILE + 1) / 2 * TILE * TILE + ORDER * COLUMN_PAD, /* elements */
  TEAM_BYTES = (TRIANGLE + ORDER * (LINES + LINE_PAD)) * (int)sizeof(double),
  ORDER_MINIMUM = 256,
  LINES_MINIMUM = 256
};
_Static_assert(ORDER % ROWS == 0 && TILE == 8 && STEP == 4,
               "a warp's lanes are what a tile's multiplication wants");

#define T double
#define NAME(x) double_##x
#include "offload/triangle_kernel.inc"
#undef T
#undef NAME

/* Whether it is, and the stream's device has the team memory. */
static bool is_large(const dvt_site *site, const dvt_level3 *g, int64_t lines) {
  const bool left = g->side == 'L';
  size_t bytes;
  return g->type == DAVIT_DOUBLE && (left ? g->m : g->n) >= ORDER_MINIMUM && (left ? g->n : g->m) >= lines &&
         dvt_launch_team_bytes(site->stream, &bytes) == DAVIT_SUCCESS && bytes >= TEAM_BYTES;
}

bool dvt_solve_takes(const dvt_site *site, const dvt_level3 *trsm) {
  return is_large(site, trsm, LINES_MINIMUM);
}

bool dvt_triangle_product_takes(const dvt_site *site, const dvt_level3 *trmm) {
  return is_large(site, trmm, trmm->b == trmm->c ? LINES_MINIMUM : LINES);
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

/* ---- triangles of at most ORDER rows ---- */

static davit_status solve_lines(const triangle *t, int64_t first, int64_t order, double alpha) {
  const view v = view_of(t, first, order);
  int64_t step;
  double *b = rows_of(t, t->call.c, t->call.ldc, first, order, v.upper, &step);
  const int64_t line = t->right ? 1 : t->call.ldc, unit = t->call.diag == 'U', lines = t->lines;
  static dvt_kernel kernel = DVT_KERNEL(double_solve_region);
  return dvt_launch(&kernel, t->site->stream, dvt_divide_up(lines, LINES), TEAM, TEAM_BYTES,
                    DVT_ARGUMENTS(v.a, v.a_row, v.a_col, b, step, line, order, lines, unit, alpha));
}

/* All of those on the diagonal of `order` rows. */
static davit_status multiply_lines(const triangle *t, int64_t first, int64_t order) {
  const dvt_level3 *g = &t->call;
  const view v = view_of(t, first, order);
  int64_t b_step, c_step;
  const double *b = rows_of(t, g->b, g->ldb, first, order, v.upper, &b_step);
  double *c = rows_of(t, g->c, g->ldc, first, order, v.upper, &c_step);
  const int64_t b_line = t->right ? 1 : g->ldb, c_line = t->right ? 1 : g->ldc, unit = g->diag == 'U',
                lines = t->lines, teams = dvt_divide_up(order, ORDER) * dvt_divide_up(lines, LINES);
  const double alpha = __real__ g->alpha, beta = __real__ g->beta;
  static dvt_kernel kernel = DVT_KERNEL(double_product_region);
  return dvt_launch(&kernel, t->site->stream, teams, TEAM, TEAM_BYTES,
                    DVT_ARGUMENTS(v.a, v.a_row, v.a_col, b, b_step, b_line, c, c_step, c_line, order, lines,
                                  unit, alpha, beta));
}

/* ---- trsm, and trmm in place ---- */

/* Rows (columns) of C from `first` on, of which the half that depends on itself alone is `source`. */
static davit_status descend(const triangle *t, int64_t first, int64_t order, double factor) {
  const bool solves = t->call.routine == DVT_TRSM;
  if (order <= ORDER)
    return solves ? solve_lines(t, first, order, factor) : multiply_lines(t, first, order);
  int64_t half = ORDER;
  while (2 * half < order)
    half *= 2;
  const bool down = t->lower != t->right;
  const int64_t middle = first + half, rest = order - half, source = down ? first : middle,
                known = down ? half : rest, target = down ? middle : first, open = down ? rest : half;
  if (solves) {
    DVT_TRY(descend(t, source, known, factor));
    DVT_TRY(multiply(t, source, known, target, open, factor, 1, 0));
    return descend(t, target, open, 1);
  }
  DVT_TRY(descend(t, target, open, 1));
  DVT_TRY(multiply(t, source, known, target, open, 1, 1, 0));
  return descend(t, source, known, 1);
}

davit_status dvt_solve(const dvt_site *site, const dvt_level3 *trsm, dvt_products products) {
  const triangle t = triangle_of(site, trsm, products);
  return descend(&t, 0, t.order, __real__ trsm->alpha);
}

/* ---- trmm ---- */

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
  if (trmm->b == trmm->c)
    return descend(&t, 0, t.order, 1);
  DVT_TRY(multiply_lines(&t, 0, t.order));
  for (int64_t half = ORDER; half < t.order; half *= 2)
    DVT_TRY(multiply_pairs(&t, half));
  return DAVIT_SUCCESS;
}
