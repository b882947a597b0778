/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cpu_time.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include "tests/support.h"

/* 0 if there is no such clock: its thread has ended. */
static double ms_of(clockid_t clock) {
  struct timespec time = {0};
  clock_gettime(clock, &time);
  return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

double cpu_ms(void) {
  return ms_of(CLOCK_PROCESS_CPUTIME_ID);
}

static void read_name(thread_time *t) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", t->number);
  FILE *file = fopen(path, "r");
  if (!file || fscanf(file, "%31[^\n]", t->name) != 1)
    t->name[0] = '\0';
  if (file)
    fclose(file);
}

void read_thread_times(thread_times *times) {
  DIR *folder = opendir("/proc/self/task");
  assert_non_null(folder);
  times->count = 0;
  for (const struct dirent *entry; (entry = readdir(folder)) && times->count < MOST_TIMES;) {
    if (*entry->d_name == '.')
      continue;
    thread_time *t = &times->of[times->count++];
    t->number = atoi(entry->d_name);
    t->ms =
        ms_of((clockid_t)(~(unsigned)t->number << 3 | 6)); /* the clock that pthread_getcpuclockid() has */
    read_name(t);
  }
  closedir(folder);
}

double ms_since(const thread_time *now, const thread_times *before) {
  double ms = now->ms;
  for (int i = 0; i < before->count; i++)
    ms -= before->of[i].number == now->number ? before->of[i].ms : 0;
  return ms;
}

void print_busy_threads(const thread_times *before) {
  static thread_times now;
  read_thread_times(&now);
  for (int i = 0; i < now.count; i++) {
    const double ms = ms_since(&now.of[i], before);
    if (ms > 0.1)
      print_error("thread %d after the first, %s: %.1f ms\n", now.of[i].number - getpid(), now.of[i].name,
                  ms);
  }
}
