/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of NVIDIA devices: in-order work that the device runs by itself, taken from the OpenMP runtime by
 * interop and kept for the life of the process (the runtime cannot destroy an interop object safely), and
 * device events: points in a stream's work.
 *
 * A stream is used by one thread at a time. On builds without CUDA, acquiring fails with
 * DAVIT_UNSUPPORTED and nothing else is ever called. All functions that enqueue return at once. */
#ifndef DAVIT_OFFLOAD_RUNTIME_STREAM_H
#define DAVIT_OFFLOAD_RUNTIME_STREAM_H

#include <davit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DVT_MAX_ORDINALS = 64 }; /* NVIDIA devices beyond have no streams */

typedef struct dvt_stream dvt_stream;
typedef struct dvt_device_event dvt_device_event;

/* What a stream is for. A kernel on a stream that has carried copies waits for what is queued on the copy engine,
 * copies on other streams as well, so a stream that is released is taken again for the same role only. */
typedef enum dvt_stream_role {
  DVT_STREAM_MIXED,
  DVT_STREAM_LOADS,   /* copies from the host */
  DVT_STREAM_STORES,  /* copies to the host */
  DVT_STREAM_PEERS,   /* copies from other devices */
  DVT_STREAM_KERNELS, /* no copies */
  DVT_STREAM_URGENT,  /* kernels, which go before those of all others, as far as the device can */
  DVT_STREAM_ROLES
} dvt_stream_role;

/* Takes a stream of the device from the pool, or makes one. Released streams must be idle. */
davit_status dvt_stream_acquire(int device, dvt_stream_role role, dvt_stream **stream);
void dvt_stream_release(dvt_stream *stream);
int dvt_stream_device(const dvt_stream *stream);

/* CUDA's number of the stream's device, less than DVT_MAX_ORDINALS. */
int dvt_stream_ordinal(const dvt_stream *stream);

/* Makes the stream's device current for the calling thread, as vendor calls need it. */
davit_status dvt_stream_use(dvt_stream *stream);

/* The device runtime's own stream (a cudaStream_t), and the OpenMP interop object that has it (an omp_interop_t); NULL:
 * there is none. */
void *dvt_stream_native(dvt_stream *stream);
void *dvt_stream_interop(dvt_stream *stream);

/* Until it is released the stream is that of the program's interop object, or its `native` one where that is NULL.
 * Fails if that is no stream of the device. */
davit_status dvt_stream_adopt(dvt_stream *stream, void *interop, void *native);

/* Blocks until the stream is idle. */
davit_status dvt_stream_synchronize(dvt_stream *stream);

/* True in *idle if all work enqueued so far is over; the status is the device's error, if it has one. */
davit_status dvt_stream_query(dvt_stream *stream, bool *idle);

/* An event after the work enqueued so far; freed by dvt_device_event_free() (any thread, any time). Only a timed one
 * knows when it was reached, and costs the device more. */
davit_status dvt_stream_record(dvt_stream *stream, dvt_device_event **event);
davit_status dvt_stream_record_timed(dvt_stream *stream, dvt_device_event **event);
void dvt_device_event_free(dvt_device_event *event);

/* Later work of `stream` waits for `event`, which may be on another device. */
davit_status dvt_stream_wait(dvt_stream *stream, dvt_device_event *event);

/* True in *reached once the event is reached; the status is the device's error, if it has one. */
davit_status dvt_device_event_query(dvt_device_event *event, bool *reached);

/* Blocks the thread until the event is reached. */
davit_status dvt_device_event_wait(dvt_device_event *event);

/* Calls function(argument, status) on a thread of the device runtime once the event is reached or the device
 * has failed. The function must be short and make no device call. Any thread may ask. */
typedef void (*dvt_notify)(void *argument, davit_status status);
davit_status dvt_device_event_notify(dvt_device_event *event, dvt_notify function, void *argument);

/* Milliseconds from `start` to `stop`, both timed, reached, and on one device; DAVIT_UNSUPPORTED otherwise. */
davit_status dvt_device_event_elapsed(dvt_device_event *start, dvt_device_event *stop, double *milliseconds);

/* Enqueues a 2-D copy (columns of `row_bytes` contiguous bytes, pitches in bytes) between any two memories
 * the device reaches, pinned host or device; `cols` = 1 is a linear copy. */
davit_status dvt_stream_copy(dvt_stream *stream, void *destination, size_t destination_pitch,
                             const void *source, size_t source_pitch, size_t row_bytes, size_t cols);

static inline davit_status dvt_stream_copy_bytes(dvt_stream *stream, void *destination, const void *source,
                                                 size_t bytes) {
  return dvt_stream_copy(stream, destination, bytes, source, bytes, bytes, 1);
}

/* The same from the memory of the GPU `source_device` to that of the stream's. */
davit_status dvt_stream_copy_peer(dvt_stream *stream, int source_device, void *destination,
                                  size_t destination_pitch, const void *source, size_t source_pitch,
                                  size_t row_bytes, size_t cols);

davit_status dvt_stream_fill(dvt_stream *stream, void *pointer, int value, size_t bytes);

/* The cuBLAS handle bound to the stream (made on first use; a cublasHandle_t). */
davit_status dvt_stream_cublas(dvt_stream *stream, void **handle);

/* The same of cuSOLVER (a cusolverDnHandle_t). */
davit_status dvt_stream_cusolver(dvt_stream *stream, void **handle);

#endif
