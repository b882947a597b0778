/* SPDX-License-Identifier: Apache-2.0 */
/* The host threads that davit computes on (docs/threads.md): how many, on which processors, and that they
 * sleep when they have nothing to do.
 *
 * What depends on the environment or on the start of the library is tried by probes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/support.h"

#include <dirent.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/base/cgroup.h"
#include "src/base/team.h"
#include "tests/cpu_time.h"

static int processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

/* A sum over some milliseconds, on `device` or, with DAVIT_CURRENT, on all devices. */
enum { N = 1 << 21 };
static double *numbers;

static void sum_numbers(int device) {
  double sum = 0;
  const davit_reduce_options options = {.devices = &device, .device_count = device != DAVIT_CURRENT};
  for (int i = 0; i < 20; i++)
    CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, N, numbers, &sum, device == DAVIT_CURRENT ? NULL : &options));
  assert_true(sum == (double)N);
}

static void set_up_numbers(void) {
  numbers = kept(N * sizeof *numbers);
  for (int i = 0; i < N; i++)
    numbers[i] = 1;
}

/* ---- probes ---- */

/* davit uses `probe_argument` threads. */
PROBE(number_is) {
  const int expected = atoi(probe_argument);
  assert_int_equal(dvt_threads(), expected);
  const dvt_team team = dvt_team_begin(1000);
  assert_int_equal(team.threads, expected);
  dvt_team_end(&team);
  CHECK(davit_set_threads(expected + 3));
  assert_int_equal(dvt_threads(), expected + 3);
  CHECK(davit_set_threads(0));
  assert_int_equal(dvt_threads(), expected);
}

PROBE(number_is_refused) {
  int count;
  REFUSED(davit_device_count(&count), "DAVIT_THREADS is \"");
  REFUSED(davit_device_count(&count), probe_argument);
}

/* Four host-offload devices at a time on one thread. */
PROBE(one_thread_computes) {
  set_up_numbers();
  sum_numbers(DAVIT_CURRENT);
  const double wall = now_ms(), cpu = cpu_ms();
  for (int i = 0; i < 5; i++)
    sum_numbers(DAVIT_CURRENT);
  assert_true(cpu_ms() - cpu <= 1.4 * (now_ms() - wall) + 20);
}

static davit_status count_processors(void *count) {
  *(int *)count = processors();
  return DAVIT_SUCCESS;
}

/* Those that the others of a team have together. KMP_AFFINITY binds a thread by its number in the whole process, so
 * two of a few may share a processor. */
static davit_status count_in_team(void *count) {
  cpu_set_t all;
  CPU_ZERO(&all);
  const dvt_team team = dvt_team_begin(8);
#pragma omp parallel num_threads(8)
  if (omp_get_thread_num() > 0) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
#pragma omp critical
    CPU_OR(&all, &all, &set);
  }
  dvt_team_end(&team);
  *(int *)count = CPU_COUNT(&all);
  return DAVIT_SUCCESS;
}

/* A call that computes on the calling thread leaves it where it was. */
static void *stay(void *unused) {
  const int all = processors();
  float samples[4096] = {0}, features[16 * DAVIT_FEATURES_WIDTH];
  CHECK(davit_features(COUNT(samples), samples, features, NULL));
  assert_int_equal(processors(), all);
  return unused;
}

/* All threads of davit may run on the `probe_argument` processors that the process has, though a runtime of OpenMP has
 * bound the main thread before; and the caller is left where it was. */
PROBE(threads_are_not_confined) {
  set_up_numbers();
  const int all = atoi(probe_argument);
  int seen[8];
  davit_queue *queues[COUNT(seen)];
  for (int i = 0; i < COUNT(seen); i++) {
    queues[i] = new_queue(DAVIT_HOST, 1);
    CHECK(davit_queue_host_function(queues[i], count_processors, &seen[i]));
  }
  for (int i = 0; i < COUNT(seen); i++) {
    finish(queues[i]);
    assert_int_equal(seen[i], all);
  }
  sum_numbers(DAVIT_HOST);
  stay(NULL);
  join_thread(start_thread(stay, NULL));
  davit_queue *queue = new_queue(DAVIT_HOST, 1); /* on threads that have computed */
  CHECK(davit_queue_host_function(queue, count_processors, &seen[0]));
  CHECK(davit_queue_host_function(queue, count_in_team, &seen[1]));
  finish(queue);
  assert_int_equal(seen[0], all);
  assert_true(seen[1] >= 2);
}

/* The back end is `probe_argument`, and it works. */
PROBE(back_end_is) {
  set_up_numbers();
  atomic_int done = 0;
  davit_queue *queue = new_queue(DAVIT_HOST, 2);
  assert_string_equal(davit_backend_string(), probe_argument);
  CHECK(davit_queue_host_function(queue, add_one, &done));
  finish(queue);
  assert_int_equal(done, 1);
  sum_numbers(DAVIT_CURRENT);
}

PROBE(back_end_is_refused) {
  davit_queue *queue;
  CHECK_FAILS(davit_queue_create(DAVIT_HOST, &queue, NULL), DAVIT_UNSUPPORTED, probe_argument);
}

static int thread_count(void) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  while (tasks && readdir(tasks))
    count++;
  if (tasks)
    closedir(tasks);
  return count;
}

static davit_status emit(const davit_region_site *site, void *counter) {
  int *count = counter;
#pragma omp target nowait depend(inout : *site->order) device(site -> device) map(tofrom : count[ : 1])
  ++*count;
  return DAVIT_SUCCESS;
}

static davit_status use_region(void) {
  static int count;
  davit_queue *queue;
  davit_status status = davit_queue_create(DAVIT_CURRENT, &queue, NULL);
  if (status != DAVIT_SUCCESS)
    return status;
  count = 0;
  status = davit_queue_region_nowait(queue, emit, &count);
  if (status == DAVIT_SUCCESS)
    status = davit_queue_synchronize(queue);
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, status);
  CHECK(davit_queue_destroy(queue));
  assert_int_equal(count, status == DAVIT_SUCCESS);
  return dvt_error_report(&first);
}

PROBE(regions_work) {
  CHECK(use_region());
}

PROBE(regions_are_refused) {
  CHECK_FAILS(use_region(), DAVIT_UNSUPPORTED, probe_argument);
}

/* The system gives `probe_argument` threads more, then as many as wanted. */
PROBE(threads_come_later) {
  struct rlimit limit;
  if (geteuid() == 0 && setuid(65534) != 0) /* whom the limit holds for, and who has no other process */
    return;
  getrlimit(RLIMIT_NPROC, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = (rlim_t)(thread_count() + atoi(probe_argument));
  setrlimit(RLIMIT_NPROC, &limit);
  CHECK_FAILS(use_region(), DAVIT_INTERNAL_ERROR, "no thread can be made");
  limit.rlim_cur = before;
  setrlimit(RLIMIT_NPROC, &limit);
  CHECK(use_region());
}

/* Processor time of the process in the next 200 ms. */
static double time_after(void) {
  const double before = cpu_ms();
  sleep_ms(200);
  return cpu_ms() - before;
}

/* The caller's own setting of how long OpenMP's threads spin is as it was. */
PROBE(workers_sleep) {
  set_up_numbers();
  const int blocktime = kmp_get_blocktime();
  CHECK(davit_set_threads(4));
  sum_numbers(DAVIT_HOST);
  assert_true(time_after() < 60);
  const int64_t count = 1 << 22;
  float *samples = kept((size_t)count * sizeof *samples),
        *features = kept((size_t)(count / DAVIT_FEATURES_FRAME) * DAVIT_FEATURES_WIDTH * sizeof *features);
  memset(samples, 0, (size_t)count * sizeof *samples);
  CHECK(davit_features(count, samples, features, NULL));
  assert_true(time_after() < 60);
  assert_int_equal(kmp_get_blocktime(), blocktime);
}

static davit_status last_long(int device, void *result) {
  const int steps = 20000000;
  unsigned long long x = 1;
#pragma omp target device(device) map(tofrom : x)
  for (int i = 0; i < steps; i++)
    x = x * 6364136223846793005u + (x >> 33);
  *(unsigned long long *)result = x;
  return DAVIT_SUCCESS;
}

/* On a GPU the thread of a region sleeps or spins until it is over; elsewhere it computes itself. */
PROBE(regions_are_waited_for) {
  unsigned long long results[2];
  davit_device_info info;
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  int device;
  CHECK(davit_queue_device(queue, &device));
  CHECK(davit_device_describe(device, &info));
  CHECK(davit_queue_region(queue, last_long, &results[0]));
  CHECK(davit_queue_synchronize(queue));
  const double start = now_ms(), cpu = cpu_ms();
  CHECK(davit_queue_region(queue, last_long, &results[1]));
  CHECK(davit_queue_synchronize(queue));
  const double part = (cpu_ms() - cpu) / (now_ms() - start);
  finish(queue);
  assert_true(results[0] == results[1]);
  if (info.kind == DAVIT_DEVICE_NVIDIA)
    assert_true(strcmp(probe_argument, "spin") == 0 ? part > 0.5 : part < 0.5);
}

PROBE(wait_is_refused) {
  int count;
  REFUSED(davit_device_count(&count), "DAVIT_WAIT is \"maybe\", not sleep or spin");
}

/* davit's threads have the mask of the thread whose call started them; neither masks nor handlers change. */
static davit_status read_mask(void *mask) {
  return pthread_sigmask(SIG_BLOCK, NULL, mask) == 0 ? DAVIT_SUCCESS : DAVIT_INTERNAL_ERROR;
}

PROBE(signals_are_left_alone) {
  struct sigaction before[32], after;
  sigset_t blocked, seen, there;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &seen);
  for (int i = 1; i < COUNT(before); i++)
    sigaction(i, NULL, &before[i]);
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  CHECK(davit_queue_host_function(queue, read_mask, &there));
  finish(queue);
  assert_true(sigismember(&there, SIGUSR1) == 1 && sigismember(&there, SIGUSR2) == 0);
  set_up_numbers();
  sum_numbers(DAVIT_CURRENT);
  pthread_sigmask(SIG_BLOCK, NULL, &seen);
  assert_true(sigismember(&seen, SIGUSR1) == 1 && sigismember(&seen, SIGUSR2) == 0);
  for (int i = 1; i < COUNT(before); i++) {
    sigaction(i, NULL, &after);
    assert_true(before[i].sa_handler == after.sa_handler);
  }
}

PROBE(idle_threads_end) {
  enum { QUEUES = 6, IDLE_MS = 12000 };
  gate *together = meeting_new(QUEUES);
  davit_queue *queues[QUEUES];
  for (int i = 0; i < QUEUES; i++) {
    queues[i] = new_queue(DAVIT_HOST, 1);
    CHECK(davit_queue_host_function(queues[i], gate_pass, together));
  }
  for (int i = 0; i < QUEUES; i++)
    CHECK(davit_queue_synchronize(queues[i]));
  const int busy = thread_count();
  sleep_ms(IDLE_MS);
  assert_in_range(busy - thread_count(), QUEUES - 1, busy); /* one stays */
  for (int i = 0; i < QUEUES; i++)
    finish(queues[i]);
}

/* ---- how many ---- */

CASE(the_environment_limits_the_threads) {
  try_probe("number_is", "3", "OMP_NUM_THREADS=3");
  try_probe("number_is", "3", "OMP_NUM_THREADS=3,2");
  try_probe("number_is", "2", "OMP_NUM_THREADS=5 DAVIT_THREADS=2");
  try_probe("one_thread_computes", "", "OMP_NUM_THREADS=1");
  try_probe("one_thread_computes", "", "DAVIT_THREADS=1 DAVIT_BACKEND=threads");
  try_probe("number_is_refused", "0", "DAVIT_THREADS=0");
  try_probe("number_is_refused", "2x", "DAVIT_THREADS=2x");
  try_probe("number_is_refused", "1025", "DAVIT_THREADS=1025");
}

CASE(the_processors_of_the_process_limit_the_threads) {
  cpu_set_t set, first;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  const int quota = dvt_cgroup_processors("");
  CPU_ZERO(&first);
  for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&first) == 0; i++)
    if (CPU_ISSET(i, &set))
      CPU_SET(i, &first);
  char expected[16];
  snprintf(expected, sizeof expected, "%d", quota > 0 && quota < CPU_COUNT(&set) ? quota : CPU_COUNT(&set));
  try_probe("number_is", expected, "");
  assert_int_equal(sched_setaffinity(0, sizeof first, &first), 0);
  try_probe("number_is", "1", "");
  assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

/* ---- teams ---- */

typedef struct crowd {
  atomic_int inside, most;
} crowd;

static void *join_teams(void *argument) {
  crowd *c = argument;
  uint64_t random = (uint64_t)(uintptr_t)&random;
  for (int i = 0; i < 2000; i++) {
    const dvt_team team = dvt_team_begin(random_below(&random, 6) - 1), inner = dvt_team_begin(2);
    const int now = atomic_fetch_add(&c->inside, team.threads) + team.threads;
    for (int most = c->most; now > most && !atomic_compare_exchange_weak(&c->most, &most, now);)
      ;
    sched_yield();
    assert_true(team.threads >= 1 && inner.threads <= team.threads);
    dvt_team_end(&inner);
    atomic_fetch_sub(&c->inside, team.threads);
    dvt_team_end(&team);
  }
  return NULL;
}

static void *join_the_same(void *c) {
  return join_teams(*(crowd **)c);
}

CASE(all_teams_together_keep_the_limit) {
  crowd c = {0};
  crowd *same[6] = {&c, &c, &c, &c, &c, &c};
  CHECK(davit_set_threads(3));
  in_threads(COUNT(same), join_the_same, same, sizeof *same);
  CHECK(davit_set_threads(0));
  assert_int_equal(c.inside, 0);
  assert_in_range(c.most, 2, 3);
}

/* A thread of the program's own region, which others of the region may wait for, waits for no team. */
CASE(a_team_in_a_region_of_the_program_is_one_thread) {
  CHECK(davit_set_threads(2));
  const dvt_team all = dvt_team_begin(2);
  atomic_int wrong = 0;
#pragma omp parallel num_threads(3)
  if (omp_get_thread_num() > 0) {
    const dvt_team team = dvt_team_begin(2);
    wrong += team.threads != 1;
    dvt_team_end(&team);
  }
  dvt_team_end(&all);
  CHECK(davit_set_threads(0));
  assert_int_equal(wrong, 0);
}

/* ---- fills and random numbers ---- */

enum { SHARE_BYTES = 1 << 22, SHARES = 24 };

/* The number of threads that have worked since `before` was read: all have equal shares. */
static int busy_since(const thread_times *before) {
  static thread_times now;
  double longest = 0;
  int busy = 0;
  read_thread_times(&now);
  for (int i = 0; i < now.count; i++)
    longest = fmax(longest, ms_since(&now.of[i], before));
  for (int i = 0; i < now.count; i++)
    busy += ms_since(&now.of[i], before) > longest / 4;
  return busy;
}

static void fill_memory(davit_queue *queue, bool random, void *memory) {
  const int64_t n = SHARES * (int64_t)SHARE_BYTES / (int64_t)sizeof(double);
  CHECK(random ? FORM(queue, random, DAVIT_DOUBLE, n, 3, memory)
               : FORM(queue, fill, SHARES * (size_t)SHARE_BYTES, 7, memory));
  if (queue)
    CHECK(davit_queue_synchronize(queue));
}

/* As many threads as davit may use take part, in the plain forms and in queues. */
CASE(fills_and_random_numbers_take_all_threads) {
  static thread_times before;
  void *memory = kept((size_t)SHARES * SHARE_BYTES);
  for (int threads = 1; threads <= 3; threads++) {
    CHECK(davit_set_threads(threads));
    davit_queue *queue = new_queue(DAVIT_HOST, 1);
    for (int form = 0; form < 4; form++) {
      davit_queue *where = form / 2 ? queue : NULL;
      fill_memory(where, form % 2, memory); /* makes the threads */
      int busy = 0;
      /* A busy machine wakes others, too. */
      for (int attempt = 0; attempt < 5 && busy != threads; attempt++) {
        read_thread_times(&before);
        for (int i = 0; i < (form % 2 ? 1 : 10); i++) /* long enough that what other threads do is little */
          fill_memory(where, form % 2, memory);
        busy = busy_since(&before);
      }
      assert_int_equal(busy, threads);
    }
    CHECK(davit_queue_destroy(queue));
  }
  CHECK(davit_set_threads(0));
}

/* ---- threads that wait ---- */

/* A thread that waits for work sleeps, but for a moment. */
CASE(waiting_threads_sleep) {
  enum { LONG_MS = 400 };
  struct timespec begin, end;
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)LONG_MS));
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  CHECK(davit_queue_synchronize(queue));
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  const double ran_ms =
      1e3 * (double)(end.tv_sec - begin.tv_sec) + 1e-6 * (double)(end.tv_nsec - begin.tv_nsec);
  assert_true(ran_ms < LONG_MS / 4);
  CHECK(davit_queue_destroy(queue));
}

static davit_status stand_at(int device, void *g) {
  (void)device;
  return gate_pass(g);
}

/* Host functions, regions and copies are not counted among the threads that davit computes on: they meet. */
CASE(host_functions_and_regions_need_no_turn) {
  enum { BYTES = 1 << 20 };
  char *from = kept_zeros(BYTES), *to = kept_zeros(BYTES);
  davit_queue *one = new_queue(DAVIT_HOST, 1), *two = new_queue(DAVIT_HOST, 1);
  gate *meeting = meeting_new(2);
  CHECK(davit_set_threads(1));
  const dvt_team all = dvt_team_begin(1); /* the one thread there is */
  memset(from, 5, BYTES);
  CHECK(davit_queue_host_function(one, gate_pass, meeting));
  CHECK(davit_queue_region(two, stand_at, meeting));
  CHECK(davit_queue_copy(two, BYTES, from, to));
  CHECK(davit_queue_synchronize(one));
  CHECK(davit_queue_synchronize(two));
  dvt_team_end(&all);
  CHECK(davit_set_threads(0));
  assert_memory_equal(from, to, BYTES);
  DESTROY(one, two);
}

/* ---- OpenMP's settings ---- */

CASE(bound_openmp_threads_do_not_confine_davit) {
  if (processors() < 2)
    skip();
  static const char *const bindings[] = {"OMP_PROC_BIND=close", "OMP_PROC_BIND=spread",
                                         "OMP_PROC_BIND=close DAVIT_BACKEND=threads",
                                         "OMP_PROC_BIND=true OMP_PLACES=cores", "KMP_AFFINITY=compact"};
  char all[16];
  snprintf(all, sizeof all, "%d", processors());
  for (int i = 0; i < COUNT(bindings); i++)
    try_probe("threads_are_not_confined", all, bindings[i]);
}

CASE(a_thread_limit_of_one_takes_another_back_end) {
  try_probe("back_end_is", "openmp", "DAVIT_BACKEND=");
  try_probe("back_end_is", "threads", "DAVIT_BACKEND= OMP_THREAD_LIMIT=1");
  try_probe("back_end_is", "openmp", "DAVIT_BACKEND= OMP_MAX_ACTIVE_LEVELS=0");
  try_probe("back_end_is", "openmp", "DAVIT_BACKEND= OMP_THREAD_LIMIT=2");
  try_probe("back_end_is_refused", "gives no team of two threads", "DAVIT_BACKEND=openmp OMP_THREAD_LIMIT=1");
}

CASE(regions_need_a_team_of_two) {
  static const char *const back_ends[] = {"DAVIT_BACKEND=openmp", "DAVIT_BACKEND=threads"};
  char variables[80];
  try_probe("regions_are_refused", "gives no team of two threads",
            "OMP_THREAD_LIMIT=1 DAVIT_BACKEND=threads");
  for (int i = 0; i < COUNT(back_ends); i++) {
    for (int limit = 2; limit < 12; limit += 3) {
      snprintf(variables, sizeof variables, "OMP_THREAD_LIMIT=%d %s", limit, back_ends[i]);
      try_probe("regions_work", "", variables);
    }
    try_probe("threads_come_later", "-1", back_ends[i]);
    try_probe("threads_come_later", "0", back_ends[i]);
  }
}

/* Who asks for LLVM's helper threads by name has them; davit does without them. */
CASE(helper_threads_are_left_to_the_program) {
  static const char *const on[] = {"LIBOMP_USE_HIDDEN_HELPER_TASK=1", "LIBOMP_USE_HIDDEN_HELPER_TASK=true",
                                   "LIBOMP_NUM_HIDDEN_HELPER_THREADS=4"},
                           *const off[] = {"LIBOMP_USE_HIDDEN_HELPER_TASK=0",
                                           "LIBOMP_USE_HIDDEN_HELPER_TASK=FALSE",
                                           "LIBOMP_NUM_HIDDEN_HELPER_THREADS=0"};
  static const char words[] = "asks for helper threads";
  char variables[80];
  for (int i = 0; i < COUNT(on); i++) {
    snprintf(variables, sizeof variables, "DAVIT_BACKEND= %s", on[i]);
    try_probe("back_end_is", "threads", variables);
    try_probe("regions_are_refused", words, variables);
    snprintf(variables, sizeof variables, "DAVIT_BACKEND=openmp %s", on[i]);
    try_probe("back_end_is_refused", words, variables);
    snprintf(variables, sizeof variables, "DAVIT_BACKEND= %s", off[i]);
    try_probe("back_end_is", "openmp", variables);
    try_probe("regions_work", "", variables);
  }
}

CASE(regions_are_waited_for_as_asked) {
  try_probe("regions_are_waited_for", "sleep", "");
  try_probe("regions_are_waited_for", "sleep", "DAVIT_WAIT=sleep");
  try_probe("regions_are_waited_for", "spin", "DAVIT_WAIT=spin");
  try_probe("wait_is_refused", "", "DAVIT_WAIT=maybe");
}

CASE(signals_of_the_program) {
  try_probe("signals_are_left_alone", "", "");
  try_probe("signals_are_left_alone", "", "DAVIT_BACKEND=threads");
}

CASE(threads_without_work) {
  if (scaled(10) < 10)
    skip(); /* it takes its time */
  try_probe("idle_threads_end", "", "DAVIT_BACKEND=openmp");
}

CASE(openmp_threads_sleep_after_a_loop) {
  try_probe("workers_sleep", "", "KMP_BLOCKTIME=5000");
  try_probe("workers_sleep", "", "KMP_BLOCKTIME=5000 DAVIT_BACKEND=threads");
}

/* ---- stacks ---- */

/* Those with the largest frames: products, factors, scans and alignments. Sanitizers make frames larger. */
static void *call_on_little_stack(void *memory) {
  enum { SIDE = 100, LENGTH = 500 };
  double *a = memory, *b = a + SIDE * SIDE, *c = b + SIDE * SIDE, sum;
  int *pivots = (int *)(c + SIDE * SIDE);
  const int host = DAVIT_HOST;
  const davit_level3_options exact = {
      .devices = &host, .device_count = 1, .arithmetic = DAVIT_ARITHMETIC_EXACT};
  static const uint8_t symbols[LENGTH];
  davit_align_matrix m;
  davit_align_result result;
  CHECK(davit_random(DAVIT_DOUBLE, 2 * SIDE * SIDE, 1, a));
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, SIDE * SIDE, a, &sum, NULL));
  CHECK(davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, SIDE * SIDE, a, c, NULL));
  CHECK(davit_dgemm('N', 'N', SIDE, SIDE, SIDE, 1, a, SIDE, b, SIDE, 0, c, SIDE, NULL));
  CHECK(davit_dgemm('N', 'N', SIDE, SIDE, SIDE, 1, a, SIDE, b, SIDE, 0, c, SIDE, &exact));
  CHECK(davit_dgesv(SIDE, 1, a, SIDE, pivots, b, SIDE, NULL));
  CHECK(davit_align_matrix_find("blosum62", &m));
  const davit_align_scoring scoring = {
      .symbols = m.symbols, .matrix = m.scores, .gap_open = 12, .gap_extend = 1};
  CHECK(davit_align_trace(&scoring, LENGTH, symbols, LENGTH, symbols, &result, NULL, NULL));
  return NULL;
}

CASE(calls_need_little_stack) {
  const size_t bytes =
      (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ? 16 : 1) * (128 << 10);
  double *memory = kept(40000 * sizeof *memory);
  pthread_attr_t attributes;
  pthread_t thread;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, bytes), 0);
  assert_int_equal(pthread_create(&thread, &attributes, call_on_little_stack, memory), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, NULL, finalize);
}
