/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a search for neighbours, from the public call to the kernels. */
#ifndef DAVIT_OFFLOAD_NEIGHBORS_STATE_H
#define DAVIT_OFFLOAD_NEIGHBORS_STATE_H

#include <davit/closest_pair.h>
#include <stdint.h>

typedef enum dvt_neighbors_task {
  DVT_NEIGHBORS_NEAREST, /* the k nearest */
  DVT_NEIGHBORS_COUNT,   /* how many are within the radius */
  DVT_NEIGHBORS_WITHIN,  /* these */
  DVT_NEIGHBORS_SPAN,    /* the minimum spanning tree */
  DVT_NEIGHBORS_CLUSTER  /* DBSCAN */
} dvt_neighbors_task;

/* Pointers are the device's. */
typedef struct dvt_neighbors {
  dvt_neighbors_task task;
  davit_type type;
  int dim;
  int64_t n;
  const void *points;
  int64_t m;
  const void *queries; /* NULL: points first … first + m - 1, each without itself */
  int64_t first;
  int64_t k;
  double radius;
  int64_t *offsets;                 /* m + 1; the first is 0 where they are written */
  int64_t *indices;                 /* rows begin at k q, or offsets[q] - offsets[0] */
  double *distances;                /* likewise */
  davit_closest_pair_result *edges; /* of the tree: n - 1 */
  int64_t least;                    /* points within the radius that make a core point */
  int64_t *labels;                  /* n */
  int64_t *clusters;                /* host memory */
  int threads;                      /* of the CPU; 0: all of the device */
} dvt_neighbors;

enum { DVT_NEIGHBORS_STAGED = 1024 };

#endif
