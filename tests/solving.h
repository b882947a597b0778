/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of factorisations share: calls by type, matrices as complex numbers on the host, errors as LAPACK's
 * testers measure them, devices with blocks and slabs. */
#ifndef DAVIT_TESTS_SOLVING_H
#define DAVIT_TESTS_SOLVING_H

#include <dlfcn.h>

#include "src/base/arithmetic.h"
#include "tests/dense.h"

#pragma STDC CX_LIMITED_RANGE ON

static const davit_type types[] = {DAVIT_DOUBLE, DAVIT_FLOAT, DAVIT_COMPLEX_DOUBLE, DAVIT_COMPLEX_FLOAT};

/* The routine of a type: BY_TYPE(type, davit_queue_, getrf, …); the second one has another name for complex types. */
#define BY_TYPE(type, form, stem, ...) BY_KIND(type, form, stem, stem, __VA_ARGS__)
#define BY_KIND(type, form, real, hermitian, ...)                                                            \
  ((type) == DAVIT_DOUBLE           ? form##d##real(__VA_ARGS__)                                             \
   : (type) == DAVIT_FLOAT          ? form##s##real(__VA_ARGS__)                                             \
   : (type) == DAVIT_COMPLEX_DOUBLE ? form##z##hermitian(__VA_ARGS__)                                        \
                                    : form##c##hermitian(__VA_ARGS__))

static inline double epsilon_of(davit_type type) {
  return type == DAVIT_DOUBLE || type == DAVIT_COMPLEX_DOUBLE ? 0x1p-53 : 0x1p-24;
}

static inline int64_t least_of(int64_t m, int64_t n) {
  return m < n ? m : n;
}

/* ---- matrices on the host, without gaps between columns ---- */

typedef double _Complex number;

static inline number *numbers(int64_t rows, int64_t cols) {
  return kept_zeros((size_t)(rows * cols + 1) * sizeof(number));
}

static inline number number_at(const dense *a, int64_t i, int64_t j) {
  const wide value = dense_value(a, i, j);
  return __builtin_complex((double)creall(value), (double)cimagl(value));
}

static inline void put_number(dense *a, int64_t i, int64_t j, number value) {
  dense_put(a, i, j, creal(value), cimag(value));
}

static inline number *values_of(const dense *a, int64_t rows, int64_t cols) {
  number *values = numbers(rows, cols);
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = 0; i < rows; i++)
      values[i + j * rows] = number_at(a, i, j);
  return values;
}

/* The image of a matrix becomes these, and its place the image. */
static inline void give_values(dense *a, int64_t rows, int64_t cols, const number *values) {
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = 0; i < rows; i++)
      put_number(a, i, j, values[i + j * rows]);
  dense_give(a);
}

static inline number *adjoint_of(const number *a, int64_t rows, int64_t cols) {
  number *b = numbers(cols, rows);
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = 0; i < rows; i++)
      b[j + i * cols] = conj(a[i + j * rows]);
  return b;
}

/* 'N': A itself. */
static inline const number *with_trans(char trans, const number *a, int64_t rows, int64_t cols) {
  number *b = trans == 'N' ? NULL : adjoint_of(a, rows, cols);
  for (int64_t i = 0; trans == 'T' && i < rows * cols; i++)
    b[i] = conj(b[i]);
  return b ? b : a;
}

/* C - A B; C NULL: it is 0. A is m × k. */
static inline number *minus_product(const number *c, int64_t m, int64_t n, int64_t k, const number *a,
                                    const number *b) {
  number *rest = numbers(m, n);
  for (int64_t j = 0; j < n; j++) {
    for (int64_t i = 0; c && i < m; i++)
      rest[i + j * m] = c[i + j * m];
    for (int64_t l = 0; l < k; l++) {
      const number factor = b[l + j * k];
      for (int64_t i = 0; i < m && factor != 0; i++)
        rest[i + j * m] -= a[i + l * m] * factor;
    }
  }
  return rest;
}

/* The greatest sum of a column; NaN if one is. */
static inline double norm_of(const number *x, int64_t rows, int64_t cols) {
  double most = 0;
  for (int64_t j = 0; j < cols; j++) {
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
      sum += cabs(x[i + j * rows]);
    most = sum > most || isnan(sum) ? sum : most;
  }
  return most;
}

/* LAPACK's testers allow an error of 30 of these units. */
static inline void expect_small(double error, double unit, davit_type type, const char *what, int64_t m,
                                int64_t n) {
  const double ratio = error == 0 ? 0 : error / (unit * epsilon_of(type));
  if (!(ratio <= 30))
    fail_msg("%s, type %d, %lld × %lld: the error is %g", what, (int)type, (long long)m, (long long)n, ratio);
}

/* ‖I - Q' Q‖ / (m eps) of k columns. */
static inline void expect_orthogonal(davit_type type, int64_t m, int64_t k, const number *q,
                                     const char *what) {
  number *unit = numbers(k, k);
  for (int64_t i = 0; i < k; i++)
    unit[i + i * k] = 1;
  expect_small(norm_of(minus_product(unit, k, k, m, adjoint_of(q, m, k), q), k, k), (double)m, type, what, m,
               k);
}

/* ‖B - A X‖ / (‖A‖ ‖X‖ n eps), A of order n. */
static inline void expect_solves(davit_type type, int64_t n, int64_t nrhs, const number *a, const number *b,
                                 dense *x, const char *what) {
  dense_take(x);
  const number *solution = values_of(x, n, nrhs), *rest = minus_product(b, n, nrhs, n, a, solution);
  expect_small(norm_of(rest, n, nrhs), norm_of(a, n, n) * norm_of(solution, n, nrhs) * (double)n, type, what,
               n, nrhs);
}

/* ---- LU ---- */

static inline void swap_rows(number *a, int64_t rows, int64_t cols, int64_t row, int64_t other) {
  for (int64_t j = 0; j < cols; j++) {
    const number before = a[row + j * rows];
    a[row + j * rows] = a[other + j * rows];
    a[other + j * rows] = before;
  }
}

/* Rows 0 … count - 1 are exchanged with those of the pivots, one after the other; each is one from its own on. */
static inline void exchange_rows(number *a, int64_t rows, int64_t cols, const int *pivots, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    assert_in_range(pivots[i], i + 1, rows);
    swap_rows(a, rows, cols, i, pivots[i] - 1);
  }
}

/* ‖P A - L U‖ / (n ‖A‖ eps), and no element of L is larger than its pivot. */
static inline void expect_lu(const dense *lu, davit_type type, int64_t m, int64_t n, const number *full,
                             const int *pivots, const char *what) {
  const int64_t k = least_of(m, n);
  const double most = lu->parts == 2 ? 1.4143 : 1.000001;
  number *l = numbers(m, k), *u = values_of(lu, k, n), *exchanged = numbers(m, n);
  memcpy(exchanged, full, (size_t)(m * n) * sizeof *full);
  exchange_rows(exchanged, m, n, pivots, k);
  for (int64_t j = 0; j < k; j++) {
    l[j + j * m] = 1;
    for (int64_t i = j + 1; i < m; i++) {
      l[i + j * m] = number_at(lu, i, j);
      if (i < k)
        u[i + j * k] = 0;
      if (cabs(l[i + j * m]) > most)
        fail_msg("%s: element %lld, %lld of L is larger than its pivot", what, (long long)i, (long long)j);
    }
  }
  expect_small(norm_of(minus_product(exchanged, m, n, k, l, u), m, n), (double)n * norm_of(full, m, n), type,
               what, m, n);
}

/* ---- devices ---- */

/* Some of the devices that plain forms use, as if they had memory of their own; the options refer to the report and to
 * `chosen`. */
typedef struct spread_call {
  int chosen[MAX_PLACES];
  davit_solve_report report;
  davit_solve_options options;
} spread_call;

static inline int spread_over(spread_call *c, int devices, int64_t block, size_t cache_bytes) {
  const int known = spread_devices(c->chosen), count = devices < known ? devices : known;
  c->report = (davit_solve_report){.failed = -1};
  c->options = (davit_solve_options){.devices = c->chosen,
                                     .device_count = count,
                                     .block = block,
                                     .cache_bytes = cache_bytes,
                                     .separate_memory = true,
                                     .report = &c->report};
  return count;
}

/* The library's own choice of devices, which are full: the host computes the whole. */
static inline void spread_over_full(spread_call *c) {
  spread_over(c, 1, 0, 100);
  c->options.devices = NULL;
  c->options.device_count = 0;
}

static inline void expect_host(const spread_call *c, int64_t block) {
  assert_true(c->report.written && c->report.device_count == 1 && c->report.block == block);
  assert_true(c->report.bytes_from_host == 0 && c->report.bytes_to_host == 0);
  assert_string_equal(davit_last_error(), "");
}

/* Memory for three slots and some blocks, each `rows` long, with `beside` bytes beside it. */
static inline size_t cache_for(davit_type type, int64_t rows, int64_t block, size_t beside, int blocks) {
  return (dvt_aligned_up((size_t)(rows * block) * davit_type_bytes(type)) + dvt_aligned_up(beside)) *
         (size_t)(3 + blocks);
}

/* What panels take on their way from device to device: each, from its own row on and with `beside` bytes, to all those
 * that own a block behind it. */
static inline int64_t bytes_of_panels(davit_type type, int64_t m, int64_t n, int64_t block, int devices,
                                      size_t (*beside)(davit_type type, int64_t width)) {
  int64_t bytes = 0;
  const int64_t count = dvt_divide_up(n, block);
  for (int64_t k = 0; k * block < least_of(m, n); k++) {
    const int64_t width = least_of(block, n - k * block), others = least_of(count - k - 1, devices - 1);
    bytes += others * ((m - k * block) * width * (int64_t)davit_type_bytes(type) +
                       (int64_t)(beside ? beside(type, width) : 0));
  }
  return bytes;
}

/* The blocks of an m × n matrix cross the link once each way, and back with `more` bytes; blocks come back for a slab
 * behind theirs. */
static inline void expect_blocks(const spread_call *c, davit_type type, int64_t m, int64_t n, int64_t block,
                                 int64_t more) {
  const int64_t bytes = m * n * (int64_t)davit_type_bytes(type);
  const davit_solve_report *r = &c->report;
  assert_true(r->failed == 0 && r->block == least_of(block, n) && r->written && r->device_count > 0);
  assert_true(r->bytes_to_host == bytes + more);
  assert_true(c->options.cache_bytes > 0 ? r->bytes_from_host > bytes : r->bytes_from_host == bytes);
}

/* One device has computed where the matrix lies. */
static inline void expect_in_place(const davit_solve_report *r, int64_t n) {
  assert_true(r->block == n && r->device_count == 1 && r->written);
  assert_true(r->bytes_from_host == 0 && r->bytes_to_host == 0 && r->bytes_from_peers == 0);
}

/* ---- queues ---- */

static inline void drop_queue(void *queue) {
  CHECK(davit_queue_destroy(queue));
}

static inline davit_queue *queue_of(int device) {
  davit_queue *queue;
  CHECK(davit_queue_create(device, &queue, NULL));
  return keep(queue, drop_queue);
}

/* ---- LAPACK, if it is there ---- */

static inline void *lapack(davit_type type, const char *stem) {
  static void *library;
  char name[32];
  if (!library)
    library = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
  snprintf(name, sizeof name, "%c%s_",
           type == DAVIT_DOUBLE           ? 'd'
           : type == DAVIT_FLOAT          ? 's'
           : type == DAVIT_COMPLEX_DOUBLE ? 'z'
                                          : 'c',
           stem);
  return library ? dlsym(library, name) : NULL;
}

/* Its pivots and info for such a matrix; false: it is not there. */
static inline bool lapack_getrf(davit_type type, int64_t m, int64_t n, const number *full, int *pivots,
                                int *info) {
  typedef void function(const int *, const int *, void *, const int *, int *, int *);
  function *theirs = (function *)(uintptr_t)lapack(type, "getrf");
  dense copy = dense_new(type, m, n, 0, 0, DAVIT_PAGEABLE, UNSET);
  give_values(&copy, m, n, full);
  if (theirs)
    theirs(&(int){(int)m}, &(int){(int)n}, dense_there(&copy), &(int){(int)dense_ld(&copy)}, pivots, info);
  return theirs;
}

#endif
