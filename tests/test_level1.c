/* SPDX-License-Identifier: Apache-2.0 */
/* Complex vectors and matrices of levels 1 and 2, which tests of the real routines leave (test_ref.c, test_axpy.c,
 * test_dot.c, test_gemv.c): axpy, dot and gemv in all forms, dot on queues and over devices, against plain loops in
 * long double. Norms and scal have tests of their own. */
#include "tests/vectors.h"

static void try_axpy(davit_type type, int64_t n, int64_t inc) {
  static const dvt_form forms[] = {dvt_axpy_host, dvt_axpy_region, dvt_axpy_stream};
  EACH_FORM(form) {
    SCOPE;
    vector x = vector_at(type, n, inc, PLACE(form), 1),
           y = vector_at(type, n, inc == 2 ? -1 : 2, PLACE(form), 2);
    perform_form(forms, form,
                 &(dvt_axpy){type, n, vector_factor(type), dense_there(&x.d), inc, dense_there(&y.d),
                             inc == 2 ? -1 : 2});
    dense_take(&y.d);
    assert_true(dense_as_image(&x.d));
    for (int64_t i = 0; i < n; i++)
      expect_element(
          &y, i, (wide)vector_factor(type) * vector_element(&x, i, false) + vector_element(&y, i, true), 2);
  }
}

static void try_dot(davit_type type, int64_t n, int64_t inc) {
  static const dvt_form forms[] = {dvt_dot_host, dvt_dot_region, dvt_dot_stream};
  EACH_FORM(form)
    for (int conjugate = 0; conjugate < 2; conjugate++) {
      SCOPE;
      const vector x = vector_at(type, n, inc, PLACE(form), 1), y = vector_at(type, n, 2, PLACE(form), 2);
      vector sum = vector_at(type, 1, 1, PLACE(form), UNSET);
      perform_form(forms, form,
                   &(dvt_dot){type, n, dense_there(&x.d), inc, dense_there(&y.d), 2, dense_there(&sum.d),
                              conjugate, false});
      dense_take(&sum.d);
      wide right = 0;
      long double size = 0;
      for (int64_t i = 0; i < n; i++) {
        const wide a = vector_element(&x, i, false), b = vector_element(&y, i, false);
        right += (conjugate ? conjl(a) : a) * b;
        size += cabsl(a) * cabsl(b);
      }
      assert_true(cabsl(vector_element(&sum, 0, false) - right) <=
                  sqrtl((long double)n) * vector_epsilon(type) * size);
    }
}

CASE(test_forms) {
  each_vector(try_axpy);
  each_vector(try_dot);
}

/* ---- matrix times vector ---- */

static void try_gemv(davit_type type, char trans, int64_t m, int64_t n, int64_t incx, int64_t incy,
                     bool reads_y) {
  static const dvt_form forms[] = {dvt_gemv_host, dvt_gemv_region, dvt_gemv_stream};
  EACH_FORM(form) {
    SCOPE;
    const bool plain = trans == 'N';
    const int64_t parts = is_complex_type(type) ? 2 : 1, nx = plain ? n : m, ny = plain ? m : n;
    const double _Complex beta = reads_y ? vector_factor(type) : 0;
    const dense a = dense_new(part_type(type), parts * m, n, 2 * parts, 0, PLACE(form), 3);
    const vector x = vector_at(type, nx, incx, PLACE(form), 1);
    vector y = vector_at(type, ny, incy, PLACE(form), reads_y ? 2 : UNSET);
    perform_form(forms, form,
                 &(dvt_gemv){type, trans, m, n, vector_factor(type), dense_there(&a), a.ld / parts,
                             dense_there(&x.d), incx, beta, dense_there(&y.d), incy});
    dense_take(&y.d);
    for (int64_t i = 0; i < ny; i++) {
      wide sum = 0;
      for (int64_t j = 0; j < nx; j++) {
        const int64_t row = plain ? i : j, col = plain ? j : i;
        const wide value = is_complex_type(type)
                               ? __builtin_complex((long double)dense_at(&a, 2 * row, col),
                                                   (long double)dense_at(&a, 2 * row + 1, col))
                               : (wide)dense_at(&a, row, col);
        sum += (trans == 'C' ? conjl(value) : value) * vector_element(&x, j, false);
      }
      sum = (wide)vector_factor(type) * sum + (reads_y ? (wide)beta * vector_element(&y, i, true) : 0);
      expect_element(&y, i, sum, 1 + (long double)nx);
    }
  }
}

CASE(test_complex_gemv) {
  static const int64_t shapes[][2] = {{1, 1}, {3, 5}, {9, 2}, {1, 17}, {40, 33}};
  open_forms();
  for (int t = 0; t < VECTOR_TYPES; t++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (const char *trans = is_complex_type(vector_types[t]) ? "NTC" : "NT"; *trans; trans++)
        for (int i = 0; i < VECTOR_INCREMENTS; i++)
          try_gemv(vector_types[t], *trans, shapes[s][0], shapes[s][1], vector_increments[i],
                   vector_increments[(i + s) % 4], i % 2);
  close_forms();
}

/* ---- calls ---- */

static wide product_of(const vector *x, const vector *y, bool conjugate) {
  wide sum = 0;
  for (int64_t i = 0; i < x->n; i++) {
    const wide a = vector_element(x, i, false);
    sum += (conjugate ? conjl(a) : a) * vector_element(y, i, false);
  }
  return sum;
}

/* Long vectors over all devices. */
CASE(test_calls) {
  int list[4];
  const int all = some_devices(list);
  for (int p = 0; p < DENSE_PLACES; p++) {
    SCOPE;
    const vector x = vector_at(DAVIT_COMPLEX_DOUBLE, LONG_VECTOR, 1, dense_place(p), 1),
                 y = vector_at(DAVIT_COMPLEX_DOUBLE, LONG_VECTOR, -1, dense_place(DENSE_PLACES - 1 - p), 2);
    davit_complex_double product;
    CHECK(davit_zdotc(LONG_VECTOR, dense_there(&x.d), 1, dense_there(&y.d), -1, &product,
                      &(davit_dot_options){.devices = list, .device_count = all}));
    assert_true(cabsl((wide)product - product_of(&x, &y, true)) <= 1e-13L * creall(product_of(&x, &x, true)));
  }
}

CASE(test_queues) {
  for (int device = DAVIT_HOST; device < device_count(); device++) {
    SCOPE;
    const vector x = vector_at(DAVIT_COMPLEX_FLOAT, 1000, 2, place_for(device), 1);
    davit_complex_float product = 0;
    davit_queue *queue = new_queue(device, 1);
    CHECK(davit_queue_cdotu(queue, 1000, dense_there(&x.d), 2, dense_there(&x.d), 2, &product, NULL));
    finish(queue);
    assert_true(cabsl((wide)product - product_of(&x, &x, false)) <= 1e-5L * creall(product_of(&x, &x, true)));
  }
}
