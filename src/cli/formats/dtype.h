/* SPDX-License-Identifier: Apache-2.0 */
/* Element types of files, and what they become: NumPy's f2 f4 f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8 and bool,
 * in either byte order. f2 becomes float32; whole numbers that are neither int32 nor int64 become int64, in
 * which NumPy adds them, too. bool is uint8, which stays, as flags are; operand.h widens it where numbers
 * are wanted. */
#ifndef DAVIT_SRC_CLI_FORMATS_DTYPE_H
#define DAVIT_SRC_CLI_FORMATS_DTYPE_H

#include "src/cli/formats/array.h"
#include "src/cli/formats/input.h"

struct cli_dtype {
  const char *code; /* NumPy's: "f2", */
  const char *name; /* and "float16" */
  size_t bytes;     /* in the file */
  cli_type type;    /* in memory */
};

/* What a dtype is, for messages. */
#define CLI_DTYPES "f2 f4 f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8 b1"

/* Reads "f8", "<f8", ">i2", "|u1", "float64" … into array->type, array->file and array->swapped; false if it is
 * none. */
bool cli_dtype_parse(const char *text, cli_array *array);

/* Reads `count` elements of the array's file, converted to array->type. */
int cli_elements_read(cli_input *input, const cli_array *array, size_t count, void *elements);

/* Sets array->bytes by type and shape, and checks that as much is left in the file, where that is known. */
int cli_file_check(cli_input *input, cli_array *array);

/* Reads all elements, up to the end of the file. Who reads them by other means checks by cli_file_end() that
 * nothing follows. */
int cli_file_elements(cli_input *input, cli_array *array);
int cli_file_end(cli_input *input);

#endif
