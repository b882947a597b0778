/* SPDX-License-Identifier: Apache-2.0 */
/* The host threads that davit computes on: how many, on which processors, and which of its teams has them
 * now.
 *
 * A host form of an operation, and a loop outside of one that opens an OpenMP team, stands between
 * dvt_team_begin() and dvt_team_end(), unless it is so short that the calling thread does it alone. All teams
 * together have at most dvt_threads() threads; a team that finds too few free waits for its turn, in the order of the
 * calls. A team never gets fewer threads than it would get alone, so results do not depend on what else is running. No
 * team waits for other work, so each of them ends.
 *
 * OpenMP's worker threads spin for at most a millisecond when the team has ended, whatever KMP_BLOCKTIME says:
 * else they would take processor time from davit's other threads for 200. Not at all would be too little: to
 * wake them takes longer than short loops do. The exception is KMP_BLOCKTIME=infinite, the default where
 * OMP_WAIT_POLICY=active, because no thread can change that. */
#ifndef DAVIT_SRC_BASE_TEAM_H
#define DAVIT_SRC_BASE_TEAM_H

#include <stdbool.h>
#include <time.h>

enum { DVT_MAX_THREADS = 1024 }; /* as many as sched_getaffinity() counts processors */

/* Threads that all teams together may have: what dvt_threads_set() says; else DAVIT_THREADS, else the first
 * number of OMP_NUM_THREADS; else one for each processor that the process may run on, within the quota of its
 * control group. 1 to DVT_MAX_THREADS. */
int dvt_threads(void);

/* At most DVT_MAX_THREADS; 0: the default again. */
void dvt_threads_set(int threads);

/* False if DAVIT_THREADS is set to anything but a number from 1 to DVT_MAX_THREADS. */
bool dvt_threads_check(void);

/* A call of the OpenMP runtime may bind the calling thread, which may be the user's: what is between these
 * two leaves the thread's processors as they were. `saved` is for dvt_mask_restore() alone. */
typedef struct dvt_mask {
  bool known;
  unsigned long words[16];
} dvt_mask;
dvt_mask dvt_mask_save(void);
void dvt_mask_restore(const dvt_mask *saved);

typedef struct dvt_team {
  int threads;
  bool outermost; /* the rest is set, and its threads are counted */
  int cancelling; /* whether the thread could be cancelled before */
  int blocktime;
  dvt_mask mask;
} dvt_team;

/* The right to a team of `wanted` threads (at least 1, lowered to dvt_threads()), the calling thread among
 * them. Within another team of the calling thread it is a part of that one; within a parallel region of the
 * program's own it is the calling thread alone. */
dvt_team dvt_team_begin(int wanted);
void dvt_team_end(const dvt_team *team);

/* What short work has, which the calling thread does alone: it waits for no turn and calls no OpenMP. */
#define DVT_NO_TEAM ((dvt_team){.threads = 1})

/* Whether the calling thread has one. */
bool dvt_team_is_held(void);

/* Whether the calling thread is one to lead a team for a plain call: the main thread, outside of the program's
 * parallel regions. Where LLVM's runtime has helper threads for the program's own regions, the end of a thread that has
 * used OpenMP takes them with it (docs/openmp.md); the end of the main thread ends all anyway. */
bool dvt_team_may_lead(void);

/* The process ends: waits for the teams that are under way, until the moment `deadline` of CLOCK_REALTIME, because
 * OpenMP cannot be taken down in the midst of them. From now on threads that have no part in the end get no team, and
 * those that have (dvt_thread_is_last()) do not wait for a turn. */
void dvt_teams_end(const struct timespec *deadline);

/* To be called first on each thread that davit makes. Where OpenMP binds threads (OMP_PROC_BIND), a new
 * thread inherits the one processor of the thread that made it; this gives it those of the process, and
 * keeps OpenMP from binding it again. The thread is not cancelled from then on. */
void dvt_thread_begin(void);

#endif
