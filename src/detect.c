/* Detection on devices: vectors of unit length, orders, and portions of windows that devices take until there
 * are none left.
 *
 * A device's worker takes a portion, gets its scores from the device, and judges them on the host's threads.
 * A GPU has two workers, so that one portion is judged while the next is computed. Windows that the stream's
 * end cuts short are a portion of their own. */
#include <davit/detect.h>
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "offload/detect.h"
#include "offload/runtime/device.h"
#include "ref/detect.h"
#include "ref/permutation.h"
#include "ref/similarity.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"

enum {
  UNIT = 32, /* windows: what a CPU's vectors hold */
  GPU_WORKERS = 2,
  GPU_PORTIONS = 4, /* of a worker */
  GPU_PORTION_RUNS = 1 << 18,
  GPU_PORTION_WINDOWS = 4096 /* at most: each has a profile in the GPU's memory */
};
static const int64_t portion_bytes = INT64_C(1) << 26; /* of scores */

davit_detect_options davit_detect_defaults(void) {
  return (davit_detect_options){.window = 200,
                                .threshold = 50,
                                .gap_penalty = 33,
                                .permutations = 100,
                                .block = 3,
                                .alpha = 0.01,
                                .coverage = 0.3};
}

/* ---- arguments ---- */

static davit_status check_options(const davit_detect_options *o) {
  if (o->window < 1 || o->window > DAVIT_DETECT_WINDOW_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "window is %lld, not 1 to %d", (long long)o->window,
                      DAVIT_DETECT_WINDOW_MAXIMUM);
  if (o->hop < 0 || o->hop > o->window)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "hop is %lld, not 0 to the window's %lld", (long long)o->hop,
                      (long long)o->window);
  if (!(o->threshold >= 0 && o->threshold <= 100))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "threshold is %g, not 0 to 100", o->threshold);
  if (!(o->gap_penalty > 0 && o->gap_penalty <= (double)DAVIT_DETECT_GAP_PENALTY_MAXIMUM))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "gap_penalty is %g, not more than 0 and at most %d",
                      o->gap_penalty, DAVIT_DETECT_GAP_PENALTY_MAXIMUM);
  if (o->permutations < 1 || o->permutations > DAVIT_DETECT_PERMUTATIONS_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "permutations is %lld, not 1 to %d", (long long)o->permutations,
                      DAVIT_DETECT_PERMUTATIONS_MAXIMUM);
  if (o->block < 1 || o->block > DAVIT_DETECT_WINDOW_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "block is %lld, not 1 to %d", (long long)o->block,
                      DAVIT_DETECT_WINDOW_MAXIMUM);
  if (!(o->coverage >= 0 && o->coverage <= 1))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "coverage is %g, not 0 to 1", o->coverage);
  if (!(o->alpha >= 0 && o->alpha <= 1))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "alpha is %g, not 0 to 1", o->alpha);
  return DAVIT_SUCCESS;
}

static bool is_finite_frame(int width, const float *features) {
  int bad = 0;
  for (int k = 0; k < width; k++)
    bad |= !(fabsf(features[k]) <= FLT_MAX);
  return !bad;
}

static davit_status check_finite(const char *name, int effect, int64_t frames, int width,
                                 const float *features) {
  int64_t i = INT64_MAX;
#pragma omp parallel for num_threads(dvt_device_threads(DAVIT_HOST)) schedule(static) reduction(min : i)
  for (int64_t f = 0; f < frames; f++)
    if (!is_finite_frame(width, features + f * width))
      i = f < i ? f : i;
  if (i == INT64_MAX)
    return DAVIT_SUCCESS;
  int k = 0;
  while (isfinite(features[i * width + k]))
    k++;
  const double feature = (double)features[i * width + k];
  return effect < 0 ? davit_fail(DAVIT_INVALID_ARGUMENT, "%s: frame %lld: feature %d is %g", name,
                                 (long long)i, k, feature)
                    : davit_fail(DAVIT_INVALID_ARGUMENT, "%s[%d]: frame %lld: feature %d is %g", name, effect,
                                 (long long)i, k, feature);
}

static davit_status check_effect(int which, const davit_effect *effect, int width,
                                 const davit_detect_options *o) {
  if (effect->frames < 1 || effect->frames > o->window)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "effects[%d] has %lld frames, not 1 to the window's %lld",
                      which, (long long)effect->frames, (long long)o->window);
  if (!effect->features)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "effects[%d].features is NULL", which);
  return check_finite("effects", which, effect->frames, width, effect->features);
}

static davit_status check(int width, int64_t frames, const float *stream, int effect_count,
                          const davit_effect *effects, const davit_detect_options *o,
                          const davit_detection *detections) {
  if (width < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "width is %d, less than 1", width);
  DVT_TRY(dvt_check_length("frames", frames));
  DVT_TRY(dvt_check_length("effect_count", effect_count));
  DVT_TRY(check_options(o));
  if (frames == 0 || effect_count == 0)
    return DAVIT_SUCCESS;
  if (!stream || !effects || !detections)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL",
                      !stream   ? "stream"
                      : effects ? "detections"
                                : "effects");
  for (int e = 0; e < effect_count; e++)
    DVT_TRY(check_effect(e, &effects[e], width, o));
  return check_finite("stream", -1, frames, width, stream);
}

int64_t davit_detect_windows(int64_t frames, const davit_detect_options *options) {
  const davit_detect_options o = options ? *options : davit_detect_defaults();
  return check_options(&o) == DAVIT_SUCCESS ? dvt_detect_windows(frames, &o) : 0;
}

davit_status davit_detect_permutation(uint64_t seed, int64_t r, int64_t n, int64_t block, uint16_t *order) {
  if (r < 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "r is %lld, less than 0", (long long)r);
  if (n < 1 || n > DAVIT_DETECT_WINDOW_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld, not 1 to %d", (long long)n,
                      DAVIT_DETECT_WINDOW_MAXIMUM);
  if (!order)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "order is NULL");
  if (block < 1 || block > DAVIT_DETECT_WINDOW_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "block is %lld, not 1 to %d", (long long)block,
                      DAVIT_DETECT_WINDOW_MAXIMUM);
  dvt_block_permutation(seed, (uint64_t)r, (int)n, (int)block, order);
  return DAVIT_SUCCESS;
}

/* ---- preparation ---- */

/* All that the workers share. Windows [0, whole) have the full length, a last one may be shorter. */
typedef struct detection {
  const davit_detect_options *options;
  dvt_detect_task task; /* of all whole windows; scores belong to portions */
  float *stream, *features, *transposed;
  dvt_detect_effect *effects;
  uint16_t *orders, *short_orders;
  int64_t windows, whole, short_length; /* 0: no shorter window */
  int64_t portion;                      /* windows that a worker takes at a time */
  int place;                            /* of what travels to devices: the stream and the orders */
  int gpus;                             /* that share the host's threads for judging */
  atomic_llong next;                    /* the first window that nobody has taken */
  davit_detection *detections;
} detection;

static void make_units(int width, int64_t frames, const float *from, float *to) {
#pragma omp parallel for num_threads(dvt_device_threads(DAVIT_HOST)) schedule(static)
  for (int64_t i = 0; i < frames; i++)
    dvt_unit_vector(width, from + i * width, to + i * width);
}

static void draw_orders(const davit_detect_options *o, int64_t length, uint16_t *orders) {
#pragma omp parallel for num_threads(dvt_device_threads(DAVIT_HOST)) schedule(static)
  for (int64_t r = 0; r <= o->permutations; r++)
    dvt_block_permutation(o->seed, (uint64_t)r, (int)length, (int)o->block, orders + r * length);
}

static davit_status make_effects(detection *d, int width, int count, const davit_effect *effects) {
  int64_t frames = 0;
  for (int e = 0; e < count; e++)
    frames += effects[e].frames;
  d->features = dvt_allocate((size_t)frames * (size_t)width, sizeof(float));
  d->transposed = dvt_allocate((size_t)frames * (size_t)width, sizeof(float));
  d->effects = dvt_allocate((size_t)count, sizeof *d->effects);
  if (!d->features || !d->transposed || !d->effects)
    return DAVIT_OUT_OF_HOST_MEMORY;
  float *to = d->features, *turned = d->transposed;
  for (int e = 0; e < count; e++) {
    const int64_t n = effects[e].frames;
    make_units(width, n, effects[e].features, to);
    for (int64_t j = 0; j < n; j++)
      for (int k = 0; k < width; k++)
        turned[k * n + j] = to[j * width + k];
    d->effects[e] = (dvt_detect_effect){n, to, turned};
    to += n * width;
    turned += n * width;
  }
  return DAVIT_SUCCESS;
}

static davit_status make_orders(detection *d) {
  const int64_t runs = d->options->permutations + 1;
  DVT_TRY(
      davit_malloc((size_t)(runs * d->options->window) * sizeof *d->orders, d->place, (void **)&d->orders));
  if (d->short_length)
    DVT_TRY(davit_malloc((size_t)(runs * d->short_length) * sizeof *d->short_orders, d->place,
                         (void **)&d->short_orders));
  draw_orders(d->options, d->options->window, d->orders);
  if (d->short_length)
    draw_orders(d->options, d->short_length, d->short_orders);
  return DAVIT_SUCCESS;
}

static davit_status prepare(detection *d, int width, int64_t frames, const float *stream, int effect_count,
                            const davit_effect *effects) {
  const int64_t last = dvt_detect_length(frames, d->options, d->windows - 1);
  d->short_length = last < d->options->window ? last : 0;
  d->whole = d->windows - (d->short_length ? 1 : 0);
  DVT_TRY(davit_malloc((size_t)(frames * width) * sizeof *d->stream, d->place, (void **)&d->stream));
  make_units(width, frames, stream, d->stream);
  DVT_TRY(make_effects(d, width, effect_count, effects));
  DVT_TRY(make_orders(d));
  const dvt_detect_gaps gaps = dvt_detect_gaps_of(d->options);
  d->task = (dvt_detect_task){.width = width,
                              .windows = d->whole,
                              .window = d->options->window,
                              .hop = dvt_detect_hop(d->options),
                              .stream = d->stream,
                              .effect_count = effect_count,
                              .effects = d->effects,
                              .runs = d->options->permutations + 1,
                              .orders = d->orders,
                              .threshold = (float)d->options->threshold,
                              .gap_open = gaps.open,
                              .gap_extend = gaps.extend,
                              .round = d->options->round};
  return DAVIT_SUCCESS;
}

/* ---- portions ---- */

/* Windows [begin, end) as a task. */
static dvt_detect_task portion_of(const detection *d, int64_t begin, int64_t end, float *scores) {
  dvt_detect_task t = d->task;
  t.windows = end - begin;
  t.stream += begin * t.hop * t.width;
  t.scores = scores;
  if (begin == d->whole) {
    t.window = d->short_length;
    t.orders = d->short_orders;
  }
  return t;
}

/* The next portion; false: there is none left. */
static bool take_portion(detection *d, int64_t *begin, int64_t *end) {
  *begin = atomic_fetch_add(&d->next, d->portion);
  *end = *begin + d->portion;
  if (*begin >= d->whole) { /* the first that comes to the end of the whole windows gets the shorter one */
    *begin = d->whole + (*begin - d->whole) / d->portion;
    *end = *begin + 1;
    return *end <= d->windows;
  }
  *end = dvt_at_most(*end, d->whole);
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
    davit_detection *result = &d->detections[window * t->effect_count + e];
    *result = (davit_detection){.window = window,
                                .effect = e,
                                .onset = frame + onset[k],
                                .offset = frame + offset[k],
                                .score = scores[0]};
    dvt_ref_detect_judge(t->effects[e].frames, scores + 1, d->options, result);
  }
}

static davit_status judge_portion(const detection *d, const dvt_detect_task *t, int64_t begin, int threads) {
  const int64_t groups = dvt_divide_up(t->windows, DVT_DETECT_TRACED);
  atomic_bool failed = false;
#pragma omp parallel num_threads(threads)
  {
    void *memory = aligned_alloc(DVT_ALIGNMENT, dvt_aligned_up(dvt_detect_trace_bytes(t)));
    if (!memory)
      atomic_store(&failed, true);
#pragma omp for schedule(dynamic)
    for (int64_t i = 0; i < groups * t->effect_count; i++)
      if (memory)
        judge_windows(d, t, begin, i / t->effect_count * DVT_DETECT_TRACED, (int)(i % t->effect_count),
                      memory);
    free(memory);
  }
  return atomic_load(&failed)
             ? davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory to judge %lld windows", (long long)t->windows)
             : DAVIT_SUCCESS;
}

/* ---- workers ---- */

static davit_status score_portion(const dvt_site *site, const dvt_detect_task *t) {
  const dvt_path path = dvt_path_of(site->owner, NULL);
  if (path == DVT_ON_STREAM && dvt_detect_streams(site->stream, t)) {
    void *memory;
    DVT_TRY(site->workspace(site, dvt_detect_stream_bytes(site->stream, t), &memory));
    return dvt_detect_stream(site->stream, site->device, t, memory);
  }
  davit_status status = path == DVT_ON_HOST ? dvt_detect_cpu(t, site->threads)
                                            : dvt_detect_target(site->device, t, 0, t->effect_count);
  return status == DAVIT_SUCCESS ? status
                                 : davit_fail(status, "%lld windows could not be scored on device %d",
                                              (long long)t->windows, site->device);
}

static davit_status take_portions(detection *d, const dvt_site *site, float *scores) {
  int64_t begin, end;
  const bool gpu = !dvt_device_find(site->device)->shares_host_memory;
  const int share = gpu ? dvt_device_threads(DAVIT_HOST) / (d->gpus * GPU_WORKERS) : site->threads,
            threads = share > 0 ? share : 1;
  while (take_portion(d, &begin, &end)) {
    const dvt_detect_task t = portion_of(d, begin, end, scores);
    DVT_TRY(score_portion(site, &t));
    DVT_TRY(judge_portion(d, &t, begin, threads));
  }
  return DAVIT_SUCCESS;
}

static size_t scores_bytes(const detection *d) {
  return (size_t)dvt_at_most(d->portion, dvt_at_least(d->whole, 1)) *
         (size_t)(d->task.effect_count * d->task.runs) * sizeof(float);
}

static davit_status work(const dvt_site *site, const void *arguments) {
  detection *d = *(detection *const *)arguments;
  float *scores = NULL;
  davit_status status =
      davit_malloc(scores_bytes(d), site->stream ? DAVIT_PINNED : DAVIT_PAGEABLE, (void **)&scores);
  if (status == DAVIT_SUCCESS)
    status = take_portions(d, site, scores);
  davit_status freed = davit_free(scores);
  if (status != DAVIT_SUCCESS)
    atomic_store(&d->next, d->windows + d->portion); /* the others need not go on */
  return status == DAVIT_SUCCESS ? freed : status;
}

/* Of a CPU's windows, as many as the scores' memory allows, but enough portions for all workers; vectors are
 * filled, whatever that takes. A GPU computes one portion while another is judged, so its workers get several
 * each, as long as they fill the GPU. */
static int64_t choose_portion(const detection *d, int workers) {
  const int64_t each = d->task.effect_count * d->task.runs * (int64_t)sizeof(float),
                shares = dvt_divide_up(d->whole, workers), unit = d->gpus ? 1 : UNIT;
  int64_t portion = dvt_at_most(portion_bytes / each, shares);
  if (d->gpus)
    portion = dvt_at_most(portion, dvt_at_least(dvt_divide_up(shares, GPU_PORTIONS),
                                                dvt_at_most(GPU_PORTION_WINDOWS,
                                                            dvt_divide_up(GPU_PORTION_RUNS, d->task.runs))));
  return dvt_at_least(dvt_divide_up(portion, unit), 1) * unit;
}

static davit_status run_workers(detection *d, const int *devices, int count) {
  dvt_lane *lanes[DVT_MOST_DEVICES * GPU_WORKERS];
  int workers = 0;
  dvt_error first = {.status = DAVIT_SUCCESS};
  for (int i = 0; i < count; i++) {
    const bool has_memory = !dvt_device_find(devices[i])->shares_host_memory;
    d->gpus += has_memory;
    for (int k = 0; k < (has_memory ? GPU_WORKERS : 1) && first.status == DAVIT_SUCCESS; k++) {
      dvt_error_keep(&first, dvt_lane_open(devices[i], &lanes[workers]));
      workers += first.status == DAVIT_SUCCESS;
    }
  }
  d->portion = choose_portion(d, workers > 0 ? workers : 1);
  for (int i = 0; i < workers && first.status == DAVIT_SUCCESS; i++)
    dvt_error_keep(&first, dvt_lane_submit(lanes[i], DVT_BLOCKING, work, &d, sizeof d));
  for (int i = 0; i < workers; i++)
    dvt_error_keep(&first, dvt_lane_close(lanes[i]));
  return dvt_error_report(&first);
}

davit_status davit_detect(int width, int64_t frames, const float *stream, int effect_count,
                          const davit_effect *effects, const davit_detect_options *options,
                          const int *devices, int device_count, davit_detection *detections) {
  const davit_detect_options o = options ? *options : davit_detect_defaults();
  int chosen[DVT_MOST_DEVICES], count;
  DVT_TRY(check(width, frames, stream, effect_count, effects, &o, detections));
  DVT_TRY(dvt_choose_devices(devices, device_count, chosen, &count));
  if (frames == 0 || effect_count == 0)
    return DAVIT_SUCCESS;
  detection d = {.options = &o,
                 .windows = dvt_detect_windows(frames, &o),
                 .place = dvt_place_any_gpu(chosen, count) ? DAVIT_PINNED : DAVIT_PAGEABLE,
                 .detections = detections};
  davit_status status = prepare(&d, width, frames, stream, effect_count, effects);
  if (status == DAVIT_SUCCESS)
    status = run_workers(&d, chosen, count);
  davit_free(d.stream);
  davit_free(d.orders);
  davit_free(d.short_orders);
  free(d.features);
  free(d.transposed);
  free(d.effects);
  return status;
}
