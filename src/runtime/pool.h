/* SPDX-License-Identifier: Apache-2.0 */
/* Host threads that may block: made when all others are busy, kept for a while when idle.
 *
 * The task graph never blocks a thread of its own; whatever may block (host functions, regions, copies of
 * pageable memory) is handed to a thread here. There are at most as many as lanes with blocking work, so
 * work that waits for other lanes' work never starves it. Idle threads sleep. */
#ifndef DAVIT_SRC_RUNTIME_POOL_H
#define DAVIT_SRC_RUNTIME_POOL_H

#include <davit/status.h>

/* Runs function(argument) on a thread of the pool; fails if all are busy and no thread can be made. */
davit_status dvt_pool_run(void (*function)(void *), void *argument);

/* Has so many threads made that are idle, or soon will be: then as many calls of dvt_pool_run() find one, unless others
 * take it. */
davit_status dvt_pool_reserve(int threads);

/* Ends all idle threads, and waits until they have gone; nothing may be running. */
void dvt_pool_stop(void);

#endif
