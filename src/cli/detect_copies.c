/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of effects in a stream of sound.
 *
 * The samples of frames are compared as these are read, PART samples at a time, and then forgotten; the peak of each
 * frame stays as long as its frame. Whether an effect begins in a frame shows when the stream went on for as long as
 * the effect: the frames from s->copies.ready on have no peaks yet. All frames of a block have, because what is held
 * behind the block is longer than a window. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/cli/clock.h"
#include "src/cli/detect_search.h"
#include "src/cli/fail.h"

enum { PART = 1 << 23 };

int detect_take_samples(void *taker, int64_t count, const float *samples) {
  detect_samples *taken = taker;
  if (taken->count + count > taken->capacity) {
    const int64_t more = taken->count + count + taken->capacity;
    float *values = dvt_reallocate(taken->values, (size_t)more, sizeof *values);
    if (!values)
      return cli_fail(CLI_DEVICE, "not enough memory for %lld samples", (long long)more);
    taken->values = values;
    taken->capacity = more;
  }
  memcpy(taken->values + taken->count, samples, (size_t)count * sizeof *samples);
  taken->count += count;
  return CLI_OK;
}

static int64_t frame_of(const detect_search *s) {
  return s->stream.options.frame;
}

/* Frames of an effect that are compared. */
static int64_t length_of(const detect_search *s, int e) {
  return dvt_divide_up(s->copies.clips[e].count, frame_of(s));
}

static int64_t longest_of(const detect_search *s) {
  int64_t longest = 0;
  for (int e = 0; e < s->paths.count; e++)
    longest = dvt_at_least(longest, length_of(s, e));
  return longest;
}

int detect_copies_begin(detect_search *s) {
  detect_copies *c = &s->copies;
  c->on = !c->off && s->stream.sound && !s->live && s->options.null == DAVIT_DETECT_NULL_STREAM;
  if (!c->on)
    return CLI_OK;
  c->room = s->capacity;
  CLI_ROOM(&s->job, c->clips, s->paths.count);
  CLI_ROOM(&s->job, c->found, s->paths.count);
  CLI_ROOM(&s->job, c->peaks, s->paths.count * c->room);
  return CLI_OK;
}

/* Only a sound as it is may have exact copies: they tell speeds apart that differ by a part of a percent. */
static davit_detect_clip clip_of(const detect_search *s, int e) {
  const detect_copies *c = &s->copies;
  const int64_t frame = frame_of(s), first = c->first[e] * frame, count = s->span[e] * frame;
  const bool compared = e % s->rows.speeds == 0 && s->frame[e] == frame &&
                        first + count <= c->effects[e].count && count <= DAVIT_DETECT_CLIP_MAXIMUM;
  return compared ? (davit_detect_clip){count, c->effects[e].values + first} : (davit_detect_clip){0};
}

/* An effect may have begun before the stream. */
static int put_silence(detect_search *s, int64_t frames) {
  const float silence[CLI_FRAMES_SHORTEST] = {0};
  for (int64_t left = frames * frame_of(s); left > 0; left -= CLI_FRAMES_SHORTEST)
    CLI_TRY(detect_take_samples(&s->copies.stream, dvt_at_most(left, CLI_FRAMES_SHORTEST), silence));
  return CLI_OK;
}

int detect_copies_restart(detect_search *s) {
  detect_copies *c = &s->copies;
  if (!c->on)
    return CLI_OK;
  for (int e = 0; e < s->paths.count; e++)
    c->clips[e] = clip_of(s, e);
  s->stream.take = detect_take_samples;
  s->stream.taker = &c->stream;
  c->stream.count = 0;
  c->ready = -longest_of(s);
  return put_silence(s, -c->ready);
}

void detect_copies_forget(detect_search *s, int64_t frames) {
  detect_copies *c = &s->copies;
  if (!c->on)
    return;
  for (int e = 0; e < s->paths.count; e++)
    memmove(c->peaks + e * c->room, c->peaks + e * c->room + frames,
            (size_t)(c->ready - frames) * sizeof *c->peaks);
  c->ready -= frames;
}

/* Peaks of the frames [ready, upto). Those before the stream count as its first one's, less as less of the effect
 * lies in the stream. */
static int compare(detect_search *s, int64_t upto) {
  detect_copies *c = &s->copies;
  const int64_t frames = c->stream.count / frame_of(s), done = upto - c->ready;
  const double start = cli_now();
  if (c->made_room < frames) {
    c->made_room = frames + frames / 4;
    float *made = dvt_reallocate(c->made, (size_t)(c->made_room * s->paths.count), sizeof *made);
    if (!made)
      return cli_status(DAVIT_OUT_OF_HOST_MEMORY);
    c->made = made;
  }
  CLI_TRY(cli_status(davit_detect_correlate(frame_of(s), c->stream.count, c->stream.values, s->paths.count,
                                            c->clips, c->made)));
  for (int e = 0; e < s->paths.count; e++) {
    float *peaks = c->peaks + e * c->room;
    const float *made = c->made + e * frames;
    const int64_t length = length_of(s, e);
    float begin = 0;
    for (int64_t f = c->ready; f < 0 && length > 0; f++) {
      const float peak = made[f - c->ready] * sqrtf((float)dvt_at_least(length + f, 0) / (float)length);
      begin = peak > begin ? peak : begin;
    }
    for (int64_t f = dvt_at_least(c->ready, 0); f < upto; f++)
      peaks[f] = f == 0 && begin > made[f - c->ready] ? begin : made[f - c->ready];
  }
  c->stream.count -= done * frame_of(s);
  memmove(c->stream.values, c->stream.values + done * frame_of(s),
          (size_t)c->stream.count * sizeof *c->stream.values);
  c->ready = upto;
  c->seconds += cli_now() - start;
  return CLI_OK;
}

int detect_copies_read(detect_search *s, int64_t count, float *frames, int64_t *got) {
  const int64_t part = dvt_at_least(PART / frame_of(s), 1), longest = s->copies.on ? longest_of(s) : 0;
  if (longest == 0)
    return cli_frames_read(&s->stream, count, frames, got);
  bool ended = false;
  *got = 0;
  while (*got < count && !ended) {
    const int64_t wanted = dvt_at_most(part, count - *got);
    int64_t more = 0;
    CLI_TRY(cli_frames_read(&s->stream, wanted, frames + *got * s->stream.width, &more));
    *got += more;
    ended = more < wanted;
    const int64_t all = s->held + *got, upto = ended ? all : all - longest;
    if (upto > 0 && upto > s->copies.ready)
      CLI_TRY(compare(s, upto));
  }
  return CLI_OK;
}

int detect_copies_find(detect_search *s) {
  detect_copies *c = &s->copies;
  if (!c->on)
    return CLI_OK;
  for (int k = 0; k < s->at->count; k++) {
    const int e = s->at->first + k;
    c->found[k] = (davit_detect_peaks){length_of(s, e), c->clips[e].count, c->peaks + e * c->room};
  }
  const davit_detect_options o = detect_options_of(s, s->at);
  return cli_status(
      davit_detect_copies(s->stream.width, s->count, s->block, s->at->count, c->found, s->found, &o));
}

void detect_copies_release(detect_search *s) {
  detect_copies *c = &s->copies;
  for (int e = 0; c->effects && e < s->paths.count; e++)
    free(c->effects[e].values);
  free(c->stream.values);
  free(c->made);
}
