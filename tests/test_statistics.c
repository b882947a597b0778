/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of waits and of calls of the back end. */
#include "tests/support.h"

#include <omp.h>
#include <pthread.h>

static davit_statistics counts(void) {
  davit_statistics now;
  CHECK(davit_statistics_read(&now));
  return now;
}

enum { HELD_MS = 30 };

typedef struct held {
  davit_queue *queue;
  davit_event *event;
  davit_timer *timer;
} held;

static davit_status by_queue(const held *h) {
  return davit_queue_synchronize(h->queue);
}

static davit_status by_device(const held *h) {
  int device;
  DVT_TRY(davit_queue_device(h->queue, &device));
  return davit_device_synchronize(device);
}

static davit_status by_event(const held *h) {
  return davit_event_synchronize(h->event);
}

static davit_status by_reset(const held *h) {
  return davit_event_reset(h->event);
}

static davit_status by_timer(const held *h) {
  double milliseconds;
  return davit_timer_elapsed(h->timer, &milliseconds);
}

/* A call that waits for work that takes HELD_MS at least counts once, and for so long. */
static void count_wait(int device, davit_status (*wait)(const held *)) {
  held h = {.queue = new_queue(device, 3), .event = new_event()};
  CHECK(davit_timer_create(&h.timer));
  CHECK(davit_timer_start(h.timer, h.queue));
  gate *g = gate_at_head(h.queue);
  CHECK(davit_event_record(h.event, h.queue));
  CHECK(davit_timer_stop(h.timer, h.queue));
  const davit_statistics before = counts();
  const double begin = now_ms();
  pthread_t opener = gate_open_later(g, HELD_MS);
  CHECK(wait(&h));
  const double took = now_ms() - begin;
  const davit_statistics after = counts();
  join_thread(opener);
  assert_int_equal(after.waits - before.waits, 1);
  const double counted = 1e3 * (after.wait_seconds - before.wait_seconds);
  assert_true(counted >= HELD_MS - 5 && counted <= took);
  CHECK(davit_timer_destroy(h.timer));
  CHECK(davit_queue_destroy(h.queue));
  assert_int_equal(counts().waits - after.waits, 1);
}

CASE(the_time_of_waits_is_counted) {
  static davit_status (*const waits[])(const held *) = {by_queue, by_device, by_event, by_reset, by_timer};
  EACH_DEVICE(device)
    for (int i = 0; i < COUNT(waits) && (i == 0 || device < 1); i++)
      count_wait(device, waits[i]);
}

/* What does not wait is no wait: a checked event, enqueueing, a wait of one queue for another. */
CASE(other_calls_are_no_waits) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1), *other = new_queue(DAVIT_HOST, 1);
  davit_event *event = new_event();
  atomic_int ran = 0;
  gate *g = gate_at_head(queue);
  const davit_statistics before = counts();
  CHECK(davit_event_record(event, queue));
  CHECK(davit_queue_wait(other, event));
  CHECK(davit_queue_host_function(other, add_one, &ran));
  assert_int_equal(state_of(event), DAVIT_EVENT_RECORDED);
  gate_open(g);
  assert_true(becomes(event, DAVIT_EVENT_COMPLETE));
  CHECK(davit_event_check(event));
  CHECK(davit_event_synchronize(event));
  assert_int_equal(counts().waits, before.waits);
  DESTROY(queue, other);
}

/* An event that is checked, or was never recorded, needs no back end. */
CASE(a_checked_event_makes_no_call_of_the_back_end) {
  EACH_DEVICE(device) {
    davit_queue *queue = new_queue(device, 1), *other = new_queue(device, 1);
    davit_event *event = new_event();
    CHECK(davit_event_record(event, queue));
    CHECK(davit_event_synchronize(event));
    const davit_statistics before = counts();
    for (int i = 0; i < 100; i++) {
      assert_int_equal(state_of(event), DAVIT_EVENT_CHECKED);
      CHECK(davit_event_synchronize(event));
      CHECK(davit_queue_wait(other, event));
    }
    assert_int_equal(counts().backend_calls, before.backend_calls);
    CHECK(davit_event_record(event, queue));
    assert_int_equal(counts().backend_calls, before.backend_calls + 1);
    DESTROY(queue, other);
  }
}

static davit_status reduce_and_scan(int64_t n, const double *x, double *y) {
  double sum = -1;
  DVT_TRY(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, n, x, &sum,
                       &(davit_reduce_options){.devices = (int[]){DAVIT_HOST}, .device_count = 1}));
  DVT_TRY(davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, n, x, y,
                     &(davit_scan_options){.devices = (int[]){DAVIT_HOST}, .device_count = 1}));
  return sum == (double)(n - 1) && y[n - 1] == (double)(n - 1) ? DAVIT_SUCCESS : DAVIT_WORK_FAILED;
}

typedef struct other_thread {
  const double *x;
  double *y;
  int64_t n;
  davit_status status;
} other_thread;

static void *on_other_thread(void *argument) {
  other_thread *o = argument;
  o->status = reduce_and_scan(o->n, o->x, o->y);
  return NULL;
}

static davit_status by_other_thread(int64_t n, const double *x, double *y) {
  other_thread o = {x, y, n, DAVIT_INTERNAL_ERROR};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, on_other_thread, &o), 0);
  pthread_join(thread, NULL);
  return o.status;
}

/* What the host computes for a plain call, the calling thread and its team compute: no call of the back end, no wait.
 * Within a parallel region it would have no team, and a thread that may end leads none. */
CASE(plain_calls_on_the_host_make_no_call_of_the_back_end) {
  enum { SHORT = 1 << 16, LONG = 1 << 20 }; /* 1 more than a multiple of 3 */
  static double x[LONG], y[LONG];
  davit_status inside = DAVIT_SUCCESS;
  for (int i = 0; i < LONG; i++)
    x[i] = i % 3;
  CHECK(davit_set_threads(2));
  const davit_statistics before = counts();
  CHECK(reduce_and_scan(SHORT, x, y));
  CHECK(reduce_and_scan(LONG, x, y));
  CHECK(davit_stencil(DAVIT_DOUBLE, 1024, 512, x, 1024, NULL, y, 1024,
                      &(davit_stencil_options){.devices = (int[]){DAVIT_HOST}, .device_count = 1}));
  double dot = 0;
  CHECK(davit_ddot(3, x, 1, x, 1, &dot,
                   &(davit_dot_options){.devices = (int[]){DAVIT_HOST}, .device_count = 1}));
  assert_true(dot == 5);
  assert_int_equal(counts().backend_calls, before.backend_calls);
  assert_int_equal(counts().waits, before.waits);
  CHECK(by_other_thread(SHORT, x, y));
  assert_int_equal(counts().backend_calls, before.backend_calls);
  CHECK(by_other_thread(LONG, x, y));
  const int64_t calls = counts().backend_calls;
  assert_true(calls > before.backend_calls);
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    inside = reduce_and_scan(LONG, x, y);
    if (inside == DAVIT_SUCCESS && omp_get_num_threads() > 1 && counts().backend_calls == calls)
      inside = DAVIT_INVALID_STATE;
  }
  CHECK(davit_set_threads(0));
  assert_int_equal(inside, DAVIT_SUCCESS);
}

/* To wait for an event that was never recorded, or was reset, does nothing, and is counted. */
CASE(waits_for_unrecorded_events_are_counted) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  davit_event *event = new_event();
  const davit_statistics before = counts();
  CHECK(davit_queue_wait(queue, event));
  CHECK(davit_event_synchronize(event));
  assert_int_equal(counts().unrecorded_waits - before.unrecorded_waits, 2);
  assert_int_equal(counts().backend_calls, before.backend_calls);
  CHECK(davit_event_record(event, queue));
  CHECK(davit_queue_wait(queue, event));
  CHECK(davit_event_reset(event));
  CHECK(davit_event_reset(event)); /* needs no recording */
  assert_int_equal(counts().unrecorded_waits - before.unrecorded_waits, 2);
  CHECK(davit_queue_wait(queue, event));
  assert_int_equal(counts().unrecorded_waits - before.unrecorded_waits, 3);
  CHECK(davit_event_record(event, NULL)); /* checked at once */
  CHECK(davit_queue_wait(queue, event));
  assert_int_equal(counts().unrecorded_waits - before.unrecorded_waits, 3);
  CHECK(davit_queue_destroy(queue));
}

/* Counts of many threads add up. */
static void *wait_often(void *queue) {
  for (int i = 0; i < 1000; i++)
    CHECK(davit_queue_synchronize(queue));
  return NULL;
}

CASE(counts_of_threads_add_up) {
  enum { THREADS = 20 };
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  pthread_t threads[THREADS];
  const davit_statistics before = counts();
  for (int i = 0; i < THREADS; i++)
    threads[i] = start_thread(wait_often, queue);
  for (int i = 0; i < THREADS; i++)
    join_thread(threads[i]);
  assert_int_equal(counts().waits - before.waits, 1000 * THREADS);
  CHECK(davit_queue_destroy(queue));
}
