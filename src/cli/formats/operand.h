/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of the commands: arrays of the types and shapes that an operation takes.
 *
 * Each reader refuses other types and shapes: it reports the file, what was expected and what was found, and
 * returns CLI_INPUT. A vector has one dimension, or two of which one is 1; it comes back with one. Where a
 * part can be asked for, NULL is all, and of numbers the part is one of elements, with one dimension. */
#ifndef DAVIT_SRC_CLI_FORMATS_OPERAND_H
#define DAVIT_SRC_CLI_FORMATS_OPERAND_H

#include "src/cli/formats/part.h"

/* Runs a macro for the prefix and the type of each precision, and of complex numbers too. */
#define CLI_FOR_PRECISIONS(X)                                                                                \
  X(d, double)                                                                                               \
  X(s, float)
#define CLI_FOR_FIELDS(X)                                                                                    \
  CLI_FOR_PRECISIONS(X)                                                                                      \
  X(z, double _Complex)                                                                                      \
  X(c, float _Complex)

/* Calls name_d, name_s, name_z or name_c. */
#define CLI_CALL_FIELD(type, name, ...)                                                                      \
  ((type) == CLI_F8    ? name##_d(__VA_ARGS__)                                                               \
   : (type) == CLI_F4  ? name##_s(__VA_ARGS__)                                                               \
   : (type) == CLI_C16 ? name##_z(__VA_ARGS__)                                                               \
                       : name##_c(__VA_ARGS__))

/* Whether complex numbers are read, or refused. */
typedef enum cli_field { CLI_REAL_NUMBERS, CLI_COMPLEX_NUMBERS } cli_field;

/* A matrix as BLAS takes it. A C-order matrix is the transpose of the column-major matrix in the same
 * memory, so no element moves: `rows`, `cols` and `ld` are those of the latter, and `trans` makes up for it.
 * op_rows × op_cols is the shape of op(A). */
typedef struct cli_operand {
  char trans;
  int64_t rows, cols, ld;
  int64_t op_rows, op_cols;
} cli_operand;

cli_operand cli_operand_of(const cli_array *array, bool transposed);

/* Float64 or float32, complex128 or complex64 where the field has them, and the type of *like if it is not
 * NULL. Whole numbers become that type, else float64. `reading` as for cli_array_read(). */
int cli_read_matrix(cli_field field, const char *path, const cli_reading *reading, cli_memory memory,
                    const cli_array *like, cli_part *part, cli_array *array);
int cli_read_vector(cli_field field, const char *path, const cli_reading *reading, cli_memory memory,
                    const cli_array *like, cli_array *array);

/* The same, with a length. */
int cli_read_vector_of(cli_field field, int64_t length, const char *path, const cli_reading *reading,
                       cli_memory memory, const cli_array *like, cli_array *array);

/* Float64, float32, int64 or int32, complex numbers where the field has them, of any shape or a vector;
 * uint8 and bool become int64. */
int cli_read_numbers(cli_field field, const char *path, const cli_reading *reading, cli_memory memory,
                     cli_part *part, cli_array *array);
int cli_read_number_vector(cli_field field, const char *path, const cli_reading *reading, cli_memory memory,
                           cli_part *part, cli_array *array);

/* A uint8 vector of this length, that of the vector in `of_path`; from text whole numbers, which become 0 and
 * 1. */
int cli_read_flags(const char *path, const cli_reading *reading, cli_memory memory, const char *of_path,
                   int64_t length, cli_part *part, cli_array *flags);

/* Flops of a multiplication and an addition. */
static inline double cli_flops(cli_type type) {
  return cli_is_complex(type) ? 8 : 2;
}

/* Checks that the value of the option --`name`, if it is finite, is finite in `type` too, and real if
 * `type` is; else CLI_USAGE. */
int cli_check_scalar(const char *name, double _Complex value, cli_type type);

#endif
