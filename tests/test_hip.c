/* SPDX-License-Identifier: Apache-2.0 */
/* What AMD's devices take from HIP and hipBLAS, with stand-ins for both: the devices are host-offload devices
 * that pose as AMD's, the libraries tests/outside/hipblas.c. The test of level 1 runs beside them as well. */
#include "tests/dense.h"

#include <dlfcn.h>

#include "offload/runtime/device.h"

static _Atomic int *calls;

/* Skips where the stand-in is not what davit finds. */
static int find_calls(void **state) {
  (void)state;
  void *library = dlopen("libhipblas.so.2", RTLD_NOW);
  calls = library ? dlsym(library, "hipblas_calls") : NULL;
  return 0;
}

static int computed(void) {
  return calls ? atomic_exchange(calls, 0) : 0;
}

CASE(test_devices_are_described) {
  if (!calls || device_count() == 0)
    skip();
  for (int device = 0; device < device_count(); device++) {
    davit_device_info info;
    char name[32];
    size_t available = 0, total = 0;
    snprintf(name, sizeof name, "Stand-in %d", device);
    CHECK(davit_device_describe(device, &info));
    assert_string_equal(info.name, name);
    assert_int_equal(info.compute_units, 110);
    assert_true(info.memory_bytes == (size_t)8 << 30);
    CHECK(davit_device_memory(device, &available, &total));
    assert_true(total == (size_t)8 << 30);
    assert_int_equal(available, ((size_t)7 << 30) + (size_t)device); /* its own, not the current device's */
  }
}

/* n = 2: A = [1 3; 2 4], x = (5, 6), y = (7, 8). */
CASE(test_hipblas_computes) {
  if (!calls || device_count() == 0)
    skip();
  const double values[16] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int device = 0; device < device_count(); device++) {
    double *there = kept_at(sizeof values, device), is[16], dot = 0;
    davit_queue *queue = new_queue(device, 1);
    CHECK(davit_copy(sizeof values, values, there));
    computed();
    CHECK(davit_queue_dgemv(queue, 'T', 2, 2, 2, there, 2, there + 4, 1, -1, there + 6, 1, NULL));
    CHECK(davit_queue_daxpy(queue, 2, 10, there, 1, there + 4, -1, NULL));
    CHECK(davit_queue_ddot(queue, 2, there, 2, there + 1, 2, &dot, NULL));
    CHECK(davit_queue_dgemm(queue, 'N', 'T', 2, 1, 2, 1, there, 2, there, 1, 0, there + 8, 2, NULL));
    CHECK(davit_queue_dsyrk(queue, 'U', 'N', 2, 1, 1, there, 2, 0, there + 12, 2, NULL));
    CHECK(davit_queue_synchronize(queue));
    assert_int_equal(computed(), 5);
    CHECK(davit_copy(sizeof is, there, is));
    assert_true(is[6] == 27 && is[7] == 70); /* 2 (5 + 12) - 7, 2 (15 + 24) - 8 */
    assert_true(is[4] == 25 && is[5] == 16);
    assert_true(dot == 14); /* 1 2 + 3 4 */
    assert_true(is[8] == 7 && is[9] == 10);
    assert_true(is[12] == 1 && is[13] == 0 && is[14] == 2 && is[15] == 4);  /* its upper triangle alone */
    CHECK(davit_queue_ddot(queue, 2, there, 1, there, 1, there + 7, NULL)); /* to the device */
    finish(queue);
    assert_int_equal(computed(), 1);
    CHECK(davit_copy(sizeof is, there, is));
    assert_true(is[7] == 5);
  }
}

/* What hipBLAS must not be asked, or is not asked, is the region's. */
CASE(test_regions_take_the_rest) {
  if (!calls || device_count() == 0)
    skip();
  double *there = kept_at(4 * sizeof *there, 0);
  davit_queue *queue = new_queue(0, 1);
  CHECK(davit_fill(4 * sizeof *there, 0, there));
  computed();
  CHECK(davit_queue_dgemm(queue, 'N', 'N', 2, 2, 0, 1, there, 2, there, 2, 0, there, 2, NULL));
  CHECK(davit_queue_dgemv(queue, 'N', 2, 1, 0, NULL, 2, NULL, 1, 3, there, 1, NULL));
  CHECK(davit_queue_synchronize(queue));
  setenv("DAVIT_BLAS", "target", 1);
  CHECK(davit_queue_daxpy(queue, 2, 10, there, 1, there + 2, 1, NULL));
  finish(queue);
  unsetenv("DAVIT_BLAS");
  assert_int_equal(computed(), 0);
}

int main(void) {
  return run_cases(find_calls, NULL);
}
