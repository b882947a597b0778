/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy format, versions 1 to 3 (numpy.lib.format): a magic, a header that is a Python dictionary
 * literal with the keys 'descr', 'fortran_order' and 'shape', then the elements.
 *
 * Read are the types of dtype.h in up to CLI_DIMS dimensions; everything else is refused with its offset.
 * Written is version 1. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/dtype.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "elements are read and written as they lie in memory");

static const unsigned char magic[6] = {CLI_NPY_FIRST_BYTE, 'N', 'U', 'M', 'P', 'Y'};

static const char *const codes[CLI_TYPES] = {
    [CLI_F4] = "f4", [CLI_F8] = "f8", [CLI_C8] = "c8", [CLI_C16] = "c16",
    [CLI_I4] = "i4", [CLI_I8] = "i8", [CLI_U1] = "u1"};

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

/* NumPy's kinds of types that are not read, of a type without its mark of the byte order: a letter, with a
 * size behind it, or a name. */
static const char *kind_of(const char *type) {
  static const struct {
    const char *before, *kind; /* before the size */
  } kinds[] = {{"U", " (text)"},
               {"S", " (text)"},
               {"a", " (text)"},
               {"V", " (records)"},
               {"O", " (Python objects)"},
               {"f", " (long double)"},
               {"float", " (long double)"},
               {"c", " (complex long double)"},
               {"complex", " (complex long double)"}};
  const char *size = type;
  while (isalpha((unsigned char)*size))
    size++;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strlen(kinds[i].before) == (size_t)(size - type) &&
        !strncmp(kinds[i].before, type, (size_t)(size - type)) && !size[strspn(size, "0123456789")])
      return kinds[i].kind;
  return *type == 'M' || *type == 'm' || !strncmp(type, "datetime", 8) || !strncmp(type, "timedelta", 9)
             ? " (dates or times)"
             : "";
}

/* At a type that is none of those. */
static int header_fail_type(header *h) {
  const char *text = h->text + h->at, first = next_character(h);
  const bool quoted = first == '\'' || first == '"';
  const size_t length = quoted ? strcspn(text + 1, (char[]){first, 0}) : 0;
  h->input->offset = h->base + h->at;
  if (first == '[')
    return cli_input_fail(h->input, "expected a dtype among " CLI_DTYPES ", found records");
  char type[24];
  if (!quoted || !text[1 + length] || length >= sizeof type)
    return header_fail(h, "a dtype among " CLI_DTYPES);
  memcpy(type, text + 1, length);
  type[length] = 0;
  return cli_input_fail(h->input, "expected a dtype among " CLI_DTYPES ", found '%s'%s", type,
                        kind_of(type + strspn(type, "<>=|")));
}

static int parse_type(header *h, cli_array *array) {
  next_character(h);
  const size_t start = h->at;
  char text[16];
  if (accept_string(h, text, sizeof text) && cli_dtype_parse(text, array))
    return CLI_OK;
  h->at = start;
  return header_fail_type(h);
}

static int parse_order(header *h, cli_array *array) {
  array->fortran = accept_word(h, "True");
  return array->fortran || accept_word(h, "False") ? CLI_OK : header_fail(h, "True or False");
}

/* Python 2 writes an L behind some numbers. */
static int parse_dimension(header *h, int64_t *dimension) {
  int64_t value = 0;
  const char first = next_character(h);
  if (first < '0' || first > '9')
    return header_fail(h, "a dimension, 0 or more");
  for (; h->text[h->at] >= '0' && h->text[h->at] <= '9'; h->at++)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, h->text[h->at] - '0', &value))
      return header_fail(h, "a dimension below 2^63");
  h->at += h->text[h->at] == 'L';
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
    if (array->ndim == CLI_DIMS)
      return header_fail(h, "at most 32 dimensions");
    CLI_TRY(parse_dimension(h, &array->shape[array->ndim]));
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
    CLI_TRY(accept(h, ':') ? keys[which].parse(h, array) : header_fail(h, "':'"));
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
  CLI_TRY(cli_input_read(input, bytes, sizeof bytes, "magic and version"));
  if (memcmp(bytes, magic, sizeof magic)) {
    input->offset = 0;
    return cli_input_fail(input, "expected the magic \\x93NUMPY");
  }
  if (bytes[6] < 1 || bytes[6] > 3 || bytes[7]) {
    input->offset = sizeof magic;
    return cli_input_fail(input, "expected format version 1.0, 2.0 or 3.0, found %d.%d", bytes[6], bytes[7]);
  }
  int code = cli_input_read(input, size, bytes[6] == 1 ? 2 : 4, "header length");
  *length = size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
  if (code == CLI_OK && *length > MOST) {
    input->offset = sizeof bytes;
    return cli_input_fail(input, "expected a header of at most %d bytes, found %zu", MOST, *length);
  }
  return code;
}

static int read_header(cli_input *input, cli_array *array) {
  header h = {.input = input};
  CLI_TRY(read_preamble(input, &h.length));
  h.base = input->offset;
  h.text = dvt_allocate(h.length + 1, 1);
  if (!h.text)
    return cli_fail(CLI_DEVICE, "not enough memory for a header");
  int code = cli_input_read(input, h.text, h.length, "header");
  if (code == CLI_OK)
    code = parse_header(&h, array);
  free(h.text);
  return code;
}

int cli_npy_open(cli_input *input, cli_array *array) {
  CLI_TRY(read_header(input, array));
  return cli_file_check(input, array);
}

/* ---- writing ---- */

bool cli_npy_write(FILE *file, const cli_array *array) {
  /* Magic, version, length and dictionary together are a multiple of 64, as NumPy writes them. */
  enum { FEWEST = 128, MOST = 1024, STEP = 64, PREAMBLE = 10 };
  char text[MOST];
  size_t used = (size_t)snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (",
                                 array->type == CLI_U1 ? '|' : '<', codes[array->type],
                                 array->ndim > 1 && array->fortran ? "True" : "False");
  for (int k = 0; k < array->ndim; k++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%lld%s", (long long)array->shape[k],
                             k + 1 < array->ndim ? ", "
                             : array->ndim == 1  ? ","
                                                 : "");
  used += (size_t)snprintf(text + used, sizeof text - used, "), }");
  size_t header = FEWEST;
  while (header < PREAMBLE + used + 1)
    header += STEP;
  const size_t length = header - PREAMBLE;
  memset(text + used, ' ', sizeof text - used);
  text[length - 1] = '\n';
  const unsigned char preamble[PREAMBLE - sizeof magic] = {1, 0, (unsigned char)length,
                                                           (unsigned char)(length >> 8)};
  return fwrite(magic, sizeof magic, 1, file) == 1 && fwrite(preamble, sizeof preamble, 1, file) == 1 &&
         fwrite(text, length, 1, file) == 1 &&
         (!array->bytes || fwrite(array->data, array->bytes, 1, file) == 1);
}
