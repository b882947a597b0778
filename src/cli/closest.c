/* davit closest: the closest pair of points. */
#include <davit/closest_pair.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/frame/old_job.h"

typedef struct search {
  cli_old_job job;
  cli_array points; /* point after point */
  int dim;
  int64_t n;
  davit_closest_pair_algorithm algorithm, taken; /* as asked for; what ran */
  davit_closest_pair_result pair;
  void *scratch; /* of the reference */
} search;

static const char *const algorithm_names[] = {"auto", "brute", "divide", "grid"};
enum { ALGORITHMS = sizeof algorithm_names / sizeof algorithm_names[0] };

/* ---- points ---- */

/* Coordinates of a point come to lie side by side: a matrix of points in C order is its transpose in Fortran order. */
static int to_points(cli_array *a) {
  const int64_t rows = a->shape[0];
  a->shape[0] = a->shape[1];
  a->shape[1] = rows;
  a->fortran = !a->fortran;
  return cli_array_to_fortran(a);
}

static int check_finite(const char *path, const search *s) {
  for (int64_t i = 0; i < s->n * s->dim; i++)
    if (!isfinite(cli_number(&s->points, i)))
      return cli_fail(CLI_INPUT, "%s: point %" PRId64 ": expected finite coordinates, found %Lg", path,
                      i / s->dim, cli_number(&s->points, i));
  return CLI_OK;
}

static int load(search *s, const char *path) {
  cli_array *a = &s->points;
  int code = cli_points_read(path, s->job.memory, a);
  if (code != CLI_OK)
    return code;
  if ((code = cli_check_floating(path, a)) != CLI_OK)
    return code;
  if (a->ndim != 2 || a->shape[1] < 2 || a->shape[1] > 3)
    return cli_shape_fail(path, a, "a matrix of n x 2 or n x 3");
  if (a->shape[0] < 2)
    return cli_shape_fail(path, a, "at least 2 points");
  s->n = a->shape[0];
  s->dim = (int)a->shape[1];
  code = to_points(a);
  return code == CLI_OK ? check_finite(path, s) : code;
}

/* ---- work ---- */

static davit_type type_of(const search *s) {
  return cli_number_type(s->points.type);
}

static davit_status by_reference(const search *s, davit_closest_pair_result *pair) {
  if (s->algorithm == DAVIT_CLOSEST_PAIR_BRUTE)
    *pair = dvt_ref_closest_brute(type_of(s), s->dim, s->n, s->points.data);
  else
    *pair = dvt_ref_closest_divide(type_of(s), s->dim, s->n, s->points.data, cli_threads(), s->scratch);
  return DAVIT_SUCCESS;
}

static void prepare(void *state) {
  search *s = state;
  s->pair = (davit_closest_pair_result){0};
}

static davit_status choose(search *s) {
  const cli_device_set *devices = &s->job.devices;
  s->taken = s->algorithm == DAVIT_CLOSEST_PAIR_BRUTE ? DAVIT_CLOSEST_PAIR_BRUTE : DAVIT_CLOSEST_PAIR_DIVIDE;
  return devices->reference
             ? DAVIT_SUCCESS
             : davit_closest_pair_plan(type_of(s), s->dim, s->n, s->points.data, &s->taken,
                                       &(davit_closest_pair_options){.algorithm = s->algorithm,
                                                                     .devices = devices->ids,
                                                                     .device_count = devices->count});
}

static davit_status work(void *state) {
  search *s = state;
  if (s->job.devices.reference)
    return by_reference(s, &s->pair);
  return davit_closest_pair(type_of(s), s->dim, s->n, s->points.data, &s->pair,
                            &(davit_closest_pair_options){.algorithm = s->algorithm,
                                                          .devices = s->job.devices.ids,
                                                          .device_count = s->job.devices.count});
}

static int check(void *state, cli_check *check) {
  const search *s = state;
  davit_closest_pair_result right;
  by_reference(s, &right);
  *check = (cli_check){.measure = "differences of (distance, i, j)",
                       .error = (s->pair.i != right.i) + (s->pair.j != right.j) +
                                (s->pair.distance < right.distance || s->pair.distance > right.distance),
                       .bound = 0};
  return CLI_OK;
}

static int make_scratch(search *s) {
  if (!s->job.devices.reference && !s->job.common.check)
    return CLI_OK;
  s->scratch = malloc(dvt_ref_closest_scratch(s->n));
  return s->scratch ? CLI_OK : cli_fail(CLI_DEVICE, "not enough memory for %" PRId64 " points", s->n);
}

/* ---- report ---- */

static void print_text(FILE *file, const void *state) {
  const search *s = state;
  fprintf(file, "%" PRId64 " points, %d-D, %s, by %s\ni %" PRId64 ", j %" PRId64 ", distance %.17g\n%.6g s\n",
          s->n, s->dim, cli_type_name(s->points.type), algorithm_names[s->taken], s->pair.i, s->pair.j,
          s->pair.distance, s->job.seconds);
}

static void print_json(cli_json *json, const void *state) {
  const search *s = state;
  cli_json_string(json, "algorithm", algorithm_names[s->taken]);
  cli_json_integer(json, "n", s->n);
  cli_json_integer(json, "dim", s->dim);
  cli_json_integer(json, "i", s->pair.i);
  cli_json_integer(json, "j", s->pair.j);
  cli_json_real(json, "distance", s->pair.distance);
}

/* ---- command ---- */

static int read_algorithm(const char *text, davit_closest_pair_algorithm *algorithm) {
  int found = 0;
  while (text && found < ALGORITHMS && strcmp(text, algorithm_names[found]))
    found++;
  if (found == ALGORITHMS)
    return cli_fail(CLI_USAGE, "--algorithm takes auto, brute, divide or grid, not '%s'", text);
  *algorithm = (davit_closest_pair_algorithm)found;
  return CLI_OK;
}

static int compute(search *s, const cli_command *self, const char *path) {
  static const cli_old_job_steps steps = {prepare, work, check, {print_text, print_json}};
  int code = cli_old_job_open(&s->job, self, NULL);
  if (code == CLI_OK)
    code = load(s, path);
  if (code == CLI_OK)
    code = make_scratch(s);
  const davit_status status = code == CLI_OK ? choose(s) : DAVIT_SUCCESS;
  if (status != DAVIT_SUCCESS)
    return cli_status(status);
  return code == CLI_OK ? cli_old_job_run(&s->job, &steps, NULL, s) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  search s = {0};
  const char *path, *algorithm = NULL;
  const cli_old_option options[] = {{"algorithm", CLI_OLD_TEXT, &algorithm}, {0}};
  int code = cli_old_parse(self, options, argc, argv, &s.job.common, &path, 1);
  if (code == CLI_OK)
    code = read_algorithm(algorithm, &s.algorithm);
  if (code == CLI_OK)
    code = compute(&s, self, path);
  cli_old_job_close(&s.job);
  cli_array_free(&s.points);
  free(s.scratch);
  return code;
}

const cli_command cli_command_closest = {
    .name = "closest",
    .summary = "closest pair of points",
    .usage = "davit closest POINTS [options]\n\n"
             "The two points that are closest to each other; of several pairs the least (i, j). POINTS is an "
             "n x 2 or\n"
             "n x 3 matrix of float64 or float32, or a CSV file: a point a line, separated by commas, "
             "semicolons or\n"
             "blanks; '#' begins a line that is skipped, and the first line may hold names alone.\n\n"
             "  --algorithm A    auto (default), brute (all pairs), divide (divide and conquer, on the host) "
             "or grid\n",
    .common = CLI_COMMON_NUMERIC,
    .old_run = run,
};
