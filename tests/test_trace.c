/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of queues (docs/trace.md). */
#include "tests/events.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 4096 };
#define CLOCK_ERROR_US 200.0

static char folder[] = "/tmp/davit-trace-XXXXXX";

static const char *path_of(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static const char *file(void) {
  return path_of("trace.json");
}

static trace stop_and_read(void) {
  CHECK(davit_trace_stop());
  return read_trace(file());
}

/* ---- what is in a trace ---- */

static davit_status empty_region(int device, void *unused) {
  (void)unused;
#pragma omp target device(device)
  {
  }
  return DAVIT_SUCCESS;
}

static davit_status empty_nowait_region(const davit_region_site *site, void *unused) {
  (void)unused;
#pragma omp target nowait depend(inout : *site->order) device(site -> device)
  {
  }
  return DAVIT_SUCCESS;
}

static void enqueue_some_of_each(davit_queue *queue, double *x, double *y) {
  CHECK(davit_queue_set_subqueue(queue, 1));
  CHECK(davit_queue_copy(queue, N * sizeof *x, x, y));
  CHECK(davit_queue_fill(queue, 100, 0, y));
  CHECK(davit_queue_random(queue, DAVIT_DOUBLE, N, 1, x));
  CHECK(davit_queue_daxpy(queue, N, 2, x, 1, y, 1, NULL));
  CHECK(davit_queue_label(queue, "my function"));
  CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)2));
  CHECK(davit_queue_label(queue, "my region"));
  CHECK(davit_queue_region(queue, empty_region, NULL));
  CHECK(davit_queue_label(queue, NULL));
  CHECK(davit_queue_region_nowait(queue, empty_nowait_region, NULL));
}

static void check_event(const trace *t, const char *name, const char *operation, int device,
                        long long bytes) {
  const traced *e = the_event(t, 'X', name);
  assert_string_equal(e->operation, operation);
  assert_int_equal(e->device, device);
  assert_int_equal(e->bytes, bytes);
  assert_int_equal(e->subqueue, 1);
  assert_true(e->queue > 0);
}

CASE(commands_have_their_names_times_and_bytes) {
  EACH_DEVICE(device) {
    SCOPE;
    double *x = kept_at(N * sizeof *x, place_for(device)), *y = kept_at(N * sizeof *y, place_for(device));
    davit_queue *queue = new_queue(device, 2);
    CHECK(davit_trace_start(file()));
    const double begin = 1e3 * now_ms();
    enqueue_some_of_each(queue, x, y);
    CHECK(davit_queue_synchronize(queue));
    const double end = 1e3 * now_ms();
    const trace t = stop_and_read();
    check_trace(&t, CLOCK_ERROR_US);
    check_event(&t, "copy", "copy", device, N * sizeof *x);
    check_event(&t, "fill", "fill", device, 100);
    check_event(&t, "random", "random", device, N * sizeof *x);
    check_event(&t, "axpy", "axpy", device, 0);
    check_event(&t, "my function", "host function", device, 0);
    check_event(&t, "my region", "region", device, 0);
    check_event(&t, "nowait region", "nowait region", device, 0);
    assert_true(the_event(&t, 'X', "my function")->end - the_event(&t, 'X', "my function")->ts >= 2000);
    const char *const order[] = {"copy",        "fill",      "random",       "axpy",
                                 "my function", "my region", "nowait region"};
    double last = begin - CLOCK_ERROR_US;
    for (int i = 0; i < COUNT(order); i++) {
      assert_true(the_event(&t, 'X', order[i])->ts >= last);
      last = the_event(&t, 'X', order[i])->end - 0.0015;
    }
    assert_true(last <= end + CLOCK_ERROR_US);
    CHECK(davit_queue_destroy(queue));
  }
}

/* Arrows lead from records to waits of all devices, and host threads that wait have rows of their own. */
CASE(waits_have_arrows) {
  int devices[MAX_PLACES], count = all_devices(devices);
  davit_event *event = new_event();
  davit_queue *queue[MAX_PLACES];
  for (int i = 0; i < count; i++)
    queue[i] = new_queue(devices[i], 1);
  CHECK(davit_trace_start(file()));
  gate *g = gate_at_head(queue[0]);
  for (int i = 0; i < 3 * count; i++) {
    CHECK(davit_queue_wait(queue[i % count], event)); /* the first does nothing */
    CHECK(davit_queue_host_function(queue[i % count], take_a_nap, NULL));
    CHECK(davit_event_soft_reset(event));
    CHECK(davit_event_record(event, queue[i % count]));
  }
  gate_open(g);
  CHECK(davit_event_synchronize(event));
  const trace t = stop_and_read();
  int waits = 0;
  for (int i = 0; i < t.count; i++)
    waits += t.event[i].kind == 'X' && strcmp(t.event[i].name, "wait") == 0;
  assert_int_equal(waits, 3 * count - 1);
  check_trace(&t, CLOCK_ERROR_US);
  const traced *host = the_event(&t, 'X', "davit_event_synchronize");
  assert_true(host->end > host->ts && host->command == 0);
  for (int i = 0; i < count; i++)
    CHECK(davit_queue_destroy(queue[i]));
}

/* The lanes of plain forms are in it, too. */
CASE(plain_forms_are_traced) {
  int devices[MAX_PLACES], count = plain_devices(devices);
  double *x = kept_zeros(100000 * sizeof *x), *y = kept_zeros(100000 * sizeof *y);
  CHECK(davit_trace_start(file()));
  CHECK(davit_daxpy(100000, 1, x, 1, y, 1, ON(davit_axpy_options, devices, count)));
  const trace t = stop_and_read();
  check_trace(&t, CLOCK_ERROR_US);
  for (int i = 0; i < count; i++) {
    int parts = 0;
    for (int j = 0; j < t.count; j++)
      parts += strcmp(t.event[j].operation, "axpy") == 0 && t.event[j].device == devices[i];
    assert_true(parts > 0);
  }
}

/* Products in tiles, whose copies and products are the steps of a plan; a small one is done by its caller. */
CASE(products_are_traced) {
  enum { M = 96 };
  int devices[2];
  double *a = kept_zeros(M * M * sizeof *a), *b = kept_zeros(M * M * sizeof *b),
         *c = kept_zeros(M * M * sizeof *c);
  if (!two_devices(devices))
    skip();
  davit_level3_options options = {.devices = devices, .device_count = 2, .tile = 32, .separate_memory = true};
  CHECK(davit_trace_start(file()));
  CHECK(davit_dgemm('N', 'N', M, M, M, 1, a, M, b, M, 0, c, M, &options));
  trace t = stop_and_read();
  check_trace(&t, CLOCK_ERROR_US);
  int products = 0, waits = 0;
  long long loaded = 0;
  for (int i = 0; i < t.count; i++) {
    products += strcmp(t.event[i].operation, "gemm") == 0;
    waits += strcmp(t.event[i].operation, "wait") == 0;
    loaded += t.event[i].bytes;
  }
  assert_true(products >= 27 && waits > 0);
  assert_true(loaded >= 3 * M * M * (long long)sizeof *a);
  CHECK(davit_trace_start(file()));
  CHECK(davit_dgemm('N', 'N', 8, 8, 8, 1, a, M, b, M, 0, c, M,
                    ON(davit_level3_options, (int[]){DAVIT_HOST}, 1)));
  t = stop_and_read();
  assert_string_equal(the_event(&t, 'X', "gemm")->category, "compute");
}

/* Without a vendor's BLAS the steps of a real product are regions in the graph; those of a complex one are waited
 * for. */
CASE(products_are_tasks) {
  enum { M = 96 };
  int devices[2];
  davit_device_info info;
  if (!two_devices(devices))
    skip();
  CHECK(davit_device_describe(devices[0], &info));
  if (info.kind != DAVIT_DEVICE_HOST_OFFLOAD) /* elsewhere long ones are */
    skip();
  davit_complex_double *a = kept_zeros(M * M * sizeof *a), *c = kept_zeros(M * M * sizeof *c);
  double *x = kept_zeros(M * M * sizeof *x), *z = kept_zeros(M * M * sizeof *z);
  davit_level3_options options = {.devices = devices, .device_count = 2, .tile = 32, .separate_memory = true};
  assert_int_equal(setenv("DAVIT_BLAS", "target", 1), 0);
  for (int complex = 0; complex < 2; complex++) {
    int products = 0, tasks = 0;
    CHECK(davit_trace_start(file()));
    CHECK(complex ? davit_zgemm('N', 'N', M, M, M, 1, a, M, a, M, 0, c, M, &options)
                  : davit_dgemm('N', 'N', M, M, M, 1, x, M, x, M, 0, z, M, &options));
    const trace t = stop_and_read();
    for (int i = 0; i < t.count; i++) {
      products += strcmp(t.event[i].operation, "gemm") == 0;
      tasks += strcmp(t.event[i].operation, "gemm") == 0 && strcmp(t.event[i].category, "region") == 0;
    }
    assert_true(products >= 27);
    assert_int_equal(tasks, complex || strcmp(davit_backend_string(), "openmp") ? 0 : products);
  }
  unsetenv("DAVIT_BLAS");
}

CASE(a_stopped_lane_skips_its_commands_in_the_trace) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  CHECK(davit_trace_start(file()));
  gate *g = gate_at_head(queue);
  CHECK(davit_queue_host_function(queue, always_fail, NULL));
  CHECK(davit_queue_label(queue, "skipped"));
  CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)1));
  gate_open(g);
  CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_WORK_FAILED, FAILURE_WORDS);
  const trace t = stop_and_read();
  assert_true(the_event(&t, 'X', "skipped")->skipped);
  assert_false(find_event(&t, 'X', "host function", 1)->skipped);
  CHECK(davit_queue_destroy(queue));
}

CASE(waits_for_unrecorded_events_warn) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  davit_event *event = new_event();
  CHECK(davit_trace_start(file()));
  CHECK(davit_queue_wait(queue, event));
  CHECK(davit_event_synchronize(event));
  CHECK(davit_event_record(event, NULL));
  CHECK(davit_queue_wait(queue, event)); /* checked: no warning */
  const trace t = stop_and_read();
  const char *const words = "wait for an unrecorded event";
  assert_true(find_event(&t, 'i', words, 0) && find_event(&t, 'i', words, 1));
  assert_null(find_event(&t, 'i', words, 2));
  assert_true(find_event(&t, 'i', words, 0)->process != find_event(&t, 'i', words, 1)->process);
  assert_null(find_event(&t, 'X', "wait", 0));
  CHECK(davit_queue_destroy(queue));
}

/* ---- copies and computing overlap ---- */

/* Runs until *stop, or about PATIENCE_S: a GPU reads pinned memory in a microsecond, the
 * host in a nanosecond. */
typedef struct spin {
  volatile int *stop;
  int64_t limit;
} spin;

static davit_status spin_region(int device, void *argument) {
  volatile int *stop = ((spin *)argument)->stop;
  int64_t limit = ((spin *)argument)->limit;
#pragma omp target device(device) is_device_ptr(stop) firstprivate(limit)
  for (int64_t i = 0; i < limit && *stop == 0; i++) {
  }
  return DAVIT_SUCCESS;
}

static davit_status spin_function(void *argument) {
  const double end = patience_ends_ms();
  while (*((spin *)argument)->stop == 0 && now_ms() < end)
    sleep_ms(1);
  return DAVIT_SUCCESS;
}

/* While one sub-queue computes, and cannot end before, a copy of the other begins and ends. */
static void overlap(int device, bool region) {
  SCOPE;
  spin s = {.stop = kept_at(sizeof(int), DAVIT_PINNED)};
  void *from = kept_at(1 << 20, DAVIT_PINNED), *to = kept_at(1 << 20, place_for(device));
  davit_device_info info;
  CHECK(davit_device_describe(device, &info));
  s.limit = info.kind == DAVIT_DEVICE_NVIDIA ? 30000000 : 30000000000;
  *s.stop = 0;
  davit_queue *queue = new_queue(device, 2);
  davit_event *copied = new_event();
  CHECK(davit_trace_start(file()));
  CHECK(davit_queue_label(queue, "compute"));
  CHECK(region ? davit_queue_region(queue, spin_region, &s)
               : davit_queue_host_function(queue, spin_function, &s));
  CHECK(davit_queue_set_subqueue(queue, 1));
  CHECK(
      davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)20)); /* the region has begun by then */
  CHECK(davit_queue_copy(queue, 1 << 20, from, to));
  CHECK(davit_event_record(copied, queue));
  const bool done = becomes(copied, DAVIT_EVENT_COMPLETE);
  *s.stop = 1;
  CHECK(davit_queue_synchronize(queue));
  assert_true(done);
  const trace t = stop_and_read();
  const traced *compute = the_event(&t, 'X', "compute"), *copy = the_event(&t, 'X', "copy");
  assert_true(compute->row != copy->row);
  assert_true(compute->ts < copy->end && copy->ts < compute->end);
  assert_true(copy->end <= compute->end + CLOCK_ERROR_US);
  CHECK(davit_queue_destroy(queue));
}

CASE(copies_and_computing_overlap) {
  EACH_DEVICE(device) {
    overlap(device, false);
    overlap(device, true);
  }
}

/* ---- the calls ---- */

CASE(traces_begin_and_end_once) {
  REFUSED(davit_trace_start(NULL), "path is NULL");
  REFUSED(davit_trace_start(""), "path is \"\"");
  REFUSED(davit_trace_start(path_of("no/such/folder")), "No such file");
  REFUSED(davit_trace_start("/dev/full"), "not a regular file");
  REFUSED(davit_trace_start(folder), "Is a directory");
  CHECK_FAILS(davit_trace_stop(), DAVIT_INVALID_STATE, "no trace");
  CHECK(davit_trace_start(file()));
  CHECK_FAILS(davit_trace_start(path_of("other.json")), DAVIT_INVALID_STATE, "already");
  assert_int_equal(access(path_of("other.json"), F_OK), -1);
  CHECK(davit_trace_stop());
  CHECK_FAILS(davit_trace_stop(), DAVIT_INVALID_STATE, "no trace");
}

/* What was enqueued before, or has not ended, is not in the trace, nor in the next one. */
CASE(a_trace_has_what_was_enqueued_and_has_ended) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  gate *g = gate_at_head(queue);
  CHECK(davit_queue_label(queue, "kept for later traces"));
  CHECK(davit_queue_host_function(queue, take_a_nap, NULL));
  CHECK(davit_trace_start(file()));
  CHECK(davit_queue_label(queue, "not ended"));
  CHECK(davit_queue_host_function(queue, take_a_nap, NULL));
  trace t = stop_and_read();
  assert_null(find_event(&t, 'X', "not ended", 0));
  CHECK(davit_trace_start(file()));
  CHECK(davit_queue_label(queue, "second"));
  CHECK(davit_queue_host_function(queue, take_a_nap, NULL));
  gate_open(g);
  CHECK(davit_queue_synchronize(queue));
  t = stop_and_read();
  assert_null(find_event(&t, 'X', "not ended", 0));
  assert_null(find_event(&t, 'X', "kept for later traces", 0));
  assert_non_null(the_event(&t, 'X', "second"));
  CHECK(davit_queue_destroy(queue));
}

/* Texts of the user's cannot break the file. */
CASE(labels_are_quoted) {
  static const char *const labels[][2] = {{"a \"b\" \\c", "a \\"},
                                          {"line\nline\t\x7f", "line?line??"},
                                          {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
                                          {"\xc2\x9b"
                                           "31m\x9bx",
                                           "\?\?31m\?x"},
                                          {"\xff\xc3(\xed\xa0\x80", "\?\?(\?\?\?"}};
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  for (int i = 0; i < COUNT(labels); i++) {
    CHECK(davit_trace_start(file()));
    CHECK(davit_queue_label(queue, labels[i][0]));
    CHECK(davit_queue_host_function(queue, take_a_nap, NULL));
    CHECK(davit_queue_synchronize(queue));
    const trace t = stop_and_read();
    assert_non_null(the_event(&t, 'X', labels[i][1]));
  }
  char longest[100];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  CHECK(davit_trace_start(file()));
  CHECK(davit_queue_label(queue, longest));
  CHECK(davit_queue_host_function(queue, take_a_nap, NULL));
  CHECK(davit_queue_synchronize(queue));
  const trace t = stop_and_read();
  longest[47] = 0;
  assert_non_null(the_event(&t, 'X', longest));
  CHECK(davit_queue_destroy(queue));
}

/* ---- limits ---- */

static void limit_files(rlim_t bytes) {
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, RLIM_INFINITY}), 0);
}

/* A full disk, as a limit of the process: the work goes on, the file ends in time, the end of the trace says
 * so. */
CASE(a_full_disk_ends_the_file_early) {
  enum { ROOM = 100000 };
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  atomic_int ran = 0;
  CHECK(davit_trace_start(file()));
  limit_files(ROOM);
  for (int i = 0; i < 2000; i++)
    CHECK(davit_queue_host_function(queue, add_one, &ran));
  CHECK(davit_queue_synchronize(queue));
  CHECK_FAILS(davit_trace_stop(), DAVIT_INTERNAL_ERROR, "is not complete: File too large");
  limit_files(0);
  CHECK_FAILS(davit_trace_start(path_of("none.json")), DAVIT_INTERNAL_ERROR, "File too large");
  limit_files(RLIM_INFINITY);
  assert_int_equal(ran, 2000);
  const trace t = read_trace(file());
  assert_in_range(t.count, 100, 1999);
  struct stat found;
  assert_int_equal(stat(file(), &found), 0);
  assert_true(found.st_size <= ROOM);
  CHECK(davit_trace_start(file()));
  CHECK(davit_trace_stop());
  CHECK(davit_queue_destroy(queue));
}

/* The number of a descriptor that leads to the file. */
static int descriptor_of(const char *name) {
  struct stat wanted, found;
  assert_int_equal(stat(name, &wanted), 0);
  for (int i = 3; i < 1000; i++)
    if (fstat(i, &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino)
      return i;
  return -1;
}

/* A program may close descriptors that it does not know, and get their numbers for files of its own: these are neither
 * written nor closed. */
CASE(a_descriptor_of_the_program_is_left_alone) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  char text[8] = "";
  CHECK(davit_trace_start(file()));
  const int number = descriptor_of(file()), own = open(path_of("own.txt"), O_RDWR | O_CREAT | O_TRUNC, 0600);
  assert_true(number >= 0 && own >= 0);
  assert_int_equal(write(own, "mine", 4), 4);
  assert_int_equal(dup2(own, number), number);
  CHECK(davit_queue_host_function(queue, take_a_nap, NULL));
  CHECK(davit_queue_synchronize(queue));
  CHECK_FAILS(davit_trace_stop(), DAVIT_INTERNAL_ERROR, "is not complete: Bad file descriptor");
  assert_int_equal(pread(number, text, sizeof text, 0), 4);
  assert_string_equal(text, "mine");
  close(number);
  close(own);
  CHECK(davit_queue_destroy(queue));
}

/* The host functions in the file; and how many commands are not. */
static int count_events(long long *left_out) {
  char line[2048];
  int count = 0;
  FILE *events = fopen(file(), "r");
  *left_out = 0;
  while (fgets(line, sizeof line, events)) {
    count += strstr(line, "\"operation\":\"host function\"") != NULL;
    if (value_of(line, "left_out"))
      *left_out += (long long)number_of(line, "left_out");
  }
  fclose(events);
  return count;
}

/* The memory of a trace is bounded: what is enqueued beyond is left out, counted, and runs. */
CASE(commands_beyond_the_limit_are_left_out) {
  enum { LIMIT = 1 << 18, MORE = 1000 };
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  atomic_int ran = 0;
  long long left_out;
  gate *g = gate_at_head(queue);
  CHECK(davit_trace_start(file()));
  for (int i = 0; i < LIMIT + MORE; i++)
    CHECK(davit_queue_host_function(queue, add_one, &ran));
  gate_open(g);
  CHECK(davit_queue_synchronize(queue));
  assert_int_equal(ran, LIMIT + MORE);
  CHECK(davit_queue_host_function(queue, add_one, &ran));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_trace_stop());
  assert_in_range(count_events(&left_out), LIMIT + 1, LIMIT + 1);
  assert_in_range(left_out, MORE, MORE + 1); /* and the record of the synchronisation, maybe */
  CHECK(davit_queue_destroy(queue));
}

/* ---- the environment, and the life of a process ---- */

static void work_a_little(const char *label) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  CHECK(davit_queue_label(queue, label));
  CHECK(davit_queue_host_function(queue, take_a_nap, NULL));
  CHECK(davit_queue_destroy(queue));
}

PROBE(finalises_twice) {
  work_a_little("first life");
  CHECK(davit_finalize());
  const trace t = read_trace(probe_argument);
  the_event(&t, 'X', "first life");
  work_a_little("second life");
  CHECK(davit_finalize());
}

PROBE(just_ends) {
  work_a_little("before");
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  gate_at_head(queue);
  exit(0);
}

PROBE(is_killed) {
  work_a_little("before");
  sleep_ms(300);
  work_a_little("after");
  pid_t child = fork();
  if (child == 0) {
    sleep_ms(1);
    kill(getppid(), SIGKILL);
    _exit(0);
  }
  for (;;)
    pause();
}

PROBE(has_a_child) {
  work_a_little("before");
  const pid_t child = fork();
  if (child == 0) {
    work_a_little("child");
    exit(davit_finalize() == DAVIT_SUCCESS ? 0 : 1);
  }
  int result = -1;
  waitpid(child, &result, 0);
  assert_int_equal(result, 0);
  work_a_little("after");
}

PROBE(cannot_begin) {
  davit_queue *queue = NULL;
  REFUSED(davit_queue_create(DAVIT_HOST, &queue, NULL),
          "DAVIT_TRACE is \"/no/such/folder/t.json\": No such file");
  assert_null(queue);
}

PROBE(cannot_end) {
  limit_files(20000);
  for (int i = 0; i < 200; i++)
    work_a_little("again");
  CHECK_FAILS(davit_finalize(), DAVIT_INTERNAL_ERROR, "is not complete: File too large");
  CHECK(davit_finalize());
  limit_files(RLIM_INFINITY); /* counters of lines are written at the end */
}

/* Processes that end with work in flight, and children of fork(), abandon what they have. */
#define ABANDONS "ASAN_OPTIONS=detect_leaks=0 DAVIT_TRACE="

static trace trace_of_probe(const char *probe) {
  char variable[200];
  snprintf(variable, sizeof variable, ABANDONS "%s", file());
  try_probe(probe, file(), variable);
  return read_trace(file());
}

CASE(the_environment_starts_a_trace) {
  trace t = trace_of_probe("finalises_twice");
  the_event(&t, 'X', "first life");
  the_event(&t, 'X', "second life");
  t = trace_of_probe("just_ends");
  the_event(&t, 'X', "before");
  try_probe("cannot_begin", "", "DAVIT_TRACE=/no/such/folder/t.json");
  t = trace_of_probe("cannot_end");
  assert_in_range(t.count, 20, 400);
}

/* A process that is killed leaves a complete file of what came long enough before. */
CASE(a_killed_process_leaves_its_trace) {
  char command[400];
  char program[200] = "";
  assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
  snprintf(command, sizeof command, "DAVIT_TRACE=%s %s is_killed '' >/dev/null 2>&1", file(), program);
  assert_true(system(command) != 0);
  const trace t = read_trace(file());
  the_event(&t, 'X', "before");
}

/* A child after fork() leaves the parent's file alone, and has one of its own if the name says so. */
CASE(children_do_not_write_to_the_parents_trace) {
  trace t = trace_of_probe("has_a_child");
  the_event(&t, 'X', "before");
  the_event(&t, 'X', "after");
  assert_null(find_event(&t, 'X', "child", 0));
  char variable[200], command[300];
  snprintf(variable, sizeof variable, ABANDONS "%s", path_of("process-%p.json"));
  try_probe("has_a_child", "", variable);
  snprintf(
      command, sizeof command,
      "cd %s && test $(ls process-*.json | wc -l) = 2 && test $(grep -l child process-*.json | wc -l) = 1",
      folder);
  assert_int_equal(system(command), 0);
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  char command[160];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  return finalize(state) == 0 && system(command) == 0 ? 0 : -1;
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, make_folder, remove_folder);
}
