/* SPDX-License-Identifier: Apache-2.0 */
/* Many pairs: the checks of a call, whether devices or the host align them, and what the user gets. */
#include <davit/memory.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/align.h"
#include "src/align_pairs.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/base/team.h"
#include "src/runtime/backend.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"

static int64_t length_of(const davit_align_sequences *s, int64_t k) {
  return s->offsets[k + 1] - s->offsets[k];
}

/* All strings in one block of memory. */
typedef struct strings {
  const dvt_pairs *pairs;
  int64_t blocks;
  char *to;
} strings;

static void join_share(int thread, int team, const void *arguments) {
  const strings *s = arguments;
  const dvt_pairs *p = s->pairs;
  const int64_t begin = dvt_share_begin(s->blocks, thread, team),
                end = dvt_share_begin(s->blocks, thread + 1, team);
  int64_t used = 0;
  for (int64_t b = 0; b < end; used += p->texts[b++].used) {
    if (b < begin)
      continue;
    memcpy(s->to + used, p->texts[b].at, (size_t)p->texts[b].used);
    for (int64_t k = b * p->block; k < dvt_at_most((b + 1) * p->block, p->queries->count); k++)
      p->results[k].cigar += used;
  }
}

static davit_status join_strings(const dvt_pairs *p, int64_t blocks, char **cigars) {
  int64_t all = 0;
  for (int64_t b = 0; b < blocks; b++)
    all += p->texts[b].used;
  DVT_TRY(dvt_malloc((size_t)all + 1, DAVIT_PAGEABLE, (void **)cigars));
  dvt_align_on_shares(p->queries->count, join_share, &(strings){p, blocks, *cigars});
  return DAVIT_SUCCESS;
}

/* Scores and results for the user, of a share of the pairs. */
typedef struct copies {
  const dvt_pairs *pairs;
  int32_t *scores;
  davit_align_result *results;
} copies;

static void copy_share(int thread, int team, const void *arguments) {
  const copies *c = arguments;
  const int64_t count = c->pairs->queries->count, begin = dvt_share_begin(count, thread, team),
                end = dvt_share_begin(count, thread + 1, team);
  const davit_align_result *from = c->pairs->results;
  for (int64_t k = begin; k < end && c->scores; k++)
    c->scores[k] = from ? from[k].score : c->pairs->scores[k];
  if (c->results && end > begin)
    memcpy(c->results + begin, from + begin, (size_t)(end - begin) * sizeof *from);
}

/* Long ones in large pages: to touch them takes as long as to find what they hold. */
enum { MAPPED_BYTES = 2 * DVT_LARGE_PAGE };

static void *take_results(size_t bytes) {
  return bytes < MAPPED_BYTES ? dvt_allocate_raw(bytes) : dvt_map(bytes);
}

static void give_back_results(void *results, size_t bytes) {
  if (bytes < MAPPED_BYTES)
    free(results);
  else
    dvt_unmap(results, bytes);
}

/* `count` devices; 0: the host. */
static davit_status run(dvt_pairs *p, int count, const int *devices, int32_t *scores,
                        davit_align_result *results, char **cigars) {
  const int64_t pairs = p->queries->count, blocks = dvt_divide_up(pairs, p->block);
  const bool alone = count > 0 && !p->full;
  const size_t bytes = ((size_t)pairs + 1) * (alone ? sizeof *p->scores : sizeof *p->results);
  void *found = take_results(bytes);
  p->scores = alone ? found : NULL;
  p->results = alone ? NULL : found;
  p->texts = dvt_allocate((size_t)blocks + 1, sizeof *p->texts);
  davit_status status = DAVIT_OUT_OF_HOST_MEMORY;
  if (found && p->texts)
    status = count > 0 ? dvt_pairs_on_devices(p, count, devices) : dvt_pairs_on_host(p);
  if (status == DAVIT_SUCCESS && cigars)
    status = join_strings(p, blocks, cigars);
  if (status == DAVIT_SUCCESS)
    dvt_align_on_shares(pairs, copy_share, &(copies){p, scores, results});
  for (int64_t b = 0; p->texts && b < blocks; b++)
    free(p->texts[b].at);
  free(p->texts);
  give_back_results(found, bytes);
  return status;
}

/* ---- the call ---- */

/* The pair whose shorter sequence is the longest, and the one with the most symbols. */
typedef struct extremes {
  int64_t thickest, longest;
} extremes;

static int64_t shorter_of(const davit_align_sequences *queries, const davit_align_sequences *targets,
                          int64_t k) {
  return dvt_at_most(length_of(queries, k), length_of(targets, k));
}

static int64_t both_of(const davit_align_sequences *queries, const davit_align_sequences *targets,
                       int64_t k) {
  return length_of(queries, k) + length_of(targets, k);
}

/* Those of each thread's pairs. */
typedef struct extremes_of {
  const davit_align_sequences *queries, *targets;
  extremes *found;
  atomic_int *team;
} extremes_of;

static void find_extremes_share(int thread, int team, const void *arguments) {
  const extremes_of *a = arguments;
  const int64_t begin = dvt_share_begin(a->queries->count, thread, team),
                end = dvt_share_begin(a->queries->count, thread + 1, team);
  extremes e = {begin, begin};
  int64_t thickest = -1, longest = -1;
  for (int64_t k = begin; k < end; k++) {
    const int64_t shorter = shorter_of(a->queries, a->targets, k), both = both_of(a->queries, a->targets, k);
    e.thickest = shorter > thickest ? k : e.thickest;
    e.longest = both > longest ? k : e.longest;
    thickest = dvt_at_least(thickest, shorter);
    longest = dvt_at_least(longest, both);
  }
  a->found[thread] = e;
  atomic_store(a->team, team);
}

static extremes find_extremes(const davit_align_sequences *queries, const davit_align_sequences *targets) {
  extremes found[DVT_MAX_THREADS];
  atomic_int team = 0;
  dvt_align_on_shares(queries->count, find_extremes_share, &(extremes_of){queries, targets, found, &team});
  extremes e = found[0];
  for (int t = 1; t < atomic_load(&team); t++) {
    if (shorter_of(queries, targets, found[t].thickest) > shorter_of(queries, targets, e.thickest))
      e.thickest = found[t].thickest;
    if (both_of(queries, targets, found[t].longest) > both_of(queries, targets, e.longest))
      e.longest = found[t].longest;
  }
  return e;
}

/* Of the two pairs whose scores and whose costs may be the largest. A global alignment of the beginnings may be the way
 * to the columns of an extension. */
static davit_status check_ranges(const davit_align_scoring *scoring, const davit_align_sequences *queries,
                                 const davit_align_sequences *targets, davit_align_mode mode) {
  if (queries->count == 0)
    return DAVIT_SUCCESS;
  const extremes e = find_extremes(queries, targets);
  DVT_TRY(dvt_check_score_range(scoring, length_of(queries, e.thickest), length_of(targets, e.thickest)));
  return mode == DAVIT_ALIGN_GLOBAL || mode == DAVIT_ALIGN_EXTENSION
             ? dvt_check_cost_range(scoring, length_of(queries, e.longest), length_of(targets, e.longest))
             : DAVIT_SUCCESS;
}

static davit_status check_options(const davit_align_pairs_options *options) {
  DVT_TRY(DVT_CHECK_OPTIONS(options));
  if (!options)
    return DAVIT_SUCCESS;
  if ((int)options->mode < 0 || options->mode > DAVIT_ALIGN_EXTENSION)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->mode is %d, not 0 to %d", (int)options->mode,
                      DAVIT_ALIGN_EXTENSION);
  if (options->band < 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->band is %lld, less than 0", (long long)options->band);
  if (options->x_drop < 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->x_drop is %lld, less than 0",
                      (long long)options->x_drop);
  if (options->x_drop > 0 && options->mode != DAVIT_ALIGN_EXTENSION)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->x_drop is %lld, and options->mode no extension",
                      (long long)options->x_drop);
  return DAVIT_SUCCESS;
}

/* All but the symbols. */
static davit_status check(const davit_align_scoring *scoring, const davit_align_sequences *queries,
                          const davit_align_sequences *targets, const int32_t *scores,
                          const davit_align_result *results, char **cigars,
                          const davit_align_pairs_options *options) {
  DVT_TRY(dvt_check_scoring(scoring));
  if (scoring->profile)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "scoring->profile is of one query, and here there are many");
  DVT_TRY(dvt_check_offsets("queries", queries));
  DVT_TRY(dvt_check_offsets("targets", targets));
  if (queries->count != targets->count)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "queries->count is %lld, targets->count %lld",
                      (long long)queries->count, (long long)targets->count);
  DVT_TRY(check_options(options));
  if (!results && cigars)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "results is NULL, and has to say where the cigars begin");
  if (!results && !scores && queries->count > 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "scores and results are NULL");
  return check_ranges(scoring, queries, targets, options ? options->mode : DAVIT_ALIGN_LOCAL);
}

static davit_status check_symbols(const dvt_pairs *p) {
  DVT_TRY(dvt_check_symbols("queries", "query", p->queries, p->scoring.symbols));
  return dvt_check_symbols("targets", "target", p->targets, p->scoring.symbols);
}

static int64_t smallest_entry(const davit_align_scoring *scoring) {
  int64_t smallest = 0;
  for (int k = 0; k < scoring->symbols * scoring->symbols; k++)
    smallest = dvt_at_most(smallest, scoring->matrix[k]);
  return smallest;
}

/* That of the options, if any extension may drop so far. */
static int64_t x_drop_of(const dvt_pairs *p, const davit_align_pairs_options *options) {
  if (!options || options->x_drop == 0 || p->queries->count == 0)
    return 0;
  const extremes e = find_extremes(p->queries, p->targets);
  const int64_t most = dvt_pairs_largest_drop(p, shorter_of(p->queries, p->targets, e.thickest),
                                              both_of(p->queries, p->targets, e.longest));
  return options->x_drop < most ? options->x_drop : 0;
}

/* ---- where ---- */

#define START_SECONDS 0.5      /* of the devices */
#define HOST_SCORE_RATE 5e9    /* cells a second of a thread: for scores, */
#define HOST_COLUMN_RATE 2.5e9 /* and with columns */

/* In all bands, or as an X-drop leaves; of many pairs by a sample. */
static double cells_of(const dvt_pairs *p) {
  enum { SAMPLE = 1 << 14 };
  const int64_t count = p->queries->count, step = dvt_at_least(count / SAMPLE, 1);
  double cells = 0;
  for (int64_t k = 0; k < count; k += step) {
    const dvt_pair_part a = dvt_pairs_whole(p, k);
    cells += p->x_drop > 0 ? (double)dvt_pairs_drop_cells(p, &a)
                           : (double)dvt_at_most(a.m, a.high - a.low + 1) * (double)a.n;
  }
  return cells * (double)step;
}

/* Whether so many devices, started or not, would do all pairs sooner than the host. */
static bool is_for_devices(const dvt_pairs *p, double cells, int devices) {
  return (dvt_backend_running() ? 0 : START_SECONDS) + dvt_pairs_device_seconds(p, cells, devices) <
         cells / ((p->full ? HOST_COLUMN_RATE : HOST_SCORE_RATE) * dvt_threads());
}

/* Those of the options that may have pairs, if they do them sooner or `always`. The devices are started only if one is
 * named or may be needed. */
static davit_status choose(const dvt_pairs *p, const davit_align_pairs_options *options, bool always,
                           int *chosen, int *count) {
  const bool named = options && (options->devices || options->device_count);
  const double cells = cells_of(p);
  int all = 0;
  *count = 0;
  if (!named && !always && !is_for_devices(p, cells, DVT_MAX_DEVICES))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_choose_devices(DVT_DEVICES(options), chosen, &all));
  for (int i = 0; i < all; i++)
    if (dvt_pairs_has_device_form(chosen[i]))
      chosen[(*count)++] = chosen[i];
  if (*count > 0 && !always && !is_for_devices(p, cells, *count))
    *count = 0;
  return DAVIT_SUCCESS;
}

davit_status dvt_align_pairs(const davit_align_scoring *scoring, const davit_align_sequences *queries,
                             const davit_align_sequences *targets, bool devices, int32_t *scores,
                             davit_align_result *results, char **cigars,
                             const davit_align_pairs_options *options) {
  int chosen[DVT_MAX_DEVICES], count;
  DVT_TRY(check(scoring, queries, targets, scores, results, cigars, options));
  dvt_pairs p = {.scoring = *scoring,
                 .queries = queries,
                 .targets = targets,
                 .mode = options ? options->mode : DAVIT_ALIGN_LOCAL,
                 .band = options ? options->band : 0,
                 .largest = dvt_largest_entry(scoring, 0),
                 .smallest = -smallest_entry(scoring),
                 .full = results != NULL,
                 .strings = cigars != NULL};
  for (int k = 0; k < scoring->symbols * scoring->symbols; k++)
    p.likes[k % scoring->symbols] = (int8_t)dvt_at_least(p.likes[k % scoring->symbols], scoring->matrix[k]);
  p.scoring.gap_extend = (int32_t)dvt_at_most(scoring->gap_extend, scoring->gap_open);
  p.costs = (dvt_pair_costs){p.scoring.gap_open, p.scoring.gap_extend, p.likes};
  p.x_drop = x_drop_of(&p, options);
  DVT_TRY(choose(&p, options, devices, chosen, &count));
  p.block = count > 0 ? dvt_pairs_device_block(queries->count, count) : dvt_pairs_host_block(queries->count);
  if (count == 0) /* else as they are copied, which does not say which symbol is wrong */
    DVT_TRY(check_symbols(&p));
  const davit_status status = run(&p, count, chosen, scores, results, cigars);
  if (status == DAVIT_INVALID_ARGUMENT)
    DVT_TRY(check_symbols(&p));
  return status;
}

davit_status davit_align_pairs(const davit_align_scoring *scoring, const davit_align_sequences *queries,
                               const davit_align_sequences *targets, int32_t *scores,
                               davit_align_result *results, char **cigars,
                               const davit_align_pairs_options *options) {
  return dvt_align_pairs(scoring, queries, targets, false, scores, results, cigars, options);
}
