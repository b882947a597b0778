/* V4a: V1 with matrices from the device's heap. In a file apart, as every thread that has a heap costs registers. */
#include <stdlib.h>

#include "bench/study/align_launch.h"

STUDY_INLINE void align_unit(const dvt_align_task *t, int64_t unit) {
  const int64_t floats = dvt_align_full_floats(t->window, dvt_align_pattern_frames(t, unit));
  const size_t bytes = (size_t)floats * sizeof(float) + (size_t)t->window * sizeof(uint16_t);
  float *matrices = t->heap_bytes && bytes > t->heap_bytes ? NULL : malloc(bytes);
  if (!matrices) {
    *dvt_align_scores_of(t, unit) = DVT_ALIGN_NO_HEAP;
    return;
  }
  dvt_align_unit_full(t, unit, (dvt_align_part){matrices, 1}, (uint16_t *)(matrices + floats));
  free(matrices);
}

void dvt_align_launch_heap(const dvt_align_task *given, dvt_align_shape shape) {
  const dvt_align_task task = *given;
#pragma omp target teams distribute parallel for num_teams(shape.teams) thread_limit(shape.threads)          \
    device(shape.device) firstprivate(task)
  for (int64_t slot = 0; slot < task.count; slot++)
    align_unit(&task, task.first + slot);
}
