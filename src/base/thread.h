/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the library and of the tool. Every thread is made here, so that failure injection reaches it. */
#ifndef DAVIT_SRC_BASE_THREAD_H
#define DAVIT_SRC_BASE_THREAD_H

#include <davit/status.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Runs function(argument) on a new thread; a failure gives the system's reason. */
davit_status dvt_thread_start(void *(*function)(void *), void *argument, pthread_t *thread);

/* Whether the calling thread ends the process (src/base/ending.h), or works for the one that does: a thread that such a
 * thread starts does, and one of the pool while it runs what such a thread asks for. What it does must end although the
 * process ends, so it is not refused what other threads are. */
bool dvt_thread_is_last(void);
void dvt_thread_set_last(bool last);

/* Sleeps for so long, and little longer: Linux by default lets a thread sleep 50 µs more than it asked for. */
void dvt_nap(int64_t nanoseconds);

/* Whether `count` threads more can be made, at most DVT_MOST_TRIED: makes them and ends them. A runtime that ends the
 * process where it cannot have its threads is asked for them afterwards. */
enum { DVT_MOST_TRIED = 64 };
davit_status dvt_threads_try(int count);

#endif
