/* Scores of detection by plain target regions, for any OpenMP device: a thread for each run, similarities in
 * memory. */
#include <omp.h>

#include "offload/detect.h"
#include "ref/cell.h"
#include "ref/similarity.h"
#include "src/base/arithmetic.h"

/* What the regions work on, in the device's memory. */
typedef struct target_memory {
  float *stream, *effect, *similarity, *state, *scores;
  uint16_t *orders;
} target_memory;

enum { TARGET_THREADS = 1 << 14, TARGET_WINDOWS = 256, TARGET_BYTES = 1 << 30 };

/* Windows that are scored together: similarities and scores take TARGET_BYTES at most, or what one window
 * needs. */
static int64_t target_windows(const dvt_detect_task *t) {
  const int64_t each = (t->window * dvt_detect_longest(t) + t->runs) * (int64_t)sizeof(float),
                most = dvt_at_most(TARGET_BYTES / each, TARGET_WINDOWS);
  return dvt_at_most(most > 0 ? most : 1, t->windows);
}

static int64_t target_threads(int64_t windows, int64_t runs) {
  return dvt_at_most(windows * runs, TARGET_THREADS);
}

static bool target_upload(int device, void **to, const void *from, size_t bytes) {
  *to = omp_target_alloc(bytes, device);
  return *to && (!from || !omp_target_memcpy(*to, from, bytes, 0, 0, device, omp_get_initial_device()));
}

static bool target_reserve(int device, const dvt_detect_task *t, target_memory *m) {
  const size_t frames = (size_t)((t->windows - 1) * t->hop + t->window), most = (size_t)dvt_detect_longest(t),
               block = (size_t)target_windows(t),
               threads = (size_t)target_threads(target_windows(t), t->runs);
  *m = (target_memory){0};
  return target_upload(device, (void **)&m->stream, t->stream, frames * (size_t)t->width * sizeof(float)) &&
         target_upload(device, (void **)&m->orders, t->orders,
                       (size_t)(t->runs * t->window) * sizeof(uint16_t)) &&
         target_upload(device, (void **)&m->effect, NULL, most * (size_t)t->width * sizeof(float)) &&
         target_upload(device, (void **)&m->similarity, NULL,
                       block * (size_t)t->window * most * sizeof(float)) &&
         target_upload(device, (void **)&m->state, NULL, 2 * most * threads * sizeof(float)) &&
         target_upload(device, (void **)&m->scores, NULL, block * (size_t)t->runs * sizeof(float));
}

static void target_release(int device, const target_memory *m) {
  void *blocks[] = {m->stream, m->orders, m->effect, m->similarity, m->state, m->scores};
  for (int i = 0; i < (int)(sizeof blocks / sizeof *blocks); i++)
    if (blocks[i])
      omp_target_free(blocks[i], device);
}

/* Effect e in windows first … first + count - 1. */
static void target_scores(int device, const dvt_detect_task *t, const target_memory *m, int64_t n,
                          int64_t first, int64_t count) {
  const float *stream = m->stream + first * t->hop * t->width, *effect = m->effect;
  float *similarity = m->similarity, *state = m->state, *scores = m->scores;
  const uint16_t *orders = m->orders;
  const int width = t->width;
  const bool rounded = t->round;
  const int64_t window = t->window, hop = t->hop, runs = t->runs;
  const float threshold = t->threshold, open = t->gap_open, extend = t->gap_extend;
  const int64_t threads = target_threads(count, runs);
#pragma omp target teams distribute parallel for collapse(3) device(device)                                  \
    is_device_ptr(stream, effect, similarity)
  for (int64_t w = 0; w < count; w++)
    for (int64_t i = 0; i < window; i++)
      for (int64_t j = 0; j < n; j++)
        similarity[(w * window + i) * n + j] =
            dvt_similarity(width, stream + (w * hop + i) * width, effect + j * width, threshold, rounded);
#pragma omp target teams distribute parallel for device(device)                                              \
    is_device_ptr(similarity, state, scores, orders)
  for (int64_t thread = 0; thread < threads; thread++)
    for (int64_t run = thread; run < count * runs; run += threads) {
      const float *s = similarity + run / runs * window * n;
      const uint16_t *order = orders + run % runs * window;
      float best = 0;
      for (int64_t j = 0; j < 2 * n; j++)
        state[j * threads + thread] = 0;
      for (int64_t i = 0; i < window; i++) {
        float diagonal = 0, e = 0;
        for (int64_t j = 0; j < n; j++) {
          float *h = &state[2 * j * threads + thread];
          const float matched = diagonal + s[order[i] * n + j];
          diagonal = *h;
          *h = dvt_float_cell(matched, open, extend, &e, h + threads, &best);
        }
      }
      scores[run] = best;
    }
}

static bool target_effect(int device, const dvt_detect_task *t, const target_memory *m, int e) {
  const int host = omp_get_initial_device();
  const int64_t n = t->effects[e].frames;
  if (omp_target_memcpy(m->effect, t->effects[e].features, (size_t)(n * t->width) * sizeof(float), 0, 0,
                        device, host))
    return false;
  const int64_t block = target_windows(t);
  for (int64_t w = 0; w < t->windows; w += block) {
    const int64_t count = dvt_at_most(t->windows - w, block);
    target_scores(device, t, m, n, w, count);
    for (int64_t k = 0; k < count; k++)
      if (omp_target_memcpy(t->scores + ((w + k) * t->effect_count + e) * t->runs, m->scores,
                            (size_t)t->runs * sizeof(float), 0, (size_t)(k * t->runs) * sizeof(float), host,
                            device))
        return false;
  }
  return true;
}

davit_status dvt_detect_target(int device, const dvt_detect_task *t, int begin, int end) {
  target_memory m;
  davit_status status = target_reserve(device, t, &m) ? DAVIT_SUCCESS : DAVIT_OUT_OF_DEVICE_MEMORY;
  for (int e = begin; e < end && status == DAVIT_SUCCESS; e++)
    status = target_effect(device, t, &m, e) ? DAVIT_SUCCESS : DAVIT_DEVICE_ERROR;
  target_release(device, &m);
  return status;
}
