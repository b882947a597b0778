/* SPDX-License-Identifier: Apache-2.0 */
/* One alignment in full, in memory linear in m + n, by sweeps over its matrix (align_sweep.h):
 *
 *   end      Forward: the best score and a cell that has it. Local: scores are kept at 0 or more, and all cells
 *            count. Semiglobal: the edges are 0, and the cells of the last row and column count. Global: the
 *            last cell alone. Some columns are kept. A global pair that one matrix holds has no such sweep if
 *            its columns are wanted, which have the score.
 *   cross    Backward from there, from one kept column to the one before, in the rows that the best alignment can
 *            have there (align_crosspoints.c).
 *   begin    Backward from the last such cell, until the score is reached; semiglobal: in the last row or column.
 *   columns  Between two known cells lies a global alignment (align_columns.c).
 *
 * A gap of k symbols costs first + k extend, first = gap_open - gap_extend. Gaps may adjoin, so an extension
 * costs at most gap_open; first is 0 or more. Passes over much of a long pair run on a device where that is
 * sooner (align_wavefront.h).
 *
 * Cost: m n cells for sequences of which a part is similar, 1.1 to 1.3 m n for those that are all along, and
 * 4.1 m n at most, where many alignments are equally good; 289 m + n bytes, 64 MiB for more threads, for each
 * of them the larger of `cells` and m, and an eighth more, for a matrix, 70 KiB and its stack; the string. Vectors of a
 * sweep have 64 bits, as scores of global alignments may be far below 0 and no sum of penalties shall overflow; kept
 * columns have 32. */
#include <davit/memory.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "offload/align.h"
#include "offload/runtime/device.h"
#include "src/align_columns.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/base/team.h"
#include "src/runtime/backend.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"

/* ---- checks ---- */

davit_status dvt_check_scoring(const davit_align_scoring *scoring) {
  DVT_TRY(dvt_check_pointer("scoring", scoring));
  DVT_TRY(
      dvt_check_reserved("scoring", scoring->reserved, sizeof scoring->reserved / sizeof *scoring->reserved));
  if (scoring->symbols < 1 || scoring->symbols > DAVIT_ALIGN_SYMBOLS_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "scoring->symbols is %d, not 1 to %d", scoring->symbols,
                      DAVIT_ALIGN_SYMBOLS_MAXIMUM);
  if (scoring->matrix && scoring->profile)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "scoring->matrix and scoring->profile exclude each other");
  if (!scoring->profile)
    DVT_TRY(dvt_check_pointer("scoring->matrix", scoring->matrix));
  if (scoring->gap_open < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "scoring->gap_open is %d, less than 1", scoring->gap_open);
  if (scoring->gap_extend < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "scoring->gap_extend is %d, less than 1", scoring->gap_extend);
  return DAVIT_SUCCESS;
}

davit_status dvt_check_sequence(const char *name, const char *length_name, int64_t length,
                                const uint8_t *sequence, int symbols) {
  DVT_TRY(dvt_check_length(length_name, length));
  if (length > 0)
    DVT_TRY(dvt_check_pointer(name, sequence));
  for (int64_t i = 0; i < length; i++)
    if (sequence[i] >= symbols)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "%s: symbol %lld is %d, not below %d", name, (long long)i,
                        sequence[i], symbols);
  return DAVIT_SUCCESS;
}

static davit_status check_offset(const char *name, const davit_align_sequences *all, int64_t k) {
  const int64_t begin = all->offsets[k], end = all->offsets[k + 1];
  char members[32];
  if (end < begin || begin < 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s->offsets[%lld] is %lld, after %lld", name, (long long)k + 1,
                      (long long)end, (long long)begin);
  snprintf(members, sizeof members, "%s->offsets", name);
  DVT_TRY(dvt_check_extent(members, end, 1));
  snprintf(members, sizeof members, "%s->symbols", name);
  return end > begin ? dvt_check_pointer(members, all->symbols) : DAVIT_SUCCESS;
}

static davit_status check_member(const char *name, const char *one, const davit_align_sequences *all,
                                 int64_t k, int symbols) {
  const int64_t begin = all->offsets[k], end = all->offsets[k + 1];
  for (int64_t i = 0; i < end - begin; i++)
    if (all->symbols[begin + i] >= symbols)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "%s: symbol %lld of %s %lld is %d, the alphabet has %d", name,
                        (long long)i, one, (long long)k, all->symbols[begin + i], symbols);
  return DAVIT_SUCCESS;
}

void dvt_align_on_shares(int64_t count, dvt_part *part, const void *arguments) {
  enum { EACH = 1 << 15 }; /* of a thread, at least */
  const bool alone = count < 2 * EACH || !dvt_team_may_lead();
  const dvt_team team = alone ? DVT_NO_TEAM : dvt_team_begin((int)dvt_at_most(count / EACH, dvt_threads()));
  dvt_on_threads(team.threads, part, arguments);
  dvt_team_end(&team);
}

typedef struct sequence_check {
  const davit_align_sequences *all;
  int alphabet;
  atomic_bool *wrong; /* one is */
} sequence_check;

static void check_offsets_share(int thread, int team, const void *arguments) {
  const sequence_check *c = arguments;
  const int64_t *offsets = c->all->offsets, end = dvt_share_begin(c->all->count, thread + 1, team);
  bool ascend = true;
  for (int64_t k = dvt_share_begin(c->all->count, thread, team); k < end; k++)
    ascend &= offsets[k + 1] >= offsets[k];
  if (!ascend)
    atomic_store(c->wrong, true);
}

static bool do_ascend(const davit_align_sequences *all) {
  atomic_bool wrong = false;
  dvt_align_on_shares(all->count, check_offsets_share, &(sequence_check){all, 0, &wrong});
  return !atomic_load(&wrong);
}

davit_status dvt_check_offsets(const char *name, const davit_align_sequences *all) {
  char members[32];
  DVT_TRY(dvt_check_pointer(name, all));
  snprintf(members, sizeof members, "%s->count", name);
  DVT_TRY(dvt_check_length(members, all->count));
  if (all->count == 0)
    return DAVIT_SUCCESS;
  snprintf(members, sizeof members, "%s->offsets", name);
  DVT_TRY(dvt_check_pointer(members, all->offsets));
  const int64_t first = all->offsets[0], end = all->offsets[all->count];
  if (first >= 0 && do_ascend(all) && (end == first || all->symbols))
    return dvt_check_extent(members, end, 1);
  for (int64_t k = 0; k < all->count; k++)
    DVT_TRY(check_offset(name, all, k));
  return DAVIT_SUCCESS;
}

static void check_symbols_share(int thread, int team, const void *arguments) {
  const sequence_check *c = arguments;
  const davit_align_sequences *all = c->all;
  const int64_t first = all->offsets[0], count = all->offsets[all->count] - first;
  const int64_t end = first + dvt_share_begin(count, thread + 1, team);
  uint8_t most = 0;
  for (int64_t i = first + dvt_share_begin(count, thread, team); i < end; i++)
    most = all->symbols[i] > most ? all->symbols[i] : most;
  if (most >= c->alphabet)
    atomic_store(c->wrong, true);
}

/* All at once, as sequences lie one after the other. */
davit_status dvt_check_symbols(const char *name, const char *one, const davit_align_sequences *all,
                               int symbols) {
  atomic_bool wrong = false;
  const int64_t count = all->count > 0 ? all->offsets[all->count] - all->offsets[0] : 0;
  if (count > 0)
    dvt_align_on_shares(count, check_symbols_share, &(sequence_check){all, symbols, &wrong});
  for (int64_t k = 0; k < all->count && atomic_load(&wrong); k++)
    DVT_TRY(check_member(name, one, all, k, symbols));
  return DAVIT_SUCCESS;
}

davit_status dvt_check_sequences(const char *name, const char *one, const davit_align_sequences *all,
                                 int symbols) {
  DVT_TRY(dvt_check_offsets(name, all));
  return dvt_check_symbols(name, one, all, symbols);
}

int dvt_largest_entry(const davit_align_scoring *scoring, int64_t m) {
  const int8_t *entries = scoring->profile ? scoring->profile : scoring->matrix;
  const int64_t count = scoring->symbols * (scoring->profile ? m : scoring->symbols);
  int largest = 0;
  for (int64_t k = 0; k < count; k++)
    largest = entries[k] > largest ? entries[k] : largest;
  return largest;
}

davit_status dvt_check_score_range(const davit_align_scoring *scoring, int64_t m, int64_t n) {
  const int64_t shorter = dvt_at_most(m, n);
  const int largest = dvt_largest_entry(scoring, m);
  if (largest > 0 && shorter > INT32_MAX / largest)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "%lld symbols of a query and of a target, each scoring up to %d, may pass 2^31 - 1",
                      (long long)shorter, largest);
  return DAVIT_SUCCESS;
}

davit_status dvt_check_cost_range(const davit_align_scoring *scoring, int64_t m, int64_t n) {
  const int64_t open = scoring->gap_open, extend = dvt_at_most(scoring->gap_extend, open),
                first = open - extend;
  int64_t length, cost;
  if (__builtin_add_overflow(m, n, &length) || __builtin_mul_overflow(length, extend, &cost) ||
      cost > INT32_MAX - 2 * first)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "gaps over all of %lld and %lld symbols may cost more than 2^31 - 1", (long long)m,
                      (long long)n);
  return DAVIT_SUCCESS;
}

/* ---- sweeps ---- */

/* What it takes to open a lane, and to start the devices before. */
#define LANE_SECONDS 1e-3
#define START_SECONDS 0.5
enum { FEWEST_COLUMNS = 4096 }; /* of a first look for where an alignment begins */

/* For the columns that a sweep over all of the pair keeps on the host. Without memory for them there are none. */
static const dvt_align_kept *room_for_kept(dvt_trace *t, dvt_align_kept *kept) {
  const int64_t columns = dvt_align_kept_columns(t->all.n, t->every);
  if (columns == 0)
    return NULL;
  t->kept = dvt_allocate((size_t)columns * 2 * ((size_t)t->all.m + 1), sizeof *t->kept);
  if (!t->kept) {
    dvt_error_clear();
    t->every = 0;
    return NULL;
  }
  *kept = (dvt_align_kept){t->every, t->kept};
  return kept;
}

#define FOLDED_RATE 2.5e10 /* cells a second of a thread that has a folded target */

static davit_align_scoring scoring_of(const dvt_trace *t) {
  return (davit_align_scoring){.symbols = t->costs.symbols,
                               .matrix = t->costs.matrix,
                               .gap_open = (int32_t)(t->costs.first + t->costs.extend),
                               .gap_extend = (int32_t)t->costs.extend,
                               .profile = t->costs.profile};
}

/* Whether the host folds the target to find where a local alignment ends. */
static bool is_folded(const dvt_trace *t) {
  const davit_align_scoring scoring = scoring_of(t);
  const dvt_align_query query = {&scoring, t->all.m, t->all.query, t->costs.largest};
  return t->mode == DAVIT_ALIGN_LOCAL && dvt_align_is_folded(&query, t->all.n);
}

/* Seconds until the host knows where the alignment ends. */
static double host_seconds(const dvt_trace *t, int threads) {
  const double cells = (double)t->all.m * (double)t->all.n;
  return is_folded(t) ? cells / (FOLDED_RATE * threads) : dvt_trace_host_seconds(t->all.m, t->all.n, threads);
}

/* No column is kept: the way back from a short query's end is short. */
static davit_status best_folded(dvt_trace *t, dvt_align_cell *best) {
  const davit_align_scoring scoring = scoring_of(t);
  const dvt_align_query query = {&scoring, t->all.m, t->all.query, t->costs.largest};
  t->every = 0;
  return dvt_align_best_folded(&query, t->all.n, t->all.target, t->threads, &t->team, t->h, t->d, best);
}

/* The best cell of a local alignment of all, or of those that begin in the corner: where these score `enough`, no
 * cell scores more. */
static davit_status best_local(dvt_trace *t, const dvt_align_stretch *s, dvt_align_cell *best) {
  dvt_align_kept kept;
  const bool folded = is_folded(t);
  if (t->wavefront &&
      dvt_align_wavefront_seconds(s->m, s->n) < host_seconds(t, folded ? t->threads : t->team.threads))
    return dvt_align_wavefront_best(t->wavefront, s, true, t->every > 0, best);
  if (folded)
    return best_folded(t, best);
  dvt_align_local_edge(s->m, t->h, t->d);
  *best = dvt_align_best(&t->costs, s, 0, INT64_MAX, &t->team, t->h, t->d, room_for_kept(t, &kept));
  return DAVIT_SUCCESS;
}

static davit_status best_from_corner(dvt_trace *t, const dvt_align_stretch *s, int64_t enough,
                                     dvt_align_cell *best) {
  if (dvt_trace_is_for_device(t, s))
    return dvt_align_wavefront_best(t->wavefront, s, false, false, best);
  dvt_align_edge(&t->costs, s->m, t->costs.first, t->h, t->d);
  *best = dvt_align_best(&t->costs, s, DVT_ALIGN_NONE, enough, &t->team, t->h, t->d, NULL);
  return DAVIT_SUCCESS;
}

/* ---- the ends ---- */

/* Of the stretches that end in *x and have its score, the one with the shortest target, then the shortest
 * query. It is looked for among those with at most `columns` target symbols, then among four times as many:
 * an alignment of `columns` target symbols with r more query symbols than that scores at most columns largest
 * - first - r extend. */
static davit_status find_begin(dvt_trace *t, const dvt_align_stretch *s, dvt_align_cell *x) {
  dvt_align_stretch back = {s->query + x->row - 1, s->target + x->column - 1, 0, 0, -1};
  dvt_align_cell begin = {0};
  for (int64_t columns = FEWEST_COLUMNS + 2 * (x->score / t->costs.largest); begin.score < x->score;
       columns *= 4) {
    back.n = dvt_at_most(columns, x->column);
    back.m = dvt_at_most(back.n + (back.n * t->costs.largest - x->score) / t->costs.extend, x->row);
    DVT_TRY(best_from_corner(t, &back, x->score, &begin));
  }
  *x = (dvt_align_cell){0, x->row - begin.row, x->column - begin.column};
  return DAVIT_SUCCESS;
}

static davit_status find_local(dvt_trace *t, const dvt_align_stretch *s, dvt_align_cell *end,
                               dvt_align_cell *begin) {
  DVT_TRY(best_local(t, s, end));
  *begin = *end;
  if (end->score == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_trace_cross(t, begin));
  return find_begin(t, s, begin);
}

static davit_status find_global(dvt_trace *t, const dvt_align_stretch *s, dvt_align_cell *end,
                                dvt_align_cell *begin) {
  dvt_align_kept kept;
  if (dvt_trace_is_for_device(t, s)) {
    DVT_TRY(dvt_align_wavefront_sweeps(t->wavefront, 1, &(dvt_align_wavefront_sweep){*s, t->costs.first},
                                       t->every > 0));
    dvt_align_wavefront_column(t->wavefront, 0, t->h, t->d);
  } else {
    dvt_align_edge(&t->costs, s->m, t->costs.first, t->h, t->d);
    dvt_align_sweep(&t->costs, s, &t->team, t->h, t->d, NULL, room_for_kept(t, &kept));
  }
  *end = (dvt_align_cell){t->h[s->m], s->m, s->n};
  dvt_align_cell x = *end;
  DVT_TRY(dvt_trace_cross(t, &x));
  *begin = (dvt_align_cell){0};
  return DAVIT_SUCCESS;
}

static davit_status find_semiglobal(dvt_trace *t, const dvt_align_stretch *s, dvt_align_cell *end,
                                    dvt_align_cell *begin) {
  dvt_align_kept kept;
  if (s->m == 0 || s->n == 0)
    return DAVIT_SUCCESS;
  dvt_align_local_edge(s->m, t->h, t->d);
  *end = dvt_align_end(&t->costs, s, 0, false, &t->team, t->h, t->d, room_for_kept(t, &kept));
  dvt_align_cell x = *end;
  DVT_TRY(dvt_trace_cross(t, &x));
  const dvt_align_stretch back = {s->query + x.row - 1, s->target + x.column - 1, x.row, x.column, -1};
  dvt_align_edge(&t->costs, back.m, t->costs.first, t->h, t->d);
  const dvt_align_cell rest =
      dvt_align_end(&t->costs, &back, DVT_ALIGN_NONE, true, &t->team, t->h, t->d, NULL);
  *begin = (dvt_align_cell){0, x.row - rest.row, x.column - rest.column};
  return DAVIT_SUCCESS;
}

/* ---- the call ---- */

static davit_status allocate(dvt_trace *t) {
  const int64_t m = t->all.m;
  t->vectors = dvt_allocate((size_t)m + 1, 4 * sizeof *t->vectors);
  if (!t->vectors)
    return DAVIT_OUT_OF_HOST_MEMORY;
  t->h = t->vectors;
  t->d = t->h + m + 1;
  t->kh = t->d + m + 1;
  t->kd = t->kh + m + 1;
  return dvt_align_team_open(&t->costs, m, t->all.n, t->threads, &t->team);
}

static davit_status run(dvt_trace *t, davit_align_result *result, char **cigar) {
  static davit_status (*const find[])(dvt_trace *t, const dvt_align_stretch *s, dvt_align_cell *end,
                                      dvt_align_cell *begin) = {[DAVIT_ALIGN_LOCAL] = find_local,
                                                                [DAVIT_ALIGN_GLOBAL] = find_global,
                                                                [DAVIT_ALIGN_SEMIGLOBAL] = find_semiglobal};
  dvt_align_cell end = {0}, begin = {0};
  DVT_TRY(allocate(t));
  if (cigar && dvt_trace_is_scored_by_columns(t))
    end = (dvt_align_cell){0, t->all.m, t->all.n};
  else
    DVT_TRY(find[t->mode](t, &t->all, &end, &begin));
  davit_align_result a = {0};
  a.score = (int32_t)end.score;
  a.query_begin = begin.row;
  a.query_end = end.row;
  a.target_begin = begin.column;
  a.target_end = end.column;
  if (cigar)
    DVT_TRY(dvt_trace_columns(t, &a, cigar));
  *result = a;
  return DAVIT_SUCCESS;
}

/* On all threads of the host that it may have. */
static davit_status run_in_team(dvt_trace *t, davit_align_result *result, char **cigar) {
  const dvt_team team = dvt_team_begin(t->threads ? t->threads : dvt_threads());
  t->threads = t->threads ? t->threads : team.threads;
  const davit_status status = run(t, result, cigar);
  dvt_team_end(&team);
  dvt_align_team_close(&t->team);
  free(t->vectors);
  free(t->kept);
  return status;
}

/* ---- with a device ---- */

typedef struct device_trace {
  dvt_trace *trace;
  davit_align_result *result;
  char **cigar;
} device_trace;

static davit_status run_with_wave(const dvt_site *site, const device_trace *d, void *staging) {
  const dvt_align_stretch *s = &d->trace->all;
  dvt_align_wavefront wavefront;
  void *memory;
  if (site->workspace(site, dvt_align_wavefront_bytes(&d->trace->costs, s->m, s->n, d->trace->every),
                      &memory) != DAVIT_SUCCESS) {
    dvt_error_clear(); /* a full device is no obstacle */
    return run_in_team(d->trace, d->result, d->cigar);
  }
  DVT_TRY(dvt_align_wavefront_open(site->stream, &d->trace->costs, s->m, s->query, s->n, s->target, NULL,
                                   d->trace->every, memory, staging, &wavefront));
  d->trace->wavefront = &wavefront;
  return run_in_team(d->trace, d->result, d->cigar);
}

static davit_status run_on_device(const dvt_site *site, const void *arguments) {
  const device_trace *d = arguments;
  if (!site->stream)
    return run_in_team(d->trace, d->result, d->cigar);
  void *staging;
  DVT_TRY(dvt_malloc(dvt_align_wavefront_staging_bytes(d->trace->all.m), DAVIT_PINNED, &staging));
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, run_with_wave(site, d, staging));
  if (first.status != DAVIT_SUCCESS)
    dvt_error_keep(&first, dvt_stream_synchronize(site->stream)); /* what is enqueued uses the memory */
  dvt_error_keep(&first, davit_free(staging));
  return dvt_error_report(&first);
}

/* Whether a device would do all sweeps sooner than the host. */
static bool is_long(const dvt_trace *t) {
  const int64_t m = t->all.m, n = t->all.n;
  const double start = dvt_backend_running() ? LANE_SECONDS : START_SECONDS;
  return dvt_align_wavefront_fits(&t->costs, m, n) &&
         start + dvt_align_wavefront_seconds(m, n) < host_seconds(t, dvt_threads());
}

/* The first NVIDIA device of the options for a long pair, else DAVIT_HOST. The devices are started only if
 * one is named or needed. */
static davit_status choose_device(const dvt_trace *t, const davit_align_trace_options *options, int *device) {
  int chosen[DVT_MAX_DEVICES], count = 0;
  const bool named = options && (options->devices || options->device_count),
             host =
                 named && options->devices && options->device_count == 1 && *options->devices == DAVIT_HOST;
  *device = DAVIT_HOST;
  DVT_TRY(DVT_CHECK_OPTIONS(options));
  if (!host && (named || is_long(t)))
    DVT_TRY(dvt_choose_devices(DVT_DEVICES(options), chosen, &count));
  for (int i = 0; i < count && *device == DAVIT_HOST && is_long(t); i++)
    if (chosen[i] != DAVIT_HOST && dvt_device_find(chosen[i])->ordinal >= 0)
      *device = chosen[i];
  return DAVIT_SUCCESS;
}

static davit_status run_on(int device, dvt_trace *t, davit_align_result *result, char **cigar) {
  if (device == DAVIT_HOST)
    return run_in_team(t, result, cigar);
  const device_trace work = {t, result, cigar};
  dvt_lane *lane;
  DVT_TRY(dvt_lane_open(device, &lane));
  const davit_status status = dvt_lane_submit(lane, DVT_BLOCKING, run_on_device, &work, sizeof work);
  return dvt_lane_end(lane, status);
}

/* A column in 32 is kept, so that what is computed again is little. */
static int64_t spacing(int64_t n) {
  const int64_t every = dvt_divide_up(n, DVT_TRACE_CROSSINGS * DVT_ALIGN_BLOCK) * DVT_ALIGN_BLOCK;
  return n > every ? every : 0;
}

davit_status dvt_align_trace(const davit_align_scoring *scoring, int64_t m, const uint8_t *query, int64_t n,
                             const uint8_t *target, int64_t cells, int64_t every, int threads,
                             davit_align_result *result, char **cigar,
                             const davit_align_trace_options *options) {
  static const uint8_t nothing[1];
  const davit_align_mode mode = options ? options->mode : DAVIT_ALIGN_LOCAL;
  DVT_TRY(dvt_check_scoring(scoring));
  DVT_TRY(dvt_check_sequence("query", "m", m, query, scoring->symbols));
  DVT_TRY(dvt_check_sequence("target", "n", n, target, scoring->symbols));
  DVT_TRY(dvt_check_score_range(scoring, m, n));
  if ((int)mode < 0 || mode > DAVIT_ALIGN_SEMIGLOBAL)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->mode is %d, not 0 to %d", (int)mode,
                      DAVIT_ALIGN_SEMIGLOBAL);
  if (mode == DAVIT_ALIGN_GLOBAL)
    DVT_TRY(dvt_check_cost_range(scoring, m, n));
  DVT_TRY(dvt_check_pointer("result", result));
  const int64_t open = scoring->gap_open, extend = dvt_at_most(scoring->gap_extend, open),
                most = dvt_align_is_whole(m, n) ? DVT_ALIGN_TRACE_CELLS : DVT_ALIGN_TRACE_CELLS / 4,
                spaced = dvt_align_is_whole(m, n) && mode == DAVIT_ALIGN_GLOBAL ? 0 : spacing(n);
  dvt_trace t = {.costs = {.matrix = scoring->matrix,
                           .symbols = scoring->symbols,
                           .largest = dvt_largest_entry(scoring, m),
                           .first = open - extend,
                           .extend = extend,
                           .profile = scoring->profile,
                           .query = m ? query : nothing,
                           .m = m},
                 .all = {m ? query : nothing, n ? target : nothing, m, n, 1},
                 .mode = mode,
                 .threads = threads,
                 .cells = cells < 0 ? most : cells,
                 .every = every < 0 ? spaced : every};
  int device;
  DVT_TRY(choose_device(&t, options, &device));
  return run_on(device, &t, result, cigar);
}

davit_status davit_align_trace(const davit_align_scoring *scoring, int64_t m, const uint8_t *query, int64_t n,
                               const uint8_t *target, davit_align_result *result, char **cigar,
                               const davit_align_trace_options *options) {
  return dvt_align_trace(scoring, m, query, n, target, -1, -1, 0, result, cigar, options);
}
