/* SPDX-License-Identifier: Apache-2.0 */
/* Detection on the CPU: one window, one effect, one permutation after the other. Cost: docs/notes/detect.md; memory
 * of one window and effect. */
#include "ref/detect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/detect_null.h"
#include "ref/detect_white.h"
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

void dvt_ref_detect_significance(double full, const float *null_scores, const davit_detect_options *options,
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
      score > 0 && detection->p_value <= options->alpha && score >= options->coverage * full;
}

/* ---- all of it, one effect and window after the other ---- */

/* Scratch of one window and effect. */
typedef struct workbench {
  float *similarity, *scores;
  dvt_float_border *border;
  uint16_t *orders; /* of windows of `length` frames */
  uint8_t *steps;
  int64_t length;
} workbench;

static void free_bench(workbench *b) {
  free(b->similarity);
  free(b->scores);
  free(b->border);
  free(b->orders);
  free(b->steps);
}

static bool reserve(workbench *b, int64_t window, int64_t effect, int64_t runs) {
  const size_t w = (size_t)window, n = (size_t)effect;
  *b = (workbench){.similarity = dvt_allocate_raw(w * n * sizeof *b->similarity),
                   .scores = dvt_allocate_raw((size_t)runs * sizeof *b->scores),
                   .border = dvt_allocate_raw(n * sizeof *b->border),
                   .orders = dvt_allocate_raw((size_t)runs * w * sizeof *b->orders),
                   .steps = dvt_allocate_raw(w * n)};
  return b->similarity && b->scores && b->border && b->orders && b->steps;
}

static void draw_orders(workbench *b, int64_t length, const davit_detect_options *o) {
  if (b->length == length)
    return;
  for (int64_t r = 0; r <= dvt_detect_shuffles(o); r++)
    dvt_block_permutation(o->seed, (uint64_t)r, (int)length, (int)o->block, b->orders + r * length);
  b->length = length;
}

/* Unit vectors, or with bands whitened ones, those below the floor 0, and what is left of them. */
typedef struct sequence {
  int64_t frames;
  float *units, *first; /* `first`: from the first frame above the floor on */
  int64_t count;        /* from there to the last one */
  double full;
  dvt_detect_levels levels;
} sequence;

static bool make_sequence(int width, int64_t frames, const float *features, double floor_db, sequence *s) {
  int64_t begin, end;
  *s = (sequence){.frames = frames,
                  .units = dvt_allocate_raw((size_t)(frames * width) * sizeof *s->units),
                  .levels.level = dvt_allocate_raw((size_t)frames * sizeof(double))};
  if (!s->units || !s->levels.level)
    return false;
  for (int64_t i = 0; i < frames; i++)
    s->levels.level[i] = dvt_unit_vector(width, features + i * width, s->units + i * width);
  s->levels.mean = dvt_detect_mean_level(frames, s->levels.level);
  s->full = 100 * (double)dvt_detect_gate(width, frames, &s->levels, floor_db, s->units, &begin, &end);
  s->first = s->units + begin * width;
  s->count = end - begin;
  return true;
}

/* Frames with bands are compared by their vectors in this stream. */
static bool whiten_stream(const dvt_detect_white *white, const float *features, double floor_db,
                          sequence *s) {
  int64_t begin, end;
  if (!dvt_detect_white_frames(white, s->frames, features, 0, s->frames, s->units))
    return false;
  dvt_detect_gate(white->width, s->frames, &s->levels, floor_db, s->units, &begin, &end);
  return true;
}

static void whiten_effect(const dvt_detect_white *white, const float *features, sequence *s) {
  const int64_t begin = s->first - s->units;
  s->full = dvt_detect_white_effect(white, s->count, features + begin, s->first);
}

static void free_sequence(sequence *s) {
  free(s->units);
  free(s->levels.level);
}

/* Scores the windows of so many frames, and tests the significance of them if there are permutations. Hits lie `stride`
 * apart. */
static bool search(int width, int64_t frames, const float *x, const sequence *effect, int e,
                   const davit_detect_options *o, int64_t stride, davit_detect_hit *hits) {
  const dvt_detect_gaps gaps = dvt_detect_gaps_of(o);
  const int64_t runs = dvt_detect_shuffles(o) + 1;
  workbench b;
  const bool reserved = reserve(&b, o->window, effect->count, runs);
  for (int64_t w = 0; reserved && w < dvt_detect_windows(frames, o); w++) {
    const int64_t first = w * dvt_detect_hop(o), length = dvt_detect_length(frames, o, w);
    davit_detect_hit *d = &hits[w * stride];
    *d = (davit_detect_hit){.window = w, .effect = e};
    draw_orders(&b, length, o);
    dvt_ref_detect_similarity(width, length, x + first * width, effect->count, effect->first, o,
                              b.similarity);
    for (int64_t r = 0; r < runs; r++)
      b.scores[r] =
          dvt_ref_detect_score(length, effect->count, b.similarity, b.orders + r * length, gaps, b.border);
    dvt_ref_detect_trace(length, effect->count, b.similarity, gaps, b.border, b.steps, &d->onset, &d->offset);
    d->onset += first;
    d->offset += first;
    d->score = b.scores[0];
    if (runs > 1)
      dvt_ref_detect_significance(effect->full, b.scores + 1, o, d);
  }
  free_bench(&b);
  return reserved;
}

/* ---- the stream's null distribution ---- */

static bool find_rest(int width, const sequence *stream, const sequence *effect, int e,
                      const davit_detect_options *o, int64_t *rest, int64_t *count) {
  const davit_detect_options segments = dvt_detect_segments(o, effect->count);
  const int64_t n = dvt_detect_windows(stream->frames, &segments);
  davit_detect_hit *hits = dvt_allocate_raw((size_t)n * sizeof *hits);
  float *sorted = dvt_allocate_raw((size_t)n * sizeof *sorted);
  const bool done =
      hits && sorted && search(width, stream->frames, stream->units, effect, e, &segments, 1, hits);
  if (done)
    *count = dvt_detect_rest(stream->frames, effect->count, n, hits, effect->full, sorted, rest);
  free(hits);
  free(sorted);
  return done;
}

static bool score_drawn(int width, const sequence *stream, const sequence *effect, int e,
                        const davit_detect_options *options, const int64_t *rest, int64_t count,
                        dvt_detect_drawn *drawn) {
  davit_detect_options o = *options;
  o.window = o.hop = o.window < stream->frames ? o.window : stream->frames;
  float *x = dvt_allocate_raw((size_t)(o.window * width) * sizeof *x);
  int64_t *picked = dvt_allocate_raw((size_t)o.window * sizeof *picked);
  bool done = x && picked;
  for (int64_t r = 0; r < drawn->count && done; r++) {
    davit_detect_hit hit;
    dvt_detect_draw(o.seed, r, effect->count, o.window, count, picked);
    for (int64_t i = 0; i < o.window; i++)
      memcpy(x + i * width, stream->units + rest[picked[i]] * width, (size_t)width * sizeof *x);
    done = search(width, o.window, x, effect, e, &o, 1, &hit);
    drawn->scores[r] = (float)hit.score;
  }
  free(x);
  free(picked);
  return done;
}

static bool draw(int width, const sequence *stream, const sequence *effect, int e,
                 const davit_detect_options *o, dvt_detect_drawn *drawn) {
  int64_t *rest = dvt_allocate_raw((size_t)stream->frames * sizeof *rest), count = 0;
  bool done = rest && find_rest(width, stream, effect, e, o, rest, &count);
  drawn->count = count >= effect->count ? o->permutations : 0;
  done = done && score_drawn(width, stream, effect, e, o, rest, count, drawn);
  free(rest);
  return done;
}

static bool test_by_stream(int width, const sequence *stream, const sequence *effect, int e,
                           const davit_detect_options *o, int64_t stride, davit_detect_hit *hits) {
  dvt_detect_drawn drawn = {.scores = dvt_allocate_raw((size_t)o->permutations * sizeof *drawn.scores)};
  const bool done = drawn.scores && draw(width, stream, effect, e, o, &drawn);
  if (done) {
    dvt_detect_sum_up(&drawn);
    for (int64_t w = 0; w < dvt_detect_windows(stream->frames, o); w++)
      dvt_detect_significance_drawn(&drawn, effect->full, o, &hits[w * stride]);
  }
  free(drawn.scores);
  return done;
}

/* ---- the call ---- */

/* `white` is NULL without bands. */
static bool detect_effect(int width, const sequence *stream, const dvt_detect_white *white,
                          const davit_detect_effect *pattern, int e, const davit_detect_options *o,
                          int64_t stride, davit_detect_hit *hits) {
  sequence effect;
  bool done = make_sequence(width, pattern->frames, pattern->features, o->effect_floor_db, &effect);
  if (done && white)
    whiten_effect(white, pattern->features, &effect);
  done = done && search(width, stream->frames, stream->units, &effect, e, o, stride, hits);
  if (done && o->null == DAVIT_DETECT_NULL_STREAM)
    done = test_by_stream(width, stream, &effect, e, o, stride, hits);
  for (int64_t w = 0; done && w < dvt_detect_windows(stream->frames, o); w++)
    hits[w * stride].level_db =
        dvt_detect_level_db(&stream->levels, hits[w * stride].onset, hits[w * stride].offset);
  free_sequence(&effect);
  return done;
}

davit_status dvt_ref_detect(int width, int64_t frames, const float *features, int effect_count,
                            const davit_detect_effect *effects, const davit_detect_options *options,
                            davit_detect_hit *detections) {
  const davit_detect_options o = dvt_detect_resolved(options);
  const bool has_bands = o.bands > 0;
  sequence stream;
  dvt_detect_white white = {0};
  bool done = make_sequence(width, frames, features, o.floor_db, &stream) &&
              (!has_bands || dvt_detect_white_make(width, (int)o.bands, frames, features, &white));
  if (done && has_bands)
    done = whiten_stream(&white, features, o.floor_db, &stream);
  for (int e = 0; e < effect_count && done; e++)
    done = detect_effect(width, &stream, has_bands ? &white : NULL, &effects[e], e, &o, effect_count,
                         detections + e);
  dvt_detect_white_free(&white);
  free_sequence(&stream);
  return done ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}
