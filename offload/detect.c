/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of detection on the CPU, and where the best alignments lie. Windows lie in the lanes of vectors
 * (detect_lanes.inc); a share of the work is LANES windows, one effect and some permutations. Memory of a
 * share: bytes_of(). */
#include "offload/detect.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ref/detect.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

enum {
  FLOATS = 16,       /* of a vector */
  FEWEST_RUNS = 200, /* of a share: similarities, computed for each share, cost as much as 15 runs */
  SHARES = 4         /* for each thread, if there is so much work */
};
typedef float float_lanes __attribute__((vector_size(64)));
typedef int32_t int_lanes __attribute__((vector_size(64)));
typedef uint16_t words __attribute__((vector_size(64)));
typedef uint8_t byte_lanes __attribute__((vector_size(FLOATS)));

#define T int16_t
#define NAME(x) x##_short
#define OPENED(h, open) (lanes_short) __builtin_elementwise_sub_sat((words)(h), (words)(open))
#include "offload/detect_lanes.inc"

#define T float
#define NAME(x) x##_float
#define MATCHED(x) __builtin_elementwise_max(x, (lanes_float){0})
#define STEP int_lanes
#define WHERE(condition) (condition)
#define NOTE byte_lanes
#define NOTED(step) __builtin_convertvector(step, byte_lanes)
#include "offload/detect_lanes.inc"

static bool is_integer(float x) {
  return !(floorf(x) < x);
}

bool dvt_detect_fits(const dvt_detect_task *task, int64_t effect) {
  const int64_t diagonal = dvt_at_most(effect, task->window);
  return task->round && 100 * diagonal <= INT16_MAX && task->gap_open <= INT16_MAX &&
         is_integer(task->gap_extend) && is_integer(task->threshold);
}

/* ---- the CPU ---- */

static bool is_short(const dvt_detect_task *t, int e) {
  return dvt_detect_fits(t, t->effects[e].frames);
}

/* The shares of one effect: `lanes` windows and `runs` runs each. */
typedef struct shares {
  int64_t lanes, blocks, runs, pieces;
} shares;

static shares shares_of(const dvt_detect_task *t, int e, int threads) {
  shares s = {.lanes = is_short(t, e) ? LANES_short : LANES_float};
  s.blocks = dvt_divide_up(t->windows, s.lanes);
  const int64_t wanted = dvt_divide_up((int64_t)SHARES * threads, s.blocks * t->effect_count),
                most = dvt_divide_up(t->runs, FEWEST_RUNS);
  s.runs = dvt_divide_up(t->runs, dvt_at_most(wanted, most));
  s.pieces = dvt_divide_up(t->runs, s.runs);
  return s;
}

size_t dvt_detect_score_bytes(const dvt_detect_task *t) {
  return 64 * ((size_t)(t->window + 2) * (size_t)dvt_detect_longest(t) + 2 * (size_t)t->width);
}

static void do_share(const dvt_detect_task *t, int e, const shares *s, int64_t index, void *memory) {
  const int64_t block = index / s->pieces, begin = index % s->pieces * s->runs, first = block * s->lanes;
  const int64_t count = dvt_at_most(t->windows - first, s->lanes),
                end = dvt_at_most(begin + s->runs, t->runs);
  (is_short(t, e) ? block_short : block_float)(t, e, first, count, begin, end, memory);
}

davit_status dvt_detect_host(const dvt_site *site, const void *task) {
  const dvt_detect_task *t = task;
  atomic_bool failed = false;
#pragma omp parallel num_threads(site->threads)
  {
    void *memory = dvt_allocate_aligned(dvt_detect_score_bytes(t));
    if (!memory)
      atomic_store(&failed, true);
    for (int e = 0; e < t->effect_count; e++) {
      const shares s = shares_of(t, e, site->threads);
#pragma omp for schedule(dynamic) nowait
      for (int64_t i = 0; i < s.blocks * s.pieces; i++)
        if (memory)
          do_share(t, e, &s, i, memory);
    }
    free(memory);
  }
  return atomic_load(&failed)
             ? davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory to score %lld windows", (long long)t->windows)
             : DAVIT_SUCCESS;
}

/* ---- where the best alignments lie ---- */

/* What dvt_detect_trace_bytes() makes room for. */
typedef struct trace_memory {
  lanes_float *s; /* similarities of a row */
  border_float *border;
  float *x;
  byte_lanes *steps;
} trace_memory;

DVT_CPU_INLINE void trace_inline(const dvt_detect_task *t, int e, int64_t first, int64_t count,
                                 const trace_memory *m, best_float *best) {
  const int64_t columns = t->effects[e].frames;
  const lanes_float open = (lanes_float){0} + t->gap_open, extend = (lanes_float){0} + t->gap_extend;
  *best = (best_float){.row = (int_lanes){0} - 1};
  memset(m->border, 0, (size_t)columns * sizeof *m->border);
  for (int64_t i = 0; i < t->window; i++) {
    similarities_float(t, e, first, count, i, m->x, m->s);
    noted_row_float(columns, m->s, open, extend, i, m->border, m->steps + i * columns, best);
  }
}

DVT_CPU_DISPATCH(void, trace, trace_inline,
                 (const dvt_detect_task *t, int e, int64_t first, int64_t count, const trace_memory *m,
                  best_float *best),
                 (t, e, first, count, m, best))

size_t dvt_detect_trace_bytes(const dvt_detect_task *t) {
  return 64 * (3 * (size_t)dvt_detect_longest(t) + (size_t)t->width) +
         FLOATS * (size_t)(t->window * dvt_detect_longest(t));
}

void dvt_detect_trace(const dvt_detect_task *t, int e, int64_t first, int64_t count, void *memory,
                      int64_t *begin, int64_t *end) {
  const int64_t columns = t->effects[e].frames;
  trace_memory m = {.s = memory};
  m.border = (border_float *)(m.s + columns);
  m.x = (float *)(m.border + columns);
  m.steps = (byte_lanes *)(void *)(m.x + FLOATS * t->width);
  best_float best;
  trace(t, e, first, count, &m, &best);
  for (int64_t l = 0; l < count; l++) {
    const uint8_t *steps = (const uint8_t *)m.steps + l;
    begin[l] =
        best.row[l] < 0 ? 0 : dvt_ref_detect_begin(columns, steps, FLOATS, best.row[l], best.column[l]);
    end[l] = best.row[l] + 1;
  }
}
