/* SPDX-License-Identifier: Apache-2.0 */
/* scal by 0, and what it refuses. Its results are in test_operations.c. */
#include "tests/vectors.h"

/* A NaN stays one, whatever the factor. */
CASE(test_scal_by_zero) {
  static const dvt_form forms[] = {dvt_scal_host, dvt_scal_region, dvt_scal_stream};
  const double x[4] = {1, (double)NAN, (double)INFINITY, 2};
  for (int form = HOST; form <= REGION; form++)
    if (form_available(form)) {
      SCOPE;
      double is[4], *there = kept_at(sizeof x, PLACE(form));
      CHECK(davit_copy(sizeof x, x, there));
      perform_form(forms, form, &(dvt_scal){DAVIT_DOUBLE, 4, 0, there, 1});
      CHECK(davit_copy(sizeof x, there, is));
      assert_true(is[0] == 0 && isnan(is[1]) && isnan(is[2]) && is[3] == 0);
    }
}

CASE(test_refusals) {
  double x[4] = {0};
  REFUSED(davit_dscal(-1, 1, x, 1, NULL), "n is -1");
  REFUSED(davit_dscal(4, 1, x, 0, NULL), "incx is 0");
  REFUSED(davit_dscal(4, 1, NULL, 1, NULL), "x is NULL");
  CHECK(davit_dscal(0, 1, NULL, 1, NULL));
}
