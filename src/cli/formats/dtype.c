/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/dtype.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/cli/fail.h"

enum { PART_BYTES = DVT_BUFFER(1 << 14, 16) }; /* converted at once */

static const cli_dtype dtypes[] = {
    {"f2", "float16", 2, CLI_F4},   {"f4", "float32", 4, CLI_F4},       {"f8", "float64", 8, CLI_F8},
    {"c8", "complex64", 8, CLI_C8}, {"c16", "complex128", 16, CLI_C16}, {"i1", "int8", 1, CLI_I8},
    {"i2", "int16", 2, CLI_I8},     {"i4", "int32", 4, CLI_I4},         {"i8", "int64", 8, CLI_I8},
    {"u1", "uint8", 1, CLI_U1},     {"u2", "uint16", 2, CLI_I8},        {"u4", "uint32", 4, CLI_I8},
    {"u8", "uint64", 8, CLI_I8},    {"b1", "bool", 1, CLI_U1},          {"?", "bool", 1, CLI_U1}};

bool cli_dtype_parse(const char *text, cli_array *array) {
  /* '=' is the writer's order, and no mark counts as '<'; one byte has no order. */
  const char mark = *text && strchr("<>=|", *text) ? *text++ : '<';
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (!strcmp(text, dtypes[i].code) || !strcmp(text, dtypes[i].name)) {
      array->file = &dtypes[i];
      array->type = dtypes[i].type;
      array->swapped = mark == '>' && dtypes[i].bytes > 1;
      return mark != '|' || dtypes[i].bytes == 1;
    }
  return false;
}

/* Bytes of the array's elements in its file. */
static bool file_bytes(const cli_array *array, uint64_t *bytes) {
  int64_t total;
  const bool fits = cli_array_product(array, array->file->bytes, &total);
  *bytes = fits ? (uint64_t)total : 0;
  return fits;
}

/* ---- conversion ---- */

#define DEFINE_SWAP(bits)                                                                                    \
  static void swap_##bits(void *elements, size_t count) {                                                    \
    for (uint##bits##_t *e = elements; count > 0; count--, e++)                                              \
      *e = __builtin_bswap##bits(*e);                                                                        \
  }
DEFINE_SWAP(16)
DEFINE_SWAP(32)
DEFINE_SWAP(64)
#undef DEFINE_SWAP

/* Of complex numbers each part has its order. */
static void swap(const cli_dtype *dtype, void *elements, size_t count) {
  const size_t parts = *dtype->code == 'c' ? 2 : 1;
  switch (dtype->bytes / parts) {
  case 2:
    swap_16(elements, parts * count);
    break;
  case 4:
    swap_32(elements, parts * count);
    break;
  default:
    swap_64(elements, parts * count);
  }
}

/* IEEE 754 binary16: a sign, 5 bits of exponent, 10 of fraction. */
static float from_half(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const float fraction = (float)(half & 1023), sign = half >> 15 ? -1.0F : 1.0F;
  if (exponent == 31)
    return sign * (fraction > 0 ? NAN : INFINITY);
  return sign * (exponent ? ldexpf(1024 + fraction, exponent - 25) : ldexpf(fraction, -24));
}

#define CONVERT(To, From, value)                                                                             \
  do {                                                                                                       \
    const From *from = part;                                                                                 \
    To *to = elements;                                                                                       \
    for (size_t i = 0; i < count; i++)                                                                       \
      to[i] = (value);                                                                                       \
  } while (0)

/* Types that are the same in file and memory are never here. */
static void convert(const cli_dtype *dtype, const void *part, size_t count, void *elements) {
  const bool is_signed = *dtype->code == 'i';
  if (*dtype->code == 'f')
    CONVERT(float, uint16_t, from_half(from[i]));
  else if (dtype->bytes == 1)
    CONVERT(int64_t, int8_t, from[i]);
  else if (dtype->bytes == 2 && is_signed)
    CONVERT(int64_t, int16_t, from[i]);
  else if (dtype->bytes == 2)
    CONVERT(int64_t, uint16_t, from[i]);
  else
    CONVERT(int64_t, uint32_t, from[i]);
}

static int check_sign(cli_input *input, const int64_t *elements, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (elements[i] < 0) {
      input->offset -= (count - i) * sizeof *elements;
      return cli_input_fail(input, "expected a number below 2^63, found %llu",
                            (unsigned long long)elements[i]);
    }
  return CLI_OK;
}

int cli_elements_read(cli_input *input, const cli_array *array, size_t count, void *elements) {
  const cli_dtype *dtype = array->file;
  const size_t bytes = cli_type_bytes(array->type);
  const bool same = dtype->bytes == bytes;
  _Alignas(8) unsigned char part[PART_BYTES];
  const size_t at_once = same && !array->swapped ? count : PART_BYTES / dtype->bytes;
  for (size_t done = 0; done < count; done += at_once) {
    const size_t now = count - done < at_once ? count - done : at_once;
    char *to = (char *)elements + done * bytes;
    void *from = same ? (void *)to : part;
    CLI_TRY(cli_input_read(input, from, now * dtype->bytes, "elements"));
    if (array->swapped)
      swap(dtype, from, now);
    if (!same)
      convert(dtype, from, now, to);
    if (!strcmp(dtype->code, "u8"))
      CLI_TRY(check_sign(input, from, now));
  }
  return CLI_OK;
}

/* ---- files ---- */

int cli_file_check(cli_input *input, cli_array *array) {
  const uint64_t left = input->size > input->offset ? input->size - input->offset : 0;
  uint64_t bytes = 0;
  char shape[CLI_SHAPE_TEXT];
  cli_shape_text(array, shape);
  if (!cli_array_size(array) || !file_bytes(array, &bytes))
    return cli_input_fail(input, "expected a size below 2^63 bytes, found the shape %s", shape);
  if (input->sized && left != bytes)
    return cli_input_fail(input, "expected %" PRIu64 " byte%s for %s of %s, found %" PRIu64, bytes,
                          CLI_PLURAL(bytes), shape, array->file->code, left);
  return CLI_OK;
}

int cli_file_elements(cli_input *input, cli_array *array) {
  for (size_t used = 0; used < array->bytes;) {
    const size_t room = cli_input_room(input, used, array->bytes);
    CLI_TRY(cli_array_reserve(array, used, room));
    CLI_TRY(cli_elements_read(input, array, (room - used) / cli_type_bytes(array->type),
                              (char *)array->data + used));
    used = room;
  }
  return cli_file_end(input);
}

int cli_file_end(cli_input *input) {
  return cli_input_peek(input) == EOF && !ferror(input->file)
             ? CLI_OK
             : cli_input_fail(input, "expected the end of the file after the elements");
}
