#include "ref/detect.h"

#include <math.h>
#include <stdlib.h>

#include "ref/permutation.h"
#include "ref/ref.h"
#include "ref/similarity.h"

void dvt_ref_detect_similarity(int width, int64_t window, const float *x, int64_t effect, const float *y,
                               const davit_detect_options *options, float *similarity) {
  for (int64_t i = 0; i < window; i++)
    for (int64_t j = 0; j < effect; j++)
      similarity[i * effect + j] =
          dvt_similarity(width, x + i * width, y + j * width, (float)options->threshold, options->round);
}

static float larger(float a, float b) {
  return a > b ? a : b;
}

/* One row for each frame of the window; h and f are the row before and the gaps that go down from it. */
float dvt_ref_detect_score(int64_t window, int64_t effect, const float *similarity, const uint16_t *order,
                           dvt_detect_gaps gaps, float *state) {
  float *h = state, *f = state + effect, best = 0;
  for (int64_t j = 0; j < effect; j++)
    h[j] = f[j] = 0;
  for (int64_t i = 0; i < window; i++) {
    const float *s = similarity + order[i] * effect;
    float diagonal = 0, left = 0, e = 0;
    for (int64_t j = 0; j < effect; j++) {
      e = larger(e - gaps.extend, left - gaps.open);
      f[j] = larger(f[j] - gaps.extend, h[j] - gaps.open);
      left = larger(larger(diagonal + s[j], 0), larger(e, f[j]));
      diagonal = h[j];
      h[j] = left;
      best = larger(best, left);
    }
  }
  return best;
}

/* Without branches: which it will be is hard to foresee. */
static uint8_t choice_of(float h, float diagonal, float e, bool across, bool down) {
  const int matched = h <= diagonal, way = matched + (1 - matched) * (DVT_DOWN - (h <= e));
  return (uint8_t)((h > 0) * way | across * DVT_ACROSS_ON | down * DVT_DOWN_ON);
}

int64_t dvt_ref_detect_begin(int64_t effect, const uint8_t *choices, int64_t stride, int64_t i, int64_t j) {
  int64_t first = i;
  int way = choices[(i * effect + j) * stride] & 3;
  while (way != DVT_STOP) {
    const uint8_t here = choices[(i * effect + j) * stride];
    int on = DVT_DIAGONAL;
    if (way == DVT_DIAGONAL) {
      first = i;
      i--;
      j--;
    } else if (way == DVT_ACROSS) {
      on = here & DVT_ACROSS_ON ? DVT_ACROSS : DVT_DIAGONAL;
      j--;
    } else {
      on = here & DVT_DOWN_ON ? DVT_DOWN : DVT_DIAGONAL;
      i--;
    }
    if (i < 0 || j < 0)
      break;
    way = on == DVT_DIAGONAL ? choices[(i * effect + j) * stride] & 3 : on;
  }
  return first;
}

void dvt_ref_detect_trace(int64_t window, int64_t effect, const float *similarity, dvt_detect_gaps gaps,
                          float *state, uint8_t *choices, int64_t *begin, int64_t *end) {
  float *h = state, *f = state + effect, best = 0;
  int64_t best_i = -1, best_j = -1;
  for (int64_t j = 0; j < effect; j++)
    h[j] = f[j] = 0;
  for (int64_t i = 0; i < window; i++) {
    float diagonal = 0, left = 0, e = 0;
    for (int64_t j = 0; j < effect; j++) {
      const bool across = e - gaps.extend > left - gaps.open, down = f[j] - gaps.extend > h[j] - gaps.open;
      e = larger(e - gaps.extend, left - gaps.open);
      f[j] = larger(f[j] - gaps.extend, h[j] - gaps.open);
      const float matched = diagonal + similarity[i * effect + j];
      left = larger(larger(matched, 0), larger(e, f[j]));
      choices[i * effect + j] = choice_of(left, matched, e, across, down);
      diagonal = h[j];
      h[j] = left;
      if (left > best) {
        best = left;
        best_i = i;
        best_j = j;
      }
    }
  }
  *begin = best_i < 0 ? 0 : dvt_ref_detect_begin(effect, choices, 1, best_i, best_j);
  *end = best_i + 1;
}

void dvt_ref_detect_judge(int64_t effect, const float *null_scores, const davit_detect_options *options,
                          davit_detection *detection) {
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

typedef struct workbench {
  float *x, *y, *similarity, *state, *scores;
  uint16_t *orders; /* of windows of `length` frames */
  int64_t length;
  uint8_t *choices;
} workbench;

static int64_t longest(int effect_count, const davit_effect *effects) {
  int64_t most = 0;
  for (int e = 0; e < effect_count; e++)
    most = effects[e].frames > most ? effects[e].frames : most;
  return most;
}

static void release(workbench *b) {
  free(b->x);
  free(b->y);
  free(b->similarity);
  free(b->state);
  free(b->scores);
  free(b->orders);
  free(b->choices);
}

static bool reserve(workbench *b, int width, int64_t window, int64_t effect, int64_t permutations) {
  const size_t w = (size_t)window, n = (size_t)effect, runs = (size_t)permutations + 1;
  *b = (workbench){.x = malloc(w * (size_t)width * sizeof(float)),
                   .y = malloc(n * (size_t)width * sizeof(float)),
                   .similarity = malloc(w * n * sizeof(float)),
                   .state = malloc(2 * n * sizeof(float)),
                   .scores = malloc(runs * sizeof(float)),
                   .orders = malloc(runs * w * sizeof(uint16_t)),
                   .choices = malloc(w * n)};
  return b->x && b->y && b->similarity && b->state && b->scores && b->orders && b->choices;
}

static void draw(workbench *b, int64_t length, const davit_detect_options *options) {
  if (b->length == length)
    return;
  for (int64_t r = 0; r <= options->permutations; r++)
    dvt_block_permutation(options->seed, (uint64_t)r, (int)length, (int)options->block,
                          b->orders + r * length);
  b->length = length;
}

static void detect_one(workbench *b, int width, int64_t length, const davit_effect *effect,
                       const davit_detect_options *options, int64_t first, davit_detection *d) {
  const dvt_detect_gaps gaps = dvt_detect_gaps_of(options);
  for (int64_t j = 0; j < effect->frames; j++)
    dvt_unit_vector(width, effect->features + j * width, b->y + j * width);
  dvt_ref_detect_similarity(width, length, b->x, effect->frames, b->y, options, b->similarity);
  for (int64_t r = 0; r <= options->permutations; r++)
    b->scores[r] =
        dvt_ref_detect_score(length, effect->frames, b->similarity, b->orders + r * length, gaps, b->state);
  dvt_ref_detect_trace(length, effect->frames, b->similarity, gaps, b->state, b->choices, &d->onset,
                       &d->offset);
  d->onset += first;
  d->offset += first;
  d->score = b->scores[0];
  dvt_ref_detect_judge(effect->frames, b->scores + 1, options, d);
}

davit_status dvt_ref_detect(int width, int64_t frames, const float *stream, int effect_count,
                            const davit_effect *effects, const davit_detect_options *options,
                            davit_detection *detections) {
  workbench b;
  davit_status status = DAVIT_OUT_OF_HOST_MEMORY;
  if (reserve(&b, width, options->window, longest(effect_count, effects), options->permutations)) {
    status = DAVIT_SUCCESS;
    for (int64_t w = 0; w < dvt_detect_windows(frames, options); w++) {
      const int64_t first = w * dvt_detect_hop(options), length = dvt_detect_length(frames, options, w);
      draw(&b, length, options);
      for (int64_t i = 0; i < length; i++)
        dvt_unit_vector(width, stream + (first + i) * width, b.x + i * width);
      for (int e = 0; e < effect_count; e++) {
        davit_detection *d = &detections[w * effect_count + e];
        *d = (davit_detection){.window = w, .effect = e};
        detect_one(&b, width, length, &effects[e], options, first, d);
      }
    }
  }
  release(&b);
  return status;
}
