/* SPDX-License-Identifier: Apache-2.0 */
/* Queues on streams that the program uses as well: what is refused everywhere, and on NVIDIA GPUs CUDA's work between
 * davit's. tests/test_streams.c has the order of commands of all kinds, without a GPU. */
#include <omp.h>

#include "tests/support.h"
#ifdef DAVIT_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

static char somewhere;

CASE(options_are_checked) {
  davit_queue *queue = NULL;
  davit_queue_options both = {.interop = &somewhere, .stream = &somewhere},
                      many = {.subqueues = 2, .stream = &somewhere},
                      objects = {.subqueues = 2, .interop = &somewhere}, one = {.stream = &somewhere},
                      object = {.interop = &somewhere};
  REFUSED(davit_queue_create(0, &queue, &both), "options->interop and options->stream are both set");
  REFUSED(davit_queue_create(0, &queue, &many), "options->subqueues is 2, but options->stream is one stream");
  REFUSED(davit_queue_create(0, &queue, &objects),
          "options->subqueues is 2, but options->interop is one stream");
  CHECK_FAILS(davit_queue_create(DAVIT_HOST, &queue, &one), DAVIT_UNSUPPORTED,
              "device -1 has no streams, but options->stream is set");
  CHECK_FAILS(davit_queue_create(DAVIT_HOST, &queue, &object), DAVIT_UNSUPPORTED,
              "device -1 has no streams, but options->interop is set");
  assert_null(queue);
}

CASE(the_host_has_no_interop) {
  void *interop = &somewhere;
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  REFUSED(davit_queue_interop(NULL, &interop), "queue is NULL");
  REFUSED(davit_queue_interop(queue, NULL), "interop is NULL");
  REFUSED(davit_queue_stream(queue, NULL), "stream is NULL");
  CHECK_FAILS(davit_queue_stream(queue, &interop), DAVIT_UNSUPPORTED, "device -1 has no streams to share");
  CHECK_FAILS(davit_queue_interop(queue, &interop), DAVIT_UNSUPPORTED, "device -1 has no streams to share");
  assert_ptr_equal(interop, &somewhere);
  finish(queue);
}

static davit_status ask_for_own(void *queue) {
  void *interop;
  return davit_queue_interop(queue, &interop);
}

CASE(own_work_cannot_ask) {
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  CHECK(davit_queue_host_function(queue, ask_for_own, queue));
  CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_WOULD_DEADLOCK, "cannot wait for the queue");
  CHECK(davit_queue_destroy(queue));
}

#ifdef DAVIT_WITH_CUDA
enum { BYTES = 1 << 26, ROUNDS = 20 };

static bool has_gpu(int device) {
  davit_device_info info;
  CHECK(davit_device_describe(device, &info));
  return info.kind == DAVIT_DEVICE_NVIDIA;
}

static davit_status double_first(void *bytes) {
  unsigned char *first = bytes;
  *first = (unsigned char)(2 * *first);
  return DAVIT_SUCCESS;
}

/* davit fills, CUDA fills the half, davit copies both ends home, the host changes one, and so on. */
static void take_turns(davit_queue *queue, int device, bool by_interop) {
  char *x = kept_at(BYTES, device);
  unsigned char *home = kept_at(2, DAVIT_PINNED);
  for (int i = 1; i <= ROUNDS; i++) {
    void *stream, *interop;
    CHECK(davit_queue_fill(queue, BYTES, i, x));
    if (by_interop) {
      CHECK(davit_queue_interop(queue, &interop));
      stream = omp_get_interop_ptr(interop, omp_ipr_targetsync, &(int){0});
    } else {
      CHECK(davit_queue_stream(queue, &stream));
    }
    assert_int_equal(cudaMemsetAsync(x, 2 * i, BYTES / 2, stream), cudaSuccess);
    CHECK(davit_queue_copy(queue, 1, x + BYTES / 2 - 1, home));
    CHECK(davit_queue_copy(queue, 1, x + BYTES / 2, home + 1));
    CHECK(davit_queue_host_function(queue, double_first, home));
    if (i % 3 == 0)
      continue;
    CHECK(davit_queue_synchronize(queue));
    assert_int_equal(home[0], 4 * i);
    assert_int_equal(home[1], i);
  }
  CHECK(davit_queue_synchronize(queue));
  assert_int_equal(home[0], 4 * ROUNDS);
}

static bool same_stream(davit_queue *queue, cudaStream_t stream) {
  void *given, *interop;
  CHECK(davit_queue_stream(queue, &given));
  CHECK_FAILS(davit_queue_interop(queue, &interop), DAVIT_UNSUPPORTED,
              "does not come from an interop object");
  return given == stream;
}

CASE(cuda_takes_turns_with_davit) {
  if (!has_gpu(0))
    skip();
  davit_queue *queue = new_queue(0, 3);
  for (int i = 0; i < 3; i++) {
    CHECK(davit_queue_set_subqueue(queue, i));
    take_turns(queue, 0, true);
  }
  finish(queue);
}

CASE(a_queue_works_on_a_stream_of_cudas) {
  if (!has_gpu(0))
    skip();
  cudaStream_t stream;
  davit_queue *queue;
  assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  for (int i = 0; i < 3; i++) { /* the handle of cuBLAS goes from one stream to the other */
    CHECK(davit_queue_create(0, &queue, &(davit_queue_options){.stream = stream}));
    take_turns(queue, 0, false);
    assert_true(same_stream(queue, stream));
    double *x = kept_at(100 * sizeof *x, 0), sum = 0;
    CHECK(davit_fill(100 * sizeof *x, 0, x));
    CHECK(davit_queue_dasum(queue, 100, x, 1, &sum, NULL));
    finish(queue);
    CHECK(davit_queue_create(0, &queue, NULL));
    take_turns(queue, 0, true);
    CHECK(davit_queue_dasum(queue, 100, x, 1, &sum, NULL));
    finish(queue);
  }
  assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
  REFUSED(davit_queue_create(0, &queue, &(davit_queue_options){.stream = cudaStreamPerThread}),
          "stream per thread");
}

CASE(a_queue_works_on_an_interop_object) {
  if (!has_gpu(0))
    skip();
  omp_interop_t interop = omp_interop_none;
  davit_queue *queue;
  void *same;
#pragma omp interop init(targetsync : interop) device(0)
  CHECK(davit_queue_create(0, &queue, &(davit_queue_options){.interop = interop}));
  CHECK(davit_queue_interop(queue, &same));
  assert_ptr_equal(same, interop);
  take_turns(queue, 0, true);
  finish(queue);
}

/* A stream of another GPU. */
CASE(streams_are_of_their_device) {
  int count;
  CHECK(davit_device_count(&count));
  if (count < 2 || !has_gpu(0) || !has_gpu(1))
    skip();
  cudaStream_t stream;
  davit_queue *queue;
  assert_int_equal(cudaSetDevice(1), cudaSuccess);
  assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  REFUSED(davit_queue_create(0, &queue, &(davit_queue_options){.stream = stream}),
          "options->stream is not of device 0");
  int current = -1;
  assert_int_equal(cudaSetDevice(0), cudaSuccess);
  CHECK(davit_queue_create(1, &queue, &(davit_queue_options){.stream = stream}));
  assert_int_equal(cudaGetDevice(&current), cudaSuccess);
  assert_int_equal(current, 0);
  take_turns(queue, 1, false);
  finish(queue);
  assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}
#endif
