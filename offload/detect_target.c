/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of detection by plain target regions, for any OpenMP device: similarities in memory, then a thread
 * for each run. */
#include <math.h>
#include <omp.h>

#include "offload/detect.h"
#include "ref/cell.h"
#include "ref/similarity.h"
#include "src/base/arithmetic.h"

enum { TARGET_THREADS = 1 << 14, TARGET_WINDOWS = 256, TARGET_BYTES = 1 << 30 };

/* ---- memory ---- */

/* Windows that are scored together: their similarities take TARGET_BYTES at most, or what one window needs. */
static int64_t block_of(const dvt_detect_task *t) {
  const int64_t each = t->window * dvt_detect_longest(t) * (int64_t)sizeof(float);
  return dvt_at_least(dvt_at_most(dvt_at_most(TARGET_BYTES / each, TARGET_WINDOWS), t->windows), 1);
}

static int64_t threads_for(int64_t windows, int64_t runs) {
  return dvt_at_most(windows * runs, TARGET_THREADS);
}

size_t dvt_detect_frames_bytes(const dvt_detect_task *t) {
  return (size_t)(((t->windows - 1) * t->hop + t->window) * t->width) * sizeof(float);
}

size_t dvt_detect_orders_bytes(const dvt_detect_task *t) {
  return (size_t)(t->runs * t->window) * sizeof(uint16_t);
}

size_t dvt_detect_scores_bytes(const dvt_detect_task *t) {
  return (size_t)(t->windows * t->effect_count * t->runs) * sizeof(float);
}

dvt_detect_memory dvt_detect_lay_out(const dvt_detect_task *t, size_t profile_bytes, bool regions,
                                     char *memory) {
  enum { PARTS = 6 };
  const int64_t longest = regions ? dvt_detect_longest(t) : 0, block = regions ? block_of(t) : 0;
  const size_t sizes[PARTS] = {dvt_detect_frames_bytes(t),
                               dvt_detect_orders_bytes(t),
                               dvt_detect_scores_bytes(t),
                               (size_t)t->windows * profile_bytes,
                               (size_t)(block * t->window * longest) * sizeof(float),
                               2 * (size_t)(longest * threads_for(block, t->runs)) * sizeof(float)};
  char *at[PARTS];
  size_t bytes = 0;
  for (int i = 0; i < PARTS; i++) {
    at[i] = memory ? memory + bytes : NULL;
    bytes += dvt_aligned_up(sizes[i]);
  }
  return (dvt_detect_memory){.x = (float *)(void *)at[0],
                             .orders = (uint16_t *)(void *)at[1],
                             .scores = (float *)(void *)at[2],
                             .profiles = at[3],
                             .similarity = (float *)(void *)at[4],
                             .state = (float *)(void *)at[5],
                             .bytes = bytes};
}

/* ---- regions ---- */

/* similarity[w][i][j] of windows first … first + count - 1. */
static void make_similarities(int device, const dvt_detect_task *t, int e, int64_t first, int64_t count,
                              const dvt_detect_memory *m) {
  const float *x = m->x + first * t->hop * t->width, *y = t->transposed + t->effects[e].first * t->width;
  float *similarity = m->similarity;
  const int64_t window = t->window, hop = t->hop, n = t->effects[e].frames;
  const int width = t->width;
  const float threshold = t->threshold;
  const bool rounded = t->round;
#pragma omp target teams distribute parallel for collapse(3) device(device) is_device_ptr(x, y, similarity)
  for (int64_t w = 0; w < count; w++)
    for (int64_t i = 0; i < window; i++)
      for (int64_t j = 0; j < n; j++) {
        float cosine = 0;
        for (int k = 0; k < width; k++)
          cosine = fmaf(x[(w * hop + i) * width + k], y[k * n + j], cosine);
        similarity[(w * window + i) * n + j] = dvt_similarity_of(cosine, threshold, rounded);
      }
}

static void make_scores(int device, const dvt_detect_task *t, int e, int64_t first, int64_t count,
                        const dvt_detect_memory *m) {
  const float *similarity = m->similarity;
  const uint16_t *orders = m->orders;
  float *state = m->state, *scores = m->scores + (first * t->effect_count + e) * t->runs;
  const int64_t window = t->window, n = t->effects[e].frames, runs = t->runs, pitch = t->effect_count * runs,
                threads = threads_for(count, runs);
  const float open = t->gap_open, extend = t->gap_extend;
#pragma omp target teams distribute parallel for device(device)                                              \
    is_device_ptr(similarity, state, scores, orders)
  for (int64_t thread = 0; thread < threads; thread++)
    for (int64_t at = thread; at < count * runs; at += threads) {
      const int64_t w = at / runs, run = at % runs;
      const float *s = similarity + w * window * n;
      const uint16_t *order = orders + run * window;
      float best = 0;
      for (int64_t j = 0; j < 2 * n; j++)
        state[j * threads + thread] = 0;
      for (int64_t i = 0; i < window; i++) {
        float diagonal = 0, along = 0;
        for (int64_t j = 0; j < n; j++) {
          float *h = &state[2 * j * threads + thread];
          const float matched = diagonal + s[order[i] * n + j];
          diagonal = *h;
          *h = dvt_float_cell(matched, open, extend, &along, h + threads, &best);
        }
      }
      scores[w * pitch + run] = best;
    }
}

void dvt_detect_score(int device, const dvt_detect_task *t, int e, const dvt_detect_memory *m) {
  const int64_t block = block_of(t);
  for (int64_t first = 0; first < t->windows; first += block) {
    const int64_t count = dvt_at_most(t->windows - first, block);
    make_similarities(device, t, e, first, count, m);
    make_scores(device, t, e, first, count, m);
  }
}

static bool run(int device, const dvt_detect_task *t, char *memory) {
  const int host = omp_get_initial_device();
  const dvt_detect_memory m = dvt_detect_lay_out(t, 0, true, memory);
  if (omp_target_memcpy(m.x, t->stream, dvt_detect_frames_bytes(t), 0, 0, device, host) ||
      omp_target_memcpy(m.orders, t->orders, dvt_detect_orders_bytes(t), 0, 0, device, host))
    return false;
  for (int e = 0; e < t->effect_count; e++)
    dvt_detect_score(device, t, e, &m);
  return !omp_target_memcpy(t->scores, m.scores, dvt_detect_scores_bytes(t), 0, 0, host, device);
}

davit_status dvt_detect_region(const dvt_site *site, const void *task) {
  const dvt_detect_task *t = task;
  void *memory;
  DVT_TRY(site->workspace(site, dvt_detect_lay_out(t, 0, true, NULL).bytes, &memory));
  return run(site->device, t, memory)
             ? DAVIT_SUCCESS
             : davit_fail(DAVIT_DEVICE_ERROR, "%lld windows could not be scored on device %d",
                          (long long)t->windows, site->device);
}
