/* V1, V2 and V4b: a thread for each unit. */
#include "bench/study/align_launch.h"

STUDY_INLINE dvt_align_part matrices_of(const dvt_align_task *t, int64_t slot) {
  return dvt_align_part_of(t->interleaved, t->matrices, t->slot_floats, slot, t->count);
}

STUDY_INLINE uint16_t *room_of(const dvt_align_task *t, int64_t slot) {
  return t->drawn ? t->drawn + slot * t->slot_orders : NULL;
}

void dvt_align_launch_full(const dvt_align_task *given, dvt_align_shape shape) {
  const dvt_align_task task = *given;
#pragma omp target teams distribute parallel for num_teams(shape.teams) thread_limit(shape.threads)          \
    device(shape.device) firstprivate(task)
  for (int64_t slot = 0; slot < task.count; slot++)
    dvt_align_unit_full(&task, task.first + slot, matrices_of(&task, slot), room_of(&task, slot));
}

void dvt_align_launch_rows(const dvt_align_task *given, dvt_align_shape shape) {
  const dvt_align_task task = *given;
#pragma omp target teams distribute parallel for num_teams(shape.teams) thread_limit(shape.threads)          \
    device(shape.device) firstprivate(task)
  for (int64_t slot = 0; slot < task.count; slot++)
    dvt_align_unit_rows(&task, task.first + slot, matrices_of(&task, slot), room_of(&task, slot));
}
