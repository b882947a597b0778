/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/points.h"

#include <math.h>

#include "ref/philox.h"

static void uniform(int64_t i, double at[4]) {
  dvt_philox_double(2 * (uint64_t)i, 7, at);
  dvt_philox_double(2 * (uint64_t)i + 1, 7, at + 2);
}

/* A hundred clusters, each finer towards its centre. */
static void clusters(int64_t i, double at[4]) {
  double centre[4];
  uniform(i, at);
  uniform((INT64_C(1) << 40) + i % 100, centre);
  const double size = 0.01 * at[3];
  for (int k = 0; k < 3; k++)
    at[k] = centre[k] + size * (at[k] - 0.5);
}

/* Clusters in clusters, as galaxies are, after Soneira and Peebles (1978): each ball has four whose radius is that of
 * it by 1.8. */
static void levels(int64_t i, double at[4]) {
  enum { LEVELS = 12 };
  double step[4], size = 0.5;
  int64_t path = 1;
  uniform(i, at);
  int64_t digits = (int64_t)(at[3] * (double)(INT64_C(1) << (2 * LEVELS)));
  for (int k = 0; k < 3; k++)
    at[k] = (at[k] - 0.5) * 1e-3;
  for (int level = 0; level < LEVELS; level++) {
    path = path * 4 + digits % 4;
    digits /= 4;
    uniform((INT64_C(1) << 41) + path, step);
    for (int k = 0; k < 3; k++)
      at[k] += size * (step[k] - 0.5);
    size /= 1.8;
  }
}

static void line(int64_t i, double at[4]) {
  uniform(i, at);
  at[0] = at[2] = 0.5;
}

/* All in one cell beside a point far away. */
static void outlier(int64_t i, double at[4]) {
  uniform(i, at);
  at[0] = i == 0 ? 1e30 : at[0];
}

/* Each place has many points. */
static void heaps(int64_t i, double at[4]) {
  uniform(i, at);
  for (int k = 0; k < 3; k++)
    at[k] = floor(4 * at[k]) / 4;
}

static const struct {
  const char *name;
  void (*make)(int64_t i, double at[4]);
} data[BENCH_POINTS] = {{"uniform", uniform}, {"clusters", clusters}, {"levels", levels},
                        {"line", line},       {"outlier", outlier},   {"heaps", heaps}};

const char *bench_points_name(int which) {
  return data[which].name;
}

void *bench_points(const bench_site *site, int which, davit_type type, int dim, int64_t n) {
  const size_t bytes = (size_t)n * (size_t)dim * davit_type_bytes(type);
  void *host = bench_memory(DAVIT_PINNED, bytes),
       *points = host ? bench_memory(bench_place(site), bytes) : NULL;
  if (points) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
      double at[4];
      data[which].make(i, at);
      for (int k = 0; k < dim; k++)
        if (type == DAVIT_DOUBLE)
          ((double *)host)[i * dim + k] = at[k];
        else
          ((float *)host)[i * dim + k] = (float)at[k];
    }
    bench_check(davit_copy(bytes, host, points), "copy");
  }
  davit_free(host);
  return points;
}
