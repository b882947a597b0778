/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a query with many targets by a plain target region, for any OpenMP device: a thread for each
 * target. Cost: m n cells, whose state lies in the device's memory: 8 m bytes a thread. */
#include <omp.h>

#include "offload/align.h"
#include "ref/cell.h"
#include "src/base/arithmetic.h"

enum { TARGET_THREADS = 1 << 12 };

/* What a query needs in the device's memory: matrix, query, state. */
typedef struct target_memory {
  int8_t *matrix;
  uint8_t *query;
  int32_t *state;
  size_t bytes;
} target_memory;

static int64_t target_threads(const dvt_align_targets *t) {
  return dvt_at_most(t->count, TARGET_THREADS);
}

static target_memory lay_out(const dvt_align_targets *t, const dvt_align_query *q, char *memory) {
  const size_t symbols = (size_t)q->scoring->symbols, query = dvt_aligned_up(symbols * symbols),
               state = query + dvt_aligned_up((size_t)q->m),
               bytes = state + 2 * (size_t)(q->m * target_threads(t)) * sizeof(int32_t);
  return memory ? (target_memory){(int8_t *)memory, (uint8_t *)memory + query,
                                  (int32_t *)(void *)(memory + state), bytes}
                : (target_memory){.bytes = bytes};
}

size_t dvt_align_target_bytes(const dvt_align_targets *targets, const dvt_align_query *query) {
  return lay_out(targets, query, NULL).bytes;
}

static void run_region(int device, const dvt_align_targets *t, const dvt_align_device *d,
                       const dvt_align_query *q, const target_memory *memory) {
  const uint8_t *query = memory->query, *symbols = d->symbols;
  const int8_t *matrix = memory->matrix;
  const int64_t *offsets = d->offsets, m = q->m, count = t->count, threads = target_threads(t);
  const int32_t alphabet = q->scoring->symbols, open = q->scoring->gap_open, extend = q->scoring->gap_extend;
  int32_t *state = memory->state, *scores = d->scores;
#pragma omp target teams distribute parallel for device(device)                                              \
    is_device_ptr(query, symbols, matrix, offsets, state, scores)
  for (int64_t thread = 0; thread < threads; thread++)
    for (int64_t k = thread; k < count; k += threads) {
      int32_t best = 0;
      for (int64_t j = 0; j < 2 * m; j++)
        state[j * threads + thread] = 0;
      for (int64_t i = offsets[k]; i < offsets[k + 1]; i++) {
        const int8_t *score = matrix + symbols[i] * alphabet;
        int32_t diagonal = 0, e = 0;
        for (int64_t j = 0; j < m; j++) {
          int32_t *h = &state[2 * j * threads + thread];
          const int32_t matched = diagonal + score[query[j]];
          diagonal = *h;
          *h = dvt_int_cell(matched, open, extend, &e, h + threads, &best);
        }
      }
      scores[k] = best;
    }
}

davit_status dvt_align_target(int device, const dvt_align_targets *targets, const dvt_align_device *d,
                              const dvt_align_query *query, void *memory, int32_t *scores) {
  const int host = omp_get_initial_device();
  const size_t symbols = (size_t)query->scoring->symbols;
  const target_memory m = lay_out(targets, query, memory);
  if (omp_target_memcpy(m.matrix, query->scoring->matrix, symbols * symbols, 0, 0, device, host) ||
      omp_target_memcpy(m.query, query->symbols, (size_t)query->m, 0, 0, device, host))
    return DAVIT_DEVICE_ERROR;
  run_region(device, targets, d, query, &m);
  return omp_target_memcpy(scores, d->scores, (size_t)targets->count * sizeof *scores, 0, 0, host, device)
             ? DAVIT_DEVICE_ERROR
             : DAVIT_SUCCESS;
}
