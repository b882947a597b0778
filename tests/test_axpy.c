/* SPDX-License-Identifier: Apache-2.0 */
/* What axpy refuses, and which vectors overlap. Its results are in test_operations.c. */
#include "tests/support.h"

#include "src/base/check.h"

CASE(test_alpha_zero_does_not_read_x) {
  double x[3] = {NAN, NAN, NAN}, y[3] = {1, 2, 3};
  CHECK(davit_daxpy(3, 0, x, 1, y, 1, NULL));
  assert_true(y[0] == 1 && y[1] == 2 && y[2] == 3);
}

CASE(test_bad_arguments) {
  double x[4] = {0}, y[4] = {0};
  int wrong = 999;
  REFUSED(davit_daxpy(3, 1, y, 1, y + 1, 1, NULL), "overlaps");
  CHECK_FAILS(davit_daxpy(4, 1, x, 1, y, 1, ON(davit_axpy_options, &wrong, 1)), DAVIT_UNKNOWN_DEVICE, "999");
}

/* ---- vectors that overlap ---- */

/* Whether an element of a vector of nx has a byte of one of ny that begins `start` bytes behind it. */
static bool meet(int64_t nx, int64_t ny, int64_t stride, int64_t size, int64_t start) {
  for (int64_t i = 0; i < nx; i++)
    for (int64_t j = 0; j < ny; j++)
      if (llabs(start + (j - i) * stride) < size)
        return true;
  return false;
}

/* Vectors of one stride may lie between each other's elements, at any byte. */
CASE(test_vectors_between_each_other) {
  enum { SIZE = 8 };
  const char *x = kept(1024);
  x += 512;
  for (int64_t inc = 1; inc <= 4; inc++)
    for (int64_t nx = 0; nx <= 4; nx++)
      for (int64_t ny = 0; ny <= 4; ny++)
        for (int64_t start = -150; start <= 150; start++)
          for (int sign = -1; sign <= 1; sign += 2)
            assert_int_equal(dvt_vectors_overlap(x, nx, inc, x + start, ny, sign * inc, SIZE),
                             meet(nx, ny, inc * SIZE, SIZE, start));
}
