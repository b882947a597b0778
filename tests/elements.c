/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/elements.h"

/* ---- memory ---- */

zone zone_new(size_t bytes, int place, size_t shift) {
  zone z = {bytes, shift, kept_at(bytes + shift + 2 * ZONE_GUARD, place)};
  CHECK(davit_fill(bytes + shift + 2 * ZONE_GUARD, 0xff, z.block));
  return z;
}

zone zone_of(const void *from, size_t bytes, int place, size_t shift) {
  zone z = zone_new(bytes, place, shift);
  CHECK(davit_copy(bytes, from, zone_data(&z)));
  return z;
}

void *zone_data(const zone *z) {
  return z->block + ZONE_GUARD + z->shift;
}

void zone_take(const zone *z, void *to) {
  unsigned char guard[2][ZONE_GUARD], poison[ZONE_GUARD];
  memset(poison, 0xff, sizeof poison);
  CHECK(davit_copy(ZONE_GUARD, (const unsigned char *)zone_data(z) - ZONE_GUARD, guard[0]));
  CHECK(davit_copy(ZONE_GUARD, (const unsigned char *)zone_data(z) + z->bytes, guard[1]));
  assert_memory_equal(guard[0], poison, ZONE_GUARD);
  assert_memory_equal(guard[1], poison, ZONE_GUARD);
  CHECK(davit_copy(z->bytes, zone_data(z), to));
}

/* ---- elements ---- */

davit_type real_type(int v) {
  return v % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT;
}

bool is_floating(davit_type type) {
  return type == DAVIT_FLOAT || type == DAVIT_DOUBLE;
}

bool is_complex_type(davit_type type) {
  return type == DAVIT_COMPLEX_FLOAT || type == DAVIT_COMPLEX_DOUBLE;
}

davit_type part_type(davit_type type) {
  return type == DAVIT_COMPLEX_FLOAT ? DAVIT_FLOAT : type == DAVIT_COMPLEX_DOUBLE ? DAVIT_DOUBLE : type;
}

double element_epsilon(davit_type type) {
  return type == DAVIT_DOUBLE ? DBL_EPSILON : (double)FLT_EPSILON;
}

void *exact_data(davit_operator op, davit_type type, int64_t n, uint64_t seed) {
  void *x = kept((size_t)n * davit_type_bytes(type));
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

void *rough_data(davit_operator op, davit_type type, int64_t n, uint64_t seed) {
  void *x = kept((size_t)n * davit_type_bytes(type));
  for (int64_t i = 0; i < n; i++)
    element_set(type, x, i, op == DAVIT_PROD ? 1 + 1e-3 * random_unit(&seed) : random_unit(&seed));
  return x;
}

void expect_elements(davit_type type, int64_t n, const void *is, const void *should, const char *label) {
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

bool next_cpu(int variant) {
  const bool more = variant < DVT_CPU_COUNT;
  dvt_cpu_allow(more ? (dvt_cpu)variant : DVT_CPU_COUNT - 1);
  return more;
}

void without_blas(void (*work)(void)) {
  assert_int_equal(setenv("DAVIT_BLAS", "target", 1), 0);
  work();
  unsetenv("DAVIT_BLAS");
}

/* ---- failures ---- */

bool may_fail_so(dvt_injection kind, davit_status status) {
  switch (kind) {
  case DVT_INJECT_DEVICE_MEMORY:
    return status == DAVIT_OUT_OF_DEVICE_MEMORY;
  case DVT_INJECT_RUN:
    return status == DAVIT_DEVICE_LOST;
  case DVT_INJECT_THREAD:
    return status == DAVIT_INTERNAL_ERROR;
  default:
    return status == DAVIT_OUT_OF_HOST_MEMORY;
  }
}

int fail_each(dvt_injection kind, scenario_function *scenario, void *argument) {
  enum { MOST = 3000 };
  int failures = 0;
  bool armed = false; /* the failure is still to come */
  for (int n = 1; !armed; n++) {
    assert_true(n < MOST);
    CHECK(davit_finalize());
    dvt_error_clear();
    dvt_inject(kind, n);
    davit_status status = scenario(argument);
    for (int i = 0; i < n && !armed; i++)
      armed = dvt_injected(kind);
    dvt_inject(kind, 0);
    failures += status != DAVIT_SUCCESS;
    if (status != DAVIT_SUCCESS && (armed || !*davit_last_error() || !may_fail_so(kind, status)))
      fail_msg("injection %d, passage %d: %s: \"%s\"", (int)kind, n, davit_status_string(status),
               davit_last_error());
  }
  return failures;
}

void fail_everywhere(scenario_function *scenario, void *argument) {
  int failures = 0;
  for (int kind = 0; kind < DVT_INJECTIONS; kind++)
    failures += fail_each((dvt_injection)kind, scenario, argument);
  assert_true(failures > 0);
  CHECK(scenario(argument));
}

davit_status with_queue(size_t bytes, queue_work *work, void *argument) {
  const int device = device_count() > 0 ? 0 : DAVIT_HOST;
  dvt_error first = {.status = DAVIT_SUCCESS};
  davit_queue *queue = NULL;
  void *memory = NULL;
  DVT_TRY(davit_queue_create(device, &queue, NULL));
  davit_status status = davit_malloc(bytes, place_for(device), &memory);
  dvt_error_keep(&first, status == DAVIT_SUCCESS ? work(queue, memory, argument) : status);
  dvt_error_keep(&first, davit_queue_destroy(queue));
  CHECK(davit_free(memory));
  return dvt_error_report(&first);
}
