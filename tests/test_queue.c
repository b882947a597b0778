/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and sub-queues: order, concurrency, asynchrony, device-wide calls, idle cost.
 *
 * Order is proved by commands that check their predecessor, concurrency by meetings that nobody passes alone,
 * asynchrony by a closed gate at the head of the queue: what returns while the gate is closed did not wait,
 * and what has no effect until it is open was in order. */
#include "tests/support.h"

#include <omp.h>

#include "offload/runtime/region.h"
#include "tests/cpu_time.h"

/* ---- life and arguments ---- */

CASE(test_create_and_arguments) {
  davit_queue *queue = NULL;
  REFUSED(davit_queue_create(DAVIT_HOST, &queue, &(davit_queue_options){.reserved = {[1] = 5}}),
          "options->reserved[1] is 5");
  REFUSED(davit_queue_create(DAVIT_HOST, &queue, &(davit_queue_options){.subqueues = -1}), "subqueues is -1");
  REFUSED(davit_queue_create(DAVIT_HOST, &queue, &(davit_queue_options){.subqueues = 65}), "subqueues is 65");
  CHECK_FAILS(davit_queue_create(4711, &queue, NULL), DAVIT_UNKNOWN_DEVICE, "4711");
  assert_null(queue);
  CHECK(davit_queue_destroy(NULL));
  queue = new_queue(DAVIT_HOST, 64);
  CHECK(davit_queue_destroy(queue));
}

CASE(test_command_arguments) {
  davit_queue *q = new_queue(DAVIT_HOST, 1);
  double x[8] = {0}, y[8] = {0};
  CHECK(davit_queue_copy(q, 0, NULL, NULL));
  REFUSED(davit_queue_copy_2d(q, 2, 2, 8, y, 2, x, 1), "destination_ld");
  REFUSED(davit_queue_copy_2d(q, 2, 2, 8, y, 1, x, 2), "source_ld");
  CHECK(davit_queue_destroy(q)); /* a refused command leaves no error behind */
}

CASE(test_destroy_finishes_the_work) {
  EACH_DEVICE(device) {
    atomic_int last = 0;
    int64_t source = 4711, back = 0, *there = kept_at(sizeof *there, place_for(device));
    davit_queue *queue = new_queue(device, 2);
    int told = -5;
    CHECK(davit_queue_device(queue, &told));
    assert_int_equal(told, device);
    CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)20));
    CHECK(davit_queue_copy(queue, sizeof source, &source, there));
    CHECK(davit_queue_copy(queue, sizeof back, there, &back));
    CHECK(davit_queue_set_subqueue(queue, 1));
    CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)30));
    CHECK(davit_queue_host_function(queue, set_flag, &last));
    CHECK(davit_queue_destroy(queue));
    assert_int_equal(last, 1);
    assert_int_equal(back, 4711);
  }
}

/* ---- order ---- */

/* A chain of commands on two cells, one of the host and one of the device, each of which changes what the
 * next one sees, and a model of it that is computed while enqueueing. */
typedef struct chain {
  davit_queue *queue;
  int device;
  int64_t *host, *on_device; /* the cells */
  int64_t host_model, device_model;
  int regions_elsewhere;
  davit_event *event;
} chain;

static davit_status step_host(void *argument) {
  chain *c = argument;
  *c->host = *c->host * 3 % 1000003 + 1;
  return DAVIT_SUCCESS;
}

static davit_status step_region(int device, void *argument) {
  chain *c = argument;
  int expected = c->device == DAVIT_HOST ? omp_get_initial_device() : c->device;
  c->regions_elsewhere += device != expected;
  int64_t *cell = c->on_device;
#pragma omp target device(device) is_device_ptr(cell)
  *cell = *cell * 5 % 1000003 + 7;
  return DAVIT_SUCCESS;
}

static davit_status step_nowait(const davit_region_site *site, void *argument) {
  chain *c = argument;
  int64_t *cell = c->on_device;
  c->regions_elsewhere += site->device != (c->device == DAVIT_HOST ? omp_get_initial_device() : c->device);
#pragma omp target nowait depend(inout : *site->order) device(site -> device) is_device_ptr(cell)
  *cell = *cell * 7 % 1000003 + 2;
#pragma omp target teams distribute parallel for nowait depend(inout : *site->order) device(site -> device)  \
    is_device_ptr(cell)
  for (int i = 0; i < 1; i++)
    cell[i]++;
  return DAVIT_SUCCESS;
}

/* The last kind is nowait regions: ThreadSanitizer does not see how libomp orders them. */
#if __has_feature(thread_sanitizer)
enum { COMMAND_KINDS = 9, SEES_REGIONS = false };
#else
enum { COMMAND_KINDS = 10, SEES_REGIONS = true };
#endif

static void enqueue_step(chain *c, uint64_t *random) {
  switch (random_below(random, COMMAND_KINDS)) {
  case 0:
  case 1:
    CHECK(davit_queue_host_function(c->queue, step_host, c));
    c->host_model = c->host_model * 3 % 1000003 + 1;
    break;
  case 2:
  case 3:
    CHECK(davit_queue_region(c->queue, step_region, c));
    c->device_model = c->device_model * 5 % 1000003 + 7;
    break;
  case 9:
    CHECK(davit_queue_region_nowait(c->queue, step_nowait, c));
    c->device_model = c->device_model * 7 % 1000003 + 3;
    break;
  case 4:
    CHECK(davit_queue_copy(c->queue, sizeof(int64_t), c->host, c->on_device));
    c->device_model = c->host_model;
    break;
  case 5:
    CHECK(davit_queue_copy_2d(c->queue, 2, 1, 4, c->on_device, 2, c->host, 3));
    c->host_model = c->device_model;
    break;
  case 6:
    CHECK(davit_queue_fill(c->queue, 2, 0, c->on_device));
    c->device_model = c->device_model / 65536 * 65536;
    break;
  case 7:
    CHECK(davit_event_record(c->event, c->queue));
    break;
  default:
    CHECK(davit_queue_wait(c->queue, c->event)); /* its own past: never holds */
  }
}

static void run_chain(int device, int place, bool gated) {
  enum { STEPS = 2000 };
  chain c = {.queue = new_queue(device, 1), .device = device, .event = new_event()};
  uint64_t random = 99;
  c.host = kept_at(sizeof(int64_t), place);
  c.on_device = kept_at(sizeof(int64_t), place_for(device));
  *c.host = c.host_model = 1;
  c.device_model = 2;
  CHECK(davit_copy(sizeof(int64_t), &c.device_model, c.on_device));
  gate *g = gated ? gate_at_head(c.queue) : NULL;
  for (int i = 0; i < scaled(STEPS); i++)
    enqueue_step(&c, &random);
  if (g)
    gate_open(g);
  CHECK(davit_queue_synchronize(c.queue));
  int64_t found = 0;
  CHECK(davit_copy(sizeof found, c.on_device, &found));
  assert_int_equal(*c.host, c.host_model);
  assert_int_equal(found, c.device_model);
  assert_int_equal(c.regions_elsewhere, 0);
  CHECK(davit_queue_destroy(c.queue));
}

CASE(test_mixed_commands_are_in_order) {
  EACH_DEVICE(device) {
    run_chain(device, DAVIT_PAGEABLE, false);
    run_chain(device, DAVIT_PINNED, true);
  }
}

typedef struct sum_task {
  int64_t upto, sum;
} sum_task;

/* The source's example: 1 + 2 + ... + upto, given back through the argument. */
static davit_status sum_up(void *argument) {
  sum_task *task = argument;
  for (int64_t i = 1; i <= task->upto; i++)
    task->sum += i;
  return DAVIT_SUCCESS;
}

CASE(test_host_function_runs_once) {
  sum_task task = {100, 0};
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  CHECK(davit_queue_host_function(queue, sum_up, &task));
  CHECK(davit_queue_destroy(queue));
  assert_int_equal(task.sum, 5050);
}

/* ---- concurrency ---- */

static void expect_meeting(const int *devices, int count) {
  davit_queue *queues[64];
  gate *m = meeting_new(count);
  for (int i = 0; i < count; i++)
    queues[i] = new_queue(devices[i], 1);
  for (int i = 0; i < count; i++)
    CHECK(davit_queue_host_function(queues[i], gate_pass, m));
  for (int i = 0; i < count; i++)
    CHECK(davit_queue_destroy(queues[i]));
}

CASE(test_two_queues_overlap) {
  EACH_DEVICE(from)
    EACH_DEVICE(to)
      expect_meeting((const int[]){from, to}, 2);
}

CASE(test_32_queues_overlap) {
  int devices[MAX_PLACES], count = all_devices(devices), spread[32];
  for (int i = 0; i < 32; i++)
    spread[i] = devices[i % count];
  for (int round = 0; round < 3; round++)
    expect_meeting(spread, 32);
}

CASE(test_subqueues_overlap) {
  EACH_DEVICE(device) {
    enum { SUBQUEUES = 8 };
    davit_queue *queue = new_queue(device, SUBQUEUES);
    gate *m = meeting_new(SUBQUEUES);
    for (int j = 0; j < SUBQUEUES; j++) {
      CHECK(davit_queue_set_subqueue(queue, j));
      CHECK(davit_queue_host_function(queue, gate_pass, m));
    }
    finish(queue);
  }
}

/* Behind a gate in the same sub-queue nothing runs, while the other sub-queue goes on; with one sub-queue
 * requests change nothing. */
CASE(test_one_subqueue_does_not_overlap) {
  EACH_DEVICE(device) {
    davit_queue *two = new_queue(device, 2), *one = new_queue(device, 1);
    atomic_int behind = 0, beside = 0, only = 0;
    gate *first = gate_at_head(two), *second = gate_at_head(one);
    int number = -1;
    CHECK(davit_queue_host_function(two, set_flag, &behind));
    CHECK(davit_queue_set_subqueue(two, 1));
    CHECK(davit_queue_host_function(two, set_flag, &beside));
    CHECK(davit_queue_request_subqueue(one, &number));
    assert_int_equal(number, 0);
    CHECK(davit_queue_host_function(one, set_flag, &only));
    assert_true(flag_rises(&beside));
    sleep_ms(10);
    assert_int_equal(behind, 0);
    assert_int_equal(only, 0);
    gate_open(first);
    gate_open(second);
    DESTROY(two, one);
    assert_int_equal(behind, 1);
    assert_int_equal(only, 1);
  }
}

/* Each sub-queue has its own BLAS state: products with different factors at the same time do not mix. */
CASE(test_products_on_subqueues) {
  enum { SUBQUEUES = 6, M = 17, N = 19, K = 23, ROUNDS = 5 };
  double ones[K * (M > N ? M : N)], found[M * N];
  for (int i = 0; i < COUNT(ones); i++)
    ones[i] = 1;
  EACH_DEVICE(device) {
    davit_queue *queue = new_queue(device, SUBQUEUES);
    double *a = kept_at(sizeof ones, place_for(device)), *c[SUBQUEUES];
    CHECK(davit_copy(sizeof ones, ones, a));
    for (int j = 0; j < SUBQUEUES; j++) {
      c[j] = kept_at(sizeof found, place_for(device));
      CHECK(davit_fill(sizeof found, 0, c[j]));
    }
    for (int round = 0; round < ROUNDS; round++)
      for (int j = 0; j < SUBQUEUES; j++) {
        CHECK(davit_queue_set_subqueue(queue, j));
        CHECK(davit_queue_dgemm(queue, 'N', 'N', M, N, K, j + 1, a, M, a, K, 1, c[j], M, NULL));
      }
    CHECK(davit_queue_synchronize(queue));
    for (int j = 0; j < SUBQUEUES; j++) {
      CHECK(davit_copy(sizeof found, c[j], found));
      for (int k = 0; k < M * N; k++)
        assert_true(found[k] == ROUNDS * K * (j + 1));
    }
    CHECK(davit_queue_destroy(queue));
  }
}

/* ---- which sub-queue is current ---- */

typedef struct other_thread {
  davit_queue *queue;
  int found, after;
  bool failed;
} other_thread;

static void *choose_elsewhere(void *argument) {
  other_thread *t = argument;
  int most = 0;
  t->failed = davit_queue_subqueue(t->queue, &t->found, &most) || davit_queue_set_subqueue(t->queue, 3) ||
              davit_queue_subqueue(t->queue, &t->after, &most);
  return NULL;
}

static int current_subqueue(davit_queue *queue) {
  int number = -1, most = 0;
  CHECK(davit_queue_subqueue(queue, &number, &most));
  return number;
}

CASE(test_request_and_set) {
  davit_queue *queue = new_queue(DAVIT_CURRENT, 5);
  int number = -1, most = 0;
  CHECK(davit_queue_subqueue(queue, &number, &most));
  assert_int_equal(number, 0);
  assert_int_equal(most, 5);
  for (int i = 1; i <= 12; i++) {
    CHECK(davit_queue_request_subqueue(queue, &number));
    assert_int_equal(number, i % 5); /* the next in turn, and its number */
    assert_int_equal(current_subqueue(queue), number);
  }
  CHECK(davit_queue_set_subqueue(queue, 4));
  REFUSED(davit_queue_set_subqueue(queue, 5), "subqueue is 5");
  assert_int_equal(current_subqueue(queue), 4);
  for (int i = 0; i < 100; i++) { /* one after the other: a thread must not inherit from one that has ended */
    other_thread t = {.queue = queue};
    join_thread(start_thread(choose_elsewhere, &t));
    assert_false(t.failed);
    assert_int_equal(t.found, 0);
    assert_int_equal(t.after, 3);
  }
  assert_int_equal(current_subqueue(queue), 4);
  CHECK(davit_queue_destroy(queue));
}

/* A choice holds as long as the queue lives, however many queues come and go meanwhile. */
CASE(test_choice_survives_other_queues) {
  enum { OTHERS = 600 };
  davit_queue *queue = new_queue(DAVIT_HOST, 3);
  CHECK(davit_queue_set_subqueue(queue, 2));
  int lost = 0;
  for (int i = 0; i < OTHERS; i++) {
    davit_queue *other = new_queue(DAVIT_HOST, 2);
    CHECK(davit_queue_set_subqueue(other, 1));
    lost += current_subqueue(other) != 1;
    CHECK(davit_queue_destroy(other));
    lost += current_subqueue(queue) != 2;
  }
  CHECK(davit_queue_destroy(queue));
  assert_int_equal(lost, 0);
}

/* ---- nothing waits but what says so ---- */

CASE(test_enqueue_does_not_wait) {
  enum { FUNCTIONS = 10000 };
  EACH_DEVICE(device) {
    atomic_int counter = 0;
    davit_queue *queue = new_queue(device, 1);
    davit_event *event = new_event();
    gate *g = gate_at_head(queue);
    for (int j = 0; j < FUNCTIONS; j++) {
      CHECK(davit_queue_host_function(queue, add_one, &counter));
      if (j % 100 == 0) {
        CHECK(davit_event_record(event, queue));
        CHECK(davit_queue_wait(queue, event));
      }
    }
    assert_int_equal(counter, 0);
    assert_int_equal(state_of(event), DAVIT_EVENT_RECORDED);
    gate_open(g);
    CHECK(davit_queue_synchronize(queue));
    assert_int_equal(counter, FUNCTIONS);
    CHECK(davit_queue_destroy(queue));
  }
}

/* Copies read their source when they run, not when they are enqueued, and write nothing before. */
static void expect_copy_behind_gate(int device, int place) {
  enum { BYTES = 300001, ROWS = 1001, COLS = 37 };
  unsigned char *host = kept(BYTES), *back = kept(BYTES), *there = kept_at(BYTES, place);
  memset(host, 1, BYTES);
  memset(back, 2, BYTES);
  CHECK(davit_fill(BYTES, 3, there));
  davit_queue *queue = new_queue(device, 1);
  gate *g = gate_at_head(queue);
  CHECK(davit_queue_copy(queue, BYTES, host, there));
  CHECK(davit_queue_fill(queue, 1, 9, there + 5));
  CHECK(davit_queue_copy_2d(queue, ROWS, COLS, 1, there, ROWS, back, ROWS + 1));
  unsigned char first = 0;
  CHECK(davit_copy(1, there, &first));
  assert_int_equal(first, 3);
  assert_int_equal(back[0], 2);
  memset(host, 7, BYTES);
  gate_open(g);
  CHECK(davit_queue_destroy(queue));
  for (int i = 0; i < BYTES; i++) {
    bool inside = i / (ROWS + 1) < COLS && i % (ROWS + 1) < ROWS;
    assert_int_equal(back[i], i == 5 ? 9 : inside ? 7 : 2);
  }
}

CASE(test_copies_do_not_wait) {
  int places[MAX_PLACES], place_count = all_places(places);
  EACH_DEVICE(device)
    for (int i = 0; i < place_count; i++)
      expect_copy_behind_gate(device, places[i]);
}

/* The same numbers as the function that waits. */
CASE(test_random_on_queues) {
  enum { N = 10001 };
  static double expected[N], found[N];
  static float expected_float[N], found_float[N];
  CHECK(davit_random(DAVIT_DOUBLE, N, 5, expected));
  CHECK(davit_random(DAVIT_FLOAT, N, 6, expected_float));
  EACH_DEVICE(device) {
    davit_queue *queue = new_queue(device, 1);
    double *x = kept_at(sizeof expected, place_for(device));
    float *y = kept_at(sizeof expected_float, place_for(device));
    CHECK(davit_fill(sizeof expected, 0, x));
    gate *g = gate_at_head(queue);
    CHECK(davit_queue_random(queue, DAVIT_DOUBLE, N, 5, x));
    CHECK(davit_queue_random(queue, DAVIT_FLOAT, N, 6, y));
    CHECK(davit_copy(sizeof *found, x, found));
    assert_true(found[0] == 0);
    gate_open(g);
    CHECK(davit_queue_copy(queue, sizeof found, x, found));
    CHECK(davit_queue_copy(queue, sizeof found_float, y, found_float));
    CHECK(davit_queue_destroy(queue));
    assert_memory_equal(found, expected, sizeof found);
    assert_memory_equal(found_float, expected_float, sizeof found_float);
  }
}

/* ---- synchronisation ---- */

CASE(test_synchronize_waits_for_all_subqueues) {
  EACH_DEVICE(device) {
    enum { SUBQUEUES = 5 };
    davit_queue *queue = new_queue(device, SUBQUEUES);
    atomic_int done = 0;
    for (int round = 1; round <= 3; round++) {
      for (int j = 0; j < SUBQUEUES; j++) {
        CHECK(davit_queue_set_subqueue(queue, j));
        CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)(3 * (j * 2 % SUBQUEUES))));
        CHECK(davit_queue_host_function(queue, add_one, &done));
      }
      CHECK(davit_queue_synchronize(queue));
      assert_int_equal(done, round * SUBQUEUES);
      for (int j = 0; j < 1000; j++)
        CHECK(davit_queue_synchronize(queue));
    }
    CHECK(davit_queue_destroy(queue));
  }
}

/* What a queue's own work may and may not do. */
typedef struct inner {
  davit_queue *own, *other;
  davit_status synchronize, destroy, device, others;
  atomic_int later, elsewhere;
} inner;

static davit_status work_from_inside(void *argument) {
  inner *in = argument;
  int device = 0;
  davit_queue_device(in->own, &device);
  in->synchronize = davit_queue_synchronize(in->own);
  in->destroy = davit_queue_destroy(in->own);
  in->device = davit_device_synchronize(device);
  DVT_TRY(davit_queue_host_function(in->own, set_flag, &in->later));
  DVT_TRY(davit_queue_host_function(in->other, set_flag, &in->elsewhere));
  in->others = davit_queue_synchronize(in->other);
  return atomic_load(&in->elsewhere) ? DAVIT_SUCCESS : davit_fail(DAVIT_WORK_FAILED, "the other did not run");
}

CASE(test_own_work_cannot_wait) {
  EACH_DEVICE(device)
    for (int subqueue = 0; subqueue < 2; subqueue++) {
      inner in = {.own = new_queue(device, 2), .other = new_queue(DAVIT_HOST, 1)};
      CHECK(davit_queue_set_subqueue(in.own, subqueue));
      CHECK(davit_queue_host_function(in.own, work_from_inside, &in));
      CHECK(davit_queue_synchronize(in.own));
      assert_int_equal(in.synchronize, DAVIT_WOULD_DEADLOCK);
      assert_int_equal(in.destroy, DAVIT_WOULD_DEADLOCK);
      assert_int_equal(in.device, DAVIT_WOULD_DEADLOCK);
      assert_int_equal(in.others, DAVIT_SUCCESS);
      CHECK(davit_queue_destroy(in.own));
      assert_int_equal(in.later, 1); /* enqueued from inside; destroy waits for it */
      CHECK(davit_queue_destroy(in.other));
    }
}

/* Six sub-queues of three queues, of which the longest work is now in the first, now in the last. */
static void expect_device_synchronize(int device, bool last_is_longest) {
  enum { QUEUES = 3, SUBQUEUES = 2 };
  davit_queue *queues[QUEUES];
  atomic_int done = 0;
  for (int i = 0; i < QUEUES; i++) {
    queues[i] = new_queue(device, SUBQUEUES);
    for (int j = 0; j < SUBQUEUES; j++) {
      int rank = last_is_longest ? i * SUBQUEUES + j : QUEUES * SUBQUEUES - 1 - i * SUBQUEUES - j;
      CHECK(davit_queue_set_subqueue(queues[i], j));
      CHECK(davit_queue_host_function(queues[i], take_a_nap, (void *)(intptr_t)(3 * rank)));
      CHECK(davit_queue_host_function(queues[i], add_one, &done));
    }
  }
  CHECK(davit_device_synchronize(device));
  assert_int_equal(done, QUEUES * SUBQUEUES);
  for (int i = 0; i < QUEUES; i++)
    CHECK(davit_queue_destroy(queues[i]));
}

CASE(test_device_synchronize_covers_all_queues) {
  int devices[MAX_PLACES], count = all_devices(devices);
  for (int i = 0; i < count; i++) {
    davit_queue *stuck = NULL;
    gate *g = NULL;
    if (count > 1) { /* another device is busy: nobody here waits for it */
      stuck = new_queue(devices[(i + 1) % count], 1);
      g = gate_at_head(stuck);
    }
    CHECK(davit_device_synchronize(devices[i])); /* nothing to wait for */
    expect_device_synchronize(devices[i], false);
    expect_device_synchronize(devices[i], true);
    CHECK(davit_device_synchronize(devices[i])); /* the registry knows that they are gone */
    if (g) {
      gate_open(g);
      CHECK(davit_queue_destroy(stuck)); /* an error if the gate had been waited for */
    }
  }
}

/* ---- work that destroys another queue ---- */

typedef struct heir {
  davit_queue *other;
  int device;
  davit_status destroy, synchronize;
  atomic_int synchronizing, other_ran, destroyed;
} heir;

static davit_status destroy_other(void *argument) {
  heir *h = argument;
  h->destroy = davit_queue_destroy(h->other);
  return set_flag(&h->destroyed);
}

static void *synchronize_device(void *argument) {
  heir *h = argument;
  atomic_store(&h->synchronizing, 1);
  h->synchronize = davit_device_synchronize(h->device);
  return NULL;
}

/* The synchronisation holds both queues while it waits for the work that destroys the second. */
CASE(test_work_destroys_another_queue) {
  static heir heirs[MAX_PLACES];
  EACH_DEVICE(device) {
    heir *h = &heirs[device + 1];
    *h = (heir){.other = new_queue(device, 2), .device = device};
    davit_queue *queue = new_queue(device, 1);
    gate *g = gate_at_head(queue);
    CHECK(davit_queue_host_function(queue, destroy_other, h));
    CHECK(davit_queue_host_function(h->other, take_a_nap, (void *)(intptr_t)20));
    CHECK(davit_queue_host_function(h->other, set_flag, &h->other_ran));
    pthread_t thread = start_thread(synchronize_device, h);
    assert_true(flag_rises(&h->synchronizing));
    sleep_ms(10);
    gate_open(g);
    assert_true(flag_rises(&h->destroyed));
    join_thread(thread);
    assert_int_equal(h->destroy, DAVIT_SUCCESS);
    assert_int_equal(h->synchronize, DAVIT_SUCCESS);
    assert_int_equal(h->other_ran, 1);
    CHECK(davit_queue_destroy(queue));
  }
}

/* ---- cost of doing nothing, and the end ---- */

CASE(test_idle_queues_use_no_cpu) {
  enum { QUEUES = 16 };
  int devices[MAX_PLACES], count = all_devices(devices);
  davit_queue *queues[QUEUES];
  davit_event *event = new_event();
  atomic_int counter = 0;
  for (int i = 0; i < QUEUES; i++) {
    queues[i] = new_queue(devices[i % count], 2);
    CHECK(davit_queue_host_function(queues[i], add_one, &counter));
    CHECK(davit_event_record(event, queues[i]));
    CHECK(davit_queue_synchronize(queues[i]));
  }
  gate *g = gate_at_head(queues[0]); /* one is held, one waits for it: blocked threads must sleep, too */
  CHECK(davit_event_reset(event));
  CHECK(davit_event_record(event, queues[0]));
  CHECK(davit_queue_wait(queues[1], event));
  CHECK(davit_queue_host_function(queues[1], add_one, &counter));
  sleep_ms(300);
  static thread_times each;
  read_thread_times(&each);
  double before = cpu_ms();
  sleep_ms(500);
  double used = cpu_ms() - before;
  if (used >= 20) {
    print_error("%.1f ms of processor time in 500 ms\n", used);
    print_busy_threads(&each);
  }
  gate_open(g);
  for (int i = 0; i < QUEUES; i++)
    CHECK(davit_queue_destroy(queues[i]));
  assert_int_equal(counter, QUEUES + 1);
  assert_true(used < 20);
}

/* A region on the CPU that lasts until the other queue's work is over: what runs it generates no tasks. */
static atomic_int other_is_done;

static void wait_for_other(void *in_time) {
  *(bool *)in_time = flag_rises(&other_is_done);
}

static davit_status emit_long_region(const davit_region_site *site, void *in_time) {
  dvt_region_on_host(&(dvt_region_order){site->order, NULL, 0, NULL}, wait_for_other, in_time);
  return DAVIT_SUCCESS;
}

CASE(test_long_regions_hold_up_nobody) {
  if (!SEES_REGIONS)
    skip();
  for (int turn = 0; turn < scaled(50); turn++) {
    SCOPE;
    bool in_time = false;
    char there[64] = {1};
    davit_queue *queue = new_queue(DAVIT_HOST, 1), *other = new_queue(DAVIT_HOST, 1);
    davit_event *event = new_event();
    other_is_done = 0;
    CHECK(davit_queue_region_nowait(queue, emit_long_region, &in_time));
    for (int i = 0; i < 3; i++) {
      CHECK(davit_queue_host_function(other, take_a_nap, (void *)(intptr_t)1));
      CHECK(davit_queue_fill(other, sizeof there, 0, there));
      CHECK(davit_event_record(event, other));
    }
    CHECK(davit_queue_host_function(other, set_flag, (void *)&other_is_done));
    finish(queue);
    finish(other);
    assert_true(in_time && !there[0]);
  }
}

/* Tasks become ready while the threads that ran the region go back to sleep. */
CASE(test_what_follows_regions_is_run) {
  enum { QUEUES = 4, REGIONS = 3 };
  davit_queue *queues[QUEUES];
  atomic_int counter = 0;
  int64_t *cell = kept(sizeof *cell);
  chain c = {.device = DAVIT_HOST, .on_device = cell};
  if (!SEES_REGIONS)
    skip();
  for (int i = 0; i < QUEUES; i++)
    queues[i] = new_queue(DAVIT_HOST, 1);
  for (int turn = 0; turn < scaled(3000); turn++) {
    for (int i = 0; i < REGIONS; i++)
      CHECK(davit_queue_region_nowait(queues[turn % QUEUES], step_nowait, &c));
    for (int i = 0; i < QUEUES; i++)
      CHECK(davit_queue_host_function(queues[i], add_one, (void *)&counter));
    for (int i = 0; i < QUEUES; i++)
      CHECK(davit_queue_synchronize(queues[(turn + i) % QUEUES]));
    assert_int_equal(counter, QUEUES * (turn + 1));
  }
  for (int i = 0; i < QUEUES; i++)
    finish(queues[i]);
}

CASE(test_finalize_and_start_again) {
  davit_queue *queue = new_queue(DAVIT_CURRENT, 3);
  CHECK_FAILS(davit_finalize(), DAVIT_INVALID_STATE, "3 sub-queues");
  CHECK(davit_queue_destroy(queue));
  for (int i = 0; i < 10; i++) {
    atomic_int counter = 0;
    CHECK(davit_finalize());
    CHECK(davit_finalize()); /* nothing to end */
    queue = new_queue(DAVIT_CURRENT, 1);
    for (int j = 0; j < 100; j++)
      CHECK(davit_queue_host_function(queue, add_one, &counter));
    CHECK(davit_queue_destroy(queue));
    assert_int_equal(counter, 100);
  }
}
