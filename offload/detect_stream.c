/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of detection on an NVIDIA device: one launch makes the profiles of an effect in all windows, the
 * next scores all permutations in each. */
#include "offload/detect.h"
#include "offload/runtime/launch.h"
#include "offload/warp.h"
#include "ref/similarity.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"

enum {
  DETECT_THREADS = 256,
  DETECT_ROWS = 4,             /* of a profile, made by one thread */
  OTHER_TEAM_BYTES = 3 * 1024, /* of a team's memory, for what is not its profile */
  MAX_WAVES = 8
};

/* ---- kernels ---- */

/* How the profiles of a launch lie: `lanes` chunks of `chunk` bytes a row. */
typedef struct detect_profile {
  int64_t features, window, hop, frames, columns, lanes, chunk;
  float threshold;
  bool bytes, rounded;
} detect_profile;

#ifdef DVT_NVIDIA
/* DETECT_ROWS rows of one column: x are the unit vectors of the window's frames, y those of the effect,
 * transposed. */
DVT_INLINE void detect_make_cells(const detect_profile *p, const float *x, const float *y, int64_t i,
                                  int64_t j, char *row) {
  float cosine[DETECT_ROWS] = {0};
  if (j < p->frames)
    for (int64_t k = 0; k < p->features; k++) {
      const float of_effect = y[k * p->frames + j];
#pragma unroll
      for (int r = 0; r < DETECT_ROWS; r++) {
        const int64_t frame = i + r < p->window ? i + r : p->window - 1;
        cosine[r] = __builtin_fmaf(x[frame * p->features + k], of_effect, cosine[r]);
      }
    }
#pragma unroll
  for (int r = 0; r < DETECT_ROWS; r++) {
    const bool inside = i + r < p->window && j < p->frames;
    const float s = inside ? dvt_similarity_of(cosine[r], p->threshold, p->rounded) : 0;
    char *to = row + r * p->lanes * p->chunk + dvt_profile_place(j, p->columns, p->chunk, p->bytes);
    if (i + r <= p->window) {
      if (p->bytes)
        *to = (char)(int8_t)s;
      else
        *(float *)(void *)to = s;
    }
  }
}

DVT_INLINE void detect_make_profiles(const float *x, const float *y, char *profiles, int64_t features,
                                     int64_t window, int64_t hop, int64_t windows, int64_t frames,
                                     int64_t columns, int64_t lanes, int64_t chunk, int64_t bytes,
                                     int64_t rounded, double threshold, int64_t threads) {
  const detect_profile p = {features, window,           hop,   frames, columns, lanes,
                            chunk,    (float)threshold, bytes, rounded};
  const int64_t width = lanes * columns, blocks = (window + DETECT_ROWS) / DETECT_ROWS, pitch = lanes * chunk;
  for (int64_t at = dvt_team() * threads + dvt_thread(); at < windows * blocks * width;
       at += dvt_teams() * threads) {
    const int64_t j = at % width, i = at / width % blocks * DETECT_ROWS, w = at / width / blocks;
    detect_make_cells(&p, x + w * hop * features, y, i, j, profiles + (w * (window + 1) + i) * pitch);
  }
}
#endif

DVT_NVIDIA_REGION(detect_profiles_region, detect_make_profiles, DETECT_THREADS, (x, y, profiles),
                  (const float *x, const float *y, char *profiles, int64_t features, int64_t window,
                   int64_t hop, int64_t windows, int64_t frames, int64_t columns, int64_t lanes,
                   int64_t chunk, int64_t bytes, int64_t rounded, double threshold, int64_t threads),
                  x, y, profiles, features, window, hop, windows, frames, columns, lanes, chunk, bytes,
                  rounded, threshold, threads)

#define EACH "offload/detect_kernel.inc"
#define KIND pair
#include "offload/each_shape.inc"

#define EACH "offload/detect_kernel.inc"
#define KIND float
#define T float
#define FLOATS
#include "offload/each_shape.inc"

/* ---- shapes ---- */

/* The words and the shape for an effect. */
typedef struct effect_shape {
  bool pairs;
  dvt_shape shape;
  int64_t profile_bytes;
} effect_shape;

static effect_shape shape_of(const dvt_detect_task *t, int64_t frames) {
  effect_shape e = {.pairs =
                        dvt_detect_fits(t, frames) && t->gap_open + t->gap_extend <= INT16_MAX + INT8_MIN};
  e.shape = dvt_shape_of(frames, e.pairs, DVT_SHAPES);
  e.profile_bytes = (t->window + 1) * e.shape.lanes * e.shape.chunk;
  return e;
}

/* Bytes that a team's profile may have. */
static size_t most_profile_bytes(dvt_stream *stream) {
  size_t most;
  return dvt_launch_team_bytes(stream, &most) == DAVIT_SUCCESS && most > OTHER_TEAM_BYTES
             ? most - OTHER_TEAM_BYTES
             : 0;
}

static bool fits_team(const effect_shape *s, size_t most) {
  return s->shape.lanes > 0 && (size_t)s->profile_bytes <= most;
}

/* Of the effects that fit. */
static size_t largest_profile(const dvt_detect_task *t, size_t most) {
  size_t largest = 0;
  for (int e = 0; e < t->effect_count; e++) {
    const effect_shape s = shape_of(t, t->effects[e].frames);
    if (fits_team(&s, most) && (size_t)s.profile_bytes > largest)
      largest = (size_t)s.profile_bytes;
  }
  return largest;
}

/* Whether some effect does not fit; regions then score it. */
static bool needs_regions(const dvt_detect_task *t, size_t most) {
  for (int e = 0; e < t->effect_count; e++) {
    const effect_shape s = shape_of(t, t->effects[e].frames);
    if (!fits_team(&s, most))
      return true;
  }
  return false;
}

static davit_status make_profiles(dvt_stream *stream, const dvt_detect_task *t, const effect_shape *s, int e,
                                  const dvt_detect_memory *m) {
  static dvt_kernel kernel = DVT_KERNEL(detect_profiles_region);
  const int64_t cells =
      t->windows * dvt_divide_up(t->window + 1, DETECT_ROWS) * s->shape.lanes * s->shape.columns;
  return dvt_launch(&kernel, stream, dvt_divide_up(cells, DETECT_THREADS), DETECT_THREADS, 0,
                    DVT_ARGUMENTS(m->x, t->transposed + t->effects[e].first * t->width, m->profiles, t->width,
                                  t->window, t->hop, t->windows, t->effects[e].frames, s->shape.columns,
                                  s->shape.lanes, s->shape.chunk, s->pairs, t->round, (double)t->threshold,
                                  DETECT_THREADS));
}

/* Threads of a team: of few items as many as leave few lanes idle in the last round. Of many, what was
 * fastest on an H200, or what `davit tune` has found. */
static int threads_for(const effect_shape *s, int64_t wanted, int64_t items) {
  if (!s->pairs || items * s->shape.lanes > 4 * DETECT_THREADS)
    return wanted > 0 ? (int)dvt_at_least(dvt_at_most(wanted, DETECT_THREADS) / 32, 1) * 32
           : s->pairs ? DETECT_THREADS / 2
                      : DETECT_THREADS;
  int best = DETECT_THREADS;
  double most = 0;
  for (int threads = DETECT_THREADS; threads >= 64; threads -= 32) {
    const int64_t groups = threads / s->shape.lanes;
    const double used = (double)items / (double)(dvt_divide_up(items, groups) * groups);
    if (used > most) {
      most = used;
      best = threads;
    }
  }
  return best;
}

/* How many teams share a window's `rounds`. Teams come in waves of `residents`, and a wave that is nearly
 * empty takes as long as a full one; to fetch the profile first takes about an eighth of a round. */
static int64_t slices_for(int64_t windows, int64_t rounds, int64_t residents) {
  int64_t best = 1, least = INT64_MAX;
  for (int64_t slices = 1; slices <= rounds && (slices - 1) * windows <= MAX_WAVES * residents; slices++) {
    const int64_t cost = dvt_divide_up(windows * slices, residents) * (8 * dvt_divide_up(rounds, slices) + 1);
    if (cost < least) {
      least = cost;
      best = slices;
    }
  }
  return best;
}

static dvt_kernel *kernel_of(const effect_shape *s) {
  static dvt_kernel kernels[2][DVT_SHAPES] = {
      {DVT_KERNEL(detect_region_float_16), DVT_KERNEL(detect_region_float_20),
       DVT_KERNEL(detect_region_float_24), DVT_KERNEL(detect_region_float_28),
       DVT_KERNEL(detect_region_float_32)},
      {DVT_KERNEL(detect_region_pair_16), DVT_KERNEL(detect_region_pair_20),
       DVT_KERNEL(detect_region_pair_24), DVT_KERNEL(detect_region_pair_28),
       DVT_KERNEL(detect_region_pair_32)}};
  return &kernels[s->pairs][s->shape.index];
}

davit_status dvt_detect_fit(dvt_stream *stream, const dvt_detect_task *task, int64_t frames,
                            dvt_kernel_fit *fit) {
  const effect_shape s = shape_of(task, frames);
  if (s.shape.lanes == 0)
    return davit_fail(DAVIT_UNSUPPORTED, "detect: no team holds an effect of %lld frames", (long long)frames);
  return dvt_launch_fit_of(kernel_of(&s), stream,
                           threads_for(&s, task->threads, dvt_divide_up(task->runs, s.pairs ? 2 : 1)),
                           (size_t)s.profile_bytes, fit);
}

static davit_status launch_scores(dvt_stream *stream, const dvt_detect_task *t, const effect_shape *s, int e,
                                  const dvt_detect_memory *m) {
  dvt_kernel *kernel = kernel_of(s);
  const int64_t items = dvt_divide_up(t->runs, s->pairs ? 2 : 1);
  const int threads = threads_for(s, t->threads, items);
  int residents;
  DVT_TRY(dvt_launch_residents(kernel, stream, threads, (size_t)s->profile_bytes, &residents));
  const int64_t slices = slices_for(t->windows, dvt_divide_up(items, threads / s->shape.lanes), residents);
  return dvt_launch(kernel, stream, t->windows * slices, threads, (size_t)s->profile_bytes,
                    DVT_ARGUMENTS(m->profiles, s->shape.lanes * s->shape.chunk, m->orders,
                                  m->scores + e * t->runs, t->effect_count * t->runs, t->window, t->runs,
                                  s->shape.lanes, slices, threads, (double)t->gap_open,
                                  (double)t->gap_extend));
}

/* What fits, then the rest, which needs x and orders in place. */
static davit_status score_effects(dvt_stream *stream, int device, const dvt_detect_task *t, size_t most,
                                  const dvt_detect_memory *m) {
  for (int e = 0; e < t->effect_count; e++) {
    const effect_shape s = shape_of(t, t->effects[e].frames);
    if (!fits_team(&s, most))
      continue;
    DVT_TRY(make_profiles(stream, t, &s, e, m));
    DVT_TRY(launch_scores(stream, t, &s, e, m));
  }
  if (!needs_regions(t, most))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_synchronize(stream));
  for (int e = 0; e < t->effect_count; e++) {
    const effect_shape s = shape_of(t, t->effects[e].frames);
    if (!fits_team(&s, most))
      dvt_detect_score(device, t, e, m);
  }
  return DAVIT_SUCCESS;
}

static davit_status run(dvt_stream *stream, int device, const dvt_detect_task *t, size_t most,
                        const dvt_detect_memory *m) {
  DVT_TRY(dvt_stream_copy_bytes(stream, m->x, t->stream, dvt_detect_frames_bytes(t)));
  DVT_TRY(dvt_stream_copy_bytes(stream, m->orders, t->orders, dvt_detect_orders_bytes(t)));
  DVT_TRY(score_effects(stream, device, t, most, m));
  return dvt_stream_copy_bytes(stream, t->scores, m->scores, dvt_detect_scores_bytes(t));
}

davit_status dvt_detect_stream(const dvt_site *site, const void *task) {
  const dvt_detect_task *t = task;
  const size_t most = most_profile_bytes(site->stream), profile = largest_profile(t, most);
  const bool regions = needs_regions(t, most);
  if (profile == 0)
    return dvt_detect_region(site, task);
  void *memory;
  DVT_TRY(site->workspace(site, dvt_detect_lay_out(t, profile, regions, NULL).bytes, &memory));
  const dvt_detect_memory m = dvt_detect_lay_out(t, profile, regions, memory);
  const davit_status status = run(site->stream, site->device, t, most, &m),
                     end = dvt_stream_synchronize(site->stream);
  return status == DAVIT_SUCCESS ? end : status;
}
