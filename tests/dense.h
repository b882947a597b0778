/* What the tests of the dense kernels share: matrices of either type between guard zones, at any place, and a scenario
 * walked through all its failures. */
#ifndef DAVIT_TESTS_DENSE_H
#define DAVIT_TESTS_DENSE_H

#include "tests/support.h"

#include <float.h>
#include <math.h>

#include "src/base/inject.h"

enum { DENSE_GUARD = 24 }; /* elements before and behind a matrix */

/* An image on the host, and the same at a place; the matrix begins at `start` of both. */
typedef struct dense {
  davit_type type;
  int64_t rows, cols, ld;
  size_t bytes, start;
  char *image, *there;
} dense;

static inline size_t dense_element(davit_type type) {
  return type == DAVIT_DOUBLE ? sizeof(double) : sizeof(float);
}

static inline double dense_epsilon(davit_type type) {
  return type == DAVIT_DOUBLE ? DBL_EPSILON : (double)FLT_EPSILON;
}

static inline void *dense_image(const dense *m) {
  return m->image + m->start;
}

static inline void *dense_there(const dense *m) {
  return m->there + m->start;
}

static inline double dense_at(const dense *m, int64_t i, int64_t j) {
  const void *image = dense_image(m);
  return m->type == DAVIT_DOUBLE ? ((const double *)image)[i + j * m->ld]
                                 : (double)((const float *)image)[i + j * m->ld];
}

static inline void dense_set(dense *m, int64_t i, int64_t j, double value) {
  void *image = dense_image(m);
  if (m->type == DAVIT_DOUBLE)
    ((double *)image)[i + j * m->ld] = value;
  else
    ((float *)image)[i + j * m->ld] = (float)value;
}

/* The image goes to its place. */
static inline void dense_send(dense *m) {
  CHECK(davit_copy(m->bytes, m->image, m->there));
}

/* The image becomes what lies at the place. */
static inline void dense_fetch(dense *m) {
  CHECK(davit_copy(m->bytes, m->there, m->image));
}

/* NaNs, gaps and guard zones included. The matrix starts `shift` elements behind a multiple of 16 bytes. */
static inline dense dense_new(davit_type type, int64_t rows, int64_t cols, int64_t extra_ld, int shift,
                              int place) {
  dense m = {.type = type, .rows = rows, .cols = cols, .ld = (rows > 0 ? rows : 1) + extra_ld};
  m.bytes = (size_t)(m.ld * cols + 2 * DENSE_GUARD) * dense_element(type);
  m.start = (size_t)(DENSE_GUARD + shift % 4) * dense_element(type);
  m.image = malloc(m.bytes);
  assert_non_null(m.image);
  memset(m.image, 0xff, m.bytes);
  m.there = new_memory(m.bytes, place);
  dense_send(&m);
  return m;
}

/* The same with elements in [-0.5, 0.5). */
static inline dense dense_random(davit_type type, int64_t rows, int64_t cols, int64_t extra_ld, int shift,
                                 int place, uint64_t seed) {
  dense m = dense_new(type, rows, cols, extra_ld, shift, place);
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = 0; i < rows; i++)
      dense_set(&m, i, j, (double)(next_random(&seed) >> 11) * 0x1p-53 - 0.5);
  dense_send(&m);
  return m;
}

static inline void dense_drop(dense *m) {
  CHECK(davit_free(m->there));
  free(m->image);
}

/* Whether the place holds the image, to the last byte. */
static inline bool dense_as_image(const dense *m) {
  char *now = malloc(m->bytes);
  assert_non_null(now);
  CHECK(davit_copy(m->bytes, m->there, now));
  bool same = memcmp(now, m->image, m->bytes) == 0;
  free(now);
  return same;
}

/* The image becomes what lies at the place; nothing but the matrix's elements may have changed. */
static inline void dense_take(dense *m) {
  char *before = malloc(m->bytes);
  assert_non_null(before);
  memcpy(before, m->image, m->bytes);
  dense_fetch(m);
  size_t element = dense_element(m->type), row = (size_t)m->rows * element, pitch = (size_t)m->ld * element;
  assert_memory_equal(m->image, before, m->start);
  for (int64_t j = 0; j < m->cols; j++) {
    size_t end = m->start + (size_t)j * pitch + row;
    assert_memory_equal(m->image + end, before + end, pitch - row);
  }
  size_t end = m->start + (size_t)m->cols * pitch;
  assert_memory_equal(m->image + end, before + end, m->bytes - end);
  free(before);
}

/* Where the operands of the plain forms may lie: pageable, pinned, the first device and the last. */
static inline int dense_place(int which) {
  int places[MOST_PLACES], count = all_places(places);
  return places[which < 2 ? which : which == 2 ? (count > 2 ? 2 : 0) : count - 1];
}

/* Lets every allocation, enqueue and command of a scenario fail in turn; each failure has a sentence. */
static inline void dense_fail_everywhere(davit_status (*scenario)(void *argument), void *argument) {
  enum { MOST = 3000 };
  for (int kind = 0; kind < DVT_INJECTIONS; kind++) {
    bool armed = false;
    for (int n = 1; !armed; n++) {
      assert_true(n < MOST);
      CHECK(davit_finalize());
      dvt_error_clear();
      dvt_inject((dvt_injection)kind, n);
      davit_status status = scenario(argument);
      for (int i = 0; i < n && !armed; i++)
        armed = dvt_injected((dvt_injection)kind);
      dvt_inject((dvt_injection)kind, 0);
      assert_true(status == DAVIT_SUCCESS || (!armed && *davit_last_error()));
    }
  }
}

static inline int dense_stop(void **state) {
  (void)state;
  return davit_finalize() == DAVIT_SUCCESS ? 0 : -1;
}

#endif
