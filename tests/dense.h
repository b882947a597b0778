/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of matrix routines share: matrices and strided vectors of either floating type at any place,
 * between guard zones. All that is no element (guard zones, gaps between columns or strided elements) is NaN;
 * dense_take() compares it bytewise. */
#ifndef DAVIT_TESTS_DENSE_H
#define DAVIT_TESTS_DENSE_H

#include "tests/elements.h"

#include <complex.h>

/* An image on the host, and the same at a place; the matrix begins at `start` of both. */
typedef struct dense {
  davit_type type; /* of a complex matrix that of its parts */
  int parts;       /* 2: complex, stored as a real matrix of twice the rows */
  int64_t rows, cols, ld;
  bool backwards; /* column j lies at that of cols - 1 - j: a vector with a negative increment */
  size_t bytes, start;
  char *image, *there, *before; /* `before`: the image that dense_take() replaced */
} dense;

/* Random elements in [-0.5, 0.5), or NaN where the seed is UNSET. The matrix starts `shift` elements behind a
 * multiple of 16 bytes. */
enum { UNSET = 0 };
dense dense_new(davit_type type, int64_t rows, int64_t cols, int64_t extra_ld, int shift, int place,
                uint64_t seed);

/* A vector as BLAS counts it: 1 x n, with |inc| as the leading dimension. */
dense vector_new(davit_type type, int64_t n, int64_t inc, int place, uint64_t seed);

static inline void *dense_image(const dense *m) {
  return m->image + m->start;
}

static inline void *dense_there(const dense *m) {
  return m->there + m->start;
}

/* As the routines count it. */
static inline int64_t dense_ld(const dense *m) {
  return m->ld / m->parts;
}

static inline int64_t dense_index(const dense *m, int64_t i, int64_t j) {
  return i + (m->backwards ? m->cols - 1 - j : j) * m->ld;
}

static inline double dense_at(const dense *m, int64_t i, int64_t j) {
  return element_at(m->type, dense_image(m), dense_index(m, i, j));
}

static inline void dense_set(dense *m, int64_t i, int64_t j, double value) {
  element_set(m->type, dense_image(m), dense_index(m, i, j), value);
}

/* Element (i, j), real or complex, as it is and, after dense_take(), as it was. */
wide dense_value(const dense *m, int64_t i, int64_t j);
wide dense_old_value(const dense *m, int64_t i, int64_t j);
void dense_put(dense *m, int64_t i, int64_t j, double real, double imaginary);

/* Whether the place holds the image, to the last byte. */
bool dense_as_image(const dense *m);

/* The place becomes what the image is. */
void dense_give(dense *m);

/* The image becomes what lies at the place; nothing but the matrix's elements may have changed. */
void dense_take(dense *m);

#endif
