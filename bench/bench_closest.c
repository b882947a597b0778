/* SPDX-License-Identifier: Apache-2.0 */
/* The closest pair: on one device, for points that are spread evenly and for those that are not, by each
 * algorithm, and of points in pinned host memory over several devices. Clocks, ceilings and the options of
 * all programs: bench/measure.h.
 *
 * Times are those of a call with the wait for its answer, by the host's clock. --sizes are for the grid,
 * --brute and --divide the points for these algorithms, --plain those in pinned memory; --data 0 leaves all
 * data but uniform out. --pairs are the numbers of closest pairs that are searched for in uniform points, and
 * then counted by the distance of the last of them. `of_uniform` is the time by that of uniform points of the
 * same type, size and dimension; `ns_a_point` the time by n. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/series.h"
#include "ref/philox.h"

typedef struct problem {
  const bench_site *site;
  davit_type type;
  int dim;
  int64_t n;
  void *points;
  davit_closest_pair_algorithm algorithm;
  davit_closest_pair_result pair;
  int64_t k, count; /* of several pairs */
  double radius;
  davit_closest_pair_result *pairs;
  bench_spread spread;
} problem;

/* ---- data ---- */

/* Three numbers in [0, 1) of point i. */
static void numbers(int64_t i, double at[4]) {
  dvt_philox_double(2 * (uint64_t)i, 7, at);
  dvt_philox_double(2 * (uint64_t)i + 1, 7, at + 2);
}

static void uniform(int64_t i, int64_t n, double at[4]) {
  (void)n;
  numbers(i, at);
}

static void normal(int64_t i, int64_t n, double at[4]) {
  double other[4];
  numbers(i, at);
  numbers(i + n, other);
  for (int k = 0; k < 3; k++)
    at[k] = 0.1 * sqrt(-2 * log(1 - at[k])) * cos(6.283185307179586 * other[k]);
}

static void line(int64_t i, int64_t n, double at[4]) {
  (void)n;
  numbers(i, at);
  at[0] = at[2] = 0.5;
}

static void lattice(int64_t i, int64_t n, double at[4]) {
  const int64_t side = (int64_t)ceil(cbrt((double)n));
  at[0] = (double)(i % side);
  at[1] = (double)(i / side % side);
  at[2] = (double)(i / side / side);
}

static void flat_lattice(int64_t i, int64_t n, double at[4]) {
  const int64_t side = (int64_t)ceil(sqrt((double)n));
  at[0] = (double)(i % side);
  at[1] = (double)(i / side);
  at[2] = 0;
}

static void one_place(int64_t i, int64_t n, double at[4]) {
  (void)i, (void)n;
  at[0] = at[1] = at[2] = 0.25;
}

/* Half of the points in a few places. */
static void heaps(int64_t i, int64_t n, double at[4]) {
  (void)n;
  numbers(i, at);
  if (i % 2)
    for (int k = 0; k < 3; k++)
      at[k] = floor(4 * at[k]) / 4;
}

static void two_clusters(int64_t i, int64_t n, double at[4]) {
  (void)n;
  numbers(i, at);
  for (int k = 0; k < 3; k++)
    at[k] = at[k] * 1e-3 + (double)(i % 2);
}

/* Of 256 neighbours in the array each. */
static void clusters(int64_t i, int64_t n, double at[4]) {
  double centre[4];
  numbers(i, at);
  numbers(i / 256 + n, centre);
  for (int k = 0; k < 3; k++)
    at[k] = centre[k] + 1e-5 * at[k];
}

/* All scales from 1 to 2^-40 about one point. */
static void scales(int64_t i, int64_t n, double at[4]) {
  (void)n;
  numbers(i, at);
  for (int k = 0; k < 3; k++)
    at[k] *= ldexp(1, -(int)(i % 41));
}

static const struct {
  const char *name;
  void (*make)(int64_t i, int64_t n, double at[4]);
} data[] = {{"uniform", uniform},
            {"normal", normal},
            {"line", line},
            {"lattice", lattice},
            {"flat lattice", flat_lattice},
            {"one place", one_place},
            {"heaps", heaps},
            {"two clusters", two_clusters},
            {"clusters", clusters},
            {"scales", scales}};
enum { DATA = sizeof data / sizeof data[0] };

/* Fills host memory. */
static void make(int which, const problem *p, void *host) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < p->n; i++) {
    double at[4];
    data[which].make(i, p->n, at);
    for (int k = 0; k < p->dim; k++)
      if (p->type == DAVIT_DOUBLE)
        ((double *)host)[i * p->dim + k] = at[k];
      else
        ((float *)host)[i * p->dim + k] = (float)at[k];
  }
}

static size_t bytes_of(const problem *p) {
  return (size_t)p->n * (size_t)p->dim * davit_type_bytes(p->type);
}

/* Points for the site; false with a row if there is no memory. */
static bool points_make(problem *p, int which, int place) {
  void *host = bench_memory(DAVIT_PINNED, bytes_of(p));
  p->points = NULL;
  if (!host)
    return false;
  make(which, p, host);
  if (place == DAVIT_PINNED) {
    p->points = host;
    return true;
  }
  p->points = bench_memory(place, bytes_of(p));
  if (p->points)
    bench_check(davit_copy(bytes_of(p), host, p->points), "copy");
  davit_free(host);
  return p->points != NULL;
}

/* ---- on one device ---- */

static davit_status queue_call(void *argument) {
  problem *p = argument;
  davit_status status = davit_queue_closest_pair(p->site->queue, p->type, p->dim, p->n, p->points, &p->pair,
                                                 &(davit_closest_pair_options){.algorithm = p->algorithm});
  davit_status end = davit_queue_synchronize(p->site->queue);
  return status != DAVIT_SUCCESS ? status : end;
}

static davit_status pairs_call(void *argument) {
  problem *p = argument;
  davit_status status = davit_queue_closest_pairs(p->site->queue, p->type, p->dim, p->n, p->points, p->k,
                                                  INFINITY, p->pairs, &p->count, NULL);
  davit_status end = davit_queue_synchronize(p->site->queue);
  return status != DAVIT_SUCCESS ? status : end;
}

static davit_status count_call(void *argument) {
  problem *p = argument;
  davit_status status = davit_queue_closest_pairs_count(p->site->queue, p->type, p->dim, p->n, p->points,
                                                        p->radius, &p->count, NULL);
  davit_status end = davit_queue_synchronize(p->site->queue);
  return status != DAVIT_SUCCESS ? status : end;
}

static davit_status spread_call(void *argument) {
  problem *p = argument;
  return davit_closest_pair(p->type, p->dim, p->n, p->points, &p->pair,
                            &(davit_closest_pair_options){.algorithm = p->algorithm,
                                                          .devices = p->spread.devices,
                                                          .device_count = p->spread.count});
}

static void row(const problem *p, const char *form, int which, const bench_time *time, double uniform_time) {
  char variant[40];
  snprintf(variant, sizeof variant, "%s %d-D", data[which].name, p->dim);
  bench_case what = {.operation = "closest",
                     .type = bench_type_name(p->type),
                     .variant = variant,
                     .form = form,
                     .rows = p->n,
                     .bytes = (double)bytes_of(p)};
  bench_report(p->site, &what, time, NULL, NULL);
  bench_number("ns_a_point", time->median * 1e9 / (double)p->n);
  bench_number("distance", p->pair.distance);
  if (uniform_time > 0)
    bench_number("of_uniform", time->median / uniform_time);
}

static void by_grid(problem *p, bool all) {
  double uniform_time = 0;
  p->algorithm = DAVIT_CLOSEST_PAIR_GRID;
  for (int which = 0; which < (all ? DATA : 1); which++) {
    if (points_make(p, which, bench_place(p->site))) {
      bench_time time = bench_wall_time(p->site, queue_call, p);
      uniform_time = which == 0 ? time.median : uniform_time;
      row(p, "grid", which, &time, uniform_time);
    }
    davit_free(p->points);
  }
}

static void by_other(problem *p, davit_closest_pair_algorithm algorithm, const char *form, int64_t n) {
  p->algorithm = algorithm;
  p->n = n;
  if (n < 2)
    return;
  if (points_make(p, 0, bench_place(p->site))) {
    bench_time time = bench_wall_time(p->site, queue_call, p);
    row(p, form, 0, &time, 0);
    if (algorithm == DAVIT_CLOSEST_PAIR_BRUTE && time.median > 0)
      bench_number("pairs_per_s", 0.5 * (double)n * (double)(n - 1) / time.median);
  }
  davit_free(p->points);
}

static void pairs_row(const problem *p, const char *form, const bench_time *time) {
  row(p, form, 0, time, 0);
  bench_number("pairs", (double)p->count);
  bench_number("last_distance", p->radius);
}

static void by_pairs(problem *p, int64_t k) {
  p->k = k;
  if (k < 1)
    return;
  p->pairs = bench_memory(DAVIT_PAGEABLE, (size_t)k * sizeof *p->pairs);
  if (p->pairs && points_make(p, 0, bench_place(p->site))) {
    bench_time time = bench_wall_time(p->site, pairs_call, p);
    p->pair = p->pairs[0];
    p->radius = p->count > 0 ? p->pairs[p->count - 1].distance : 0;
    pairs_row(p, "closest pairs", &time);
    time = bench_wall_time(p->site, count_call, p);
    pairs_row(p, "pairs counted", &time);
    davit_free(p->points);
  }
  davit_free(p->pairs);
}

static void on_device(problem *p) {
  const bool gpu = p->site->gpu, all = bench_whole("data", 1) != 0;
  const bench_values dims = bench_sizes("dims", "2,3"),
                     sizes = bench_sizes("sizes", gpu ? "65536,1048576,16777216,67108864" : "65536,1048576");
  const bench_values ks = bench_sizes("pairs", "1000,1000000");
  const bench_kinds types = bench_types("sd");
  for (int t = 0; t < types.count; t++)
    for (int d = 0; d < dims.count; d++) {
      p->type = types.at[t];
      p->dim = (int)dims.at[d];
      for (int i = 0; i < sizes.count; i++) {
        p->n = sizes.at[i];
        by_grid(p, all);
        for (int k = 0; k < ks.count; k++)
          by_pairs(p, ks.at[k]);
      }
      by_other(p, DAVIT_CLOSEST_PAIR_BRUTE, "brute", bench_whole("brute", gpu ? 1 << 16 : 1 << 14));
      by_other(p, DAVIT_CLOSEST_PAIR_DIVIDE, "divide", bench_whole("divide", 1 << 20));
    }
}

/* ---- over several devices ---- */

/* From pinned memory ("plain") or pageable one. */
static void from_host(problem *p, int place) {
  const char *form = place == DAVIT_PINNED ? "plain" : "pageable";
  p->type = DAVIT_FLOAT;
  p->dim = 3;
  p->algorithm = DAVIT_CLOSEST_PAIR_GRID;
  p->n = bench_whole("plain", p->site->gpu ? 1 << 26 : 1 << 20);
  if (p->n < 2 || !points_make(p, 0, place))
    return;
  const bench_case what = {.operation = "closest",
                           .type = bench_type_name(p->type),
                           .variant = "uniform 3-D",
                           .form = form,
                           .rows = p->n,
                           .bytes = (double)bytes_of(p),
                           .link_bytes = (double)bytes_of(p)};
  bench_series(&p->spread, p->site, what, spread_call, p);
  davit_free(p->points);
}

static void measure_site(const bench_site *site, const bench_spread *spread) {
  problem p = {.site = site};
  on_device(&p);
  if (!spread)
    return;
  p.spread = *spread;
  from_host(&p, DAVIT_PINNED);
  from_host(&p, DAVIT_PAGEABLE);
}

static const char usage[] = "bench_closest [--sizes 1048576,16777216] [--brute 65536] [--divide "
                            "1048576] [--plain 67108864] [--dims 2,3]\n"
                            "              [--data 1] [--pairs 1000,1000000]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_run("closest", usage, argc, argv, measure_site);
}
