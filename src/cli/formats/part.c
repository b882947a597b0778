/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/part.h"

#include <string.h>

#include "src/base/arithmetic.h"
#include "src/cli/fail.h"
#include "src/cli/formats/dtype.h"
#include "src/cli/ranks.h"

/* The elements of a part, as they lie in the file: `count` runs of `length`, `stride` from one to the
 * next. */
typedef struct runs {
  int64_t start, count, length, stride;
} runs;

int64_t cli_part_begin(int64_t n, int64_t step, int index, int count) {
  const int64_t unit = step ? step : 1, units = dvt_divide_up(n, unit);
  /* Without a product that could overflow. Part 0, which speaks for all, is no shorter than others. */
  const int64_t each = units / count, more = units % count;
  return dvt_at_most(n, unit * (each * index + dvt_divide_up(more * index, count)));
}

/* Notes what the whole is. */
static void measure(cli_part *part, const cli_array *array) {
  part->all = *array;
  part->all.data = NULL;
  part->all.capacity = 0;
  part->whole =
      part->cut == CLI_CUT_ELEMENTS ? cli_array_count(array) : array->shape[part->cut == CLI_CUT_COLS];
  part->begin = cli_part_begin(part->whole, part->step, part->index, part->count);
}

void cli_part_note(const cli_part *part) {
  cli_ranks_note(part->all.type);
  cli_ranks_note(part->all.fortran);
  for (int i = 0; i < part->all.ndim; i++)
    cli_ranks_note(part->all.shape[i]);
}

/* Nothing is cut. What has no two dimensions has no rows either, and is refused by the caller. */
static bool is_whole(const cli_part *part, const cli_array *array) {
  return (part->count == 1 && part->index == 0) || (part->cut != CLI_CUT_ELEMENTS && array->ndim != 2);
}

/* Makes the array's shape that of the part. */
static runs cut(const cli_part *part, cli_array *array) {
  const int64_t rows = array->shape[0], cols = array->shape[1];
  const int64_t length = cli_part_begin(part->whole, part->step, part->index + 1, part->count) - part->begin;
  if (part->cut == CLI_CUT_ELEMENTS) {
    array->ndim = 1;
    array->shape[0] = length;
    array->shape[1] = 1;
    return (runs){part->begin, 1, length, 0};
  }
  array->shape[part->cut == CLI_CUT_COLS] = length;
  const bool lines = (part->cut == CLI_CUT_ROWS) != array->fortran; /* of neighbours are cut off */
  const int64_t line = array->fortran ? rows : cols, count = array->fortran ? cols : rows;
  return lines ? (runs){part->begin * line, 1, length * line, 0} : (runs){part->begin, count, length, line};
}

static int read_runs(cli_input *input, const runs *r, cli_array *array) {
  const size_t bytes = cli_type_bytes(array->type);
  const uint64_t offset = input->offset;
  CLI_TRY(cli_array_reserve(array, 0, array->bytes));
  for (int64_t i = 0; i < r->count && r->length > 0; i++) {
    const uint64_t skipped = (uint64_t)(r->start + i * r->stride) * array->file->bytes;
    CLI_TRY(cli_input_seek(input, offset + skipped));
    CLI_TRY(cli_elements_read(input, array, (size_t)r->length,
                              (char *)array->data + (size_t)(i * r->length) * bytes));
  }
  return CLI_OK;
}

int cli_part_elements(cli_input *input, cli_part *part, cli_array *array) {
  measure(part, array);
  if (is_whole(part, array))
    return cli_file_elements(input, array);
  if (input->start < 0) {
    CLI_TRY(cli_file_elements(input, array));
    return cli_part_take(part, array);
  }
  const runs r = cut(part, array);
  return cli_array_size(array) ? read_runs(input, &r, array) : cli_status(DAVIT_OUT_OF_HOST_MEMORY);
}

int cli_part_take(cli_part *part, cli_array *array) {
  measure(part, array);
  if (is_whole(part, array))
    return CLI_OK;
  const size_t bytes = cli_type_bytes(array->type);
  cli_array like = *array, taken;
  const runs r = cut(part, &like);
  CLI_TRY(cli_array_create_like(array->type, &like, array->wanted, &taken));
  for (int64_t i = 0; i < r.count && r.length > 0; i++)
    memcpy((char *)taken.data + (size_t)(i * r.length) * bytes,
           (const char *)array->data + (size_t)(r.start + i * r.stride) * bytes, (size_t)r.length * bytes);
  taken.file = array->file;
  cli_array_replace(array, &taken);
  return CLI_OK;
}
