/* SPDX-License-Identifier: Apache-2.0 */
/* What `target nowait depend` stands beside other threads, without davit: helpers MODE [REGIONS].
 *
 *   safe        one thread generates regions on helper threads of the OpenMP runtime; others stay away
 *   ends        the same, while threads that have used OpenMP end
 *   together    the same, and then two threads that have used OpenMP end at once: one run in some hundred hangs
 *   teams       the same, with a parallel region in each of 4 chains of regions
 *   starts      the same, while threads begin to use OpenMP as the helper threads are made
 *   generators  two threads generate regions, each inside its own parallel region
 *
 * Each mode checks that all regions ran, each chain in order. With LLVM 19's libomp only `safe` does, every
 * time; tests/outside/helpers.sh runs all of them and says how they end. */
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHAINS = 4, BATCH = 64, DISTURBERS = 2, MAX_GENERATORS = 2, TOGETHER = 2 };

static long regions = 20000;
static const char *mode;
static atomic_long order_errors, started;

static int is(const char *name) {
  return strcmp(mode, name) == 0;
}

static void *use_openmp_and_end(void *argument) {
  (void)argument;
#pragma omp parallel num_threads(1)
  atomic_fetch_add(&started, 1);
  return NULL;
}

static void *disturb(void *argument) {
  for (;;) {
    pthread_t one;
    if (pthread_create(&one, NULL, use_openmp_and_end, argument) == 0)
      pthread_join(one, NULL);
  }
}

static void *end_together(void *argument) {
  static atomic_int here;
  use_openmp_and_end(argument);
  atomic_fetch_add(&here, 1);
  while (here < TOGETHER)
    ;
  return NULL;
}

/* One of them may wait for the helper threads' end, of which only one thread is told. */
static void end_all_together(void) {
  pthread_t threads[TOGETHER];
  for (int i = 0; i < TOGETHER; i++)
    pthread_create(&threads[i], NULL, end_together, NULL);
  for (int i = 0; i < TOGETHER; i++)
    pthread_join(threads[i], NULL);
}

/* The step'th region of a chain. */
static void body(long *chain, long step) {
  if (is("teams")) {
#pragma omp parallel num_threads(2)
    atomic_fetch_add(&started, 1);
  }
  if (*chain != step)
    atomic_fetch_add(&order_errors, 1);
  *chain = step + 1;
}

static void generate(void) {
  static long cells[MAX_GENERATORS][CHAINS];
  static atomic_int generators;
  long *chain = cells[atomic_fetch_add(&generators, 1)];
  for (long i = 0; i < regions; i++) {
    long *mine = &chain[i % CHAINS], step = i / CHAINS;
#pragma omp target nowait depend(inout : *mine) firstprivate(mine, step)
    body(mine, step);
    if (i % BATCH == BATCH - 1) {
#pragma omp taskwait
    }
  }
#pragma omp taskwait
  for (int i = 0; i < CHAINS; i++)
    if (chain[i] != (regions - i + CHAINS - 1) / CHAINS)
      atomic_fetch_add(&order_errors, 1);
}

static void *generator(void *argument) {
  sem_t parked, park;
  sem_init(&parked, 0, 0);
  sem_init(&park, 0, 0);
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) {
    sem_post(&parked);
    sem_wait(&park);
  } else {
    sem_wait(&parked);
    generate();
    sem_post(argument);
    sem_wait(&park); /* the parallel region stays open */
  }
  return NULL;
}

int main(int argc, char **argv) {
  sem_t over;
  pthread_t thread;
  mode = argc > 1 ? argv[1] : "safe";
  if (argc > 2)
    regions = atol(argv[2]);
  alarm(is("together") ? 5 : 20);
  sem_init(&over, 0, 0);
  const int generators = is("generators") ? MAX_GENERATORS : 1;
  for (int i = 0; i < DISTURBERS && is("starts"); i++)
    pthread_create(&thread, NULL, disturb, NULL);
  for (int i = 0; i < generators; i++)
    pthread_create(&thread, NULL, generator, &over);
  if (is("ends")) {
    usleep(50000); /* the helper threads are there */
    pthread_create(&thread, NULL, disturb, NULL);
  }
  for (int i = 0; i < generators; i++)
    sem_wait(&over);
  if (is("together"))
    end_all_together();
  printf("%s: %ld regions, %s\n", mode, regions, order_errors ? "wrong" : "right");
  fflush(stdout);
  _exit(order_errors != 0);
}
