/* SPDX-License-Identifier: Apache-2.0 */
/* Processor time that the process and its threads have taken. */
#ifndef DAVIT_TESTS_CPU_TIME_H
#define DAVIT_TESTS_CPU_TIME_H

enum { MOST_TIMES = 512 };

typedef struct thread_time {
  int number;    /* the system's */
  char name[32]; /* for messages */
  double ms;
} thread_time;

/* Threads of the process, except those beyond the first MOST_TIMES. */
typedef struct thread_times {
  int count;
  thread_time of[MOST_TIMES];
} thread_times;

double cpu_ms(void); /* all threads together */
void read_thread_times(thread_times *times);

/* Milliseconds that a thread has run since `before` was read. */
double ms_since(const thread_time *now, const thread_times *before);

/* For the message of a failure. */
void print_busy_threads(const thread_times *before);

#endif
