/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/array_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/cli/fail.h"
#include "src/cli/formats/dtype.h"
#include "src/cli/formats/kind.h"

static int refuse(cli_input *input) {
  return cli_input_fail(
      input, "expected a NumPy array (.npy), a Matrix Market file or a table of numbers (CSV), found %s",
      cli_kind_of((const char *)input->head, input->head_count));
}

/* ---- without a header ---- */

/* "1000x3" and "1000,3". */
static int parse_raw_shape(const char *text, cli_array *array) {
  const char *at = text;
  bool good;
  array->ndim = 0;
  do {
    char *end = NULL;
    errno = 0;
    good = array->ndim < CLI_DIMS && *at >= '0' && *at <= '9';
    if (good)
      array->shape[array->ndim++] = strtoll(at, &end, 10);
    good = good && !errno;
    at = good ? end : at;
  } while (good && (*at == 'x' || *at == ',') && at++);
  return good && !*at
             ? CLI_OK
             : cli_fail(CLI_USAGE, "--shape takes up to %d numbers separated by x, such as 1000x3, not '%s'",
                        CLI_DIMS, text);
}

/* A vector of what the file has. */
static int take_all(cli_input *input, cli_array *array) {
  array->ndim = 1;
  if (!input->sized)
    return cli_fail(CLI_USAGE, "%s: its length is unknown, so --shape is needed", input->name);
  if (input->size % array->file->bytes)
    return cli_input_fail(input, "expected elements of %zu byte%s, found %llu byte%s", array->file->bytes,
                          CLI_PLURAL(array->file->bytes), (unsigned long long)input->size,
                          CLI_PLURAL(input->size));
  array->shape[0] = (int64_t)(input->size / array->file->bytes);
  return CLI_OK;
}

static bool ends_with(const char *name, const char *end) {
  const size_t length = strlen(name), end_length = strlen(end);
  return length >= end_length && !strcasecmp(name + length - end_length, end);
}

/* What a file is, though --dtype says that it has elements alone; NULL: that may be. Short marks could be
 * elements. */
static const char *kind_in_spite_of_dtype(const cli_input *input) {
  static const char *const tables[] = {".csv", ".tsv", ".csv.gz", ".tsv.gz"};
  enum { SHORTEST_MARK = 4 };
  const char *kind = cli_kind_marked((const char *)input->head, input->head_count, SHORTEST_MARK);
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (ends_with(input->name, tables[i]))
      kind = "a table in text (CSV or TSV)";
  return kind;
}

static int open_raw(cli_input *input, const cli_reading *raw, cli_array *array) {
  const char *kind = kind_in_spite_of_dtype(input);
  if (kind)
    return cli_fail(CLI_USAGE,
                    "--dtype: %s: expected elements without a header, found %s, which states its own type",
                    input->name, kind);
  array->shape[0] = array->shape[1] = 1;
  if (!cli_dtype_parse(raw->dtype, array))
    return cli_fail(CLI_USAGE, "--dtype takes one of " CLI_DTYPES ", or one of them after < or >, not '%s'",
                    raw->dtype);
  CLI_TRY(raw->shape ? parse_raw_shape(raw->shape, array) : take_all(input, array));
  return cli_file_check(input, array);
}

/* ---- all ---- */

/* Opens the file, or what is in it if it is compressed. Elements without a header could begin as gzip's files
 * do, so there the name decides. */
static int open_input(const char *path, const cli_reading *reading, cli_input *input) {
  const bool as_it_is = reading->dtype && !ends_with(path, ".gz");
  CLI_TRY((as_it_is ? cli_input_open : cli_input_open_packed)(path, input));
  cli_input_look(input);
  return CLI_OK;
}

/* Whether the elements come next, after a shape that is known. */
static bool is_binary(cli_input *input, const cli_reading *reading) {
  return reading->dtype || cli_input_peek(input) == CLI_NPY_FIRST_BYTE;
}

static int open_binary(cli_input *input, const cli_reading *reading, cli_array *array) {
  return reading->dtype ? open_raw(input, reading, array) : cli_npy_open(input, array);
}

static int read_text(cli_input *input, const cli_reading *reading, cli_columns *columns, cli_array *array) {
  const char *head = (const char *)input->head;
  const size_t mark = cli_mark_length(head, input->head_count);
  if (mark < input->head_count && head[mark] == '%')
    return cli_mtx_read(input, array);
  /* Of points any text may be a table, also one that begins as other formats do. */
  const bool table =
      columns ? !cli_kind_marked(head, input->head_count, 1) : cli_kind_may_be_table(head, input->head_count);
  return table ? cli_csv_read(input, reading, columns, array) : refuse(input);
}

static int read_open(cli_input *input, const cli_reading *reading, cli_columns *columns, cli_part *part,
                     cli_array *array) {
  int code;
  if (is_binary(input, reading)) {
    CLI_TRY(open_binary(input, reading, array));
    return part ? cli_part_elements(input, part, array) : cli_file_elements(input, array);
  }
  code = read_text(input, reading, columns, array);
  return code == CLI_OK && part ? cli_part_take(part, array) : code;
}

/* `columns` of points; NULL: the file has no points. */
static int read_array(const char *path, const cli_reading *reading, cli_memory memory, cli_columns *columns,
                      cli_part *part, cli_array *array) {
  *array = (cli_array){.wanted = memory};
  cli_input input;
  int code = open_input(path, reading, &input);
  if (code == CLI_OK)
    code = read_open(&input, reading, columns, part, array);
  cli_input_close(&input);
  if (code != CLI_OK)
    cli_array_free(array);
  return code;
}

int cli_array_read(const char *path, const cli_reading *reading, cli_memory memory, cli_part *part,
                   cli_array *array) {
  return read_array(path, reading, memory, NULL, part, array);
}

int cli_array_peek(const char *path, const cli_reading *reading, cli_array *array, bool *known) {
  *array = (cli_array){0};
  cli_input input;
  int code = open_input(path, reading, &input);
  *known = code == CLI_OK && is_binary(&input, reading);
  if (*known)
    code = open_binary(&input, reading, array);
  cli_input_close(&input);
  return code;
}

int cli_points_read(const char *path, const cli_reading *reading, cli_memory memory, cli_columns *columns,
                    cli_array *array) {
  columns->count = 0;
  const int code = read_array(path, reading, memory, columns, NULL, array);
  return code == CLI_OK && columns->wanted && !columns->count ? cli_columns_take(path, columns, array) : code;
}

/* ---- writing ---- */

cli_array_writer *cli_writer_of(const char *path) {
  static const struct {
    const char *end;
    cli_array_writer *write;
  } formats[] = {{".npy", cli_npy_write}, {".mtx", cli_mtx_write}, {".csv", cli_csv_write}};
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strrchr(name, '.');
  if (!end || end == name)
    return cli_npy_write;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (!strcasecmp(end, formats[i].end))
      return formats[i].write;
  return NULL;
}
