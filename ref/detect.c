/* SPDX-License-Identifier: Apache-2.0 */
/* Detection on the CPU: one window, one effect, one permutation after the other. Cost: docs/detect.md; memory
 * of one window and effect. */
#include "ref/detect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/permutation.h"
#include "ref/ref.h"
#include "ref/similarity.h"
#include "src/base/allocate.h"

void dvt_ref_detect_similarity(int width, int64_t window, const float *x, int64_t effect, const float *y,
                               const davit_detect_options *options, float *similarity) {
  for (int64_t i = 0; i < window; i++)
    for (int64_t j = 0; j < effect; j++)
      similarity[i * effect + j] =
          dvt_similarity(width, x + i * width, y + j * width, (float)options->threshold, options->round);
}

float dvt_ref_detect_score(int64_t window, int64_t effect, const float *similarity, const uint16_t *order,
                           dvt_detect_gaps gaps, dvt_float_border *border) {
  float best = 0;
  memset(border, 0, (size_t)effect * sizeof *border);
  for (int64_t i = 0; i < window; i++) {
    const float *s = similarity + order[i] * effect;
    float diagonal = 0, e = 0;
    for (int64_t j = 0; j < effect; j++) {
      const float matched = diagonal + s[j];
      diagonal = border[j].h;
      border[j].h = dvt_float_cell(matched, gaps.open, gaps.extend, &e, &border[j].gap, &best);
    }
  }
  return best;
}

int64_t dvt_ref_detect_begin(int64_t effect, const uint8_t *steps, int64_t stride, int64_t i, int64_t j) {
  int64_t first = i;
  int way = steps[(i * effect + j) * stride] & DVT_WAY;
  while (way != DVT_STOP) {
    first = way == DVT_DIAGONAL ? i : first;
    i -= way != DVT_ALONG;
    j -= way != DVT_DOWN;
    if (i < 0 || j < 0)
      break;
    const uint8_t step = steps[(i * effect + j) * stride];
    const bool goes_on = (way == DVT_ALONG && step & DVT_ALONG_ON) || (way == DVT_DOWN && step & DVT_DOWN_ON);
    way = goes_on ? way : step & DVT_WAY;
  }
  return first;
}

void dvt_ref_detect_trace(int64_t window, int64_t effect, const float *similarity, dvt_detect_gaps gaps,
                          dvt_float_border *border, uint8_t *steps, int64_t *begin, int64_t *end) {
  dvt_float_best best = {.row = -1};
  memset(border, 0, (size_t)effect * sizeof *border);
  for (int64_t i = 0; i < window; i++)
    dvt_float_noted_row(effect, similarity + i * effect, gaps.open, gaps.extend, i, border,
                        steps + i * effect, &best);
  *begin = best.row < 0 ? 0 : dvt_ref_detect_begin(effect, steps, 1, best.row, best.column);
  *end = best.row + 1;
}

void dvt_ref_detect_judge(int64_t effect, const float *null_scores, const davit_detect_options *options,
                          davit_detect_hit *detection) {
  const int64_t n = options->permutations;
  const double score = detection->score;
  int64_t no_less = 0;
  double sum = 0, squares = 0;
  for (int64_t r = 0; r < n; r++) {
    sum += null_scores[r];
    no_less += null_scores[r] >= score;
  }
  detection->null_mean = sum / (double)n;
  for (int64_t r = 0; r < n; r++) {
    const double deviation = null_scores[r] - detection->null_mean;
    squares += deviation * deviation;
  }
  detection->null_sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
  const double above = score - detection->null_mean;
  detection->z = above > 0 || above < 0 ? above / detection->null_sd : 0;
  detection->p_value = (double)(no_less + 1) / (double)(n + 1);
  detection->detected =
      score > 0 && detection->p_value <= options->alpha && score >= 100 * options->coverage * (double)effect;
}

/* ---- all of it, one window and effect after the other ---- */

/* Parts of one block of memory. */
typedef struct workbench {
  float *x, *y, *similarity, *scores;
  dvt_float_border *border;
  uint16_t *orders; /* of windows of `length` frames */
  uint8_t *steps;
  int64_t length;
} workbench;

static bool reserve(workbench *b, int width, int64_t window, int64_t effect, int64_t permutations) {
  const size_t w = (size_t)window, n = (size_t)effect, runs = (size_t)permutations + 1,
               floats = (w + n) * (size_t)width + w * n + runs + 2 * n;
  *b = (workbench){.x = dvt_allocate_raw(floats * sizeof(float) + runs * w * sizeof(uint16_t) + w * n)};
  if (!b->x)
    return false;
  b->y = b->x + w * (size_t)width;
  b->similarity = b->y + n * (size_t)width;
  b->scores = b->similarity + w * n;
  b->border = (dvt_float_border *)(b->scores + runs);
  b->orders = (uint16_t *)(b->border + n);
  b->steps = (uint8_t *)(b->orders + runs * w);
  return true;
}

static void draw(workbench *b, int64_t length, const davit_detect_options *options) {
  if (b->length == length)
    return;
  for (int64_t r = 0; r <= options->permutations; r++)
    dvt_block_permutation(options->seed, (uint64_t)r, (int)length, (int)options->block,
                          b->orders + r * length);
  b->length = length;
}

static void detect_one(workbench *b, int width, int64_t length, const davit_detect_effect *effect,
                       const davit_detect_options *options, int64_t first, davit_detect_hit *d) {
  const dvt_detect_gaps gaps = dvt_detect_gaps_of(options);
  for (int64_t j = 0; j < effect->frames; j++)
    dvt_unit_vector(width, effect->features + j * width, b->y + j * width);
  dvt_ref_detect_similarity(width, length, b->x, effect->frames, b->y, options, b->similarity);
  for (int64_t r = 0; r <= options->permutations; r++)
    b->scores[r] =
        dvt_ref_detect_score(length, effect->frames, b->similarity, b->orders + r * length, gaps, b->border);
  dvt_ref_detect_trace(length, effect->frames, b->similarity, gaps, b->border, b->steps, &d->onset,
                       &d->offset);
  d->onset += first;
  d->offset += first;
  d->score = b->scores[0];
  dvt_ref_detect_judge(effect->frames, b->scores + 1, options, d);
}

davit_status dvt_ref_detect(int width, int64_t frames, const float *stream, int effect_count,
                            const davit_detect_effect *effects, const davit_detect_options *options,
                            davit_detect_hit *detections) {
  const davit_detect_options o = dvt_detect_resolved(options);
  workbench b;
  int64_t longest = 0;
  for (int e = 0; e < effect_count; e++)
    longest = effects[e].frames > longest ? effects[e].frames : longest;
  const bool reserved = reserve(&b, width, o.window, longest, o.permutations);
  for (int64_t w = 0; reserved && w < dvt_detect_windows(frames, &o); w++) {
    const int64_t first = w * dvt_detect_hop(&o), length = dvt_detect_length(frames, &o, w);
    draw(&b, length, &o);
    for (int64_t i = 0; i < length; i++)
      dvt_unit_vector(width, stream + (first + i) * width, b.x + i * width);
    for (int e = 0; e < effect_count; e++) {
      davit_detect_hit *d = &detections[w * effect_count + e];
      *d = (davit_detect_hit){.window = w, .effect = e};
      detect_one(&b, width, length, &effects[e], &o, first, d);
    }
  }
  free(b.x);
  return reserved ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}
