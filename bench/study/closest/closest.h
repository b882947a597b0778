/* SPDX-License-Identifier: Apache-2.0 */
/* The closest pair of points in the plane, by the source's programs, corrected. They are here to be studied
 * and measured; the library's own search is <davit/closest_pair.h>.
 *
 *   P1   all pairs, one core
 *   P2   all pairs, one core, in blocks of B points
 *   P3   all pairs on the GPU: compare_points_bf writes a candidate for each block of points,
 *        minDistReduction their minimum
 *   P3b  the same with equal work for every thread: half the threads, each with two complementary rows
 *   P4   divide and conquer, one core: sorted once by x and once by y, never again
 *   P5   divide and conquer on the GPU, bottom-up: sort by x, all pairs in each block of `base` points, then
 *        for batches of 2 base, 4 base, … n points: sort by y, the minimum so far, strips, comparison across
 *        the middle
 *
 * Distances are single precision, and rounded after each operation, so all programs give the same bits on
 * every device. P1 … P4 and the candidates of P3 compare squares and take the root at the end; P5 has true
 * distances throughout, as the minimum one is a width too. Of equally close pairs any may be the answer.
 * Squares must neither overflow nor vanish.
 *
 * GPUs run target regions, one block of threads after another on the CPU otherwise; calls return when all is
 * done. Errors: DAVIT_INVALID_ARGUMENT names the argument: fewer than 2 points, a coordinate that is not
 * finite. */
#ifndef DAVIT_STUDY_CLOSEST_CLOSEST_H
#define DAVIT_STUDY_CLOSEST_CLOSEST_H

#include "bench/study/closest/sort.h"

/* Two points side by side: one access of 16 bytes. */
typedef struct study_two_points {
  float x1, y1, x2, y2;
} __attribute__((aligned(16))) study_two_points;

typedef struct study_closest {
  float distance;
  study_two_points pair;
} study_closest;

/* ---- P1, P2: one core ---- */

/* Of equally close pairs the first in the order of (i, j). */
davit_status study_closest_cpu(int64_t n, const study_point *points, study_closest *result);

/* b points a block; any n, any b > 0. */
davit_status study_closest_blocked(int64_t n, int64_t b, const study_point *points, study_closest *result);

/* visits[i n + j]: how often the blocked program compares i and j (i < j counts for both orders). */
void study_blocked_visits(int64_t n, int64_t b, uint8_t *visits);

/* ---- P4: one core ---- */

typedef struct study_divide_cpu {
  double sort_ms, search_ms;
  int64_t sorts;       /* arrays that were sorted */
  int64_t comparisons; /* of two points */
  int depth;           /* levels of the recursion */
} study_divide_cpu;

/* Up to `cutoff` points, at least 2, are searched by all pairs; the source has 3 and 8. report may be
 * NULL. */
davit_status study_closest_divide_cpu(int64_t n, const study_point *points, int cutoff, study_closest *result,
                                      study_divide_cpu *report);

/* ---- teams ---- */

/* Whether there are kernels for so many threads of a team: 32 … 1024, a power of two; 2 for the source's
 * example of 16 points. */
#define STUDY_CLOSEST_BLOCK(threads)                                                                         \
  ((threads) == 2 || ((threads) >= 32 && (threads) <= 1024 && ((threads) & ((threads) - 1)) == 0))

/* ---- P3, P3b ---- */

typedef struct study_brute {
  int threads;   /* of a block, and points of a tile */
  int64_t teams; /* blocks of the grid; fewer go on with the next ones. 0: one for each candidate */
  bool balanced; /* P3b */
} study_brute;

typedef struct study_brute_times {
  double transfer_ms, compare_ms, reduce_ms, total_ms; /* total: without allocations */
} study_brute_times;

/* Threads that have rows: n; balanced, half of the rows that have comparisons. And their blocks:
 * candidates. */
int64_t study_brute_rows(const study_brute *b, int64_t n);
int64_t study_brute_candidates(const study_brute *b, int64_t n);

/* compare_points_bf: dist[k], pairs[k] = the minimum square among the rows of block k; +INF if it has no
 * comparison. comparisons: of each thread, NULL if not wanted. Memory of the device. */
davit_status study_compare_points(const study_brute *b, int device, int64_t n, const study_point *points,
                                  float *dist, study_two_points *pairs, int64_t *comparisons);

/* minDistReduction: one block of `threads`; dist[0], pairs[0] = the minimum of m > 0 and its pair. Memory of
 * the device. */
davit_status study_min_dist(int device, int threads, int64_t m, float *dist, study_two_points *pairs);

/* The whole program. points and comparisons are host memory; comparisons and times may be NULL. */
davit_status study_closest_brute(const study_brute *b, int device, int64_t n, const study_point *points,
                                 study_closest *result, int64_t *comparisons, study_brute_times *times);

/* ---- P5 ---- */

/* Where compareStripPoints asks whether a point lies in the strip. */
typedef enum study_strip_test {
  STUDY_STRIP_SEPARATE, /* its own point before the loop, the other before the distance: as in the source */
  STUDY_STRIP_MERGED,   /* both after the distance */
  STUDY_STRIP_TESTS
} study_strip_test;

enum { STUDY_FLAGGED_LIMIT = 8 }; /* own block and the next 7 that have points of the strip */

/* What a thread of compareStripPoints did (STRIP_SEPARATE). */
typedef struct study_strip_count {
  uint32_t worked; /* its block was flagged */
  uint32_t inside; /* its own point lay in the strip */
  uint32_t tests;  /* other points asked for */
  uint32_t taken;  /* of these in the strip: distances computed */
  uint32_t nearer; /* of these closer than all before */
} study_strip_count;

typedef struct study_step {
  int64_t length; /* of a batch */
  float delta;
  int64_t flagged; /* blocks */
  double sort_ms, reduce_ms, strip_ms, compare_ms;
  /* Sums over the threads, with `counting`. */
  int64_t worked, inside, tests, taken, nearer;
  int64_t warps,
      divergent_warps; /* of flagged blocks; those of which some points lie in the strip and some do not */
} study_step;

/* The arrays after a step, on the host; gone when the function returns. */
typedef struct study_step_arrays {
  int64_t n, blocks, length;
  const study_point *sx, *sy;
  const bool *flags;
  const float *dist;
  const study_two_points *pairs;
} study_step_arrays;

typedef struct study_divide {
  int base; /* threads of a block, and points */
  study_sort sort;
  bool unlimited;   /* no limit of 8 flagged blocks */
  bool every_block; /* no flags either: all later blocks of a batch are compared; needs `unlimited` */
  study_strip_test strip_test;
  bool counting;
  void (*watch)(void *context, const study_step_arrays *arrays); /* NULL: nothing is copied */
  void *context;
} study_divide;

enum { STUDY_MOST_STEPS = 48 };

typedef struct study_divide_report {
  int64_t n; /* points after padding with +INF to a power of two, at least `base` */
  int steps;
  study_step step[STUDY_MOST_STEPS];
  int64_t comparators; /* of the sorts */
  double transfer_ms, sort_x_ms, brute_ms, reduce_ms /* the last one */, total_ms /* without allocations */;
} study_divide_report;

/* The kernels. n is a power of two and a multiple of base; memory of the device; flags, dist and pairs have n
 * / base entries. `length` is a power of two from 2 base to n. teams as above. */
davit_status study_brute_blocks(int device, int base, int64_t teams, int64_t n, const study_point *sx,
                                float *dist, study_two_points *pairs);
davit_status study_find_strip(int device, int base, int64_t teams, int64_t n, int64_t length, float delta,
                              const study_point *sx, const study_point *sy, bool *flags);

typedef struct study_strip {
  int base;
  int64_t teams, n, length;
  int limit; /* flagged blocks */
  study_strip_test test;
  study_closest minimum; /* so far */
} study_strip;

/* counts: of each thread, NULL if not wanted (and always so for STRIP_MERGED). */
davit_status study_compare_strip(const study_strip *s, int device, const study_point *sx,
                                 const study_point *sy, const bool *flags, float *dist,
                                 study_two_points *pairs, study_strip_count *counts);

/* The whole program. points is host memory; report may be NULL. */
davit_status study_closest_divide(const study_divide *d, int device, int64_t n, const study_point *points,
                                  study_closest *result, study_divide_report *report);

/* Milliseconds of all steps by kernel, in a report: sorting (by x as well), strips, comparison, reduction. */
typedef struct study_divide_shares {
  double sort_ms, brute_ms, reduce_ms, strip_ms, compare_ms;
} study_divide_shares;
study_divide_shares study_divide_sum(const study_divide_report *report);

/* ---- for the files of the study ---- */

/* DAVIT_INVALID_ARGUMENT for fewer than 2 points and coordinates that are not finite. */
davit_status study_closest_check(int64_t n, const study_point *points);

/* STUDY_CLOSEST_BLOCK(threads), and the site. */
davit_status study_closest_check_block(const char *name, int threads, int device, study_site *site);

#endif
