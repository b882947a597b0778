/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of tasks (src/runtime/graph.h): the order of what follows each other, copies, and what a failure stops. */
#include "src/runtime/graph.h"
#include "src/runtime/operation.h"
#include "tests/support.h"

enum { LANES = 3 };

/* Multiplies a number that several lanes share; that of the order is the only right result. */
typedef struct step {
  int64_t *number;
  int64_t factor;
  gate *held; /* NULL: it does not wait */
  atomic_int *ran;
  bool fails;
} step;

static davit_status accept(void *arguments) {
  (void)arguments;
  return DAVIT_SUCCESS;
}

static davit_status multiply(const dvt_site *site, const void *arguments) {
  const step *s = arguments;
  (void)site;
  atomic_fetch_add(s->ran, 1);
  if (s->held)
    gate_pass(s->held);
  *s->number = *s->number * s->factor % 1000003 + 1;
  return s->fails ? davit_fail(DAVIT_DEVICE_ERROR, "the task has failed") : DAVIT_SUCCESS;
}

static const dvt_operation multiplication = {.name = "multiply",
                                             .bytes = sizeof(step),
                                             .check = accept,
                                             .host = multiply,
                                             .region = multiply,
                                             .serial = true};

static void open_graph(dvt_graph *g, int64_t tasks) {
  CHECK(davit_set_threads(LANES));        /* tasks that are held have one each */
  CHECK(davit_device_current(&(int){0})); /* starts the library */
  CHECK(dvt_graph_open(g, LANES, tasks));
  for (int lane = 0; lane < LANES; lane++)
    CHECK(dvt_graph_add_lane(g, lane, DAVIT_HOST, DVT_STREAM_MIXED));
}

/* Each task follows the one before, which is on the same lane or on another one. */
CASE(tasks_follow_each_other) {
  enum { TASKS = 300 };
  const int tasks = scaled(TASKS);
  uint64_t random = 3;
  dvt_graph g;
  int64_t number = 1, expected = 1;
  atomic_int ran = 0;
  open_graph(&g, tasks);
  for (int i = 0; i < tasks; i++) {
    const int32_t before = i - 1;
    const dvt_graph_task task = {.number = i,
                                 .lane = random_below(&random, LANES),
                                 .follows = &before,
                                 .count = i > 0,
                                 .awaited = true};
    const step s = {.number = &number, .factor = 2 + i % 7, .ran = &ran};
    CHECK(dvt_graph_operation(&g, &task, &multiplication, &s, 1));
    expected = expected * s.factor % 1000003 + 1;
  }
  CHECK(dvt_graph_await(&g, tasks - 1));
  assert_int_equal(number, expected);
  CHECK(dvt_graph_wait(&g, DAVIT_SUCCESS));
  dvt_graph_close(&g);
  assert_int_equal(ran, tasks);
}

/* A copy between two products, on another lane. */
CASE(copies_are_tasks) {
  int64_t number = 1, copy = 0;
  atomic_int ran = 0;
  const int32_t follows[] = {0, 1};
  const step first = {.number = &number, .factor = 5, .ran = &ran},
             last = {.number = &copy, .factor = 7, .ran = &ran};
  const dvt_copy moved = dvt_copy_bytes(sizeof number, &number, DAVIT_PAGEABLE, &copy, DAVIT_PAGEABLE);
  dvt_graph g;
  open_graph(&g, 3);
  CHECK(dvt_graph_operation(&g, &(dvt_graph_task){.number = 0, .lane = 0, .awaited = true}, &multiplication,
                            &first, 1));
  CHECK(dvt_graph_copy(
      &g, &(dvt_graph_task){.number = 1, .lane = 1, .follows = follows, .count = 1, .awaited = true},
      &moved));
  CHECK(dvt_graph_operation(&g, &(dvt_graph_task){.number = 2, .lane = 2, .follows = &follows[1], .count = 1},
                            &multiplication, &last, 1));
  CHECK(dvt_graph_wait(&g, DAVIT_SUCCESS));
  dvt_graph_close(&g);
  assert_int_equal(number, 6);
  assert_int_equal(copy, 43);
}

/* What is under way on other lanes ends, and what is enqueued behind it is left out, though it follows nothing that has
 * failed. */
CASE(the_first_failure_stops_all_lanes) {
  int64_t numbers[LANES] = {1, 1, 1};
  atomic_int ran = 0;
  gate *held = gate_new();
  dvt_graph g;
  open_graph(&g, LANES + 1);
  for (int lane = 1; lane < LANES; lane++) {
    const step s = {.number = &numbers[lane], .factor = 2, .held = held, .ran = &ran};
    CHECK(dvt_graph_operation(&g, &(dvt_graph_task){.number = lane, .lane = lane}, &multiplication, &s, 1));
  }
  assert_true(gate_reached(held, LANES - 1));
  const step failing = {.number = &numbers[0], .factor = 2, .ran = &ran, .fails = true};
  CHECK(dvt_graph_operation(&g, &(dvt_graph_task){.number = 0, .lane = 0, .awaited = true}, &multiplication,
                            &failing, 1));
  CHECK_FAILS(dvt_graph_await(&g, 0), DAVIT_DEVICE_ERROR, "the task has failed");
  const step late = {.number = &numbers[1], .factor = 2, .ran = &ran};
  CHECK(dvt_graph_operation(&g, &(dvt_graph_task){.number = LANES, .lane = 1, .awaited = true},
                            &multiplication, &late, 1));
  gate_open(held);
  CHECK_FAILS(dvt_graph_await(&g, LANES), DAVIT_DEVICE_ERROR, "the task has failed");
  CHECK_FAILS(dvt_graph_wait(&g, DAVIT_SUCCESS), DAVIT_DEVICE_ERROR, "the task has failed");
  dvt_graph_close(&g);
  assert_int_equal(ran, LANES);
}

/* The caller's own failure comes first, and what is enqueued is waited for all the same. */
CASE(a_failure_of_the_caller_is_returned) {
  int64_t number = 1;
  atomic_int ran = 0;
  dvt_graph g;
  open_graph(&g, 1);
  const step s = {.number = &number, .factor = 2, .ran = &ran};
  CHECK(dvt_graph_operation(&g, &(dvt_graph_task){.number = 0, .lane = 0}, &multiplication, &s, 1));
  CHECK_FAILS(dvt_graph_wait(&g, davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory")), DAVIT_OUT_OF_HOST_MEMORY,
              "no memory");
  dvt_graph_close(&g);
  assert_int_equal(ran, 1);
}

int main(void) {
  return run_cases(NULL, finalize);
}
