/* SPDX-License-Identifier: Apache-2.0 */
/* P1, P2 and P4: one core. And what the programs share. */
#include "bench/study/closest/closest.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* ---- shared ---- */

davit_status study_closest_check_block(const char *name, int threads, int device, study_site *site) {
  STUDY_REQUIRE(STUDY_CLOSEST_BLOCK(threads), "%s is %d, not 2 or a power of two from 32 to 1024", name,
                threads);
  return study_site_of(device, site);
}

davit_status study_closest_check(int64_t n, const study_point *points) {
  STUDY_REQUIRE(n >= 2, "n is %lld: a pair has two points", (long long)n);
  for (int64_t i = 0; i < n; i++)
    STUDY_REQUIRE(isfinite(points[i].x) && isfinite(points[i].y), "points[%lld] is not finite", (long long)i);
  return DAVIT_SUCCESS;
}

/* A pair being searched: the minimum square so far and its points, NULL at first. */
typedef struct nearest {
  float square;
  const study_point *first, *second;
} nearest;

STUDY_INLINE void compare(nearest *best, const study_point *a, const study_point *b) {
  float square = study_square(*a, *b);
  if (square < best->square)
    *best = (nearest){square, a, b};
}

static study_closest closest_of(const nearest *best) {
  return (study_closest){sqrtf(best->square),
                         {best->first->x, best->first->y, best->second->x, best->second->y}};
}

/* ---- P1 ---- */

davit_status study_closest_cpu(int64_t n, const study_point *points, study_closest *result) {
  DVT_TRY(study_closest_check(n, points));
  nearest best = {INFINITY, &points[0], &points[1]};
  for (int64_t i = 0; i < n - 1; i++)
    for (int64_t j = i + 1; j < n; j++)
      compare(&best, &points[i], &points[j]);
  *result = closest_of(&best);
  return DAVIT_SUCCESS;
}

/* ---- P2 ---- */

/* Every block of rows with every block from its own on: a point of the second is compared with those of the
 * first that come before it. With `visits` the comparisons are counted instead. */
STUDY_INLINE void walk_blocks(int64_t n, int64_t b, const study_point *points, nearest *best,
                              uint8_t *visits) {
  const int64_t blocks = n / b + (n % b != 0);
  for (int64_t i = 0; i < blocks; i++)
    for (int64_t j = i; j < blocks; j++) {
      const int64_t i_end = n - i * b < b ? n : (i + 1) * b, j_end = n - j * b < b ? n : (j + 1) * b;
      for (int64_t jb = j * b; jb < j_end; jb++)
        for (int64_t ib = i == j ? jb + 1 : i * b; ib < i_end; ib++)
          if (visits) {
            visits[ib * n + jb]++;
            visits[jb * n + ib]++;
          } else {
            compare(best, &points[jb], &points[ib]);
          }
    }
}

davit_status study_closest_blocked(int64_t n, int64_t b, const study_point *points, study_closest *result) {
  DVT_TRY(study_closest_check(n, points));
  STUDY_REQUIRE(b > 0, "b is %lld", (long long)b);
  nearest best = {INFINITY, &points[0], &points[1]};
  walk_blocks(n, b, points, &best, NULL);
  *result = closest_of(&best);
  return DAVIT_SUCCESS;
}

void study_blocked_visits(int64_t n, int64_t b, uint8_t *visits) {
  nearest unused = {INFINITY, NULL, NULL};
  walk_blocks(n, b, NULL, &unused, visits);
}

/* ---- P4 ---- */

/* Total orders of points: points with equal coordinates are ordered by their place in memory, so a rank in x
 * divides the points even if many lie on one vertical line. */
static bool before_x(const study_point *a, const study_point *b) {
  return a->x != b->x ? a->x < b->x : a->y != b->y ? a->y < b->y : a < b;
}

static bool before_y(const study_point *a, const study_point *b) {
  return a->y != b->y ? a->y < b->y : a->x != b->x ? a->x < b->x : a < b;
}

typedef bool (*order)(const study_point *a, const study_point *b);

static void insert_all(const study_point **p, int64_t n, order before) {
  for (int64_t i = 1; i < n; i++) {
    const study_point *moved = p[i];
    int64_t at = i;
    for (; at > 0 && before(moved, p[at - 1]); at--)
      p[at] = p[at - 1];
    p[at] = moved;
  }
}

/* The one of three that is neither first nor last. */
STUDY_INLINE const study_point *median(const study_point **p, int64_t n, order before) {
  const study_point *a = p[0], *b = p[n / 2], *c = p[n - 1];
  if (before(a, b))
    return before(b, c) ? b : before(a, c) ? c : a;
  return before(a, c) ? a : before(b, c) ? c : b;
}

/* Moves what comes before the pivot to the front; returns how many points that leaves there. */
STUDY_INLINE int64_t part(const study_point **p, int64_t n, order before) {
  const study_point *pivot = median(p, n, before);
  for (int64_t i = 0, j = n - 1;; i++, j--) {
    while (before(p[i], pivot))
      i++;
    while (before(pivot, p[j]))
      j--;
    if (i >= j)
      return i == j ? i + 1 : i;
    const study_point *moved = p[i];
    p[i] = p[j];
    p[j] = moved;
  }
}

/* Descends into the smaller part, so the depth is at most log2 n. */
static void quicksort_part(const study_point **p, int64_t n, order before) {
  enum { FEW = 16 };
  while (n > FEW) {
    int64_t front = part(p, n, before);
    if (front < n - front) {
      quicksort_part(p, front, before);
      p += front;
      n -= front;
    } else {
      quicksort_part(p + front, n - front, before);
      n = front;
    }
  }
  insert_all(p, n, before);
}

static void quicksort(const study_point **p, int64_t n, order before, study_divide_cpu *report) {
  quicksort_part(p, n, before);
  report->sorts++;
}

/* A search: sx points to all points in x order, ranks are their places there. */
typedef struct division {
  const study_point *points, **sx;
  int64_t *ranks;
  int cutoff, depth;
  int64_t comparisons;
  nearest best;
} division;

/* The pairs across the middle: each left point of the strip, in y order, with the right ones that are no
 * farther away in y. A right point that is too low for a left one is so for all later ones. */
static void across(division *d, const study_point **left, int64_t left_count, const study_point **right,
                   int64_t right_count) {
  int64_t from = 0;
  for (int64_t i = 0; i < left_count; i++) {
    while (from < right_count && left[i]->y - right[from]->y > sqrtf(d->best.square))
      from++;
    for (int64_t j = from; j < right_count && right[j]->y - left[i]->y <= sqrtf(d->best.square); j++) {
      d->comparisons++;
      compare(&d->best, left[i], right[j]);
    }
  }
}

/* Points sx[first … first + n), in y order in sy, which stays as it is. scratch: see scratch_of(). */
static void divide(division *d, int64_t first, int64_t n, const study_point **sy, const study_point **scratch,
                   int depth) {
  const study_point **sx = d->sx + first;
  d->depth = depth > d->depth ? depth : d->depth;
  if (n <= d->cutoff) {
    for (int64_t i = 0; i < n - 1; i++)
      for (int64_t j = i + 1; j < n; j++)
        compare(&d->best, sx[i], sx[j]);
    d->comparisons += n * (n - 1) / 2;
    return;
  }
  const int64_t half = n / 2;
  int64_t left = 0, right = half;
  for (int64_t i = 0; i < n; i++) /* by rank, not by x, which several points may have in common */
    if (d->ranks[sy[i] - d->points] < first + half)
      scratch[left++] = sy[i];
    else
      scratch[right++] = sy[i];
  divide(d, first, half, scratch, scratch + n, depth + 1);
  divide(d, first + half, n - half, scratch + half, scratch + n, depth + 1);
  const float middle = sx[half]->x, width = sqrtf(d->best.square);
  left = 0;
  right = half;
  for (int64_t i = 0; i < n; i++)
    if (fabsf(sy[i]->x - middle) <= width) {
      if (d->ranks[sy[i] - d->points] < first + half)
        scratch[left++] = sy[i];
      else
        scratch[right++] = sy[i];
    }
  across(d, scratch, left, scratch + half, right - half);
}

/* Room for all levels at once: n, a half of it rounded up, and so on. */
static size_t scratch_of(int64_t n) {
  return 2 * (size_t)n + 64;
}

davit_status study_closest_divide_cpu(int64_t n, const study_point *points, int cutoff, study_closest *result,
                                      study_divide_cpu *report) {
  DVT_TRY(study_closest_check(n, points));
  STUDY_REQUIRE(cutoff >= 2, "cutoff is %d: a pair has two points", cutoff);
  const study_point **pointers = malloc((2 * (size_t)n + scratch_of(n)) * sizeof *pointers);
  division d = {
      .points = points, .sx = pointers, .cutoff = cutoff, .best = {INFINITY, &points[0], &points[1]}};
  d.ranks = malloc((size_t)n * sizeof *d.ranks);
  if (!pointers || !d.ranks) {
    free(pointers);
    free(d.ranks);
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for %lld points", (long long)n);
  }
  study_divide_cpu own = {0};
  const study_point **sy = pointers + n;
  double start = omp_get_wtime();
  for (int64_t i = 0; i < n; i++)
    d.sx[i] = sy[i] = &points[i];
  quicksort(d.sx, n, before_x, &own);
  quicksort(sy, n, before_y, &own);
  double sorted = omp_get_wtime();
  for (int64_t i = 0; i < n; i++)
    d.ranks[d.sx[i] - points] = i;
  divide(&d, 0, n, sy, sy + n, 1);
  own.sort_ms = 1e3 * (sorted - start);
  own.search_ms = 1e3 * (omp_get_wtime() - sorted);
  own.comparisons = d.comparisons;
  own.depth = d.depth;
  *result = closest_of(&d.best);
  if (report)
    *report = own;
  free(pointers);
  free(d.ranks);
  return DAVIT_SUCCESS;
}
