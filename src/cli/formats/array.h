/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays, as the files hold them.
 *
 * Invariant: as many elements as the first `ndim` numbers of `shape`, and at least the first two, multiply
 * to; those are 1 where they are no dimensions (a scalar has ndim 0, a vector ndim 1 and shape[1] = 1).
 * `fortran` is the order of the elements: true where the first dimension's are neighbours (column-major).
 * `data` holds at least `bytes` bytes, and is NULL only if `bytes` is 0. */
#ifndef DAVIT_SRC_CLI_FORMATS_ARRAY_H
#define DAVIT_SRC_CLI_FORMATS_ARRAY_H

#include <davit/operator.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum cli_type { CLI_F4, CLI_F8, CLI_C8, CLI_C16, CLI_I4, CLI_I8, CLI_U1, CLI_TYPES } cli_type;

/* The memory of elements. Devices read pinned memory at link speed; if it is short, plain memory is taken
 * instead. */
typedef enum cli_memory { CLI_MEMORY_PLAIN, CLI_MEMORY_PINNED } cli_memory;

enum { CLI_DIMS = 32 };

/* How an element lies in a file: dtype.h. */
typedef struct cli_dtype cli_dtype;

typedef enum cli_decimal { CLI_DECIMAL_POINT, CLI_DECIMAL_COMMA } cli_decimal;
typedef enum cli_missing { CLI_MISSING_REFUSE, CLI_MISSING_SKIP } cli_missing;

/* How a file is read, in the words of the options. What a file without a header contains: no dtype: it has a
 * header; no shape: a vector of all that is there. What CSV has: the decimal mark, and whether lines with
 * missing values are refused or left out. {0} is the default. */
typedef struct cli_reading {
  const char *dtype, *shape;
  cli_decimal decimal;
  cli_missing missing;
} cli_reading;

/* The same for another operand than the first, which alone has a dtype and a shape. */
static inline cli_reading cli_reading_of_other(const cli_reading *first) {
  return (cli_reading){.decimal = first->decimal, .missing = first->missing};
}

typedef struct cli_array {
  cli_type type;
  int ndim;
  int64_t shape[CLI_DIMS];
  bool fortran;
  void *data;
  size_t bytes;
  size_t capacity;       /* of the block behind `data` */
  cli_memory wanted;     /* for blocks to come */
  cli_memory actual;     /* of the block behind `data` */
  const cli_dtype *file; /* while elements are read: their type in the file, */
  bool swapped;          /* and whether their bytes are in the other order */
} cli_array;

size_t cli_type_bytes(cli_type type);

/* NumPy's name: "float64". */
const char *cli_type_name(cli_type type);

/* The library's name; there is none for uint8. */
davit_type cli_number_type(cli_type type);

/* Real and floating; complex; neither. */
bool cli_is_floating(cli_type type);
bool cli_is_complex(cli_type type);
bool cli_is_integer(cli_type type);

/* Of a floating type, or of the parts of a complex one: distance from 1 to the next number; the smallest
 * normal number, which a result may lose to underflow; the largest finite number. */
double cli_epsilon(cli_type type);
double cli_smallest(cli_type type);
double cli_largest(cli_type type);

/* An array of this shape, column-major, not initialised; freed by cli_array_free(). The empty array
 * {0} may be freed too. CLI_DEVICE when memory is short. */
int cli_array_create(cli_type type, int ndim, int64_t rows, int64_t cols, cli_memory memory,
                     cli_array *array);

/* The same with the dimensions and the order of another array, which has no elements yet or others. */
int cli_array_create_like(cli_type type, const cli_array *like, cli_memory memory, cli_array *array);
void cli_array_free(cli_array *array);

/* Makes room for `capacity` bytes and keeps the first `used` of the old block. */
int cli_array_reserve(cli_array *array, size_t used, size_t capacity);

/* Sets `bytes` by type and shape; false when they pass 2^63 - 1. */
bool cli_array_size(cli_array *array);

/* The shape in words: "a scalar", "a vector of 3", "2 x 3 x 4". */
enum { CLI_SHAPE_TEXT = 256 };
void cli_shape_text(const cli_array *array, char text[static CLI_SHAPE_TEXT]);

int64_t cli_array_count(const cli_array *array);

/* Count times `unit`; false when it passes 2^63 - 1. */
bool cli_array_product(const cli_array *array, size_t unit, int64_t *product);

/* Of a matrix: distance in elements between neighbours of one row and of one column. */
int64_t cli_array_row_stride(const cli_array *array);
int64_t cli_array_col_stride(const cli_array *array);

/* Transposes a C-order matrix. */
void cli_transpose(cli_type type, int64_t rows, int64_t cols, const void *from, void *to);

/* Re-orders a C-order matrix to column-major; and an array to C order. */
int cli_array_to_fortran(cli_array *array);
int cli_array_to_c(cli_array *array);

/* The place in memory of element `number` in C order. */
int64_t cli_array_place(const cli_array *array, int64_t number);

/* The parts of a complex array as a vector of reals in the same memory, real and imaginary in turn; another
 * array is its own. */
cli_array cli_array_parts(const cli_array *array);

/* One element: cli_number() if it is real, cli_integer() if it is a whole number. */
long double cli_number(const cli_array *array, int64_t index);
int64_t cli_integer(const cli_array *array, int64_t index);
long double _Complex cli_element(const cli_array *array, int64_t index);

/* Writes one element as text, complex ones as Python does, 1+2j, with so many digits. As fprintf(). */
int cli_element_write(FILE *file, const cli_array *array, int64_t index, int digits);

/* Reads 2, 2j or 1+2j into the two parts, as strtod() reads each; false if something else is there. */
bool cli_parse_complex(const char *text, double parts[static 2]);

/* The digits that give the same number back when they are read. */
int cli_type_digits(cli_type type);

/* Replaces complex elements by their conjugates. */
void cli_array_conjugate(cli_array *array);

/* Frees the array, and puts another in its place. */
void cli_array_replace(cli_array *array, const cli_array *with);

/* Copies the elements of an array of the same type and count, or writes zeros if `from` is NULL. */
void cli_restore(cli_array *to, const cli_array *from);

/* CLI_INPUT, with a message, if the array read from `path` is not float64 or float32. */
int cli_check_floating(const char *path, const cli_array *array);

/* Turns the elements into `type`, uint8 being 0 or 1. CLI_INPUT if one, read from `path` (NULL: it is rounded), is not
 * a number of that type. */
int cli_array_convert(const char *path, cli_type type, cli_array *array);

/* The same of whole numbers alone; `type` is floating or complex. */
int cli_array_to_floating(const char *path, cli_type type, cli_array *array);

/* Reports that the array read from `path` does not fit: what was expected, and its shape. CLI_INPUT. */
int cli_shape_fail(const char *path, const cli_array *array, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
