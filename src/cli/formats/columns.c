/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/cli/fail.h"

/* ---- fields ---- */

/* The quote that ends what the one at `at` begins; NULL: it begins nothing. */
static const char *closing_quote(const char *at) {
  return *at == '"' || *at == '\'' ? strchr(at + 1, *at) : NULL;
}

/* Quotes begin where a field may. */
char cli_separator(const char *line, cli_decimal decimal) {
  char found = ' ';
  bool tab = false, blank = false;
  for (const char *at = line, *quote; *at; at++)
    if ((at == line || strchr(";, \t", at[-1])) && (quote = closing_quote(at)))
      at = quote;
    else if (*at == ';' || (*at == ',' && found == ' ' && decimal == CLI_DECIMAL_POINT))
      found = *at;
    else {
      tab |= *at == '\t';
      blank |= *at == ' ';
    }
  return found == ' ' && tab && !blank ? '\t' : found;
}

/* The end of the field at `at`, which is no blank. */
static const char *end_of_field(const char *at, char separator) {
  const char *quote = closing_quote(at);
  const char ends[] = {separator, separator == ' ' ? '\t' : 0, 0};
  at = quote ? quote + 1 : at;
  return at + strcspn(at, ends);
}

/* Blanks around a field, which tabs are not where they are separators. */
static const char *blanks_of(char separator) {
  return separator == '\t' ? " \r" : " \t\r";
}

bool cli_fields_next(cli_fields *fields, const char **field, size_t *length) {
  if (!fields->at)
    return false;
  const char *blanks = blanks_of(fields->separator);
  const char *begin = fields->at + strspn(fields->at, blanks), *end = end_of_field(begin, fields->separator),
             *rest = end + strspn(end, blanks);
  if (fields->separator == ' ')
    fields->at = *rest ? rest : NULL;
  else
    fields->at = *end ? end + 1 : NULL;
  while (end > begin && strchr(blanks, end[-1]))
    end--;
  if (end - begin >= 2 && (*begin == '"' || *begin == '\'') && end[-1] == *begin) {
    begin++;
    end--;
  }
  *field = begin;
  *length = (size_t)(end - begin);
  return true;
}

int cli_fields_count(char separator, const char *line) {
  cli_fields fields = {separator, line};
  const char *field;
  size_t length;
  int count = 0;
  while (cli_fields_next(&fields, &field, &length))
    count++;
  return count;
}

/* ---- names ---- */

void cli_columns_name(const cli_table_form *form, int column, char name[static CLI_COLUMN_NAME]) {
  cli_fields fields = {form->separator, form->header};
  const char *field = "";
  size_t length = 0;
  for (int i = form->fields - form->names; i <= column; i++)
    if (!cli_fields_next(&fields, &field, &length))
      length = 0;
  snprintf(name, CLI_COLUMN_NAME, "%.*s", (int)(length < CLI_COLUMN_NAME ? length : CLI_COLUMN_NAME - 1),
           field);
}

/* The first column of this name, else of this name in other capitals; -1: there is none. */
static int find(const cli_table_form *form, const char *name) {
  char other[CLI_COLUMN_NAME];
  for (int loose = 0; loose < 2 && form->header; loose++)
    for (int k = form->fields - form->names; k < form->fields; k++) {
      cli_columns_name(form, k, other);
      if (!(loose ? strcasecmp : strcmp)(other, name))
        return k;
    }
  return -1;
}

bool cli_columns_begin_with_names(const cli_table_form *form) {
  static const char *const labels[] = {"", "id", "index", "name", "label"};
  char name[CLI_COLUMN_NAME];
  bool found = false;
  cli_columns_name(form, 0, name);
  for (size_t i = 0; i < sizeof labels / sizeof *labels && form->header; i++)
    found |= !strcasecmp(name, labels[i]);
  return found;
}

/* ---- choice ---- */

static int count_fail(const cli_columns *chosen) {
  return cli_fail(CLI_USAGE, "--columns takes 2 or 3 columns, not '%s'", chosen->wanted);
}

static int take(cli_columns *chosen, const cli_table_form *form, int column) {
  if (chosen->count == CLI_COORDINATES)
    return count_fail(chosen);
  chosen->column[chosen->count] = column;
  cli_columns_name(form, column, chosen->name[chosen->count++]);
  return CLI_OK;
}

static int take_wanted(const char *path, cli_columns *chosen, const cli_table_form *form) {
  cli_fields fields = {',', chosen->wanted};
  const char *field;
  size_t length;
  while (cli_fields_next(&fields, &field, &length)) {
    char name[CLI_COLUMN_NAME], *end = name;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), field);
    int column = find(form, name);
    const long number = column < 0 && *name >= '0' && *name <= '9' ? strtol(name, &end, 10) : -1;
    if (column < 0 && end > name && !*end && number < form->fields)
      column = (int)number;
    CLI_TRY(column >= 0 ? take(chosen, form, column)
                        : cli_fail(CLI_USAGE, "--columns %s: %s has %d column%s%s, and none is '%s'",
                                   chosen->wanted, path, form->fields, CLI_PLURAL(form->fields),
                                   form->header ? "" : " without names", name));
  }
  return chosen->count < 2 ? count_fail(chosen) : CLI_OK;
}

/* Columns called x, y and perhaps z among others. */
static bool take_by_name(cli_columns *chosen, const cli_table_form *form) {
  static const char *const names[CLI_COORDINATES] = {"x", "y", "z"};
  const int x = find(form, names[0]), y = find(form, names[1]);
  for (int k = 0; k < CLI_COORDINATES && x >= 0 && y >= 0; k++) {
    const int column = find(form, names[k]);
    if (column >= 0)
      take(chosen, form, column);
  }
  return chosen->count > 0;
}

/* Longitude and latitude, in the order of the file. */
static bool take_sphere(cli_columns *chosen, const cli_table_form *form) {
  static const char *const longitudes[] = {"longitude", "lon", "long", "lng"};
  static const char *const latitudes[] = {"latitude", "lat"};
  int lon = -1, lat = -1;
  for (size_t i = 0; i < sizeof longitudes / sizeof *longitudes && lon < 0; i++)
    lon = find(form, longitudes[i]);
  for (size_t i = 0; i < sizeof latitudes / sizeof *latitudes && lat < 0; i++)
    lat = find(form, latitudes[i]);
  chosen->on_sphere = lon >= 0 && lat >= 0;
  if (chosen->on_sphere) {
    take(chosen, form, lon < lat ? lon : lat);
    take(chosen, form, lon < lat ? lat : lon);
  }
  return chosen->on_sphere;
}

/* Two columns with names can be nothing else; three could be two coordinates and something besides. */
static int take_all(const char *path, cli_columns *chosen, const cli_table_form *form) {
  const int columns = form->fields, shift = columns - form->names,
            first = shift || (columns > 2 && cli_columns_begin_with_names(form));
  for (int k = first; k < columns && chosen->count < CLI_COORDINATES; k++)
    take(chosen, form, k);
  chosen->guessed = form->header && chosen->count > 2;
  return form->header && columns - first > CLI_COORDINATES
             ? cli_fail(CLI_INPUT,
                        "%s: expected columns x and y, or 2 or 3 columns, found %d; --columns chooses some",
                        cli_fail_place(path), columns)
             : CLI_OK;
}

int cli_columns_choose(const char *path, cli_columns *chosen, const cli_table_form *form) {
  int code = CLI_OK;
  chosen->count = 0;
  chosen->guessed = chosen->on_sphere = false;
  if (chosen->wanted)
    code = take_wanted(path, chosen, form);
  else if (!take_by_name(chosen, form) && !take_sphere(chosen, form))
    code = take_all(path, chosen, form);
  chosen->left_out = chosen->count < form->fields;
  return code;
}

int cli_columns_take(const char *path, cli_columns *chosen, cli_array *array) {
  cli_array taken;
  if (array->ndim != 2)
    return CLI_OK;
  const int columns = (int)array->shape[1];
  CLI_TRY(cli_columns_choose(path, chosen,
                             &(cli_table_form){.separator = ' ', .fields = columns, .names = columns}));
  CLI_TRY(cli_array_create(array->type, 2, array->shape[0], chosen->count, array->wanted, &taken));
  const size_t bytes = cli_type_bytes(array->type);
  const int64_t row = cli_array_row_stride(array), col = cli_array_col_stride(array);
  for (int k = 0; k < chosen->count; k++)
    for (int64_t i = 0; i < array->shape[0]; i++)
      memcpy((char *)taken.data + (size_t)(i + k * array->shape[0]) * bytes,
             (const char *)array->data + (size_t)(i * row + chosen->column[k] * col) * bytes, bytes);
  cli_array_replace(array, &taken);
  return CLI_OK;
}
