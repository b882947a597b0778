/* Operands of the BLAS commands. */
#include "src/cli/formats/operand.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/cli/formats/input.h"
#include "src/cli/formats/numeric.h"
#include "src/cli/frame/command.h"

cli_operand cli_operand_of(const cli_array *array, bool transposed) {
  const int64_t rows = array->shape[0], cols = array->shape[1];
  cli_operand operand = {.trans = transposed == array->fortran ? 'T' : 'N',
                         .rows = array->fortran ? rows : cols,
                         .cols = array->fortran ? cols : rows,
                         .op_rows = transposed ? cols : rows,
                         .op_cols = transposed ? rows : cols};
  operand.ld = operand.rows > 0 ? operand.rows : 1;
  return operand;
}

int cli_shape_fail(const char *path, const cli_array *array, const char *format, ...) {
  char expected[256], found[64] = "a scalar";
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(expected, sizeof expected, format, arguments);
  va_end(arguments);
  if (array->ndim == 1)
    snprintf(found, sizeof found, "a vector of %lld", (long long)array->shape[0]);
  else if (array->ndim == 2)
    snprintf(found, sizeof found, "%lld x %lld", (long long)array->shape[0], (long long)array->shape[1]);
  return cli_fail(CLI_INPUT, "%s: expected %s, found %s", path, expected, found);
}

static int read_floating(const char *path, cli_memory memory, const cli_array *like, cli_array *array) {
  const int code = cli_array_read(path, memory, array);
  if (code != CLI_OK)
    return code;
  if (like && array->type != like->type)
    return cli_fail(CLI_INPUT, "%s: expected %s as in the first operand, found %s", path,
                    cli_type_name(like->type), cli_type_name(array->type));
  if (!cli_is_floating(array->type))
    return cli_fail(CLI_INPUT, "%s: expected float64 or float32, found %s", path, cli_type_name(array->type));
  return CLI_OK;
}

int cli_read_matrix(const char *path, cli_memory memory, const cli_array *like, cli_array *array) {
  const int code = read_floating(path, memory, like, array);
  return code == CLI_OK && array->ndim != 2 ? cli_shape_fail(path, array, "a matrix") : code;
}

int cli_read_vector(const char *path, cli_memory memory, const cli_array *like, cli_array *array) {
  const int code = read_floating(path, memory, like, array);
  return code == CLI_OK ? cli_to_vector(path, array) : code;
}

int cli_scalar(const cli_real *option, const char *name, cli_type type, double fallback, double *value) {
  *value = option->given ? option->value : fallback;
  if (type == CLI_F4 && isfinite(*value) && fabs(*value) > (double)FLT_MAX)
    return cli_fail(CLI_USAGE, "--%s %g is beyond the range of float32", name, *value);
  return CLI_OK;
}

double cli_epsilon(cli_type type) {
  return type == CLI_F8 ? DBL_EPSILON : (double)FLT_EPSILON;
}

double cli_least(cli_type type) {
  return type == CLI_F8 ? DBL_MIN : (double)FLT_MIN;
}

void cli_restore(cli_array *to, const cli_array *from) {
  if (!to->bytes)
    return;
  if (from)
    memcpy(to->data, from->data, to->bytes);
  else
    memset(to->data, 0, to->bytes);
}
