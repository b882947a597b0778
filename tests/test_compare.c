/* SPDX-License-Identifier: Apache-2.0 */
/* What --check takes for an error of a result that is not finite, and for its bound. */
#include "src/cli/formats/compare.h"

#include <float.h>
#include <math.h>

#include "tests/support.h"

static const cli_type types[] = {CLI_F4, CLI_F8};

static long double largest_of(cli_type type) {
  return type == CLI_F4 ? FLT_MAX : DBL_MAX;
}

CASE(finite_results_are_off_by_their_difference) {
  for (int t = 0; t < COUNT(types); t++)
    for (int overflow = 0; overflow < 2; overflow++) {
      assert_true(cli_error(types[t], 3, 3, overflow) == 0);
      assert_true(cli_error(types[t], 3, 2.5L, overflow) == 0.5);
      assert_true(cli_error(types[t], 0, largest_of(types[t]), overflow) == (double)largest_of(types[t]));
      assert_true(isinf(cli_error(types[t], NAN, 1, overflow)));
      assert_true(isinf(cli_error(types[t], INFINITY, 1, overflow)));
    }
}

/* A wrong infinity or NaN fails every bound, unless a partial result may overflow. */
CASE(results_that_are_not_finite) {
  static const double nonfinite[] = {INFINITY, -INFINITY, NAN};
  for (int t = 0; t < COUNT(types); t++)
    for (int found = 0; found < COUNT(nonfinite); found++) {
      for (int wanted = 0; wanted < COUNT(nonfinite); wanted++) {
        const double error = cli_error(types[t], nonfinite[wanted], nonfinite[found], false);
        assert_true(found == wanted ? error == 0 : isinf(error));
        assert_true(cli_error(types[t], nonfinite[wanted], nonfinite[found], true) == 0);
      }
      assert_true(isinf(cli_error(types[t], 1, nonfinite[found], false)));
      assert_true(cli_error(types[t], 1, nonfinite[found], true) == 0);
      assert_true(cli_error(types[t], 1, nonfinite[found], false) > cli_bound(1, INFINITY));
    }
}

CASE(values_beyond_the_type_are_infinite) {
  for (int t = 0; t < COUNT(types); t++) {
    const long double beyond = 2 * largest_of(types[t]);
    assert_true(cli_error(types[t], beyond, INFINITY, false) == 0);
    assert_true(cli_error(types[t], -beyond, -INFINITY, false) == 0);
    assert_true(isinf(cli_error(types[t], -beyond, INFINITY, false)));
    assert_true(cli_error(types[t], beyond, largest_of(types[t]), false) >= (double)largest_of(types[t]));
  }
}

CASE(bounds_are_finite) {
  assert_true(cli_bound(1, 0.25L) == 0.25);
  assert_true(cli_bound(1, 4 * (long double)DBL_MAX) == DBL_MAX);
  assert_true(cli_bound(NAN, 1) == 0);
  assert_true(cli_bound(1, NAN) == 0);
  assert_true(cli_bound(-INFINITY, 1) == 0);
}

CASE(overflow_has_room_for_rounding) {
  for (int t = 0; t < COUNT(types); t++) {
    const long double largest = largest_of(types[t]);
    assert_false(cli_overflows(types[t], largest, 0));
    assert_false(cli_overflows(types[t], largest / 2, 1000));
    assert_true(cli_overflows(types[t], largest, 1));
    assert_true(cli_overflows(types[t], 1.001L * largest, 0));
    assert_true(cli_overflows(types[t], INFINITY, 0));
  }
}

/* The value of a sum with an infinity is that infinity, although what it has lost is NaN. */
CASE(running_values) {
  cli_running sum = cli_running_start(DAVIT_SUM), product = cli_running_start(DAVIT_PROD);
  cli_running_add(&sum, 1);
  cli_running_add(&sum, 0x1p-80L);
  assert_true(cli_running_value(&sum) == 1 && sum.rest == 0x1p-80L);
  cli_running_add(&sum, -1);
  assert_true(cli_running_value(&sum) == 0x1p-80L);
  cli_running_add(&sum, INFINITY);
  cli_running_add(&sum, 2);
  assert_true(isinf(cli_running_value(&sum)));
  assert_true(cli_running_error(&sum, CLI_F8, INFINITY) == 0);
  assert_true(isinf(cli_running_error(&sum, CLI_F8, NAN)));
  assert_true(cli_running_bound(&sum, CLI_F8, 1) == 0);
  for (int i = 0; i < 8; i++)
    cli_running_add(&product, i % 2 ? 1e-200L : 1e200L);
  assert_true(cli_running_error(&product, CLI_F8, 1) < 1e-15);
  assert_true(cli_running_error(&product, CLI_F8, INFINITY) == 0); /* in another order */
}
