/* SPDX-License-Identifier: Apache-2.0 */
/* A process may end at any time, by any of its threads, with work in flight (docs/threads.md): it ends at
 * once, with the status it was given. Each probe ends so, or it would not end before the alarm. */
#include "tests/support.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/runtime/region.h"
#include "src/base/ending.h"
#include "src/runtime/lane.h"

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

static davit_status emit_and_end(const davit_region_site *site, void *counter) {
  int *count = counter;
#pragma omp target nowait depend(inout : *site->order) device(site -> device) map(tofrom : count[ : 1])
  ++*count;
  alarm(DVT_ENDING_PATIENCE_S - 2);
  exit(0);
}

/* `probe_argument` is the device. The region is behind a task that is over, or nearly. */
PROBE(a_nowait_function_ends) {
  static int count;
  on_all_devices();
  davit_queue *queue = new_queue(atoi(probe_argument), 1);
  CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)1));
  CHECK(davit_queue_region_nowait(queue, emit_and_end, &count));
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

/* ---- work on a GPU, for which a host-offload device that poses as one stands in ---- */

static atomic_int in_regions, regions;

static davit_status work_in_region(int device, void *nap_ms) {
  (void)device;
  in_regions++;
  regions++;
  sleep_ms((int)(intptr_t)nap_ms);
  in_regions--;
  return DAVIT_SUCCESS;
}

/* As a nowait region, on the host. */
static void work_as_region(void *nap_ms) {
  work_in_region(0, nap_ms);
}

static davit_status emit_work(const davit_region_site *site, void *nap_ms) {
  dvt_region_on_host(&(dvt_region_order){site->order, NULL, 0, NULL}, work_as_region, nap_ms);
  return DAVIT_SUCCESS;
}

/* Copies, fills and regions without end. */
static void *use_device(void *unused) {
  enum { BYTES = 1000 };
  davit_queue *queue = new_queue(0, 1);
  char *there = new_memory(BYTES, 0), here[BYTES] = {0};
  for (;;) {
    CHECK(davit_queue_copy(queue, BYTES, here, there));
    CHECK(davit_queue_region(queue, work_in_region, (void *)(intptr_t)5));
    CHECK(davit_queue_region_nowait(queue, emit_work, (void *)(intptr_t)1));
    CHECK(davit_queue_fill(queue, BYTES, 1, there));
    CHECK(davit_queue_synchronize(queue));
  }
  return unused;
}

/* Registered before davit's own handlers, so it comes after them, when CUDA's would. */
static void nobody_is_in_a_region(void) {
  const int before = regions, inside = in_regions;
  sleep_ms(30);
  if (before == 0 || inside > 0 || regions != before)
    _exit(1);
}

/* Without `probe_argument` the device is a host-offload one, whose regions are not waited for but for nowait ones. */
PROBE(main_ends_while_others_use_a_device) {
  alarm(ALARM_S);
  if (*probe_argument)
    atexit(nobody_is_in_a_region);
  for (int i = 0; i < 3; i++)
    start_thread(use_device, NULL);
  while (regions < 6)
    sleep_ms(1);
  sleep_ms((int)(getpid() % 10));
  alarm(DVT_ENDING_PATIENCE_S - 2); /* all that is under way is short */
  exit(0);
}

static void *emit_for_ever(void *unused) {
  davit_queue *queue = new_queue(0, 1);
  for (;;) {
    CHECK(davit_queue_region_nowait(queue, emit_work, (void *)(intptr_t)1));
    CHECK(davit_queue_synchronize(queue));
  }
  return unused;
}

PROBE(main_ends_while_others_emit_regions) {
  alarm(ALARM_S);
  atexit(nobody_is_in_a_region);
  for (int i = 0; i < 3; i++)
    start_thread(emit_for_ever, NULL);
  while (regions < 6)
    sleep_ms(1);
  alarm(DVT_ENDING_PATIENCE_S - 2);
  exit(0);
}

PROBE(main_ends_while_a_nowait_region_runs) {
  alarm(ALARM_S);
  atexit(nobody_is_in_a_region);
  davit_queue *queue = new_queue(0, 1);
  CHECK(davit_queue_region_nowait(queue, emit_work, (void *)(intptr_t)100));
  while (regions == 0)
    sleep_ms(1);
  alarm(DVT_ENDING_PATIENCE_S - 2);
  exit(0);
}

/* Loops on the CPU beside a GPU: they ask where their operands lie, and have a team meanwhile. `argument`: numbers. */
static void *reduce_on_the_host(void *count) {
  const int64_t n = (intptr_t)count;
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  double *x = kept_zeros((size_t)n * sizeof *x), *sum = kept_zeros(sizeof *sum);
  for (;;) {
    CHECK(davit_queue_reduce(queue, DAVIT_SUM, DAVIT_DOUBLE, n, x, sum, NULL));
    CHECK(davit_queue_synchronize(queue));
    CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, n, x, sum, NULL));
    regions++;
  }
  return count;
}

PROBE(main_ends_while_others_reduce_on_the_host) {
  alarm(ALARM_S);
  start_thread(reduce_on_the_host, (void *)(intptr_t)100);
  start_thread(reduce_on_the_host, (void *)(intptr_t)N);
  while (regions < 10)
    sleep_ms(1);
  sleep_ms((int)(getpid() % 10));
  alarm(DVT_ENDING_PATIENCE_S - 2);
  exit(0);
}

/* A region on a GPU that waits for another queue, whose work does not end. */
static davit_status wait_in_region(int device, void *other) {
  (void)device;
  regions++;
  CHECK(davit_queue_synchronize(other));
  return DAVIT_SUCCESS;
}

PROBE(main_ends_while_a_region_waits) {
  alarm(ALARM_S);
  davit_queue *closed = new_queue(DAVIT_HOST, 1);
  gate_at_head(closed);
  CHECK(davit_queue_region(new_queue(0, 1), wait_in_region, closed));
  while (regions == 0)
    sleep_ms(1);
  sleep_ms(10);
  alarm(DVT_ENDING_PATIENCE_S - 2);
  exit(0);
}

static void *begin_regions(void *begun) {
  davit_queue *queue = new_queue(0, 1);
  set_flag(begun);
  CHECK(davit_queue_region_nowait(queue, emit_work, (void *)(intptr_t)1));
  CHECK(davit_queue_synchronize(queue));
  return begun;
}

/* The first nowait region of the process makes the threads for all of them. */
PROBE(main_ends_while_the_first_region_begins) {
  static atomic_int begun;
  alarm(DVT_ENDING_PATIENCE_S - 2);
  start_thread(begin_regions, &begun);
  assert_true(flag_rises(&begun));
  usleep((useconds_t)(getpid() % 8 * 100));
  exit(0);
}

/* Host functions are the program's, and are not waited for. */
PROBE(main_ends_while_a_host_function_waits) {
  alarm(DVT_ENDING_PATIENCE_S - 2);
  gate_at_head(new_queue(0, 1));
  exit(0);
}

/* ---- work without end: it is waited for, but not for ever ---- */

static davit_status region_without_end(int device, void *begun) {
  (void)device;
  set_flag(begun);
  for (;;)
    sleep_ms(1000);
}

static davit_status loop_without_end(const dvt_site *site, const void *begun) {
  (void)site;
  set_flag(*(atomic_int *const *)begun);
  for (;;)
    sleep_ms(1000);
}

static davit_status function_without_end(const davit_region_site *site, void *begun) {
  return region_without_end(site->device, begun);
}

static double exit_ms;

static void exit_took_its_patience(void) {
  const double took_s = 1e-3 * (now_ms() - exit_ms), patience_s = DVT_ENDING_PATIENCE_S;
  if (took_s < 0.99 * patience_s || took_s > 2.0 * patience_s)
    _exit(1);
}

PROBE(main_ends_while_work_does_not) {
  static atomic_int begun;
  atomic_int *flag = &begun;
  alarm(PATIENCE_S);
  atexit(exit_took_its_patience);
  if (strcmp(probe_argument, "gpu") == 0) {
    CHECK(davit_queue_region(new_queue(0, 1), region_without_end, &begun));
  } else if (strcmp(probe_argument, "function") == 0) {
    CHECK(davit_queue_region_nowait(new_queue(0, 1), function_without_end, &begun));
  } else {
    const dvt_work work = {.form = loop_without_end, .name = "loop", .threads = 1};
    CHECK(dvt_lane_submit_work(dvt_queue_lane(new_queue(DAVIT_HOST, 1)), DVT_BLOCKING, &work, &flag,
                               sizeof flag));
  }
  assert_true(flag_rises(&begun));
  exit_ms = now_ms();
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

/* ---- exit handlers that come after davit's, because they were registered before its first call ---- */

static double *ones, *sums; /* N each */
static davit_queue *idle_queue, *busy_queue;
static davit_event *pending;

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "in an exit handler: %s: \"%s\"\n", #condition, davit_last_error());                   \
      _exit(1);                                                                                              \
    }                                                                                                        \
  } while (0)

/* By plain forms on `device`; DAVIT_CURRENT: on those that davit takes. */
static void compute_on(int device) {
  enum { ORDER = 300 };
  double sum = 0;
  const int count = device != DAVIT_CURRENT;
  const int *devices = count ? &device : NULL;
  EXPECT(!davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, N, ones, &sum, ON(davit_reduce_options, devices, count)));
  EXPECT(sum == (double)N);
  EXPECT(!davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, N, ones, sums,
                     ON(davit_scan_options, devices, count)));
  EXPECT(sums[0] == 1 && sums[N / 2] == N / 2 + 1 && sums[N - 1] == (double)N);
  EXPECT(!davit_dgemm('N', 'N', ORDER, ORDER, ORDER, 1, ones, ORDER, ones, ORDER, 0, sums, ORDER,
                      ON(davit_level3_options, devices, count)));
  EXPECT(sums[0] == (double)ORDER && sums[ORDER * ORDER - 1] == (double)ORDER);
  EXPECT(!davit_random(DAVIT_DOUBLE, N, 7, sums));
  EXPECT(!davit_copy(N * sizeof *ones, ones, sums) && sums[N - 1] == 1);
}

static void compute_in(davit_queue *queue) {
  double sum = 0;
  atomic_int done = 0;
  davit_event *event;
  davit_event_state state;
  EXPECT(!davit_event_create(&event));
  EXPECT(!davit_queue_scan(queue, DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, N, ones, sums, NULL));
  EXPECT(!davit_queue_host_function(queue, add_one, &done));
  EXPECT(!davit_event_record(event, queue) && !davit_queue_wait(queue, event));
  EXPECT(!davit_queue_reduce(queue, DAVIT_MAX, DAVIT_DOUBLE, N, sums, &sum, NULL));
  EXPECT(!davit_queue_synchronize(queue) && sum == (double)N && done == 1);
  EXPECT(!davit_event_query(event, &state) && state == DAVIT_EVENT_COMPLETE);
  EXPECT(!davit_event_synchronize(event) && !davit_event_destroy(event));
}

static void compute_late(void) {
  davit_queue *queue;
  alarm(ALARM_S);
  compute_on(DAVIT_CURRENT);
  compute_on(DAVIT_HOST);
  if (device_count() > 0)
    compute_on(0);
  EXPECT(!davit_queue_create(DAVIT_HOST, &queue, &(davit_queue_options){.subqueues = 2}));
  compute_in(queue);
  EXPECT(!davit_queue_destroy(queue));
  compute_in(idle_queue);
  EXPECT(!davit_queue_destroy(idle_queue));
}

/* What was abandoned is waited for until the patience is over, and then not at all: by the event, or by the queue. */
static void wait_late(void) {
  const double begin = now_ms();
  alarm(DVT_ENDING_PATIENCE_S + ALARM_S);
  if (!*probe_argument) {
    EXPECT(davit_event_synchronize(pending) == DAVIT_WORK_FAILED);
    EXPECT(strstr(davit_last_error(), "the work that is waited for was abandoned"));
  }
  EXPECT(davit_queue_synchronize(busy_queue) == DAVIT_WORK_FAILED);
  EXPECT(strstr(davit_last_error(), "the process ends, and work of the queue was abandoned"));
  EXPECT(davit_queue_destroy(busy_queue) == DAVIT_WORK_FAILED);
  EXPECT(now_ms() - begin < 1.5e3 * (double)DVT_ENDING_PATIENCE_S);
}

static void begin_to_compute(void) {
  ones = kept(N * sizeof *ones);
  sums = kept(N * sizeof *sums);
  for (int i = 0; i < N; i++)
    ones[i] = 1;
  idle_queue = new_queue(DAVIT_HOST, 1);
  compute_in(idle_queue);
}

/* `probe_argument`: what ends the process. */
PROBE(an_earlier_exit_handler_computes) {
  atexit(compute_late);
  begin_to_compute();
  if (strcmp(probe_argument, "busy") == 0)
    on_all_devices();
  if (strcmp(probe_argument, "finalized") == 0) {
    CHECK(davit_queue_destroy(idle_queue));
    CHECK(davit_finalize());
    idle_queue = new_queue(DAVIT_HOST, 1);
  }
  if (strcmp(probe_argument, "thread") == 0) {
    join_thread(start_thread(end_process, NULL));
  } else if (strcmp(probe_argument, "function") == 0) {
    davit_queue *queue = new_queue(DAVIT_HOST, 1);
    CHECK(davit_queue_host_function(queue, end_here, NULL));
    CHECK(davit_queue_synchronize(queue)); /* for ever */
  }
  exit(0);
}

/* The library has stopped, or never started. */
static void compute_first(void) {
  begin_to_compute();
  compute_late();
}

PROBE(an_exit_handler_starts_the_library) {
  atexit(compute_first);
  if (strcmp(probe_argument, "finalized") == 0) {
    finish(new_queue(DAVIT_HOST, 1));
    CHECK(davit_finalize());
  }
  exit(0);
}

PROBE(an_earlier_exit_handler_waits) {
  alarm(ALARM_S);
  atexit(wait_late);
  busy_queue = new_queue(DAVIT_HOST, 1);
  CHECK(davit_event_create(&pending));
  gate_at_head(busy_queue);
  CHECK(davit_event_record(pending, busy_queue));
  exit(0);
}

/* Others compute meanwhile, and one of them is waited for by nobody. */
PROBE(an_earlier_exit_handler_computes_beside_others) {
  alarm(ALARM_S);
  atexit(compute_late);
  begin_to_compute();
  for (int i = 0; i < 3; i++)
    start_thread(compute_for_ever, NULL);
  sleep_ms(20 + (int)(getpid() % 50));
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

/* ---- cases ---- */

/* Processes whose work does not end, side by side and beside the other cases, because they take so long. */
static pid_t without_end[5];

static pid_t start_without_end(const char *probe, const char *what, const char *posing_as) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("DAVIT_SIMULATE", posing_as, 1);
    execl("/proc/self/exe", "test_exit", probe, what, (char *)NULL);
    _exit(127);
  }
  return child;
}

static int start_those_without_end(void **state) {
  (void)state;
  static const char work[] = "main_ends_while_work_does_not", handler[] = "an_earlier_exit_handler_waits";
  without_end[0] = start_without_end(work, "gpu", "amd");
  without_end[1] = start_without_end(work, "loop", "");
  without_end[2] = start_without_end(work, "function", "");
  without_end[3] = start_without_end(handler, "", "");
  without_end[4] = start_without_end(handler, "queue", "");
  return 0;
}

static void with_all_back_ends(const char *probe) {
  for (int i = 0; i < scaled(5); i++) {
    try_probe(probe, "", "");
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

static const char *const not_posing[] = {"DAVIT_BACKEND=openmp", "DAVIT_BACKEND=threads"};
static const char *const posing[] = {"DAVIT_SIMULATE=amd DAVIT_BACKEND=openmp",
                                     "DAVIT_SIMULATE=amd DAVIT_BACKEND=threads"};

CASE(while_others_use_a_gpu) {
  for (int i = 0; i < scaled(2) * COUNT(posing); i++) {
    try_probe("main_ends_while_others_use_a_device", "gpu", posing[i % COUNT(posing)]);
    try_probe("main_ends_while_others_use_a_device", "", not_posing[i % COUNT(posing)]);
    try_probe("main_ends_while_others_emit_regions", "", posing[i % COUNT(posing)]);
    try_probe("main_ends_while_a_nowait_region_runs", "", posing[i % COUNT(posing)]);
    try_probe("main_ends_while_a_host_function_waits", "", posing[i % COUNT(posing)]);
    try_probe("main_ends_while_others_reduce_on_the_host", "", posing[i % COUNT(posing)]);
  }
}

CASE(while_a_region_on_a_gpu_waits) {
  try_probe("main_ends_while_a_region_waits", "", "DAVIT_SIMULATE=amd DAVIT_BACKEND=openmp");
  try_probe("main_ends_while_a_region_waits", "", "DAVIT_SIMULATE=amd DAVIT_BACKEND=threads");
}

CASE(while_the_first_nowait_region_begins) {
  for (int i = 0; i < scaled(5); i++) {
    try_probe("main_ends_while_the_first_region_begins", "", "DAVIT_BACKEND=openmp");
    try_probe("main_ends_while_the_first_region_begins", "", "DAVIT_BACKEND=threads");
  }
}

CASE(from_the_function_of_a_nowait_region) {
  for (int i = 0; i < COUNT(posing); i++) {
    try_probe("a_nowait_function_ends", "-1", not_posing[i]);
    try_probe("a_nowait_function_ends", "0", not_posing[i]);
    try_probe("a_nowait_function_ends", "0", posing[i]);
  }
}

CASE(after_finalize) {
  with_all_back_ends("main_ends_after_finalize");
}

CASE(in_an_exit_handler) {
  with_all_back_ends("an_exit_handler_works");
}

CASE(in_an_exit_handler_that_comes_after_davits) {
  static const char *const ends[] = {"busy", "thread", "function", "finalized"};
  with_all_back_ends("an_earlier_exit_handler_computes");
  for (int i = 0; i < scaled(COUNT(ends)) * COUNT(not_posing); i++) { /* with all of them each pair */
    const char *back_end = not_posing[i % COUNT(not_posing)];
    try_probe("an_earlier_exit_handler_computes", ends[i % COUNT(ends)], back_end);
    if (i % 2 == 0)
      try_probe("an_earlier_exit_handler_computes_beside_others", "", back_end);
    else
      try_probe("an_exit_handler_starts_the_library", i % 4 == 1 ? "" : "finalized", back_end);
  }
  try_probe("an_earlier_exit_handler_computes", "", posing[0]);
  try_probe("an_earlier_exit_handler_computes", "", "DAVIT_THREADS=1");
}

CASE(after_main_has_left) {
  with_all_back_ends("main_leaves_others_go_on");
}

/* A weakness that davit has from LLVM's runtime. */
CASE(a_process_stays_when_main_has_left) {
  stays_when_main_leaves("OpenMP");
  stays_when_main_leaves("davit");
}

CASE(work_without_end_is_not_waited_for_for_ever) {
  for (int i = 0; i < COUNT(without_end); i++) {
    int status = -1;
    assert_int_equal(waitpid(without_end[i], &status, 0), without_end[i]);
    if (status != 0)
      fail_msg("work without end, %d: status %#x of wait()", i, (unsigned)status);
  }
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, start_those_without_end, NULL);
}
