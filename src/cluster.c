/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of points: checks. src/neighbors.c says where they are found. */
#include <davit/cluster.h>

#include "src/base/check.h"
#include "src/neighbors.h"

static davit_status check_points(davit_type type, int dim, int64_t n, const void *points) {
  DVT_TRY(dvt_check_floating(type));
  DVT_TRY(dvt_check_dim(dim));
  if (n < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld, less than 1", (long long)n);
  if (n >= UINT32_MAX)
    return davit_fail(DAVIT_UNSUPPORTED, "n is %lld, not below 2^32 - 1", (long long)n);
  return dvt_check_pointer("points", points);
}

davit_status davit_dbscan(davit_type type, int dim, int64_t n, const void *points, double eps,
                          int64_t min_points, int64_t *labels, int64_t *clusters,
                          const davit_cluster_options *options) {
  dvt_neighbors a = {.task = DVT_NEIGHBORS_CLUSTER,
                     .type = type,
                     .dim = dim,
                     .n = n,
                     .points = points,
                     .m = n,
                     .radius = eps,
                     .least = min_points,
                     .labels = labels,
                     .clusters = clusters};
  DVT_TRY(check_points(type, dim, n, points));
  if (!(eps >= 0))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "eps is %g, not 0 or above", eps);
  if (min_points < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "min_points is %lld, less than 1", (long long)min_points);
  DVT_TRY(dvt_check_pointer("labels", labels));
  DVT_TRY(dvt_check_pointer("clusters", clusters));
  return dvt_neighbors_whole(&a, DVT_DEVICES(options));
}

davit_status davit_emst(davit_type type, int dim, int64_t n, const void *points,
                        davit_closest_pair_result *edges, const davit_cluster_options *options) {
  dvt_neighbors a = {
      .task = DVT_NEIGHBORS_SPAN, .type = type, .dim = dim, .n = n, .points = points, .m = n, .edges = edges};
  DVT_TRY(check_points(type, dim, n, points));
  DVT_TRY(n > 1 ? dvt_check_pointer("edges", edges) : DAVIT_SUCCESS);
  return dvt_neighbors_whole(&a, DVT_DEVICES(options));
}
