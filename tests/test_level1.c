/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the real routines of levels 1 and 2 leave (test_ref.c, test_axpy.c, test_dot.c, test_gemv.c):
 * complex vectors, scal and norms, in all forms, on queues and over devices, against plain loops in long
 * double. What must not be read is NaN; norms near overflow and underflow are those of scaled vectors. */
#include "tests/dense.h"

#include <complex.h>

#include "offload/blas.h"
#include "offload/runtime/stream.h"

typedef long double _Complex wide;

enum { HOST, REGION, STREAM, FORMS };
static dvt_stream *stream;

static const davit_type types[] = {DAVIT_DOUBLE, DAVIT_FLOAT, DAVIT_COMPLEX_DOUBLE, DAVIT_COMPLEX_FLOAT};
static const int64_t lengths[] = {0, 1, 2, 5, 33, 5000};
static const int64_t increments[] = {1, 2, -1, -3};

static bool is_complex(davit_type type) {
  return type >= DAVIT_COMPLEX_FLOAT;
}

static davit_type part_of(davit_type type) {
  return type == DAVIT_DOUBLE || type == DAVIT_COMPLEX_DOUBLE ? DAVIT_DOUBLE : DAVIT_FLOAT;
}

/* A vector of either kind: a matrix of one row, or of a real and an imaginary row. */
typedef struct vector {
  dense d;
  davit_type type;
  int64_t n, inc;
} vector;

static vector vector_at(davit_type type, int64_t n, int64_t inc, int place, uint64_t seed) {
  const int64_t parts = is_complex(type) ? 2 : 1;
  return (vector){dense_new(part_of(type), parts, n, (llabs(inc) - 1) * parts, 0, place, seed), type, n, inc};
}

static wide element(const vector *v, int64_t i, bool was) {
  const int64_t j = v->inc < 0 ? v->n - 1 - i : i;
  double (*const at)(const dense *, int64_t, int64_t) = was ? dense_was : dense_at;
  const long double real = (long double)at(&v->d, 0, j);
  return is_complex(v->type) ? __builtin_complex(real, (long double)at(&v->d, 1, j)) : (wide)real;
}

static long double epsilon(davit_type type) {
  return (long double)element_epsilon(part_of(type)) * (is_complex(type) ? 4 : 1);
}

static void perform(const dvt_form forms[FORMS], int form, const void *arguments) {
  const dvt_site site = {.device = form == HOST ? DAVIT_HOST : 0, .stream = stream, .threads = 1};
  CHECK(forms[form](&site, arguments));
  if (form == STREAM)
    CHECK(dvt_stream_synchronize(stream));
}

static bool available(int form) {
  return form == HOST || (form == REGION && device_count() > 0) || (form == STREAM && stream);
}

#define EACH_FORM(form)                                                                                      \
  for (int form = 0; form < FORMS; form++)                                                                   \
    if (available(form))
#define PLACE(form) ((form) == HOST ? DAVIT_PAGEABLE : 0)

/* Does the work with every type, size and increment. */
static void each(void (*work)(davit_type type, int64_t n, int64_t inc)) {
  if (device_count() > 0)
    (void)dvt_stream_acquire(0, &stream);
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(lengths); s++)
      for (int i = 0; i < COUNT(increments); i++)
        work(types[t], lengths[s], increments[i]);
  if (stream)
    dvt_stream_release(stream);
  stream = NULL;
}

static double _Complex factor(davit_type type) {
  const double _Complex value = is_complex(type) ? __builtin_complex(0.75, -0.5) : 0.75; /* exact in float */
  return value;
}

/* ---- scal and axpy ---- */

static void expect_close(const vector *v, int64_t i, wide right, long double size) {
  const long double error = cabsl(element(v, i, false) - right);
  assert_true(error <= 2 * epsilon(v->type) * size);
}

static void try_scal(davit_type type, int64_t n, int64_t inc) {
  static const dvt_form forms[] = {dvt_scal_host, dvt_scal_region, dvt_scal_stream};
  EACH_FORM(form) {
    SCOPE;
    vector x = vector_at(type, n, inc, PLACE(form), 1);
    perform(forms, form, &(dvt_scal){type, n, factor(type), dense_there(&x.d), inc});
    dense_take(&x.d);
    for (int64_t i = 0; i < n; i++)
      expect_close(&x, i, (wide)factor(type) * element(&x, i, true), 1);
  }
}

static void try_axpy(davit_type type, int64_t n, int64_t inc) {
  static const dvt_form forms[] = {dvt_axpy_host, dvt_axpy_region, dvt_axpy_stream};
  EACH_FORM(form) {
    SCOPE;
    vector x = vector_at(type, n, inc, PLACE(form), 1),
           y = vector_at(type, n, inc == 2 ? -1 : 2, PLACE(form), 2);
    perform(forms, form,
            &(dvt_axpy){type, n, factor(type), dense_there(&x.d), inc, dense_there(&y.d), inc == 2 ? -1 : 2});
    dense_take(&y.d);
    assert_true(dense_as_image(&x.d));
    for (int64_t i = 0; i < n; i++)
      expect_close(&y, i, (wide)factor(type) * element(&x, i, false) + element(&y, i, true), 2);
  }
}

/* A NaN stays one, whatever the factor. */
CASE(test_scal_by_zero) {
  static const dvt_form forms[] = {dvt_scal_host, dvt_scal_region, dvt_scal_stream};
  const double x[4] = {1, (double)NAN, (double)INFINITY, 2};
  for (int form = HOST; form <= REGION; form++)
    if (available(form)) {
      SCOPE;
      double is[4], *there = kept_at(sizeof x, PLACE(form));
      CHECK(davit_copy(sizeof x, x, there));
      perform(forms, form, &(dvt_scal){DAVIT_DOUBLE, 4, 0, there, 1});
      CHECK(davit_copy(sizeof x, there, is));
      assert_true(is[0] == 0 && isnan(is[1]) && isnan(is[2]) && is[3] == 0);
    }
}

/* ---- sums ---- */

static void try_dot(davit_type type, int64_t n, int64_t inc) {
  static const dvt_form forms[] = {dvt_dot_host, dvt_dot_region, dvt_dot_stream};
  EACH_FORM(form)
    for (int conjugate = 0; conjugate < 2; conjugate++) {
      SCOPE;
      const vector x = vector_at(type, n, inc, PLACE(form), 1), y = vector_at(type, n, 2, PLACE(form), 2);
      vector sum = vector_at(type, 1, 1, PLACE(form), UNSET);
      perform(forms, form,
              &(dvt_dot){type, n, dense_there(&x.d), inc, dense_there(&y.d), 2, dense_there(&sum.d),
                         conjugate, false});
      dense_take(&sum.d);
      wide right = 0;
      long double size = 0;
      for (int64_t i = 0; i < n; i++) {
        const wide a = element(&x, i, false), b = element(&y, i, false);
        right += (conjugate ? conjl(a) : a) * b;
        size += cabsl(a) * cabsl(b);
      }
      assert_true(cabsl(element(&sum, 0, false) - right) <= sqrtl((long double)n) * epsilon(type) * size);
    }
}

static void try_norm(davit_type type, int64_t n, int64_t inc) {
  static const dvt_form forms[] = {dvt_norm_host, dvt_norm_region, dvt_norm_stream};
  EACH_FORM(form)
    for (int squares = 0; squares < 2; squares++) {
      SCOPE;
      const vector x = vector_at(type, n, inc, PLACE(form), 1);
      vector result = vector_at(part_of(type), 1, 1, PLACE(form), UNSET);
      perform(forms, form,
              &(dvt_norm){type, squares, n, dense_there(&x.d), inc, dense_there(&result.d), false});
      dense_take(&result.d);
      long double right = 0;
      for (int64_t i = 0; i < n; i++) {
        const wide a = element(&x, i, false);
        right +=
            squares ? creall(a) * creall(a) + cimagl(a) * cimagl(a) : fabsl(creall(a)) + fabsl(cimagl(a));
      }
      right = squares ? sqrtl(right) : right;
      assert_true(fabsl(creall(element(&result, 0, false)) - right) <=
                  (4 + sqrtl((long double)n)) * epsilon(type) * right);
    }
}

CASE(test_forms) {
  each(try_scal);
  each(try_axpy);
  each(try_dot);
  each(try_norm);
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
      if (available(form)) {
        SCOPE;
        const double right = cases[c].norm;
        double is, *there = kept_at(sizeof cases[c].x, PLACE(form));
        CHECK(davit_copy(sizeof cases[c].x, cases[c].x, there));
        perform(forms, form, &(dvt_norm){DAVIT_DOUBLE, true, 4, there, 1, &is, false});
        assert_true(isnan(right) ? isnan(is) : is == right || fabs(is - right) <= 1e-15 * right + 1e-323);
      }
  double big[6], norm;
  for (int i = 0; i < 6; i++)
    big[i] = 1e200;
  CHECK(davit_dznrm2(3, (davit_complex_double *)big, 1, &norm, NULL));
  assert_true(fabs(norm - sqrt(6) * 1e200) <= 1e-14 * norm);
}

/* ---- matrix times vector ---- */

static void try_gemv(davit_type type, char trans, int64_t m, int64_t n, int64_t incx, int64_t incy,
                     bool reads_y) {
  static const dvt_form forms[] = {dvt_gemv_host, dvt_gemv_region, dvt_gemv_stream};
  EACH_FORM(form) {
    SCOPE;
    const bool plain = trans == 'N';
    const int64_t parts = is_complex(type) ? 2 : 1, nx = plain ? n : m, ny = plain ? m : n;
    const double _Complex beta = reads_y ? factor(type) : 0;
    const dense a = dense_new(part_of(type), parts * m, n, 2 * parts, 0, PLACE(form), 3);
    const vector x = vector_at(type, nx, incx, PLACE(form), 1);
    vector y = vector_at(type, ny, incy, PLACE(form), reads_y ? 2 : UNSET);
    perform(forms, form,
            &(dvt_gemv){type, trans, m, n, factor(type), dense_there(&a), a.ld / parts, dense_there(&x.d),
                        incx, beta, dense_there(&y.d), incy});
    dense_take(&y.d);
    for (int64_t i = 0; i < ny; i++) {
      wide sum = 0;
      for (int64_t j = 0; j < nx; j++) {
        const int64_t row = plain ? i : j, col = plain ? j : i;
        const wide value = is_complex(type) ? __builtin_complex((long double)dense_at(&a, 2 * row, col),
                                                                (long double)dense_at(&a, 2 * row + 1, col))
                                            : (wide)dense_at(&a, row, col);
        sum += (trans == 'C' ? conjl(value) : value) * element(&x, j, false);
      }
      sum = (wide)factor(type) * sum + (reads_y ? (wide)beta * element(&y, i, true) : 0);
      expect_close(&y, i, sum, 1 + (long double)nx);
    }
  }
}

CASE(test_complex_gemv) {
  static const int64_t shapes[][2] = {{1, 1}, {3, 5}, {9, 2}, {1, 17}, {40, 33}};
  if (device_count() > 0)
    (void)dvt_stream_acquire(0, &stream);
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(shapes); s++)
      for (const char *trans = is_complex(types[t]) ? "NTC" : "NT"; *trans; trans++)
        for (int i = 0; i < COUNT(increments); i++)
          try_gemv(types[t], *trans, shapes[s][0], shapes[s][1], increments[i], increments[(i + s) % 4],
                   i % 2);
  if (stream)
    dvt_stream_release(stream);
  stream = NULL;
}

/* ---- calls ---- */

enum { LONG = (1 << 20) + 1234 };

static void close_to(double is, long double right, long double eps) {
  assert_true(fabsl((long double)is - right) <= eps * fabsl(right));
}

/* Long vectors over all devices, and the same bits again and for one device; then on a queue. */
CASE(test_calls) {
  const int count = device_count();
  int list[4] = {DAVIT_HOST}, all = 0;
  for (; all < count && all < 4; all++)
    list[all] = all;
  all = all ? all : 1;
  for (int p = 0; p < DENSE_PLACES; p++) {
    SCOPE;
    vector x = vector_at(DAVIT_COMPLEX_DOUBLE, LONG, 1, dense_place(p), 1),
           y = vector_at(DAVIT_COMPLEX_DOUBLE, LONG, -1, dense_place(DENSE_PLACES - 1 - p), 2);
    const davit_complex_double *there = dense_there(&x.d), *other = dense_there(&y.d);
    long double squares = 0, sizes = 0;
    wide products = 0;
    for (int64_t i = 0; i < LONG; i++) {
      const wide a = element(&x, i, false);
      squares += creall(a) * creall(a) + cimagl(a) * cimagl(a);
      sizes += fabsl(creall(a)) + fabsl(cimagl(a));
      products += conjl(a) * element(&y, i, false);
    }
    double norms[2], sum;
    davit_complex_double product;
    const davit_norm_options over = {.devices = list, .device_count = all},
                             one = {.devices = list, .device_count = 1};
    CHECK(davit_dznrm2(LONG, there, 1, &norms[0], &over));
    CHECK(davit_dznrm2(LONG, there, 1, &norms[1], &one));
    CHECK(davit_dzasum(LONG, there, 1, &sum, &over));
    CHECK(davit_zdotc(LONG, there, 1, other, -1, &product,
                      &(davit_dot_options){.devices = list, .device_count = all}));
    assert_memory_equal(&norms[0], &norms[1], sizeof norms[0]);
    close_to(norms[0], sqrtl(squares), 1e-13L);
    close_to(sum, sizes, 1e-13L);
    assert_true(cabsl((wide)product - products) <= 1e-13L * squares);
    CHECK(davit_zscal(LONG, 2, dense_there(&x.d), 1,
                      &(davit_scal_options){.devices = list, .device_count = all}));
    dense_take(&x.d);
    for (int64_t i = 0; i < LONG; i++)
      assert_true(element(&x, i, false) == 2 * element(&x, i, true));
  }
}

CASE(test_queues) {
  for (int device = DAVIT_HOST; device < device_count(); device++) {
    SCOPE;
    const int place = place_for(device);
    const vector x = vector_at(DAVIT_COMPLEX_FLOAT, 1000, 2, place, 1);
    float norm = 0, sum = 0;
    davit_complex_float product = 0;
    long double squares = 0, sizes = 0;
    wide products = 0;
    davit_queue *queue = new_queue(device, 1);
    CHECK(davit_queue_scnrm2(queue, 1000, dense_there(&x.d), 2, &norm, NULL));
    CHECK(davit_queue_scasum(queue, 1000, dense_there(&x.d), 2, &sum, NULL));
    CHECK(davit_queue_cdotu(queue, 1000, dense_there(&x.d), 2, dense_there(&x.d), 2, &product, NULL));
    finish(queue);
    for (int64_t i = 0; i < 1000; i++) {
      const wide a = element(&x, i, false);
      squares += creall(a) * creall(a) + cimagl(a) * cimagl(a);
      sizes += fabsl(creall(a)) + fabsl(cimagl(a));
      products += a * a;
    }
    close_to((double)norm, sqrtl(squares), 1e-5L);
    close_to((double)sum, sizes, 1e-5L);
    assert_true(cabsl((wide)product - products) <= 1e-5L * squares);
  }
}

CASE(test_refusals) {
  double x[4] = {0}, result;
  REFUSED(davit_dscal(-1, 1, x, 1, NULL), "n is -1");
  REFUSED(davit_dscal(4, 1, x, 0, NULL), "incx is 0");
  REFUSED(davit_dscal(4, 1, NULL, 1, NULL), "x is NULL");
  REFUSED(davit_dnrm2(4, NULL, 1, &result, NULL), "x is NULL");
  REFUSED(davit_dnrm2(4, x, 0, &result, NULL), "incx is 0");
  REFUSED(davit_dasum(4, x, 1, NULL, NULL), "result is NULL");
  CHECK(davit_dnrm2(0, NULL, 1, &result, NULL));
  assert_true(result == 0);
}
