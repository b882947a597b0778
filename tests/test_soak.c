/* SPDX-License-Identifier: Apache-2.0 */
/* A long program of all kinds of commands on lanes of all devices, against a model that runs it in order.
 * DAVIT_TEST_SCALE=50 makes it 10^6 tasks. */
#include "tests/support.h"

enum { TASKS = 20000, LANES = 16, KINDS = 7 };

static const char *const kind_names[KINDS] = {
    "nowait region", "region", "host function", "copy to the host", "copy to the device", "fill", "exchange"};

/* A lane has a word on its device and one on the host. */
typedef struct lane {
  davit_queue *queue;
  davit_event *event;
  uint64_t *x, *h;           /* on the device, on the host */
  uint64_t x_model, h_model; /* in order */
} lane;

typedef struct task {
  lane *own, *other;
  uint64_t constant;
} task;

static davit_status as_task(const davit_region_site *site, void *argument) {
  const task *t = argument;
  uint64_t *x = t->own->x, c = t->constant;
#pragma omp target nowait depend(inout : *site->order) device(site -> device) is_device_ptr(x) firstprivate(c)
  *x = *x * 5 + c;
  return DAVIT_SUCCESS;
}

static davit_status as_region(int device, void *argument) {
  const task *t = argument;
  uint64_t *x = t->own->x, c = t->constant;
#pragma omp target device(device) is_device_ptr(x) firstprivate(c)
  *x = *x * 7 + c;
  return DAVIT_SUCCESS;
}

static davit_status on_host(void *argument) {
  const task *t = argument;
  *t->own->h = *t->own->h * 3 + t->constant;
  return DAVIT_SUCCESS;
}

static davit_status take_from_other(void *argument) {
  const task *t = argument;
  *t->own->h += *t->other->h * t->constant;
  return DAVIT_SUCCESS;
}

/* The own lane reads the word of the other, which goes on afterwards. */
static void exchange(task *t) {
  CHECK(davit_event_soft_reset(t->other->event));
  CHECK(davit_event_record(t->other->event, t->other->queue));
  CHECK(davit_queue_wait(t->own->queue, t->other->event));
  CHECK(davit_queue_host_function(t->own->queue, take_from_other, t));
  CHECK(davit_event_soft_reset(t->own->event));
  CHECK(davit_event_record(t->own->event, t->own->queue));
  CHECK(davit_queue_wait(t->other->queue, t->own->event));
  t->own->h_model += t->other->h_model * t->constant;
}

static void enqueue(task *t, int kind) {
  lane *l = t->own;
  switch (kind) {
  case 0:
    CHECK(davit_queue_region_nowait(l->queue, as_task, t));
    l->x_model = l->x_model * 5 + t->constant;
    break;
  case 1:
    CHECK(davit_queue_region(l->queue, as_region, t));
    l->x_model = l->x_model * 7 + t->constant;
    break;
  case 2:
    CHECK(davit_queue_host_function(l->queue, on_host, t));
    l->h_model = l->h_model * 3 + t->constant;
    break;
  case 3:
    CHECK(davit_queue_copy(l->queue, sizeof *l->x, l->x, l->h));
    l->h_model = l->x_model;
    break;
  case 4:
    CHECK(davit_queue_copy(l->queue, sizeof *l->x, l->h, l->x));
    l->x_model = l->h_model;
    break;
  case 5:
    CHECK(davit_queue_fill(l->queue, sizeof *l->x, (int)(t->constant & 0xff), l->x));
    memset(&l->x_model, (int)(t->constant & 0xff), sizeof l->x_model);
    break;
  default:
    exchange(t);
  }
}

static void compare(const lane *lanes) {
  for (int i = 0; i < LANES; i++) {
    uint64_t x;
    CHECK(davit_queue_synchronize(lanes[i].queue));
    CHECK(davit_copy(sizeof x, lanes[i].x, &x));
    assert_int_equal(x, lanes[i].x_model);
    assert_int_equal(*lanes[i].h, lanes[i].h_model);
  }
}

static void open_lanes(lane *lanes) {
  int devices[MAX_PLACES];
  const int count = all_devices(devices);
  for (int i = 0; i < LANES; i++) {
    const int device = devices[i % count];
    const uint64_t zero = 0;
    lanes[i] = (lane){.queue = new_queue(device, 1), .event = new_event()};
    lanes[i].x = kept_at(sizeof *lanes[i].x, place_for(device));
    lanes[i].h = kept_at(sizeof *lanes[i].h, i % 2 ? DAVIT_PINNED : DAVIT_PAGEABLE);
    CHECK(davit_copy(sizeof zero, &zero, lanes[i].x));
    *lanes[i].h = 0;
  }
}

CASE(all_kinds_of_tasks) {
  static lane lanes[LANES];
  const int tasks = scaled(TASKS);
  task *all = kept((size_t)tasks * sizeof *all);
  long long of_kind[KINDS] = {0};
  uint64_t random = 3;
  const double start = now_ms();
  open_lanes(lanes);
  for (int i = 0; i < tasks; i++) {
    const int kind = random_below(&random, KINDS), own = random_below(&random, LANES);
    const int other = (own + 1 + random_below(&random, LANES - 1)) % LANES;
    all[i] = (task){&lanes[own], &lanes[other], (uint64_t)random_below(&random, 1000)};
    enqueue(&all[i], kind);
    of_kind[kind]++;
    if (random_below(&random, 5000) == 0)
      compare(lanes);
  }
  compare(lanes);
  print_message("%s: %d tasks in %.1f s:", davit_backend_string(), tasks, 1e-3 * (now_ms() - start));
  for (int k = 0; k < KINDS; k++)
    print_message(" %lld %s%s", of_kind[k], kind_names[k], k + 1 < KINDS ? "," : "\n");
  for (int i = 0; i < LANES; i++)
    CHECK(davit_queue_destroy(lanes[i].queue));
}
