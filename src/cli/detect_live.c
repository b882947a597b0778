/* SPDX-License-Identifier: Apache-2.0 */
/* davit detect on a pipe: rows as soon as they are certain.
 *
 * The last HISTORY_S seconds of the stream are in memory. Whenever a window more is whole, it is judged among
 * them as the end of a stream of that length. Its row is certain when all windows that share frames with it
 * are whole too: of hits that overlap, one says 'detected'. So a row waits for at most the windows that
 * overlap it and a step of the stream, at the beginning also until there is something to compare with. */
#include <string.h>

#include "src/base/arithmetic.h"
#include "src/cli/detect_search.h"
#include "src/cli/ranks.h"

enum {
  HISTORY_S = 120,
  HISTORY_MOST = 1 << 16, /* frames, if they are more than */
  HISTORY_WINDOWS = 16,   /* of the longest window, */
  FIRST_S = 5,            /* seconds before the first window is judged, or */
  FIRST_WINDOWS = 4,      /* of the longest window */
  STEPS = 4               /* of a second: when windows are looked for */
};

bool detect_may_be_live(const detect_search *s) {
  const cli_common *common = &s->job.common;
  return !strcmp(s->path, "-") && s->job.output.path && !strcmp(s->job.output.path, "-") && !s->labels.path &&
         !s->picture.path && !common->json && !common->check && s->rows.fdr <= 0 && s->stretch <= 0 &&
         s->options.null == DAVIT_DETECT_NULL_STREAM && !cli_ranks_several();
}

/* ---- memory ---- */

static int64_t frames_in(const detect_search *s, double seconds) {
  return dvt_at_least((int64_t)(seconds * s->sound.rate / (double)s->stream.options.frame), 1);
}

int detect_live_begin(detect_search *s) {
  if (s->stream.options.frame == 0)
    CLI_TRY(cli_frames_set_frame(&s->stream, s->frame[0])); /* a pipe's effects share one */
  s->stream.options.binning = detect_binning(s, s->stream.options.frame);
  const int64_t history = dvt_at_least(dvt_at_most(frames_in(s, HISTORY_S), HISTORY_MOST),
                                       HISTORY_WINDOWS * detect_longest_window(s));
  int64_t most = 0;
  s->moved = frames_in(s, 1 / (double)STEPS);
  s->capacity = history + s->moved;
  for (int g = 0; g < s->group_count; g++)
    most = dvt_at_least(most, (2 + s->capacity / s->groups[g].hop) * s->groups[g].count);
  CLI_ROOM(&s->job, s->frames, s->capacity * s->stream.width);
  CLI_ROOM(&s->job, s->found, most);
  CLI_ROOM(&s->job, s->last, s->paths.count);
  return CLI_OK;
}

/* ---- rows ---- */

static bool is_hit(const detect_search *s, const davit_detect_hit *hit) {
  return hit->detected && hit->p_value <= s->rows.alpha;
}

/* Of window w, one of those found: by the last hit that was written, and by the `after` windows that follow. */
static detect_decision decide(const detect_search *s, int64_t w, int e, int64_t after, int64_t shift) {
  const int count = s->at->count;
  const davit_detect_hit *hit = &s->found[w * count + e], *last = &s->last[s->at->first + e];
  if (!is_hit(s, hit))
    return DETECT_NOTHING;
  if (hit->onset + shift < last->offset)
    return DETECT_REPEATED;
  for (int64_t k = w + 1; k <= w + after && k < s->windows; k++) {
    const davit_detect_hit *next = &s->found[k * count + e];
    if (is_hit(s, next) && next->onset < hit->offset && next->score > hit->score)
      return DETECT_REPEATED;
  }
  return DETECT_FOUND;
}

/* The row of effect e of the group in window w; `shift`: frames of the stream before s->block. */
static bool write_row(detect_search *s, int64_t w, int e, int64_t after, int64_t shift) {
  const detect_decision decision = decide(s, w, e, after, shift);
  davit_detect_hit hit = s->found[w * s->at->count + e];
  hit.window += shift / s->at->hop;
  hit.effect += s->at->first;
  hit.onset += shift;
  hit.offset += shift;
  if (decision == DETECT_FOUND)
    s->last[hit.effect] = hit;
  s->rows.hits += decision == DETECT_FOUND;
  s->rows.count++;
  return detect_rows_row(s->job.output.file, &s->rows, &hit, decision);
}

/* Windows [from, to) of those found. */
static int write_windows(detect_search *s, int64_t from, int64_t to, int64_t after, int64_t shift) {
  bool written = true; /* what was not, cli_output_flush() says */
  for (int64_t w = from; w < to; w++)
    for (int e = 0; e < s->at->count; e++)
      written = written && write_row(s, w, e, after, shift);
  return cli_output_flush();
}

static void note_stream(detect_search *s, const detect_group *g) {
  for (int e = g->first; e < g->first + g->count; e++) {
    s->effects[e].notes &= ~(unsigned)DETECT_STREAM;
    s->effects[e].notes |= s->count < FIRST_WINDOWS * g->window ? DETECT_STREAM : 0;
  }
}

/* ---- search ---- */

static int search_group(detect_search *s, detect_group *g, bool ended) {
  const int64_t skipped = dvt_divide_up(s->first, g->hop) * g->hop - s->first, shift = s->first + skipped,
                after = dvt_divide_up(g->window, g->hop) - 1;
  s->at = g;
  s->block = s->frames + skipped * s->stream.width;
  s->count = s->held - skipped;
  if (s->count < 1)
    return CLI_OK;
  const int64_t whole = s->count < g->window ? 0 : 1 + (s->count - g->window) / g->hop,
                all = 1 + dvt_divide_up(dvt_at_least(s->count - g->window, 0), g->hop),
                from = g->windows - shift / g->hop, to = ended ? all : whole - after;
  if (from >= to)
    return CLI_OK;
  note_stream(s, g);
  CLI_TRY(detect_search_block(s));
  CLI_TRY(write_windows(s, from, to, after, shift));
  g->windows += to - from;
  s->all_windows = dvt_at_least(s->all_windows, g->windows);
  return CLI_OK;
}

/* The table's first line comes with the first frames. */
static int read_step(detect_search *s, int64_t *got) {
  const bool begins = s->held == 0 && s->first == 0;
  CLI_TRY(cli_frames_read(&s->stream, s->moved, s->frames + s->held * s->stream.width, got));
  s->held += *got;
  if (!begins)
    return CLI_OK;
  detect_rows_head(s->job.output.file);
  return cli_output_flush();
}

int detect_live_run(detect_search *s) {
  const int64_t first = dvt_at_least(frames_in(s, FIRST_S), FIRST_WINDOWS * detect_longest_window(s));
  int64_t got = s->moved;
  while (got == s->moved) {
    detect_forget(s, dvt_at_least(s->held + s->moved - s->capacity, 0)); /* room for the next step */
    CLI_TRY(read_step(s, &got));
    for (int g = 0; g < s->group_count && (s->held >= first || got < s->moved); g++)
      CLI_TRY(search_group(s, &s->groups[g], got < s->moved));
  }
  s->all_frames = s->first + s->held;
  return CLI_OK;
}
