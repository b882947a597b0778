/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/dense.h"

enum { DENSE_GUARD = 24 }; /* elements before and behind a matrix */

static dense image_new(davit_type type, int64_t rows, int64_t cols, int64_t ld, int shift) {
  const size_t element = davit_type_bytes(type);
  dense m = {.type = type, .rows = rows, .cols = cols, .ld = ld};
  m.bytes = (size_t)(ld * cols + 2 * DENSE_GUARD) * element;
  m.start = (size_t)(DENSE_GUARD + shift % 4) * element;
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

double dense_norm(const dense *m) {
  long double squares = 0;
  for (int64_t j = 0; j < m->cols; j++)
    for (int64_t i = 0; i < m->rows; i++)
      squares += (long double)dense_at(m, i, j) * (long double)dense_at(m, i, j);
  return (double)sqrtl(squares);
}

double product_bound(int64_t k, double alpha, const dense *a, const dense *b, double beta, const dense *c) {
  const double ab = alpha == 0 ? 0 : dense_norm(a) * dense_norm(b), c0 = beta == 0 ? 0 : dense_norm(c);
  return 3 * element_epsilon(c->type) * (sqrt((double)k + 2) * fabs(alpha) * ab + 2 * fabs(beta) * c0);
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
  const size_t element = davit_type_bytes(m->type), row = (size_t)m->rows * element,
               pitch = (size_t)m->ld * element, end = m->start + (size_t)m->cols * pitch;
  assert_memory_equal(now, before, m->start);
  for (size_t gap = m->start + row; gap < end; gap += pitch)
    assert_memory_equal(now + gap, before + gap, pitch - row);
  assert_memory_equal(now + end, before + end, m->bytes - end);
  m->before = before;
  m->image = now;
}

int dense_place(int which) {
  int places[MAX_PLACES], count = all_places(places);
  return places[which < 2 ? which : which == 2 ? (count > 2 ? 2 : 0) : count - 1];
}

/* ---- routines ---- */

const int pageable[] = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE};

static void make_for(const routine *r, const void *c, int device, dense *o) {
  const int place = place_for(device);
  r->make(c, (int[]){place, place, place, place}, o);
}

void run_on_queue(const routine *r, const void *c, int device) {
  SCOPE;
  dense o[MAX_OPERANDS];
  make_for(r, c, device, o);
  davit_queue *queue = new_queue(device, 1);
  CHECK(r->call(c, o, queue, NULL, 0));
  finish(queue);
  r->expect(c, o);
}

void run_spread(const routine *r, const void *c, const int places[MAX_OPERANDS], const int *devices,
                int count) {
  SCOPE;
  dense o[MAX_OPERANDS];
  r->make(c, places, o);
  CHECK(r->call(c, o, NULL, devices, count));
  r->expect(c, o);
}

void same_bits_again(const routine *r, const void *c, int device) {
  SCOPE;
  dense o[MAX_OPERANDS];
  make_for(r, c, device, o);
  davit_queue *queue = new_queue(device, 1);
  for (int n = 0; n < 100; n++) {
    for (int i = r->operands - r->outputs; i < r->operands; i++)
      CHECK(davit_queue_fill(queue, o[i].bytes, 0xff, o[i].there));
    CHECK(r->call(c, o, queue, NULL, 0));
    CHECK(davit_queue_synchronize(queue));
    if (n == 0)
      r->expect(c, o);
    for (int i = r->operands - r->outputs; i < r->operands; i++)
      assert_true(dense_as_image(&o[i]));
  }
  finish(queue);
}

typedef struct attempt {
  const routine *r;
  const void *c;
  dense o[MAX_OPERANDS];
} attempt;

static davit_status spread_over_all(void *argument) {
  const attempt *t = argument;
  int devices[MAX_PLACES], count = plain_devices(devices);
  return t->r->call(t->c, t->o, NULL, devices, count);
}

void fail_routine(const routine *r, const void *c) {
  attempt t = {.r = r, .c = c};
  r->make(c, pageable, t.o);
  fail_everywhere(spread_over_all, &t);
  r->expect(c, t.o);
}
