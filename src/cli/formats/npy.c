/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy format, versions 1 to 3 (numpy.lib.format): a magic, a header that is a Python dictionary
 * literal with the keys 'descr', 'fortran_order' and 'shape', then the elements.
 *
 * Read are little-endian f4, f8, i4, i8, u1 and b1 (bool, as u1) of up to two dimensions; everything else is
 * refused with its offset. Written is version 1. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"
#include "src/cli/formats/array_file.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "elements are read and written as they lie in memory");

static const unsigned char magic[6] = {CLI_NPY_FIRST_BYTE, 'N', 'U', 'M', 'P', 'Y'};

static const char *const codes[CLI_TYPES] = {
    [CLI_F4] = "f4", [CLI_F8] = "f8", [CLI_I4] = "i4", [CLI_I8] = "i8", [CLI_U1] = "u1"};

/* The header's text while it is parsed; `base` is its offset in the file. Reading at the end gives '\0'. */
typedef struct header {
  cli_input *input;
  char *text;
  size_t length;
  size_t at;
  uint64_t base;
} header;

/* ---- literals ---- */

static int header_fail(header *h, const char *expected) {
  h->input->offset = h->base + h->at;
  if (h->at >= h->length)
    return cli_input_fail(h->input, "expected %s, found the end of the header", expected);
  return cli_input_fail(h->input, "expected %s, found '%.24s'", expected, h->text + h->at);
}

static char next_character(header *h) {
  while (h->at < h->length && strchr(" \t\r\n", h->text[h->at]) && h->text[h->at])
    h->at++;
  return h->text[h->at];
}

/* Skips blanks and then `character`, if it is next. */
static bool accept(header *h, char character) {
  if (next_character(h) != character)
    return false;
  h->at++;
  return true;
}

static bool accept_word(header *h, const char *word) {
  next_character(h);
  const size_t length = strlen(word);
  if (strncmp(h->text + h->at, word, length))
    return false;
  h->at += length;
  return true;
}

/* A quoted string of printable characters, without escapes, into `text`. */
static bool accept_string(header *h, char *text, size_t capacity) {
  const char quote = next_character(h);
  const char *begin = h->text + h->at + 1;
  if (quote != '\'' && quote != '"')
    return false;
  const char *end = strchr(begin, quote);
  if (!end || (size_t)(end - begin) >= capacity || memchr(begin, '\\', (size_t)(end - begin)))
    return false;
  memcpy(text, begin, (size_t)(end - begin));
  text[end - begin] = 0;
  h->at += (size_t)(end - begin) + 2;
  return true;
}

/* ---- the three values ---- */

static int parse_type(header *h, cli_array *array) {
  static const char expected[] = "a dtype among <f4 <f8 <i4 <i8 |u1 |b1";
  next_character(h);
  const size_t start = h->at;
  char text[16];
  if (!accept_string(h, text, sizeof text))
    return header_fail(h, expected);
  for (int type = 0; type < CLI_TYPES; type++) {
    /* One-byte types have no byte order; '=' is the writer's, and no mark counts as '<'. */
    const char *marks = type == CLI_U1 ? "|<=>" : "<=";
    const char *code = text[0] && strchr(marks, text[0]) ? text + 1 : text;
    if (!strcmp(code, codes[type]) || (type == CLI_U1 && !strcmp(code, "b1"))) {
      array->type = (cli_type)type;
      return CLI_OK;
    }
  }
  h->at = start;
  return header_fail(h, expected);
}

static int parse_order(header *h, cli_array *array) {
  array->fortran = accept_word(h, "True");
  return array->fortran || accept_word(h, "False") ? CLI_OK : header_fail(h, "True or False");
}

static int parse_dimension(header *h, int64_t *dimension) {
  int64_t value = 0;
  const char first = next_character(h);
  if (first < '0' || first > '9')
    return header_fail(h, "a dimension, 0 or more");
  for (; h->text[h->at] >= '0' && h->text[h->at] <= '9'; h->at++)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, h->text[h->at] - '0', &value))
      return header_fail(h, "a dimension below 2^63");
  *dimension = value;
  return CLI_OK;
}

static int parse_shape(header *h, cli_array *array) {
  if (!accept(h, '('))
    return header_fail(h, "a tuple of dimensions");
  array->shape[0] = array->shape[1] = 1;
  bool comma = true;
  for (array->ndim = 0; !accept(h, ')'); array->ndim++) {
    if (!comma)
      return header_fail(h, "',' or ')'");
    if (array->ndim == 2)
      return header_fail(h, "at most two dimensions");
    const int code = parse_dimension(h, &array->shape[array->ndim]);
    if (code != CLI_OK)
      return code;
    comma = accept(h, ',');
  }
  /* Python reads (3) as a number; only (3,) is a tuple. */
  return array->ndim == 1 && !comma ? header_fail(h, "',' after the only dimension") : CLI_OK;
}

static int parse_header(header *h, cli_array *array) {
  static const struct {
    const char *key;
    int (*parse)(header *, cli_array *);
  } keys[] = {{"descr", parse_type}, {"fortran_order", parse_order}, {"shape", parse_shape}};
  static const char expected[] = "each of the keys 'descr', 'fortran_order' and 'shape' once";
  unsigned seen = 0;
  bool comma = true;
  if (!accept(h, '{'))
    return header_fail(h, "'{'");
  while (!accept(h, '}')) {
    char key[16];
    unsigned which = 0;
    const size_t start = h->at;
    if (!comma || !accept_string(h, key, sizeof key))
      return header_fail(h, comma ? expected : "',' or '}'");
    while (which < 3 && strcmp(key, keys[which].key))
      which++;
    if (which == 3 || (seen & 1U << which)) {
      h->at = start;
      return header_fail(h, expected);
    }
    seen |= 1U << which;
    const int code = accept(h, ':') ? keys[which].parse(h, array) : header_fail(h, "':'");
    if (code != CLI_OK)
      return code;
    comma = accept(h, ',');
  }
  next_character(h);
  if (h->at < h->length)
    return header_fail(h, "blanks after the dictionary");
  return seen == 7 ? CLI_OK : header_fail(h, expected);
}

/* ---- reading ---- */

/* Reads magic, version and length, up to the first character of the dictionary. */
static int read_preamble(cli_input *input, size_t *length) {
  /* NumPy's own headers of plain arrays have less than 200 bytes. */
  enum { MOST = 65535 };
  unsigned char bytes[8], size[4] = {0};
  int code = cli_input_read(input, bytes, sizeof bytes, "magic and version");
  if (code != CLI_OK)
    return code;
  if (memcmp(bytes, magic, sizeof magic)) {
    input->offset = 0;
    return cli_input_fail(input, "expected the magic \\x93NUMPY");
  }
  if (bytes[6] < 1 || bytes[6] > 3 || bytes[7]) {
    input->offset = sizeof magic;
    return cli_input_fail(input, "expected format version 1.0, 2.0 or 3.0, found %d.%d", bytes[6], bytes[7]);
  }
  code = cli_input_read(input, size, bytes[6] == 1 ? 2 : 4, "header length");
  *length = size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
  if (code == CLI_OK && *length > MOST) {
    input->offset = sizeof bytes;
    return cli_input_fail(input, "expected a header of at most %d bytes, found %zu", MOST, *length);
  }
  return code;
}

static int read_header(cli_input *input, cli_array *array) {
  header h = {.input = input};
  int code = read_preamble(input, &h.length);
  if (code != CLI_OK)
    return code;
  h.base = input->offset;
  h.text = dvt_allocate(h.length + 1, 1);
  if (!h.text)
    return cli_fail(CLI_DEVICE, "not enough memory for a header");
  code = cli_input_read(input, h.text, h.length, "header");
  if (code == CLI_OK)
    code = parse_header(&h, array);
  free(h.text);
  return code;
}

static int check_length(cli_input *input, const cli_array *array) {
  const uint64_t left = input->size > input->offset ? input->size - input->offset : 0;
  if (input->sized && left != array->bytes)
    return cli_input_fail(input, "expected %zu bytes for %lld x %lld %s, found %" PRIu64, array->bytes,
                          (long long)array->shape[0], (long long)array->shape[1], cli_type_name(array->type),
                          left);
  return CLI_OK;
}

int cli_npy_open(cli_input *input, cli_array *array) {
  const int code = read_header(input, array);
  if (code != CLI_OK)
    return code;
  if (!cli_array_size(array->type, array->shape[0], array->shape[1], &array->bytes))
    return cli_input_fail(input, "expected a size below 2^63 bytes, found the shape %lld x %lld",
                          (long long)array->shape[0], (long long)array->shape[1]);
  return check_length(input, array);
}

int cli_npy_elements(cli_input *input, cli_array *array) {
  int code = CLI_OK;
  for (size_t used = 0; code == CLI_OK && used < array->bytes;) {
    const size_t room = cli_input_room(input, used, array->bytes);
    code = cli_array_reserve(array, used, room);
    if (code == CLI_OK)
      code = cli_input_read(input, (char *)array->data + used, room - used, "elements");
    used = room;
  }
  return code == CLI_OK ? cli_npy_end(input) : code;
}

int cli_npy_end(cli_input *input) {
  return cli_input_peek(input) == EOF && !ferror(input->file)
             ? CLI_OK
             : cli_input_fail(input, "expected the end of the file after the elements");
}

int cli_npy_read(cli_input *input, cli_array *array) {
  const int code = cli_npy_open(input, array);
  return code == CLI_OK ? cli_npy_elements(input, array) : code;
}

/* ---- writing ---- */

bool cli_npy_write(FILE *file, const cli_array *array) {
  /* Magic, version, length and dictionary together are a multiple of 64, as NumPy writes them. */
  enum { HEADER = 128, PREAMBLE = 10 };
  char text[HEADER - PREAMBLE + 1], shape[48] = "()";
  if (array->ndim == 1)
    snprintf(shape, sizeof shape, "(%lld,)", (long long)array->shape[0]);
  else if (array->ndim == 2)
    snprintf(shape, sizeof shape, "(%lld, %lld)", (long long)array->shape[0], (long long)array->shape[1]);
  const int used = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': %s, 'shape': %s, }",
                            array->type == CLI_U1 ? '|' : '<', codes[array->type],
                            array->ndim == 2 && array->fortran ? "True" : "False", shape);
  memset(text + used, ' ', sizeof text - (size_t)used);
  text[HEADER - PREAMBLE - 1] = '\n';
  const unsigned char preamble[PREAMBLE - sizeof magic] = {1, 0, HEADER - PREAMBLE, 0};
  return fwrite(magic, sizeof magic, 1, file) == 1 && fwrite(preamble, sizeof preamble, 1, file) == 1 &&
         fwrite(text, HEADER - PREAMBLE, 1, file) == 1 &&
         (!array->bytes || fwrite(array->data, array->bytes, 1, file) == 1);
}
