/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes, and the sentence that explains a failure.
 *
 * Every function returns a davit_status, except those that return a fixed text, a version, a size or an
 * index. Outputs are written on success only. A function that fails also stores a sentence for the calling
 * thread; davit_last_error() returns it. The library prints nothing. docs/errors.md lists what each status
 * means and what to do.
 *
 * Thread safety: any thread may call any function; each thread has its own sentence. */
#ifndef DAVIT_STATUS_H
#define DAVIT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(DAVIT_BUILDING)
#define DAVIT_API __attribute__((visibility("default")))
#else
#define DAVIT_API
#endif

typedef enum davit_status {
  DAVIT_SUCCESS = 0,
  DAVIT_INVALID_ARGUMENT,      /* the sentence names the argument and its value */
  DAVIT_UNKNOWN_DEVICE,        /* no device has this number */
  DAVIT_OUT_OF_HOST_MEMORY,    /* pageable or pinned host memory */
  DAVIT_OUT_OF_DEVICE_MEMORY,  /* memory of a device */
  DAVIT_INVALID_STATE,         /* not allowed now, for example checking an event that is not complete */
  DAVIT_WOULD_DEADLOCK,        /* work of a queue asked to wait for that queue */
  DAVIT_UNSUPPORTED,           /* this device, build or environment cannot do it */
  DAVIT_DEVICE_ERROR,          /* an operation of the device failed */
  DAVIT_DEVICE_LOST,           /* the device no longer answers */
  DAVIT_WORK_FAILED,           /* a host function or region returned a failure */
  DAVIT_INTERNAL_ERROR,        /* a call to the system failed, or davit has a defect */
  DAVIT_NOT_POSITIVE_DEFINITE, /* the matrix has no Cholesky factorisation */
  DAVIT_SINGULAR,              /* the matrix has no inverse: a diagonal element of its factor is 0 */
  DAVIT_STATUS_COUNT
} davit_status;

/* A short fixed text, never NULL; "unknown status" for any other number. */
DAVIT_API const char *davit_status_string(davit_status status);

/* The sentence of this thread's last failure; "" if there was none. Valid until a later call on
 * this thread fails, or meets a failure that it can work around. */
DAVIT_API const char *davit_last_error(void);

/* Stores a sentence (printf format) for this thread and returns `status`. Host functions and regions use it
 * to explain a failure, for example `return davit_fail(DAVIT_WORK_FAILED, "line %d is empty", line);`. */
DAVIT_API davit_status davit_fail(davit_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif
