/* SPDX-License-Identifier: Apache-2.0 */
/* DBSCAN: pairs within eps, found by the devices, join their core points. A set of points that are joined is known by
 * its lowest number, and so are the clusters. */
#include <davit/cluster.h>
#include <davit/neighbors.h>
#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/base/check.h"
#include "src/neighbors.h"
#include "src/runtime/operation.h"

enum { NOISE = -1 };

/* Rows of the points within eps of each. */
typedef struct rows {
  int64_t n, least; /* least: points of a row that make a core point */
  int64_t *offsets, *indices;
} rows;

static bool is_core(const rows *r, int64_t i) {
  return r->offsets[i + 1] - r->offsets[i] >= r->least;
}

/* The lowest number of the set, to which all on the way there point afterwards. */
static int64_t find_root(int64_t *parent, int64_t i) {
  int64_t root = i;
  while (parent[root] != root)
    root = parent[root];
  while (parent[i] != root) {
    const int64_t next = parent[i];
    parent[i] = root;
    i = next;
  }
  return root;
}

static void join_cores(const rows *r, int64_t *parent) {
  for (int64_t i = 0; i < r->n; i++) {
    parent[i] = i;
    for (int64_t j = r->offsets[i]; is_core(r, i) && j < r->offsets[i + 1]; j++) {
      const int64_t other = r->indices[j];
      if (other > i || !is_core(r, other))
        continue;
      const int64_t a = find_root(parent, i), b = find_root(parent, other);
      parent[a > b ? a : b] = a > b ? b : a;
    }
  }
}

/* Of a point that is no core point. */
static int64_t first_cluster_near(const rows *r, const int64_t *labels, int64_t i) {
  int64_t first = NOISE;
  for (int64_t j = r->offsets[i]; j < r->offsets[i + 1]; j++) {
    const int64_t other = r->indices[j];
    if (is_core(r, other) && (first == NOISE || labels[other] < first))
      first = labels[other];
  }
  return first;
}

/* A root comes before the other points of its set. */
static int64_t number_clusters(const rows *r, int64_t *parent, int64_t *labels) {
  int64_t clusters = 0;
  for (int64_t i = 0; i < r->n; i++)
    if (is_core(r, i)) {
      const int64_t root = find_root(parent, i);
      labels[i] = root == i ? clusters++ : labels[root];
    }
  for (int64_t i = 0; i < r->n; i++)
    if (!is_core(r, i))
      labels[i] = first_cluster_near(r, labels, i);
  return clusters;
}

static davit_status find_rows(davit_type type, int dim, const void *points, double eps,
                              const davit_neighbors_options *options, rows *r) {
  r->offsets = dvt_allocate((size_t)(r->n + 1), sizeof *r->offsets);
  if (!r->offsets)
    return DAVIT_OUT_OF_HOST_MEMORY;
  DVT_TRY(davit_radius_count(type, dim, r->n, points, r->n, NULL, eps, r->offsets, options));
  r->indices = dvt_allocate((size_t)(r->offsets[r->n] + 1), sizeof *r->indices);
  if (!r->indices)
    return DAVIT_OUT_OF_HOST_MEMORY;
  return davit_radius(type, dim, r->n, points, r->n, NULL, eps, r->offsets, r->indices, NULL, options);
}

static davit_status label(const rows *r, int64_t *labels, int64_t *clusters) {
  int64_t *parent = dvt_allocate((size_t)r->n, sizeof *parent);
  if (!parent)
    return DAVIT_OUT_OF_HOST_MEMORY;
  join_cores(r, parent);
  *clusters = number_clusters(r, parent, labels);
  free(parent);
  return DAVIT_SUCCESS;
}

static davit_status check_count(int64_t n) {
  if (n < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld, less than 1", (long long)n);
  return n < UINT32_MAX ? DAVIT_SUCCESS
                        : davit_fail(DAVIT_UNSUPPORTED, "n is %lld, not below 2^32 - 1", (long long)n);
}

davit_status davit_dbscan(davit_type type, int dim, int64_t n, const void *points, double eps,
                          int64_t min_points, int64_t *labels, int64_t *clusters,
                          const davit_cluster_options *options) {
  DVT_TRY(DVT_CHECK_OPTIONS(options));
  const davit_neighbors_options where = {.devices = options ? options->devices : NULL,
                                         .device_count = options ? options->device_count : 0};
  rows r = {.n = n, .least = min_points - 1};
  DVT_TRY(dvt_check_floating(type));
  DVT_TRY(check_count(n));
  if (!(eps >= 0))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "eps is %g, not 0 or above", eps);
  if (min_points < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "min_points is %lld, less than 1", (long long)min_points);
  DVT_TRY(dvt_check_pointer("labels", labels));
  DVT_TRY(dvt_check_pointer("clusters", clusters));
  davit_status status = find_rows(type, dim, points, eps, &where, &r);
  if (status == DAVIT_SUCCESS)
    status = label(&r, labels, clusters);
  free(r.offsets);
  free(r.indices);
  return status;
}

/* ---- the minimum spanning tree ---- */

davit_status davit_emst(davit_type type, int dim, int64_t n, const void *points,
                        davit_closest_pair_result *edges, const davit_cluster_options *options) {
  DVT_TRY(dvt_check_floating(type));
  DVT_TRY(dvt_check_dim(dim));
  DVT_TRY(check_count(n));
  DVT_TRY(dvt_check_pointer("points", points));
  DVT_TRY(n > 1 ? dvt_check_pointer("edges", edges) : DAVIT_SUCCESS);
  dvt_neighbors a = {
      .task = DVT_NEIGHBORS_SPAN, .type = type, .dim = dim, .n = n, .points = points, .m = n, .edges = edges};
  return dvt_neighbors_span(&a, DVT_DEVICES(options));
}
