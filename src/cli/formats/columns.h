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
} cli_columns;

/* The fields of a line of a table. A comma, a semicolon or nothing but blanks (' ') is between them; there
 * may be blanks around them and quotes about them. */
typedef struct cli_fields {
  char separator;
  const char *at; /* the rest of the line; NULL: there is none */
} cli_fields;

/* The separator that a line of numbers has. */
char cli_separator(const char *line);

/* The next field, without blanks and quotes; false after the last. */
bool cli_fields_next(cli_fields *fields, const char **field, size_t *length);

int cli_fields_count(char separator, const char *line);

/* Chooses among `columns` columns, whose names stand in the line `header`; NULL: they have none. Without
 * `wanted` it takes x, y and z where there are columns of these names; else all, but not a first column that
 * is called id, index, name, label or nothing. CLI_USAGE after a message if there is no such column. */
int cli_columns_choose(const char *path, cli_columns *chosen, int columns, char separator,
                       const char *header);

/* Keeps the chosen columns of a matrix of n rows. */
int cli_columns_take(const char *path, cli_columns *chosen, cli_array *array);

#endif
