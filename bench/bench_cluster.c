/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of points on one device: the Euclidean minimum spanning tree, and DBSCAN with the eps within which half of
 * the points have min_points, of points that are spread evenly and of those that are not. Clocks, ceilings and the
 * options of all programs: bench/measure.h.
 *
 * Times are those of a call, by the host's clock; points and results lie where the device reaches them. `bytes` are
 * those of the operands, each read or written once: the floor. `ns_a_point` is the time by n. */
#include <davit/cluster.h>
#include <davit/neighbors.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/points.h"
#include "bench/series.h"

typedef struct problem {
  const bench_site *site;
  davit_type type;
  int dim;
  int64_t n, least;
  double eps;
  void *points, *result;
  int64_t clusters;
} problem;

static davit_cluster_options where(const problem *p) {
  return (davit_cluster_options){.devices = &p->site->device, .device_count = 1};
}

static davit_status span(void *argument) {
  problem *p = argument;
  const davit_cluster_options o = where(p);
  return davit_emst(p->type, p->dim, p->n, p->points, p->result, &o);
}

static davit_status cluster(void *argument) {
  problem *p = argument;
  const davit_cluster_options o = where(p);
  return davit_dbscan(p->type, p->dim, p->n, p->points, p->eps, p->least, p->result, &p->clusters, &o);
}

static void row(problem *p, const char *form, int which, bench_work work, size_t result_bytes) {
  char variant[40];
  p->result = bench_memory(DAVIT_PINNED, (size_t)p->n * result_bytes);
  if (!p->result)
    return;
  const bench_time time = bench_wall_time(p->site, work, p);
  snprintf(variant, sizeof variant, "%s %d-D", bench_points_name(which), p->dim);
  const bench_case what = {.operation = "cluster",
                           .type = bench_type_name(p->type),
                           .variant = variant,
                           .form = form,
                           .rows = p->n,
                           .bytes = (double)p->n *
                                    (double)((size_t)p->dim * davit_type_bytes(p->type) + result_bytes)};
  bench_report(p->site, &what, &time, NULL, NULL);
  bench_number("ns_a_point", time.median * 1e9 / (double)p->n);
  if (work == cluster)
    bench_number("clusters", (double)p->clusters);
  davit_free(p->result);
}

static int by_length(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median, over a sample, of the distance within which a point has `least`, itself among them. */
static bool choose_eps(problem *p) {
  const davit_neighbors_options o = {.devices = &p->site->device, .device_count = 1};
  const int64_t sample = p->n < 1000 ? p->n : 1000, k = p->least < p->n ? p->least : p->n;
  const size_t row_bytes = (size_t)(sample * k) * sizeof(int64_t);
  int64_t *indices = bench_memory(DAVIT_PINNED, row_bytes);
  double *distances = bench_memory(DAVIT_PINNED, row_bytes);
  if (indices && distances) {
    bench_check(
        davit_neighbors(p->type, p->dim, p->n, p->points, sample, p->points, k, indices, distances, &o),
        "neighbors");
    for (int64_t i = 0; i < sample; i++)
      distances[i] = distances[i * k + k - 1];
    qsort(distances, (size_t)sample, sizeof *distances, by_length);
    p->eps = distances[sample / 2];
  }
  const bool chosen = indices && distances;
  davit_free(indices);
  davit_free(distances);
  return chosen;
}

static void measure(problem *p, const bench_values *data, bool joins, bool spans) {
  for (int d = 0; d < data->count; d++) {
    const int which = (int)data->at[d];
    p->points = bench_points(p->site, which, p->type, p->dim, p->n);
    if (p->points && spans)
      row(p, "tree", which, span, sizeof(davit_closest_pair_result));
    if (p->points && joins && choose_eps(p))
      row(p, "dbscan", which, cluster, sizeof(int64_t));
    davit_free(p->points);
  }
}

static void measure_site(const bench_site *site, const bench_spread *spread) {
  problem p = {.site = site, .least = bench_whole("min-points", 8)};
  const bench_values dims = bench_sizes("dims", "2,3"),
                     sizes = bench_sizes("sizes", site->gpu ? "1048576,16777216" : "1048576"),
                     data = bench_list("data", "0,1,2,3,4,5");
  const bench_kinds types = bench_types("sd");
  const bool joins = bench_whole("dbscan", 1) != 0, spans = bench_whole("tree", 1) != 0;
  (void)spread;
  for (int t = 0; t < types.count; t++)
    for (int d = 0; d < dims.count; d++)
      for (int i = 0; i < sizes.count; i++) {
        p.type = types.at[t];
        p.dim = (int)dims.at[d];
        p.n = sizes.at[i];
        measure(&p, &data, joins, spans);
      }
}

static const char usage[] =
    "bench_cluster [--sizes 1048576,16777216] [--dims 2,3] [--data 0,1,2,3,4,5] [--min-points 8] "
    "[--dbscan 1] [--tree 1]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_run("cluster", usage, argc, argv, measure_site);
}
