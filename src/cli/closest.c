/* davit closest: the closest pair of points. */
#include <davit/closest_pair.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"
#include "src/cli/formats/input.h"
#include "src/cli/formats/numeric.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct search {
  cli_job job;
  cli_array points; /* point after point */
  int dim;
  int64_t n;
  davit_closest_algorithm algorithm, taken; /* as asked for; what ran */
  davit_pair pair;
  void *scratch; /* of the reference */
} search;

static const char *const algorithm_names[] = {"auto", "brute", "divide", "grid"};
enum { ALGORITHMS = sizeof algorithm_names / sizeof algorithm_names[0] };

/* ---- CSV: one point a line ----
 *
 * Numbers are separated by commas, semicolons or blanks; lines that are blank or begin with '#' count but say nothing. The
 * first line that says something may hold names, without a number among them. All lines have 2 numbers or all have 3. A
 * byte order mark before all that is skipped. */

enum { LINE = 1024, FEWEST = 2, MOST = 3 };

typedef struct csv {
  cli_input *input;
  cli_array *array;
  int64_t line, points;
  int width; /* 0: not known yet */
  bool end;
  char text[LINE];
} csv;

static int csv_fail(csv *c, const char *expected) {
  if (ferror(c->input->file))
    return cli_input_fail(c->input, "%s", expected);
  return cli_fail(CLI_INPUT, "%s: line %" PRId64 ": expected %s, found '%.40s'", c->input->name, c->line,
                  expected, c->text);
}

static int read_line(csv *c) {
  int length = 0, byte;
  c->line++;
  while ((byte = cli_input_byte(c->input)) != EOF && byte != '\n') {
    c->text[length] = 0;
    if (!byte || length == LINE - 1)
      return csv_fail(c, byte ? "a line of less than 1024 characters" : "text without zero bytes");
    c->text[length++] = (char)byte;
  }
  c->text[length] = 0;
  c->end = byte == EOF && !length;
  const size_t mark = c->line == 1 ? cli_mark_length(c->text, (size_t)length) : 0;
  if (mark)
    memmove(c->text, c->text + mark, (size_t)length + 1 - mark);
  return ferror(c->input->file) ? csv_fail(c, "more data") : CLI_OK;
}

static const char *after_blanks(const char *at) {
  return at + strspn(at, " \t\r");
}

/* Numbers of the line; at most MOST + 1 are read. -1: there is something else. */
static int parse_numbers(const char *at, double values[MOST + 1]) {
  int count = 0;
  for (at = after_blanks(at); *at && count <= MOST; count++) {
    char *end;
    if (count > 0 && strchr(",;", *at))
      at = after_blanks(at + 1);
    values[count] = strtod(at, &end);
    if (end == at || (*end && !strchr(",; \t\r", *end)))
      return -1;
    at = after_blanks(end);
  }
  return count;
}

/* Whether one of the line's fields is a number, in quotes or not: such a line is no line of names. */
static bool holds_number(const char *at) {
  static const char between[] = ",; \t\r\"'";
  while (*(at += strspn(at, between))) {
    const char *end = at + strcspn(at, between);
    char *parsed;
    (void)strtod(at, &parsed);
    if (parsed == end)
      return true;
    at = end;
  }
  return false;
}

static int keep(csv *c, const double *values) {
  cli_array *a = c->array;
  const size_t bytes = (size_t)c->width * sizeof *values, used = (size_t)c->points * bytes;
  if (used + bytes > a->capacity) {
    const int code = cli_array_reserve(a, used, used < 1 << 20 ? 1 << 20 : 2 * used);
    if (code != CLI_OK)
      return code;
  }
  memcpy((char *)a->data + used, values, bytes);
  c->points++;
  return CLI_OK;
}

static int take_line(csv *c, bool first) {
  double values[MOST + 1];
  const int count = parse_numbers(c->text, values);
  if (count < 0 && first && !holds_number(c->text))
    return CLI_OK;
  if (count < 0)
    return csv_fail(c, "numbers");
  if (count < FEWEST || count > MOST)
    return csv_fail(c, "2 or 3 numbers");
  if (c->width && count != c->width)
    return csv_fail(c, c->width == FEWEST ? "2 numbers as before" : "3 numbers as before");
  for (int k = 0; k < count; k++)
    if (!isfinite(values[k]))
      return csv_fail(c, "finite numbers");
  c->width = count;
  return keep(c, values);
}

static int read_csv(cli_input *input, cli_array *array) {
  csv c = {.input = input, .array = array};
  bool first = true;
  int code = CLI_OK;
  array->type = CLI_F8;
  while (code == CLI_OK && !c.end) {
    code = read_line(&c);
    const char *start = after_blanks(c.text);
    if (code != CLI_OK || !*start || *start == '#')
      continue;
    code = take_line(&c, first);
    first = false;
  }
  if (code == CLI_OK && !c.points)
    return cli_input_fail(input, "expected points, found the end of the file");
  array->ndim = 2;
  array->shape[0] = c.points;
  array->shape[1] = c.width;
  array->bytes = (size_t)c.points * (size_t)c.width * sizeof(double);
  return code;
}

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
  int code = cli_array_read_or(path, s->job.memory, read_csv, a);
  if (code != CLI_OK)
    return code;
  if (!cli_is_floating(a->type))
    return cli_fail(CLI_INPUT, "%s: expected float64 or float32, found %s", path, cli_type_name(a->type));
  if (a->ndim != 2 || a->shape[1] < FEWEST || a->shape[1] > MOST)
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

static davit_status by_reference(const search *s, davit_pair *pair) {
  if (s->algorithm == DAVIT_CLOSEST_BRUTE)
    *pair = dvt_ref_closest_brute(type_of(s), s->dim, s->n, s->points.data);
  else
    *pair = dvt_ref_closest_divide(type_of(s), s->dim, s->n, s->points.data, cli_threads(), s->scratch);
  return DAVIT_SUCCESS;
}

static void prepare(void *state) {
  search *s = state;
  s->pair = (davit_pair){0};
}

static davit_status choose(search *s) {
  const cli_device_set *devices = &s->job.devices;
  s->taken = s->algorithm == DAVIT_CLOSEST_BRUTE ? DAVIT_CLOSEST_BRUTE : DAVIT_CLOSEST_DIVIDE;
  return devices->reference
             ? DAVIT_SUCCESS
             : davit_closest_pair_algorithm(type_of(s), s->dim, s->n, s->points.data, s->algorithm,
                                            devices->ids, devices->count, &s->taken);
}

static davit_status work(void *state) {
  search *s = state;
  if (s->job.devices.reference)
    return by_reference(s, &s->pair);
  return davit_closest_pair(type_of(s), s->dim, s->n, s->points.data, s->algorithm, s->job.devices.ids,
                            s->job.devices.count, &s->pair);
}

static int check(void *state, cli_check *check) {
  const search *s = state;
  davit_pair right;
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

static int read_algorithm(const char *text, davit_closest_algorithm *algorithm) {
  int found = 0;
  while (text && found < ALGORITHMS && strcmp(text, algorithm_names[found]))
    found++;
  if (found == ALGORITHMS)
    return cli_fail(CLI_USAGE, "--algorithm takes auto, brute, divide or grid, not '%s'", text);
  *algorithm = (davit_closest_algorithm)found;
  return CLI_OK;
}

static int compute(search *s, const cli_command *self, const char *path) {
  static const cli_job_steps steps = {prepare, work, check, {print_text, print_json}};
  int code = cli_job_open(&s->job, self, NULL);
  if (code == CLI_OK)
    code = load(s, path);
  if (code == CLI_OK)
    code = make_scratch(s);
  const davit_status status = code == CLI_OK ? choose(s) : DAVIT_SUCCESS;
  if (status != DAVIT_SUCCESS)
    return cli_fail_status(status);
  return code == CLI_OK ? cli_job_run(&s->job, &steps, NULL, s) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  search s = {0};
  const char *path, *algorithm = NULL;
  const cli_option options[] = {{"algorithm", CLI_OPTION_TEXT, &algorithm}, {0}};
  int code = cli_options_parse(self, options, argc, argv, &s.job.common, &path, 1);
  if (code == CLI_OK)
    code = read_algorithm(algorithm, &s.algorithm);
  if (code == CLI_OK)
    code = compute(&s, self, path);
  cli_job_close(&s.job);
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
    .run = run,
};
