/* SPDX-License-Identifier: Apache-2.0 */
/* P L U with partial pivoting. The pivots of a block are known when the host has read them: then its exchanges, as a list
 * of rows, go to the devices with the panel. Blocks before it are stored as they were factored; their rows are exchanged
 * at the end, where the matrix lies. */
#include <string.h>

#include "src/factor/factor.h"
#include "src/factor/rows.h"
#include "src/level3/arguments.h"
#include "src/runtime/memory.h"
#include "src/runtime/place.h"

/* The lists of panel k, in pinned memory: `to`, then `from`; and beside the panel, behind its pivots. */
static int *rows_of(const dvt_factoring *f, int64_t k) {
  return f->rows + 4 * dvt_block_start(&f->a, k);
}

static size_t extra(const dvt_factoring *f, int64_t k) {
  return 5 * (size_t)dvt_block_width(&f->a, k) * sizeof(int);
}

static int *device_rows(const dvt_factoring *f, int64_t k, const dvt_panel *p) {
  return (int *)(void *)p->extra + dvt_block_width(&f->a, k);
}

static davit_status factor(dvt_factoring *f, int64_t k) {
  const int w = dvt_owner(f, k);
  const int64_t start = dvt_block_start(&f->a, k), rank = dvt_panel_rank(f, k);
  int *pivots = (int *)(void *)dvt_extra_of(f, k);
  const dvt_getrf panel = {.type = f->call->type,
                           .m = dvt_blocks_length(&f->a) - start,
                           .n = dvt_block_width(&f->a, k),
                           .a = f->a.at[k] + (size_t)start * f->element,
                           .lda = dvt_block_ld(&f->a, k),
                           .ipiv = pivots,
                           .info = &f->info[k]};
  const dvt_fetch found = {rank, pivots, f->pivots + start};
  dvt_follows all = {.count = 0};
  dvt_follow(&all, f->a.last[k]);
  DVT_TRY(dvt_factor_compute(f, w, DVT_NEXT, &all, &dvt_getrf_operation, &panel,
                             (double)panel.m * (double)rank * (double)rank, NULL));
  all.count = 0;
  DVT_TRY(dvt_factor_compute(f, w, DVT_NEXT, &all, &dvt_fetch_operation, &found, 0, &f->factored[k]));
  f->a.last[k] = f->factored[k];
  return DAVIT_SUCCESS;
}

static davit_status settle(dvt_factoring *f, int64_t k) {
  const int64_t start = dvt_block_start(&f->a, k), rank = dvt_panel_rank(f, k);
  int *to = rows_of(f, k), *from = to + 2 * rank;
  DVT_TRY(dvt_graph_await(&f->graph, f->factored[k]));
  if (f->info[k] && !f->failed)
    f->failed = (int)start + f->info[k];
  const int64_t count = dvt_pivots_to_rows(f->pivots + start, 0, 0, rank, dvt_blocks_length(&f->a) - start,
                                           f->scratch, to, from);
  memmove(to + count, from, (size_t)count * sizeof *to);
  f->row_count[k] = count;
  for (int64_t j = start; j < start + rank; j++)
    f->call->ipiv[j] = f->pivots[j] + (int)start;
  return DAVIT_SUCCESS;
}

static davit_status bring(dvt_factoring *f, int64_t k, int w) {
  dvt_panel *p = &f->worker[w].panel;
  const dvt_fetch rows = {2 * f->row_count[k], rows_of(f, k), device_rows(f, k, p)};
  dvt_follows all = {.count = 0};
  if (rows.count == 0)
    return DAVIT_SUCCESS;
  dvt_follow(&all, p->ready);
  return dvt_factor_compute(f, w, DVT_NEXT, &all, &dvt_fetch_operation, &rows, 0, &p->ready);
}

/* Rows of block `to`, as panel k exchanges them; `back` undoes it. */
static davit_status exchange(dvt_factoring *f, int64_t k, const dvt_blocks *blocks, int64_t to, int role,
                             bool back, dvt_follows *all, int32_t *number) {
  const int w = dvt_owner(f, to);
  const int64_t count = f->row_count[k];
  const int *rows = device_rows(f, k, &f->worker[w].panel);
  const dvt_permute permute = {.type = f->call->type,
                               .n = dvt_block_width(blocks, to),
                               .a = blocks->at[to] + (size_t)dvt_block_start(&f->a, k) * f->element,
                               .lda = dvt_block_ld(blocks, to),
                               .count = count,
                               .to = back ? rows + count : rows,
                               .from = back ? rows : rows + count};
  return count > 0 ? dvt_factor_compute(f, w, role, all, &dvt_permute_operation, &permute, 1e9, number)
                   : DAVIT_SUCCESS;
}

static davit_status update(dvt_factoring *f, int64_t k, dvt_blocks *blocks, int64_t to, int role) {
  const int w = dvt_owner(f, to);
  const dvt_panel *p = &f->worker[w].panel;
  const int64_t start = dvt_block_start(&f->a, k), rank = dvt_panel_rank(f, k),
                rest = dvt_blocks_length(blocks) - start - rank, n = dvt_block_width(blocks, to),
                ld = dvt_block_ld(blocks, to);
  char *square = p->pointer + (size_t)(start - p->origin) * f->element,
       *beside = blocks->at[to] + (size_t)start * f->element;
  const size_t down = (size_t)rank * f->element;
  dvt_follows all = {.count = 0};
  dvt_follow(&all, p->ready);
  dvt_follow(&all, blocks->last[to]);
  DVT_TRY(exchange(f, k, blocks, to, role, false, &all, NULL));
  const dvt_level3 solve = {.routine = DVT_TRSM,
                            .type = f->call->type,
                            .side = 'L',
                            .uplo = 'L',
                            .transa = 'N',
                            .diag = 'U',
                            .m = rank,
                            .n = n,
                            .k = rank,
                            .alpha = 1,
                            .a = square,
                            .lda = p->ld,
                            .c = beside,
                            .ldc = ld};
  const dvt_level3 subtract = {.routine = DVT_GEMM,
                               .type = f->call->type,
                               .transa = 'N',
                               .transb = 'N',
                               .m = rest,
                               .n = n,
                               .k = rank,
                               .alpha = -1,
                               .a = square + down,
                               .lda = p->ld,
                               .b = beside,
                               .ldb = ld,
                               .beta = 1,
                               .c = beside + down,
                               .ldc = ld};
  DVT_TRY(dvt_factor_level3(f, w, role, &all, &solve, rest > 0 ? NULL : &blocks->last[to]));
  if (rest > 0)
    DVT_TRY(dvt_factor_level3(f, w, role, &all, &subtract, &blocks->last[to]));
  dvt_factor_reads(f, k, w, role, blocks->last[to]);
  return DAVIT_SUCCESS;
}

/* ---- systems ---- */

static davit_status substitute(dvt_factoring *f, int64_t k, dvt_blocks *blocks, int64_t to, int role,
                               const dvt_triangle *triangle) {
  const int w = dvt_owner(f, to);
  const dvt_panel *p = &f->worker[w].panel;
  const char *square = p->pointer + (size_t)(dvt_block_start(&f->a, k) - p->origin) * f->element;
  dvt_follows all = {.count = 0};
  dvt_follow(&all, p->ready);
  dvt_follow(&all, blocks->last[to]);
  DVT_TRY(dvt_substitute(f, k, to, role, triangle, square, p->ld, &all, &blocks->last[to]));
  dvt_factor_reads(f, k, w, role, blocks->last[to]);
  return DAVIT_SUCCESS;
}

static davit_status with_upper(dvt_factoring *f, int64_t k, dvt_blocks *blocks, int64_t to, int role) {
  const dvt_triangle upper = {.uplo = 'U', .trans = 'N', .beside = 'N', .diag = 'N', .above = true};
  return substitute(f, k, blocks, to, role, &upper);
}

static davit_status with_adjoint_upper(dvt_factoring *f, int64_t k, dvt_blocks *blocks, int64_t to,
                                       int role) {
  const char trans = f->call->trans;
  const dvt_triangle upper = {
      .uplo = 'U', .trans = trans, .beside = trans, .diag = 'N', .above = true, .pull = true};
  return substitute(f, k, blocks, to, role, &upper);
}

static davit_status with_adjoint_lower(dvt_factoring *f, int64_t k, dvt_blocks *blocks, int64_t to,
                                       int role) {
  const char trans = f->call->trans;
  const dvt_triangle lower = {.uplo = 'L', .trans = trans, .beside = trans, .diag = 'U', .pull = true};
  dvt_follows all = {.count = 0};
  DVT_TRY(substitute(f, k, blocks, to, role, &lower));
  if (f->row_count[k] == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(exchange(f, k, blocks, to, role, true, &all, &blocks->last[to]));
  dvt_factor_reads(f, k, dvt_owner(f, to), role, blocks->last[to]);
  return DAVIT_SUCCESS;
}

static davit_status solve(dvt_factoring *f) {
  if (f->call->trans == 'N') {
    DVT_TRY(dvt_factor_sweep(f, false, update));
    return dvt_factor_sweep(f, true, with_upper);
  }
  DVT_TRY(dvt_factor_sweep(f, false, with_adjoint_upper));
  return dvt_factor_sweep(f, true, with_adjoint_lower);
}

/* ---- the end ---- */

/* The rows of the blocks before the last one, as all panels behind them exchange them: when no slab needs them any more. */
static davit_status finish(dvt_factoring *f) {
  dvt_follows all = dvt_factor_everything(f);
  const int64_t length = dvt_blocks_length(&f->a);
  const int at = dvt_place_is_host(f->a.matrix.place) ? DAVIT_PAGEABLE : DAVIT_PINNED;
  for (int64_t k = 0; k + 1 < f->panels; k++) {
    const int64_t first = dvt_block_start(&f->a, k + 1),
                  end = dvt_block_start(&f->a, f->panels - 1) + dvt_panel_rank(f, f->panels - 1);
    void *rows;
    DVT_TRY(dvt_malloc(4 * (size_t)(end - first) * sizeof(int), at, &rows));
    f->finishing[k] = rows;
    int *to = rows, *from = to + 2 * (end - first);
    const int64_t count =
        dvt_pivots_to_rows(f->call->ipiv + first, first, 0, end - first, length, f->scratch, to, from);
    const dvt_permute permute = {.type = f->call->type,
                                 .n = dvt_block_width(&f->a, k),
                                 .a = (char *)f->a.matrix.a +
                                      (size_t)(dvt_block_start(&f->a, k) * f->a.matrix.ld) * f->element,
                                 .lda = f->a.matrix.ld,
                                 .count = count,
                                 .to = to,
                                 .from = from};
    int32_t number;
    DVT_TRY(dvt_factor_compute(f, f->workers, 0, &all, &dvt_permute_operation, &permute, 1e12, &number));
    all.count = 0;
  }
  return DAVIT_SUCCESS;
}

const dvt_factor_rule dvt_lu_rule = {.name = "getrf",
                                     .extra = extra,
                                     .factor = factor,
                                     .settle = settle,
                                     .bring = bring,
                                     .update = update,
                                     .solve = solve,
                                     .finish = finish};
