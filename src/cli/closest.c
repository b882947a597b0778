/* SPDX-License-Identifier: Apache-2.0 */
/* davit closest: the closest pair of points. */
#include <davit/closest_pair.h>
#include <inttypes.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/frame/job.h"

typedef struct search {
  cli_job job;
  const char *path;
  davit_closest_pair_algorithm algorithm, taken; /* as asked for; what ran */
  int dim;
  int64_t n;
  davit_closest_pair_result pair;
  void *scratch; /* of the reference */
  cli_columns columns;
  cli_array points; /* point after point */
} search;

/* ---- points ---- */

/* Puts the coordinates of a point side by side: a matrix in C order is its transpose in Fortran order. */
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

/* Where there are other columns, what the coordinates were is worth a line. */
static void say_what_was_taken(const search *s) {
  const cli_columns *c = &s->columns;
  if (!c->left_out || c->wanted || s->job.common.quiet)
    return;
  fprintf(stderr, "davit closest: coordinates are the columns");
  for (int k = 0; k < c->count; k++) {
    fprintf(stderr, "%s ", k == 0 ? "" : k + 1 == c->count ? " and" : ",");
    if (*c->name[k])
      fprintf(stderr, "'%s'", c->name[k]);
    else
      fprintf(stderr, "%d", c->column[k]);
  }
  fprintf(stderr, "; --columns takes others\n");
}

static int read_points(search *s) {
  cli_array *a = &s->points;
  int code = cli_points_read(s->path, &s->job.common.raw, s->job.memory, &s->columns, a);
  if (code == CLI_OK)
    code = cli_check_floating(s->path, a);
  if (code != CLI_OK)
    return code;
  if (a->ndim != 2 || a->shape[1] < 2 || a->shape[1] > 3)
    return cli_shape_fail(s->path, a, "a matrix of n x 2 or n x 3");
  if (a->shape[0] < 2)
    return cli_shape_fail(s->path, a, "at least 2 points");
  say_what_was_taken(s);
  s->n = a->shape[0];
  s->dim = (int)a->shape[1];
  code = to_points(a);
  return code == CLI_OK ? check_finite(s->path, s) : code;
}

/* ---- work ---- */

static davit_type type_of(const search *s) {
  return cli_number_type(s->points.type);
}

static davit_status by_reference(const search *s, davit_closest_pair_result *pair) {
  if (s->algorithm == DAVIT_CLOSEST_PAIR_BRUTE)
    *pair = dvt_ref_closest_brute(type_of(s), s->dim, s->n, s->points.data);
  else
    *pair = dvt_ref_closest_divide(type_of(s), s->dim, s->n, s->points.data, dvt_threads(), s->scratch);
  return DAVIT_SUCCESS;
}

static davit_status work(void *state, cli_array *unused, bool reference) {
  search *s = state;
  (void)unused; /* the result is s->pair */
  s->pair = (davit_closest_pair_result){0};
  if (reference)
    return by_reference(s, &s->pair);
  return davit_closest_pair(type_of(s), s->dim, s->n, s->points.data, &s->pair,
                            &(davit_closest_pair_options){.algorithm = s->algorithm, CLI_DEVICES(s)});
}

static int choose_algorithm(search *s) {
  const davit_closest_pair_options options = {.algorithm = s->algorithm, CLI_DEVICES(s)};
  s->taken = s->algorithm == DAVIT_CLOSEST_PAIR_BRUTE ? DAVIT_CLOSEST_PAIR_BRUTE : DAVIT_CLOSEST_PAIR_DIVIDE;
  return s->job.devices.reference ? CLI_OK
                                  : cli_status(davit_closest_pair_plan(type_of(s), s->dim, s->n,
                                                                       s->points.data, &s->taken, &options));
}

static int load(void *state) {
  search *s = state;
  const int code = read_points(s);
  if (code != CLI_OK)
    return code;
  if (s->job.devices.reference || s->job.common.check) {
    s->scratch = cli_job_memory(&s->job, 1, dvt_ref_closest_scratch(s->n));
    if (!s->scratch)
      return CLI_DEVICE;
  }
  return choose_algorithm(s);
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

/* ---- command ---- */

static const cli_choice algorithms[] = {
    {"auto", DAVIT_CLOSEST_PAIR_AUTO, "brute for few points, else grid"},
    {"brute", DAVIT_CLOSEST_PAIR_BRUTE, "all pairs"},
    {"divide", DAVIT_CLOSEST_PAIR_DIVIDE, "divide and conquer, on the host"},
    {"grid", DAVIT_CLOSEST_PAIR_GRID, "cells of a grid, on the devices"},
    {0}};

static void print(const void *state) {
  const search *s = state;
  printf("i\tj\tdistance\n%" PRId64 "\t%" PRId64 "\t%.17g\n", s->pair.i, s->pair.j, s->pair.distance);
}

static void json(cli_json *json, const void *state) {
  const search *s = state;
  cli_json_integer(json, "i", s->pair.i);
  cli_json_integer(json, "j", s->pair.j);
  cli_json_real(json, "distance", s->pair.distance);
}

static void report(cli_json *json, const void *state) {
  const search *s = state;
  cli_json_string(json, "algorithm", cli_choice_name(algorithms, (int)s->taken));
  cli_json_integer(json, "n", s->n);
  cli_json_integer(json, "dim", s->dim);
}

const cli_command cli_command_closest = {
    .name = "closest",
    .summary = "closest pair of points",
    .description = "Prints the two points that are closest to each other and their distance; of several such "
                   "pairs the one with the minimum (i, j).",
    .examples = "davit closest points.csv\n"
                "davit closest points.csv --columns 0,1\n"
                "davit points -n 1e4 -o - | davit closest - --json\n",
    .operands = CLI_PLACES(CLI_PLACE(search, path, "POINTS",
                                     "an n x 2 or n x 3 matrix of float64 or float32, or a CSV file: a point "
                                     "a line, with commas, semicolons or blanks between the numbers; lines "
                                     "that begin with # are skipped, and the first line may hold names. A "
                                     "first column that is called id, index, name or label, or counts the "
                                     "lines, is no coordinate")),
    .options = CLI_OPTIONS(
        CLI_OPTION(TEXT, search, columns.wanted, "--columns", "LIST", .words = "",
                   .otherwise = "x, y and z, or all that can be coordinates",
                   .help = "the 2 or 3 columns that are coordinates, such as x,y: names of a CSV file, or "
                           "numbers, counted from 0"),
        CLI_OPTION(CHOICE, search, algorithm, "--algorithm", "A", .choices = algorithms, .value = "auto",
                   .help = "how to search; the answer is the same")),
    .common = CLI_COMMON_RAW | CLI_COMMON_COMPUTE,
    .state = sizeof(search),
    CLI_ARRAYS(search, points, points),
    .read = load,
    .work = work,
    .check = check,
    .print = print,
    .json = json,
    .report = report,
};
