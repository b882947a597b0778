/* SPDX-License-Identifier: Apache-2.0 */
/* Streams without a GPU: stands in for offload/runtime/stream.c in the one test program that includes it, and
 * gives DAVIT_HOST streams. A thread for each stream runs its work, one item after another, a little later.
 *
 * The device has a clock of its own: the host's, CLOCK_AHEAD_MS ahead, as marks note it. */
#ifndef DAVIT_TESTS_STREAM_H
#define DAVIT_TESTS_STREAM_H

#include <sched.h>
#include <unistd.h>

#include "offload/runtime/device.h"
#include "offload/runtime/stream.h"
#include "src/base/allocate.h"
#include "src/base/ending.h"
#include "src/runtime/lane.h"
#include "tests/support.h"

#define CLOCK_AHEAD_MS 3.6e6
#ifndef DELAYED_OF /* one of so many items is delayed */
#define DELAYED_OF 1
#endif

typedef struct item {
  struct item *next;
  void (*run)(void *argument);
  void *argument;
  dvt_device_event *reached, *awaited;
  dvt_notify notify;
} item;

struct dvt_stream {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  item *first, **end;
  int unfinished, number;
  dvt_stream_role role;
  dvt_stream *adopted; /* which it works on instead of itself */
  dvt_stream *side;    /* callbacks run here, held up by nothing behind their marks */
  dvt_stream *next;
};

struct dvt_device_event {
  dvt_stream *stream;
  atomic_bool reached;
  atomic_int references; /* the owner's, the stream's, those of streams that wait */
  double ms;             /* of the device's clock */
};

static struct device_calls {
  atomic_int all, notifications, queries, waits, handles;
  atomic_int in_callbacks; /* where none is allowed */
  atomic_int until_lost;   /* counts down to the one that fails, once; 0: none does */
} device_calls;

static atomic_int lame; /* the number of a stream, from 1 on, whose items are all late; 0: of none */

static _Thread_local bool in_callback;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER, marks_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t mark_reached = PTHREAD_COND_INITIALIZER;
static dvt_stream *free_streams[DVT_STREAM_ROLES];

static void count_call(void) {
  atomic_fetch_add(&device_calls.all, 1);
  atomic_fetch_add(&device_calls.in_callbacks, in_callback);
}

/* One that asks for no more than an answer does not fail; one that fails has enqueued nothing. */
static davit_status device_call(void) {
  count_call();
  int left = atomic_load(&device_calls.until_lost);
  while (left > 0 && !atomic_compare_exchange_weak(&device_calls.until_lost, &left, left - 1)) {
  }
  return left == 1 ? davit_fail(DAVIT_DEVICE_LOST, "the stream is lost") : DAVIT_SUCCESS;
}

void dvt_device_event_free(dvt_device_event *mark) {
  if (mark && atomic_fetch_sub(&mark->references, 1) == 1)
    free(mark);
}

static dvt_stream *worked_on(dvt_stream *s) {
  return s->adopted ? s->adopted : s;
}

/* Enqueues an item. Not by davit's allocation, which tests make fail: a device would not. */
static void push(dvt_stream *s, item made) {
  s = worked_on(s);
  item *copy = malloc(sizeof *copy);
  *copy = made;
  pthread_mutex_lock(&s->lock);
  *s->end = copy;
  s->end = &copy->next;
  s->unfinished++;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

/* Sleeps: with few processors threads that yield take most of the time of a test. */
static void await(const dvt_device_event *mark) {
  pthread_mutex_lock(&marks_lock);
  while (!atomic_load(&mark->reached))
    pthread_cond_wait(&mark_reached, &marks_lock);
  pthread_mutex_unlock(&marks_lock);
}

static void reach(dvt_device_event *mark) {
  pthread_mutex_lock(&marks_lock);
  mark->ms = now_ms() + CLOCK_AHEAD_MS;
  atomic_store(&mark->reached, true);
  pthread_cond_broadcast(&mark_reached);
  pthread_mutex_unlock(&marks_lock);
}

static void run_item(item *one) {
  if (one->run)
    one->run(one->argument);
  if (one->awaited) {
    await(one->awaited);
    dvt_device_event_free(one->awaited);
  }
  if (one->reached) {
    reach(one->reached);
    dvt_device_event_free(one->reached);
  }
  if (one->notify) {
    in_callback = true;
    one->notify(one->argument, DAVIT_SUCCESS);
    in_callback = false;
  }
  free(one);
}

static void *run_stream(void *argument) {
  dvt_stream *s = argument;
  uint64_t random = 5;
  for (;;) {
    pthread_mutex_lock(&s->lock);
    while (!s->first)
      pthread_cond_wait(&s->changed, &s->lock);
    item *one = s->first;
    s->first = one->next;
    if (!s->first)
      s->end = &s->first;
    pthread_mutex_unlock(&s->lock);
    for (int i = random_below(&random, DELAYED_OF) ? 0 : random_below(&random, 20); i > 0; i--)
      sched_yield();
    if (atomic_load(&lame) == s->number)
      usleep(1000);
    run_item(one);
    pthread_mutex_lock(&s->lock);
    s->unfinished--;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
  }
  return NULL;
}

static dvt_stream *new_stream(void) {
  static atomic_int count;
  dvt_stream *s = calloc(1, sizeof *s);
  s->number = atomic_fetch_add(&count, 1) + 1;
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, NULL);
  s->end = &s->first;
  pthread_detach(start_thread(run_stream, s));
  return s;
}

/* Streams and their threads are kept for ever, as the library keeps those of a device. */
davit_status dvt_stream_acquire(int device, dvt_stream_role role, dvt_stream **taken) {
  (void)device;
  pthread_mutex_lock(&streams_lock);
  dvt_stream *s = free_streams[role];
  if (s)
    free_streams[role] = s->next;
  pthread_mutex_unlock(&streams_lock);
  if (!s) {
    s = new_stream();
    s->side = new_stream();
    s->role = role;
  }
  *taken = s;
  return DAVIT_SUCCESS;
}

void dvt_stream_release(dvt_stream *s) {
  s->adopted = NULL;
  pthread_mutex_lock(&streams_lock);
  s->next = free_streams[s->role];
  free_streams[s->role] = s;
  pthread_mutex_unlock(&streams_lock);
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
  return device_call();
}

void *dvt_stream_native(dvt_stream *s) {
  return worked_on(s);
}

/* An interop object is its stream. */
void *dvt_stream_interop(dvt_stream *s) {
  return worked_on(s);
}

davit_status dvt_stream_adopt(dvt_stream *s, void *interop, void *native) {
  s->adopted = interop ? interop : native;
  return DAVIT_SUCCESS;
}

davit_status dvt_stream_synchronize(dvt_stream *s) {
  s = worked_on(s);
  pthread_mutex_lock(&s->lock);
  while (s->unfinished > 0)
    pthread_cond_wait(&s->changed, &s->lock);
  pthread_mutex_unlock(&s->lock);
  return device_call();
}

davit_status dvt_stream_query(dvt_stream *s, bool *idle) {
  s = worked_on(s);
  pthread_mutex_lock(&s->lock);
  *idle = s->unfinished == 0;
  pthread_mutex_unlock(&s->lock);
  count_call();
  return DAVIT_SUCCESS;
}

davit_status dvt_stream_record(dvt_stream *s, dvt_device_event **mark) {
  *mark = NULL;
  DVT_TRY(device_call());
  *mark = dvt_allocate(1, sizeof **mark);
  if (!*mark)
    return DAVIT_OUT_OF_HOST_MEMORY;
  (*mark)->stream = s;
  atomic_store(&(*mark)->references, 2);
  push(s, (item){.reached = *mark});
  return DAVIT_SUCCESS;
}

davit_status dvt_stream_record_timed(dvt_stream *s, dvt_device_event **mark) {
  return dvt_stream_record(s, mark);
}

davit_status dvt_stream_wait(dvt_stream *s, dvt_device_event *mark) {
  DVT_TRY(device_call());
  atomic_fetch_add(&mark->references, 1);
  atomic_fetch_add(&device_calls.waits, 1);
  push(s, (item){.awaited = mark});
  return DAVIT_SUCCESS;
}

davit_status dvt_device_event_query(dvt_device_event *mark, bool *reached) {
  *reached = atomic_load(&mark->reached);
  atomic_fetch_add(&device_calls.queries, 1);
  count_call();
  return DAVIT_SUCCESS;
}

davit_status dvt_device_event_wait(dvt_device_event *mark) {
  await(mark);
  return device_call();
}

davit_status dvt_device_event_notify(dvt_device_event *mark, dvt_notify function, void *argument) {
  DVT_TRY(device_call());
  atomic_fetch_add(&mark->references, 1);
  atomic_fetch_add(&device_calls.notifications, 1);
  push(mark->stream->side, (item){.awaited = mark, .notify = function, .argument = argument});
  return DAVIT_SUCCESS;
}

davit_status dvt_device_event_elapsed(dvt_device_event *start, dvt_device_event *stop, double *milliseconds) {
  *milliseconds = stop->ms - start->ms;
  return device_call();
}

typedef struct device_copy {
  char *destination;
  const char *source;
  size_t destination_pitch, source_pitch, row_bytes, cols;
} device_copy;

/* Copies to this memory take so long. */
static struct slow_copies {
  const char *begin, *end;
  int ms;
} slow_copies;

static void run_copy(void *argument) {
  device_copy *c = argument;
  if (c->destination >= slow_copies.begin && c->destination < slow_copies.end)
    sleep_ms(slow_copies.ms);
  for (size_t j = 0; j < c->cols; j++)
    memcpy(c->destination + j * c->destination_pitch, c->source + j * c->source_pitch, c->row_bytes);
  free(c);
}

davit_status dvt_stream_copy(dvt_stream *s, void *destination, size_t destination_pitch, const void *source,
                             size_t source_pitch, size_t row_bytes, size_t cols) {
  DVT_TRY(device_call());
  if (s->role == DVT_STREAM_KERNELS || s->role == DVT_STREAM_URGENT) {
    fprintf(stderr, "a copy on a stream for kernels\n");
    abort();
  }
  device_copy *c = malloc(sizeof *c);
  *c = (device_copy){destination, source, destination_pitch, source_pitch, row_bytes, cols};
  push(s, (item){.run = run_copy, .argument = c});
  return DAVIT_SUCCESS;
}

davit_status dvt_stream_copy_peer(dvt_stream *s, int source_device, void *destination,
                                  size_t destination_pitch, const void *source, size_t source_pitch,
                                  size_t row_bytes, size_t cols) {
  (void)source_device;
  return dvt_stream_copy(s, destination, destination_pitch, source, source_pitch, row_bytes, cols);
}

davit_status dvt_stream_fill(dvt_stream *s, void *pointer, int value, size_t bytes) {
  (void)s, (void)pointer, (void)value, (void)bytes;
  return davit_fail(DAVIT_UNSUPPORTED, "this stream fills nothing");
}

/* For those who only want to have it made: there is no cuBLAS behind it. */
davit_status dvt_stream_cublas(dvt_stream *s, void **handle) {
  DVT_TRY(device_call());
  atomic_fetch_add(&device_calls.handles, 1);
  *handle = s;
  return DAVIT_SUCCESS;
}

/* Before the library starts, for run_cases(). */
__attribute__((unused)) static int give_host_streams(void **state) {
  (void)state;
  ((dvt_device *)(uintptr_t)dvt_device_find(DAVIT_HOST))->ordinal = 0;
  dvt_ending_guard();
  return 0;
}

#endif
