/* SPDX-License-Identifier: Apache-2.0 */
/* P3, P3b and minDistReduction. */
#include <davit/memory.h>
#include <math.h>
#include <omp.h>

#include "bench/study/closest/closest.h"
#include "bench/study/common/kernel.h"

typedef struct form {
  void (*compare[2])(const study_site *site, int64_t teams, int64_t n, const study_point *points, float *dist,
                     study_two_points *pairs, int64_t *comparisons);
  void (*minimum)(const study_site *site, int64_t teams, int64_t m, float *dist, study_two_points *pairs);
} form;

#define GROUP brute
#define TEXT "bench/study/closest/brute.inc"
#define FORMS form
#define WANTED(block) STUDY_CLOSEST_BLOCK(block)
#include "bench/study/common/forms.inc"

int64_t study_brute_rows(const study_brute *b, int64_t n) {
  return b->balanced ? n / 2 : n;
}

int64_t study_brute_candidates(const study_brute *b, int64_t n) {
  return (study_brute_rows(b, n) + b->threads - 1) / b->threads;
}

davit_status study_compare_points(const study_brute *b, int device, int64_t n, const study_point *points,
                                  float *dist, study_two_points *pairs, int64_t *comparisons) {
  study_site site;
  DVT_TRY(study_closest_check_block("threads", b->threads, device, &site));
  STUDY_REQUIRE(n >= 2, "n is %lld: a pair has two points", (long long)n);
  const int64_t teams = b->teams ? b->teams : study_brute_candidates(b, n);
  DVT_TRY(study_check_teams(teams));
  brute_forms(b->threads)->compare[b->balanced](&site, teams, n, points, dist, pairs, comparisons);
  return DAVIT_SUCCESS;
}

davit_status study_min_dist(int device, int threads, int64_t m, float *dist, study_two_points *pairs) {
  study_site site;
  DVT_TRY(study_closest_check_block("threads", threads, device, &site));
  STUDY_REQUIRE(m > 0, "m is %lld", (long long)m);
  brute_forms(threads)->minimum(&site, 1, m, dist, pairs);
  return DAVIT_SUCCESS;
}

/* ---- the whole program ---- */

typedef struct memory {
  study_point *points;
  float *dist;
  study_two_points *pairs;
  int64_t *comparisons;
} memory;

static davit_status search(const study_brute *b, int device, int64_t n, const study_point *points,
                           const memory *m, study_closest *result, study_brute_times *times) {
  const double start = omp_get_wtime();
  double since = start;
  float square;
  DVT_TRY(davit_copy((size_t)n * sizeof *points, points, m->points));
  times->transfer_ms = study_lap(&since);
  DVT_TRY(study_compare_points(b, device, n, m->points, m->dist, m->pairs, m->comparisons));
  times->compare_ms = study_lap(&since);
  DVT_TRY(study_min_dist(device, b->threads, study_brute_candidates(b, n), m->dist, m->pairs));
  times->reduce_ms = study_lap(&since);
  DVT_TRY(davit_copy(sizeof square, m->dist, &square));
  DVT_TRY(davit_copy(sizeof result->pair, m->pairs, &result->pair));
  times->transfer_ms += study_lap(&since);
  times->total_ms = 1e3 * (since - start);
  result->distance = sqrtf(square);
  return DAVIT_SUCCESS;
}

davit_status study_closest_brute(const study_brute *b, int device, int64_t n, const study_point *points,
                                 study_closest *result, int64_t *comparisons, study_brute_times *times) {
  study_site site;
  study_closest found;
  study_brute_times taken = {0};
  DVT_TRY(study_closest_check(n, points));
  DVT_TRY(study_closest_check_block("threads", b->threads, device, &site));
  memory m;
  const size_t candidates = (size_t)study_brute_candidates(b, n),
               counts = comparisons ? (size_t)study_brute_rows(b, n) * sizeof *comparisons : 0;
  const study_block blocks[] = {{&m.points, (size_t)n * sizeof *m.points, site.place},
                                {&m.dist, candidates * sizeof *m.dist, site.place},
                                {&m.pairs, candidates * sizeof *m.pairs, site.place},
                                {&m.comparisons, counts, site.place}};
  DVT_TRY(study_allocate(blocks, 4));
  davit_status status = search(b, device, n, points, &m, &found, &taken);
  if (status == DAVIT_SUCCESS && counts)
    status = davit_copy(counts, m.comparisons, comparisons);
  study_free(blocks, 4);
  DVT_TRY(status);
  *result = found;
  if (times)
    *times = taken;
  return DAVIT_SUCCESS;
}
