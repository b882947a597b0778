/* SPDX-License-Identifier: Apache-2.0 */
/* Detection on devices. A detector holds what depends on effects and options: unit vectors of the effects,
 * on the host and on each device, and the orders of a whole window. A call makes the stream's frames unit
 * vectors and searches them (detect_search.c). Memory: the effects and orders twice, the stream once.
 *
 * With the stream's null distribution such a search runs without permutations, and then, for each effect,
 * in its segments and in the windows drawn (ref/detect_null.h); portions of drawn_bytes of these are
 * streams of their own. */
#include <davit/detect.h>
#include <davit/memory.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/detect.h"
#include "ref/detect_null.h"
#include "ref/permutation.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/team.h"
#include "src/detect_search.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/place.h"

/* Of frames of drawn windows, at a time: on GPUs, and on the CPU, where less stays in the caches. */
static const int64_t drawn_bytes = INT64_C(1) << 26, drawn_bytes_few = INT64_C(1) << 23,
                     drawn_bytes_thread = INT64_C(1) << 21;

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

/* Names the first feature that is not finite, of an effect or, with -1, of the stream. */
static davit_status check_finite(int effect, int64_t frames, int width, const float *features) {
  int64_t i = INT64_MAX;
  const dvt_team team = dvt_team_begin(dvt_detect_threads(frames * width));
#pragma omp parallel for num_threads(team.threads) schedule(static) reduction(min : i)
  for (int64_t f = 0; f < frames; f++)
    if (!is_finite_frame(width, features + f * width))
      i = f < i ? f : i;
  dvt_team_end(&team);
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
  DVT_TRY(dvt_choose_devices(DVT_DEVICES(&o), devices, &count));
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
    dvt_error_keep(&first, dvt_detect_orders(d, dvt_detect_shuffles(&o), o.window, &d->orders));
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

static int64_t drawn_at_once(const davit_detector *d) {
  const int64_t wanted = dvt_at_least(dvt_threads() * drawn_bytes_thread, drawn_bytes_few);
  return d->memory == DAVIT_PINNED ? drawn_bytes : dvt_at_most(wanted, drawn_bytes);
}

static davit_status reserve(const davit_detector *d, const scene *s, int e, scratch *m) {
  const davit_detect_options o = dvt_detect_segments(&d->options, s->effects->ranges[e].frames);
  const size_t segments = (size_t)dvt_detect_windows(s->stream->frames, &o);
  m->window = dvt_at_most(d->options.window, s->stream->frames);
  const int64_t bytes = m->window * d->width * (int64_t)sizeof(float),
                longest = o.window > m->window ? o.window : m->window;
  m->portion = dvt_at_most(dvt_at_least(drawn_at_once(d) / bytes, 1), d->options.permutations);
  m->segments = dvt_allocate(segments, sizeof *m->segments);
  m->sorted = dvt_allocate(segments, sizeof *m->sorted);
  m->rest = dvt_allocate((size_t)s->stream->frames, sizeof *m->rest);
  m->picked = dvt_allocate((size_t)m->window, sizeof *m->picked);
  if (!m->segments || !m->sorted || !m->rest || !m->picked)
    return DAVIT_OUT_OF_HOST_MEMORY;
  DVT_TRY(dvt_malloc((size_t)longest * sizeof *m->orders, d->memory, (void **)&m->orders));
  for (int64_t i = 0; i < longest; i++)
    m->orders[i] = (uint16_t)i;
  return dvt_malloc((size_t)(m->portion * bytes), d->memory, (void **)&m->drawn);
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
  const dvt_detect_request segments = {.options =
                                           dvt_detect_segments(&d->options, s->effects->ranges[e].frames),
                                       .frames = s->stream->frames,
                                       .stream = s->stream->vectors,
                                       .effects = s->effects,
                                       .first_effect = e,
                                       .effect_count = 1,
                                       .orders = m->orders,
                                       .hits = m->segments};
  DVT_TRY(dvt_detect_search(d, &segments));
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
  dvt_detect_request drawn = {.options = d->options,
                              .frames = count * m->window,
                              .stream = m->drawn,
                              .effects = s->effects,
                              .first_effect = e,
                              .effect_count = 1,
                              .orders = m->orders,
                              .scores = scores};
  drawn.options.window = drawn.options.hop = m->window;
  return dvt_detect_search(d, &drawn);
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

static davit_status test_by_stream(const davit_detector *d, const scene *s, davit_detect_hit *detections) {
  const int64_t windows = dvt_detect_windows(s->stream->frames, &d->options);
  dvt_detect_drawn drawn = {.scores = dvt_allocate((size_t)d->options.permutations, sizeof *drawn.scores)};
  davit_status status = drawn.scores ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  for (int e = 0; e < s->effects->count && status == DAVIT_SUCCESS; e++) {
    status = draw(d, s, e, &drawn);
    if (status != DAVIT_SUCCESS)
      break;
    dvt_detect_sum_up(&drawn);
    for (int64_t w = 0; w < windows; w++)
      dvt_detect_significance_drawn(&drawn, s->effects->full[e], &d->options,
                                    &detections[w * s->effects->count + e]);
  }
  free(drawn.scores);
  return status;
}

/* ---- the call ---- */

static davit_status detect_all(const davit_detector *d, const scene *s, davit_detect_hit *detections) {
  const dvt_detect_request all = {.options = d->options,
                                  .frames = s->stream->frames,
                                  .stream = s->stream->vectors,
                                  .effects = s->effects,
                                  .effect_count = s->effects->count,
                                  .orders = d->orders,
                                  .hits = detections};
  DVT_TRY(dvt_detect_search(d, &all));
  if (d->options.null == DAVIT_DETECT_NULL_STREAM)
    DVT_TRY(test_by_stream(d, s, detections));
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
