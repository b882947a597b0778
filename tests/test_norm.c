/* SPDX-License-Identifier: Apache-2.0 */
/* Euclidean norms and sums of absolute values in all forms, with all types, lengths and increments, over devices and on
 * queues. Norms near overflow and underflow are those of scaled vectors. */
#include "tests/vectors.h"

static void try_norm(davit_type type, int64_t n, int64_t inc) {
  static const dvt_form forms[] = {dvt_norm_host, dvt_norm_region, dvt_norm_stream};
  EACH_FORM(form)
    for (int squares = 0; squares < 2; squares++) {
      SCOPE;
      const vector x = vector_at(type, n, inc, PLACE(form), 1);
      vector result = vector_at(part_type(type), 1, 1, PLACE(form), UNSET);
      perform_form(forms, form,
                   &(dvt_norm){type, squares, n, dense_there(&x.d), inc, dense_there(&result.d), false});
      dense_take(&result.d);
      long double right = 0;
      for (int64_t i = 0; i < n; i++) {
        const wide a = vector_element(&x, i, false);
        right +=
            squares ? creall(a) * creall(a) + cimagl(a) * cimagl(a) : fabsl(creall(a)) + fabsl(cimagl(a));
      }
      right = squares ? sqrtl(right) : right;
      assert_true(fabsl(creall(vector_element(&result, 0, false)) - right) <=
                  (4 + sqrtl((long double)n)) * vector_epsilon(type) * right);
    }
}

CASE(test_forms) {
  each_vector(try_norm);
}

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

/* ---- calls ---- */

/* What norms add up. */
typedef struct sums {
  long double squares, sizes;
} sums;

static sums sums_of(const vector *x) {
  sums all = {0, 0};
  for (int64_t i = 0; i < x->n; i++) {
    const wide a = vector_element(x, i, false);
    all.squares += creall(a) * creall(a) + cimagl(a) * cimagl(a);
    all.sizes += fabsl(creall(a)) + fabsl(cimagl(a));
  }
  return all;
}

/* Long vectors over all devices, and the same bits for one device. */
CASE(test_calls) {
  int list[4];
  const int all = some_devices(list);
  for (int p = 0; p < DENSE_PLACES; p++) {
    SCOPE;
    const vector x = vector_at(DAVIT_COMPLEX_DOUBLE, LONG_VECTOR, 1, dense_place(p), 1);
    const davit_complex_double *there = dense_there(&x.d);
    const sums right = sums_of(&x);
    double norms[2], sum;
    const davit_norm_options over = {.devices = list, .device_count = all},
                             one = {.devices = list, .device_count = 1};
    CHECK(davit_dznrm2(LONG_VECTOR, there, 1, &norms[0], &over));
    CHECK(davit_dznrm2(LONG_VECTOR, there, 1, &norms[1], &one));
    CHECK(davit_dzasum(LONG_VECTOR, there, 1, &sum, &over));
    assert_memory_equal(&norms[0], &norms[1], sizeof norms[0]);
    close_to(norms[0], sqrtl(right.squares), 1e-13L);
    close_to(sum, right.sizes, 1e-13L);
  }
}

CASE(test_queues) {
  for (int device = DAVIT_HOST; device < device_count(); device++) {
    SCOPE;
    const vector x = vector_at(DAVIT_COMPLEX_FLOAT, 1000, 2, place_for(device), 1);
    const sums right = sums_of(&x);
    float norm = 0, sum = 0;
    davit_queue *queue = new_queue(device, 1);
    CHECK(davit_queue_scnrm2(queue, 1000, dense_there(&x.d), 2, &norm, NULL));
    CHECK(davit_queue_scasum(queue, 1000, dense_there(&x.d), 2, &sum, NULL));
    finish(queue);
    close_to((double)norm, sqrtl(right.squares), 1e-5L);
    close_to((double)sum, right.sizes, 1e-5L);
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
