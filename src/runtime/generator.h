/* SPDX-License-Identifier: Apache-2.0 */
/* The generator: the one thread that owns the graph of OpenMP tasks.
 *
 * `depend` orders siblings only, so one thread generates every task. It is the first of a team of two, whose
 * second thread sleeps: a team of one would run its tasks at once. The generator runs ready tasks itself, by
 * `taskyield`; host regions and target regions run on the OpenMP runtime's helper threads.
 *
 * A task that another thread completes (a detached task, a region) may make tasks of the generator's ready.
 * The OpenMP runtime does not wake a thread for them: whoever completes one calls dvt_generator_notice(). */
#ifndef DAVIT_SRC_RUNTIME_GENERATOR_H
#define DAVIT_SRC_RUNTIME_GENERATOR_H

#include <davit/status.h>
#include <stdbool.h>
#include <stdint.h>

/* What the generator does: turn() takes what was submitted and generates tasks, and returns whether there was
 * anything; is_waiting() is asked before the generator sleeps. */
typedef struct dvt_generator_work {
  bool (*turn)(void);
  bool (*is_waiting)(void);
} dvt_generator_work;

/* Makes the generator on the first call. It is never ended: ending its parallel region after other threads
 * have completed its tasks, and beginning another, trips an assertion of LLVM 19's libomp. Once the process ends it
 * does not return, but in the start of the library, which exit() waits for as a whole. */
davit_status dvt_generator_start(const dvt_generator_work *work, bool library_runs);

/* Threads that the OpenMP runtime may make for one program, as OMP_THREAD_LIMIT has it; once there is a generator. */
int dvt_generator_thread_limit(void);

/* Any thread: something was submitted. */
void dvt_generator_wake(void);

/* Any thread: a task of the graph is complete, or will be as soon as the calling region returns. */
void dvt_generator_notice(void);

/* Any thread: completes a detached task. */
void dvt_generator_fulfil(uintptr_t event);

/* Any thread: short work has begun (1), or ended (-1), behind which more follows at once: to wake the generator would
 * take as long. */
void dvt_generator_hurry(int works);

/* In the generator: a task is about to be generated that the generator will run, then, the task's body began.
 * `expected`: it follows a region, whose end the generator learns only from the region itself. */
void dvt_generator_defer(bool expected);
void dvt_generator_began(bool expected);

/* In the generator: a region is about to be generated. From then on a task may follow one although it is not expected
 * to: dependences are addresses, and a lane or record may get that of another whose last region has given notice, but
 * has not returned. */
void dvt_generator_region(void);

/* Whether the calling thread is the generator, which must not wait for anything. */
bool dvt_generator_is_here(void);

/* Returns when the generator sleeps. */
void dvt_generator_rest(void);

/* Whether this process has one: a child after fork() has not that of its parent. */
bool dvt_generator_exists(void);

/* In the generator: runs tasks that are ready. */
void dvt_generator_run_ready(void);

/* At exit: waits for a start that is under way; there is none afterwards. */
void dvt_generator_settle(void);

/* At exit: after this neither the generator nor a fulfilment enters the OpenMP runtime again, unless one of them stays
 * there beyond the deadline. */
void dvt_generator_leave(void);

#endif
