/* SPDX-License-Identifier: Apache-2.0 */
/* What a study kernel does, recorded while its block runs on the CPU; and what is read from the record.
 *
 * A record holds the loads of the input and the combinations of two elements in shared memory (or in
 * registers passed between lanes), each with its thread and its step: the number of barriers passed before
 * it. Recording is per CPU thread, begins with study_record() and ends with study_stop(). */
#ifndef DAVIT_STUDY_COMMON_TRACE_H
#define DAVIT_STUDY_COMMON_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STUDY_WARP = 32, STUDY_BANKS = 32 };

typedef struct study_combination {
  int step, thread, left, right; /* element `left` becomes left ∘ right */
} study_combination;

typedef struct study_load {
  int step, thread;
  int64_t index;
} study_load;

typedef struct study_trace {
  bool descending; /* a phase runs its last thread first */
  int step;
  bool full; /* memory ran out: the record is not complete */
  study_combination *combinations;
  int64_t combination_count, combination_capacity;
  study_load *loads;
  int64_t load_count, load_capacity;
} study_trace;

/* `trace` keeps what kernels do on this thread from now on; NULL or study_stop(): nothing is recorded. The
 * first call for a trace needs it zeroed. */
void study_record(study_trace *trace);
void study_stop(void);
void study_trace_free(study_trace *trace);

/* What kernels call. */
int study_turn(int turn, int count);
void study_next_step(void);
void study_note_load(int thread, int64_t index);
void study_note_combine(int thread, int left, int right);

/* Warps of which some lanes combine in a step and some do not, over all steps. */
int study_divergent_warps(const study_trace *trace);

/* The most different addresses that the lanes of `warp` ask of one bank in one access of the step (elements
 * of 4 bytes): 1 is free of conflicts, 0 means that the warp does nothing. */
int study_conflict_ways(const study_trace *trace, int step, int warp);

/* Threads that combine in the step, and the maximum number of one, -1 if there is none. */
int study_active(const study_trace *trace, int step, int *last);

/* Accesses to an array of `length` elements, counted instead of done where they lie outside. */
typedef struct study_guard {
  int64_t length;
  int64_t outside; /* accesses below 0 or from length on */
  int64_t highest; /* maximum index asked for, -1 at first */
} study_guard;

study_guard study_guard_of(int64_t length);
bool study_inside(study_guard *guard, int64_t index);

#endif
