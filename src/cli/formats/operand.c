/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/operand.h"

#include <complex.h>
#include <float.h>
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

static int to_numbers(cli_numbers numbers, const char *path, const cli_array *like, cli_array *array) {
  const char *name = cli_type_name(array->type);
  if (numbers == CLI_NUMBERS_HEADS) {
    if (array->type == CLI_I8 && !array->file) /* text has no uint8 */
      return cli_array_convert(NULL, CLI_U1, array);
    return array->type == CLI_U1
               ? CLI_OK
               : cli_fail(CLI_INPUT, "%s: expected uint8, found %s", cli_fail_place(path), name);
  }
  const bool complex_too = numbers == CLI_NUMBERS_FIELD || numbers == CLI_NUMBERS_ANY;
  if (cli_is_complex(array->type) && !complex_too)
    return cli_fail(CLI_INPUT, "%s: expected real numbers, found %s", cli_fail_place(path), name);
  if (numbers == CLI_NUMBERS_REAL || numbers == CLI_NUMBERS_ANY)
    return array->type == CLI_U1 ? cli_array_convert(NULL, CLI_I8, array) : CLI_OK;
  CLI_TRY(cli_array_to_floating(path, like ? like->type : CLI_F8, array));
  return like && array->type != like->type
             ? cli_fail(CLI_INPUT, "%s: expected %s as in the first operand, found %s", cli_fail_place(path),
                        cli_type_name(like->type), name)
             : CLI_OK;
}

int cli_operand_read(cli_numbers numbers, int dimensions, const char *path, const cli_reading *reading,
                     cli_memory memory, const cli_array *like, cli_part *part, cli_array *array) {
  CLI_TRY(cli_array_read(path, reading, memory, part, array));
  CLI_TRY(to_numbers(numbers, path, like, array));
  if (dimensions == 1 && part)
    CLI_TRY(to_vector(path, &part->all)); /* the part has one dimension already */
  if (dimensions == 1)
    return to_vector(path, array);
  return dimensions == 2 && array->ndim != 2 ? cli_shape_fail(path, array, "a matrix") : CLI_OK;
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
