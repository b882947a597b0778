/* SPDX-License-Identifier: Apache-2.0 */
/* A process may end at any time, by any of its threads, with work in flight (docs/threads.md): it ends at
 * once, with the status it was given. Each probe ends so, or it would not end before the alarm. */
#include "tests/support.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1 << 22, ALARM_S = 15 };

/* Queues with a closed gate at the head, and work, copies and events behind it. */
static davit_queue *work_in_flight(int device) {
  static double from[1000], to[1000];
  alarm(ALARM_S);
  davit_queue *queue = new_queue(device, 2);
  davit_event *event;
  gate_at_head(queue);
  CHECK(davit_event_create(&event));
  CHECK(davit_queue_copy(queue, sizeof from, from, to));
  CHECK(davit_event_record(event, queue));
  CHECK(davit_queue_set_subqueue(queue, 1));
  CHECK(davit_queue_wait(queue, event));
  CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)1));
  return queue;
}

static void on_all_devices(void) {
  int devices[MAX_PLACES];
  for (int i = all_devices(devices) - 1; i >= 0; i--)
    work_in_flight(devices[i]);
}

static void *end_process(void *unused) {
  (void)unused;
  exit(0);
}

static davit_status end_here(void *unused) {
  end_process(unused);
  return DAVIT_SUCCESS;
}

PROBE(main_ends) {
  on_all_devices();
  exit(0);
}

PROBE(another_thread_ends) {
  on_all_devices();
  start_thread(end_process, NULL);
  CHECK(davit_queue_synchronize(work_in_flight(DAVIT_HOST))); /* for ever */
  exit(1);
}

PROBE(a_host_function_ends) {
  on_all_devices();
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  CHECK(davit_queue_host_function(queue, end_here, NULL));
  CHECK(davit_queue_synchronize(queue)); /* for ever */
  exit(1);
}

static void *compute_for_ever(void *unused) {
  double *x = kept(N * sizeof *x), sum;
  for (int i = 0; i < N; i++)
    x[i] = 1;
  for (;;)
    CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, N, x, &sum, NULL));
  return unused;
}

PROBE(main_ends_while_others_compute) {
  alarm(ALARM_S);
  for (int i = 0; i < 3; i++)
    start_thread(compute_for_ever, NULL);
  sleep_ms(50 + (int)(getpid() % 50));
  exit(0);
}

PROBE(main_ends_after_finalize) {
  alarm(ALARM_S);
  finish(new_queue(DAVIT_CURRENT, 1));
  CHECK(davit_finalize());
  exit(0);
}

/* An exit handler of the program's own, which comes before davit's, may still use davit. */
static void use_davit(void) {
  davit_queue *queue;
  atomic_int done = 0;
  if (davit_queue_create(DAVIT_HOST, &queue, NULL) || davit_queue_host_function(queue, add_one, &done) ||
      davit_queue_destroy(queue) || done != 1)
    _exit(1);
}

PROBE(an_exit_handler_works) {
  alarm(ALARM_S);
  finish(new_queue(DAVIT_HOST, 1));
  atexit(use_davit);
  exit(0);
}

/* Whether the main thread of the process has ended while others are left. */
static bool main_has_left(pid_t process) {
  char path[64], state = ' ';
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  FILE *file = fopen(path, "r");
  if (file && fscanf(file, "%*d %*[^)]) %c", &state) != 1)
    state = ' ';
  if (file)
    fclose(file);
  return state == 'Z';
}

/* main() leaves by pthread_exit(), another thread of the program goes on and ends the process. */
static void *go_on(void *unused) {
  atomic_int done = 0;
  (void)unused;
  while (!main_has_left(getpid()))
    sleep_ms(1);
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  CHECK(davit_queue_host_function(queue, add_one, &done));
  finish(queue);
  exit(done == 1 ? 0 : 1);
}

PROBE(main_leaves_others_go_on) {
  alarm(ALARM_S);
  finish(new_queue(DAVIT_CURRENT, 1));
  start_thread(go_on, NULL);
  pthread_exit(NULL);
}

PROBE(main_leaves) {
  int threads = 0;
  if (strcmp(probe_argument, "davit") == 0)
    finish(new_queue(DAVIT_HOST, 1));
  else
#pragma omp parallel num_threads(2) reduction(+ : threads)
    threads++;
  pthread_exit(NULL);
}

/* The process of the probe main_leaves is there a second after main() has left. */
static void stays_when_main_leaves(const char *what) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "test_exit", "main_leaves", what, (char *)NULL);
    _exit(127);
  }
  const double end = patience_ends_ms();
  int status = 0;
  while (!main_has_left(child) && waitpid(child, &status, WNOHANG) == 0 && now_ms() < end)
    sleep_ms(10);
  sleep_ms(1000);
  const bool stays = waitpid(child, &status, WNOHANG) == 0;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  if (!stays)
    fail_msg("a process that has used %s ends with main(): docs/threads.md says that it does not", what);
}

static void with_all_back_ends(const char *probe) {
  for (int i = 0; i < scaled(5); i++) {
    try_probe(probe, "", "");
    try_probe(probe, "", "DAVIT_BACKEND=nowait");
    try_probe(probe, "", "DAVIT_BACKEND=threads");
  }
}

CASE(from_main) {
  with_all_back_ends("main_ends");
}

CASE(from_another_thread) {
  with_all_back_ends("another_thread_ends");
}

CASE(from_a_host_function) {
  with_all_back_ends("a_host_function_ends");
}

CASE(while_others_compute) {
  with_all_back_ends("main_ends_while_others_compute");
}

CASE(after_finalize) {
  with_all_back_ends("main_ends_after_finalize");
}

CASE(in_an_exit_handler) {
  with_all_back_ends("an_exit_handler_works");
}

CASE(after_main_has_left) {
  with_all_back_ends("main_leaves_others_go_on");
}

/* A weakness that davit has from LLVM's runtime. */
CASE(a_process_stays_when_main_has_left) {
  stays_when_main_leaves("OpenMP");
  stays_when_main_leaves("davit");
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, NULL, NULL);
}
