/* A line on standard error, when that is a terminal, that shows how long the work has been running:
 * from its third second on, until the work ends. */
#ifndef DAVIT_SRC_CLI_FRAME_PROGRESS_H
#define DAVIT_SRC_CLI_FRAME_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>

typedef struct cli_progress {
  char text[80];
  bool running; /* a thread was started */
  bool stop;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
} cli_progress;

/* `text` says what runs. Without a terminal, when `quiet`, or when no thread can be had, nothing is shown. */
void cli_progress_start(cli_progress *progress, const char *text, bool quiet);
/* Another text from now on (printf format). */
void cli_progress_say(cli_progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

void cli_progress_stop(cli_progress *progress);

#endif
