/* SPDX-License-Identifier: Apache-2.0 */
/* davit neighbors: the nearest points of each point or query, or all within a radius. */
#include <davit/neighbors.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ref/ref.h"
#include "src/cli/coordinates.h"

typedef struct search {
  cli_job job;
  const char *path, *queries_path;
  cli_coordinates points, queries; /* queries: with --queries */
  int64_t m, k;                    /* k: 0 with --radius */
  double radius;                   /* of points */
  cli_output distances_output, offsets_output;
  cli_array indices, distances, offsets; /* n x k, or vectors of all rows; offsets: with --radius */
  cli_array reference_indices, reference_distances;
} search;

/* ---- work ---- */

static const void *queries_of(const search *s) {
  return s->queries_path ? s->queries.points.data : NULL;
}

static int64_t row_begin(const search *s, int64_t query) {
  return s->k > 0 ? s->k * query : ((const int64_t *)s->offsets.data)[query];
}

static void by_reference(const search *s, int64_t *indices, double *distances) {
  for (int64_t q = 0; q < s->m; q++) {
    const int64_t begin = row_begin(s, q), count = row_begin(s, q + 1) - begin;
    if (count > 0) /* else the results may have no memory */
      dvt_ref_neighbors(CLI_POINTS(&s->points), queries_of(s), q, s->k > 0 ? INFINITY : s->radius, count,
                        indices + begin, distances + begin);
  }
}

static davit_status work(void *state, cli_array *unused, bool reference) {
  const search *s = state;
  const davit_neighbors_options options = {CLI_DEVICES(s)};
  (void)unused; /* the results are s->indices and s->distances */
  if (reference) {
    by_reference(s, s->indices.data, s->distances.data);
    return DAVIT_SUCCESS;
  }
  return s->k > 0 ? davit_neighbors(CLI_POINTS(&s->points), s->m, queries_of(s), s->k, s->indices.data,
                                    s->distances.data, &options)
                  : davit_radius(CLI_POINTS(&s->points), s->m, queries_of(s), s->radius, s->offsets.data,
                                 s->indices.data, s->distances.data, &options);
}

/* The offsets, which say how long the results are. */
static int count_rows(search *s) {
  const davit_neighbors_options options = {CLI_DEVICES(s)};
  CLI_TRY(cli_array_create(CLI_I8, 1, s->m + 1, 1, s->job.memory, &s->offsets));
  int64_t *offsets = s->offsets.data;
  if (!s->job.devices.reference)
    return cli_status(
        davit_radius_count(CLI_POINTS(&s->points), s->m, queries_of(s), s->radius, offsets, &options));
  offsets[0] = 0;
  for (int64_t q = 0; q < s->m; q++)
    offsets[q + 1] =
        offsets[q] + dvt_ref_neighbors(CLI_POINTS(&s->points), queries_of(s), q, s->radius, 0, NULL, NULL);
  return CLI_OK;
}

/* A matrix in C order, or a vector of all rows. */
static int make_rows(const search *s, cli_type type, cli_array *rows) {
  if (s->k == 0)
    return cli_array_create(type, 1, row_begin(s, s->m), 1, s->job.memory, rows);
  CLI_TRY(cli_array_create(type, 2, s->m, s->k, s->job.memory, rows));
  rows->fortran = false;
  return CLI_OK;
}

static int read_queries(search *s) {
  s->m = s->points.n;
  if (!s->queries_path)
    return CLI_OK;
  const int dim = s->points.dim;
  s->queries.sphere = s->points.sphere;
  s->queries.columns.wanted = s->points.columns.wanted;
  CLI_TRY(cli_coordinates_read(&s->job, s->queries_path, &s->queries));
  if (s->queries.dim != dim)
    return cli_shape_fail(s->queries_path, &s->queries.points, "%d columns as in %s", dim,
                          cli_fail_place(s->path));
  CLI_TRY(cli_coordinates_match(s->queries_path, &s->queries, s->path, &s->points));
  s->m = s->queries.n;
  return cli_array_convert(NULL, s->points.points.type, &s->queries.points);
}

static int check_k(const search *s) {
  const int64_t most = s->points.n - !s->queries_path;
  return s->k <= most || s->m == 0
             ? CLI_OK
             : cli_fail(CLI_USAGE, "--k %" PRId64 ": %s has %" PRId64 " point%s%s", s->k,
                        cli_fail_place(s->path), s->points.n, CLI_PLURAL(s->points.n),
                        s->queries_path ? "" : ", and a point is not its own neighbour");
}

static int load(void *state) {
  search *s = state;
  const bool within = cli_job_given(&s->job, "--radius");
  CLI_TRY(cli_coordinates_read(&s->job, s->path, &s->points));
  if (s->points.n < 1)
    return cli_shape_fail(s->path, &s->points.points, "at least 1 point");
  CLI_TRY(read_queries(s));
  s->radius = cli_coordinates_reach(&s->points, s->radius);
  s->k = within ? 0 : s->k;
  CLI_TRY(within ? count_rows(s) : check_k(s));
  CLI_TRY(make_rows(s, CLI_I8, &s->indices));
  return make_rows(s, CLI_F8, &s->distances);
}

static int check(void *state, cli_check *check) {
  search *s = state;
  int64_t wrong = 0;
  CLI_TRY(make_rows(s, CLI_I8, &s->reference_indices));
  CLI_TRY(make_rows(s, CLI_F8, &s->reference_distances));
  by_reference(s, s->reference_indices.data, s->reference_distances.data);
  for (int64_t j = 0; j < row_begin(s, s->m); j++)
    wrong += ((const int64_t *)s->indices.data)[j] != ((const int64_t *)s->reference_indices.data)[j] ||
             memcmp((const double *)s->distances.data + j, (const double *)s->reference_distances.data + j,
                    sizeof(double)) != 0;
  *check =
      (cli_check){.measure = "differences of (index, distance), of all neighbours", .error = (double)wrong};
  return CLI_OK;
}

static bool is_written(const search *s) {
  return s->job.output.path || s->distances_output.path;
}

/* Distances as the user has them, and matrices column-major, as all that is written. */
static int finish(void *state) {
  search *s = state;
  double *distances = s->distances.data;
  for (int64_t j = 0; j < row_begin(s, s->m); j++)
    distances[j] = cli_coordinates_distance(&s->points, distances[j]);
  if (!is_written(s) || s->k == 0)
    return CLI_OK;
  CLI_TRY(cli_array_to_fortran(&s->indices));
  return cli_array_to_fortran(&s->distances);
}

/* ---- command ---- */

static void print(const void *state) {
  const search *s = state;
  if (is_written(s))
    return;
  printf("query\tindex\tdistance\n");
  for (int64_t q = 0; q < s->m; q++)
    for (int64_t j = row_begin(s, q); j < row_begin(s, q + 1); j++)
      printf("%" PRId64 "\t%" PRId64 "\t%.17g\n", q, ((const int64_t *)s->indices.data)[j],
             ((const double *)s->distances.data)[j]);
}

static void json(cli_json *json, const void *state) {
  const search *s = state;
  cli_json_integer(json, "count", row_begin(s, s->m));
  if (is_written(s))
    return;
  cli_json_open_array(json, "neighbors");
  for (int64_t q = 0; q < s->m; q++)
    for (int64_t j = row_begin(s, q); j < row_begin(s, q + 1); j++) {
      cli_json_open_object(json, NULL);
      cli_json_integer(json, "query", q);
      cli_json_integer(json, "index", ((const int64_t *)s->indices.data)[j]);
      cli_json_real(json, "distance", ((const double *)s->distances.data)[j]);
      cli_json_close_object(json);
    }
  cli_json_close_array(json);
}

static void report(cli_json *json, const void *state) {
  const search *s = state;
  cli_json_integer(json, "n", s->points.n);
  cli_json_integer(json, "queries", s->m);
  cli_json_integer(json, "dim", s->points.dim);
}

const cli_command cli_command_neighbors = {
    .name = "neighbors",
    .summary = "nearest points of each point or query, or all within a radius",
    .description =
        "Finds the K nearest other points of each point, or with --queries the K nearest points of each "
        "query; with --radius, all points within distance R. Prints one neighbour per line, grouped by query "
        "and ordered by (distance, index); with -o or --distances it prints nothing. Indices count from 0.",
    .examples = "davit neighbors points.csv\n"
                "davit neighbors points.csv --k 3 -o nearest.npy --distances far.npy\n"
                "davit neighbors points.csv --radius 0.5 --json\n"
                "davit points -n 1e4 -o - | davit neighbors - --k 10 -o nearest.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(search, path, "POINTS", CLI_COORDINATES_HELP)),
    .options = CLI_OPTIONS(
        CLI_OPTION(TEXT, search, queries_path, "--queries", "Q",
                   .otherwise = "the points themselves; a point is not its own neighbour",
                   .help = "where to search from: a file like POINTS"),
        CLI_COLUMNS_OPTION(search, points, "; the same in both files"),
        CLI_OPTION(WHOLE, search, k, "--k", "K", .minimum = 1, .maximum = 1e9, .value = "1",
                   .excludes = "--radius", .help = "number of nearest points"),
        CLI_OPTION(REAL, search, radius, "--radius", "R", .minimum = 0, .maximum = INFINITY,
                   .otherwise = "none", .help = "find all points at most R away, instead of the K nearest"),
        CLI_OPTION(OUTPUT, search, job.output, "-o", "N", .array = offsetof(search, indices),
                   .help = "write the indices of the neighbours, queries x K, or with --radius one "
                           "vector: " CLI_ARRAY_FORMATS),
        CLI_OPTION(OUTPUT, search, distances_output, "--distances", "D", .array = offsetof(search, distances),
                   .help = "write their distances in the same shape"),
        CLI_OPTION(OUTPUT, search, offsets_output, "--offsets", "F", .array = offsetof(search, offsets),
                   .needs = "--radius",
                   .help = "write where the neighbours of each query begin in these vectors, and where the "
                           "last ones end"),
        CLI_SPHERE_OPTION(search, points)),
    .common = CLI_COMMON_RAW | CLI_COMMON_TABLE | CLI_COMMON_COMPUTE | CLI_COMMON_FORCE,
    .small_bytes = 1 << 20,
    .state = sizeof(search),
    .arrays = CLI_ARRAYS(CLI_FREED(search, points.points), CLI_FREED(search, queries.points),
                         CLI_FREED(search, indices), CLI_FREED(search, distances), CLI_FREED(search, offsets),
                         CLI_FREED(search, reference_indices), CLI_FREED(search, reference_distances)),
    .read = load,
    .work = work,
    .check = check,
    .finish = finish,
    .print = print,
    .json = json,
    .report = report,
};
