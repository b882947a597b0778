/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"

davit_status dvt_check_reserved(const char *argument, const uint64_t *reserved, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (reserved[i])
      return davit_fail(DAVIT_INVALID_ARGUMENT, "%s->reserved[%zu] is %llu: reserved words must be 0",
                        argument, i, (unsigned long long)reserved[i]);
  return DAVIT_SUCCESS;
}

davit_status dvt_check_pointer(const char *argument, const void *given) {
  return given ? DAVIT_SUCCESS : davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", argument);
}

static const char *next_letter(const char *text) {
  while (*text && !isalnum((unsigned char)*text))
    text++;
  return text;
}

bool dvt_same_name(const char *a, const char *b) {
  for (a = next_letter(a), b = next_letter(b); *a && *b; a = next_letter(a + 1), b = next_letter(b + 1))
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
      return false;
  return !*a && !*b;
}

davit_status dvt_check_list(const char *argument, int capacity, const void *list, const int *count) {
  DVT_TRY(dvt_check_pointer("count", count));
  DVT_TRY(dvt_check_length("capacity", capacity));
  return capacity > 0 ? dvt_check_pointer(argument, list) : DAVIT_SUCCESS;
}

davit_status dvt_check_letter(const char *argument, char given, const char *letters, char *letter) {
  const char upper = given >= 'a' && given <= 'z' ? (char)(given - 'a' + 'A') : given;
  if (upper == '\0' || !strchr(letters, upper))
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      letters[2] ? "%s is '%c', not '%c', '%c' or '%c'" : "%s is '%c', not '%c' or '%c'",
                      argument, given >= ' ' && given <= '~' ? given : '?', letters[0], letters[1],
                      letters[2]);
  *letter = upper;
  return DAVIT_SUCCESS;
}

davit_status dvt_check_trans(const char *argument, davit_type type, char given, char *trans) {
  DVT_TRY(dvt_check_letter(argument, given, "NTC", trans));
  if (*trans == 'C' && type < DAVIT_COMPLEX_FLOAT)
    *trans = 'T';
  return DAVIT_SUCCESS;
}

davit_status dvt_check_floating(davit_type type) {
  if (type != DAVIT_DOUBLE && type != DAVIT_FLOAT)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "type is %d, neither DAVIT_DOUBLE nor DAVIT_FLOAT", (int)type);
  return DAVIT_SUCCESS;
}

davit_status dvt_check_dim(int dim) {
  return dim == 2 || dim == 3 ? DAVIT_SUCCESS
                              : davit_fail(DAVIT_INVALID_ARGUMENT, "dim is %d, neither 2 nor 3", dim);
}

davit_status dvt_check_extent(const char *argument, int64_t given, int64_t times) {
  int64_t extent;
  if (given <= -DVT_MEMORY_MAXIMUM || given >= DVT_MEMORY_MAXIMUM ||
      __builtin_mul_overflow(llabs(given), times, &extent) || extent >= DVT_MEMORY_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is %lld: more than any memory holds", argument,
                      (long long)given);
  return DAVIT_SUCCESS;
}

davit_status dvt_check_bytes(size_t bytes) {
  if (bytes > DVT_MEMORY_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "bytes is %zu: more than any memory holds", bytes);
  return DAVIT_SUCCESS;
}

davit_status dvt_check_length(const char *argument, int64_t given) {
  if (given < 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is %lld, less than 0", argument, (long long)given);
  return dvt_check_extent(argument, given, 1);
}

davit_status dvt_check_ld(const char *argument, int64_t given, int64_t rows, int64_t cols) {
  const int64_t minimum = rows > 1 ? rows : 1;
  if (given < minimum)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is %lld, less than %lld", argument, (long long)given,
                      (long long)minimum);
  return dvt_check_extent(argument, given, cols);
}

davit_status dvt_check_increment(const char *argument, int64_t given, int64_t n) {
  if (given == 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is 0", argument);
  return dvt_check_extent(argument, given, n);
}

bool dvt_blocks_overlap(const void *a, int64_t lda, int64_t rows_a, int64_t cols_a, const void *b,
                        int64_t ldb, int64_t rows_b, int64_t cols_b, size_t element_bytes) {
  if (rows_a <= 0 || cols_a <= 0 || rows_b <= 0 || cols_b <= 0)
    return false;
  int64_t size = (int64_t)element_bytes;
  int64_t column_a = rows_a * size, column_b = rows_b * size, pitch_a = lda * size, pitch_b = ldb * size;
  int64_t start = (int64_t)((intptr_t)b - (intptr_t)a); /* of b, seen from a */
  if (start >= (cols_a - 1) * pitch_a + column_a || start + (cols_b - 1) * pitch_b + column_b <= 0)
    return false;
  /* The extents meet: look for a column of a under each column of b, so that two blocks of one array
   * that lie side by side are told apart. */
  for (int64_t j = 0; j < cols_b; j++) {
    int64_t low = start + j * pitch_b, high = low + column_b;
    int64_t i = low < column_a ? 0 : (low - column_a) / pitch_a + 1; /* first column that ends behind low */
    if (i < cols_a && i * pitch_a < high)
      return true;
  }
  return false;
}

bool dvt_vectors_overlap(const void *x, int64_t nx, int64_t incx, const void *y, int64_t ny, int64_t incy,
                         size_t element_bytes) {
  if (nx <= 0 || ny <= 0)
    return false;
  int64_t size = (int64_t)element_bytes;
  int64_t x_bytes = ((nx - 1) * llabs(incx) + 1) * size, y_bytes = ((ny - 1) * llabs(incy) + 1) * size;
  int64_t start = (int64_t)((intptr_t)y - (intptr_t)x);
  if (start >= x_bytes || start + y_bytes <= 0)
    return false;
  /* Rows of one matrix are interleaved vectors: equal strides that never meet. */
  int64_t stride = llabs(incx) * size, offset = ((start % stride) + stride) % stride;
  return llabs(incx) != llabs(incy) || offset < size || offset > stride - size;
}

davit_status dvt_check_monoid(const davit_monoid *monoid) {
  DVT_TRY(dvt_check_pointer("monoid", monoid));
  if (monoid->version != DAVIT_MONOID_VERSION)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "monoid has version %lld, this library has %d: compile it again with its headers",
                      (long long)monoid->version, DAVIT_MONOID_VERSION);
  return DAVIT_SUCCESS;
}

davit_status dvt_check_kind(davit_scan_kind kind) {
  return kind == DAVIT_SCAN_INCLUSIVE || kind == DAVIT_SCAN_EXCLUSIVE
             ? DAVIT_SUCCESS
             : davit_fail(DAVIT_INVALID_ARGUMENT, "kind is %d, neither inclusive nor exclusive", (int)kind);
}
