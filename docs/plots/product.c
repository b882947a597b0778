/* SPDX-License-Identifier: Apache-2.0 */
/* The program whose trace is drawn in product.svg (docs/gemm.md): a product over two host-offload devices, which copy
 * tiles as GPUs do. tests/docs/drawings.py runs it. */
#include <davit/davit.h>
#include <stdio.h>

enum { N = 1500, BYTES = N * N * sizeof(double) };

int main(void) {
  static const int devices[] = {0, 1};
  const davit_level3_options options = {
      .devices = devices, .device_count = 2, .tile = N / 2, .separate_memory = true};
  double *a, *b, *c;
  if (davit_malloc(BYTES, DAVIT_PINNED, (void **)&a) || davit_malloc(BYTES, DAVIT_PINNED, (void **)&b) ||
      davit_malloc(BYTES, DAVIT_PINNED, (void **)&c) || davit_random(DAVIT_DOUBLE, N * N, 1, a) ||
      davit_random(DAVIT_DOUBLE, N * N, 2, b) ||
      davit_dgemm('N', 'N', N, N, N, 1.0, a, N, b, N, 0.0, c, N, &options)) {
    fprintf(stderr, "%s\n", davit_last_error());
    return 1;
  }
  return davit_free(a) || davit_free(b) || davit_free(c);
}
