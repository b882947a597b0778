/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes with streams, without a GPU. */
#include "tests/stream.h"

#include <omp.h>
#include <sys/prctl.h>

/* ---- commands of all kinds keep their order ---- */

typedef struct step {
  int64_t *cell;
  int64_t factor;
} step;

static void multiply(void *argument) {
  const step *s = argument;
  *s->cell = *s->cell * s->factor % 1000003 + 1;
}

static davit_status place(const dvt_site *site, const void *arguments) {
  push(site->stream, (item){.run = multiply, .argument = *(step *const *)arguments});
  return DAVIT_SUCCESS;
}

static davit_status on_host(void *argument) {
  multiply(argument);
  return DAVIT_SUCCESS;
}

static davit_status as_region(const davit_region_site *site, void *argument) {
  int64_t *cell = ((step *)argument)->cell, factor = ((step *)argument)->factor;
#pragma omp target nowait depend(inout : *site->order) device(site -> device) is_device_ptr(cell)            \
    firstprivate(factor)
  *cell = *cell * factor % 1000003 + 1;
  return DAVIT_SUCCESS;
}

static void enqueue(davit_queue *queue, davit_event *event, int kind, step *s) {
  switch (kind) {
  case 0:
    CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, place, &s, sizeof s));
    break;
  case 1:
    CHECK(davit_queue_host_function(queue, on_host, s));
    break;
  case 2:
    CHECK(davit_queue_region_nowait(queue, as_region, s));
    break;
  case 3:
    CHECK(davit_event_record(event, queue));
    break;
  case 4:
    CHECK(davit_queue_wait(queue, event));
    break;
  default: {
    void *interop;
    CHECK((s->factor % 2 ? davit_queue_interop : davit_queue_stream)(queue, &interop));
    push(interop, (item){.run = multiply, .argument = s});
  }
  }
}

/* What the program puts on the stream itself is among them, if `shared`. */
static void keep_order(davit_queue *queue, bool shared, uint64_t *random) {
  enum { STEPS = 2000 };
  static step steps[STEPS];
  int64_t cell = 1, expected = 1;
  davit_event *event = new_event();
  for (int i = 0; i < scaled(STEPS); i++) {
    const int kind = random_below(random, shared ? 6 : 5);
    steps[i] = (step){&cell, 2 + i % 7};
    enqueue(queue, event, kind, &steps[i]);
    if (kind < 3 || kind == 5)
      expected = expected * steps[i].factor % 1000003 + 1;
    if (random_below(random, 200) == 0) {
      CHECK(davit_queue_synchronize(queue));
      assert_int_equal(cell, expected);
    }
  }
  if (random_below(random, 2))
    CHECK(davit_queue_synchronize(queue));
  CHECK(davit_queue_destroy(queue));
  assert_int_equal(cell, expected);
}

CASE(commands_of_all_kinds_keep_their_order) {
  uint64_t random = 7;
  for (int round = 0; round < 10; round++)
    keep_order(new_queue(DAVIT_HOST, 1), false, &random);
}

CASE(work_of_the_program_keeps_its_place) {
  uint64_t random = 8;
  for (int round = 0; round < 10; round++)
    keep_order(new_queue(DAVIT_HOST, 1), true, &random);
}

CASE(a_queue_works_on_a_stream_of_the_programs) {
  uint64_t random = 9;
  for (int round = 0; round < 10; round++) {
    dvt_stream *own = new_stream();
    davit_queue *queue;
    davit_queue_options options = {.subqueues = round % 2};
    *(round % 3 ? &options.stream : &options.interop) = own;
    CHECK(davit_queue_create(DAVIT_HOST, &queue, &options));
    keep_order(queue, true, &random);
  }
}

static void count_late(void *ran) {
  sleep_ms(1);
  atomic_fetch_add((atomic_int *)ran, 1);
}

/* A queue that has nothing of its own to do waits for its stream all the same. */
CASE(a_queue_waits_for_a_stream_of_the_programs) {
  dvt_stream *own = new_stream();
  davit_queue *queue;
  atomic_int ran = 0;
  CHECK(davit_queue_create(DAVIT_HOST, &queue, &(davit_queue_options){.stream = own}));
  for (int i = 1; i <= 20; i++) {
    push(own, (item){.run = count_late, .argument = &ran});
    CHECK(davit_queue_synchronize(queue));
    assert_int_equal(ran, i);
  }
  push(own, (item){.run = count_late, .argument = &ran});
  CHECK(davit_queue_destroy(queue));
  assert_int_equal(ran, 21);
}

/* ---- calls of the device ---- */

static int64_t backend_calls(void) {
  davit_statistics now;
  CHECK(davit_statistics_read(&now));
  return now.backend_calls;
}

static void stand_at(void *g) {
  gate_pass(g);
}

static davit_status place_gate(const dvt_site *site, const void *arguments) {
  push(site->stream, (item){.run = stand_at, .argument = *(gate *const *)arguments});
  return DAVIT_SUCCESS;
}

/* The device is asked for an event that is on its way, and no more once the answer was that it is over. */
CASE(the_device_is_asked_until_an_event_is_over) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  davit_event *event = new_event();
  gate *g = gate_new();
  CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, place_gate, &g, sizeof g));
  CHECK(davit_event_record(event, queue));
  assert_true(gate_reached(g, 1));
  int64_t before = backend_calls();
  const double end = patience_ends_ms();
  while (backend_calls() == before && now_ms() < end) /* until the record is in the stream */
    assert_int_equal(state_of(event), DAVIT_EVENT_RECORDED);
  before = backend_calls();
  for (int i = 0; i < 10; i++)
    assert_int_equal(state_of(event), DAVIT_EVENT_RECORDED);
  assert_int_equal(backend_calls(), before + 10);
  gate_open(g);
  assert_true(becomes(event, DAVIT_EVENT_COMPLETE));
  before = backend_calls();
  const int asked = device_calls.all;
  assert_int_equal(state_of(event), DAVIT_EVENT_COMPLETE);
  CHECK(davit_event_check(event));
  for (int i = 0; i < 10; i++) {
    assert_int_equal(state_of(event), DAVIT_EVENT_CHECKED);
    CHECK(davit_event_synchronize(event));
    CHECK(davit_queue_wait(queue, event));
  }
  assert_int_equal(backend_calls(), before);
  assert_int_equal(device_calls.all, asked);
  CHECK(davit_queue_destroy(queue));
}

/* It asks the device from time to time; what is queued behind the event does not keep it. The thread's timers are what
 * they were. */
CASE(a_thread_that_waits_for_the_device_sleeps) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  davit_event *event = new_event();
  gate *g = gate_new(), *behind = gate_new();
  struct timespec begin, end;
  CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, place_gate, &g, sizeof g));
  CHECK(davit_event_record(event, queue));
  CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, place_gate, &behind, sizeof behind));
  pthread_t thread = gate_open_later(g, 300);
  const int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  CHECK(davit_event_synchronize(event));
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  join_thread(thread);
  assert_int_equal(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), slack);
  assert_true((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec) < 0.1);
  gate_open(behind);
  finish(queue);
}

/* ---- several sub-queues ---- */

enum { SUBQUEUES = 8 };

static davit_status fail_to_place(const dvt_site *site, const void *arguments) {
  (void)site, (void)arguments;
  return davit_fail(DAVIT_WORK_FAILED, "this one cannot be placed");
}

typedef struct opener {
  gate *gate;
  int waits; /* in streams, when it opens */
} opener;

static void *open_late(void *argument) {
  const opener *o = argument;
  const double end = patience_ends_ms();
  while (atomic_load(&device_calls.waits) < o->waits && now_ms() < end)
    sleep_ms(1);
  gate_open(o->gate);
  return NULL;
}

/* One stream waits for all others, and the device is asked for that one; what fails is still reported. */
CASE(subqueues_are_waited_for_together) {
  davit_queue *queue = new_queue(DAVIT_HOST, SUBQUEUES);
  const int before = device_calls.waits;
  opener o = {gate_new(), before + SUBQUEUES};
  for (int i = 0; i < SUBQUEUES; i++) {
    CHECK(davit_queue_set_subqueue(queue, i));
    CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, place_gate, &o.gate, sizeof o.gate));
    if (i == 3)
      CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, fail_to_place, &i, sizeof i));
  }
  pthread_t thread = start_thread(open_late, &o);
  CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_WORK_FAILED, "cannot be placed");
  join_thread(thread);
  assert_int_equal(device_calls.waits, before + SUBQUEUES);
  CHECK(davit_queue_synchronize(queue));
  finish(queue);
}

int main(void) {
  return run_cases(give_host_streams, finalize);
}
