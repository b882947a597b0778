/* SPDX-License-Identifier: Apache-2.0 */
/* Copies: correlation against its definition by plain sums, what a peak needs to be a copy, arguments and failures. */
#include <complex.h>
#include <float.h>
#include <math.h>

#include "src/base/team.h"
#include "tests/searches.h"

enum { BANDS = 512, RANGE = 32, RANGES = 4, SPACING = 16 }; /* of src/detect_correlate.c */

static float *noise(uint64_t seed, int64_t count) {
  float *x = kept((size_t)count * sizeof *x);
  for (int64_t i = 0; i < count; i++) {
    double sum = 0;
    for (int k = 0; k < 4; k++)
      sum += (double)(next_random(&seed) >> 40) * 0x1p-24 - 0.5;
    x[i] = (float)sum;
  }
  return x;
}

/* Adds a tone, so that the spectrum is not even. */
static void add_tone(float *x, int64_t count, double period, double height) {
  for (int64_t i = 0; i < count; i++)
    x[i] += (float)(height * sin(2 * M_PI * (double)i / period));
}

/* ---- the definition ---- */

static void transform(int64_t block, int64_t count, const float *x, double complex *lines) {
  for (int64_t k = 0; k < block / 2; k++) {
    lines[k] = 0;
    for (int64_t i = 0; i < count; i++)
      lines[k] += (double)x[i] * cexp(-2 * M_PI * I * (double)(k * i % block) / (double)block);
  }
}

static double square(double complex z) {
  return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* Peaks of a stream that fits into one block of 1024 samples: one line is one band. */
static void by_definition(int64_t frame, int64_t count, const float *stream, const davit_detect_clip *clip,
                          float *peaks) {
  enum { BLOCK = 1024 };
  static double complex x[BLOCK / 2], c[BLOCK / 2];
  double weight[BANDS], energy[BANDS], all = 0, total = 0, white[BLOCK];
  transform(BLOCK, count, stream, x);
  transform(BLOCK, clip->count, clip->samples, c);
  for (int k = 0; k < BANDS; k++)
    all += square(x[k]) / (double)BANDS;
  for (int k = 0; k < BANDS; k++) {
    weight[k] = 1 / (square(x[k]) + 1e-3 * all);
    energy[k] = square(c[k]) * weight[k];
    total += energy[k];
  }
  for (int i = 0; i < BLOCK; i++) {
    double sum = 0;
    for (int k = 0; k < BANDS; k++)
      sum += (k > 0 ? 2 : 1) *
             creal(x[k] * sqrt(weight[k]) * cexp(2 * M_PI * I * (double)(k * i % BLOCK) / (double)BLOCK));
    white[i] = sum * sum;
  }
  int begin[RANGES + 1] = {0}, from[RANGES], to[RANGES];
  double inside[RANGES], before = 0;
  for (int j = 1, k = 0; j < RANGES; j++) {
    while (k < BANDS && before < total * j / (double)RANGES)
      before += energy[k++];
    begin[j] = k;
  }
  begin[RANGES] = BANDS;
  for (int j = 0; j < RANGES; j++) {
    inside[j] = -1;
    for (int at = begin[j]; at == begin[j] || at + RANGE <= begin[j + 1]; at++) {
      const int end = at + RANGE < begin[j + 1] ? at + RANGE : begin[j + 1];
      double sum = 0;
      for (int k = at; k < end; k++)
        sum += energy[k];
      if (sum > inside[j]) {
        inside[j] = sum;
        from[j] = at;
        to[j] = end;
      }
    }
  }
  memset(peaks, 0, (size_t)(count / frame) * sizeof *peaks);
  for (int64_t i = 0; i < count / frame * frame; i += SPACING) {
    double smallest = DBL_MAX, local = 0, mean = 0;
    for (int64_t t = 0; t < BLOCK; t++) {
      local += t >= i && t < i + clip->count ? white[t] : 0;
      mean += white[t] / (double)BLOCK;
    }
    for (int j = 0; j < RANGES; j++) {
      double complex sum = 0;
      for (int k = from[j]; k < to[j]; k++)
        sum += x[k] * conj(c[k]) * weight[k] * cexp(2 * M_PI * I * (double)(k * i % BLOCK) / (double)BLOCK);
      smallest = fmin(smallest, square(sum) / (inside[j] * inside[j]));
    }
    const double value = smallest * 2 * (double)BLOCK * total / (local + 1e-7 * mean * (double)clip->count);
    peaks[i / frame] = fmaxf(peaks[i / frame], (float)value);
  }
  for (int64_t f = 0; f < count / frame; f++) {
    const double left = (double)(count - f * frame) / (double)clip->count;
    peaks[f] = fminf(sqrtf(peaks[f] * (float)fmin(left, 1)), 1);
  }
}

CASE(test_definition) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    enum { COUNT_OF = 800, CLIP = 150, FRAME = 40 };
    float *stream = noise(seed, COUNT_OF), *sound = noise(seed + 50, CLIP);
    add_tone(stream, COUNT_OF, 11.3, 2);
    for (int i = 0; i < CLIP; i++)
      stream[333 + i] += sound[i];
    const davit_detect_clip clip = {CLIP, sound};
    float wanted[COUNT_OF / FRAME], found[COUNT_OF / FRAME];
    by_definition(FRAME, COUNT_OF, stream, &clip, wanted);
    CHECK(davit_detect_correlate(FRAME, COUNT_OF, stream, 1, &clip, found));
    for (int f = 0; f < COUNT_OF / FRAME; f++)
      assert_true(fabsf(found[f] - wanted[f]) < 2e-3F);
  }
}

/* ---- properties ---- */

enum { SAMPLES = 400000, LENGTH = 20000, PLACE = 4096 };

/* The same in several blocks, with any number of threads, for a louder or an inverted copy, and beside other clips. */
CASE(test_copies_are_alike) {
  float *stream = noise(7, SAMPLES), *sound = noise(8, LENGTH), *inverted = kept(LENGTH * sizeof *inverted);
  for (int64_t i = 0; i < LENGTH; i++) {
    inverted[i] = -3 * sound[i];
    stream[60 * PLACE + i] += sound[i];
    stream[90 * PLACE + i] += 0.5F * inverted[i];
  }
  const davit_detect_clip clips[] = {{LENGTH, sound}, {0}, {LENGTH, inverted}};
  const int64_t frames = SAMPLES / PLACE;
  float *peaks = kept((size_t)(3 * frames) * sizeof *peaks),
        *single = kept((size_t)(3 * frames) * sizeof *single);
  CHECK(davit_detect_correlate(PLACE, SAMPLES, stream, 3, clips, peaks));
  dvt_threads_set(1);
  CHECK(davit_detect_correlate(PLACE, SAMPLES, stream, 3, clips, single));
  dvt_threads_set(0);
  assert_memory_equal(peaks, single, (size_t)(3 * frames) * sizeof *peaks);
  for (int64_t f = 0; f < frames; f++) {
    const bool here = f == 60 || f == 90;
    assert_true(here ? peaks[f] > 0.5F : peaks[f] < 0.1F || f == 59 || f == 89);
    assert_true(peaks[frames + f] == 0);
    assert_true(fabsf(peaks[f] - peaks[2 * frames + f]) < 1e-4F);
  }
}

CASE(test_silence) {
  float stream[5000] = {0}, peaks[10], *sound = noise(3, 700);
  CHECK(davit_detect_correlate(500, 5000, stream, 1, &(davit_detect_clip){700, sound}, peaks));
  for (int f = 0; f < 10; f++)
    assert_true(peaks[f] == 0);
  memcpy(stream + 1600, sound, 700 * sizeof *sound);
  CHECK(davit_detect_correlate(500, 5000, stream, 1, &(davit_detect_clip){700, sound}, peaks));
  assert_true(peaks[3] > 0.95F);
  CHECK(davit_detect_correlate(500, 499, stream, 1, &(davit_detect_clip){700, sound}, peaks));
  CHECK(davit_detect_correlate(500, 0, NULL, 0, NULL, NULL));
}

/* ---- what is a copy ---- */

enum { FRAMES = 400, SPAN = 5, WINDOWS = 79 };

static void judge(const float *peaks, double alpha, davit_detect_hit *hits) {
  static float stream[FRAMES];
  const davit_detect_options o = {
      .window = 2 * SPAN, .hop = SPAN, .null = DAVIT_DETECT_NULL_STREAM, .alpha = alpha};
  int64_t windows;
  CHECK(davit_detect_windows(FRAMES, &windows, &o));
  assert_int_equal(windows, WINDOWS);
  for (int i = 0; i < FRAMES; i++)
    stream[i] = i == 203 ? 10 : 1;
  for (int w = 0; w < WINDOWS; w++)
    hits[w] = (davit_detect_hit){.window = w,
                                 .onset = 1,
                                 .p_value = w == 3   ? 0.01
                                            : w == 4 ? 0.002
                                                     : 1,
                                 .detected = w == 3 || w == 4};
  CHECK(davit_detect_copies(1, FRAMES, stream, 1, &(davit_detect_peaks){SPAN, 100000, peaks}, hits, &o));
}

CASE(test_what_stands_out) {
  float *peaks = kept(FRAMES * sizeof *peaks);
  davit_detect_hit hits[WINDOWS];
  uint64_t seed = 5;
  for (int f = 0; f < FRAMES; f++)
    peaks[f] = 0.02F + 0.02F * (float)(next_random(&seed) >> 40) * 0x1p-24F;
  peaks[203] = 0.4F;
  judge(peaks, 0, hits);
  for (int w = 0; w < WINDOWS; w++) {
    const bool here =
        w == 40 || w == 39; /* windows [195, 205) and [200, 210): it can end in the second one */
    assert_int_equal(hits[w].correlation > 0, here && w == 40);
    if (hits[w].correlation > 0) {
      assert_int_equal(hits[w].onset, 203);
      assert_int_equal(hits[w].offset, 208);
      assert_true(fabs(hits[w].correlation - 0.4) < 1e-6 && fabs(hits[w].p_value - 1e-3) < 1e-15 &&
                  hits[w].detected);
      assert_true(hits[w].level_db > 3);
    }
  }
  assert_true(!hits[3].detected && fabs(hits[3].p_value - 0.011) < 1e-12); /* the second test's price */
  assert_true(hits[4].detected && fabs(hits[4].p_value - 0.003) < 1e-12);
  assert_true(hits[5].p_value == 1);
  judge(peaks, 5e-4, hits);
  assert_true(!hits[40].detected && hits[40].correlation > 0);
  peaks[203] = 0.09F; /* stands out, but less than a tenth may be chance */
  judge(peaks, 0, hits);
  assert_true(hits[40].correlation == 0);
  for (int f = 0; f < FRAMES; f++)
    peaks[f] *= 8; /* sound that is always a little like it */
  peaks[203] = 0.4F;
  judge(peaks, 0, hits);
  assert_true(hits[40].correlation == 0);
}

/* ---- arguments ---- */

CASE(test_arguments) {
  float x[100] = {1}, peaks[10];
  const davit_detect_clip clip = {10, x};
  REFUSED(davit_detect_correlate(0, 100, x, 1, &clip, peaks), "frame is 0");
  REFUSED(davit_detect_correlate(10, -1, x, 1, &clip, peaks), "count");
  REFUSED(davit_detect_correlate(10, 100, NULL, 1, &clip, peaks), "stream");
  REFUSED(davit_detect_correlate(10, 100, x, 1, NULL, peaks), "clips");
  REFUSED(davit_detect_correlate(10, 100, x, 1, &clip, NULL), "peaks");
  REFUSED(davit_detect_correlate(10, 100, x, 1, &(davit_detect_clip){10, NULL}, peaks),
          "clips[0].samples is NULL");
  REFUSED(davit_detect_correlate(10, 100, x, 1, &(davit_detect_clip){-1, x}, peaks), "clips[0].count is -1");
  x[99] = NAN;
  REFUSED(davit_detect_correlate(10, 100, x, 1, &clip, peaks), "stream[99] is nan");
  x[99] = 0;
  x[3] = INFINITY;
  REFUSED(davit_detect_correlate(10, 3, x, 1, &clip, peaks), "clips[0].samples[3] is inf");
  davit_detect_hit hit;
  const davit_detect_peaks none = {1, 0, peaks};
  REFUSED(davit_detect_copies(0, 10, x, 1, &none, &hit, NULL), "width");
  REFUSED(davit_detect_copies(1, 10, x, 1, &none, &hit, NULL), "peaks[0].samples is 0");
  REFUSED(davit_detect_copies(1, 10, x, 1, &(davit_detect_peaks){-1, 1, peaks}, &hit, NULL),
          "peaks[0].frames is -1");
  REFUSED(davit_detect_copies(1, 10, x, 1, &(davit_detect_peaks){1, 1, NULL}, &hit, NULL),
          "peaks[0].peaks is NULL");
  REFUSED(davit_detect_copies(1, 10, x, 1, NULL, &hit, NULL), "peaks");
  CHECK(davit_detect_copies(1, 0, NULL, 1, NULL, NULL, NULL));
}

static davit_status correlate_anew(void *argument) {
  float peaks[10];
  const float *x = argument;
  const davit_status status =
      davit_detect_correlate(100, 1000, x, 1, &(davit_detect_clip){200, x + 300}, peaks);
  if (status == DAVIT_SUCCESS)
    assert_true(peaks[3] > 0.3F);
  return status;
}

CASE(test_failures) {
  fail_everywhere(correlate_anew, noise(1, 1000));
}
