/* SPDX-License-Identifier: Apache-2.0 */
#include "src/detect_effects.h"

#include <davit/memory.h>
#include <stdlib.h>
#include <string.h>

#include "ref/similarity.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/base/team.h"
#include "src/runtime/memory.h"

int dvt_detect_threads(int64_t features) {
  enum { EACH = 1 << 18 };
  return (int)dvt_at_most(dvt_at_least(features / EACH, 1), dvt_threads());
}

static void make_units(int width, int64_t frames, const float *from, float *to, double *level) {
  const dvt_team team = dvt_team_begin(dvt_detect_threads(frames * width));
#pragma omp parallel for num_threads(team.threads) schedule(static)
  for (int64_t i = 0; i < frames; i++)
    level[i] = dvt_unit_vector(width, from + i * width, to + i * width);
  dvt_team_end(&team);
}

/* ---- effects ---- */

static bool reserve(dvt_detect_effects *m, int64_t frames) {
  m->frames = dvt_allocate((size_t)(frames * m->width) + 1, sizeof *m->frames);
  m->ranges = dvt_allocate((size_t)m->count + 1, sizeof *m->ranges);
  m->full = dvt_allocate((size_t)m->count + 1, sizeof *m->full);
  return m->frames && m->ranges && m->full;
}

/* Effect e behind the `first` frames of those before it; `level` is scratch for each of its frames. */
static void fill_effect(dvt_detect_effects *m, const davit_detect_effect *effect,
                        const davit_detect_options *options, int e, int64_t first, double *level) {
  int64_t begin, end;
  float *to = m->frames + first * m->width;
  make_units(m->width, effect->frames, effect->features, to, level);
  const dvt_detect_levels levels = {level, dvt_detect_mean_level(effect->frames, level)};
  m->full[e] = 100 * (double)dvt_detect_gate(m->width, effect->frames, &levels, options->effect_floor_db, to,
                                             &begin, &end);
  const float *from = options->bands > 0 ? effect->features : to;
  memmove(to, from + begin * m->width, (size_t)((end - begin) * m->width) * sizeof *to);
  m->ranges[e] = (dvt_detect_range){first, end - begin};
}

davit_status dvt_detect_effects_make(int width, int count, const davit_detect_effect *effects,
                                     const davit_detect_options *options, dvt_detect_effects *made) {
  int64_t frames = 0, first = 0;
  *made = (dvt_detect_effects){.width = width, .count = count};
  for (int e = 0; e < count; e++)
    frames += effects[e].frames;
  double *level = dvt_allocate((size_t)frames + 1, sizeof *level);
  const bool reserved = reserve(made, frames) && level;
  for (int e = 0; e < count && reserved; e++) {
    fill_effect(made, &effects[e], options, e, first, level);
    first += made->ranges[e].frames;
  }
  free(level);
  return reserved ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

static int64_t frames_of(const dvt_detect_effects *m) {
  return m->count > 0 ? m->ranges[m->count - 1].first + m->ranges[m->count - 1].frames : 0;
}

davit_status dvt_detect_effects_whiten(const dvt_detect_effects *effects, const dvt_detect_white *white,
                                       dvt_detect_effects *m) {
  *m = (dvt_detect_effects){.width = effects->width, .count = effects->count};
  if (!reserve(m, frames_of(effects)))
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int e = 0; e < m->count; e++) {
    const int64_t at = effects->ranges[e].first * m->width;
    m->ranges[e] = effects->ranges[e];
    m->full[e] = dvt_detect_white_effect(white, m->ranges[e].frames, effects->frames + at, m->frames + at);
  }
  return DAVIT_SUCCESS;
}

static void transpose(const dvt_detect_effects *m, float *to) {
  for (int e = 0; e < m->count; e++) {
    const int64_t first = m->ranges[e].first * m->width, n = m->ranges[e].frames;
    for (int64_t j = 0; j < n; j++)
      for (int k = 0; k < m->width; k++)
        to[first + k * n + j] = m->frames[first + j * m->width + k];
  }
}

davit_status dvt_detect_effects_send(dvt_detect_effects *m, int count, const int *devices) {
  const size_t bytes = (size_t)(frames_of(m) * m->width) * sizeof(float);
  float *transposed = dvt_allocate_raw(bytes + 1);
  davit_status status = transposed ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  m->place_count = count;
  if (transposed)
    transpose(m, transposed);
  for (int i = 0; i < count && bytes > 0 && status == DAVIT_SUCCESS; i++)
    if (devices[i] != DAVIT_HOST) {
      status = dvt_malloc(bytes, devices[i], (void **)&m->transposed[i]);
      if (status == DAVIT_SUCCESS)
        status = davit_copy(bytes, transposed, m->transposed[i]);
    }
  free(transposed);
  return status;
}

davit_status dvt_detect_effects_free(dvt_detect_effects *m) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  for (int i = 0; i < m->place_count; i++)
    dvt_error_keep(&first, davit_free(m->transposed[i]));
  free(m->frames);
  free(m->ranges);
  free(m->full);
  *m = (dvt_detect_effects){0};
  return dvt_error_report(&first);
}

/* ---- the stream ---- */

static davit_status whiten(int width, const float *features, int bands, dvt_detect_sound *s) {
  if (!dvt_detect_white_make(width, bands, s->frames, features, &s->white))
    return DAVIT_OUT_OF_HOST_MEMORY;
  const dvt_team team = dvt_team_begin(dvt_detect_threads(s->frames * width));
  bool failed = false;
#pragma omp parallel for num_threads(team.threads) schedule(static) reduction(|| : failed)
  for (int part = 0; part < team.threads; part++)
    failed =
        failed || !dvt_detect_white_frames(&s->white, s->frames, features, s->frames * part / team.threads,
                                           s->frames * (part + 1) / team.threads, s->vectors);
  dvt_team_end(&team);
  return failed ? DAVIT_OUT_OF_HOST_MEMORY : DAVIT_SUCCESS;
}

davit_status dvt_detect_sound_make(int width, int64_t frames, const float *features,
                                   const davit_detect_options *options, int memory, dvt_detect_sound *s) {
  int64_t begin, end;
  *s = (dvt_detect_sound){.frames = frames,
                          .levels.level = dvt_allocate((size_t)frames, sizeof *s->levels.level)};
  if (!s->levels.level)
    return DAVIT_OUT_OF_HOST_MEMORY;
  DVT_TRY(dvt_malloc((size_t)(frames * width) * sizeof *s->vectors, memory, (void **)&s->vectors));
  make_units(width, frames, features, s->vectors, s->levels.level);
  s->levels.mean = dvt_detect_mean_level(frames, s->levels.level);
  if (options->bands > 0)
    DVT_TRY(whiten(width, features, (int)options->bands, s));
  dvt_detect_gate(width, frames, &s->levels, options->floor_db, s->vectors, &begin, &end);
  return DAVIT_SUCCESS;
}

void dvt_detect_sound_free(dvt_detect_sound *s) {
  free(s->levels.level);
  davit_free(s->vectors);
  dvt_detect_white_free(&s->white);
}
