/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation: A = L L' by blocks of columns, or U' U by blocks of rows. */
#include "src/factor/factor.h"
#include "src/factor/rows.h"
#include "src/level3/arguments.h"

static int64_t start_of(const dvt_factoring *f, int64_t k) {
  return dvt_block_start(&f->a, k);
}

static davit_status factor(dvt_factoring *f, int64_t k) {
  const int w = dvt_owner(f, k);
  const char uplo = f->call->uplo;
  const davit_type type = f->call->type;
  const int64_t n = dvt_block_width(&f->a, k), rest = dvt_block_length(&f->a, k) - n,
                ld = dvt_block_ld(&f->a, k);
  const dvt_potrf diagonal = {type, uplo, n, f->a.at[k], ld, &f->info[k], false};
  dvt_follows all = {.count = 0};
  dvt_follow(&all, f->a.last[k]);
  DVT_TRY(dvt_factor_compute(f, w, DVT_NEXT, &all, &dvt_potrf_operation, &diagonal,
                             (double)n * (double)n * (double)n / 3, &f->factored[k]));
  f->a.last[k] = f->factored[k];
  if (rest == 0)
    return DAVIT_SUCCESS;
  const dvt_level3 solve =
      dvt_potrf_solve(type, uplo, n, rest, f->a.at[k], ld, dvt_behind(f, &f->a, f->a.at[k], ld, n), ld);
  return dvt_factor_level3(f, w, DVT_NEXT, &all, &solve, &f->a.last[k]);
}

static davit_status settle(dvt_factoring *f, int64_t k) {
  DVT_TRY(dvt_graph_await(&f->graph, f->factored[k]));
  f->failed = f->info[k] ? (int)start_of(f, k) + f->info[k] : 0;
  return DAVIT_SUCCESS;
}

/* The only block of a group minus the product of the parts of panel k that lie beside its rows and columns. */
static davit_status update(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  const int w = g->w;
  const dvt_blocks *blocks = g->blocks;
  const int64_t to = g->first;
  const dvt_panel *p = &f->worker[w].panel;
  const davit_type type = f->call->type;
  const char uplo = f->call->uplo;
  const int64_t n = dvt_block_width(blocks, to), rest = dvt_block_length(blocks, to) - n,
                ld = dvt_block_ld(blocks, to), width = dvt_block_width(&f->a, k);
  char *beside = dvt_behind(f, blocks, p->pointer, p->ld, start_of(f, to) - p->origin),
       *below = dvt_behind(f, blocks, beside, p->ld, n);
  const dvt_level3 diagonal = dvt_potrf_update(type, uplo, n, width, beside, p->ld, blocks->at[to], ld);
  dvt_follows all = {.count = 0};
  dvt_follow(&all, p->ready);
  dvt_follow(&all, blocks->last[to]);
  DVT_TRY(dvt_factor_level3(f, w, role, &all, &diagonal, rest > 0 ? NULL : &blocks->last[to]));
  if (rest > 0) {
    const bool lower = uplo == 'L';
    char *target = dvt_behind(f, blocks, blocks->at[to], ld, n);
    const dvt_level3 others = lower ? dvt_subtract_product(type, 'N', f->adjoint, rest, n, width, below,
                                                           p->ld, beside, p->ld, target, ld)
                                    : dvt_subtract_product(type, f->adjoint, 'N', n, rest, width, beside,
                                                           p->ld, below, p->ld, target, ld);
    DVT_TRY(dvt_factor_level3(f, w, role, &all, &others, &blocks->last[to]));
  }
  dvt_factor_reads(f, k, w, role, blocks->last[to]);
  return DAVIT_SUCCESS;
}

static davit_status substitute(dvt_factoring *f, int64_t k, const dvt_group *g, int role, bool back) {
  const dvt_panel *p = &f->worker[g->w].panel;
  const char uplo = f->call->uplo;
  const dvt_triangle triangle = {
      .uplo = uplo, .trans = (uplo == 'L') == back ? f->adjoint : 'N', .diag = 'N', .pull = back};
  return dvt_substitute(f, k, g, role, &triangle, p->pointer, p->ld);
}

static davit_status forward(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  return substitute(f, k, g, role, false);
}

static davit_status backward(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  return substitute(f, k, g, role, true);
}

static davit_status solve(dvt_factoring *f) {
  DVT_TRY(dvt_factor_sweep(f, false, forward));
  return dvt_factor_sweep(f, true, backward);
}

const dvt_factor_rule dvt_cholesky_rule = {.name = "potrf",
                                           .longest = 2048,
                                           .count = 8,
                                           .flops_each = 3e10,
                                           .flops_at_home = 1e12,
                                           .triangle = true,
                                           .settles_behind = 1,
                                           .factor = factor,
                                           .settle = settle,
                                           .update = update,
                                           .solve = solve};
