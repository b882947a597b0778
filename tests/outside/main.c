/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside of davit, as tests/outside/install.sh builds it in several ways: work on the host goes
 * through a queue of every device, and with -fopenmp a target region of the program's own as well. */
#include <davit/davit.h>
#include <stdio.h>
#include <string.h>

static davit_status add_one(void *argument) {
  ++*(int *)argument;
  return DAVIT_SUCCESS;
}

#ifdef _OPENMP
static davit_status add_one_there(int device, void *argument) {
  int value = *(int *)argument;
#pragma omp target device(device) map(tofrom : value)
  value++;
  *(int *)argument = value;
  return DAVIT_SUCCESS;
}
#endif

static davit_status work(int device, int *value) {
  davit_queue *queue;
  davit_status status = davit_queue_create(device, &queue, NULL);
  if (status != DAVIT_SUCCESS)
    return status;
  status = davit_queue_host_function(queue, add_one, value);
#ifdef _OPENMP
  if (status == DAVIT_SUCCESS)
    status = davit_queue_region(queue, add_one_there, value);
#else
  if (status == DAVIT_SUCCESS)
    status = davit_queue_host_function(queue, add_one, value);
#endif
  if (status == DAVIT_SUCCESS)
    status = davit_queue_synchronize(queue);
  davit_status destroyed = davit_queue_destroy(queue);
  return status == DAVIT_SUCCESS ? destroyed : status;
}

int main(void) {
  int count, value = 0;
  davit_status status = davit_device_count(&count);
  for (int device = DAVIT_HOST; status == DAVIT_SUCCESS && device < count; device++)
    status = work(device, &value);
  if (status != DAVIT_SUCCESS || value != 2 * (count + 1) || strcmp(davit_version(), DAVIT_VERSION) != 0) {
    fprintf(stderr, "%s: %s\n", davit_status_string(status), davit_last_error());
    return 1;
  }
  printf("%d devices, %d commands\n", count, value);
  return 0;
}
