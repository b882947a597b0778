/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a query with many targets by a plain target region, for any OpenMP device: a thread for each
 * target. Cost: m n cells, whose state lies in the device's memory: 8 m bytes a thread, and the query's profile. */
#include <omp.h>
#include <stdlib.h>

#include "offload/align.h"
#include "ref/cell.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"

enum { TARGET_THREADS = 1 << 12 };

/* What a query needs in the device's memory: its profile (m scores for each symbol of targets) and the state. */
typedef struct target_memory {
  int8_t *profile;
  int32_t *state;
  size_t bytes;
} target_memory;

static int64_t target_threads(const dvt_align_targets *t) {
  return dvt_at_most(t->count, TARGET_THREADS);
}

static target_memory lay_out(const dvt_align_targets *t, const dvt_align_query *q, char *memory) {
  const size_t state = dvt_aligned_up((size_t)(q->scoring->symbols * q->m)),
               bytes = state + 2 * (size_t)(q->m * target_threads(t)) * sizeof(int32_t);
  return memory ? (target_memory){(int8_t *)memory, (int32_t *)(void *)(memory + state), bytes}
                : (target_memory){.bytes = bytes};
}

static void run_region(int device, const dvt_align_work *work, const target_memory *memory) {
  const dvt_align_targets *t = work->targets;
  const dvt_align_device *d = work->device;
  const dvt_align_query *q = work->query;
  const uint8_t *symbols = d->symbols;
  const int8_t *profile = memory->profile;
  const int64_t *offsets = d->offsets, m = q->m, count = t->count, threads = target_threads(t);
  const int32_t open = q->scoring->gap_open, extend = q->scoring->gap_extend;
  int32_t *state = memory->state, *scores = d->scores;
#pragma omp target teams distribute parallel for device(device)                                              \
    is_device_ptr(symbols, profile, offsets, state, scores)
  for (int64_t thread = 0; thread < threads; thread++)
    for (int64_t k = thread; k < count; k += threads) {
      int32_t best = 0;
      for (int64_t j = 0; j < 2 * m; j++)
        state[j * threads + thread] = 0;
      for (int64_t i = offsets[k]; i < offsets[k + 1]; i++) {
        const int8_t *score = profile + symbols[i] * m;
        int32_t diagonal = 0, e = 0;
        for (int64_t j = 0; j < m; j++) {
          int32_t *h = &state[2 * j * threads + thread];
          const int32_t matched = diagonal + score[j];
          diagonal = *h;
          *h = dvt_int_cell(matched, open, extend, &e, h + threads, &best);
        }
      }
      scores[k] = best;
    }
}

static void fill_profile(const dvt_align_query *q, int8_t *profile) {
  for (int t = 0; t < q->scoring->symbols; t++)
    for (int64_t j = 0; j < q->m; j++)
      profile[j + t * q->m] = dvt_align_entry(q, j, t);
}

static bool run(int device, const dvt_align_work *work, const int8_t *profile, char *memory) {
  const int host = omp_get_initial_device();
  const dvt_align_query *q = work->query;
  const target_memory m = lay_out(work->targets, q, memory);
  if (omp_target_memcpy(m.profile, profile, (size_t)(q->scoring->symbols * q->m), 0, 0, device, host))
    return false;
  run_region(device, work, &m);
  return !omp_target_memcpy(work->scores, work->device->scores,
                            (size_t)work->targets->count * sizeof *work->scores, 0, 0, host, device);
}

davit_status dvt_align_region(const dvt_site *site, const void *work) {
  const dvt_align_work *a = work;
  void *memory;
  DVT_TRY(site->workspace(site, lay_out(a->targets, a->query, NULL).bytes, &memory));
  int8_t *profile = dvt_allocate((size_t)(a->query->scoring->symbols * a->query->m) + 1, sizeof *profile);
  if (!profile)
    return DAVIT_OUT_OF_HOST_MEMORY;
  fill_profile(a->query, profile);
  const bool done = run(site->device, a, profile, memory);
  free(profile);
  return done ? DAVIT_SUCCESS
              : davit_fail(DAVIT_DEVICE_ERROR, "a query of %lld symbols could not be aligned on device %d",
                           (long long)a->query->m, site->device);
}
