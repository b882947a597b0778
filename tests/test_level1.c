/* SPDX-License-Identifier: Apache-2.0 */
/* What NaN and infinities make of vectors and matrices of levels 1 and 2, real and complex, in all forms. */
#include "tests/vectors.h"

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
