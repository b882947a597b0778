/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of a queue's work: what they stop, who reports them, and how they travel with events. */
#include "tests/support.h"

CASE(test_error_stops_its_subqueue) {
  EACH_DEVICE(device) {
    davit_queue *queue = new_queue(device, 2);
    davit_event *before = new_event(), *after = new_event();
    atomic_int skipped = 0, beside = 0;
    int64_t source = 1, destination = 0;
    CHECK(davit_event_record(before, queue));
    CHECK(davit_queue_host_function(queue, always_fail, NULL));
    CHECK(davit_queue_host_function(queue, set_flag, &skipped));
    CHECK(davit_queue_copy(queue, sizeof source, &source, &destination));
    CHECK(davit_event_record(after, queue));
    CHECK(davit_queue_set_subqueue(queue, 1));
    CHECK(davit_queue_host_function(queue, set_flag, &beside));
    CHECK_FAILS(davit_event_synchronize(after), DAVIT_WORK_FAILED, FAILURE_WORDS);
    assert_int_equal(state_of(after), DAVIT_EVENT_ERROR);
    CHECK(davit_event_synchronize(before));
    CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_WORK_FAILED, FAILURE_WORDS);
    assert_int_equal(skipped, 0);
    assert_int_equal(destination, 0);
    assert_int_equal(beside, 1);
    CHECK(davit_queue_synchronize(queue)); /* said once */
    CHECK(davit_queue_set_subqueue(queue, 0));
    CHECK(davit_queue_host_function(queue, set_flag, &skipped));
    CHECK(davit_queue_synchronize(queue));
    assert_int_equal(skipped, 1);
    CHECK(davit_queue_host_function(queue, always_fail, NULL));
    CHECK_FAILS(davit_queue_destroy(queue), DAVIT_WORK_FAILED, FAILURE_WORDS);
  }
}

static davit_status fail_silently(void *unused) {
  (void)unused;
  return DAVIT_UNSUPPORTED;
}

static davit_status region_fails(int device, void *unused) {
  (void)unused;
  return davit_fail(DAVIT_WORK_FAILED, "no room on %d", device);
}

CASE(test_first_error_counts) {
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  CHECK(davit_queue_host_function(queue, fail_silently, NULL));
  CHECK(davit_queue_host_function(queue, always_fail, NULL));
  CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_UNSUPPORTED, davit_status_string(DAVIT_UNSUPPORTED));
  CHECK(davit_queue_region(queue, region_fails, NULL));
  CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_WORK_FAILED, "no room on");
  CHECK(davit_queue_destroy(queue));
}

/* a fails, b waits for a's event, c for b's. */
CASE(test_error_travels_with_events) {
  for (int from = DAVIT_HOST; from < device_count(); from++)
    for (int to = DAVIT_HOST; to < device_count(); to++) {
      davit_queue *a = new_queue(from, 1), *b = new_queue(to, 1), *c = new_queue(from, 1);
      davit_event *ab = new_event(), *bc = new_event();
      atomic_int b_before = 0, b_after = 0, c_after = 0;
      gate *g = gate_at_head(a);
      CHECK(davit_queue_host_function(a, always_fail, NULL));
      CHECK(davit_event_record(ab, a));
      CHECK(davit_queue_host_function(b, set_flag, &b_before));
      CHECK(davit_queue_wait(b, ab));
      CHECK(davit_queue_host_function(b, set_flag, &b_after));
      CHECK(davit_event_record(bc, b));
      CHECK(davit_queue_wait(c, bc));
      CHECK(davit_queue_host_function(c, set_flag, &c_after));
      gate_open(g);
      CHECK_FAILS(davit_queue_synchronize(c), DAVIT_WORK_FAILED, FAILURE_WORDS);
      CHECK_FAILS(davit_queue_synchronize(b), DAVIT_WORK_FAILED, FAILURE_WORDS);
      CHECK_FAILS(davit_queue_synchronize(a), DAVIT_WORK_FAILED, FAILURE_WORDS);
      assert_int_equal(b_before, 1);
      assert_int_equal(b_after, 0);
      assert_int_equal(c_after, 0);
      CHECK(davit_queue_host_function(b, set_flag, &b_after));
      CHECK(davit_queue_host_function(c, set_flag, &c_after));
      DESTROY(a, b, c);
      assert_int_equal(b_after + c_after, 2);
    }
}

CASE(test_device_check_does_not_wait) {
  EACH_DEVICE(device) {
    davit_queue *queue = new_queue(device, 2);
    gate *g = gate_at_head(queue);
    CHECK(davit_queue_host_function(queue, always_fail, NULL));
    CHECK(davit_device_check(device));
    gate_open(g);
    davit_status found = DAVIT_SUCCESS;
    for (double end = patience_ends_ms(); found == DAVIT_SUCCESS && now_ms() < end; sleep_ms(1))
      found = davit_device_check(device);
    assert_int_equal(found, DAVIT_WORK_FAILED);
    CHECK_FAILS(davit_device_check(device), DAVIT_WORK_FAILED, FAILURE_WORDS); /* it stays */
    CHECK_FAILS(davit_device_synchronize(device), DAVIT_WORK_FAILED, FAILURE_WORDS);
    CHECK(davit_device_check(device));
    CHECK(davit_queue_destroy(queue));
  }
}
