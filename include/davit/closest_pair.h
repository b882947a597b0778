/* The closest pair of a set of points in two or three dimensions.
 *
 * Point k has the coordinates points[dim k] … points[dim k + dim - 1]. The answer is unique and the same on every device: of all
 * pairs i < j it is the least by (distance, i, j). Distances are computed and compared in double, whatever the type of the
 * coordinates, without overflow or underflow; equal points have distance 0.
 *
 * Coordinates must be finite: a NaN or an infinity is DAVIT_INVALID_ARGUMENT, and the sentence names the point. n < 2 too.
 * Cost: DAVIT_CLOSEST_GRID expected O(n) time and memory for any input. Source: grids with the cell of a sampled bound, after
 * Rabin, Probabilistic Algorithms (1976), and Khuller and Matias, A Simple Randomized Sieve Algorithm (1995);
 * docs/closest_pair.md. Thread safety: any thread. */
#ifndef DAVIT_CLOSEST_PAIR_H
#define DAVIT_CLOSEST_PAIR_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum davit_closest_algorithm {
  DAVIT_CLOSEST_AUTO,   /* brute for few points, else grid */
  DAVIT_CLOSEST_BRUTE,  /* all pairs, O(n^2) */
  DAVIT_CLOSEST_DIVIDE, /* divide and conquer on the host's threads, O(n log n) */
  DAVIT_CLOSEST_GRID
} davit_closest_algorithm;

typedef struct davit_pair {
  int64_t i, j; /* i < j */
  double distance;
} davit_pair;

/* Enqueues the search on the queue's device: points are memory that it reaches, `pair` is host memory. type is DAVIT_FLOAT or
 * DAVIT_DOUBLE, dim 2 or 3. A failure (a coordinate that is not finite, no memory) is the command's. */
DAVIT_API davit_status davit_queue_closest_pair(davit_queue *queue, davit_type type, int dim, int64_t n,
                                                const void *points, davit_closest_algorithm algorithm,
                                                davit_pair *pair);

/* Points anywhere; spread over the devices (NULL and 0: davit_default_devices()), or on the device where they lie. */
DAVIT_API davit_status davit_closest_pair(davit_type type, int dim, int64_t n, const void *points,
                                          davit_closest_algorithm algorithm, const int *devices,
                                          int device_count, davit_pair *pair);

/* Which algorithm davit_closest_pair() takes with these arguments, never DAVIT_CLOSEST_AUTO. (A grid that meets crowded cells
 * again and again ends in divide and conquer.) The points are not read. */
DAVIT_API davit_status davit_closest_pair_algorithm(davit_type type, int dim, int64_t n, const void *points,
                                                    davit_closest_algorithm algorithm, const int *devices,
                                                    int device_count, davit_closest_algorithm *taken);

#ifdef __cplusplus
}
#endif
#endif
