/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of the device runtime, without a GPU: this file stands in for offload/runtime/stream.c, and
 * DAVIT_HOST has a stream. A callback must call neither the device nor anything that waits. */
#include "tests/elements.h"

#include "offload/runtime/device.h"
#include "offload/runtime/stream.h"
#include "src/base/allocate.h"
#include "src/runtime/lane.h"
#include "src/runtime/queue.h"

struct dvt_stream {
  char one;
};

struct dvt_mark {
  char one;
};

static dvt_stream stream;
static atomic_bool busy; /* the stream has work before all marks */
static atomic_int notifications, calls_in_callbacks;
static _Thread_local bool in_callback;
static dvt_notify callback;
static void *callback_argument;

static davit_status device_call(void) {
  atomic_fetch_add(&calls_in_callbacks, in_callback);
  return DAVIT_SUCCESS;
}

davit_status dvt_stream_acquire(int device, dvt_stream **taken) {
  (void)device;
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
  return device_call();
}

void *dvt_stream_native(dvt_stream *s) {
  return s;
}

davit_status dvt_stream_synchronize(dvt_stream *s) {
  (void)s;
  return device_call();
}

davit_status dvt_stream_query(dvt_stream *s, bool *idle) {
  (void)s;
  *idle = !atomic_load(&busy);
  return device_call();
}

davit_status dvt_stream_mark(dvt_stream *s, dvt_mark **mark) {
  (void)s;
  *mark = dvt_allocate(1, sizeof **mark);
  return *mark ? device_call() : DAVIT_OUT_OF_HOST_MEMORY;
}

void dvt_mark_free(dvt_mark *mark) {
  free(mark);
}

davit_status dvt_stream_wait(dvt_stream *s, dvt_mark *mark) {
  (void)s, (void)mark;
  return device_call();
}

davit_status dvt_mark_query(dvt_mark *mark, bool *reached) {
  (void)mark;
  *reached = !atomic_load(&busy);
  return device_call();
}

davit_status dvt_mark_wait(dvt_mark *mark) {
  (void)mark;
  return device_call();
}

davit_status dvt_mark_notify(dvt_mark *mark, dvt_notify function, void *argument) {
  (void)mark;
  callback = function;
  callback_argument = argument;
  atomic_fetch_add(&notifications, 1);
  return device_call();
}

davit_status dvt_mark_elapsed(dvt_mark *start, dvt_mark *stop, double *milliseconds) {
  (void)start, (void)stop;
  *milliseconds = 0;
  return device_call();
}

davit_status dvt_stream_copy(dvt_stream *s, void *destination, size_t destination_pitch, const void *source,
                             size_t source_pitch, size_t row_bytes, size_t cols) {
  (void)s, (void)destination, (void)destination_pitch, (void)source, (void)source_pitch;
  (void)row_bytes, (void)cols;
  return device_call();
}

davit_status dvt_stream_fill(dvt_stream *s, void *pointer, int value, size_t bytes) {
  (void)s, (void)pointer, (void)value, (void)bytes;
  return device_call();
}

davit_status dvt_stream_cublas(dvt_stream *s, void **handle) {
  (void)s;
  *handle = NULL;
  return device_call();
}

/* The stream's work ends: its callback runs on this thread. */
static void end_work(void) {
  atomic_store(&busy, false);
  in_callback = true;
  callback(callback_argument, DAVIT_SUCCESS);
  in_callback = false;
}

static davit_status placed(const dvt_site *site, const void *arguments) {
  (void)site, (void)arguments;
  return DAVIT_SUCCESS;
}

/* A host function behind work of the stream is handed to a thread in a callback. Where none can be made, or
 * its description finds no memory, the event behind it still fails in order, and the queue goes on. */
static void fail_in_callback(dvt_injection kind, davit_status status, const char *words) {
  atomic_int ran = 0;
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  davit_event *event = new_event();
  const int before = atomic_load(&notifications);
  atomic_store(&busy, true);
  CHECK(dvt_lane_submit(dvt_queue_lane(queue), DVT_STREAMED, placed, &(int){0}, sizeof(int)));
  CHECK(davit_queue_host_function(queue, add_one, &ran));
  CHECK(davit_event_record(event, queue));
  const double end = patience_ends_ms();
  while (atomic_load(&notifications) == before && now_ms() < end)
    sleep_ms(1);
  assert_int_equal(atomic_load(&notifications), before + 1);
  dvt_inject(kind, 1);
  end_work();
  CHECK_FAILS(davit_event_synchronize(event), status, words);
  CHECK_FAILS(davit_queue_synchronize(queue), status, words);
  assert_int_equal(atomic_load(&calls_in_callbacks), 0);
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

/* The device table before the library starts. */
static int give_host_a_stream(void **state) {
  (void)state;
  ((dvt_device *)(uintptr_t)dvt_device_find(DAVIT_HOST))->ordinal = 0;
  return 0;
}

int main(void) {
  return run_cases(give_host_a_stream, finalize);
}
