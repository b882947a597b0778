/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers against their definition, long dot products, and products of matrices by BLIS' threads. Other results
 * of BLAS are in test_operations.c. */
#include "tests/elements.h"

#include <omp.h>

#include "offload/blas.h"
#include "ref/philox.h"

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

/* ---- dot ---- */

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
  double first[1] = {0};
  CHECK(dvt_dot_host(&(dvt_site){.threads = 1}, &(dvt_dot){type, n, x, 1, x, 1, first, false, false}));
  assert_true(fabsl((long double)element_at(type, first, 0) - sum) <= (long double)n * size);
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
  if (device_count() > 0)
    assert_true(fabsl((long double)element_at(type, first, 0) - sum) <= 3 * sqrtl((long double)n + 2) * size);
}

CASE(test_long_dot) {
  dot_long(DAVIT_DOUBLE);
  dot_long(DAVIT_FLOAT);
}

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
