/* SPDX-License-Identifier: Apache-2.0 */
/* Dense Matrix Market files: "%%MatrixMarket matrix array real|integer|complex
 * general|symmetric|hermitian", comment lines that begin with '%', a size line "rows cols", then one
 * element a line, column by column, a complex one as two numbers; of a symmetric or hermitian matrix only
 * the lower triangle. Source: Boisvert, Pozo, Remington, The Matrix Market Exchange Formats, NISTIR 5935,
 * 1996. Comments and blank lines are allowed anywhere after the banner.
 *
 * real gives float64, integer int64, complex complex128. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/cli/fail.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/lines.h"

static int read_content(cli_lines *lines) {
  return cli_lines_next_content(lines, '%');
}

static bool is_blank(const char *at) {
  return !*cli_after_blanks(at);
}

/* Which elements are listed. */
typedef enum symmetry { GENERAL, SYMMETRIC, HERMITIAN } symmetry;

/* The banner's words are not case-sensitive. The index of the word; -1: it is none of them. */
static int word_among(const char *word, const char *const *words) {
  for (int i = 0; words[i]; i++)
    if (!strcasecmp(word, words[i]))
      return i;
  return -1;
}

static int read_banner(cli_lines *lines, cli_array *array, symmetry *form) {
  static const char *const fields[] = {"real", "integer", "complex", NULL};
  static const char *const forms[] = {"general", "symmetric", "hermitian", NULL};
  static const cli_type types[] = {CLI_F8, CLI_I8, CLI_C16};
  char words[5][24];
  int used = 0;
  CLI_TRY(cli_lines_next(lines));
  const int found = sscanf(lines->text, "%23s %23s %23s %23s %23s %n", words[0], words[1], words[2], words[3],
                           words[4], &used);
  if (found < 5 || !is_blank(lines->text + used) || strcasecmp(words[0], "%%MatrixMarket"))
    return cli_lines_expected(lines, "the banner '%%MatrixMarket matrix array real general'", "");
  if (strcasecmp(words[1], "matrix") || strcasecmp(words[2], "array"))
    return cli_lines_expected(lines, "'matrix array' (dense)", "");
  const int field = word_among(words[3], fields), which = word_among(words[4], forms);
  if (field < 0)
    return cli_lines_expected(lines, "elements that are 'real', 'integer' or 'complex'", "");
  array->type = types[field];
  if (which < 0 || (which == HERMITIAN && !cli_is_complex(array->type)))
    return cli_lines_expected(lines,
                              cli_is_complex(array->type)
                                  ? "a matrix that is 'general', 'symmetric' or 'hermitian'"
                                  : "a matrix that is 'general' or 'symmetric'",
                              "");
  *form = (symmetry)which;
  return CLI_OK;
}

static bool parse_int(const char *at, const char **end, int64_t *value) {
  char *stop;
  errno = 0;
  *value = strtoll(at, &stop, 10);
  *end = stop;
  return stop != at && !errno;
}

static int read_size(cli_lines *lines, cli_array *array, symmetry form) {
  const char *rest = lines->text;
  int64_t *shape = array->shape;
  array->ndim = 2;
  array->fortran = true;
  CLI_TRY(read_content(lines));
  if (lines->end || !parse_int(lines->text, &rest, &shape[0]) || !parse_int(rest, &rest, &shape[1]) ||
      !is_blank(rest) || shape[0] < 0 || shape[1] < 0)
    return cli_lines_expected(lines, "the size 'rows columns'", "");
  if (form != GENERAL && shape[0] != shape[1])
    return cli_lines_expected(lines, "as many rows as columns, for a symmetric matrix", "");
  return cli_array_size(array) ? CLI_OK : cli_lines_expected(lines, "a matrix below 2^63 bytes", "");
}

/* The number of elements that the file lists; each takes at least two bytes, with its end of line. */
static int count_listed(cli_lines *lines, const cli_array *array, symmetry form, int64_t *listed) {
  const int64_t n = array->shape[0];
  *listed = form != GENERAL ? (n + 1) / 2 * (n % 2 ? n : n + 1) : n * array->shape[1];
  const uint64_t left =
      lines->input->size > lines->input->offset ? lines->input->size - lines->input->offset : 0;
  if (lines->input->sized && (uint64_t)*listed > left / 2 + 1)
    return cli_lines_expected(lines, "a size that matches the rest of the file", "");
  return CLI_OK;
}

static bool parse_real(const char *at, const char **end, double *value) {
  char *stop;
  errno = 0;
  *value = strtod(at, &stop);
  *end = stop;
  return stop != at && (!*stop || strchr(" \t\r\n", *stop)) &&
         !(errno == ERANGE && (*value > 1 || *value < -1));
}

static int parse_element(cli_lines *lines, cli_array *array, int64_t index) {
  const char *rest = lines->text;
  if (array->type == CLI_I8)
    return parse_int(lines->text, &rest, &((int64_t *)array->data)[index]) && is_blank(rest)
               ? CLI_OK
               : cli_lines_expected(lines, "one 64-bit integer", "");
  const int parts = cli_is_complex(array->type) ? 2 : 1;
  bool good = true;
  for (int k = 0; k < parts && good; k++)
    good = parse_real(rest, &rest, (double *)array->data + parts * index + k);
  return good && is_blank(rest)
             ? CLI_OK
             : cli_lines_expected(lines, parts > 1 ? "two real numbers" : "one real number", "");
}

static int read_elements(cli_lines *lines, cli_array *array, int64_t listed) {
  const size_t bytes = cli_type_bytes(array->type), total = (size_t)listed * bytes;
  for (int64_t i = 0; i < listed; i++) {
    const size_t used = (size_t)i * bytes;
    if (used == array->capacity)
      CLI_TRY(cli_array_reserve(array, used, cli_input_room(lines->input, used, total)));
    CLI_TRY(read_content(lines));
    CLI_TRY(lines->end ? cli_lines_expected(lines, "a further element", "") : parse_element(lines, array, i));
  }
  CLI_TRY(read_content(lines));
  return lines->end ? CLI_OK : cli_lines_expected(lines, "the end of the file", "");
}

/* Expands the packed lower triangle over the whole matrix. */
static int expand(cli_array *packed, symmetry form) {
  const int64_t n = packed->shape[0];
  const size_t bytes = cli_type_bytes(packed->type);
  cli_array full;
  CLI_TRY(cli_array_create(packed->type, 2, n, n, packed->wanted, &full));
  const char *from = packed->data;
  char *to = full.data;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = j; i < n; i++, from += bytes) {
      char *mirrored = to + (size_t)(j + i * n) * bytes;
      memcpy(mirrored, from, bytes);
      if (form == HERMITIAN && i != j)
        ((double *)mirrored)[1] = -((double *)mirrored)[1];
      memcpy(to + (size_t)(i + j * n) * bytes, from, bytes);
    }
  cli_array_replace(packed, &full);
  return CLI_OK;
}

int cli_mtx_read(cli_input *input, cli_array *array) {
  cli_lines lines = cli_lines_of(input);
  symmetry form = GENERAL;
  int64_t listed = 0;
  int code = read_banner(&lines, array, &form);
  if (code == CLI_OK)
    code = read_size(&lines, array, form);
  if (code == CLI_OK)
    code = count_listed(&lines, array, form, &listed);
  if (code == CLI_OK)
    code = read_elements(&lines, array, listed);
  cli_lines_close(&lines);
  return code == CLI_OK && form != GENERAL ? expand(array, form) : code;
}

/* Numbers are read as float64: float32 needs its digits, too, to be the same number then. */
static bool write_element(FILE *file, const cli_array *array, int64_t index) {
  const cli_array parts = cli_array_parts(array);
  const int digits = cli_type_digits(CLI_F8), count = cli_is_complex(array->type) ? 2 : 1;
  bool written = true;
  for (int k = 0; k < count && written; k++)
    written = cli_element_write(file, &parts, count * index + k, digits) > 0 &&
              putc(k + 1 < count ? ' ' : '\n', file) != EOF;
  return written;
}

bool cli_mtx_write(FILE *file, const cli_array *array) {
  const int64_t rows = array->shape[0], cols = array->shape[1];
  bool written = fprintf(file, "%%%%MatrixMarket matrix array %s general\n%lld %lld\n",
                         cli_is_floating(array->type)  ? "real"
                         : cli_is_complex(array->type) ? "complex"
                                                       : "integer",
                         (long long)rows, (long long)cols) > 0;
  for (int64_t j = 0; j < cols && rows > 0 && written; j++)
    for (int64_t i = 0; i < rows && written; i++)
      written = write_element(file, array, i * cli_array_row_stride(array) + j * cli_array_col_stride(array));
  return written;
}
