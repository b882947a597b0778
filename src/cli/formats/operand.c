/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of the commands. */
#include "src/cli/formats/operand.h"

#include <complex.h>
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
  if (array->ndim > 2 || (array->shape[0] != 1 && array->shape[1] != 1))
    return cli_shape_fail(path, array, "a vector");
  array->shape[0] = cli_array_count(array);
  array->shape[1] = 1;
  array->ndim = 1;
  array->fortran = true;
  return CLI_OK;
}

/* Also of a part, which has one dimension already. */
static int part_to_vector(const char *path, cli_part *part, cli_array *array) {
  const int code = part ? to_vector(path, &part->all) : CLI_OK;
  return code == CLI_OK ? to_vector(path, array) : code;
}

/* uint8 to int64. */
static int widen(cli_array *array) {
  cli_array wide = *array;
  wide.type = CLI_I8;
  wide.data = NULL;
  wide.capacity = 0;
  int code =
      cli_array_size(&wide) ? cli_array_reserve(&wide, 0, wide.bytes) : cli_status(DAVIT_OUT_OF_HOST_MEMORY);
  if (code != CLI_OK)
    return code;
  for (int64_t i = 0, n = cli_array_count(array); i < n; i++)
    ((int64_t *)wide.data)[i] = ((const uint8_t *)array->data)[i];
  cli_array_free(array);
  *array = wide;
  return CLI_OK;
}

/* Text has no uint8. */
static int narrow(cli_array *flags) {
  cli_array made;
  if (flags->type != CLI_I8 || flags->file)
    return CLI_OK;
  const int code = cli_array_create_like(CLI_U1, flags, flags->wanted, &made);
  if (code != CLI_OK)
    return code;
  for (int64_t i = 0, n = cli_array_count(flags); i < n; i++)
    ((uint8_t *)made.data)[i] = cli_integer(flags, i) != 0;
  cli_array_free(flags);
  *flags = made;
  return CLI_OK;
}

static int to_numbers(cli_numbers numbers, const char *path, const cli_array *like, cli_array *array) {
  const char *name = cli_type_name(array->type);
  if (numbers == CLI_NUMBERS_HEADS) {
    const int code = narrow(array);
    return code == CLI_OK && array->type != CLI_U1
               ? cli_fail(CLI_INPUT, "%s: expected uint8, found %s", path, name)
               : code;
  }
  const bool complex_too = numbers == CLI_NUMBERS_FIELD || numbers == CLI_NUMBERS_ANY;
  if (cli_is_complex(array->type) && !complex_too)
    return cli_fail(CLI_INPUT, "%s: expected real numbers, found %s", path, name);
  if (numbers == CLI_NUMBERS_REAL || numbers == CLI_NUMBERS_ANY)
    return array->type == CLI_U1 ? widen(array) : CLI_OK;
  const int code = cli_array_to_floating(path, like ? like->type : CLI_F8, array);
  return code == CLI_OK && like && array->type != like->type
             ? cli_fail(CLI_INPUT, "%s: expected %s as in the first operand, found %s", path,
                        cli_type_name(like->type), name)
             : code;
}

int cli_operand_read(cli_numbers numbers, int dimensions, const char *path, const cli_reading *reading,
                     cli_memory memory, const cli_array *like, cli_part *part, cli_array *array) {
  int code = cli_array_read(path, reading, memory, part, array);
  if (code == CLI_OK)
    code = to_numbers(numbers, path, like, array);
  if (code == CLI_OK && dimensions == 1)
    code = part_to_vector(path, part, array);
  return code == CLI_OK && dimensions == 2 && array->ndim != 2 ? cli_shape_fail(path, array, "a matrix")
                                                               : code;
}

/* ---- scalars ---- */

static bool is_beyond_float(double value) {
  return isfinite(value) && fabs(value) > (double)FLT_MAX;
}

int cli_check_scalar(const char *name, double _Complex value, cli_type type) {
  const double real = creal(value), imaginary = cimag(value);
  if (imaginary != 0 && !cli_is_complex(type))
    return cli_fail(CLI_USAGE, "--%s %g%+gj is complex, but the operands are %s", name, real, imaginary,
                    cli_type_name(type));
  if ((type == CLI_F4 || type == CLI_C8) && (is_beyond_float(real) || is_beyond_float(imaginary)))
    return cli_fail(CLI_USAGE, "--%s %g is beyond the range of float32", name,
                    is_beyond_float(real) ? real : imaginary);
  return CLI_OK;
}
