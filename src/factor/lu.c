/* SPDX-License-Identifier: Apache-2.0 */
/* P L U with partial pivoting. The pivots of a block are known when the host has read them: then its exchanges, as a list
 * of rows, go to the devices with the panel. The rows of the blocks before it are exchanged at the end, on the devices, or
 * where the matrix lies if it was done in slabs. */
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

/* Rows of `n` columns in the order that the lists say: `to` and, behind it, `from`. */
static dvt_permute order_of(const dvt_factoring *f, void *a, int64_t n, int64_t lda, const int *to,
                            int64_t count) {
  return (dvt_permute){f->call->type, n, a, lda, count, to, to + count};
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
  const dvt_permute permute = order_of(f, beside, n, ld, device_rows(f, k, p), f->row_count[k]);
  if (permute.count > 0)
    DVT_TRY(dvt_factor_compute(f, w, role, &all, &dvt_permute_operation, &permute, 1e9, NULL));
  const dvt_level3 solve = dvt_solve_left(f->call->type, 'L', 'N', 'U', rank, n, square, p->ld, beside, ld);
  const dvt_level3 subtract = dvt_subtract_product(f->call->type, 'N', 'N', rest, n, rank, square + down,
                                                   p->ld, beside, ld, beside + down, ld);
  DVT_TRY(dvt_factor_level3(f, w, role, &all, &solve, rest > 0 ? NULL : &blocks->last[to]));
  if (rest > 0)
    DVT_TRY(dvt_factor_level3(f, w, role, &all, &subtract, &blocks->last[to]));
  dvt_factor_reads(f, k, w, role, blocks->last[to]);
  return DAVIT_SUCCESS;
}

/* ---- systems ---- */

static davit_status with_upper(dvt_factoring *f, int64_t k, dvt_blocks *blocks, int64_t to, int role) {
  static const dvt_triangle upper = {.uplo = 'U', .trans = 'N', .diag = 'N', .above = true};
  const dvt_panel *p = &f->worker[dvt_owner(f, to)].panel;
  return dvt_substitute(f, k, blocks, to, role, &upper,
                        p->pointer + (size_t)(dvt_block_start(&f->a, k) - p->origin) * f->element, p->ld);
}

static davit_status solve(dvt_factoring *f) {
  DVT_TRY(dvt_factor_sweep(f, false, update));
  return dvt_factor_sweep(f, true, with_upper);
}

/* ---- the end ---- */

/* Rows below a panel are exchanged by those behind it. Where all blocks stay on the devices they are exchanged there, and
 * stored at the end. */
static int64_t settled(const dvt_factoring *f, int64_t k) {
  return f->whole && k + 1 < f->panels ? dvt_block_start(&f->a, k + 1) : dvt_blocks_length(&f->a);
}

/* The rows of block k as all panels behind it exchange them. */
static davit_status exchange_on_device(dvt_factoring *f, int64_t k, const int *rows, int64_t count,
                                       dvt_follows *all) {
  const int w = dvt_owner(f, k);
  int *there = (int *)(void *)(f->worker[w].memory + f->worker[w].block_bytes);
  const dvt_fetch fetch = {2 * count, rows, there};
  const dvt_permute permute =
      order_of(f, f->a.at[k], dvt_block_width(&f->a, k), dvt_block_ld(&f->a, k), there, count);
  if (count > 0) {
    DVT_TRY(dvt_factor_compute(f, w, DVT_UPDATE, all, &dvt_fetch_operation, &fetch, 0, NULL));
    DVT_TRY(dvt_factor_compute(f, w, DVT_UPDATE, all, &dvt_permute_operation, &permute, 1e12, &f->a.last[k]));
  }
  return dvt_factor_store(f, k, settled(f, k), dvt_blocks_length(&f->a), all);
}

static davit_status exchange_at_home(dvt_factoring *f, int64_t k, const int *rows, int64_t count,
                                     dvt_follows *all) {
  char *a = (char *)f->a.matrix.a + (size_t)(dvt_block_start(&f->a, k) * f->a.matrix.ld) * f->element;
  const dvt_permute permute = order_of(f, a, dvt_block_width(&f->a, k), f->a.matrix.ld, rows, count);
  return count > 0 ? dvt_factor_compute(f, f->workers, 0, all, &dvt_permute_operation, &permute, 1e12,
                                        &f->a.stored[k])
                   : DAVIT_SUCCESS;
}

/* Of one block after the other, on one lane of each device. */
static size_t end_bytes(const dvt_factoring *f) {
  return 2 * (size_t)dvt_blocks_length(&f->a) * sizeof(int);
}

/* When nothing needs the blocks any more as they were. */
static davit_status finish(dvt_factoring *f) {
  const dvt_follows everything = dvt_factor_everything(f);
  const int64_t length = dvt_blocks_length(&f->a), last = f->panels - 1,
                end = dvt_block_start(&f->a, last) + dvt_panel_rank(f, last);
  int *to = f->last_rows;
  for (int64_t k = 0; k < last; k++) {
    const int64_t first = dvt_block_start(&f->a, k + 1), pivots = end - first;
    dvt_follows all = everything;
    int *from = to + dvt_last_rows(f, k);
    const int64_t count =
        dvt_pivots_to_rows(f->call->ipiv + first, first, 0, pivots, length, f->scratch, to, from);
    memmove(to + count, from, (size_t)count * sizeof *to);
    DVT_TRY(f->whole ? exchange_on_device(f, k, to, count, &all) : exchange_at_home(f, k, to, count, &all));
    to += 2 * dvt_last_rows(f, k);
  }
  return DAVIT_SUCCESS;
}

const dvt_factor_rule dvt_lu_rule = {.name = "getrf",
                                     .longest = 1536,
                                     .extra = extra,
                                     .end_bytes = end_bytes,
                                     .factor = factor,
                                     .settle = settle,
                                     .settled = settled,
                                     .bring = bring,
                                     .update = update,
                                     .solve = solve,
                                     .finish = finish};
