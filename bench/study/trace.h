/* What a study kernel does, recorded while its block runs on the CPU; and what is read from the record.
 *
 * A record holds the loads of the input and the combinations of two elements in shared memory (or in
 * registers passed between lanes), each with its thread and its step: the number of barriers passed before
 * it. Recording is per CPU thread, begins with dvt_study_record() and ends with dvt_study_stop(). */
#ifndef DAVIT_BENCH_STUDY_TRACE_H
#define DAVIT_BENCH_STUDY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DVT_STUDY_WARP = 32, DVT_STUDY_BANKS = 32 };

typedef struct dvt_study_combination {
  int step, thread, left, right; /* element `left` becomes left ∘ right */
} dvt_study_combination;

typedef struct dvt_study_load {
  int step, thread;
  int64_t index;
} dvt_study_load;

typedef struct dvt_study_trace {
  bool descending; /* a phase runs its last thread first */
  int step;
  bool full; /* memory ran out: the record is not complete */
  dvt_study_combination *combinations;
  int64_t combination_count, combination_capacity;
  dvt_study_load *loads;
  int64_t load_count, load_capacity;
} dvt_study_trace;

/* `trace` keeps what kernels do on this thread from now on; NULL or dvt_study_stop(): nothing is recorded.
 * The first call for a trace needs it zeroed. */
void dvt_study_record(dvt_study_trace *trace);
void dvt_study_stop(void);
void dvt_study_trace_free(dvt_study_trace *trace);

/* What kernels call. */
int dvt_study_turn(int turn, int count);
void dvt_study_next_step(void);
void dvt_study_note_load(int thread, int64_t index);
void dvt_study_note_combine(int thread, int left, int right);

/* Warps of which some lanes combine in a step and some do not, over all steps. */
int dvt_study_divergent_warps(const dvt_study_trace *trace);

/* The most different addresses that the lanes of `warp` ask of one bank in one access of the step
 * (elements of 4 bytes): 1 is free of conflicts, 0 means that the warp does nothing. */
int dvt_study_conflict_ways(const dvt_study_trace *trace, int step, int warp);

/* Threads that combine in the step, and the greatest number of one, -1 if there is none. */
int dvt_study_active(const dvt_study_trace *trace, int step, int *last);

/* Accesses to an array of `length` elements, counted instead of done where they lie outside. */
typedef struct dvt_study_guard {
  int64_t length;
  int64_t outside; /* accesses below 0 or from length on */
  int64_t highest; /* greatest index asked for, -1 at first */
} dvt_study_guard;

dvt_study_guard dvt_study_guard_of(int64_t length);
bool dvt_study_inside(dvt_study_guard *guard, int64_t index);

#endif
