/* Arrays of up to two dimensions, as the files hold them.
 *
 * Invariant: shape[0] * shape[1] elements; unused dimensions are 1 (a scalar has ndim 0, a vector ndim 1
 * and shape[1] = 1). `fortran` is the order of a matrix's elements: true for column-major. `data` holds
 * at least `bytes` bytes, and is NULL only if `bytes` is 0. */
#ifndef DAVIT_SRC_CLI_FORMATS_ARRAY_H
#define DAVIT_SRC_CLI_FORMATS_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cli_type { CLI_F4, CLI_F8, CLI_I4, CLI_I8, CLI_U1, CLI_TYPES } cli_type;

/* Where elements live. Pinned memory lets devices read at link speed; where it is short, plain memory is
 * taken instead. */
typedef enum cli_memory { CLI_MEMORY_PLAIN, CLI_MEMORY_PINNED } cli_memory;

typedef struct cli_array {
  cli_type type;
  int ndim;
  int64_t shape[2];
  bool fortran;
  void *data;
  size_t bytes;
  size_t capacity;   /* of the block behind `data` */
  cli_memory wanted; /* for blocks to come */
  cli_memory actual; /* of the block behind `data` */
} cli_array;

size_t cli_type_bytes(cli_type type);

/* NumPy's name: "float64". */
const char *cli_type_name(cli_type type);

/* An array of this shape, column-major, not initialised; freed by cli_array_free(). The empty array
 * {0} may be freed too. CLI_DEVICE when memory is short. */
int cli_array_create(cli_type type, int ndim, int64_t rows, int64_t cols, cli_memory memory,
                     cli_array *array);
void cli_array_free(cli_array *array);

/* Makes room for `capacity` bytes and keeps the first `used` of the old block. */
int cli_array_reserve(cli_array *array, size_t used, size_t capacity);

/* Bytes of rows × cols elements; false when they pass 2^63 - 1. */
bool cli_array_size(cli_type type, int64_t rows, int64_t cols, size_t *bytes);

int64_t cli_array_count(const cli_array *array);

/* Distance in elements between neighbours of one row and of one column. */
int64_t cli_array_row_stride(const cli_array *array);
int64_t cli_array_col_stride(const cli_array *array);

/* Re-orders a C-order matrix to column-major. */
int cli_array_to_fortran(cli_array *array);

/* Frobenius norm of a floating array, and of the difference of two with the same type and count; both
 * must have the same order. Sums are kept in long double, which neither overflows nor loses the tail. */
double cli_array_norm(const cli_array *array);
double cli_array_distance(const cli_array *a, const cli_array *b);

#endif
