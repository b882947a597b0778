/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/common/trace.h"

#include <stdlib.h>

#include "bench/study/common/site.h"

static _Thread_local study_trace *recording;

void study_record(study_trace *trace) {
  recording = trace;
  if (trace) {
    trace->step = 0;
    trace->combination_count = 0;
    trace->load_count = 0;
  }
}

void study_stop(void) {
  recording = NULL;
}

void study_trace_free(study_trace *trace) {
  free(trace->combinations);
  free(trace->loads);
  *trace = (study_trace){0};
}

int study_turn(int turn, int count) {
  return recording && recording->descending ? count - 1 - turn : turn;
}

void study_next_step(void) {
  if (recording)
    recording->step++;
}

static bool has_room(study_trace *trace, void **entries, int64_t count, int64_t *capacity, size_t bytes) {
  trace->full = trace->full || !study_room(entries, count, capacity, bytes);
  return count < *capacity;
}

void study_note_load(int thread, int64_t index) {
  study_trace *t = recording;
  if (t && has_room(t, (void **)&t->loads, t->load_count, &t->load_capacity, sizeof *t->loads))
    t->loads[t->load_count++] = (study_load){t->step, thread, index};
}

void study_note_combine(int thread, int left, int right) {
  study_trace *t = recording;
  if (t && has_room(t, (void **)&t->combinations, t->combination_count, &t->combination_capacity,
                    sizeof *t->combinations))
    t->combinations[t->combination_count++] = (study_combination){t->step, thread, left, right};
}

enum { MAX_WARPS = 32 };

int study_divergent_warps(const study_trace *trace) {
  int divergent = 0;
  for (int step = 0; step <= trace->step; step++) {
    int active[MAX_WARPS] = {0};
    for (int64_t i = 0; i < trace->combination_count; i++)
      if (trace->combinations[i].step == step)
        active[trace->combinations[i].thread / STUDY_WARP]++;
    for (int w = 0; w < MAX_WARPS; w++)
      divergent += active[w] > 0 && active[w] < STUDY_WARP;
  }
  return divergent;
}

/* Ways of one access: addresses[] of the lanes that take part. */
static int ways_of(const int *addresses, int count) {
  int most = 0;
  for (int bank = 0; bank < STUDY_BANKS; bank++) {
    int ways = 0;
    for (int i = 0; i < count; i++) {
      bool first = addresses[i] % STUDY_BANKS == bank;
      for (int j = 0; first && j < i; j++)
        first = addresses[j] != addresses[i]; /* the same word goes to all who ask */
      ways += first;
    }
    most = ways > most ? ways : most;
  }
  return most;
}

int study_conflict_ways(const study_trace *trace, int step, int warp) {
  int left[STUDY_WARP], right[STUDY_WARP], lanes = 0;
  for (int64_t i = 0; i < trace->combination_count && lanes < STUDY_WARP; i++) {
    const study_combination *c = &trace->combinations[i];
    if (c->step == step && c->thread / STUDY_WARP == warp) {
      left[lanes] = c->left;
      right[lanes++] = c->right;
    }
  }
  int of_left = ways_of(left, lanes), of_right = ways_of(right, lanes);
  return of_left > of_right ? of_left : of_right;
}

int study_active(const study_trace *trace, int step, int *last) {
  int active = 0;
  *last = -1;
  for (int64_t i = 0; i < trace->combination_count; i++)
    if (trace->combinations[i].step == step) {
      active++;
      *last = trace->combinations[i].thread > *last ? trace->combinations[i].thread : *last;
    }
  return active;
}

study_guard study_guard_of(int64_t length) {
  return (study_guard){length, 0, -1};
}

bool study_inside(study_guard *guard, int64_t index) {
  guard->highest = index > guard->highest ? index : guard->highest;
  bool inside = index >= 0 && index < guard->length;
  guard->outside += !inside;
  return inside;
}
