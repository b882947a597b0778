/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of the device runtime, without a GPU. A callback must call neither the device nor anything that
 * waits. */
#include "tests/stream.h"

#include "src/base/inject.h"

static void stand_at(void *g) {
  gate_pass(g);
}

static davit_status place_gate(const dvt_site *site, const void *arguments) {
  push(site->stream, (item){.run = stand_at, .argument = *(gate *const *)arguments});
  return DAVIT_SUCCESS;
}

/* A host function behind work of the stream is handed to a thread in a callback. Where none can be made, or
 * its description finds no memory, the event behind it still fails in order, and the queue goes on. */
static void fail_in_callback(dvt_injection kind, davit_status status, const char *words) {
  atomic_int ran = 0;
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  davit_event *event = new_event();
  gate *g = gate_new();
  const int before = atomic_load(&device_calls.notifications);
  CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, place_gate, &g, sizeof g));
  CHECK(davit_queue_host_function(queue, add_one, &ran));
  CHECK(davit_event_record(event, queue));
  const double end = patience_ends_ms();
  while (atomic_load(&device_calls.notifications) == before && now_ms() < end)
    sleep_ms(1);
  assert_int_equal(atomic_load(&device_calls.notifications), before + 1);
  dvt_inject(kind, 1);
  gate_open(g);
  CHECK_FAILS(davit_event_synchronize(event), status, words);
  CHECK_FAILS(davit_queue_synchronize(queue), status, words);
  assert_int_equal(atomic_load(&device_calls.in_callbacks), 0);
  assert_int_equal(ran, 0);
  CHECK(davit_queue_host_function(queue, add_one, &ran));
  CHECK(davit_queue_synchronize(queue));
  assert_int_equal(ran, 1);
  CHECK(davit_queue_destroy(queue));
  CHECK(davit_finalize()); /* no thread is left that could be used again */
}

CASE(test_no_thread_in_a_callback) {
  for (int i = 0; i < scaled(50); i++) {
    fail_in_callback(DVT_INJECT_THREAD, DAVIT_INTERNAL_ERROR, "no thread can be made");
    fail_in_callback(DVT_INJECT_HOST_MEMORY, DAVIT_OUT_OF_HOST_MEMORY, "no host memory");
  }
}

int main(void) {
  return run_cases(give_host_streams, finalize);
}
