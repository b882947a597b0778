/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/thread.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "src/base/allocate.h"
#include "src/base/inject.h"

static _Thread_local bool last;

bool dvt_thread_is_last(void) {
  return last;
}

void dvt_thread_set_last(bool is_last) {
  last = is_last;
}

typedef struct beginning {
  void *(*function)(void *);
  void *argument;
} beginning;

static void *begin_as_last(void *argument) {
  const beginning b = *(beginning *)argument;
  free(argument);
  last = true;
  return b.function(b.argument);
}

static int create(void *(*function)(void *), void *argument, pthread_t *thread) {
  if (!last)
    return pthread_create(thread, NULL, function, argument);
  beginning *b = dvt_allocate(1, sizeof *b);
  if (!b)
    return ENOMEM;
  *b = (beginning){function, argument};
  const int error = pthread_create(thread, NULL, begin_as_last, b);
  if (error)
    free(b);
  return error;
}

davit_status dvt_thread_start(void *(*function)(void *), void *argument, pthread_t *thread) {
  const int error = dvt_injected(DVT_INJECT_THREAD) ? EAGAIN : create(function, argument, thread);
  return error ? davit_fail(DAVIT_INTERNAL_ERROR, "no thread can be made: %s", strerror(error))
               : DAVIT_SUCCESS;
}

void dvt_nap(int64_t nanoseconds) {
  const int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* ns */
  nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
  if (slack > 0)
    prctl(PR_SET_TIMERSLACK, (unsigned long)slack, 0, 0, 0);
}

static void *stay(void *end) {
  while (sem_wait(end) != 0) {
  }
  return NULL;
}

davit_status dvt_threads_try(int count) {
  pthread_t made[DVT_MOST_TRIED];
  davit_status status = DAVIT_SUCCESS;
  sem_t end;
  int n = 0;
  sem_init(&end, 0, 0);
  while (n < count && (status = dvt_thread_start(stay, &end, &made[n])) == DAVIT_SUCCESS)
    n++;
  for (int i = 0; i < n; i++)
    sem_post(&end);
  for (int i = 0; i < n; i++)
    pthread_join(made[i], NULL);
  sem_destroy(&end);
  return status;
}
