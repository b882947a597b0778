/* SPDX-License-Identifier: Apache-2.0 */
/* Regions in a task graph: `target nowait depend`, on the helper threads of LLVM's OpenMP runtime.
 *
 * The calling thread generates the region and goes on. It must be the one thread that generates all tasks of
 * the graph, inside a parallel region that stays open. libomp 19 crashes, as tests/outside/helpers.c shows,
 *   - if two threads generate such regions;
 *   - at the next region, after any thread that has used OpenMP has ended: it takes the helper threads along;
 *   - if a thread begins to use OpenMP, or needs new threads for a team, while the helper threads are made:
 *     dvt_helpers_start() makes them at a moment of davit's choice;
 *   - if such a region is generated while a helper thread is inside a parallel region, also one of a single
 *     thread: libomp reads that thread's state. */
#ifndef DAVIT_OFFLOAD_RUNTIME_REGION_H
#define DAVIT_OFFLOAD_RUNTIME_REGION_H

typedef struct dvt_region_order {
  char *order;     /* the address whose depend(inout) orders a sequence */
  char *const *in; /* it follows the tasks that wrote these as well */
  int in_count;
  char *out; /* what waits for this follows it; NULL: nothing */
} dvt_region_order;

/* body(argument) on a helper thread. There are eight, so body must not wait for another command. */
void dvt_region_on_host(const dvt_region_order *order, void (*body)(void *), void *argument);

#endif
