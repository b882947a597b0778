/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes with streams, without a GPU: this file stands in for offload/runtime/stream.c by a stream whose work a
 * thread runs, one item after another, a little later; DAVIT_HOST has it. */
#include "tests/elements.h"

#include <omp.h>
#include <sched.h>

#include "offload/runtime/device.h"
#include "offload/runtime/stream.h"
#include "src/base/allocate.h"
#include "src/runtime/lane.h"
#include "src/runtime/queue.h"

typedef struct item {
  struct item *next;
  void (*run)(void *argument);
  void *argument;
  dvt_mark *reached;
  dvt_notify notify;
} item;

struct dvt_stream {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  item *first, **end;
  int unfinished;
};

struct dvt_mark {
  atomic_bool reached;
  atomic_int references; /* the owner's and the stream's */
};

static dvt_stream stream = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .end = &stream.first};

void dvt_mark_free(dvt_mark *mark) {
  if (mark && atomic_fetch_sub(&mark->references, 1) == 1)
    free(mark);
}

static void push(item made) {
  item *copy = dvt_allocate(1, sizeof *copy);
  *copy = made;
  pthread_mutex_lock(&stream.lock);
  *stream.end = copy;
  stream.end = &copy->next;
  stream.unfinished++;
  pthread_cond_broadcast(&stream.changed);
  pthread_mutex_unlock(&stream.lock);
}

static void *run_stream(void *argument) {
  uint64_t random = 5;
  for (;; (void)argument) {
    pthread_mutex_lock(&stream.lock);
    while (!stream.first)
      pthread_cond_wait(&stream.changed, &stream.lock);
    item *one = stream.first;
    stream.first = one->next;
    if (!stream.first)
      stream.end = &stream.first;
    pthread_mutex_unlock(&stream.lock);
    for (int i = random_below(&random, 20); i > 0; i--)
      sched_yield();
    if (one->run)
      one->run(one->argument);
    if (one->reached) {
      atomic_store(&one->reached->reached, true);
      dvt_mark_free(one->reached);
    }
    if (one->notify)
      one->notify(one->argument, DAVIT_SUCCESS);
    free(one);
    pthread_mutex_lock(&stream.lock);
    stream.unfinished--;
    pthread_cond_broadcast(&stream.changed);
    pthread_mutex_unlock(&stream.lock);
  }
}

davit_status dvt_stream_acquire(int device, dvt_stream **taken) {
  static bool runs;
  (void)device;
  if (!runs)
    start_thread(run_stream, NULL);
  runs = true;
  *taken = &stream;
  return DAVIT_SUCCESS;
}

void dvt_stream_release(dvt_stream *s) {
  (void)s;
}

int dvt_stream_device(const dvt_stream *s) {
  (void)s;
  return DAVIT_HOST;
}

int dvt_stream_ordinal(const dvt_stream *s) {
  (void)s;
  return 0;
}

davit_status dvt_stream_use(dvt_stream *s) {
  (void)s;
  return DAVIT_SUCCESS;
}

void *dvt_stream_native(dvt_stream *s) {
  return s;
}

davit_status dvt_stream_synchronize(dvt_stream *s) {
  pthread_mutex_lock(&s->lock);
  while (s->unfinished > 0)
    pthread_cond_wait(&s->changed, &s->lock);
  pthread_mutex_unlock(&s->lock);
  return DAVIT_SUCCESS;
}

davit_status dvt_stream_query(dvt_stream *s, bool *idle) {
  pthread_mutex_lock(&s->lock);
  *idle = s->unfinished == 0;
  pthread_mutex_unlock(&s->lock);
  return DAVIT_SUCCESS;
}

davit_status dvt_stream_mark(dvt_stream *s, dvt_mark **mark) {
  (void)s;
  *mark = dvt_allocate(1, sizeof **mark);
  if (!*mark)
    return DAVIT_OUT_OF_HOST_MEMORY;
  atomic_store(&(*mark)->references, 2);
  push((item){.reached = *mark});
  return DAVIT_SUCCESS;
}

davit_status dvt_stream_wait(dvt_stream *s, dvt_mark *mark) {
  (void)s, (void)mark; /* a mark of the one stream: it is reached in order */
  return DAVIT_SUCCESS;
}

davit_status dvt_mark_query(dvt_mark *mark, bool *reached) {
  *reached = atomic_load(&mark->reached);
  return DAVIT_SUCCESS;
}

davit_status dvt_mark_wait(dvt_mark *mark) {
  while (!atomic_load(&mark->reached))
    sched_yield();
  return DAVIT_SUCCESS;
}

davit_status dvt_mark_notify(dvt_mark *mark, dvt_notify function, void *argument) {
  (void)mark;
  push((item){.notify = function, .argument = argument});
  return DAVIT_SUCCESS;
}

davit_status dvt_mark_elapsed(dvt_mark *start, dvt_mark *stop, double *milliseconds) {
  (void)start, (void)stop;
  *milliseconds = 0;
  return DAVIT_SUCCESS;
}

davit_status dvt_stream_copy(dvt_stream *s, void *destination, size_t destination_pitch, const void *source,
                             size_t source_pitch, size_t row_bytes, size_t cols) {
  (void)s, (void)destination, (void)destination_pitch, (void)source, (void)source_pitch;
  (void)row_bytes, (void)cols;
  return DAVIT_UNSUPPORTED;
}

davit_status dvt_stream_fill(dvt_stream *s, void *pointer, int value, size_t bytes) {
  (void)s, (void)pointer, (void)value, (void)bytes;
  return DAVIT_UNSUPPORTED;
}

davit_status dvt_stream_cublas(dvt_stream *s, void **handle) {
  (void)s;
  *handle = NULL;
  return DAVIT_UNSUPPORTED;
}

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
  (void)site;
  push((item){.run = multiply, .argument = *(step *const *)arguments});
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
  default:
    CHECK(davit_queue_wait(queue, event));
  }
}

CASE(commands_of_all_kinds_keep_their_order) {
  enum { STEPS = 2000 };
  static step steps[STEPS];
  uint64_t random = 7;
  for (int round = 0; round < 10; round++) {
    int64_t cell = 1, expected = 1;
    davit_queue *queue = new_queue(DAVIT_HOST, 1);
    davit_event *event = new_event();
    for (int i = 0; i < scaled(STEPS); i++) {
      const int kind = random_below(&random, 5);
      steps[i] = (step){&cell, 2 + i % 7};
      enqueue(queue, event, kind, &steps[i]);
      if (kind < 3)
        expected = expected * steps[i].factor % 1000003 + 1;
      if (random_below(&random, 200) == 0)
        CHECK(davit_queue_synchronize(queue));
    }
    CHECK(davit_queue_synchronize(queue));
    assert_int_equal(cell, expected);
    CHECK(davit_queue_destroy(queue));
  }
}

/* The device table before the library starts. */
static int give_host_a_stream(void **state) {
  (void)state;
  ((dvt_device *)(uintptr_t)dvt_device_find(DAVIT_HOST))->ordinal = 0;
  return 0;
}

int main(void) {
  return run_cases(give_host_a_stream, finalize);
}
