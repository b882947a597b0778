/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation by blocks of columns. A = L L': a block is subtracted from those behind it. A = U' U: a block
 * gets the rows of a panel when what lies above them is there, and its square when all rows above are. */
#include "src/factor/factor.h"
#include "src/factor/rows.h"
#include "src/level3/arguments.h"

static int64_t start_of(const dvt_factoring *f, int64_t k) {
  return dvt_block_start(&f->a, k);
}

/* The square of block k, on the diagonal. */
static char *square_of(const dvt_factoring *f, int64_t k) {
  return f->a.at[k] + (size_t)(start_of(f, k) - dvt_block_top(&f->a, k)) * f->element;
}

static davit_status factor_square(dvt_factoring *f, int64_t k, dvt_follows *all) {
  const double n = (double)dvt_block_width(&f->a, k);
  const dvt_potrf square = {
      f->call->type, f->call->uplo, dvt_block_width(&f->a, k), square_of(f, k), dvt_block_ld(&f->a, k),
      &f->info[k],   false};
  DVT_TRY(dvt_factor_compute(f, dvt_owner(f, k), DVT_NEXT, all, &dvt_potrf_operation, &square, n * n * n / 3,
                             &f->factored[k]));
  f->a.last[k] = f->factored[k];
  return DAVIT_SUCCESS;
}

static davit_status settle(dvt_factoring *f, int64_t k) {
  DVT_TRY(dvt_graph_await(&f->graph, f->factored[k]));
  f->failed = f->info[k] ? (int)start_of(f, k) + f->info[k] : 0;
  return DAVIT_SUCCESS;
}

/* ---- L ---- */

static davit_status factor_lower(dvt_factoring *f, int64_t k) {
  const int64_t n = dvt_block_width(&f->a, k), rest = dvt_block_length(&f->a, k) - n,
                ld = dvt_block_ld(&f->a, k);
  char *square = f->a.at[k];
  dvt_follows all = {.count = 0};
  dvt_follow(&all, f->a.last[k]);
  DVT_TRY(factor_square(f, k, &all));
  if (rest == 0)
    return DAVIT_SUCCESS;
  const dvt_level3 solve =
      dvt_potrf_solve(f->call->type, 'L', n, rest, square, ld, square + (size_t)n * f->element, ld);
  return dvt_factor_level3(f, dvt_owner(f, k), DVT_NEXT, &all, &solve, &f->a.last[k]);
}

/* The only block of a group minus the product of the parts of panel k that lie beside its rows and columns. */
static davit_status update_lower(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  const int w = g->w;
  const dvt_blocks *blocks = g->blocks;
  const int64_t to = g->first;
  const dvt_panel *p = &f->worker[w].panel;
  const davit_type type = f->call->type;
  const int64_t n = dvt_block_width(blocks, to), rest = dvt_block_length(blocks, to) - n,
                ld = dvt_block_ld(blocks, to), width = dvt_block_width(&f->a, k);
  const size_t down = (size_t)n * f->element;
  char *beside = p->pointer + (size_t)(start_of(f, to) - p->origin) * f->element, *square = blocks->at[to];
  const dvt_level3 diagonal = dvt_potrf_update(type, 'L', n, width, beside, p->ld, square, ld),
                   others = dvt_subtract_product(type, 'N', f->adjoint, rest, n, width, beside + down, p->ld,
                                                 beside, p->ld, square + down, ld);
  dvt_follows all = {.count = 0};
  dvt_follow(&all, p->ready);
  dvt_follow(&all, blocks->last[to]);
  DVT_TRY(dvt_factor_level3(f, w, role, &all, &diagonal, rest > 0 ? NULL : &blocks->last[to]));
  if (rest > 0)
    DVT_TRY(dvt_factor_level3(f, w, role, &all, &others, &blocks->last[to]));
  dvt_factor_reads(f, k, w, role, blocks->last[to]);
  return DAVIT_SUCCESS;
}

static davit_status with_lower(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  static const dvt_triangle lower = {.uplo = 'L', .trans = 'N', .diag = 'N'};
  return dvt_substitute_in_panel(f, k, g, role, &lower);
}

static davit_status with_lower_adjoint(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  const dvt_triangle adjoint = {.uplo = 'L', .trans = f->adjoint, .diag = 'N', .pull = true};
  return dvt_substitute_in_panel(f, k, g, role, &adjoint);
}

static davit_status solve_lower(dvt_factoring *f) {
  DVT_TRY(dvt_factor_sweep(f, false, with_lower));
  return dvt_factor_sweep(f, true, with_lower_adjoint);
}

const dvt_factor_rule dvt_cholesky_lower_rule = {.name = "potrf",
                                                 .longest = 2048,
                                                 .count = 8,
                                                 .flops_each = 3e10,
                                                 .flops_at_home = 1e12,
                                                 .lower = true,
                                                 .ends = true,
                                                 .settles_behind = 1,
                                                 .factor = factor_lower,
                                                 .settle = settle,
                                                 .update = update_lower,
                                                 .solve = solve_lower};

/* ---- U ---- */

static davit_status factor_upper(dvt_factoring *f, int64_t k) {
  const int64_t start = start_of(f, k), ld = dvt_block_ld(&f->a, k);
  const dvt_level3 subtract = dvt_potrf_update(f->call->type, 'U', dvt_block_width(&f->a, k), start,
                                               f->a.at[k], ld, square_of(f, k), ld);
  dvt_follows all = {.count = 0};
  dvt_follow(&all, f->a.last[k]);
  if (start > 0)
    DVT_TRY(dvt_factor_level3(f, dvt_owner(f, k), DVT_NEXT, &all, &subtract, NULL));
  return factor_square(f, k, &all);
}

/* The rows of panel k of a group. */
static davit_status update_upper(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  const int w = g->w;
  const int64_t start = start_of(f, k), rows = dvt_block_width(&f->a, k), n = g->width,
                ld = dvt_block_ld(g->blocks, g->first);
  const dvt_panel *p = &f->worker[w].panel;
  const davit_type type = f->call->type;
  const size_t down = (size_t)start * f->element;
  char *above = g->blocks->at[g->first], *target = above + down;
  const dvt_level3 subtract = dvt_subtract_product(type, f->adjoint, 'N', rows, n, start, p->pointer, p->ld,
                                                   above, ld, target, ld),
                   solve = dvt_solve_left(type, 'U', f->adjoint, 'N', rows, n, p->pointer + down, p->ld,
                                          target, ld);
  int32_t updated;
  dvt_follows all = {.count = 0};
  dvt_follow(&all, p->ready);
  dvt_follow_group(f, &all, g);
  if (start > 0)
    DVT_TRY(dvt_factor_level3(f, w, role, &all, &subtract, NULL));
  DVT_TRY(dvt_factor_level3(f, w, role, &all, &solve, &updated));
  dvt_group_written(f, g, updated);
  dvt_factor_reads(f, k, w, role, updated);
  return DAVIT_SUCCESS;
}

static davit_status with_upper_adjoint(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  const dvt_triangle adjoint = {.uplo = 'U', .trans = f->adjoint, .diag = 'N', .above = true, .pull = true};
  return dvt_substitute_in_panel(f, k, g, role, &adjoint);
}

static davit_status solve_upper(dvt_factoring *f) {
  DVT_TRY(dvt_factor_sweep(f, false, with_upper_adjoint));
  return dvt_factor_sweep(f, true, dvt_substitute_upper);
}

const dvt_factor_rule dvt_cholesky_upper_rule = {.name = "potrf",
                                                 .longest = 2048,
                                                 .count = 8,
                                                 .flops_each = 1.5e11,
                                                 .flops_at_home = 1e12,
                                                 .upper = true,
                                                 .merges = true,
                                                 .arrivals = 2,
                                                 .ends = true,
                                                 .settles_behind = 1,
                                                 .factor = factor_upper,
                                                 .settle = settle,
                                                 .update = update_upper,
                                                 .solve = solve_upper};
