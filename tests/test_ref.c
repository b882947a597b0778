/* The BLAS of one device and the random numbers against their definitions.
 *
 * Every implementation that this machine has (the CPU reference, davit's target regions on device 0, cuBLAS
 * when device 0 is an NVIDIA GPU) runs every case on the same bytes, and is held against plain loops in long
 * double by the bound 3 eps (sqrt(k + 2) |alpha| |A| |B| + 2 |beta| |C|) in the Frobenius norm. Everything that
 * an operation must not read is NaN: guard zones, the rows between m and the leading dimension, gaps between
 * strided elements, C for beta = 0, A and B for alpha = 0. Everything that it must not write is compared byte
 * by byte afterwards.
 *
 * The file includes itself once for each type: the part after #else is the tests of type REAL. */
#ifndef REAL

#include <float.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "offload/blas.h"
#include "offload/runtime/stream.h"
#include "ref/philox.h"
#include "ref/ref.h"

enum { GUARD = 32, MOST = 257, CELLS = 2 * GUARD + (MOST + 5) * MOST };
enum implementation { REFERENCE, TARGET, CUBLAS, IMPLEMENTATIONS };

static const int64_t sizes[] = {0, 1, 2, 3, 5, 9, 17, 33, 64, 97};
static const int64_t increments[] = {1, 2, -1, -3};
static const double scalars[] = {0, 1, -1, 0.7};
static const char transposes[] = {'N', 'T', 'C'};
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define EACH(item, array) (int item = 0; item < COUNT(array); item++)

static dvt_stream *stream;

static bool available(enum implementation implementation) {
  return implementation == REFERENCE || (implementation == TARGET && omp_get_num_devices() > 0) ||
         (implementation == CUBLAS && stream);
}

static void *to_device(const void *host, size_t bytes) {
  void *memory = omp_target_alloc(bytes, 0);
  assert_non_null(memory);
  assert_int_equal(omp_target_memcpy(memory, host, bytes, 0, 0, 0, omp_get_initial_device()), 0);
  return memory;
}

static void from_device(void *host, void *memory, size_t bytes) {
  assert_int_equal(omp_target_memcpy(host, memory, bytes, 0, 0, omp_get_initial_device(), 0), 0);
  omp_target_free(memory, 0);
}

/* A number in (-1, 1) that depends on nothing but how many were asked for. */
static double next_number(void) {
  static uint64_t asked;
  double values[2];
  dvt_philox_double(asked++, 42, values);
  return 2 * values[0] - 1;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static void test_philox_known_answers(void **state) {
  (void)state;
  /* Random123's kat_vectors: counter, key, answer. */
  static const uint32_t vectors[][10] = {
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
       0xa20bc7c6, 0x6d5451fd},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
       0x5001e420, 0x24126ea1},
  };
  for
    EACH(i, vectors) {
      const uint32_t *v = vectors[i];
      dvt_philox_block block = dvt_philox((dvt_philox_block){{v[0], v[1], v[2], v[3]}}, v[4], v[5]);
      assert_memory_equal(block.word, v + 6, sizeof block.word);
    }
}

static void test_random_is_philox_by_element(void **state) {
  (void)state;
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

#define REAL double
#define P(name) d##name
#define TYPE DAVIT_DOUBLE
#define EPSILON DBL_EPSILON
#include "tests/test_ref.c"
#undef REAL
#undef P
#undef TYPE
#undef EPSILON
#define REAL float
#define P(name) s##name
#define TYPE DAVIT_FLOAT
#define EPSILON FLT_EPSILON
#include "tests/test_ref.c"

/* BLIS aborts the process when it gets fewer threads than it asks for; the reference must not let it come to
 * that, and must leave the caller's setting alone. */
static void test_gemm_with_dynamic_threads(void **state) {
  (void)state;
  enum { N = 200 };
  static double a[N * N], c[N * N];
  for (int i = 0; i < N * N; i++)
    a[i] = 1;
  omp_set_dynamic(1);
  dvt_gemm_host(&(dvt_site){.threads = 7},
                &(dvt_gemm){DAVIT_DOUBLE, 'N', 'N', N, N, N, 1, a, N, a, N, 0, c, N});
  assert_true(omp_get_dynamic());
  omp_set_dynamic(0);
  const double expected = N;
  assert_true(c[0] == expected && c[N * N - 1] == expected);
}

static void *multiply(void *argument) {
  enum { N = 150 };
  int threads = *(int *)argument;
  double *a = malloc(3 * N * N * sizeof *a), *b = a + N * N, *c = b + N * N;
  for (int i = 0; i < N * N; i++) {
    a[i] = i % N;
    b[i] = threads;
  }
  bool right = true;
  for (int repeat = 0; repeat < 5; repeat++) {
    dvt_gemm_host(&(dvt_site){.threads = threads},
                  &(dvt_gemm){DAVIT_DOUBLE, 'T', 'N', N, N, N, 1, a, N, b, N, 0, c, N});
    right = right && c[0] == threads * N * (N - 1) / 2 && c[N * N - 1] == c[0];
  }
  free(a);
  return right ? argument : NULL;
}

static void test_gemm_from_many_threads(void **state) {
  (void)state;
  pthread_t threads[8];
  int counts[COUNT(threads)];
  for
    EACH(i, threads) {
      counts[i] = 1 + i % 3;
      assert_int_equal(pthread_create(&threads[i], NULL, multiply, &counts[i]), 0);
    }
  for
    EACH(i, threads) {
      void *result;
      assert_int_equal(pthread_join(threads[i], &result), 0);
      assert_ptr_equal(result, &counts[i]);
    }
}

static int start(void **state) {
  (void)state;
  if (omp_get_num_devices() > 0 && dvt_stream_acquire(0, &stream) != DAVIT_SUCCESS)
    stream = NULL;
  return 0;
}

static int stop(void **state) {
  (void)state;
  if (stream)
    dvt_stream_release(stream);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_philox_known_answers),
      cmocka_unit_test(test_random_is_philox_by_element),
      cmocka_unit_test(test_gemm_from_many_threads),
      cmocka_unit_test(test_gemm_with_dynamic_threads),
      cmocka_unit_test(test_dgemm_sizes),
      cmocka_unit_test(test_dgemm_scalars),
      cmocka_unit_test(test_dgemm_several_tiles),
      cmocka_unit_test(test_dgemv),
      cmocka_unit_test(test_daxpy),
      cmocka_unit_test(test_ddot),
      cmocka_unit_test(test_ddot_long),
      cmocka_unit_test(test_sgemm_sizes),
      cmocka_unit_test(test_sgemm_scalars),
      cmocka_unit_test(test_sgemm_several_tiles),
      cmocka_unit_test(test_sgemv),
      cmocka_unit_test(test_saxpy),
      cmocka_unit_test(test_sdot),
      cmocka_unit_test(test_sdot_long),
  };
  return cmocka_run_group_tests_name("ref", tests, start, stop);
}

#else /* the tests of one type */

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define TYPED(name) JOIN(P(_), name)
#define TEST(name) JOIN(test_, name)

/* An operand: rows × cols elements, element (i, j) at cell origin + i * step + j * ld; all else is NaN. */
typedef struct TYPED(operand) {
  int64_t rows, cols, step, ld, origin;
  double norm;
  REAL cell[CELLS];
} TYPED(operand);

static TYPED(operand) TYPED(a), TYPED(b), TYPED(c);
static REAL TYPED(after)[CELLS];
static long double TYPED(expected)[MOST * MOST];

static REAL *TYPED(at)(TYPED(operand) * o, int64_t i, int64_t j) {
  return &o->cell[o->origin + i * o->step + j * o->ld];
}

static void TYPED(fill)(TYPED(operand) * o, bool unreadable) {
  for (int i = 0; i < CELLS; i++)
    o->cell[i] = (REAL)NAN;
  long double squares = 0;
  for (int64_t j = 0; j < o->cols && !unreadable; j++)
    for (int64_t i = 0; i < o->rows; i++) {
      REAL value = (REAL)next_number();
      *TYPED(at)(o, i, j) = value;
      squares += (long double)value * value;
    }
  o->norm = (double)sqrtl(squares);
}

static void TYPED(make_matrix)(TYPED(operand) * o, int64_t rows, int64_t cols, int64_t ld, bool unreadable) {
  o->rows = rows, o->cols = cols, o->step = 1, o->ld = ld, o->origin = GUARD;
  TYPED(fill)(o, unreadable);
}

static void TYPED(make_vector)(TYPED(operand) * o, int64_t length, int64_t increment, bool unreadable) {
  o->rows = length, o->cols = 1, o->step = increment, o->ld = 0;
  o->origin = GUARD + (increment < 0 && length > 0 ? -increment * (length - 1) : 0);
  TYPED(fill)(o, unreadable);
}

/* `after` holds what became of c: the operand's elements must be near expected[], all other cells unchanged. */
static void TYPED(check)(double bound) {
  TYPED(operand) *o = &TYPED(c);
  long double squares = 0;
  for (int64_t j = 0; j < o->cols; j++)
    for (int64_t i = 0; i < o->rows; i++) {
      REAL *got = &TYPED(after)[TYPED(at)(o, i, j) - o->cell];
      long double difference = *got - TYPED(expected)[i + j * o->rows];
      squares += difference * difference;
      *got = *TYPED(at)(o, i, j);
    }
  assert_true(sqrtl(squares) <= bound); /* false for NaN */
  assert_memory_equal(TYPED(after), o->cell, sizeof o->cell);
}

/* The pointers an implementation works on: `after` itself, or copies of all operands on the device. */
typedef struct TYPED(pointers) {
  REAL *a, *b, *c;
} TYPED(pointers);

static TYPED(pointers) TYPED(hand_over)(enum implementation implementation) {
  memcpy(TYPED(after), TYPED(c).cell, sizeof TYPED(after));
  if (implementation == REFERENCE)
    return (TYPED(pointers)){TYPED(a).cell, TYPED(b).cell, TYPED(after)};
  return (TYPED(pointers)){to_device(TYPED(a).cell, sizeof TYPED(a).cell),
                           to_device(TYPED(b).cell, sizeof TYPED(b).cell),
                           to_device(TYPED(after), sizeof TYPED(after))};
}

static void TYPED(take_back)(enum implementation implementation, TYPED(pointers) p) {
  static REAL input[CELLS];
  if (implementation == CUBLAS)
    assert_int_equal(dvt_stream_synchronize(stream), DAVIT_SUCCESS);
  if (implementation == REFERENCE)
    return;
  from_device(TYPED(after), p.c, sizeof TYPED(after));
  from_device(input, p.a, sizeof input);
  assert_memory_equal(input, TYPED(a).cell, sizeof input);
  from_device(input, p.b, sizeof input);
  assert_memory_equal(input, TYPED(b).cell, sizeof input);
}

static double TYPED(bound)(int64_t k, REAL alpha, REAL beta) {
  double product = fabs((double)alpha) * TYPED(a).norm * TYPED(b).norm;
  return 3 * (double)EPSILON * (sqrt((double)k + 2) * product + 2 * fabs((double)beta) * TYPED(c).norm);
}

static REAL TYPED(host_dot)(int64_t n, const REAL *x, int64_t incx, const REAL *y, int64_t incy) {
  REAL sum;
  dvt_dot_host(NULL, &(dvt_dot){TYPE, n, x, incx, y, incy, &sum});
  return sum;
}

static void TYPED(try_gemm)(char transa, char transb, int64_t m, int64_t n, int64_t k, REAL alpha,
                            REAL beta) {
  bool ta = transa != 'N', tb = transb != 'N';
  int64_t lda = (ta ? k : m) + 3, ldb = (tb ? n : k) + 5, ldc = m + 2;
  TYPED(make_matrix)(&TYPED(a), ta ? k : m, ta ? m : k, lda, alpha == 0);
  TYPED(make_matrix)(&TYPED(b), tb ? n : k, tb ? k : n, ldb, alpha == 0);
  TYPED(make_matrix)(&TYPED(c), m, n, ldc, beta == 0);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++) {
      long double sum = 0;
      for (int64_t l = 0; l < k && alpha != 0; l++)
        sum += (long double)*TYPED(at)(&TYPED(a), ta ? l : i, ta ? i : l) *
               *TYPED(at)(&TYPED(b), tb ? j : l, tb ? l : j);
      TYPED(expected)
      [i + j * m] = alpha * sum + (beta == 0 ? 0 : beta * (long double)*TYPED(at)(&TYPED(c), i, j));
    }
  /* BLIS's threads spin where they wait for each other, so only some cases have two or three. */
  const int threads = (m + n + k) % 16 < 2 ? 2 + (int)((m + n + k) % 16) : 1;
  for (enum implementation i = REFERENCE; i < IMPLEMENTATIONS; i++) {
    if (!available(i))
      continue;
    TYPED(pointers) p = TYPED(hand_over)(i);
    const REAL *a = p.a + GUARD, *b = p.b + GUARD;
    REAL *c = p.c + GUARD;
    davit_status status = DAVIT_SUCCESS;
    if (i == REFERENCE)
      dvt_gemm_host(&(dvt_site){.threads = threads},
                    &(dvt_gemm){TYPE, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
    else if (i == TARGET)
      status = dvt_gemm_region(&(dvt_site){.device = 0}, &(dvt_gemm){TYPE, transa, transb, m, n, k, alpha, a,
                                                                     lda, b, ldb, beta, c, ldc});
    else
      status =
          dvt_gemm_stream(&(dvt_site){.stream = stream},
                          &(dvt_gemm){TYPE, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
    assert_int_equal(status, DAVIT_SUCCESS);
    TYPED(take_back)(i, p);
    TYPED(check)(TYPED(bound)(k, alpha, beta));
  }
}

/* All sizes with each other; transposes and scalars take turns. */
static void TEST(P(gemm_sizes))(void **state) {
  (void)state;
  int turn = 0;
  for
    EACH(m, sizes)
    for
      EACH(n, sizes)
      for
        EACH(k, sizes) {
          char transa = transposes[turn % 2], transb = transposes[turn / 2 % 2];
          REAL alpha = (REAL)scalars[turn % 3 + 1], beta = (REAL)scalars[turn % 4];
          TYPED(try_gemm)(transa, transb, sizes[m], sizes[n], sizes[k], alpha, beta);
          turn++;
        }
}

static void TEST(P(gemm_scalars))(void **state) {
  (void)state;
  for
    EACH(transa, transposes)
    for
      EACH(transb, transposes)
      for
        EACH(alpha, scalars)
        for
          EACH(beta, scalars) {
            REAL al = (REAL)scalars[alpha], be = (REAL)scalars[beta];
            TYPED(try_gemm)(transposes[transa], transposes[transb], 33, 17, 9, al, be);
            TYPED(try_gemm)(transposes[transa], transposes[transb], 5, 64, 0, al, be);
          }
}

static void TEST(P(gemm_several_tiles))(void **state) {
  (void)state;
  for
    EACH(transa, transposes)
    for
      EACH(transb, transposes) {
        TYPED(try_gemm)(transposes[transa], transposes[transb], 257, 131, 37, (REAL)0.7, (REAL)-1);
        TYPED(try_gemm)(transposes[transa], transposes[transb], 128, 64, 256, (REAL)1, (REAL)0);
      }
}

static void TYPED(try_gemv)(char trans, int64_t m, int64_t n, int64_t incx, int64_t incy, REAL alpha,
                            REAL beta) {
  bool t = trans != 'N';
  int64_t lda = m + 3, inner = t ? m : n, outer = t ? n : m;
  TYPED(make_matrix)(&TYPED(a), m, n, lda, alpha == 0);
  TYPED(make_vector)(&TYPED(b), inner, incx, alpha == 0);
  TYPED(make_vector)(&TYPED(c), outer, incy, beta == 0);
  for (int64_t i = 0; i < outer; i++) {
    long double sum = 0;
    for (int64_t l = 0; l < inner && alpha != 0; l++)
      sum += (long double)*TYPED(at)(&TYPED(a), t ? l : i, t ? i : l) * *TYPED(at)(&TYPED(b), l, 0);
    TYPED(expected)[i] = alpha * sum + (beta == 0 ? 0 : beta * (long double)*TYPED(at)(&TYPED(c), i, 0));
  }
  /* Of an empty matrix the reference BLAS leaves y alone, even for beta = 0. */
  if (inner == 0)
    TYPED(c).rows = 0;
  for (enum implementation i = REFERENCE; i < IMPLEMENTATIONS; i++) {
    if (!available(i))
      continue;
    TYPED(pointers) p = TYPED(hand_over)(i);
    const REAL *a = p.a + GUARD, *x = p.b + GUARD;
    REAL *y = p.c + GUARD;
    davit_status status = DAVIT_SUCCESS;
    if (i == REFERENCE)
      dvt_gemv_host(NULL, &(dvt_gemv){TYPE, trans, m, n, alpha, a, lda, x, incx, beta, y, incy});
    else if (i == TARGET)
      status = dvt_gemv_region(&(dvt_site){.device = 0},
                               &(dvt_gemv){TYPE, trans, m, n, alpha, a, lda, x, incx, beta, y, incy});
    else
      status = dvt_gemv_stream(&(dvt_site){.stream = stream},
                               &(dvt_gemv){TYPE, trans, m, n, alpha, a, lda, x, incx, beta, y, incy});
    assert_int_equal(status, DAVIT_SUCCESS);
    TYPED(take_back)(i, p);
    TYPED(check)(TYPED(bound)(inner, alpha, beta));
  }
}

static void TEST(P(gemv))(void **state) {
  (void)state;
  int turn = 0;
  for
    EACH(m, sizes)
    for
      EACH(n, sizes)
      for
        EACH(trans, transposes) {
          TYPED(try_gemv)
          (transposes[trans], sizes[m], sizes[n], increments[turn % 4], increments[turn / 4 % 4],
           (REAL)scalars[turn % 3 + 1], (REAL)scalars[turn / 3 % 4]);
          turn++;
        }
  for
    EACH(trans, transposes)
    for
      EACH(x, increments)
      for
        EACH(y, increments)
        for
          EACH(beta, scalars) {
            REAL be = (REAL)scalars[beta];
            TYPED(try_gemv)(transposes[trans], 33, 41, increments[x], increments[y], 0, be);
            TYPED(try_gemv)(transposes[trans], 33, 41, increments[x], increments[y], (REAL)0.7, be);
          }
}

static void TYPED(try_axpy)(int64_t n, int64_t incx, int64_t incy, REAL alpha) {
  TYPED(make_matrix)(&TYPED(a), 1, 1, 1, false);
  TYPED(make_vector)(&TYPED(b), n, incx, alpha == 0);
  TYPED(make_vector)(&TYPED(c), n, incy, false);
  for (int64_t i = 0; i < n; i++) {
    long double x = alpha == 0 ? 0 : (long double)*TYPED(at)(&TYPED(b), i, 0);
    TYPED(expected)[i] = alpha * x + *TYPED(at)(&TYPED(c), i, 0);
  }
  TYPED(a).norm = 1;
  for (enum implementation i = REFERENCE; i < IMPLEMENTATIONS; i++) {
    if (!available(i))
      continue;
    TYPED(pointers) p = TYPED(hand_over)(i);
    const REAL *x = p.b + GUARD;
    REAL *y = p.c + GUARD;
    davit_status status = DAVIT_SUCCESS;
    if (i == REFERENCE)
      dvt_axpy_host(NULL, &(dvt_axpy){TYPE, n, alpha, x, incx, y, incy});
    else if (i == TARGET)
      status = dvt_axpy_region(&(dvt_site){.device = 0}, &(dvt_axpy){TYPE, n, alpha, x, incx, y, incy});
    else
      status = dvt_axpy_stream(&(dvt_site){.stream = stream}, &(dvt_axpy){TYPE, n, alpha, x, incx, y, incy});
    assert_int_equal(status, DAVIT_SUCCESS);
    TYPED(take_back)(i, p);
    TYPED(check)(TYPED(bound)(1, alpha, 1));
  }
}

static void TEST(P(axpy))(void **state) {
  (void)state;
  for
    EACH(n, sizes)
    for
      EACH(x, increments)
      for
        EACH(y, increments)
        for
          EACH(alpha, scalars)
        TYPED(try_axpy)(sizes[n], increments[x], increments[y], (REAL)scalars[alpha]);
}

/* The device implementations' results, left on the host and on the device. */
static REAL TYPED(device_dot)(enum implementation implementation, int64_t n, const REAL *x, int64_t incx,
                              const REAL *y, int64_t incy) {
  REAL here = (REAL)NAN, there = (REAL)NAN;
  REAL *memory = to_device(&there, sizeof there);
  if (implementation == TARGET) {
    assert_int_equal(dvt_dot_region(&(dvt_site){.device = 0}, &(dvt_dot){TYPE, n, x, incx, y, incy, &here}),
                     DAVIT_SUCCESS);
    assert_int_equal(dvt_dot_region(&(dvt_site){.device = 0}, &(dvt_dot){TYPE, n, x, incx, y, incy, memory}),
                     DAVIT_SUCCESS);
    from_device(&there, memory, sizeof there);
    assert_memory_equal(&here, &there, sizeof here);
  } else {
    assert_int_equal(
        dvt_dot_stream(&(dvt_site){.stream = stream}, &(dvt_dot){TYPE, n, x, incx, y, incy, &here}),
        DAVIT_UNSUPPORTED);
    assert_int_equal(
        dvt_dot_stream(&(dvt_site){.stream = stream}, &(dvt_dot){TYPE, n, x, incx, y, incy, memory}),
        DAVIT_SUCCESS);
    assert_int_equal(dvt_stream_synchronize(stream), DAVIT_SUCCESS);
    from_device(&there, memory, sizeof there);
  }
  return there;
}

static void TYPED(try_dot)(int64_t n, int64_t incx, int64_t incy) {
  TYPED(make_vector)(&TYPED(a), n, incx, false);
  TYPED(make_vector)(&TYPED(b), n, incy, false);
  TYPED(make_matrix)(&TYPED(c), 0, 0, 1, false);
  long double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += (long double)*TYPED(at)(&TYPED(a), i, 0) * *TYPED(at)(&TYPED(b), i, 0);
  for (enum implementation i = REFERENCE; i < IMPLEMENTATIONS; i++) {
    if (!available(i))
      continue;
    TYPED(pointers) p = TYPED(hand_over)(i);
    const REAL *x = p.a + GUARD, *y = p.b + GUARD;
    REAL got =
        i == REFERENCE ? TYPED(host_dot)(n, x, incx, y, incy) : TYPED(device_dot)(i, n, x, incx, y, incy);
    TYPED(take_back)(i, p);
    assert_true(fabsl(got - sum) <= TYPED(bound)(n, 1, 0));
  }
}

static void TEST(P(dot))(void **state) {
  (void)state;
  for
    EACH(n, sizes)
    for
      EACH(x, increments)
      for
        EACH(y, increments)
      TYPED(try_dot)(sizes[n], increments[x], increments[y]);
      TYPED(try_dot)(20000, 2, -3);
}

/* More chunks than the target regions keep sums for, with a last one that is cut short; the same bits from
 * every device and on every repetition. */
static void TEST(P(dot_long))(void **state) {
  (void)state;
  const int64_t n = INT64_C(1023) * 4096 + 12345;
  size_t bytes = (size_t)n * sizeof(REAL);
  REAL *x = malloc(bytes);
  assert_non_null(x);
  long double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    x[i] = (REAL)(1 + i % 7) / 8;
    sum += (long double)x[i] * x[i];
  }
  double bound = 3 * (double)EPSILON * sqrt((double)n + 2) * (double)sum;
  /* BLIS keeps as many partial sums as its kernel for this processor has registers, one at worst. */
  assert_true(fabsl(TYPED(host_dot)(n, x, 1, x, 1) - sum) <= (long double)n * EPSILON * sum);
  REAL first = 0;
  for (int device = 0; device < (int)smaller(omp_get_num_devices(), 4); device++) {
    REAL *copy = omp_target_alloc(bytes, device), got[2];
    assert_non_null(copy);
    assert_int_equal(omp_target_memcpy(copy, x, bytes, 0, 0, device, omp_get_initial_device()), 0);
    for (int i = 0; i < 2; i++) {
      assert_int_equal(
          dvt_dot_region(&(dvt_site){.device = device}, &(dvt_dot){TYPE, n, copy, 1, copy, 1, &got[i]}),
          DAVIT_SUCCESS);
      first = device == 0 && i == 0 ? got[0] : first;
      assert_memory_equal(&got[i], &first, sizeof first);
    }
    omp_target_free(copy, device);
  }
  if (available(TARGET))
    assert_true(fabsl(first - sum) <= bound);
  free(x);
}

#undef JOIN2
#undef JOIN
#undef TYPED
#undef TEST
#endif
