/* SPDX-License-Identifier: Apache-2.0 */
/* CSV: one row a line, between whose fields are semicolons, commas, tabs or blanks, as on the first line with
 * numbers. Blank lines and lines that begin with '#' are skipped. The first other line gives the columns'
 * names if none of its fields is a number. It has as many names as the lines have fields, or one less: then
 * the first fields are names of the rows, as R and pandas write them.
 *
 * Of points (columns.h) some columns are coordinates, and the others may contain anything. Where there are no
 * names, all fields are numbers, and the first of three or four is no coordinate if it counts the points from
 * 0 or 1. Gives float64, n × 2 or n × 3 in C order.
 *
 * Of other arrays all columns are taken, except a first one with names of rows. Gives a matrix in C order:
 * int64 where all numbers are whole, written without a fraction and an exponent, and fit; else complex128
 * where one is complex, as Python writes it; else float64. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/allocate.h"
#include "src/base/buffer.h"
#include "src/cli/fail.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/lines.h"

enum { FEWEST = 2, FIRST_BYTES = DVT_BUFFER(1 << 20, 64), COUNTED = 3, NUMBER_TEXT = 512, MORE_TEXT = 160 };

/* A number, of the narrowest of int64, float64 and complex128 that it fits: `whole` has it if it is int64, and
 * the parts always. */
typedef struct number {
  cli_type type;
  int64_t whole;
  double real, imaginary;
} number;

/* What a field of a line may be, but a number. */
typedef enum content { NUMBER, MISSING, OTHER } content;

typedef struct table {
  cli_lines lines;
  const cli_reading *reading;
  cli_columns *columns; /* of points; NULL: of another array */
  const char *header;   /* NULL: there is none */
  char *block;          /* of the header */
  cli_table_form form;  /* set by the first line with numbers */
  int first;            /* of another array: the first column that is taken */
  number *row;          /* what is taken of a line */
  int wrong;            /* the field that is not what was expected */
  content found;        /* and what it is */
  bool counting;        /* so far the first column counts the points, and may be left out for that */
  double from;          /* what it counts from */
  int64_t skipped;      /* lines with missing values */
} table;

/* ---- numbers ---- */

/* The field as strtod() reads it, which knows no decimal comma; false if it is no number for that. */
static bool to_point(cli_decimal decimal, const char *field, size_t length, char text[static NUMBER_TEXT]) {
  if (!length || length >= NUMBER_TEXT)
    return false;
  memcpy(text, field, length);
  text[length] = 0;
  if (decimal == CLI_DECIMAL_POINT)
    return true;
  if (strchr(text, '.'))
    return false;
  for (char *comma = text; (comma = strchr(comma, ','));)
    *comma = '.';
  return true;
}

/* -0 is no whole number, because int64 has no sign of it. */
static bool parse_whole(const char *text, int64_t *value) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  return end != text && !*end && !errno && (*value || *text != '-');
}

/* Complex numbers end with j, and may be in brackets, as NumPy writes them. */
static bool parse_number(cli_decimal decimal, bool complex_too, const char *field, size_t length, number *n) {
  char text[NUMBER_TEXT], *at = text;
  double parts[2];
  if (!to_point(decimal, field, length, text))
    return false;
  *n = (number){.type = CLI_F8};
  if (parse_whole(text, &n->whole))
    n->type = CLI_I8;
  const bool brackets = length > 2 && *text == '(' && text[length - 1] == ')';
  if (brackets) {
    text[length - 1] = 0;
    at++;
  }
  const bool complex = at[strlen(at) - 1] == 'j';
  if (!cli_parse_complex(at, parts) || (complex ? !complex_too : brackets))
    return false;
  n->type = complex ? CLI_C16 : n->type;
  n->real = parts[0];
  n->imaginary = parts[1];
  return true;
}

/* What programs write where there is no number. */
static bool is_missing(const char *field, size_t length) {
  static const char *const words[] = {"NA", "N/A", "NULL", "None", "?", "-", "."};
  bool found = !length;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    found |= strlen(words[i]) == length && !strncasecmp(words[i], field, length);
  return found;
}

/* With --missing skip a NaN is a missing value too. */
static content parse_field(const table *t, const char *field, size_t length, number *n) {
  if (!parse_number(t->reading->decimal, !t->columns, field, length, n))
    return is_missing(field, length) ? MISSING : OTHER;
  return t->reading->missing == CLI_MISSING_SKIP && (isnan(n->real) || isnan(n->imaginary)) ? MISSING
                                                                                            : NUMBER;
}

/* Whether a field of the line is a number, with either decimal mark. Such a line is no line of names. */
static bool holds_number(const table *t) {
  cli_fields fields = {cli_separator(t->lines.text, t->reading->decimal), t->lines.text};
  const char *field;
  size_t length;
  bool found = false;
  for (number n; !found && cli_fields_next(&fields, &field, &length);)
    found = parse_number(CLI_DECIMAL_POINT, true, field, length, &n) ||
            parse_number(CLI_DECIMAL_COMMA, true, field, length, &n);
  return found;
}

/* ---- elements ---- */

static void store(const number *n, cli_type type, void *elements, int64_t at) {
  if (type == CLI_I8)
    ((int64_t *)elements)[at] = n->whole;
  else if (type == CLI_F8)
    ((double *)elements)[at] = n->real;
  else {
    ((double *)elements)[2 * at] = n->real;
    ((double *)elements)[2 * at + 1] = n->imaginary;
  }
}

static int keep(table *t, cli_array *array) {
  const int64_t cols = array->shape[1];
  cli_type type = array->type;
  for (int64_t k = 0; k < cols && !t->columns; k++)
    type = t->row[k].type == CLI_C16 || type == CLI_C16 ? CLI_C16
           : t->row[k].type == CLI_F8 || type == CLI_F8 ? CLI_F8
                                                        : type;
  if (type != array->type)
    CLI_TRY(cli_array_convert(NULL, type, array));
  const size_t bytes = (size_t)cols * cli_type_bytes(type), used = array->bytes;
  size_t room = array->capacity ? array->capacity : FIRST_BYTES;
  while (room < used + bytes)
    room *= 2;
  CLI_TRY(cli_array_reserve(array, used, room));
  for (int64_t k = 0; k < cols; k++)
    store(&t->row[k], type, (char *)array->data + used, k);
  array->bytes += bytes;
  array->shape[0]++;
  return CLI_OK;
}

/* ---- lines ---- */

static bool has_comma_in_number(const char *field, size_t length) {
  const char *comma = memchr(field, ',', length);
  return comma && comma > field && isdigit((unsigned char)comma[-1]) && isdigit((unsigned char)comma[1]);
}

static const char decimal_comma[] = "; --decimal , reads numbers with a decimal comma";

/* Whether the line would have two numbers or more if the decimal mark were a comma. */
static bool has_decimal_comma(const table *t) {
  cli_fields fields = {cli_separator(t->lines.text, CLI_DECIMAL_COMMA), t->lines.text};
  const char *field;
  size_t length;
  int numbers = 0, commas = 0;
  for (number n; cli_fields_next(&fields, &field, &length);) {
    if (!parse_number(CLI_DECIMAL_COMMA, true, field, length, &n))
      return false;
    numbers++;
    commas += has_comma_in_number(field, length);
  }
  return t->reading->decimal == CLI_DECIMAL_POINT && numbers > 1 && commas;
}

/* At a line that does not fit; what is special about it. */
static int line_fail(table *t, const char *expected) {
  char more[MORE_TEXT] = "", column[CLI_COLUMN_NAME] = "";
  if (has_decimal_comma(t))
    return cli_lines_expected(&t->lines, expected, decimal_comma);
  if (t->found == NUMBER)
    return cli_lines_expected(&t->lines, expected, "");
  cli_columns_name(&t->form, t->wrong, column);
  snprintf(more, sizeof more, ", in which column %d%s%s%s is %s", t->wrong, *column ? " ('" : "", column,
           *column ? "')" : "",
           t->found == MISSING ? "a missing value; --missing skip leaves out lines with one"
                               : "not a number");
  return cli_lines_expected(&t->lines, expected, more);
}

static int fields_fail(const table *t, const char *as, int wanted, int found) {
  return cli_fail(CLI_INPUT, "%s: line %" PRId64 ": expected %d field%s as %s, found %d%s", t->lines.name,
                  t->lines.number, wanted, CLI_PLURAL(wanted), as, found,
                  has_decimal_comma(t) ? decimal_comma : "");
}

/* The columns that are taken, by the first line with numbers. Of points without names, a column more than
 * there are coordinates is read as well, as long as it counts. */
static int choose_columns(table *t, cli_array *array) {
  cli_columns *columns = t->columns;
  const int fields = t->form.fields;
  if (!columns) {
    t->first = fields > 1 && cli_columns_begin_with_names(&t->form);
    array->shape[1] = fields - t->first;
    return CLI_OK;
  }
  const bool free = !t->header && !columns->wanted;
  t->counting = free && fields > FEWEST && fields <= CLI_COORDINATES + 1;
  const int code = cli_columns_choose(t->lines.name, columns, &t->form);
  array->shape[1] = t->counting ? fields : columns->count;
  return code == CLI_OK && (columns->count < FEWEST || (free && !t->counting && columns->left_out))
             ? line_fail(t, "2 or 3 numbers")
             : code;
}

static int begin(table *t, cli_array *array) {
  cli_table_form *form = &t->form;
  form->separator = cli_separator(t->lines.text, t->reading->decimal);
  form->fields = cli_fields_count(form->separator, t->lines.text);
  form->header = t->header;
  form->names = t->header ? cli_fields_count(form->separator, t->header) : form->fields;
  if (form->names != form->fields && form->names != form->fields - 1)
    return fields_fail(t, "in the line of names", form->names, form->fields);
  t->row = dvt_allocate((size_t)form->fields, sizeof *t->row);
  return t->row ? choose_columns(t, array) : cli_fail(CLI_DEVICE, "not enough memory for a line");
}

/* The place in the row of what column `k` has; -1: it is not taken. */
static int place_of(const table *t, int k) {
  int place = -1;
  if (!t->columns)
    return k - t->first;
  if (t->counting)
    return k;
  for (int i = 0; i < t->columns->count; i++)
    if (t->columns->column[i] == k)
      place = i;
  return place;
}

/* Reads the fields that are taken, and notes the first that is no number; their count. */
static int parse_line(table *t) {
  cli_fields fields = {t->form.separator, t->lines.text};
  const char *field;
  size_t length;
  int count = 0;
  t->found = NUMBER;
  for (; cli_fields_next(&fields, &field, &length); count++) {
    const int place = count < t->form.fields ? place_of(t, count) : -1;
    const content found = place < 0 ? NUMBER : parse_field(t, field, length, &t->row[place]);
    if (found != NUMBER && (t->found == NUMBER || found == OTHER)) {
      t->found = found;
      t->wrong = count;
    }
  }
  return count;
}

/* Points are finite, and the first column may go on counting. */
static int check_point(table *t, const cli_array *array) {
  for (int k = 0; k < array->shape[1]; k++)
    if (!isfinite(t->row[k].real))
      return cli_lines_expected(&t->lines, "finite numbers", "");
  const double first = t->row[0].real;
  if (t->counting && array->shape[0] == 0) {
    t->from = first;
    t->counting = first == 0 || first == 1;
  }
  t->counting = t->counting && !(first < t->from + (double)array->shape[0]) &&
                !(first > t->from + (double)array->shape[0]);
  return !t->counting && array->shape[1] > CLI_COORDINATES
             ? cli_lines_expected(&t->lines, "2 or 3 numbers", "")
             : CLI_OK;
}

static int read_row(table *t, cli_array *array) {
  if (!t->form.fields)
    CLI_TRY(begin(t, array));
  const int count = parse_line(t);
  if (count != t->form.fields)
    return fields_fail(t, "before", t->form.fields, count);
  if (t->found == MISSING && t->reading->missing == CLI_MISSING_SKIP) {
    t->skipped++;
    return CLI_OK;
  }
  if (t->found != NUMBER)
    return line_fail(t, t->columns && t->columns->left_out && !t->counting
                            ? "numbers in the columns of coordinates"
                            : "numbers");
  if (t->columns)
    CLI_TRY(check_point(t, array));
  return keep(t, array);
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
  if (t->form.fields || t->header || holds_number(t))
    return false;
  t->header = t->lines.text;
  t->block = t->lines.buffer;
  t->lines.buffer = NULL;
  t->lines.room = 0;
  return true;
}

/* Digits and no letters, as in 1_000, $5 or 50%. */
static bool is_almost_number(const char *field, size_t length) {
  bool digit = false;
  for (size_t i = 0; i < length; i++) {
    if (isalpha((unsigned char)field[i]))
      return false;
    digit = digit || isdigit((unsigned char)field[i]);
  }
  return digit;
}

static void say_what_names_are(const table *t) {
  cli_fields fields = {t->form.separator, t->header};
  const char *field;
  size_t length;
  while (t->header && cli_fields_next(&fields, &field, &length))
    if (is_almost_number(field, length)) {
      cli_remark("%s: the first line is taken as names, because \"%.*s\" is not a number", t->lines.name,
                 length < 40 ? (int)length : 40, field);
      return;
    }
}

static void say_what_was_left_out(const table *t) {
  const char *name = t->lines.name;
  say_what_names_are(t);
  if (t->skipped)
    cli_remark("%s: %" PRId64 " line%s with missing values left out", name, t->skipped,
               CLI_PLURAL(t->skipped));
  if (t->first)
    cli_remark("%s: the first column, which names the rows, is left out", name);
}

static int read_table(table *t, cli_array *array) {
  array->type = t->columns ? CLI_F8 : CLI_I8;
  array->ndim = 2;
  CLI_TRY(cli_lines_next_content(&t->lines, '#'));
  while (!t->lines.end) {
    if (!take_header(t))
      CLI_TRY(read_row(t, array));
    CLI_TRY(cli_lines_next_content(&t->lines, '#'));
  }
  if (!array->shape[0])
    return cli_input_fail(t->lines.input, "expected %s, found the end of the file%s",
                          t->columns ? "points" : "numbers",
                          t->skipped ? " after lines with missing values" : "");
  leave_out_count(t, array);
  say_what_was_left_out(t);
  return CLI_OK;
}

int cli_csv_read(cli_input *input, const cli_reading *reading, cli_columns *columns, cli_array *array) {
  table t = {.lines = cli_lines_of(input), .reading = reading, .columns = columns};
  const int code = read_table(&t, array);
  cli_lines_close(&t.lines);
  free(t.block);
  free(t.row);
  return code;
}

/* ---- writing ---- */

/* A row a line, with digits that give the same numbers back when they are read as float64. */
bool cli_csv_write(FILE *file, const cli_array *array) {
  const int64_t row = cli_array_row_stride(array), col = cli_array_col_stride(array), cols = array->shape[1];
  bool written = true;
  for (int64_t i = 0; i < array->shape[0] && cols > 0 && written; i++)
    for (int64_t j = 0; j < cols && written; j++) {
      const int64_t at = i * row + j * col;
      const char end = j + 1 < cols ? ',' : '\n';
      written = cli_element_write(file, array, at, cli_type_digits(CLI_F8)) > 0 && putc(end, file) != EOF;
    }
  return written;
}
