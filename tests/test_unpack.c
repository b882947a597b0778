/* SPDX-License-Identifier: Apache-2.0 */
/* Where the OpenMP runtime cannot unpack the code of host devices, these devices are left out, and everything
 * runs on the CPU. The limit of file sizes, set before the library starts, stands in for a full /tmp;
 * tests/cli/test_cli_unpack.py has the other obstacles. */
#include "tests/support.h"

#include <omp.h>
#include <sys/resource.h>

static const char *const words = "unpacks code for host devices in /tmp";

CASE(test_host_devices_are_left_out) {
  davit_device_info info;
  davit_queue *queue = NULL;
  const int count = device_count(), known = omp_get_num_devices();
  assert_int_equal(count, known > 4 ? known - 4 : 0);
  for (int device = 0; device < count; device++) {
    CHECK(davit_device_describe(device, &info));
    assert_int_not_equal(info.kind, DAVIT_DEVICE_HOST_OFFLOAD);
  }
  for (int device = count; device < known; device++) {
    CHECK_FAILS(davit_device_describe(device, &info), DAVIT_UNSUPPORTED, words);
    CHECK_FAILS(davit_queue_create(device, &queue, NULL), DAVIT_UNSUPPORTED, words);
    CHECK_FAILS(davit_device_select(device), DAVIT_UNSUPPORTED, "File too large");
  }
  CHECK_FAILS(davit_device_describe(known, &info), DAVIT_UNKNOWN_DEVICE, "does not exist");
}

CASE(test_the_host_computes) {
  const double x[] = {1, 2, 3};
  double sum = 0, y[3] = {0};
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, 3, x, &sum, NULL));
  assert_true(sum == 6);
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  CHECK(davit_queue_scan(queue, DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, 3, x, y, NULL));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_queue_destroy(queue));
  assert_true(y[0] == 1 && y[1] == 3 && y[2] == 6);
}

int main(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit))
    return 1;
  const struct rlimit before = limit;
  limit.rlim_cur = 1 << 16; /* less than an image */
  const int failed = setrlimit(RLIMIT_FSIZE, &limit) ? 1 : run_cases(NULL, NULL);
  setrlimit(RLIMIT_FSIZE, &before); /* counters of lines are written at the end */
  return failed;
}
