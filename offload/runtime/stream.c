/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events over CUDA.
 *
 * Invariant: every stream ever made is either in use by one owner or in the free list of its device, or belongs
 * to another stream (`side`, `sources`); none is destroyed, because destroying an interop object aborts the
 * process in LLVM 22's runtime. Events are CUDA events, pooled per device in the same way because creating one
 * costs about a microsecond and they come by the thousand. */
#include "offload/runtime/stream.h"

#include "offload/runtime/cublas.h"
#include "offload/runtime/cusolver.h"
#include "offload/runtime/device.h"

#ifdef DAVIT_WITH_CUDA
#include <cuda_runtime_api.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/base/error.h"

/* A stream of the GPU that a stream of another copies from. */
typedef struct source {
  cudaStream_t stream;
  cudaEvent_t may_begin, over;
} source;

struct dvt_stream {
  int device;
  int ordinal;
  cudaStream_t stream, own; /* which it works on, and its own one */
  omp_interop_t interop, own_interop;
  cudaStream_t side; /* callbacks run here: they hold their stream up, and must not hold up work */
  pthread_mutex_t side_lock;
  source *sources[DVT_MAX_ORDINALS]; /* made when they are needed, as are the next ones */
  void *cublas, *cusolver;
  dvt_stream_role role;
  dvt_stream *next;
};

struct dvt_device_event {
  dvt_stream *stream; /* where it was recorded last */
  cudaEvent_t event;
  bool timed;
  dvt_device_event *next;
};

typedef struct notifier {
  dvt_notify function;
  void *argument;
} notifier;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static dvt_stream *free_streams[DVT_MAX_ORDINALS][DVT_STREAM_ROLES];
static dvt_device_event *free_events[DVT_MAX_ORDINALS][2]; /* not timed, timed */

static davit_status make_current(int ordinal) {
  static _Thread_local int current = -1;
  int now = -1;
  /* The OpenMP runtime switches contexts under us, so CUDA is asked what is current. */
  if (current == ordinal && dvt_cuda_ok(cudaGetDevice(&now)) && now == ordinal)
    return DAVIT_SUCCESS;
  davit_status status = dvt_cuda_status(cudaSetDevice(ordinal), "selecting the device");
  current = status == DAVIT_SUCCESS ? ordinal : -1;
  return status;
}

davit_status dvt_stream_use(dvt_stream *stream) {
  return make_current(stream->ordinal);
}

void *dvt_stream_native(dvt_stream *stream) {
  return stream->stream;
}

void *dvt_stream_interop(dvt_stream *stream) {
  return stream->interop;
}

/* The interop object's stream. LLVM 22's runtime hands the device's number to its plugin, which counts its
 * own devices only, and crashes where the two differ: davit is linked so that GPUs come first and they agree
 * (cmake/Offload.cmake). In a program that is linked otherwise the stream is CUDA's own. */
static cudaStream_t new_stream(const dvt_device *device, bool urgent, omp_interop_t *made) {
  int least, greatest;
  cudaStream_t stream = NULL;
  if (urgent)
    return dvt_cuda_ok(cudaDeviceGetStreamPriorityRange(&least, &greatest)) &&
                   dvt_cuda_ok(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest))
               ? stream
               : NULL;
  int number = device->info.device, result = 0;
  if (number == device->ordinal) {
    omp_interop_t interop = omp_interop_none;
#pragma omp interop init(targetsync : interop) device(number)
    *made = interop;
    return interop == omp_interop_none ? NULL : omp_get_interop_ptr(interop, omp_ipr_targetsync, &result);
  }
  return dvt_cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) ? stream : NULL;
}

static davit_status make(const dvt_device *device, dvt_stream_role role, dvt_stream **stream) {
  dvt_stream *made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  davit_status status = make_current(device->ordinal);
  if (status == DAVIT_SUCCESS) {
    made->stream = made->own = new_stream(device, role == DVT_STREAM_URGENT, &made->own_interop);
    made->interop = made->own_interop;
    if (!made->stream)
      status = davit_fail(DAVIT_DEVICE_ERROR, "device %d gives no stream to work on", device->info.device);
  }
  if (status != DAVIT_SUCCESS) {
    free(made);
    return status;
  }
  pthread_mutex_init(&made->side_lock, NULL);
  made->device = device->info.device;
  made->ordinal = device->ordinal;
  made->role = role;
  *stream = made;
  return DAVIT_SUCCESS;
}

davit_status dvt_stream_acquire(int device, dvt_stream_role role, dvt_stream **stream) {
  const dvt_device *found = dvt_device_find(device);
  if (!found || found->ordinal < 0 || found->ordinal >= DVT_MAX_ORDINALS)
    return davit_fail(DAVIT_UNSUPPORTED, "device %d has no streams", device);
  pthread_mutex_lock(&lock);
  dvt_stream *taken = free_streams[found->ordinal][role];
  if (taken)
    free_streams[found->ordinal][role] = taken->next;
  pthread_mutex_unlock(&lock);
  if (!taken) {
    DVT_KEEP_CURRENT;
    davit_status status = make(found, role, &taken);
    if (status != DAVIT_SUCCESS)
      return status;
  }
  *stream = taken;
  return DAVIT_SUCCESS;
}

/* The handle of cuBLAS, if there is one, follows; or it is made anew when it is needed, as cuSOLVER's is. */
static void work_on(dvt_stream *stream, cudaStream_t native, omp_interop_t interop) {
  stream->stream = native;
  stream->interop = interop;
  dvt_cusolver_destroy(stream->cusolver);
  stream->cusolver = NULL;
  if (!stream->cublas || dvt_cublas_move(stream->cublas, native) == DAVIT_SUCCESS)
    return;
  dvt_error_clear();
  dvt_cublas_destroy(stream->cublas);
  stream->cublas = NULL;
}

davit_status dvt_stream_adopt(dvt_stream *stream, void *interop, void *native) {
  int result = 0, ordinal = -1;
  DVT_KEEP_CURRENT;
  DVT_TRY(make_current(stream->ordinal));
  if (interop)
    native = omp_get_interop_ptr(interop, omp_ipr_targetsync, &result);
  if (!native)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->interop has no stream; init it with targetsync");
  if (native == cudaStreamPerThread)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "options->%s is the stream per thread, which is another one in each thread",
                      interop ? "interop" : "stream");
  DVT_TRY(dvt_cuda_status(cudaStreamGetDevice(native, &ordinal), "asking a stream for its device"));
  if (ordinal != stream->ordinal)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->%s is not of device %d",
                      interop ? "interop" : "stream", stream->device);
  work_on(stream, native, interop);
  return DAVIT_SUCCESS;
}

void dvt_stream_release(dvt_stream *stream) {
  if (stream->stream != stream->own) {
    DVT_KEEP_CURRENT;
    (void)make_current(stream->ordinal);
    work_on(stream, stream->own, stream->own_interop);
  }
  pthread_mutex_lock(&lock);
  stream->next = free_streams[stream->ordinal][stream->role];
  free_streams[stream->ordinal][stream->role] = stream;
  pthread_mutex_unlock(&lock);
}

int dvt_stream_device(const dvt_stream *stream) {
  return stream->device;
}

int dvt_stream_ordinal(const dvt_stream *stream) {
  return stream->ordinal;
}

davit_status dvt_stream_synchronize(dvt_stream *stream) {
  return dvt_cuda_status(cudaStreamSynchronize(stream->stream), "waiting for a stream");
}

/* What cudaStreamQuery or cudaEventQuery says. */
static davit_status answer(cudaError_t result, const char *what, bool *over) {
  *over = dvt_cuda_ok(result);
  return result == cudaErrorNotReady ? DAVIT_SUCCESS : dvt_cuda_report(result, what);
}

davit_status dvt_stream_query(dvt_stream *stream, bool *idle) {
  return answer(cudaStreamQuery(stream->stream), "asking for a stream", idle);
}

static davit_status new_event(dvt_stream *stream, bool timed, dvt_device_event **event) {
  DVT_KEEP_CURRENT;
  dvt_device_event *made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  davit_status status = make_current(stream->ordinal);
  if (status == DAVIT_SUCCESS)
    status = dvt_cuda_status(
        cudaEventCreateWithFlags(&made->event, timed ? cudaEventDefault : cudaEventDisableTiming),
        "making a device event");
  if (status != DAVIT_SUCCESS) {
    free(made);
    return status;
  }
  made->timed = timed;
  *event = made;
  return DAVIT_SUCCESS;
}

static davit_status event_make(dvt_stream *stream, bool timed, dvt_device_event **event) {
  dvt_device_event **pool = &free_events[stream->ordinal][timed];
  pthread_mutex_lock(&lock);
  dvt_device_event *taken = *pool;
  if (taken)
    *pool = taken->next;
  pthread_mutex_unlock(&lock);
  if (!taken)
    DVT_TRY(new_event(stream, timed, &taken));
  taken->stream = stream;
  *event = taken;
  return DAVIT_SUCCESS;
}

/* To record an event and to wait for one, CUDA asks the stream for its device, not the thread. */
static davit_status place_event(dvt_stream *stream, bool timed, dvt_device_event **event) {
  DVT_TRY(event_make(stream, timed, event));
  davit_status status =
      dvt_cuda_status(cudaEventRecord((*event)->event, stream->stream), "recording a device event");
  if (status != DAVIT_SUCCESS) {
    dvt_device_event_free(*event);
    *event = NULL;
  }
  return status;
}

davit_status dvt_stream_record(dvt_stream *stream, dvt_device_event **event) {
  return place_event(stream, false, event);
}

davit_status dvt_stream_record_timed(dvt_stream *stream, dvt_device_event **event) {
  return place_event(stream, true, event);
}

void dvt_device_event_free(dvt_device_event *event) {
  if (!event)
    return;
  pthread_mutex_lock(&lock);
  dvt_device_event **pool = &free_events[event->stream->ordinal][event->timed];
  event->next = *pool;
  *pool = event;
  pthread_mutex_unlock(&lock);
}

davit_status dvt_stream_wait(dvt_stream *stream, dvt_device_event *event) {
  return dvt_cuda_status(cudaStreamWaitEvent(stream->stream, event->event, 0), "waiting for a device event");
}

davit_status dvt_device_event_query(dvt_device_event *event, bool *reached) {
  return answer(cudaEventQuery(event->event), "asking for a device event", reached);
}

davit_status dvt_device_event_wait(dvt_device_event *event) {
  return dvt_cuda_status(cudaEventSynchronize(event->event), "waiting for device work");
}

/* cudaLaunchHostFunc would never call back after a device error, cudaStreamAddCallback does. */
static void CUDART_CB called_back(cudaStream_t stream, cudaError_t result, void *argument) {
  (void)stream;
  notifier *n = argument;
  n->function(n->argument, dvt_cuda_report(result, "device work"));
  free(n);
}

static davit_status notify(dvt_device_event *event, dvt_notify function, void *argument) {
  dvt_stream *stream = event->stream;
  notifier *n = dvt_allocate_raw(sizeof *n);
  if (!n)
    return DAVIT_OUT_OF_HOST_MEMORY;
  *n = (notifier){function, argument};
  pthread_mutex_lock(&stream->side_lock);
  cudaError_t result = cudaSuccess;
  if (!stream->side)
    result = cudaStreamCreateWithFlags(&stream->side, cudaStreamNonBlocking);
  /* The pair must not interleave with another thread's, or this callback would wait for a later event. */
  if (result == cudaSuccess)
    result = cudaStreamWaitEvent(stream->side, event->event, 0);
  if (result == cudaSuccess)
    result = cudaStreamAddCallback(stream->side, called_back, n, 0);
  pthread_mutex_unlock(&stream->side_lock);
  if (result != cudaSuccess)
    free(n);
  return dvt_cuda_status(result, "asking to be notified");
}

/* Whoever waits for an event may come here. */
davit_status dvt_device_event_notify(dvt_device_event *event, dvt_notify function, void *argument) {
  DVT_KEEP_CURRENT;
  davit_status status = make_current(event->stream->ordinal);
  if (status == DAVIT_SUCCESS)
    status = notify(event, function, argument);
  return status;
}

davit_status dvt_device_event_elapsed(dvt_device_event *start, dvt_device_event *stop, double *milliseconds) {
  if (start->stream->ordinal != stop->stream->ordinal)
    return davit_fail(DAVIT_UNSUPPORTED, "the two points lie on different devices");
  float elapsed = 0;
  davit_status status = dvt_cuda_status(cudaEventElapsedTime(&elapsed, start->event, stop->event),
                                        "reading the device's clock");
  *milliseconds = elapsed;
  return status;
}

/* On a stream of the current device. */
static davit_status copy(cudaStream_t stream, void *destination, size_t destination_pitch, const void *source,
                         size_t source_pitch, size_t row_bytes, size_t cols) {
  if (row_bytes == 0 || cols == 0)
    return DAVIT_SUCCESS;
  bool linear = cols == 1 || (destination_pitch == row_bytes && source_pitch == row_bytes);
  cudaError_t result = linear
                           ? cudaMemcpyAsync(destination, source, row_bytes * cols, cudaMemcpyDefault, stream)
                           : cudaMemcpy2DAsync(destination, destination_pitch, source, source_pitch,
                                               row_bytes, cols, cudaMemcpyDefault, stream);
  return dvt_cuda_status(result, "copy");
}

davit_status dvt_stream_copy(dvt_stream *stream, void *destination, size_t destination_pitch,
                             const void *source, size_t source_pitch, size_t row_bytes, size_t cols) {
  DVT_TRY(make_current(stream->ordinal));
  return copy(stream->stream, destination, destination_pitch, source, source_pitch, row_bytes, cols);
}

/* ---- copies from another GPU ---- */

static davit_status make_source(int ordinal, int destination, source *s) {
  DVT_TRY(make_current(destination));
  DVT_TRY(dvt_cuda_status(cudaEventCreateWithFlags(&s->may_begin, cudaEventDisableTiming),
                          "making a device event"));
  DVT_TRY(make_current(ordinal));
  DVT_TRY(
      dvt_cuda_status(cudaEventCreateWithFlags(&s->over, cudaEventDisableTiming), "making a device event"));
  return dvt_cuda_status(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking), "making a stream");
}

/* NULL: the GPUs have no way to each other. */
static davit_status source_of(dvt_stream *stream, const dvt_device *device, source **found) {
  source **kept = &stream->sources[device->ordinal], *made;
  *found = *kept;
  if (*kept || !dvt_device_peers(device, dvt_device_find(stream->device)))
    return DAVIT_SUCCESS;
  made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  const davit_status status = make_source(device->ordinal, stream->ordinal, made);
  if (status != DAVIT_SUCCESS) { /* what the driver has made of it stays with the driver */
    free(made);
    return status;
  }
  *found = *kept = made;
  return DAVIT_SUCCESS;
}

/* CUDA has the GPU that is read do such a copy. If it is asked to on a stream of the one that is written, the
 * copies for all such streams go through one queue of the driver's, and one that has to wait holds up all behind
 * it, those for other GPUs too. So a long copy is put on a stream of the GPU that is read, one for each stream
 * that asks, between two events, which take some 10 us. */
davit_status dvt_stream_copy_peer(dvt_stream *stream, int source_device, void *destination,
                                  size_t destination_pitch, const void *from, size_t source_pitch,
                                  size_t row_bytes, size_t cols) {
  enum { LONG = 16 << 20 }; /* 40 us between two H200 */
  source *s = NULL;
  const dvt_device *other = dvt_device_find(source_device);
  const bool known = other->ordinal >= 0 && other->ordinal < DVT_MAX_ORDINALS;
  if (known && row_bytes * cols >= LONG)
    DVT_TRY(source_of(stream, other, &s));
  if (!s)
    return dvt_stream_copy(stream, destination, destination_pitch, from, source_pitch, row_bytes, cols);
  DVT_TRY(dvt_cuda_status(cudaEventRecord(s->may_begin, stream->stream), "recording a device event"));
  DVT_TRY(dvt_cuda_status(cudaStreamWaitEvent(s->stream, s->may_begin, 0), "waiting for a device event"));
  DVT_TRY(make_current(other->ordinal));
  DVT_TRY(copy(s->stream, destination, destination_pitch, from, source_pitch, row_bytes, cols));
  davit_status status = dvt_cuda_status(cudaEventRecord(s->over, s->stream), "recording a device event");
  if (status == DAVIT_SUCCESS)
    status = dvt_cuda_status(cudaStreamWaitEvent(stream->stream, s->over, 0), "waiting for a device event");
  if (status != DAVIT_SUCCESS) /* the caller waits for its own stream alone, and frees the memory */
    (void)cudaStreamSynchronize(s->stream);
  return status;
}

davit_status dvt_stream_fill(dvt_stream *stream, void *pointer, int value, size_t bytes) {
  davit_status status = make_current(stream->ordinal);
  if (status != DAVIT_SUCCESS)
    return status;
  return dvt_cuda_status(cudaMemsetAsync(pointer, value, bytes, stream->stream), "fill");
}

davit_status dvt_stream_cublas(dvt_stream *stream, void **handle) {
  davit_status status = make_current(stream->ordinal);
  if (status == DAVIT_SUCCESS && !stream->cublas)
    status = dvt_cublas_create(stream->stream, &stream->cublas);
  if (status == DAVIT_SUCCESS)
    *handle = stream->cublas;
  return status;
}

davit_status dvt_stream_cusolver(dvt_stream *stream, void **handle) {
  davit_status status = make_current(stream->ordinal);
  if (status == DAVIT_SUCCESS && !stream->cusolver)
    status = dvt_cusolver_create(stream->stream, &stream->cusolver);
  if (status == DAVIT_SUCCESS)
    *handle = stream->cusolver;
  return status;
}

#else /* no CUDA: there is never a stream, so only acquiring can be called */

static davit_status none(void) {
  return davit_fail(DAVIT_UNSUPPORTED, "this build has no CUDA");
}

davit_status dvt_stream_acquire(int device, dvt_stream_role role, dvt_stream **stream) {
  (void)device, (void)role, (void)stream;
  return none();
}

void dvt_stream_release(dvt_stream *stream) {
  (void)stream;
}

int dvt_stream_device(const dvt_stream *stream) {
  (void)stream;
  return DAVIT_HOST;
}

int dvt_stream_ordinal(const dvt_stream *stream) {
  (void)stream;
  return -1;
}

davit_status dvt_stream_use(dvt_stream *stream) {
  (void)stream;
  return none();
}

void *dvt_stream_native(dvt_stream *stream) {
  (void)stream;
  return NULL;
}

void *dvt_stream_interop(dvt_stream *stream) {
  (void)stream;
  return NULL;
}

davit_status dvt_stream_adopt(dvt_stream *stream, void *interop, void *native) {
  (void)stream, (void)interop, (void)native;
  return none();
}

davit_status dvt_stream_synchronize(dvt_stream *stream) {
  (void)stream;
  return none();
}

davit_status dvt_stream_query(dvt_stream *stream, bool *idle) {
  (void)stream, (void)idle;
  return none();
}

davit_status dvt_stream_record(dvt_stream *stream, dvt_device_event **event) {
  (void)stream, (void)event;
  return none();
}

davit_status dvt_stream_record_timed(dvt_stream *stream, dvt_device_event **event) {
  (void)stream, (void)event;
  return none();
}

void dvt_device_event_free(dvt_device_event *event) {
  (void)event;
}

davit_status dvt_stream_wait(dvt_stream *stream, dvt_device_event *event) {
  (void)stream, (void)event;
  return none();
}

davit_status dvt_device_event_query(dvt_device_event *event, bool *reached) {
  (void)event, (void)reached;
  return none();
}

davit_status dvt_device_event_wait(dvt_device_event *event) {
  (void)event;
  return none();
}

davit_status dvt_device_event_notify(dvt_device_event *event, dvt_notify function, void *argument) {
  (void)event, (void)function, (void)argument;
  return none();
}

davit_status dvt_device_event_elapsed(dvt_device_event *start, dvt_device_event *stop, double *milliseconds) {
  (void)start, (void)stop, (void)milliseconds;
  return none();
}

davit_status dvt_stream_copy(dvt_stream *stream, void *destination, size_t destination_pitch,
                             const void *source, size_t source_pitch, size_t row_bytes, size_t cols) {
  (void)stream, (void)destination, (void)destination_pitch, (void)source, (void)source_pitch;
  (void)row_bytes, (void)cols;
  return none();
}

davit_status dvt_stream_copy_peer(dvt_stream *stream, int source_device, void *destination,
                                  size_t destination_pitch, const void *source, size_t source_pitch,
                                  size_t row_bytes, size_t cols) {
  (void)source_device;
  return dvt_stream_copy(stream, destination, destination_pitch, source, source_pitch, row_bytes, cols);
}

davit_status dvt_stream_fill(dvt_stream *stream, void *pointer, int value, size_t bytes) {
  (void)stream, (void)pointer, (void)value, (void)bytes;
  return none();
}

davit_status dvt_stream_cublas(dvt_stream *stream, void **handle) {
  (void)stream, (void)handle;
  return none();
}

davit_status dvt_stream_cusolver(dvt_stream *stream, void **handle) {
  (void)stream, (void)handle;
  return none();
}
#endif
