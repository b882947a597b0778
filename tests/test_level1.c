/* SPDX-License-Identifier: Apache-2.0 */
/* Complex vectors and matrices of levels 1 and 2, which tests of the real routines leave (test_ref.c, test_axpy.c,
 * test_dot.c, test_gemv.c): axpy, dot and gemv in all forms, dot on queues and over devices, against plain loops in
 * long double. Norms and scal have tests of
 * their own; what NaN and infinities make of them is here. */
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

/* ---- factors that are NaN ---- */

enum { NAN_FACTORS = 4 };

/* NaN in all parts or in one. */
static double _Complex nan_factor(davit_type type, int which) {
  static const double parts[NAN_FACTORS][2] = {
      {(double)NAN, 0}, {(double)NAN, (double)NAN}, {0, (double)NAN}, {1, (double)NAN}};
  return is_complex_type(type) ? __builtin_complex(parts[which][0], parts[which][1]) : (double _Complex)NAN;
}

/* All elements, in all their parts. */
static void expect_nan(vector *v, const char *what) {
  dense_take(&v->d);
  for (int64_t i = 0; i < v->n; i++) {
    const wide value = vector_element(v, i, false);
    if (!isnan(creall(value)) || (is_complex_type(v->type) && !isnan(cimagl(value))))
      fail_msg("%s, type %d: element %lld of %lld is %Lg %Lg", what, (int)v->type, (long long)i,
               (long long)v->n, creall(value), cimagl(value));
  }
}

static void try_nan_factors(davit_type type, int64_t n, int64_t inc) {
  static const dvt_form axpy[] = {dvt_axpy_host, dvt_axpy_region, dvt_axpy_stream},
                        scal[] = {dvt_scal_host, dvt_scal_region, dvt_scal_stream};
  EACH_FORM(form)
    for (int which = 0; which < NAN_FACTORS; which++) {
      SCOPE;
      const double _Complex factor = nan_factor(type, which);
      vector x = vector_at(type, n, inc, PLACE(form), 1), y = vector_at(type, n, 2, PLACE(form), 2);
      perform_form(axpy, form, &(dvt_axpy){type, n, factor, dense_there(&x.d), inc, dense_there(&y.d), 2});
      expect_nan(&y, "axpy");
      perform_form(scal, form, &(dvt_scal){type, n, factor, dense_there(&x.d), inc});
      expect_nan(&x, "scal");
    }
}

/* A NaN beside any other factor; beta = 0 beside a NaN does not read y, alpha = 0 does not read A and x. */
static void try_nan_gemv(davit_type type, char trans, int64_t m, int64_t n, int64_t incx, int64_t incy) {
  static const dvt_form forms[] = {dvt_gemv_host, dvt_gemv_region, dvt_gemv_stream};
  static const double others[] = {0, 1, -2, (double)NAN};
  EACH_FORM(form)
    for (int turn = 0; turn < 2 * NAN_FACTORS * COUNT(others); turn++) {
      SCOPE;
      const bool of_alpha = turn % 2;
      const double _Complex factor = nan_factor(type, turn / 2 % NAN_FACTORS),
                            other = others[turn / 2 / NAN_FACTORS];
      const double _Complex alpha = of_alpha ? factor : other, beta = of_alpha ? other : factor;
      const bool plain = trans == 'N';
      const int64_t parts = is_complex_type(type) ? 2 : 1;
      const dense a =
          dense_new(part_type(type), parts * m, n, 2 * parts, 0, PLACE(form), alpha == 0 ? UNSET : 3);
      const vector x = vector_at(type, plain ? n : m, incx, PLACE(form), alpha == 0 ? UNSET : 1);
      vector y = vector_at(type, plain ? m : n, incy, PLACE(form), beta == 0 ? UNSET : 2);
      perform_form(forms, form,
                   &(dvt_gemv){type, trans, m, n, alpha, dense_there(&a), a.ld / parts, dense_there(&x.d),
                               incx, beta, dense_there(&y.d), incy});
      expect_nan(&y, "gemv");
    }
}

CASE(test_nan_factors) {
  static const int64_t shapes[][2] = {{1, 1}, {2, 7}, {7, 2}, {70, 70}};
  each_vector(try_nan_factors);
  open_forms();
  for (int t = 0; t < VECTOR_TYPES; t++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (const char *trans = "NTC"; *trans; trans++)
        try_nan_gemv(vector_types[t], *trans, shapes[s][0], shapes[s][1], vector_increments[s],
                     vector_increments[(s + t) % VECTOR_INCREMENTS]);
  close_forms();
}

/* A NaN among infinities of either sign, and these alone. */
static void try_infinite_norms(davit_type type, int64_t n, int64_t inc) {
  static const dvt_form forms[] = {dvt_norm_host, dvt_norm_region, dvt_norm_stream};
  static const double values[][2] = {{-(double)INFINITY, (double)INFINITY},
                                     {(double)INFINITY, (double)NAN},
                                     {(double)NAN, -(double)INFINITY},
                                     {-(double)INFINITY, 1e-300}};
  EACH_FORM(form)
    for (int turn = 0; turn < 2 * COUNT(values) && n > 1; turn++) {
      SCOPE;
      const double *value = values[turn / 2];
      vector x = vector_at(type, n, inc, PLACE(form), 1);
      dense_set(&x.d, 0, 0, value[0]);
      dense_set(&x.d, x.d.rows - 1, n - 1, value[1]);
      dense_give(&x.d);
      vector norm = vector_at(part_type(type), 1, 1, PLACE(form), UNSET);
      perform_form(forms, form,
                   &(dvt_norm){type, turn % 2, n, dense_there(&x.d), inc, dense_there(&norm.d), false});
      dense_take(&norm.d);
      const double is = dense_at(&norm.d, 0, 0);
      /* cuBLAS's nrm2 of an infinity and a NaN is infinity, as hypot()'s is. */
      const bool nan = isnan(value[0]) || isnan(value[1]),
                 either = turn % 2 && forms[form] == dvt_norm_stream;
      if (!((nan && isnan(is)) || ((!nan || either) && isinf(is) && is > 0)))
        fail_msg("%s of %lld elements with %g and %g is %g, form %d, type %d, increment %lld",
                 turn % 2 ? "nrm2" : "asum", (long long)n, value[0], value[1], is, form, (int)type,
                 (long long)inc);
    }
}

CASE(test_infinite_norms) {
  each_vector(try_infinite_norms);
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
