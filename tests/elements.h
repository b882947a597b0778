/* What the tests of reductions and scans share: arrays of elements between guard zones at any place, data whose results
 * are exact in any order and data that round, and a scenario walked through all its failures.
 *
 * Arrays are poisoned with 0xff, which is NaN or -1, and every element behind the last is poison as well. */
#ifndef DAVIT_TESTS_ELEMENTS_H
#define DAVIT_TESTS_ELEMENTS_H

#include "tests/support.h"

#include <float.h>
#include <math.h>

#include "src/base/inject.h"

enum { ZONE_GUARD = 512 };

/* ---- memory ---- */

typedef struct zone {
  size_t bytes, shift;
  unsigned char *block;
} zone;

/* `bytes` bytes of poison, `shift` bytes behind a multiple of 256. */
static inline zone zone_new(size_t bytes, int place, size_t shift) {
  zone z = {bytes, shift, new_memory(bytes + shift + 2 * ZONE_GUARD, place)};
  CHECK(davit_fill(bytes + shift + 2 * ZONE_GUARD, 0xff, z.block));
  return z;
}

static inline void *zone_data(const zone *z) {
  return z->block + ZONE_GUARD + z->shift;
}

/* The same, filled from the host's memory. */
static inline zone zone_of(const void *from, size_t bytes, int place, size_t shift) {
  zone z = zone_new(bytes, place, shift);
  if (bytes > 0)
    CHECK(davit_copy(bytes, from, zone_data(&z)));
  return z;
}

/* To the host's memory; nothing around it may have changed. */
static inline void zone_take(const zone *z, void *to) {
  unsigned char guard[2][ZONE_GUARD], poison[ZONE_GUARD];
  memset(poison, 0xff, sizeof poison);
  CHECK(davit_copy(ZONE_GUARD, (const unsigned char *)zone_data(z) - ZONE_GUARD, guard[0]));
  CHECK(davit_copy(ZONE_GUARD, (const unsigned char *)zone_data(z) + z->bytes, guard[1]));
  assert_memory_equal(guard[0], poison, ZONE_GUARD);
  assert_memory_equal(guard[1], poison, ZONE_GUARD);
  if (z->bytes > 0)
    CHECK(davit_copy(z->bytes, zone_data(z), to));
}

static inline void zone_drop(zone *z) {
  CHECK(davit_free(z->block));
  z->block = NULL;
}

/* Host memory, poisoned. */
static inline void *poisoned(size_t bytes) {
  void *memory = malloc(bytes + 1);
  assert_non_null(memory);
  memset(memory, 0xff, bytes + 1);
  return memory;
}

/* ---- elements ---- */

static inline bool is_floating(davit_type type) {
  return type == DAVIT_FLOAT || type == DAVIT_DOUBLE;
}

static inline void element_set(davit_type type, void *x, int64_t i, double value) {
  if (type == DAVIT_FLOAT)
    ((float *)x)[i] = (float)value;
  else if (type == DAVIT_DOUBLE)
    ((double *)x)[i] = value;
  else if (type == DAVIT_INT32)
    ((int32_t *)x)[i] = (int32_t)value;
  else
    ((int64_t *)x)[i] = (int64_t)value;
}

static inline double element_at(davit_type type, const void *x, int64_t i) {
  return type == DAVIT_FLOAT    ? (double)((const float *)x)[i]
         : type == DAVIT_DOUBLE ? ((const double *)x)[i]
         : type == DAVIT_INT32  ? (double)((const int32_t *)x)[i]
                                : (double)((const int64_t *)x)[i];
}

static inline double element_epsilon(davit_type type) {
  return type == DAVIT_DOUBLE ? DBL_EPSILON : (double)FLT_EPSILON;
}

/* Uniform in [-1, 1). */
static inline double random_unit(uint64_t *seed) {
  return (double)(next_random(seed) >> 11) * 0x1p-52 - 1;
}

/* Integers of any size; floating elements whose results are exact, in whatever order they are combined. */
static inline void *exact_data(davit_operator op, davit_type type, int64_t n, uint64_t seed) {
  void *x = poisoned((size_t)n * davit_type_bytes(type));
  for (int64_t i = 0; i < n; i++) {
    const uint64_t word = next_random(&seed) | (op == DAVIT_PROD);
    if (type == DAVIT_INT32)
      ((int32_t *)x)[i] = (int32_t)(uint32_t)(word >> 16) | (op == DAVIT_PROD);
    else if (type == DAVIT_INT64)
      ((int64_t *)x)[i] = (int64_t)word;
    else if (op == DAVIT_SUM)
      element_set(type, x, i, (double)(word >> 20 & 15) - 7);
    else if (op == DAVIT_PROD) /* powers of two that nearly cancel */
      element_set(type, x, i, (word >> 20 & 1 ? -1 : 1) * (i % 2 ? 2 : 0.5));
    else
      element_set(type, x, i, random_unit(&seed) * 1e6);
  }
  return x;
}

/* Floating elements that round: terms of either sign for sums, factors near 1 for products. */
static inline void *rough_data(davit_operator op, davit_type type, int64_t n, uint64_t seed) {
  void *x = poisoned((size_t)n * davit_type_bytes(type));
  for (int64_t i = 0; i < n; i++)
    element_set(type, x, i, op == DAVIT_PROD ? 1 + 1e-3 * random_unit(&seed) : random_unit(&seed));
  return x;
}

/* The first elements that differ in a bit fail the test. */
static inline void expect_elements(davit_type type, int64_t n, const void *is, const void *should,
                                   const char *label) {
  const size_t element = davit_type_bytes(type);
  if (memcmp(is, should, (size_t)n * element) == 0)
    return;
  int64_t i = 0;
  while (memcmp((const char *)is + (size_t)i * element, (const char *)should + (size_t)i * element,
                element) == 0)
    i++;
  fail_msg("%s: element %lld of %lld is %.17g, not %.17g", label, (long long)i, (long long)n,
           element_at(type, is, i), element_at(type, should, i));
}

/* ---- devices ---- */

/* Devices for the plain forms: those that work is spread over by default. */
static inline int spread_devices(int devices[MOST_PLACES]) {
  int count;
  CHECK(davit_device_defaults(MOST_PLACES, devices, &count));
  return count;
}

/* A GPU with so much memory free, or -1. */
static inline int roomy_gpu(size_t bytes) {
  int count;
  CHECK(davit_device_count(&count));
  for (int device = 0; device < count; device++) {
    size_t available, total;
    if (place_is_host(device))
      continue;
    CHECK(davit_device_memory(device, &available, &total));
    if (available > bytes)
      return device;
  }
  return -1;
}

/* ---- failures ---- */

static inline bool elements_may_fail_so(dvt_injection kind, davit_status status) {
  switch (kind) {
  case DVT_INJECT_DEVICE_MEMORY:
    return status == DAVIT_OUT_OF_DEVICE_MEMORY;
  case DVT_INJECT_RUN:
    return status == DAVIT_DEVICE_LOST;
  case DVT_INJECT_HOST_MEMORY: /* without a thread to run it, work fails with another status */
    return status == DAVIT_OUT_OF_HOST_MEMORY || status == DAVIT_INTERNAL_ERROR;
  default:
    return status == DAVIT_OUT_OF_HOST_MEMORY;
  }
}

/* Lets every allocation, enqueue and command of a scenario fail in turn, with the library started anew each time. The
 * scenario gives back what it took and checks its result where it succeeds. */
static inline void fail_everywhere(davit_status (*scenario)(void *argument), void *argument) {
  enum { MOST = 3000 };
  int failures = 0;
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
      failures += status != DAVIT_SUCCESS;
      if (status != DAVIT_SUCCESS &&
          (armed || !*davit_last_error() || !elements_may_fail_so((dvt_injection)kind, status)))
        fail_msg("injection %d, passage %d: %s: \"%s\"", kind, n, davit_status_string(status),
                 davit_last_error());
    }
  }
  assert_true(failures > 0);
  CHECK(scenario(argument));
}

static inline int elements_stop(void **state) {
  (void)state;
  return davit_finalize() == DAVIT_SUCCESS ? 0 : -1;
}

#endif
