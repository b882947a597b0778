/* A pass over the matrix of an alignment. */
#include "src/align_pass.h"

#include <stdlib.h>

#include "src/allocate.h"

/* Columns that a band goes through at a time; rows that make a band of its own worth while. */
enum { BLOCK = 512, LEAST_ROWS = 512 };

/* What the band below needs of the last row: h, and the gap of query symbols that may go on from there. */
typedef struct edge {
  int64_t h[BLOCK], gap[BLOCK];
} edge;

/* Rows begin + 1 … end. Band 0 is row 0. */
typedef struct dvt_align_band {
  int64_t begin, end;
  int64_t corner; /* h above the first row, in the column before */
  dvt_align_cell best;
  edge below[2]; /* of even and odd blocks: one is read while the next is made */
} dvt_align_band;

typedef struct pass {
  const dvt_align_costs *costs;
  const dvt_align_stretch *s;
  int64_t least;
  bool track; /* the best cell is wanted */
  dvt_align_band *bands;
  int64_t *h, *d;
} pass;

/* ---- threads ---- */

static int bands_for(int64_t m, int64_t n, int threads) {
  const int64_t most = n < 2 * BLOCK ? 1 : m / LEAST_ROWS;
  return most < 1 ? 1 : most < threads ? (int)most : threads;
}

davit_status dvt_align_team_open(int64_t m, int64_t n, int threads, dvt_align_team *team) {
  team->threads = bands_for(m, n, threads);
  team->bands = dvt_allocate((size_t)team->threads + 1, sizeof *team->bands);
  return team->bands ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

void dvt_align_team_close(dvt_align_team *team) {
  free(team->bands);
  team->bands = NULL;
}

/* ---- cells ---- */

/* One column of a band; its largest score. `above` is h over the first row, `gap` the gap that comes from there, and then the one that goes
 * on below.
 *
 * What a gap of query symbols begins with is taken before that gap itself is considered, which changes nothing
 * (to open one where one ends never pays) and shortens the chain from row to row to a subtraction and a comparison. */
static int64_t advance(const pass *p, dvt_align_band *band, int64_t column, int64_t above, int64_t *gap) {
  const int64_t extend = p->costs->extend, open = p->costs->first + extend, least = p->least;
  const int8_t *scores = dvt_align_scores_of(p->costs, p->s, column);
  const int step = p->s->step;
  const uint8_t *query = p->s->query + band->begin * step;
  int64_t *restrict h = p->h, *restrict d = p->d;
  int64_t diagonal = band->corner, passing = *gap, top = DVT_ALIGN_NONE;
  for (int64_t i = band->begin + 1; i <= band->end; i++, query += step) {
    const int64_t down = dvt_larger(d[i] - extend, h[i] - open);
    const int64_t rest = dvt_larger(dvt_larger(diagonal + scores[*query], least), down);
    diagonal = h[i];
    d[i] = down;
    h[i] = dvt_larger(rest, passing);
    passing = dvt_larger(passing - extend, rest - open);
    top = dvt_larger(top, h[i]);
  }
  *gap = passing;
  band->corner = above;
  return top;
}

static void note(const pass *p, dvt_align_band *band, int64_t score, int64_t column) {
  int64_t row = band->begin + 1;
  while (p->h[row] != score)
    row++;
  band->best = (dvt_align_cell){score, row, column};
}

/* Row 0 of columns first … last. */
static void advance_edge(const pass *p, int64_t first, int64_t last, edge *below) {
  for (int64_t j = first; j <= last; j++) {
    p->d[0] -= p->costs->extend;
    p->h[0] = dvt_larger(p->d[0], p->least);
    below->h[j - first] = p->h[0];
    below->gap[j - first] = p->h[0] - p->costs->first - p->costs->extend;
  }
}

static void run_block(const pass *p, int which, int64_t block) {
  dvt_align_band *band = &p->bands[which];
  edge *above = &p->bands[which - 1].below[block % 2], *below = &band->below[block % 2];
  const int64_t first = block * BLOCK + 1, end = first + BLOCK - 1, last = end < p->s->n ? end : p->s->n;
  if (which == 1)
    advance_edge(p, first, last, above);
  for (int64_t j = first; j <= last; j++) {
    int64_t gap = above->gap[j - first];
    const int64_t top = advance(p, band, j, above->h[j - first], &gap);
    below->h[j - first] = p->h[band->end];
    below->gap[j - first] = gap;
    if (p->track && top > band->best.score)
      note(p, band, top, j);
  }
}

/* ---- passes ---- */

static dvt_align_cell best_of(const dvt_align_band *bands, int count) {
  dvt_align_cell best = {0};
  for (int b = 1; b <= count; b++)
    if (bands[b].best.score > best.score ||
        (bands[b].best.score == best.score && bands[b].best.column < best.column))
      best = bands[b].best;
  return best;
}

static dvt_align_cell run(const pass *p, int count, int64_t enough) {
  const int64_t blocks = (p->s->n + BLOCK - 1) / BLOCK;
  for (int b = 1; b <= count; b++) {
    p->bands[b].begin = p->s->m * (b - 1) / count;
    p->bands[b].end = p->s->m * b / count;
    p->bands[b].corner = p->h[p->bands[b].begin];
    p->bands[b].best = (dvt_align_cell){0};
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
    if (best_of(p->bands, count).score >= enough && step + count < steps)
      steps = step + count;
  }
  return best_of(p->bands, count);
}

void dvt_align_edge(const dvt_align_costs *costs, int64_t m, int64_t first, int64_t *h, int64_t *d) {
  h[0] = 0;
  d[0] = -first;
  for (int64_t i = 1; i <= m; i++) {
    h[i] = -(costs->first + i * costs->extend);
    d[i] = DVT_ALIGN_NONE;
  }
}

void dvt_align_pass(const dvt_align_costs *costs, const dvt_align_stretch *s, int64_t least,
                    dvt_align_team *team, int64_t *h, int64_t *d) {
  const pass p = {costs, s, least, false, team->bands, h, d};
  run(&p, bands_for(s->m, s->n, team->threads), INT64_MAX);
}

dvt_align_cell dvt_align_best(const dvt_align_costs *costs, const dvt_align_stretch *s, int64_t least,
                              int64_t enough, dvt_align_team *team, int64_t *h, int64_t *d) {
  const pass p = {costs, s, least, true, team->bands, h, d};
  return run(&p, bands_for(s->m, s->n, team->threads), enough);
}
