/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of davit detect share: the state of a search (detect.c), its effects (detect_effects.c), and
 * the search of a pipe (detect_live.c). */
#ifndef DAVIT_SRC_CLI_DETECT_SEARCH_H
#define DAVIT_SRC_CLI_DETECT_SEARCH_H

#include <davit/detect.h>

#include "src/cli/detect_rows.h"
#include "src/cli/formats/frames.h"
#include "src/cli/frame/job.h"

typedef struct detect_group {
  int first, count; /* effects */
  int64_t window, hop, frame;
  davit_detector *detector; /* made by its first block */
  int64_t windows;          /* before the block */
} detect_group;

/* The samples of a stream or an effect. */
typedef struct detect_samples {
  int64_t count, capacity;
  float *values;
} detect_samples;

/* Copies of effects in the stream, by the correlation of samples (detect_copies.c). */
typedef struct detect_copies {
  bool off, on;
  detect_samples *effects;  /* of each effect, */
  int64_t *first;           /* its first frame that sounds, */
  davit_detect_clip *clips; /* and what is compared: nothing of effects in frames of another length */
  detect_samples stream;    /* from the frame `ready` on */
  int64_t ready;            /* frames held that have peaks; at first less than 0: silence before the stream */
  int64_t room;             /* frames held have the peaks of effect e from peaks + e * room on */
  float *peaks, *made;      /* made: made_room of all effects */
  int64_t made_room;
  davit_detect_peaks *found; /* of a group's effects */
  double seconds;
} detect_copies;

typedef struct detect_search {
  cli_job job;
  const char *path;
  cli_list paths; /* of the effects, each at s->rows.speeds speeds */
  double stretch; /* of speed, in percent: the most that is looked for */
  cli_output labels, picture;
  davit_features_options sound; /* frame 0: by the effects */
  bool any_binning;             /* none is asked for */
  davit_detect_options options;
  detect_rows rows;
  bool live; /* rows are written as soon as they are certain */
  detect_label *effects;
  cli_array *features;           /* of the effects */
  davit_detect_effect *patterns; /* the same, for the library */
  int64_t *frame, *span;         /* samples of a frame, and frames that sound, for each effect */
  detect_copies copies;
  detect_group *groups;
  int group_count;
  cli_frames stream;
  double stream_seconds; /* that its features took */
  int64_t capacity, part,
      moved;              /* frames of memory, of a block that is not the last, and to the next block */
  float *frames;          /* of the block */
  int64_t held, count;    /* frames in memory, and of these in the block */
  int64_t first;          /* the block's first frame in the stream */
  const detect_group *at; /* that is searched, */
  const float *block;     /* in s->count frames from here on */
  davit_detect_hit *found, *right;
  davit_detect_hit *last; /* of a live stream: the last hit of each effect */
  int64_t windows;        /* of this group in the block */
  int64_t all_windows, all_frames;
  int64_t differences;
  int64_t *turns; /* rows of each group in each block: work that ranks take in turn */
  int64_t turn_count, turn_room;
  double effect_seconds; /* of the effects' features */
} detect_search;

/* Whether all effects share windows, and so frames. */
static inline bool detect_is_shared(const detect_search *s) {
  return s->options.window > 0;
}

/* Short frames have fewer spectral lines than bands. A band without a line of its own would repeat its
 * neighbours, and these would count several times. */
static inline davit_features_binning detect_binning(const detect_search *s, int64_t frame) {
  return s->any_binning && frame < DAVIT_FEATURES_FRAME ? DAVIT_FEATURES_BINNING_HARD : s->sound.binning;
}

/* Options for the windows of a group. */
davit_detect_options detect_options_of(const detect_search *s, const detect_group *g);

/* The work of the command's row, on the block of detect_search_block(). */
davit_status detect_work(void *state, cli_array *unused, bool reference);
davit_status detect_by_reference(const detect_search *s, davit_detect_hit *detections);

int64_t detect_longest_window(const detect_search *s);

/* Drops the first frames of those held. */
void detect_forget(detect_search *s, int64_t frames);

/* Takes the group for s->at, and counts its windows in s->count frames. */
void detect_count_block(detect_search *s, const detect_group *g);

/* Searches the effects of s->at in s->count frames from s->block on: s->found, s->windows rows for each. */
int detect_search_block(detect_search *s);

/* Takes the samples of a stream or an effect, a detect_samples. */
int detect_take_samples(void *taker, int64_t count, const float *samples);

/* The memory for copies, where there are samples to compare; before the first frame is read. */
int detect_copies_begin(detect_search *s);

/* A stream of frames of s->stream.options.frame samples begins; the first frames held are forgotten. */
int detect_copies_restart(detect_search *s);
void detect_copies_forget(detect_search *s, int64_t frames);

/* Reads the next frames of the stream, and the peaks of all that are certain; as cli_frames_read() otherwise. */
int detect_copies_read(detect_search *s, int64_t count, float *frames, int64_t *got);

/* Finds copies among the hits of s->at. */
int detect_copies_find(detect_search *s);
void detect_copies_release(detect_search *s);

/* Whether what is asked for can be written row by row as the stream comes: then the stream is opened live. */
bool detect_may_be_live(const detect_search *s);

/* The memory and the search of a live stream. */
int detect_live_begin(detect_search *s);
int detect_live_run(detect_search *s);

/* Lowers s->sound.rate to the lowest one that is stored in the files of the stream and of the effects. */
int detect_choose_rate(detect_search *s);

/* Makes each effect one for each speed: effect e is number e % s->rows.speeds of its sound. */
int detect_stretch(detect_search *s);

/* Reads the effects of s->paths, in frames of s->sound.frame samples, of the stream's for feature vectors,
 * or of as many as suit them. */
int detect_load_effects(detect_search *s);

#endif
