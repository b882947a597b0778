/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of the commands: arrays of the types and shapes that an operation takes. */
#ifndef DAVIT_SRC_CLI_FORMATS_OPERAND_H
#define DAVIT_SRC_CLI_FORMATS_OPERAND_H

#include "src/cli/formats/part.h"

/* CALL(p, T), a macro, for the prefix and the type of a precision, or of complex numbers too. */
#define CLI_OF_PRECISION(type, CALL) ((type) == CLI_F8 ? CALL(d, double) : CALL(s, float))
#define CLI_OF_FIELD(type, CALL)                                                                             \
  ((type) == CLI_C16  ? CALL(z, double _Complex)                                                             \
   : (type) == CLI_C8 ? CALL(c, float _Complex)                                                              \
                      : CLI_OF_PRECISION(type, CALL))

/* The numbers that an operand may have. Floating ones are of the first operand's type, as are whole numbers then; in
 * the first operand whole numbers become float64. */
typedef enum cli_numbers {
  CLI_NUMBERS_FIELD,    /* float64, float32, complex128 or complex64 */
  CLI_NUMBERS_FLOATING, /* float64 or float32 */
  CLI_NUMBERS_REAL,     /* float64, float32, int64 or int32; uint8 and bool become int64 */
  CLI_NUMBERS_ANY,      /* the same and complex numbers, in an array of any shape */
  CLI_NUMBERS_HEADS     /* uint8, not 0 where a segment begins; in text whole numbers, which become 0 and 1 */
} cli_numbers;

/* --trans: op(A) is A, its transpose, or the conjugate of that. */
enum { CLI_NOT_TRANSPOSED, CLI_TRANSPOSED, CLI_CONJUGATED };

/* A matrix as BLAS takes it. A C-order matrix is the transpose of the column-major matrix in the same
 * memory, so no element moves: `rows`, `cols` and `ld` are those of the latter, and `trans` makes up for it.
 * op_rows × op_cols is the shape of op(A). */
typedef struct cli_operand {
  char trans;
  int64_t rows, cols, ld;
  int64_t op_rows, op_cols;
} cli_operand;

cli_operand cli_operand_of(const cli_array *array, bool transposed);

/* Reads an array of so many dimensions, 0: any, or a part of it (NULL: all). Others, and other numbers, are refused:
 * CLI_INPUT after a message with the file, what was expected and what was found. A vector has one dimension, or
 * two of which one is 1; it comes back with one. `like`: the first operand, or NULL. */
int cli_operand_read(cli_numbers numbers, int dimensions, const char *path, const cli_reading *reading,
                     cli_memory memory, const cli_array *like, cli_part *part, cli_array *array);

/* Flops of a multiplication and an addition. */
static inline double cli_flops(cli_type type) {
  return cli_is_complex(type) ? 8 : 2;
}

/* Checks that the value of the option --`name`, if it is finite, is finite in `type` too, and real if
 * `type` is; else CLI_USAGE. */
int cli_check_scalar(const char *name, double _Complex value, cli_type type);

#endif
