/* SPDX-License-Identifier: Apache-2.0 */
/* Features of sound against the definition, summed line by line in double, and by what must hold without it:
 * sines light their band, no power is lost, a constant sound does not change, twice as loud is four times the
 * power. */
#include "ref/bands.h"
#include "ref/ref.h"
#include "src/base/inject.h"
#include "tests/support.h"

static const double pi = 3.14159265358979324;

enum { SHARED = DAVIT_FEATURES_BINNING_SHARED, HARD = DAVIT_FEATURES_BINNING_HARD };

static davit_features_options options_of(double rate, int64_t frame, int binning) {
  return (davit_features_options){.rate = rate, .frame = frame, .binning = (davit_features_binning)binning};
}

static float *new_samples(int64_t count, uint64_t seed) {
  float *samples = kept((size_t)count * sizeof *samples);
  for (int64_t i = 0; i < count; i++)
    samples[i] = (float)random_unit(&seed);
  return samples;
}

static void fill_sine(int64_t count, float *samples, double hertz, double rate) {
  for (int64_t i = 0; i < count; i++)
    samples[i] = (float)sin(2 * pi * hertz * (double)i / rate);
}

/* Memory for the features, which the call must fill and not exceed. */
static float *features_of(int64_t count, const float *samples, const davit_features_options *o) {
  const int64_t size = count / o->frame * DAVIT_FEATURES_WIDTH;
  float *features = kept((size_t)(size + 1) * sizeof *features);
  for (int64_t i = 0; i <= size; i++)
    features[i] = -77;
  CHECK(davit_features(count, samples, features, o));
  assert_true(features[size] == -77);
  return features;
}

static double power_of(const float *frame) {
  double sum = 0;
  for (int b = 0; b < DAVIT_FEATURES_BANDS; b++)
    sum += (double)frame[b];
  return sum;
}

/* The samples' mean square, weighted by the squared window. */
static double weighted_square(int64_t n, const float *samples) {
  double sum = 0, weights = 0;
  for (int64_t i = 0; i < n; i++) {
    const double w = 0.54 - 0.46 * cos(2 * pi * (double)i / (double)(n - 1));
    sum += w * w * (double)samples[i] * (double)samples[i];
    weights += w * w;
  }
  return sum / weights;
}

static void expect_near(double value, double wanted, double tolerance) {
  if (!(fabs(value - wanted) <= tolerance))
    fail_msg("%.9g, expected %.9g within %.3g", value, wanted, tolerance);
}

/* ---- against the definition ---- */

static void compare(int64_t count, const davit_features_options *o) {
  float *samples = new_samples(count, (uint64_t)count);
  const int64_t frames = count / o->frame;
  float *features = features_of(count, samples, o);
  float *right = kept((size_t)(frames + 1) * DAVIT_FEATURES_WIDTH * sizeof *right);
  CHECK(dvt_ref_features(count, samples, o, right));
  for (int64_t i = 0; i < frames; i++) {
    const float *here = right + i * DAVIT_FEATURES_WIDTH;
    const double power = power_of(here) + (i + 1 < frames ? power_of(here + DAVIT_FEATURES_WIDTH) : 0);
    for (int k = 0; k < DAVIT_FEATURES_WIDTH; k++)
      expect_near((double)features[i * DAVIT_FEATURES_WIDTH + k], (double)here[k], 2e-6 * power);
  }
}

CASE(test_definition) {
  static const int64_t lengths[] = {2, 3, 4, 5, 16, 31, 100, 441, 1000, 1023, 1024};
  static const double rates[] = {22050, 44100, 16000, 100, 8000.5};
  for (int l = 0; l < COUNT(lengths); l++)
    for (int r = 0; r < COUNT(rates); r++)
      for (int binning = SHARED; binning <= HARD; binning++) {
        const davit_features_options o = options_of(rates[r], lengths[l], binning);
        compare(3 * lengths[l] + lengths[l] / 2, &o);
      }
}

/* More work than one thread gets. */
CASE(test_many_frames) {
  const davit_features_options o = options_of(22050, 256, SHARED);
  compare(1 << 18, &o);
}

CASE(test_defaults) {
  const davit_features_options o = options_of(22050, 1024, SHARED), zero = {0};
  float *samples = new_samples(4096, 3), given[4 * DAVIT_FEATURES_WIDTH];
  float *features = features_of(4096, samples, &o);
  CHECK(davit_features(4096, samples, given, NULL));
  assert_memory_equal(features, given, sizeof given);
  CHECK(davit_features(4096, samples, given, &zero));
  assert_memory_equal(features, given, sizeof given);
}

/* ---- frames ---- */

CASE(test_frame_counts) {
  const davit_features_options o = options_of(22050, 64, SHARED);
  float *samples = new_samples(1000, 5), nothing = -77;
  float *all = features_of(960, samples, &o);
  for (int64_t count = 0; count < 64; count += 21)
    CHECK(davit_features(count, samples, &nothing, &o));
  CHECK(davit_features(0, NULL, NULL, &o));
  assert_true(nothing == -77);
  for (int64_t count = 64; count <= 1000; count += 59) {
    float *some = features_of(count, samples, &o);
    const int64_t frames = count / 64;
    for (int64_t i = 0; i < frames; i++)
      for (int k = 0; k < DAVIT_FEATURES_WIDTH; k++) {
        const bool last_change = i == frames - 1 && k >= DAVIT_FEATURES_BANDS;
        assert_true(some[i * DAVIT_FEATURES_WIDTH + k] ==
                    (last_change ? 0 : all[i * DAVIT_FEATURES_WIDTH + k]));
      }
  }
}

CASE(test_changes) {
  const davit_features_options o = options_of(22050, 128, HARD);
  float *samples = new_samples(128 * 9, 8);
  float *features = features_of(128 * 9, samples, &o);
  for (int i = 0; i < 9; i++)
    for (int b = 0; b < DAVIT_FEATURES_BANDS; b++) {
      const float *here = features + i * DAVIT_FEATURES_WIDTH + b;
      assert_true(here[DAVIT_FEATURES_BANDS] ==
                  (i < 8 ? 0.375f * (here[DAVIT_FEATURES_WIDTH] - here[0]) : 0));
    }
  /* The same frame again and again does not change; one that grows does so in every band that it has. */
  for (int i = 128; i < 128 * 9; i++)
    samples[i] = samples[i - 128];
  features = features_of(128 * 9, samples, &o);
  for (int i = 0; i < 9; i++)
    for (int b = 0; b < DAVIT_FEATURES_BANDS; b++)
      assert_true(features[i * DAVIT_FEATURES_WIDTH + DAVIT_FEATURES_BANDS + b] == 0);
  for (int i = 128; i < 128 * 9; i++)
    samples[i] = 2 * samples[i - 128];
  features = features_of(128 * 9, samples, &o);
  for (int i = 0; i < 8; i++)
    for (int b = 0; b < DAVIT_FEATURES_BANDS; b++) {
      const float *here = features + i * DAVIT_FEATURES_WIDTH + b;
      assert_true(here[DAVIT_FEATURES_BANDS] == 0.375f * (4 * here[0] - here[0]));
    }
}

/* ---- bands ---- */

static void expect_band(double hertz, int band, const davit_features_options *o) {
  float samples[4096];
  fill_sine(4096, samples, hertz, o->rate);
  float *features = features_of(4096, samples, o);
  if (!((double)features[band] > 0.9 * power_of(features)))
    fail_msg("%g Hz: band %d has %g of %g", hertz, band, (double)features[band], power_of(features));
  expect_near(power_of(features), weighted_square(4096, samples), 1e-5);
}

/* Long frames, whose lines are narrow by any band. */
CASE(test_sines) {
  for (int binning = SHARED; binning <= HARD; binning++) {
    const davit_features_options o = options_of(8000, 4096, binning), wide = options_of(44100, 4096, binning);
    expect_band(30, 0, &o);
    for (int b = 1; b < DAVIT_FEATURES_BANDS && 62.5 * exp2(b / 4.0) < 4000; b++)
      expect_band(62.5 * exp2((b - 0.5) / 4), b, &o);
    for (int b = 12; b < DAVIT_FEATURES_BANDS - 1; b++)
      expect_band(62.5 * exp2((b - 0.5) / 4), b, &wide);
    expect_band(10000, 30, &wide);
  }
}

/* Where there is no power, and which bands a low rate cuts. */
CASE(test_edges) {
  float samples[4096];
  const davit_features_options high = options_of(44100, 4096, SHARED), low = options_of(1000, 512, SHARED);
  fill_sine(4096, samples, 15000, 44100);
  float *features = features_of(4096, samples, &high);
  assert_true(power_of(features) < 1e-4);
  float *noise = new_samples(4096, 2);
  features = features_of(4096, noise, &low);
  for (int b = 0; b < DAVIT_FEATURES_BANDS; b++) /* [420.4, 500) is the last */
    assert_true(b <= 12 ? features[b] > 0 : features[b] == 0);
}

/* A line's shares by hand: lines of 1024 samples at 22050 a second are 21.53 apart. That at 86.13 Hz stands
 * for [75.37, 96.90); the edge at 88.39 Hz cuts it. That at 64.60 Hz, [53.83, 75.37), is cut twice, at 62.5
 * and 74.33 Hz. */
CASE(test_shares) {
  const davit_features_options shared = options_of(22050, 1024, SHARED), hard = options_of(22050, 1024, HARD);
  const dvt_band_edges e = dvt_band_edges_for(22050);
  static const struct {
    int64_t line;
    int band;
    double share, all_or_none;
  } rows[] = {{4, 2, 0.604714, 1}, {4, 3, 0.395286, 0}, {4, 1, 0, 0}, {3, 0, 0.402540, 0},
              {3, 1, 0.549213, 1}, {3, 2, 0.048247, 0}, {0, 0, 1, 1}, {512, 30, 1, 1},
              {511, 30, 1, 1},     {512, 29, 0, 0}};
  for (int i = 0; i < COUNT(rows); i++) {
    const double low = e.at[rows[i].band], high = e.at[rows[i].band + 1];
    expect_near(dvt_band_share(rows[i].line, &shared, low, high, 11025), rows[i].share, 1e-4);
    expect_near(dvt_band_share(rows[i].line, &hard, low, high, 11025), rows[i].all_or_none, 0);
  }
}

/* A line exactly at 11025 Hz, the upper edge of the last band: by the hard rule it belongs to that band; by
 * the shared rule half of it does, or all of it where its interval ends at rate / 2. */
CASE(test_line_on_the_last_edge) {
  static const struct {
    double rate;
    int64_t frame, line;
    double shared;
  } rows[] = {{22050, 1024, 512, 1}, {44100, 4096, 1024, 0.5}, {24000, 320, 147, 0.5}};
  for (int i = 0; i < COUNT(rows); i++)
    for (int binning = DAVIT_FEATURES_BINNING_SHARED; binning <= DAVIT_FEATURES_BINNING_HARD; binning++) {
      const davit_features_options o = {
          .rate = rows[i].rate, .frame = rows[i].frame, .binning = (davit_features_binning)binning};
      const dvt_band_edges e = dvt_band_edges_for(o.rate);
      const bool hard = binning == DAVIT_FEATURES_BINNING_HARD;
      assert_true((double)rows[i].line * o.rate / (double)o.frame == 11025);
      expect_near(dvt_band_share(rows[i].line, &o, e.at[30], e.at[31], e.at[31]), hard ? 1 : rows[i].shared,
                  0);
      expect_near(dvt_band_share(rows[i].line, &o, e.at[29], e.at[30], e.at[31]), 0, 0);
    }
}

/* Every line's power belongs somewhere, all of it, if the bands reach rate / 2. */
CASE(test_no_power_is_lost) {
  static const int64_t lengths[] = {2, 3, 7, 64, 1000, 1023, 1024, 4096};
  static const double rates[] = {22050, 16000, 500, 90, 20};
  for (int l = 0; l < COUNT(lengths); l++)
    for (int r = 0; r < COUNT(rates); r++)
      for (int binning = SHARED; binning <= HARD; binning++) {
        const davit_features_options o = options_of(rates[r], lengths[l], binning);
        float *samples = new_samples(lengths[l], 17);
        float *features = features_of(lengths[l], samples, &o);
        const double wanted = weighted_square(lengths[l], samples);
        expect_near(power_of(features), wanted, 1e-5 * wanted);
      }
}

CASE(test_scale) {
  const davit_features_options o = {.rate = DAVIT_FEATURES_RATE, .frame = DAVIT_FEATURES_FRAME};
  float *samples = new_samples(8192, 4);
  float *once = features_of(8192, samples, &o);
  for (int i = 0; i < 8192; i++)
    samples[i] *= 2;
  float *twice = features_of(8192, samples, &o);
  for (int i = 0; i < 8 * DAVIT_FEATURES_WIDTH; i++)
    assert_true(twice[i] == 4 * once[i]);
  for (int i = 0; i < 8192; i++)
    samples[i] = i % 2 ? -0x1p63f : 0x1p63f;
  once = features_of(8192, samples, &o);
  for (int i = 0; i < 8 * DAVIT_FEATURES_WIDTH; i++)
    assert_true(isfinite(once[i]));
  memset(samples, 0, 8192 * sizeof *samples);
  once = features_of(8192, samples, &o);
  for (int i = 0; i < 8 * DAVIT_FEATURES_WIDTH; i++)
    assert_true(once[i] == 0);
}

/* ---- failures ---- */

CASE(test_bad_samples) {
  static const float values[] = {NAN, INFINITY, -INFINITY, 0x1p64f, -3e38f};
  float *samples = new_samples(200000, 6), *features = kept(200000);
  for (int v = 0; v < COUNT(values); v++) {
    samples[150001] = samples[123457] = values[v];
    REFUSED(davit_features(200000, samples, features, NULL), "samples[123457] is ");
    REFUSED(davit_features(123458, samples, features, NULL), "samples[123457] is ");
  }
  CHECK(davit_features(123457, samples, features, NULL));
}

CASE(test_bad_arguments) {
  float samples[64] = {0}, features[32 * DAVIT_FEATURES_WIDTH] = {-77};
  davit_features_options o = options_of(22050, 2, SHARED);
  static const double rates[] = {-1, NAN, INFINITY};
  for (int i = 0; i < COUNT(rates); i++) {
    o.rate = rates[i];
    REFUSED(davit_features(64, samples, features, &o), "options->rate");
  }
  o.rate = 22050;
  static const int64_t lengths[] = {1, -5, (1 << 24) + 1};
  for (int i = 0; i < COUNT(lengths); i++) {
    o.frame = lengths[i];
    REFUSED(davit_features(64, samples, features, &o), "options->frame");
  }
  o.frame = 2;
  o.binning = (davit_features_binning)7;
  REFUSED(davit_features(64, samples, features, &o), "options->binning is 7");
  o.binning = (davit_features_binning)-1;
  REFUSED(davit_features(64, samples, features, &o), "options->binning is -1");
  assert_true(features[0] == -77);
}

CASE(test_memory) {
  float samples[4096] = {1}, features[4 * DAVIT_FEATURES_WIDTH] = {-77};
  for (int n = 1; n <= 3; n++) {
    dvt_inject(DVT_INJECT_HOST_MEMORY, n);
    CHECK_FAILS(davit_features(4096, samples, features, NULL), DAVIT_OUT_OF_HOST_MEMORY, "memory");
    assert_true(features[0] == -77);
  }
  dvt_inject(DVT_INJECT_HOST_MEMORY, 0);
  CHECK(davit_features(4096, samples, features, NULL));
}

static void *call_once(void *samples) {
  static float features[64 * DAVIT_FEATURES_WIDTH];
  return davit_features(1 << 16, samples, features, NULL) == DAVIT_SUCCESS ? NULL : samples;
}

/* A thread of the program may have a small stack. */
CASE(test_small_stack) {
  float *samples = new_samples(1 << 16, 12);
  pthread_attr_t attributes;
  pthread_t thread;
  void *failed = NULL;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, 1 << 17), 0);
  assert_int_equal(pthread_create(&thread, &attributes, call_once, samples), 0);
  assert_int_equal(pthread_join(thread, &failed), 0);
  assert_null(failed);
  pthread_attr_destroy(&attributes);
}

/* Plans are made under a lock. */
static void *call_often(void *samples) {
  float features[4 * DAVIT_FEATURES_WIDTH];
  for (int i = 0; i < 50; i++)
    if (davit_features(4096, samples, features, NULL) != DAVIT_SUCCESS)
      return samples;
  return NULL;
}

CASE(test_threads) {
  pthread_t threads[8];
  float *samples = new_samples(4096, 9);
  for (int i = 0; i < COUNT(threads); i++)
    threads[i] = start_thread(call_often, samples);
  for (int i = 0; i < COUNT(threads); i++)
    assert_null(join_thread(threads[i]));
}
