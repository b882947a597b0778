/* SPDX-License-Identifier: Apache-2.0 */
/* A program of a user who looks for defects of his own: tests/outside/tools.sh builds it with sanitizers,
 * and runs it under Valgrind and GDB. It has none, and loses nothing. With an argument it has both, to
 * show that the tools see them: a race, and a block that nobody frees. */
#include <davit/davit.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 16, TURNS = 50 };

static void check(davit_status status) {
  if (status == DAVIT_SUCCESS)
    return;
  fprintf(stderr, "%s: %s\n", davit_status_string(status), davit_last_error());
  exit(1);
}

static davit_status add_one(void *value) {
  ++*(int *)value;
  return DAVIT_SUCCESS;
}

/* What host functions write is read after a synchronisation, or by host functions behind a wait. */
static void *use_queues(void *unused) {
  davit_queue *first, *second;
  davit_event *event;
  int value = 0;
  check(davit_queue_create(DAVIT_HOST, &first, NULL));
  check(davit_queue_create(DAVIT_CURRENT, &second, NULL));
  check(davit_event_create(&event));
  for (int i = 0; i < TURNS; i++) {
    check(davit_queue_host_function(first, add_one, &value));
    check(davit_event_record(event, first));
    check(davit_queue_wait(second, event));
    check(davit_queue_host_function(second, add_one, &value));
    check(davit_queue_synchronize(second));
    if (value != 2 * i + 2)
      exit(2);
  }
  check(davit_event_destroy(event));
  check(davit_queue_destroy(first));
  check(davit_queue_destroy(second));
  return unused;
}

static void compute(void) {
  static double x[N], y[N];
  static float samples[N], features[N / DAVIT_FEATURES_FRAME * DAVIT_FEATURES_WIDTH + 1];
  double sum = 0;
  for (int i = 0; i < N; i++)
    x[i] = 1;
  check(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, N, x, &sum, NULL));
  check(davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, N, x, y, NULL));
  check(davit_dgemm('N', 'N', 64, 64, 64, 1, x, 64, x, 64, 0, y, 64, NULL));
  check(davit_features(N, samples, features, NULL));
  if (sum != N || y[0] != 64)
    exit(3);
}

static volatile int shared;

static void *race(void *unused) {
  for (int i = 0; i < 1000000; i++)
    shared++;
  return unused;
}

static void have_defects(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, race, NULL);
  race(NULL);
  pthread_join(thread, NULL);
  char *volatile lost = malloc(100);
  memset(lost, shared, 100);
  lost = NULL;
}

int main(int argc, char **argv) {
  (void)argv;
  for (int turn = 0; turn < 2; turn++) { /* after davit_finalize() the library starts again */
    pthread_t thread;
    if (pthread_create(&thread, NULL, use_queues, NULL) != 0)
      return 4;
    use_queues(NULL);
    compute();
    pthread_join(thread, NULL);
    check(davit_finalize());
  }
  if (argc > 1)
    have_defects();
  puts("done");
  return 0;
}
