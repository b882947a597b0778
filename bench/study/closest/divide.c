/* SPDX-License-Identifier: Apache-2.0 */
/* P5: its kernels, and the loop over batches. */
#include "bench/study/closest/closest.h"

#include <davit/memory.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/common/kernel.h"

#define STRIP_PARAMETERS                                                                                     \
  int64_t n, int64_t length, int limit, float delta, float x1, float y1, float x2, float y2,                 \
      const study_point *sx, const study_point *sy, const bool *flags, float *dist, study_two_points *pairs, \
      study_strip_count *counts
#define STRIP_ARGUMENTS n, length, limit, delta, x1, y1, x2, y2, sx, sy, flags, dist, pairs, counts

enum { SEPARATE, MERGED, COUNTING, STRIP_FORMS };

typedef struct form {
  void (*brute_grid)(int device, int teams, int64_t n, const study_point *sx, float *dist,
                     study_two_points *pairs);
  void (*brute_block)(int64_t team, int64_t teams, int64_t n, const study_point *sx, float *dist,
                      study_two_points *pairs);
  void (*find_grid)(int device, int teams, int64_t n, int64_t length, float delta, const study_point *sx,
                    const study_point *sy, bool *flags);
  void (*find_block)(int64_t team, int64_t teams, int64_t n, int64_t length, float delta,
                     const study_point *sx, const study_point *sy, bool *flags);
  void (*strip_grid[STRIP_FORMS])(int device, int teams, STRIP_PARAMETERS);
  void (*strip_block[STRIP_FORMS])(int64_t team, int64_t teams, STRIP_PARAMETERS);
} form;

#ifdef DVT_GPU
#define ON_GPU(kernel, ...) kernel(dvt_team(), dvt_teams(), __VA_ARGS__)
#else
#define ON_GPU(kernel, ...) ((void)0)
#endif

#define KERNELS "bench/study/closest/divide.inc"
#include "bench/study/closest/sizes.inc"

static const form *const forms[STUDY_CLOSEST_BLOCKS] = ALL_SIZES(form);

/* ---- kernels ---- */

static bool is_power(int64_t n) {
  return n > 0 && (n & (n - 1)) == 0;
}

/* What every launch checks. *teams: 0 becomes a block for each block of points. */
static davit_status prepare(int device, int base, int64_t n, int64_t *teams, const form **f, bool *gpu) {
  int number;
  davit_status status = study_closest_block_find("base", base, &number);
  if (status == DAVIT_SUCCESS)
    status = study_closest_on_gpu(device, gpu);
  if (status != DAVIT_SUCCESS)
    return status;
  if (!is_power(n) || n < base)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld, not a power of two from base = %d on", (long long)n,
                      base);
  *teams = *teams ? *teams : n / base;
  if (*teams < 1 || *teams > INT32_MAX)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "teams is %lld: a grid has 1 to 2^31 - 1 blocks",
                      (long long)*teams);
  *f = forms[number];
  return DAVIT_SUCCESS;
}

static davit_status check_length(int base, int64_t n, int64_t length) {
  if (is_power(length) && length >= 2 * (int64_t)base && length <= n)
    return DAVIT_SUCCESS;
  return davit_fail(DAVIT_INVALID_ARGUMENT, "length is %lld, not a power of two from 2 base to n",
                    (long long)length);
}

davit_status study_brute_blocks(int device, int base, int64_t teams, int64_t n, const study_point *sx,
                                float *dist, study_two_points *pairs) {
  const form *f;
  bool gpu;
  davit_status status = prepare(device, base, n, &teams, &f, &gpu);
  if (status != DAVIT_SUCCESS)
    return status;
  if (gpu)
    f->brute_grid(device, (int)teams, n, sx, dist, pairs);
  else
    for (int64_t team = 0; team < teams; team++)
      f->brute_block(team, teams, n, sx, dist, pairs);
  return DAVIT_SUCCESS;
}

davit_status study_find_strip(int device, int base, int64_t teams, int64_t n, int64_t length, float delta,
                              const study_point *sx, const study_point *sy, bool *flags) {
  const form *f;
  bool gpu;
  davit_status status = prepare(device, base, n, &teams, &f, &gpu);
  if (status == DAVIT_SUCCESS)
    status = check_length(base, n, length);
  if (status != DAVIT_SUCCESS)
    return status;
  if (gpu)
    f->find_grid(device, (int)teams, n, length, delta, sx, sy, flags);
  else
    for (int64_t team = 0; team < teams; team++)
      f->find_block(team, teams, n, length, delta, sx, sy, flags);
  return DAVIT_SUCCESS;
}

davit_status study_compare_strip(const study_strip *s, int device, const study_point *sx,
                                 const study_point *sy, const bool *flags, float *dist,
                                 study_two_points *pairs, study_strip_count *counts) {
  const form *f;
  bool gpu;
  int64_t teams = s->teams, n = s->n, length = s->length;
  davit_status status = prepare(device, s->base, n, &teams, &f, &gpu);
  if (status == DAVIT_SUCCESS)
    status = check_length(s->base, n, length);
  if (status != DAVIT_SUCCESS)
    return status;
  if (s->limit < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "limit is %d", s->limit);
  if ((unsigned)s->test >= STUDY_STRIP_TESTS)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "test is %d, which is none", (int)s->test);
  if (counts && s->test != STUDY_STRIP_SEPARATE)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "counts are kept for separate tests of the strip alone");
  int number = counts ? COUNTING : s->test == STUDY_STRIP_MERGED ? MERGED : SEPARATE, limit = s->limit;
  float delta = s->least.distance;
  float x1 = s->least.pair.x1, y1 = s->least.pair.y1, x2 = s->least.pair.x2, y2 = s->least.pair.y2;
  if (gpu)
    f->strip_grid[number](device, (int)teams, STRIP_ARGUMENTS);
  else
    for (int64_t team = 0; team < teams; team++)
      f->strip_block[number](team, teams, STRIP_ARGUMENTS);
  return DAVIT_SUCCESS;
}

/* ---- the whole program ---- */

/* A run: its arrays on the device, and on the host those that a watcher or the counts need. */
typedef struct run {
  const study_divide *d;
  int device;
  int64_t n, blocks;
  study_divide_report *report;
  double since;
  study_point *sx, *sy;
  bool *flags;
  float *dist;
  study_two_points *pairs;
  study_strip_count *counts;
  study_point *host_sx, *host_sy; /* host_sx holds the padded points at first */
  bool *host_flags;
  float *host_dist;
  study_two_points *host_pairs;
  study_strip_count *host_counts;
} run;

static davit_status allocate(run *r) {
  int place = study_closest_place(r->device);
  size_t n = (size_t)r->n, blocks = (size_t)r->blocks;
  struct {
    void **pointer;
    size_t bytes;
    int place;
  } arrays[] = {{(void **)&r->sx, n * sizeof *r->sx, place},
                {(void **)&r->sy, n * sizeof *r->sy, place},
                {(void **)&r->flags, blocks * sizeof *r->flags, place},
                {(void **)&r->dist, blocks * sizeof *r->dist, place},
                {(void **)&r->pairs, blocks * sizeof *r->pairs, place},
                {(void **)&r->counts, r->d->counting ? n * sizeof *r->counts : 0, place},
                {(void **)&r->host_sx, n * sizeof *r->sx, DAVIT_PAGEABLE},
                {(void **)&r->host_sy, r->d->watch ? n * sizeof *r->sy : 0, DAVIT_PAGEABLE},
                {(void **)&r->host_flags, blocks * sizeof *r->flags, DAVIT_PAGEABLE},
                {(void **)&r->host_dist, r->d->watch ? blocks * sizeof *r->dist : 0, DAVIT_PAGEABLE},
                {(void **)&r->host_pairs, r->d->watch ? blocks * sizeof *r->pairs : 0, DAVIT_PAGEABLE},
                {(void **)&r->host_counts, r->d->counting ? n * sizeof *r->counts : 0, DAVIT_PAGEABLE}};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    davit_status status = davit_malloc(arrays[i].bytes, arrays[i].place, arrays[i].pointer);
    if (status != DAVIT_SUCCESS)
      return status;
  }
  return DAVIT_SUCCESS;
}

static void release(run *r) {
  void *arrays[] = {r->sx,      r->sy,      r->flags,      r->dist,      r->pairs,      r->counts,
                    r->host_sx, r->host_sy, r->host_flags, r->host_dist, r->host_pairs, r->host_counts};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    (void)davit_free(arrays[i]);
}

/* Adds the milliseconds since the last lap. */
static void lap(run *r, double *ms) {
  double now = omp_get_wtime();
  *ms += 1e3 * (now - r->since);
  r->since = now;
}

static davit_status sort(run *r, study_key key, int64_t length, study_point *sorted) {
  r->report->comparators += study_sort_comparators(r->d->sort, r->n / length, length);
  return study_sort_points(r->d->sort, key, r->device, r->n / length, length, r->sx, sorted);
}

/* minDistReduction, and its result to the host, from where it goes to all blocks by value. */
static davit_status reduce(run *r, study_closest *least) {
  int most = study_closest_blocks[STUDY_CLOSEST_BLOCKS - 1];
  davit_status status = study_min_dist(r->device, most, r->blocks, r->dist, r->pairs);
  if (status == DAVIT_SUCCESS)
    status = davit_copy(sizeof least->distance, r->dist, &least->distance);
  if (status == DAVIT_SUCCESS)
    status = davit_copy(sizeof least->pair, r->pairs, &least->pair);
  return status;
}

static void count_warps(const study_strip_count *counts, int warp, study_step *step) {
  uint32_t inside = 0;
  for (int lane = 0; lane < warp; lane++)
    inside += counts[lane].inside;
  step->warps++;
  step->divergent_warps += inside > 0 && inside < (uint32_t)warp;
}

static void sum_counts(run *r, study_step *step) {
  int warp = r->d->base < STUDY_WARP ? r->d->base : STUDY_WARP;
  for (int64_t i = 0; i < r->n; i++) {
    const study_strip_count *c = &r->host_counts[i];
    if (!r->host_flags[i / r->d->base])
      continue; /* nobody worked, so nobody wrote */
    step->worked += c->worked;
    step->inside += c->inside;
    step->tests += c->tests;
    step->taken += c->taken;
    step->nearer += c->nearer;
    if (i % warp == 0)
      count_warps(c, warp, step);
  }
}

/* The flags, and with a watcher everything else, to the host. */
static davit_status look(run *r, study_step *step) {
  size_t n = (size_t)r->n, blocks = (size_t)r->blocks;
  davit_status status = davit_copy(blocks * sizeof *r->flags, r->flags, r->host_flags);
  if (status == DAVIT_SUCCESS && r->d->counting)
    status = davit_copy(n * sizeof *r->counts, r->counts, r->host_counts);
  if (status != DAVIT_SUCCESS)
    return status;
  for (int64_t i = 0; i < r->blocks; i++)
    step->flagged += r->host_flags[i];
  if (r->d->counting)
    sum_counts(r, step);
  if (!r->d->watch)
    return DAVIT_SUCCESS;
  status = davit_copy(n * sizeof *r->sx, r->sx, r->host_sx);
  if (status == DAVIT_SUCCESS)
    status = davit_copy(n * sizeof *r->sy, r->sy, r->host_sy);
  if (status == DAVIT_SUCCESS)
    status = davit_copy(blocks * sizeof *r->dist, r->dist, r->host_dist);
  if (status == DAVIT_SUCCESS)
    status = davit_copy(blocks * sizeof *r->pairs, r->pairs, r->host_pairs);
  if (status == DAVIT_SUCCESS)
    r->d->watch(r->d->context, &(study_step_arrays){r->n, r->blocks, step->length, r->host_sx, r->host_sy,
                                                    r->host_flags, r->host_dist, r->host_pairs});
  return status;
}

/* Joins batches of length / 2 to batches of length. */
static davit_status join(run *r, int64_t length, study_step *step) {
  study_strip s = {.base = r->d->base,
                   .n = r->n,
                   .length = length,
                   .limit = r->d->unlimited ? INT32_MAX : STUDY_FLAGGED_LIMIT,
                   .test = r->d->strip_test};
  step->length = length;
  davit_status status = sort(r, STUDY_BY_Y, length, r->sy);
  lap(r, &step->sort_ms);
  if (status == DAVIT_SUCCESS)
    status = reduce(r, &s.least);
  lap(r, &step->reduce_ms);
  step->delta = s.least.distance;
  if (status == DAVIT_SUCCESS)
    status = study_find_strip(r->device, s.base, 0, r->n, length, s.least.distance, r->sx, r->sy, r->flags);
  if (status == DAVIT_SUCCESS && r->d->every_block)
    status = davit_fill((size_t)r->blocks * sizeof *r->flags, true, r->flags);
  lap(r, &step->strip_ms);
  if (status == DAVIT_SUCCESS)
    status = study_compare_strip(&s, r->device, r->sx, r->sy, r->flags, r->dist, r->pairs, r->counts);
  lap(r, &step->compare_ms);
  if (status == DAVIT_SUCCESS)
    status = look(r, step);
  r->since = omp_get_wtime();
  return status;
}

static davit_status search(run *r, study_closest *result) {
  study_divide_report *report = r->report;
  double looking = 0, start = r->since = omp_get_wtime();
  davit_status status = davit_copy((size_t)r->n * sizeof *r->sx, r->host_sx, r->sx);
  lap(r, &report->transfer_ms);
  if (status == DAVIT_SUCCESS)
    status = sort(r, STUDY_BY_X, r->n, r->sx);
  lap(r, &report->sort_x_ms);
  if (status == DAVIT_SUCCESS)
    status = study_brute_blocks(r->device, r->d->base, 0, r->n, r->sx, r->dist, r->pairs);
  lap(r, &report->brute_ms);
  for (int64_t length = 2 * (int64_t)r->d->base; length <= r->n && status == DAVIT_SUCCESS; length *= 2) {
    study_step *step = &report->step[report->steps++];
    double before = r->since;
    status = join(r, length, step);
    looking +=
        1e3 * (r->since - before) - step->sort_ms - step->reduce_ms - step->strip_ms - step->compare_ms;
  }
  if (status == DAVIT_SUCCESS)
    status = reduce(r, result);
  lap(r, &report->reduce_ms);
  report->total_ms = 1e3 * (r->since - start) - looking;
  return status;
}

davit_status study_closest_divide(const study_divide *d, int device, int64_t n, const study_point *points,
                                  study_closest *result, study_divide_report *report) {
  int number;
  study_closest found;
  davit_status status = study_closest_check(n, points);
  if (status == DAVIT_SUCCESS)
    status = study_closest_block_find("base", d->base, &number);
  if (status != DAVIT_SUCCESS)
    return status;
  if (d->every_block && !d->unlimited)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "every_block: a limit holds for flagged blocks alone");
  if (n > (int64_t)1 << 37)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld", (long long)n);
  study_divide_report *own = calloc(1, sizeof *own);
  if (!own)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for the report");
  run r = {.d = d, .device = device, .report = own, .n = d->base};
  while (r.n < n)
    r.n *= 2;
  r.blocks = r.n / d->base;
  own->n = r.n;
  status = allocate(&r);
  if (status == DAVIT_SUCCESS) {
    memcpy(r.host_sx, points, (size_t)n * sizeof *points);
    for (int64_t i = n; i < r.n; i++)
      r.host_sx[i] = (study_point){INFINITY, INFINITY}; /* in no strip and close to nothing */
    status = search(&r, &found);
  }
  release(&r);
  if (status == DAVIT_SUCCESS) {
    *result = found;
    if (report)
      *report = *own;
  }
  free(own);
  return status;
}

study_divide_shares study_divide_sum(const study_divide_report *report) {
  study_divide_shares sum = {
      .sort_ms = report->sort_x_ms, .brute_ms = report->brute_ms, .reduce_ms = report->reduce_ms};
  for (int i = 0; i < report->steps; i++) {
    sum.sort_ms += report->step[i].sort_ms;
    sum.reduce_ms += report->step[i].reduce_ms;
    sum.strip_ms += report->step[i].strip_ms;
    sum.compare_ms += report->step[i].compare_ms;
  }
  return sum;
}
