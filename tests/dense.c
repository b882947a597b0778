/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/dense.h"

enum { DENSE_GUARD = 64 }; /* elements before and behind a matrix */

static dense image_new(davit_type type, int64_t rows, int64_t cols, int64_t ld, int shift) {
  const int parts = is_complex_type(type) ? 2 : 1;
  dense m = {.type = part_type(type), .parts = parts, .rows = parts * rows, .cols = cols, .ld = parts * ld};
  const size_t element = element_bytes(m.type);
  m.bytes = (size_t)(m.ld * cols + 2 * DENSE_GUARD) * element;
  m.start = (size_t)(DENSE_GUARD + parts * (shift % 4)) * element;
  m.image = kept(m.bytes);
  return m;
}

void dense_give(dense *m) {
  CHECK(davit_copy(m->bytes, m->image, m->there));
}

static dense place_image(dense m, int place, uint64_t seed) {
  for (int64_t j = 0; j < m.cols && seed != UNSET; j++)
    for (int64_t i = 0; i < m.rows; i++)
      dense_set(&m, i, j, 0.5 * random_unit(&seed));
  m.there = kept_at(m.bytes, place);
  dense_give(&m);
  return m;
}

dense dense_new(davit_type type, int64_t rows, int64_t cols, int64_t extra_ld, int shift, int place,
                uint64_t seed) {
  return place_image(image_new(type, rows, cols, (rows > 0 ? rows : 1) + extra_ld, shift), place, seed);
}

dense vector_new(davit_type type, int64_t n, int64_t inc, int place, uint64_t seed) {
  dense v = image_new(type, 1, n, llabs(inc), 0);
  v.backwards = inc < 0;
  return place_image(v, place, seed);
}

static wide value_of(const dense *m, const char *image, int64_t i, int64_t j) {
  const int64_t at = dense_index(m, m->parts * i, j);
  const long double real = (long double)element_at(m->type, image + m->start, at);
  return m->parts == 1 ? (wide)real
                       : __builtin_complex(real, (long double)element_at(m->type, image + m->start, at + 1));
}

wide dense_value(const dense *m, int64_t i, int64_t j) {
  return value_of(m, m->image, i, j);
}

wide dense_old_value(const dense *m, int64_t i, int64_t j) {
  return value_of(m, m->before, i, j);
}

void dense_put(dense *m, int64_t i, int64_t j, double real, double imaginary) {
  dense_set(m, m->parts * i, j, real);
  if (m->parts == 2)
    dense_set(m, 2 * i + 1, j, imaginary);
}

bool dense_as_image(const dense *m) {
  SCOPE;
  char *now = kept(m->bytes);
  CHECK(davit_copy(m->bytes, m->there, now));
  return memcmp(now, m->image, m->bytes) == 0;
}

void dense_take(dense *m) {
  char *before = m->image, *now = kept(m->bytes);
  CHECK(davit_copy(m->bytes, m->there, now));
  const size_t element = element_bytes(m->type), row = (size_t)m->rows * element,
               pitch = (size_t)m->ld * element, end = m->start + (size_t)m->cols * pitch;
  assert_memory_equal(now, before, m->start);
  for (size_t gap = m->start + row; gap < end; gap += pitch)
    assert_memory_equal(now + gap, before + gap, pitch - row);
  assert_memory_equal(now + end, before + end, m->bytes - end);
  m->before = before;
  m->image = now;
}
