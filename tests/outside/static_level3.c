/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 for compute-sanitizer, linked with the static library as static_tool.c says: a product in tiles from plain
 * memory, and trsm after trmm of device memory with each side and triangle, which has to give back what was there.
 *
 *   static_level3 DEVICE */
#include <davit/davit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int device;

static void check(davit_status status, const char *what) {
  if (status == DAVIT_SUCCESS)
    return;
  fprintf(stderr, "%s: %s\n", what, davit_last_error());
  exit(1);
}

static double *numbers(int place, int64_t n, uint64_t seed) {
  void *x;
  check(davit_malloc((size_t)n * sizeof(double), place, &x), "memory");
  check(davit_random(DAVIT_DOUBLE, n, seed, x), "numbers");
  return x;
}

static void expect_close(double found, double expected, const char *what) {
  if (fabs(found - expected) <= 1e-9 * fabs(expected))
    return;
  fprintf(stderr, "%s: %.17g, expected %.17g\n", what, found, expected);
  exit(1);
}

/* Tiles that do not divide the sizes, one of them in a column of C that another tile shares. */
static void product(void) {
  enum { M = 701, N = 499, K = 613, LD = 707, TILE = 256 };
  double *a = numbers(DAVIT_PAGEABLE, LD * K, 1), *b = numbers(DAVIT_PAGEABLE, K * N, 2),
         *c = numbers(DAVIT_PAGEABLE, LD * N, 3);
  const davit_level3_options options = {.devices = &device, .device_count = 1, .tile = TILE};
  check(davit_dgemm('N', 'N', M, N, K, 1, a, LD, b, K, 0, c, LD, &options), "gemm");
  for (int64_t j = 0; j < N; j += 83)
    for (int64_t i = 0; i < M; i += 50) {
      double sum = 0;
      for (int64_t k = 0; k < K; k++)
        sum += a[i + k * LD] * b[k + j * K];
      expect_close(c[i + j * LD], sum, "gemm");
    }
  davit_free(a);
  davit_free(b);
  davit_free(c);
}

static void triangles(void) {
  enum { ORDER = 601, LINES = 530 };
  const int64_t n = ORDER * ORDER, count = ORDER * LINES;
  double *host = numbers(DAVIT_PAGEABLE, n, 4), *a = numbers(device, n, 4),
         *before = numbers(DAVIT_PAGEABLE, count, 5), *x = numbers(device, count, 5),
         *after = numbers(DAVIT_PAGEABLE, count, 6);
  davit_queue *queue;
  for (int64_t i = 0; i < ORDER; i++)
    host[i * (ORDER + 1)] = ORDER;
  check(davit_copy((size_t)n * sizeof(double), host, a), "copy");
  check(davit_queue_create(device, &queue, NULL), "queue");
  for (int form = 0; form < 8; form++) {
    const char side = form & 1 ? 'R' : 'L', uplo = form & 2 ? 'U' : 'L', trans = form & 4 ? 'T' : 'N';
    const int64_t rows = side == 'L' ? ORDER : LINES, cols = side == 'L' ? LINES : ORDER;
    check(davit_queue_dtrmm(queue, side, uplo, trans, 'N', rows, cols, 1, a, ORDER, x, rows, NULL), "trmm");
    check(davit_queue_dtrsm(queue, side, uplo, trans, 'N', rows, cols, 1, a, ORDER, x, rows, NULL), "trsm");
    check(davit_queue_copy(queue, (size_t)count * sizeof(double), x, after), "copy");
    check(davit_queue_synchronize(queue), "wait");
    for (int64_t i = 0; i < count; i++)
      expect_close(after[i] + 1, before[i] + 1, "trsm of trmm");
  }
  check(davit_queue_destroy(queue), "queue");
  void *all[] = {host, a, before, x, after};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    davit_free(all[i]);
}

int main(int argc, char **argv) {
  device = argc > 1 ? atoi(argv[1]) : 0;
  product();
  triangles();
  return 0;
}
