/* The progress line. The library's calls block, so a thread of its own shows the time. */
#include "src/cli/frame/progress.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void *show(void *argument) {
  enum { FIRST_SECOND = 2 };
  cli_progress *progress = argument;
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  next.tv_sec += FIRST_SECOND;
  bool shown = false;
  pthread_mutex_lock(&progress->mutex);
  for (int seconds = FIRST_SECOND; !progress->stop;) {
    if (pthread_cond_timedwait(&progress->changed, &progress->mutex, &next) != ETIMEDOUT)
      continue;
    fprintf(stderr, "\r%s: %d s\033[K", progress->text, seconds);
    shown = true;
    next.tv_sec++;
    seconds++;
  }
  pthread_mutex_unlock(&progress->mutex);
  if (shown)
    fputs("\r\033[K", stderr);
  return NULL;
}

void cli_progress_start(cli_progress *progress, const char *text, bool quiet) {
  *progress = (cli_progress){0};
  snprintf(progress->text, sizeof progress->text, "%s", text);
  if (quiet || !isatty(STDERR_FILENO))
    return;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&progress->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&progress->mutex, NULL);
  progress->running = !pthread_create(&progress->thread, NULL, show, progress);
}

void cli_progress_say(cli_progress *progress, const char *format, ...) {
  if (!progress->running)
    return;
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&progress->mutex);
  vsnprintf(progress->text, sizeof progress->text, format, arguments);
  pthread_mutex_unlock(&progress->mutex);
  va_end(arguments);
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
