/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of points on one device: the Euclidean minimum spanning tree, and DBSCAN with the eps that has min_points
 * points within it in the mean, of points that are spread evenly and of those that are not. Clocks, ceilings and the
 * options of all programs: bench/measure.h.
 *
 * Times are those of a call, by the host's clock; points and results lie where the device reaches them. `bytes` are
 * those of the operands, each read or written once: the floor. `ns_a_point` is the time by n. */
#include <davit/cluster.h>
#include <math.h>
#include <stdio.h>

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

/* The radius of a ball that has `least` of n points in the unit cube. */
static double radius_of(const problem *p) {
  const double share = (double)p->least / (double)p->n;
  return p->dim == 2 ? sqrt(share / 3.14159265358979) : cbrt(share / 4.18879020478639);
}

static void measure(problem *p, const bench_values *data, bool joins, bool spans) {
  p->eps = radius_of(p);
  for (int d = 0; d < data->count; d++) {
    const int which = (int)data->at[d];
    p->points = bench_points(p->site, which, p->type, p->dim, p->n);
    if (p->points && spans)
      row(p, "tree", which, span, sizeof(davit_closest_pair_result));
    if (p->points && joins && which == 0) /* elsewhere eps has too many pairs */
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
