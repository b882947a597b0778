/* SPDX-License-Identifier: Apache-2.0 */
/* A program that forks beside GCC's OpenMP runtime, which has threads for the thread that forks. Those are not in the
 * child, and BLIS may compute by that runtime: davit's level 3 must not wait for them (tests/outside/guests.sh).
 *
 *   gomp_fork HOW [TURNS]
 *
 * HOW says what the parent does before it forks: `both` a parallel region and products, `davit` products alone,
 * `region` a parallel region alone; with `thread`, in front of it, another thread than the first does all that. Built
 * with LATE, the name of libdavit, the program is not linked with it: the child loads it, and HOW is `region`. */
#include <davit/davit.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 200, SECONDS = 20 };
static double a[N * N], b[N * N], c[N * N];
static bool with_region, with_davit;
static int turns = 1;

#ifdef LATE
#define FUNCTIONS(X)                                                                                         \
  X(dgemm)                                                                                                   \
  X(dsyrk)                                                                                                   \
  X(dtrsm) X(queue_create) X(queue_dgemm) X(queue_synchronize) X(queue_destroy) X(last_error) X(finalize)
#define POINTER(name) static __typeof__(davit_##name) *late_##name;
FUNCTIONS(POINTER)
#define davit_dgemm late_dgemm
#define davit_dsyrk late_dsyrk
#define davit_dtrsm late_dtrsm
#define davit_queue_create late_queue_create
#define davit_queue_dgemm late_queue_dgemm
#define davit_queue_synchronize late_queue_synchronize
#define davit_queue_destroy late_queue_destroy
#define davit_last_error late_last_error
#define davit_finalize late_finalize

static void load(void) {
  void *library = dlopen(LATE, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
#define FIND(name) late_##name = (__typeof__(late_##name))dlsym(library, "davit_" #name);
  FUNCTIONS(FIND)
}
#else
static void load(void) {
}
#endif

static void region(void) {
  int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
  threads++;
  if (threads != 2)
    exit(2);
}

/* A is lower triangular with ones, so that all results are small whole numbers. */
static void fill(void) {
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++) {
      a[i + j * N] = i >= j;
      b[i + j * N] = 1;
      c[i + j * N] = 0;
    }
}

/* A times ones counts: row i has i + 1. */
static bool counts(const double *x) {
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++)
      if (x[i + j * N] != i + 1)
        return false;
  return true;
}

static bool multiply(const davit_level3_options *options) {
  fill();
  return !davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, options) && counts(c);
}

/* A A^T has min(i, j) + 1. */
static bool square(void) {
  fill();
  if (davit_dsyrk('L', 'N', N, N, 1, a, N, 0, c, N, NULL))
    return false;
  for (int j = 0; j < N; j++)
    for (int i = j; i < N; i++)
      if (c[i + j * N] != j + 1)
        return false;
  return true;
}

/* A X = B, where B is what A times ones is. */
static bool solve(void) {
  if (!multiply(NULL) || davit_dtrsm('L', 'L', 'N', 'N', N, N, 1, a, N, c, N, NULL))
    return false;
  return memcmp(b, c, sizeof c) == 0;
}

static bool multiply_in_queue(void) {
  davit_queue *queue;
  fill();
  return !davit_queue_create(DAVIT_HOST, &queue, NULL) &&
         !davit_queue_dgemm(queue, 'N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, NULL) &&
         !davit_queue_synchronize(queue) && !davit_queue_destroy(queue) && counts(c);
}

/* One device has all threads. */
static bool multiply_on_host(void) {
  static const int host = DAVIT_HOST;
  return multiply(&(davit_level3_options){.devices = &host, .device_count = 1});
}

static bool compute(void) {
  return multiply_on_host() && multiply(NULL) && square() && solve() && multiply_in_queue();
}

/* In the first turn a child does all there is, once more when it has ended the library, and in a child of its own. */
static int compute_in_child(int generations) {
  alarm(SECONDS);
  load();
  if (!(generations < 0 ? multiply_on_host() : compute() && !davit_finalize() && multiply(NULL))) {
    fprintf(stderr, "in a child: %s\n", davit_last_error());
    return 1;
  }
  if (generations <= 0)
    return 0;
  int status = 1;
  const pid_t child = fork();
  if (child == 0)
    exit(compute_in_child(generations - 1));
  if (waitpid(child, &status, 0) == child && status == 0)
    return 0;
  fprintf(stderr, "status %#x of a child's child, number %d\n", (unsigned)status, (int)child);
  return 1;
}

static void *use_and_fork(void *failed) {
  for (int turn = 0; turn < turns && !*(int *)failed; turn++) {
    if (with_region)
      region();
    if (with_davit)
      *(int *)failed |= turn > 0 ? !multiply_on_host() : !compute();
    const pid_t child = fork();
    if (child == 0)
      exit(compute_in_child(turn > 0 ? -1 : 1));
    int status = 1;
    if (waitpid(child, &status, 0) != child || status) {
      fprintf(stderr, "turn %d: status %#x of the child\n", turn, (unsigned)status);
      *(int *)failed = 1;
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  const bool thread = argc > 1 && strcmp(argv[1], "thread") == 0;
  const char *how = argc > 1 + thread ? argv[1 + thread] : "both";
  int failed = 0;
  pthread_t other;
  with_region = strcmp(how, "davit") != 0;
  with_davit = strcmp(how, "region") != 0;
  if (argc > 2 + thread)
    turns = atoi(argv[2 + thread]);
  if (!thread)
    use_and_fork(&failed);
  else if (pthread_create(&other, NULL, use_and_fork, &failed) || pthread_join(other, NULL))
    failed = 1;
  if (with_davit)
    failed |= !compute();
  return failed;
}
