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
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/cgroup.h"
#include "src/base/cores.h"
#include "src/base/limit.h"
#include "src/base/team.h"

static double cpu_ms(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return 1e3 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

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

static void write_text(const char *root, const char *path, const char *text) {
  char name[512];
  snprintf(name, sizeof name, "%s%s", root, path);
  for (char *at = strchr(name + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
    *at = '\0';
    mkdir(name, 0700);
    *at = '/';
  }
  FILE *file = fopen(name, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

/* Two processors of a core count once; those of which the system says nothing each. */
CASE(cores_are_counted) {
  static const struct {
    const char *quota;
    int processors[4], cores;
  } cases[] = {{"max 100000", {0, 1, 2, 3}, 2},    {"max 100000", {0, 2, 2, 2}, 1},
               {"max 100000", {2, 3, 3, 3}, 2},    {"max 100000", {0, 1, 4, 5}, 4},
               {"150000 100000", {0, 1, 4, 5}, 2}, {"max 100000", {3, 3, 3, 3}, 1}};
  char root[] = "/tmp/davit_cores_XXXXXX", command[64];
  assert_non_null(mkdtemp(root));
  write_text(root, "/proc/self/cgroup", "0::/\n");
  for (int i = 0; i < 4; i++) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", i);
    write_text(root, path, i % 2 ? "1,3\n" : "0,2\n");
  }
  for (int i = 0; i < COUNT(cases); i++) {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    for (int k = 0; k < 4; k++)
      CPU_SET((size_t)cases[i].processors[k], &processors);
    write_text(root, "/sys/fs/cgroup/cpu.max", cases[i].quota);
    assert_int_equal(dvt_cores(root, &processors), cases[i].cores);
  }
  snprintf(command, sizeof command, "rm -r %s", root);
  assert_int_equal(system(command), 0);
}

CASE(limits_of_control_groups_are_read) {
  static const struct {
    const char *cgroup, *path[2], *text[2];
    int quota;
    size_t memory; /* 0: the machine's */
  } systems[] = {
      {"0::/\n", {"/sys/fs/cgroup/cpu.max"}, {"150000 100000\n"}, 2, 0},
      {"0::/\n", {"/sys/fs/cgroup/cpu.max"}, {"max 100000\n"}, 0, 0},
      {"0::/a/b\n",
       {"/sys/fs/cgroup/a/b/cpu.max", "/sys/fs/cgroup/a/cpu.max"},
       {"max 100000", "300000 100000"},
       3,
       0},
      {"0::/a/b\n",
       {"/sys/fs/cgroup/a/b/cpu.max", "/sys/fs/cgroup/a/cpu.max"},
       {"10000 100000", "300000 100000"},
       1,
       0},
      {"5:cpuset:/x\n4:cpu,cpuacct:/docker/0\n0::/\n",
       {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us"},
       {"400000\n", "100000\n"},
       4,
       0},
      {"4:cpu:/\n",
       {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"},
       {"-1", "100000"},
       0,
       0},
      {"0::/a/b\n",
       {"/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max"},
       {"max", "1048576"},
       0,
       1 << 20},
      {"4:memory:/docker/0\n", {"/sys/fs/cgroup/memory/memory.limit_in_bytes"}, {"2097152\n"}, 0, 2 << 20},
      {"", {NULL}, {NULL}, 0, 0},
  };
  const size_t machine = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGE_SIZE);
  for (int i = 0; i < COUNT(systems); i++) {
    char root[] = "/tmp/davit_quota_XXXXXX", command[64];
    assert_non_null(mkdtemp(root));
    write_text(root, "/proc/self/cgroup", systems[i].cgroup);
    for (int k = 0; k < 2 && systems[i].path[k]; k++)
      write_text(root, systems[i].path[k], systems[i].text[k]);
    assert_int_equal(dvt_cgroup_processors(root), systems[i].quota);
    assert_int_equal(dvt_memory_limit(root), systems[i].memory ? systems[i].memory : machine);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
  }
}

CASE(what_memory_is_left_is_read) {
  static const struct {
    const char *limit, *used;
    size_t available;
  } systems[] = {{"max", "1000000", 5 << 20}, {"3145728", "1048576", 2 << 20}, {"3145728", "3145729", 1}};
  for (int i = 0; i < COUNT(systems); i++) {
    char root[] = "/tmp/davit_quota_XXXXXX", command[64];
    assert_non_null(mkdtemp(root));
    assert_int_equal(dvt_memory_available(root), 0); /* unknown */
    write_text(root, "/proc/self/cgroup", "0::/a\n");
    write_text(root, "/proc/meminfo",
               "MemTotal:       8192 kB\nMemFree:        1024 kB\nMemAvailable:   5120 kB\n");
    write_text(root, "/sys/fs/cgroup/a/memory.max", systems[i].limit);
    write_text(root, "/sys/fs/cgroup/a/memory.current", systems[i].used);
    assert_int_equal(dvt_memory_available(root), systems[i].available);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
  }
  assert_in_range(dvt_memory_available(""), 1, dvt_memory_limit(""));
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

/* Nanoseconds that thread `id` of this process has run; 0 if there is none. */
static int64_t cpu_time(long id) {
  const clockid_t clock =
      (clockid_t)(~(unsigned)id << 3 | 6); /* that of a thread, as pthread_getcpuclockid() has it */
  struct timespec time;
  return clock_gettime(clock, &time) == 0 ? (int64_t)time.tv_sec * 1000000000 + time.tv_nsec : 0;
}

/* The threads that have worked since `before` was taken, by their CPU time: all have equal shares. */
typedef struct times {
  long id[MAX_THREADS * 4];
  int64_t ns[MAX_THREADS * 4];
  int count;
} times;

static times all_times(void) {
  times t = {.count = 0};
  DIR *tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (const struct dirent *entry; (entry = readdir(tasks)) && t.count < COUNT(t.id);)
    if (*entry->d_name != '.') {
      t.id[t.count] = atol(entry->d_name);
      t.ns[t.count] = cpu_time(t.id[t.count]);
      t.count++;
    }
  closedir(tasks);
  return t;
}

static int busy_since(const times *before) {
  const times now = all_times();
  int64_t ns[COUNT(now.id)], longest = 0;
  int busy = 0;
  for (int i = 0; i < now.count; i++) {
    ns[i] = now.ns[i];
    for (int j = 0; j < before->count; j++)
      ns[i] -= before->id[j] == now.id[i] ? before->ns[j] : 0;
    longest = ns[i] > longest ? ns[i] : longest;
  }
  for (int i = 0; i < now.count; i++)
    busy += ns[i] > longest / 4;
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
        const times before = all_times();
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

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, NULL, finalize);
}
