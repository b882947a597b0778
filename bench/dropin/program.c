/* SPDX-License-Identifier: Apache-2.0 */
/* A program that knows nothing of davit: calls the BLAS that it finds, for bench_dropin.c.
 *
 *   program calls                       nanoseconds of small calls: "NAME-ORDER NS" a line
 *   program ROUTINE REPEATS N...        seconds of gemm, symm, syrk, trsm or potrf of order N in the type that the
 *                                       first letter names, in memory of malloc(): "N SECONDS SECONDS..." a line,
 *                                       the first call first. potrf is the name that programs find; potrf_of_lapack that of
 *                                       Debian's reference LAPACK, whatever else exports the name */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void blas(const void *, ...); /* all arguments are addresses */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* OpenBLAS's LAPACK, which may be the system's, calls no BLAS. */
static void *find_lapack(const char *name) {
  static const char *const libraries[] = {"/usr/lib/x86_64-linux-gnu/lapack/liblapack.so.3",
                                          "liblapack.so.3"};
  for (int i = 0; i < 2; i++) {
    void *library = dlopen(libraries[i], RTLD_NOW);
    if (library)
      return dlsym(library, name);
  }
  return NULL;
}

static bool is_potrf(const char *routine) {
  return strncmp(routine + 1, "potrf", 5) == 0;
}

static void *find(const char *name) {
  void *symbol = dlsym(RTLD_DEFAULT, name);
  if (!symbol && is_potrf(name))
    symbol = find_lapack(name);
  if (!symbol) {
    fprintf(stderr, "there is no %s\n", name);
    exit(1);
  }
  return symbol;
}

/* ---- small calls ---- */

static double x[16], y[16], z[16];
static const int one = 1, order_0 = 0, order_4 = 4;
static const int *order;
static const double alpha = 1e-3;

typedef double dot(const int *, const double *, const int *, const double *, const int *);
typedef void axpy(const int *, const double *, const double *, const int *, double *, const int *);
typedef void gemm(const char *, const char *, const int *, const int *, const int *, const void *,
                  const void *, const int *, const void *, const int *, const void *, void *, const int *);
typedef void cblas_gemm(int, int, int, int, int, int, double, const double *, int, const double *, int,
                        double, double *, int);
static void *called;

static void call_dot(void) {
  z[0] = ((dot *)called)(&one, x, &one, y, &one);
}

static void call_axpy(void) {
  ((axpy *)called)(&one, &alpha, x, &one, y, &one);
}

static void call_gemm(void) {
  ((gemm *)called)("N", "N", order, order, order, &alpha, x, &order_4, y, &order_4, &alpha, z, &order_4);
}

static void call_cblas_gemm(void) {
  ((cblas_gemm *)called)(101, 111, 111, *order, *order, *order, alpha, x, 4, y, 4, alpha, z, 4);
}

/* The best of many rounds: what else the machine does only adds to it. */
static void small_calls(void) {
  static const struct {
    const char *name, *symbol;
    void (*call)(void);
    const int *order;
  } calls[] = {{"ddot", "ddot_", call_dot, &one},
               {"daxpy", "daxpy_", call_axpy, &one},
               {"dgemm-0", "dgemm_", call_gemm, &order_0},
               {"cblas_dgemm-0", "cblas_dgemm", call_cblas_gemm, &order_0},
               {"dgemm-4", "dgemm_", call_gemm, &order_4},
               {"cblas_dgemm-4", "cblas_dgemm", call_cblas_gemm, &order_4}};
  enum { CALLS = 1000, ROUNDS = 100 };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    double best = 1;
    called = find(calls[i].symbol);
    order = calls[i].order;
    for (int round = 0; round < ROUNDS; round++) {
      const double begin = now();
      for (int call = 0; call < CALLS; call++)
        calls[i].call();
      const double seconds = (now() - begin) / (double)CALLS;
      best = seconds < best ? seconds : best;
    }
    printf("%s %.2f\n", calls[i].name, 1e9 * best);
  }
}

/* ---- large ones ---- */

typedef struct problem {
  const char *routine;
  size_t element;
  int n;
  void *a, *b, *c;
} problem;

/* b = 1, so that NaN in C counts for nothing; of trsm the triangle has a unit diagonal and small elements. */
static void call_routine(const problem *p, blas *routine) {
  static const double one_d[2] = {1, 0}, zero_d[2] = {0, 0};
  static const float one_s[2] = {1, 0}, zero_s[2] = {0, 0};
  const bool single = p->routine[0] == 's' || p->routine[0] == 'c';
  const void *o = single ? (const void *)one_s : one_d, *nil = single ? (const void *)zero_s : zero_d;
  const int *n = &p->n;
  if (strcmp(p->routine + 1, "gemm") == 0)
    routine("N", "N", n, n, n, o, p->a, n, p->b, n, nil, p->c, n);
  else if (strcmp(p->routine + 1, "symm") == 0)
    routine("L", "L", n, n, o, p->a, n, p->b, n, nil, p->c, n);
  else if (strcmp(p->routine + 1, "syrk") == 0)
    routine("L", "N", n, n, o, p->a, n, nil, p->c, n);
  else if (strcmp(p->routine + 1, "trsm") == 0)
    routine("L", "L", "N", "U", n, n, o, p->a, n, p->c, n);
  else {
    int info = 0;
    routine("L", n, p->c, n, &info);
    if (info) {
      fprintf(stderr, "%s of order %d: info %d\n", p->routine, p->n, info);
      exit(1);
    }
  }
}

/* Elements of about 1 / n: nothing overflows, in no number of solutions. */
static void fill(void *memory, size_t bytes, bool single, double scale) {
  uint64_t state = 7;
  for (size_t i = 0; i < bytes / (single ? sizeof(float) : sizeof(double)); i++) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double value = scale * ((double)(state >> 11) * 0x1p-53 - 0.5);
    if (single)
      ((float *)memory)[i] = (float)value;
    else
      ((double *)memory)[i] = value;
  }
}

/* c = b, with a diagonal that makes its symmetric part positive definite. */
static void copy_definite(const problem *p, bool single, bool pairs) {
  const size_t n = (size_t)p->n, step = (n + 1) * (pairs ? 2 : 1);
  memcpy(p->c, p->b, p->element * n * n);
  for (size_t i = 0; i < n; i++)
    if (single)
      ((float *)p->c)[i * step] = (float)p->n;
    else
      ((double *)p->c)[i * step] = p->n;
}

static void large_calls(const char *name, int repeats, int n) {
  char symbol[16];
  const bool of_lapack = strcmp(name + 1, "potrf_of_lapack") == 0;
  snprintf(symbol, sizeof symbol, "%.*s_", (int)strcspn(name, "_"), name);
  blas *routine = (blas *)(of_lapack ? find_lapack(symbol) : find(symbol));
  if (!routine) {
    fputs("there is no LAPACK\n", stderr);
    exit(1);
  }
  const bool single = name[0] == 's' || name[0] == 'c';
  const bool pairs = name[0] == 'z' || name[0] == 'c';
  problem p = {.routine = name, .element = (single ? 4U : 8U) * (pairs ? 2U : 1U), .n = n};
  const size_t bytes = p.element * (size_t)n * (size_t)n;
  p.a = malloc(bytes);
  p.b = malloc(bytes);
  p.c = malloc(bytes);
  if (!p.a || !p.b || !p.c) {
    fprintf(stderr, "no memory for matrices of order %d\n", n);
    exit(1);
  }
  fill(p.a, bytes, single, 1.0 / n);
  fill(p.b, bytes, single, 1);
  fill(p.c, bytes, single, 1);
  printf("%d", n);
  for (int i = 0; i <= repeats; i++) {
    if (is_potrf(name))
      copy_definite(&p, single, pairs);
    const double begin = now();
    call_routine(&p, routine);
    printf(" %.9f", now() - begin);
    fflush(stdout);
  }
  puts("");
  free(p.a);
  free(p.b);
  free(p.c);
}

int main(int count, char **words) {
  if (count == 2 && strcmp(words[1], "calls") == 0)
    small_calls();
  else if (count > 3)
    for (int i = 3; i < count; i++)
      large_calls(words[1], atoi(words[2]), atoi(words[i]));
  else
    return 2;
  return 0;
}
