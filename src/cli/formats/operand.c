/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of the commands. */
#include "src/cli/formats/operand.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "src/cli/fail.h"
#include "src/cli/formats/array_file.h"

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

/* ---- reading ---- */

static int to_vector(const char *path, cli_array *array) {
  if (array->shape[0] != 1 && array->shape[1] != 1)
    return cli_shape_fail(path, array, "a vector");
  array->shape[0] = cli_array_count(array);
  array->shape[1] = 1;
  array->ndim = 1;
  array->fortran = true;
  return CLI_OK;
}

static int read_floating(const char *path, cli_memory memory, const cli_array *like, cli_array *array) {
  const int code = cli_array_read(path, memory, array);
  if (code != CLI_OK)
    return code;
  if (like && array->type != like->type)
    return cli_fail(CLI_INPUT, "%s: expected %s as in the first operand, found %s", path,
                    cli_type_name(like->type), cli_type_name(array->type));
  return cli_check_floating(path, array);
}

int cli_read_matrix(const char *path, cli_memory memory, const cli_array *like, cli_array *array) {
  const int code = read_floating(path, memory, like, array);
  return code == CLI_OK && array->ndim != 2 ? cli_shape_fail(path, array, "a matrix") : code;
}

int cli_read_vector(const char *path, cli_memory memory, const cli_array *like, cli_array *array) {
  const int code = read_floating(path, memory, like, array);
  return code == CLI_OK ? to_vector(path, array) : code;
}

int cli_read_vector_of(int64_t length, const char *path, cli_memory memory, const cli_array *like,
                       cli_array *array) {
  const int code = cli_read_vector(path, memory, like, array);
  return code == CLI_OK && array->shape[0] != length
             ? cli_shape_fail(path, array, "a vector of %" PRId64, length)
             : code;
}

int cli_read_numbers(const char *path, cli_memory memory, cli_array *array) {
  const int code = cli_array_read(path, memory, array);
  return code == CLI_OK && array->type == CLI_U1
             ? cli_fail(CLI_INPUT, "%s: expected float64, float32, int64 or int32, found uint8", path)
             : code;
}

int cli_read_number_vector(const char *path, cli_memory memory, cli_array *array) {
  const int code = cli_read_numbers(path, memory, array);
  return code == CLI_OK ? to_vector(path, array) : code;
}

int cli_read_flags(const char *path, cli_memory memory, const char *of_path, const cli_array *of,
                   cli_array *flags) {
  int code = cli_array_read(path, memory, flags);
  if (code == CLI_OK && flags->type != CLI_U1)
    return cli_fail(CLI_INPUT, "%s: expected uint8, found %s", path, cli_type_name(flags->type));
  if (code == CLI_OK)
    code = to_vector(path, flags);
  if (code == CLI_OK && flags->shape[0] != of->shape[0])
    return cli_shape_fail(path, flags, "a vector of %" PRId64 " as in %s", of->shape[0], of_path);
  return code;
}

/* ---- scalars ---- */

int cli_check_scalar(const char *name, double value, cli_type type) {
  return type == CLI_F4 && isfinite(value) && fabs(value) > (double)FLT_MAX
             ? cli_fail(CLI_USAGE, "--%s %g is beyond the range of float32", name, value)
             : CLI_OK;
}
