/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/loops.h"

#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ref/blas.h"

#ifdef __x86_64__
#define BEST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BEST
#endif

enum { MAX_THREADS = 1024 };

/* The part of n elements that thread `t` of `threads` takes begins here. */
static int64_t cut(int64_t n, int t, int threads) {
  return n / threads * t + (t < n % threads ? t : n % threads);
}

/* One for what is done before another would have started. */
static int threads_for(int64_t n) {
  int threads = omp_get_num_procs();
  return n < 65536 ? 1 : threads < MAX_THREADS ? threads : MAX_THREADS;
}

/* One block of memory, which grows; NULL if there is none. */
static void *scratch(size_t bytes) {
  static void *block;
  static size_t size;
  if (bytes > size) {
    free(block);
    block = malloc(bytes);
    size = block ? bytes : 0;
  }
  return block;
}

#define NAME(stem) stem##_f32
#define T float
#define WRAPPING float
#define SYRK DAVIT_FLOAT
#include "bench/peers/loops.inc"

#define NAME(stem) stem##_f64
#define T double
#define WRAPPING double
#define SYRK DAVIT_DOUBLE
#include "bench/peers/loops.inc"

#define NAME(stem) stem##_i32
#define T int32_t
#define WRAPPING uint32_t
#include "bench/peers/loops.inc"

#define NAME(stem) stem##_i64
#define T int64_t
#define WRAPPING uint64_t
#include "bench/peers/loops.inc"

void peer_loop_copy(void *to, const void *from, size_t bytes) {
#pragma omp parallel num_threads(threads_for((int64_t)bytes))
  {
    int mine = omp_get_thread_num(), threads = omp_get_num_threads();
    size_t begin = (size_t)cut((int64_t)bytes, mine, threads);
    size_t end = (size_t)cut((int64_t)bytes, mine + 1, threads);
    memcpy((char *)to + begin, (const char *)from + begin, end - begin);
  }
}

double peer_loop_read(const void *from, size_t bytes) {
  double sum;
  reduce_f64(DAVIT_SUM, (int64_t)(bytes / sizeof sum), from, &sum);
  return sum;
}

/* Calls the loop of the type. */
#define BY_TYPE(loop, type, ...)                                                                             \
  ((type) == DAVIT_FLOAT   ? loop##_f32(__VA_ARGS__)                                                         \
   : (type) == DAVIT_INT32 ? loop##_i32(__VA_ARGS__)                                                         \
   : (type) == DAVIT_INT64 ? loop##_i64(__VA_ARGS__)                                                         \
                           : loop##_f64(__VA_ARGS__))
#define BY_REAL_TYPE(loop, type, ...)                                                                        \
  ((type) == DAVIT_FLOAT ? loop##_f32(__VA_ARGS__) : loop##_f64(__VA_ARGS__))

void peer_loop_reduce(davit_operator op, davit_type type, int64_t n, const void *x, void *result) {
  BY_TYPE(reduce, type, op, n, x, result);
}

void peer_loop_scan(davit_type type, davit_scan_kind kind, int64_t n, const void *x, const uint8_t *flags,
                    void *y) {
  BY_TYPE(scan, type, kind, n, x, flags, y);
}

void peer_loop_stencil(davit_type type, int64_t rows, int64_t cols, const void *a, int64_t lda,
                       const double *coefficients, void *b, int64_t ldb) {
  BY_REAL_TYPE(stencil, type, rows, cols, a, lda, coefficients, b, ldb);
}

davit_status peer_loop_atax(davit_type type, char trans, int64_t m, int64_t n, const void *a, int64_t lda,
                            const void *x, void *tmp, void *y) {
  void *own = scratch((size_t)m * (size_t)threads_for(m * n) * davit_type_bytes(type));
  if (!own)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for the loops");
  BY_REAL_TYPE(atax, type, trans == 'T', m, n, a, lda, x, tmp, y, own);
  return DAVIT_SUCCESS;
}

davit_status peer_loop_covariance(davit_type type, int64_t rows, int64_t cols, const void *d, void *s) {
  void *centred = scratch((size_t)(rows * cols) * davit_type_bytes(type));
  if (!centred)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for the loops");
  BY_REAL_TYPE(covariance, type, rows, cols, d, s, centred);
  return DAVIT_SUCCESS;
}
