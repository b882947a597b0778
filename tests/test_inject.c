/* SPDX-License-Identifier: Apache-2.0 */
/* Failures made on purpose: the n-th allocation, thread or command fails, for every n that a scenario
 * reaches.
 *
 * Whatever fails, the scenario ends with a status and a sentence, gives back all it took (AddressSanitizer
 * looks), leaves its inputs as they were, and the next one succeeds. The library is started anew for each n,
 * so that its pools are empty and every path is walked. */
#include "tests/elements.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 150, BYTES = 100003 };

typedef struct scenario {
  int devices[2];
  davit_queue *first, *second;
  davit_event *event;
  davit_timer *timer;
  char *there[2], *pinned, *pageable;
  atomic_int ran;
  double *a, *b, *c;
} scenario;

static double entry(int i) {
  return i * 7 % 11 - 5;
}

static davit_status acquire(scenario *s) {
  DVT_TRY(davit_queue_create(s->devices[0], &s->first, &(davit_queue_options){.subqueues = 3}));
  DVT_TRY(davit_queue_create(s->devices[1], &s->second, NULL));
  DVT_TRY(davit_event_create(&s->event));
  DVT_TRY(davit_timer_create(&s->timer));
  for (int i = 0; i < 2; i++)
    DVT_TRY(davit_malloc(BYTES, s->devices[i], (void **)&s->there[i]));
  DVT_TRY(davit_malloc(BYTES, DAVIT_PINNED, (void **)&s->pinned));
  return davit_malloc(BYTES, DAVIT_PAGEABLE, (void **)&s->pageable);
}

static davit_status use_queues(scenario *s) {
  int subqueue = 0;
  DVT_TRY(davit_timer_start(s->timer, s->first));
  DVT_TRY(davit_queue_fill(s->first, BYTES, 1, s->there[0]));
  DVT_TRY(davit_queue_host_function(s->first, add_one, &s->ran));
  DVT_TRY(davit_event_record(s->event, s->first));
  DVT_TRY(davit_queue_wait(s->second, s->event));
  DVT_TRY(davit_queue_copy(s->second, BYTES, s->there[0], s->there[1]));
  DVT_TRY(davit_queue_copy_2d(s->second, 99, 100, 1, s->there[1], 100, s->pinned, 101));
  DVT_TRY(davit_queue_copy(s->second, BYTES, s->there[1], s->pageable));
  DVT_TRY(davit_queue_request_subqueue(s->first, &subqueue));
  DVT_TRY(davit_queue_random(s->first, DAVIT_DOUBLE, 100, 1, (double *)(void *)s->there[0] + 4096));
  DVT_TRY(davit_timer_stop(s->timer, s->second));
  DVT_TRY(davit_event_reset(s->event));
  DVT_TRY(davit_queue_synchronize(s->first));
  DVT_TRY(davit_queue_synchronize(s->second));
  double elapsed = 0;
  DVT_TRY(davit_timer_elapsed(s->timer, &elapsed));
  return davit_device_synchronize(s->devices[0]);
}

static davit_status multiply(scenario *s) {
  davit_level3_options options = {
      .devices = s->devices, .device_count = 2, .tile = 64, .separate_memory = true};
  return davit_dgemm('N', 'T', N, N, N, 1, s->a, N, s->b, N, 0, s->c, N, &options);
}

static davit_status act(scenario *s) {
  DVT_TRY(acquire(s));
  DVT_TRY(use_queues(s));
  DVT_TRY(davit_copy(BYTES, s->there[0], s->pinned));
  return multiply(s);
}

/* Gives everything back, queues first: their work uses the memory. */
static davit_status release(scenario *s, davit_status status) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, status);
  dvt_error_keep(&first, davit_queue_destroy(s->first));
  dvt_error_keep(&first, davit_queue_destroy(s->second));
  void *const memory[] = {s->there[0], s->there[1], s->pinned, s->pageable};
  dvt_error_keep(&first, davit_event_destroy(s->event));
  dvt_error_keep(&first, davit_timer_destroy(s->timer));
  for (int i = 0; i < COUNT(memory); i++)
    dvt_error_keep(&first, davit_free(memory[i]));
  return dvt_error_report(&first);
}

/* C = A B': the entries are small whole numbers, so the product is exact. */
static void expect_product(const scenario *s) {
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++) {
      double sum = 0;
      for (int k = 0; k < N; k++)
        sum += entry(i + k * N) * entry(3 * (j + k * N));
      assert_true(s->c[i + j * N] == sum);
    }
}

/* `verify`: whether the product is looked at. */
static davit_status run_scenario(void *verify) {
  scenario s = {.devices = {DAVIT_HOST, DAVIT_HOST}};
  static double a[N * N], b[N * N], c[N * N];
  two_devices(s.devices);
  s.a = a, s.b = b, s.c = c;
  for (int i = 0; i < N * N; i++) {
    a[i] = entry(i);
    b[i] = entry(3 * i);
    c[i] = 0;
  }
  davit_status status = release(&s, act(&s));
  for (int i = 0; i < N * N; i++)
    assert_true(a[i] == entry(i) && b[i] == entry(3 * i));
  assert_true(status != DAVIT_SUCCESS || s.ran == 1);
  if (status == DAVIT_SUCCESS && verify)
    expect_product(&s);
  return status;
}

/* A process of a user of its own, that may have `threads`: whether it has come to a status. */
static bool start_with(rlim_t threads) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    enum { NOBODY_ELSE = 61357 };
    davit_queue *queue = NULL;
    for (int number = 1; number < NSIG; number++) /* cmocka catches some */
      signal(number, SIG_DFL);
    if (setrlimit(RLIMIT_NPROC, &(struct rlimit){threads, threads}) || setuid(NOBODY_ELSE))
      _exit(0); /* only root can try */
    _exit(davit_queue_create(DAVIT_HOST, &queue, NULL) != DAVIT_SUCCESS && !*davit_last_error());
  }
  int status = 1;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The library has not started yet. A thread that cannot be made then is no lasting defect, and ends no
 * process. */
CASE(test_first_thread) {
  for (rlim_t threads = 1; threads < 6; threads++)
    if (!start_with(threads))
      fail_msg("%d threads: ended without a status", (int)threads);
  davit_queue *queue = NULL;
  dvt_inject(DVT_INJECT_THREAD, 1);
  CHECK_FAILS(davit_queue_create(DAVIT_HOST, &queue, NULL), DAVIT_INTERNAL_ERROR, strerror(EAGAIN));
  CHECK(davit_queue_create(DAVIT_HOST, &queue, NULL));
  CHECK(davit_queue_destroy(queue));
}

static void fail_at_every_passage(dvt_injection kind) {
  const int failures = fail_each(kind, run_scenario, NULL);
  assert_true(failures > 0);
  CHECK(run_scenario(&(bool){true}));
  print_message("%d failures\n", failures);
}

CASE(test_device_memory) {
  int pair[2];
  if (!two_devices(pair))
    skip();
  fail_at_every_passage(DVT_INJECT_DEVICE_MEMORY);
}

CASE(test_pinned_memory) {
  fail_at_every_passage(DVT_INJECT_PINNED_MEMORY);
}

CASE(test_host_memory) {
  fail_at_every_passage(DVT_INJECT_HOST_MEMORY);
}

CASE(test_thread) {
  fail_at_every_passage(DVT_INJECT_THREAD);
}

CASE(test_run) {
  fail_at_every_passage(DVT_INJECT_RUN);
}

/* The n-th of ten commands meets a lost device: those before have run, those after are skipped, an event
 * behind it is an error, other queues do not notice, and the queue goes on. */
CASE(test_device_lost_in_mid_work) {
  enum { COMMANDS = 10 };
  EACH_DEVICE(device)
    for (int n = 1; n <= COMMANDS; n++) {
      char words[32];
      snprintf(words, sizeof words, "device %d", device);
      davit_queue *queue = new_queue(device, 1), *other = new_queue(device, 1);
      davit_event *event = new_event();
      atomic_int ran = 0, elsewhere = 0;
      gate *g = gate_at_head(queue);
      for (int j = 0; j < COMMANDS; j++)
        CHECK(davit_queue_host_function(queue, add_one, &ran));
      CHECK(davit_event_record(event, queue));
      dvt_inject(DVT_INJECT_RUN, n);
      gate_open(g);
      CHECK_FAILS(davit_event_synchronize(event), DAVIT_DEVICE_LOST, words);
      CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_DEVICE_LOST, words);
      assert_int_equal(ran, n - 1);
      assert_int_equal(state_of(event), DAVIT_EVENT_ERROR);
      CHECK(davit_queue_host_function(other, add_one, &elsewhere));
      CHECK(davit_queue_host_function(queue, add_one, &ran));
      DESTROY(queue, other);
      assert_int_equal(ran, n);
      assert_int_equal(elsewhere, 1);
    }
}

/* A full device: davit_malloc() says so, keeps the caller's pointer, and works again at once. */
CASE(test_refused_block) {
  int places[MAX_PLACES], count = all_places(places);
  for (int i = 0; i < count; i++) {
    dvt_injection kind = places[i] >= 0              ? DVT_INJECT_DEVICE_MEMORY
                         : places[i] == DAVIT_PINNED ? DVT_INJECT_PINNED_MEMORY
                                                     : DVT_INJECT_HOST_MEMORY;
    void *pointer = &places;
    dvt_inject(kind, 1);
    CHECK_FAILS(davit_malloc(1000, places[i], &pointer),
                places[i] >= 0 ? DAVIT_OUT_OF_DEVICE_MEMORY : DAVIT_OUT_OF_HOST_MEMORY, "memory for");
    assert_ptr_equal(pointer, &places);
    CHECK(davit_malloc(1000, places[i], &pointer));
    CHECK(davit_free(pointer));
  }
}
