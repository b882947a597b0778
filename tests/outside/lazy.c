/* SPDX-License-Identifier: Apache-2.0 */
/* When the shared library's devices are registered with the OpenMP runtime, which opens the drivers of GPUs.
 *
 *   lazy when-asked     a program without target regions: not before a call wants a device other than the CPU
 *   lazy at-load        a program that needs the offload runtime itself: when the library is loaded
 *
 * (tests/outside/guests.sh builds and runs it) */
#define _GNU_SOURCE
#include <davit/davit.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The runtime's devices so far. */
static int registered(void) {
  int (*count)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "omp_get_num_devices");
  return count ? count() : -1;
}

static int complain(const char *what) {
  fprintf(stderr, "%s: %d devices are registered; %s\n", what, registered(), davit_last_error());
  return 1;
}

static int compute_on_host(void) {
  static double x[200000];
  const int host = DAVIT_HOST;
  double sum = 0, a[4] = {1, 2, 3, 4}, c[4];
  davit_queue *queue;
  return davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, 200000, x, &sum,
                      &(davit_reduce_options){.devices = &host, .device_count = 1}) ||
         davit_dgemm('N', 'N', 2, 2, 2, 1, a, 2, a, 2, 0, c, 2,
                     &(davit_level3_options){.devices = &host, .device_count = 1}) ||
         davit_queue_create(DAVIT_HOST, &queue, NULL) ||
         davit_queue_reduce(queue, DAVIT_SUM, DAVIT_DOUBLE, 200000, x, &sum, NULL) ||
         davit_queue_synchronize(queue) || davit_queue_destroy(queue);
}

int main(int argc, char **argv) {
  const int at_load = argc == 2 && !strcmp(argv[1], "at-load");
  int count = 0;
  if ((registered() > 0) != at_load)
    return complain("at load");
  if (compute_on_host())
    return complain("work on the CPU");
  if ((registered() > 0) != at_load)
    return complain("after work on the CPU");
  if (davit_device_count(&count) || count < 1 || registered() != count)
    return complain("after the devices were counted");
  return 0;
}
