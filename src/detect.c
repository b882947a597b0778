/* SPDX-License-Identifier: Apache-2.0 */
/* Detection on devices. A detector holds what depends on effects and options: unit vectors of the effects,
 * on the host and on each device, and the orders of a whole window. A call makes the stream's frames unit
 * vectors and deals out portions of windows, which devices take until none is left.
 *
 * A device's worker takes a portion, gets its scores from the device, and judges them on the host's
 * threads. A GPU has three workers, two of which may have it compute at a time, so that one portion is copied or
 * judged while others are computed. (Two workers alone come to judge at the same time: a GPU shares its time between
 * them, so they end together, and it has nothing to do.) Portions become smaller towards the end. A window that
 * the stream's end cuts short is a portion of its own, with orders of its own. Memory: the effects and
 * orders twice, the stream once, portion_bytes of scores a worker.
 *
 * With the stream's null distribution such a search runs without permutations, and then, for each effect,
 * in its segments and in the windows drawn (ref/detect_null.h); portions of drawn_bytes of these are
 * streams of their own. */
#include <davit/detect.h>
#include <davit/memory.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/detect.h"
#include "offload/runtime/device.h"
#include "ref/detect.h"
#include "ref/detect_null.h"
#include "ref/permutation.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/limit.h"
#include "src/base/team.h"
#include "src/detect_effects.h"
#include "src/runtime/operation.h"
#include "src/runtime/place.h"
#include "src/runtime/tuning.h"
#include "src/shape.h"

enum {
  UNIT = 32, /* windows: what a CPU's vectors hold */
  GPU_WORKERS = 3,
  GPU_SCORING = 2,  /* of these, at a time */
  GPU_PORTIONS = 4, /* of a worker */
  GPU_PORTION_RUNS = 1 << 18,
  GPU_LAST_RUNS = 1 << 16,
  GPU_PORTION_WINDOWS = 4096 /* at most: each has a profile in the GPU's memory */
};
static const int64_t portion_bytes = INT64_C(1) << 26, /* of scores */
    drawn_bytes = INT64_C(1) << 26;                    /* of frames */

struct davit_detector {
  int process;                  /* that made it */
  davit_detect_options options; /* resolved */
  int width;
  dvt_detect_effects effects; /* with options.bands not yet vectors */
  uint16_t *orders;           /* of whole windows */
  int memory;                 /* place of what is copied to devices: pinned if one has memory of its own */
  int device_count;
  int devices[DVT_MAX_DEVICES];
};

/* ---- arguments ---- */

static davit_status in_range(const char *member, double given, double low, double high) {
  return given >= low && given <= high
             ? DAVIT_SUCCESS
             : davit_fail(DAVIT_INVALID_ARGUMENT, "options->%s is %.10g, not %g to %g", member, given, low,
                          high);
}

/* Resolved ones. */
static davit_status check_options(const davit_detect_options *o) {
  DVT_TRY(DVT_CHECK_OPTIONS(o));
  DVT_TRY(in_range("window", (double)o->window, 1, (double)DAVIT_DETECT_WINDOW_MAXIMUM));
  DVT_TRY(in_range("hop", (double)o->hop, 0, (double)o->window));
  DVT_TRY(in_range("threshold", o->threshold, 0, 100));
  DVT_TRY(in_range("gap_penalty", o->gap_penalty, 0, (double)DAVIT_DETECT_GAP_PENALTY_MAXIMUM));
  DVT_TRY(in_range("permutations", (double)o->permutations, 1, (double)DAVIT_DETECT_PERMUTATIONS_MAXIMUM));
  DVT_TRY(in_range("block", (double)o->block, 1, (double)DAVIT_DETECT_WINDOW_MAXIMUM));
  DVT_TRY(in_range("alpha", o->alpha, 0, 1));
  DVT_TRY(in_range("coverage", o->coverage, 0, 1));
  DVT_TRY(in_range("floor_db", o->floor_db, 0, (double)INFINITY));
  DVT_TRY(in_range("effect_floor_db", o->effect_floor_db, 0, (double)INFINITY));
  DVT_TRY(in_range("bands", (double)o->bands, 0, INT_MAX));
  if (o->null != DAVIT_DETECT_NULL_WINDOW && o->null != DAVIT_DETECT_NULL_STREAM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->null is %d, no davit_detect_null", (int)o->null);
  return DAVIT_SUCCESS;
}

static bool is_finite_frame(int width, const float *features) {
  int bad = 0;
  for (int k = 0; k < width; k++)
    bad |= !(fabsf(features[k]) <= FLT_MAX);
  return !bad;
}

/* INT64_MAX: none of [begin, end). */
static int64_t first_bad_frame(int64_t begin, int64_t end, int width, const float *features) {
  for (int64_t f = begin; f < end; f++)
    if (!is_finite_frame(width, features + f * width))
      return f;
  return INT64_MAX;
}

/* Names the first feature that is not finite, of an effect or, with -1, of the stream. */
static davit_status check_finite(int effect, int64_t frames, int width, const float *features) {
  const int threads = dvt_detect_threads(frames * width);
  int64_t i = INT64_MAX;
  if (threads == 1) {
    i = first_bad_frame(0, frames, width, features);
  } else {
    const dvt_team team = dvt_team_begin(threads);
#pragma omp parallel for num_threads(team.threads) schedule(static) reduction(min : i)
    for (int part = 0; part < threads; part++) {
      const int64_t bad =
          first_bad_frame(part * frames / threads, (part + 1) * frames / threads, width, features);
      i = bad < i ? bad : i;
    }
    dvt_team_end(&team);
  }
  if (i == INT64_MAX)
    return DAVIT_SUCCESS;
  int k = 0;
  while (isfinite(features[i * width + k]))
    k++;
  char name[24] = "stream";
  if (effect >= 0)
    snprintf(name, sizeof name, "effects[%d]", effect);
  return davit_fail(DAVIT_INVALID_ARGUMENT, "%s: frame %lld: feature %d is %g", name, (long long)i, k,
                    (double)features[i * width + k]);
}

static davit_status check_effects(int width, int count, const davit_detect_effect *effects,
                                  const davit_detect_options *o) {
  if (width < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "width is %d, less than 1", width);
  if (2 * o->bands > width)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->bands is %lld, more than half the width %d",
                      (long long)o->bands, width);
  DVT_TRY(dvt_check_length("effect_count", count));
  if (count > 0)
    DVT_TRY(dvt_check_pointer("effects", effects));
  for (int e = 0; e < count; e++) {
    if (effects[e].frames < 1 || effects[e].frames > o->window)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "effects[%d] has %lld frames, not 1 to the window's %lld", e,
                        (long long)effects[e].frames, (long long)o->window);
    if (!effects[e].features)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "effects[%d].features is NULL", e);
    DVT_TRY(check_finite(e, effects[e].frames, width, effects[e].features));
  }
  return DAVIT_SUCCESS;
}

davit_status davit_detect_defaults(davit_detect_options *options) {
  DVT_TRY(dvt_check_pointer("options", options));
  *options = dvt_detect_resolved(NULL);
  return DAVIT_SUCCESS;
}

davit_status davit_detect_windows(int64_t frames, int64_t *windows, const davit_detect_options *options) {
  const davit_detect_options o = dvt_detect_resolved(options);
  DVT_TRY(dvt_check_length("frames", frames));
  DVT_TRY(dvt_check_pointer("windows", windows));
  DVT_TRY(check_options(&o));
  *windows = dvt_detect_windows(frames, &o);
  return DAVIT_SUCCESS;
}

davit_status davit_detect_permutation(uint64_t seed, int64_t r, int64_t n, int64_t block, uint16_t *order) {
  DVT_TRY(dvt_check_length("r", r));
  if (n < 1 || n > DAVIT_DETECT_WINDOW_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld, not 1 to %d", (long long)n,
                      DAVIT_DETECT_WINDOW_MAXIMUM);
  if (block < 1 || block > DAVIT_DETECT_WINDOW_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "block is %lld, not 1 to %d", (long long)block,
                      DAVIT_DETECT_WINDOW_MAXIMUM);
  DVT_TRY(dvt_check_pointer("order", order));
  dvt_block_permutation(seed, (uint64_t)r, (int)n, (int)block, order);
  return DAVIT_SUCCESS;
}

/* ---- the detector ---- */

/* The orders of windows of so many frames, for davit_free(). */
static davit_status make_orders(const davit_detector *d, int64_t permutations, int64_t length,
                                uint16_t **orders) {
  const davit_detect_options *o = &d->options;
  uint16_t *made;
  DVT_TRY(davit_malloc((size_t)((permutations + 1) * length) * sizeof *made, d->memory, (void **)&made));
  enum { COST = 4 }; /* of a number of an order, in features */
  const dvt_team team = dvt_team_begin(dvt_detect_threads(COST * permutations * length));
#pragma omp parallel for num_threads(team.threads) schedule(static)
  for (int64_t r = 0; r <= permutations; r++)
    dvt_block_permutation(o->seed, (uint64_t)r, (int)length, (int)o->block, made + r * length);
  dvt_team_end(&team);
  *orders = made;
  return DAVIT_SUCCESS;
}

/* Effects without vectors are not sent yet. */
static davit_status make_effects(davit_detector *d, int count, const davit_detect_effect *effects) {
  DVT_TRY(dvt_detect_effects_make(d->width, count, effects, &d->options, &d->effects));
  return d->options.bands > 0 ? DAVIT_SUCCESS
                              : dvt_detect_effects_send(&d->effects, d->device_count, d->devices);
}

davit_status davit_detector_create(int width, int effect_count, const davit_detect_effect *effects,
                                   davit_detector **detector, const davit_detect_options *options) {
  const davit_detect_options o = dvt_detect_resolved(options);
  int devices[DVT_MAX_DEVICES], count;
  DVT_TRY(check_options(&o));
  DVT_TRY(check_effects(width, effect_count, effects, &o));
  DVT_TRY(dvt_check_pointer("detector", detector));
  DVT_TRY(DVT_CHOOSE_DEVICES(&o, devices, &count));
  davit_detector *d = dvt_allocate(1, sizeof *d);
  if (!d)
    return DAVIT_OUT_OF_HOST_MEMORY;
  *d = (davit_detector){.process = dvt_process(),
                        .options = o,
                        .width = width,
                        .memory = dvt_place_any_gpu(devices, count) ? DAVIT_PINNED : DAVIT_PAGEABLE,
                        .device_count = count};
  memcpy(d->devices, devices, (size_t)count * sizeof *devices);
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, make_effects(d, effect_count, effects));
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, make_orders(d, dvt_detect_shuffles(&o), o.window, &d->orders));
  if (first.status == DAVIT_SUCCESS)
    *detector = d;
  else
    davit_detector_destroy(d);
  return dvt_error_report(&first);
}

davit_status davit_detector_destroy(davit_detector *detector) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  if (!detector)
    return DAVIT_SUCCESS;
  dvt_error_keep(&first, dvt_detect_effects_free(&detector->effects));
  dvt_error_keep(&first, davit_free(detector->orders));
  free(detector);
  return dvt_error_report(&first);
}

/* ---- portions ---- */

/* A search: some effects, in a stream of vectors, in windows and with permutations as the
 * options say. */
typedef struct request {
  davit_detect_options options; /* resolved */
  int64_t frames;
  const float *stream;
  const dvt_detect_effects *effects;
  int first_effect, effect_count; /* of these */
  const uint16_t *orders;         /* of whole windows */
  davit_detect_hit *hits;         /* windows x effects, or */
  float *scores;                  /* of one effect, if only these are wanted */
} request;

/* What the workers of a search share. Windows [0, whole) have the full length, a last one may be shorter. */
typedef struct detection {
  const davit_detector *detector;
  const request *request;
  dvt_detect_task task; /* of all whole windows; scores and `transposed` belong to workers */
  uint16_t *short_orders;
  int64_t windows, whole, short_length; /* 0: no shorter window */
  int64_t portion, smallest;            /* windows that a worker takes at a time */
  int gpus;                             /* that share the host's threads for judging */
  int workers;
  atomic_llong next; /* the first window that nobody has taken */
} detection;

static davit_status prepare(detection *d) {
  const davit_detector *detector = d->detector;
  const request *request = d->request;
  const davit_detect_options *o = &request->options;
  const int64_t last = dvt_detect_length(request->frames, o, d->windows - 1);
  const dvt_detect_gaps gaps = dvt_detect_gaps_of(o);
  d->short_length = last < o->window ? last : 0;
  d->whole = d->windows - (d->short_length ? 1 : 0);
  if (d->short_length)
    DVT_TRY(make_orders(detector, dvt_detect_shuffles(o), d->short_length, &d->short_orders));
  d->task = (dvt_detect_task){.width = detector->width,
                              .windows = d->whole,
                              .window = o->window,
                              .hop = dvt_detect_hop(o),
                              .stream = request->stream,
                              .effect_count = request->effect_count,
                              .effects = request->effects->ranges + request->first_effect,
                              .features = request->effects->frames,
                              .runs = dvt_detect_shuffles(o) + 1,
                              .orders = request->orders,
                              .threshold = (float)o->threshold,
                              .gap_open = gaps.open,
                              .gap_extend = gaps.extend,
                              .round = o->round};
  return DAVIT_SUCCESS;
}

/* Windows [begin, end) as a task. */
static dvt_detect_task portion_of(const detection *d, int64_t begin, int64_t end, const float *transposed,
                                  float *scores) {
  dvt_detect_task t = d->task;
  t.windows = end - begin;
  t.stream += begin * t.hop * t.width;
  t.transposed = transposed;
  t.scores = scores;
  if (begin == d->whole) {
    t.window = d->short_length;
    t.orders = d->short_orders;
  }
  return t;
}

/* The end of the portion that begins with window `begin`. */
static int64_t portion_end(const detection *d, int64_t begin) {
  const int64_t left = d->whole - begin, share = dvt_divide_up(left, d->workers),
                wanted = dvt_at_most(dvt_at_least(share, d->smallest), d->portion);
  return left > 0 ? begin + dvt_at_most(wanted, left) : begin + 1; /* the shorter window */
}

/* The next portion; false: there is none left. */
static bool take_portion(detection *d, int64_t *begin, int64_t *end) {
  long long next = atomic_load(&d->next);
  do {
    if (next >= d->windows)
      return false;
    *begin = next;
    *end = portion_end(d, next);
  } while (!atomic_compare_exchange_weak(&d->next, &next, *end));
  return true;
}

/* Windows first … of a portion that begins with window `begin`, as many as are traced together, and effect e.
 */
static void judge_windows(const detection *d, const dvt_detect_task *t, int64_t begin, int64_t first, int e,
                          void *memory) {
  const int64_t count = dvt_at_most(t->windows - first, DVT_DETECT_TRACED);
  int64_t onset[DVT_DETECT_TRACED], offset[DVT_DETECT_TRACED];
  dvt_detect_trace(t, e, first, count, memory, onset, offset);
  for (int64_t k = 0; k < count; k++) {
    const float *scores = t->scores + ((first + k) * t->effect_count + e) * t->runs;
    const int64_t window = begin + first + k, frame = window * t->hop;
    davit_detect_hit *result = &d->request->hits[window * t->effect_count + e];
    *result = (davit_detect_hit){.window = window,
                                 .effect = d->request->first_effect + e,
                                 .onset = frame + onset[k],
                                 .offset = frame + offset[k],
                                 .score = scores[0]};
    if (t->runs > 1)
      dvt_ref_detect_judge(d->request->effects->full[result->effect], scores + 1, &d->request->options,
                           result);
  }
}

static davit_status judge_portion(const detection *d, const dvt_detect_task *t, int64_t begin, int threads) {
  if (d->request->scores) {
    memcpy(d->request->scores + begin, t->scores, (size_t)t->windows * sizeof *t->scores);
    return DAVIT_SUCCESS;
  }
  const int64_t groups = dvt_divide_up(t->windows, DVT_DETECT_TRACED);
  atomic_bool failed = false;
  const dvt_team team = dvt_team_begin((int)dvt_at_most(groups * t->effect_count, threads));
#pragma omp parallel num_threads(team.threads)
  {
    void *memory = dvt_allocate_aligned(dvt_detect_trace_bytes(t));
    if (!memory)
      atomic_store(&failed, true);
#pragma omp for schedule(dynamic)
    for (int64_t i = 0; i < groups * t->effect_count; i++)
      if (memory)
        judge_windows(d, t, begin, i / t->effect_count * DVT_DETECT_TRACED, (int)(i % t->effect_count),
                      memory);
    free(memory);
  }
  dvt_team_end(&team);
  return atomic_load(&failed)
             ? davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory to judge %lld windows", (long long)t->windows)
             : DAVIT_SUCCESS;
}

/* ---- workers ---- */

/* One of a call, on a lane of its own. */
typedef struct worker {
  detection *d;
  const float *transposed;
  sem_t *free; /* of its GPU: how many more may have it compute; NULL: it is none */
} worker;

static const dvt_operation scoring = {.name = "detect",
                                      .bytes = sizeof(dvt_detect_task),
                                      .stream = dvt_detect_stream,
                                      .host = dvt_detect_host,
                                      .region = dvt_detect_region,
                                      .region_on_host = true};

/* Of an effect of 108 frames in a window of 200, scores in whole numbers. */
davit_status dvt_detect_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  const dvt_detect_task t = {.window = 200,
                             .runs = 10000,
                             .threshold = 50,
                             .gap_open = 133,
                             .gap_extend = 33,
                             .round = true,
                             .threads = dvt_tuned(device, DVT_TUNE_DETECT_TEAM_THREADS, 0)};
  return dvt_detect_fit(stream, &t, 108, fit);
}

static davit_status score(const worker *w, const dvt_site *site, const dvt_detect_task *t) {
  while (w->free && sem_wait(w->free) != 0) /* a signal may interrupt it */
    ;
  const davit_status status = dvt_operation_run(site, &scoring, t);
  if (w->free)
    sem_post(w->free);
  return status;
}

static davit_status take_portions(const worker *w, const dvt_site *site, float *scores) {
  detection *d = w->d;
  int64_t begin, end;
  const int share = w->free ? dvt_device_threads(DAVIT_HOST) / (d->gpus * (GPU_WORKERS - 1)) : site->threads,
            threads = share > 0 ? share : 1;
  while (take_portion(d, &begin, &end)) {
    dvt_detect_task t = portion_of(d, begin, end, w->transposed, scores);
    t.threads = dvt_tuned(site->device, DVT_TUNE_DETECT_TEAM_THREADS, 0);
    DVT_TRY(score(w, site, &t));
    DVT_TRY(judge_portion(d, &t, begin, threads));
  }
  return DAVIT_SUCCESS;
}

static davit_status work(const dvt_site *site, const void *arguments) {
  const worker *w = arguments;
  detection *d = w->d;
  const size_t windows = (size_t)dvt_at_most(d->portion, dvt_at_least(d->whole, 1));
  float *scores = NULL;
  davit_status status = davit_malloc(windows * (size_t)(d->task.effect_count * d->task.runs) * sizeof *scores,
                                     site->stream ? DAVIT_PINNED : DAVIT_PAGEABLE, (void **)&scores);
  if (status == DAVIT_SUCCESS)
    status = take_portions(w, site, scores);
  davit_status freed = davit_free(scores);
  if (status != DAVIT_SUCCESS)
    atomic_store(&d->next, d->windows); /* the others need not go on */
  return status == DAVIT_SUCCESS ? freed : status;
}

/* On a CPU as many windows as the scores' memory allows, but enough portions for all workers, and always full
 * vectors. A GPU computes one portion while another is judged, so its workers get several each, if these
 * still fill the GPU; the last ones become smaller, so that all end at about the same time. */
static void choose_portion(detection *d) {
  const int64_t each = d->task.effect_count * d->task.runs * (int64_t)sizeof(float),
                shares = dvt_divide_up(d->whole, dvt_at_least(d->workers, 1)), unit = d->gpus ? 1 : UNIT;
  int64_t portion = dvt_at_most(portion_bytes / each, shares);
  if (d->gpus)
    portion = dvt_at_most(portion, dvt_at_least(dvt_divide_up(shares, GPU_PORTIONS),
                                                dvt_at_most(GPU_PORTION_WINDOWS,
                                                            dvt_divide_up(GPU_PORTION_RUNS, d->task.runs))));
  d->portion = dvt_at_least(dvt_divide_up(portion, unit), 1) * unit;
  d->smallest = d->gpus ? dvt_divide_up(GPU_LAST_RUNS, d->task.runs) : d->portion;
}

/* What the host's threads take for their work; on GPUs they judge only. */
static davit_status check_memory(const detection *d) {
  const size_t judge = dvt_detect_trace_bytes(&d->task),
               score = d->gpus < d->detector->device_count ? dvt_detect_score_bytes(&d->task) : 0;
  return dvt_check_memory((size_t)dvt_threads() * (judge > score ? judge : score));
}

static davit_status run_workers(detection *d) {
  dvt_lane *lanes[DVT_MAX_DEVICES * GPU_WORKERS];
  worker workers[DVT_MAX_DEVICES * GPU_WORKERS];
  sem_t scoring_at_once[DVT_MAX_DEVICES];
  int count = 0;
  dvt_error first = {.status = DAVIT_SUCCESS};
  for (int i = 0; i < d->detector->device_count; i++) {
    const int device = d->detector->devices[i];
    const bool gpu = !dvt_device_find(device)->shares_host_memory;
    d->gpus += gpu;
    sem_init(&scoring_at_once[i], 0, GPU_SCORING);
    for (int k = 0; k < (gpu ? GPU_WORKERS : 1) && first.status == DAVIT_SUCCESS; k++) {
      workers[count] = (worker){d, d->request->effects->transposed[i], gpu ? &scoring_at_once[i] : NULL};
      dvt_error_keep(&first, dvt_lane_open(device, &lanes[count]));
      count += first.status == DAVIT_SUCCESS;
    }
  }
  d->workers = count;
  choose_portion(d);
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, check_memory(d));
  for (int i = 0; i < count && first.status == DAVIT_SUCCESS; i++)
    dvt_error_keep(&first, dvt_lane_submit(lanes[i], DVT_BLOCKING, work, &workers[i], sizeof workers[i]));
  for (int i = 0; i < count; i++)
    dvt_error_keep(&first, dvt_lane_close(lanes[i]));
  for (int i = 0; i < d->detector->device_count; i++)
    sem_destroy(&scoring_at_once[i]);
  return dvt_error_report(&first);
}

static davit_status search(const davit_detector *detector, const request *request) {
  detection d = {.detector = detector,
                 .request = request,
                 .windows = dvt_detect_windows(request->frames, &request->options)};
  davit_status status = prepare(&d);
  if (status == DAVIT_SUCCESS)
    status = run_workers(&d);
  davit_free(d.short_orders);
  return status;
}

/* ---- the stream's null distribution ---- */

/* What a call searches: effects, in a stream. */
typedef struct scene {
  const dvt_detect_effects *effects;
  const dvt_detect_sound *stream;
} scene;

/* Scratch of an effect's null distribution. */
typedef struct scratch {
  davit_detect_hit *segments;
  float *sorted;
  int64_t *rest, *picked;
  uint16_t *orders; /* that of frames as they are; this and the drawn frames are for davit_free() */
  float *drawn;
  int64_t window;  /* of drawn frames */
  int64_t portion; /* drawn windows at a time */
} scratch;

static davit_status reserve(const davit_detector *d, const scene *s, int e, scratch *m) {
  const davit_detect_options o = dvt_detect_segments(&d->options, s->effects->ranges[e].frames);
  const size_t segments = (size_t)dvt_detect_windows(s->stream->frames, &o);
  m->window = dvt_at_most(d->options.window, s->stream->frames);
  const int64_t bytes = m->window * d->width * (int64_t)sizeof(float),
                longest = o.window > m->window ? o.window : m->window;
  m->portion = dvt_at_most(dvt_at_least(drawn_bytes / bytes, 1), d->options.permutations);
  m->segments = dvt_allocate(segments, sizeof *m->segments);
  m->sorted = dvt_allocate(segments, sizeof *m->sorted);
  m->rest = dvt_allocate((size_t)s->stream->frames, sizeof *m->rest);
  m->picked = dvt_allocate((size_t)m->window, sizeof *m->picked);
  if (!m->segments || !m->sorted || !m->rest || !m->picked)
    return DAVIT_OUT_OF_HOST_MEMORY;
  DVT_TRY(davit_malloc((size_t)longest * sizeof *m->orders, d->memory, (void **)&m->orders));
  for (int64_t i = 0; i < longest; i++)
    m->orders[i] = (uint16_t)i;
  return davit_malloc((size_t)(m->portion * bytes), d->memory, (void **)&m->drawn);
}

static void release(scratch *m) {
  free(m->segments);
  free(m->sorted);
  free(m->rest);
  free(m->picked);
  davit_free(m->orders);
  davit_free(m->drawn);
}

static davit_status find_rest(const davit_detector *d, const scene *s, int e, scratch *m, int64_t *rest) {
  const request segments = {.options = dvt_detect_segments(&d->options, s->effects->ranges[e].frames),
                            .frames = s->stream->frames,
                            .stream = s->stream->vectors,
                            .effects = s->effects,
                            .first_effect = e,
                            .effect_count = 1,
                            .orders = m->orders,
                            .hits = m->segments};
  DVT_TRY(search(d, &segments));
  *rest = dvt_detect_rest(s->stream->frames, s->effects->ranges[e].frames,
                          dvt_detect_windows(s->stream->frames, &segments.options), m->segments,
                          s->effects->full[e], m->sorted, m->rest);
  return DAVIT_SUCCESS;
}

/* Scores of drawn windows first ... first + count - 1. */
static davit_status score_drawn(const davit_detector *d, const scene *s, int e, scratch *m, int64_t rest,
                                int64_t first, int64_t count, float *scores) {
  for (int64_t r = 0; r < count; r++) {
    dvt_detect_draw(d->options.seed, first + r, s->effects->ranges[e].frames, m->window, rest, m->picked);
    for (int64_t i = 0; i < m->window; i++)
      memcpy(m->drawn + (r * m->window + i) * d->width, s->stream->vectors + m->rest[m->picked[i]] * d->width,
             (size_t)d->width * sizeof *m->drawn);
  }
  request drawn = {.options = d->options,
                   .frames = count * m->window,
                   .stream = m->drawn,
                   .effects = s->effects,
                   .first_effect = e,
                   .effect_count = 1,
                   .orders = m->orders,
                   .scores = scores};
  drawn.options.window = drawn.options.hop = m->window;
  return search(d, &drawn);
}

static davit_status draw(const davit_detector *d, const scene *s, int e, dvt_detect_drawn *drawn) {
  scratch m = {0};
  int64_t rest = 0;
  drawn->count = 0;
  davit_status status = reserve(d, s, e, &m);
  if (status == DAVIT_SUCCESS)
    status = find_rest(d, s, e, &m, &rest);
  if (rest >= s->effects->ranges[e].frames)
    drawn->count = d->options.permutations;
  for (int64_t r = 0; r < drawn->count && status == DAVIT_SUCCESS; r += m.portion)
    status = score_drawn(d, s, e, &m, rest, r, dvt_at_most(m.portion, drawn->count - r), drawn->scores + r);
  release(&m);
  return status;
}

static davit_status judge_by_stream(const davit_detector *d, const scene *s, davit_detect_hit *detections) {
  const int64_t windows = dvt_detect_windows(s->stream->frames, &d->options);
  dvt_detect_drawn drawn = {.scores = dvt_allocate((size_t)d->options.permutations, sizeof *drawn.scores)};
  davit_status status = drawn.scores ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  for (int e = 0; e < s->effects->count && status == DAVIT_SUCCESS; e++) {
    status = draw(d, s, e, &drawn);
    if (status != DAVIT_SUCCESS)
      break;
    dvt_detect_sum_up(&drawn);
    for (int64_t w = 0; w < windows; w++)
      dvt_detect_judge_drawn(&drawn, s->effects->full[e], &d->options,
                             &detections[w * s->effects->count + e]);
  }
  free(drawn.scores);
  return status;
}

/* ---- the call ---- */

static davit_status detect_all(const davit_detector *d, const scene *s, davit_detect_hit *detections) {
  const request all = {.options = d->options,
                       .frames = s->stream->frames,
                       .stream = s->stream->vectors,
                       .effects = s->effects,
                       .effect_count = s->effects->count,
                       .orders = d->orders,
                       .hits = detections};
  DVT_TRY(search(d, &all));
  if (d->options.null == DAVIT_DETECT_NULL_STREAM)
    DVT_TRY(judge_by_stream(d, s, detections));
  for (int64_t i = 0; i < dvt_detect_windows(s->stream->frames, &d->options) * s->effects->count; i++)
    detections[i].level_db =
        dvt_detect_level_db(&s->stream->levels, detections[i].onset, detections[i].offset);
  return DAVIT_SUCCESS;
}

/* Effects that need a stream for their vectors get them here. */
static davit_status detect_in(const davit_detector *d, const dvt_detect_sound *stream,
                              davit_detect_hit *detections) {
  dvt_detect_effects whitened = {0};
  const bool later = d->options.bands > 0;
  const scene s = {later ? &whitened : &d->effects, stream};
  dvt_error first = {.status = DAVIT_SUCCESS};
  if (later)
    dvt_error_keep(&first, dvt_detect_effects_whiten(&d->effects, &stream->white, &whitened));
  if (later && first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, dvt_detect_effects_send(&whitened, d->device_count, d->devices));
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, detect_all(d, &s, detections));
  dvt_error_keep(&first, dvt_detect_effects_free(&whitened));
  return dvt_error_report(&first);
}

davit_status davit_detect(const davit_detector *detector, int64_t frames, const float *features,
                          davit_detect_hit *detections) {
  DVT_TRY(dvt_check_pointer("detector", detector));
  DVT_TRY(dvt_check_process("detector", detector->process));
  DVT_TRY(dvt_check_length("frames", frames));
  if (frames == 0 || detector->effects.count == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_pointer("stream", features));
  DVT_TRY(dvt_check_pointer("detections", detections));
  DVT_TRY(check_finite(-1, frames, detector->width, features));
  dvt_detect_sound stream;
  davit_status status =
      dvt_detect_sound_make(detector->width, frames, features, &detector->options, detector->memory, &stream);
  if (status == DAVIT_SUCCESS)
    status = detect_in(detector, &stream, detections);
  dvt_detect_sound_free(&stream);
  return status;
}
