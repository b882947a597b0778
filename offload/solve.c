/* SPDX-License-Identifier: Apache-2.0 */
/* op(A) X = alpha B or X op(A) = alpha B by halves: the half of X that depends on itself alone, a product that
 * subtracts what it contributes from the rest of B, the other half. Products are cuBLAS's. Triangles of ORDER
 * rows are solved by substitution, in team memory (solve_kernel.inc).
 *
 * cuBLAS 13's own trsm reaches 10 TFLOP/s for doubles with 2048 rows and 8192 right-hand sides on an H100, whose
 * gemm reaches 60. It is called for what has not been compared with it: other types, few rows, few right-hand
 * sides. */
#include "offload/solve.h"

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
  LINES_MINIMUM = 2048
};
_Static_assert(LINES == 32 && BLOCK == 32 && ORDER % BLOCK == 0 && SHARE % (16 / sizeof(double)) == 0,
               "lanes are rows and right-hand sides, and a warp loads 16 bytes of a block at a time");

#define T double
#define NAME(x) double_##x
#include "offload/solve_kernel.inc"
#undef T
#undef NAME

bool dvt_solve_takes(const dvt_level3 *g) {
  const bool left = g->side == 'L';
  return g->type == DAVIT_DOUBLE && (left ? g->m : g->n) >= ORDER_MINIMUM &&
         (left ? g->n : g->m) >= LINES_MINIMUM;
}

typedef struct triangle {
  const dvt_site *site;
  dvt_level3 call;
  bool right;    /* X op(A) */
  bool lower;    /* op(A) */
  int64_t lines; /* right-hand sides */
  dvt_form multiply;
} triangle;

/* Elements from the first of A to (i, l) of op(A), from the first of B to row (column) i. */
static int64_t at_a(const triangle *t, int64_t i, int64_t l) {
  return t->call.transa == 'N' ? i + l * t->call.lda : l + i * t->call.lda;
}

static int64_t at_b(const triangle *t, int64_t i) {
  return t->right ? i * t->call.ldc : i;
}

/* X op(A) = B is op(A)ᵀ Xᵀ = Bᵀ; an upper triangle is a lower one from its last row up. */
static davit_status substitute(const triangle *t, int64_t first, int64_t order, double alpha) {
  const dvt_level3 *g = &t->call;
  const bool plain = (g->transa == 'N') != t->right, lower = t->lower != t->right;
  int64_t row = plain ? 1 : g->lda, col = plain ? g->lda : 1, step = t->right ? g->ldc : 1;
  const int64_t line = t->right ? 1 : g->ldc, unit = g->diag == 'U', lines = t->lines;
  const double *a = (const double *)g->a + at_a(t, first, first);
  double *b = (double *)g->c + at_b(t, first);
  if (!lower) {
    a += (order - 1) * (row + col);
    b += (order - 1) * step;
    row = -row;
    col = -col;
    step = -step;
  }
  DVT_RUN(t->site, double_solve_region, dvt_divide_up(lines, LINES), TEAM, a, row, col, b, step, line, order,
          lines, unit, alpha);
  return DAVIT_SUCCESS;
}

/* B (to) = alpha B (to) less the product of X (from) with the block of op(A) between them. */
static davit_status subtract_product(const triangle *t, int64_t from, int64_t known, int64_t to, int64_t rest,
                                     double alpha) {
  const dvt_level3 *g = &t->call;
  const double *block = (const double *)g->a + (t->right ? at_a(t, from, to) : at_a(t, to, from));
  double *b = g->c, *x = b + at_b(t, from);
  dvt_level3 product = {.routine = DVT_GEMM,
                        .type = g->type,
                        .transa = 'N',
                        .transb = 'N',
                        .k = known,
                        .alpha = -1,
                        .beta = alpha,
                        .c = b + at_b(t, to),
                        .ldc = g->ldc};
  if (t->right) {
    product.transb = g->transa;
    product.m = t->lines;
    product.n = rest;
    product.a = x;
    product.lda = g->ldc;
    product.b = block;
    product.ldb = g->lda;
  } else {
    product.transa = g->transa;
    product.m = rest;
    product.n = t->lines;
    product.a = block;
    product.lda = g->lda;
    product.b = x;
    product.ldb = g->ldc;
  }
  return t->multiply(t->site, &product);
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
    DVT_TRY(subtract_product(t, first, half, middle, rest, alpha));
    return solve(t, middle, rest, 1);
  }
  DVT_TRY(solve(t, middle, rest, alpha));
  DVT_TRY(subtract_product(t, middle, rest, first, half, alpha));
  return solve(t, first, half, 1);
}

davit_status dvt_solve(const dvt_site *site, const dvt_level3 *trsm, dvt_form multiply) {
  triangle t = {.site = site, .call = *trsm, .right = trsm->side == 'R', .multiply = multiply};
  t.call.transa = trsm->transa == 'N' ? 'N' : 'T';
  t.lower = (trsm->uplo == 'L') == (t.call.transa == 'N');
  t.lines = t.right ? trsm->m : trsm->n;
  return solve(&t, 0, t.right ? trsm->n : trsm->m, __real__ trsm->alpha);
}
