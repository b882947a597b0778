/* Operands of the commands that take numbers of any type (float32, float64, int32, int64), and what their
 * --check compares with. */
#ifndef DAVIT_SRC_CLI_FORMATS_NUMERIC_H
#define DAVIT_SRC_CLI_FORMATS_NUMERIC_H

#include <davit/operator.h>

#include "src/cli/formats/array.h"

/* Reads numbers of any shape, or a vector (at most one dimension that is not 1), which becomes one of one
 * dimension. uint8 is refused. */
int cli_read_numbers(const char *path, cli_memory memory, cli_array *array);
int cli_read_number_vector(const char *path, cli_memory memory, cli_array *array);

/* Reads a uint8 vector as long as `of`, which was read from `of_path`. */
int cli_read_flags(const char *path, cli_memory memory, const char *of_path, const cli_array *of,
                   cli_array *flags);

/* Makes an array that was read from `path` one of one dimension, or says that it is no vector. */
int cli_to_vector(const char *path, cli_array *array);

/* The library's name of an array's elements, which are not uint8. */
davit_type cli_number_type(cli_type type);

bool cli_is_floating(cli_type type);

/* "sum", "prod", "min", "max"; NULL is sum. */
int cli_operator(const char *text, davit_operator *op);

/* One element. */
long double cli_number(const cli_array *array, int64_t index);
int64_t cli_integer(const cli_array *array, int64_t index);

/* Whether two elements are the same: NaN is NaN, zero is zero whatever its sign. What is the same has the difference 0. */
bool cli_same(long double a, long double b);
long double cli_difference(long double a, long double b);

/* cli_array_norm() of the finite elements, and cli_array_distance() with these differences: for operations in which a NaN or
 * an infinity reaches some results, and the others are to be checked. */
double cli_finite_norm(const cli_array *array);
double cli_distance(const cli_array *a, const cli_array *b);

/* How many elements of two arrays of one type and count are not the same. */
int64_t cli_differences(const cli_array *a, const cli_array *b);

/* Sums and products of floating elements in long double, one element after the other. A sum is compensated
 * (Neumaier 1974), so its own error does not grow with the number of terms. */
typedef struct cli_running {
  davit_operator op; /* DAVIT_SUM or DAVIT_PROD */
  int64_t terms;
  long double value;
  long double rest;      /* of a sum: what `value` has lost */
  long double magnitude; /* of a sum: the sum of the absolute values */
} cli_running;

cli_running cli_running_start(davit_operator op);
void cli_running_add(cli_running *running, long double x);

/* How far `found`, of `type`, is from the running value; 0 where the value is not finite in `type` and
 * `found` is the same, infinity where it is not. */
double cli_running_error(const cli_running *running, cli_type type, long double found);

/* What the error may be: of a sum 2 eps `depth` sum |x_i|, of a product of n terms n eps |value|, and the
 * least normal number where it may have been lost to underflow. `depth` is how many additions an element goes
 * through at most. */
double cli_running_bound(const cli_running *running, cli_type type, double depth);

#endif
