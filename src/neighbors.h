/* SPDX-License-Identifier: Apache-2.0 */
/* What src/cluster.c needs of the searches among points. */
#ifndef DAVIT_SRC_NEIGHBORS_H
#define DAVIT_SRC_NEIGHBORS_H

#include "offload/neighbors.h"
#include "src/runtime/operation.h"

/* A minimum spanning tree or clusters, on one device: where the points are, or the first that is chosen; clusters on
 * the CPU where that is a GPU. Points and results lie anywhere. The arguments are checked already, but for the
 * coordinates. */
davit_status dvt_neighbors_whole(dvt_neighbors *a, dvt_where where);

#endif
