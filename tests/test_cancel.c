/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that end inside davit (docs/threads.md): a call is no cancellation point, so a thread that is cancelled while
 * it waits goes on until the call has returned; a function that a queue runs and that ends its thread has failed, and
 * its queue and all others go on. */
#include "tests/support.h"

#include "src/runtime/lane.h"

static int turns(void) {
  return scaled(1000);
}

/* ---- threads of the program that are cancelled while they wait ---- */

typedef struct waiter {
  davit_queue *queue;
  davit_event *event;
  davit_timer *timer;
  void (*wait)(struct waiter *w);
  double *x;
  atomic_int begun, returned;
} waiter;

static void wait_for_queue(waiter *w) {
  CHECK(davit_queue_synchronize(w->queue));
}

static void wait_for_event(waiter *w) {
  CHECK(davit_event_synchronize(w->event));
}

static void reset_event(waiter *w) {
  CHECK(davit_event_reset(w->event));
}

static void wait_for_device(waiter *w) {
  CHECK(davit_device_synchronize(DAVIT_HOST));
  (void)w;
}

static void wait_for_timer(waiter *w) {
  double elapsed;
  CHECK(davit_timer_elapsed(w->timer, &elapsed));
}

static void destroy_queue(waiter *w) {
  CHECK(davit_queue_destroy(w->queue));
  w->queue = NULL;
}

/* Behind the gate's queue, by a queue of its own that waits for the event. */
static void wait_for_other_queue(waiter *w) {
  davit_queue *other = new_queue(DAVIT_HOST, 1);
  CHECK(davit_queue_wait(other, w->event));
  finish(other);
}

static void *wait_to_be_cancelled(void *argument) {
  waiter *w = argument;
  set_flag(&w->begun);
  w->wait(w);
  set_flag(&w->returned);
  for (;;)
    pthread_testcancel();
}

/* After `nap` turns of the processor the thread is cancelled; the queue goes on a moment later. */
static void cancel_in(void (*wait)(waiter *w), int nap) {
  SCOPE;
  waiter w = {.queue = new_queue(DAVIT_HOST, 1), .event = new_event(), .wait = wait};
  CHECK(davit_timer_create(&w.timer));
  CHECK(davit_timer_start(w.timer, w.queue));
  gate *closed = gate_at_head(w.queue);
  CHECK(davit_event_record(w.event, w.queue));
  CHECK(davit_timer_stop(w.timer, w.queue));
  const pthread_t thread = start_thread(wait_to_be_cancelled, &w);
  assert_true(flag_rises(&w.begun));
  const double end = now_ms() + 1e-2 * nap;
  while (now_ms() < end)
    ;
  assert_int_equal(pthread_cancel(thread), 0);
  gate_open(closed);
  assert_ptr_equal(join_thread(thread), PTHREAD_CANCELED);
  assert_int_equal(w.returned, 1);
  if (w.queue)
    finish(w.queue);
  CHECK(davit_timer_destroy(w.timer));
}

CASE(threads_that_wait_are_cancelled_after_the_call) {
  static void (*const waits[])(waiter *) = {wait_for_queue,      wait_for_event, reset_event,
                                            wait_for_device,     wait_for_timer, destroy_queue,
                                            wait_for_other_queue};
  for (int i = 0; i < turns(); i++)
    cancel_in(waits[i % COUNT(waits)], i % 50);
}

/* Loops, their turns, and BLIS. */
enum { N = 200000, ORDER = 200 };

static void compute(waiter *w) {
  double sum = 0;
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, N, w->x, &sum, NULL));
  CHECK(davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, N, w->x, w->x + N, NULL));
  CHECK(davit_dgemm('N', 'N', ORDER, ORDER, ORDER, 1, w->x, ORDER, w->x, ORDER, 0, w->x + N, ORDER, NULL));
  assert_true(sum == (double)N && w->x[N] == (double)ORDER);
}

CASE(threads_that_compute_are_cancelled_after_the_call) {
  waiter w[3];
  for (int i = 0; i < COUNT(w); i++) {
    w[i] = (waiter){.wait = compute, .x = kept(2 * N * sizeof(double))};
    for (int k = 0; k < N; k++)
      w[i].x[k] = 1;
  }
  for (int turn = 0; turn < scaled(100); turn++) {
    pthread_t threads[COUNT(w)];
    for (int i = 0; i < COUNT(w); i++) {
      w[i].returned = 0;
      threads[i] = start_thread(wait_to_be_cancelled, &w[i]);
    }
    sleep_ms(turn % 3);
    for (int i = 0; i < COUNT(w); i++)
      assert_int_equal(pthread_cancel(threads[i]), 0);
    for (int i = 0; i < COUNT(w); i++) {
      assert_ptr_equal(join_thread(threads[i]), PTHREAD_CANCELED);
      assert_int_equal(w[i].returned, 1);
    }
  }
  compute(&w[0]);
}

/* ---- functions that end their thread ---- */

static const char words[] = "a function that the queue ran has ended its thread";

static davit_status end_thread(void *unused) {
  (void)unused;
  pthread_exit(NULL);
}

static davit_status end_thread_of_region(int device, void *unused) {
  (void)device;
  return end_thread(unused);
}

static davit_status cancel_itself(void *unused) {
  (void)unused;
  pthread_cancel(pthread_self());
  return DAVIT_SUCCESS;
}

/* The other work of the thread: a second queue, and a record of the first. */
static void fails_and_goes_on(davit_status (*enqueue)(davit_queue *queue)) {
  SCOPE;
  davit_queue *queue = new_queue(DAVIT_HOST, 1), *other = new_queue(DAVIT_HOST, 1);
  davit_event *event = new_event(), *later = new_event();
  atomic_int done = 0;
  CHECK(davit_queue_host_function(queue, add_one, (void *)&done));
  CHECK(enqueue(queue));
  CHECK(davit_queue_host_function(queue, add_one, (void *)&done)); /* is skipped */
  CHECK(davit_event_record(event, queue));
  CHECK(davit_queue_wait(other, event));
  CHECK(davit_event_record(later, other));
  CHECK_FAILS(davit_event_synchronize(later), DAVIT_WORK_FAILED, words);
  CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_WORK_FAILED, words);
  CHECK_FAILS(davit_queue_synchronize(other), DAVIT_WORK_FAILED, words);
  assert_int_equal(done, 1);
  CHECK(davit_queue_host_function(queue, add_one, (void *)&done));
  CHECK(davit_queue_synchronize(queue));
  assert_int_equal(done, 2);
  CHECK(enqueue(queue));
  CHECK_FAILS(davit_queue_destroy(queue), DAVIT_WORK_FAILED, words);
  finish(other);
}

/* On the thread that generates all tasks, which goes on. */
static davit_status end_generator(const davit_region_site *site, void *unused) {
  (void)site;
  return end_thread(unused);
}

static davit_status enqueue_end(davit_queue *queue) {
  return davit_queue_host_function(queue, end_thread, NULL);
}

static davit_status enqueue_cancel(davit_queue *queue) {
  return davit_queue_host_function(queue, cancel_itself, NULL);
}

static davit_status enqueue_region(davit_queue *queue) {
  return davit_queue_region(queue, end_thread_of_region, NULL);
}

static davit_status enqueue_nowait_region(davit_queue *queue) {
  return davit_queue_region_nowait(queue, end_generator, NULL);
}

CASE(a_function_that_ends_its_thread_has_failed) {
  for (int i = 0; i < scaled(100); i++) {
    fails_and_goes_on(enqueue_end);
    fails_and_goes_on(enqueue_cancel);
    fails_and_goes_on(enqueue_region);
    fails_and_goes_on(enqueue_nowait_region);
  }
}

/* A host function blocks, and another thread cancels it. */
typedef struct victim {
  pthread_t thread;
  atomic_int there;
} victim;

static davit_status block_for_ever(void *argument) {
  victim *v = argument;
  v->thread = pthread_self();
  set_flag(&v->there);
  for (;;)
    sleep_ms(1000);
}

CASE(a_host_function_may_be_cancelled) {
  for (int i = 0; i < scaled(100); i++) {
    victim v = {.there = 0};
    davit_queue *queue = new_queue(i % 2 ? DAVIT_HOST : DAVIT_CURRENT, 1);
    CHECK(davit_queue_host_function(queue, block_for_ever, &v));
    assert_true(flag_rises(&v.there));
    assert_int_equal(pthread_cancel(v.thread), 0);
    CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_WORK_FAILED, words);
    finish(queue);
  }
}
