/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of alignments on an NVIDIA device: two targets side by side in 16 bits; those whose score may not
 * fit are computed again one by one in 32 bits. A query of more columns than a warp has goes in strips, whose
 * borders pass through memory. A target so long that others would wait for its warp has all of the device
 * (align_wavefront.h). */
#include <stdlib.h>
#include <string.h>

#include "offload/align.h"
#include "offload/align_reader.h"
#include "offload/align_wavefront.h"
#include "offload/runtime/launch.h"
#include "offload/warp.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"

enum {
  SEARCH_THREADS = 256, /* at most */
  WIDE_COLUMNS = 16,    /* of a lane, where scores have 32 bits */
  PAIR_THREADS = 128,   /* measured on an H200; `davit tune` may have found others */
  BORDER_BYTES = 8,     /* of a row */
  MAX_SCORE = (1 << 30) -
              128 /* so that no sum in 32 bits overflows, for any cost of gaps and any entry of a matrix */
};

/* Maximum rows of the borders of one chunk; two targets side by side share rows. */
#ifndef BORDER_ROWS
#define BORDER_ROWS (INT64_C(1) << 27)
#endif

#define EACH "offload/align_kernel.inc"
#define KIND two
#define ALL_SHAPES
#include "offload/each_shape.inc"

/* For scores that do not fit 16 bits. */
#define EACH "offload/align_kernel.inc"
#define KIND one
#define T int32_t
#define ONE_SHAPE
#include "offload/each_shape.inc"

/* A way to work: strips of the query, in pairs of 16 bits or alone in 32. */
typedef struct way {
  bool pairs;
  dvt_shape shape;
  int64_t strips, columns; /* of a strip */
  size_t profile_bytes;    /* of a strip */
} way;

/* A shape of 32 lanes for strips: for them only some have kernels. */
static dvt_shape strip_shape_of(int64_t m) {
  static const int index[] = {3, 4, 8}; /* 28, 32 and 40 columns */
  dvt_shape best = {0};
  int64_t minimum = INT64_MAX;
  for (int i = 0; i < 3; i++) {
    const int64_t columns = dvt_shape_columns(index[i]),
                  cost = dvt_divide_up(m, 32 * columns) * dvt_shape_cost(32, columns);
    if (cost >= minimum)
      continue;
    minimum = cost;
    best = (dvt_shape){index[i], columns, 32, dvt_shape_chunk(columns, true)};
  }
  return best;
}

static dvt_shape wide_shape_of(int64_t m) {
  dvt_shape shape = {0, WIDE_COLUMNS, 1, dvt_shape_chunk(WIDE_COLUMNS, false)};
  while (shape.lanes < 32 && shape.lanes * WIDE_COLUMNS < m)
    shape.lanes *= 2;
  return shape;
}

static way way_of(const dvt_align_query *q, bool pairs) {
  way w = {.pairs = pairs};
  w.shape = !pairs                    ? wide_shape_of(q->m)
            : q->m <= DVT_MAX_COLUMNS ? dvt_shape_of(q->m, true, DVT_ALL_SHAPES)
                                      : strip_shape_of(q->m);
  w.columns = w.shape.lanes * w.shape.columns;
  w.strips = dvt_divide_up(q->m, w.columns);
  w.profile_bytes = (size_t)((q->scoring->symbols + 1) * w.shape.lanes * w.shape.chunk);
  return w;
}

/* Whole warps, and whole groups of lanes. */
static int threads_of(int64_t wanted) {
  return wanted > 0 ? (int)dvt_at_least(dvt_at_most(wanted, SEARCH_THREADS) / 32, 1) * 32 : PAIR_THREADS;
}

static bool fits_pairs(const dvt_align_query *q) {
  return (int64_t)q->scoring->gap_open + q->scoring->gap_extend <= INT16_MAX + INT8_MIN;
}

static bool fits_stream(const dvt_align_targets *t, const dvt_align_query *q) {
  const int64_t longest = t->count > 0 ? t->offsets[1] : 0, diagonal = dvt_at_most(q->m, longest);
  return q->m > 0 && q->m < INT32_MAX && longest < INT32_MAX - 32 && diagonal * q->largest <= MAX_SCORE &&
         t->count < INT32_MAX;
}

/* ---- long targets ---- */

#define SEARCH_RATE 3e12     /* cells a second of many targets, measured on an H200 */
#define COLUMN_SECONDS 15e-9 /* of a warp: a row of a strip whose lanes have 1 column, beside other warps */
enum { MOST_WAVES = 64 };

/* Seconds of a search of the targets from k on. */
static double search_seconds(const dvt_align_targets *t, const dvt_align_query *q, int64_t k) {
  if (k == t->count)
    return 0;
  const way w = way_of(q, fits_pairs(q));
  const double warp = (double)(w.strips * dvt_align_length(t, k) * w.shape.columns) * COLUMN_SECONDS,
               all = (double)q->m * (double)(t->offsets[t->count] - t->offsets[k]) / SEARCH_RATE;
  return warp > all ? warp : all;
}

/* How many of the longest targets are best aligned one after the other. */
static int64_t waves_of(const dvt_align_targets *t, const dvt_align_query *q) {
  const dvt_align_costs costs = dvt_align_costs_of(q);
  double wavefronts = 0, fastest = search_seconds(t, q, 0);
  int64_t best = 0;
  for (int64_t k = 0; k < t->count && k < MOST_WAVES && dvt_align_length(t, k) > 0; k++) {
    if (!dvt_align_wavefront_fits(&costs, q->m, dvt_align_length(t, k)))
      break;
    wavefronts += dvt_align_wavefront_seconds(q->m, dvt_align_length(t, k));
    const double seconds = wavefronts + search_seconds(t, q, k + 1);
    if (seconds < fastest) {
      fastest = seconds;
      best = k + 1;
    }
  }
  return best;
}

/* ---- memory ---- */

/* Of targets `first` to `last`. */
static int64_t rows_of(const dvt_align_targets *t, int64_t first, int64_t last, bool pairs) {
  const int64_t rows = t->offsets[last + 1] - t->offsets[first];
  return pairs ? dvt_divide_up(rows + dvt_align_length(t, first), 2) : rows;
}

static int64_t border_rows(const dvt_align_targets *t, const dvt_align_query *q) {
  const int64_t all = rows_of(t, 0, t->count - 1, fits_pairs(q));
  if (way_of(q, false).strips == 1)
    return 0;
  return dvt_at_most(all, dvt_at_least(BORDER_ROWS, dvt_align_length(t, 0)));
}

/* Of the device: the counter of a launch's items, profiles of all strips, a list of targets, borders, what long targets
 * need. */
typedef struct stream_memory {
  uint32_t *counter;
  char *profiles;
  int32_t *list;
  void *border, *wavefront;
  size_t bytes;
  int64_t wavefronts; /* long targets */
} stream_memory;

static stream_memory lay_out(const dvt_align_targets *t, const dvt_align_query *q, char *memory) {
  size_t profiles = 0;
  for (int pairs = 0; pairs < 2; pairs++) {
    const way w = way_of(q, pairs);
    const size_t bytes = dvt_aligned_up((size_t)w.strips * w.profile_bytes);
    profiles = bytes > profiles ? bytes : profiles;
  }
  const size_t list = dvt_aligned_up((size_t)t->count * sizeof(int32_t));
  const int64_t wavefronts = waves_of(t, q);
  const dvt_align_costs costs = dvt_align_costs_of(q);
  const size_t border = dvt_aligned_up((size_t)border_rows(t, q) * BORDER_BYTES),
               wavefront =
                   wavefronts > 0 ? dvt_align_wavefront_bytes(&costs, q->m, dvt_align_length(t, 0), 0) : 0;
  stream_memory m = {.bytes = DVT_ALIGNMENT + profiles + list + border + wavefront, .wavefronts = wavefronts};
  if (memory) {
    m.counter = (uint32_t *)(void *)memory;
    m.profiles = memory + DVT_ALIGNMENT;
    m.list = (int32_t *)(void *)(m.profiles + profiles);
    m.border = m.profiles + profiles + list;
    m.wavefront = m.profiles + profiles + list + border;
  }
  return m;
}

/* ---- profiles ---- */

static void fill_strip(const dvt_align_query *q, const way *w, int64_t strip, char *profile) {
  const davit_align_scoring *s = q->scoring;
  const int64_t begin = strip * w->columns, end = dvt_at_most(begin + w->columns, q->m);
  for (int t = 0; t < s->symbols; t++)
    for (int64_t j = begin; j < end; j++) {
      const int8_t score = dvt_align_entry(q, j, t);
      char *to = profile + t * w->shape.lanes * w->shape.chunk +
                 dvt_profile_place(j - begin, w->shape.columns, w->shape.chunk, w->pairs);
      if (w->pairs)
        *to = score;
      else
        memcpy(to, &(int32_t){score}, sizeof(int32_t));
    }
}

static davit_status send_profiles(dvt_stream *stream, const dvt_align_query *q, const way *w, char *to) {
  const size_t bytes = (size_t)w->strips * w->profile_bytes;
  char *profiles = dvt_allocate(bytes, 1);
  if (!profiles)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int64_t strip = 0; strip < w->strips; strip++)
    fill_strip(q, w, strip, profiles + (size_t)strip * w->profile_bytes);
  davit_status status = dvt_stream_copy_bytes(stream, to, profiles, bytes),
               end = dvt_stream_synchronize(stream);
  free(profiles);
  return status == DAVIT_SUCCESS ? end : status;
}

/* ---- launches ---- */

/* What all launches of a query share: targets first … count - 1, of `list`, the host's, or in their order. */
typedef struct search {
  dvt_stream *stream;
  const dvt_align_targets *targets;
  const dvt_align_device *device;
  const dvt_align_query *query;
  stream_memory memory;
  int threads;   /* of a team */
  int64_t teams; /* at most; 0: as many as run at once */
  const int32_t *list;
  int64_t first, count;
} search;

static dvt_kernel *kernel_of(const way *w) {
  static dvt_kernel whole[DVT_ALL_SHAPES] = {
      DVT_KERNEL(search_region_two_16), DVT_KERNEL(search_region_two_20), DVT_KERNEL(search_region_two_24),
      DVT_KERNEL(search_region_two_28), DVT_KERNEL(search_region_two_32), DVT_KERNEL(search_region_two_26),
      DVT_KERNEL(search_region_two_30), DVT_KERNEL(search_region_two_36), DVT_KERNEL(search_region_two_40),
      DVT_KERNEL(search_region_two_44), DVT_KERNEL(search_region_two_48)};
  static dvt_kernel strip[DVT_ALL_SHAPES] = {[3] = DVT_KERNEL(strip_region_two_28),
                                             [4] = DVT_KERNEL(strip_region_two_32),
                                             [8] = DVT_KERNEL(strip_region_two_40)};
  static dvt_kernel wide[] = {DVT_KERNEL(search_region_one_16), DVT_KERNEL(strip_region_one_16)};
  return !w->pairs ? &wide[w->strips > 1] : &(w->strips > 1 ? strip : whole)[w->shape.index];
}

static davit_status launch_strip(const search *s, const way *w, int64_t strip, int64_t first, int64_t count) {
  dvt_kernel *kernel = kernel_of(w);
  int residents;
  DVT_TRY(dvt_launch_residents(kernel, s->stream, s->threads, w->profile_bytes, &residents));
  const int64_t most = s->teams > 0 ? dvt_at_most(s->teams, residents) : residents,
                groups = s->threads / w->shape.lanes, items = dvt_divide_up(count, w->pairs ? 2 : 1);
  const davit_align_scoring *scoring = s->query->scoring;
  DVT_TRY(dvt_stream_fill(s->stream, s->memory.counter, 0, sizeof *s->memory.counter));
  return dvt_launch(
      kernel, s->stream, dvt_at_most(most, dvt_divide_up(items, groups)), s->threads, w->profile_bytes,
      DVT_ARGUMENTS(s->memory.profiles + (size_t)strip * w->profile_bytes, scoring->symbols,
                    w->shape.lanes * w->shape.chunk, s->device->symbols, s->device->offsets,
                    s->list ? s->memory.list : NULL, first, count, s->device->scores, s->memory.border,
                    strip > 0, strip + 1 < w->strips, w->shape.lanes, s->threads,
                    dvt_at_most(scoring->gap_open, MAX_SCORE), dvt_at_most(scoring->gap_extend, MAX_SCORE),
                    s->memory.counter, s->device->scores + s->targets->count,
                    w->pairs ? INT16_MAX - s->query->largest : INT32_MAX));
}

davit_status dvt_align_fit(dvt_stream *stream, int64_t columns, int symbols, int64_t threads,
                           dvt_kernel_fit *fit) {
  const davit_align_scoring scoring = {.symbols = symbols};
  const way w = way_of(&(dvt_align_query){.scoring = &scoring, .m = columns}, true);
  return dvt_launch_fit_of(kernel_of(&w), stream, threads_of(threads), w.profile_bytes, fit);
}

static int64_t target_at(const search *s, int64_t i) {
  return s->list ? s->list[i] : i;
}

/* Where the targets end that fit the borders' memory together with target `first`. */
static int64_t end_of_chunk(const search *s, const way *w, int64_t first) {
  const int64_t rows = border_rows(s->targets, s->query);
  int64_t end = first + 1, beyond = s->count + 1;
  if (w->strips == 1)
    return s->count;
  while (end + 1 < beyond) {
    const int64_t middle = end + (beyond - end) / 2;
    if (rows_of(s->targets, target_at(s, first), target_at(s, middle - 1), w->pairs) <= rows)
      end = middle;
    else
      beyond = middle;
  }
  return end;
}

static davit_status run_way(const search *s, bool pairs) {
  const way w = way_of(s->query, pairs);
  DVT_TRY(send_profiles(s->stream, s->query, &w, s->memory.profiles));
  for (int64_t first = s->first, end; first < s->count; first = end) {
    end = end_of_chunk(s, &w, first);
    for (int64_t strip = 0; strip < w.strips; strip++)
      DVT_TRY(launch_strip(s, &w, strip, first, end - first));
  }
  return DAVIT_SUCCESS;
}

/* The scores, and behind them whether one is above the launch's limit. */
static davit_status download(const search *s, int32_t *scores) {
  DVT_TRY(dvt_stream_copy_bytes(s->stream, scores, s->device->scores,
                                ((size_t)s->targets->count + 1) * sizeof *scores));
  return dvt_stream_synchronize(s->stream);
}

static davit_status run_list(search *s, const int32_t *list, int32_t *scores) {
  DVT_TRY(dvt_stream_copy_bytes(s->stream, s->memory.list, list, (size_t)s->count * sizeof *list));
  DVT_TRY(run_way(s, false));
  return download(s, scores);
}

/* Computes what may not fit 16 bits again. */
static davit_status run_wide(search *s, int32_t *scores) {
  int32_t *list = dvt_allocate_raw((size_t)s->targets->count * sizeof *list);
  if (!list)
    return DAVIT_OUT_OF_HOST_MEMORY;
  int64_t count = 0;
  for (int64_t k = s->first; k < s->targets->count; k++)
    if (scores[k] > INT16_MAX - s->query->largest)
      list[count++] = (int32_t)k;
  s->list = list;
  s->first = 0;
  s->count = count;
  const davit_status status = run_list(s, list, scores);
  if (status != DAVIT_SUCCESS)
    dvt_stream_synchronize(s->stream); /* it may still read the list */
  free(list);
  return status;
}

static davit_status run_search(search *s, int32_t *scores) {
  const bool pairs = fits_pairs(s->query);
  if (s->first == s->count)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_fill(s->stream, s->device->scores + s->targets->count, 0, sizeof *s->device->scores));
  DVT_TRY(run_way(s, pairs));
  DVT_TRY(download(s, scores));
  return pairs && scores[s->targets->count] ? run_wide(s, scores) : DAVIT_SUCCESS;
}

/* The first targets, one after the other. */
static davit_status run_waves(const search *s, void *staging, int32_t *scores) {
  const dvt_align_targets *t = s->targets;
  const dvt_align_query *q = s->query;
  const dvt_align_costs costs = dvt_align_costs_of(q);
  dvt_align_wavefront wavefront;
  dvt_align_cell best;
  DVT_TRY(dvt_align_wavefront_open(s->stream, &costs, q->m, q->symbols, dvt_align_length(t, 0), t->symbols,
                                   s->device->symbols, 0, s->memory.wavefront, staging, &wavefront));
  for (int64_t k = 0; k < s->memory.wavefronts; k++) {
    const dvt_align_stretch all = {q->symbols, t->symbols + t->offsets[k], q->m, dvt_align_length(t, k), 1};
    DVT_TRY(dvt_align_wavefront_best(&wavefront, &all, true, false, &best));
    scores[k] = (int32_t)best.score;
  }
  return DAVIT_SUCCESS;
}

/* `staging` has room for a wavefront's, where there is one. */
static davit_status run(search *s, void *staging, int32_t *scores) {
  s->first = s->memory.wavefronts;
  DVT_TRY(run_search(s, scores));
  return s->memory.wavefronts > 0 ? run_waves(s, staging, scores) : DAVIT_SUCCESS;
}

davit_status dvt_align_stream(const dvt_site *site, const void *work) {
  const dvt_align_work *a = work;
  if (!fits_stream(a->targets, a->query))
    return dvt_align_region(site, work);
  void *memory;
  DVT_TRY(site->workspace(site, lay_out(a->targets, a->query, NULL).bytes, &memory));
  search s = {.stream = site->stream,
              .targets = a->targets,
              .device = a->device,
              .query = a->query,
              .memory = lay_out(a->targets, a->query, memory),
              .threads = threads_of(a->threads),
              .teams = a->teams,
              .count = a->targets->count};
  void *staging = dvt_allocate(s.memory.wavefronts ? dvt_align_wavefront_staging_bytes(a->query->m) : 1, 1);
  const davit_status status = staging ? run(&s, staging, a->scores) : DAVIT_OUT_OF_HOST_MEMORY;
  if (status != DAVIT_SUCCESS)
    dvt_stream_synchronize(site->stream); /* what was enqueued still uses the caller's memory */
  free(staging);
  return status;
}
