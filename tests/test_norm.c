/* SPDX-License-Identifier: Apache-2.0 */
/* Norms near overflow and underflow, which are those of scaled vectors, and the equality of bits that norms promise.
 * Other results are in test_operations.c. */
#include "tests/vectors.h"

/* Vectors whose squares overflow or underflow, and with both kinds and NaN beside each other. */
CASE(test_extreme_norms) {
  static const struct {
    double x[4], norm;
  } cases[] = {{{3e300, 4e300, 0, 0}, 5e300},
               {{3e-300, 0, 4e-300, 0}, 5e-300},
               {{3e-320, 0, 4e-320, 0}, 5e-320},
               {{1e300, 1e-300, 1, 0}, 1e300},
               {{1e-200, 1e-200, 1, 0}, 1},
               {{0x1p-511, 0x1p-512, 0, 0}, 0x1p-511 * 1.118033988749895},
               {{0, 0, 0, 0}, 0},
               {{(double)INFINITY, 1, 0, 0}, (double)INFINITY},
               {{1e300, (double)NAN, 0, 0}, (double)NAN},
               {{(double)NAN, 1e-300, 0, 0}, (double)NAN}};
  static const dvt_form forms[] = {dvt_norm_host, dvt_norm_region, dvt_norm_stream};
  for (int c = 0; c < COUNT(cases); c++)
    for (int form = HOST; form <= REGION; form++)
      if (form_available(form)) {
        SCOPE;
        const double right = cases[c].norm;
        double is, *there = kept_at(sizeof cases[c].x, PLACE(form));
        CHECK(davit_copy(sizeof cases[c].x, cases[c].x, there));
        perform_form(forms, form, &(dvt_norm){DAVIT_DOUBLE, true, 4, there, 1, &is, false});
        assert_true(isnan(right) ? isnan(is) : is == right || fabs(is - right) <= 1e-15 * right + 1e-323);
      }
  double big[6], norm;
  for (int i = 0; i < 6; i++)
    big[i] = 1e200;
  CHECK(davit_dznrm2(3, (davit_complex_double *)big, 1, &norm, NULL));
  assert_true(fabs(norm - sqrt(6) * 1e200) <= 1e-14 * norm);
}

CASE(test_any_number_of_devices_same_bits) {
  enum { N = (1 << 20) + 1234 };
  int devices[MAX_PLACES], count = spread_devices(devices);
  const void *x = rough_data(DAVIT_SUM, DAVIT_DOUBLE, 2 * N, 1);
  double first = NAN, again;
  for (int d = 1; d <= count; d++) {
    CHECK(davit_dznrm2(N, x, 1, d > 1 ? &again : &first, ON(davit_norm_options, devices, d)));
    assert_true(d == 1 || again == first);
  }
}

CASE(test_refusals) {
  double x[4] = {0}, result;
  REFUSED(davit_dnrm2(4, NULL, 1, &result, NULL), "x is NULL");
  REFUSED(davit_dnrm2(4, x, 0, &result, NULL), "incx is 0");
  REFUSED(davit_dasum(4, x, 1, NULL, NULL), "result is NULL");
  CHECK(davit_dnrm2(0, NULL, 1, &result, NULL));
  assert_true(result == 0);
}
