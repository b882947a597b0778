/* Strided vectors and matrices for the tests of BLAS 1 and 2, in memory at any place, with a copy of what
 * they held at first, gaps included. */
#ifndef DAVIT_TESTS_STRIDED_H
#define DAVIT_TESTS_STRIDED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <davit/davit.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRIDED_DEVICES = 4, STRIDED_PLACES = 4 };

typedef struct strided {
  char type;
  size_t bytes;
  void *host; /* what it held at first */
  void *data; /* where the operation finds it */
} strided;

static int strided_count, strided_devices[STRIDED_DEVICES];

static inline void check(davit_status status) {
  if (status != DAVIT_SUCCESS)
    fail_msg("%s", davit_last_error());
}

static int strided_find_devices(void **state) {
  (void)state;
  check(davit_device_defaults(STRIDED_DEVICES, strided_devices, &strided_count));
  strided_count = strided_count < STRIDED_DEVICES ? strided_count : STRIDED_DEVICES;
  return 0;
}

static int strided_stop(void **state) {
  (void)state;
  return davit_finalize() == DAVIT_SUCCESS ? 0 : -1;
}

static inline size_t strided_element(char type) {
  return type == 'd' ? sizeof(double) : sizeof(float);
}

/* 0: pageable, 1: pinned, 2: the first device, 3: the last */
static inline int strided_place(int which) {
  return which == 0   ? DAVIT_PAGEABLE
         : which == 1 ? DAVIT_PINNED
         : which == 2 ? strided_devices[0]
                      : strided_devices[strided_count - 1];
}

/* `count` random elements in [-0.5, 0.5) at the place. */
static inline strided strided_make(char type, int64_t count, int place, uint64_t seed) {
  strided x = {type, (size_t)count * strided_element(type), NULL, NULL};
  x.host = malloc(x.bytes + 1);
  assert_non_null(x.host);
  check(type == 'd' ? davit_random(DAVIT_DOUBLE, count, seed, x.host)
                    : davit_random(DAVIT_FLOAT, count, seed, x.host));
  for (int64_t i = 0; i < count; i++)
    if (type == 'd')
      ((double *)x.host)[i] -= 0.5;
    else
      ((float *)x.host)[i] -= 0.5f;
  check(davit_malloc(x.bytes, place, &x.data));
  check(davit_copy(x.bytes, x.host, x.data));
  return x;
}

static inline void strided_drop(strided *x) {
  check(davit_free(x->data));
  free(x->host);
}

static inline void *strided_fetch(const strided *x) {
  void *now = malloc(x->bytes + 1);
  assert_non_null(now);
  check(davit_copy(x->bytes, x->data, now));
  return now;
}

static inline double strided_at(char type, const void *x, int64_t i) {
  return type == 'd' ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* Position of logical element i of n, as BLAS counts it. */
static inline int64_t strided_index(int64_t i, int64_t n, int64_t inc) {
  return inc > 0 ? i * inc : (n - 1 - i) * -inc;
}

/* Elements that n strided ones span. */
static inline int64_t strided_extent(int64_t n, int64_t inc) {
  return n > 0 ? (n - 1) * (inc < 0 ? -inc : inc) + 1 : 0;
}

static inline double strided_epsilon(char type) {
  return type == 'd' ? DBL_EPSILON : (double)FLT_EPSILON;
}

static inline void strided_refused(davit_status status, davit_status expected, const char *name) {
  assert_int_equal(status, expected);
  if (!strstr(davit_last_error(), name))
    fail_msg("\"%s\" does not name %s", davit_last_error(), name);
}

#endif
