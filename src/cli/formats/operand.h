/* Operands of the BLAS commands. */
#ifndef DAVIT_SRC_CLI_FORMATS_OPERAND_H
#define DAVIT_SRC_CLI_FORMATS_OPERAND_H

#include "src/cli/formats/array.h"
#include "src/cli/frame/options.h"

/* Runs a macro for the prefix and the type of each precision. */
#define CLI_FOR_PRECISIONS(X)                                                                                \
  X(d, double)                                                                                               \
  X(s, float)

/* A matrix as BLAS takes it. A C-order matrix is the transpose of the column-major matrix that lies at the
 * same place, so no element moves: `rows`, `cols` and `ld` are those of the latter, and `trans` makes up
 * for it. op_rows × op_cols is the shape of op(A). */
typedef struct cli_operand {
  char trans;
  int64_t rows, cols, ld;
  int64_t op_rows, op_cols;
} cli_operand;

cli_operand cli_operand_of(const cli_array *array, bool transposed);

/* Reads a matrix (two dimensions), or a vector (at most one dimension that is not 1). The elements must be
 * float64 or float32, and those of *like if it is not NULL. */
int cli_read_matrix(const char *path, cli_memory memory, const cli_array *like, cli_array *array);
int cli_read_vector(const char *path, cli_memory memory, const cli_array *like, cli_array *array);

/* Says that the array read from `path` does not fit: its shape, and what was expected. */
int cli_shape_fail(const char *path, const cli_array *array, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The option's value or `fallback`; a finite one must be finite in `type` too. */
int cli_scalar(const cli_real *option, const char *name, cli_type type, double fallback, double *value);

/* Distance from 1 to the next number. */
double cli_epsilon(cli_type type);

/* The least normal number: what a result may lose to underflow. */
double cli_least(cli_type type);

/* Copies one array of floating elements over another of the same type and count, or zeros if `from` is
 * NULL. */
void cli_restore(cli_array *to, const cli_array *from);

#endif
