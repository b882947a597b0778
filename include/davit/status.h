/* Status codes and the sentence behind them.
 *
 * Every public function returns a davit_status; outputs are the last parameters and are written only
 * on success unless the function says otherwise. A function that fails leaves a sentence for the
 * calling thread, read by davit_last_error(). Nothing in the library prints.
 *
 * Thread safety: all functions here may be called from any thread; the sentence is per thread. */
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
  DAVIT_INVALID_ARGUMENT,     /* the sentence names the argument */
  DAVIT_UNKNOWN_DEVICE,       /* no device has this number */
  DAVIT_OUT_OF_HOST_MEMORY,   /* pageable or pinned host memory */
  DAVIT_OUT_OF_DEVICE_MEMORY, /* the device is full */
  DAVIT_INVALID_STATE,        /* the call is not allowed now, e.g. checking an unfinished event */
  DAVIT_WOULD_DEADLOCK,       /* a queue's own work asked to wait for that queue */
  DAVIT_UNSUPPORTED,          /* this device or build cannot do it */
  DAVIT_DEVICE_ERROR,         /* a device operation failed */
  DAVIT_DEVICE_LOST,          /* the device does not answer any more */
  DAVIT_WORK_FAILED,          /* a host function or region returned failure */
  DAVIT_INTERNAL_ERROR,       /* a system call failed that should not */
  DAVIT_STATUS_COUNT
} davit_status;

/* A short fixed text for a status, never NULL ("unknown status" for a foreign number). */
DAVIT_API const char *davit_status_string(davit_status status);

/* The sentence of the last failure on this thread; "" if none failed. Valid until the next davit call
 * of this thread that fails. */
DAVIT_API const char *davit_last_error(void);

/* Sets this thread's sentence (printf format) and returns `status`: how host functions and regions
 * say why they failed, e.g. `return davit_fail(DAVIT_WORK_FAILED, "line %d is empty", line);`. */
DAVIT_API davit_status davit_fail(davit_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif
