/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours of points on one device: the arguments, from the public call to the kernels, and the work.
 *
 * The points are sorted along Hilbert's curve and packed into a tree of boxes, in which each query searches by
 * itself: offload/neighbors.c. */
#ifndef DAVIT_OFFLOAD_NEIGHBORS_H
#define DAVIT_OFFLOAD_NEIGHBORS_H

#include <davit/closest_pair.h>

#include "offload/neighbors_state.h"
#include "offload/runtime/stream.h"

typedef struct dvt_neighbors_site {
  int device;
  bool gpu; /* else the CPU, with `threads` threads */
  int threads;
  int teams;          /* of a GPU's kernels, at most */
  dvt_stream *stream; /* of a GPU; NULL: target regions of the OpenMP runtime */
  void *memory;       /* of the device: dvt_neighbors_bytes() */
  void *staged;       /* with a stream: DVT_NEIGHBORS_STAGED bytes, pinned */
} dvt_neighbors_site;

size_t dvt_neighbors_bytes(const dvt_neighbors_site *site, const dvt_neighbors *a);

/* Does the work and waits for it. Edges of a spanning tree lie where the device reaches them. DAVIT_INVALID_ARGUMENT: a
 * point or a query is not finite, or offsets do not fit. */
davit_status dvt_neighbors_perform(const dvt_neighbors_site *site, const dvt_neighbors *a);

#endif
