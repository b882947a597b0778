/* SPDX-License-Identifier: Apache-2.0 */
/* V3 and V5: a team for each unit, a thread for each run.
 *
 * `parallel` follows `teams` directly, so every thread of a block runs from the beginning on a GPU; the teams
 * take turns where there are fewer of them than units. Barriers are passed by all threads of a team. */
#include <omp.h>

#define TEAM_BARRIER() _Pragma("omp barrier")
#include "bench/study/align/launch.h"
#include "bench/study/align/tiles.inc"

/* ---- V3 ---- */

STUDY_INLINE void align_run(const study_align_task *t, int64_t slot, int run) {
  const int64_t unit = t->first + slot, n = study_align_pattern_frames(t, unit);
  const int64_t cells = (t->window + 1) * (n + 1);
  const study_align_part d = study_align_part_of(t->interleaved, t->matrices + slot * t->slot_floats,
                                                 t->slot_floats / t->runs, run, t->runs);
  const study_align_part h = study_align_behind(d, cells), e = study_align_behind(h, cells),
                         f = study_align_behind(e, cells);
  uint16_t *room = t->drawn ? t->drawn + slot * t->slot_orders + run * t->window : NULL;
  study_align_similarities(t, unit, 0, n + 1, d, 0, 1);
  study_align_scores_of(t, unit)[run] = study_align_full(t, n, study_align_order(t, run, room), d, h, e, f);
}

STUDY_INLINE void team_of_runs(const study_align_task *t) {
  for (int64_t slot = omp_get_team_num(); slot < t->count; slot += omp_get_num_teams())
    for (int run = omp_get_thread_num(); run < t->runs; run += omp_get_num_threads())
      align_run(t, slot, run);
}

void study_align_launch_team(const study_align_task *given, study_align_shape shape) {
  const study_align_task task = *given;
#pragma omp target teams num_teams(shape.teams) thread_limit(shape.threads) device(shape.device)             \
    firstprivate(task)
#pragma omp parallel
  team_of_runs(&task);
}

/* ---- V5 ---- */

STUDY_INLINE void team_of_tiles(const study_align_task *t) {
  for (int64_t slot = omp_get_team_num(); slot < t->count; slot += omp_get_num_teams())
    align_unit_by_tiles(t, slot, omp_get_thread_num(), omp_get_num_threads());
}

void study_align_launch_tiles(const study_align_task *given, study_align_shape shape) {
  const study_align_task task = *given;
#pragma omp target teams num_teams(shape.teams) thread_limit(shape.threads) device(shape.device)             \
    firstprivate(task)
#pragma omp parallel
  team_of_tiles(&task);
}
