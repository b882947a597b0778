/* SPDX-License-Identifier: Apache-2.0 */
/* The launches of the programs on alignment. They return when the task is done. */
#ifndef DAVIT_STUDY_ALIGN_LAUNCH_H
#define DAVIT_STUDY_ALIGN_LAUNCH_H

#include "bench/study/align/text.h"

typedef struct study_align_shape {
  int device; /* OpenMP's number, also of the host */
  int teams, threads;
} study_align_shape;

/* A thread for each unit; a GPU's surplus threads do nothing. */
void study_align_launch_full(const study_align_task *task, study_align_shape shape);
void study_align_launch_rows(const study_align_task *task, study_align_shape shape);

/* The same with matrices from the heap. The first score of a unit whose thread got none is
 * STUDY_ALIGN_NO_HEAP. */
void study_align_launch_heap(const study_align_task *task, study_align_shape shape);
#define STUDY_ALIGN_NO_HEAP (-1.0f)

/* A team for each unit, a thread for each run; with fewer threads each takes several runs, surplus threads do
 * nothing. */
void study_align_launch_team(const study_align_task *task, study_align_shape shape);
void study_align_launch_tiles(const study_align_task *task, study_align_shape shape);

/* Floats of a run of study_align_launch_tiles(): H and E of the border, one row of H and F. */
static inline int64_t study_align_tile_run_floats(int64_t window, int64_t columns) {
  return 2 * (window + 1) + 2 * columns;
}

/* SERIAL and CPU: all units by this thread; by `threads`, each with its own slot of the matrices. Orders are
 * the host's. */
void study_align_cpu_serial(const study_align_task *task);
void study_align_cpu_rows(const study_align_task *task, int threads);

/* Floats of a thread of study_align_cpu_rows(). */
int64_t study_align_cpu_floats(int64_t window, int64_t n, int width);

#endif
