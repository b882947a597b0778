/* SPDX-License-Identifier: Apache-2.0 */
/* davit cluster: clusters of points by density (DBSCAN). */
#include <davit/cluster.h>
#include <inttypes.h>
#include <string.h>

#include "ref/ref.h"
#include "src/cli/coordinates.h"

typedef struct grouping {
  cli_job job;
  const char *path;
  cli_coordinates points;
  double eps, reach; /* as given; of points */
  int64_t min_points, clusters, noise;
  cli_array labels, reference;
} grouping;

static davit_type type_of(const grouping *g) {
  return cli_number_type(g->points.points.type);
}

/* ---- the reference ---- */

static int64_t near(const grouping *g, int64_t i, int64_t *indices, double *distances) {
  return dvt_ref_neighbors(type_of(g), g->points.dim, g->points.n, g->points.points.data, NULL, i, g->reach,
                           indices ? g->points.n : 0, indices, distances);
}

/* From core point to core point, as the authors of DBSCAN describe it. `room` has 2 n numbers. */
static void walk(const grouping *g, int64_t from, int64_t cluster, int64_t *labels, int64_t *room,
                 double *distances) {
  int64_t *ways = room + g->points.n, count = 0;
  labels[from] = cluster;
  ways[count++] = from;
  while (count > 0) {
    const int64_t found = near(g, ways[--count], room, distances);
    for (int64_t j = 0; found + 1 >= g->min_points && j < found; j++)
      if (labels[room[j]] < 0) {
        labels[room[j]] = cluster;
        ways[count++] = room[j];
      }
  }
}

static int by_reference(grouping *g, int64_t *labels) {
  int64_t *room, clusters = 0;
  double *distances;
  CLI_ROOM(&g->job, room, 2 * g->points.n);
  CLI_ROOM(&g->job, distances, g->points.n);
  memset(labels, 0xff, (size_t)g->points.n * sizeof *labels);
  for (int64_t i = 0; i < g->points.n; i++)
    if (labels[i] < 0 && near(g, i, NULL, NULL) + 1 >= g->min_points)
      walk(g, i, clusters++, labels, room, distances);
  g->clusters = clusters;
  return CLI_OK;
}

/* ---- work ---- */

static davit_status work(void *state, cli_array *labels, bool reference) {
  grouping *g = state;
  const davit_cluster_options options = {CLI_DEVICES(g)};
  if (reference)
    return by_reference(g, labels->data) == CLI_OK ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  return davit_dbscan(type_of(g), g->points.dim, g->points.n, g->points.points.data, g->reach, g->min_points,
                      labels->data, &g->clusters, &options);
}

static int load(void *state) {
  grouping *g = state;
  CLI_TRY(cli_coordinates_read(&g->job, g->path, &g->points));
  if (g->points.n < 1)
    return cli_shape_fail(g->path, &g->points.points, "at least 1 point");
  g->reach = cli_coordinates_reach(&g->points, g->eps);
  return cli_array_create(CLI_I8, 1, g->points.n, 1, g->job.memory, &g->labels);
}

static int finish(void *state) {
  grouping *g = state;
  g->noise = 0;
  for (int64_t i = 0; i < g->points.n; i++)
    g->noise += ((const int64_t *)g->labels.data)[i] < 0;
  return CLI_OK;
}

/* ---- command ---- */

static void print(const void *state) {
  const grouping *g = state;
  if (g->job.output.path)
    return;
  printf("point\tlabel\n");
  for (int64_t i = 0; i < g->points.n; i++)
    printf("%" PRId64 "\t%" PRId64 "\n", i, ((const int64_t *)g->labels.data)[i]);
}

static void json(cli_json *json, const void *state) {
  const grouping *g = state;
  cli_json_integer(json, "clusters", g->clusters);
  cli_json_integer(json, "noise", g->noise);
  if (g->job.output.path)
    return;
  cli_json_open_array(json, "labels");
  for (int64_t i = 0; i < g->points.n; i++)
    cli_json_integer(json, NULL, ((const int64_t *)g->labels.data)[i]);
  cli_json_close_array(json);
}

static void report(cli_json *json, const void *state) {
  const grouping *g = state;
  cli_json_integer(json, "n", g->points.n);
  cli_json_integer(json, "dim", g->points.dim);
}

const cli_command cli_command_cluster = {
    .name = "cluster",
    .summary = "clusters of points by density (DBSCAN)",
    .description = "A point with at least N points within E, itself among them, is a core point. Core points "
                   "within E of each other "
                   "are in one cluster; other points belong to the first cluster that has a core point "
                   "within E, or are noise. "
                   "Clusters are numbered from 0 in the order of their first core points. Prints the label "
                   "of each point, -1 for "
                   "noise; with -o nothing.",
    .examples = "davit cluster points.csv --eps 0.5 --min-points 2\n"
                "davit cluster points.csv --eps 0.5 -o labels.npy\n"
                "davit points -n 1e4 -o - | davit cluster - --eps 0.01 --json -o labels.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(grouping, path, "POINTS", CLI_COORDINATES_HELP)),
    .options = CLI_OPTIONS(
        CLI_OPTION(REAL, grouping, eps, "--eps", "E", .minimum = 0, .maximum = 1e308, .required = true,
                   .help = "how far neighbours may be from each other"),
        CLI_OPTION(WHOLE, grouping, min_points, "--min-points", "N", .minimum = 1, .maximum = 1e12,
                   .value = "5", .help = "points within E, itself among them, that make a core point"),
        CLI_OPTION(
            TEXT, grouping, points.columns.wanted, "--columns", "LIST", .words = "",
            .otherwise = "x, y and z, or all that can be coordinates",
            .help = "the 2 or 3 columns that are coordinates, such as x,y: names of a CSV file, or numbers, "
                    "counted from 0"),
        CLI_OPTION(
            OUTPUT, grouping, job.output, "-o", "L",
            .help =
                "write the labels, a vector: .npy, .mtx or .csv, as the name ends; .npy without an ending"),
        CLI_SPHERE_OPTION(grouping, points)),
    .common = CLI_COMMON_RAW | CLI_COMMON_TABLE | CLI_COMMON_COMPUTE | CLI_COMMON_FORCE,
    .small_bytes = 1 << 20,
    .state = sizeof(grouping),
    .arrays = CLI_ARRAYS(CLI_FREED(grouping, points.points), CLI_FREED(grouping, labels)),
    .result = offsetof(grouping, labels),
    .read = load,
    .work = work,
    .measure = "count of labels that differ = 0",
    .finish = finish,
    .print = print,
    .json = json,
    .report = report,
};
