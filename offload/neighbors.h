/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours of points on one device: the arguments, from the public call to the kernels, and the work.
 *
 * The points are sorted along Hilbert's curve and packed into a tree of boxes, in which each query searches by
 * itself: offload/neighbors.c. */
#ifndef DAVIT_OFFLOAD_NEIGHBORS_H
#define DAVIT_OFFLOAD_NEIGHBORS_H

#include <davit/operator.h>

#include "offload/runtime/launch.h"
#include "offload/runtime/stream.h"

typedef enum dvt_neighbors_task {
  DVT_NEIGHBORS_NEAREST, /* the k nearest */
  DVT_NEIGHBORS_COUNT,   /* how many are within the radius */
  DVT_NEIGHBORS_WITHIN   /* these */
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
  int64_t *offsets;  /* m + 1; the first is 0 where they are written */
  int64_t *indices;  /* rows begin at k q, or offsets[q] - offsets[0] */
  double *distances; /* likewise */
  int threads;       /* of the CPU; 0: all of the device */
} dvt_neighbors;

typedef struct dvt_neighbors_work dvt_neighbors_work;

typedef struct dvt_neighbors_site {
  int device;
  bool gpu; /* else the CPU, with `threads` threads */
  int threads;
  int teams;          /* of a GPU's kernels, at most */
  dvt_stream *stream; /* of a GPU; NULL: target regions of the OpenMP runtime */
  void *memory;       /* of the device: dvt_neighbors_bytes() */
  void *staged;       /* with a stream: DVT_NEIGHBORS_STAGED bytes, pinned */
} dvt_neighbors_site;

enum { DVT_NEIGHBORS_STAGED = 1024 };

size_t dvt_neighbors_bytes(const dvt_neighbors_site *site, const dvt_neighbors *a);

/* Does the work and waits for it. DAVIT_INVALID_ARGUMENT: a point or a query is not finite, or offsets do not fit. */
davit_status dvt_neighbors_perform(const dvt_neighbors_site *site, const dvt_neighbors *a);

#endif
