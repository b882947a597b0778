/* Dense Matrix Market files: "%%MatrixMarket matrix array real|integer general|symmetric", comment lines
 * that begin with '%', a size line "rows cols", then one element a line, column by column; of a
 * symmetric matrix only the lower triangle. Source: Boisvert, Pozo, Remington, The Matrix Market Exchange
 * Formats, NISTIR 5935, 1996. Comments and blank lines are allowed anywhere after the banner.
 *
 * real gives float64, integer int64. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/cli/formats/input.h"
#include "src/cli/frame/command.h"
#include "src/cli/frame/output.h"

/* The standard allows 1024 characters a line. */
enum { LINE = 4096 };

typedef struct reader {
  cli_input *input;
  int64_t line; /* number of the line in `text` */
  char text[LINE];
  bool end; /* there is no further line */
} reader;

static int line_fail(reader *r, const char *expected) {
  if (ferror(r->input->file))
    return cli_input_fail(r->input, "%s", expected);
  if (r->end)
    return cli_fail(CLI_INPUT, "%s: line %" PRId64 ": expected %s, found the end of the file", r->input->name,
                    r->line, expected);
  return cli_fail(CLI_INPUT, "%s: line %" PRId64 ": expected %s, found '%.40s'", r->input->name, r->line,
                  expected, r->text);
}

/* Reads one line, without its end, into r->text, or sets r->end. */
static int read_line(reader *r) {
  int length = 0, byte;
  r->line++;
  while ((byte = cli_input_byte(r->input)) != EOF && byte != '\n') {
    r->text[length] = 0;
    if (!byte || length == LINE - 1)
      return line_fail(r, byte ? "a line of less than 4096 characters" : "text without zero bytes");
    r->text[length++] = (char)byte;
  }
  r->text[length] = 0;
  r->end = byte == EOF && !length;
  return CLI_OK;
}

/* Reads on to a line that is neither blank nor a comment, or to the end. */
static int read_content(reader *r) {
  int code;
  do
    code = read_line(r);
  while (code == CLI_OK && !r->end && (r->text[0] == '%' || !r->text[strspn(r->text, " \t\r")]));
  return code;
}

static bool is_blank(const char *text) {
  return !text[strspn(text, " \t\r")];
}

/* The banner's words are not case-sensitive. */
static int read_banner(reader *r, cli_array *array, bool *symmetric) {
  char words[5][24];
  int used = 0;
  const int code = read_line(r);
  if (code != CLI_OK)
    return code;
  const int found =
      sscanf(r->text, "%23s %23s %23s %23s %23s %n", words[0], words[1], words[2], words[3], words[4], &used);
  if (found < 5 || !is_blank(r->text + used) || strcasecmp(words[0], "%%MatrixMarket"))
    return line_fail(r, "the banner '%%MatrixMarket matrix array real general'");
  if (strcasecmp(words[1], "matrix") || strcasecmp(words[2], "array"))
    return line_fail(r, "'matrix array' (dense)");
  if (strcasecmp(words[3], "real") && strcasecmp(words[3], "integer"))
    return line_fail(r, "elements that are 'real' or 'integer'");
  if (strcasecmp(words[4], "general") && strcasecmp(words[4], "symmetric"))
    return line_fail(r, "a matrix that is 'general' or 'symmetric'");
  array->type = strcasecmp(words[3], "real") ? CLI_I8 : CLI_F8;
  *symmetric = !strcasecmp(words[4], "symmetric");
  return CLI_OK;
}

static bool parse_int(const char *text, const char **end, int64_t *value) {
  char *stop;
  errno = 0;
  *value = strtoll(text, &stop, 10);
  *end = stop;
  return stop != text && !errno;
}

static int read_size(reader *r, cli_array *array, bool symmetric) {
  const char *rest = r->text;
  int64_t *shape = array->shape;
  array->ndim = 2;
  array->fortran = true;
  const int code = read_content(r);
  if (code != CLI_OK)
    return code;
  if (r->end || !parse_int(r->text, &rest, &shape[0]) || !parse_int(rest, &rest, &shape[1]) ||
      !is_blank(rest) || shape[0] < 0 || shape[1] < 0)
    return line_fail(r, "the size 'rows columns'");
  if (symmetric && shape[0] != shape[1])
    return line_fail(r, "as many rows as columns of a symmetric matrix");
  return cli_array_size(array->type, shape[0], shape[1], &array->bytes)
             ? CLI_OK
             : line_fail(r, "a matrix below 2^63 bytes");
}

/* How many elements the file lists; each takes two bytes at least, its end of line included. */
static int count_listed(reader *r, const cli_array *array, bool symmetric, int64_t *listed) {
  const int64_t n = array->shape[0];
  *listed = symmetric ? (n + 1) / 2 * (n % 2 ? n : n + 1) : n * array->shape[1];
  const uint64_t left = r->input->size > r->input->offset ? r->input->size - r->input->offset : 0;
  if (r->input->sized && (uint64_t)*listed > left / 2 + 1)
    return line_fail(r, "a size that the rest of the file has elements for");
  return CLI_OK;
}

static int parse_element(reader *r, cli_array *array, int64_t index) {
  const char *rest;
  if (array->type == CLI_I8)
    return parse_int(r->text, &rest, &((int64_t *)array->data)[index]) && is_blank(rest)
               ? CLI_OK
               : line_fail(r, "one 64-bit integer");
  char *stop;
  errno = 0;
  const double value = strtod(r->text, &stop);
  const bool overflow = errno == ERANGE && (value > 1 || value < -1);
  ((double *)array->data)[index] = value;
  return stop == r->text || !is_blank(stop) || overflow ? line_fail(r, "one real number") : CLI_OK;
}

static int read_elements(reader *r, cli_array *array, int64_t listed) {
  int code = CLI_OK;
  const size_t total = (size_t)listed * 8;
  for (int64_t i = 0; i < listed && code == CLI_OK; i++) {
    const size_t used = (size_t)i * 8;
    if (used == array->capacity)
      code = cli_array_reserve(array, used, cli_input_room(r->input, used, total));
    if (code == CLI_OK)
      code = read_content(r);
    if (code == CLI_OK)
      code = r->end ? line_fail(r, "a further element") : parse_element(r, array, i);
  }
  if (code == CLI_OK)
    code = read_content(r);
  return code == CLI_OK && !r->end ? line_fail(r, "the end of the file") : code;
}

/* Spreads the packed lower triangle over the whole matrix. */
static int expand(cli_array *packed) {
  const int64_t n = packed->shape[0];
  cli_array full;
  const int code = cli_array_create(packed->type, 2, n, n, packed->wanted, &full);
  if (code != CLI_OK)
    return code;
  const uint64_t *from = packed->data;
  uint64_t *to = full.data;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = j; i < n; i++)
      to[i + j * n] = to[j + i * n] = *from++;
  cli_array_free(packed);
  *packed = full;
  return CLI_OK;
}

int cli_mtx_read(cli_input *input, cli_array *array) {
  reader r = {.input = input};
  bool symmetric = false;
  int64_t listed = 0;
  int code = read_banner(&r, array, &symmetric);
  if (code == CLI_OK)
    code = read_size(&r, array, symmetric);
  if (code == CLI_OK)
    code = count_listed(&r, array, symmetric, &listed);
  if (code == CLI_OK)
    code = read_elements(&r, array, listed);
  return code == CLI_OK && symmetric ? expand(array) : code;
}

/* Digits that give the same number back when read. */
static int write_element(FILE *file, const cli_array *array, int64_t index) {
  switch (array->type) {
  case CLI_F4:
    return fprintf(file, "%.9g\n", (double)((const float *)array->data)[index]);
  case CLI_F8:
    return fprintf(file, "%.17g\n", ((const double *)array->data)[index]);
  case CLI_I4:
    return fprintf(file, "%" PRId32 "\n", ((const int32_t *)array->data)[index]);
  case CLI_I8:
    return fprintf(file, "%" PRId64 "\n", ((const int64_t *)array->data)[index]);
  default:
    return fprintf(file, "%u\n", ((const uint8_t *)array->data)[index]);
  }
}

bool cli_mtx_write(FILE *file, const cli_array *array) {
  const int64_t rows = array->shape[0], cols = array->shape[1];
  const bool real = array->type == CLI_F4 || array->type == CLI_F8;
  bool written = fprintf(file, "%%%%MatrixMarket matrix array %s general\n%lld %lld\n",
                         real ? "real" : "integer", (long long)rows, (long long)cols) > 0;
  for (int64_t j = 0; j < cols && written; j++)
    for (int64_t i = 0; i < rows && written; i++)
      written =
          write_element(file, array, i * cli_array_row_stride(array) + j * cli_array_col_stride(array)) > 0;
  return written;
}
