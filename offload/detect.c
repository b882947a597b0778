/* Scores of detection. On the CPU windows lie in the lanes of vectors (detect_lanes.h), and a share of the work is LANES
 * windows, one effect and some permutations. */
#include "offload/detect.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "ref/detect.h"
#include "ref/similarity.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

enum {
  FLOATS = 16,       /* of a vector */
  FEWEST_RUNS = 200, /* of a share: similarities, computed for each share, cost as much as 15 runs */
  SHARES = 4         /* for each thread, where there is so much to do */
};
typedef float float_lanes __attribute__((vector_size(64)));

typedef uint16_t words __attribute__((vector_size(64)));

#define DVT_T int16_t
#define DVT_N(name) name##_short
#define DVT_OPEN(h, o) (lanes_short) __builtin_elementwise_sub_sat((words)(h), (words)(o))
#define DVT_MATCH(x) (x)
#define DVT_SCORE(row, at, j) (row)[j]
#include "offload/detect_lanes.h"

#define DVT_T float
#define DVT_N(name) name##_float
#define DVT_OPEN(h, o) ((h) - (o))
#define DVT_MATCH(x) __builtin_elementwise_max(x, (lanes_float){0})
#define DVT_SCORE(row, at, j) (row)[j]
#include "offload/detect_lanes.h"

#include "offload/detect_trace.h"

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

/* How one effect is shared out: LANES windows, and `runs` runs. */
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

static size_t bytes_of(const dvt_detect_task *t) {
  return 64 * ((size_t)(t->window + 2) * (size_t)dvt_detect_longest(t) + 2 * (size_t)t->width);
}

static void do_share(const dvt_detect_task *t, int e, const shares *s, int64_t index, void *memory) {
  const int64_t block = index / s->pieces, begin = index % s->pieces * s->runs, first = block * s->lanes;
  const int64_t count = dvt_at_most(t->windows - first, s->lanes),
                end = dvt_at_most(begin + s->runs, t->runs);
  (is_short(t, e) ? blocks_short : blocks_float)[dvt_cpu_best()](t, e, first, count, begin, end, memory);
}

davit_status dvt_detect_cpu(const dvt_detect_task *t, int threads) {
  atomic_bool failed = false;
#pragma omp parallel num_threads(threads)
  {
    void *memory = aligned_alloc(64, bytes_of(t));
    if (!memory)
      atomic_store(&failed, true);
    for (int e = 0; e < t->effect_count; e++) {
      const shares s = shares_of(t, e, threads);
#pragma omp for schedule(dynamic) nowait
      for (int64_t i = 0; i < s.blocks * s.pieces; i++)
        if (memory)
          do_share(t, e, &s, i, memory);
    }
    free(memory);
  }
  return atomic_load(&failed) ? DAVIT_OUT_OF_HOST_MEMORY : DAVIT_SUCCESS;
}

size_t dvt_detect_trace_bytes(const dvt_detect_task *t) {
  return 64 * (3 * (size_t)dvt_detect_longest(t) + (size_t)t->width) +
         FLOATS * (size_t)(t->window * dvt_detect_longest(t));
}

void dvt_detect_trace(const dvt_detect_task *t, int e, int64_t first, int64_t count, void *memory,
                      int64_t *begin, int64_t *end) {
  const int64_t effect = t->effects[e].frames;
  trace_memory m = {.s = memory};
  m.border = (borders_float *)(m.s + effect);
  m.x = (float *)(m.border + effect);
  m.choices = (byte_lanes *)(void *)(m.x + FLOATS * t->width);
  trace_best best;
  traces[dvt_cpu_best()](t, e, first, count, &m, &best);
  for (int64_t l = 0; l < count; l++) {
    const uint8_t *choices = (const uint8_t *)m.choices + l;
    begin[l] =
        best.row[l] < 0 ? 0 : dvt_ref_detect_begin(effect, choices, FLOATS, best.row[l], best.column[l]);
    end[l] = best.row[l] + 1;
  }
}
