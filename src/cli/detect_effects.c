/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/detect.h"
#include "ref/detect_null.h"
#include "ref/similarity.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/cli/detect_search.h"
#include "src/cli/formats/names.h"

enum { NUMBER = 24 };             /* characters that "#2" or "@0.975" may need */
static const double finest = 2.5; /* step of speeds, in percent, at most */

/* Of the speeds of its sound: 0 is the sound as it is. */
static int speed_number(const detect_search *s, int e) {
  return e % s->rows.speeds;
}

/* How fast effect e is played: 1 is as it is. */
static double speed_of(const detect_search *s, int e) {
  const int k = speed_number(s, e), steps = s->rows.speeds / 2;
  const double part = steps > 0 ? (double)((k + 1) / 2) / steps : 0;
  return 1 + (k % 2 ? -1 : 1) * part * s->stretch / 100;
}

/* The file's name without folders and ending, as every output can hold it. */
static char *base_name(detect_search *s, const char *path) {
  const char *slash = strrchr(path, '/'), *start = slash && slash[1] ? slash + 1 : path;
  char *name = cli_job_memory(&s->job, 3 * strlen(start) + 1 + NUMBER, 1);
  if (!name)
    return NULL;
  cli_name_clean(start, name);
  char *dot = strrchr(name, '.');
  if (dot && dot != name)
    *dot = 0;
  return name;
}

static bool is_taken(const detect_search *s, int count, const char *name) {
  for (int e = 0; e < count; e++)
    if (!strcmp(s->effects[e].name, name))
      return true;
  return false;
}

/* The second effect called NAME is NAME#2. */
static int name_effect(detect_search *s, int e, const char *path) {
  char *name = base_name(s, path);
  if (!name)
    return CLI_DEVICE;
  s->effects[e].sound = e / s->rows.speeds;
  s->effects[e].name = name;
  if (speed_number(s, e) > 0) {
    const char *sound = s->effects[e - speed_number(s, e)].name;
    s->effects[e].name = cli_job_memory(&s->job, strlen(sound) + NUMBER, 1);
    if (!s->effects[e].name)
      return CLI_DEVICE;
    snprintf(s->effects[e].name, strlen(sound) + NUMBER, "%s@%.4g", sound, speed_of(s, e));
    return CLI_OK;
  }
  const size_t length = strlen(name);
  for (int number = 2; is_taken(s, e, name); number++)
    snprintf(name + length, NUMBER, "#%d", number);
  return CLI_OK;
}

static int check_effect(const detect_search *s, const cli_frames *file, const cli_array *features) {
  const int64_t most = s->options.window ? s->options.window : DAVIT_DETECT_WINDOW_MAXIMUM;
  if (file->width != s->stream.width)
    return cli_fail(CLI_INPUT, "%s: expected frames of %d feature%s as in the stream, found %d", file->name,
                    s->stream.width, CLI_PLURAL(s->stream.width), file->width);
  if (features->shape[0] > most)
    return cli_fail(CLI_INPUT,
                    "%s: expected at most %" PRId64 " frame%s (the length of a window), found %" PRId64,
                    file->name, most, CLI_PLURAL(most), features->shape[0]);
  return CLI_OK;
}

static int read_features(detect_search *s, int e, cli_frames *file) {
  cli_array *features = &s->features[e];
  for (int64_t got = 1; got > 0;)
    CLI_TRY(cli_frames_append(file, features, &got));
  CLI_TRY(check_effect(s, file, features));
  s->effect_seconds += file->seconds;
  s->patterns[e] = (davit_detect_effect){.frames = features->shape[0], .features = features->data};
  return CLI_OK;
}

/* Reads the effect in frames of s->frame[e] samples; 0: by its length. */
static int read_effect(detect_search *s, int e, bool *is_sound) {
  cli_frames file = {0};
  davit_features_options sound = s->sound;
  sound.frame = s->frame[e];
  sound.rate /= speed_of(s, e); /* fewer samples, which then count as those of the stream's rate */
  int code = cli_frames_open(s->paths.values[e], &sound, false, &file);
  file.options.rate = s->sound.rate;
  *is_sound = file.sound;
  if (code == CLI_OK && s->stretch > 0 && !file.sound)
    code = cli_fail(CLI_USAGE, "--stretch needs sound: '%s' has feature vectors", file.name);
  if (code == CLI_OK && s->frame[e] == 0 && file.sound)
    code = cli_frames_set_frame(&file, cli_frames_suited(&file));
  file.options.binning = detect_binning(s, file.options.frame);
  file.take = detect_take_samples;
  file.taker = &s->copies.effects[e];
  if (code == CLI_OK)
    code = read_features(s, e, &file);
  s->frame[e] = file.options.frame;
  cli_frames_close(&file);
  return code;
}

/* How many of the effect's frames sound; s->span[e] is from the first of them to the last. */
static int count_sounding(detect_search *s, int e, int64_t *count) {
  const davit_detect_effect *effect = &s->patterns[e];
  const int width = s->stream.width;
  dvt_detect_levels levels = {.level = dvt_allocate((size_t)effect->frames, sizeof *levels.level)};
  float *units = dvt_allocate((size_t)(effect->frames * width), sizeof *units);
  const bool reserved = units && levels.level;
  if (reserved) {
    int64_t begin, end;
    for (int64_t i = 0; i < effect->frames; i++)
      levels.level[i] = dvt_unit_vector(width, effect->features + i * width, units + i * width);
    levels.mean = dvt_detect_mean_level(effect->frames, levels.level);
    *count = dvt_detect_gate(width, effect->frames, &levels, dvt_detect_resolved(&s->options).effect_floor_db,
                             units, &begin, &end);
    s->span[e] = end - begin;
    s->copies.first[e] = begin;
  }
  free(units);
  free(levels.level);
  return reserved ? CLI_OK : cli_fail(CLI_DEVICE, "not enough memory for '%s'", s->effects[e].name);
}

static void drop_effect(detect_search *s, int e, int64_t frame) {
  cli_array_free(&s->features[e]);
  s->features[e] = (cli_array){0};
  s->copies.effects[e].count = 0;
  s->frame[e] = frame;
}

/* The frame is halved until enough frames sound. */
static int load_effect(detect_search *s, int e) {
  const bool chosen = s->frame[e] == 0 && strcmp(s->paths.values[e], "-") != 0;
  for (;;) {
    bool is_sound = true;
    int64_t sounding = 0;
    CLI_TRY(read_effect(s, e, &is_sound));
    CLI_TRY(count_sounding(s, e, &sounding));
    if (sounding >= CLI_FRAMES_SUITED || !chosen || !is_sound || s->frame[e] <= CLI_FRAMES_SHORTEST)
      return CLI_OK;
    drop_effect(s, e, s->frame[e] / 2);
  }
}

/* A stream that can be read only once is read with the shortest of the frames. */
static int share_frame(detect_search *s) {
  int64_t shortest = INT64_MAX;
  for (int e = 0; e < s->paths.count; e++)
    shortest = dvt_at_most(shortest, s->frame[e]);
  for (int e = 0; e < s->paths.count; e++)
    if (s->frame[e] != shortest) {
      drop_effect(s, e, shortest);
      CLI_TRY(load_effect(s, e));
    }
  return CLI_OK;
}

/* The rate that the effect's file has, or 0: of a pipe, which can be read only once, and of feature vectors. */
static int find_rate(const detect_search *s, int e, double *rate) {
  cli_frames file = {0};
  *rate = 0;
  if (!strcmp(s->paths.values[e], "-"))
    return CLI_OK;
  const int code = cli_frames_open(s->paths.values[e], &s->sound, false, &file);
  if (code == CLI_OK && file.sound)
    *rate = cli_sound_stored_rate(file.sound);
  cli_frames_close(&file);
  return code;
}

int detect_stretch(detect_search *s) {
  s->rows.speeds = 1 + 2 * (int)ceil(s->stretch / finest);
  if (s->rows.speeds == 1)
    return CLI_OK;
  const int count = s->paths.count, speeds = s->rows.speeds;
  if (!s->stream.sound)
    return cli_fail(CLI_USAGE, "--stretch needs sound: '%s' has feature vectors", s->stream.name);
  const char **values = dvt_allocate((size_t)(count * speeds), sizeof *values);
  if (!values)
    return cli_status(DAVIT_OUT_OF_HOST_MEMORY);
  for (int e = 0; e < count * speeds; e++)
    values[e] = s->paths.values[e / speeds];
  free(s->paths.values);
  s->paths = (cli_list){values, count * speeds};
  return CLI_OK;
}

int detect_choose_rate(detect_search *s) {
  double lowest = s->sound.rate, rate = s->stream.sound ? cli_sound_stored_rate(s->stream.sound) : lowest;
  const char *of = s->stream.name;
  for (int e = -1; e < s->paths.count && s->stream.sound; e++) {
    if (e >= 0)
      CLI_TRY(find_rate(s, e, &rate));
    if (rate > 0 && rate < lowest) {
      lowest = rate;
      of = e < 0 ? s->stream.name : s->paths.values[e];
    }
  }
  if (!(lowest < s->sound.rate))
    return CLI_OK;
  cli_remark("searching at %g samples a second, the rate of '%s'; --rate sets another", lowest, of);
  s->sound.rate = lowest;
  return cli_frames_set_rate(&s->stream, lowest);
}

int detect_load_effects(detect_search *s) {
  const size_t count = (size_t)s->paths.count;
  CLI_ROOM(&s->job, s->effects, count);
  CLI_ROOM(&s->job, s->features, count);
  CLI_ROOM(&s->job, s->patterns, count);
  CLI_ROOM(&s->job, s->frame, count);
  CLI_ROOM(&s->job, s->span, count);
  CLI_ROOM(&s->job, s->copies.effects, count);
  CLI_ROOM(&s->job, s->copies.first, count);
  CLI_ROOM(&s->job, s->groups, count);
  for (int e = 0; e < s->paths.count; e++) {
    s->frame[e] = s->stream.sound ? s->sound.frame : s->stream.options.frame;
    const int first = e - speed_number(s, e);
    s->frame[e] = e > first ? s->frame[first] : s->frame[e];
    CLI_TRY(name_effect(s, e, s->paths.values[e]));
    CLI_TRY(load_effect(s, e));
  }
  return detect_is_shared(s) || !strcmp(s->path, "-") ? share_frame(s) : CLI_OK;
}
