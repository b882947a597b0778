/* SPDX-License-Identifier: Apache-2.0 */
/* P5: its kernels, and the loop over batches. */
#include <davit/memory.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/closest/closest.h"
#include "bench/study/common/kernel.h"

#define STRIP_PARAMETERS                                                                                     \
  int64_t n, int64_t length, int limit, float delta, float x1, float y1, float x2, float y2,                 \
      const study_point *sx, const study_point *sy, const bool *flags, float *dist, study_two_points *pairs, \
      study_strip_count *counts
#define STRIP_ARGUMENTS n, length, limit, delta, x1, y1, x2, y2, sx, sy, flags, dist, pairs, counts

enum { SEPARATE, MERGED, COUNTING, STRIP_FORMS };

typedef struct form {
  void (*brute)(const study_site *site, int64_t teams, int64_t n, const study_point *sx, float *dist,
                study_two_points *pairs);
  void (*find)(const study_site *site, int64_t teams, int64_t n, int64_t length, float delta,
               const study_point *sx, const study_point *sy, bool *flags);
  void (*strip[STRIP_FORMS])(const study_site *site, int64_t teams, STRIP_PARAMETERS);
} form;

#define GROUP divide
#define TEXT "bench/study/closest/divide.inc"
#define FORMS form
#define WANTED(block) STUDY_CLOSEST_BLOCK(block)
#include "bench/study/common/forms.inc"

/* ---- kernels ---- */

static bool is_power(int64_t n) {
  return n > 0 && (n & (n - 1)) == 0;
}

/* What every launch checks. *teams: 0 becomes a team for each block of points. */
static davit_status prepare(int device, int base, int64_t n, int64_t *teams, study_site *site) {
  DVT_TRY(study_closest_check_block("base", base, device, site));
  STUDY_REQUIRE(is_power(n) && n >= base, "n is %lld, not a power of two from base = %d on", (long long)n,
                base);
  *teams = *teams ? *teams : n / base;
  return study_check_teams(*teams);
}

static davit_status check_length(int base, int64_t n, int64_t length) {
  STUDY_REQUIRE(is_power(length) && length >= 2 * (int64_t)base && length <= n,
                "length is %lld, not a power of two from 2 base to n", (long long)length);
  return DAVIT_SUCCESS;
}

davit_status study_brute_blocks(int device, int base, int64_t teams, int64_t n, const study_point *sx,
                                float *dist, study_two_points *pairs) {
  study_site site;
  DVT_TRY(prepare(device, base, n, &teams, &site));
  divide_forms(base)->brute(&site, teams, n, sx, dist, pairs);
  return DAVIT_SUCCESS;
}

davit_status study_find_strip(int device, int base, int64_t teams, int64_t n, int64_t length, float delta,
                              const study_point *sx, const study_point *sy, bool *flags) {
  study_site site;
  DVT_TRY(prepare(device, base, n, &teams, &site));
  DVT_TRY(check_length(base, n, length));
  divide_forms(base)->find(&site, teams, n, length, delta, sx, sy, flags);
  return DAVIT_SUCCESS;
}

davit_status study_compare_strip(const study_strip *s, int device, const study_point *sx,
                                 const study_point *sy, const bool *flags, float *dist,
                                 study_two_points *pairs, study_strip_count *counts) {
  study_site site;
  const int64_t n = s->n, length = s->length;
  int64_t teams = s->teams;
  DVT_TRY(prepare(device, s->base, n, &teams, &site));
  DVT_TRY(check_length(s->base, n, length));
  STUDY_REQUIRE(s->limit > 0, "limit is %d", s->limit);
  STUDY_REQUIRE((unsigned)s->test < STUDY_STRIP_TESTS, "test is %d, which is none", (int)s->test);
  STUDY_REQUIRE(!counts || s->test == STUDY_STRIP_SEPARATE,
                "counts are kept for separate tests of the strip alone");
  const int form = counts ? COUNTING : s->test == STUDY_STRIP_MERGED ? MERGED : SEPARATE, limit = s->limit;
  const float delta = s->minimum.distance, x1 = s->minimum.pair.x1, y1 = s->minimum.pair.y1,
              x2 = s->minimum.pair.x2, y2 = s->minimum.pair.y2;
  divide_forms(s->base)->strip[form](&site, teams, STRIP_ARGUMENTS);
  return DAVIT_SUCCESS;
}

/* ---- the whole program ---- */

/* A run: its arrays on the device, and on the host those that a watcher or the counts need. */
typedef struct run {
  const study_divide *d;
  int device;
  int64_t n, blocks;
  study_divide_report *report;
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
  double since, looking_ms; /* the last lap; what copies for the watcher took */
} run;

enum { ARRAYS = 12 };

static void arrays_of(run *r, int place, study_block blocks[ARRAYS]) {
  const size_t n = (size_t)r->n, count = (size_t)r->blocks;
  const bool watch = r->d->watch, counting = r->d->counting;
  memcpy(blocks,
         (study_block[ARRAYS]){{&r->sx, n * sizeof *r->sx, place},
                               {&r->sy, n * sizeof *r->sy, place},
                               {&r->flags, count * sizeof *r->flags, place},
                               {&r->dist, count * sizeof *r->dist, place},
                               {&r->pairs, count * sizeof *r->pairs, place},
                               {&r->counts, counting ? n * sizeof *r->counts : 0, place},
                               {&r->host_sx, n * sizeof *r->sx, DAVIT_PAGEABLE},
                               {&r->host_sy, watch ? n * sizeof *r->sy : 0, DAVIT_PAGEABLE},
                               {&r->host_flags, count * sizeof *r->flags, DAVIT_PAGEABLE},
                               {&r->host_dist, watch ? count * sizeof *r->dist : 0, DAVIT_PAGEABLE},
                               {&r->host_pairs, watch ? count * sizeof *r->pairs : 0, DAVIT_PAGEABLE},
                               {&r->host_counts, counting ? n * sizeof *r->counts : 0, DAVIT_PAGEABLE}},
         ARRAYS * sizeof *blocks);
}

static davit_status sort(run *r, study_key key, int64_t length, study_point *sorted) {
  r->report->comparators += study_sort_comparators(r->d->sort, r->n / length, length);
  return study_sort_points(r->d->sort, key, r->device, r->n / length, length, r->sx, sorted);
}

/* minDistReduction, and its result to the host, from where it goes to all blocks by value. */
static davit_status reduce(run *r, study_closest *minimum) {
  DVT_TRY(study_min_dist(r->device, 1024, r->blocks, r->dist, r->pairs));
  DVT_TRY(davit_copy(sizeof minimum->distance, r->dist, &minimum->distance));
  return davit_copy(sizeof minimum->pair, r->pairs, &minimum->pair);
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
      continue; /* no thread worked, so no count was written */
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
  const size_t n = (size_t)r->n, blocks = (size_t)r->blocks;
  DVT_TRY(davit_copy(blocks * sizeof *r->flags, r->flags, r->host_flags));
  for (int64_t i = 0; i < r->blocks; i++)
    step->flagged += r->host_flags[i];
  if (r->d->counting) {
    DVT_TRY(davit_copy(n * sizeof *r->counts, r->counts, r->host_counts));
    sum_counts(r, step);
  }
  if (!r->d->watch)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_copy(n * sizeof *r->sx, r->sx, r->host_sx));
  DVT_TRY(davit_copy(n * sizeof *r->sy, r->sy, r->host_sy));
  DVT_TRY(davit_copy(blocks * sizeof *r->dist, r->dist, r->host_dist));
  DVT_TRY(davit_copy(blocks * sizeof *r->pairs, r->pairs, r->host_pairs));
  r->d->watch(r->d->context, &(study_step_arrays){r->n, r->blocks, step->length, r->host_sx, r->host_sy,
                                                  r->host_flags, r->host_dist, r->host_pairs});
  return DAVIT_SUCCESS;
}

/* Joins batches of length / 2 to batches of length. */
static davit_status join(run *r, int64_t length, study_step *step) {
  study_strip s = {.base = r->d->base,
                   .n = r->n,
                   .length = length,
                   .limit = r->d->unlimited ? INT32_MAX : STUDY_FLAGGED_LIMIT,
                   .test = r->d->strip_test};
  step->length = length;
  DVT_TRY(sort(r, STUDY_BY_Y, length, r->sy));
  step->sort_ms = study_lap(&r->since);
  DVT_TRY(reduce(r, &s.minimum));
  step->reduce_ms = study_lap(&r->since);
  step->delta = s.minimum.distance;
  DVT_TRY(study_find_strip(r->device, s.base, 0, r->n, length, step->delta, r->sx, r->sy, r->flags));
  if (r->d->every_block)
    DVT_TRY(davit_fill((size_t)r->blocks * sizeof *r->flags, true, r->flags));
  step->strip_ms = study_lap(&r->since);
  DVT_TRY(study_compare_strip(&s, r->device, r->sx, r->sy, r->flags, r->dist, r->pairs, r->counts));
  step->compare_ms = study_lap(&r->since);
  DVT_TRY(look(r, step));
  r->looking_ms += study_lap(&r->since);
  return DAVIT_SUCCESS;
}

static davit_status search(run *r, study_closest *result) {
  study_divide_report *report = r->report;
  const double start = r->since = omp_get_wtime();
  DVT_TRY(davit_copy((size_t)r->n * sizeof *r->sx, r->host_sx, r->sx));
  report->transfer_ms = study_lap(&r->since);
  DVT_TRY(sort(r, STUDY_BY_X, r->n, r->sx));
  report->sort_x_ms = study_lap(&r->since);
  DVT_TRY(study_brute_blocks(r->device, r->d->base, 0, r->n, r->sx, r->dist, r->pairs));
  report->brute_ms = study_lap(&r->since);
  for (int64_t length = 2 * (int64_t)r->d->base; length <= r->n; length *= 2)
    DVT_TRY(join(r, length, &report->step[report->steps++]));
  DVT_TRY(reduce(r, result));
  report->reduce_ms = study_lap(&r->since);
  report->total_ms = 1e3 * (r->since - start) - r->looking_ms;
  return DAVIT_SUCCESS;
}

davit_status study_closest_divide(const study_divide *d, int device, int64_t n, const study_point *points,
                                  study_closest *result, study_divide_report *report) {
  study_site site;
  study_closest found;
  DVT_TRY(study_closest_check(n, points));
  DVT_TRY(study_closest_check_block("base", d->base, device, &site));
  STUDY_REQUIRE(!d->every_block || d->unlimited, "every_block: a limit holds for flagged blocks alone");
  STUDY_REQUIRE(n <= (int64_t)1 << 37, "n is %lld", (long long)n);
  study_divide_report own = {.n = d->base};
  while (own.n < n)
    own.n *= 2;
  run r = {.d = d, .device = device, .report = &own, .n = own.n, .blocks = own.n / d->base};
  study_block blocks[ARRAYS];
  arrays_of(&r, site.place, blocks);
  DVT_TRY(study_allocate(blocks, ARRAYS));
  memcpy(r.host_sx, points, (size_t)n * sizeof *points);
  for (int64_t i = n; i < r.n; i++)
    r.host_sx[i] = (study_point){INFINITY, INFINITY}; /* in no strip and close to nothing */
  davit_status status = search(&r, &found);
  study_free(blocks, ARRAYS);
  DVT_TRY(status);
  *result = found;
  if (report)
    *report = own;
  return DAVIT_SUCCESS;
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
