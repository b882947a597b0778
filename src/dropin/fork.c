/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the library in a child of fork(). The barrier says what fork() waits for. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/dropin/dropin.h"

static void before_fork(void) {
  dvt_barrier_close_at_last();
  dvt_dropin_threads_before_fork();
}

static void leave(int status, void *unused) {
  (void)unused;
  fflush(NULL);
  _exit(status);
}

/* If the libraries for devices were being loaded, their handlers do not all come in this child: what they have
 * registered for its end would wait for threads that it does not have. */
static void in_child(void) {
  const dvt_child child = dvt_barrier_in_child();
  if (child.parts)
    on_exit(leave, NULL);
  dvt_dropin_threads_in_child(child.whole);
  dvt_dropin_devices_in_child(child.parts);
}

__attribute__((constructor)) static void watch_from_the_start(void) {
  pthread_atfork(before_fork, dvt_barrier_open, in_child);
}
