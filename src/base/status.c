/* SPDX-License-Identifier: Apache-2.0 */
/* Status texts and the per-thread sentence. */
#include <davit/status.h>
#include <davit/version.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/text.h"

static _Thread_local char sentence[DVT_MESSAGE_BYTES];

const char *davit_status_string(davit_status status) {
  static const char *const texts[DAVIT_STATUS_COUNT] = {
      [DAVIT_SUCCESS] = "success",
      [DAVIT_INVALID_ARGUMENT] = "invalid argument",
      [DAVIT_UNKNOWN_DEVICE] = "unknown device",
      [DAVIT_OUT_OF_HOST_MEMORY] = "out of host memory",
      [DAVIT_OUT_OF_DEVICE_MEMORY] = "out of device memory",
      [DAVIT_INVALID_STATE] = "not allowed in this state",
      [DAVIT_WOULD_DEADLOCK] = "the call would wait for itself",
      [DAVIT_UNSUPPORTED] = "not supported here",
      [DAVIT_DEVICE_ERROR] = "device error",
      [DAVIT_DEVICE_LOST] = "device lost",
      [DAVIT_WORK_FAILED] = "the enqueued work failed",
      [DAVIT_INTERNAL_ERROR] = "internal error",
      [DAVIT_NOT_POSITIVE_DEFINITE] = "not positive definite",
      [DAVIT_SINGULAR] = "singular",
  };
  return (unsigned)status < DAVIT_STATUS_COUNT ? texts[status] : "unknown status";
}

const char *davit_last_error(void) {
  return sentence;
}

void dvt_error_clear(void) {
  sentence[0] = '\0';
}

davit_status davit_fail(davit_status status, const char *format, ...) {
  char text[DVT_MESSAGE_BYTES]; /* the arguments may point into the old sentence */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  dvt_make_printable(text);
  memcpy(sentence, text, sizeof sentence);
  return status;
}

const char *davit_version(void) {
  return DAVIT_VERSION;
}
