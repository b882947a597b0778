/* SPDX-License-Identifier: Apache-2.0 */
/* gemv without its y, and what it refuses. Its results are in test_operations.c. */
#include "tests/support.h"

CASE(test_beta_zero_does_not_read_y) {
  double a[4] = {1, 2, 3, 4}, x[2] = {1, 1}, y[2] = {NAN, NAN};
  CHECK(davit_dgemv('N', 2, 2, 1, a, 2, x, 1, 0, y, 1, NULL));
  assert_true(y[0] == 4 && y[1] == 6);
}

CASE(test_bad_arguments) {
  double a[4] = {0}, x[2] = {0}, y[2] = {0};
  REFUSED(davit_dgemv('N', 2, 2, 1, a, 1, x, 1, 0, y, 1, NULL), "lda");
  REFUSED(davit_dgemv('N', 2, 2, 1, a, 2, y, 1, 0, y, 1, NULL), "overlaps");
}
