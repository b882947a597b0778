/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/thread.h"

#include <errno.h>
#include <string.h>

#include "src/base/inject.h"

davit_status dvt_thread_start(void *(*function)(void *), void *argument, pthread_t *thread) {
  const int error =
      dvt_injected(DVT_INJECT_THREAD) ? EAGAIN : pthread_create(thread, NULL, function, argument);
  return error ? davit_fail(DAVIT_INTERNAL_ERROR, "no thread can be made: %s", strerror(error))
               : DAVIT_SUCCESS;
}
