/* SPDX-License-Identifier: Apache-2.0 */
/* CSV of points: one point a line, between whose fields are semicolons, commas or blanks, as on the first
 * line with numbers. Blank lines and lines that begin with '#' are skipped. The first other line gives the
 * columns' names if none of its fields is a number. Columns that are no coordinates (columns.h) may contain
 * anything. Where there are no names, all fields are numbers, and the first of three or four is no coordinate
 * if it counts the points from 0 or 1. Gives float64, n × 2 or n × 3 in C order. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/buffer.h"
#include "src/cli/fail.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/text.h"

enum { FEWEST = 2, FIRST_BYTES = DVT_BUFFER(1 << 20, 64), COUNTED = 3 };

typedef struct table {
  cli_text text;
  cli_columns *columns;
  char header[CLI_TEXT_LINE]; /* "": there is none */
  char separator;
  int fields;    /* on a line; 0: not known yet */
  bool counting; /* so far the first column counts the points, and may be left out for that */
  double first;  /* what it counts from */
} table;

/* Whether a field of the line is a number, in quotes or not. Such a line is no line of names. */
static bool holds_number(const char *at) {
  static const char between[] = ",; \t\r\"'";
  while (*(at += strspn(at, between))) {
    const char *end = at + strcspn(at, between);
    char *parsed;
    (void)strtod(at, &parsed);
    if (parsed == end)
      return true;
    at = end;
  }
  return false;
}

static bool parse_number(const char *field, size_t length, double *value) {
  char *end;
  *value = strtod(field, &end);
  return length && end == field + length;
}

static int keep(cli_array *array, const double *values) {
  const size_t bytes = (size_t)array->shape[1] * sizeof *values, used = array->bytes;
  if (used + bytes > array->capacity) {
    const int code = cli_array_reserve(array, used, array->capacity ? 2 * array->capacity : FIRST_BYTES);
    if (code != CLI_OK)
      return code;
  }
  memcpy((char *)array->data + used, values, bytes);
  array->bytes += bytes;
  array->shape[0]++;
  return CLI_OK;
}

/* The first line with numbers decides what the others have to be. Without names, a column more than there are
 * coordinates is read as well, as long as it counts. */
static int begin(table *t, cli_array *array) {
  cli_columns *columns = t->columns;
  const char *header = *t->header ? t->header : NULL;
  t->separator = cli_separator(t->text.line);
  t->fields = cli_fields_count(t->separator, t->text.line);
  t->counting = !header && !columns->wanted && t->fields > FEWEST && t->fields <= CLI_COORDINATES + 1;
  const int code = cli_columns_choose(t->text.input->name, columns, t->fields, t->separator, header);
  array->shape[1] = t->counting ? t->fields : columns->count;
  if (code == CLI_OK &&
      (columns->count < FEWEST || (!header && !columns->wanted && !t->counting && columns->left_out)))
    return cli_text_fail(&t->text, "2 or 3 numbers");
  return code;
}

/* Reads the fields that are taken; the expected words where the line does not fit, else NULL. */
static const char *parse_line(table *t, double values[CLI_COORDINATES + 1]) {
  static const char *const as_before[] = {NULL, NULL, "2 numbers as before", "3 numbers as before"};
  const cli_columns *columns = t->columns;
  const bool all = t->counting || !columns->left_out;
  const char *field, *expected = NULL;
  size_t length;
  cli_fields fields = {t->separator, t->text.line};
  int count = 0;
  for (; cli_fields_next(&fields, &field, &length); count++) {
    double ignored;
    if (all && !parse_number(field, length, count < t->fields ? &values[count] : &ignored))
      expected = "numbers";
    for (int k = 0; k < columns->count && !all; k++)
      if (columns->column[k] == count && !parse_number(field, length, &values[k]))
        expected = "numbers in the columns that are coordinates";
  }
  if (!expected && count != t->fields)
    expected = all && t->fields <= CLI_COORDINATES ? as_before[t->fields] : "as many fields as before";
  return expected;
}

static int read_point(table *t, cli_array *array) {
  double values[CLI_COORDINATES + 1];
  int code = t->fields ? CLI_OK : begin(t, array);
  if (code != CLI_OK)
    return code;
  const char *expected = parse_line(t, values);
  if (expected)
    return cli_text_fail(&t->text, expected);
  for (int k = 0; k < array->shape[1]; k++)
    if (!isfinite(values[k]))
      return cli_text_fail(&t->text, "finite numbers");
  if (t->counting && array->shape[0] == 0) {
    t->first = values[0];
    t->counting = values[0] == 0 || values[0] == 1;
  }
  t->counting = t->counting && !(values[0] < t->first + (double)array->shape[0]) &&
                !(values[0] > t->first + (double)array->shape[0]);
  if (!t->counting && array->shape[1] > CLI_COORDINATES)
    return cli_text_fail(&t->text, "2 or 3 numbers");
  return keep(array, values);
}

/* Leaves out the first column, if it has counted to the end. */
static void leave_out_count(table *t, cli_array *array) {
  cli_columns *columns = t->columns;
  double *values = array->data;
  const int64_t n = array->shape[0], from = array->shape[1], to = from - 1;
  if (!t->counting || (n < COUNTED && from <= CLI_COORDINATES))
    return;
  for (int64_t i = 0; i < n; i++)
    memmove(values + i * to, values + i * from + 1, (size_t)to * sizeof *values);
  array->shape[1] = to;
  array->bytes = (size_t)(n * to) * sizeof *values;
  columns->count = (int)to;
  columns->left_out = true;
  for (int k = 0; k < columns->count; k++)
    columns->column[k] = k + 1;
}

/* Whether the line is the first and has names alone; keeps it. */
static bool take_header(table *t) {
  if (t->fields || *t->header || holds_number(t->text.line))
    return false;
  memcpy(t->header, t->text.line, sizeof t->header);
  return true;
}

static int read_table(table *t, cli_array *array) {
  array->type = CLI_F8;
  array->ndim = 2;
  int code = cli_text_next_content(&t->text, '#');
  while (code == CLI_OK && !t->text.end) {
    if (!take_header(t))
      code = read_point(t, array);
    if (code == CLI_OK)
      code = cli_text_next_content(&t->text, '#');
  }
  if (code != CLI_OK)
    return code;
  if (!array->shape[0])
    return cli_input_fail(t->text.input, "expected points, found the end of the file");
  leave_out_count(t, array);
  return CLI_OK;
}

int cli_csv_read(cli_input *input, cli_columns *columns, cli_array *array) {
  table *t = dvt_allocate(1, sizeof *t);
  if (!t)
    return cli_fail(CLI_DEVICE, "not enough memory for a line");
  t->text.input = input;
  t->columns = columns;
  const int code = read_table(t, array);
  free(t);
  return code;
}

/* A row a line, with digits that give the same numbers back when they are read as float64. */
bool cli_csv_write(FILE *file, const cli_array *array) {
  const int64_t row = cli_array_row_stride(array), col = cli_array_col_stride(array), cols = array->shape[1];
  bool written = true;
  for (int64_t i = 0; i < array->shape[0] && cols > 0 && written; i++)
    for (int64_t j = 0; j < cols && written; j++) {
      const int64_t at = i * row + j * col;
      const char end = j + 1 < cols ? ',' : '\n';
      written = cli_element_write(file, array, at, 17) > 0 && putc(end, file) != EOF;
    }
  return written;
}
