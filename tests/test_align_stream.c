/* SPDX-License-Identifier: Apache-2.0 */
/* Alignment on a GPU without one: its kernels thread by thread, and what launches them, against the
 * reference. */
#include "tests/emulator.h"
/* The sources under test. */
#include "tests/align_wavefront.h"
static double wave_seconds = 1; /* of a long target */
#define dvt_align_wavefront_seconds(m, n) wave_seconds
static int64_t border_rows_at_most = INT64_C(1) << 27;
#define BORDER_ROWS border_rows_at_most
#define dvt_align_fit emulated_align_fit
#define dvt_align_stream emulated_align_stream
#include "offload/align_stream.c"
#include "ref/ref.h"
#include "src/align.h"
#include "tests/support.h"

#define BODY(search, name)                                                                                   \
  static void run_##search##name(void *arguments) {                                                          \
    const dvt_argument *a = arguments;                                                                       \
    search##name(emulator_pointer(a), (int64_t)a[1], (int64_t)a[2], emulator_pointer(a + 3),                 \
                 emulator_pointer(a + 4), emulator_pointer(a + 5), (int64_t)a[6], (int64_t)a[7],             \
                 emulator_pointer(a + 8), emulator_pointer(a + 9), (int64_t)a[10], (int64_t)a[11],           \
                 (int64_t)a[12], (int64_t)a[13], (int64_t)a[14], (int64_t)a[15], emulator_pointer(a + 16),   \
                 emulator_pointer(a + 17), (int64_t)a[18]);                                                  \
  }
BODY(search, _two_16)
BODY(search, _two_20)
BODY(search, _two_24)
BODY(search, _two_26)
BODY(search, _two_28)
BODY(search, _two_30)
BODY(search, _two_32)
BODY(search, _two_36)
BODY(search, _two_40)
BODY(search, _two_44)
BODY(search, _two_48)
BODY(search, _one_16)
BODY(search_strip, _two_28)
BODY(search_strip, _two_32)
BODY(search_strip, _two_40)
BODY(search_strip, _one_16)

const emulator_kernel emulator_kernels[] = {WAVE_KERNELS,
                                            {"search_region_two_16", run_search_two_16},
                                            {"search_region_two_20", run_search_two_20},
                                            {"search_region_two_24", run_search_two_24},
                                            {"search_region_two_26", run_search_two_26},
                                            {"search_region_two_28", run_search_two_28},
                                            {"search_region_two_30", run_search_two_30},
                                            {"search_region_two_32", run_search_two_32},
                                            {"search_region_two_36", run_search_two_36},
                                            {"search_region_two_40", run_search_two_40},
                                            {"search_region_two_44", run_search_two_44},
                                            {"search_region_two_48", run_search_two_48},
                                            {"search_region_one_16", run_search_one_16},
                                            {"strip_region_two_28", run_search_strip_two_28},
                                            {"strip_region_two_32", run_search_strip_two_32},
                                            {"strip_region_two_40", run_search_strip_two_40},
                                            {"strip_region_one_16", run_search_strip_one_16}};

typedef struct database {
  int64_t count, *offsets;
  uint8_t *symbols;
} database;

static int64_t first_strip(int64_t m) {
  const davit_align_scoring scoring = {.symbols = 1};
  return way_of(&(dvt_align_query){.scoring = &scoring, .m = m}, true).columns;
}

/* Targets of falling lengths; some resemble the query, with a gap, across the border of its first strip where
 * there is one. */
static database make_database(int64_t count, const int64_t *lengths, int symbols, int64_t m,
                              const uint8_t *query, uint64_t *random) {
  database d = {.count = count, .offsets = kept(((size_t)count + 1) * sizeof *d.offsets)};
  d.offsets[0] = 0;
  for (int64_t k = 0; k < count; k++)
    d.offsets[k + 1] = d.offsets[k] + lengths[k];
  d.symbols = kept((size_t)d.offsets[count] / 4 * 4 + 4);
  for (int64_t k = 0; k < count; k++)
    for (int64_t i = 0; i < lengths[k]; i++) {
      const int64_t j =
          i + (i > lengths[k] / 2 ? 6 : 0) + (m > DVT_MAX_COLUMNS ? first_strip(m) - 3 - lengths[k] / 2 : 0);
      const bool alike = k % 3 == 0 && j >= 0 && j < m && random_below(random, 20) > 0;
      d.symbols[d.offsets[k] + i] = alike ? query[j] : (uint8_t)random_below(random, symbols);
    }
  return d;
}

static void expect_scores(const davit_align_scoring *scoring, int64_t m, const uint8_t *query,
                          const database *d) {
  const dvt_align_query q = {scoring, m, query, dvt_largest_entry(scoring, m)};
  const dvt_align_targets t = {.count = d->count, .offsets = d->offsets, .symbols = d->symbols};
  int32_t *device_scores = kept(((size_t)d->count + 1) * sizeof *device_scores),
          *scores = kept(((size_t)d->count + 1) * sizeof *scores),
          *scratch = kept(2 * ((size_t)m + 1) * sizeof *scratch);
  const dvt_align_device device = {d->offsets, d->symbols, device_scores};
  assert_true(fits_stream(&t, &q));
  CHECK(dvt_align_stream(&emulator_site,
                         &(dvt_align_work){.query = &q, .targets = &t, .device = &device, .scores = scores}));
  assert_true(emulator_free());
  for (int64_t k = 0; k < d->count; k++) {
    const int32_t wanted = dvt_ref_align_score(scoring, m, query, d->offsets[k + 1] - d->offsets[k],
                                               d->symbols + d->offsets[k], scratch);
    if (scores[k] != wanted)
      fail_msg("query of %lld, target %lld of %lld: %d, not %d", (long long)m, (long long)k,
               (long long)(d->offsets[k + 1] - d->offsets[k]), scores[k], wanted);
  }
}

static bool profiled; /* whether queries are profiles */

/* Entries of the matrix, with some less. */
static const int8_t *profile_of(int symbols, const int8_t *matrix, int64_t m, const uint8_t *query,
                                uint64_t *random) {
  int8_t *profile = kept((size_t)(m * symbols));
  for (int64_t j = 0; j < m; j++)
    for (int t = 0; t < symbols; t++)
      profile[j + t * m] = (int8_t)(matrix[query[j] + t * symbols] - random_below(random, 3));
  return profile;
}

static void run_case(int symbols, int64_t m, int64_t count, int64_t longest, int most, int32_t open,
                     int32_t extend, uint64_t seed) {
  uint64_t random = seed;
  int8_t matrix[32 * 32];
  uint8_t *query = kept((size_t)m);
  int64_t *lengths = kept((size_t)count * sizeof *lengths);
  for (int i = 0; i < symbols * symbols; i++)
    matrix[i] = (int8_t)(i % (symbols + 1) == 0 ? most : random_below(&random, 5) - 4);
  for (int64_t j = 0; j < m; j++)
    query[j] = (uint8_t)random_below(&random, symbols);
  for (int64_t k = 0; k < count; k++)
    lengths[k] = longest * (count - k - 1) / count + (k < 3 ? longest / count : 0);
  database d = make_database(count, lengths, symbols, m, query, &random);
  const int8_t *profile = profiled ? profile_of(symbols, matrix, m, query, &random) : NULL;
  const davit_align_scoring scoring = {.symbols = symbols,
                                       .matrix = profile ? NULL : matrix,
                                       .gap_open = open,
                                       .gap_extend = extend,
                                       .profile = profile};
  expect_scores(&scoring, m, query, &d);
}

CASE(test_every_shape) {
  static const int64_t lengths[] = {1,  15, 16, 17, 20, 21, 25, 26, 28,  29,  30,  32,  33,  37,
                                    40, 44, 48, 49, 56, 63, 64, 65, 100, 129, 144, 200, 375, 464};
  for (int i = 0; i < COUNT(lengths); i++)
    run_case(24, lengths[i], 13, 60, 5, 11, 1, (uint64_t)i);
}

CASE(test_strips) {
  run_case(4, 1536, 3, 40, 2, 3, 1, 1);
  run_case(4, 1537, 5, 60, 2, 3, 1, 2);
  run_case(20, 2000, 3, 50, 3, 5, 2, 3);
  run_case(20, 2300, 4, 50, 3, 5, 2, 3);
  run_case(20, 3000, 40, 50, 3, 5, 2, 3);
  run_case(20, 5000, 5, 90, 3, 5, 2, 4);
}

/* No more targets at a time than the borders have rows for; the emulator ends a program that writes behind them. */
CASE(test_borders) {
  static const int64_t rows[] = {1, 50, 51, 120, 700};
  const int64_t usual = border_rows_at_most;
  for (int i = 0; i < COUNT(rows); i++) {
    border_rows_at_most = rows[i];
    run_case(20, 1600, 33, 50, 3, 5, 2, (uint64_t)i);
    run_case(4, 1600, 5, 350, 127, 5, 2, (uint64_t)i);
  }
  border_rows_at_most = usual;
}

/* Scores beyond 16 bits, and penalties that do not fit them. */
CASE(test_wide) {
  run_case(24, 400, 7, 500, 127, 11, 1, 1);
  run_case(24, 600, 4, 700, 127, 40, 3, 2);
  run_case(24, 60, 9, 80, 6, 30000, 3000, 3);
  run_case(24, 60, 9, 80, 6, INT32_MAX, 1, 4);
}

/* Targets that have the device to themselves: some, all, with scores beyond 16 bits. */
CASE(test_long_targets) {
  wave_seconds = 50 * COLUMN_SECONDS * 1100; /* the two longest */
  run_case(20, 1100, 4, 200, 3, 5, 2, 1);
  wave_seconds = 0;
  run_case(4, 150, 3, 300, 2, 3, 1, 2);
  run_case(24, 300, 4, 350, 127, 40, 3, 3);
  run_case(24, 60, 2, 80, 6, 30000, 3000, 4);
  wave_seconds = 1;
}

CASE(test_odd_databases) {
  run_case(1, 5, 1, 1, 1, 1, 1, 1);
  run_case(32, 40, 1, 30, 4, 2, 2, 2);
  run_case(24, 40, 200, 20, 5, 11, 1, 3);
  run_case(24, 7, 3, 2, 5, 11, 1, 4);
}

/* One strip and several, in 16 bits and in 32, and a target that has the device to itself. */
CASE(test_profiles) {
  profiled = true;
  run_case(24, 129, 13, 60, 5, 11, 1, 1);
  run_case(24, 375, 13, 60, 5, 11, 1, 2);
  run_case(4, 1025, 5, 60, 2, 3, 1, 3);
  run_case(24, 600, 4, 700, 127, 40, 3, 4);
  run_case(24, 60, 9, 80, 6, 30000, 3000, 5);
  wave_seconds = 0;
  run_case(4, 150, 3, 300, 2, 3, 1, 6);
  wave_seconds = 1;
  profiled = false;
}

/* Each launch is refused in turn; nothing is running when the call returns. */
CASE(test_refused_launches) {
  enum { M = 1600, COUNT_OF_TARGETS = 3, LENGTH = 300 };
  static int8_t matrix[] = {127};
  static uint8_t query[M], symbols[COUNT_OF_TARGETS * LENGTH];
  static int64_t offsets[] = {0, LENGTH, 2 * LENGTH, 3 * LENGTH};
  const davit_align_scoring scoring = {.symbols = 1, .matrix = matrix, .gap_open = 11, .gap_extend = 1};
  const dvt_align_query q = {&scoring, M, query, 127};
  const dvt_align_targets t = {.count = COUNT_OF_TARGETS, .offsets = offsets, .symbols = symbols};
  int32_t device_scores[COUNT_OF_TARGETS + 1], scores[COUNT_OF_TARGETS + 1];
  int64_t device_offsets[COUNT_OF_TARGETS + 1];
  memcpy(device_offsets, offsets, sizeof offsets);
  const dvt_align_device device = {device_offsets, symbols, device_scores};
  int refused = 0;
  for (;; refused++) {
    emulator_launches = 0;
    emulator_fails_at = refused;
    const davit_status status = dvt_align_stream(
        &emulator_site, &(dvt_align_work){.query = &q, .targets = &t, .device = &device, .scores = scores});
    assert_true(emulator_free());
    assert_false(emulator_busy);
    if (status == DAVIT_SUCCESS)
      break;
    assert_int_equal(status, DAVIT_DEVICE_ERROR);
  }
  emulator_fails_at = -1;
  assert_int_equal(refused, 10); /* 2 strips in 16 bits; in 32, where borders have no room for all, twice 4 */
  assert_int_equal(scores[0], 127 * LENGTH);
}
