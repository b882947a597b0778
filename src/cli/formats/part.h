/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the arrays in files, such as a rank reads. */
#ifndef DAVIT_SRC_CLI_FORMATS_PART_H
#define DAVIT_SRC_CLI_FORMATS_PART_H

#include "src/cli/formats/array.h"
#include "src/cli/formats/input.h"

/* What is cut into parts: all elements as they lie in the file, or the rows or the columns of a matrix. */
typedef enum cli_cut { CLI_CUT_ELEMENTS, CLI_CUT_ROWS, CLI_CUT_COLS } cli_cut;

/* Part `index` of `count`. Parts begin at multiples of `step` (0: 1). Index = count is an empty part. */
typedef struct cli_part {
  cli_cut cut;
  int index, count;
  int64_t step;
  int64_t begin,
      whole;     /* set by reading: where the part begins, and how many elements, rows or columns there are */
  cli_array all; /* the shape, the order and the type of the whole array, without elements */
} cli_part;

/* Where part `index` of `count` of n begins, and the one before it ends. */
int64_t cli_part_begin(int64_t n, int64_t step, int index, int count);

/* The second step after the header: makes `array`, which has the shape of the whole, the part, and reads the
 * elements. Of a file whose length is known only the part is read. */
int cli_part_elements(cli_input *input, cli_part *part, cli_array *array);

/* The same with an array that has all its elements. */
int cli_part_take(cli_part *part, cli_array *array);

/* Notes the whole for cli_ranks_compare_notes(). */
void cli_part_note(const cli_part *part);

#endif
