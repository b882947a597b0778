/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that use the same devices at the same time, as those of MPI do: each has its own memory there,
 * and its own results. */
#include "tests/support.h"

#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 3, N = 10000, ROUNDS = 100 };

/* Sums that only this process's data give, on memory that comes and goes, while the others do the same. */
static void use(int device, int seed) {
  double host[N], *sum = kept_at(sizeof *sum, DAVIT_PINNED);
  for (int i = 0; i < N; i++)
    host[i] = seed;
  davit_queue *queue = new_queue(device, 1);
  for (int round = 0; round < scaled(ROUNDS); round++) {
    void *there;
    CHECK(davit_malloc(sizeof host, device, &there));
    CHECK(davit_queue_copy(queue, sizeof host, host, there));
    CHECK(davit_queue_reduce(queue, DAVIT_SUM, DAVIT_DOUBLE, N, there, sum, NULL));
    CHECK(davit_queue_synchronize(queue));
    assert_true(*sum == (double)(seed * N));
    CHECK(davit_free(there));
  }
  finish(queue);
}

/* The processes begin when the pipe at standard input is closed. */
PROBE(use_all_devices) {
  char none;
  int devices[MAX_PLACES];
  const int count = all_devices(devices);
  while (read(STDIN_FILENO, &none, 1) > 0) {
  }
  for (int i = 0; i < count; i++)
    use(devices[i], atoi(probe_argument));
}

static pid_t start_process(const int start[2], int seed) {
  char argument[16];
  snprintf(argument, sizeof argument, "%d", seed);
  const pid_t child = fork();
  if (child != 0)
    return child;
  dup2(start[0], STDIN_FILENO);
  close(start[0]);
  close(start[1]);
  execl("/proc/self/exe", "test_processes", "use_all_devices", argument, (char *)NULL);
  _exit(127);
}

CASE(processes_share_the_devices) {
  pid_t children[PROCESSES];
  int start[2], wrong = 0;
  assert_int_equal(pipe(start), 0);
  for (int i = 0; i < PROCESSES; i++)
    children[i] = start_process(start, i + 1);
  close(start[0]);
  close(start[1]);
  for (int i = 0; i < PROCESSES; i++) {
    int status = 1;
    waitpid(children[i], &status, 0);
    wrong += status != 0;
  }
  assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, NULL, NULL);
}
