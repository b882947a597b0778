/* SPDX-License-Identifier: Apache-2.0 */
/* The BLAS of one device and the random numbers against their definitions.
 *
 * Every form that this machine has (host, region on device 0, stream of device 0 if that is an NVIDIA GPU)
 * runs every case on the same operands, and is compared with plain loops in long double by product_bound() in
 * the Frobenius norm. Everything that an operation must not read is NaN: guard zones, gaps, C for beta = 0, A
 * and B for alpha = 0. */
#include "tests/dense.h"

#include <omp.h>

#include "offload/blas.h"
#include "offload/runtime/stream.h"
#include "ref/philox.h"

static const int64_t sizes[] = {0, 1, 2, 3, 5, 9, 17, 33, 64, 97};
static const int64_t increments[] = {1, 2, -1, -3};
static const double scalars[] = {0, 1, -1, 0.7};
static const char transposes[] = {'N', 'T', 'C'};

/* ---- random numbers ---- */

CASE(test_philox_known_answers) {
  /* Random123's kat_vectors: counter, key, answer. */
  static const uint32_t vectors[][10] = {
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
       0xa20bc7c6, 0x6d5451fd},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
       0x5001e420, 0x24126ea1},
  };
  for (int i = 0; i < COUNT(vectors); i++) {
    const uint32_t *v = vectors[i];
    dvt_philox_block block = dvt_philox((dvt_philox_block){{v[0], v[1], v[2], v[3]}}, v[4], v[5]);
    assert_memory_equal(block.word, v + 6, sizeof block.word);
  }
}

CASE(test_random_is_philox_by_element) {
  enum { COUNT_ALL = 1001 };
  const uint64_t seed = UINT64_C(0x0123456789abcdef);
  double all[COUNT_ALL], part[COUNT_ALL];
  float all_float[COUNT_ALL], part_float[COUNT_ALL];
  dvt_ref_random_double(all, 0, COUNT_ALL, seed);
  dvt_ref_random_float(all_float, 0, COUNT_ALL, seed);
  for (uint32_t i = 0; i < COUNT_ALL; i++) {
    dvt_philox_block d = dvt_philox((dvt_philox_block){{i / 2, 0, 0, 0}}, 0x89abcdef, 0x01234567);
    uint32_t high = d.word[2 * (i % 2)] >> 5, low = d.word[2 * (i % 2) + 1] >> 6;
    assert_true(all[i] == (high * 67108864.0 + low) / 9007199254740992.0);
    assert_true(all[i] >= 0 && all[i] < 1);
    dvt_philox_block f = dvt_philox((dvt_philox_block){{i / 4, 0, 0, 0}}, 0x89abcdef, 0x01234567);
    assert_true(all_float[i] == (float)(f.word[i % 4] >> 8) / 16777216.0f);
    assert_true(all_float[i] >= 0 && all_float[i] < 1);
  }
  for (int first = 0; first < 9; first++)
    for (int count = 0; count < 9; count++) {
      dvt_ref_random_double(part, first, count, seed);
      assert_memory_equal(part, all + first, (size_t)count * sizeof *part);
      dvt_ref_random_float(part_float, first, count, seed);
      assert_memory_equal(part_float, all_float + first, (size_t)count * sizeof *part_float);
    }
  /* The counter goes on beyond 32 bits. */
  dvt_ref_random_double(part, INT64_C(3) << 33, 1, seed);
  dvt_philox_block far = dvt_philox((dvt_philox_block){{0, 3, 0, 0}}, 0x89abcdef, 0x01234567);
  assert_true(part[0] == ((far.word[0] >> 5) * 67108864.0 + (far.word[1] >> 6)) / 9007199254740992.0);
}

/* ---- the forms of an operation ---- */

enum { HOST, REGION, STREAM, FORMS };
static dvt_stream *stream;

static bool available(int form) {
  return form == HOST || (form == REGION && device_count() > 0) || (form == STREAM && stream);
}

#define EACH_FORM(form)                                                                                      \
  for (int form = 0; form < FORMS; form++)                                                                   \
    if (available(form))

static int place_of(int form) {
  return form == HOST ? DAVIT_PAGEABLE : 0;
}

static davit_status perform(const dvt_form forms[FORMS], int form, int threads, const void *arguments) {
  const dvt_site site = {.device = form == HOST ? DAVIT_HOST : 0, .stream = stream, .threads = threads};
  davit_status status = forms[form](&site, arguments);
  if (form == STREAM)
    CHECK(dvt_stream_synchronize(stream));
  return status;
}

/* A scalar as the type has it. */
static double scalar_of(davit_type type, double value) {
  return type == DAVIT_DOUBLE ? value : (double)(float)value;
}

static uint64_t seed_of(bool unread, uint64_t seed) {
  return unread ? UNSET : seed;
}

/* The inputs are as they were. */
static void expect_unread(const dense *a, const dense *b) {
  assert_true(dense_as_image(a) && dense_as_image(b));
}

/* ---- products of matrices ---- */

static void try_gemm(davit_type type, char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
                     double beta) {
  static const dvt_form forms[] = {dvt_level3_host, dvt_level3_region, dvt_level3_stream};
  const bool ta = transa != 'N', tb = transb != 'N';
  /* BLIS's threads spin where they wait for each other, so only some cases have two or three. */
  const int threads = (m + n + k) % 32 < 2 ? 2 + (int)((m + n + k) % 32) : 1;
  alpha = scalar_of(type, alpha);
  beta = scalar_of(type, beta);
  EACH_FORM(form) {
    SCOPE;
    const int place = place_of(form);
    dense a = dense_new(type, ta ? k : m, ta ? m : k, 3, 0, place, seed_of(alpha == 0, 1));
    dense b = dense_new(type, tb ? n : k, tb ? k : n, 5, 0, place, seed_of(alpha == 0, 2));
    dense c = dense_new(type, m, n, 2, 0, place, seed_of(beta == 0, 3));
    const dvt_level3 g = {.type = type,
                          .transa = transa,
                          .transb = transb,
                          .m = m,
                          .n = n,
                          .k = k,
                          .alpha = alpha,
                          .a = dense_there(&a),
                          .lda = a.ld,
                          .b = dense_there(&b),
                          .ldb = b.ld,
                          .beta = beta,
                          .c = dense_there(&c),
                          .ldc = c.ld};
    const double bound = product_bound(k, alpha, &a, &b, beta, &c);
    long double squares = 0;
    CHECK(perform(forms, form, threads, &g));
    dense_take(&c);
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = 0; i < m; i++) {
        long double sum = 0;
        for (int64_t l = 0; l < k && alpha != 0; l++)
          sum += (long double)dense_at(&a, ta ? l : i, ta ? i : l) *
                 (long double)dense_at(&b, tb ? j : l, tb ? l : j);
        sum = alpha * sum + (beta == 0 ? 0 : beta * (long double)dense_was(&c, i, j));
        squares += powl((long double)dense_at(&c, i, j) - sum, 2);
      }
    assert_true(sqrtl(squares) <= bound); /* false for NaN */
    expect_unread(&a, &b);
  }
}

/* All sizes with each other; transposes and scalars take turns. */
static void gemm_sizes(davit_type type) {
  int turn = 0;
  for (int m = 0; m < COUNT(sizes); m++)
    for (int n = 0; n < COUNT(sizes); n++)
      for (int k = 0; k < COUNT(sizes); k++, turn++)
        try_gemm(type, transposes[turn % 2], transposes[turn / 2 % 2], sizes[m], sizes[n], sizes[k],
                 scalars[turn % 3 + 1], scalars[turn % 4]);
}

static void gemm_scalars(davit_type type) {
  for (int trans = 0; trans < 9; trans++)
    for (int alpha = 0; alpha < COUNT(scalars); alpha++)
      for (int beta = 0; beta < COUNT(scalars); beta++) {
        const char ta = transposes[trans / 3], tb = transposes[trans % 3];
        try_gemm(type, ta, tb, 33, 17, 9, scalars[alpha], scalars[beta]);
        try_gemm(type, ta, tb, 5, 64, 0, scalars[alpha], scalars[beta]);
      }
}

static void gemm_several_tiles(davit_type type) {
  for (int trans = 0; trans < 9; trans++) {
    try_gemm(type, transposes[trans / 3], transposes[trans % 3], 257, 131, 37, 0.7, -1);
    try_gemm(type, transposes[trans / 3], transposes[trans % 3], 128, 64, 256, 1, 0);
  }
}

/* ---- products with vectors ---- */

static void try_gemv(davit_type type, char trans, int64_t m, int64_t n, int64_t incx, int64_t incy,
                     double alpha, double beta) {
  static const dvt_form forms[] = {dvt_gemv_host, dvt_gemv_region, dvt_gemv_stream};
  const bool t = trans != 'N';
  const int64_t inner = t ? m : n, outer = t ? n : m;
  alpha = scalar_of(type, alpha);
  beta = scalar_of(type, beta);
  EACH_FORM(form) {
    SCOPE;
    const int place = place_of(form);
    dense a = dense_new(type, m, n, 3, 0, place, seed_of(alpha == 0, 1));
    dense x = vector_new(type, inner, incx, place, seed_of(alpha == 0, 2));
    dense y = vector_new(type, outer, incy, place, seed_of(beta == 0, 3));
    const dvt_gemv g = {type, trans,           m,    n,    alpha,           dense_there(&a),
                        a.ld, dense_there(&x), incx, beta, dense_there(&y), incy};
    const double bound = product_bound(inner, alpha, &a, &x, beta, &y);
    long double squares = 0;
    CHECK(perform(forms, form, 1, &g));
    if (inner == 0) /* of an empty matrix the reference BLAS leaves y alone, even for beta = 0 */
      assert_true(dense_as_image(&y));
    dense_take(&y);
    for (int64_t i = 0; i < outer && inner > 0; i++) {
      long double sum = 0;
      for (int64_t l = 0; l < inner && alpha != 0; l++)
        sum += (long double)dense_at(&a, t ? l : i, t ? i : l) * (long double)dense_at(&x, 0, l);
      sum = alpha * sum + (beta == 0 ? 0 : beta * (long double)dense_was(&y, 0, i));
      squares += powl((long double)dense_at(&y, 0, i) - sum, 2);
    }
    assert_true(sqrtl(squares) <= bound);
    expect_unread(&a, &x);
  }
}

static void gemv(davit_type type) {
  int turn = 0;
  for (int m = 0; m < COUNT(sizes); m++)
    for (int n = 0; n < COUNT(sizes); n++)
      for (int t = 0; t < COUNT(transposes); t++, turn++)
        try_gemv(type, transposes[t], sizes[m], sizes[n], increments[turn % 4], increments[turn / 4 % 4],
                 scalars[turn % 3 + 1], scalars[turn / 3 % 4]);
  for (int t = 0; t < COUNT(transposes); t++)
    for (int x = 0; x < COUNT(increments); x++)
      for (int y = 0; y < COUNT(increments); y++)
        for (int beta = 0; beta < COUNT(scalars); beta++) {
          try_gemv(type, transposes[t], 33, 41, increments[x], increments[y], 0, scalars[beta]);
          try_gemv(type, transposes[t], 33, 41, increments[x], increments[y], 0.7, scalars[beta]);
        }
}

/* ---- vectors ---- */

static void try_axpy(davit_type type, int64_t n, int64_t incx, int64_t incy, double alpha) {
  static const dvt_form forms[] = {dvt_axpy_host, dvt_axpy_region, dvt_axpy_stream};
  alpha = scalar_of(type, alpha);
  EACH_FORM(form) {
    SCOPE;
    dense one = dense_new(type, 1, 1, 0, 0, DAVIT_PAGEABLE, 1);
    dense x = vector_new(type, n, incx, place_of(form), seed_of(alpha == 0, 2));
    dense y = vector_new(type, n, incy, place_of(form), 3);
    dense_set(&one, 0, 0, 1);
    CHECK(davit_copy(one.bytes, one.image, one.there));
    const double bound = product_bound(1, alpha, &one, &x, 1, &y);
    long double squares = 0;
    CHECK(perform(forms, form, 1, &(dvt_axpy){type, n, alpha, dense_there(&x), incx, dense_there(&y), incy}));
    dense_take(&y);
    for (int64_t i = 0; i < n; i++) {
      const long double term = alpha == 0 ? 0 : (long double)dense_at(&x, 0, i);
      const long double sum = alpha * term + (long double)dense_was(&y, 0, i);
      squares += powl((long double)dense_at(&y, 0, i) - sum, 2);
    }
    assert_true(sqrtl(squares) <= bound);
    expect_unread(&one, &x);
  }
}

static void axpy(davit_type type) {
  for (int n = 0; n < COUNT(sizes); n++)
    for (int x = 0; x < COUNT(increments); x++)
      for (int y = 0; y < COUNT(increments); y++)
        for (int alpha = 0; alpha < COUNT(scalars); alpha++)
          try_axpy(type, sizes[n], increments[x], increments[y], scalars[alpha]);
}

static const dvt_form dot_forms[] = {dvt_dot_host, dvt_dot_region, dvt_dot_stream};

/* The result, left on the host or on the device; a stream leaves it on the device alone. */
static double dot_of(int form, davit_type type, int64_t n, const void *x, int64_t incx, const void *y,
                     int64_t incy) {
  double here = NAN;
  dense there = dense_new(type, 1, 1, 0, 0, place_of(form), UNSET);
  const davit_status expected = form == STREAM ? DAVIT_UNSUPPORTED : DAVIT_SUCCESS;
  assert_int_equal(perform(dot_forms, form, 1, &(dvt_dot){type, n, x, incx, y, incy, &here, false, false}),
                   expected);
  CHECK(
      perform(dot_forms, form, 1, &(dvt_dot){type, n, x, incx, y, incy, dense_there(&there), false, false}));
  dense_take(&there);
  const double result = dense_at(&there, 0, 0);
  assert_true(form == STREAM || element_at(type, &here, 0) == result);
  return result;
}

static void try_dot(davit_type type, int64_t n, int64_t incx, int64_t incy) {
  EACH_FORM(form) {
    SCOPE;
    dense x = vector_new(type, n, incx, place_of(form), 1), y = vector_new(type, n, incy, place_of(form), 2);
    long double sum = 0;
    for (int64_t i = 0; i < n; i++)
      sum += (long double)dense_at(&x, 0, i) * (long double)dense_at(&y, 0, i);
    const double is = dot_of(form, type, n, dense_there(&x), incx, dense_there(&y), incy);
    assert_true(fabsl((long double)is - sum) <= product_bound(n, 1, &x, &y, 0, &x));
    expect_unread(&x, &y);
  }
}

static void dot(davit_type type) {
  for (int n = 0; n < COUNT(sizes); n++)
    for (int x = 0; x < COUNT(increments); x++)
      for (int y = 0; y < COUNT(increments); y++)
        try_dot(type, sizes[n], increments[x], increments[y]);
  try_dot(type, 20000, 2, -3);
}

/* More chunks than the regions keep sums for, with a last one that is cut short; the same bits from every
 * device and on every repetition. */
static void dot_long(davit_type type) {
  const int64_t n = INT64_C(1023) * 4096 + 12345;
  const size_t bytes = (size_t)n * davit_type_bytes(type);
  void *x = kept(bytes);
  long double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    element_set(type, x, i, (double)(1 + i % 7) / 8);
    sum += (long double)element_at(type, x, i) * (long double)element_at(type, x, i);
  }
  /* BLIS keeps as many partial sums as its kernel for this processor has registers, one at worst. */
  const long double size = element_epsilon(type) * sum;
  assert_true(fabsl((long double)dot_of(HOST, type, n, x, 1, x, 1) - sum) <= (long double)n * size);
  double first[1] = {0};
  for (int device = 0; device < device_count() && device < 4; device++) {
    void *copy = kept_at(bytes, device);
    CHECK(davit_copy(bytes, x, copy));
    for (int i = 0; i < 2; i++) {
      double got[1] = {0};
      CHECK(dvt_dot_region(&(dvt_site){.device = device},
                           &(dvt_dot){type, n, copy, 1, copy, 1, got, false, false}));
      if (device == 0 && i == 0)
        memcpy(first, got, sizeof first);
      assert_memory_equal(got, first, sizeof first);
    }
  }
  if (available(REGION))
    assert_true(fabsl((long double)element_at(type, first, 0) - sum) <= 3 * sqrtl((long double)n + 2) * size);
}

/* Each in both types. */
#define CASES(stem)                                                                                          \
  CASE(test_d##stem) {                                                                                       \
    stem(DAVIT_DOUBLE);                                                                                      \
  }                                                                                                          \
  CASE(test_s##stem) {                                                                                       \
    stem(DAVIT_FLOAT);                                                                                       \
  }
CASES(gemm_sizes)
CASES(gemm_scalars)
CASES(gemm_several_tiles)
CASES(gemv)
CASES(axpy)
CASES(dot)
CASES(dot_long)

/* ---- BLIS's threads ---- */

/* BLIS aborts the process when it gets fewer threads than it asks for; the reference must not let it come to
 * that, and must leave the caller's setting alone. */
CASE(test_gemm_with_dynamic_threads) {
  enum { N = 200 };
  static double a[N * N], c[N * N];
  for (int i = 0; i < N * N; i++)
    a[i] = 1;
  omp_set_dynamic(1);
  dvt_level3_host(&(dvt_site){.threads = 7}, &(dvt_level3){.type = DAVIT_DOUBLE,
                                                           .transa = 'N',
                                                           .transb = 'N',
                                                           .m = N,
                                                           .n = N,
                                                           .k = N,
                                                           .alpha = 1,
                                                           .a = a,
                                                           .lda = N,
                                                           .b = a,
                                                           .ldb = N,
                                                           .c = c,
                                                           .ldc = N});
  assert_true(omp_get_dynamic());
  omp_set_dynamic(0);
  const double expected = N;
  assert_true(c[0] == expected && c[N * N - 1] == expected);
}

static void *multiply(void *argument) {
  enum { N = 150 };
  int *count = argument, threads = *count;
  double *a = kept(3 * N * N * sizeof *a), *b = a + N * N, *c = b + N * N;
  for (int i = 0; i < N * N; i++) {
    a[i] = i % N;
    b[i] = threads;
  }
  bool right = true;
  for (int repeat = 0; repeat < 5; repeat++) {
    dvt_level3_host(&(dvt_site){.threads = threads}, &(dvt_level3){.type = DAVIT_DOUBLE,
                                                                   .transa = 'T',
                                                                   .transb = 'N',
                                                                   .m = N,
                                                                   .n = N,
                                                                   .k = N,
                                                                   .alpha = 1,
                                                                   .a = a,
                                                                   .lda = N,
                                                                   .b = b,
                                                                   .ldb = N,
                                                                   .c = c,
                                                                   .ldc = N});
    right = right && c[0] == threads * N * (N - 1) / 2 && c[N * N - 1] == c[0];
  }
  *count = right ? 0 : threads;
  return NULL;
}

CASE(test_gemm_from_many_threads) {
  int counts[8]; /* of threads; 0 when the products were right */
  for (int i = 0; i < COUNT(counts); i++)
    counts[i] = 1 + i % 3;
  in_threads(COUNT(counts), multiply, counts, sizeof *counts);
  for (int i = 0; i < COUNT(counts); i++)
    assert_int_equal(counts[i], 0);
}

static int start(void **state) {
  (void)state;
  if (device_count() > 0 && dvt_stream_acquire(0, &stream) != DAVIT_SUCCESS)
    stream = NULL;
  return 0;
}

static int stop(void **state) {
  if (stream)
    dvt_stream_release(stream);
  return finalize(state);
}

int main(void) {
  return run_cases(start, stop);
}
