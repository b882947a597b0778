/* SPDX-License-Identifier: Apache-2.0 */
/* The programs on alignment: against each other bit for bit, against a plain reference with general gaps, on
 * vectors that can be checked by hand; and the defects of the printed listings. */
#include "bench/study/tests/study.h"

#include "bench/study/align/align.h"
#include "bench/study/align/printed.h"
#include "ref/permutation.h"
#include "ref/similarity.h"
#include "src/base/cpu.h"
#include "tests/sequences.h"

enum { BEHIND = 16, WIDTH = 7, PATTERN = 6 };

static const char *const names[STUDY_ALIGN_PROGRAMS] = {"serial", "cpu", "v1",  "v2",
                                                        "v3",     "v4a", "v4b", "v5"};

/* ---- sounds ---- */

/* A movie and its effects; features are random. */
typedef struct sound {
  float *features;
  study_effect *effects;
  study_align_input input;
} sound;

static sound random_sound(int width, int64_t frames, int effect_count, const int64_t *effect_frames,
                          uint64_t seed) {
  sound s = {.input = {.width = width, .frames = frames, .effect_count = effect_count}};
  int64_t all = frames;
  for (int e = 0; e < effect_count; e++)
    all += effect_frames[e];
  s.features = host_memory(all * width, sizeof(float));
  for (int64_t i = 0; i < all * width; i++)
    s.features[i] = (float)random_below(&seed, 1 << 20) * 0x1p-20f - 0.3f;
  s.effects = host_memory(effect_count, sizeof *s.effects);
  s.input.movie = s.features;
  s.input.effects = s.effects;
  const float *next = s.features + frames * width;
  for (int e = 0; e < effect_count; e++) {
    s.effects[e] = (study_effect){effect_frames[e], next};
    next += effect_frames[e] * width;
  }
  return s;
}

/* The same with the effects' frames last. */
#define SOUND(width, frames, seed, ...)                                                                      \
  random_sound(width, frames, COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__}, seed)

/* The first half of each effect lies in the movie, with a little noise, so that alignments have gaps and
 * ends. */
static void plant(sound *s, uint64_t seed) {
  const int width = s->input.width;
  float *movie = s->features;
  int64_t at = 0;
  for (int e = 0; e < s->input.effect_count; e++)
    for (int64_t i = 0; i < (s->effects[e].frames + 1) / 2 && at < s->input.frames;
         i++, at += 1 + (i % 5 == 4))
      for (int k = 0; k < width; k++)
        movie[at * width + k] =
            s->effects[e].features[i * width + k] + (float)random_below(&seed, 1000) * 1e-4f;
}

/* Frames by letter: a … g are orthonormal. */
static void spell(const char *letters, float scale, float *features) {
  for (size_t i = 0; letters[i]; i++)
    for (int k = 0; k < WIDTH; k++)
      features[i * WIDTH + (size_t)k] = letters[i] == 'a' + k ? scale : 0;
}

/* ---- runs ---- */

static study_align program(study_align_program number, int64_t window, int permutations) {
  study_align a = study_align_defaults();
  a.program = number;
  a.window = window;
  a.permutations = permutations;
  return a;
}

static int64_t score_count(const study_align *a, const study_align_input *input) {
  return study_align_windows(input->frames, a->window) * input->effect_count * (a->permutations + 1);
}

/* What is behind the scores stays as it is. */
static float *scores_of(const study_align *a, int device, const study_align_input *input,
                        study_align_times *times) {
  const int64_t count = score_count(a, input);
  float *scores = host_memory(count + BEHIND, sizeof *scores);
  for (int64_t i = 0; i < count + BEHIND; i++)
    scores[i] = -7;
  CHECK(study_align_run(a, device, input, scores, times));
  for (int i = 0; i < BEHIND; i++)
    assert_true(scores[count + i] == -7);
  return scores;
}

static void expect_scores(const study_align *a, int device, const study_align_input *input,
                          const float *expected) {
  float *scores = scores_of(a, device, input, NULL);
  const int64_t count = score_count(a, input);
  for (int64_t i = 0; i < count; i++)
    if (memcmp(&scores[i], &expected[i], sizeof *scores) != 0)
      fail_msg("%s on %d, random %d, layout %d, window %lld: score %lld of %lld is %.9g, not %.9g",
               names[a->program], device, (int)a->random, (int)a->layout, (long long)a->window, (long long)i,
               (long long)count, (double)scores[i], (double)expected[i]);
}

/* ---- a plain reference ---- */

static void plain_similarities(const study_align *a, int width, const float *movie, int64_t n,
                               const float *pattern, float *d) {
  float x[64], y[64];
  for (int64_t i = 0; i < a->window; i++)
    for (int64_t j = 0; j < n; j++) {
      dvt_unit_vector(width, movie + i * width, x);
      dvt_unit_vector(width, pattern + j * width, y);
      d[i * n + j] = dvt_similarity(width, x, y, a->threshold, a->rounded);
    }
}

/* The best alignment by trying every gap that may end at each pair: O(rows columns (rows + columns)). */
static double plain_score(int64_t rows, int64_t columns, const float *d, double penalty) {
  double *h = host_memory((rows + 1) * (columns + 1), sizeof *h), maximum = 0;
  const int64_t stride = columns + 1;
  for (int64_t i = 0; i <= rows; i++)
    for (int64_t j = 0; j <= columns; j++) {
      double best = 0;
      if (i && j) {
        best = fmax(0, h[(i - 1) * stride + j - 1] + (double)d[(i - 1) * columns + j - 1]);
        for (int64_t k = 1; k <= i; k++)
          best = fmax(best, h[(i - k) * stride + j] - 100 - (double)k * penalty);
        for (int64_t k = 1; k <= j; k++)
          best = fmax(best, h[i * stride + j - k] - 100 - (double)k * penalty);
      }
      h[i * stride + j] = best;
      maximum = fmax(maximum, best);
    }
  return maximum;
}

/* Row i of `to` is row order[i] of `from`. */
static void move_rows(int64_t rows, int64_t columns, const uint16_t *order, const float *from, float *to) {
  for (int64_t i = 0; i < rows; i++)
    memcpy(to + i * columns, from + order[i] * columns, (size_t)columns * sizeof *to);
}

/* Rounded similarities and whole penalties: all sums are exact, so the reference must be met exactly. */
CASE(test_against_reference) {
  static const int64_t windows[] = {1, 2, 9, 31}, lengths[] = {1, 5, 12, 40};
  for (int k = 0; k < COUNT(windows); k++) {
    study_align a = program(STUDY_ALIGN_SERIAL, windows[k], 6);
    a.rounded = true;
    a.threshold = 20;
    a.penalty = 3;
    a.seed = 11;
    sound s = random_sound(9, 3 * a.window, COUNT(lengths), lengths, 5 + (uint64_t)k);
    plant(&s, 1);
    float *scores = scores_of(&a, DAVIT_HOST, &s.input, NULL), *score = scores;
    for (int64_t w = 0; w < 3; w++)
      for (int e = 0; e < COUNT(lengths); e++) {
        const int64_t n = lengths[e];
        float *d = host_memory(a.window * n, sizeof *d), *moved = host_memory(a.window * n, sizeof *d);
        plain_similarities(&a, 9, s.input.movie + w * a.window * 9, n, s.effects[e].features, d);
        for (int r = 0; r <= a.permutations; r++) {
          uint16_t order[64];
          dvt_permutation(a.seed, (uint64_t)r, (int)a.window, order);
          move_rows(a.window, n, order, d, moved);
          assert_true((double)*score++ == plain_score(a.window, n, moved, 3));
        }
      }
  }
}

/* ---- the same bits ---- */

/* All programs on all devices from both sources of random numbers, in one launch and in several. */
static void expect_agreement(study_align a, const study_align_input *input) {
  a.program = STUDY_ALIGN_SERIAL;
  float *expected = scores_of(&a, DAVIT_HOST, input, NULL);
  for (study_align_program number = 0; number < STUDY_ALIGN_PROGRAMS; number++)
    EACH_DEVICE(device)
      for (int random = 0; random < 2; random++) {
        a.program = number;
        a.random = (study_align_random)random;
        a.layout = (study_align_layout)(((int)number + device + 1 + random) % 3);
        expect_scores(&a, device, input, expected);
      }
}

CASE(test_sizes) {
  static const struct {
    int64_t window, frames;
    int width, effects;
    int64_t lengths[6];
  } cases[] = {{1, 1, 1, 1, {1}},
               {1, 5, 3, 2, {1, 7}},
               {2, 9, 62, 1, {108}},
               {7, 7, 62, 3, {7, 1, 20}},
               {33, 100, 5, 6, {33, 7, 54, 55, 56, 1}},
               {54, 54 * 35 + 53, 4, 1, {3}},
               {200, 417, 62, 1, {7}}};
  for (int k = 0; k < COUNT(cases); k++) {
    study_align a = program(STUDY_ALIGN_SERIAL, cases[k].window, 1 + 3 * k);
    a.seed = (uint64_t)k << 40;
    sound s = random_sound(cases[k].width, cases[k].frames, cases[k].effects, cases[k].lengths, 3);
    plant(&s, 2);
    expect_agreement(a, &s.input);
    a.rounded = true;
    a.threshold = 0;
    a.penalty = 0.5f;
    expect_agreement(a, &s.input);
  }
}

/* The source's sizes: D is two tiles, of 55 and 54 columns. */
CASE(test_source_sizes) {
  study_align a = program(STUDY_ALIGN_SERIAL, 200, scaled(32));
  sound s = SOUND(62, 450, 7, 108);
  plant(&s, 3);
  expect_agreement(a, &s.input);
}

CASE(test_tiles) {
  study_align a = program(STUDY_ALIGN_SERIAL, 40, 9);
  sound s = SOUND(8, 80, 8, 1, 20, 54, 55, 56);
  plant(&s, 4);
  float *expected = scores_of(&a, DAVIT_HOST, &s.input, NULL);
  a.program = STUDY_ALIGN_V5;
  for (a.tile_columns = 1; a.tile_columns <= 57; a.tile_columns += 1 + a.tile_columns % 9)
    for (int random = 0; random < 2; random++) {
      a.random = (study_align_random)random;
      a.layout = a.tile_columns % 2 ? STUDY_ALIGN_APART : STUDY_ALIGN_INTERLEAVED;
      expect_scores(&a, device_count() - 1, &s.input, expected);
    }
}

/* A launch for each unit, and for 3: the last one has less. */
CASE(test_batches) {
  study_align a = program(STUDY_ALIGN_SERIAL, 12, 4);
  study_align_times times;
  sound s = SOUND(6, 50, 9, 10, 4);
  float *expected = scores_of(&a, DAVIT_HOST, &s.input, NULL);
  a.program = STUDY_ALIGN_V1;
  const size_t unit = 4 * 13 * 11 * sizeof(float) + 12 * sizeof(uint16_t);
  for (int units = 1; units <= 9; units += 2) {
    a.memory_bytes = (size_t)units * unit;
    scores_of(&a, DAVIT_HOST, &s.input, &times);
    assert_int_equal(times.launches, (8 + units - 1) / units);
    assert_true(times.total_ms >= times.kernel_ms && times.kernel_ms > 0);
    EACH_DEVICE(device)
      expect_scores(&a, device, &s.input, expected);
  }
}

/* All threads, few, and more than there is work; with every set of vector instructions. */
CASE(test_cpu_program) {
  study_align a = program(STUDY_ALIGN_SERIAL, 12, 100);
  sound s = SOUND(6, 50, 10, 10);
  float *expected = scores_of(&a, DAVIT_HOST, &s.input, NULL);
  a.program = STUDY_ALIGN_CPU;
  for (dvt_cpu most = DVT_CPU_PLAIN; most < DVT_CPU_COUNT; most++)
    for (a.threads = 0; a.threads <= 9; a.threads += 3) {
      dvt_cpu_allow(most);
      expect_scores(&a, DAVIT_HOST, &s.input, expected);
    }
}

CASE(test_effects_together_and_apart) {
  const int64_t lengths[] = {9, 9, 30, 1, 9, 17};
  study_align a = program(STUDY_ALIGN_V2, 20, 7);
  sound s = random_sound(6, 60, COUNT(lengths), lengths, 12);
  plant(&s, 5);
  float *together = scores_of(&a, DAVIT_HOST, &s.input, NULL);
  for (int e = 0; e < COUNT(lengths); e++) {
    study_align_input one = s.input;
    one.effects = &s.effects[e];
    one.effect_count = 1;
    float *apart = scores_of(&a, DAVIT_HOST, &one, NULL);
    for (int w = 0; w < 3; w++)
      assert_memory_equal(&apart[w * 8], &together[(w * COUNT(lengths) + e) * 8], 8 * sizeof(float));
  }
}

/* ---- by hand ---- */

/* `movie` is one window, aligned with abcdef by all programs. */
static void expect_by_hand(const char *movie, float scale, float expected) {
  float effect[PATTERN * WIDTH], features[32 * WIDTH];
  const study_effect effects[] = {{PATTERN, effect}};
  spell("abcdef", 1, effect);
  spell(movie, scale, features);
  const int64_t frames = (int64_t)strlen(movie);
  const study_align_input input = {WIDTH, frames, features, 1, effects};
  for (study_align_program number = 0; number < STUDY_ALIGN_PROGRAMS; number++)
    for (int rounded = 0; rounded < 2; rounded++) {
      study_align a = program(number, frames, 0);
      a.rounded = rounded;
      expect_scores(&a, DAVIT_HOST, &input, &expected);
      expect_scores(&a, device_count() - 1, &input, &expected);
    }
}

CASE(test_by_hand) {
  expect_by_hand("abcdef", 1, 600);
  expect_by_hand("abcgdef", 1, 467);
  expect_by_hand("abcggdef", 1, 434);
  expect_by_hand("abcgggdef", 1, 401);
  expect_by_hand("abcggggdef", 1, 368);
  expect_by_hand("abcgggggdef", 1, 335);
  expect_by_hand("abcggggggdef", 1, 302);
  expect_by_hand("abcgggggggdef", 1, 300); /* a gap no longer pays */
  expect_by_hand("abgdef", 1, 450);
  expect_by_hand("abdef", 1, 367);
  expect_by_hand("fedcba", 1, 100);
  expect_by_hand("abcdef", 2, 600);
  expect_by_hand("ggggg", 1, 0);
}

/* Silence is like nothing. */
CASE(test_zero_frames) {
  expect_by_hand("abc-def", 1, 467);
  expect_by_hand("------", 1, 0);
}

/* ---- permutations ---- */

/* The score of permutation r is that of a movie whose frames were moved: the index array loses and doubles
 * none. */
CASE(test_permuted_movie) {
  study_align a = program(STUDY_ALIGN_V1, 25, 20), plain;
  uint16_t order[25];
  a.seed = 77;
  plain = a;
  plain.permutations = 0;
  sound s = SOUND(6, a.window, 13, 15), moved = SOUND(6, a.window, 13, 15);
  plant(&s, 6);
  float *scores = scores_of(&a, DAVIT_HOST, &s.input, NULL);
  for (int r = 0; r <= a.permutations; r++) {
    dvt_permutation(a.seed, (uint64_t)r, COUNT(order), order);
    move_rows(a.window, 6, order, s.features, moved.features);
    expect_scores(&plain, DAVIT_HOST, &moved.input, &scores[r]);
  }
}

CASE(test_seeds) {
  study_align a = program(STUDY_ALIGN_V1, 25, 100);
  sound s = SOUND(6, a.window, 14, 15);
  plant(&s, 7);
  float *first = scores_of(&a, DAVIT_HOST, &s.input, NULL),
        *again = scores_of(&a, DAVIT_HOST, &s.input, NULL);
  a.seed = 1;
  float *other = scores_of(&a, DAVIT_HOST, &s.input, NULL);
  const size_t bytes = 100 * sizeof *first;
  assert_memory_equal(first, again, bytes + sizeof *first);
  assert_true(first[0] == other[0] && memcmp(first + 1, other + 1, bytes) != 0);
}

/* ---- what the source says and what its code does ---- */

/* The score of one frame with another whose cosine with it is `cosine`, by all programs. */
static void expect_one_frame(float cosine, bool rounded, float expected) {
  const float movie[] = {1, 0}, pattern[] = {cosine, sqrtf(1 - cosine * cosine)};
  const study_effect effects[] = {{1, pattern}};
  const study_align_input input = {2, 1, movie, 1, effects};
  for (study_align_program number = 0; number < STUDY_ALIGN_PROGRAMS; number++) {
    study_align a = program(number, 1, 0);
    a.rounded = rounded;
    float *score = scores_of(&a, DAVIT_HOST, &input, NULL);
    assert_true(fabsf(*score - expected) < (rounded ? 1e-30f : 1e-4f));
  }
}

/* Rounded in the text, not in the code, where less may be below the threshold. */
CASE(test_rounding) {
  expect_one_frame(0.707f, false, 70.7f);
  expect_one_frame(0.707f, true, 71);
  expect_one_frame(0.704f, true, 70);
  expect_one_frame(0.498f, false, 0);
  expect_one_frame(0.498f, true, 50);
  expect_one_frame(0.494f, true, 0);
  expect_one_frame(-1, true, 0);
}

static void printed_and_ours(sound *s, int64_t window, int64_t n, float *printed, float *ours) {
  study_align a = study_align_defaults();
  a.window = window;
  for (int64_t k = 0; k < (window + 1) * (n + 1); k++)
    printed[k] = 0;
  study_printed_similarities(s->input.width, window, n, s->input.movie, s->effects[0].features, 50, printed);
  plain_similarities(&a, s->input.width, s->input.movie, n, s->effects[0].features, ours);
}

/* Norms computed for each element, in floats: close to ours, not equal. */
CASE(test_printed_similarities) {
  enum { WINDOW = 40, N = 30 };
  float printed[(WINDOW + 1) * (N + 1)], ours[WINDOW * N];
  int differ = 0;
  sound s = SOUND(62, WINDOW, 16, N);
  printed_and_ours(&s, WINDOW, N, printed, ours);
  for (int i = 0; i < WINDOW; i++)
    for (int j = 0; j < N; j++) {
      const float is = printed[(i + 1) * (N + 1) + j + 1], right = ours[i * N + j];
      assert_true(fabsf(is - right) <= 1e-4f);
      differ += is != right;
    }
  assert_true(differ > 0);
}

/* A frame of zeros: 0 / 0, which no threshold catches; ours is like nothing. */
CASE(test_printed_zero_frames) {
  enum { WINDOW = 3, N = 2 };
  float printed[(WINDOW + 1) * (N + 1)], ours[WINDOW * N];
  sound s = SOUND(5, WINDOW, 17, N);
  memset(s.features + 5, 0, 5 * sizeof *s.features);
  printed_and_ours(&s, WINDOW, N, printed, ours);
  for (int j = 0; j < N; j++) {
    assert_true(isnan(printed[2 * (N + 1) + j + 1]));
    assert_true(ours[N + j] == -50);
    assert_false(isnan(printed[1 * (N + 1) + j + 1]));
  }
}

/* D of abcdef with itself, a padding row and column before it. */
static void own_similarities(float d[(PATTERN + 1) * (PATTERN + 1)]) {
  float effect[PATTERN * WIDTH];
  spell("abcdef", 1, effect);
  memset(d, 0, (PATTERN + 1) * (PATTERN + 1) * sizeof *d);
  study_printed_similarities(WIDTH, PATTERN, PATTERN, effect, effect, 50, d);
}

/* Index 0 takes part: the frame in slot 0 is lost, and the padding row comes in for it. */
CASE(test_printed_shuffle) {
  static const int identity[] = {0, 1, 2, 3, 4, 5, 6}, shifted[] = {1, 2, 3, 4, 5, 6, 0};
  float d[(PATTERN + 1) * (PATTERN + 1)];
  own_similarities(d);
  assert_true(study_printed_score(PATTERN, PATTERN, d, 33, NULL, 0, 0) == 600);
  assert_true(study_printed_score(PATTERN, PATTERN, d, 33, identity, 0, 0) == 600);
  assert_true(study_printed_score(PATTERN, PATTERN, d, 33, shifted, 0, 0) == 500);
  expect_by_hand("bcdefa", 1, 500); /* a real permutation: a is last, and is not lost */
}

/* Row and column 0 are not initialised. 0 for E and F is as good as minus infinity; what is found in H, or
 * great values in E and F, changes the score. */
CASE(test_printed_boundary) {
  enum { WINDOW = 200, N = 108 };
  float *d = host_memory((WINDOW + 1) * (N + 1), sizeof *d), own[(PATTERN + 1) * (PATTERN + 1)];
  uint64_t seed = 18;
  for (int trial = 0; trial < scaled(40); trial++) {
    for (int k = 0; k < (WINDOW + 1) * (N + 1); k++)
      d[k] = random_below(&seed, 3) ? -50 : (float)(50 + random_below(&seed, 51));
    assert_true(study_printed_score(WINDOW, N, d, 33, NULL, 0, 0) ==
                study_printed_score(WINDOW, N, d, 33, NULL, 0, -1e9f));
  }
  own_similarities(own);
  assert_true(study_printed_score(PATTERN, PATTERN, own, 33, NULL, 1000, 0) == 1600);
  assert_true(study_printed_score(PATTERN, PATTERN, own, 33, NULL, 0, 1000) > 600);
}

/* No guard: threads of windows that are not there, or not whole, read behind the movie. Ours leave the tail
 * out. */
CASE(test_printed_tail) {
  study_align a = program(STUDY_ALIGN_V1, 10, 2);
  assert_int_equal(study_printed_frames_outside(800, 200, 4), 0);
  assert_int_equal(study_printed_frames_outside(850, 200, 5), 150);
  assert_int_equal(study_printed_frames_outside(800, 200, 32), 28 * 200);
  assert_int_equal(study_printed_frames_outside(800, 200, INT64_C(4) * 101), 400 * 200);
  for (int64_t frames = 0; frames <= 41; frames += 41) {
    sound s = SOUND(4, frames, 19, 6);
    assert_int_equal(study_align_windows(frames, a.window), frames / 10);
    for (study_align_program number = 0; number < STUDY_ALIGN_PROGRAMS; number++) {
      a.program = number;
      scores_of(&a, DAVIT_HOST, &s.input, NULL);
    }
  }
}

/* All threads of a window write its maximum: the last writer wins, and real and permuted scores cannot be
 * distinguished. */
CASE(test_printed_maximum) {
  static const float own[] = {600, 100, 200};
  assert_true(study_printed_maximum(0, COUNT(own), own) == 200);
  assert_true(study_printed_maximum(1e9f, COUNT(own), own) == 1e9f);
}

/* An effect across a border of windows: half of it in each, half the score. */
CASE(test_straddling) {
  float effect[PATTERN * WIDTH], features[12 * WIDTH];
  const study_effect effects[] = {{PATTERN, effect}};
  const study_align_input input = {WIDTH, 12, features, 1, effects};
  const float within[] = {600, 0}, across[] = {300, 300};
  spell("abcdef", 1, effect);
  for (study_align_program number = 0; number < STUDY_ALIGN_PROGRAMS; number++) {
    study_align a = program(number, PATTERN, 0);
    spell("abcdefgggggg", 1, features);
    expect_scores(&a, DAVIT_HOST, &input, within);
    spell("gggabcdefggg", 1, features);
    expect_scores(&a, DAVIT_HOST, &input, across);
  }
}

/* The example of the introduction: match 2, mismatch -3, gap -2 for each letter; row and column 0 are 0. The matrix as
 * it should be, and as it is printed. */
enum { EXAMPLE_COLUMNS = 15, EXAMPLE_ROWS = 12 };
static const char example_columns[] = "-ATGCATCCCATGAC", example_rows[] = "-TCTATATCCGT";
typedef int example_matrix[EXAMPLE_ROWS][EXAMPLE_COLUMNS];
static const example_matrix example_right = {{0},
                                             {0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0},
                                             {0, 0, 0, 0, 2, 0, 0, 4, 2, 2, 0, 0, 0, 0, 2},
                                             {0, 0, 2, 0, 0, 0, 2, 2, 1, 0, 0, 2, 0, 0, 0},
                                             {0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 2, 0},
                                             {0, 0, 4, 2, 0, 0, 4, 2, 0, 0, 0, 4, 2, 0, 0},
                                             {0, 2, 2, 1, 0, 2, 2, 1, 0, 0, 2, 2, 1, 4, 2},
                                             {0, 0, 4, 2, 0, 0, 4, 2, 0, 0, 0, 4, 2, 2, 1},
                                             {0, 0, 2, 1, 4, 2, 2, 6, 4, 2, 0, 2, 1, 0, 4},
                                             {0, 0, 0, 0, 3, 1, 0, 4, 8, 6, 4, 2, 0, 0, 2},
                                             {0, 0, 0, 2, 1, 0, 0, 2, 6, 5, 3, 1, 4, 2, 0},
                                             {0, 0, 2, 0, 0, 0, 2, 0, 4, 3, 2, 5, 3, 1, 0}},
                            example_printed = {{0},
                                               {0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0},
                                               {0, 0, 0, 0, 2, 0, 0, 4, 2, 2, 0, 0, 0, 0, 2},
                                               {0, 0, 2, 0, 0, 0, 0, 2, 1, 0, 0, 2, 0, 0, 0},
                                               {0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 2, 0},
                                               {0, 0, 4, 2, 0, 0, 2, 0, 0, 0, 0, 4, 2, 0, 0},
                                               {0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 2, 0},
                                               {0, 0, 4, 2, 0, 0, 4, 2, 0, 0, 0, 4, 0, 0, 0},
                                               {0, 0, 2, 0, 4, 0, 0, 6, 4, 2, 0, 0, 0, 0, 2},
                                               {0, 0, 0, 0, 2, 0, 0, 4, 8, 6, 4, 2, 0, 0, 2},
                                               {0, 0, 0, 2, 0, 0, 0, 2, 6, 5, 3, 1, 4, 2, 0},
                                               {0, 0, 2, 0, 0, 0, 2, 0, 4, 3, 2, 5, 3, 1, 0}};

/* Two prefixes with a letter behind them that is worth 50 have the score of their element of the matrix, and 50. */
CASE(test_example) {
  enum { LETTERS = 5 };
  static const char letters[] = "ACGT";
  int8_t matrix[LETTERS * LETTERS];
  fill_diagonal(LETTERS, 2, -3, matrix);
  matrix[LETTERS * LETTERS - 1] = 50;
  const davit_align_scoring scoring = scoring_of(LETTERS, matrix, 2, 2);
  for (int i = 1; i < EXAMPLE_ROWS; i++)
    for (int j = 1; j < EXAMPLE_COLUMNS; j++) {
      uint8_t query[EXAMPLE_ROWS], target[EXAMPLE_COLUMNS];
      int32_t scratch[2 * (EXAMPLE_ROWS + 1)];
      for (int k = 0; k <= i; k++)
        query[k] = k < i ? (uint8_t)(strchr(letters, example_rows[k + 1]) - letters) : LETTERS - 1;
      for (int k = 0; k <= j; k++)
        target[k] = k < j ? (uint8_t)(strchr(letters, example_columns[k + 1]) - letters) : LETTERS - 1;
      assert_int_equal(dvt_ref_align_score(&scoring, i + 1, query, j + 1, target, scratch),
                       50 + example_right[i][j]);
    }
}

/* What an element should be if those beside it are right. */
static int example_element(const example_matrix m, int i, int j) {
  const int letters = m[i - 1][j - 1] + (example_rows[i] == example_columns[j] ? 2 : -3),
            gap = (m[i - 1][j] > m[i][j - 1] ? m[i - 1][j] : m[i][j - 1]) - 2;
  const int best = letters > gap ? letters : gap;
  return best > 0 ? best : 0;
}

/* 23 of 180 printed elements are wrong, all too small; 14 of them do not follow from the printed ones beside them. The
 * maximum and its place are right. */
CASE(test_printed_example) {
  int wrong = 0, made = 0, row = 0, column = 0;
  for (int i = 1; i < EXAMPLE_ROWS; i++)
    for (int j = 1; j < EXAMPLE_COLUMNS; j++) {
      const int is = example_printed[i][j];
      assert_int_equal(example_element(example_right, i, j), example_right[i][j]);
      assert_true(is <= example_right[i][j]);
      wrong += is != example_right[i][j];
      made += is != example_element(example_printed, i, j);
      if (is > example_printed[row][column])
        row = i, column = j;
    }
  assert_int_equal(wrong, 23);
  assert_int_equal(made, 14);
  assert_true(row == 9 && column == 8 && example_right[row][column] == 8);
}

/* ---- failures ---- */

CASE(test_no_memory) {
  sound s = SOUND(4, 40, 20, 6);
  float scores[12];
  study_align a = program(STUDY_ALIGN_V4A, 10, 2);
  a.heap_bytes = 100;
  EACH_DEVICE(device)
    CHECK_FAILS(study_align_run(&a, device, &s.input, scores, NULL), DAVIT_OUT_OF_DEVICE_MEMORY,
                "4 of 4 threads got no memory from its heap");
  a.heap_bytes = 0;
  a.memory_bytes = 100;
  CHECK_FAILS(study_align_run(&a, DAVIT_HOST, &s.input, scores, NULL), DAVIT_OUT_OF_DEVICE_MEMORY, "of 100");
}

/* The n-th allocation on a device fails, for every n. */
CASE(test_failing_allocations) {
  sound s = SOUND(4, 40, 21, 6);
  float scores[12];
  study_align a = program(STUDY_ALIGN_V5, 10, 2);
  int device, count, failures = 0;
  CHECK(davit_device_defaults(1, &device, &count));
  for (int n = 1; n < 20; n++) {
    CHECK(davit_memory_trim(place_for(device)));
    dvt_inject(DVT_INJECT_DEVICE_MEMORY, n);
    const davit_status status = study_align_run(&a, device, &s.input, scores, NULL);
    dvt_inject(DVT_INJECT_DEVICE_MEMORY, 0);
    assert_true(status == DAVIT_SUCCESS || status == DAVIT_OUT_OF_DEVICE_MEMORY);
    failures += status != DAVIT_SUCCESS;
  }
  assert_true(device == DAVIT_HOST || failures == 6);
}

CASE(test_bad_arguments) {
  sound s = SOUND(4, 20, 22, 6);
  float scores[202];
  const study_align good = {.program = STUDY_ALIGN_V5, .window = 10, .threshold = 50, .penalty = 33};
#define BAD(member, value, result, words)                                                                    \
  do {                                                                                                       \
    study_align a = good;                                                                                    \
    a.member = (value);                                                                                      \
    CHECK_FAILS(study_align_run(&a, DAVIT_HOST, &s.input, scores, NULL), result, words);                     \
  } while (0)
  BAD(program, STUDY_ALIGN_PROGRAMS, DAVIT_INVALID_ARGUMENT, "program is 8");
  BAD(random, (study_align_random)2, DAVIT_INVALID_ARGUMENT, "random is 2");
  BAD(layout, (study_align_layout)3, DAVIT_INVALID_ARGUMENT, "layout is 3");
  BAD(threads, -1, DAVIT_INVALID_ARGUMENT, "threads is -1");
  BAD(window, 0, DAVIT_INVALID_ARGUMENT, "window is 0");
  BAD(window, 65536, DAVIT_INVALID_ARGUMENT, "window is 65536");
  BAD(window, 11055, DAVIT_UNSUPPORTED, "window is 11055");
  BAD(threshold, 101, DAVIT_INVALID_ARGUMENT, "threshold is 101");
  BAD(threshold, NAN, DAVIT_INVALID_ARGUMENT, "threshold is nan");
  BAD(penalty, -1, DAVIT_INVALID_ARGUMENT, "penalty is -1");
  BAD(permutations, -1, DAVIT_INVALID_ARGUMENT, "permutations is -1");
  BAD(tile_columns, 1006, DAVIT_INVALID_ARGUMENT, "tile_columns is 1006");
#undef BAD
  CHECK_FAILS(study_align_run(&good, 99, &s.input, scores, NULL), DAVIT_UNKNOWN_DEVICE, "99");
  s.features[9] = INFINITY;
  REFUSED(study_align_run(&good, DAVIT_HOST, &s.input, scores, NULL),
          "movie has a feature that is not finite: frame 2, feature 1");
  s.features[9] = 0;
  s.effects[0].frames = 0;
  REFUSED(study_align_run(&good, DAVIT_HOST, &s.input, scores, NULL), "effect 0 has 0 frames");
}
