/* SPDX-License-Identifier: Apache-2.0 */
/* Q R by Householder's reflectors. Where all blocks stay on devices with streams, those of a tall panel come from
 * Cholesky's factorisation of its Gram matrix (ref/cholesky_qr.h), as long as the panel's columns are independent enough: the
 * host looks. Beside a panel are, with its rank r: T, r × r, of the compact form I - V T V' of
 * its reflectors; the top r × r of the panel as LAPACK has it, whose place V itself takes, with ones on the diagonal
 * and zeros above; and tau. */
#include "src/factor/factor.h"
#include "src/factor/rows.h"
#include "src/level3/arguments.h"
#include "src/runtime/place.h"

typedef struct beside {
  char *t, *top, *tau;
} beside;

static beside beside_of(const dvt_factoring *f, int64_t k, char *extra) {
  const size_t width = (size_t)dvt_block_width(&f->a, k), square = width * width * f->element;
  return (beside){extra, extra + square, extra + 2 * square};
}

static size_t extra(const dvt_factoring *f, int64_t k) {
  const size_t width = (size_t)dvt_block_width(&f->a, k);
  return (2 * width + 1) * width * f->element;
}

static dvt_reflect reflect_of(const dvt_factoring *f, int64_t k, char *from, int64_t ld, beside b) {
  return (dvt_reflect){.type = f->call->type,
                       .m = dvt_blocks_length(&f->a) - dvt_block_start(&f->a, k),
                       .k = dvt_panel_rank(f, k),
                       .a = from,
                       .lda = ld,
                       .tau = b.tau,
                       .top = b.top,
                       .t = b.t};
}

static davit_status compute_reflect(dvt_factoring *f, int64_t k, const dvt_reflect *r, dvt_follows *all,
                                    int32_t *number) {
  return dvt_factor_compute(f, dvt_owner(f, k), DVT_NEXT, all, &dvt_reflect_operation, r,
                            (double)r->m * (double)r->k * (double)r->k, number);
}

/* ---- tall panels ---- */

enum { TALL = 2, PASSES = 3 }; /* times the width, and at most */

/* Q, R and the Gram matrix of the panel that a device is at: the panel itself stays until they are right. */
static size_t whole_bytes(const dvt_factoring *f) {
  const size_t width = (size_t)f->a.width;
  return f->worker[0].streams ? ((size_t)dvt_blocks_length(&f->a) + 2 * width) * width * f->element : 0;
}

static bool is_tall(const dvt_factoring *f, int64_t k) {
  const int64_t width = dvt_block_width(&f->a, k),
                rows = dvt_blocks_length(&f->a) - dvt_block_start(&f->a, k);
  return f->whole && f->worker[dvt_owner(f, k)].streams && rows >= TALL * width;
}

static double tall_flops(const dvt_reflect *r) {
  return 2 * (double)r->m * (double)r->k * (double)r->k;
}

/* Q's columns, pass after pass. */
static davit_status orthonormalise(dvt_factoring *f, int64_t k, const dvt_reflect *r, char *q, char *small) {
  const int w = dvt_owner(f, k);
  const size_t square = (size_t)(r->k * r->k) * f->element;
  dvt_cholesky_qr c = {.type = r->type,
                       .m = r->m,
                       .n = r->k,
                       .a = r->a,
                       .lda = r->lda,
                       .q = q,
                       .r = small,
                       .gram = small + square,
                       .found = &f->info[k]};
  f->info[k] = DVT_NEARLY;
  for (int i = 0; i < PASSES && f->info[k] == DVT_NEARLY; i++, c.a = NULL) {
    dvt_follows all = {.count = 0};
    dvt_follow(&all, f->a.last[k]);
    DVT_TRY(dvt_factor_compute(f, w, DVT_NEXT, &all, &dvt_cholesky_qr_operation, &c,
                               (c.a ? 3 : 2) * tall_flops(r), &f->factored[k]));
    DVT_TRY(dvt_graph_await(&f->graph, f->factored[k]));
  }
  return DAVIT_SUCCESS;
}

/* Whether it could be: else the panel is as it was. */
static davit_status factor_tall(dvt_factoring *f, int64_t k, const dvt_reflect *r, bool *done) {
  const int w = dvt_owner(f, k);
  char *q = dvt_beside_blocks(f, w), *small = q + (size_t)(r->m * r->k) * f->element;
  dvt_follows all = {.count = 0};
  DVT_TRY(orthonormalise(f, k, r, q, small));
  *done = f->info[k] == DVT_ORTHONORMAL;
  if (!*done)
    return DAVIT_SUCCESS;
  const dvt_reconstruct reconstruct = {.type = r->type,
                                       .m = r->m,
                                       .n = r->k,
                                       .q = q,
                                       .r = small,
                                       .gram = small + (size_t)(r->k * r->k) * f->element,
                                       .a = r->a,
                                       .lda = r->lda,
                                       .tau = (void *)(uintptr_t)r->tau,
                                       .top = r->top,
                                       .t = r->t};
  dvt_follow(&all, f->factored[k]);
  return dvt_factor_compute(f, w, DVT_NEXT, &all, &dvt_reconstruct_operation, &reconstruct, tall_flops(r),
                            &f->a.last[k]);
}

static davit_status factor(dvt_factoring *f, int64_t k) {
  const int64_t start = dvt_block_start(&f->a, k);
  const beside b = beside_of(f, k, f->a.beside[k]);
  char *from = f->a.at[k] + (size_t)start * f->element;
  const dvt_geqrf panel = {.type = f->call->type,
                           .m = dvt_blocks_length(&f->a) - start,
                           .n = dvt_block_width(&f->a, k),
                           .a = from,
                           .lda = dvt_block_ld(&f->a, k),
                           .tau = b.tau};
  const dvt_reflect reflect = reflect_of(f, k, from, panel.lda, b);
  bool done = false;
  if (is_tall(f, k))
    DVT_TRY(factor_tall(f, k, &reflect, &done));
  if (done)
    return DAVIT_SUCCESS;
  dvt_follows all = {.count = 0};
  dvt_follow(&all, f->a.last[k]);
  DVT_TRY(dvt_factor_compute(f, dvt_owner(f, k), DVT_NEXT, &all, &dvt_geqrf_operation, &panel,
                             2 * (double)panel.m * (double)panel.n * (double)panel.n, NULL));
  return compute_reflect(f, k, &reflect, &all, &f->a.last[k]);
}

static char *tau_of(const dvt_factoring *f, int64_t k) {
  return (char *)f->call->tau + (size_t)dvt_block_start(&f->a, k) * f->element;
}

/* The top as LAPACK has it, over what the block had there; tau. */
static davit_status store(dvt_factoring *f, int64_t k, int role) {
  const int w = dvt_owner(f, k), place = dvt_place_for(f->worker[w].device);
  const int64_t start = dvt_block_start(&f->a, k);
  const size_t rank = (size_t)dvt_panel_rank(f, k), row = rank * f->element;
  const beside b = beside_of(f, k, f->a.beside[k]);
  const dvt_dense *a = &f->a.matrix;
  dvt_follows all = {.count = 0};
  const char *const diagonal = (const char *)a->a + (size_t)(start + start * a->ld) * f->element;
  const dvt_copy top = dvt_copy_columns(row, rank, (dvt_columns){b.top, row, place},
                                        (dvt_columns){diagonal, (size_t)a->ld * f->element, a->place});
  const dvt_copy tau = dvt_copy_bytes(row, b.tau, place, tau_of(f, k), f->call->tau_place);
  DVT_TRY(dvt_factor_copy(f, w, role, &all, &top, &f->a.stored[k]));
  return dvt_factor_copy(f, w, role, &all, &tau, &f->a.stored[k]);
}

/* A panel that comes from the matrix begins with the row of its diagonal. */
static davit_status prepare(dvt_factoring *f, int64_t k) {
  const int w = dvt_owner(f, k);
  dvt_panel *p = &f->worker[w].panel;
  const beside b = beside_of(f, k, p->extra);
  const dvt_reflect reflect = reflect_of(f, k, p->pointer, p->ld, b);
  const dvt_copy tau = dvt_copy_bytes((size_t)reflect.k * f->element, tau_of(f, k), f->call->tau_place, b.tau,
                                      dvt_place_for(f->worker[w].device));
  dvt_follows all = {.count = 0};
  DVT_TRY(dvt_factor_copy(f, w, DVT_LOAD, &all, &tau, &p->ready));
  dvt_follow(&all, p->ready);
  return compute_reflect(f, k, &reflect, &all, &p->ready);
}

static davit_status bring(dvt_factoring *f, int64_t k, int w) {
  const int owner = dvt_owner(f, k);
  dvt_panel *p = &f->worker[w].panel;
  if (w == owner)
    return DAVIT_SUCCESS;
  const dvt_copy all_beside =
      dvt_copy_bytes(extra(f, k), f->worker[owner].panel.extra, dvt_place_for(f->worker[owner].device),
                     p->extra, dvt_place_for(f->worker[w].device));
  dvt_follows all = {.count = 0};
  return dvt_factor_copy(f, w, DVT_PEER, &all, &all_beside, &p->ready);
}

/* Multiplied by the panel's part of Q, or its adjoint. */
static davit_status multiply(dvt_factoring *f, int64_t k, const dvt_group *g, int role, bool adjoint) {
  const int w = g->w;
  const dvt_panel *p = &f->worker[w].panel;
  const dvt_blocks *blocks = g->blocks;
  const int64_t start = dvt_block_start(&f->a, k), rest = dvt_blocks_length(&f->a) - start, width = g->width,
                ld = dvt_block_ld(blocks, g->first);
  const dvt_reflector reflector = {.type = f->call->type,
                                   .right = blocks->by_rows,
                                   .adjoint = adjoint,
                                   .m = blocks->by_rows ? width : rest,
                                   .n = blocks->by_rows ? rest : width,
                                   .k = dvt_panel_rank(f, k),
                                   .v = p->pointer + (size_t)(start - p->origin) * f->element,
                                   .ldv = p->ld,
                                   .t = beside_of(f, k, p->extra).t,
                                   .c = dvt_behind(f, blocks, blocks->at[g->first], ld, start),
                                   .ldc = ld};
  dvt_follows all = {.count = 0};
  int32_t updated;
  dvt_follow(&all, p->ready);
  dvt_follow_group(f, &all, g);
  DVT_TRY(dvt_factor_compute(f, w, role, &all, &dvt_reflector_operation, &reflector,
                             4 * (double)rest * (double)width * (double)reflector.k, &updated));
  dvt_group_written(f, g, updated);
  dvt_factor_reads(f, k, w, role, updated);
  return DAVIT_SUCCESS;
}

/* Factorisation and generation: by the adjoint, and by Q itself. */
static davit_status update(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  const dvt_factor_call *c = f->call;
  return multiply(f, k, g, role, c->work == DVT_FACTOR || (c->work == DVT_MULTIPLY && c->trans != 'N'));
}

/* ---- systems ---- */

static davit_status by_q(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  return multiply(f, k, g, role, false);
}

static davit_status with_r(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  const bool plain = f->call->trans == 'N';
  const dvt_triangle r = {
      .uplo = 'U', .trans = plain ? 'N' : f->adjoint, .diag = 'N', .above = true, .pull = !plain};
  return dvt_substitute(f, k, g, role, &r, beside_of(f, k, f->worker[g->w].panel.extra).top,
                        dvt_panel_rank(f, k));
}

/* Least squares: R X = Q' B. With the adjoint the shortest solution: X = Q R'^-1 B, whose rows behind those of B are 0
 * before. */
static davit_status solve(dvt_factoring *f) {
  if (f->call->trans == 'N') {
    DVT_TRY(dvt_factor_sweep(f, false, update));
    return dvt_factor_sweep(f, true, with_r);
  }
  DVT_TRY(dvt_factor_sweep(f, false, with_r));
  return dvt_factor_sweep(f, true, by_q);
}

const dvt_factor_rule dvt_qr_rule = {.name = "geqrf",
                                     .longest = 512,
                                     .count = 12,
                                     .flops_each = 7e10,
                                     .flops_at_home = 2e9,
                                     .urgent = true,
                                     .merges = true,
                                     .arrivals = 2,
                                     .extra = extra,
                                     .whole_bytes = whole_bytes,
                                     .factor = factor,
                                     .store = store,
                                     .prepare = prepare,
                                     .bring = bring,
                                     .update = update,
                                     .solve = solve};
