/* SPDX-License-Identifier: Apache-2.0 */
/* The equality of bits that dot promises, and what it refuses. Its results are in test_operations.c. */
#include "tests/elements.h"

CASE(test_any_number_of_devices_same_bits) {
  enum { N = 7 * (1 << 20) + 5 };
  int devices[MAX_PLACES], count = spread_devices(devices);
  const double *x = rough_data(DAVIT_SUM, DAVIT_DOUBLE, N, 1), *y = rough_data(DAVIT_SUM, DAVIT_DOUBLE, N, 2);
  const float *u = rough_data(DAVIT_SUM, DAVIT_FLOAT, N, 3), *v = rough_data(DAVIT_SUM, DAVIT_FLOAT, N, 4);
  double first = NAN, again;
  float narrow = NAN, narrow_again;
  for (int turn = 0; turn < 3 * count; turn++) {
    const davit_dot_options options = {.devices = devices, .device_count = 1 + turn % count};
    CHECK(davit_ddot(N, x, 1, y, 1, turn ? &again : &first, &options));
    CHECK(davit_sdot(N, u, 1, v, 1, turn ? &narrow_again : &narrow, &options));
    assert_true(turn == 0 || (again == first && narrow_again == narrow));
  }
}

CASE(test_bad_arguments) {
  double x[4] = {0}, y[4] = {0}, result = 5;
  int wrong = -7;
  REFUSED(davit_ddot(-3, x, 1, y, 1, &result, NULL), "n is -3");
  CHECK_FAILS(davit_ddot(4, x, 1, y, 1, &result, ON(davit_dot_options, &wrong, 1)), DAVIT_UNKNOWN_DEVICE,
              "-7");
  assert_true(result == 5);
  CHECK(davit_ddot(0, x, 1, y, 1, &result, NULL));
  assert_true(result == 0);
}
