/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of real and complex elements, and the three forms of an operation on them (offload/blas.h). Sums are compared
 * in long double. What must not be read is NaN. */
#ifndef DAVIT_TESTS_VECTORS_H
#define DAVIT_TESTS_VECTORS_H

#include "tests/dense.h"

#include <complex.h>

#include "offload/blas.h"

typedef long double _Complex wide;

/* A vector of either kind: a matrix of one row, or of a real and an imaginary row. */
typedef struct vector {
  dense d;
  davit_type type;
  int64_t n, inc;
} vector;

bool is_complex_type(davit_type type);
davit_type part_type(davit_type type);

/* As dense_new(). */
vector vector_at(davit_type type, int64_t n, int64_t inc, int place, uint64_t seed);

/* Element i, as it is or as it was. */
wide vector_element(const vector *v, int64_t i, bool was);
long double vector_epsilon(davit_type type);

/* A scalar that is exact in float, complex for complex types. */
double _Complex vector_factor(davit_type type);

void expect_element(const vector *v, int64_t i, wide right, long double size);
void close_to(double is, long double right, long double eps);

/* ---- forms ---- */

enum { HOST, REGION, STREAM, FORMS };
bool form_available(int form);
void perform_form(const dvt_form forms[FORMS], int form, const void *arguments);
#define EACH_FORM(form)                                                                                      \
  for (int form = 0; form < FORMS; form++)                                                                   \
    if (form_available(form))
#define PLACE(form) ((form) == HOST ? DAVIT_PAGEABLE : 0)

/* Between them there is a stream, where the device has any. */
void open_forms(void);
void close_forms(void);

/* The types and increments that are tried. */
enum { VECTOR_TYPES = 4, VECTOR_INCREMENTS = 4 };
extern const davit_type vector_types[VECTOR_TYPES];
extern const int64_t vector_increments[VECTOR_INCREMENTS];

/* Does the work with every type, size and increment. */
void each_vector(void (*work)(davit_type type, int64_t n, int64_t inc));

/* ---- calls ---- */

enum { LONG_VECTOR = (1 << 20) + 1234 };

/* Up to four devices, or the host where there are none; how many. */
int some_devices(int devices[4]);

#endif
