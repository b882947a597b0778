/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of the commands: arrays of the types and shapes that an operation takes.
 *
 * Each reader refuses other types and shapes: it reports the file, what was expected and what was found, and
 * returns CLI_INPUT. A vector has one dimension, or two of which one is 1; it comes back with one. Where a
 * part can be asked for, NULL is all, and of numbers the part is one of elements, with one dimension. */
#ifndef DAVIT_SRC_CLI_FORMATS_OPERAND_H
#define DAVIT_SRC_CLI_FORMATS_OPERAND_H

#include "src/cli/formats/part.h"

/* Runs a macro for the prefix and the type of each precision. */
#define CLI_FOR_PRECISIONS(X)                                                                                \
  X(d, double)                                                                                               \
  X(s, float)

/* A matrix as BLAS takes it. A C-order matrix is the transpose of the column-major matrix in the same
 * memory, so no element moves: `rows`, `cols` and `ld` are those of the latter, and `trans` makes up for it.
 * op_rows × op_cols is the shape of op(A). */
typedef struct cli_operand {
  char trans;
  int64_t rows, cols, ld;
  int64_t op_rows, op_cols;
} cli_operand;

cli_operand cli_operand_of(const cli_array *array, bool transposed);

/* Float64 or float32, and the type of *like if it is not NULL. `raw` as for cli_array_read(). */
int cli_read_matrix(const char *path, const cli_raw *raw, cli_memory memory, const cli_array *like,
                    cli_part *part, cli_array *array);
int cli_read_vector(const char *path, cli_memory memory, const cli_array *like, cli_array *array);

/* The same, with a length. */
int cli_read_vector_of(int64_t length, const char *path, cli_memory memory, const cli_array *like,
                       cli_array *array);

/* Float64, float32, int64 or int32, of any shape or a vector; uint8 and bool become int64. */
int cli_read_numbers(const char *path, const cli_raw *raw, cli_memory memory, cli_part *part,
                     cli_array *array);
int cli_read_number_vector(const char *path, const cli_raw *raw, cli_memory memory, cli_part *part,
                           cli_array *array);

/* A uint8 vector of this length, that of the vector in `of_path`. */
int cli_read_flags(const char *path, cli_memory memory, const char *of_path, int64_t length, cli_part *part,
                   cli_array *flags);

/* Checks that the value of the option --`name`, if it is finite, is finite in `type` too; else CLI_USAGE. */
int cli_check_scalar(const char *name, double value, cli_type type);

#endif
