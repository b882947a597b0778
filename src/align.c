/* SPDX-License-Identifier: Apache-2.0 */
/* Databases, and queries against them. A database's targets are sorted by length, the longest first, and
 * dealt to the devices in groups of DVT_ALIGN_LANES, so that each device has a share of every length
 * (align_share.h). A query is a command, or several, on the lane of each device; what one thread of the CPU does
 * alone, the calling one does. Each target's score is read where its share has it, so results do not depend on how
 * shares are cut. */
#include <davit/align.h>
#include <davit/memory.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "offload/align.h"
#include "offload/runtime/device.h"
#include "src/align.h"
#include "src/align_share.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/team.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/place.h"
#include "src/runtime/tuning.h"
#include "src/shape.h"

struct davit_align_database {
  int process; /* that made it */
  int symbols;
  int64_t count, longest;
  pthread_mutex_t lock;  /* a call at a time */
  const int32_t **score; /* of each target, in its share's scores */
  int shares;
  dvt_align_share share[DVT_MAX_DEVICES];
};

/* ---- arguments ---- */

static davit_status check_targets(const davit_align_sequences *targets, int symbols) {
  DVT_TRY(dvt_check_pointer("targets", targets));
  if (symbols < 1 || symbols > DAVIT_ALIGN_SYMBOLS_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "symbols is %d, not 1 to %d", symbols,
                      DAVIT_ALIGN_SYMBOLS_MAXIMUM);
  return dvt_check_sequences("targets", "target", targets, symbols);
}

/* ---- making a database ---- */

/* The longest first, of equal ones the earlier. */
static int by_length(const void *x, const void *y) {
  const dvt_align_sized *a = x, *b = y;
  return a->length != b->length ? (a->length < b->length) - (a->length > b->length)
                                : (a->which > b->which) - (a->which < b->which);
}

static dvt_align_sized *sort_targets(const davit_align_sequences *targets) {
  dvt_align_sized *order = dvt_allocate((size_t)targets->count + 1, sizeof *order);
  for (int64_t k = 0; order && k < targets->count; k++)
    order[k] = (dvt_align_sized){targets->offsets[k + 1] - targets->offsets[k], k};
  if (order)
    qsort(order, (size_t)targets->count, sizeof *order, by_length);
  return order;
}

/* Share `index`, from those of its targets in *order, which `own` has room for. */
static davit_status make_share(davit_align_database *d, int index, const davit_align_sequences *targets,
                               const dvt_align_sized *order, dvt_align_sized *own, size_t cache_bytes) {
  dvt_align_share *s = &d->share[index];
  int64_t count = 0;
  for (int64_t place = 0; place < d->count; place++)
    if (place / DVT_ALIGN_LANES % d->shares == index)
      own[count++] = order[place];
  DVT_TRY(dvt_align_share_make(s, targets, count, own, cache_bytes));
  for (int64_t k = 0; k < count; k++)
    d->score[own[k].which] = &s->scores[k];
  return DAVIT_SUCCESS;
}

static davit_status make_shares(davit_align_database *d, const davit_align_sequences *targets,
                                const int *devices, int count, size_t cache_bytes) {
  dvt_align_sized *order = sort_targets(targets), *own = dvt_allocate((size_t)d->count + 1, sizeof *own);
  d->score = dvt_allocate((size_t)d->count + 1, sizeof *d->score);
  davit_status status = order && own && d->score ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  d->longest = order && d->count > 0 ? order[0].length : 0;
  d->shares = count;
  for (int i = 0; i < count; i++)
    d->share[i].number = devices[i];
  for (int i = 0; i < count && status == DAVIT_SUCCESS; i++)
    status = make_share(d, i, targets, order, own, cache_bytes);
  free(order);
  free(own);
  return status;
}

davit_status davit_align_database_create(const davit_align_sequences *targets, int symbols,
                                         davit_align_database **database,
                                         const davit_align_database_options *options) {
  int chosen[DVT_MAX_DEVICES], count;
  DVT_TRY(check_targets(targets, symbols));
  DVT_TRY(dvt_check_pointer("database", database));
  DVT_TRY(dvt_choose_devices(DVT_DEVICES(options), chosen, &count));
  davit_align_database *d = dvt_allocate(1, sizeof *d);
  if (!d)
    return DAVIT_OUT_OF_HOST_MEMORY;
  d->process = dvt_process();
  d->symbols = symbols;
  d->count = targets->count;
  pthread_mutex_init(&d->lock, NULL);
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, make_shares(d, targets, chosen, count, options ? options->cache_bytes : 0));
  if (first.status == DAVIT_SUCCESS)
    *database = d;
  else
    davit_align_database_destroy(d);
  return dvt_error_report(&first);
}

static void close_lanes(davit_align_database *d, dvt_error *first) {
  for (int i = 0; i < d->shares; i++)
    dvt_align_share_close(&d->share[i], first);
}

davit_status davit_align_database_destroy(davit_align_database *database) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  if (!database || database->process != dvt_process())
    return DAVIT_SUCCESS;
  close_lanes(database, &first);
  for (int i = 0; i < database->shares; i++)
    dvt_align_share_free(&database->share[i]);
  pthread_mutex_destroy(&database->lock);
  free((void *)database->score);
  free(database);
  return dvt_error_report(&first);
}

/* ---- queries ---- */

static davit_status check_query(const davit_align_database *database, const davit_align_scoring *scoring,
                                int64_t m, const uint8_t *query) {
  DVT_TRY(dvt_check_pointer("database", database));
  DVT_TRY(dvt_check_process("database", database->process));
  DVT_TRY(dvt_check_scoring(scoring));
  if (scoring->symbols != database->symbols)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "scoring->symbols is %d, the database's %d", scoring->symbols,
                      database->symbols);
  DVT_TRY(dvt_check_length("m", m));
  if (scoring->profile)
    DVT_TRY(dvt_check_extent("m", m, DAVIT_ALIGN_SYMBOLS_MAXIMUM));
  else
    DVT_TRY(dvt_check_sequence("query", "m", m, query, scoring->symbols));
  return dvt_check_score_range(scoring, m, database->longest);
}

/* Of a query of 300 proteins' residues. */
davit_status dvt_align_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  return dvt_align_fit(stream, 300, 24, dvt_tuned(device, DVT_TUNE_ALIGN_TEAM_THREADS, 0), fit);
}

/* Short is what takes some milliseconds at most. */
static int threads_here(const dvt_align_targets *targets, const dvt_align_query *query) {
  const double short_cells = 1 << 24, cells = (double)query->m * (double)targets->offsets[targets->count];
  return cells <= short_cells ? DVT_ALONE : 1;
}

/* Whether one thread of the CPU does the whole query: then the calling one does, without the way to a lane and back. */
static bool is_for_caller(const davit_align_database *d, const dvt_align_query *query) {
  const dvt_align_share *s = &d->share[0];
  const dvt_align_targets *targets = &s->part[0].targets;
  return d->shares == 1 && targets->lanes &&
         dvt_align_host_threads(targets, query, dvt_device_threads(s->number)) == 1 &&
         dvt_operation_runs_here(s->number, &dvt_align_operation, threads_here(targets, query));
}

static davit_status run_here(const dvt_align_share *s, const dvt_align_query *query) {
  const dvt_align_targets *targets = &s->part[0].targets;
  const dvt_align_work work = {.query = query, .targets = targets, .scores = s->scores};
  return dvt_operation_run_here(s->number, &dvt_align_operation, &work, threads_here(targets, query));
}

static davit_status submit_queries(davit_align_database *d, const dvt_align_query *query) {
  for (int i = 0; i < d->shares; i++)
    DVT_TRY(dvt_align_share_submit(&d->share[i], query));
  return DAVIT_SUCCESS;
}

static davit_status wait_for_queries(const davit_align_database *d) {
  dvt_lane *lanes[2 * DVT_MAX_DEVICES];
  int count = 0;
  for (int i = 0; i < d->shares; i++) {
    lanes[count++] = d->share[i].lane;
    if (d->share[i].copies)
      lanes[count++] = d->share[i].copies;
  }
  return dvt_lanes_synchronize(lanes, count);
}

static davit_status run_queries(davit_align_database *d, const dvt_align_query *query) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, submit_queries(d, query));
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, wait_for_queries(d));
  if (first.status != DAVIT_SUCCESS) /* commands may be under way that read the query */
    close_lanes(d, &first);
  return dvt_error_report(&first);
}

typedef struct gathering {
  const davit_align_database *database;
  int32_t *scores;
} gathering;

static void gather_share(int thread, int team, const void *arguments) {
  const gathering *g = arguments;
  const int64_t count = g->database->count, end = dvt_share_begin(count, thread + 1, team);
  for (int64_t i = dvt_share_begin(count, thread, team); i < end; i++)
    g->scores[i] = *g->database->score[i];
}

/* From the order of lengths to the caller's: reads at random places of memory that a GPU may have written, so many
 * take a team. */
static void gather_scores(const davit_align_database *d, int32_t *scores) {
  dvt_align_on_shares(d->count, gather_share, &(gathering){d, scores});
}

davit_status davit_align_scores(davit_align_database *database, const davit_align_scoring *scoring, int64_t m,
                                const uint8_t *query, int32_t *scores) {
  DVT_TRY(check_query(database, scoring, m, query));
  if (database->count == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_pointer("scores", scores));
  /* Where opening costs less than extending, a gap is opened again instead. */
  davit_align_scoring cheaper = *scoring;
  cheaper.gap_extend = (int32_t)dvt_at_most(cheaper.gap_extend, cheaper.gap_open);
  /* Of a profile only places count, which are told by their addresses; its first m entries have such. */
  const uint8_t *places = scoring->profile ? (const uint8_t *)scoring->profile : query;
  const dvt_align_query q = {&cheaper, m, places, dvt_largest_entry(scoring, m)};
  pthread_mutex_lock(&database->lock);
  davit_status status =
      is_for_caller(database, &q) ? run_here(&database->share[0], &q) : run_queries(database, &q);
  if (status == DAVIT_SUCCESS)
    gather_scores(database, scores);
  pthread_mutex_unlock(&database->lock);
  return status;
}

/* ---- the best ---- */

static bool is_better(const davit_align_hit *a, const davit_align_hit *b) {
  return a->score != b->score ? a->score > b->score : a->target < b->target;
}

static void swap_hits(davit_align_hit *a, davit_align_hit *b) {
  const davit_align_hit moved = *a;
  *a = *b;
  *b = moved;
}

/* Moves the hit at `at` down to its place in a heap whose root is the worst. */
static void sift_down(davit_align_hit *heap, int64_t count, int64_t at) {
  for (int64_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_better(&heap[child], &heap[child + 1]))
      child++;
    if (!is_better(&heap[at], &heap[child]))
      return;
    swap_hits(&heap[at], &heap[child]);
  }
}

static void make_heap(davit_align_hit *hits, int64_t count) {
  for (int64_t at = count / 2 - 1; at >= 0; at--)
    sift_down(hits, count, at);
}

/* The best, best first, by a heap of `top`; their number. */
static int64_t select_hits(int64_t count, const int32_t *scores, int64_t top, davit_align_hit *hits) {
  int64_t kept = 0;
  for (int64_t k = 0; k < count && top > 0; k++) {
    const davit_align_hit hit = {k, scores[k]};
    if (hit.score > 0 && kept < top) {
      hits[kept++] = hit;
      if (kept == top)
        make_heap(hits, kept);
    } else if (hit.score > 0 && is_better(&hit, &hits[0])) {
      hits[0] = hit;
      sift_down(hits, kept, 0);
    }
  }
  if (kept < top)
    make_heap(hits, kept);
  for (int64_t last = kept - 1; last > 0; last--) {
    swap_hits(&hits[0], &hits[last]);
    sift_down(hits, last, 0);
  }
  return kept;
}

davit_status davit_align_search(davit_align_database *database, const davit_align_scoring *scoring, int64_t m,
                                const uint8_t *query, int64_t top, davit_align_hit *hits, int64_t *found) {
  DVT_TRY(check_query(database, scoring, m, query));
  DVT_TRY(dvt_check_length("top", top));
  if (top > 0)
    DVT_TRY(dvt_check_pointer("hits", hits));
  DVT_TRY(dvt_check_pointer("found", found));
  int32_t *scores = dvt_allocate_raw(((size_t)database->count + 1) * sizeof *scores);
  if (!scores)
    return DAVIT_OUT_OF_HOST_MEMORY;
  davit_status status = davit_align_scores(database, scoring, m, query, scores);
  if (status == DAVIT_SUCCESS)
    *found = select_hits(database->count, scores, top, hits);
  free(scores);
  return status;
}
