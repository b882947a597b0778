/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours on one device: the k nearest of each point, for points that are spread evenly and for those that are not,
 * and all within the radius that has as many in the mean. Clocks, ceilings and the options of all programs:
 * bench/measure.h.
 *
 * Times are those of a call of the queue with the wait for its end, by the host's clock. `bytes` are those of the
 * operands, each read or written once: the floor. `ns_a_point` is the time by n, `of_uniform` by that of evenly
 * spread points. On the CPU the peer is SciPy's cKDTree with workers=-1, which tests/cli/test_cli_neighbors.py
 * compares with. */
#include <davit/neighbors.h>
#include <math.h>
#include <stdio.h>

#include "bench/points.h"
#include "bench/series.h"

typedef struct problem {
  const bench_site *site;
  davit_type type;
  int dim;
  int64_t n, k;
  double radius;
  void *points;
  int64_t *indices, *offsets;
  double *distances;
} problem;

static size_t bytes_of(const problem *p) {
  return (size_t)p->n * (size_t)p->dim * davit_type_bytes(p->type);
}

/* Points and results for the site; false if there is no memory. */
static bool open(problem *p, int which) {
  const int place = bench_place(p->site);
  const size_t rows = (size_t)(p->n * p->k) * sizeof(int64_t);
  p->points = bench_points(p->site, which, p->type, p->dim, p->n);
  p->indices = bench_memory(place, rows);
  p->distances = bench_memory(place, rows);
  p->offsets = bench_memory(place, (size_t)(p->n + 1) * sizeof *p->offsets);
  return p->points && p->indices && p->distances && p->offsets;
}

static void close(const problem *p) {
  davit_free(p->points);
  davit_free(p->indices);
  davit_free(p->distances);
  davit_free(p->offsets);
}

/* ---- calls ---- */

static davit_status ended(const problem *p, davit_status status) {
  const davit_status end = davit_queue_synchronize(p->site->queue);
  return status != DAVIT_SUCCESS ? status : end;
}

static davit_status nearest(void *argument) {
  problem *p = argument;
  return ended(p, davit_queue_neighbors(p->site->queue, p->type, p->dim, p->n, p->points, p->n, NULL, p->k,
                                        p->indices, p->distances, NULL));
}

static davit_status counted(void *argument) {
  problem *p = argument;
  return ended(p, davit_queue_radius_count(p->site->queue, p->type, p->dim, p->n, p->points, p->n, NULL,
                                           p->radius, p->offsets, NULL));
}

static double row(const problem *p, const char *form, int which, const bench_time *time, double result_bytes,
                  double uniform_time) {
  char variant[40];
  snprintf(variant, sizeof variant, "%s %d-D k %d", bench_points_name(which), p->dim, (int)p->k);
  bench_case what = {.operation = "neighbors",
                     .type = bench_type_name(p->type),
                     .variant = variant,
                     .form = form,
                     .rows = p->n,
                     .bytes = (double)bytes_of(p) + result_bytes};
  bench_report(p->site, &what, time, NULL, NULL);
  bench_number("ns_a_point", time->median * 1e9 / (double)p->n);
  if (uniform_time > 0)
    bench_number("of_uniform", time->median / uniform_time);
  return time->median;
}

/* The radius of a ball that has k of n points in the unit cube. */
static double radius_of(const problem *p) {
  const double share = (double)p->k / (double)p->n;
  return p->dim == 2 ? sqrt(share / 3.14159265358979) : cbrt(share / 4.18879020478639);
}

static void measure(problem *p, bool all) {
  const double words = (double)p->n * sizeof(int64_t);
  double uniform_time = 0;
  for (int which = 0; which < (all ? BENCH_POINTS : 1); which++) {
    if (open(p, which)) {
      bench_time time = bench_wall_time(p->site, nearest, p);
      const double took = row(p, "nearest", which, &time, 2 * (double)p->k * words, uniform_time);
      uniform_time = which == 0 ? took : uniform_time;
      p->radius = radius_of(p);
      if (which == 0) {
        time = bench_wall_time(p->site, counted, p);
        row(p, "radius count", which, &time, words, 0);
      }
    }
    close(p);
  }
}

static void measure_site(const bench_site *site, const bench_spread *spread) {
  problem p = {.site = site};
  const bench_values dims = bench_sizes("dims", "2,3"),
                     sizes = bench_sizes("sizes", site->gpu ? "1048576,16777216" : "1048576"),
                     ks = bench_sizes("k", "1,10,100");
  const bench_kinds types = bench_types("sd");
  const bool all = bench_whole("data", 1) != 0;
  (void)spread;
  for (int t = 0; t < types.count; t++)
    for (int d = 0; d < dims.count; d++)
      for (int i = 0; i < sizes.count; i++)
        for (int k = 0; k < ks.count; k++) {
          p.type = types.at[t];
          p.dim = (int)dims.at[d];
          p.n = sizes.at[i];
          p.k = ks.at[k];
          measure(&p, all && p.k > 1);
        }
}

static const char usage[] = "bench_neighbors [--sizes 1048576,16777216] [--k 1,10,100] [--dims 2,3] [--data "
                            "1]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_run("neighbors", usage, argc, argv, measure_site);
}
