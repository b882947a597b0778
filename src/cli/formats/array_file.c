/* SPDX-License-Identifier: Apache-2.0 */
/* Files that contain an array. */
#include "src/cli/formats/array_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/fail.h"
#include "src/cli/formats/dtype.h"
#include "src/cli/formats/kind.h"

static int refuse(cli_input *input) {
  char start[CLI_KIND_BYTES];
  size_t count = 0;
  bool blank = true, line = false;
  /* Of a pipe no more than its first line of text, as no more may come. */
  for (int byte; count < sizeof start && !line && (byte = getc(input->file)) != EOF;) {
    start[count++] = (char)byte;
    line = byte == '\n' && !blank && !input->sized;
    blank = blank && isspace(byte);
  }
  return cli_input_fail(input, "expected a NumPy array (.npy) or a Matrix Market file, found %s",
                        cli_kind_of(start, count));
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
             : cli_fail(CLI_USAGE,
                        "--shape takes up to %d numbers with x between them, such as 1000x3, not '%s'",
                        CLI_DIMS, text);
}

/* A vector of what the file has. */
static int take_all(cli_input *input, cli_array *array) {
  array->ndim = 1;
  if (!input->sized)
    return cli_fail(CLI_USAGE, "%s: its length is not known, so --shape is needed", input->name);
  if (input->size % array->file->bytes)
    return cli_input_fail(input, "expected elements of %zu byte%s, found %llu byte%s", array->file->bytes,
                          CLI_PLURAL(array->file->bytes), (unsigned long long)input->size,
                          CLI_PLURAL(input->size));
  array->shape[0] = (int64_t)(input->size / array->file->bytes);
  return CLI_OK;
}

static int open_raw(cli_input *input, const cli_raw *raw, cli_array *array) {
  array->shape[0] = array->shape[1] = 1;
  if (!cli_dtype_parse(raw->dtype, array))
    return cli_fail(CLI_USAGE, "--dtype takes one of " CLI_DTYPES ", or one of them after < or >, not '%s'",
                    raw->dtype);
  int code = raw->shape ? parse_raw_shape(raw->shape, array) : take_all(input, array);
  return code == CLI_OK ? cli_file_check(input, array) : code;
}

/* ---- all ---- */

/* Whether the elements come next, after a shape that is known. */
static bool is_binary(cli_input *input, const cli_raw *raw) {
  return (raw && raw->dtype) || cli_input_peek(input) == CLI_NPY_FIRST_BYTE;
}

static int open_binary(cli_input *input, const cli_raw *raw, cli_array *array) {
  return raw && raw->dtype ? open_raw(input, raw, array) : cli_npy_open(input, array);
}

static int read_text(cli_input *input, cli_columns *columns, cli_array *array) {
  if (cli_input_peek(input) == '%')
    return cli_mtx_read(input, array);
  return columns ? cli_csv_read(input, columns, array) : refuse(input);
}

static int read_open(cli_input *input, const cli_raw *raw, cli_columns *columns, cli_part *part,
                     cli_array *array) {
  int code;
  if (is_binary(input, raw)) {
    code = open_binary(input, raw, array);
    if (code != CLI_OK)
      return code;
    return part ? cli_part_elements(input, part, array) : cli_file_elements(input, array);
  }
  code = read_text(input, columns, array);
  return code == CLI_OK && part ? cli_part_take(part, array) : code;
}

/* `columns` of points, which may be CSV; NULL: the file has no points. */
static int read_array(const char *path, const cli_raw *raw, cli_memory memory, cli_columns *columns,
                      cli_part *part, cli_array *array) {
  *array = (cli_array){.wanted = memory};
  cli_input input;
  int code = cli_input_open(path, &input);
  if (code != CLI_OK)
    return code;
  code = read_open(&input, raw, columns, part, array);
  cli_input_close(&input);
  if (code != CLI_OK)
    cli_array_free(array);
  return code;
}

int cli_array_read(const char *path, const cli_raw *raw, cli_memory memory, cli_part *part,
                   cli_array *array) {
  return read_array(path, raw, memory, NULL, part, array);
}

int cli_array_peek(const char *path, const cli_raw *raw, cli_array *array, bool *known) {
  *array = (cli_array){0};
  cli_input input;
  int code = cli_input_open(path, &input);
  if (code != CLI_OK)
    return code;
  *known = is_binary(&input, raw);
  if (*known)
    code = open_binary(&input, raw, array);
  cli_input_close(&input);
  return code;
}

int cli_points_read(const char *path, const cli_raw *raw, cli_memory memory, cli_columns *columns,
                    cli_array *array) {
  columns->count = 0;
  const int code = read_array(path, raw, memory, columns, NULL, array);
  return code == CLI_OK && columns->wanted && !columns->count ? cli_columns_take(path, columns, array) : code;
}

cli_array_writer *cli_writer_of(const char *path) {
  const char *end = strrchr(path, '.');
  return !end                   ? cli_npy_write
         : !strcmp(end, ".mtx") ? cli_mtx_write
         : !strcmp(end, ".csv") ? cli_csv_write
                                : cli_npy_write;
}
