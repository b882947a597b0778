/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line. The library's calls block, so a thread shows the time. */
#include "src/cli/frame/progress.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/thread.h"

static void print_line(const cli_progress *progress) {
  const double seconds = dvt_now() - progress->start;
  fprintf(stderr, "\r%s: ", progress->what);
  if (progress->unit && progress->total > 0)
    fprintf(stderr, "%.0f of %.0f %s, ", progress->done, progress->total, progress->unit);
  else if (progress->unit)
    fprintf(stderr, "%.0f %s, ", progress->done, progress->unit);
  fprintf(stderr, "%.0f s", seconds);
  if (progress->done > 0 && progress->total > progress->done)
    fprintf(stderr, ", about %.0f s left", seconds / progress->done * (progress->total - progress->done));
  fputs("\033[K", stderr);
}

static void *show(void *argument) {
  enum { FIRST_SECOND = 2 };
  cli_progress *progress = argument;
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  next.tv_sec += FIRST_SECOND;
  bool shown = false;
  pthread_mutex_lock(&progress->mutex);
  while (!progress->stop) {
    if (pthread_cond_timedwait(&progress->changed, &progress->mutex, &next) != ETIMEDOUT)
      continue;
    print_line(progress);
    shown = true;
    next.tv_sec++;
  }
  pthread_mutex_unlock(&progress->mutex);
  if (shown)
    fputs("\r\033[K", stderr);
  return NULL;
}

void cli_progress_start(cli_progress *progress, const char *what, bool quiet) {
  *progress = (cli_progress){.what = what, .start = dvt_now()};
  if (quiet || !isatty(STDERR_FILENO))
    return;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&progress->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&progress->mutex, NULL);
  progress->running = dvt_thread_start(show, progress, &progress->thread) == DAVIT_SUCCESS;
}

void cli_progress_at(cli_progress *progress, double done, double total, const char *unit) {
  if (!progress->running)
    return;
  pthread_mutex_lock(&progress->mutex);
  progress->done = done;
  progress->total = total;
  progress->unit = unit;
  pthread_mutex_unlock(&progress->mutex);
}

void cli_progress_stop(cli_progress *progress) {
  if (!progress->running)
    return;
  pthread_mutex_lock(&progress->mutex);
  progress->stop = true;
  pthread_cond_signal(&progress->changed);
  pthread_mutex_unlock(&progress->mutex);
  pthread_join(progress->thread, NULL);
  progress->running = false;
}
