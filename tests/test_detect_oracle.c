/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of detection against others: alignment with any gap by brute force, parasail, and the examples that can be
 * checked by hand. */
#include <parasail.h>

#include "tests/searches.h"

/* ---- outside oracles ---- */

static double gap(double penalty, int64_t k) {
  return 100 + penalty * (double)k;
}

/* All gaps tried at every cell; cosines in double, times the weight of the effect's frame. */
static double brute_force(int width, int64_t m, const float *x, int64_t n, const float *y,
                          const double *weight, const uint16_t *order, const davit_detect_options *o) {
  double *h = kept_zeros((size_t)((m + 1) * (n + 1)) * sizeof *h), best = 0;
  for (int64_t i = 1; i <= m; i++)
    for (int64_t j = 1; j <= n; j++) {
      const float *a = x + order[i - 1] * width, *b = y + (j - 1) * width;
      double ab = 0, aa = 0, bb = 0;
      for (int k = 0; k < width; k++) {
        ab += (double)a[k] * (double)b[k];
        aa += (double)a[k] * (double)a[k];
        bb += (double)b[k] * (double)b[k];
      }
      double s = aa > 0 && bb > 0 ? 100 * weight[j - 1] * ab / sqrt(aa * bb) : 0;
      s = o->round ? nearbyint(s) : s;
      double top = fmax(0, h[(i - 1) * (n + 1) + j - 1] + (s < o->threshold ? -o->threshold : s));
      for (int64_t k = 1; k <= i; k++)
        top = fmax(top, h[(i - k) * (n + 1) + j] - gap(o->gap_penalty, k));
      for (int64_t k = 1; k <= j; k++)
        top = fmax(top, h[i * (n + 1) + j - k] - gap(o->gap_penalty, k));
      h[i * (n + 1) + j] = top;
      best = fmax(best, top);
    }
  return best;
}

CASE(test_brute_force) {
  uint16_t order[40];
  double weight[40];
  for (int j = 0; j < 40; j++)
    weight[j] = 1;
  for (int trial = 0; trial < 40; trial++) {
    uint64_t random = (uint64_t)trial;
    const int64_t m = 1 + random_below(&random, 40), n = 1 + random_below(&random, (int)m);
    float *stream = random_frames(50 + (uint64_t)trial, 3, m), *sound = random_frames(7, 3, n);
    const search s =
        SEARCH(3, m, stream, n, sound, .window = m, .threshold = 37.5, .gap_penalty = 3, .permutations = 1,
               .block = 1 + trial % 5, .round = trial % 2, .alpha = 1, .seed = (uint64_t)trial);
    const davit_detect_hit *d = on_host(&s);
    CHECK(davit_detect_permutation(s.o.seed, 0, m, s.o.block, order));
    const double real = brute_force(3, m, stream, n, sound, weight, order, &s.o);
    CHECK(davit_detect_permutation(s.o.seed, 1, m, s.o.block, order));
    const double null = brute_force(3, m, stream, n, sound, weight, order, &s.o);
    assert_true(fabs(d->score - real) <= 1e-3);
    assert_true(fabs(d->null_mean - null) <= 1e-3);
    assert_true(d->p_value == (d->null_mean >= d->score ? 1 : 0.5));
  }
}

/* Vectors of frames of powers by their definition: the stream's have sound = NULL. */
static float *whitened(int bands, int64_t frames, const float *stream, int64_t n, const float *sound) {
  const int64_t count = sound ? n : frames;
  float *vectors = kept_zeros((size_t)(count * 2 * bands) * sizeof *vectors);
  double mean[8] = {0}, usual[8] = {0}, loudest = 0;
  for (int64_t i = 0; i < frames; i++)
    for (int k = 0; k < bands; k++)
      mean[k] += stream[i * 2 * bands + k] / (double)frames;
  for (int64_t i = 0; i < frames; i++)
    for (int k = 0; k < bands; k++)
      usual[k] += pow(stream[i * 2 * bands + k] / mean[k] + 0.1, 0.25) / (double)frames;
  for (int64_t j = 0; j < n; j++) {
    double sum = 0;
    for (int k = 0; k < bands; k++)
      sum += sound ? sound[j * 2 * bands + k] / mean[k] / bands : 0;
    loudest = fmax(loudest, sum);
  }
  for (int64_t i = 0; i < count; i++)
    for (int k = 0; k < bands; k++) {
      const double more = sound ? 10 / loudest * sound[i * 2 * bands + k] / mean[k] + pow(usual[k], 4)
                                : stream[i * 2 * bands + k] / mean[k] + 0.1;
      vectors[i * 2 * bands + k] = (float)(pow(more, 0.25) - usual[k]);
    }
  for (int64_t i = 0; i + 1 < count; i++)
    for (int k = 0; k < bands; k++)
      vectors[i * 2 * bands + bands + k] = vectors[(i + 1) * 2 * bands + k] - vectors[i * 2 * bands + k];
  return vectors;
}

/* Of vectors; the weights of the effect's frames, and their sum. */
static double weights_of(int width, int64_t n, const float *y, double *weight) {
  double squares = 0, sum = 0;
  for (int64_t i = 0; i < n * width; i++)
    squares += (double)y[i] * (double)y[i];
  for (int64_t j = 0; j < n; j++) {
    double square = 0;
    for (int k = 0; k < width; k++)
      square += pow(y[j * width + k], 2);
    weight[j] = fmin(1, sqrt(square / (squares / (double)n)));
    sum += weight[j];
  }
  return sum;
}

CASE(test_bands_by_brute_force) {
  enum { BANDS = 5, WIDTH_2 = 2 * BANDS, FRAMES = 40, LENGTH = 15 };
  uint16_t order[FRAMES];
  for (int trial = 0; trial < 20; trial++) {
    double weight[LENGTH];
    float *stream = powers(200 + (uint64_t)trial, BANDS, FRAMES), *sound = powers(7, BANDS, LENGTH);
    copy_frames(WIDTH_2, stream, 3 + trial, sound, 10);
    search s = SEARCH(WIDTH_2, FRAMES, stream, LENGTH, sound, .window = FRAMES, .gap_penalty = 3,
                      .permutations = 1, .alpha = 1, .bands = BANDS, .threshold = 25);
    const float *x = whitened(BANDS, FRAMES, stream, 0, NULL),
                *y = whitened(BANDS, FRAMES, stream, LENGTH, sound);
    const double full = 100 * weights_of(WIDTH_2, LENGTH, y, weight);
    CHECK(davit_detect_permutation(s.o.seed, 0, FRAMES, 3, order));
    const double right = brute_force(WIDTH_2, FRAMES, x, LENGTH, y, weight, order, &s.o);
    assert_true(fabs(on_host(&s)->score - right) <= 1e-2);
    for (int above = 0; above < 2; above++) {
      s.o.coverage = right / full * (above ? 1.001 : 0.999);
      assert_int_equal(on_host(&s)->detected, !above);
    }
  }
}

/* parasail aligns with a matrix of one column for each frame of the effect: the window is a string of its
 * frames, and a permutation another. Its symbols are letters, so the window is short. */
CASE(test_parasail) {
  enum { WINDOW = 50, EFFECT = 30, RUNS = 101 };
  float *stream = random_frames(21, 5, WINDOW), *sound = random_frames(22, 5, EFFECT);
  const search s =
      SEARCH(5, WINDOW, stream, EFFECT, sound, .window = WINDOW, .round = true, .threshold = 10, .block = 3);
  char alphabet[WINDOW + 1] = "", text[WINDOW + 1] = "";
  for (int i = 0; i < WINDOW; i++)
    alphabet[i] = (char)(i < 25 ? 'A' + i : 'a' + i - 25);
  int *values = kept(sizeof(int) * WINDOW * EFFECT);
  for (int j = 0; j < EFFECT; j++)
    for (int i = 0; i < WINDOW; i++) {
      double ab = 0, aa = 0, bb = 0;
      for (int k = 0; k < 5; k++) {
        const double a = stream[i * 5 + k], b = sound[j * 5 + k];
        ab += a * b;
        aa += a * a;
        bb += b * b;
      }
      const double alike = nearbyint(100 * ab / sqrt(aa * bb));
      values[j * WINDOW + i] = (int)(alike < s.o.threshold ? -s.o.threshold : alike);
    }
  parasail_matrix_t *matrix = parasail_matrix_pssm_create_case_sensitive(alphabet, values, EFFECT);
  double real = 0, sum = 0;
  for (int r = 0; r < RUNS; r++) {
    uint16_t order[WINDOW];
    CHECK(davit_detect_permutation(s.o.seed, r, WINDOW, s.o.block, order));
    for (int i = 0; i < WINDOW; i++)
      text[i] = alphabet[order[i]];
    parasail_result_t *result = parasail_sw(NULL, EFFECT, text, WINDOW, 133, 33, matrix);
    *(r ? &sum : &real) += parasail_result_get_score(result);
    parasail_result_free(result);
  }
  const davit_detect_hit *d = on_host(&s);
  assert_true(real > 100);
  assert_true(d->score == real);
  assert_true(d->null_mean == sum / 100);
  parasail_matrix_free(matrix);
}

/* ---- by hand ---- */

static void expect_axes(double score, int64_t onset, int64_t offset, int count, const int *order) {
  static const int pattern[] = {0, 1, 2, 3, 4, 5};
  const search s = SEARCH(7, count, axes(7, count, order, 2), 6, axes(7, 6, pattern, 1), .window = 16);
  const davit_detect_hit *d = on_host(&s);
  assert_true(d->score == score);
  assert_int_equal(d->onset, onset);
  assert_int_equal(d->offset, offset);
}
#define EXPECT_AXES(score, onset, offset, ...)                                                               \
  expect_axes(score, onset, offset, COUNT(((int[]){__VA_ARGS__})), (int[]){__VA_ARGS__})

CASE(test_examples_by_hand) {
  EXPECT_AXES(600, 0, 6, 0, 1, 2, 3, 4, 5);
  EXPECT_AXES(600, 2, 8, 6, 6, 0, 1, 2, 3, 4, 5, 6);
  EXPECT_AXES(467, 0, 7, 0, 1, 2, 6, 3, 4, 5);
  EXPECT_AXES(434, 0, 8, 0, 1, 2, 6, 6, 3, 4, 5);
  EXPECT_AXES(401, 0, 9, 0, 1, 2, 6, 6, 6, 3, 4, 5);
  EXPECT_AXES(368, 0, 10, 0, 1, 2, 6, 6, 6, 6, 3, 4, 5);
  EXPECT_AXES(335, 0, 11, 0, 1, 2, 6, 6, 6, 6, 6, 3, 4, 5);
  EXPECT_AXES(302, 0, 12, 0, 1, 2, 6, 6, 6, 6, 6, 6, 3, 4, 5);
  EXPECT_AXES(300, 0, 3, 0, 1, 2, 6, 6, 6, 6, 6, 6, 6, 3, 4, 5);
  EXPECT_AXES(450, 0, 6, 0, 1, 6, 3, 4, 5);
  EXPECT_AXES(367, 0, 5, 0, 1, 3, 4, 5);
  EXPECT_AXES(100, 0, 1, 5, 4, 3, 2, 1, 0);
  EXPECT_AXES(0, 0, 0, 6, 6, 6);
}

CASE(test_silence_and_constant_sound) {
  float silence[40 * 3] = {0}, tone[40 * 3];
  for (int i = 0; i < 40 * 3; i++)
    tone[i] = i % 3 == 0 ? 1 : 0.5f;
  const davit_detect_effect effects[] = {{10, silence}, {10, tone}};
  search s = {3, 40, silence, 2, effects, {.window = 40}};
  const davit_detect_hit *d = on_host(&s);
  for (int e = 0; e < 2; e++) {
    assert_true(d[e].score == 0 && d[e].null_sd == 0 && d[e].z == 0 && d[e].p_value == 1);
    assert_false(d[e].detected);
  }
  s.stream = tone;
  d = on_host(&s);
  assert_true(d[0].score == 0);
  assert_true(fabs(d[1].score - 1000) < 1e-3 && d[1].p_value == 1);
  assert_false(d[1].detected);
}

/* Window and effect exchanged score the same. */
CASE(test_transposed) {
  for (int n = 1; n <= 40; n += 3) {
    float *a = random_frames((uint64_t)n, 5, 40), *b = random_frames(99, 5, n);
    /* A window of 41, so that an effect may be longer than what there is of the window. */
    const search s = SEARCH(5, 40, a, n, b, .window = 41, .threshold = 10),
                 turned = SEARCH(5, n, b, 40, a, .window = 41, .threshold = 10);
    assert_true(on_host(&s)->score == on_host(&turned)->score);
  }
}

/* A frame more that matches the effect's end never lowers the score. */
CASE(test_growing) {
  float *stream = random_frames(5, 5, 60), *sound = random_frames(6, 5, 30);
  double last = 0;
  for (int n = 1; n <= 30; n++) {
    const search s = SEARCH(5, 60, stream, n, sound, .window = 61, .threshold = 20);
    memcpy(stream + (20 + n) * 5, sound + (n - 1) * 5, 5 * sizeof *sound);
    const double score = on_host(&s)->score;
    assert_true(score >= last && score >= 100 * n - 0.01);
    last = score;
  }
}

/* An effect is found where it was put, with the smallest p-value; the rank is what it says. */
CASE(test_planted_effect) {
  enum { FRAMES = 2000, EFFECT = 60, AT = 1234 };
  float *stream = random_frames(31, WIDTH, FRAMES), *sound = random_frames(32, WIDTH, EFFECT);
  memcpy(stream + AT * WIDTH, sound, sizeof(float) * EFFECT * WIDTH);
  const search s = SEARCH(WIDTH, FRAMES, stream, EFFECT, sound, .hop = 100);
  const davit_detect_hit *d = on_host(&s);
  for (int64_t w = 0; w < windows_of(FRAMES, &s.o); w++)
    if (w * 100 <= AT && AT + EFFECT <= w * 100 + 200) {
      assert_int_equal(d[w].onset, AT);
      assert_int_equal(d[w].offset, AT + EFFECT);
      assert_true(d[w].score > 5999 && d[w].p_value == 1.0 / 101 && d[w].z > 5 && d[w].detected);
    }
}
