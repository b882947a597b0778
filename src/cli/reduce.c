/* SPDX-License-Identifier: Apache-2.0 */
/* davit reduce: one value from all elements of an array, or from those along one of its dimensions. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/cli/formats/array_file.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/ranks.h"
#include "src/cli/reduce_fold.h"

/* ---- operand ---- */

static int to_double(cli_array *x) {
  cli_array wide;
  if (x->type == CLI_F8)
    return CLI_OK;
  const int code = cli_array_create_like(CLI_F8, x, x->wanted, &wide);
  if (code != CLI_OK)
    return code;
  for (int64_t i = 0, n = cli_array_count(x); i < n; i++)
    ((double *)wide.data)[i] = (double)cli_number(x, i);
  cli_array_free(x);
  *x = wide;
  return CLI_OK;
}

/* The place in memory of element `i` in C order. */
static int64_t place_of(const cli_array *array, int64_t i) {
  int64_t place = 0, stride = 1, block = cli_array_count(array);
  if (!array->fortran)
    return i;
  for (int k = 0; k < array->ndim; k++) {
    block /= array->shape[k];
    place += i / block * stride;
    i %= block;
    stride *= array->shape[k];
  }
  return place;
}

/* Where the place among all elements is asked for, it is that in C order. */
static int to_c_order(cli_array *x) {
  cli_array turned;
  if (!x->fortran || x->ndim < 2)
    return CLI_OK;
  const int code = cli_array_create_like(x->type, x, x->wanted, &turned);
  if (code != CLI_OK)
    return code;
  const size_t bytes = cli_type_bytes(x->type);
  for (int64_t i = 0, n = cli_array_count(x); i < n; i++)
    memcpy((char *)turned.data + (size_t)i * bytes, (const char *)x->data + (size_t)place_of(x, i) * bytes,
           bytes);
  turned.fortran = false;
  cli_array_free(x);
  *x = turned;
  return CLI_OK;
}

/* Moves the axis behind all others: outer × length × inner to outer × inner × length. */
static int turn(cli_array *x, int64_t outer, int64_t length, int64_t inner) {
  cli_array turned;
  if (inner == 1 || length == 1)
    return CLI_OK;
  const int code = cli_array_create_like(x->type, x, x->wanted, &turned);
  if (code != CLI_OK)
    return code;
  const size_t slab = (size_t)(length * inner) * cli_type_bytes(x->type);
  for (int64_t i = 0; i < outer && slab; i++)
    cli_transpose(x->type, length, inner, (const char *)x->data + (size_t)i * slab,
                  (char *)turned.data + (size_t)i * slab);
  cli_array_free(x);
  *x = turned;
  return CLI_OK;
}

/* Groups along the axis, and the shape of the results. Neighbours in memory differ in the last dimension, in
 * Fortran order in the first. */
static int group_by_axis(reduction *r, cli_array *shape) {
  cli_array *x = &r->x;
  const int axis = (int)(r->axis < 0 ? r->axis + x->ndim : r->axis);
  if (axis < 0 || axis >= x->ndim)
    return cli_shape_fail(r->path, x, "a dimension %" PRId64 " for --axis", r->axis);
  int64_t sizes[2] = {1, 1}; /* of the dimensions before and after the axis */
  r->length = x->shape[axis];
  for (int k = 0; k < x->ndim; k++)
    if (k != axis) {
      sizes[k > axis] *= x->shape[k];
      shape->shape[shape->ndim++] = x->shape[k];
    }
  shape->fortran = x->fortran;
  r->groups = sizes[0] * sizes[1];
  return turn(x, sizes[x->fortran], r->length, sizes[!x->fortran]);
}

static int check_output(const reduction *r, const cli_array *shape) {
  return shape->ndim > 2 && r->output.path && cli_writer_of(r->output.path) != cli_npy_write
             ? cli_fail(CLI_USAGE, "-o %s: expected a name that ends in .npy for a result of %d dimensions",
                        r->output.path, shape->ndim)
             : CLI_OK;
}

static int check_length(const reduction *r) {
  const bool needs_one = reduce_gives_place(r) || r->op == REDUCE_MEAN || r->op == REDUCE_VAR;
  return reduce_length(r) || !r->groups || !needs_one
             ? CLI_OK
             : cli_shape_fail(r->path, &r->x,
                              "at least one element, of which there would be a place or a mean");
}

static int load_part(reduction *r, cli_array *shape) {
  int code = cli_read_numbers(r->path, &r->job.common.raw, r->job.memory, &r->part, &r->x);
  r->job.rate = (cli_rate){CLI_GBYTES, (double)r->part.whole * (double)cli_type_bytes(r->x.type)};
  if (code == CLI_OK && reduce_is_real(r))
    code = to_double(&r->x);
  if (code != CLI_OK)
    return code;
  r->groups = 1;
  r->length = cli_array_count(&r->x);
  if (cli_is_given(r->job.command, &r->job.common, "--axis"))
    return group_by_axis(r, shape);
  return reduce_gives_place(r) ? to_c_order(&r->x) : CLI_OK;
}

static int load(void *state) {
  reduction *r = state;
  cli_array shape = {.shape = {1, 1}, .fortran = true};
  r->part = (cli_part){.index = cli_ranks_rank(), .count = cli_ranks_count()};
  if (cli_ranks_several())
    cli_job_on_host(&r->job);
  int code = load_part(r, &shape);
  if (code == CLI_OK)
    code = check_output(r, &shape);
  if (code == CLI_OK)
    code = check_length(r);
  if (code == CLI_OK)
    code = reduce_room(r);
  return code == CLI_OK ? cli_array_create_like(reduce_gives_place(r) ? CLI_I8 : r->x.type, &shape,
                                                CLI_MEMORY_PLAIN, &r->result)
                        : code;
}

static davit_status work(void *state, cli_array *result, bool reference) {
  return reduce_compute(state, result->data, reference);
}

/* ---- several ranks ---- */

/* The reference adds from left to right, and a segmented scan rounds by where its segments begin. */
static bool divides(const void *state) {
  const reduction *r = state;
  return strcmp(r->job.common.devices, "cpu") != 0 && !cli_is_given(r->job.command, &r->job.common, "--axis");
}

/* All have the result; the operand of the check is whole. */
static int gather(void *state) {
  reduction *r = state;
  cli_array unused = {0};
  if (!r->job.common.check || !cli_ranks_lead())
    return CLI_OK;
  for (cli_array *array = &r->x; array <= &r->scan; array++)
    if (array != &r->result)
      cli_array_free(array);
  r->part = (cli_part){.count = 1};
  const int code = load_part(r, &unused);
  return code == CLI_OK ? reduce_room(r) : code;
}

/* ---- check ---- */

/* Whole numbers, minima, maxima and places have no rounding. */
static bool is_exact(const reduction *r) {
  return !cli_is_floating(r->x.type) || r->op == DAVIT_MIN || r->op == DAVIT_MAX || reduce_gives_place(r);
}

/* Additions that an element goes through, over 2: of davit's trees, and of a loop from left to right, which
 * the reference is, and a segmented scan may be. */
static double depth_of(const reduction *r) {
  const bool tree = !r->job.devices.reference && r->groups == 1;
  return tree ? 8 + log2((double)r->length + 1) : 0.5 * (double)r->length;
}

static cli_running add_all(const reduction *r, int64_t group) {
  cli_running running = cli_running_start(r->op == DAVIT_PROD ? DAVIT_PROD : DAVIT_SUM);
  for (int64_t i = group * r->length; i < (group + 1) * r->length; i++)
    cli_running_add(&running, cli_number(&r->x, i));
  return running;
}

/* Of a mean, a variance or a norm. The bounds follow from that of a sum, S = 2 eps depth sum |x_i|: a mean is
 * off by S / n, the squares of the differences from it by their own sum's error and by the mean's error
 * squared. */
static void check_real(const reduction *r, int64_t group, double *error, double *bound) {
  const double eps = cli_epsilon(CLI_F8), depth = depth_of(r), n = (double)r->length;
  const double *x = (const double *)r->x.data + group * r->length;
  const cli_running sum = add_all(r, group);
  const long double mean = r->op == REDUCE_NORM ? 0 : (sum.value + sum.rest) / (long double)n;
  const double mean_bound = cli_running_bound(&sum, CLI_F8, depth) / n + 2 * eps * fabs((double)mean);
  cli_running squares = cli_running_start(DAVIT_SUM);
  for (int64_t i = 0; i < r->length; i++)
    cli_running_add(&squares, ((long double)x[i] - mean) * ((long double)x[i] - mean));
  const long double of_squares = squares.value + squares.rest, found = cli_number(&r->result, group);
  const long double wanted = r->op == REDUCE_MEAN  ? mean
                             : r->op == REDUCE_VAR ? of_squares / (long double)n
                                                   : sqrtl(of_squares);
  *error = (double)fabsl(cli_difference(wanted, found));
  *bound = r->op == REDUCE_MEAN
               ? mean_bound
               : 2 * eps * (depth + 4) * (double)wanted + (r->op == REDUCE_VAR ? mean_bound * mean_bound : 0);
  if (isnan((double)wanted)) /* found or not, there is no rounding */
    *bound = 0;
}

static void check_fold(const reduction *r, int64_t group, double *error, double *bound) {
  const cli_running running = add_all(r, group);
  *error = cli_running_error(&running, r->x.type, cli_number(&r->result, group));
  *bound = cli_running_bound(&running, r->x.type, depth_of(r));
}

static const char *measure_of(const reduction *r) {
  return r->op == DAVIT_PROD    ? "|r - r_ref| <= n eps |r_ref|"
         : r->op == REDUCE_MEAN ? "|r - r_ref| <= 2 eps depth sum |x_i| / n + 2 eps |r_ref|"
         : r->op == REDUCE_VAR  ? "|r - r_ref| <= 2 eps (depth + 4) r_ref + (the bound of the mean)^2"
         : r->op == REDUCE_NORM ? "|r - r_ref| <= 2 eps (depth + 4) r_ref"
         : r->groups == 1 && !r->job.devices.reference ? "|r - r_ref| <= 2 eps (8 + log2(n + 1)) sum |x_i|"
                                                       : "|r - r_ref| <= n eps sum |x_i|";
}

/* Of several groups, the one whose error is closest to its bound or beyond it. */
static int check(void *state, cli_check *check) {
  reduction *r = state;
  if (is_exact(r)) {
    const int code = cli_job_reference(&r->job);
    *check = (cli_check){.measure = "count of r != r_ref = 0",
                         .error = (double)cli_differences(&r->result, &r->job.reference)};
    return code;
  }
  *check = (cli_check){.measure = measure_of(r)};
  for (int64_t group = 0; group < r->groups; group++) {
    double error, bound;
    (reduce_is_real(r) ? check_real : check_fold)(r, group, &error, &bound);
    if (group == 0 || !(error * check->bound <= check->error * bound))
      *check = (cli_check){.measure = measure_of(r), .error = error, .bound = bound};
    if (isnan(error))
      break;
  }
  return CLI_OK;
}

/* ---- command ---- */

static void print_one(FILE *file, const cli_array *values, int64_t i) {
  if (cli_is_floating(values->type))
    fprintf(file, "%.*Lg", values->type == CLI_F8 ? 17 : 9, cli_number(values, i));
  else
    fprintf(file, "%" PRId64, cli_integer(values, i));
}

/* A line for each run of the last dimension: a value a line where there is one dimension. */
static void print(const void *state) {
  const reduction *r = state;
  const cli_array *values = &r->result;
  if (r->output.path)
    return;
  const int64_t row = values->ndim > 1 ? values->shape[values->ndim - 1] : 1;
  for (int64_t i = 0, n = cli_array_count(values); i < n; i++) {
    print_one(stdout, values, place_of(values, i));
    putchar((i + 1) % row ? ',' : '\n');
  }
}

static void json_one(cli_json *json, const char *name, const cli_array *values, int64_t i) {
  if (cli_is_floating(values->type))
    cli_json_real(json, name, (double)cli_number(values, i));
  else
    cli_json_integer(json, name, cli_integer(values, i));
}

/* The result: a number, or an array of all in C order beside their shape. */
static void json(cli_json *json, const void *state) {
  const reduction *r = state;
  const cli_array *values = &r->result;
  if (values->ndim == 0) {
    json_one(json, "result", values, 0);
    return;
  }
  cli_json_open_array(json, "shape");
  for (int k = 0; k < values->ndim; k++)
    cli_json_integer(json, NULL, values->shape[k]);
  cli_json_close_array(json);
  cli_json_open_array(json, "result");
  for (int64_t i = 0, n = cli_array_count(values); i < n; i++)
    json_one(json, NULL, values, place_of(values, i));
  cli_json_close_array(json);
}

static const cli_choice operators[] = {
    {"sum", DAVIT_SUM, NULL},
    {"prod", DAVIT_PROD, NULL},
    {"min", DAVIT_MIN, NULL},
    {"max", DAVIT_MAX, NULL},
    {"mean", REDUCE_MEAN, "in float64, like var and norm"},
    {"var", REDUCE_VAR, "the mean of the squared differences from the mean"},
    {"norm", REDUCE_NORM, "the root of the sum of the squares"},
    {"argmin", REDUCE_ARGMIN, "where the first minimum is, counted from 0"},
    {"argmax", REDUCE_ARGMAX, "where the first maximum is"},
    {0}};

static void report(cli_json *json, const void *state) {
  const reduction *r = state;
  cli_json_string(json, "op", cli_choice_name(operators, r->op));
  cli_json_integer(json, "n", r->groups * reduce_length(r));
}

const cli_command cli_command_reduce = {
    .name = "reduce",
    .summary = "sum, product, minimum, maximum, mean, variance, norm of all elements or along a dimension",
    .description =
        "Prints one value from all elements of X, or with --axis one for each place in the other dimensions, "
        "the last of them along a line. Integers wrap around; mean, var and norm are computed in float64. "
        "The "
        "minimum or maximum of floats is NaN as soon as one of them is, and the place is then that of the "
        "first "
        "NaN. No elements give 0, 1, and for min and max the maximum and minimum number of the type "
        "(infinities "
        "of floats).",
    .examples = "davit reduce x.npy\n"
                "davit reduce A.npy --op max\n"
                "davit reduce A.npy --op mean --axis 0 -o means.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(reduction, path, "X",
                                     "an array of any shape; float32, float64, int32 and int64 stay, other "
                                     "numbers become float32 or int64")),
    .options = CLI_OPTIONS(
        CLI_RESULT_OPTION(reduction, "Y"),
        CLI_OPTION(CHOICE, reduction, op, "--op", "OP", .choices = operators, .value = "sum",
                   .help = "the operator"),
        CLI_OPTION(WHOLE, reduction, axis, "--axis", "K", .minimum = -CLI_DIMS, .maximum = CLI_DIMS - 1,
                   .otherwise = "all elements give one value",
                   .help = "the dimension to reduce, counted from 0, or from -1 backwards"),
        CLI_OPTION(
            FLAG, reduction, ordered, "--ordered", NULL,
            .help =
                "the same bits on all devices and from run to run; without --axis that is always so, with "
                "and without this option (--devices cpu, a loop from left to right, may round differently)")),
    .common = CLI_COMMON_RAW | CLI_COMMON_COMPUTE | CLI_COMMON_FORCE,
    .state = sizeof(reduction),
    CLI_ARRAYS(reduction, x, scan),
    .result = offsetof(reduction, result),
    .read = load,
    .work = work,
    .divides = divides,
    .gather = gather,
    .check = check,
    .print = print,
    .json = json,
    .report = report,
};
