/* A JSON writer. */
#include "src/cli/frame/json.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>

static void write_quoted(FILE *file, const char *text) {
  putc('"', file);
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(file, "\\%c", c);
    else if (c < ' ')
      fprintf(file, "\\u%04x", c);
    else
      putc(c, file);
  }
  putc('"', file);
}

static void begin_value(cli_json *json, const char *key) {
  if (json->comma)
    fputs(", ", json->file);
  if (key) {
    write_quoted(json->file, key);
    fputs(": ", json->file);
  }
  json->comma = true;
}

void cli_json_open_object(cli_json *json, const char *key) {
  begin_value(json, key);
  putc('{', json->file);
  json->comma = false;
}

void cli_json_close_object(cli_json *json) {
  putc('}', json->file);
  json->comma = true;
}

void cli_json_open_array(cli_json *json, const char *key) {
  begin_value(json, key);
  putc('[', json->file);
  json->comma = false;
}

void cli_json_close_array(cli_json *json) {
  putc(']', json->file);
  json->comma = true;
}

void cli_json_string(cli_json *json, const char *key, const char *value) {
  begin_value(json, key);
  write_quoted(json->file, value);
}

void cli_json_integer(cli_json *json, const char *key, int64_t value) {
  begin_value(json, key);
  fprintf(json->file, "%" PRId64, value);
}

void cli_json_real(cli_json *json, const char *key, double value) {
  begin_value(json, key);
  if (isfinite(value))
    fprintf(json->file, "%.17g", value);
  else
    fputs("null", json->file);
}

void cli_json_bool(cli_json *json, const char *key, bool value) {
  begin_value(json, key);
  fputs(value ? "true" : "false", json->file);
}

bool cli_json_copy(cli_json *json, const char *key, FILE *from) {
  int first = EOF, last = EOF;
  rewind(from);
  for (int byte; (byte = getc(from)) != EOF;)
    if (!isspace(byte)) {
      first = first == EOF ? byte : first;
      last = byte;
    }
  if (first != '{' || last != '}' || ferror(from))
    return false;
  begin_value(json, key);
  rewind(from);
  for (int byte; (byte = getc(from)) != EOF;)
    putc(byte, json->file);
  return true;
}
