/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the matrix of an alignment: tiles (align_tile.inc), the words that they are computed in, where
 * their steps lie, and threads that share a sweep. */
#include "offload/align_sweep.h"

#include <davit/align.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

enum {
  BLOCK = DVT_ALIGN_BLOCK, /* most columns of a tile */
  VECTORS = 16, /* of a strip: with more of them the profile of 20 letters leaves a first cache of 32 KiB */
  /* With fewer columns from one corner, counting anew costs more than wider words do (measured; both cost the
   * same at some 30). */
  FEWEST_COLUMNS = 32,
  SLACK = 256 /* more than an entry of the matrix, of either sign */
};

/* Of a row: h, and the gap of query symbols that may go on below. */
typedef struct border {
  int64_t h[BLOCK], gap[BLOCK];
} border;

/* Rows begin + 1 … end, whole strips unless it is the last. Band 0 is row 0. */
typedef struct dvt_align_band {
  int64_t begin, end;
  int64_t corner; /* h above the first row, in the column before */
  dvt_align_cell best;
  _Atomic int64_t done; /* blocks */
  border below[2];      /* of even and odd blocks: one is read while the next is made */
} band;

typedef struct sweep {
  const dvt_align_costs *costs;
  const dvt_align_stretch *s;
  const dvt_align_team *team;
  int64_t floor, edge;        /* of h, and of h in row 0 */
  int64_t bar;                /* only cells that score more are looked at */
  int64_t *h, *d;             /* of all rows, in the column that is reached */
  int64_t block;              /* columns of a tile */
  const dvt_align_kept *kept; /* NULL: no columns are */
  uint8_t *steps;             /* NULL: they are not noted */
  dvt_align_cell *last;       /* the best of the last row; NULL: nobody asks for it */
} sweep;

/* A strip of rows by a block of columns. It is given h and d of the column before, h and the gap of the row
 * above, and leaves those of its last column and row. Inside, scores count from that of the corner, in the
 * narrowest words that hold them: a cell scores at least `open` less than the one before it in its row or
 * column, as one more symbol in a gap would do, and at most open + largest more, so that the span of a tile
 * is known before. */
typedef struct dvt_align_tile {
  const sweep *sweep;
  int64_t row, rows;   /* rows row + 1 … row + rows; a strip, or what is left of the last */
  int64_t first, last; /* columns, at most BLOCK */
  int64_t corner;      /* h in the row above, the column before */
  const border *above;
  border *below;        /* may be `above` */
  dvt_align_cell *best; /* becomes the tile's, the first by column, then row, if that is better */
} tile;

/* Of equal cells the first by column; that of the rows above then stays. */
static bool is_better(const dvt_align_cell *a, const dvt_align_cell *b) {
  return a->score != b->score ? a->score > b->score : a->column < b->column;
}

/* ---- tiles ---- */

/* How rows lie in vectors: `vectors` of them, with rows in the first `lanes` lanes. */
typedef struct stripes {
  int vectors, lanes;
} stripes;

static stripes stripes_of(const dvt_align_tiling *tiling, int64_t rows) {
  const int vectors = (int)dvt_divide_up(rows, tiling->lanes);
  return (stripes){vectors, (int)dvt_divide_up(rows, vectors)};
}

/* The steps of strips follow each other, in them those of columns, and in these those of vectors without the
 * lanes that have no rows. A vector is written whole; what is too much is overwritten by the next. */
static int64_t place_of(const dvt_align_stretch *s, int64_t row, const stripes *shape, int64_t column) {
  return row * s->n + (column - 1) * shape->vectors * shape->lanes;
}

#define T int16_t
#define NAME(x) x##_short
#include "offload/align_tile.inc"

#define T int32_t
#define NAME(x) x##_int
#include "offload/align_tile.inc"

#define T int64_t
#define NAME(x) x##_long
#include "offload/align_tile.inc"

/* Words of one width. */
typedef struct width {
  int lanes;
  int64_t largest;
  void (*make)(const tile *tile);
} width;

static const width widths[] = {{LANES_short, INT16_MAX, tile_short},
                               {LANES_int, INT32_MAX, tile_int},
                               {LANES_long, INT64_MAX, tile_long}};

/* Scores of a strip and `reach` columns differ from that of their corner by at most strip + reach times what
 * neighbours differ by. -span is twice that less again, so that no score, nor a gap that opens there, is as
 * low; and it must bear another opening, the slope and the matrix. */
static dvt_align_tiling tiling_with(const width *w, const dvt_align_costs *costs) {
  const int64_t open = costs->first + costs->extend, differ = open + costs->largest;
  const int64_t strip = (int64_t)VECTORS * w->lanes, room = w->largest - SLACK - strip * costs->extend - open;
  const int64_t reach = dvt_at_most(room / differ - strip - 2, BLOCK);
  return (dvt_align_tiling){w->lanes, strip, reach, (strip + reach + 2) * differ, w->make};
}

static dvt_align_tiling tiling_of(const dvt_align_costs *costs) {
  const width *w = widths;
  while (tiling_with(w, costs).reach < FEWEST_COLUMNS)
    w++;
  return tiling_with(w, costs);
}

/* Lanes without rows are fewer than vectors, and v + 1 vectors are taken for more than v times all lanes: so
 * they are fewer than one in `lanes` rows. The last vector is written whole. */
size_t dvt_align_steps_bytes(int64_t cells) {
  return (size_t)(cells + cells / LANES_long + LANES_short);
}

int dvt_align_step(const dvt_align_tiling *tiling, const dvt_align_stretch *s, const uint8_t *steps,
                   int64_t i, int64_t j) {
  const int64_t row = (i - 1) % tiling->strip, begin = i - 1 - row;
  const stripes shape = stripes_of(tiling, dvt_at_most(s->m - begin, tiling->strip));
  const int64_t vector = row % shape.vectors, lane = row / shape.vectors;
  return steps[place_of(s, begin, &shape, j) + vector * shape.lanes + lane];
}

/* ---- threads ---- */

/* A band has at least a strip: every row below it needs its border. */
static int bands_for(const dvt_align_tiling *tiling, int64_t m, int64_t n, int threads) {
  const int64_t most = n < 2 * BLOCK ? 1 : m / tiling->strip;
  return (int)dvt_at_least(1, dvt_at_most(most, threads));
}

int dvt_align_sweep_threads(const dvt_align_costs *costs, int64_t m, int64_t n, int threads) {
  const dvt_align_tiling tiling = tiling_of(costs);
  return bands_for(&tiling, m, n, threads);
}

davit_status dvt_align_team_open(const dvt_align_costs *costs, int64_t m, int64_t n, int threads,
                                 dvt_align_team *team) {
  team->tiling = tiling_of(costs);
  team->threads = bands_for(&team->tiling, m, n, threads);
  team->bands =
      dvt_allocate_raw(((size_t)team->threads + 1) * sizeof *team->bands); /* a run sets what it reads */
  return team->bands ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

void dvt_align_team_close(dvt_align_team *team) {
  free(team->bands);
  team->bands = NULL;
}

/* ---- blocks ---- */

/* Row 0 of columns first … last. */
static void advance_edge(const sweep *p, int64_t first, int64_t last, border *below) {
  for (int64_t j = first; j <= last; j++) {
    p->d[0] -= p->costs->extend;
    p->h[0] = dvt_at_least(p->d[0], p->edge);
    below->h[j - first] = p->h[0];
    below->gap[j - first] = p->h[0] - p->costs->first - p->costs->extend;
  }
}

static int32_t kept_score(int64_t score) {
  return score < DVT_ALIGN_KEPT_NONE ? DVT_ALIGN_KEPT_NONE : (int32_t)score;
}

/* Rows first … last of the column that is reached. */
static void keep_rows(const sweep *p, int64_t column, int64_t first, int64_t last) {
  const int64_t rows = p->s->m + 1;
  int32_t *h = p->kept->columns + 2 * rows * (column / p->kept->every - 1), *d = h + rows;
  for (int64_t i = first; i <= last; i++) {
    h[i] = kept_score(p->h[i]);
    d[i] = kept_score(p->d[i]);
  }
}

static int64_t last_column(const sweep *p, int64_t block) {
  return dvt_at_most((block + 1) * p->block, p->s->n);
}

static void run_block(const sweep *p, int which, int64_t block) {
  const dvt_align_tiling *tiling = &p->team->tiling;
  band *band = &p->team->bands[which];
  border *above = &p->team->bands[which - 1].below[block % 2], *below = &band->below[block % 2];
  const int64_t first = block * p->block + 1, last = last_column(p, block);
  if (which == 1)
    advance_edge(p, first, last, above);
  int64_t corner = band->corner;
  for (int64_t row = band->begin; row < band->end; row += tiling->strip) {
    const int64_t rows = dvt_at_most(tiling->strip, band->end - row), next = p->h[row + rows];
    const tile t = {.sweep = p,
                    .row = row,
                    .rows = rows,
                    .first = first,
                    .last = last,
                    .corner = corner,
                    .above = row == band->begin ? above : below,
                    .below = below,
                    .best = &band->best};
    tiling->make(&t);
    corner = next;
  }
  band->corner = above->h[last - first];
  if (p->kept && last < p->s->n && last % p->kept->every == 0)
    keep_rows(p, last, which == 1 ? 0 : band->begin + 1, band->end);
}

/* The last row in a block of columns. */
static void look_at_last_row(const sweep *p, const band *band, int64_t block) {
  const int64_t first = block * p->block + 1, last = last_column(p, block);
  const int64_t *h = band->below[block % 2].h;
  for (int64_t j = first; j <= last; j++)
    if (h[j - first] > p->last->score)
      *p->last = (dvt_align_cell){h[j - first], p->s->m, j};
}

/* ---- sweeps ---- */

static dvt_align_cell best_of(const band *bands, int count) {
  dvt_align_cell best = bands[1].best;
  for (int b = 2; b <= count; b++)
    if (is_better(&bands[b].best, &best))
      best = bands[b].best;
  return best;
}

/* A sweep by bands of a number of threads. */
typedef struct course {
  sweep *sweep;
  int count;
  int64_t blocks, enough;
  _Atomic int64_t last; /* block that is looked at */
} course;

static void set_bands(const course *c) {
  const dvt_align_tiling *tiling = &c->sweep->team->tiling;
  const int64_t m = c->sweep->s->m, strips = dvt_divide_up(m, tiling->strip);
  for (int b = 1; b <= c->count; b++) {
    band *band = &c->sweep->team->bands[b];
    band->begin = strips * (b - 1) / c->count * tiling->strip;
    band->end = dvt_at_most(strips * b / c->count * tiling->strip, m);
    band->corner = c->sweep->h[band->begin];
    band->best = (dvt_align_cell){.score = c->sweep->bar};
    atomic_store(&band->done, 0);
  }
}

/* Whether a block is to be computed, once another band has done so many. */
static bool wait_for(course *c, const band *other, int64_t done, int64_t block) {
  while (atomic_load_explicit(&other->done, memory_order_acquire) < done && block <= atomic_load(&c->last))
    sched_yield();
  return block <= atomic_load(&c->last);
}

/* A block needs the border above it, and the place of the border that the band below has read. Where a cell scores
 * enough, the other bands come as far as its block. */
static void run_band(course *c, int which) {
  band *band = &c->sweep->team->bands[which];
  for (int64_t block = 0; block < c->blocks; block++) {
    if ((which > 1 && !wait_for(c, band - 1, block + 1, block)) ||
        (which < c->count && !wait_for(c, band + 1, block - 1, block)) || block > atomic_load(&c->last))
      return;
    run_block(c->sweep, which, block);
    if (c->sweep->last && which == c->count)
      look_at_last_row(c->sweep, band, block);
    if (band->best.score >= c->enough)
      for (int64_t last = atomic_load(&c->last);
           block < last && !atomic_compare_exchange_weak(&c->last, &last, block);)
        ;
    atomic_store_explicit(&band->done, block + 1, memory_order_release);
  }
}

static dvt_align_cell run(sweep *p, int64_t enough) {
  p->block = p->kept ? dvt_at_most(BLOCK, p->kept->every) : BLOCK;
  course c = {.sweep = p,
              .count = bands_for(&p->team->tiling, p->s->m, p->s->n, p->team->threads),
              .blocks = dvt_divide_up(p->s->n, p->block),
              .enough = enough};
  atomic_store(&c.last, c.blocks);
  if (c.count == 1) {
    set_bands(&c);
    run_band(&c, 1);
  } else {
#pragma omp parallel num_threads(c.count)
    {
#pragma omp single
      {
        c.count = omp_get_num_threads();
        set_bands(&c);
      }
      run_band(&c, 1 + omp_get_thread_num());
    }
  }
  return best_of(p->team->bands, c.count);
}

void dvt_align_edge(const dvt_align_costs *costs, int64_t m, int64_t first, int64_t *h, int64_t *d) {
  h[0] = 0;
  d[0] = -first;
  for (int64_t i = 1; i <= m; i++) {
    h[i] = -(costs->first + i * costs->extend);
    d[i] = DVT_ALIGN_NONE;
  }
}

void dvt_align_local_edge(int64_t m, int64_t *h, int64_t *d) {
  for (int64_t i = 0; i <= m; i++) {
    h[i] = 0;
    d[i] = DVT_ALIGN_NONE;
  }
}

/* Of a global alignment. */
static sweep pass_of(const dvt_align_costs *costs, const dvt_align_stretch *s, dvt_align_team *team,
                     int64_t *h, int64_t *d, const dvt_align_kept *kept) {
  return (sweep){.costs = costs,
                 .s = s,
                 .team = team,
                 .floor = DVT_ALIGN_NONE,
                 .edge = DVT_ALIGN_NONE,
                 .bar = -DVT_ALIGN_NONE,
                 .h = h,
                 .d = d,
                 .kept = kept};
}

void dvt_align_sweep(const dvt_align_costs *costs, const dvt_align_stretch *s, dvt_align_team *team,
                     int64_t *h, int64_t *d, uint8_t *steps, const dvt_align_kept *kept) {
  sweep p = pass_of(costs, s, team, h, d, kept);
  p.steps = steps;
  run(&p, INT64_MAX);
}

dvt_align_cell dvt_align_best(const dvt_align_costs *costs, const dvt_align_stretch *s, int64_t floor,
                              int64_t enough, dvt_align_team *team, int64_t *h, int64_t *d,
                              const dvt_align_kept *kept) {
  sweep p = pass_of(costs, s, team, h, d, kept);
  p.floor = p.edge = floor;
  p.bar = 0;
  return run(&p, enough);
}

dvt_align_cell dvt_align_end(const dvt_align_costs *costs, const dvt_align_stretch *s, int64_t edge,
                             bool corners, dvt_align_team *team, int64_t *h, int64_t *d,
                             const dvt_align_kept *kept) {
  dvt_align_cell best = {.score = corners ? h[s->m] : DVT_ALIGN_NONE, .row = s->m};
  sweep p = pass_of(costs, s, team, h, d, kept);
  p.edge = edge;
  p.last = &best;
  run(&p, INT64_MAX);
  for (int64_t i = !corners; i < s->m; i++)
    if (h[i] > best.score)
      best = (dvt_align_cell){h[i], i, s->n};
  return best;
}
