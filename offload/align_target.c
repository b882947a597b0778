/* Scores of alignments by a plain target region, for any OpenMP device: a thread for each target. */
#include <omp.h>

#include "offload/align.h"

/* What the region works on, in the device's memory. */
typedef struct target_memory {
  uint8_t *query, *symbols;
  int8_t *matrix;
  int64_t *offsets;
  int32_t *state, *scores;
} target_memory;

enum { TARGET_THREADS = 1 << 12 };

static bool target_upload(int device, void **to, const void *from, size_t bytes) {
  *to = omp_target_alloc(bytes ? bytes : 1, device);
  return *to &&
         (!from || !bytes || !omp_target_memcpy(*to, from, bytes, 0, 0, device, omp_get_initial_device()));
}

static int64_t target_threads(const dvt_align_targets *t) {
  return t->count < TARGET_THREADS ? t->count : TARGET_THREADS;
}

static bool target_reserve(int device, const dvt_align_targets *t, const dvt_align_query *q,
                           target_memory *d) {
  const size_t symbols = (size_t)q->scoring->symbols, count = (size_t)t->count;
  *d = (target_memory){0};
  return target_upload(device, (void **)&d->query, q->symbols, (size_t)q->m) &&
         target_upload(device, (void **)&d->matrix, q->scoring->matrix, symbols * symbols) &&
         target_upload(device, (void **)&d->offsets, t->offsets, (count + 1) * sizeof(int64_t)) &&
         target_upload(device, (void **)&d->symbols, t->symbols, (size_t)t->offsets[t->count]) &&
         target_upload(device, (void **)&d->state, NULL,
                       2 * (size_t)q->m * (size_t)target_threads(t) * sizeof(int32_t)) &&
         target_upload(device, (void **)&d->scores, NULL, count * sizeof(int32_t));
}

static void target_release(int device, const target_memory *d) {
  void *blocks[] = {d->query, d->matrix, d->offsets, d->symbols, d->state, d->scores};
  for (int i = 0; i < (int)(sizeof blocks / sizeof *blocks); i++)
    if (blocks[i])
      omp_target_free(blocks[i], device);
}

static void target_scores(int device, const dvt_align_targets *t, const dvt_align_query *q,
                          const target_memory *d) {
  const uint8_t *query = d->query, *symbols = d->symbols;
  const int8_t *matrix = d->matrix;
  const int64_t *offsets = d->offsets, m = q->m, count = t->count, threads = target_threads(t);
  const int32_t alphabet = q->scoring->symbols, open = q->scoring->gap_open, extend = q->scoring->gap_extend;
  int32_t *state = d->state, *scores = d->scores;
#pragma omp target teams distribute parallel for device(device)                                              \
    is_device_ptr(query, symbols, matrix, offsets, state, scores)
  for (int64_t thread = 0; thread < threads; thread++)
    for (int64_t k = thread; k < count; k += threads) {
      int32_t best = 0;
      for (int64_t j = 0; j < 2 * m; j++)
        state[j * threads + thread] = 0;
      for (int64_t i = offsets[k]; i < offsets[k + 1]; i++) {
        const int8_t *score = matrix + symbols[i] * alphabet;
        int32_t diagonal = 0, left = 0, e = 0;
        for (int64_t j = 0; j < m; j++) {
          int32_t *h = &state[2 * j * threads + thread], *f = h + threads;
          e = e - extend > left - open ? e - extend : left - open;
          e = e > 0 ? e : 0; /* penalties may be so large that sums of two overflow */
          *f = *f - extend > *h - open ? *f - extend : *h - open;
          *f = *f > 0 ? *f : 0;
          left = diagonal + score[query[j]] > 0 ? diagonal + score[query[j]] : 0;
          left = left > e ? left : e;
          left = left > *f ? left : *f;
          diagonal = *h;
          *h = left;
          best = best > left ? best : left;
        }
      }
      scores[k] = best;
    }
}

davit_status dvt_align_target(int device, const dvt_align_targets *targets, const dvt_align_query *query,
                              int32_t *scores) {
  target_memory d;
  davit_status status = DAVIT_OUT_OF_DEVICE_MEMORY;
  if (target_reserve(device, targets, query, &d)) {
    target_scores(device, targets, query, &d);
    status = omp_target_memcpy(scores, d.scores, (size_t)targets->count * sizeof *scores, 0, 0,
                               omp_get_initial_device(), device)
                 ? DAVIT_DEVICE_ERROR
                 : DAVIT_SUCCESS;
  }
  target_release(device, &d);
  return status;
}
