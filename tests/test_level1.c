/* SPDX-License-Identifier: Apache-2.0 */
/* What NaN, infinities and zeros make of vectors and matrices of levels 1 and 2, real and complex, in all forms; norms
 * near overflow and underflow; the equality of bits that dot and norms promise; which vectors overlap. Other results are
 * in test_operations.c, refusals of single arguments in test_interface_calls.c. */
#include "tests/vectors.h"

#include "src/base/check.h"

/* ---- factors that are NaN ---- */

enum { NAN_FACTORS = 4 };

/* NaN in all parts or in one. */
static double _Complex nan_factor(davit_type type, int which) {
  static const double parts[NAN_FACTORS][2] = {
      {(double)NAN, 0}, {(double)NAN, (double)NAN}, {0, (double)NAN}, {1, (double)NAN}};
  return is_complex_type(type) ? __builtin_complex(parts[which][0], parts[which][1]) : (double _Complex)NAN;
}

/* All elements, in all their parts. */
static void expect_nan(dense *v, const char *what) {
  dense_take(v);
  for (int64_t i = 0; i < v->cols; i++) {
    const wide value = dense_value(v, 0, i);
    if (!isnan(creall(value)) || (v->parts == 2 && !isnan(cimagl(value))))
      fail_msg("%s, type %d: element %lld of %lld is %Lg %Lg", what, (int)v->type, (long long)i,
               (long long)v->cols, creall(value), cimagl(value));
  }
}

static void try_nan_factors(davit_type type, int64_t n, int64_t inc) {
  static const dvt_form axpy[] = {dvt_axpy_host, dvt_axpy_region, dvt_axpy_stream},
                        scal[] = {dvt_scal_host, dvt_scal_region, dvt_scal_stream};
  EACH_FORM(form)
    for (int which = 0; which < NAN_FACTORS; which++) {
      SCOPE;
      const double _Complex factor = nan_factor(type, which);
      dense x = vector_new(type, n, inc, PLACE(form), 1), y = vector_new(type, n, 2, PLACE(form), 2);
      perform_form(axpy, form, &(dvt_axpy){type, n, factor, dense_there(&x), inc, dense_there(&y), 2});
      expect_nan(&y, "axpy");
      perform_form(scal, form, &(dvt_scal){type, n, factor, dense_there(&x), inc});
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
      const dense a = dense_new(type, m, n, 2, 0, PLACE(form), alpha == 0 ? UNSET : 3);
      const dense x = vector_new(type, plain ? n : m, incx, PLACE(form), alpha == 0 ? UNSET : 1);
      dense y = vector_new(type, plain ? m : n, incy, PLACE(form), beta == 0 ? UNSET : 2);
      perform_form(forms, form,
                   &(dvt_gemv){type, trans, m, n, alpha, dense_there(&a), dense_ld(&a), dense_there(&x), incx,
                               beta, dense_there(&y), incy});
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
      dense x = vector_new(type, n, inc, PLACE(form), 1);
      dense_set(&x, 0, 0, value[0]);
      dense_set(&x, x.rows - 1, n - 1, value[1]);
      dense_give(&x);
      dense norm = vector_new(part_type(type), 1, 1, PLACE(form), UNSET);
      perform_form(forms, form,
                   &(dvt_norm){type, turn % 2, n, dense_there(&x), inc, dense_there(&norm), false});
      dense_take(&norm);
      const double is = dense_at(&norm, 0, 0);
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

/* ---- factors that are 0 ---- */

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

CASE(test_zeros_read_nothing) {
  double a[4] = {1, 2, 3, 4}, x[2] = {1, 1}, y[2] = {NAN, NAN}, z[2] = {1, 2};
  CHECK(davit_dgemv('N', 2, 2, 1, a, 2, x, 1, 0, y, 1, NULL));
  assert_true(y[0] == 4 && y[1] == 6);
  CHECK(davit_daxpy(2, 0, (double[]){NAN, NAN}, 1, z, 1, NULL));
  assert_true(z[0] == 1 && z[1] == 2);
}

/* ---- bits ---- */

CASE(test_any_number_of_devices_same_bits) {
  enum { N = 7 * (1 << 20) + 5 };
  int devices[MAX_PLACES], count = spread_devices(devices);
  const double *x = rough_data(DAVIT_SUM, DAVIT_DOUBLE, N, 1), *y = rough_data(DAVIT_SUM, DAVIT_DOUBLE, N, 2);
  const float *u = rough_data(DAVIT_SUM, DAVIT_FLOAT, N, 3), *v = rough_data(DAVIT_SUM, DAVIT_FLOAT, N, 4);
  double first[2] = {NAN, NAN}, again[2];
  float narrow = NAN, narrow_again;
  for (int turn = 0; turn < 3 * count; turn++) {
    double *const to = turn ? again : first;
    const int some = 1 + turn % count;
    CHECK(davit_ddot(N, x, 1, y, 1, &to[0], ON(davit_dot_options, devices, some)));
    CHECK(davit_sdot(N, u, 1, v, 1, turn ? &narrow_again : &narrow, ON(davit_dot_options, devices, some)));
    CHECK(davit_dznrm2(N / 6, (const davit_complex_double *)x, 1, &to[1],
                       ON(davit_norm_options, devices, some)));
    assert_true(turn == 0 || (again[0] == first[0] && again[1] == first[1] && narrow_again == narrow));
  }
}

/* ---- arguments ---- */

CASE(test_arguments_that_do_not_fit) {
  double a[4] = {0}, x[4] = {0}, y[4] = {0}, result = 5;
  const int wrong[] = {999, -7};
  REFUSED(davit_daxpy(3, 1, y, 1, y + 1, 1, NULL), "overlaps");
  REFUSED(davit_dgemv('N', 2, 2, 1, a, 1, x, 1, 0, y, 1, NULL), "lda");
  REFUSED(davit_dgemv('N', 2, 2, 1, a, 2, y, 1, 0, y, 1, NULL), "overlaps");
  CHECK_FAILS(davit_daxpy(4, 1, x, 1, y, 1, ON(davit_axpy_options, wrong, 1)), DAVIT_UNKNOWN_DEVICE, "999");
  CHECK_FAILS(davit_ddot(4, x, 1, y, 1, &result, ON(davit_dot_options, wrong + 1, 1)), DAVIT_UNKNOWN_DEVICE,
              "-7");
  assert_true(result == 5);
}

CASE(test_nothing) {
  double result = 5, norm = 5;
  CHECK(davit_ddot(0, NULL, 1, NULL, 1, &result, NULL));
  CHECK(davit_dnrm2(0, NULL, 1, &norm, NULL));
  CHECK(davit_dscal(0, 1, NULL, 1, NULL));
  assert_true(result == 0 && norm == 0);
}

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
