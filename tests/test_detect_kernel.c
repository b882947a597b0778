/* The kernels of detection, thread by thread on the CPU, against the reference. */
#include "tests/emulator.h"
/* The kernels come after what stands in for a GPU. */
#include <davit/detect.h>

#include "offload/detect_kernels.h"
#include "ref/detect.h"
#include "ref/permutation.h"
#include "tests/support.h"

enum { FEATURES = 5, HOP = 3, WINDOWS = 2, GUARD = 64 };

typedef struct launch {
  int64_t window, frames, runs, columns, lanes, chunk, slices, threads;
  bool bytes;
  const float *x, *y;
  char *profiles;
  const uint16_t *orders;
  float *scores;
} launch;

static void run_profiles(void *argument) {
  const launch *l = argument;
  detect_make_profiles(l->x, l->y, l->profiles, FEATURES, l->window, HOP, WINDOWS, l->frames, l->columns,
                       l->lanes, l->chunk, l->bytes, l->bytes, 20, l->threads);
}

#define RUN(kind, width)                                                                                     \
  static void run_##kind##_##width(void *argument) {                                                         \
    const launch *l = argument;                                                                              \
    detect_##kind##_##width(l->profiles, l->lanes * l->chunk, l->orders, l->scores, l->runs + 1, l->window,  \
                            l->runs, l->lanes, l->slices, l->threads, 133, 33);                              \
  }
#define RUNS(kind) RUN(kind, 16) RUN(kind, 20) RUN(kind, 24) RUN(kind, 28) RUN(kind, 32)
RUNS(pair)
RUNS(float)

static void (*const runs[2][5])(void *) = {
    {run_float_16, run_float_20, run_float_24, run_float_28, run_float_32},
    {run_pair_16, run_pair_20, run_pair_24, run_pair_28, run_pair_32}};

static float *unit_vectors(uint64_t seed, int64_t frames) {
  float *x = malloc((size_t)frames * FEATURES * sizeof *x);
  for (int64_t i = 0; i < frames * FEATURES; i++)
    x[i] = (float)(next_random(&seed) >> 40) * 0x1p-24f - 0.3f;
  for (int64_t i = 0; i < frames; i++)
    dvt_unit_vector(FEATURES, x + i * FEATURES, x + i * FEATURES);
  return x;
}

static void expect_scores(const launch *l, const float *effect) {
  const davit_detect_options o = {.threshold = 20, .gap_penalty = 33, .round = l->bytes};
  float *similarity = malloc((size_t)(l->window * l->frames) * sizeof *similarity),
        *state = malloc(2 * (size_t)l->frames * sizeof *state);
  for (int64_t w = 0; w < WINDOWS; w++) {
    dvt_ref_detect_similarity(FEATURES, l->window, l->x + w * HOP * FEATURES, l->frames, effect, &o,
                              similarity);
    for (int64_t r = 0; r < l->runs; r++) {
      const float wanted = dvt_ref_detect_score(l->window, l->frames, similarity, l->orders + r * l->window,
                                                dvt_detect_gaps_of(&o), state);
      if (memcmp(&wanted, &l->scores[w * (l->runs + 1) + r], sizeof wanted))
        fail_msg("%s, %lld columns in %lld lanes, window %lld, effect %lld, run %lld: %g, not %g",
                 l->bytes ? "pairs" : "floats", (long long)l->columns, (long long)l->lanes,
                 (long long)l->window, (long long)l->frames, (long long)r,
                 (double)l->scores[w * (l->runs + 1) + r], (double)wanted);
    }
    assert_true(l->scores[w * (l->runs + 1) + l->runs] == -7); /* between the windows */
  }
  free(similarity);
  free(state);
}

static void run_case(bool bytes, int shape, int64_t lanes, int64_t window, int64_t frames, int64_t count,
                     int64_t slices, int64_t threads) {
  launch l = {.window = window,
              .frames = frames,
              .runs = count,
              .columns = 16 + 4 * shape,
              .lanes = lanes,
              .slices = slices,
              .threads = threads,
              .bytes = bytes};
  l.chunk = !bytes ? 4 * l.columns : l.columns > 16 ? 32 : 16;
  const size_t bytes_all = (size_t)(WINDOWS * (window + 1) * lanes * l.chunk),
               scores = WINDOWS * ((size_t)count + 1);
  float *x = unit_vectors(1, (WINDOWS - 1) * HOP + window), *effect = unit_vectors(2, frames),
        *y = malloc((size_t)frames * FEATURES * sizeof *y);
  for (int64_t j = 0; j < frames; j++)
    for (int k = 0; k < FEATURES; k++)
      y[k * frames + j] = effect[j * FEATURES + k];
  uint16_t *orders = malloc((size_t)((count + 2) * window) * sizeof *orders);
  for (int64_t r = 0; r < count; r++)
    dvt_permutation(3, (uint64_t)r, (int)window, orders + r * window);
  l.x = x;
  l.y = y;
  l.orders = orders;
  l.profiles = aligned_alloc(16, (bytes_all + GUARD + 15) / 16 * 16);
  memset(l.profiles, 0x55, bytes_all + GUARD);
  l.scores = malloc(scores * sizeof(float));
  for (size_t i = 0; i < scores; i++)
    l.scores[i] = -7;
  emulator_run(3, (int)threads, run_profiles, &l);
  for (int i = 0; i < GUARD; i++)
    assert_int_equal(l.profiles[bytes_all + (size_t)i], 0x55);
  emulator_run((int)(WINDOWS * slices), (int)threads, runs[bytes][shape], &l);
  expect_scores(&l, effect);
  free(x);
  free(y);
  free(effect);
  free(orders);
  free(l.profiles);
  free(l.scores);
}

static void test_every_kernel(void **unused) {
  (void)unused;
  for (int bytes = 0; bytes < 2; bytes++)
    for (int shape = 0; shape < 5; shape++)
      for (int64_t lanes = 1; lanes <= 8; lanes *= 2)
        run_case(bytes, shape, lanes, 21, lanes * (16 + 4 * shape), 7, 1, 32);
}

static void test_odd_sizes(void **unused) {
  (void)unused;
  static const int64_t cases[][7] = {/* shape, lanes, window, frames, runs, slices, threads */
                                     {0, 1, 1, 1, 1, 1, 32},      {4, 32, 40, 1000, 3, 1, 64},
                                     {3, 4, 200, 108, 9, 1, 96},  {3, 4, 50, 108, 101, 2, 64},
                                     {1, 16, 30, 303, 20, 3, 64}, {2, 2, 10, 33, 70, 1, 128}};
  for (int bytes = 0; bytes < 2; bytes++)
    for (int c = 0; c < COUNT(cases); c++)
      run_case(bytes, (int)cases[c][0], cases[c][1], cases[c][2], cases[c][3], cases[c][4], cases[c][5],
               cases[c][6]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_kernel), cmocka_unit_test(test_odd_sizes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
