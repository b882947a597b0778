/* SPDX-License-Identifier: Apache-2.0 */
/* Events: states, generations, waits across queues and devices, errors, re-use.
 *
 * A wait is proved to hold by a closed gate before the record: what must wait has not run while the gate is
 * closed, after HOLD_MS in which nothing stopped it but the event. */
#include "tests/support.h"

#include <malloc.h>

enum { HOLD_MS = 5 };

CASE(test_names) {
  static const char *const names[] = {"unrecorded", "recorded", "complete", "checked", "error"};
  for (int i = 0; i < COUNT(names); i++)
    assert_string_equal(davit_event_state_string((davit_event_state)i), names[i]);
  assert_string_equal(davit_event_state_string((davit_event_state)5), "unknown");
  assert_string_equal(davit_event_state_string((davit_event_state)-1), "unknown");
}

CASE(test_destroy_nothing) {
  CHECK(davit_event_destroy(NULL));
}

/* ---- one event, one queue ---- */

CASE(test_life_cycle) {
  davit_event *event = new_event();
  EACH_DEVICE(device) {
    davit_queue *queue = new_queue(device, 1);
    assert_int_equal(state_of(event), DAVIT_EVENT_UNRECORDED);
    CHECK_FAILS(davit_event_check(event), DAVIT_INVALID_STATE, "unrecorded");
    CHECK(davit_event_synchronize(event));
    assert_int_equal(state_of(event), DAVIT_EVENT_UNRECORDED);
    gate *g = gate_at_head(queue);
    CHECK(davit_event_record(event, queue));
    assert_int_equal(state_of(event), DAVIT_EVENT_RECORDED);
    CHECK_FAILS(davit_event_check(event), DAVIT_INVALID_STATE, "recorded");
    sleep_ms(HOLD_MS);
    assert_int_equal(state_of(event), DAVIT_EVENT_RECORDED);
    gate_open(g);
    assert_true(becomes(event, DAVIT_EVENT_COMPLETE));
    CHECK(davit_event_check(event));
    assert_int_equal(state_of(event), DAVIT_EVENT_CHECKED);
    CHECK_FAILS(davit_event_check(event), DAVIT_INVALID_STATE, "checked");
    CHECK(davit_event_synchronize(event));
    assert_int_equal(state_of(event), DAVIT_EVENT_CHECKED);
    CHECK(device % 2 ? davit_event_reset(event) : davit_event_soft_reset(event));
    CHECK(davit_queue_destroy(queue));
  }
}

/* A wait that returns always leaves CHECKED behind (else it were left to chance). */
CASE(test_synchronize_checks) {
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  davit_event *event = new_event();
  atomic_int done = 0;
  for (int i = 0; i < 200; i++) {
    atomic_store(&done, 0);
    CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)(i % 20 == 0)));
    CHECK(davit_queue_host_function(queue, set_flag, &done));
    CHECK(davit_event_record(event, queue));
    CHECK(davit_event_synchronize(event));
    assert_int_equal(done, 1);
    assert_int_equal(state_of(event), DAVIT_EVENT_CHECKED);
  }
  CHECK(davit_queue_destroy(queue));
}

CASE(test_record_without_queue) {
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1), *held = new_queue(DAVIT_CURRENT, 1);
  davit_event *event = new_event();
  CHECK(davit_event_record(event, NULL));
  assert_int_equal(state_of(event), DAVIT_EVENT_CHECKED);
  CHECK(davit_queue_wait(queue, event));
  CHECK(davit_event_synchronize(event));
  CHECK(davit_queue_synchronize(queue));
  gate *g = gate_at_head(held);
  CHECK(davit_event_record(event, held));
  assert_int_equal(state_of(event), DAVIT_EVENT_RECORDED);
  CHECK(davit_event_record(event, NULL)); /* satisfied, whatever is pending */
  assert_int_equal(state_of(event), DAVIT_EVENT_CHECKED);
  CHECK(davit_queue_wait(queue, event));
  CHECK(davit_queue_synchronize(queue));
  gate_open(g);
  CHECK(davit_queue_destroy(held));
  assert_int_equal(state_of(event), DAVIT_EVENT_CHECKED);
  CHECK(davit_queue_destroy(queue));
}

/* Never recorded, or reset: nothing to wait for. */
CASE(test_unrecorded_is_not_waited_for) {
  davit_queue *held = new_queue(DAVIT_CURRENT, 1), *queue = new_queue(DAVIT_CURRENT, 1);
  davit_event *event = new_event();
  atomic_int ran = 0;
  CHECK(davit_queue_wait(queue, event));
  CHECK(davit_queue_host_function(queue, add_one, &ran));
  CHECK(davit_queue_synchronize(queue));
  gate *g = gate_at_head(held);
  CHECK(davit_event_record(event, held));
  CHECK(davit_event_soft_reset(event));
  CHECK(davit_queue_wait(queue, event));
  CHECK(davit_queue_host_function(queue, add_one, &ran));
  CHECK(davit_queue_synchronize(queue));
  assert_int_equal(ran, 2);
  gate_open(g);
  DESTROY(held, queue);
}

CASE(test_record_on_another_device) {
  EACH_DEVICE(from)
    EACH_DEVICE(to) {
      davit_queue *a = new_queue(from, 1), *b = new_queue(to, 1);
      davit_event *event = new_event();
      gate *g = gate_at_head(a);
      CHECK(davit_event_record(event, a));
      if (from == to) {
        CHECK(davit_event_record(event, b));
        CHECK(davit_event_synchronize(event));
      } else {
        CHECK_FAILS(davit_event_record(event, b), DAVIT_INVALID_STATE, "device");
        assert_int_equal(state_of(event), DAVIT_EVENT_RECORDED); /* the refused call changed nothing */
        CHECK(davit_event_soft_reset(event));
        CHECK(davit_event_record(event, b));
        CHECK(davit_event_synchronize(event));
        assert_int_equal(state_of(event), DAVIT_EVENT_CHECKED);
      }
      gate_open(g);
      CHECK(davit_event_record(event, b));
      CHECK(davit_queue_synchronize(b));
      assert_int_equal(state_of(event), DAVIT_EVENT_COMPLETE);
      CHECK(davit_event_record(event, a)); /* complete: free to go anywhere */
      DESTROY(a, b);
    }
}

typedef struct watch {
  davit_event *event;
  atomic_int stop;
  int backwards;
  double slowest_ms;
} watch;

static void *watch_event(void *argument) {
  watch *w = argument;
  davit_event_state last = DAVIT_EVENT_UNRECORDED, found = last;
  while (!atomic_load(&w->stop)) {
    double start = now_ms();
    w->backwards += davit_event_query(w->event, &found) != DAVIT_SUCCESS || found < last;
    double took = now_ms() - start;
    w->slowest_ms = took > w->slowest_ms ? took : w->slowest_ms;
    last = found;
  }
  return NULL;
}

/* A thread that looks all the time never sees a generation go back, and is never held up by the gate. */
CASE(test_query_is_monotonic) {
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  for (int i = 0; i < 20; i++) {
    watch w = {.event = new_event()};
    pthread_t thread = start_thread(watch_event, &w);
    gate *g = gate_at_head(queue);
    CHECK(davit_event_record(w.event, queue));
    sleep_ms(HOLD_MS);
    gate_open(g);
    assert_true(becomes(w.event, DAVIT_EVENT_COMPLETE));
    CHECK(davit_event_check(w.event));
    atomic_store(&w.stop, 1);
    join_thread(thread);
    assert_int_equal(w.backwards, 0);
    assert_true(w.slowest_ms < 1000); /* a blocked query would last until its record is reached, and be seen
                                         to hang where a gate is held for PATIENCE_S */
    CHECK(davit_queue_synchronize(queue));
  }
  CHECK(davit_queue_destroy(queue));
}

/* ---- generations ---- */

/* The same event, first in `a`, then in `b`; `waiter` waits for the first record. */
typedef struct generations {
  davit_queue *a, *b, *waiter;
  gate *gate_a, *gate_b;
  davit_event *event;
  atomic_int released;
} generations;

static void set_up_generations(generations *s, int device) {
  *s = (generations){.a = new_queue(device, 1), .b = new_queue(device, 1), .waiter = new_queue(device, 1)};
  CHECK(davit_event_create(&s->event));
  s->gate_a = gate_at_head(s->a);
  s->gate_b = gate_at_head(s->b);
  CHECK(davit_event_record(s->event, s->a));
  CHECK(davit_queue_wait(s->waiter, s->event));
  CHECK(davit_queue_host_function(s->waiter, set_flag, &s->released));
}

static void tear_down_generations(generations *s) {
  DESTROY(s->a, s->b, s->waiter);
  assert_int_equal(s->released, 1);
}

CASE(test_old_work_does_not_complete_a_new_record) {
  EACH_DEVICE(device) {
    generations s;
    set_up_generations(&s, device);
    CHECK(davit_event_record(s.event, s.b));
    gate_open(s.gate_a);
    assert_true(flag_rises(&s.released)); /* by the old work */
    CHECK(davit_queue_synchronize(s.a));
    sleep_ms(HOLD_MS);
    assert_int_equal(state_of(s.event), DAVIT_EVENT_RECORDED);
    gate_open(s.gate_b);
    assert_true(becomes(s.event, DAVIT_EVENT_COMPLETE));
    tear_down_generations(&s);
    CHECK(davit_event_destroy(s.event));
  }
}

CASE(test_new_work_does_not_release_old_waiters) {
  EACH_DEVICE(device) {
    generations s;
    set_up_generations(&s, device);
    CHECK(davit_event_record(s.event, s.b));
    gate_open(s.gate_b);
    assert_true(becomes(s.event, DAVIT_EVENT_COMPLETE));
    sleep_ms(HOLD_MS);
    assert_int_equal(s.released, 0);
    gate_open(s.gate_a);
    tear_down_generations(&s);
    assert_int_equal(state_of(s.event), DAVIT_EVENT_COMPLETE);
    CHECK(davit_event_destroy(s.event));
  }
}

/* Reset without waiting, record anew, destroy: the waiter waits for what it was told to wait for. */
CASE(test_waiters_outlive_reset_and_destroy) {
  EACH_DEVICE(device)
    for (int destroyed = 0; destroyed < 2; destroyed++) {
      generations s;
      set_up_generations(&s, device);
      if (destroyed) {
        CHECK(davit_event_destroy(s.event));
      } else {
        CHECK(davit_event_soft_reset(s.event));
        assert_int_equal(state_of(s.event), DAVIT_EVENT_UNRECORDED);
      }
      gate_open(s.gate_b);
      sleep_ms(HOLD_MS);
      assert_int_equal(s.released, 0);
      gate_open(s.gate_a);
      tear_down_generations(&s);
      if (!destroyed) {
        assert_int_equal(state_of(s.event), DAVIT_EVENT_UNRECORDED);
        CHECK(davit_event_destroy(s.event));
      }
    }
}

CASE(test_reset_waits) {
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  davit_event *event = new_event();
  atomic_int done = 0;
  gate *g = gate_at_head(queue);
  CHECK(davit_queue_host_function(queue, set_flag, &done));
  CHECK(davit_event_record(event, queue));
  pthread_t thread = gate_open_later(g, 15);
  CHECK(davit_event_reset(event));
  assert_int_equal(done, 1);
  assert_int_equal(state_of(event), DAVIT_EVENT_UNRECORDED);
  join_thread(thread);
  CHECK(davit_queue_destroy(queue));
}

/* ---- waits ---- */

/* What stood before the wait runs, as does the other sub-queue; what comes after holds; and the data that the
 * first device wrote is there for the second. */
static void expect_wait(int from, int to) {
  davit_queue *a = new_queue(from, 1), *b = new_queue(to, 2);
  davit_event *event = new_event();
  atomic_int before = 0, beside = 0, after = 0;
  int64_t sent = 4711, received = 0, *there = kept_at(sizeof *there, place_for(from));
  gate *g = gate_at_head(a);
  CHECK(davit_queue_copy(a, sizeof sent, &sent, there));
  CHECK(davit_event_record(event, a));
  CHECK(davit_queue_host_function(b, set_flag, &before));
  CHECK(davit_queue_wait(b, event));
  CHECK(davit_queue_copy(b, sizeof received, there, &received));
  CHECK(davit_queue_host_function(b, set_flag, &after));
  CHECK(davit_queue_set_subqueue(b, 1));
  CHECK(davit_queue_host_function(b, set_flag, &beside));
  assert_true(flag_rises(&before));
  assert_true(flag_rises(&beside));
  sleep_ms(HOLD_MS);
  assert_int_equal(after, 0);
  gate_open(g);
  CHECK(davit_queue_synchronize(b));
  assert_int_equal(after, 1);
  assert_int_equal(received, 4711);
  DESTROY(a, b);
}

CASE(test_wait_between_all_devices) {
  EACH_DEVICE(from)
    EACH_DEVICE(to)
      expect_wait(from, to);
}

/* A wait between sub-queues of one queue, both ways in turn: a chain that zigzags. */
CASE(test_wait_between_subqueues) {
  enum { ROUNDS = 100 };
  davit_queue *queue = new_queue(DAVIT_CURRENT, 2);
  davit_event *events[ROUNDS];
  int64_t cells[ROUNDS + 1] = {1};
  for (int i = 0; i < ROUNDS; i++) {
    events[i] = new_event();
    CHECK(davit_queue_set_subqueue(queue, i % 2));
    if (i > 0)
      CHECK(davit_queue_wait(queue, events[i - 1]));
    if (i == 0)
      CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)HOLD_MS));
    CHECK(davit_queue_copy(queue, sizeof *cells, &cells[i], &cells[i + 1]));
    CHECK(davit_event_record(events[i], queue));
  }
  CHECK(davit_event_synchronize(events[ROUNDS - 1]));
  assert_int_equal(cells[ROUNDS], 1);
  CHECK(davit_queue_destroy(queue));
}

enum { FAN = 8 };

CASE(test_fan_out) {
  int devices[MAX_PLACES], count = all_devices(devices);
  for (int i = 0; i < count; i++) {
    davit_queue *source = new_queue(devices[i], 1), *sinks[FAN];
    davit_event *event = new_event();
    atomic_int released = 0;
    gate *g = gate_at_head(source);
    CHECK(davit_event_record(event, source));
    for (int j = 0; j < FAN; j++) {
      sinks[j] = new_queue(devices[(i + j) % count], 1);
      CHECK(davit_queue_wait(sinks[j], event));
      CHECK(davit_queue_wait(sinks[j], event)); /* twice is as good as once */
      CHECK(davit_queue_host_function(sinks[j], add_one, &released));
    }
    sleep_ms(HOLD_MS);
    assert_int_equal(released, 0);
    gate_open(g);
    for (int j = 0; j < FAN; j++)
      CHECK(davit_queue_destroy(sinks[j]));
    assert_int_equal(released, FAN);
    CHECK(davit_queue_destroy(source));
  }
}

/* Eight sources, MANY events of each: the sink holds until the last gate is open, whichever that is. */
static void expect_fan_in(int sink_device, const int *devices, int count, int last) {
  enum { MANY = 13 };
  davit_queue *sink = new_queue(sink_device, 1), *sources[FAN];
  gate *gates[FAN];
  davit_event *events[FAN][MANY];
  atomic_int released = 0;
  for (int i = 0; i < FAN; i++) {
    sources[i] = new_queue(devices[i % count], 1);
    gates[i] = gate_at_head(sources[i]);
    for (int j = 0; j < MANY; j++) {
      events[i][j] = new_event();
      CHECK(davit_event_record(events[i][j], sources[i]));
      CHECK(davit_queue_wait(sink, events[i][j]));
    }
  }
  CHECK(davit_queue_host_function(sink, set_flag, &released));
  for (int i = 0; i < FAN; i++)
    if (i != last)
      gate_open(gates[i]);
  sleep_ms(HOLD_MS);
  assert_int_equal(released, 0);
  gate_open(gates[last]);
  CHECK(davit_queue_destroy(sink));
  assert_int_equal(released, 1);
  for (int i = 0; i < FAN; i++)
    CHECK(davit_queue_destroy(sources[i]));
}

CASE(test_fan_in) {
  int devices[MAX_PLACES], count = all_devices(devices);
  EACH_DEVICE(device)
    for (int last = 0; last < FAN; last++)
      expect_fan_in(device, devices, count, last);
}

/* ---- errors ---- */

CASE(test_error_state) {
  davit_event *event = new_event();
  EACH_DEVICE(device) {
    davit_queue *queue = new_queue(device, 1);
    CHECK(davit_queue_host_function(queue, always_fail, NULL));
    CHECK(davit_event_record(event, queue));
    CHECK_FAILS(davit_event_synchronize(event), DAVIT_WORK_FAILED, FAILURE_WORDS);
    assert_int_equal(state_of(event), DAVIT_EVENT_ERROR);
    CHECK_FAILS(davit_event_check(event), DAVIT_INVALID_STATE, "error");
    CHECK_FAILS(davit_event_synchronize(event), DAVIT_WORK_FAILED, FAILURE_WORDS);
    CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_WORK_FAILED, FAILURE_WORDS);
    assert_int_equal(state_of(event), DAVIT_EVENT_ERROR); /* the queue goes on, the event stays as it is */
    CHECK_FAILS(davit_event_reset(event), DAVIT_WORK_FAILED, FAILURE_WORDS);
    assert_int_equal(state_of(event), DAVIT_EVENT_UNRECORDED);
    CHECK(davit_event_record(event, queue));
    CHECK(davit_event_synchronize(event));
    CHECK(davit_event_soft_reset(event));
    CHECK(davit_queue_destroy(queue));
  }
}

/* ---- many ---- */

static size_t heap_bytes(void) {
  return mallinfo2().uordblks;
}

/* One event goes round all devices; what is in use afterwards is what was in use after the first rounds. */
CASE(test_reuse_does_not_leak) {
  enum { CYCLES = 10000, WARM_UP = 1000 };
  int devices[MAX_PLACES], count = all_devices(devices);
  davit_queue *queues[MAX_PLACES];
  davit_event *event = new_event();
  size_t before = 0;
  int cycles = scaled(CYCLES);
  for (int i = 0; i < count; i++)
    queues[i] = new_queue(devices[i], 1);
  for (int i = 0; i < WARM_UP + cycles; i++) {
    if (i == WARM_UP)
      before = heap_bytes();
    CHECK(davit_event_record(event, queues[i % count]));
    CHECK(davit_queue_wait(queues[(i + 1) % count], event));
    CHECK(i % 3 ? davit_event_reset(event) : davit_event_soft_reset(event));
  }
  for (int i = 0; i < count; i++)
    CHECK(davit_queue_synchronize(queues[i]));
  size_t after = heap_bytes();
  if (after > before + 256 * 1024)
    print_error("%zu bytes more after %d cycles\n", after - before, cycles);
  assert_true(after <= before + 256 * 1024);
  for (int i = 0; i < count; i++)
    CHECK(davit_queue_destroy(queues[i]));
}

static davit_status count_up(void *counter) {
  ++*(int *)counter;
  return DAVIT_SUCCESS;
}

/* Steps of a chain over several queues, all pending at first, take no further memory while they run. */
CASE(test_a_long_chain_takes_no_more_than_its_commands) {
  enum { STEPS = 20000, QUEUES = 8 };
  davit_queue *queues[QUEUES];
  davit_event *events[QUEUES];
  const int steps = scaled(STEPS);
  int counter = 0;
  for (int i = 0; i < QUEUES; i++) {
    queues[i] = new_queue(DAVIT_HOST, 1);
    events[i] = new_event();
  }
  gate *g = gate_at_head(queues[0]);
  for (int i = 0; i < steps; i++) {
    if (i > 0)
      CHECK(davit_queue_wait(queues[i % QUEUES], events[(i - 1) % QUEUES]));
    CHECK(davit_queue_host_function(queues[i % QUEUES], count_up, &counter));
    CHECK(davit_event_record(events[i % QUEUES], queues[i % QUEUES]));
  }
  const size_t pending = heap_bytes();
  gate_open(g);
  for (int i = 0; i < QUEUES; i++)
    CHECK(davit_queue_synchronize(queues[i]));
  const size_t after = heap_bytes();
  assert_int_equal(counter, steps);
  if (after > pending + 1024 * 1024)
    print_error("%zu bytes more after %d steps\n", after - pending, steps);
  assert_true(after <= pending + 1024 * 1024);
  for (int i = 0; i < QUEUES; i++)
    CHECK(davit_queue_destroy(queues[i]));
}

typedef struct many_waiters {
  davit_event *event;
  atomic_int *done;
  int wrong;
} many_waiters;

static void *wait_here(void *argument) {
  many_waiters *w = argument;
  w->wrong = davit_event_synchronize(w->event) != DAVIT_SUCCESS || !atomic_load(w->done);
  return NULL;
}

CASE(test_many_threads_wait) {
  enum { THREADS = 12 };
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  davit_event *event = new_event();
  atomic_int done = 0;
  gate *g = gate_at_head(queue);
  CHECK(davit_queue_host_function(queue, set_flag, &done));
  CHECK(davit_event_record(event, queue));
  many_waiters waiters[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    waiters[i] = (many_waiters){event, &done, 0};
    threads[i] = start_thread(wait_here, &waiters[i]);
  }
  sleep_ms(HOLD_MS);
  gate_open(g);
  for (int i = 0; i < THREADS; i++) {
    join_thread(threads[i]);
    assert_int_equal(waiters[i].wrong, 0);
  }
  assert_int_equal(state_of(event), DAVIT_EVENT_CHECKED);
  CHECK(davit_queue_destroy(queue));
}
