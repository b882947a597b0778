/* SPDX-License-Identifier: Apache-2.0 */
/* Timers: points on one queue, on two, on two devices, and what is said when a point is missing. */
#include "tests/support.h"

/* A nap that notes how long it really took: a busy machine oversleeps. */
typedef struct nap {
  int milliseconds;
  double took;
} nap;

static davit_status measured_nap(void *argument) {
  nap *n = argument;
  double start = now_ms();
  sleep_ms(n->milliseconds);
  n->took = now_ms() - start;
  return DAVIT_SUCCESS;
}

/* What lies between the two points is no shorter than the nap, and no longer than all around them; a device's
 * clock may go slightly slower or faster than the host's. */
static void expect_truth(davit_queue *start, davit_queue *stop, davit_event *link) {
  const double clock = 1.001, resolution = 0.1;
  davit_timer *timer = NULL;
  CHECK(davit_timer_create(&timer));
  nap n = {20, 0};
  double elapsed = 0, before = now_ms();
  CHECK(davit_timer_start(timer, start));
  CHECK(davit_queue_host_function(start, measured_nap, &n));
  CHECK(davit_event_record(link, start));
  CHECK(davit_queue_wait(stop, link));
  CHECK(davit_timer_stop(timer, stop));
  CHECK(davit_timer_elapsed(timer, &elapsed));
  assert_true(elapsed * clock >= n.took - resolution);
  assert_true(elapsed <= (now_ms() - before) * clock + resolution);
  CHECK(davit_event_reset(link));
  CHECK(davit_timer_destroy(timer));
}

CASE(test_sleep_on_every_pair_of_devices) {
  davit_event *link = new_event();
  EACH_DEVICE(i)
    EACH_DEVICE(j) {
      davit_queue *from = new_queue(i, 1), *to = new_queue(j, 1);
      expect_truth(from, to, link);
      if (i == j)
        expect_truth(from, from, link);
      DESTROY(from, to);
    }
}

CASE(test_missing_points) {
  davit_timer *timer = NULL;
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  double elapsed = -1;
  CHECK(davit_timer_create(&timer));
  CHECK(davit_timer_elapsed(timer, &elapsed));
  assert_true(elapsed == 0);
  CHECK(davit_timer_start(timer, queue));
  elapsed = -1;
  CHECK_FAILS(davit_timer_elapsed(timer, &elapsed), DAVIT_INVALID_STATE, "not stopped");
  assert_true(elapsed == -1);
  CHECK(davit_timer_stop(timer, queue));
  CHECK(davit_timer_elapsed(timer, &elapsed));
  assert_true(elapsed >= 0 && elapsed < 1e3);
  CHECK(davit_timer_start(timer, queue)); /* a new measurement: the old stop does not count */
  CHECK_FAILS(davit_timer_elapsed(timer, &elapsed), DAVIT_INVALID_STATE, "not stopped");
  CHECK(davit_timer_destroy(timer));
  CHECK(davit_queue_destroy(queue));
}

/* elapsed waits for a stop that is held up, and starting anew while an old measurement is pending is safe. */
CASE(test_restart_while_pending) {
  davit_timer *timer = NULL;
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  CHECK(davit_timer_create(&timer));
  gate *g = gate_at_head(queue);
  for (int i = 0; i < 10; i++) {
    CHECK(davit_timer_start(timer, queue));
    CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)(i == 9 ? 15 : 0)));
    CHECK(davit_timer_stop(timer, queue));
  }
  gate_open(g);
  double elapsed = 0;
  CHECK(davit_timer_elapsed(timer, &elapsed));
  assert_true(elapsed >= 14.9);
  CHECK(davit_timer_start(timer, queue));
  CHECK(davit_timer_stop(timer, queue));
  CHECK(davit_timer_destroy(timer)); /* with both points still to come, perhaps */
  CHECK(davit_queue_destroy(queue));
}

CASE(test_error_and_arguments) {
  davit_timer *timer = NULL;
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  double elapsed = 0;
  CHECK(davit_timer_create(&timer));
  CHECK(davit_timer_destroy(NULL));
  CHECK(davit_timer_start(timer, queue));
  CHECK(davit_queue_host_function(queue, always_fail, NULL));
  CHECK(davit_timer_stop(timer, queue));
  CHECK_FAILS(davit_timer_elapsed(timer, &elapsed), DAVIT_WORK_FAILED, FAILURE_WORDS);
  CHECK_FAILS(davit_queue_destroy(queue), DAVIT_WORK_FAILED, FAILURE_WORDS);
  CHECK(davit_timer_destroy(timer));
}
