/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over one alignment on an NVIDIA device: the instances of align_wavefront.inc, and what launches them. */
#include "offload/align_wavefront.h"

#include <davit/align.h>

#include "offload/kernel/gpu.h"
#include "offload/runtime/launch.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"

#define DVT_WAVE_NONE (-(1 << 30)) /* the score of what cannot be */
enum { WAVE_LIMIT = 1 << 29, BEST_WORDS = 4 };

#ifdef DVT_NVIDIA
DVT_INLINE int32_t dvt_wavefront_larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}
#endif

#define NAME(x) DVT_PASTE(x, _, ROWS)
#define ROWS 4
#include "offload/align_wavefront.inc"
#undef ROWS
#define ROWS 8
#include "offload/align_wavefront.inc"
#undef ROWS
#define ROWS 16
#include "offload/align_wavefront.inc"
#undef ROWS
#undef NAME

/* ---- choice of the kernel ---- */

typedef struct shape {
  dvt_kernel kernel;
  int64_t strip, most; /* rows: of a strip, and for which it is the fastest shape */
  double step;         /* seconds for a column of a strip that has a scheduler to itself */
} shape;

/* The more strips, the more of the device is at work; the more rows a strip has, the less is done beside its
 * cells. Measured on an H200. */
static shape shapes[] = {{DVT_KERNEL(wavefront_region_4), strip_4, 65536, 95e-9},
                         {DVT_KERNEL(wavefront_region_8), strip_8, 400000, 115e-9},
                         {DVT_KERNEL(wavefront_region_16), strip_16, INT64_MAX, 155e-9}};
#define DEVICE_RATE 1.5e12 /* cells a second with all of the device at work */

static shape *shape_for(int64_t m) {
  shape *s = shapes;
  while (m > s->most)
    s++;
  return s;
}

bool dvt_align_wavefront_fits(const dvt_align_costs *costs, int64_t m, int64_t n) {
  const int64_t longest = m > n ? m : n, shortest = dvt_at_most(m, n);
  return longest < WAVE_LIMIT && costs->first < WAVE_LIMIT / 4 && costs->extend < WAVE_LIMIT &&
         (m + n) * costs->extend < WAVE_LIMIT / 2 && shortest * costs->largest < WAVE_LIMIT;
}

double dvt_align_wavefront_seconds(int64_t m, int64_t n) {
  const shape *s = shape_for(m);
  /* A strip follows the one above at a distance of two blocks. */
  const double wavefront = s->step * (double)(n + 64 * dvt_divide_up(m, s->strip)),
               cells = (double)m * (double)n / DEVICE_RATE;
  return 50e-6 + (wavefront > cells ? wavefront : cells);
}

/* ---- memory ---- */

static int64_t most_strips(int64_t m) {
  return dvt_divide_up(m, shapes[0].strip);
}

#define PARTS_BYTES (DVT_ALIGN_WAVEFRONT_SWEEPS * sizeof(dvt_align_part))

/* The last columns of sweeps, 2 words for each row, and the best cells of one. */
static size_t result_bytes(int64_t m) {
  return (size_t)(4 * m + BEST_WORDS * most_strips(m)) * sizeof(int32_t);
}

/* Entries for each symbol. */
static int64_t pitch_of(const dvt_align_costs *costs) {
  return costs->profile ? costs->m : costs->symbols;
}

static size_t lay_out_wavefront(const dvt_align_costs *costs, int64_t m, int64_t n, int64_t every,
                                char *memory, dvt_align_wavefront *w) {
  const int64_t columns = dvt_align_kept_columns(n, every);
  const size_t matrix = dvt_aligned_up((size_t)(costs->symbols * pitch_of(costs))),
               query = dvt_aligned_up((size_t)m), target = dvt_aligned_up((size_t)n),
               parts = dvt_aligned_up(PARTS_BYTES), border = dvt_aligned_up((size_t)n * 2 * sizeof(uint64_t)),
               results = dvt_aligned_up(result_bytes(m)), kept = (size_t)(columns * 2 * m) * sizeof(int32_t);
  if (memory) {
    w->matrix = (int8_t *)memory;
    w->device_query = (uint8_t *)(memory += matrix);
    w->device_target = (uint8_t *)(memory += query);
    w->device_parts = (dvt_align_part *)(void *)(memory += target);
    w->border = (uint64_t *)(void *)(memory += parts);
    w->results = (int32_t *)(void *)(memory += border);
    w->kept = columns > 0 ? (int32_t *)(void *)(memory + results) : NULL;
  }
  return matrix + query + target + parts + border + results + kept;
}

size_t dvt_align_wavefront_bytes(const dvt_align_costs *costs, int64_t m, int64_t n, int64_t every) {
  return lay_out_wavefront(costs, m, n, every, NULL, NULL);
}

size_t dvt_align_wavefront_staging_bytes(int64_t m) {
  return PARTS_BYTES + result_bytes(m);
}

davit_status dvt_align_wavefront_open(dvt_stream *stream, const dvt_align_costs *costs, int64_t m,
                                      const uint8_t *query, int64_t n, const uint8_t *target, uint8_t *there,
                                      int64_t every, void *memory, void *staging,
                                      dvt_align_wavefront *wavefront) {
  *wavefront = (dvt_align_wavefront){.stream = stream,
                                     .costs = costs,
                                     .query = query,
                                     .target = target,
                                     .every = every,
                                     .parts = staging,
                                     .staging = (int32_t *)(void *)((char *)staging + PARTS_BYTES)};
  lay_out_wavefront(costs, m, n, every, memory, wavefront);
  DVT_TRY(dvt_stream_copy_bytes(stream, wavefront->matrix, costs->profile ? costs->profile : costs->matrix,
                                (size_t)(costs->symbols * pitch_of(costs))));
  if (costs->profile)
    wavefront->device_query = NULL;
  else
    DVT_TRY(dvt_stream_copy_bytes(stream, wavefront->device_query, query, (size_t)m));
  if (there)
    wavefront->device_target = there;
  else
    DVT_TRY(dvt_stream_copy_bytes(stream, wavefront->device_target, target, (size_t)n));
  return DAVIT_SUCCESS;
}

/* ---- sweeps ---- */

/* What comes before the first row and column. */
typedef struct edge {
  int64_t first, slope, floor;
} edge;

static edge local_edge(void) {
  return (edge){0};
}

static edge global_edge(const dvt_align_costs *costs) {
  return (edge){-costs->first, -costs->extend, DVT_WAVE_NONE};
}

/* The table of the sweeps; after the last of them, what all have together. */
static dvt_align_part fill_parts(const dvt_align_wavefront *w, int count,
                                 const dvt_align_wavefront_sweep *sweeps, int64_t strip) {
  dvt_align_part next = {0};
  for (int k = 0; k < count; k++) {
    const dvt_align_stretch *s = &sweeps[k].s;
    w->parts[k] = (dvt_align_part){.query = s->query - w->query,
                                   .target = s->target - w->target,
                                   .m = s->m,
                                   .n = s->n,
                                   .step = s->step,
                                   .first_gap = -sweeps[k].first,
                                   .team = next.team,
                                   .border = next.border,
                                   .rows = next.rows};
    next.team += dvt_divide_up(s->m, strip);
    next.border += s->n;
    next.rows += s->m;
  }
  return next;
}

/* `searches`: for the best cell of one sweep, which then comes behind its last column. */
static davit_status launch_passes(const dvt_align_wavefront *w, int count,
                                  const dvt_align_wavefront_sweep *sweeps, const edge *e, bool searches,
                                  bool keep, dvt_align_part *all) {
  int64_t rows = 0;
  for (int k = 0; k < count; k++)
    rows += sweeps[k].s.m;
  shape *shape = shape_for(rows);
  *all = fill_parts(w, count, sweeps, shape->strip);
  DVT_TRY(
      dvt_stream_copy_bytes(w->stream, w->device_parts, w->parts, (size_t)count * sizeof *w->device_parts));
  DVT_TRY(dvt_stream_fill(w->stream, w->border, 0, (size_t)all->border * 2 * sizeof *w->border));
  return dvt_launch(&shape->kernel, w->stream, all->team, 32, (size_t)(w->costs->symbols * shape->strip),
                    DVT_ARGUMENTS(w->matrix, w->costs->symbols, pitch_of(w->costs), w->device_query,
                                  w->device_target, w->device_parts, count,
                                  -(w->costs->first + w->costs->extend), -w->costs->extend, e->floor,
                                  e->first, e->slope, w->border, w->results,
                                  searches ? w->results + 2 * rows : NULL, w->every, keep ? w->kept : NULL));
}

/* Words of the results to the host. */
static davit_status fetch(const dvt_align_wavefront *w, int64_t first, int64_t count) {
  DVT_TRY(dvt_stream_copy_bytes(w->stream, w->staging + first, w->results + first,
                                (size_t)count * sizeof *w->results));
  return dvt_stream_synchronize(w->stream);
}

davit_status dvt_align_wavefront_sweeps(const dvt_align_wavefront *wavefront, int count,
                                        const dvt_align_wavefront_sweep *sweeps, bool keep) {
  const edge e = global_edge(wavefront->costs);
  dvt_align_part all;
  DVT_TRY(launch_passes(wavefront, count, sweeps, &e, false, keep, &all));
  return fetch(wavefront, 0, 2 * all.rows);
}

void dvt_align_wavefront_column(const dvt_align_wavefront *wavefront, int which, int64_t *h, int64_t *d) {
  const dvt_align_part *p = &wavefront->parts[which];
  const int32_t *from = wavefront->staging + 2 * p->rows;
  h[0] = d[0] = p->first_gap - p->n * wavefront->costs->extend;
  for (int64_t i = 0; i < p->m; i++) {
    h[i + 1] = from[i];
    d[i + 1] = from[p->m + i];
  }
}

/* Strips are in the order of their rows. */
static bool is_better(const int32_t *a, const dvt_align_cell *b) {
  return a[0] != b->score ? a[0] > b->score : a[0] > 0 && a[2] + 1 < b->column;
}

davit_status dvt_align_wavefront_best(const dvt_align_wavefront *wavefront, const dvt_align_stretch *s,
                                      bool local, bool keep, dvt_align_cell *best) {
  const edge e = local ? local_edge() : global_edge(wavefront->costs);
  const dvt_align_wavefront_sweep sweep = {*s, local ? -DVT_WAVE_NONE : wavefront->costs->first};
  const int64_t begin = local ? 2 * s->m : 0;
  dvt_align_part all;
  DVT_TRY(launch_passes(wavefront, 1, &sweep, &e, true, keep, &all));
  DVT_TRY(fetch(wavefront, begin, 2 * s->m - begin + all.team * BEST_WORDS));
  *best = (dvt_align_cell){0};
  for (int64_t k = 0; k < all.team; k++) {
    const int32_t *of = wavefront->staging + 2 * s->m + BEST_WORDS * k;
    if (is_better(of, best))
      *best = (dvt_align_cell){of[0], of[1] + 1, of[2] + 1};
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_align_wavefront_kept(const dvt_align_wavefront *wavefront, int64_t m, int64_t which,
                                      int64_t first, int64_t last, const int32_t **h, const int32_t **d) {
  const int32_t *column = wavefront->kept + 2 * m * which + first - 1;
  const int64_t rows = last - first + 1;
  const size_t bytes = (size_t)rows * sizeof *column;
  *h = wavefront->staging;
  *d = wavefront->staging + rows;
  DVT_TRY(dvt_stream_copy_bytes(wavefront->stream, wavefront->staging, column, bytes));
  DVT_TRY(dvt_stream_copy_bytes(wavefront->stream, wavefront->staging + rows, column + m, bytes));
  return dvt_stream_synchronize(wavefront->stream);
}
