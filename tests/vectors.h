/* SPDX-License-Identifier: Apache-2.0 */
/* The three forms of an operation on vectors (offload/blas.h), and the vectors that they are tried with. */
#ifndef DAVIT_TESTS_VECTORS_H
#define DAVIT_TESTS_VECTORS_H

#include "tests/dense.h"

#include "offload/blas.h"

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

#endif
