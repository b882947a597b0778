/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of lanes with streams, without a GPU: what the device's clock says. */
#include "tests/events.h"
#include "tests/stream.h"

#include <unistd.h>

#define JUST_US 0.002 /* what printing rounds away */

static char path[64];

typedef struct job {
  gate *at;
  int nap_ms;
  double begin_us, end_us; /* on the host's clock */
} job;

static void do_job(void *argument) {
  job *j = argument;
  j->begin_us = 1e3 * now_ms();
  if (j->at)
    gate_pass(j->at);
  sleep_ms(j->nap_ms);
  j->end_us = 1e3 * now_ms();
}

static davit_status place_job(const dvt_site *site, const void *arguments) {
  push(site->stream, (item){.run = do_job, .argument = *(job *const *)arguments});
  return DAVIT_SUCCESS;
}

static void enqueue_job(davit_queue *queue, const char *label, job *j) {
  CHECK(davit_queue_label(queue, label));
  CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, place_job, &j, sizeof j));
}

static trace stop_and_read(void) {
  CHECK(davit_trace_stop());
  return read_trace(path);
}

/* Half of the longest round trip with the device that the trace speaks of. */
static double accuracy_of(const trace *t) {
  double accuracy = 0;
  const traced *e;
  for (int i = 0; (e = find_event(t, 'i', "clock of the device", i)); i++)
    accuracy = e->accuracy > accuracy ? e->accuracy : accuracy;
  assert_true(accuracy > 0);
  return accuracy + JUST_US;
}

/* The device's clock is an hour ahead: an event still lies around its work on the host's clock, within the
 * accuracy that the trace has, and behind what came before it in the stream. */
CASE(events_of_streams_are_on_the_hosts_clock) {
  enum { JOBS = 20 };
  job jobs[JOBS];
  char label[16];
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  CHECK(davit_trace_start(path));
  for (int i = 0; i < JOBS; i++) {
    jobs[i] = (job){.nap_ms = i % 3};
    snprintf(label, sizeof label, "job %d", i);
    enqueue_job(queue, label, &jobs[i]);
  }
  CHECK(davit_queue_synchronize(queue));
  const trace t = stop_and_read();
  const double accuracy = accuracy_of(&t);
  check_trace(&t, accuracy);
  for (int i = 0; i < JOBS; i++) {
    snprintf(label, sizeof label, "job %d", i);
    const traced *e = the_event(&t, 'X', label);
    assert_string_equal(e->category, "stream");
    assert_true(e->ts <= jobs[i].begin_us + accuracy && e->end >= jobs[i].end_us - accuracy);
    if (i > 0)
      assert_true(e->ts >= jobs[i - 1].end_us - accuracy);
    if (i < JOBS - 1)
      assert_true(e->end <= jobs[i + 1].begin_us + accuracy);
  }
  CHECK(davit_queue_destroy(queue));
}

/* A wait in a stream lasts until the record of the other stream, and its arrow comes from there. */
CASE(waits_in_streams_last_until_the_record) {
  davit_queue *first = new_queue(DAVIT_HOST, 1), *second = new_queue(DAVIT_HOST, 1);
  davit_event *event = new_event();
  job slow = {.at = gate_new()}, after = {0}, before = {0};
  CHECK(davit_trace_start(path));
  enqueue_job(second, "before", &before);
  enqueue_job(first, "slow", &slow);
  CHECK(davit_event_record(event, first));
  CHECK(davit_queue_wait(second, event));
  enqueue_job(second, "after", &after);
  assert_true(gate_reached(slow.at, 1));
  sleep_ms(20);
  gate_open(slow.at);
  CHECK(davit_queue_synchronize(second));
  const trace t = stop_and_read();
  const double accuracy = accuracy_of(&t);
  check_trace(&t, accuracy);
  const traced *wait = the_event(&t, 'X', "wait");
  assert_true(wait->end >= slow.end_us - accuracy && wait->end <= after.begin_us + accuracy);
  DESTROY(first, second);
}

/* Work of two streams overlaps: each waits for the other to have begun. */
CASE(streams_overlap) {
  gate *meeting = meeting_new(2);
  job one = {.at = meeting, .nap_ms = 1}, two = {.at = meeting, .nap_ms = 1};
  davit_queue *queue = new_queue(DAVIT_HOST, 2);
  CHECK(davit_trace_start(path));
  enqueue_job(queue, "one", &one);
  CHECK(davit_queue_set_subqueue(queue, 1));
  enqueue_job(queue, "two", &two);
  CHECK(davit_queue_synchronize(queue));
  const trace t = stop_and_read();
  const traced *a = the_event(&t, 'X', "one"), *b = the_event(&t, 'X', "two");
  assert_true(a->row != b->row && a->ts < b->end && b->ts < a->end);
  CHECK(davit_queue_destroy(queue));
}

/* Host functions behind work of the stream, on one row. */
CASE(rows_of_streams_and_threads_are_in_order) {
  enum { STEPS = 100 };
  static job jobs[STEPS];
  davit_queue *queue = new_queue(DAVIT_HOST, 1), *other = new_queue(DAVIT_HOST, 1);
  davit_event *event = new_event();
  CHECK(davit_trace_start(path));
  for (int i = 0; i < STEPS; i++) {
    enqueue_job(i % 3 ? queue : other, "job", &jobs[i]);
    if (i % 2 == 0)
      CHECK(davit_queue_host_function(queue, take_a_nap, NULL));
    if (i % 5 == 0) {
      CHECK(davit_event_record(event, i % 2 ? queue : other));
      CHECK(davit_queue_wait(i % 2 ? other : queue, event));
    }
  }
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_queue_synchronize(other));
  const trace t = stop_and_read();
  check_trace(&t, accuracy_of(&t));
  assert_non_null(find_event(&t, 'X', "job", STEPS + STEPS / 2 - 2)); /* the label names the functions, too */
  DESTROY(queue, other);
}

/* A trace that ends while the stream works leaves out what is not over, and lets its marks go. */
CASE(a_trace_ends_while_a_stream_works) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  job done = {0}, held = {.at = gate_new()};
  CHECK(davit_trace_start(path));
  enqueue_job(queue, "done", &done);
  enqueue_job(queue, "held", &held);
  assert_true(gate_reached(held.at, 1));
  const trace t = stop_and_read();
  the_event(&t, 'X', "done");
  assert_null(find_event(&t, 'X', "held", 0));
  gate_open(held.at);
  CHECK(davit_queue_destroy(queue));
}

static int begin(void **state) {
  snprintf(path, sizeof path, "/tmp/davit-trace-stream-%ld.json", (long)getpid());
  return give_host_streams(state);
}

static int end(void **state) {
  unlink(path);
  return finalize(state);
}

int main(void) {
  return run_cases(begin, end);
}
