/* SPDX-License-Identifier: Apache-2.0 */
/* Detection: against the reference bit for bit on every device, its null distributions, windows, arguments and
 * failures. Its scores are compared with others' in test_detect_oracle.c. */
#include "offload/detect.h"
#include "src/base/limit.h"
#include "src/base/team.h"
#include "tests/searches.h"

static void expect_same(const davit_detect_hit *a, const davit_detect_hit *b) {
  assert_int_equal(a->window, b->window);
  assert_int_equal(a->effect, b->effect);
  assert_int_equal(a->onset, b->onset);
  assert_int_equal(a->offset, b->offset);
  assert_memory_equal(&a->score, &b->score, sizeof a->score);
  assert_memory_equal(&a->null_mean, &b->null_mean, sizeof a->null_mean);
  assert_memory_equal(&a->null_sd, &b->null_sd, sizeof a->null_sd);
  assert_memory_equal(&a->z, &b->z, sizeof a->z);
  assert_memory_equal(&a->p_value, &b->p_value, sizeof a->p_value);
  assert_memory_equal(&a->level_db, &b->level_db, sizeof a->level_db);
  assert_int_equal(a->detected, b->detected);
}

/* ---- the same on all devices ---- */

static davit_detect_hit *by_reference(const search *s) {
  davit_detect_hit *d = kept((size_t)(windows_of(s->frames, &s->o) * s->count) * sizeof *d);
  CHECK(dvt_ref_detect(s->width, s->frames, s->stream, s->count, s->effects, &s->o, d));
  return d;
}

/* On each device, and on the default ones. */
static void expect_reference(const search *s) {
  int devices[MAX_PLACES], device_count = all_devices(devices);
  const davit_detect_hit *wanted = by_reference(s);
  for (int i = 0; i <= device_count; i++) {
    const davit_detect_hit *d = detections_on(s, &devices[i], i < device_count);
    for (int64_t k = 0; k < windows_of(s->frames, &s->o) * s->count; k++)
      expect_same(&d[k], &wanted[k]);
  }
}

CASE(test_reference_on_every_device) {
  static const struct {
    int64_t window, hop, frames, permutations;
  } cases[] = {{1, 0, 1, 1},     {1, 0, 70, 3},    {7, 3, 5, 9},     {7, 7, 65, 4},   {33, 5, 400, 3},
               {200, 0, 200, 2}, {200, 0, 199, 2}, {200, 0, 201, 5}, {40, 1, 80, 10}, {64, 64, 64 * 40, 5}};
  static const int64_t lengths[] = {1, 2, 3, 5, 33, 108};
  for (int c = 0; c < COUNT(cases); c++)
    for (int rounded = 0; rounded < 2; rounded++) {
      davit_detect_effect effects[COUNT(lengths)];
      int count = 0;
      for (int e = 0; e < COUNT(lengths); e++)
        if (lengths[e] <= cases[c].window)
          effects[count++] =
              (davit_detect_effect){lengths[e], random_frames(100 + (uint64_t)e, 5, lengths[e])};
      const search s = {5,
                        cases[c].frames,
                        random_frames(11, 5, cases[c].frames),
                        count,
                        effects,
                        {.window = cases[c].window,
                         .hop = cases[c].hop,
                         .threshold = 20,
                         .gap_penalty = rounded ? 33 : 7.25,
                         .permutations = cases[c].permutations,
                         .block = 1 + c % 4,
                         .round = rounded,
                         .alpha = 0.3,
                         .seed = 5}};
      expect_reference(&s);
    }
}

/* Words of 16 bits hold the scores of effects up to 327 frames; beyond, and with a threshold between
 * integers, floats do. */
CASE(test_long_effects) {
  for (int k = 0; k < 3; k++) {
    const int64_t frames = 326 + k;
    float *sound = random_frames(3, 4, frames);
    search s = SEARCH(4, 1500, random_frames(11, 4, 1500), frames, sound, .window = 700, .round = true,
                      .permutations = 2, .threshold = k == 0 ? 20.5 : 10);
    expect_reference(&s);
    s.frames = frames;
    s.stream = sound;
    assert_true(on_host(&s)->score >= 100.0 * (double)frames);
  }
}

CASE(test_processor_variants) {
  for (int rounded = 0; rounded < 2; rounded++) {
    const search s = SEARCH(WIDTH, 900, random_frames(1, WIDTH, 900), 30, random_frames(2, WIDTH, 30),
                            .window = 60, .permutations = 5, .round = rounded);
    const davit_detect_hit *best = on_host(&s);
    for (int variant = 0; variant < DVT_CPU_COUNT; variant++) {
      dvt_cpu_allow((dvt_cpu)variant);
      const davit_detect_hit *d = on_host(&s);
      for (int w = 0; w < 15; w++)
        expect_same(&d[w], &best[w]);
    }
    dvt_cpu_allow(DVT_CPU_COUNT - 1);
  }
}

/* Several threads whiten parts of a long stream; the reference whitens all of it at once. Effects lie across the
 * boundaries of two and of three parts. */
CASE(test_long_streams_with_bands) {
  enum { BANDS = 31, FRAMES = 13000, LENGTH = 30 };
  float *stream = powers(3, BANDS, FRAMES), *sound = powers(4, BANDS, LENGTH);
  for (int part = 2; part <= 4; part++)
    copy_frames(2 * BANDS, stream, part * FRAMES / 6 - LENGTH / 2, sound, LENGTH);
  const search s = SEARCH(2 * BANDS, FRAMES, stream, LENGTH, sound, .window = 200, .permutations = 1,
                          .bands = BANDS, .alpha = 1);
  dvt_threads_set(3);
  expect_reference(&s);
  dvt_threads_set(0);
}

/* ---- the stream's null distribution ---- */

/* Makes frames [begin, end) quieter, by decibels of their level. */
static void attenuate(int width, float *x, int64_t begin, int64_t end, double decibels) {
  for (int64_t i = begin * width; i < end * width; i++)
    x[i] *= (float)pow(10, -decibels / 10);
}

/* Quiet parts, an effect with quiet ends, occurrences that stand out, an effect without any level, streams
 * shorter than a window and than an effect. */
CASE(test_stream_null_on_every_device) {
  static const int64_t frames[] = {1, 9, 60, 400, 1000};
  for (int k = 0; k < 2 * COUNT(frames); k++) {
    const int64_t n = frames[k / 2];
    float *stream = random_frames(70 + (uint64_t)k, 5, n), *sound = random_frames(80, 5, 12);
    attenuate(5, sound, 0, 2, 30);
    attenuate(5, sound, 9, 12, 40);
    attenuate(5, stream, n / 3, n / 2, 45);
    for (int64_t at = 5; at + 12 <= n; at += 120)
      copy_frames(5, stream, at, sound, 12);
    const davit_detect_effect effects[] = {{12, sound}, {30, random_frames(81, 5, 30)}, {3, kept_zeros(60)}};
    const search s = {5,
                      n,
                      stream,
                      3,
                      effects,
                      {.window = 40,
                       .hop = 25,
                       .threshold = 20,
                       .null = DAVIT_DETECT_NULL_STREAM,
                       .permutations = 40,
                       .round = k % 2,
                       .effect_floor_db = k > 5 ? INFINITY : 0,
                       .seed = 9}};
    expect_reference(&s);
  }
}

/* ---- frames of powers ---- */

static void scale_band(int bands, float *x, int64_t frames, int k, float by) {
  for (int64_t i = 0; i < frames; i++)
    x[i * 2 * bands + k] *= by;
}

/* A band that is always 0, a silent effect, silent frames, negative powers, features behind the changes. */
CASE(test_bands_on_every_device) {
  static const int64_t frames[] = {1, 9, 400};
  for (int k = 0; k < 4 * COUNT(frames); k++) {
    const int64_t n = frames[k / 4];
    float *stream = powers(90 + (uint64_t)k, 4, n), *sound = powers(99, 4, 12);
    scale_band(4, stream, n, 2, k % 2 ? 0 : 1e6F);
    attenuate(8, sound, 0, 2, 30);
    attenuate(8, stream, n / 3, n / 2, 60);
    stream[0] = -1;
    const davit_detect_effect effects[] = {{12, sound}, {30, powers(81, 4, 30)}, {3, kept_zeros(96)}};
    const search s = {8,
                      n,
                      stream,
                      3,
                      effects,
                      {.window = 40,
                       .hop = 25,
                       .null = k % 4 < 2 ? DAVIT_DETECT_NULL_STREAM : DAVIT_DETECT_NULL_WINDOW,
                       .permutations = 20,
                       .round = k % 2,
                       .bands = 4 - k % 3,
                       .seed = 9}};
    expect_reference(&s);
  }
}

/* How loud a band is, and how loud the effect, does not matter, nor what the features say of changes. */
CASE(test_bands_have_no_level) {
  enum { FRAMES = 600, LENGTH = 25, BANDS = 6 };
  float *stream = powers(51, BANDS, FRAMES), *sound = powers(52, BANDS, LENGTH);
  copy_frames(2 * BANDS, stream, 300, sound, LENGTH);
  const search s =
      SEARCH(2 * BANDS, FRAMES, stream, LENGTH, sound, .window = 50, .null = DAVIT_DETECT_NULL_STREAM,
             .floor_db = INFINITY, .effect_floor_db = INFINITY, .bands = BANDS);
  const davit_detect_hit *before = on_host(&s);
  assert_true(before[6].detected && before[6].onset == 300 && before[6].offset > 320);
  for (int k = 0; k < BANDS; k++) {
    scale_band(BANDS, stream, FRAMES, k, ldexpf(1, 3 * k - 9));
    scale_band(BANDS, sound, LENGTH, k, ldexpf(1, 3 * k - 9));
    scale_band(BANDS, sound, LENGTH, k, 1024);
    stream[BANDS + k] = 7;
  }
  const davit_detect_hit *after = on_host(&s);
  for (int w = 0; w < FRAMES / 50; w++)
    assert_memory_equal(&after[w].score, &before[w].score, sizeof before[w].score);
}

/* In frames without any order the p-values of windows are uniform: chi square of ten classes, 9 degrees of
 * freedom, passes 27.9 once in 1000 times. */
CASE(test_stream_null_is_uniform) {
  enum { WINDOWS = 800, WINDOW = 30, CLASSES = 10 };
  for (int length = 6; length <= 15; length += 9) {
    int counts[CLASSES] = {0};
    double chi_square = 0;
    const search s = SEARCH(8, WINDOWS * WINDOW, random_frames(31, 8, WINDOWS * WINDOW), length,
                            random_frames(32, 8, length), .window = WINDOW, .null = DAVIT_DETECT_NULL_STREAM,
                            .permutations = 9999);
    const davit_detect_hit *d = on_host(&s);
    for (int w = 0; w < WINDOWS; w++)
      counts[(int)(d[w].p_value * (double)CLASSES * (1 - 1e-9))]++;
    for (int c = 0; c < CLASSES; c++)
      chi_square += pow(counts[c] - WINDOWS / CLASSES, 2) / (WINDOWS / CLASSES);
    assert_true(chi_square < 27.9);
  }
}

/* Occurrences are left out of the null distribution, and a floor hides what lies below it. */
CASE(test_stream_null_finds) {
  enum { FRAMES = 1200, LENGTH = 20 };
  for (int quiet = 0; quiet < 3; quiet++) {
    float *stream = random_frames(41, 16, FRAMES), *sound = random_frames(42, 16, LENGTH);
    double sum = 0, part = 0;
    for (int64_t at = 50; at + LENGTH < FRAMES; at += 200) {
      copy_frames(16, stream, at, sound, LENGTH);
      attenuate(16, stream, at, at + LENGTH, 20.0 * quiet + 1);
    }
    const search s = SEARCH(16, FRAMES, stream, LENGTH, sound, .window = 50, .null = DAVIT_DETECT_NULL_STREAM,
                            .floor_db = 30);
    const davit_detect_hit *d = on_host(&s);
    for (int w = 0; w < FRAMES / 50; w++) {
      const bool there = w % 4 == 1;
      assert_int_equal(d[w].detected, there && quiet < 2);
      assert_true(!d[w].detected || (d[w].p_value == 0.001 && d[w].onset == w * 50));
    }
    for (int64_t i = 0; i < FRAMES; i++) {
      double square = 0;
      for (int k = 0; k < 16; k++)
        square += (double)stream[i * 16 + k] * (double)stream[i * 16 + k];
      sum += sqrt(square);
      part += i >= 50 && i < 50 + LENGTH ? sqrt(square) : 0;
    }
    if (quiet < 2)
      assert_true(fabs(d[1].level_db - 10 * log10(part / (double)LENGTH / (sum / (double)FRAMES))) < 1e-9);
  }
}

/* ---- windows and permutations ---- */

CASE(test_windows) {
  davit_detect_options o = {0};
  static const int64_t cases[][4] = {/* frames, window, hop, windows */ {0, 200, 0, 0},
                                     {1, 200, 0, 1},
                                     {200, 200, 0, 1},
                                     {201, 200, 0, 2},
                                     {400, 200, 0, 2},
                                     {401, 200, 0, 3},
                                     {400, 200, 100, 3},
                                     {401, 200, 100, 4},
                                     {10, 1, 1, 10},
                                     {7, 3, 2, 3},
                                     {8, 3, 2, 4}};
  for (int c = 0; c < COUNT(cases); c++) {
    o.window = cases[c][1];
    o.hop = cases[c][2];
    assert_int_equal(windows_of(cases[c][0], &o), cases[c][3]);
  }
  assert_int_equal(windows_of(1000, NULL), 5);
}

CASE(test_permutations) {
  static const int lengths[] = {1, 2, 3, 7, 200, 203, 65535}, blocks[] = {1, 2, 4, 7, 300};
  uint16_t *order = kept(65535 * sizeof *order), *other = kept(65535 * sizeof *order);
  char *seen = kept(65535);
  for (int k = 0; k < COUNT(lengths); k++)
    for (int b = 0; b < COUNT(blocks); b++)
      for (int r = 0; r < (lengths[k] > 1000 ? 5 : 100); r++) {
        const int n = lengths[k];
        int breaks = 0, differ = 0;
        memset(seen, 0, (size_t)n);
        CHECK(davit_detect_permutation(9, r, n, blocks[b], order));
        CHECK(davit_detect_permutation(9, r + 1, n, blocks[b], other));
        for (int i = 0; i < n; i++) {
          assert_true(order[i] < n && !seen[order[i]]);
          seen[order[i]] = 1;
          breaks += i > 0 && order[i] != (order[i - 1] + 1) % n;
          differ += order[i] != other[i];
          assert_true(r > 0 || order[i] == i);
        }
        assert_true(breaks <= (n - 1) / blocks[b]);
        assert_true(n <= 7 || differ > 0);
      }
}

/* Each of the 6 orders of 3 frames comes up equally often: 5 standard deviations. */
CASE(test_permutations_are_even) {
  enum { DRAWS = 60000 };
  int count[27] = {0};
  for (int r = 1; r <= DRAWS; r++) {
    uint16_t order[3];
    CHECK(davit_detect_permutation(1, r, 3, 1, order));
    count[order[0] * 9 + order[1] * 3 + order[2]]++;
  }
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++)
      if (a != b)
        assert_true(abs(count[a * 9 + b * 3 + 3 - a - b] - DRAWS / 6) < 5 * 92);
}

/* In frames that are independent of the effect and of each other, p-values are even: p <= alpha has
 * probability alpha. 5 standard deviations. */
CASE(test_false_alarms) {
  enum { WINDOWS = 2000 };
  const search s =
      SEARCH(3, WINDOWS * 12, random_frames(77, 3, WINDOWS * 12), 6, random_frames(78, 3, 6), .window = 12,
             .permutations = 39, .block = 1, .coverage = DAVIT_DETECT_ZERO, .alpha = 0.1);
  const davit_detect_hit *d = on_host(&s);
  int alarms = 0;
  for (int w = 0; w < WINDOWS; w++)
    alarms += d[w].detected;
  assert_in_range(alarms, 100, WINDOWS / 10 + 5 * 14);
}

/* ---- bad arguments ---- */

CASE(test_defaults) {
  search s = SEARCH(5, 700, random_frames(8, 5, 700), 20, random_frames(9, 5, 20), .window = 0);
  const davit_detect_hit *zero = on_host(&s), *d;
  CHECK(davit_detect_defaults(&s.o));
  assert_true(s.o.window == 200 && s.o.threshold == 50 && s.o.gap_penalty == 33 && s.o.permutations == 100 &&
              s.o.block == 3 && s.o.alpha == 0.01 && s.o.coverage == 0.3 && !s.o.round && s.o.seed == 0);
  d = on_host(&s);
  for (int w = 0; w < 4; w++)
    expect_same(&d[w], &zero[w]);
  s.o = (davit_detect_options){.threshold = DAVIT_DETECT_ZERO, .alpha = DAVIT_DETECT_ZERO};
  d = on_host(&s);
  assert_true(d->score > zero->score && !d->detected);
}

CASE(test_bad_options) {
  float x[20] = {1};
  int64_t windows = -7;
  const davit_detect_effect effect = {2, x};
  davit_detect_options o = {0};
  davit_detector *detector = NULL;
#define BAD(member, value, words)                                                                            \
  o = (davit_detect_options){.member = (value)};                                                             \
  REFUSED(davit_detector_create(2, 1, &effect, &detector, &o), words)
  BAD(window, -1, "options->window is -1");
  BAD(window, 65536, "options->window is 65536");
  BAD(window, 1, "effects[0] has 2 frames");
  BAD(hop, -1, "options->hop is -1");
  BAD(hop, 201, "options->hop is 201");
  BAD(threshold, -2, "options->threshold is -2");
  BAD(threshold, NAN, "options->threshold is");
  BAD(threshold, 100.5, "options->threshold is 100.5");
  BAD(gap_penalty, -33, "options->gap_penalty is -33");
  BAD(gap_penalty, 10001, "options->gap_penalty is 10001");
  BAD(permutations, -1, "options->permutations is -1");
  BAD(permutations, 1000001, "options->permutations is 1000001");
  BAD(block, -1, "options->block is -1");
  BAD(block, 65536, "options->block is 65536");
  BAD(coverage, -0.1, "options->coverage is -0.1");
  BAD(coverage, NAN, "options->coverage is");
  BAD(floor_db, -2, "options->floor_db is -2");
  BAD(effect_floor_db, NAN, "options->effect_floor_db is");
  BAD(null, (davit_detect_null)7, "options->null is 7");
  BAD(bands, -1, "options->bands is -1");
  BAD(bands, 2, "options->bands is 2, more than half the width 2");
  BAD(alpha, 1.5, "options->alpha is 1.5");
  BAD(alpha, NAN, "options->alpha is");
  BAD(device_count, 3, "options->device_count is 3");
#undef BAD
  assert_null(detector);
  o = (davit_detect_options){.window = -5};
  REFUSED(davit_detect_windows(10, &windows, &o), "options->window is -5");
  assert_int_equal(windows, -7);
}

CASE(test_bad_arguments) {
  float x[20] = {1};
  uint16_t order[1];
  davit_detect_hit d[4];
  davit_detect_effect effect = {2, x};
  davit_detector *detector = NULL;
#define BAD(width, words) REFUSED(davit_detector_create(width, 1, &effect, &detector, NULL), words)
  BAD(0, "width is 0");
  effect.frames = 0;
  BAD(2, "effects[0] has 0 frames");
  effect = (davit_detect_effect){2, NULL};
  BAD(2, "effects[0].features is NULL");
  effect.features = x;
  x[3] = INFINITY;
  BAD(2, "effects[0]: frame 1: feature 1 is inf");
#undef BAD
  x[3] = 0;
  assert_null(detector);
  CHECK(davit_detector_create(2, 1, &effect, &detector, NULL));
  x[15] = NAN;
  REFUSED(davit_detect(detector, 10, x, d), "stream: frame 7: feature 1 is");
  CHECK(davit_detect(detector, 0, NULL, NULL));
  CHECK(davit_detector_destroy(detector));
  CHECK(davit_detector_create(2, 0, NULL, &detector, NULL));
  CHECK(davit_detect(detector, 10, x, NULL));
  CHECK(davit_detector_destroy(detector));
  CHECK(davit_detector_destroy(NULL));
  REFUSED(davit_detect_permutation(0, 1, 65536, 1, order), "n is 65536");
}

/* ---- a detector ---- */

enum { STREAMS = 4, LONGEST = 300, SOUND = 25 };

typedef struct searcher {
  const davit_detector *detector;
  search s;
  davit_detect_hit *wanted, *found;
  bool right;
} searcher;

static void *search_often(void *argument) {
  searcher *x = argument;
  x->right = true;
  for (int repeat = 0; repeat < 5; repeat++)
    x->right = davit_detect(x->detector, x->s.frames, x->s.stream, x->found) == DAVIT_SUCCESS && x->right;
  return NULL;
}

/* One detector for streams of several lengths, from several threads; the effects' memory is gone. */
CASE(test_kept_detector) {
  int devices[MAX_PLACES], count = all_devices(devices);
  const davit_detect_options o = {
      .window = 64, .permutations = 7, .devices = devices, .device_count = count < 16 ? count : 16};
  float *sound = random_frames(3, 5, SOUND);
  const davit_detect_effect effect = {SOUND, sound};
  davit_detector *detector;
  searcher searchers[STREAMS];
  CHECK(davit_detector_create(5, 1, &effect, &detector, &o));
  for (int k = 0; k < STREAMS; k++) {
    const int64_t frames = LONGEST - k * 90;
    searcher *x = &searchers[k];
    *x = (searcher){.detector = detector,
                    .s = {5, frames, random_frames(60 + (uint64_t)k, 5, frames), 1, &effect, o}};
    x->wanted = by_reference(&x->s);
    x->found = kept((size_t)windows_of(frames, &o) * sizeof *x->found);
  }
  memset(sound, 0xff, SOUND * 5 * sizeof *sound);
  in_threads(STREAMS, search_often, searchers, sizeof *searchers);
  for (int k = 0; k < STREAMS; k++) {
    const searcher *x = &searchers[k];
    assert_true(x->right);
    for (int64_t w = 0; w < windows_of(x->s.frames, &o); w++)
      expect_same(&x->found[w], &x->wanted[w]);
  }
  CHECK(davit_detector_destroy(detector));
}

/* ---- failures ---- */

/* What all threads take together for long windows and effects is refused before it is taken. */
CASE(test_memory_is_estimated) {
  enum { LONG = 1000 };
  const search s = SEARCH(2, LONG, random_frames(1, 2, LONG), LONG, random_frames(2, 2, LONG), .window = LONG,
                          .permutations = 1);
  const int host = DAVIT_HOST;
  davit_detect_hit hit;
  dvt_memory_allow(64 * (size_t)dvt_threads() * LONG * LONG);
  CHECK_FAILS(detect(&s, &host, 1, &hit), DAVIT_OUT_OF_HOST_MEMORY, "the process may have");
  dvt_memory_allow(0);
  CHECK(detect(&s, &host, 1, &hit));
}

typedef struct attempt {
  search s;
  const davit_detect_hit *wanted;
} attempt;

static davit_status whole_story(void *argument) {
  const attempt *a = argument;
  int devices[MAX_PLACES], count = all_devices(devices);
  davit_detect_hit d[8];
  davit_status status = detect(&a->s, devices, count < 16 ? count : 16, d);
  for (int w = 0; w < 8 && status == DAVIT_SUCCESS; w++)
    expect_same(&d[w], &a->wanted[w]);
  return status;
}

CASE(test_failures) {
  attempt a = {
      SEARCH(5, 450, random_frames(1, 5, 450), 20, random_frames(2, 5, 20), .window = 60, .permutations = 3),
      NULL};
  a.wanted = by_reference(&a.s);
  fail_everywhere(whole_story, &a);
}
