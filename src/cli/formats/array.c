/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/array.h"

#include <complex.h>
#include <davit/memory.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"

static const struct {
  const char *name;
  size_t bytes;
  davit_type type;
} types[CLI_TYPES] = {
    [CLI_F4] = {"float32", 4, DAVIT_FLOAT},
    [CLI_F8] = {"float64", 8, DAVIT_DOUBLE},
    [CLI_C8] = {"complex64", 8, DAVIT_COMPLEX_FLOAT},
    [CLI_C16] = {"complex128", 16, DAVIT_COMPLEX_DOUBLE},
    [CLI_I4] = {"int32", 4, DAVIT_INT32},
    [CLI_I8] = {"int64", 8, DAVIT_INT64},
    [CLI_U1] = {"uint8", 1, DAVIT_TYPE_COUNT},
};

size_t cli_type_bytes(cli_type type) {
  return types[type].bytes;
}

const char *cli_type_name(cli_type type) {
  return types[type].name;
}

davit_type cli_number_type(cli_type type) {
  return types[type].type;
}

bool cli_is_floating(cli_type type) {
  return type == CLI_F4 || type == CLI_F8;
}

bool cli_is_complex(cli_type type) {
  return type == CLI_C8 || type == CLI_C16;
}

bool cli_is_integer(cli_type type) {
  return !cli_is_floating(type) && !cli_is_complex(type);
}

static bool is_double(cli_type type) {
  return type == CLI_F8 || type == CLI_C16;
}

double cli_epsilon(cli_type type) {
  return is_double(type) ? DBL_EPSILON : (double)FLT_EPSILON;
}

double cli_smallest(cli_type type) {
  return is_double(type) ? DBL_MIN : (double)FLT_MIN;
}

double cli_largest(cli_type type) {
  return is_double(type) ? DBL_MAX : (double)FLT_MAX;
}

int cli_type_digits(cli_type type) {
  return is_double(type) ? 17 : 9;
}

/* The first two numbers of a shape are always set; those of the empty array are 0. */
bool cli_array_product(const cli_array *array, size_t unit, int64_t *product) {
  const int dimensions = array->ndim > 2 ? array->ndim : 2;
  bool fits = true;
  *product = (int64_t)unit;
  for (int k = 0; k < dimensions; k++)
    if (array->shape[k] == 0)
      *product = 0;
  for (int k = 0; k < dimensions; k++)
    fits &= *product == 0 || !__builtin_mul_overflow(*product, array->shape[k], product);
  return fits;
}

int64_t cli_array_count(const cli_array *array) {
  int64_t count;
  cli_array_product(array, 1, &count);
  return count;
}

int64_t cli_array_row_stride(const cli_array *array) {
  return array->fortran ? 1 : array->shape[1];
}

int64_t cli_array_col_stride(const cli_array *array) {
  return array->fortran ? array->shape[0] : 1;
}

bool cli_array_size(cli_array *array) {
  int64_t total;
  const bool fits = cli_array_product(array, types[array->type].bytes, &total);
  array->bytes = fits ? (size_t)total : 0;
  return fits;
}

/* ---- memory ---- */

static void *allocate(size_t bytes, cli_memory wanted, cli_memory *actual) {
  void *block = NULL;
  *actual = CLI_MEMORY_PINNED;
  if (wanted == CLI_MEMORY_PINNED && davit_malloc(bytes, DAVIT_PINNED, &block) == DAVIT_SUCCESS)
    return block;
  *actual = CLI_MEMORY_PLAIN;
  return dvt_allocate_aligned(bytes);
}

static void release(void *block, cli_memory actual) {
  if (actual == CLI_MEMORY_PINNED)
    davit_free(block);
  else
    free(block);
}

void cli_array_free(cli_array *array) {
  release(array->data, array->actual);
  *array = (cli_array){0};
}

int cli_array_reserve(cli_array *array, size_t used, size_t capacity) {
  if (capacity <= array->capacity)
    return CLI_OK;
  cli_memory actual;
  void *block = allocate(capacity, array->wanted, &actual);
  if (!block)
    return cli_status(DAVIT_OUT_OF_HOST_MEMORY);
  if (used)
    memcpy(block, array->data, used);
  release(array->data, array->actual);
  array->data = block;
  array->capacity = capacity;
  array->actual = actual;
  return CLI_OK;
}

int cli_array_create(cli_type type, int ndim, int64_t rows, int64_t cols, cli_memory memory,
                     cli_array *array) {
  return cli_array_create_like(type, &(cli_array){.ndim = ndim, .shape = {rows, cols}, .fortran = true},
                               memory, array);
}

int cli_array_create_like(cli_type type, const cli_array *like, cli_memory memory, cli_array *array) {
  cli_array made = {.type = type, .ndim = like->ndim, .fortran = like->fortran, .wanted = memory};
  memcpy(made.shape, like->shape, sizeof made.shape);
  *array = made;
  char shape[CLI_SHAPE_TEXT];
  cli_shape_text(array, shape);
  if (!cli_array_size(array))
    return cli_fail(CLI_DEVICE, "%s of %s: larger than any memory", shape, cli_type_name(type));
  return cli_array_reserve(array, 0, array->bytes);
}

/* ---- order ---- */

/* Transposes in blocks that fit a first-level cache; of the elements' type only the size matters. */
#define DEFINE_TRANSPOSE(name, T)                                                                            \
  static void name(T *restrict to, const T *restrict from, int64_t rows, int64_t cols) {                     \
    enum { BLOCK = 32 };                                                                                     \
    for (int64_t row = 0; row < rows; row += BLOCK)                                                          \
      for (int64_t col = 0; col < cols; col += BLOCK)                                                        \
        for (int64_t i = row; i < rows && i < row + BLOCK; i++)                                              \
          for (int64_t j = col; j < cols && j < col + BLOCK; j++)                                            \
            to[i + j * rows] = from[i * cols + j];                                                           \
  }
DEFINE_TRANSPOSE(transpose_1, uint8_t)
DEFINE_TRANSPOSE(transpose_4, uint32_t)
DEFINE_TRANSPOSE(transpose_8, uint64_t)
DEFINE_TRANSPOSE(transpose_16, double _Complex)
#undef DEFINE_TRANSPOSE

void cli_transpose(cli_type type, int64_t rows, int64_t cols, const void *from, void *to) {
  switch (cli_type_bytes(type)) {
  case 1:
    transpose_1(to, from, rows, cols);
    break;
  case 4:
    transpose_4(to, from, rows, cols);
    break;
  case 16:
    transpose_16(to, from, rows, cols);
    break;
  default:
    transpose_8(to, from, rows, cols);
  }
}

int64_t cli_array_place(const cli_array *array, int64_t number) {
  int64_t place = 0, stride = 1, block = cli_array_count(array);
  if (!array->fortran)
    return number;
  for (int k = 0; k < array->ndim; k++) {
    block /= array->shape[k];
    place += number / block * stride;
    number %= block;
    stride *= array->shape[k];
  }
  return place;
}

/* The other order, which has the transpose of a matrix; of more dimensions only C order is asked for. */
static int reorder(cli_array *array) {
  const int64_t rows = array->shape[array->fortran], cols = array->shape[!array->fortran];
  const size_t bytes = cli_type_bytes(array->type);
  cli_array turned;
  CLI_TRY(cli_array_create_like(array->type, array, array->wanted, &turned));
  if (array->ndim == 2)
    cli_transpose(array->type, rows, cols, array->data, turned.data);
  for (int64_t i = 0, n = array->ndim == 2 ? 0 : cli_array_count(array); i < n; i++)
    memcpy((char *)turned.data + (size_t)i * bytes,
           (const char *)array->data + (size_t)cli_array_place(array, i) * bytes, bytes);
  turned.fortran = !array->fortran;
  cli_array_replace(array, &turned);
  return CLI_OK;
}

int cli_array_to_fortran(cli_array *array) {
  array->fortran |= !array->bytes;
  return array->fortran ? CLI_OK : reorder(array);
}

int cli_array_to_c(cli_array *array) {
  array->fortran &= array->ndim > 1 && array->bytes;
  return array->fortran ? reorder(array) : CLI_OK;
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

cli_array cli_array_parts(const cli_array *array) {
  if (!cli_is_complex(array->type))
    return *array;
  return (cli_array){.type = array->type == CLI_C16 ? CLI_F8 : CLI_F4,
                     .ndim = 1,
                     .shape = {2 * cli_array_count(array), 1},
                     .fortran = true,
                     .data = array->data,
                     .bytes = array->bytes};
}

long double _Complex cli_element(const cli_array *array, int64_t index) {
  const cli_array parts = cli_array_parts(array);
  long double _Complex value = 0;
  if (!cli_is_complex(array->type))
    return cli_number(array, index);
  ((long double *)&value)[0] = cli_number(&parts, 2 * index);
  ((long double *)&value)[1] = cli_number(&parts, 2 * index + 1);
  return value;
}

/* The sign of a NaN means nothing, and differs between processors. */
static long double printable(long double value) {
  return isnan(value) ? fabsl(value) : value;
}

int cli_element_write(FILE *file, const cli_array *array, int64_t index, int digits) {
  const long double _Complex value = cli_element(array, index);
  const long double real = printable(creall(value)), imaginary = printable(cimagl(value));
  if (cli_is_complex(array->type))
    return fprintf(file, "%.*Lg%+.*Lgj", digits, real, digits, imaginary);
  return cli_is_floating(array->type) ? fprintf(file, "%.*Lg", digits, real)
                                      : fprintf(file, "%" PRId64, cli_integer(array, index));
}

bool cli_parse_complex(const char *text, double parts[static 2]) {
  char *end;
  parts[0] = strtod(text, &end);
  parts[1] = 0;
  if (*end == 'j') {
    parts[1] = parts[0];
    parts[0] = 0;
  } else if (*end == '+' || *end == '-') {
    const char *second = end;
    parts[1] = strtod(second, &end);
    return end != second && second != text && *end == 'j' && !end[1];
  }
  return end != text && (!*end || (*end == 'j' && !end[1]));
}

void cli_array_conjugate(cli_array *array) {
  const cli_array parts = cli_array_parts(array);
  for (int64_t i = 1, n = cli_array_count(&parts); cli_is_complex(array->type) && i < n; i += 2)
    if (parts.type == CLI_F8)
      ((double *)parts.data)[i] = -((double *)parts.data)[i];
    else
      ((float *)parts.data)[i] = -((float *)parts.data)[i];
}

void cli_array_replace(cli_array *array, const cli_array *with) {
  cli_array_free(array);
  *array = *with;
}

void cli_restore(cli_array *to, const cli_array *from) {
  if (!to->bytes)
    return;
  if (from)
    memcpy(to->data, from->data, to->bytes);
  else
    memset(to->data, 0, to->bytes);
}

/* ---- failures ---- */

int cli_check_floating(const char *path, const cli_array *array) {
  return cli_is_floating(array->type) ? CLI_OK
                                      : cli_fail(CLI_INPUT, "%s: expected float64 or float32, found %s",
                                                 cli_fail_place(path), cli_type_name(array->type));
}

/* Whether `type` has the number, which is exact in long double. */
static bool store(cli_array *array, int64_t index, long double value) {
  switch (array->type) {
  case CLI_F4:
    ((float *)array->data)[index] = (float)value;
    return (long double)((float *)array->data)[index] == value;
  case CLI_F8:
    ((double *)array->data)[index] = (double)value;
    return (long double)((double *)array->data)[index] == value;
  case CLI_C8:
    ((float _Complex *)array->data)[index] = (float)value;
    return (long double)((float *)array->data)[2 * index] == value;
  case CLI_C16:
    ((double _Complex *)array->data)[index] = (double)value;
    return (long double)((double *)array->data)[2 * index] == value;
  case CLI_U1:
    ((uint8_t *)array->data)[index] = value != 0;
    return true;
  default:
    ((int64_t *)array->data)[index] = (int64_t)value;
    return true;
  }
}

int cli_array_convert(const char *path, cli_type type, cli_array *array) {
  cli_array made;
  CLI_TRY(cli_array_create_like(type, array, array->wanted, &made));
  const cli_array from = cli_array_parts(array);
  cli_array to = cli_is_complex(array->type) ? cli_array_parts(&made) : made;
  for (int64_t i = 0, n = cli_array_count(&from); i < n; i++)
    if (!store(&to, i, cli_number(&from, i)) && path) {
      cli_array_free(&made);
      return cli_fail(CLI_INPUT, "%s: expected whole numbers that are exact in %s, found %" PRId64,
                      cli_fail_place(path), cli_type_name(type), cli_integer(array, i));
    }
  cli_array_replace(array, &made);
  return CLI_OK;
}

int cli_array_to_floating(const char *path, cli_type type, cli_array *array) {
  return cli_is_integer(array->type) ? cli_array_convert(path, type, array) : CLI_OK;
}

void cli_shape_text(const cli_array *array, char text[static CLI_SHAPE_TEXT]) {
  int used = snprintf(text, CLI_SHAPE_TEXT, "%s",
                      array->ndim == 0   ? "a scalar"
                      : array->ndim == 1 ? "a vector of "
                                         : "");
  for (int k = 0; k < array->ndim && used < CLI_SHAPE_TEXT; k++)
    used += snprintf(text + used, (size_t)(CLI_SHAPE_TEXT - used), "%s%lld", k ? " x " : "",
                     (long long)array->shape[k]);
}

int cli_shape_fail(const char *path, const cli_array *array, const char *format, ...) {
  char expected[256], found[CLI_SHAPE_TEXT];
  CLI_FORMAT(expected, format);
  cli_shape_text(array, found);
  return cli_fail(CLI_INPUT, "%s: expected %s, found %s", cli_fail_place(path), expected, found);
}
