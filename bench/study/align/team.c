/* SPDX-License-Identifier: Apache-2.0 */
/* V3 and V5: a team for each unit, a thread for each run.
 *
 * `parallel` follows `teams` directly, so every thread of a block runs from the beginning on a GPU; the teams
 * take turns where there are fewer of them than units. Barriers are passed by all threads of a team. */
#include <omp.h>

#include "bench/study/align/launch.h"
#include "offload/kernel/gpu.h"

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

#ifdef DVT_GPU
STUDY_INLINE float *tile_of(const study_align_task *t, int64_t slot) {
  DVT_SHARED float tile[STUDY_TILE_FLOATS];
  (void)t, (void)slot;
  return (float *)tile;
}
#else
/* Behind the runs' memory. */
STUDY_INLINE float *tile_of(const study_align_task *t, int64_t slot) {
  return t->matrices + slot * t->slot_floats +
         t->runs * study_align_tile_run_floats(t->window, t->tile_columns);
}
#endif

/* The permutation that a run draws when it comes to its first tile, and keeps. */
STUDY_INLINE const uint16_t *order_for_tiles(const study_align_task *t, int64_t slot, int run,
                                             bool first_tile) {
  uint16_t *room = t->drawn ? t->drawn + slot * t->slot_orders + run * t->window : NULL;
  return first_tile || run == 0 || t->orders ? study_align_order(t, run, room) : room;
}

/* A run through the tile of columns from first_column on. */
STUDY_INLINE void run_through_tile(const study_align_task *t, int64_t slot, int run, int64_t first_column,
                                   int64_t columns, float *tile) {
  const study_align_border border =
      study_align_part_of(t->interleaved, t->matrices + slot * t->slot_floats,
                          study_align_tile_run_floats(t->window, t->tile_columns), run, t->runs);
  const int64_t border_floats = 2 * (t->window + 1), padding = first_column == 0;
  const study_align_part h = study_align_behind(border, border_floats),
                         f = study_align_behind(h, t->tile_columns);
  float *score = study_align_scores_of(t, t->first + slot) + run;
  if (first_column == 0) {
    *score = 0;
    for (int64_t k = 0; k < border_floats; k++)
      border.at[k * border.stride] = 0;
  }
  *score = study_align_rows(t, columns - padding, order_for_tiles(t, slot, run, first_column == 0),
                            (study_align_part){tile + padding, 1}, columns, h, f, border, *score);
}

STUDY_INLINE void align_unit_by_tiles(const study_align_task *t, int64_t slot) {
  const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
  const int64_t n = study_align_pattern_frames(t, t->first + slot);
  float *tile = tile_of(t, slot);
  for (int64_t first = 0; first <= n; first += t->tile_columns) {
    const int64_t left = n + 1 - first, columns = left < t->tile_columns ? left : t->tile_columns;
    study_align_similarities(t, t->first + slot, first, columns, (study_align_part){tile, 1}, thread,
                             threads);
#pragma omp barrier
    for (int run = thread; run < t->runs; run += threads)
      run_through_tile(t, slot, run, first, columns, tile);
#pragma omp barrier
  }
}

STUDY_INLINE void team_of_tiles(const study_align_task *t) {
  for (int64_t slot = omp_get_team_num(); slot < t->count; slot += omp_get_num_teams())
    align_unit_by_tiles(t, slot);
}

void study_align_launch_tiles(const study_align_task *given, study_align_shape shape) {
  const study_align_task task = *given;
#pragma omp target teams num_teams(shape.teams) thread_limit(shape.threads) device(shape.device)             \
    firstprivate(task)
#pragma omp parallel
  team_of_tiles(&task);
}
