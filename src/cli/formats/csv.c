/* SPDX-License-Identifier: Apache-2.0 */
/* CSV of points: one point a line, 2 or 3 finite numbers, the same count on all lines, separated by commas,
 * semicolons or blanks. Blank lines and lines that begin with '#' are skipped, and so is the first other
 * line if none of its fields is a number (names of columns). Gives float64, n × 2 or n × 3 in C order. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/cli/fail.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/text.h"

enum { FEWEST = 2, MOST = 3, FIRST_BYTES = DVT_BUFFER(1 << 20, 64) };

/* Reads at most MOST + 1 numbers of a line and returns their count, or -1 if there is anything else. */
static int parse_numbers(const char *at, double values[MOST + 1]) {
  int count = 0;
  for (at = cli_text_after_blanks(at); *at && count <= MOST; count++) {
    char *end;
    if (count > 0 && strchr(",;", *at))
      at = cli_text_after_blanks(at + 1);
    values[count] = strtod(at, &end);
    if (end == at || (*end && !strchr(",; \t\r", *end)))
      return -1;
    at = cli_text_after_blanks(end);
  }
  return count;
}

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

static int read_point(cli_text *text, cli_array *array, bool first) {
  double values[MOST + 1];
  const int count = parse_numbers(text->line, values);
  if (count < 0 && first && !holds_number(text->line))
    return CLI_OK;
  if (count < 0)
    return cli_text_fail(text, "numbers");
  if (count < FEWEST || count > MOST)
    return cli_text_fail(text, "2 or 3 numbers");
  if (array->shape[0] && count != array->shape[1])
    return cli_text_fail(text, count == MOST ? "2 numbers as before" : "3 numbers as before");
  for (int k = 0; k < count; k++)
    if (!isfinite(values[k]))
      return cli_text_fail(text, "finite numbers");
  array->shape[1] = count;
  return keep(array, values);
}

int cli_csv_read(cli_input *input, cli_array *array) {
  cli_text text = {.input = input};
  array->type = CLI_F8;
  array->ndim = 2;
  int code = cli_text_next_content(&text, '#');
  for (bool first = true; code == CLI_OK && !text.end; first = false) {
    code = read_point(&text, array, first);
    if (code == CLI_OK)
      code = cli_text_next_content(&text, '#');
  }
  return code == CLI_OK && !array->shape[0]
             ? cli_input_fail(input, "expected points, found the end of the file")
             : code;
}

/* A row a line, with digits that give the same numbers back when they are read as float64. */
bool cli_csv_write(FILE *file, const cli_array *array) {
  const int64_t row = cli_array_row_stride(array), col = cli_array_col_stride(array), cols = array->shape[1];
  bool written = true;
  for (int64_t i = 0; i < array->shape[0] && cols > 0 && written; i++)
    for (int64_t j = 0; j < cols && written; j++) {
      const int64_t at = i * row + j * col;
      const char end = j + 1 < cols ? ',' : '\n';
      written =
          (cli_is_floating(array->type) ? fprintf(file, "%.17Lg%c", cli_number(array, at), end)
                                        : fprintf(file, "%" PRId64 "%c", cli_integer(array, at), end)) > 0;
    }
  return written;
}
