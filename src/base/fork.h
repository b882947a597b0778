/* SPDX-License-Identifier: Apache-2.0 */
/* What the library does when the process forks.
 *
 * The child has one thread. What other threads of the parent owned at that moment is replaced in the child or
 * never touched there, and nothing waits for them. Locks that guard what the child goes on to use are held
 * during fork(), so that it is whole. Devices other than the CPU, the back end and all objects with a handle
 * stay the parent's: the child starts the library anew, on DAVIT_HOST with the back end "threads". Where a
 * driver of GPUs is loaded that holds whether or not the parent has used the library, and exit() in the child
 * ends it without the exit handlers of the parent, the driver's among them.
 *
 * A part is what one source adds. Parts are taken in the order of dvt_fork_order: whoever holds the lock of
 * one may wait for those after it. */
#ifndef DAVIT_SRC_BASE_FORK_H
#define DAVIT_SRC_BASE_FORK_H

#include <davit/status.h>
#include <pthread.h>
#include <stdbool.h>

typedef enum dvt_fork_order {
  DVT_FORK_TEAMS,
  DVT_FORK_START,
  DVT_FORK_LOOK, /* for devices */
  DVT_FORK_QUEUES,
  DVT_FORK_TUNING,
  DVT_FORK_PLANNER,
  DVT_FORK_MEMORY,
  DVT_FORK_POOL,
  DVT_FORK_TRACE,
  DVT_FORK_RECORDS,
  DVT_FORK_DEVICES,
  DVT_FORK_ENDING,
  DVT_FORK_PARTS
} dvt_fork_order;

/* What is NULL is not done. */
typedef struct dvt_fork_part {
  pthread_mutex_t *lock; /* held during fork(), made anew in the child */
  void (*prepare)(void); /* before fork(), with the lock held */
  void (*parent)(void);  /* after it in the parent, before the lock is released */
  void (*child)(void);   /* after it in the child; the parts after this one still have the parent's state */
} dvt_fork_part;

/* By a constructor, once for each place in the order. `part` stays. */
void dvt_on_fork(dvt_fork_order order, const dvt_fork_part *part);

/* Called once, when the library has started OpenMP: the later a handler is registered, the sooner it comes
 * before fork(), and OpenMP's own, which stops the runtime, has to come after. */
void dvt_fork_watch(void);

/* How many forks since the library's start, or where a driver of GPUs is loaded since that of the program,
 * have led to this process: 0 in the process that started it. An object keeps it, as a mark of the process
 * that made it. */
int dvt_process(void);

/* Whether a driver of GPUs is loaded, by whomever. */
bool dvt_driver_is_loaded(void);

/* Whether the calling thread is the one that fork() has left to this process, or to one that loads the library later:
 * what it has, in a runtime that knows nothing of fork(), may be threads that are not there. GCC's OpenMP, by which
 * BLIS may compute, waits for them for ever. Threads that the process has made itself have others. */
bool dvt_thread_is_forked(void);

/* Fails if the argument `name` was made by another process than this one. */
davit_status dvt_check_process(const char *name, int process);

#endif
