/* SPDX-License-Identifier: Apache-2.0 */
/* A pass over the matrix of an alignment. */
#include "src/align_pass.h"

#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"

/* Rows begin + 1 … end, whole strips unless it is the last. Band 0 is row 0. */
typedef struct dvt_align_band {
  int64_t begin, end;
  int64_t corner; /* h above the first row, in the column before */
  dvt_align_cell best;
  dvt_align_border below[2]; /* of even and odd blocks: one is read while the next is made */
} dvt_align_band;

typedef struct pass {
  const dvt_align_costs *costs;
  const dvt_align_stretch *s;
  const dvt_align_team *team;
  int64_t least;
  int64_t bar; /* only cells that score more are looked at */
  int64_t *h, *d;
  uint8_t *steps;
} pass;

/* ---- threads ---- */

/* A band is a strip at least: no row below it may lack its border. */
static int bands_for(const dvt_align_tiling *tiling, int64_t m, int64_t n, int threads) {
  const int64_t most = n < 2 * DVT_ALIGN_BLOCK ? 1 : m / tiling->strip;
  return (int)dvt_at_least(1, dvt_at_most(most, threads));
}

davit_status dvt_align_team_open(const dvt_align_costs *costs, int64_t m, int64_t n, int threads,
                                 dvt_align_team *team) {
  team->tiling = dvt_align_tiling_of(costs);
  team->threads = bands_for(&team->tiling, m, n, threads);
  team->bands = dvt_allocate((size_t)team->threads + 1, sizeof *team->bands);
  return team->bands ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

void dvt_align_team_close(dvt_align_team *team) {
  free(team->bands);
  team->bands = NULL;
}

/* ---- blocks ---- */

/* Row 0 of columns first … last. */
static void advance_edge(const pass *p, int64_t first, int64_t last, dvt_align_border *below) {
  for (int64_t j = first; j <= last; j++) {
    p->d[0] -= p->costs->extend;
    p->h[0] = dvt_at_least(p->d[0], p->least);
    below->h[j - first] = p->h[0];
    below->gap[j - first] = p->h[0] - p->costs->first - p->costs->extend;
  }
}

static void run_block(const pass *p, int which, int64_t block) {
  const dvt_align_tiling *tiling = &p->team->tiling;
  dvt_align_band *band = &p->team->bands[which];
  dvt_align_border *above = &p->team->bands[which - 1].below[block % 2], *below = &band->below[block % 2];
  const int64_t first = block * DVT_ALIGN_BLOCK + 1, last = dvt_at_most(first + DVT_ALIGN_BLOCK - 1, p->s->n);
  if (which == 1)
    advance_edge(p, first, last, above);
  int64_t corner = band->corner;
  for (int64_t row = band->begin; row < band->end; row += tiling->strip) {
    const int64_t rows = dvt_at_most(tiling->strip, band->end - row), next = p->h[row + rows];
    const dvt_align_tile tile = {.costs = p->costs,
                                 .s = p->s,
                                 .least = p->least,
                                 .row = row,
                                 .rows = rows,
                                 .first = first,
                                 .last = last,
                                 .h = p->h,
                                 .d = p->d,
                                 .corner = corner,
                                 .above = row == band->begin ? above : below,
                                 .below = below,
                                 .best = &band->best,
                                 .steps = p->steps};
    tiling->make(tiling, &tile);
    corner = next;
  }
  band->corner = above->h[last - first];
}

/* ---- passes ---- */

static dvt_align_cell best_of(const dvt_align_band *bands, int count) {
  dvt_align_cell best = bands[1].best;
  for (int b = 2; b <= count; b++)
    if (dvt_align_better(&bands[b].best, &best))
      best = bands[b].best;
  return best;
}

static dvt_align_cell run(const pass *p, int64_t enough) {
  const int count = bands_for(&p->team->tiling, p->s->m, p->s->n, p->team->threads);
  const int64_t blocks = dvt_divide_up(p->s->n, DVT_ALIGN_BLOCK),
                strips = dvt_divide_up(p->s->m, p->team->tiling.strip);
  dvt_align_band *bands = p->team->bands;
  for (int b = 1; b <= count; b++) {
    bands[b].begin = strips * (b - 1) / count * p->team->tiling.strip;
    bands[b].end = dvt_at_most(strips * b / count * p->team->tiling.strip, p->s->m);
    bands[b].corner = p->h[bands[b].begin];
    bands[b].best = (dvt_align_cell){.score = p->bar};
  }
  int64_t steps = blocks + count - 1;
  for (int64_t step = 0; step < steps; step++) {
#pragma omp parallel for num_threads(count) schedule(static, 1) if (count > 1)
    for (int b = 1; b <= count; b++) {
      const int64_t block = step - (b - 1);
      if (block >= 0 && block < blocks)
        run_block(p, b, block);
    }
    /* The bands below have yet to come to the block. */
    if (best_of(bands, count).score >= enough && step + count < steps)
      steps = step + count;
  }
  return best_of(bands, count);
}

void dvt_align_edge(const dvt_align_costs *costs, int64_t m, int64_t first, int64_t *h, int64_t *d) {
  h[0] = 0;
  d[0] = -first;
  for (int64_t i = 1; i <= m; i++) {
    h[i] = -(costs->first + i * costs->extend);
    d[i] = DVT_ALIGN_NONE;
  }
}

void dvt_align_pass(const dvt_align_costs *costs, const dvt_align_stretch *s, dvt_align_team *team,
                    int64_t *h, int64_t *d, uint8_t *steps) {
  const pass p = {costs, s, team, DVT_ALIGN_NONE, -DVT_ALIGN_NONE, h, d, steps};
  run(&p, INT64_MAX);
}

dvt_align_cell dvt_align_best(const dvt_align_costs *costs, const dvt_align_stretch *s, int64_t least,
                              int64_t enough, dvt_align_team *team, int64_t *h, int64_t *d) {
  const pass p = {costs, s, team, least, 0, h, d, NULL};
  return run(&p, enough);
}
