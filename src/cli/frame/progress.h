/* SPDX-License-Identifier: Apache-2.0 */
/* A line on standard error, when that is a terminal, that shows for how long the work has been running and,
 * as far as the work reports it, how much of it is done and when it will end: from the third second on,
 * until the work ends. */
#ifndef DAVIT_SRC_CLI_FRAME_PROGRESS_H
#define DAVIT_SRC_CLI_FRAME_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>

typedef struct cli_progress {
  const char *what;
  const char *unit;   /* of `done` and `total`; NULL: nothing is counted */
  double done, total; /* total 0: not known */
  double start;       /* seconds of dvt_now() */
  bool running;       /* a thread was started */
  bool stop;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
} cli_progress;

/* `what` is the work's name. Shows nothing without a terminal, when `quiet`, or when no thread can be
 * started. */
void cli_progress_start(cli_progress *progress, const char *what, bool quiet);

/* So much is done, of `total` (0: not known), counted in `unit`. */
void cli_progress_at(cli_progress *progress, double done, double total, const char *unit);

void cli_progress_stop(cli_progress *progress);

#endif
