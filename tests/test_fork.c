/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that fork (docs/threads.md): a child works on the CPU, refuses what is the parent's with a
 * sentence, and ends at once; the parent goes on. Whatever hangs in a child is ended by an alarm. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/support.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/fork.h"

enum { N = 100000, ALARM_S = 20 };
static double numbers[N];

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < N; i++)
    numbers[i] = i % 8;
  return 0;
}

/* ---- what a child does; it returns the line of the check that failed, or 0 ---- */

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "in a child: %s: \"%s\"\n", #condition, davit_last_error());                           \
      return __LINE__ % 255 + 1;                                                                             \
    }                                                                                                        \
  } while (0)
#define EXPECT_REFUSED(call, words)                                                                          \
  EXPECT((call) == DAVIT_INVALID_ARGUMENT && strstr(davit_last_error(), words " was made before fork()"))

static int nothing(void) {
  return 0;
}

static int compute(void) {
  double sum = 0, a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {0}, *memory;
  EXPECT(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, N, numbers, &sum, NULL) == DAVIT_SUCCESS);
  EXPECT(sum == 3.5 * (double)N);
  EXPECT(davit_dgemm('N', 'N', 2, 2, 2, 1, a, 2, b, 2, 0, c, 2, NULL) == DAVIT_SUCCESS);
  EXPECT(memcmp(a, c, sizeof a) == 0);
  EXPECT(davit_malloc(N * sizeof *memory, DAVIT_PINNED, (void **)&memory) == DAVIT_SUCCESS);
  EXPECT(davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, N, numbers, memory, NULL) ==
         DAVIT_SUCCESS);
  EXPECT(memory[N - 1] == 3.5 * (double)N);
  EXPECT(davit_free(memory) == DAVIT_SUCCESS);
  const uint8_t symbols[8] = {0, 1, 2, 3, 0, 1, 2, 3};
  static const int8_t match[16] = {1, -1, -1, -1, -1, 1, -1, -1, -1, -1, 1, -1, -1, -1, -1, 1};
  const davit_align_scoring scoring = {.symbols = 4, .matrix = match, .gap_open = 2, .gap_extend = 1};
  davit_align_result result;
  EXPECT(davit_align_trace(&scoring, 8, symbols, 8, symbols, &result, NULL, NULL) == DAVIT_SUCCESS);
  EXPECT(result.score == 8);
  float samples[4096] = {0}, features[16 * DAVIT_FEATURES_WIDTH];
  EXPECT(davit_features(COUNT(samples), samples, features, NULL) == DAVIT_SUCCESS);
  return 0;
}

/* A child of a process that has used davit. */
static int work_on_the_host(void) {
  int count = -1, current;
  atomic_int done = 0;
  davit_queue *queue;
  davit_event *event;
  EXPECT(davit_device_count(&count) == DAVIT_SUCCESS && count == 0);
  EXPECT(davit_device_current(&current) == DAVIT_SUCCESS && current == DAVIT_HOST);
  EXPECT(davit_device_select(0) != DAVIT_SUCCESS && strstr(davit_last_error(), "device 0"));
  EXPECT(davit_queue_create(DAVIT_HOST, &queue, NULL) == DAVIT_SUCCESS);
  EXPECT(strcmp(davit_backend_string(), "threads") == 0);
  EXPECT(davit_event_create(&event) == DAVIT_SUCCESS);
  EXPECT(davit_queue_host_function(queue, add_one, &done) == DAVIT_SUCCESS);
  EXPECT(davit_event_record(event, queue) == DAVIT_SUCCESS);
  EXPECT(davit_event_synchronize(event) == DAVIT_SUCCESS && done == 1);
  EXPECT(davit_device_synchronize(DAVIT_HOST) == DAVIT_SUCCESS);
  EXPECT(davit_queue_destroy(queue) == DAVIT_SUCCESS && davit_event_destroy(event) == DAVIT_SUCCESS);
  const int failed = compute();
  EXPECT(failed == 0);
  EXPECT(davit_finalize() == DAVIT_SUCCESS);
  return compute(); /* the library starts again */
}

/* ---- forking ---- */

/* The child runs `body` and ends by exit(), which takes its time only if something is waited for. */
static void fork_and(int (*body)(void)) {
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(ALARM_S);
    exit(body());
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status))
    fail_msg("the child was ended by signal %d%s", WTERMSIG(status),
             WTERMSIG(status) == SIGALRM ? ": it hung" : "");
  assert_int_equal(WEXITSTATUS(status), 0);
}

static int work_and_fork(void) {
  const int failed = work_on_the_host();
  EXPECT(failed == 0);
  const pid_t child = fork();
  if (child == 0)
    exit(work_on_the_host());
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* What a child has registered and written is not lost when it ends. */
static FILE *notes;

static void write_end(void) {
  fputs("end", notes);
}

static int write_notes(void) {
  fputs("begin, ", notes);
  EXPECT(atexit(write_end) == 0);
  return work_on_the_host();
}

static void fork_and_read_notes(void) {
  char text[32] = "";
  notes = tmpfile();
  assert_non_null(notes);
  fork_and(write_notes);
  rewind(notes);
  assert_non_null(fgets(text, sizeof text, notes));
  assert_string_equal(text, "begin, end");
  fclose(notes);
}

/* Queues are open, and one of them waits for ever, when the child ends. */
static int leave_work_in_flight(void) {
  davit_queue *own;
  EXPECT(davit_queue_create(DAVIT_HOST, &own, NULL) == DAVIT_SUCCESS);
  gate_at_head(own);
  return 0;
}

/* Programs that are started otherwise than by fork(). */
static void start_programs(void) {
  char text[8] = "";
  char *const arguments[] = {"true", NULL};
  pid_t child;
  int status = -1;
  assert_int_equal(system("exit 3"), 3 << 8);
  FILE *pipe = popen("echo word", "r");
  assert_true(pipe && fgets(text, sizeof text, pipe) && pclose(pipe) == 0);
  assert_string_equal(text, "word\n");
  assert_int_equal(posix_spawnp(&child, "true", NULL, NULL, arguments, environ), 0);
  assert_true(waitpid(child, &status, 0) == child && status == 0);
}

/* All that a parent may do with its children, and that it goes on itself. */
static void fork_and_go_on(void) {
  start_programs();
  fork_and_read_notes();
  fork_and(nothing);
  fork_and(work_on_the_host);
  fork_and(leave_work_in_flight);
  fork_and(work_and_fork);
  assert_int_equal(compute(), 0);
}

/* ---- cases; the first comes before the library has started ---- */

CASE(a_process_that_has_not_used_davit) {
  int count;
  fork_and(compute);
  assert_int_equal(dvt_process(), 0);
  CHECK(davit_device_count(&count));
}

CASE(after_work) {
  assert_int_equal(compute(), 0);
  if (device_count() > 0)
    CHECK(davit_device_select(0));
  fork_and_go_on();
}

CASE(with_work_in_flight) {
  const int devices[] = {DAVIT_HOST, device_count() > 0 ? 0 : DAVIT_HOST};
  davit_queue *queues[COUNT(devices)];
  gate *gates[COUNT(devices)];
  for (int i = 0; i < COUNT(devices); i++) {
    queues[i] = new_queue(devices[i], 2);
    gates[i] = gate_at_head(queues[i]);
  }
  fork_and_go_on();
  for (int i = 0; i < COUNT(devices); i++) {
    gate_open(gates[i]);
    finish(queues[i]);
  }
}

CASE(after_finalize) {
  CHECK(davit_finalize());
  fork_and_go_on();
}

static davit_queue *queue;
static davit_event *event;
static davit_timer *timer;
static davit_align_database *database;
static davit_detector *detector;
static void *memory[2];

static int use_the_parents_objects(void) {
  int number, scores[1];
  double elapsed;
  davit_event_state state;
  davit_event *own;
  davit_detect_hit hit;
  static const int8_t match[1] = {1};
  const davit_align_scoring scoring = {.symbols = 1, .matrix = match, .gap_open = 2, .gap_extend = 1};
  const uint8_t query[4] = {0};
  const float frames[4 * DAVIT_FEATURES_WIDTH] = {1};
  EXPECT_REFUSED(davit_queue_host_function(queue, add_one, &number), "queue");
  EXPECT_REFUSED(davit_queue_synchronize(queue), "queue");
  EXPECT_REFUSED(davit_queue_request_subqueue(queue, &number), "queue");
  EXPECT_REFUSED(davit_queue_set_subqueue(queue, 0), "queue");
  EXPECT_REFUSED(davit_queue_fill(queue, 8, 0, numbers), "queue");
  EXPECT_REFUSED(davit_event_query(event, &state), "event");
  EXPECT_REFUSED(davit_event_synchronize(event), "event");
  EXPECT_REFUSED(davit_event_reset(event), "event");
  EXPECT_REFUSED(davit_timer_elapsed(timer, &elapsed), "timer");
  EXPECT_REFUSED(davit_align_scores(database, &scoring, 4, query, scores), "database");
  EXPECT_REFUSED(davit_detect(detector, 4, frames, &hit), "detector");
  EXPECT(davit_event_create(&own) == DAVIT_SUCCESS);
  EXPECT_REFUSED(davit_event_record(own, queue), "queue");
  EXPECT(davit_device_synchronize(DAVIT_HOST) == DAVIT_SUCCESS);
  EXPECT(davit_event_destroy(own) == DAVIT_SUCCESS && davit_event_destroy(event) == DAVIT_SUCCESS);
  EXPECT(davit_timer_destroy(timer) == DAVIT_SUCCESS);
  EXPECT(davit_align_database_destroy(database) == DAVIT_SUCCESS);
  EXPECT(davit_detector_destroy(detector) == DAVIT_SUCCESS);
  EXPECT(davit_queue_destroy(queue) == DAVIT_SUCCESS);
  EXPECT(*(int *)memory[0] == 7);
  for (int i = 0; i < COUNT(memory); i++)
    EXPECT(davit_free(memory[i]) == DAVIT_SUCCESS);
  return work_on_the_host();
}

CASE(objects_of_the_parent_are_refused) {
  const uint8_t symbols[3] = {0};
  const int64_t offsets[2] = {0, 3};
  const davit_align_sequences targets = {.count = 1, .offsets = offsets, .symbols = symbols};
  const float sound[4 * DAVIT_FEATURES_WIDTH] = {1};
  const davit_detect_effect effect = {.frames = 4, .features = sound};
  queue = new_queue(DAVIT_CURRENT, 2);
  gate *closed = gate_at_head(queue);
  event = new_event();
  CHECK(davit_event_record(event, queue));
  CHECK(davit_timer_create(&timer));
  CHECK(davit_timer_start(timer, queue));
  CHECK(davit_timer_stop(timer, queue));
  CHECK(davit_align_database_create(&targets, 1, &database, NULL));
  CHECK(davit_detector_create(DAVIT_FEATURES_WIDTH, 1, &effect, &detector, NULL));
  CHECK(davit_malloc(sizeof(int), DAVIT_PAGEABLE, &memory[0]));
  *(int *)memory[0] = 7;
  CHECK(davit_malloc(sizeof(int), DAVIT_CURRENT, &memory[1]));
  fork_and(use_the_parents_objects);
  gate_open(closed);
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_queue_destroy(queue));
  CHECK(davit_timer_destroy(timer));
  for (int i = 0; i < COUNT(memory); i++)
    CHECK(davit_free(memory[i]));
  CHECK(davit_align_database_destroy(database));
  CHECK(davit_detector_destroy(detector));
}

static davit_status fork_here(void *unused) {
  (void)unused;
  fork_and(work_on_the_host);
  return DAVIT_SUCCESS;
}

CASE(from_a_host_function) {
  davit_queue *own = new_queue(DAVIT_HOST, 1);
  CHECK(davit_queue_host_function(own, fork_here, NULL));
  finish(own);
}

static davit_status emit(const davit_region_site *site, void *unused) {
#pragma omp target nowait depend(inout : *site->order) device(site -> device)
  ;
  (void)unused;
  return DAVIT_SUCCESS;
}

/* A child's trace is whole when the child ends. */
static char trace_path[] = "/tmp/davit_test_fork_XXXXXX";

static int trace_work(void) {
  double sum;
  EXPECT(davit_trace_start(trace_path) == DAVIT_SUCCESS);
  EXPECT(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, N, numbers, &sum, NULL) == DAVIT_SUCCESS);
  return 0;
}

static void fork_and_read_trace(void) {
  static char text[1 << 16];
  const int file = mkstemp(trace_path);
  assert_true(file >= 0);
  fork_and(trace_work);
  assert_true(read(file, text, sizeof text - 1) > 0);
  assert_non_null(strstr(text, "\"name\":\"reduce\""));
  close(file);
  unlink(trace_path);
}

/* Threads in all parts of the library while others fork. */
static atomic_bool stop;

static void *keep_busy(void *unused) {
  davit_event *own;
  CHECK(davit_event_create(&own));
  for (int i = 0; !stop; i++) {
    davit_queue *busy = new_queue(i % 2 ? DAVIT_HOST : DAVIT_CURRENT, 2);
    CHECK(davit_event_record(own, busy));
    CHECK(davit_queue_wait(busy, own));
    assert_int_equal(compute(), 0);
    finish(busy);
    sleep_ms(1);
  }
  CHECK(davit_event_destroy(own));
  return unused;
}

CASE(while_other_threads_work) {
  pthread_t threads[3];
  for (int i = 0; i < COUNT(threads); i++)
    threads[i] = start_thread(keep_busy, NULL);
  for (int i = 0; i < scaled(30); i++)
    fork_and(i % 3 ? work_on_the_host : nothing);
  stop = true;
  for (int i = 0; i < COUNT(threads); i++)
    join_thread(threads[i]);
  assert_int_equal(compute(), 0);
}

/* The parent has a team that runs regions, which its children lack. */
CASE(after_nowait_regions) {
  davit_queue *own = new_queue(DAVIT_CURRENT, 1);
  CHECK(davit_queue_region_nowait(own, emit, NULL));
  CHECK(davit_queue_synchronize(own));
  fork_and_go_on();
  fork_and_read_trace();
  CHECK(davit_queue_region_nowait(own, emit, NULL));
  finish(own);
}

int main(void) {
  return run_cases(set_up, finalize);
}
