/* SPDX-License-Identifier: Apache-2.0 */
/* The search of a block of frames: by the library, or by the reference. */
#include <string.h>

#include "ref/detect.h"
#include "ref/ref.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/cli/detect_search.h"

davit_detect_options detect_options_of(const detect_search *s, const detect_group *g) {
  davit_detect_options o = s->options;
  o.window = g->window;
  o.hop = g->hop;
  o.block = dvt_at_most(o.block, g->window);
  o.devices = s->job.devices.ids;
  o.device_count = s->job.devices.count;
  return o;
}

davit_status detect_by_reference(const detect_search *s, davit_detect_hit *detections) {
  const davit_detect_options o = detect_options_of(s, s->at);
  return dvt_ref_detect(s->stream.width, s->count, s->block, s->at->count, s->patterns + s->at->first, &o,
                        detections);
}

davit_status detect_work(void *state, cli_array *unused, bool reference) {
  detect_search *s = state;
  (void)unused;
  detect_group *g = &s->groups[s->at - s->groups];
  memset(s->found, 0, (size_t)(s->windows * g->count) * sizeof *s->found);
  if (reference)
    return detect_by_reference(s, s->found);
  if (!g->detector) {
    const davit_detect_options o = detect_options_of(s, g);
    DVT_TRY(davit_detector_create(s->stream.width, g->count, s->patterns + g->first, &g->detector, &o));
  }
  return davit_detect(g->detector, s->count, s->block, s->found);
}

int64_t detect_longest_window(const detect_search *s) {
  int64_t longest = 0;
  for (int g = 0; g < s->group_count; g++)
    longest = dvt_at_least(longest, s->groups[g].window);
  return longest;
}

void detect_forget(detect_search *s, int64_t frames) {
  s->held -= frames;
  s->first += frames;
  memmove(s->frames, s->frames + frames * s->stream.width,
          (size_t)(s->held * s->stream.width) * sizeof *s->frames);
}

static void count_cells(detect_search *s) {
  const detect_group *g = s->at;
  const bool by_window = s->options.null == DAVIT_DETECT_NULL_WINDOW;
  double effects = 0, frames = 0;
  for (int e = 0; e < g->count; e++)
    effects += (double)s->patterns[g->first + e].frames;
  for (int64_t w = 0; w < s->windows; w++)
    frames += (double)dvt_at_most(s->count - w * g->hop, g->window);
  if (by_window)
    frames *= (double)(s->options.permutations + 1);
  else
    frames += 2 * (double)s->count + (double)s->options.permutations * (double)g->window;
  s->job.rate.amount += frames * effects;
}

void detect_count_block(detect_search *s, const detect_group *g) {
  const davit_detect_options o = detect_options_of(s, g);
  s->at = g;
  s->windows = dvt_detect_windows(s->count, &o);
}

int detect_search_block(detect_search *s) {
  detect_count_block(s, s->at);
  count_cells(s);
  return cli_job_measure(&s->job);
}
