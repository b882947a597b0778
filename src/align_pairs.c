/* SPDX-License-Identifier: Apache-2.0 */
/* Many pairs, each aligned in full by up to three passes over its matrix, as one pair is (align_trace.c):
 *
 *   end      forward: the score, and where the alignment ends. Not of global ones
 *   begin    backward from there: where it begins. Local and semiglobal
 *   columns  forward over what lies between: the steps, along which the alignment is walked back
 *
 * 16 pairs go side by side (offload/align_pairs.h) where 16 bits hold their scores; others one by one: without a band
 * by dvt_align_trace(), with one along its anti-diagonals (offload/align_pairs_single.h). Extensions with an X-drop have
 * a pass of their own (align_pairs_extend.c). Pairs side by side are of similar lengths: a thread takes a block of
 * neighbours and sorts it. All ways return the same alignment, because the columns of a pair of at most
 * DVT_ALIGN_TRACE_CELLS cells come from the same steps. */
#include <davit/memory.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "offload/align.h"
#include "src/align.h"
#include "src/align_pairs.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/base/team.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"

enum {
  LARGEST_BLOCK = 4096, /* pairs */
  SMALLEST_BLOCK = 64,
  BLOCKS = 4, /* for each thread */
  STRIPED =
      200, /* symbols of both, from which a local score is sooner found by striping the query, if bytes hold it, */
  ALWAYS = 480,    /* and even if they do not */
  BYTES = 254,     /* the largest score that they hold */
  SPARSE = 4,      /* pairs as large as the largest that are too few to go side by side, */
  SPARSE_ALONG = 2 /* and where a pair that is alone goes along anti-diagonals */
};

/* ---- one pair ---- */

static int64_t length_of(const davit_align_sequences *s, int64_t k) {
  return s->offsets[k + 1] - s->offsets[k];
}

static bool is_empty(const dvt_pair_part *p) {
  return p->m == 0 || p->n == 0;
}

/* All of pair k. */
dvt_pair_part dvt_pairs_whole(const dvt_pairs *p, int64_t k) {
  const int64_t m = length_of(p->queries, k), n = length_of(p->targets, k);
  dvt_pair_part part = {p->queries->symbols + p->queries->offsets[k],
                        p->targets->symbols + p->targets->offsets[k],
                        m,
                        n,
                        1,
                        -m,
                        n};
  if (p->band > 0) {
    const int64_t band = dvt_at_most(p->band, m + n);
    part.low = dvt_at_least(part.low, dvt_at_most(0, n - m) - band);
    part.high = dvt_at_most(part.high, dvt_at_least(0, n - m) + band);
  }
  return part;
}

/* Whether 16 bits hold all scores of all passes. */
static bool is_narrow(const dvt_pairs *p, const dvt_pair_part *a) {
  const bool corner = p->mode != DAVIT_ALIGN_LOCAL || p->full;
  return dvt_at_least(a->m, a->n) <= DVT_PAIR_LONGEST &&
         dvt_at_most(a->m, a->n) * p->largest <= DVT_PAIR_RANGE &&
         (!corner || dvt_pairs_loss(p, a) <= DVT_PAIR_RANGE);
}

/* Maximum cells of a pair side by side with others if steps are kept: without a band dvt_align_trace() is as fast for
 * more. */
static int64_t lane_cells(const dvt_pairs *p) {
  return p->band > 0 ? DVT_ALIGN_TRACE_CELLS : DVT_ALIGN_TRACE_CELLS / 4;
}

/* Whether a pair goes side by side with others: then, without a band, its columns are those that dvt_align_trace()
 * finds. */
static bool is_for_lanes(const dvt_pairs *p, const dvt_pair_part *a) {
  if (p->x_drop > 0)
    return dvt_pairs_extends_in_lanes(p, a);
  return !is_empty(a) && is_narrow(p, a) && (!p->full || a->n <= lane_cells(p) / dvt_pairs_height(a));
}

/* ---- steps ---- */

/* Steps of a lane, or of a pair that is alone. */
typedef struct lane_steps {
  dvt_pair_steps noted;
  int lane;
} lane_steps;

static int step_of(const void *steps, int64_t i, int64_t j) {
  const lane_steps *s = steps;
  return dvt_pair_step(&s->noted, s->lane, i, j);
}

static int single_step(const void *trail, int64_t i, int64_t j) {
  return dvt_pair_trail_step(trail, -1, i, j);
}

/* ---- passes ---- */

/* A pass over some pairs, all of them in lanes or one of them alone, whose steps are kept in `memory` or `trail`. */
typedef davit_status pass_pairs(dvt_pairs_worker *w, const dvt_pair_pass *pass, const dvt_pair_part *parts,
                                dvt_pair_cell *best);

static davit_status pass_lanes(dvt_pairs_worker *w, const dvt_pair_pass *pass, const dvt_pair_part *parts,
                               dvt_pair_cell *best) {
  return dvt_pair_lanes(pass, parts, &w->memory, best) ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

static davit_status pass_single(dvt_pairs_worker *w, const dvt_pair_pass *pass, const dvt_pair_part *part,
                                dvt_pair_cell *best) {
  const dvt_pair_single single = {pass->scoring, pass->kind, -1, dvt_pairs_is_wide(w->pairs, part)};
  dvt_pair_extension found;
  if (!dvt_pair_single_pass(&single, part, &w->memory, pass->noting ? &w->trail : NULL, &found))
    return DAVIT_OUT_OF_HOST_MEMORY;
  *best = found.end;
  return DAVIT_SUCCESS;
}

static bool is_any_cut(int count, const dvt_pair_part *parts) {
  bool cut = false;
  for (int l = 0; l < count; l++)
    cut = cut || dvt_pairs_is_cut(&parts[l]);
  return cut;
}

/* ---- passes over pairs ---- */

/* Ends: those of all of a global alignment are known, and so are those of empty ones. */
static davit_status find_ends(dvt_pairs_worker *w, pass_pairs *run, int count, const dvt_pair_part *all,
                              dvt_pair_cell *end) {
  static const dvt_pair_kind kinds[] = {[DAVIT_ALIGN_LOCAL] = DVT_PAIR_LOCAL,
                                        [DAVIT_ALIGN_GLOBAL] = DVT_PAIR_GLOBAL,
                                        [DAVIT_ALIGN_SEMIGLOBAL] = DVT_PAIR_ENDS,
                                        [DAVIT_ALIGN_EXTENSION] = DVT_PAIR_BEGIN};
  const dvt_pairs *p = w->pairs;
  const dvt_pair_pass pass = {.scoring = &p->scoring,
                              .kind = kinds[p->mode],
                              .count = count,
                              .banded = is_any_cut(count, all),
                              .positions = p->full};
  const bool known = p->mode == DAVIT_ALIGN_GLOBAL && p->strings; /* the last pass has the scores */
  for (int l = 0; l < count; l++)
    end[l] = known ? (dvt_pair_cell){0, all[l].m, all[l].n} : (dvt_pair_cell){.score = INT32_MAX};
  return known ? DAVIT_SUCCESS : run(w, &pass, all, end);
}

static davit_status find_begins(dvt_pairs_worker *w, pass_pairs *run, int count, const dvt_pair_part *all,
                                const dvt_pair_cell *end, dvt_pair_cell *begin) {
  const dvt_pairs *p = w->pairs;
  const bool local = p->mode == DAVIT_ALIGN_LOCAL;
  dvt_pair_part back[DVT_PAIR_LANES] = {0};
  bool found = false;
  for (int l = 0; l < count; l++) {
    const bool none = local && end[l].score == 0;
    begin[l] = (dvt_pair_cell){.score = end[l].score};
    if (!none) {
      back[l] = dvt_pair_before(&all[l], end[l].row, end[l].column);
      dvt_pair_narrow_back(&p->costs, end[l].score, &back[l]);
    }
    found = found || !none;
  }
  const dvt_pair_pass pass = {.scoring = &p->scoring,
                              .kind = local ? DVT_PAIR_BEGIN : DVT_PAIR_BEGINS,
                              .count = count,
                              .banded = is_any_cut(count, all)};
  return found ? run(w, &pass, back, begin) : DAVIT_SUCCESS;
}

static davit_status find_columns(dvt_pairs_worker *w, pass_pairs *run, int count, dvt_pairs_place *at) {
  const dvt_pairs *p = w->pairs;
  dvt_pair_part inner[DVT_PAIR_LANES];
  dvt_pair_cell last[DVT_PAIR_LANES] = {0};
  bool any = false, banded = false;
  for (int l = 0; l < count; l++) {
    const davit_align_result *r = &p->results[at[l].which];
    inner[l] = dvt_pair_between(&at[l].part, r->query_begin, r->query_end, r->target_begin, r->target_end);
    banded = banded || r->banded;
    if (p->mode != DAVIT_ALIGN_GLOBAL)
      dvt_pair_narrow_between(&p->costs, r->score, &inner[l]);
    any = any || !is_empty(&inner[l]);
  }
  const dvt_pair_pass pass = {
      .scoring = &p->scoring, .kind = DVT_PAIR_GLOBAL, .count = count, .banded = banded, .noting = true};
  if (any)
    DVT_TRY(run(w, &pass, inner, last));
  const bool single = run == pass_single;
  const dvt_pair_steps noted = single ? (dvt_pair_steps){0} : dvt_pair_noted(&pass, inner, &w->memory);
  for (int l = 0; l < count; l++) {
    if (p->mode == DAVIT_ALIGN_GLOBAL)
      p->results[at[l].which].score = (int32_t)last[l].score;
    const lane_steps steps = {noted, l};
    DVT_TRY(dvt_pairs_walk(w, &at[l], &inner[l], single ? single_step : step_of,
                           single ? (const void *)&w->trail : &steps));
  }
  return DAVIT_SUCCESS;
}

static davit_status do_passes(dvt_pairs_worker *w, pass_pairs *run, int count, dvt_pairs_place *at) {
  const dvt_pairs *p = w->pairs;
  const bool corner =
      p->mode == DAVIT_ALIGN_GLOBAL || p->mode == DAVIT_ALIGN_EXTENSION; /* they begin there */
  dvt_pair_part all[DVT_PAIR_LANES];
  dvt_pair_cell end[DVT_PAIR_LANES] = {0}, begin[DVT_PAIR_LANES] = {0};
  for (int l = 0; l < count; l++)
    all[l] = at[l].part;
  DVT_TRY(find_ends(w, run, count, all, end));
  if (p->full && !corner)
    DVT_TRY(find_begins(w, run, count, all, end, begin));
  for (int l = 0; l < count; l++) {
    davit_align_result *r = &p->results[at[l].which];
    *r = (davit_align_result){.score = (int32_t)end[l].score, .banded = dvt_pairs_is_cut(&all[l])};
    if (!p->full || (p->mode == DAVIT_ALIGN_LOCAL && r->score == 0))
      continue;
    r->query_begin = corner ? 0 : end[l].row - begin[l].row;
    r->target_begin = corner ? 0 : end[l].column - begin[l].column;
    r->query_end = end[l].row;
    r->target_end = end[l].column;
  }
  return p->strings ? find_columns(w, run, count, at) : DAVIT_SUCCESS;
}

/* ---- one by one ---- */

/* Of the first m and n symbols. */
static davit_status trace(dvt_pairs_worker *w, dvt_pairs_place *at, int64_t m, int64_t n,
                          davit_align_mode mode, davit_align_result *result) {
  static const int host = DAVIT_HOST;
  const dvt_pairs *p = w->pairs;
  char *cigar = NULL;
  DVT_TRY(dvt_align_trace(&p->scoring, m, at->part.query, n, at->part.target, -1, -1, 1, result,
                          p->strings ? &cigar : NULL,
                          &(davit_align_trace_options){.devices = &host, .device_count = 1, .mode = mode}));
  if (!p->strings)
    return DAVIT_SUCCESS;
  at->count = (int64_t)strlen(cigar) + 1;
  at->string = w->strings.used;
  const bool room = dvt_pairs_reserve_text(&w->strings, at->count);
  if (room)
    memcpy(w->strings.at + at->string, cigar, (size_t)at->count);
  w->strings.used += room ? at->count : 0;
  davit_free(cigar);
  return room ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

static davit_status do_trace(dvt_pairs_worker *w, dvt_pairs_place *at) {
  const dvt_pairs *p = w->pairs;
  davit_align_result *r = &p->results[at->which], prefix;
  if (p->mode != DAVIT_ALIGN_EXTENSION)
    return trace(w, at, at->part.m, at->part.n, p->mode, r);
  dvt_pair_cell end;
  DVT_TRY(find_ends(w, pass_single, 1, &at->part, &end));
  *r = (davit_align_result){.score = (int32_t)end.score, .query_end = end.row, .target_end = end.column};
  return p->strings ? trace(w, at, end.row, end.column, DAVIT_ALIGN_GLOBAL, &prefix) : DAVIT_SUCCESS;
}

/* By the striped form of a search. */
static davit_status do_score(dvt_pairs_worker *w, const dvt_pairs_place *at) {
  const dvt_pairs *p = w->pairs;
  const dvt_align_query query = {&p->scoring, at->part.m, at->part.query, (int)p->largest};
  davit_align_result *r = &p->results[at->which];
  *r = (davit_align_result){0};
  if (is_empty(&at->part))
    return DAVIT_SUCCESS;
  return dvt_pair_reserve(&w->memory, dvt_align_score_bytes(&query)) &&
                 dvt_align_score(&query, at->part.n, at->part.target, w->memory.at, &r->score)
             ? DAVIT_SUCCESS
             : DAVIT_OUT_OF_HOST_MEMORY;
}

static davit_status do_alone(dvt_pairs_worker *w, dvt_pairs_place *at) {
  if (w->pairs->x_drop > 0)
    return dvt_pairs_extend_alone(w, at);
  if (dvt_pairs_is_cut(&at->part))
    return do_passes(w, pass_single, 1, at);
  return w->pairs->full || w->pairs->mode != DAVIT_ALIGN_LOCAL ? do_trace(w, at) : do_score(w, at);
}

/* ---- a block ---- */

int64_t dvt_pairs_length_class(int64_t m) {
  int64_t class = 0;
  for (int64_t length = 8; length < m; length += length / 4)
    class ++;
  return class;
}

/* Pairs whose queries have the same class differ little and may be sorted by their targets. Those that go one by one
 * come last. */
static int64_t class_of(const dvt_pairs *p, const dvt_pair_part *a) {
  return is_for_lanes(p, a) ? dvt_pairs_length_class(a->m) : INT64_MAX;
}

static int by_size(const void *x, const void *y) {
  const dvt_pairs_place *a = x, *b = y;
  if (a->class != b->class)
    return a->class < b->class ? -1 : 1;
  if (a->part.n != b->part.n)
    return a->part.n < b->part.n ? -1 : 1;
  return a->which < b->which ? -1 : 1;
}

/* How many pairs from the first on go side by side: all their bands together have no more cells than one pair may have.
 * 0: too few of them. */
static int group_of(const dvt_pairs *p, int64_t count, const dvt_pairs_place *at) {
  dvt_pair_part all = {0};
  double cells = 0;
  int group = 0;
  for (; group < dvt_at_most(count, DVT_PAIR_LANES) && at[group].class < INT64_MAX; group++) {
    const dvt_pair_part *a = &at[group].part;
    const dvt_pair_part both = {.m = dvt_at_least(all.m, a->m),
                                .n = dvt_at_least(all.n, a->n),
                                .low = dvt_at_most(all.low, a->low),
                                .high = dvt_at_least(all.high, a->high)};
    if (p->full && p->x_drop == 0 && group > 0 && dvt_pairs_height(&both) * both.n > lane_cells(p))
      break;
    all = both;
    cells += (double)a->m * (double)a->n;
  }
  const double sparse = p->band > 0 || p->x_drop > 0 ? SPARSE_ALONG : SPARSE;
  return cells < (double)all.m * (double)all.n * sparse ? 0 : group;
}

/* Whether the pairs' scores come from the striped form, one by one. */
static bool is_striped(const dvt_pairs_worker *w, int count, const dvt_pairs_place *at) {
  int64_t shortest = INT64_MAX;
  for (int l = 0; l < count; l++)
    shortest = dvt_at_most(shortest, dvt_at_most(at[l].part.m, at[l].part.n));
  return w->pairs->mode == DAVIT_ALIGN_LOCAL && !w->pairs->full && w->pairs->band == 0 &&
         shortest >= (w->related ? ALWAYS : STRIPED);
}

/* What the next pairs may be like. */
static void look_at_scores(dvt_pairs_worker *w, int count, const dvt_pairs_place *at) {
  int large = 0;
  for (int l = 0; l < count; l++)
    large += w->pairs->results[at[l].which].score > BYTES;
  w->related = 4 * large > count;
}

static davit_status align_group(dvt_pairs_worker *w, int count, dvt_pairs_place *at) {
  davit_status status = DAVIT_SUCCESS;
  if (w->pairs->x_drop > 0)
    return dvt_pairs_extend(w, count, at);
  if (!is_striped(w, count, at))
    status = do_passes(w, pass_lanes, count, at);
  else
    for (int l = 0; l < count && status == DAVIT_SUCCESS; l++)
      status = do_score(w, &at[l]);
  if (status == DAVIT_SUCCESS)
    look_at_scores(w, count, at);
  return status;
}

davit_status dvt_pairs_align_places(dvt_pairs_worker *w, int64_t count) {
  for (int64_t k = 0; k < count; k++)
    w->places[k].class = class_of(w->pairs, &w->places[k].part);
  qsort(w->places, (size_t)count, sizeof *w->places, by_size);
  for (int64_t k = 0; k < count;) {
    const int group = group_of(w->pairs, count - k, &w->places[k]);
    DVT_TRY(group > 0 ? align_group(w, group, &w->places[k]) : do_alone(w, &w->places[k]));
    k += dvt_at_least(group, 1);
  }
  return DAVIT_SUCCESS;
}

static davit_status do_block(dvt_pairs_worker *w, int64_t block) {
  const dvt_pairs *p = w->pairs;
  const int64_t first = block * p->block, count = dvt_at_most(p->block, p->queries->count - first);
  for (int64_t k = 0; k < count; k++) {
    w->places[k] = (dvt_pairs_place){.which = first + k, .part = dvt_pairs_whole(p, first + k)};
  }
  DVT_TRY(dvt_pairs_align_places(w, count));
  return p->strings ? dvt_pairs_order_strings(w, first, count, &p->texts[block]) : DAVIT_SUCCESS;
}

/* ---- all blocks ---- */

davit_status dvt_pairs_open_worker(dvt_pairs_worker *w, const dvt_pairs *p) {
  *w = (dvt_pairs_worker){.pairs = p, .places = dvt_allocate_raw((size_t)p->block * sizeof *w->places)};
  return w->places ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

void dvt_pairs_close_worker(dvt_pairs_worker *w) {
  free(w->memory.at);
  dvt_pair_trail_free(&w->trail);
  free(w->places);
  free(w->columns);
  free(w->strings.at);
}

static davit_status do_by_team(const dvt_pairs *p, int64_t blocks, int threads) {
  atomic_int failed = DAVIT_SUCCESS;
#pragma omp parallel num_threads(threads)
  {
    dvt_pairs_worker w;
    davit_status status = dvt_pairs_open_worker(&w, p);
#pragma omp for schedule(dynamic, 1)
    for (int64_t block = 0; block < blocks; block++)
      if (status == DAVIT_SUCCESS)
        status = do_block(&w, block);
    if (status != DAVIT_SUCCESS)
      atomic_store(&failed, status);
    dvt_pairs_close_worker(&w);
  }
  return (davit_status)atomic_load(&failed);
}

static davit_status do_here(const dvt_pairs *p, int64_t blocks) {
  dvt_pairs_worker w;
  davit_status status = dvt_pairs_open_worker(&w, p);
  for (int64_t block = 0; block < blocks && status == DAVIT_SUCCESS; block++)
    status = do_block(&w, block);
  dvt_pairs_close_worker(&w);
  return status;
}

/* A failure of another thread has left its sentence there; all of them are for want of memory. */
davit_status dvt_pairs_on_host(const dvt_pairs *p) {
  const int64_t blocks = dvt_divide_up(p->queries->count, p->block);
  if (blocks <= 1)
    return do_here(p, blocks);
  const dvt_team team = dvt_team_begin((int)dvt_at_most(blocks, dvt_threads()));
  const davit_status status = do_by_team(p, blocks, team.threads);
  dvt_team_end(&team);
  return status == DAVIT_SUCCESS
             ? status
             : davit_fail(status, "no memory to align %lld pairs", (long long)p->queries->count);
}

int64_t dvt_pairs_host_block(int64_t count) {
  return dvt_at_least(dvt_at_most(count / (BLOCKS * dvt_threads()), LARGEST_BLOCK), SMALLEST_BLOCK);
}
