/* SPDX-License-Identifier: Apache-2.0 */
/* davit cluster: clusters of points by density (DBSCAN), or their minimum spanning tree. */
#include <davit/cluster.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ref/ref.h"
#include "src/cli/coordinates.h"

typedef struct grouping {
  cli_job job;
  const char *path;
  cli_coordinates points;
  double eps, reach; /* as given; of points */
  int64_t min_points, clusters, noise;
  bool emst;
  davit_closest_pair_result *edges; /* n - 1 */
  cli_array result;                 /* labels, or a row of i, j, distance for each edge */
  int64_t *room;                    /* of the reference of labels: 2 n numbers */
  double *distances;                /* and n */
} grouping;

/* ---- the reference ---- */

static int64_t near(const grouping *g, int64_t i, int64_t *indices, double *distances) {
  return dvt_ref_neighbors(CLI_POINTS(&g->points), NULL, i, g->reach, indices ? g->points.n : 0, indices,
                           distances);
}

/* From core point to core point, as the authors of DBSCAN describe it. */
static void walk(const grouping *g, int64_t from, int64_t cluster, int64_t *labels) {
  int64_t *ways = g->room + g->points.n, count = 0;
  labels[from] = cluster;
  ways[count++] = from;
  while (count > 0) {
    const int64_t found = near(g, ways[--count], g->room, g->distances);
    for (int64_t j = 0; found + 1 >= g->min_points && j < found; j++)
      if (labels[g->room[j]] < 0) {
        labels[g->room[j]] = cluster;
        ways[count++] = g->room[j];
      }
  }
}

static davit_status by_reference(grouping *g, int64_t *labels) {
  int64_t clusters = 0;
  memset(labels, 0xff, (size_t)g->points.n * sizeof *labels);
  for (int64_t i = 0; i < g->points.n; i++)
    if (labels[i] < 0 && near(g, i, NULL, NULL) + 1 >= g->min_points)
      walk(g, i, clusters++, labels);
  g->clusters = clusters;
  return DAVIT_SUCCESS;
}

/* ---- work ---- */

/* Numbers of points are below 2^32, which doubles hold. */
static void take_edges(const grouping *g, cli_array *result) {
  const int64_t count = g->points.n - 1;
  double *to = result->data;
  for (int64_t e = 0; e < count; e++) {
    to[e] = (double)g->edges[e].i;
    to[count + e] = (double)g->edges[e].j;
    to[2 * count + e] = cli_coordinates_distance(&g->points, g->edges[e].distance);
  }
}

static davit_status span(const grouping *g, cli_array *result, bool reference) {
  const davit_cluster_options options = {CLI_DEVICES(g)};
  davit_status status = DAVIT_SUCCESS;
  if (reference)
    dvt_ref_emst(CLI_POINTS(&g->points), g->edges);
  else
    status = davit_emst(CLI_POINTS(&g->points), g->edges, &options);
  take_edges(g, result);
  return status;
}

static davit_status work(void *state, cli_array *labels, bool reference) {
  grouping *g = state;
  if (g->emst)
    return span(g, labels, reference);
  const davit_cluster_options options = {CLI_DEVICES(g)};
  if (reference)
    return by_reference(g, labels->data);
  return davit_dbscan(CLI_POINTS(&g->points), g->reach, g->min_points, labels->data, &g->clusters, &options);
}

static int load(void *state) {
  grouping *g = state;
  if (!g->emst && !cli_job_given(&g->job, "--eps"))
    return cli_fail(CLI_USAGE, "--eps or --emst is missing");
  CLI_TRY(cli_coordinates_read(&g->job, g->path, &g->points));
  if (g->points.n < 1)
    return cli_shape_fail(g->path, &g->points.points, "at least 1 point");
  g->reach = cli_coordinates_reach(&g->points, g->eps);
  if (!g->emst && (g->job.devices.reference || g->job.common.check)) {
    CLI_ROOM(&g->job, g->room, 2 * g->points.n);
    CLI_ROOM(&g->job, g->distances, g->points.n);
  }
  if (!g->emst)
    return cli_array_create(CLI_I8, 1, g->points.n, 1, g->job.memory, &g->result);
  CLI_ROOM(&g->job, g->edges, g->points.n);
  return cli_array_create(CLI_F8, 2, g->points.n - 1, 3, g->job.memory, &g->result);
}

static int finish(void *state) {
  grouping *g = state;
  g->noise = 0;
  for (int64_t i = 0; !g->emst && i < g->points.n; i++)
    g->noise += ((const int64_t *)g->result.data)[i] < 0;
  return CLI_OK;
}

/* ---- command ---- */

/* One of three columns of the edges. */
static double column(const grouping *g, int64_t edge, int which) {
  return ((const double *)g->result.data)[which * (g->points.n - 1) + edge];
}

static void print_edges(const grouping *g) {
  printf("i\tj\tdistance\n");
  for (int64_t e = 0; e < g->points.n - 1; e++)
    printf("%.0f\t%.0f\t%.17g\n", column(g, e, 0), column(g, e, 1), column(g, e, 2));
}

static void json_edges(cli_json *json, const grouping *g) {
  cli_json_open_array(json, "edges");
  for (int64_t e = 0; e < g->points.n - 1; e++) {
    cli_json_open_object(json, NULL);
    cli_json_integer(json, "i", (int64_t)column(g, e, 0));
    cli_json_integer(json, "j", (int64_t)column(g, e, 1));
    cli_json_real(json, "distance", column(g, e, 2));
    cli_json_close_object(json);
  }
  cli_json_close_array(json);
}

static void print(const void *state) {
  const grouping *g = state;
  if (g->job.output.path)
    return;
  if (g->emst) {
    print_edges(g);
    return;
  }
  printf("point\tlabel\n");
  for (int64_t i = 0; i < g->points.n; i++)
    printf("%" PRId64 "\t%" PRId64 "\n", i, ((const int64_t *)g->result.data)[i]);
}

static void json(cli_json *json, const void *state) {
  const grouping *g = state;
  if (!g->emst) {
    cli_json_integer(json, "clusters", g->clusters);
    cli_json_integer(json, "noise", g->noise);
  }
  if (g->job.output.path)
    return;
  if (g->emst) {
    json_edges(json, g);
    return;
  }
  cli_json_open_array(json, "labels");
  for (int64_t i = 0; i < g->points.n; i++)
    cli_json_integer(json, NULL, ((const int64_t *)g->result.data)[i]);
  cli_json_close_array(json);
}

static void report(cli_json *json, const void *state) {
  const grouping *g = state;
  cli_json_integer(json, "n", g->points.n);
  cli_json_integer(json, "dim", g->points.dim);
}

const cli_command cli_command_cluster = {
    .name = "cluster",
    .summary = "clusters of points by density (DBSCAN), or their minimum spanning tree",
    .description = "Prints the cluster (DBSCAN) of each point, or -1 for noise. A point with at least N "
                   "points within distance E, itself included, is a core point. Core points within E of each "
                   "other are in one cluster; any other point belongs to the first cluster that has a core "
                   "point within E, or is noise. Clusters are numbered from 0 in the order of their first "
                   "core points.\n\nWith --emst, prints the edges of the Euclidean minimum spanning tree "
                   "instead, ordered by (distance, i, j). With -o, nothing is printed.",
    .examples = "davit cluster points.csv --eps 0.5 --min-points 2\n"
                "davit cluster points.csv --eps 0.5 -o labels.npy\n"
                "davit cluster points.csv --emst\n"
                "davit points -n 1e4 -o - | davit cluster - --eps 0.01 --json -o labels.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(grouping, path, "POINTS", CLI_COORDINATES_HELP)),
    .options = CLI_OPTIONS(
        CLI_OPTION(REAL, grouping, eps, "--eps", "E", .minimum = 0, .maximum = INFINITY,
                   .otherwise = "none; required without --emst", .excludes = "--emst",
                   .help = "maximum distance between neighbours"),
        CLI_OPTION(WHOLE, grouping, min_points, "--min-points", "N", .minimum = 1, .maximum = 1e12,
                   .value = "5", .excludes = "--emst",
                   .help = "number of points within E, itself included, that makes a core point"),
        CLI_OPTION(FLAG, grouping, emst, "--emst", NULL, .help = "compute the minimum spanning tree instead"),
        CLI_COLUMNS_OPTION(grouping, points, ""),
        CLI_OPTION(OUTPUT, grouping, job.output, "-o", "L",
                   .help = "write the labels as a vector, or with --emst a row of i, j and distance for each "
                           "edge: " CLI_ARRAY_FORMATS),
        CLI_SPHERE_OPTION(grouping, points)),
    .common = CLI_COMMON_RAW | CLI_COMMON_TABLE | CLI_COMMON_COMPUTE | CLI_COMMON_FORCE,
    .small_bytes = 1 << 20,
    .state = sizeof(grouping),
    .arrays = CLI_ARRAYS(CLI_FREED(grouping, points.points), CLI_FREED(grouping, result)),
    .result = offsetof(grouping, result),
    .read = load,
    .work = work,
    .measure = "count of labels, or of numbers of edges, that differ = 0",
    .finish = finish,
    .print = print,
    .json = json,
    .report = report,
};
