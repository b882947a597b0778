/* SPDX-License-Identifier: Apache-2.0 */
/* The neighbours of points in two or three dimensions: the k nearest, or all within a radius.
 *
 * Point j has the coordinates points[dim j] … points[dim j + dim - 1], and a query likewise. If queries is NULL, the
 * queries are the points themselves, m is n, and no point is its own neighbour; another point at the same place is one,
 * at distance 0. The neighbours of query q are ordered by (distance, index). So the answer is unique, and has the same
 * bytes on every device and on any number of devices. Distances are computed and compared in double, whatever the type
 * of the coordinates, without overflow or underflow.
 *
 * type is DAVIT_FLOAT or DAVIT_DOUBLE, dim 2 or 3. n is at least 1; n and m are below 2^32 - 1. With m = 0 nothing is
 * computed. Coordinates must be finite: a NaN or an infinity is DAVIT_INVALID_ARGUMENT, and the sentence names the point
 * or the query (a queue reports it at the next synchronisation).
 *
 * Operands of the plain form may lie anywhere, operands of the queue form where the queue's device reaches them. Several
 * devices get all points and a range of the queries each. Memory: about 70 bytes a point and 40 a query, in addition to
 * the operands. Cost: O(n) for the tree, then O(log n + k) a query for most inputs. Equal points, far outliers and
 * clusters cost no more. A query that is equally far from very many points costs time in proportion to their number.
 * Source: a packed tree of boxes over the points in Hilbert's order, after Kamel and Faloutsos, On Packing R-trees
 * (1993), with the curve's order after Skilling, Programming the Hilbert Curve (2004); docs/neighbors.md. Thread safety:
 * any thread. */
#ifndef DAVIT_NEIGHBORS_H
#define DAVIT_NEIGHBORS_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_neighbors_options {
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[4]; /* 0 */
} davit_neighbors_options;

/* The k nearest points of each query. Those of query q become indices[k q] … indices[k q + k - 1], with their distances
 * at the same places; distances may be NULL. Both are m x k arrays in C order. k is 1 to n, or to n - 1 if queries is
 * NULL. */
DAVIT_API davit_status davit_neighbors(davit_type type, int dim, int64_t n, const void *points, int64_t m,
                                       const void *queries, int64_t k, int64_t *indices, double *distances,
                                       const davit_neighbors_options *options);
DAVIT_API davit_status davit_queue_neighbors(davit_queue *queue, davit_type type, int dim, int64_t n,
                                             const void *points, int64_t m, const void *queries, int64_t k,
                                             int64_t *indices, double *distances,
                                             const davit_neighbors_options *options);

/* All points that are no farther from a query than `radius`, which is 0 or above; INFINITY is allowed.
 * davit_radius_count() counts them and writes m + 1 offsets: offsets[0] is 0, query q has offsets[q + 1] - offsets[q]
 * neighbours, and offsets[m] is the number of all. davit_radius() then writes the neighbours of query q to indices, and
 * their distances to distances (NULL allowed), from offsets[q] on, like the rows of a sparse matrix.
 *
 *     davit_radius_count(DAVIT_FLOAT, 2, n, points, n, NULL, 0.5, offsets, NULL);
 *     int64_t *indices = malloc((size_t)offsets[n] * sizeof *indices);
 *     davit_radius(DAVIT_FLOAT, 2, n, points, n, NULL, 0.5, offsets, indices, NULL, NULL);
 *
 * Each device counts its rows once more before it writes. Offsets of other points or of another radius are
 * DAVIT_INVALID_ARGUMENT; then nothing has been written, except perhaps rows of other devices. Cost: counting takes
 * O(log n) a query, and time for the points near the border of the radius; boxes of points inside it count as a whole.
 * Writing takes time for each neighbour. */
DAVIT_API davit_status davit_radius_count(davit_type type, int dim, int64_t n, const void *points, int64_t m,
                                          const void *queries, double radius, int64_t *offsets,
                                          const davit_neighbors_options *options);
DAVIT_API davit_status davit_queue_radius_count(davit_queue *queue, davit_type type, int dim, int64_t n,
                                                const void *points, int64_t m, const void *queries,
                                                double radius, int64_t *offsets,
                                                const davit_neighbors_options *options);
DAVIT_API davit_status davit_radius(davit_type type, int dim, int64_t n, const void *points, int64_t m,
                                    const void *queries, double radius, const int64_t *offsets,
                                    int64_t *indices, double *distances,
                                    const davit_neighbors_options *options);
DAVIT_API davit_status davit_queue_radius(davit_queue *queue, davit_type type, int dim, int64_t n,
                                          const void *points, int64_t m, const void *queries, double radius,
                                          const int64_t *offsets, int64_t *indices, double *distances,
                                          const davit_neighbors_options *options);

#ifdef __cplusplus
}
#endif
#endif
