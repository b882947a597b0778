/* SPDX-License-Identifier: Apache-2.0 */
/* V1, V2 and V4b: a thread for each unit. */
#include "bench/study/align/launch.h"

STUDY_INLINE study_align_part matrices_of(const study_align_task *t, int64_t slot) {
  return study_align_part_of(t->interleaved, t->matrices, t->slot_floats, slot, t->count);
}

STUDY_INLINE uint16_t *room_of(const study_align_task *t, int64_t slot) {
  return t->drawn ? t->drawn + slot * t->slot_orders : NULL;
}

void study_align_launch_full(const study_align_task *given, study_align_shape shape) {
  const study_align_task task = *given;
#pragma omp target teams distribute parallel for num_teams(shape.teams) thread_limit(shape.threads)          \
    device(shape.device) firstprivate(task)
  for (int64_t slot = 0; slot < task.count; slot++)
    study_align_unit_full(&task, task.first + slot, matrices_of(&task, slot), room_of(&task, slot));
}

void study_align_launch_rows(const study_align_task *given, study_align_shape shape) {
  const study_align_task task = *given;
#pragma omp target teams distribute parallel for num_teams(shape.teams) thread_limit(shape.threads)          \
    device(shape.device) firstprivate(task)
  for (int64_t slot = 0; slot < task.count; slot++)
    study_align_unit_rows(&task, task.first + slot, matrices_of(&task, slot), room_of(&task, slot));
}
