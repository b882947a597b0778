/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON writer for one value on one stream: objects and arrays that nest.
 *
 * With `lines` the outermost object is written for people: a line for each member, without braces and quotes, and
 * with the unit that the member's name stands for. `key` is the member's name inside an object and NULL inside an
 * array (and for the outermost value). Texts are written as UTF-8 (formats/names.h). Doubles are written with 17
 * digits; NaN and infinities, which JSON lacks, are null. */
#ifndef DAVIT_SRC_CLI_FRAME_JSON_H
#define DAVIT_SRC_CLI_FRAME_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_json {
  FILE *file;
  bool lines;
  int depth;  /* objects and arrays that are open */
  bool comma; /* the next value follows another */
} cli_json;

void cli_json_open_object(cli_json *json, const char *key);
void cli_json_close_object(cli_json *json);
void cli_json_open_array(cli_json *json, const char *key);
void cli_json_close_array(cli_json *json);
void cli_json_string(cli_json *json, const char *key, const char *value);
void cli_json_integer(cli_json *json, const char *key, int64_t value);
void cli_json_real(cli_json *json, const char *key, double value);
void cli_json_bool(cli_json *json, const char *key, bool value);

/* Whether the contents of a file look like one object; and its contents as a value. */
bool cli_json_is_object(FILE *file);
void cli_json_copy(cli_json *json, const char *key, FILE *from);

#endif
