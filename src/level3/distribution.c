/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes what: the borders of the devices' blocks, and the cuts of the dimensions between them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/level3/planning.h"

enum { ALIGN = 32, LONG_ALIGN = 512 };

/* Borders inside a dimension, ascending, without 0 and its length. */
typedef struct borders {
  int count;
  int64_t at[DVT_PLAN_DEVICES * DVT_PLAN_DEVICES];
} borders;

static void add_border(borders *b, int64_t length, int64_t at) {
  int i = b->count;
  if (at <= 0 || at >= length)
    return;
  while (i > 0 && b->at[i - 1] >= at)
    i--;
  if (i < b->count && b->at[i] == at)
    return;
  memmove(b->at + i + 1, b->at + i, (size_t)(b->count - i) * sizeof *b->at);
  b->at[i] = at;
  b->count++;
}

/* Where a fraction of a dimension ends: at a multiple of `align`, if there is more than one. */
static int64_t border_at(int64_t length, double fraction, int64_t align) {
  if (fraction >= 1)
    return length;
  const int64_t at = (int64_t)(fraction * (double)length + 0.5);
  return length > 2 * align ? (at + align / 2) / align * align : at;
}

int64_t dvt_longest_block(int64_t length, int parts) {
  int64_t longest = 0, begin = 0;
  for (int part = 1; part <= parts; part++) {
    const int64_t end = border_at(length, (double)part / parts, ALIGN);
    longest = dvt_at_least(longest, end - begin);
    begin = end;
  }
  return longest;
}

/* ---- cuts ---- */

static int64_t aligned_piece(int64_t piece, int64_t tile, int64_t align) {
  return dvt_at_most(tile, dvt_divide_up(piece, align) * align);
}

/* The length of pieces of at most `tile`, all alike but for the last, which gets the rest. Long ones are multiples of
 * LONG_ALIGN, unless the rest would be less than a quarter as long: products of tiles of 4096 × 2048 are 10 % faster
 * than of 4096 × 1920, as cuBLAS has another kernel for them. */
static int64_t even_piece(int64_t length, int64_t tile) {
  if (length <= tile)
    return length;
  const int64_t count = dvt_divide_up(length, tile), piece = dvt_divide_up(length, count);
  const int64_t longer = aligned_piece(piece, tile, LONG_ALIGN);
  const bool is_even = tile >= 2 * LONG_ALIGN && 4 * (length - (count - 1) * longer) >= longer;
  return is_even ? longer : aligned_piece(piece, tile, ALIGN);
}

/* The tiles of [begin, end), counted, and written where `cut` has memory. */
static void cut_block(dvt_cut *cut, int64_t begin, int64_t end, int64_t tile, int64_t lead, int64_t last) {
  const int64_t length = end - begin;
  lead = lead > 0 && lead < tile && length > 2 * lead ? lead : 0;
  last = last > 0 && last < tile && length - lead > 2 * last ? last : 0;
  const int64_t piece = even_piece(length - lead - last, tile);
  for (int64_t at = begin, next; at < end; at = next) {
    next = lead && at == begin ? at + lead : last && at == end - last ? end : at + piece;
    next = at < end - last && next > end - last ? end - last : next;
    if (cut->start)
      cut->start[cut->tiles] = at;
    cut->tiles++;
  }
}

static davit_status make_cut(dvt_cut *cut, int64_t length, const borders *b, int64_t tile, int64_t lead,
                             int64_t last) {
  for (int pass = 0; pass < 2; pass++) {
    int64_t begin = 0;
    cut->tiles = 0;
    for (int i = 0; i <= b->count; i++) {
      const int64_t end = i < b->count ? b->at[i] : length;
      cut_block(cut, begin, end, tile, lead, last);
      begin = end;
    }
    cut->tiles += length == 0; /* k = 0: one tile of length 0 */
    if (pass == 0) {
      cut->start = dvt_allocate((size_t)cut->tiles + 1, sizeof *cut->start);
      if (!cut->start)
        return DAVIT_OUT_OF_HOST_MEMORY;
    }
  }
  cut->start[cut->tiles] = length;
  return DAVIT_SUCCESS;
}

static int64_t tile_at(const dvt_cut *cut, int64_t position) {
  int64_t i = 0;
  while (i < cut->tiles && cut->start[i] < position)
    i++;
  return i;
}

/* ---- shares ---- */

/* A device's block in elements. */
typedef struct block {
  int64_t begin[DVT_DIMS], end[DVT_DIMS];
} block;

static double rate_of(const dvt_planning *p, int device) {
  const double rate = p->shape->device[device].rate;
  return rate > 0 ? rate : 1;
}

/* Sum of the rates of the devices with that row, column and part; -1: any. */
static double rate_sum(const dvt_planning *p, int row, int col, int part) {
  const int *grid = p->choice->grid;
  double sum = 0;
  for (int w = 0; w < p->plan->devices; w++)
    if ((row < 0 || w % grid[0] == row) && (col < 0 || w / grid[0] % grid[1] == col) &&
        (part < 0 || w / grid[0] / grid[1] == part))
      sum += rate_of(p, w);
  return sum;
}

static bool equal_rates(const dvt_planning *p) {
  for (int w = 1; w < p->plan->devices; w++)
    if (rate_of(p, w) != rate_of(p, 0))
      return false;
  return true;
}

/* Columns by the sum of their devices' rates, and in each column rows by the rates there. */
static void divide_grid(const dvt_planning *p, block blocks[DVT_PLAN_DEVICES]) {
  const dvt_plan_shape *shape = p->shape;
  const int *grid = p->choice->grid;
  const bool equal = equal_rates(p);
  const double all = rate_sum(p, -1, -1, -1);
  double before_part = 0;
  for (int part = 0; part < grid[2]; part++) {
    double before_col = 0;
    for (int col = 0; col < grid[1]; col++) {
      double before_row = 0;
      const double in_col = rate_sum(p, -1, col, -1);
      for (int row = 0; row < grid[0]; row++) {
        block *b = &blocks[row + grid[0] * (col + grid[1] * part)];
        const double before[] = {before_row / in_col, before_col / all, before_part / all};
        const double after[] = {(before_row + rate_sum(p, row, col, -1)) / in_col,
                                (before_col + in_col) / all, (before_part + rate_sum(p, -1, -1, part)) / all};
        const int at[] = {row, col, part};
        for (int x = 0; x < DVT_DIMS; x++) {
          const int64_t half = p->choice->tile[x] / 2;
          const int64_t align = equal || x == DVT_DIM_K || half < ALIGN ? ALIGN : half;
          b->begin[x] = border_at(shape->length[x], before[x], align);
          b->end[x] = at[x] + 1 == grid[x] ? shape->length[x] : border_at(shape->length[x], after[x], align);
        }
        before_row += rate_sum(p, row, col, -1);
      }
      before_col += in_col;
    }
    before_part += rate_sum(p, -1, -1, part);
  }
}

/* Columns of a triangle of n rows, in proportion to their area: the part left of x n is 1 - (1 - x)² of the
 * lower triangle and x² of the upper one. */
static void divide_triangle(const dvt_planning *p, block blocks[DVT_PLAN_DEVICES]) {
  const int64_t n = p->shape->length[DVT_DIM_N];
  const double all = rate_sum(p, -1, -1, -1);
  const bool lower = p->shape->uplo == 'L';
  double before = 0;
  int64_t begin = 0;
  for (int w = 0; w < p->plan->devices; w++) {
    block *b = &blocks[w];
    before += rate_of(p, w);
    const double share = before / all < 1 ? before / all : 1;
    int64_t end =
        w + 1 == p->plan->devices ? n : border_at(n, lower ? 1 - sqrt(1 - share) : sqrt(share), ALIGN);
    b->begin[DVT_DIM_N] = begin;
    b->end[DVT_DIM_N] = end;
    b->begin[DVT_DIM_M] = lower ? begin : 0;
    b->end[DVT_DIM_M] = lower ? n : end;
    b->begin[DVT_DIM_K] = 0;
    b->end[DVT_DIM_K] = p->shape->length[DVT_DIM_K];
    begin = end;
  }
}

bool dvt_is_output(const dvt_planning *p, int64_t i, int64_t j) {
  return p->distribution != DVT_DISTRIBUTE_TRIANGLE || (p->shape->uplo == 'L' ? i >= j : i <= j);
}

/* ---- all of it ---- */

/* Dimensions that share a cut share its borders. */
static davit_status make_cuts(dvt_planning *p, const block blocks[DVT_PLAN_DEVICES]) {
  const dvt_plan_choice *choice = p->choice;
  for (int x = 0; x < DVT_DIMS; x++) {
    borders b = {.count = 0};
    int sharing = 0;
    if (p->plan->layout.same[x] != x)
      continue;
    for (int y = x; y < DVT_DIMS; y++) {
      if (p->plan->layout.same[y] != x)
        continue;
      sharing++;
      for (int w = 0; w < p->plan->devices; w++)
        add_border(&b, p->shape->length[x], blocks[w].end[y]);
    }
    const bool alone = sharing == 1;
    DVT_TRY(make_cut(&p->plan->cut[x], p->shape->length[x], &b, choice->tile[x],
                     alone && x == DVT_DIM_K ? choice->lead : 0, alone && x == DVT_DIM_N ? choice->last : 0));
  }
  for (int x = 0; x < DVT_DIMS; x++)
    p->plan->cut[x] = p->plan->cut[p->plan->layout.same[x]];
  return DAVIT_SUCCESS;
}

davit_status dvt_distribute(dvt_planning *p) {
  dvt_plan *plan = p->plan;
  block blocks[DVT_PLAN_DEVICES];
  plan->layout = p->rule->layout(p->shape);
  p->distribution = p->rule->distribution(p->shape);
  p->blocks = p->choice->grid[0] * p->choice->grid[1];
  p->parts = p->choice->grid[2];
  plan->devices = p->blocks * p->parts;
  if (plan->devices < 1 || plan->devices > p->shape->devices)
    return davit_fail(DAVIT_INTERNAL_ERROR, "a grid of %d devices of %d", plan->devices, p->shape->devices);
  if (p->distribution == DVT_DISTRIBUTE_TRIANGLE)
    divide_triangle(p, blocks);
  else
    divide_grid(p, blocks);
  DVT_TRY(make_cuts(p, blocks));
  for (int w = 0; w < plan->devices; w++) {
    dvt_planner *one = &p->device[w];
    const block *b = &blocks[w];
    one->limits = &p->shape->device[w];
    one->row0 = tile_at(&plan->cut[DVT_DIM_M], b->begin[DVT_DIM_M]);
    one->row1 = tile_at(&plan->cut[DVT_DIM_M], b->end[DVT_DIM_M]);
    one->col0 = tile_at(&plan->cut[DVT_DIM_N], b->begin[DVT_DIM_N]);
    one->col1 = tile_at(&plan->cut[DVT_DIM_N], b->end[DVT_DIM_N]);
    one->k0 = tile_at(&plan->cut[DVT_DIM_K], b->begin[DVT_DIM_K]);
    one->k1 = tile_at(&plan->cut[DVT_DIM_K], b->end[DVT_DIM_K]);
  }
  if (p->shape->length[DVT_DIM_K] == 0)
    for (int w = 0; w < plan->devices; w++)
      p->device[w].k1 = 1;
  return DAVIT_SUCCESS;
}
