/* SPDX-License-Identifier: Apache-2.0 */
/* Which peaks of a correlation are copies.
 *
 * The peaks of segments of one length of the effect have, without copies, about the distribution of maxima: with the
 * correlation c, y = -ln(1 - c^2) is exponential in its tail, so its maxima are Gumbel's, of a scale that the
 * quartiles give. Of K segments one exceeds the median by `beyond` scales more than ln K with a probability of
 * exp(-beyond). Sound is less regular than that: the less of it there is, the more of it may be alike by chance, and
 * below dvt_detect_least_correlation() it often is. docs/notes/detect.md has the experiment. */
#include <davit/detect.h>
#include <math.h>
#include <stdlib.h>

#include "ref/detect.h"
#include "ref/detect_null.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/base/error.h"
#include "src/detect_copies.h"

enum { FEWEST = 8 }; /* segments that sound, for quartiles to mean something */
static const double beyond = 7;
static const double lower_scale = 0.693,
                    upper_scale = 0.879; /* quartiles to median of Gumbel's distribution */
static const double alike = 0.5;         /* the same where there is next to nothing to compare with */

static double height_of(double correlation) {
  return -log1p(-fmin(correlation * correlation, 1 - 1e-12));
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The height from which on a peak is a copy; `sorted` has room for as many segments as there are. */
static double copies_from(int64_t frames, const davit_detect_peaks *peaks, double *sorted) {
  int64_t count = 0;
  for (int64_t at = 0; at + peaks->frames <= frames; at += peaks->frames) {
    double most = 0;
    for (int64_t f = at; f < at + peaks->frames; f++)
      most = fmax(most, (double)peaks->peaks[f]);
    if (most > 0)
      sorted[count++] = height_of(most);
  }
  if (count < FEWEST)
    return height_of(fmax(alike, dvt_detect_least_correlation(peaks->samples)));
  qsort(sorted, (size_t)count, sizeof *sorted, by_size);
  const double quartile = sorted[(count - 1) / 4], median = sorted[(count - 1) / 2],
               upper = sorted[3 * (count - 1) / 4], n = (double)count,
               scale = fmax((median - quartile) / lower_scale, (upper - median) / upper_scale);
  return fmax(median + scale * (log(n) + beyond), height_of(dvt_detect_least_correlation(peaks->samples)));
}

/* The frame in which a window's best copy begins, or -1. */
static int64_t best_of(int64_t frames, const davit_detect_options *o, int64_t window,
                       const davit_detect_peaks *peaks, double bound) {
  const int64_t first = window * dvt_detect_hop(o), length = dvt_detect_length(frames, o, window),
                end = first + length < frames ? first + dvt_at_least(length - peaks->frames, 0) + 1 : frames;
  int64_t best = first;
  for (int64_t f = first; f < end; f++)
    best = peaks->peaks[f] > peaks->peaks[best] ? f : best;
  const double peak = (double)peaks->peaks[best];
  return peak > 0 && height_of(peak) >= bound ? best : -1;
}

/* What is the same for all effects. */
typedef struct judging {
  const davit_detect_options *options; /* resolved */
  int64_t frames;
  int effect_count;
  dvt_detect_levels levels;
  double *sorted; /* scratch of `frames` elements */
} judging;

static void judge(const judging *j, const davit_detect_peaks *peaks, davit_detect_hit *hits) {
  const davit_detect_options *o = j->options;
  const double bound = copies_from(j->frames, peaks, j->sorted), lowest = 1 / (double)(o->permutations + 1);
  for (int64_t w = 0; w < dvt_detect_windows(j->frames, o); w++) {
    davit_detect_hit *hit = &hits[w * j->effect_count];
    const int64_t onset = best_of(j->frames, o, w, peaks, bound);
    if (onset < 0) {
      hit->p_value = fmin(hit->p_value + lowest, 1);
      hit->detected = hit->detected && hit->p_value <= o->alpha;
      continue;
    }
    hit->onset = onset;
    hit->offset = dvt_at_most(onset + peaks->frames, j->frames);
    hit->correlation = (double)peaks->peaks[onset];
    hit->p_value = lowest;
    hit->detected = hit->p_value <= o->alpha;
    hit->level_db = dvt_detect_level_db(&j->levels, hit->onset, hit->offset);
  }
}

static void measure_levels(int width, int64_t frames, const float *stream, dvt_detect_levels *levels) {
  for (int64_t i = 0; i < frames; i++) {
    double square = 0;
    for (int k = 0; k < width; k++)
      square += (double)stream[i * width + k] * (double)stream[i * width + k];
    levels->level[i] = sqrt(square);
  }
  levels->mean = dvt_detect_mean_level(frames, levels->level);
}

static davit_status check_peaks(int count, const davit_detect_peaks *peaks) {
  for (int e = 0; e < count; e++) {
    if (peaks[e].frames < 0)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "peaks[%d].frames is %lld, less than 0", e,
                        (long long)peaks[e].frames);
    if (peaks[e].frames > 0 && peaks[e].samples < 1)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "peaks[%d].samples is %lld, less than 1", e,
                        (long long)peaks[e].samples);
    if (peaks[e].frames > 0 && !peaks[e].peaks)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "peaks[%d].peaks is NULL", e);
  }
  return DAVIT_SUCCESS;
}

davit_status davit_detect_copies(int width, int64_t frames, const float *stream, int effect_count,
                                 const davit_detect_peaks *peaks, davit_detect_hit *detections,
                                 const davit_detect_options *options) {
  int64_t windows; /* for the checks of options and frames */
  const davit_detect_options o = dvt_detect_resolved(options);
  DVT_TRY(davit_detect_windows(frames, &windows, options));
  DVT_TRY(dvt_check_length("effect_count", effect_count));
  if (width < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "width is %d, less than 1", width);
  if (frames == 0 || effect_count == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_pointer("stream", stream));
  DVT_TRY(dvt_check_pointer("peaks", peaks));
  DVT_TRY(check_peaks(effect_count, peaks));
  DVT_TRY(dvt_check_pointer("detections", detections));
  judging j = {.options = &o,
               .frames = frames,
               .effect_count = effect_count,
               .levels.level = dvt_allocate((size_t)frames, sizeof *j.levels.level),
               .sorted = dvt_allocate((size_t)frames, sizeof *j.sorted)};
  const bool reserved = j.levels.level && j.sorted;
  if (reserved) {
    measure_levels(width, frames, stream, &j.levels);
    for (int e = 0; e < effect_count; e++)
      if (peaks[e].frames > 0)
        judge(&j, &peaks[e], detections + e);
  }
  free(j.levels.level);
  free(j.sorted);
  return reserved ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}
