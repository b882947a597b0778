/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns of a table are coordinates. */
#include "src/cli/formats/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/cli/fail.h"
#include "src/cli/formats/text.h"

/* ---- fields ---- */

char cli_separator(const char *line) {
  char found = ' ', quote = 0;
  for (; *line; line++)
    if (quote || *line == '"' || *line == '\'')
      quote = !quote ? *line : *line == quote ? 0 : quote;
    else if (*line == ';' || (*line == ',' && found == ' '))
      found = *line;
  return found;
}

/* The end of the field at `at`, which is no blank. */
static const char *end_of_field(const char *at, char separator) {
  const char *quote = *at == '"' || *at == '\'' ? strchr(at + 1, *at) : NULL;
  const char ends[] = {separator, separator == ' ' ? '\t' : 0, 0};
  at = quote ? quote + 1 : at;
  return at + strcspn(at, ends);
}

bool cli_fields_next(cli_fields *fields, const char **field, size_t *length) {
  if (!fields->at)
    return false;
  const char *begin = cli_text_after_blanks(fields->at), *end = end_of_field(begin, fields->separator),
             *rest = cli_text_after_blanks(end);
  if (fields->separator == ' ')
    fields->at = *rest ? rest : NULL;
  else
    fields->at = *end ? end + 1 : NULL;
  while (end > begin && strchr(" \t\r", end[-1]))
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

/* ---- choice ---- */

typedef struct header {
  char separator;
  const char *line; /* NULL: there is none */
} header;

/* The name of a column, cut to fit; "": it has none. */
static void name_of(const header *h, int column, char name[static CLI_COLUMN_NAME]) {
  cli_fields fields = {h->separator, h->line};
  const char *field = "";
  size_t length = 0;
  for (int i = 0; i <= column; i++)
    if (!cli_fields_next(&fields, &field, &length))
      length = 0;
  snprintf(name, CLI_COLUMN_NAME, "%.*s", (int)(length < CLI_COLUMN_NAME ? length : CLI_COLUMN_NAME - 1),
           field);
}

/* The first column of this name, else of this name in other capitals; -1: there is none. */
static int find(const header *h, int columns, const char *name) {
  char other[CLI_COLUMN_NAME];
  for (int loose = 0; loose < 2 && h->line; loose++)
    for (int k = 0; k < columns; k++) {
      name_of(h, k, other);
      if (!(loose ? strcasecmp : strcmp)(other, name))
        return k;
    }
  return -1;
}

static int take(cli_columns *chosen, const header *h, int column) {
  if (chosen->count == CLI_COORDINATES)
    return cli_fail(CLI_USAGE, "--columns takes 2 or 3 columns, not '%s'", chosen->wanted);
  chosen->column[chosen->count] = column;
  name_of(h, column, chosen->name[chosen->count++]);
  return CLI_OK;
}

static int take_wanted(const char *path, cli_columns *chosen, int columns, const header *h) {
  cli_fields fields = {',', chosen->wanted};
  const char *field;
  size_t length;
  int code = CLI_OK;
  while (code == CLI_OK && cli_fields_next(&fields, &field, &length)) {
    char name[CLI_COLUMN_NAME], *end = name;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), field);
    int column = find(h, columns, name);
    const long number = column < 0 && *name >= '0' && *name <= '9' ? strtol(name, &end, 10) : -1;
    if (column < 0 && end > name && !*end && number < columns)
      column = (int)number;
    code = column >= 0
               ? take(chosen, h, column)
               : cli_fail(CLI_USAGE, "--columns %s: %s has %d column%s%s, and none is '%s'", chosen->wanted,
                          path, columns, CLI_PLURAL(columns), h->line ? "" : " without names", name);
  }
  return code == CLI_OK && chosen->count < 2
             ? cli_fail(CLI_USAGE, "--columns takes 2 or 3 columns, not '%s'", chosen->wanted)
             : code;
}

/* Columns called x, y and perhaps z among others. */
static bool take_by_name(cli_columns *chosen, int columns, const header *h) {
  static const char *const names[CLI_COORDINATES] = {"x", "y", "z"};
  const int x = find(h, columns, names[0]), y = find(h, columns, names[1]);
  for (int k = 0; k < CLI_COORDINATES && x >= 0 && y >= 0; k++) {
    const int column = find(h, columns, names[k]);
    if (column >= 0)
      take(chosen, h, column);
  }
  return chosen->count > 0;
}

static bool is_label(const header *h) {
  static const char *const labels[] = {"", "id", "index", "name", "label"};
  char name[CLI_COLUMN_NAME];
  bool found = false;
  name_of(h, 0, name);
  for (size_t i = 0; i < sizeof labels / sizeof *labels && h->line; i++)
    found |= !strcasecmp(name, labels[i]);
  return found;
}

int cli_columns_choose(const char *path, cli_columns *chosen, int columns, char separator, const char *line) {
  const header h = {separator, line};
  const int first = columns > 2 && is_label(&h);
  int code = CLI_OK;
  chosen->count = 0;
  if (chosen->wanted)
    code = take_wanted(path, chosen, columns, &h);
  else if (!take_by_name(chosen, columns, &h)) {
    for (int k = first; k < columns && chosen->count < CLI_COORDINATES; k++)
      take(chosen, &h, k);
    if (line && columns - first > CLI_COORDINATES)
      code = cli_fail(CLI_INPUT,
                      "%s: expected columns x and y, or 2 or 3 columns, found %d; --columns takes some", path,
                      columns);
  }
  chosen->left_out = chosen->count < columns;
  return code;
}

int cli_columns_take(const char *path, cli_columns *chosen, cli_array *array) {
  cli_array taken;
  if (array->ndim != 2)
    return CLI_OK;
  int code = cli_columns_choose(path, chosen, (int)array->shape[1], ' ', NULL);
  if (code == CLI_OK)
    code = cli_array_create(array->type, 2, array->shape[0], chosen->count, array->wanted, &taken);
  if (code != CLI_OK)
    return code;
  const size_t bytes = cli_type_bytes(array->type);
  const int64_t row = cli_array_row_stride(array), col = cli_array_col_stride(array);
  for (int k = 0; k < chosen->count; k++)
    for (int64_t i = 0; i < array->shape[0]; i++)
      memcpy((char *)taken.data + (size_t)(i + k * array->shape[0]) * bytes,
             (const char *)array->data + (size_t)(i * row + chosen->column[k] * col) * bytes, bytes);
  cli_array_free(array);
  *array = taken;
  return CLI_OK;
}
