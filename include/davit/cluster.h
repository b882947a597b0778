/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of points in two or three dimensions: by density (DBSCAN), and the Euclidean minimum spanning tree.
 *
 * Point i has the coordinates points[dim i] … points[dim i + dim - 1]. It is a core point if at least min_points
 * points, itself among them, are no farther from it than eps. Core points that are no farther from each other than
 * eps are in one cluster. A point that is no core point belongs to the first cluster that has a core point within eps
 * of it, and where there is none it is noise. Clusters are numbered from 0 in the order of their first core points;
 * the label of noise is -1. So the labels are unique, the same on every device, and those of scikit-learn's DBSCAN.
 * Distances are those of <davit/neighbors.h>.
 *
 * type is DAVIT_FLOAT or DAVIT_DOUBLE, dim 2 or 3, n at least 1 and below 2^32 - 1, eps 0 or above, INFINITY allowed,
 * min_points at least 1. Coordinates must be finite: DAVIT_INVALID_ARGUMENT names the point that is not. Points, and
 * labels, which has room for n, may lie anywhere; clusters, which gets the number of clusters, is host memory. Where a
 * call fails, clusters keeps its value.
 *
 * One device computes: that where the points lie, or else the first of the options. It gets what it does not reach.
 * Memory there: about 80 bytes a point, whatever eps is. Cost: that of a search for each point that ends at min_points
 * points, one that leaves out what is in the point's cluster already, and one for points that are no core points.
 * Source: Ester, Kriegel, Sander, Xu, A Density-based Algorithm for Discovering Clusters (1996); sets that any thread
 * joins after Prokopenko, Lebrun-Grandie, Arndt, Fast Tree-Based Algorithms for DBSCAN on GPUs (2021). Thread safety:
 * any thread. */
#ifndef DAVIT_CLUSTER_H
#define DAVIT_CLUSTER_H

#include <davit/closest_pair.h>
#include <davit/operator.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_cluster_options {
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  uint64_t reserved[4]; /* 0 */
} davit_cluster_options;

DAVIT_API davit_status davit_dbscan(davit_type type, int dim, int64_t n, const void *points, double eps,
                                    int64_t min_points, int64_t *labels, int64_t *clusters,
                                    const davit_cluster_options *options);

/* The Euclidean minimum spanning tree: the n - 1 edges i < j that connect all points with the minimum sum of distances,
 * in the order of (distance, i, j). Of several such trees it is the one that this order chooses, so it is unique, the
 * same on every device. edges may lie anywhere and has room for n - 1; with one point it is not used.
 *
 * One device computes: that where the points lie, or else the first of the options. Memory there: about 100 bytes a
 * point, and the edges where it does not write them in their place. Cost: O(n log n) for most inputs. Source: Boruvka
 * (1926); March, Ram, Gray, Fast Euclidean Minimum Spanning Tree (2010); Prokopenko, Sao, Lebrun-Grandie, A single-tree
 * algorithm to compute the Euclidean minimum spanning tree on GPUs (2022). */
DAVIT_API davit_status davit_emst(davit_type type, int dim, int64_t n, const void *points,
                                  davit_closest_pair_result *edges, const davit_cluster_options *options);

#ifdef __cplusplus
}
#endif
#endif
