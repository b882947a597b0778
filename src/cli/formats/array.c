/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: types, memory, order and elements. */
#include "src/cli/formats/array.h"

#include <davit/memory.h>
#include <float.h>
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
    [CLI_F4] = {"float32", 4, DAVIT_FLOAT},    [CLI_F8] = {"float64", 8, DAVIT_DOUBLE},
    [CLI_I4] = {"int32", 4, DAVIT_INT32},      [CLI_I8] = {"int64", 8, DAVIT_INT64},
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

double cli_epsilon(cli_type type) {
  return type == CLI_F8 ? DBL_EPSILON : (double)FLT_EPSILON;
}

double cli_smallest(cli_type type) {
  return type == CLI_F8 ? DBL_MIN : (double)FLT_MIN;
}

double cli_largest(cli_type type) {
  return type == CLI_F8 ? DBL_MAX : (double)FLT_MAX;
}

int64_t cli_array_count(const cli_array *array) {
  return array->shape[0] * array->shape[1];
}

int64_t cli_array_row_stride(const cli_array *array) {
  return array->fortran ? 1 : array->shape[1];
}

int64_t cli_array_col_stride(const cli_array *array) {
  return array->fortran ? array->shape[0] : 1;
}

bool cli_array_size(cli_type type, int64_t rows, int64_t cols, size_t *bytes) {
  int64_t count, total;
  if (__builtin_mul_overflow(rows, cols, &count) ||
      __builtin_mul_overflow(count, (int64_t)types[type].bytes, &total))
    return false;
  *bytes = (size_t)total;
  return true;
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
  *array = (cli_array){.type = type, .ndim = ndim, .shape = {rows, cols}, .fortran = true, .wanted = memory};
  if (!cli_array_size(type, rows, cols, &array->bytes))
    return cli_fail(CLI_DEVICE, "a matrix of %lld x %lld %s is larger than any memory", (long long)rows,
                    (long long)cols, cli_type_name(type));
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
#undef DEFINE_TRANSPOSE

int cli_array_to_fortran(cli_array *array) {
  array->fortran |= !array->bytes;
  if (array->fortran)
    return CLI_OK;
  const int64_t rows = array->shape[0], cols = array->shape[1];
  cli_array turned;
  const int code = cli_array_create(array->type, array->ndim, rows, cols, array->wanted, &turned);
  if (code != CLI_OK)
    return code;
  switch (cli_type_bytes(array->type)) {
  case 1:
    transpose_1(turned.data, array->data, rows, cols);
    break;
  case 4:
    transpose_4(turned.data, array->data, rows, cols);
    break;
  default:
    transpose_8(turned.data, array->data, rows, cols);
  }
  cli_array_free(array);
  *array = turned;
  return CLI_OK;
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
                                      : cli_fail(CLI_INPUT, "%s: expected float64 or float32, found %s", path,
                                                 cli_type_name(array->type));
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
