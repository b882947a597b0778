/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/frame/json.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/cli/formats/names.h"

/* Whether the next value is a line of its own. */
static bool is_line(const cli_json *json) {
  return json->lines && json->depth == 1;
}

static void begin_value(cli_json *json, const char *key) {
  if (json->comma)
    fputs(is_line(json) ? "\n" : ", ", json->file);
  if (key && is_line(json))
    fputs(key, json->file);
  else if (key)
    cli_write_quoted(json->file, key);
  if (key)
    fputs(": ", json->file);
  json->comma = true;
}

static void open_nested(cli_json *json, const char *key, char bracket) {
  begin_value(json, key);
  if (!json->lines || json->depth > 0)
    putc(bracket, json->file);
  json->depth++;
  json->comma = false;
}

static void close_nested(cli_json *json, char bracket) {
  json->depth--;
  putc(json->lines && json->depth == 0 ? '\n' : bracket, json->file);
  json->comma = true;
}

void cli_json_open_object(cli_json *json, const char *key) {
  open_nested(json, key, '{');
}

void cli_json_close_object(cli_json *json) {
  close_nested(json, '}');
}

void cli_json_open_array(cli_json *json, const char *key) {
  open_nested(json, key, '[');
}

void cli_json_close_array(cli_json *json) {
  close_nested(json, ']');
}

void cli_json_string(cli_json *json, const char *key, const char *value) {
  begin_value(json, key);
  if (is_line(json))
    cli_write_plain(json->file, value);
  else
    cli_write_quoted(json->file, value);
}

static bool has_word(const char *key, const char *word) {
  const size_t length = strlen(word);
  const char *at = strstr(key, word);
  return at && (at == key || at[-1] == '_') && (!at[length] || at[length] == '_');
}

/* For people, the unit of the number that was just written. */
static void write_unit(cli_json *json, const char *key) {
  static const char *const units[][2] = {{"gflops", "GFLOP/s"}, {"gbytes_per_s", "GB/s"},
                                         {"gcups", "GCUPS"},    {"seconds", "s"},
                                         {"bytes", "bytes"},    {"rate", "samples/s"}};
  if (!key || !is_line(json))
    return;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (has_word(key, units[i][0])) {
      fprintf(json->file, " %s", units[i][1]);
      return;
    }
}

void cli_json_integer(cli_json *json, const char *key, int64_t value) {
  begin_value(json, key);
  fprintf(json->file, "%" PRId64, value);
  write_unit(json, key);
}

void cli_json_real(cli_json *json, const char *key, double value) {
  begin_value(json, key);
  if (isfinite(value))
    fprintf(json->file, "%.*g", json->lines ? 6 : 17, value);
  else
    fputs("null", json->file);
  write_unit(json, key);
}

void cli_json_bool(cli_json *json, const char *key, bool value) {
  begin_value(json, key);
  fputs(value ? "true" : "false", json->file);
}

bool cli_json_is_object(FILE *file) {
  int first = EOF, last = EOF;
  rewind(file);
  for (int byte; (byte = getc(file)) != EOF;)
    if (!isspace(byte)) {
      first = first == EOF ? byte : first;
      last = byte;
    }
  return first == '{' && last == '}' && !ferror(file);
}

void cli_json_copy(cli_json *json, const char *key, FILE *from) {
  begin_value(json, key);
  rewind(from);
  for (int byte; (byte = getc(from)) != EOF;)
    putc(byte, json->file);
}
