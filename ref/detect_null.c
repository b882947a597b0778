/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/detect_null.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/philox.h"

enum { SEGMENT = 2, BLOCK = 4 }; /* lengths of the effect */

/* The scores from which on a segment stands out, and surely does, as parts of the effect's score against
 * itself. The more segments there are, the higher scores chance reaches; the more frames the effect has, the
 * lower. docs/notes/detect.md has the experiment. */
static const double outlier = 4, narrow = 0.34, part = 0.35, sure = 0.6, sure_slope = 0.05,
                    sure_segments = 100;
static const double few_part = 0.05; /* of the segments: so many alignments may stand out, */
enum { FEW = 8, MOST = 40 };         /* and no more than FEW, of those that surely do MOST */

double dvt_detect_mean_level(int64_t frames, const double *level) {
  double sum = 0;
  for (int64_t i = 0; i < frames; i++)
    sum += level[i];
  return frames > 0 ? sum / (double)frames : 0;
}

int64_t dvt_detect_gate(int width, int64_t frames, const dvt_detect_levels *levels, double floor_db,
                        float *units, int64_t *begin, int64_t *end) {
  const double floor_level = levels->mean * pow(10, -floor_db / 10);
  int64_t kept = 0;
  *begin = frames;
  *end = 0;
  for (int64_t i = 0; i < frames; i++)
    if (levels->level[i] < floor_level) {
      memset(units + i * width, 0, (size_t)width * sizeof *units);
    } else {
      *begin = i < *begin ? i : *begin;
      *end = i + 1;
      kept++;
    }
  return kept;
}

double dvt_detect_level_db(const dvt_detect_levels *levels, int64_t begin, int64_t end) {
  const double mean = dvt_detect_mean_level(end - begin, levels->level + begin);
  return mean > 0 && levels->mean > 0 ? 10 * log10(mean / levels->mean) : 0;
}

davit_detect_options dvt_detect_segments(const davit_detect_options *options, int64_t effect) {
  davit_detect_options o = *options;
  o.window = SEGMENT * effect < DAVIT_DETECT_WINDOW_MAXIMUM ? SEGMENT * effect : DAVIT_DETECT_WINDOW_MAXIMUM;
  o.hop = effect;
  o.permutations = 0;
  return o;
}

static int by_value(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void sort(int64_t count, float *values) {
  qsort(values, (size_t)count, sizeof *values, by_value);
}

typedef struct bounds {
  double low, sure;
} bounds;

/* `outlier` times the distance from the lower quartile to the median above the median, where a distance below
 * `narrow` / sqrt(frames of the effect) counts as that, because most segments of a stream of pauses score 0. */
static bounds bounds_of(int64_t effect, int64_t count, const davit_detect_hit *segments, double full,
                        float *sorted) {
  for (int64_t k = 0; k < count; k++)
    sorted[k] = (float)segments[k].score;
  sort(count, sorted);
  const double quartile = sorted[(count - 1) / 4], median = sorted[(count - 1) / 2],
               far = median + outlier * fmax(median - quartile, narrow / sqrt((double)effect) * full),
               more = fmax(log2((double)count / sure_segments), 0);
  return (bounds){fmax(far, part * full), fmax(far, (sure + sure_slope * more) * full)};
}

/* How many alignments score so much; those that overlap are one. */
static int64_t count_above(int64_t count, const davit_detect_hit *segments, double bound) {
  int64_t found = 0, end = -1;
  for (int64_t k = 0; k < count; k++)
    if (segments[k].score >= bound) {
      found += segments[k].onset >= end;
      end = segments[k].offset > end ? segments[k].offset : end;
    }
  return found;
}

/* The score from which on alignments are left out; INFINITY: none is. */
static double left_out_from(int64_t effect, int64_t count, const davit_detect_hit *segments, double full,
                            float *sorted) {
  const bounds b = bounds_of(effect, count, segments, full, sorted);
  const double few = fmax(fmin(few_part * (double)count, FEW), 1);
  if ((double)count_above(count, segments, b.low) <= few)
    return b.low;
  return count_above(count, segments, b.sure) <= MOST ? b.sure : (double)INFINITY;
}

int64_t dvt_detect_rest(int64_t frames, int64_t effect, int64_t count, const davit_detect_hit *segments,
                        double full, float *sorted, int64_t *rest) {
  const double bound = left_out_from(effect, count, segments, full, sorted);
  int64_t kept = 0;
  for (int64_t i = 0; i < frames; i++)
    rest[i] = i;
  for (int64_t k = 0; k < count; k++)
    if (segments[k].score >= bound)
      for (int64_t i = segments[k].onset; i < segments[k].offset; i++)
        rest[i] = -1;
  for (int64_t i = 0; i < frames; i++)
    if (rest[i] >= 0)
      rest[kept++] = rest[i];
  return kept;
}

/* Draw `number` of drawn window r, one of n. */
static int64_t pick(uint64_t seed, int64_t r, int64_t number, int64_t n) {
  const dvt_philox_block words =
      dvt_philox((dvt_philox_block){{(uint32_t)number, 1, (uint32_t)r, (uint32_t)((uint64_t)r >> 32)}},
                 (uint32_t)seed, (uint32_t)(seed >> 32));
  return (int64_t)(((uint64_t)words.word[1] << 32 | words.word[0]) % (uint64_t)n);
}

void dvt_detect_draw(uint64_t seed, int64_t r, int64_t effect, int64_t window, int64_t rest,
                     int64_t *picked) {
  const int64_t block = BLOCK * effect, phase = pick(seed, r, 0, block);
  int64_t from = 0;
  for (int64_t i = 0; i < window; i++) {
    const int64_t at = (phase + i) % block;
    if (i == 0 || at == 0)
      from = pick(seed, r, 1 + (phase + i) / block, rest);
    picked[i] = (from + at) % rest;
  }
}

void dvt_detect_sum_up(dvt_detect_drawn *drawn) {
  const int64_t n = drawn->count;
  double sum = 0, squares = 0;
  sort(n, drawn->scores);
  for (int64_t r = 0; r < n; r++)
    sum += drawn->scores[r];
  drawn->mean = n > 0 ? sum / (double)n : 0;
  for (int64_t r = 0; r < n; r++) {
    const double deviation = drawn->scores[r] - drawn->mean;
    squares += deviation * deviation;
  }
  drawn->sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
}

/* How many of the sorted scores are below. */
static int64_t below(const dvt_detect_drawn *drawn, double score) {
  int64_t low = 0, high = drawn->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (drawn->scores[middle] < score)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void dvt_detect_significance_drawn(const dvt_detect_drawn *drawn, double full,
                                   const davit_detect_options *options, davit_detect_hit *hit) {
  const double above = hit->score - drawn->mean;
  hit->null_mean = drawn->mean;
  hit->null_sd = drawn->sd;
  hit->z = drawn->count > 0 && (above > 0 || above < 0) ? above / drawn->sd : 0;
  hit->p_value = (double)(drawn->count - below(drawn, hit->score) + 1) / (double)(drawn->count + 1);
  hit->detected = drawn->count > 0 && hit->score > 0 && hit->p_value <= options->alpha &&
                  hit->score >= options->coverage * full;
}
