/* The launches of the programs on alignment: a task on a device, done when they return. */
#ifndef DAVIT_BENCH_STUDY_ALIGN_LAUNCH_H
#define DAVIT_BENCH_STUDY_ALIGN_LAUNCH_H

#include "bench/study/align_text.h"

typedef struct dvt_align_shape {
  int device; /* OpenMP's number, also of the host */
  int teams, threads;
} dvt_align_shape;

/* A thread for each unit; a GPU's surplus threads do nothing. */
void dvt_align_launch_full(const dvt_align_task *task, dvt_align_shape shape);
void dvt_align_launch_rows(const dvt_align_task *task, dvt_align_shape shape);

/* The same with matrices from the heap. The first score of a unit whose thread got none is DVT_ALIGN_NO_HEAP. */
void dvt_align_launch_heap(const dvt_align_task *task, dvt_align_shape shape);
#define DVT_ALIGN_NO_HEAP (-1.0f)

/* A team for each unit, a thread for each run; fewer threads take several runs, surplus ones none. */
void dvt_align_launch_team(const dvt_align_task *task, dvt_align_shape shape);
void dvt_align_launch_tiles(const dvt_align_task *task, dvt_align_shape shape);

/* Floats of a run of dvt_align_launch_tiles(): H and E of the border, one row of H and F. */
static inline int64_t dvt_align_tile_run_floats(int64_t window, int64_t columns) {
  return 2 * (window + 1) + 2 * columns;
}

/* SERIAL and CPU: all units by this thread; by `threads`, each with its own slot of the matrices. Orders are the host's. */
void dvt_align_cpu_serial(const dvt_align_task *task);
void dvt_align_cpu_rows(const dvt_align_task *task, int threads);

/* Floats of a thread of dvt_align_cpu_rows(). */
int64_t dvt_align_cpu_floats(int64_t window, int64_t n, int width);

#endif
