/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of the host in a task graph: `target nowait depend` on the initial device.
 *
 * The calling thread generates the region and goes on. It must be the one thread that generates all tasks of the graph
 * (src/runtime/generator.h), whose team runs the region: LLVM's hidden helper threads, which would do so otherwise, are
 * switched off. */
#ifndef DAVIT_OFFLOAD_RUNTIME_REGION_H
#define DAVIT_OFFLOAD_RUNTIME_REGION_H

typedef struct dvt_region_order {
  char *order;     /* the address whose depend(inout) orders a sequence */
  char *const *in; /* it follows the tasks that wrote these as well */
  int in_count;
  char *out; /* what waits for this follows it; NULL: nothing */
} dvt_region_order;

/* body(argument) on a thread of the team; it must not wait for another command. */
void dvt_region_on_host(const dvt_region_order *order, void (*body)(void *), void *argument);

#endif
