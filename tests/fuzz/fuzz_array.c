/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: .npy, Matrix Market and CSV, by the first bytes, as points and as other operands. What is accepted
 * as a file is accepted from a pipe, and comes back unchanged from every format that can hold it. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "src/cli/fail.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/lines.h"
#include "tests/fuzz/fuzz.h"

enum {
  MOST_PRINTED = 4096, /* elements that are written as text, */
  PRINTED_BYTES = 64   /* and no less than what one takes */
};

typedef enum role { POINTS, OPERAND, COMMAS, ROLES } role; /* COMMAS: with the other values of the options */

static int read_array(role role, const char *path, cli_array *array) {
  static const cli_reading usual = {0}, commas = {.decimal = CLI_DECIMAL_COMMA, .missing = CLI_MISSING_SKIP};
  cli_columns columns = {0};
  return fuzz_code(role == POINTS ? cli_points_read(path, &usual, CLI_MEMORY_PLAIN, &columns, array)
                                  : cli_array_read(path, role == COMMAS ? &commas : &usual, CLI_MEMORY_PLAIN,
                                                   NULL, array));
}

static void check_shape(const cli_array *array) {
  cli_array again = *array;
  FUZZ_REQUIRE(array->ndim >= 0 && array->ndim <= CLI_DIMS);
  for (int k = 0; k < 2 || k < array->ndim; k++)
    FUZZ_REQUIRE(k < array->ndim ? array->shape[k] >= 0 : array->shape[k] == 1);
  FUZZ_REQUIRE(cli_array_size(&again));
  FUZZ_REQUIRE(again.bytes == array->bytes && array->bytes <= array->capacity);
}

static void check_same_shape(const cli_array *a, const cli_array *b) {
  FUZZ_REQUIRE(a->shape[0] == b->shape[0] && a->shape[1] == b->shape[1]);
}

static void check_same(const cli_array *a, const cli_array *b) {
  FUZZ_REQUIRE(a->type == b->type && a->ndim == b->ndim && a->bytes == b->bytes);
  check_same_shape(a, b);
  FUZZ_REQUIRE(a->fortran == b->fortran || a->shape[0] == 1 || a->shape[1] == 1);
  FUZZ_REQUIRE(!a->bytes || !memcmp(a->data, b->data, a->bytes));
}

static int64_t at(const cli_array *array, int64_t row, int64_t col) {
  return row * cli_array_row_stride(array) + col * cli_array_col_stride(array);
}

/* A number in the type of an array, or of its parts. */
static long double rounded(const cli_array *like, long double x) {
  const cli_type type = cli_array_parts(like).type;
  return type == CLI_F4 ? (long double)(float)x : type == CLI_F8 ? (long double)(double)x : x;
}

static void check_number(const cli_array *array, long double of_array, const cli_array *text,
                         long double of_text) {
  const long double x = rounded(text, of_array), y = rounded(array, of_text);
  FUZZ_REQUIRE(y == x || (isnan(x) && isnan(y)));
}

/* The numbers are the same, but for the rounding of the narrower type. Text has no sign and no contents of
 * a NaN. */
static void check_numbers(const cli_array *array, const cli_array *text) {
  check_same_shape(array, text);
  for (int64_t i = 0; array->bytes && i < array->shape[0]; i++)
    for (int64_t j = 0; j < array->shape[1]; j++) {
      const long double _Complex x = cli_element(array, at(array, i, j)),
                                 y = cli_element(text, at(text, i, j));
      check_number(array, creall(x), text, creall(y));
      check_number(array, cimagl(x), text, cimagl(y));
    }
}

typedef void comparison(const cli_array *a, const cli_array *b);

static void check_written(role role, const cli_array *array, cli_array_writer *write, comparison *compare) {
  FILE *file = fuzz_create();
  cli_array again;
  FUZZ_REQUIRE(write(file, array));
  FUZZ_REQUIRE(read_array(role, fuzz_written(file), &again) == CLI_OK);
  compare(array, &again);
  cli_array_free(&again);
}

/* Whether the first column counts, and so may be taken for the numbers of the points. */
static bool counts(const cli_array *array) {
  const long double first = cli_number(array, 0);
  for (int64_t i = 1; i < array->shape[0]; i++)
    if (!(cli_number(array, at(array, i, 0)) == first + (long double)i))
      return false;
  return first == 0 || first == 1;
}

static bool is_points(const cli_array *array) {
  const int64_t count = cli_array_count(array);
  if (cli_is_complex(array->type) || array->ndim != 2 || array->shape[0] < 1 || array->shape[1] < 2 ||
      array->shape[1] > 3 || counts(array))
    return false;
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(cli_number(array, i)))
      return false;
  return true;
}

/* In lines that can be read again. */
static bool is_printed(const cli_array *array) {
  const int64_t count = cli_array_count(array);
  return count && count <= MOST_PRINTED && array->shape[1] * PRINTED_BYTES <= CLI_LINE;
}

static void check_formats(cli_array *array) {
  const int64_t count = cli_array_count(array);
  check_written(OPERAND, array, cli_npy_write, check_same);
  if (array->ndim > 2)
    return;
  if (count <= MOST_PRINTED)
    check_written(OPERAND, array, cli_mtx_write, check_numbers);
  if (is_printed(array))
    check_written(OPERAND, array, cli_csv_write, check_numbers);
  if (is_printed(array) && is_points(array))
    check_written(POINTS, array, cli_csv_write, check_numbers);
  fuzz_accept(cli_array_to_fortran(array));
  check_shape(array);
  check_written(OPERAND, array, cli_npy_write, check_same);
}

static void check(role role, fuzz_text text) {
  cli_array file, pipe;
  const int code = read_array(role, fuzz_file(text), &file);
  FUZZ_REQUIRE(read_array(role, fuzz_pipe(text), &pipe) == code);
  if (code == CLI_OK) {
    check_shape(&file);
    check_same(&file, &pipe);
    check_formats(&file);
  }
  cli_array_free(&file);
  cli_array_free(&pipe);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const fuzz_text text = fuzz_expand(data, size);
  for (role role = 0; role < ROLES; role++)
    check(role, text);
  return 0;
}
