/* SPDX-License-Identifier: Apache-2.0 */
/* scal in all forms, with all types, lengths and increments, over devices and on queues. */
#include "tests/vectors.h"

static void try_scal(davit_type type, int64_t n, int64_t inc) {
  static const dvt_form forms[] = {dvt_scal_host, dvt_scal_region, dvt_scal_stream};
  EACH_FORM(form) {
    SCOPE;
    vector x = vector_at(type, n, inc, PLACE(form), 1);
    perform_form(forms, form, &(dvt_scal){type, n, vector_factor(type), dense_there(&x.d), inc});
    dense_take(&x.d);
    for (int64_t i = 0; i < n; i++)
      expect_element(&x, i, (wide)vector_factor(type) * vector_element(&x, i, true), 1);
  }
}

CASE(test_forms) {
  each_vector(try_scal);
}

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

/* Long vectors over all devices. */
CASE(test_calls) {
  int list[4];
  const int all = some_devices(list);
  for (int p = 0; p < DENSE_PLACES; p++) {
    SCOPE;
    vector x = vector_at(DAVIT_COMPLEX_DOUBLE, LONG_VECTOR, 1, dense_place(p), 1);
    CHECK(davit_zscal(LONG_VECTOR, 2, dense_there(&x.d), 1,
                      &(davit_scal_options){.devices = list, .device_count = all}));
    dense_take(&x.d);
    for (int64_t i = 0; i < LONG_VECTOR; i++)
      assert_true(vector_element(&x, i, false) == 2 * vector_element(&x, i, true));
  }
}

CASE(test_queues) {
  for (int device = DAVIT_HOST; device < device_count(); device++) {
    SCOPE;
    vector x = vector_at(DAVIT_COMPLEX_FLOAT, 1000, 2, place_for(device), 1);
    davit_queue *queue = new_queue(device, 1);
    CHECK(davit_queue_cscal(queue, 1000, 2, dense_there(&x.d), 2, NULL));
    CHECK(davit_queue_cscal(queue, 1000, -1, dense_there(&x.d), 2, NULL));
    finish(queue);
    dense_take(&x.d);
    for (int64_t i = 0; i < 1000; i++)
      assert_true(vector_element(&x, i, false) == -2 * vector_element(&x, i, true));
  }
}

CASE(test_refusals) {
  double x[4] = {0};
  REFUSED(davit_dscal(-1, 1, x, 1, NULL), "n is -1");
  REFUSED(davit_dscal(4, 1, x, 0, NULL), "incx is 0");
  REFUSED(davit_dscal(4, 1, NULL, 1, NULL), "x is NULL");
  CHECK(davit_dscal(0, 1, NULL, 1, NULL));
}
