/* SPDX-License-Identifier: Apache-2.0 */
/* P3 and P3b. */
#include "bench/study/closest/closest.h"

#include <davit/memory.h>
#include <math.h>
#include <omp.h>

#include "bench/study/common/kernel.h"

#define BRUTE_PARAMETERS                                                                                     \
  int64_t n, const study_point *points, float *dist, study_two_points *pairs, int64_t *comparisons
#define BRUTE_ARGUMENTS n, points, dist, pairs, comparisons

typedef struct form {
  void (*grid[2])(int device, int teams, BRUTE_PARAMETERS);
  void (*block[2])(int64_t team, int64_t teams, BRUTE_PARAMETERS);
} form;

#ifdef DVT_GPU
#define ON_GPU(kernel, ...) kernel(dvt_team(), dvt_teams(), __VA_ARGS__)
#else
#define ON_GPU(kernel, ...) ((void)0)
#endif

#define KERNELS "bench/study/closest/brute.inc"
#include "bench/study/closest/sizes.inc"

static const form *const forms[STUDY_CLOSEST_BLOCKS] = ALL_SIZES(form);

int64_t study_brute_rows(const study_brute *b, int64_t n) {
  return b->balanced ? n / 2 : n;
}

int64_t study_brute_candidates(const study_brute *b, int64_t n) {
  return (study_brute_rows(b, n) + b->threads - 1) / b->threads;
}

davit_status study_compare_points(const study_brute *b, int device, int64_t n, const study_point *points,
                                  float *dist, study_two_points *pairs, int64_t *comparisons) {
  int number;
  bool gpu;
  davit_status status = study_closest_block_find("threads", b->threads, &number);
  if (status == DAVIT_SUCCESS)
    status = study_closest_on_gpu(device, &gpu);
  if (status != DAVIT_SUCCESS)
    return status;
  if (n < 2)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld: a pair has two points", (long long)n);
  int64_t teams = b->teams ? b->teams : study_brute_candidates(b, n);
  if (teams < 1 || teams > INT32_MAX)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "teams is %lld: a grid has 1 to 2^31 - 1 blocks",
                      (long long)teams);
  if (gpu)
    forms[number]->grid[b->balanced](device, (int)teams, BRUTE_ARGUMENTS);
  else
    for (int64_t team = 0; team < teams; team++)
      forms[number]->block[b->balanced](team, teams, BRUTE_ARGUMENTS);
  return DAVIT_SUCCESS;
}

/* ---- the whole program ---- */

typedef struct memory {
  study_point *points;
  float *dist;
  study_two_points *pairs;
  int64_t *comparisons;
} memory;

static davit_status allocate(memory *m, int place, int64_t n, int64_t candidates, int64_t rows) {
  davit_status status = davit_malloc((size_t)n * sizeof *m->points, place, (void **)&m->points);
  if (status == DAVIT_SUCCESS)
    status = davit_malloc((size_t)candidates * sizeof *m->dist, place, (void **)&m->dist);
  if (status == DAVIT_SUCCESS)
    status = davit_malloc((size_t)candidates * sizeof *m->pairs, place, (void **)&m->pairs);
  if (status == DAVIT_SUCCESS && rows)
    status = davit_malloc((size_t)rows * sizeof *m->comparisons, place, (void **)&m->comparisons);
  return status;
}

static void release(memory *m) {
  (void)davit_free(m->points);
  (void)davit_free(m->dist);
  (void)davit_free(m->pairs);
  (void)davit_free(m->comparisons);
}

/* Milliseconds since *since, which becomes now. */
static double lap(double *since) {
  double now = omp_get_wtime(), ms = 1e3 * (now - *since);
  *since = now;
  return ms;
}

static davit_status search(const study_brute *b, int device, int64_t n, const study_point *points,
                           const memory *m, study_closest *result, study_brute_times *times) {
  int64_t candidates = study_brute_candidates(b, n);
  double start = omp_get_wtime(), since = start;
  davit_status status = davit_copy((size_t)n * sizeof *points, points, m->points);
  times->transfer_ms = lap(&since);
  if (status == DAVIT_SUCCESS)
    status = study_compare_points(b, device, n, m->points, m->dist, m->pairs, m->comparisons);
  times->compare_ms = lap(&since);
  if (status == DAVIT_SUCCESS)
    status = study_min_dist(device, b->threads, candidates, m->dist, m->pairs);
  times->reduce_ms = lap(&since);
  float square = 0;
  if (status == DAVIT_SUCCESS)
    status = davit_copy(sizeof square, m->dist, &square);
  if (status == DAVIT_SUCCESS)
    status = davit_copy(sizeof result->pair, m->pairs, &result->pair);
  times->transfer_ms += lap(&since);
  times->total_ms = 1e3 * (since - start);
  result->distance = sqrtf(square);
  return status;
}

davit_status study_closest_brute(const study_brute *b, int device, int64_t n, const study_point *points,
                                 study_closest *result, int64_t *comparisons, study_brute_times *times) {
  int number;
  memory m = {NULL, NULL, NULL, NULL};
  study_closest found;
  study_brute_times taken = {0};
  davit_status status = study_closest_check(n, points);
  if (status == DAVIT_SUCCESS)
    status = study_closest_block_find("threads", b->threads, &number);
  if (status != DAVIT_SUCCESS)
    return status;
  int64_t rows = comparisons ? study_brute_rows(b, n) : 0;
  status = allocate(&m, study_closest_place(device), n, study_brute_candidates(b, n), rows);
  if (status == DAVIT_SUCCESS)
    status = search(b, device, n, points, &m, &found, &taken);
  if (status == DAVIT_SUCCESS && rows)
    status = davit_copy((size_t)rows * sizeof *comparisons, m.comparisons, comparisons);
  release(&m);
  if (status != DAVIT_SUCCESS)
    return status;
  *result = found;
  if (times)
    *times = taken;
  return DAVIT_SUCCESS;
}
