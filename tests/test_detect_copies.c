/* SPDX-License-Identifier: Apache-2.0 */
/* Copies: correlation against its definition by plain sums, what a peak needs to be a copy, arguments and failures. */
#include <complex.h>
#include <float.h>
#include <math.h>

#include "src/base/cpu.h"
#include "src/base/team.h"
#include "src/detect_copies.h"
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

static void halves(int64_t n, int64_t stride, const double complex *x, int sign, double complex *lines) {
  if (n == 1) {
    lines[0] = x[0];
    return;
  }
  halves(n / 2, 2 * stride, x, sign, lines);
  halves(n / 2, 2 * stride, x + stride, sign, lines + n / 2);
  for (int64_t k = 0; k < n / 2; k++) {
    const double complex even = lines[k],
                         odd = lines[n / 2 + k] * cexp(sign * 2 * M_PI * I * (double)k / (double)n);
    lines[k] = even + odd;
    lines[n / 2 + k] = even - odd;
  }
}

static double complex *complex_numbers(int64_t count) {
  return kept((size_t)count * sizeof(double complex));
}

/* The lines of samples with silence behind them. */
static double complex *transform(int64_t block, int64_t count, const float *x) {
  double complex *padded = complex_numbers(block), *lines = complex_numbers(block);
  for (int64_t i = 0; i < block; i++)
    padded[i] = i < count ? (double)x[i] : 0;
  halves(block, 1, padded, -1, lines);
  return lines;
}

/* The sums of the lines [from, to) of x y at all places. */
static double complex *place(int64_t block, int64_t from, int64_t to, const double complex *x,
                             const double complex *y) {
  double complex *lines = complex_numbers(block), *places = complex_numbers(block);
  for (int64_t k = 0; k < block; k++)
    lines[k] = k >= from && k < to ? x[k] * y[k] : 0;
  halves(block, 1, lines, 1, places);
  return places;
}

static double square(double complex z) {
  return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* The energies |c|^2 weight of the lines [from, to). */
static double energy_of(int64_t from, int64_t to, const double complex *c, const double *weight) {
  double sum = 0;
  for (int64_t k = from; k < to; k++)
    sum += square(c[k]) * weight[k];
  return sum;
}

/* 1 / P of each line, in bands of `each` lines. */
static double *weights(int64_t each, const double complex *x) {
  double *weight = kept((size_t)(BANDS * each) * sizeof *weight), all = 0;
  for (int64_t k = 0; k < BANDS * each; k++)
    all += square(x[k]) / (double)BANDS;
  for (int64_t band = 0; band < BANDS; band++) {
    double sum = 1e-3 * all;
    for (int64_t k = band * each; k < (band + 1) * each; k++)
      sum += square(x[k]);
    for (int64_t k = band * each; k < (band + 1) * each; k++)
      weight[k] = 1 / sum;
  }
  return weight;
}

/* The range of [begin, end) with the most energy. */
static void best(int64_t each, int64_t begin, int64_t end, const double complex *c, const double *weight,
                 int64_t *from, int64_t *to) {
  double most = -1;
  for (int64_t at = begin; at == begin || at + RANGE * each <= end; at = (at / each + 1) * each) {
    const int64_t last = at + RANGE * each < end ? at + RANGE * each : end;
    const double energy = energy_of(at, last, c, weight);
    if (energy > most) {
      most = energy;
      *from = at;
      *to = last;
    }
  }
}

typedef struct range {
  int64_t from, to;
  double energy;
} range;

/* Ranges in four parts of equal energy. */
static void choose(int64_t each, const double complex *c, const double *weight, range *ranges) {
  const int64_t lines = BANDS * each;
  const double total = energy_of(0, lines, c, weight);
  double before = 0;
  for (int64_t j = 0, k = 0, begin = 0; j < RANGES; j++, begin = k) {
    range *r = &ranges[j];
    while (k < lines && (j + 1 == RANGES || before < total * (double)(j + 1) / (double)RANGES)) {
      before += square(c[k]) * weight[k];
      k++;
    }
    best(each, begin, k, c, weight, &r->from, &r->to);
    r->energy = energy_of(r->from, r->to, c, weight);
  }
}

static double complex *conjugate(int64_t each, const double complex *c, const double *weight) {
  double complex *product = complex_numbers(2 * BANDS * each);
  for (int64_t k = 0; k < 2 * BANDS * each; k++)
    product[k] = k < BANDS * each ? conj(c[k]) * weight[k] : 0;
  return product;
}

/* The smallest of the four ranges' squares at each place. */
static double *smallest_of(int64_t each, const double complex *x, const double complex *y,
                           const range *ranges) {
  const int64_t block = 2 * BANDS * each;
  double *smallest = kept((size_t)block * sizeof *smallest);
  for (int64_t j = 0; j < RANGES; j++) {
    const double complex *sums = place(block, ranges[j].from, ranges[j].to, x, y);
    for (int64_t i = 0; i < block; i++) {
      const double value = square(sums[i]) / (ranges[j].energy * ranges[j].energy);
      smallest[i] = j == 0 || value < smallest[i] ? value : smallest[i];
    }
  }
  return smallest;
}

/* The square of the smallest of the four ranges' real parts where these have one sign, within 12 samples. */
static double agreement(int64_t each, const double complex *x, const double complex *y, const range *ranges,
                        int64_t at) {
  double most = 0;
  for (int lag = -36; lag <= 36; lag++) {
    const double sample = (double)at + lag / 3.0, turn = 2 * M_PI * sample / (double)(2 * BANDS * each);
    double above = DBL_MAX, below = DBL_MAX;
    for (int j = 0; j < RANGES; j++) {
      double sum = 0;
      for (int64_t k = ranges[j].from; k < ranges[j].to; k++)
        sum += creal(x[k] * y[k] * cexp(I * turn * (double)k)) / ranges[j].energy;
      above = fmin(above, sum);
      below = fmin(below, -sum);
    }
    most = fmax(most, fmax(above, below));
  }
  return most * most;
}

/* Energies of the white samples before each. */
static double *white_energies(int64_t each, const double complex *x, const double *weight) {
  const int64_t lines = BANDS * each, block = 2 * lines;
  double *energies = kept((size_t)(block + 1) * sizeof *energies);
  double complex *root = complex_numbers(block);
  for (int64_t k = 0; k < block; k++)
    root[k] = k < lines ? (k > 0 ? 2 : 1) * sqrt(weight[k]) : 0;
  const double complex *white = place(block, 0, lines, x, root);
  energies[0] = 0;
  for (int64_t i = 0; i < block; i++)
    energies[i + 1] = energies[i] + creal(white[i]) * creal(white[i]);
  return energies;
}

/* A stream that fits into one block of 1024 * each samples, and a clip. */
typedef struct scene {
  int64_t each, frame, count, length;
  const double complex *x, *y;
  const range *ranges;
  const double *energies;
  double total;
} scene;

/* The square of a correlation at place i, from that of the ranges' sums. */
static double value_of(const scene *s, int64_t i, double sums) {
  const int64_t block = 2 * BANDS * s->each;
  const double local = s->energies[i + s->length] - s->energies[i],
               least = 1e-7 * s->energies[block] / (double)block * (double)s->length;
  return sums * 2 * (double)block * s->total / (local + least);
}

/* Checks the highest place of each frame, the highest first. */
static void check_places(const scene *s, int64_t places, double *values) {
  const double limit = pow(0.95 * dvt_detect_least_correlation(s->length), 2);
  int64_t *top = kept((size_t)(s->count / s->frame) * sizeof *top);
  double *high = kept((size_t)(s->count / s->frame) * sizeof *high);
  bool *sure = kept((size_t)(s->count / s->frame) * sizeof *sure);
  for (int64_t f = 0, i = 0; f < s->count / s->frame; f++) {
    high[f] = limit;
    sure[f] = false;
    for (; i < places && i * SPACING < (f + 1) * s->frame; i++)
      if (values[i] > high[f] && (i == 0 || values[i] >= values[i - 1]) &&
          (i + 1 == places || values[i] > values[i + 1])) {
        high[f] = values[i];
        top[f] = i;
      }
  }
  for (int64_t i = 0; i < places; i++)
    values[i] = fmin(values[i], limit);
  for (;;) {
    int64_t f = 0;
    for (int64_t g = 0; g < s->count / s->frame; g++)
      f = !sure[g] && (sure[f] || high[g] > high[f]) ? g : f;
    if (sure[f] || high[f] <= limit)
      return;
    bool beside = false;
    for (int64_t g = 0; g < s->count / s->frame; g++)
      beside = beside || (sure[g] && high[g] >= high[f] && llabs(top[g] - top[f]) < s->length / SPACING);
    if (!beside)
      values[top[f]] =
          value_of(s, top[f] * SPACING, agreement(s->each, s->x, s->y, s->ranges, top[f] * SPACING));
    sure[f] = !beside && values[top[f]] > limit;
    high[f] = sure[f] ? values[top[f]] : 0;
  }
}

static void by_definition(int64_t each, int64_t frame, int64_t count, const float *stream,
                          const davit_detect_clip *clip, float *peaks) {
  const int64_t block = 2 * BANDS * each, places = (count / frame * frame + SPACING - 1) / SPACING;
  range ranges[RANGES];
  const double complex *x = transform(block, count, stream),
                       *c = transform(block, clip->count, clip->samples);
  const double *weight = weights(each, x);
  choose(each, c, weight, ranges);
  const scene s = {each,
                   frame,
                   count,
                   clip->count,
                   x,
                   conjugate(each, c, weight),
                   ranges,
                   white_energies(each, x, weight),
                   energy_of(0, BANDS * each, c, weight)};
  const double *smallest = smallest_of(each, x, s.y, ranges);
  double *values = kept((size_t)places * sizeof *values);
  for (int64_t i = 0; i < places; i++)
    values[i] = value_of(&s, i * SPACING, smallest[i * SPACING]);
  check_places(&s, places, values);
  memset(peaks, 0, (size_t)(count / frame) * sizeof *peaks);
  for (int64_t i = 0; i < places; i++)
    peaks[i * SPACING / frame] = fmaxf(peaks[i * SPACING / frame], (float)values[i]);
  for (int64_t f = 0; f < count / frame; f++) {
    const double left = (double)(count - f * frame) / (double)clip->count;
    peaks[f] = fminf(sqrtf(peaks[f] * (float)fmin(left, 1)), 1);
  }
}

/* Blocks of one line to a band, of several rows of lines, and of as many as the tool's; lengths that are multiples of
 * the spacing of places, and others. */
CASE(test_definition) {
  static const struct {
    int64_t each, count, clip, frame;
  } sizes[] = {{1, 800, 150, 40},
               {1, 700, 320, 33},
               {8, 5000, 1600, 64},
               {8, 7000, 1111, 100},
               {256, 210000, 9001, 512}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const int64_t count = sizes[k].count, length = sizes[k].clip, frame = sizes[k].frame,
                  frames = count / frame;
    float *stream = noise(k + 1, count), *sound = noise(k + 51, length),
          *wanted = kept((size_t)frames * sizeof *wanted), *found = kept((size_t)frames * sizeof *found);
    add_tone(stream, count, 11.3, 2);
    for (int64_t i = 0; i < length; i++)
      stream[count / 3 + 7 + i] += sound[i];
    for (int64_t i = 0; i < length / 3; i++) {
      stream[count / 3 + length / 2 + i] -= sound[i]; /* beside a copy that is louder */
      stream[count / 2 + i] -= sound[i];
    }
    const davit_detect_clip clip = {length, sound};
    by_definition(sizes[k].each, frame, count, stream, &clip, wanted);
    CHECK(davit_detect_correlate(frame, count, stream, 1, &clip, found));
    for (int64_t f = 0; f < frames; f++)
      assert_true(fabsf(found[f] - wanted[f]) < 2e-3F * wanted[f] + 1e-5F);
  }
}

/* A processor's variants give the same bits. */
CASE(test_variants) {
  float *stream = noise(11, 90000), *sound = noise(12, 5003), plain[90], best_one[90];
  const davit_detect_clip clip = {5003, sound};
  for (int64_t i = 0; i < 5003; i++)
    stream[40000 + i] += sound[i];
  CHECK(davit_detect_correlate(1000, 90000, stream, 1, &clip, best_one));
  for (dvt_cpu most = DVT_CPU_PLAIN; most < DVT_CPU_COUNT; most++) {
    dvt_cpu_allow(most);
    CHECK(davit_detect_correlate(1000, 90000, stream, 1, &clip, plain));
    assert_memory_equal(plain, best_one, sizeof plain);
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

/* Four tones whose loudness changes all the time, in these phases. */
static float *tones(int64_t count, const double *phases) {
  enum { SMOOTH = 32 };
  static const double hertz[] = {500, 1700, 3100, 4700};
  float *x = kept_zeros((size_t)count * sizeof *x);
  for (uint64_t k = 0; k < COUNT(hertz); k++) {
    const float *changes = noise(60 + k, count + SMOOTH);
    for (int64_t i = 0; i < count; i++) {
      double loudness = 0;
      for (int j = 0; j < SMOOTH; j++)
        loudness += (double)changes[i + j] / (double)SMOOTH;
      x[i] += (float)(loudness * sin(2 * M_PI * hertz[k] * (double)i / 22050 + phases[k]));
    }
  }
  return x;
}

/* Tones of the same pitches, each as loud as the clip's all the time, are no copy, unless all have its phases or all
 * the opposite ones. */
CASE(test_tones_alike) {
  enum { CLIP = 8000, AT = 100000, STREAM = 200000, EACH = 1000 };
  static const double phases[][4] = {{0}, {M_PI, M_PI, M_PI, M_PI}, {0, M_PI / 2, M_PI, 2}};
  const davit_detect_clip clip = {CLIP, tones(CLIP, phases[0])};
  for (int p = 0; p < COUNT(phases); p++) {
    float *stream = noise(30, STREAM), peaks[STREAM / EACH];
    const float *alike = tones(CLIP, phases[p]);
    for (int64_t i = 0; i < CLIP; i++)
      stream[AT + 500 + i] += 3 * alike[i];
    CHECK(davit_detect_correlate(EACH, STREAM, stream, 1, &clip, peaks));
    assert_true(p < 2 ? peaks[AT / EACH] > 0.5F : peaks[AT / EACH] < 0.3F);
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
  peaks[203] = 0.07F; /* stands out, but less than 0.08 may be chance */
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
