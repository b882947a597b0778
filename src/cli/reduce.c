/* SPDX-License-Identifier: Apache-2.0 */
/* davit reduce: one value from all elements of an array, or from those along one of its dimensions. */
#include <complex.h>
#include <inttypes.h>
#include <math.h>

#include "src/cli/formats/array_file.h"
#include "src/cli/formats/compare.h"
#include "src/cli/reduce_fold.h"

/* ---- operand ---- */

/* Moves the axis behind all others: outer × length × inner to outer × inner × length. */
static int turn(cli_array *x, int64_t outer, int64_t length, int64_t inner) {
  cli_array turned;
  if (inner == 1 || length == 1)
    return CLI_OK;
  CLI_TRY(cli_array_create_like(x->type, x, x->wanted, &turned));
  const size_t slab = (size_t)(length * inner) * cli_type_bytes(x->type);
  for (int64_t i = 0; i < outer && slab; i++)
    cli_transpose(x->type, length, inner, (const char *)x->data + (size_t)i * slab,
                  (char *)turned.data + (size_t)i * slab);
  cli_array_replace(x, &turned);
  return CLI_OK;
}

/* Groups along the axis, and the shape of the results. Neighbours in memory differ in the last dimension, in
 * Fortran order in the first. */
static int group_by_axis(reduction *r) {
  cli_array *x = &r->x, *shape = &r->shape;
  const int axis = (int)(r->axis < 0 ? r->axis + x->ndim : r->axis);
  if (axis < 0 || axis >= x->ndim)
    return cli_shape_fail(r->x_path, x, "a dimension %" PRId64 " for --axis", r->axis);
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

/* Real arrays in place of complex ones, as reduce_fold.h says. */
static int separate(reduction *r) {
  const int64_t groups = r->groups, length = r->length;
  if (!cli_is_complex(r->x.type) || r->op == DAVIT_PROD)
    return CLI_OK;
  if (r->op != REDUCE_NORM) {
    r->parts = true;
    r->groups *= 2;
  } else {
    r->length *= 2;
  }
  const cli_type type = cli_array_parts(&r->x).type;
  cli_array real = r->x;
  real.type = type;
  real.ndim = 1;
  real.shape[0] = 2 * groups * length;
  real.shape[1] = 1;
  r->x = real;
  return r->parts ? turn(&r->x, groups, length, 2) : CLI_OK;
}

static int check_order(const reduction *r) {
  return cli_is_complex(r->x.type) && (reduce_gives_place(r) || r->op == DAVIT_MIN || r->op == DAVIT_MAX)
             ? cli_fail(CLI_INPUT, "%s: expected real numbers, found %s, which has no minimum or maximum",
                        cli_fail_place(r->x_path), cli_type_name(r->x.type))
             : CLI_OK;
}

static int check_output(const reduction *r) {
  return r->shape.ndim > 2 && r->job.output.path && cli_writer_of(r->job.output.path) != cli_npy_write
             ? cli_fail(CLI_USAGE, "-o %s: expected a name that ends in .npy for a result of %d dimensions",
                        r->job.output.path, r->shape.ndim)
             : CLI_OK;
}

/* As in NumPy, sums, products and norms alone have a value where there are no elements. */
static int check_length(const reduction *r) {
  const bool needs_none = r->op == DAVIT_SUM || r->op == DAVIT_PROD || r->op == REDUCE_NORM;
  return reduce_length(r) || !r->groups || needs_none
             ? CLI_OK
             : cli_shape_fail(r->x_path, &r->x,
                              "at least one element for a minimum, a maximum, a mean or a variance");
}

/* The elements in groups. */
static int group(reduction *r) {
  r->groups = 1;
  r->length = cli_array_count(&r->x);
  r->shape = (cli_array){.shape = {1, 1}, .fortran = true};
  if (cli_job_given(&r->job, "--axis"))
    return group_by_axis(r);
  return reduce_gives_place(r) ? cli_array_to_c(&r->x) : CLI_OK; /* places are those in C order */
}

static int prepare(void *state) {
  reduction *r = state;
  CLI_TRY(check_order(r));
  if (reduce_is_real(r) && r->x.type != CLI_F8 && r->x.type != CLI_C16)
    CLI_TRY(cli_array_convert(NULL, cli_is_complex(r->x.type) ? CLI_C16 : CLI_F8, &r->x));
  CLI_TRY(group(r));
  CLI_TRY(check_output(r));
  CLI_TRY(check_length(r));
  r->shape.type = reduce_gives_place(r)                            ? CLI_I8
                  : reduce_has_variance(r) || r->op == REDUCE_NORM ? CLI_F8
                                                                   : r->x.type;
  CLI_TRY(separate(r));
  return reduce_room(r);
}

static int create(void *state) {
  reduction *r = state;
  return cli_array_create_like(r->shape.type, &r->shape, CLI_MEMORY_PLAIN, &r->result);
}

static davit_status work(void *state, cli_array *result, bool reference) {
  return reduce_compute(state, result->data, reference);
}

/* ---- several ranks ---- */

/* The reference adds from left to right, and a segmented scan rounds by where its segments begin. */
static int divides(const void *state, bool *divided) {
  const reduction *r = state;
  int code = cli_divides_on_devices(state, divided);
  *divided = *divided && !cli_job_given(&r->job, "--axis");
  if (!*divided)
    return code;
  cli_array x;
  bool known = false;
  code = cli_array_peek(r->x_path, &r->job.common.reading, &x, &known);
  *divided = !(known && cli_is_complex(x.type));
  return code;
}

/* ---- check ---- */

/* Whole numbers, minima, maxima and places have no rounding. */
static bool is_exact(const reduction *r) {
  return cli_is_integer(r->x.type) || r->op == DAVIT_MIN || r->op == DAVIT_MAX || reduce_gives_place(r);
}

/* Additions that an element goes through, over 2: of davit's trees, and of a loop from left to right, which
 * the reference is, and a segmented scan may be. */
static double depth_of(const reduction *r) {
  const bool tree = !r->job.devices.reference && reduce_is_single(r);
  return tree ? 8 + log2((double)r->length + 1) : 0.5 * (double)r->length;
}

static cli_running add_all(const reduction *r, int64_t group) {
  cli_running running = cli_running_start(r->op == DAVIT_PROD ? DAVIT_PROD : DAVIT_SUM);
  for (int64_t i = group * r->length; i < (group + 1) * r->length; i++)
    cli_running_add(&running, cli_number(&r->x, i));
  return running;
}

/* What a result is to be, by how much it may be off, and how large a partial result may be. */
typedef struct expected {
  long double value, bound, largest;
} expected;

static cli_running add_squares(const reduction *r, int64_t group, long double mean) {
  const double *x = (const double *)r->x.data + group * r->length;
  cli_running squares = cli_running_start(DAVIT_SUM);
  for (int64_t i = 0; i < r->length; i++)
    cli_running_add(&squares, ((long double)x[i] - mean) * ((long double)x[i] - mean));
  return squares;
}

/* Of a sum of squares, by its value, or of what follows from it by a division or a root. */
static long double error_of_squares(const reduction *r, long double value) {
  return 2 * (long double)cli_epsilon(CLI_F8) * ((long double)depth_of(r) + 4) * value;
}

static expected expect_mean(const reduction *r, int64_t group) {
  const cli_running sum = add_all(r, group);
  const long double n = (long double)r->length, mean = cli_running_value(&sum) / n;
  const long double of_sum = (long double)cli_running_bound(&sum, CLI_F8, depth_of(r));
  const long double bound = of_sum / n + 2 * (long double)cli_epsilon(CLI_F8) * fabsl(mean);
  return (expected){.value = mean, .bound = isfinite(mean) ? bound : 0, .largest = sum.magnitude};
}

/* The error of the mean adds its own square to each of the squares. */
static expected expect_variance(const reduction *r, int64_t group) {
  const expected mean = expect_mean(r, group);
  const cli_running squares = add_squares(r, group, mean.value);
  const long double n = (long double)r->length, of_mean = mean.bound * mean.bound,
                    value = cli_running_value(&squares) / n;
  return (expected){.value = value,
                    .bound = error_of_squares(r, value) + of_mean,
                    .largest = fmaxl(mean.largest, squares.magnitude + n * of_mean)};
}

/* Squares are scaled, so only the norm itself may overflow. */
static expected expect_norm(const reduction *r, int64_t group) {
  const cli_running squares = add_squares(r, group, 0);
  const long double value = sqrtl(cli_running_value(&squares));
  return (expected){.value = value, .bound = error_of_squares(r, value), .largest = sqrtl(squares.magnitude)};
}

/* A variance of complex numbers is that of the real parts and that of the imaginary ones. */
static expected expect_complex_variance(const reduction *r, int64_t result) {
  const expected real = expect_variance(r, 2 * result), imag = expect_variance(r, 2 * result + 1);
  return (expected){.value = real.value + imag.value,
                    .bound = real.bound + imag.bound,
                    .largest = fmaxl(real.largest, imag.largest)};
}

/* Roots of numbers that differ by b differ by b over their sum, and by the root of b at most. */
static expected root_of(const expected *square) {
  const long double value = sqrtl(square->value);
  return (expected){.value = value,
                    .bound = fminl(square->bound / value, sqrtl(square->bound)) +
                             (long double)cli_epsilon(CLI_F8) * value,
                    .largest = square->largest};
}

static expected expect_real(const reduction *r, int64_t result) {
  expected e = r->op == REDUCE_MEAN   ? expect_mean(r, result)
               : r->op == REDUCE_NORM ? expect_norm(r, result)
               : r->parts             ? expect_complex_variance(r, result)
                                      : expect_variance(r, result);
  e.bound += (long double)cli_smallest(CLI_F8); /* squares, quotients and scaled roots may underflow */
  return r->op == REDUCE_STD ? root_of(&e) : e;
}

static void check_real(const reduction *r, int64_t result, double *error, double *bound) {
  const cli_array found = cli_array_parts(&r->result);
  const expected e = expect_real(r, result);
  *error =
      cli_error(CLI_F8, e.value, cli_number(&found, result), cli_overflows(CLI_F8, e.largest, r->length));
  *bound = cli_bound(e.value, e.bound);
}

/* Of complex numbers. */
static void check_product(const reduction *r, int64_t group, double *error, double *bound) {
  long double _Complex wanted = 1;
  const long double _Complex found = cli_element(&r->result, group);
  for (int64_t i = group * r->length; i < (group + 1) * r->length; i++)
    wanted *= cli_element(&r->x, i);
  const long double size = cabsl(wanted);
  const bool in_range = size <= (long double)cli_largest(r->x.type);
  *error = in_range ? (double)cabsl(found - wanted) : isfinite(cabsl(found)) ? INFINITY : 0;
  *bound =
      in_range ? (double)r->length * cli_rounding(r->x.type) * (double)size + cli_smallest(r->x.type) : 0;
}

static void check_fold(const reduction *r, int64_t group, double *error, double *bound) {
  const cli_array found = cli_array_parts(&r->result);
  const cli_running running = add_all(r, group);
  *error = cli_running_error(&running, r->x.type, cli_number(&found, group));
  *bound = cli_running_bound(&running, r->x.type, depth_of(r));
}

static const char *measure_of(const reduction *r) {
  return cli_is_complex(r->x.type) ? "|r - r_ref| <= 2 sqrt(2) n eps |r_ref|"
         : r->op == DAVIT_PROD     ? "|r - r_ref| <= n eps |r_ref|"
         : r->op == REDUCE_MEAN    ? "|r - r_ref| <= 2 eps depth sum |x_i| / n + 2 eps |r_ref|; and underflow"
         : r->op == REDUCE_VAR
             ? "|r - r_ref| <= 2 eps (depth + 4) r_ref + (the bound of the mean)^2; and underflow"
         : r->op == REDUCE_STD
             ? "|r - r_ref| <= min(b / r_ref, sqrt b) + eps r_ref, b the bound of the variance"
         : r->op == REDUCE_NORM ? "|r - r_ref| <= 2 eps (depth + 4) r_ref; and underflow"
         : reduce_is_single(r) && !r->job.devices.reference
             ? "|r - r_ref| <= 2 eps (8 + log2(n + 1)) sum |x_i|"
             : "|r - r_ref| <= n eps sum |x_i|";
}

static double relative(double error, double bound) {
  return error == 0 ? 0 : error / bound;
}

/* Of several groups, the one whose error is closest to its bound or beyond it. */
static int check(void *state, cli_check *check) {
  reduction *r = state;
  if (is_exact(r))
    return cli_job_compare(&r->job, check);
  *check = (cli_check){.measure = measure_of(r)};
  const int64_t results = r->parts && reduce_has_variance(r) ? r->groups / 2 : r->groups;
  for (int64_t group = 0; group < results; group++) {
    double error, bound;
    (cli_is_complex(r->x.type) ? check_product
     : reduce_is_real(r)       ? check_real
                               : check_fold)(r, group, &error, &bound);
    if (group == 0 || !(relative(error, bound) <= relative(check->error, check->bound)))
      *check = (cli_check){.measure = measure_of(r), .error = error, .bound = bound};
    if (isnan(error))
      break;
  }
  return CLI_OK;
}

/* ---- command ---- */

/* A line for each run of the last dimension: a value a line where there is one dimension. */
static void print(const void *state) {
  const reduction *r = state;
  const cli_array *values = &r->result;
  if (r->job.output.path)
    return;
  const int64_t row = values->ndim > 1 ? values->shape[values->ndim - 1] : 1;
  for (int64_t i = 0, n = cli_array_count(values); i < n; i++) {
    cli_element_write(stdout, values, cli_array_place(values, i), cli_type_digits(values->type));
    putchar((i + 1) % row ? ',' : '\n');
  }
}

/* The result: a number, or an array of all in C order beside their shape. */
static void json(cli_json *json, const void *state) {
  const reduction *r = state;
  const cli_array *values = &r->result;
  if (values->ndim == 0) {
    cli_json_element(json, "result", values, 0);
    return;
  }
  cli_json_open_array(json, "shape");
  for (int k = 0; k < values->ndim; k++)
    cli_json_integer(json, NULL, values->shape[k]);
  cli_json_close_array(json);
  cli_json_open_array(json, "result");
  for (int64_t i = 0, n = cli_array_count(values); i < n; i++)
    cli_json_element(json, NULL, values, cli_array_place(values, i));
  cli_json_close_array(json);
}

static const cli_choice operators[] = {
    {"sum", DAVIT_SUM, "integers are added in signed 32 or 64 bits, and wrap around"},
    {"prod", DAVIT_PROD, "integers likewise; complex numbers are multiplied on the host"},
    {"min", DAVIT_MIN, "NaN if an element is NaN; not for complex numbers"},
    {"max", DAVIT_MAX, "likewise"},
    {"mean", REDUCE_MEAN, "in float64, as are var, std and norm"},
    {"var", REDUCE_VAR, "mean of the squared differences from the mean, as numpy.var"},
    {"std", REDUCE_STD, "square root of var"},
    {"norm", REDUCE_NORM, "square root of the sum of the squares"},
    {"argmin", REDUCE_ARGMIN, "index of the first minimum, or of the first NaN"},
    {"argmax", REDUCE_ARGMAX, "index of the first maximum, or of the first NaN"},
    {0}};

static void report(cli_json *json, const void *state) {
  const reduction *r = state;
  cli_json_string(json, "op", cli_choice_name(operators, r->op));
  cli_job_report_sizes(json, &r->job);
}

const cli_command cli_command_reduce = {
    .name = "reduce",
    .summary = "sum, product, min, max, mean, variance or norm, of an array or along a dimension",
    .description = "Prints one value for all elements of X, or with --axis one for each index of the other "
                   "dimensions, with the last of these along a line. Without elements the sum is 0, the "
                   "product 1 and the norm 0, as in NumPy; the other operators refuse an empty array.",
    .examples = "davit reduce x.npy\n"
                "davit reduce A.npy --op max\n"
                "davit reduce A.npy --op mean --axis 0 -o means.npy\n",
    .operands = CLI_PLACES(
        CLI_PLACE(reduction, x_path, "X",
                  "an array of any shape. float32, float64, complex64, complex128, int32 and int64 keep "
                  "their type; float16 becomes float32, and other integers and bool become int64")),
    .options = CLI_OPTIONS(
        CLI_RESULT_OPTION("Y"),
        CLI_OPTION(CHOICE, reduction, op, "--op", "OP", .choices = operators, .value = "sum",
                   .help = "the operator"),
        CLI_OPTION(WHOLE, reduction, axis, "--axis", "K", .minimum = -CLI_DIMS, .maximum = CLI_DIMS - 1,
                   .otherwise = "all dimensions",
                   .help = "the dimension to reduce, counted from 0, or from -1 for the last backwards"),
        CLI_OPTION(
            FLAG, reduction, ordered, "--ordered", NULL,
            .help =
                "with --axis: the same bits on all devices and in all runs, as is always so without --axis "
                "(except with --devices cpu, which adds from left to right and may round differently)")),
    .common = CLI_COMMON_RAW | CLI_COMMON_ARRAYS,
    .small_bytes = 4 << 20,
    .state = sizeof(reduction),
    .arrays = CLI_ARRAYS(CLI_OPERAND(reduction, x, ANY, "n"), CLI_FREED(reduction, result),
                         CLI_FREED(reduction, terms), CLI_FREED(reduction, extremes),
                         CLI_FREED(reduction, flags), CLI_FREED(reduction, scan)),
    .result = offsetof(reduction, result),
    .sizes = {"n"},
    .unit = CLI_GBYTES,
    .cut = "n",
    .ranks_on_host = true,
    .prepare = prepare,
    .create = create,
    .work = work,
    .divides = divides,
    .measure = "count of r != r_ref = 0",
    .check = check,
    .print = print,
    .json = json,
    .report = report,
};
