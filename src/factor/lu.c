/* SPDX-License-Identifier: Apache-2.0 */
/* P L U with partial pivoting. The pivots of a block are known when the host has read them: then its exchanges, as a
 * list of rows, go to the devices with the panel. Where all blocks stay on the devices, rows of the blocks before it
 * are exchanged there at once, so that those beside its square are final; else at the end, where the matrix lies. */
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
  int *pivots = (int *)(void *)f->a.beside[k];
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
  p->exchanged = f->row_count[k];
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

static davit_status update(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  const int w = g->w;
  const dvt_panel *p = &f->worker[w].panel;
  const int64_t start = dvt_block_start(&f->a, k), rank = dvt_panel_rank(f, k),
                rest = dvt_blocks_length(&f->a) - start - rank, n = g->width,
                ld = dvt_block_ld(g->blocks, g->first);
  char *square = p->pointer + (size_t)(start - p->origin) * f->element,
       *beside = g->blocks->at[g->first] + (size_t)start * f->element;
  const size_t down = (size_t)rank * f->element;
  int32_t updated;
  dvt_follows all = {.count = 0};
  dvt_follow(&all, p->ready);
  dvt_follow_group(f, &all, g);
  const dvt_permute permute = order_of(f, beside, n, ld, device_rows(f, k, p), p->exchanged);
  if (permute.count > 0)
    DVT_TRY(dvt_factor_compute(f, w, role, &all, &dvt_permute_operation, &permute, 1e9, NULL));
  const dvt_level3 solve = dvt_solve_left(f->call->type, 'L', 'N', 'U', rank, n, square, p->ld, beside, ld);
  const dvt_level3 subtract = dvt_subtract_product(f->call->type, 'N', 'N', rest, n, rank, square + down,
                                                   p->ld, beside, ld, beside + down, ld);
  DVT_TRY(dvt_factor_level3(f, w, role, &all, &solve, rest > 0 ? NULL : &updated));
  if (rest > 0)
    DVT_TRY(dvt_factor_level3(f, w, role, &all, &subtract, &updated));
  dvt_group_written(f, g, updated);
  dvt_factor_reads(f, k, w, role, updated);
  return DAVIT_SUCCESS;
}

/* ---- exchanges of several panels, or behind one ---- */

/* Rows of pivots `first` to `end` as a list, of which there are at most `most`. */
static int64_t list_rows(dvt_factoring *f, int64_t first, int64_t end, int64_t most, int *list) {
  int *from = list + most;
  const int64_t count = dvt_pivots_to_rows(f->call->ipiv + first, first, 0, end - first,
                                           dvt_blocks_length(&f->a), f->scratch, list, from);
  memmove(list + count, from, (size_t)count * sizeof *list);
  return count;
}

/* Where a device has one of these lists: one lane uses it at a time. */
static int *listed(const dvt_factoring *f, int w) {
  return (int *)(void *)dvt_beside_blocks(f, w);
}

static size_t whole_bytes(const dvt_factoring *f) {
  return 2 * (size_t)dvt_blocks_length(&f->a) * sizeof(int);
}

/* Rows from `start` on; other devices have copied what they need of it as it was. */
static davit_status exchange_on_device(dvt_factoring *f, const dvt_group *g, int64_t start, const int *rows,
                                       int64_t count) {
  int *there = listed(f, g->w);
  const dvt_fetch fetch = {2 * count, rows, there};
  const dvt_permute permute = order_of(f, g->blocks->at[g->first] + (size_t)start * f->element, g->width,
                                       dvt_block_ld(g->blocks, g->first), there, count);
  int32_t exchanged;
  dvt_follows all = {.count = 0};
  if (count == 0)
    return DAVIT_SUCCESS;
  dvt_follow_group(f, &all, g);
  for (int w = 0; w < f->workers; w++)
    if (w != g->w)
      dvt_follow(&all, f->worker[w].newest[DVT_PEER]);
  DVT_TRY(dvt_factor_compute(f, g->w, DVT_UPDATE, &all, &dvt_fetch_operation, &fetch, 0, NULL));
  DVT_TRY(dvt_factor_compute(f, g->w, DVT_UPDATE, &all, &dvt_permute_operation, &permute, 1e12, &exchanged));
  dvt_group_written(f, g, exchanged);
  return DAVIT_SUCCESS;
}

static davit_status exchange(dvt_factoring *f, int64_t from, int64_t k, const dvt_group *g) {
  const int64_t start = dvt_block_start(&f->a, k);
  if (from == k)
    return exchange_on_device(f, g, start, rows_of(f, k), f->row_count[k]);
  int *list = f->lists;
  const int64_t most = dvt_first_rows(f, k);
  f->lists += 2 * most;
  return exchange_on_device(f, g, 0, list, list_rows(f, 0, start + dvt_panel_rank(f, k), most, list));
}

/* ---- systems ---- */

static davit_status with_lower(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  static const dvt_triangle lower = {.uplo = 'L', .trans = 'N', .diag = 'U'};
  return dvt_substitute_in_panel(f, k, g, role, &lower);
}

/* The rows of L are those of the end. */
static davit_status solve(dvt_factoring *f) {
  const int64_t most = dvt_first_rows(f, f->panels - 1),
                count = list_rows(f, 0, dvt_blocks_end(&f->a), most, f->lists);
  for (int64_t to = 0; to < f->b.count; to++) {
    const dvt_group g = dvt_group_of(f, &f->b, dvt_owner(f, to), to, to + 1);
    DVT_TRY(exchange_on_device(f, &g, 0, f->lists, count));
  }
  DVT_TRY(dvt_factor_sweep(f, false, with_lower));
  return dvt_factor_sweep(f, true, dvt_substitute_upper);
}

/* ---- the end ---- */

static davit_status exchange_at_home(dvt_factoring *f, int64_t k, const int *rows, int64_t count,
                                     dvt_follows *all) {
  char *a = (char *)f->a.matrix.a + (size_t)(dvt_block_start(&f->a, k) * f->a.matrix.ld) * f->element;
  const dvt_permute permute = order_of(f, a, dvt_block_width(&f->a, k), f->a.matrix.ld, rows, count);
  return count > 0 ? dvt_factor_compute(f, f->workers, 0, all, &dvt_permute_operation, &permute, 1e12,
                                        &f->a.stored[k])
                   : DAVIT_SUCCESS;
}

/* When no slab needs the blocks any more as they were. */
static davit_status finish(dvt_factoring *f) {
  const dvt_follows everything = dvt_factor_everything(f);
  const int64_t last = f->panels - 1, end = dvt_block_start(&f->a, last) + dvt_panel_rank(f, last);
  int *list = f->lists;
  for (int64_t k = 0; k < last && !f->whole; k++) {
    const int64_t most = dvt_last_rows(f, k);
    dvt_follows all = everything;
    DVT_TRY(exchange_at_home(f, k, list, list_rows(f, dvt_block_start(&f->a, k + 1), end, most, list), &all));
    list += 2 * most;
  }
  return DAVIT_SUCCESS;
}

const dvt_factor_rule dvt_lu_rule = {.name = "getrf",
                                     .longest = 1024,
                                     .count = 16,
                                     .flops_each = 4e11,
                                     .flops_at_home = 5e11,
                                     .urgent = true,
                                     .merges = true,
                                     .arrivals = 3,
                                     .waits = true,
                                     .extra = extra,
                                     .whole_bytes = whole_bytes,
                                     .factor = factor,
                                     .settle = settle,
                                     .bring = bring,
                                     .update = update,
                                     .exchange = exchange,
                                     .solve = solve,
                                     .finish = finish};
