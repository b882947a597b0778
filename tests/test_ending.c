/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a process whose lanes have streams, without a GPU: when the exit handlers that come after davit's run, no
 * thread is in the device's calls or begins one (src/base/ending.h). */
#include "tests/stream.h"

#include <unistd.h>

#include "offload/runtime/region.h"
#include "src/base/ending.h"

enum { ALARM_S = 15, THREADS = 3 };

static void nap(void *unused) {
  (void)unused;
  sleep_ms(1);
}

static davit_status place_nap(const dvt_site *site, const void *unused) {
  (void)unused;
  device_call();
  push(site->stream, (item){.run = nap});
  return DAVIT_SUCCESS;
}

/* Streams, events, host functions between them, waits and memory, without end. */
static void *use_streams(void *unused) {
  const int none = 0;
  davit_queue *queue = new_queue(DAVIT_HOST, 2);
  davit_event *event = new_event();
  for (int i = 0;; i++) {
    CHECK(davit_queue_set_subqueue(queue, i % 2));
    CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, place_nap, &none, sizeof none));
    CHECK(davit_event_record(event, queue));
    CHECK(davit_queue_set_subqueue(queue, 1 - i % 2));
    CHECK(davit_queue_wait(queue, event));
    if (i % 3 == 0)
      CHECK(davit_queue_host_function(queue, take_a_nap, (void *)(intptr_t)1));
    if (i % 4 == 0)
      CHECK(davit_queue_synchronize(queue));
    if (i % 5 == 0)
      CHECK(davit_event_synchronize(event));
  }
  return unused;
}

static void pass_gate(void *g) {
  gate_pass(g);
}

static davit_status place_gate(const dvt_site *site, const void *arguments) {
  push(site->stream, (item){.run = pass_gate, .argument = *(gate *const *)arguments});
  return DAVIT_SUCCESS;
}

/* Asks for an event that the device never reaches. */
static void *ask_for_ever(void *unused) {
  gate *closed = gate_new();
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  davit_event *event = new_event();
  davit_event_state state;
  CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, place_gate, &closed, sizeof closed));
  CHECK(davit_event_record(event, queue));
  for (;;) {
    CHECK(davit_event_query(event, &state));
    sched_yield();
  }
  return unused;
}

static atomic_int regions;

static void nap_long(void *unused) {
  (void)unused;
  regions++;
  sleep_ms(20);
}

static davit_status emit_nap(const davit_region_site *site, void *unused) {
  dvt_region_on_host(&(dvt_region_order){site->order, NULL, 0, NULL}, nap_long, unused);
  return DAVIT_SUCCESS;
}

/* Regions that the process waits for, and tasks behind them that would call the device then. */
static void *use_regions(void *unused) {
  const int none = 0;
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  for (;;) {
    CHECK(davit_queue_region_nowait(queue, emit_nap, NULL));
    CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, place_nap, &none, sizeof none));
    CHECK(davit_queue_synchronize(queue));
  }
  return unused;
}

/* Registered before davit's own handlers, so it comes after them, as the driver's do. */
static void no_call_is_made(void) {
  const int before = device_calls.all;
  sleep_ms(50);
  if (before == 0 || device_calls.all != before)
    _exit(1);
}

PROBE(main_ends_while_others_use_streams) {
  alarm(ALARM_S);
  atexit(no_call_is_made);
  give_host_streams(NULL);
  start_thread(use_regions, NULL);
  if (strcmp(getenv("DAVIT_BACKEND"), "threads") !=
      0) /* which waits in the stream, as the process would for that */
    start_thread(ask_for_ever, NULL);
  for (int i = 0; i < THREADS; i++)
    start_thread(use_streams, NULL);
  while (device_calls.all < 100 || regions < 2)
    sleep_ms(1);
  sleep_ms((int)(getpid() % 20));
  alarm(DVT_ENDING_PATIENCE_S - 2); /* all that is under way is short */
  exit(0);
}

CASE(no_call_of_a_device_is_made_any_more) {
  for (int i = 0; i < scaled(4); i++) {
    try_probe("main_ends_while_others_use_streams", "", "DAVIT_BACKEND=openmp");
    try_probe("main_ends_while_others_use_streams", "", "DAVIT_BACKEND=threads");
  }
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, NULL, NULL);
}
