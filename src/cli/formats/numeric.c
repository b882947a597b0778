/* Operands of any number type, and the arithmetic of their checks. */
#include "src/cli/formats/numeric.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/cli/formats/input.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/command.h"

/* ---- reading ---- */

int cli_read_numbers(const char *path, cli_memory memory, cli_array *array) {
  const int code = cli_array_read(path, memory, array);
  return code == CLI_OK && array->type == CLI_U1
             ? cli_fail(CLI_INPUT, "%s: expected float64, float32, int64 or int32, found uint8", path)
             : code;
}

int cli_to_vector(const char *path, cli_array *array) {
  if (array->shape[0] != 1 && array->shape[1] != 1)
    return cli_shape_fail(path, array, "a vector");
  array->shape[0] = cli_array_count(array);
  array->shape[1] = 1;
  array->ndim = 1;
  array->fortran = true;
  return CLI_OK;
}

int cli_read_number_vector(const char *path, cli_memory memory, cli_array *array) {
  const int code = cli_read_numbers(path, memory, array);
  return code == CLI_OK ? cli_to_vector(path, array) : code;
}

int cli_read_flags(const char *path, cli_memory memory, const char *of_path, const cli_array *of,
                   cli_array *flags) {
  int code = cli_array_read(path, memory, flags);
  if (code == CLI_OK && flags->type != CLI_U1)
    return cli_fail(CLI_INPUT, "%s: expected uint8, found %s", path, cli_type_name(flags->type));
  if (code == CLI_OK)
    code = cli_to_vector(path, flags);
  if (code == CLI_OK && flags->shape[0] != of->shape[0])
    return cli_shape_fail(path, flags, "a vector of %" PRId64 " as in %s", of->shape[0], of_path);
  return code;
}

/* ---- types and operators ---- */

davit_type cli_number_type(cli_type type) {
  static const davit_type types[CLI_TYPES] = {[CLI_F4] = DAVIT_FLOAT,
                                              [CLI_F8] = DAVIT_DOUBLE,
                                              [CLI_I4] = DAVIT_INT32,
                                              [CLI_I8] = DAVIT_INT64,
                                              [CLI_U1] = DAVIT_TYPE_COUNT};
  return types[type];
}

bool cli_is_floating(cli_type type) {
  return type == CLI_F4 || type == CLI_F8;
}

int cli_operator(const char *text, davit_operator *op) {
  *op = DAVIT_SUM;
  if (!text)
    return CLI_OK;
  while (*op < DAVIT_OPERATOR_COUNT && strcmp(text, davit_operator_string(*op)))
    ++*op;
  return *op < DAVIT_OPERATOR_COUNT ? CLI_OK
                                    : cli_fail(CLI_USAGE, "--op takes sum, prod, min or max, not '%s'", text);
}

/* ---- elements ---- */

int64_t cli_integer(const cli_array *array, int64_t index) {
  switch (array->type) {
  case CLI_I4:
    return ((const int32_t *)array->data)[index];
  case CLI_I8:
    return ((const int64_t *)array->data)[index];
  default:
    return ((const uint8_t *)array->data)[index];
  }
}

long double cli_number(const cli_array *array, int64_t index) {
  switch (array->type) {
  case CLI_F4:
    return ((const float *)array->data)[index];
  case CLI_F8:
    return ((const double *)array->data)[index];
  default:
    return cli_integer(array, index);
  }
}

bool cli_same(long double a, long double b) {
  return a == b || (isnan(a) && isnan(b));
}

long double cli_difference(long double a, long double b) {
  return cli_same(a, b) ? 0 : a - b;
}

double cli_finite_norm(const cli_array *array) {
  long double sum = 0;
  const int64_t count = cli_array_count(array);
  for (int64_t i = 0; i < count; i++) {
    const long double x = cli_number(array, i);
    sum += isfinite(x) ? x * x : 0;
  }
  return (double)sqrtl(sum);
}

double cli_distance(const cli_array *a, const cli_array *b) {
  long double sum = 0;
  const int64_t count = cli_array_count(a);
  for (int64_t i = 0; i < count; i++) {
    const long double difference = cli_difference(cli_number(a, i), cli_number(b, i));
    sum += difference * difference;
  }
  return (double)sqrtl(sum);
}

int64_t cli_differences(const cli_array *a, const cli_array *b) {
  int64_t differences = 0;
  const int64_t count = cli_array_count(a);
  const bool floating = cli_is_floating(a->type);
  for (int64_t i = 0; i < count; i++)
    differences +=
        floating ? !cli_same(cli_number(a, i), cli_number(b, i)) : cli_integer(a, i) != cli_integer(b, i);
  return differences;
}

/* ---- running values ---- */

cli_running cli_running_start(davit_operator op) {
  return (cli_running){.op = op, .value = op == DAVIT_PROD};
}

void cli_running_add(cli_running *running, long double x) {
  running->terms++;
  if (running->op == DAVIT_PROD) {
    running->value *= x;
    return;
  }
  const long double sum = running->value + x;
  running->rest +=
      fabsl(running->value) >= fabsl(x) ? (running->value - sum) + x : (x - sum) + running->value;
  running->value = sum;
  running->magnitude += fabsl(x);
}

/* The value; an infinity of `type` where that overflows. */
static long double total(const cli_running *running, cli_type type) {
  const long double value = isfinite(running->value) ? running->value + running->rest : running->value;
  const long double rounded = type == CLI_F4 ? (long double)(float)value : (long double)(double)value;
  return isfinite(rounded) ? value : rounded;
}

double cli_running_error(const cli_running *running, cli_type type, long double found) {
  const long double value = total(running, type);
  if (cli_same(value, found))
    return 0;
  return isfinite(value) ? (double)fabsl(found - value) : INFINITY;
}

double cli_running_bound(const cli_running *running, cli_type type, double depth) {
  const long double value = total(running, type), eps = (long double)cli_epsilon(type);
  if (!isfinite(value))
    return 0;
  if (running->op == DAVIT_SUM)
    return (double)(2 * eps * (long double)depth * running->magnitude);
  const long double least = running->terms > 1 ? (long double)cli_least(type) : 0;
  return (double)((long double)running->terms * eps * fabsl(value) + least);
}
