/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of matrix routines share: matrices and strided vectors of either floating type at any place,
 * between guard zones. All that is no element (guard zones, gaps between columns or strided elements) is NaN;
 * dense_take() compares it bytewise. */
#ifndef DAVIT_TESTS_DENSE_H
#define DAVIT_TESTS_DENSE_H

#include "tests/elements.h"

/* An image on the host, and the same at a place; the matrix begins at `start` of both. */
typedef struct dense {
  davit_type type;
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

/* Frobenius' norm; and the bound of SLATE's testers for that of the error of C = alpha A B + beta C, k the
 * length of the sums: 3 eps (sqrt(k + 2) |alpha| |A| |B| + 2 |beta| |C|). */
double dense_norm(const dense *m);
double product_bound(int64_t k, double alpha, const dense *a, const dense *b, double beta, const dense *c);

static inline void *dense_image(const dense *m) {
  return m->image + m->start;
}

static inline void *dense_there(const dense *m) {
  return m->there + m->start;
}

static inline int64_t dense_index(const dense *m, int64_t i, int64_t j) {
  return i + (m->backwards ? m->cols - 1 - j : j) * m->ld;
}

static inline double dense_at(const dense *m, int64_t i, int64_t j) {
  return element_at(m->type, dense_image(m), dense_index(m, i, j));
}

/* Before dense_take(). */
static inline double dense_was(const dense *m, int64_t i, int64_t j) {
  return element_at(m->type, m->before + m->start, dense_index(m, i, j));
}

static inline void dense_set(dense *m, int64_t i, int64_t j, double value) {
  element_set(m->type, dense_image(m), dense_index(m, i, j), value);
}

/* Whether the place holds the image, to the last byte. */
bool dense_as_image(const dense *m);

/* The place becomes what the image is. */
void dense_give(dense *m);

/* The image becomes what lies at the place; nothing but the matrix's elements may have changed. */
void dense_take(dense *m);

/* A routine under test. make() makes the operands of a case at places, call() calls it on the queue, or
 * without one over the devices, and expect() compares what it left. */
enum { MAX_OPERANDS = 4 };
typedef struct routine {
  int operands, outputs; /* the outputs are the last operands */
  void (*make)(const void *c, const int places[MAX_OPERANDS], dense *o);
  davit_status (*call)(const void *c, const dense *o, davit_queue *queue, const int *devices, int count);
  void (*expect)(const void *c, dense *o);
} routine;
extern const int pageable[MAX_OPERANDS];

void run_on_queue(const routine *r, const void *c, int device);
void run_spread(const routine *r, const void *c, const int places[MAX_OPERANDS], const int *devices,
                int count);

/* A hundred times on a queue: the same bits in all outputs. */
void same_bits_again(const routine *r, const void *c, int device);

/* On all devices with every failure (elements.h); then the result is right. */
void fail_routine(const routine *r, const void *c);

/* Where operands of the plain forms may lie: pageable, pinned, the first device and the last. */
enum { DENSE_PLACES = 4 };
int dense_place(int which);

#endif
