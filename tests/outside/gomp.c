/* SPDX-License-Identifier: Apache-2.0 */
/* A program with GCC's OpenMP runtime beside davit's: davit is called outside and inside of its parallel
 * regions (tests/outside/guests.sh builds and runs it). */
#include <davit/davit.h>
#include <omp.h>
#include <stdio.h>

enum { N = 50000, TURNS = 20 };
static double x[N];

static davit_status add_threads(void *count) {
  int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
  threads++;
  *(int *)count += threads;
  return DAVIT_SUCCESS;
}

static int sum(void) {
  double result = 0;
  return davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, N, x, &result, NULL) || result != N;
}

static int use_queue(void) {
  davit_queue *queue;
  int count = 0;
  return davit_queue_create(DAVIT_HOST, &queue, NULL) ||
         davit_queue_host_function(queue, add_threads, &count) || davit_queue_destroy(queue) || count != 2;
}

int main(void) {
  int failed = 0;
  for (int i = 0; i < N; i++)
    x[i] = 1;
  for (int turn = 0; turn < TURNS && !failed; turn++) {
    failed = sum();
#pragma omp parallel num_threads(3) reduction(| : failed)
    failed |= sum() || use_queue();
  }
  if (failed || davit_finalize())
    fprintf(stderr, "%s\n", davit_last_error());
  return failed;
}
