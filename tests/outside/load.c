/* SPDX-License-Identifier: Apache-2.0 */
/* A program without OpenMP that loads and unloads the shared library, idle and with work in flight.
 *
 *   load LIBDAVIT      (tests/outside/guests.sh builds and runs it) */
#include <davit/davit.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FUNCTION(library, name) ((__typeof__(name) *)find(library, #name))

static void *find(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (found)
    return found;
  fprintf(stderr, "%s\n", dlerror());
  exit(1);
}

static void sleep_ms(int milliseconds) {
  nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000L}, NULL);
}

static davit_status take_a_nap(void *unused) {
  (void)unused;
  sleep_ms(100);
  return DAVIT_SUCCESS;
}

static int use(const char *path, int in_flight) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  double x[3] = {1, 2, 3}, sum = 0;
  davit_queue *queue;
  int failed = FUNCTION(library, davit_reduce)(DAVIT_SUM, DAVIT_DOUBLE, 3, x, &sum, NULL) || sum != 6 ||
               FUNCTION(library, davit_queue_create)(DAVIT_HOST, &queue, NULL) ||
               FUNCTION(library, davit_queue_host_function)(queue, take_a_nap, NULL);
  if (!in_flight)
    failed = failed || FUNCTION(library, davit_queue_destroy)(queue) || FUNCTION(library, davit_finalize)();
  if (failed)
    fprintf(stderr, "%s\n", FUNCTION(library, davit_last_error)());
  dlclose(library);
  sleep_ms(200);
  return failed;
}

int main(int argc, char **argv) {
  return argc != 2 || use(argv[1], 0) || use(argv[1], 0) || use(argv[1], 1) || use(argv[1], 0) == 2;
}
