/* SPDX-License-Identifier: Apache-2.0 */
/* V4a: V1 with matrices from the device's heap. It has a file of its own because a heap costs registers in
 * every kernel of the file. */
#include <stdlib.h>

#include "bench/study/align/launch.h"

STUDY_INLINE void align_unit(const study_align_task *t, int64_t unit) {
  const int64_t floats = study_align_full_floats(t->window, study_align_pattern_frames(t, unit));
  const size_t bytes = (size_t)floats * sizeof(float) + (size_t)t->window * sizeof(uint16_t);
  float *matrices = t->heap_bytes && bytes > t->heap_bytes ? NULL : malloc(bytes);
  if (!matrices) {
    *study_align_scores_of(t, unit) = STUDY_ALIGN_NO_HEAP;
    return;
  }
  study_align_unit_full(t, unit, (study_align_part){matrices, 1}, (uint16_t *)(matrices + floats));
  free(matrices);
}

void study_align_launch_heap(const study_align_task *given, study_align_shape shape) {
  const study_align_task task = *given;
#pragma omp target teams distribute parallel for num_teams(shape.teams) thread_limit(shape.threads)          \
    device(shape.device) firstprivate(task)
  for (int64_t slot = 0; slot < task.count; slot++)
    align_unit(&task, task.first + slot);
}
