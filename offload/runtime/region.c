/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled without devices: a region then runs where the initial device is. */
#include "offload/runtime/region.h"

#include <stddef.h>

void dvt_region_on_host(const dvt_region_order *o, void (*body)(void *), void *argument) {
  char *order = o->order, *const *in = o->in, *const out[1] = {o->out};
  const int ins = o->in_count, outs = o->out != NULL;
  if (ins == 0 && outs == 0) { /* lists of no fixed length take longer */
#pragma omp target nowait depend(inout : *order) firstprivate(body, argument)
    body(argument);
  } else {
#pragma omp target nowait depend(inout : *order) depend(iterator(int i = 0 : ins), in : *in[i])              \
    depend(iterator(int i = 0 : outs), out : *out[i]) firstprivate(body, argument)
    body(argument);
  }
}
