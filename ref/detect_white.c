/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/detect_white.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"

/* Of a band's mean power: differences between what is much quieter say little, as they may be dither. */
static const double least = 0.1;
static const double loudest = 10; /* frame of an effect, where the stream's mean frame has 1 */

static double root(double power) {
  return sqrt(sqrt(power));
}

static double power_of(float feature) {
  return feature > 0 ? (double)feature : 0;
}

/* The mean of P / G. */
static double loudness(const dvt_detect_white *w, const float *frame) {
  double sum = 0;
  for (int k = 0; k < w->bands; k++)
    sum += power_of(frame[k]) * w->gain[k];
  return sum / w->bands;
}

static double of_stream(const dvt_detect_white *w, const float *frame, int k) {
  return root(power_of(frame[k]) * w->gain[k] + least) - w->centre[k];
}

bool dvt_detect_white_make(int width, int bands, int64_t frames, const float *features, dvt_detect_white *w) {
  *w = (dvt_detect_white){.bands = bands,
                          .width = width,
                          .gain = dvt_allocate((size_t)bands, sizeof *w->gain),
                          .centre = dvt_allocate((size_t)bands, sizeof *w->centre)};
  if (!w->gain || !w->centre)
    return false;
  for (int64_t i = 0; i < frames; i++)
    for (int k = 0; k < bands; k++)
      w->gain[k] += power_of(features[i * width + k]);
  for (int k = 0; k < bands; k++)
    w->gain[k] = w->gain[k] > 0 ? (double)frames / w->gain[k] : 0;
  double *sum = w->centre; /* 0 until all frames are in */
  for (int64_t i = 0; i < frames; i++)
    for (int k = 0; k < bands; k++)
      sum[k] += root(power_of(features[i * width + k]) * w->gain[k] + least);
  for (int k = 0; k < bands; k++)
    w->centre[k] = sum[k] / (double)frames;
  return true;
}

void dvt_detect_white_free(dvt_detect_white *w) {
  free(w->gain);
  free(w->centre);
  *w = (dvt_detect_white){0};
}

/* x of a frame. */
static void whiten(const dvt_detect_white *w, const float *frame, double *here) {
  for (int k = 0; k < w->bands; k++)
    here[k] = of_stream(w, frame, k);
}

/* `next` is that of the frame after it, or of the same frame after the last one. */
static void write_vector(const dvt_detect_white *w, const double *here, const double *next, float *vector) {
  double square = 0;
  for (int k = 0; k < w->bands; k++) {
    const double change = next[k] - here[k];
    square += here[k] * here[k] + change * change;
  }
  const double scale = square > 0 ? 1 / sqrt(square) : 0;
  for (int k = 0; k < w->bands; k++) {
    vector[k] = (float)(here[k] * scale);
    vector[w->bands + k] = (float)((next[k] - here[k]) * scale);
  }
  memset(vector + 2 * w->bands, 0, (size_t)(w->width - 2 * w->bands) * sizeof *vector);
}

bool dvt_detect_white_frames(const dvt_detect_white *w, int64_t frames, const float *features, int64_t begin,
                             int64_t end, float *vectors) {
  double *room = dvt_allocate_raw(2 * (size_t)w->bands * sizeof *room), *here = room, *next = room + w->bands;
  if (!room)
    return false;
  if (begin < end)
    whiten(w, features + begin * w->width, here);
  for (int64_t i = begin; i < end; i++) {
    const bool last = i + 1 == frames;
    if (!last)
      whiten(w, features + (i + 1) * w->width, next);
    write_vector(w, here, last ? here : next, vectors + i * w->width);
    double *const done = here;
    here = next;
    next = done;
  }
  free(room);
  return true;
}

/* ---- effects ---- */

static double of_effect(const dvt_detect_white *w, double gain, const float *frame, int k) {
  const double centre = w->centre[k], usual = centre * centre * (centre * centre);
  return root(gain * power_of(frame[k]) * w->gain[k] + usual) - centre;
}

/* The vector of a frame before it gets its length; returns the square of the length that it has. */
static double effect_frame(const dvt_detect_white *w, double gain, const float *frame, const float *next,
                           float *vector) {
  double square = 0;
  memset(vector, 0, (size_t)w->width * sizeof *vector);
  for (int k = 0; k < w->bands; k++) {
    const double here = of_effect(w, gain, frame, k), change = next ? of_effect(w, gain, next, k) - here : 0;
    vector[k] = (float)here;
    vector[w->bands + k] = (float)change;
    square += here * here + change * change;
  }
  return square;
}

static double length_of(const dvt_detect_white *w, const float *vector) {
  double square = 0;
  for (int k = 0; k < 2 * w->bands; k++)
    square += (double)vector[k] * (double)vector[k];
  return sqrt(square);
}

double dvt_detect_white_effect(const dvt_detect_white *w, int64_t frames, const float *features,
                               float *vectors) {
  double most = 0, squares = 0, full = 0;
  for (int64_t j = 0; j < frames; j++)
    most = fmax(most, loudness(w, features + j * w->width));
  const double gain = most > 0 ? loudest / most : 0;
  for (int64_t j = 0; j < frames; j++) {
    const float *frame = features + j * w->width;
    squares += effect_frame(w, gain, frame, j + 1 < frames ? frame + w->width : NULL, vectors + j * w->width);
  }
  const double mean = sqrt(squares / (double)frames);
  for (int64_t j = 0; j < frames; j++) {
    float *vector = vectors + j * w->width;
    const double length = length_of(w, vector), weight = fmin(mean > 0 ? length / mean : 0, 1),
                 scale = length > 0 ? weight / length : 0;
    for (int k = 0; k < 2 * w->bands; k++)
      vector[k] = (float)((double)vector[k] * scale);
    full += 100 * weight;
  }
  return full;
}
