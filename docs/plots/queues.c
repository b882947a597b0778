/* SPDX-License-Identifier: Apache-2.0 */
/* The program whose trace is drawn in queues.svg (docs/event.md): blocks of a matrix are loaded, multiplied and stored
 * by three queues of a device, in which events order what belongs to one block. tests/docs/drawings.py runs it. */
#include <davit/davit.h>
#include <stdio.h>

enum { N = 300, BLOCKS = 4, BYTES = N * N * sizeof(double) };
static double input[BLOCKS][N * N], output[BLOCKS][N * N];

int main(void) {
  davit_queue *load, *multiply, *store;
  davit_event *loaded, *multiplied;
  double *a[BLOCKS], *c[BLOCKS];
  davit_status status = davit_queue_create(0, &load, NULL);
  status = status ? status : davit_queue_create(0, &multiply, NULL);
  status = status ? status : davit_queue_create(0, &store, NULL);
  status = status ? status : davit_event_create(&loaded);
  status = status ? status : davit_event_create(&multiplied);
  for (int i = 0; i < BLOCKS && !status; i++) {
    status = davit_random(DAVIT_DOUBLE, N * N, 1, input[i]);
    status = status ? status : davit_malloc(BYTES, 0, (void **)&a[i]);
    status = status ? status : davit_malloc(BYTES, 0, (void **)&c[i]);
  }
  for (int i = 0; i < BLOCKS && !status; i++) {
    davit_queue_copy(load, BYTES, input[i], a[i]);
    davit_event_record(loaded, load);
    davit_queue_wait(multiply, loaded);
    davit_queue_dgemm(multiply, 'N', 'N', N, N, N, 1.0, a[i], N, a[i], N, 0.0, c[i], N, NULL);
    davit_event_record(multiplied, multiply);
    davit_queue_wait(store, multiplied);
    davit_queue_copy(store, BYTES, c[i], output[i]);
  }
  status = status ? status : davit_queue_synchronize(store);
  if (status)
    fprintf(stderr, "%s\n", davit_last_error());
  return status || output[BLOCKS - 1][0] == 0;
}
