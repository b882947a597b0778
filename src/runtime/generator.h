/* SPDX-License-Identifier: Apache-2.0 */
/* The generator: the one thread that owns the graph of OpenMP tasks, and the team that runs them.
 *
 * `depend` orders siblings only, so one thread generates every task. It is the first of a team that stays in its
 * parallel region for good. Whatever it has to know comes to it as a message.
 *
 * Every task is short except the program's regions: it places work in a stream, or hands it to a host thread. So the
 * generator itself runs what is ready, by `taskyield`, and the other threads of the team, its workers, sleep. While
 * regions are in the graph the generator runs nothing, because a yield could begin a region; then as many workers as
 * lanes have such regions, and one more, run everything.
 *
 * LLVM's runtime would run `target nowait` regions on hidden helper threads of its own, which it ends when any thread
 * that has used OpenMP ends (docs/openmp.md). They are switched off before the first region: a region is then a task of
 * the team. */
#ifndef DAVIT_SRC_RUNTIME_GENERATOR_H
#define DAVIT_SRC_RUNTIME_GENERATOR_H

#include <davit/status.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What the generator is told. take() is called there, once, and may free the message. The memory is the sender's, so
 * that sending cannot fail. */
typedef struct dvt_message dvt_message;
struct dvt_message {
  _Atomic(dvt_message *) follower;
  void (*take)(dvt_message *message);
};

/* A detached task: its event, and where its body ran: a worker's number of yields, as it was then, or NULL. */
typedef struct dvt_detached {
  uintptr_t event; /* 0: the task is none */
  const atomic_uint *yields;
  unsigned yield;
} dvt_detached;

/* Makes the generator and its team on the first call. After a batch of messages the generator calls turn(), which
 * generates tasks, and returns whether there was anything. They are never ended: ending the parallel region after other
 * threads have completed its tasks, and beginning another, trips an assertion of LLVM 19's libomp. Once the process
 * ends it does not return, except in the start of the library, which exit() waits for as a whole. */
davit_status dvt_generator_start(bool (*turn)(void), bool library_runs);

/* Any thread: sends a message; wakes the generator. Messages of one thread arrive in order. */
void dvt_generator_send(dvt_message *message);
void dvt_generator_wake(void);

/* The messages that have not been taken, oldest first; NULL behind the last. Nobody may take any meanwhile. */
dvt_message *dvt_generator_unread(const dvt_message *after);

/* Any thread: short work has begun (1), or ended (-1), behind which more follows at once: to wake the generator would
 * take as long. */
void dvt_generator_hurry(int works);

/* In the generator: a task is about to be generated. In the task: its body began. */
void dvt_generator_defer(void);
void dvt_generator_began(void);

/* In a task of davit's that was not deferred so: it has begun. */
void dvt_generator_passed(void);

/* The first region of the program comes into the graph on a lane, and the last on it is over, which the task behind it
 * says. */
void dvt_generator_regions_begin(void);
void dvt_generator_regions_end(void);

/* In the body of a detached task, in place of dvt_generator_began(); then, in the generator, which ends the task.
 * Another thread could end it as well, but LLVM's runtime would then give the rest of the task to a thread of the team
 * without asking in which team that is now. False, and `over` is sent again: the worker that ran the body is still on
 * its way out, where LLVM 19's runtime looks at the task once more. */
void dvt_generator_detach(dvt_detached *task, uintptr_t event);
bool dvt_generator_fulfil(const dvt_detached *task, dvt_message *over);

/* Whether the calling thread is the generator, which must not wait for anything. */
bool dvt_generator_is_here(void);

/* Returns when the generator and its workers sleep. */
void dvt_generator_rest(void);

/* Whether this process has one: a child after fork() does not have its parent's. */
bool dvt_generator_exists(void);

/* In the generator: takes messages, and runs tasks that are ready, or has the workers run them. */
void dvt_generator_go_on(void);

/* At exit: waits for a start that is under way; there is none afterwards. */
void dvt_generator_settle(void);

/* At exit: after this no thread of the team enters the OpenMP runtime again, unless it stays there beyond the
 * deadline. */
void dvt_generator_leave(void);

#endif
