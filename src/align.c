/* SPDX-License-Identifier: Apache-2.0 */
/* Databases, and queries against them. A database's targets are sorted by length, the longest first, and
 * dealt to the devices in groups of DVT_ALIGN_LANES, so that each device has a share of every length. A
 * query is one command on the lane of each device; what one thread of the CPU does alone, the calling one
 * does. Memory: 9 bytes a target and its symbols, on the host and on each GPU; on the CPU the symbols once
 * more. */
#include <davit/align.h>
#include <davit/memory.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "offload/align.h"
#include "offload/runtime/device.h"
#include "src/align.h"
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

/* The targets of one device. */
typedef struct share {
  int number;     /* of the device */
  dvt_lane *lane; /* NULL after a failure, until it is needed again */
  dvt_align_targets targets;
  dvt_align_device device; /* copies there; NULL on the CPU */
  int32_t *scores;
} share;

struct davit_align_database {
  int process; /* that made it */
  int symbols;
  int64_t count, longest;
  pthread_mutex_t lock;  /* a call at a time */
  const int32_t **score; /* of each target, in its share's scores */
  int shares;
  share share[DVT_MAX_DEVICES];
};

static const dvt_operation operation = {.name = "align",
                                        .bytes = sizeof(dvt_align_work),
                                        .stream = dvt_align_stream,
                                        .host = dvt_align_host,
                                        .region = dvt_align_region,
                                        .region_on_host = true};

/* ---- arguments ---- */

static davit_status check_targets(const davit_align_sequences *targets, int symbols) {
  DVT_TRY(dvt_check_pointer("targets", targets));
  if (symbols < 1 || symbols > DAVIT_ALIGN_SYMBOLS_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "symbols is %d, not 1 to %d", symbols,
                      DAVIT_ALIGN_SYMBOLS_MAXIMUM);
  return dvt_check_sequences("targets", "target", targets, symbols);
}

/* ---- making a database ---- */

typedef struct sized {
  int64_t length, which;
} sized;

/* The longest first, of equal ones the earlier. */
static int by_length(const void *x, const void *y) {
  const sized *a = x, *b = y;
  return a->length != b->length ? (a->length < b->length) - (a->length > b->length)
                                : (a->which > b->which) - (a->which < b->which);
}

static sized *sort_targets(const davit_align_sequences *targets) {
  sized *order = dvt_allocate((size_t)targets->count + 1, sizeof *order);
  for (int64_t k = 0; order && k < targets->count; k++)
    order[k] = (sized){targets->offsets[k + 1] - targets->offsets[k], k};
  if (order)
    qsort(order, (size_t)targets->count, sizeof *order, by_length);
  return order;
}

static int dealt_to(const davit_align_database *d, int64_t place) {
  return (int)(place / DVT_ALIGN_LANES % d->shares);
}

static davit_status fill_share(davit_align_database *d, int index, const davit_align_sequences *targets,
                               const sized *order) {
  share *s = &d->share[index];
  dvt_align_targets *t = &s->targets;
  int64_t bytes = 0, k = 0;
  for (int64_t place = 0; place < d->count; place++)
    if (dealt_to(d, place) == index) {
      t->count++;
      bytes += order[place].length;
    }
  t->offsets = dvt_allocate((size_t)t->count + 1, sizeof *t->offsets);
  t->symbols = dvt_allocate((size_t)bytes + 1, 1);
  if (!t->offsets || !t->symbols)
    return DAVIT_OUT_OF_HOST_MEMORY;
  DVT_TRY(dvt_malloc(((size_t)t->count + 1) * sizeof *s->scores,
                     s->lane->stream ? DAVIT_PINNED : DAVIT_PAGEABLE, (void **)&s->scores));
  for (int64_t place = 0; place < d->count; place++)
    if (dealt_to(d, place) == index) {
      const sized *from = &order[place];
      d->score[from->which] = &s->scores[k];
      t->offsets[k + 1] = t->offsets[k] + from->length;
      if (from->length > 0)
        memcpy(t->symbols + t->offsets[k], targets->symbols + targets->offsets[from->which],
               (size_t)from->length);
      k++;
    }
  return DAVIT_SUCCESS;
}

static int64_t length_of(const dvt_align_targets *t, int64_t k) {
  return k < t->count ? t->offsets[k + 1] - t->offsets[k] : 0;
}

enum {
  LONG = 1 << 16,  /* symbols of a target that is never one of a batch */
  FOLDED = 1 << 12 /* and of one that is folded, at least */
};

/* Whether at least a quarter of a batch would be symbols. */
static bool is_batch(const dvt_align_targets *t, int64_t first) {
  int64_t used = 0;
  if (length_of(t, first) >= LONG)
    return false;
  for (int64_t k = first; k < first + DVT_ALIGN_LANES; k++)
    used += length_of(t, k);
  return 4 * used >= DVT_ALIGN_LANES * length_of(t, first);
}

static void fill_lanes(const dvt_align_targets *t) {
  memset(t->lanes, DVT_ALIGN_PAD, (size_t)t->rows[t->folds + t->batches] * DVT_ALIGN_LANES);
  for (int64_t k = 0; k < t->folds; k++)
    dvt_align_fold(length_of(t, k), t->symbols + t->offsets[k], t->lanes + t->rows[k] * DVT_ALIGN_LANES);
  for (int64_t k = t->singles; k < t->count; k++) {
    const int64_t at = k - t->singles, row = t->rows[t->folds + at / DVT_ALIGN_LANES];
    for (int64_t i = 0; i < length_of(t, k); i++)
      t->lanes[(row + i) * DVT_ALIGN_LANES + at % DVT_ALIGN_LANES] = t->symbols[t->offsets[k] + i];
  }
}

static davit_status make_batches(dvt_align_targets *t) {
  while (t->singles < t->count && !is_batch(t, t->singles))
    t->singles++;
  while (t->folds < t->singles && length_of(t, t->folds) >= FOLDED)
    t->folds++;
  t->batches = dvt_divide_up(t->count - t->singles, DVT_ALIGN_LANES);
  t->rows = dvt_allocate((size_t)(t->folds + t->batches) + 1, sizeof *t->rows);
  if (!t->rows)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int64_t k = 0; k < t->folds; k++)
    t->rows[k + 1] = t->rows[k] + dvt_divide_up(length_of(t, k), DVT_ALIGN_LANES);
  for (int64_t b = 0, k = t->folds; b < t->batches; b++, k++)
    t->rows[k + 1] = t->rows[k] + length_of(t, t->singles + b * DVT_ALIGN_LANES);
  t->lanes = dvt_allocate_aligned((size_t)t->rows[t->folds + t->batches] * DVT_ALIGN_LANES + 64);
  if (!t->lanes)
    return DAVIT_OUT_OF_HOST_MEMORY;
  fill_lanes(t);
  return DAVIT_SUCCESS;
}

/* The targets in the memory of the share's device. */
static davit_status send_targets(share *s) {
  const int device = s->lane->device;
  const dvt_align_targets *t = &s->targets;
  const size_t offsets = ((size_t)t->count + 1) * sizeof *t->offsets,
               symbols = (size_t)t->offsets[t->count] + 1;
  DVT_TRY(dvt_malloc(offsets, device, (void **)&s->device.offsets));
  DVT_TRY(dvt_malloc(symbols, device, (void **)&s->device.symbols));
  DVT_TRY(dvt_malloc(((size_t)t->count + 1) * sizeof *s->scores, device, (void **)&s->device.scores));
  DVT_TRY(davit_copy(offsets, t->offsets, s->device.offsets));
  return davit_copy(symbols, t->symbols, s->device.symbols);
}

static davit_status make_shares(davit_align_database *d, const davit_align_sequences *targets,
                                const int *devices, int count) {
  sized *order = sort_targets(targets);
  d->score = dvt_allocate((size_t)d->count + 1, sizeof *d->score);
  davit_status status = order && d->score ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  d->longest = order && d->count > 0 ? order[0].length : 0;
  d->shares = count;
  for (int i = 0; i < count && status == DAVIT_SUCCESS; i++) {
    d->share[i].number = devices[i];
    status = dvt_lane_open(devices[i], &d->share[i].lane);
    if (status == DAVIT_SUCCESS)
      status = fill_share(d, i, targets, order);
    if (status == DAVIT_SUCCESS)
      status = dvt_path_of(d->share[i].lane, &operation) == DVT_ON_HOST ? make_batches(&d->share[i].targets)
                                                                        : send_targets(&d->share[i]);
  }
  free(order);
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
  dvt_error_keep(&first, make_shares(d, targets, chosen, count));
  if (first.status == DAVIT_SUCCESS)
    *database = d;
  else
    davit_align_database_destroy(d);
  return dvt_error_report(&first);
}

/* Waits for the lanes' commands, also after a failure. */
static void close_lanes(davit_align_database *d, dvt_error *first) {
  for (int i = 0; i < d->shares; i++) {
    if (d->share[i].lane)
      dvt_error_keep(first, dvt_lane_close(d->share[i].lane));
    d->share[i].lane = NULL;
  }
}

davit_status davit_align_database_destroy(davit_align_database *database) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  if (!database || database->process != dvt_process())
    return DAVIT_SUCCESS;
  close_lanes(database, &first);
  for (int i = 0; i < database->shares; i++) {
    share *s = &database->share[i];
    free(s->targets.offsets);
    free(s->targets.symbols);
    free(s->targets.rows);
    free(s->targets.lanes);
    davit_free(s->scores);
    davit_free(s->device.offsets);
    davit_free(s->device.symbols);
    davit_free(s->device.scores);
  }
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
  DVT_TRY(dvt_check_sequence("query", "m", m, query, scoring->symbols));
  return dvt_check_score_range(scoring, m, database->longest);
}

static davit_status run_query(const dvt_site *site, const void *work) {
  return dvt_operation_run(site, &operation, work);
}

static davit_status submit_queries(davit_align_database *d, const dvt_align_query *query) {
  for (int i = 0; i < d->shares; i++) {
    share *s = &d->share[i];
    const int units = dvt_device_find(s->number)->info.compute_units;
    const dvt_align_work work = {.query = query,
                                 .targets = &s->targets,
                                 .device = &s->device,
                                 .scores = s->scores,
                                 .threads = dvt_tuned(s->number, DVT_TUNE_ALIGN_TEAM_THREADS, 0),
                                 .teams = dvt_tuned(s->number, DVT_TUNE_ALIGN_TEAMS, 0) * units};
    if (!s->lane)
      DVT_TRY(dvt_lane_open(s->number, &s->lane));
    if (s->targets.count > 0)
      DVT_TRY(dvt_lane_submit(s->lane, DVT_BLOCKING, run_query, &work, sizeof work));
  }
  return DAVIT_SUCCESS;
}

/* Of a query of 300 proteins' residues. */
davit_status dvt_align_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  return dvt_align_fit(stream, 300, 24, dvt_tuned(device, DVT_TUNE_ALIGN_TEAM_THREADS, 0), fit);
}

/* Short is what takes some milliseconds at most. */
static int threads_here(const share *s, const dvt_align_query *query) {
  const double short_cells = 1 << 24, cells = (double)query->m * (double)s->targets.offsets[s->targets.count];
  return cells <= short_cells ? DVT_ALONE : 1;
}

/* Whether one thread of the CPU does the whole query: then the calling one does, without the way to a lane and back. */
static bool is_for_caller(const davit_align_database *d, const dvt_align_query *query) {
  const share *s = &d->share[0];
  return d->shares == 1 && s->targets.lanes &&
         dvt_align_host_threads(&s->targets, query, dvt_device_threads(s->number)) == 1 &&
         dvt_operation_runs_here(s->number, &operation, threads_here(s, query));
}

static davit_status run_here(const share *s, const dvt_align_query *query) {
  const dvt_align_work work = {.query = query, .targets = &s->targets, .scores = s->scores};
  return dvt_operation_run_here(s->number, &operation, &work, threads_here(s, query));
}

static davit_status wait_for_queries(const davit_align_database *d) {
  dvt_lane *lanes[DVT_MAX_DEVICES];
  for (int i = 0; i < d->shares; i++)
    lanes[i] = d->share[i].lane;
  return dvt_lanes_synchronize(lanes, d->shares);
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
  const dvt_align_query q = {&cheaper, m, query, dvt_largest_entry(scoring)};
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
  int32_t *scores = dvt_allocate((size_t)database->count + 1, sizeof *scores);
  if (!scores)
    return DAVIT_OUT_OF_HOST_MEMORY;
  davit_status status = davit_align_scores(database, scoring, m, query, scores);
  if (status == DAVIT_SUCCESS)
    *found = select_hits(database->count, scores, top, hits);
  free(scores);
  return status;
}
