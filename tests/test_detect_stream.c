/* SPDX-License-Identifier: Apache-2.0 */
/* Detection on a GPU without one: its kernels thread by thread, and what launches them, against the
 * reference. */
#include <omp.h>

#include "tests/emulator.h"
/* The source under test. */
#define dvt_detect_fit emulated_detect_fit
#define dvt_detect_stream emulated_detect_stream
#include "offload/detect_stream.c"
#include "ref/detect.h"
#include "ref/permutation.h"
#include "tests/support.h"

enum { FEATURES = 5, HOP = 3, MAX_EFFECTS = 3 };

static void run_profiles(void *arguments) {
  const dvt_argument *a = arguments;
  detect_make_profiles(emulator_pointer(a), emulator_pointer(a + 1), emulator_pointer(a + 2), (int64_t)a[3],
                       (int64_t)a[4], (int64_t)a[5], (int64_t)a[6], (int64_t)a[7], (int64_t)a[8],
                       (int64_t)a[9], (int64_t)a[10], (int64_t)a[11], (int64_t)a[12], emulator_double(a + 13),
                       (int64_t)a[14]);
}

#define BODY(name)                                                                                           \
  static void run_##name(void *arguments) {                                                                  \
    const dvt_argument *a = arguments;                                                                       \
    detect_##name(emulator_pointer(a), (int64_t)a[1], emulator_pointer(a + 2), emulator_pointer(a + 3),      \
                  (int64_t)a[4], (int64_t)a[5], (int64_t)a[6], (int64_t)a[7], (int64_t)a[8], (int64_t)a[9],  \
                  emulator_double(a + 10), emulator_double(a + 11));                                         \
  }
#define BODIES(kind) BODY(kind##_16) BODY(kind##_20) BODY(kind##_24) BODY(kind##_28) BODY(kind##_32)
BODIES(pair)
BODIES(float)

#define ROW(name) {"detect_region_" #name, run_##name}
#define ROWS(kind) ROW(kind##_16), ROW(kind##_20), ROW(kind##_24), ROW(kind##_28), ROW(kind##_32)
const emulator_kernel emulator_kernels[] = {
    {"detect_profiles_region", run_profiles}, ROWS(pair), ROWS(float)};

static float *unit_vectors(uint64_t seed, int64_t frames) {
  float *x = kept((size_t)frames * FEATURES * sizeof *x);
  for (int64_t i = 0; i < frames * FEATURES; i++)
    x[i] = (float)(next_random(&seed) >> 40) * 0x1p-24f - 0.3f;
  for (int64_t i = 0; i < frames; i++)
    dvt_unit_vector(FEATURES, x + i * FEATURES, x + i * FEATURES);
  return x;
}

static void expect_effect(const dvt_detect_task *t, int e) {
  const int64_t n = t->effects[e].frames;
  const davit_detect_options o = {
      .threshold = (double)t->threshold, .gap_penalty = (double)t->gap_extend, .round = t->round};
  float *similarity = kept((size_t)(t->window * n) * sizeof *similarity);
  dvt_float_border *border = kept((size_t)n * sizeof *border);
  for (int64_t w = 0; w < t->windows; w++) {
    dvt_ref_detect_similarity(FEATURES, t->window, t->stream + w * t->hop * FEATURES, n,
                              t->features + t->effects[e].first * FEATURES, &o, similarity);
    for (int64_t r = 0; r < t->runs; r++) {
      const float wanted = dvt_ref_detect_score(t->window, n, similarity, t->orders + r * t->window,
                                                dvt_detect_gaps_of(&o), border),
                  *got = &t->scores[(w * t->effect_count + e) * t->runs + r];
      if (memcmp(&wanted, got, sizeof wanted))
        fail_msg("%s, window %lld of %lld, effect of %lld, run %lld: %g, not %g",
                 t->round ? "rounded" : "not rounded", (long long)w, (long long)t->window, (long long)n,
                 (long long)r, (double)*got, (double)wanted);
    }
  }
}

static bool fits_stream(const dvt_detect_task *t) {
  return largest_profile(t, most_profile_bytes(NULL)) > 0;
}

/* Scores of all effects in all windows; the memory behind the layout stays as it is. */
static void expect_task(dvt_detect_task *t) {
  const size_t scores = (size_t)(t->windows * t->effect_count * t->runs) * sizeof(float);
  t->scores = kept(scores);
  dvt_site site = emulator_site;
  site.device = omp_get_initial_device(); /* of regions */
  assert_true(fits_stream(t));
  CHECK(dvt_detect_stream(&site, t));
  assert_true(emulator_free());
  for (int e = 0; e < t->effect_count; e++)
    expect_effect(t, e);
}

static void run_case(bool rounded, int64_t windows, int64_t window, int64_t runs, int effect_count,
                     const int64_t *lengths, float gap) {
  dvt_detect_range effects[MAX_EFFECTS];
  int64_t frames = 0;
  for (int e = 0; e < effect_count; e++) {
    effects[e] = (dvt_detect_range){frames, lengths[e]};
    frames += lengths[e];
  }
  float *stream = unit_vectors(1, (windows - 1) * HOP + window), *features = unit_vectors(2, frames),
        *transposed = kept((size_t)(frames * FEATURES) * sizeof *transposed);
  for (int e = 0; e < effect_count; e++)
    for (int64_t j = 0; j < lengths[e]; j++)
      for (int k = 0; k < FEATURES; k++)
        transposed[effects[e].first * FEATURES + k * lengths[e] + j] =
            features[(effects[e].first + j) * FEATURES + k];
  uint16_t *orders = kept((size_t)(runs * window) * sizeof *orders);
  for (int64_t r = 0; r < runs; r++)
    dvt_permutation(3, (uint64_t)r, (int)window, orders + r * window);
  dvt_detect_task t = {.width = FEATURES,
                       .windows = windows,
                       .window = window,
                       .hop = HOP,
                       .stream = stream,
                       .effect_count = effect_count,
                       .effects = effects,
                       .features = features,
                       .transposed = transposed,
                       .runs = runs,
                       .orders = orders,
                       .threshold = 20,
                       .gap_open = 100 + gap,
                       .gap_extend = gap,
                       .round = rounded};
  expect_task(&t);
}

/* Lengths around all multiples of lanes and columns. */
CASE(test_every_shape) {
  static const int64_t lengths[] = {1,  15, 16, 17, 20, 21, 24, 25, 28,  29, 32,
                                    33, 40, 48, 56, 63, 64, 65, 80, 108, 129};
  for (int rounded = 0; rounded < 2; rounded++)
    for (int i = 0; i < COUNT(lengths); i++)
      run_case(rounded, 2, 21, 5, 1, &lengths[i], 33);
}

CASE(test_odd_tasks) {
  for (int rounded = 0; rounded < 2; rounded++) {
    run_case(rounded, 1, 1, 1, 1, (const int64_t[]){1}, 33);
    run_case(rounded, 1, 1, 2, 1, (const int64_t[]){1}, 33);
    run_case(rounded, 3, 50, 101, 3, (const int64_t[]){7, 108, 30}, 33);
    run_case(rounded, 1, 10, 700, 2, (const int64_t[]){33, 5}, 0.25f);
    run_case(rounded, 20, 9, 3, 1, (const int64_t[]){40}, 9000);
    run_case(rounded, 1, 40, 3, 1, (const int64_t[]){1000}, 33);
  }
  run_case(true, 2, 200, 9, 1, (const int64_t[]){108}, 33);
}

/* One effect does not fit: the others still go to the kernels. */
CASE(test_some_too_large) {
  for (int rounded = 0; rounded < 2; rounded++) {
    const int before = emulator_launches;
    run_case(rounded, 2, 20, 3, 3, (const int64_t[]){7, 1025, 30}, 33);
    assert_int_equal(emulator_launches - before, 4); /* profiles and scores of two */
  }
  emulator_team_bytes = 8 * 1024;
  const int before = emulator_launches;
  run_case(false, 3, 40, 3, 3, (const int64_t[]){60, 40, 5}, 33);
  assert_int_equal(emulator_launches - before, 2);
  emulator_team_bytes = 227 * 1024;
}

/* An effect that does not fit a warp or the team's memory is not for streams. */
CASE(test_too_large) {
  dvt_detect_range effect = {.frames = 1025};
  dvt_detect_task t = {.window = 200, .effect_count = 1, .effects = &effect, .round = true};
  assert_false(fits_stream(&t));
  effect.frames = 1024;
  assert_true(fits_stream(&t));
  t.round = false;
  assert_false(fits_stream(&t));
  effect.frames = 108;
  assert_true(fits_stream(&t));
  emulator_team_bytes = 99 * 1024; /* as Ampere's smaller cards have */
  assert_true(fits_stream(&t));
  effect.frames = 200;
  assert_false(fits_stream(&t));
  emulator_team_bytes = 227 * 1024;
  assert_true(fits_stream(&t));
  t.window = 60000;
  assert_false(fits_stream(&t));
}
