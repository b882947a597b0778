/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns of a table are coordinates. */
#ifndef DAVIT_SRC_CLI_FORMATS_COLUMNS_H
#define DAVIT_SRC_CLI_FORMATS_COLUMNS_H

#include "src/cli/formats/array.h"

enum { CLI_COORDINATES = 3, CLI_COLUMN_NAME = 48 };

typedef struct cli_columns {
  const char *wanted; /* "x,y", names or numbers from 0; NULL: what seems to be coordinates */
  int count;          /* of the columns taken: 2 or 3; 0: not known yet */
  int column[CLI_COORDINATES];
  char name[CLI_COORDINATES][CLI_COLUMN_NAME]; /* "" for columns without one */
  bool left_out;                               /* there are other columns */
  bool guessed;                                /* their names do not say that they are coordinates */
  bool on_sphere;                              /* they are called longitude and latitude */
} cli_columns;

/* What the lines of a table have. `header` is the line of names; NULL: there is none. It has a name for each
 * field, or for each but the first. */
typedef struct cli_table_form {
  char separator;
  int fields; /* 0: not known yet */
  int names;
  const char *header;
} cli_table_form;

/* The fields of a line of a table. A comma, a semicolon, a tab or nothing but blanks (' ') is between them;
 * there may be blanks around them and quotes about them. */
typedef struct cli_fields {
  char separator;
  const char *at; /* the rest of the line; NULL: there is none */
} cli_fields;

/* The separator that a line of numbers has: a semicolon; else a comma, if that is not the decimal mark; else
 * tabs, if there are no blanks besides; else blanks. */
char cli_separator(const char *line, cli_decimal decimal);

/* The next field, without blanks and quotes; false after the last. */
bool cli_fields_next(cli_fields *fields, const char **field, size_t *length);

int cli_fields_count(char separator, const char *line);

/* The name of a column, cut to fit; "": it has none. */
void cli_columns_name(const cli_table_form *form, int column, char name[static CLI_COLUMN_NAME]);

/* Whether the first column has names of rows: it has no name itself, or is called id, index, name or label. */
bool cli_columns_begin_with_names(const cli_table_form *form);

/* Chooses among the columns of a table. Without `wanted` it takes x, y and z, or longitude and latitude, where
 * there are columns of these names; else all, but not a first one with names of rows. CLI_USAGE after a
 * message if there is no such column. */
int cli_columns_choose(const char *path, cli_columns *chosen, const cli_table_form *form);

/* Keeps the chosen columns of a matrix of n rows. */
int cli_columns_take(const char *path, cli_columns *chosen, cli_array *array);

#endif
