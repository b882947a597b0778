/* SPDX-License-Identifier: Apache-2.0 */
/* The closest pair of a set of points in two or three dimensions, the k closest pairs, and all pairs within a radius.
 *
 * Point k has the coordinates points[dim k] … points[dim k + dim - 1]. The answer is unique and the same
 * on every device: of all pairs i < j it is the minimum by (distance, i, j). Distances are computed and
 * compared in double, whatever the type of the coordinates, without overflow or underflow; equal points
 * have distance 0.
 *
 * type is DAVIT_FLOAT or DAVIT_DOUBLE, dim 2 or 3, n at least 2. Coordinates must be finite: a NaN or an
 * infinity is DAVIT_INVALID_ARGUMENT, and the sentence names the point (a queue reports it at the next
 * synchronisation).
 * Cost: DAVIT_CLOSEST_PAIR_GRID takes O(n) expected time and memory for any input. Source: grids whose cells are as
 * wide as a sampled bound, after Rabin, Probabilistic Algorithms (1976), and Khuller and Matias, A Simple Randomized
 * Sieve Algorithm (1995); docs/closest_pair.md. Thread safety: any thread. */
#ifndef DAVIT_CLOSEST_PAIR_H
#define DAVIT_CLOSEST_PAIR_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum davit_closest_pair_algorithm {
  DAVIT_CLOSEST_PAIR_AUTO,   /* brute for few points, else grid */
  DAVIT_CLOSEST_PAIR_BRUTE,  /* all pairs, O(n^2) */
  DAVIT_CLOSEST_PAIR_DIVIDE, /* divide and conquer on the host's threads, O(n log n) */
  DAVIT_CLOSEST_PAIR_GRID
} davit_closest_pair_algorithm;

typedef struct davit_closest_pair_options {
  const int *devices; /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;   /* 0 with devices = NULL */
  davit_closest_pair_algorithm algorithm;
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[3]; /* 0 */
} davit_closest_pair_options;

typedef struct davit_closest_pair_result {
  int64_t i, j; /* i < j */
  double distance;
} davit_closest_pair_result;

/* Points may lie anywhere. Points on one of the devices are searched there; otherwise the devices share the search.
 * `result` is host memory in both forms. */
DAVIT_API davit_status davit_closest_pair(davit_type type, int dim, int64_t n, const void *points,
                                          davit_closest_pair_result *result,
                                          const davit_closest_pair_options *options);
DAVIT_API davit_status davit_queue_closest_pair(davit_queue *queue, davit_type type, int dim, int64_t n,
                                                const void *points, davit_closest_pair_result *result,
                                                const davit_closest_pair_options *options);

/* The first k of all pairs that are no farther apart than `radius`, in the order of (distance, i, j). If radius is
 * INFINITY, these are the k closest pairs. There may be fewer than k: *count is the number of pairs written to `pairs`,
 * which has room for k. `pairs` and `count` are host memory. radius is 0 or above, k at least 1.
 *
 *     int64_t count;
 *     davit_closest_pairs_count(DAVIT_FLOAT, 2, n, points, 0.5, &count, NULL);   all pairs within 0.5
 *     davit_closest_pair_result *pairs = malloc((size_t)count * sizeof *pairs);
 *     davit_closest_pairs(DAVIT_FLOAT, 2, n, points, count, 0.5, pairs, &count, NULL);      (count above 0)
 *
 * Memory: 2 k + 65536 pairs of 24 bytes on the host and on each device, and the grid. Cost: O(n + k) for most inputs,
 * O(n + count) for all pairs within a radius. DAVIT_CLOSEST_PAIR_DIVIDE sorts along the longest axis and sweeps, on one
 * thread of the host; the grid falls back to this if many points are equal. */
DAVIT_API davit_status davit_closest_pairs(davit_type type, int dim, int64_t n, const void *points, int64_t k,
                                           double radius, davit_closest_pair_result *pairs, int64_t *count,
                                           const davit_closest_pair_options *options);
DAVIT_API davit_status davit_queue_closest_pairs(davit_queue *queue, davit_type type, int dim, int64_t n,
                                                 const void *points, int64_t k, double radius,
                                                 davit_closest_pair_result *pairs, int64_t *count,
                                                 const davit_closest_pair_options *options);

/* How many pairs are no farther apart than `radius`. */
DAVIT_API davit_status davit_closest_pairs_count(davit_type type, int dim, int64_t n, const void *points,
                                                 double radius, int64_t *count,
                                                 const davit_closest_pair_options *options);
DAVIT_API davit_status davit_queue_closest_pairs_count(davit_queue *queue, davit_type type, int dim,
                                                       int64_t n, const void *points, double radius,
                                                       int64_t *count,
                                                       const davit_closest_pair_options *options);

/* The algorithm that davit_closest_pair() takes with these arguments, never DAVIT_CLOSEST_PAIR_AUTO. The points are not
 * read. (A grid that finds crowded cells in each round falls back to divide and conquer.) */
DAVIT_API davit_status davit_closest_pair_plan(davit_type type, int dim, int64_t n, const void *points,
                                               davit_closest_pair_algorithm *algorithm,
                                               const davit_closest_pair_options *options);

#ifdef __cplusplus
}
#endif
#endif
